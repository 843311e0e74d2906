"""The page of catalogs says what services.json says, and that is about the suites as they are. No JVM."""

from pathlib import Path

import pytest

from iceberg_assets_tests.services import results
from iceberg_assets_tests.services.catalogs import CATALOGS
from iceberg_assets_tests.services.page import PAGE, page
from iceberg_assets_tests.services.results import Result, Suite
from iceberg_assets_tests.services.suites import SUITES, picked


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    assert PAGE.read_text() == page(), "make test-services writes both"


def test_no_result_is_of_a_cell_that_is_no_more() -> None:
    _, suites = results.read()
    told = {(name, cell) for name, one in suites.items() for cell in one.cells}
    assert told <= {(name, cell.name) for name, one in SUITES.items() for cell in one.cells}


def test_a_cell_that_was_not_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FILE", tmp_path / "services.json")
    results.write({"glue": Suite(1, {"create": Result("ok", 1.0)})})
    row = next(line for line in page().splitlines() if line.startswith("| **create**"))
    assert row.count("not run") == len(CATALOGS) - 1
    assert row.count("| ok |") == 1


def test_nothing_that_was_run_failed() -> None:
    _, suites = results.read()
    assert {name: one.failed for name, one in suites.items() if one.failed} == {}


def test_every_suite_has_its_turn_and_a_commit_always_the_same() -> None:
    turns = [picked(f"{number:040x}") for number in range(len(SUITES))]
    assert {name for turn in turns for name in turn} == set(SUITES)
    assert all(len(set(turn)) == len(turn) for turn in turns)
    assert picked("ab12") == picked("ab12")
