"""An engine's error in one line."""

_CAUSE = "Caused by: "


def in_brief(error: BaseException) -> str:
    """What happened and what was behind it, without the stack; Py4J's own first line says nothing.

    Spark's first line may name the file that it could not read, and only the innermost cause says why.
    """
    lines = [line.strip(" :") for line in str(error).splitlines() if not line.startswith("An error occurred while")]
    said = next(filter(None, lines), type(error).__name__)
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    behind = f" ({causes[-1]})" if causes and causes[-1] not in said else ""
    return f"{said}{behind}"[:2000]
