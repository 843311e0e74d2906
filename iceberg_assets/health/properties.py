"""Numbers among a table's properties, which anybody may set to anything. Pure."""

import re
from collections.abc import Mapping
from datetime import timedelta

from iceberg_assets.errors import ConfigurationError

_LONGEST = timedelta(days=36_500)


def whole_number(properties: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    """A property's value, as Java reads it.

    Raises:
        ConfigurationError: it is no whole number, or too small.
    """
    given = properties.get(name)
    if given is None:
        return default
    # Python would take more than Java does: blanks, underscores, digits of other scripts.
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", given) or int(given) < least:
        raise ConfigurationError(
            f"the table's property {name} is '{given}', expected a whole number of {least} at least: "
            f"ALTER TABLE … SET TBLPROPERTIES ('{name}'='{default}')"
        )
    return int(given)


def age(milliseconds: int) -> timedelta:
    """So long; a hundred years stand for "for ever", Java's largest number, which is more than a date can go back."""
    return min(timedelta(seconds=min(milliseconds // 1000, 10**10), milliseconds=milliseconds % 1000), _LONGEST)
