"""The real daemon, code server, webserver and browser: nothing is lost when one of them dies, and the pages say so."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from playwright.sync_api import Page

from iceberg_assets.health.attempts import retry_distance
from iceberg_assets_tests.daemon import browser, lake
from iceberg_assets_tests.daemon.deployment import Deployment, deployed, sooner
from iceberg_assets_tests.daemon.story import COMPACTION, Story, tell

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
TABLE = "lake/events"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, dg.DagsterInstance]]:
    browser.chromium()  # Said before minutes have gone by.
    root = tmp_path_factory.mktemp("lake")
    lake.make_project(root)
    with deployed(root, lake.PACKAGE, sooner((ROOT / "dagster.yaml").read_text())) as both:
        yield both


@pytest.fixture(scope="module")
def story(running: tuple[Deployment, dg.DagsterInstance]) -> Story:
    return tell(*running)


@pytest.fixture(scope="module")
def page(running: tuple[Deployment, dg.DagsterInstance], story: Story) -> Iterator[Page]:
    with browser.opened(running[0].url) as opened:
        yield opened


def test_what_a_daemon_asked_for_before_it_died_is_done_by_the_next_one_and_once(story):
    assert [run.run_id for run in story.runs][:1] == [story.asked]
    assert len({run.tags["dagster/run_key"] for run in story.runs}) == len(story.runs) == 2


def test_a_run_that_is_killed_within_a_compaction_fails_and_loses_nothing(story):
    first, _ = story.runs
    assert first.status is dg.DagsterRunStatus.FAILURE
    assert 0 < story.killed.rewrites < len(lake.DATES), "some dates were done, some were not"
    assert story.killed.ids == story.appended.ids


def test_the_plan_waits_after_a_failure_though_the_code_server_is_new(story):
    assert story.waited >= retry_distance(1).total_seconds()


def test_what_a_killed_run_left_is_done_once_and_every_row_is_there_once(story):
    _, second = story.runs
    assert second.status is dg.DagsterRunStatus.SUCCESS
    assert story.at_last.rewrites == len(lake.DATES), "no date was rewritten twice"
    assert set(story.at_last.files) == set(lake.DATES)
    assert set(story.at_last.files.values()) == {1}
    assert dict(story.at_last.ids) == dict.fromkeys(range(len(lake.DATES) * lake.FILES * lake.ROWS), 1)


def test_the_plots_show_the_files_of_each_date_before_and_after(page):
    drawn = browser.plots(page, TABLE)
    # A tick between the append's commit and its events shows a date that these are about to show.
    before, after = drawn["iceberg/data_files"][: -len(lake.DATES)], drawn["iceberg/data_files"][-len(lake.DATES) :]
    assert (set(before), len(before) >= len(lake.DATES)) == ({lake.FILES}, True)
    assert after == [1] * len(lake.DATES)
    assert set(drawn["dagster/partition_row_count"]) == {lake.FILES * lake.ROWS}


def test_the_page_of_a_partition_tells_its_files_and_what_was_done(page):
    shown = browser.partitions(page, f"{TABLE}/compacted", lake.DATES[-1].isoformat())
    assert "5 files of 5 planned became 1" in shown


def test_the_page_of_a_check_tells_its_number(page):
    assert "compaction would remove 0 of 10 data files" in browser.check(page, TABLE, "small_files")


def test_the_page_of_a_sensor_tells_why_a_tick_asked_for_nothing(page):
    why = f"{TABLE} compacted: no group of files is due: 10 files on 10 dates, 10 small ones below the rule"
    assert why in browser.reason(page, lake.PACKAGE, COMPACTION)
