"""The exceptions of this project: each message names what is wrong and the way out."""


class IcebergAssetsError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigurationError(IcebergAssetsError):
    """A declaration, profile or machine setting is wrong; raised before anything was touched."""


class SourceError(IcebergAssetsError):
    """The raw input of a date is absent, unreadable, or does not fit the table; nothing was written."""


class RawStoreError(SourceError):
    """The raw input of a date cannot be listed: its store refused, or did not answer."""


class ClaimInDoubtError(IcebergAssetsError):
    """Whether a claim's rows are in the table cannot be told from its metadata; a person has to decide."""


class LedgerError(IcebergAssetsError):
    """The ledger or the table contradicts what a person wants recorded; nothing was written."""


class TableDroppedError(IcebergAssetsError):
    """Somebody dropped the table between two looks at it."""


class TableUnreadableError(IcebergAssetsError):
    """The catalog has a table whose metadata cannot be read."""


class QueryError(IcebergAssetsError):
    """Spark refuses a statement; the message is Spark's own."""


class ServiceError(IcebergAssetsError):
    """A profile's catalog or store refused, or did not answer; what was committed is kept, and the next try goes on."""


class OrphansError(IcebergAssetsError):
    """A file that nothing refers to cannot be moved; it is where it was."""


_CAUSE = "Caused by: "


def in_brief(error: BaseException) -> str:
    """An engine's error in one line: what happened and what was behind it, without the stack.

    Py4J's own first line says nothing. Spark's first line may name the file that it could not read, and only the
    innermost cause says why.
    """
    lines = [line.strip(" :") for line in str(error).splitlines() if not line.startswith("An error occurred while")]
    said = next(filter(None, lines), type(error).__name__)
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    behind = f" ({causes[-1]})" if causes and causes[-1] not in said else ""
    return f"{said}{behind}"[:2000]
