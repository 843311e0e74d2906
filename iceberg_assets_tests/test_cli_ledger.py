"""The commands about a ledger and about appending, in a project of their own on the tests' one session."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets.spark import call, quote
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.source import landed
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.command import run
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.tables.helpers import D1, D2, Feed, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def feed(profile: Profile, project: Path, tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Feed:
    """A feed whose table is declared in the tests' project, with the working directory there."""
    profile.prepare()
    made = make_feed(profile, tmp_path / "raw", f"{namespace}.flights")
    attributes = {
        "table": made.spec.name,
        "source": {"path": f"{made.raw}/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": "2013-01-01", "end": "2013-01-31"},
        "partition_by": [{"col": "ts", "type": "date", "func": "day"}, {"col": "carrier", "type": "bucket", "size": 2}],
    }
    declare(project, namespace, attributes)
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "250")
    return made


def shown(feed: Feed) -> Any:
    return json.loads(run("ledger", "show", feed.spec.name, "--json").stdout)


def test_append_show_roll_back_forget_and_append_again(spark: "SparkSession", feed: Feed) -> None:
    name = feed.spec.name
    assert "does not exist yet" in run("ledger", "show", name).stdout
    first, second = feed.land(D1, "a", [1]), feed.land(D2, "a", [2, 3])
    assert "1 files, 1 rows" in run("append", name, "--date", "2013-01-01").stdout
    head = feed.table.metadata.current_snapshot_id
    (told,) = json.loads(run("append", name, "--date", "2013-01-02", "--json").stdout)
    assert (told["status"], told["rows"]) == ("done", 2)
    assert told["snapshot_id"] == str(feed.table.metadata.current_snapshot_id)
    for_people = run("ledger", "show", name).stdout
    assert f"{name}: 2 files in, 0 claims open, 0 abandoned, 0 in doubt" in for_people
    assert str(first) in for_people
    assert [(one["path"], one["rows"], one["standing"]) for one in shown(feed)["files"]] == [
        (str(first), 1, "in main"),
        (str(second), 2, "in main"),
    ]
    spark.sql(call("local", "rollback_to_snapshot", table=quote(*feed.spec.table), snapshot_id=head)).collect()
    assert shown(feed)["files"][1]["standing"] == "rolled back"
    assert "would forget 1 files\nNothing was written" in run("ledger", "forget", name, "--after-rollback").stdout
    assert len(shown(feed)["files"]) == 2
    assert "forgot 1 files" in run("ledger", "forget", name, "--after-rollback", "--yes").stdout
    run("append", name, "--date", "2013-01-01..2013-01-02")
    assert feed.ids() == [1, 2, 3]


def test_a_bad_day_is_named_then_replaced(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    run("append", feed.spec.name, "--date", "2013-01-01")
    feed.land(D1, "a", [2])
    assert "--replace" in run("append", feed.spec.name, "--date", "2013-01-01", fails=1).stdout
    run("append", feed.spec.name, "--date", "2013-01-01", "--replace")
    assert feed.ids() == [2]


def test_adopting_is_said_first_and_done_on_request(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    run("append", feed.spec.name, "--date", "2013-01-01")
    run("ledger", "forget", feed.spec.name, "--date", "2013-01-01", "--rows-are-gone", "--yes")
    assert "would adopt 1 files of 1 dates" in run("ledger", "adopt", feed.spec.name, "--all").stdout
    assert shown(feed)["files"] == []
    run("ledger", "adopt", feed.spec.name, "--all", "--yes")
    assert shown(feed)["files"][0]["event"] == "adopted"
    assert "are in the ledger already" in run("ledger", "adopt", feed.spec.name, "--all", "--yes", fails=2).stderr
    assert "all 1 files are in the table already" in run("append", feed.spec.name, "--date", "2013-01-01").stdout
    assert feed.ids() == [1]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["append"], "name the dates"),
        (["append", "--date", "today"], "--date today: expected 2013-01-31"),
        (["append", "--date", "2013-02-01"], "the partitions of"),
        (["append", "--date", "2013-01-05..2013-01-01"], "2013-01-05 lies after 2013-01-01"),
        (["ledger", "adopt"], "name the dates with --date, or take all of them with --all"),
        (["ledger", "forget"], "say which: --after-rollback, or --date and --file"),
        (["ledger", "resolve", "abc"], "does not exist"),
    ],
)
def test_what_is_not_clear_is_refused(feed: Feed, command: list[str], words: str) -> None:
    name = [feed.spec.name]
    at = 2 if command[0] == "ledger" else 1
    assert words in run(*command[:at], *name, *command[at:], fails=2).stderr


def test_a_claim_in_doubt_is_settled_once_the_evidence_was_shown(feed: Feed) -> None:
    """Its runner died, and the snapshots are gone that would tell whether its rows came in."""
    file, name = feed.land(D1, "a", [1]), feed.spec.name
    table = on_paper.make(feed.profile.pyiceberg(), name)
    for _ in range(2):
        on_paper.append(table, [D1], 1)
    old = table.refresh().metadata.snapshots[0].snapshot_id
    table.maintenance.expire_snapshots().by_ids([old]).commit()
    ledger = Ledger(feed.profile, feed.spec, str(table.metadata.table_uuid))
    claim = ledger.claim(4, landed(feed.spec, D1), datetime.now(UTC))

    assert "1 in doubt" in run("ledger", "show", name).stdout
    evidence = run("ledger", "resolve", name, claim.id[:8]).stdout
    assert str(file) in evidence
    assert "say what you found: --in, or --not-in" in evidence
    assert [one["claim"] for one in shown(feed)["in_doubt"]] == [claim.id], "nothing was written"
    assert f"claim {claim.id} is confirmed" in run("ledger", "resolve", name, claim.id, "--in").stdout
    assert [one["path"] for one in shown(feed)["files"]] == [str(file)]
    assert "is not in doubt" in run("ledger", "resolve", name, claim.id, "--not-in", fails=2).output
