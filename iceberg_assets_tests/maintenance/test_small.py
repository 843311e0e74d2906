"""Which table's snapshots the driver expires by itself, by facts alone."""

from dataclasses import replace

from iceberg_assets.maintenance.expire import is_small
from iceberg_assets_tests.health.examples import table


def test_a_summary_that_says_no_number_is_not_taken_for_small() -> None:
    """Other writers' figures may be empty, or too large for the driver; unknown is not zero."""
    (told,) = table().snapshots
    for figure, small in (("12", True), ("", False), ("n/a", False), ("-1", False), ("1000000", False)):
        one = replace(told, summary={"added-data-files": figure})
        assert is_small(replace(table(), snapshots=(one,))) is small, figure
    assert not is_small(replace(table(), snapshots=(replace(told, operation=""),)))


def test_a_table_without_a_current_snapshot_is_the_procedures() -> None:
    """What is staged may all go then, and Iceberg's library is given an id more than there are snapshots."""
    assert not is_small(replace(table(), snapshot_id=None))
