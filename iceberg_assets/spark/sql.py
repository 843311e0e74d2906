"""Identifiers, literals and CALL statements, rendered so that any name and any text survive."""

from collections.abc import Mapping
from datetime import UTC, date, datetime


def quote(*parts: str) -> str:
    """Each part in back-quotes, one inside it doubled, joined by dots; a part may hold any character."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def literal(value: object) -> str:
    """A Spark SQL literal of a text, number, flag, date, zoned timestamp, list or map of texts.

    Back-slash escapes are read alike by Spark 3.5, 4.0 and 4.1; a doubled quote is not.

    Raises:
        TypeError: no literal is known for the value, or a timestamp has no zone.
    """
    match value:
        case bool():
            text = str(value).lower()
        case int() | float():
            text = str(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            text = f"'{escaped}'"
        case datetime() if value.tzinfo is not None:
            text = f"TIMESTAMP '{value.astimezone(UTC).isoformat(sep=' ')}'"
        case date() if not isinstance(value, datetime):
            text = f"DATE '{value.isoformat()}'"
        case Mapping():
            text = f"map({', '.join(f'{literal(k)}, {literal(v)}' for k, v in value.items())})"
        case list() | tuple():
            text = f"array({', '.join(literal(item) for item in value)})"
        case _:
            raise TypeError(f"no Spark SQL literal for {value!r}")
    return text


def call(catalog: str, procedure: str, **arguments: object) -> str:
    """``CALL catalog.system.procedure(name => literal, …)``; arguments that are None or empty are left out."""
    given = ", ".join(f"{name} => {literal(value)}" for name, value in arguments.items() if value not in (None, {}, []))
    return f"CALL {quote(catalog)}.system.{procedure}({given})"
