"""The exceptions of this project: each message names what is wrong and the way out."""


class IcebergAssetsError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigurationError(IcebergAssetsError):
    """A declaration, profile or machine setting is wrong; raised before anything was touched."""


class SourceError(IcebergAssetsError):
    """The raw input of a date is absent, unreadable, or does not fit the table; nothing was written."""


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
