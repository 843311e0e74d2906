"""The tables of docs/operations.md, made from what is declared of Iceberg's procedures: ``make docs-operations``."""

from collections.abc import Iterator
from pathlib import Path

from iceberg_assets.spec.procedure import KINDS, Argument, Procedure
from iceberg_assets.spec.procedures import PROCEDURES

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"
MARK = "<!-- From here on: made by `make docs-operations` from iceberg_assets/spec/procedures.py. -->\n"


def current() -> str:
    """The page as it should be: what people wrote above the mark, and the tables below it."""
    written, _, _ = PAGE.read_text().partition(MARK)
    return written + MARK + "\n" + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for number, procedure in enumerate(PROCEDURES.values()):
        if number:
            yield ""
        yield from _section(procedure)


def _section(procedure: Procedure) -> Iterator[str]:
    yield f"## {procedure.name}"
    asset = f" The asset `{procedure.asset}` calls it." if procedure.asset else ""
    yield f"{procedure.sentence}{asset} Declared as in {procedure.source}."
    for title, arguments in (("argument", procedure.arguments), ("option", procedure.options)):
        if arguments:
            yield f"\n| {title} | what | value | Iceberg's default |"
            yield "|---|---|---|---|"
            yield from (_row(one) for one in arguments)


def _row(one: Argument) -> str:
    value = ", ".join(f"`{choice}`" for choice in one.choices) if one.choices else KINDS[one.kind].words
    only = f" Of {one.only} alone." if one.only else ""
    what = f"Refused: {one.refused.removeprefix('not offered: ')}." if one.refused else one.sentence + only
    default = "required" if one.required else one.default
    return f"| `{one.name}` | {_cell(what)} | {_cell(value)} | {_cell(default)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(current())
