"""What earlier tries tell about the next one. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from iceberg_assets.spec import Attempt, Operation, Status

MOST_FAILURES = 8
"""After so many failures in a row, some four hours, a person has to look; a check says so."""

_LONGEST_DISTANCE = timedelta(hours=1)
_GIVEN_UP = timedelta(days=1)


def green(attempt: Attempt) -> bool:
    """Whether it left its date materialized. A skip that did so has a digest; one for a passing obstacle has none."""
    standing = attempt.status is Status.SKIPPED and attempt.digest != ""
    return standing or attempt.status in (Status.DONE, Status.NOTHING_TO_DO)


def fruitless(attempt: Attempt) -> bool:
    """Whether it ended well and gained nothing, so that the same again would gain nothing either."""
    return green(attempt) and not attempt.productive


def retry_distance(failures: int) -> timedelta:
    """How long after so many failures in a row the next try may come: 1, 2, 4, 8 … minutes, an hour, then a day."""
    if failures >= MOST_FAILURES:
        # Never "not at all": what was wrong may have been mended by somebody who does not know of us.
        return _GIVEN_UP
    return min(timedelta(minutes=2 ** min(failures - 1, 10)), _LONGEST_DISTANCE)


def by_operation(attempts: Iterable[Attempt]) -> Mapping[Operation, Mapping[date, Sequence[Attempt]]]:
    """The attempts of each operation on each date, in their order."""
    found: dict[Operation, dict[date, list[Attempt]]] = {}
    for one in attempts:
        found.setdefault(one.operation, {}).setdefault(one.day, []).append(one)
    return found


def latest(attempts: Iterable[Attempt]) -> Attempt | None:
    """The one that ended last."""
    return max(attempts, key=lambda attempt: attempt.ended, default=None)


def failures_in_a_row(attempts: Sequence[Attempt]) -> tuple[int, datetime | None]:
    """How often the date that was tried last has failed since it last went well, and when it may be tried again.

    A run over several dates leaves an attempt on each; counting one date counts runs.
    """
    last = latest(attempts)
    if last is None or green(last):
        return 0, None
    count = 0
    for attempt in sorted((one for one in attempts if one.day == last.day), key=lambda one: one.ended, reverse=True):
        if green(attempt):
            break
        count += 1
    return count, last.ended + retry_distance(count)
