"""What listing a catalog costs: names and metadata pointers of many tables of a REST, a Glue and a SQL catalog.

Run by ``make bench-list``. The services are those of the tests: SeaweedFS, moto's server, PostgreSQL, SQLite. Tables
are metadata only; no JVM is near. Ends with 1 where a limit is passed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from iceberg_assets.health import metadata_pointers
from iceberg_assets.profiles import Profile, list_catalog, load_profile
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.services.catalogs import CATALOGS, PROFILE

TABLES = 1_000
LIMITS = {"rest-oauth": 20.0, "glue": 20.0, "jdbc-postgresql": 2.0, "jdbc-sqlite": 2.0}
_NAMESPACES = 10
_AT_ONCE = 8


def fill(profile: Profile, tables: int) -> None:
    """So many tables, evenly over the namespaces; SQLite has one writer."""
    names = [f"bench_{number % _NAMESPACES}.t{number}" for number in range(tables)]
    profile.prepare()
    catalog = profile.pyiceberg()
    for number in range(_NAMESPACES):
        catalog.create_namespace(f"bench_{number}")
    with ThreadPoolExecutor(1 if profile.catalog.sqlite else _AT_ONCE) as threads:
        list(threads.map(lambda name: on_paper.make(catalog, name), names))


def look(root: Path, tables: int) -> tuple[float, float]:
    """Seconds until the names are there, and until the pointers are, by a profile that was not opened before."""
    begin = time.perf_counter()
    listing = list_catalog(load_profile(PROFILE, root).pyiceberg())
    names = [one.name for one in listing.objects]
    listed = time.perf_counter() - begin
    pointers = metadata_pointers(load_profile(PROFILE, root), names)
    assert (len(names), len(pointers)) == (tables, tables), (len(names), len(pointers))
    return listed, time.perf_counter() - begin


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures; exit with 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(LIMITS)}; all, unless told")
    given = parser.parse_args(arguments)
    too_slow = []
    for name in given.names or LIMITS:
        with tempfile.TemporaryDirectory() as folder, CATALOGS[name].run(Path(folder) / "services") as running:
            begin = time.perf_counter()
            fill(load_profile(PROFILE, running.root), given.tables)
            made = time.perf_counter() - begin
            listed, seconds = look(running.root, given.tables)
            told = f"names {listed:6.2f} s, with pointers {seconds:6.2f} s (limit {LIMITS[name]:.0f} s)"
            print(f"{CATALOGS[name].title:<20} {given.tables} tables, made in {made:.0f} s: {told}", flush=True)
            if seconds > LIMITS[name]:
                too_slow.append(name)
    assert "pyspark" not in sys.modules, "a JVM was near"
    if too_slow:
        sys.exit(f"too slow: {', '.join(too_slow)}")


if __name__ == "__main__":
    main()
