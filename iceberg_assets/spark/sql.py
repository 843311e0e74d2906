"""Identifiers, literals and CALL statements, rendered so that any name and any text survive."""

from collections.abc import Mapping
from datetime import UTC, date, datetime


def quote(*parts: str) -> str:
    """``quote("demo", "odd`name")`` is ``\\`demo\\`.\\`odd\\`\\`name\\```; each part may hold any character."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def literal(value: object) -> str:
    """A Spark SQL literal of a text, number, flag, date, zoned timestamp, list or map of texts.

    Back-slash escapes are read alike by Spark 3.5, 4.0 and 4.1; a doubled quote is not.

    Raises:
        TypeError: no literal is known for the value, or a timestamp has no zone.
    """
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case datetime() if value.tzinfo is not None:
            return f"TIMESTAMP '{value.astimezone(UTC).isoformat(sep=' ')}'"
        case date() if not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
        case Mapping():
            return f"map({', '.join(f'{literal(k)}, {literal(v)}' for k, v in value.items())})"
        case list() | tuple():
            return f"array({', '.join(literal(item) for item in value)})"
    raise TypeError(f"no Spark SQL literal for {value!r}")


def call(catalog: str, procedure: str, **arguments: object) -> str:
    """``CALL catalog.system.procedure(name => literal, …)``; arguments that are None or empty are left out."""
    given = ", ".join(f"{name} => {literal(value)}" for name, value in arguments.items() if value not in (None, {}, []))
    return f"CALL {quote(catalog)}.system.{procedure}({given})"
