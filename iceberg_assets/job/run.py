"""The job: every table is looked at without Spark, and those that have work take turns in one session."""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from queue import SimpleQueue

from iceberg_assets.health import ManifestCache
from iceberg_assets.job.overrides import Name
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.job.survey import Surveyed, survey
from iceberg_assets.job.table import Around, Ended, carry_out, words_of
from iceberg_assets.profiles import Listed, Profile
from iceberg_assets.spark import Session, shared
from iceberg_assets.spec import Attempt

History = Callable[[Name], Sequence[Attempt]]
"""Earlier attempts on a table, by its name; at least the latest of each operation and date."""


@dataclass(frozen=True)
class Begun:
    """A table's turn has come."""

    table: Name


@dataclass(frozen=True)
class Left:
    """A table's turn is over; ``error`` is what broke it off, where that is no operation's own outcome."""

    table: Name
    error: str | None = None


Event = Surveyed | Begun | Ended | Left
"""What happens, in its order: every table is surveyed; those that are due begin, end each operation, and are left."""


def run(
    profile: Profile,
    settings: JobSettings,
    objects: Sequence[Listed],
    *,
    spark: Session,
    stop: threading.Event,
    history: History = lambda _: (),
    cache: ManifestCache | None = None,
    landing_places: Sequence[str] = (),
    profiles: Sequence[Profile] = (),
) -> Generator[Event]:
    """Maintain the tables of a catalog, telling of each step as it happens.

    ``parallelism`` tables are at work at a time, while the rest is looked at. Closing the iterator stops it, as does
    ``stop``; either way it ends when the operations at hand have ended, with nothing held.

    Where the profile is a shadow, tables are looked at, and none is touched.

    Args:
        objects: what was selected of the catalog.
        spark: gives the session; not called where no table has work for it.
        stop: once it is set, no further table and no further operation begins.
        history: makes no difference to what is done, but that orphans are not looked for again and again, nor what
            fails or gains nothing tried.
        cache: spares reading a manifest twice.
        landing_places: folders in which raw files of declared tables land: never orphans.
        profiles: of all declared tables; what their catalogs have is no orphan either.

    Raises:
        ConfigurationError: the profile is one of production, and this place may not write to it.
    """
    if not profile.shadow:
        profile.require_writable()
    gc_handling = settings.gc_handling.enabled
    around = Around(shared(spark), profile, landing_places, profiles, gc_handling, stop)
    events, waited_for = SimpleQueue[Event](), 0

    def work(found: Surveyed) -> None:
        error = None
        try:
            if not stop.is_set():
                events.put(Begun(found.table))
                for ended in carry_out(around, found):
                    events.put(ended)
        except BaseException as broke:  # noqa: BLE001 (nobody asks this thread what it raised)
            error = words_of(broke)
        finally:
            events.put(Left(found.table, error))

    with _threads(settings.parallelism, stop) as threads:
        for one in objects:
            if stop.is_set():
                break
            found = survey(profile, settings, one, history=history(one.name), now=datetime.now(UTC), cache=cache)
            if found.verdict == "due" and profile.shadow:
                found = replace(found, verdict="planned", reason=f"planned only: {found.reason}")
            yield found
            if found.verdict == "due":
                threads.submit(work, found)
                waited_for += 1
            while not events.empty():
                event = events.get()
                waited_for -= isinstance(event, Left)
                yield event
        while waited_for:
            event = events.get()
            waited_for -= isinstance(event, Left)
            yield event


@contextmanager
def _threads(number: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """Threads that have ended when the block has, however that ends."""
    threads = ThreadPoolExecutor(number, thread_name_prefix="iceberg-assets")
    try:
        yield threads
    except BaseException:
        stop.set()
        raise
    finally:
        threads.shutdown(wait=True)
