"""The planner's rule, without an engine; the parity run holds it to Iceberg itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import DataFile, DeleteFile, Group, groups, rule
from iceberg_assets_tests.health.examples import DAY, TARGET, file, sized


def only(found: list[Group]) -> Group:
    (group,) = found
    return group


@pytest.mark.parametrize(("count", "due"), [(4, False), (5, True)])
def test_four_small_files_wait_and_five_are_rewritten(count: int, due: bool) -> None:
    group = only(groups([file() for _ in range(count)], 0, sized()))
    assert group.due is due
    assert f"{count} files" in group.reason
    assert "due from 5" in group.reason


@pytest.mark.parametrize(("count", "due"), [(1, False), (2, True)])
def test_min_input_files_of_one_still_needs_two(count: int, due: bool) -> None:
    assert only(groups([file() for _ in range(count)], 0, sized(min_input_files=1))).due is due


def test_files_of_a_good_size_are_no_candidates() -> None:
    assert groups([file(750), file(1000), file(1800)], 0, sized()) == []


def test_two_files_that_fill_the_target_are_rewritten() -> None:
    assert only(groups([file(700), file(700)], 0, sized())).due


def test_a_file_that_is_too_large_is_split() -> None:
    group = only(groups([file(2000)], 0, sized()))
    assert (group.due, group.outputs, group.removes) == (True, 2, 0)


def test_partitions_are_grouped_apart() -> None:
    found = groups([file(partition=(1,)) for _ in range(3)] + [file(partition=(2,)) for _ in range(3)], 0, sized())
    assert [(group.partition, group.due) for group in found] == [((1,), False), ((2,), False)]


def test_files_of_all_older_specs_form_one_group() -> None:
    old = [file(spec_id=1, partition=(n,)) for n in range(3)] + [file(spec_id=2, partition=()) for _ in range(3)]
    group = only(groups(old, 0, sized()))
    assert (group.partition, len(group.files), group.due) == ((), 6, True)


def test_files_of_no_partition_are_packed_with_those_of_older_specs() -> None:
    """A null in every field of the current spec is the partition that Iceberg gives to files of other specs."""
    old = [file(spec_id=1, partition=(n,)) for n in range(3)]
    null, half = [file(partition=(None, None)) for _ in range(2)], file(partition=(None, 1))
    found = groups([*old, *null, half], 0, sized())
    assert [(group.partition, len(group.files), group.due) for group in found] == [((), 5, True), ((None, 1), 1, False)]


def test_delete_files_alone_make_a_file_due_where_the_threshold_says_so() -> None:
    heavy = file(1000, deletes=("a", "b"))
    assert groups([heavy], 0, sized()) == []
    assert only(groups([heavy], 0, sized(delete_file_threshold=2))).due


@pytest.mark.parametrize(("deleted", "due"), [(2, False), (3, True), (30, True)])
def test_a_file_with_three_tenths_of_its_rows_deleted_is_rewritten(deleted: int, due: bool) -> None:
    assert bool(groups([file(1000, deletes=("a",), deleted_rows=deleted)], 0, sized())) is due


def test_deletes_of_a_file_without_rows_are_no_ratio() -> None:
    empty = DataFile("empty", 1000, 0, 0, (), DAY, DAY, deletes=(DeleteFile("a", 1),))
    assert groups([empty], 0, sized()) == []


def test_rewrite_all_takes_a_single_good_file() -> None:
    assert only(groups([file(1000)], 0, sized(rewrite_all="true"))).due


def test_groups_are_packed_in_order_up_to_their_size_and_count() -> None:
    found = groups([file(100) for _ in range(7)], 0, sized(max_file_group_size_bytes=350, min_input_files=3))
    assert [(len(group.files), group.due) for group in found] == [(3, True), (3, True), (1, False)]
    found = groups([file(100) for _ in range(5)], 0, sized(max_file_group_input_files=2, min_input_files=2))
    assert [len(group.files) for group in found] == [2, 2, 1]


def test_max_files_to_rewrite_cuts_a_group_and_leaves_the_next() -> None:
    files = [file(partition=(n,)) for n in (1, 2) for _ in range(5)]
    found = groups(files, 0, sized(max_files_to_rewrite=3))
    assert [(len(group.files), group.due) for group in found] == [(3, True), (5, False)]
    assert "max-files-to-rewrite" in found[1].reason


@pytest.mark.parametrize(
    ("size", "outputs"), [(999, 1), (1000, 1), (1090, 1), (1200, 2), (1751, 2), (2100, 2), (2210, 3)]
)
def test_the_remainder_is_spread_where_files_stay_within_a_tenth_of_the_target(size: int, outputs: int) -> None:
    assert sized().expected_outputs(size) == outputs


@pytest.mark.parametrize(
    "options",
    [
        {"min-file-size-bytes": "1000", "target-file-size-bytes": "1000"},
        {"max-file-size-bytes": "1000", "target-file-size-bytes": "1000"},
        {"min-input-files": "0"},
        {"delete-ratio-threshold": "0"},
        {"max-files-to-rewrite": "0"},
    ],
)
def test_what_iceberg_would_refuse_is_refused_with_its_name(options: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        rule(options, {})


def test_the_tables_target_counts_where_no_option_says_otherwise() -> None:
    assert rule({}, {"write.target-file-size-bytes": "4000"}).smallest == 3000
    assert rule({}, {}).target == 512 * 1024**2


@given(st.lists(st.builds(file, size=st.integers(1, 5 * TARGET), partition=st.tuples(st.integers(0, 2)))))
def test_no_file_is_in_two_groups_and_every_wrong_sized_file_is_in_one(files: list[DataFile]) -> None:
    grouped = [one.path for group in groups(files, 0, sized()) for one in group.files]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {one.path for one in files if one.size < 750 or one.size > 1800}


@given(st.integers(1, 50 * TARGET))
def test_expected_files_are_at_most_a_tenth_above_the_target_on_average(size: int) -> None:
    assert sized().expected_outputs(size) >= 1
    assert size / sized().expected_outputs(size) < 1.1 * TARGET + 1
