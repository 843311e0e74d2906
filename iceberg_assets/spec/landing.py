"""Whether a pattern of raw files gives each file one date. Pure functions."""

import re
from datetime import date, timedelta
from functools import cache
from itertools import pairwise

# A leap year tells fields that run into each other from those that do not; the years around it, whether one is there.
_DAYS = (
    *(date(2024, 1, 1) + timedelta(days=n) for n in range(366)),
    *(date(year, 11, 1) for year in (2014, 2021, 2022, 2023, 2025, 2026, 2034)),
)
_FIELD = re.compile(r"%-?[A-Za-z]")
_WILDCARD = re.compile(r"[*?\[]")


@cache
def ambiguity(pattern: str) -> str | None:
    """Why a file could be found under two dates, and so have its rows appended twice; None: it cannot.

    A date has to be where no wildcard can take its place: in each part of the path, before the first wildcard or after
    the last one, and spelled so that no date begins (or there: ends) like another one.

    Args:
        pattern: a glob with strftime fields.
    """
    rendered: dict[str, date] = {}
    for day in _DAYS:
        if (other := rendered.setdefault(day.strftime(pattern), day)) != day:
            return f"it is the same for {other} and {day}"
    parts = pattern.split("/")
    deep = [number for number, part in enumerate(parts) if part == "**"]
    for number, part in enumerate(parts):
        if not _FIELD.search(part):
            continue
        if deep and deep[0] < number < deep[-1]:
            return f"'{part}' stands between two '**', where another date may stand as well"
        wildcards = list(_WILDCARD.finditer(part))
        if not wildcards:
            continue
        before, after = part[: wildcards[0].start()], part[_end(part, wildcards[-1].start()) :]
        if _FIELD.search(part[len(before) : len(part) - len(after)]):
            return f"in '{part}' a date stands between two wildcards, where another one may stand as well"
        if alike := _beginning_alike(before, step=1) or _beginning_alike(after, step=-1):
            return f"'{part}' is read for {alike[0]} as it is for {alike[1]}; use %m, %d and %j, which are padded"
    return None


def _end(part: str, wildcard: int) -> int:
    """Where a wildcard ends: a set of characters at its bracket."""
    return part.find("]", wildcard) + 1 if part[wildcard] == "[" and "]" in part[wildcard:] else wildcard + 1


def _beginning_alike(text: str, step: int) -> tuple[date, date] | None:
    """Two dates, one of which is spelled as the beginning of the other's; with a ``step`` of -1, as the end."""
    spelled = sorted({day.strftime(text)[::step]: day for day in reversed(_DAYS)}.items())
    return next(((one[1], other[1]) for one, other in pairwise(spelled) if other[0].startswith(one[0])), None)
