"""What a run of the job leaves behind: rows of the history that the next one plans by, and a word to whom it concerns.

No JVM: a search for orphans that finds none needs no Spark.
"""

import json
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.history import Wanted, Who, read_failures, read_records
from iceberg_assets.job import Summary, attempts_of, find, reported, run
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.job.written import written

FILE = """
catalog: local
expire_snapshot.enabled: false, rewrite_manifests.enabled: false, rewrite_data_files.enabled: false
table_overrides.unsortable.rewrite_data_files { enabled: true, strategy: sort, sort_order: "nowhere" }
"""


@pytest.fixture
def lake(tmp_path: Path) -> Profile:
    """Two tables; of one the file asks what cannot be."""
    (tmp_path / "pyproject.toml").touch()
    profile = load_profile("local", tmp_path)
    profile.prepare()
    for name in ("demo.quiet", "demo.unsortable"):
        on_paper.append(on_paper.make(profile.pyiceberg(), name), [date(2024, 1, 10)], 1)
    return profile


def maintained(profile: Profile, folder: Path, told: list[str]) -> Summary:
    settings, summary = written(folder, FILE), Summary()
    objects = find(profile, settings).objects
    history, stop = attempts_of(profile), threading.Event()
    events = run(profile, settings, objects, spark=_no_spark, stop=stop, history=history)
    for _ in reported(events, summary, profile, settings, Who.here(profile, "run-1"), told.append):
        pass
    return summary


def _no_spark() -> Any:
    raise AssertionError("a session was asked for")


def verdicts(summary: Summary) -> dict[str, str]:
    return {name: one.verdict for name, one in summary.tables.items()}


def with_more(profile: Profile, **more: object) -> Profile:
    return profile.model_validate({**profile.model_dump(), **more})


def test_the_next_run_knows_what_the_last_one_did_and_somebody_is_told_of_what_failed(lake, tmp_path):
    heard, told = tmp_path / "heard.json", list[str]()
    lake = with_more(lake, on_failure={"command": f"tee '{heard}'"})
    first = maintained(lake, tmp_path, told)
    assert verdicts(first) == {"demo.quiet": "nothing_to_do", "demo.unsortable": "failed"}
    assert first.tables["demo.quiet"].steps, "orphans were never looked for"
    assert not told
    (searched,) = read_records(lake, Wanted())
    assert (searched.table, searched.operation, searched.who.run_id) == ("demo.quiet", "orphans_removed", "run-1")
    (failure,) = read_failures(lake, Wanted())
    assert (failure.table, failure.operation) == ("demo.unsortable", None)
    assert "nowhere" in failure.message
    payload = json.loads(heard.read_text())
    assert [one["table"] for one in payload["failures"]] == ["demo.unsortable"]
    second = maintained(lake, tmp_path, told)
    assert not second.tables["demo.quiet"].steps, "they were, and seven days have not passed"


def test_a_shadow_writes_down_what_it_would_do_and_touches_nothing(lake, tmp_path):
    pointer = lake.pyiceberg().load_table("demo.quiet").metadata_location
    told = list[str]()
    summary = maintained(with_more(lake, shadow=True), tmp_path, told)
    assert verdicts(summary)["demo.quiet"] == "planned"
    assert "planned only: " in summary.tables["demo.quiet"].reason
    (planned,) = read_records(lake, Wanted())
    assert (planned.table, planned.operation, planned.shadow) == ("demo.quiet", "orphans_removed", True)
    assert planned.snapshot_before is not None
    assert lake.pyiceberg().load_table("demo.quiet").metadata_location == pointer
    assert maintained(lake, tmp_path, told).tables["demo.quiet"].steps, "what was planned only holds nothing back"


def test_a_profile_of_production_is_refused_from_another_place(lake, tmp_path):
    guarded = with_more(lake, production={"hosts": ["another-host"]})
    with pytest.raises(ConfigurationError, match=r"production\.hosts \(another-host\)"):
        maintained(guarded, tmp_path, told := [])
    assert not told, "no history was to be written"
    assert not read_records(lake, Wanted())
