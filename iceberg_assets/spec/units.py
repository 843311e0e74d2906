"""Sizes and ages as people write them: ``128MB``, ``15m``, ``5d``."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

# Iceberg's own defaults (512 MB = 536870912) make a megabyte 1024² bytes.
_BYTES = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MOST_BYTES = 2**63 - 1
# Further back there is no date to count from.
_OLDEST = 36525 * 86400


def parse_bytes(value: object) -> int:
    """``"512MB"`` or ``536870912`` as a number of bytes.

    Raises:
        ValueError: not a whole, non-negative number with an optional unit B, kB, MB, GB or TB; or beyond a Java long.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_BYTES:
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in _BYTES:
        raise ValueError(f"expected a size such as 128MB or a number of bytes, got {value!r}")
    if (size := float(match[1]) * _BYTES[match[2].lower()]) > _MOST_BYTES:
        raise ValueError(f"expected a size of {_MOST_BYTES} bytes at most, got {value!r}")
    return int(size)


def parse_age(value: object) -> timedelta:
    """``"5d"``, ``"24h"``, ``"15m"``, ``"0s"`` as a duration.

    Raises:
        ValueError: not a non-negative number followed by ms, s, m, h, d or w, or more than a hundred years.
    """
    if isinstance(value, timedelta):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", value) if isinstance(value, str) else None
    if match is None or match[2] not in _SECONDS:
        raise ValueError(f"expected an age such as 15m, 24h or 5d, got {value!r}")
    if (seconds := float(match[1]) * _SECONDS[match[2]]) > _OLDEST:
        raise ValueError(f"expected an age of a hundred years at most, got {value!r}")
    return timedelta(seconds=seconds)


def parse_moment(value: object) -> datetime | timedelta:
    """A point in time, or how long ago it was: ``2024-05-01T00:00:00Z``, ``90d``.

    Raises:
        ValueError: neither; or a point in time without a zone, which every machine would read as another one.
    """
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(str(value).strip())
        except ValueError:
            try:
                return parse_age(value)
            except ValueError:
                raise ValueError(f"expected an age such as 90d, or 2024-05-01T00:00:00Z, got {value!r}") from None
    if moment.tzinfo is None:
        raise ValueError(f"expected a zone with it, such as {moment.isoformat()}Z, got {str(value)!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"expected a moment of the years 1 to 9999 in UTC, got {str(value)!r}") from None


def format_age(age: timedelta) -> str:
    """The shortest exact spelling that :func:`parse_age` reads back: ``timedelta(hours=24)`` is ``"1d"``."""
    milliseconds = round(age.total_seconds() * 1000)
    for unit in ("d", "h", "m", "s"):
        length = round(_SECONDS[unit] * 1000)
        if milliseconds % length == 0 and (milliseconds or unit == "s"):
            return f"{milliseconds // length}{unit}"
    return f"{milliseconds}ms"


def format_bytes(size: float) -> str:
    """A size for people: ``1536`` is ``"1.5 kB"``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


def format_count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _no_flag(value: object) -> object:
    # To pydantic true is 1: what was meant for another key would set this one.
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {str(value).lower()}")
    return value


Whole = Annotated[int, BeforeValidator(_no_flag)]
Number = Annotated[float, BeforeValidator(_no_flag)]
ByteSize = Annotated[int, BeforeValidator(parse_bytes)]
Age = Annotated[timedelta, BeforeValidator(parse_age), PlainSerializer(format_age, return_type=str)]
