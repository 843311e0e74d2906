"""What is declared of Iceberg's procedures: which values are taken, which are refused, and in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets.spec.sort_order import parse_sort_order
from iceberg_assets_tests import operations_page
from iceberg_assets_tests.spec.test_declaration import parse

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("procedure", "given", "meant"),
    [
        ("rewrite_data_files", {"target-file-size-bytes": "512MB"}, 512 * 1024**2),
        ("rewrite_data_files", {"min-input-files": "2"}, 2),
        ("rewrite_data_files", {"delete-ratio-threshold": "0.5"}, 0.5),
        ("rewrite_data_files", {"compression-factor": 1.5}, 1.5),
        ("rewrite_data_files", {"rewrite-all": "TRUE"}, True),
        ("rewrite_data_files", {"rewrite-job-order": "bytes-asc"}, "bytes-asc"),
        ("expire_snapshots", {"older_than": "90d"}, timedelta(days=90)),
        ("expire_snapshots", {"older_than": "2024-05-01T09:00:00+09:00"}, NOW),
        ("expire_snapshots", {"snapshot_ids": "8413,12"}, (8413, 12)),
        ("remove_orphan_files", {"equal_schemes": '{"s3a": "s3"}'}, {"s3a": "s3"}),
        ("rewrite_manifests", {"sort_by": "region, ts_day"}, ("region", "ts_day")),
        ("rollback_to_snapshot", {"snapshot_id": "8413"}, 8413),
    ],
)
def test_a_value_is_read_as_people_write_it(procedure, given, meant):
    (value,) = PROCEDURES[procedure].parse(given).values()
    assert value == meant


@pytest.mark.parametrize(
    ("procedure", "given", "words"),
    [
        ("rewrite_data_files", {"min-input-file": 5}, "did you mean 'min-input-files'?"),
        ("rewrite_data_files", {"min-input-files": 0}, "min-input-files: expected at least 1, got 0"),
        # Java reads an int; every run would fail.
        ("rewrite_data_files", {"min-input-files": 1 << 31}, "a whole number of 2147483647 at most"),
        ("rewrite_data_files", {"compression-factor": "inf"}, "expected a number above 0, got 'inf'"),
        ("rollback_to_snapshot", {"snapshot_id": str(1 << 63)}, "expected the id of a snapshot"),
        ("rewrite_data_files", {"target-file-size-bytes": "big"}, "target-file-size-bytes: expected a size"),
        ("rewrite_data_files", {"rewrite-all": "yes"}, "rewrite-all: expected true or false"),
        ("rewrite_data_files", {"delete-ratio-threshold": 3}, "expected a number between 0 and 1"),
        ("rewrite_data_files", {"compression-factor": 0}, "expected a number above 0"),
        ("rewrite_data_files", {"strategy": "zorder"}, "strategy: expected one of binpack, sort"),
        ("rewrite_data_files", {"partial-progress.enabled": "true"}, "a date is one commit"),
        ("expire_snapshots", {"older_than": "2024-05-01T09:00:00"}, "expected a zone with it"),
        ("expire_snapshots", {"older_than": "yesterday"}, "expected an age such as 90d"),
        ("expire_snapshots", {"snapshot_ids": "-1"}, "expected the id of a snapshot"),
        ("remove_orphan_files", {"prefix_mismatch_mode": "delete"}, "expected one of ERROR, IGNORE, DELETE"),
        ("remove_orphan_files", {"equal_schemes": "s3a=s3"}, "expected a map of texts"),
        ("fast_forward", {"branch": "main"}, "fast_forward needs to"),
    ],
)
def test_a_value_that_is_wrong_is_refused_with_its_name_and_what_was_expected(procedure, given, words):
    with pytest.raises(ValueError) as refused:
        PROCEDURES[procedure].parse(given)
    assert words in str(refused.value)


def test_options_become_a_map_of_texts_and_ages_points_in_time():
    rewrite = PROCEDURES["rewrite_data_files"]
    values = rewrite.parse(
        {"strategy": "sort", "rewrite-all": True, "target-file-size-bytes": "1MB", "where": "id = 3"}
    )
    assert rewrite.call_arguments(values, NOW) == {
        "strategy": "sort",
        "where": "id = 3",
        "options": {"rewrite-all": "true", "target-file-size-bytes": "1048576"},
    }
    expire = PROCEDURES["expire_snapshots"]
    assert expire.call_arguments(expire.parse({"older_than": "1d"}), NOW) == {"older_than": NOW - timedelta(days=1)}


@pytest.mark.parametrize(
    ("text", "kind", "columns"),
    [
        ("carrier", "sort", ("carrier",)),
        ("carrier DESC NULLS LAST, dest.city asc", "sort", ("carrier", "dest.city")),
        ("bucket(4, id) DESC, truncate(name, 3)", "sort", ("id", "name")),
        ("`a b` ASC, `c``d`", "sort", ("a b", "c`d")),
        ("zorder(origin, dest)", "zorder", ("origin", "dest")),
        ("ZORDER( `a b` ,dest )", "zorder", ("a b", "dest")),
        ("hilbert(origin,dest)", "hilbert", ("origin", "dest")),
    ],
)
def test_a_sort_order_names_its_columns(text, kind, columns):
    order = parse_sort_order(text)
    assert (order.kind, order.columns) == (kind, columns)


@pytest.mark.parametrize("text", ["", "carrier SIDEWAYS", "a,", "zorder(a), b", "b, zorder(a, c)", "zorder()", 7])
def test_what_is_no_sort_order_is_refused(text):
    with pytest.raises(ValueError):
        parse_sort_order(text)


def test_an_order_of_several_columns_needs_several():
    with pytest.raises(ValueError, match="zorder interleaves several columns, and 'zorder\\(id\\)' has one"):
        parse_sort_order("zorder(id)")


def test_a_column_named_as_the_curve_calls_its_own_is_refused():
    order = parse_sort_order("zorder(a, b)")
    assert order.mistake(["a", "b"]) is None
    assert "the table has a column IceZValue" in str(order.mistake(["a", "b", "IceZValue"]))
    assert "the table has no column b" in str(order.mistake(["a"]))
    # SparkZOrderFileRewriteRunner looks its columns up as paths.
    nested = parse_sort_order("zorder(a, `b.c`)")
    assert "zorder takes columns of the table itself" in str(nested.mistake(["a", "b.c"]))
    assert parse_sort_order("a, b").mistake(["a", "b", "ICEZVALUE"]) is None


@pytest.mark.parametrize(
    ("compact", "words"),
    [
        ({"sort_order": "id"}, "sort_order needs strategy: sort"),
        ({"strategy": "zorder"}, "maintenance.compact.strategy"),
        ({"strategy": "sort", "sort_order": "zorder(id)"}, "interleaves several columns"),
        ({"options": {"compression-factor": 2}}, "compression-factor needs strategy: sort"),
        (
            {"strategy": "sort", "sort_order": "id", "options": {"max-output-size": 8}},
            "max-output-size needs sort_order: zorder",
        ),
        ({"options": {"partial-progress.enabled": True}}, "not offered: a date is one commit"),
        ({"options": {"where": "id = 3"}}, "iceberg-assets call rewrite_data_files"),
    ],
)
def test_a_compaction_that_iceberg_would_refuse_is_refused_when_it_is_loaded(compact, words):
    with pytest.raises(ConfigurationError) as refused:
        parse({"maintenance": {"compact": compact}})
    assert words in str(refused.value)


def test_the_schema_of_a_declaration_describes_every_option():
    options = TableSpec.model_json_schema()["$defs"]["Compact"]["properties"]["options"]["properties"]
    assert options["rewrite-job-order"]["enum"] == ["bytes-asc", "bytes-desc", "files-asc", "files-desc", "none"]
    assert "partial-progress.enabled" not in options
    assert all(one["description"] for one in options.values())


def test_the_page_of_the_operations_is_current():
    assert operations_page.PAGE.read_text() == operations_page.current(), "make docs-operations"
