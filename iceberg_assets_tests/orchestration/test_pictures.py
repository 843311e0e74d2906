"""Pictures hold the figures they are of, and stay small however much they are of; so do the figures of many dates."""

import re
import time
from base64 import b64decode
from datetime import date, timedelta
from xml.etree import ElementTree

import dagster as dg

from iceberg_assets.orchestration.metadata import event_metadata
from iceberg_assets.orchestration.pictures import file_sizes, snapshots_timeline
from iceberg_assets_tests.health.examples import day_of, snapshot, spec, table

KB = 1024
SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture: dg.MarkdownMetadataValue) -> ElementTree.Element:
    (encoded,) = re.findall(r"!\[[^]]+\]\(data:image/svg\+xml;base64,([^)]+)\)", picture.md_str)
    return ElementTree.fromstring(b64decode(encoded))


def bars(picture: dg.MarkdownMetadataValue) -> list[str]:
    return [title.text or "" for title in drawn(picture).iter(f"{SVG}title")]


def test_a_histogram_counts_the_files_of_each_size():
    picture = file_sizes([900, 1000, 1024, 1025], [4000])
    assert picture.md_str.startswith("4 files of 3.9 kB became 1 file of 3.9 kB")
    assert bars(picture) == ["3 files up to 1.0 kB", "1 file up to 2.0 kB", "1 file up to 4.0 kB"]


def test_a_histogram_of_any_files_is_small_and_counts_them_all():
    picture = file_sizes([2**power for power in range(50) for _ in range(100)], [0, 1, 2**49])
    assert sum(int(title.split()[0]) for title in bars(picture)) == 5_003
    assert len(picture.md_str) < 30 * KB


def test_a_timeline_has_a_row_an_operation_and_tells_what_is_left():
    committed = [snapshot(n, timedelta(hours=9 - n), operation=("append", "replace")[n % 2]) for n in range(9)]
    picture = snapshots_timeline(committed, {7, 8})
    assert picture.md_str.startswith("7 of 9 snapshots expired")
    texts = [text.text for text in drawn(picture).iter(f"{SVG}text")]
    assert {"append", "replace", "expired", "left"} <= set(texts)
    marks = [path.attrib["d"].count("M") for path in drawn(picture).iter(f"{SVG}path")]
    assert sum(marks) == 9


def test_a_timeline_of_thousands_of_snapshots_is_small():
    committed = [snapshot(n, timedelta(minutes=n), operation=("append", "replace", "")[n % 3]) for n in range(10_000)]
    assert len(snapshots_timeline(committed, range(5_000)).md_str) < 30 * KB


def test_the_figures_of_two_thousand_dates_are_quickly_said():
    """What is said of the table as a whole is worked out once, not once a date."""
    many = [date(2010, 1, 1) + timedelta(days=n) for n in range(2_000)]
    of = spec().model_copy(update={"dates": spec().dates.model_copy(update={"start": many[0], "end": many[-1]})})
    health = table(day_of(*((day, 5) for day in many)), of=of)
    begin = time.monotonic()
    said = event_metadata(of, health)
    assert len([said(day, {}) for day in many]) == 2_000
    assert time.monotonic() - begin < 1
