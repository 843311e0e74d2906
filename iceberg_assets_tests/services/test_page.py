"""The page of catalogs says what services.json says, and services.json knows every suite and cell. No JVM."""

from iceberg_assets_tests.services import results
from iceberg_assets_tests.services.catalogs import CATALOGS
from iceberg_assets_tests.services.page import PAGE, page
from iceberg_assets_tests.services.suites import SUITES, picked


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    assert PAGE.read_text() == page(), "make test-services writes both"


def test_there_are_results_of_every_cell_and_of_no_other() -> None:
    _, suites = results.read()
    known = {name: {cell.name for cell in one.cells} for name, one in SUITES.items()}
    assert {name: set(one.cells) for name, one in suites.items()} == known


def test_nothing_that_was_run_failed() -> None:
    _, suites = results.read()
    assert {name: one.failed for name, one in suites.items() if one.failed} == {}


def test_every_catalog_has_its_turn_and_a_commit_always_the_same() -> None:
    turns = [picked(f"{number:040x}") for number in range(len(CATALOGS))]
    assert {name for turn in turns for name in turn} == set(CATALOGS)
    assert all(len(set(turn)) == len(turn) for turn in turns)
    assert picked("ab12") == picked("ab12")
