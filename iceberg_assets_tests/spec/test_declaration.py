"""A table's YAML: what is accepted, what is refused, and in which words."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets.spec.names import slug
from iceberg_assets.spec.table import format_identifier, parse_identifier

WHOLE = """
table: demo.flights
profile: local
source: {path: "data/raw/%Y-%m-%d/*.parquet", late: append, new_columns: fail, bad_files: fail}
derive: {ts: "timestamp_millis(resolvedTimestamp)"}
dates: {column: time_hour, start: "2013-01-01", timezone: UTC}
partition_by: [{col: time_hour, type: date, func: day}, {col: carrier, type: bucket, size: 4}]
properties: {write.target-file-size-bytes: 128MB, history.expire.max-snapshot-age-ms: 5d, write.wap.enabled: false}
maintenance:
  quiet_for: 15m
  compact:
    {strategy: binpack, options: {min-input-files: 5, target-file-size-bytes: 1MB}, after_append: false, verify: rows}
  manifests: {min_count: 20}
  expire:    {older_than: 5d, retain_last: 1, minimum_age: 24h}
  orphans:   {older_than: 3d, every: 7d}
checks: {small_files: {max: 0, severity: warn}}
"""


def parse(changes: dict[str, Any] | None = None, variables: dict[str, str] | None = None) -> TableSpec:
    attributes = yaml.safe_load(WHOLE) | (changes or {})
    return parse_table(attributes, root=Path("/project"), variables=variables or {}, where="defs.yaml")


def test_every_key_of_the_documented_declaration_is_read():
    spec = parse()
    assert spec.table == ("demo", "flights")
    assert spec.source is not None
    assert spec.source.pattern(date(2013, 1, 5)) == "/project/data/raw/2013-01-05/*.parquet"
    assert spec.source.root == "/project/data/raw"
    assert spec.properties["write.target-file-size-bytes"] == "134217728"
    assert spec.properties["history.expire.max-snapshot-age-ms"] == "432000000"
    assert spec.properties["write.wap.enabled"] == "false"
    assert spec.maintenance.compact.options == {"min-input-files": "5", "target-file-size-bytes": "1048576"}
    assert spec.maintenance.expire.minimum_age == timedelta(hours=24)


def test_a_table_without_a_source_is_accepted():
    spec = parse_table(
        {"table": "demo.other", "dates": {"column": "ts", "start": "2024-01-01"}}, root=Path(), variables={}, where="x"
    )
    assert spec.source is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtes": {}}, ["dtes: unknown key 'dtes'", "did you mean 'dates'?"]),
        ({"maintenance": {"compct": {}}}, ["maintenance.compct: unknown key", "did you mean 'compact'?"]),
        ({"maintenance": {"quiet_for": 900}}, ["maintenance.quiet_for: expected an age such as 15m", "got 900"]),
        ({"maintenance": {"orphans": {"older_than": "1h"}}}, ["maintenance.orphans.older_than: expected at least 24h"]),
        (
            {"maintenance": {"compact": {"options": {"min-input-file": 2}}}},
            ["maintenance.compact.options: unknown option 'min-input-file'; did you mean 'min-input-files'?"],
        ),
        (
            # Java reads an int; every run would fail.
            {"maintenance": {"compact": {"options": {"min-input-files": 3_000_000_000}}}},
            ["min-input-files: expected a whole number of 2147483647 at most, got 3000000000"],
        ),
        (
            {"maintenance": {"compact": {"options": {"delete-ratio-threshold": 3}}}},
            ["maintenance.compact.options: delete-ratio-threshold: expected a number between 0 and 1, got 3"],
        ),
        ({"partition_by": [{"col": "a", "type": "bucket"}]}, ["partition_by.0: type bucket needs size"]),
        ({"partition_by": [{"col": "a", "type": "date", "func": "week"}]}, ["partition_by.0.func", "'day'"]),
        ({"partition_by": [{"col": "a", "type": "identity", "func": "day"}]}, ["type identity takes no func"]),
        ({"source": {"path": "data/raw/*.parquet"}}, ["source: path: expected the date in it"]),
        ({"source": {"path": "data/raw/%Y-%m/*.parquet"}}, ["source: path: expected the date in it"]),
        ({"source": {"path": "raw/%m-%d/*.parquet"}}, ["each file under one date: it is the same for 2024-11-01"]),
        ({"source": {"path": "raw/f-%Y-%-m-%-d*.parquet"}}, ["read for 2024-01-01 as it is for 2024-01-10", "padded"]),
        ({"source": {"path": "raw/*%-d-%m-%Y.parquet"}}, ["as it is for", "padded"]),
        ({"source": {"path": "raw/*%Y-%m-%d*.parquet"}}, ["a date stands between two wildcards"]),
        ({"source": {"path": "raw/**/%Y-%m-%d/**/*.parquet"}}, ["'%Y-%m-%d' stands between two '**'"]),
        ({"table": "flights"}, ["table: expected namespace.table"]),
        ({"table": "iceberg_assets_state.x"}, ["table: the namespace iceberg_assets_state", "another namespace"]),
        ({"table": ["Iceberg_Assets_State", "deep", "x"]}, ["table: the namespace iceberg_assets_state"]),
        ({"derive": {"_Pos": "id"}}, ["derive._Pos: Iceberg and Spark keep that name", "choose another"]),
        ({"dates": {"column": "t", "start": "yesterday"}}, ["dates.start"]),
        ({"dates": {"column": "t", "start": "2014-01-01", "end": "2013-01-01"}}, ["end 2013-01-01 lies before start"]),
        ({"source": None}, ["derive needs a source"]),
        ({"checks": {"small_files": {"max": -1}}}, ["checks.small_files.max"]),
        ({"checks": {"small_files": {"max": True}}}, ["checks.small_files.max: expected a number, got true"]),
        ({"maintenance": {"expire": {"retain_last": True}}}, ["expire.retain_last: expected a number, got true"]),
        ({"maintenance": {"orphans": {"max_share": True}}}, ["orphans.max_share: expected a number, got true"]),
        ({"properties": {"a": [1]}}, ["properties: a: expected a text, a number or true/false"]),
    ],
)
def test_a_mistake_is_named_by_its_key_path_with_the_way_out(changes, words):
    with pytest.raises(ConfigurationError) as refused:
        parse(changes)
    for expected in ["defs.yaml is not usable", *words]:
        assert expected in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        "raw/**/%Y-%m-%d/*.parquet",
        "raw/%Y/%m/%d/**/*.parquet",
        "raw/*/%F/*.parquet",
        "raw/%Y/%j/*.parquet",
        "raw/%Y%m%d??.parquet",
        "raw/[0-9]*_%Y-%m-%d.parquet",
        "raw/%Y-%-m-%-d_*.parquet",
    ],
)
def test_a_pattern_that_gives_each_file_one_date_is_accepted(path):
    assert parse({"source": {"path": path}}).source.path == f"/project/{path}"


def test_all_mistakes_are_named_at_once():
    with pytest.raises(ConfigurationError) as refused:
        parse({"dtes": {}, "maintenance": {"quiet_for": 1}, "table": "x"})
    assert str(refused.value).count("\n") == 3


def test_environment_variables_fill_templates_of_any_type():
    spec = parse(
        {
            "table": "{{ env.ICEBERG_DB_NAME }}.{{ env('ICEBERG_TABLE_NAME', 'flights') }}",
            "partition_by": [{"col": "dyid", "type": "bucket", "size": "{{ env.DYID_BUCKET_SIZE }}"}],
        },
        {"ICEBERG_DB_NAME": "lake", "DYID_BUCKET_SIZE": "16"},
    )
    assert spec.table == ("lake", "flights")
    assert spec.partition_by[0].size == 16


def test_unset_variables_and_broken_templates_are_named_with_their_key_paths():
    with pytest.raises(ConfigurationError) as refused:
        parse(
            {
                "table": "{{ env.ICEBERG_DB_NAME }}.flights",
                "partition_by": [{"col": "a", "type": "bucket", "size": "{{ env.SIZE }}"}],
                "properties": {"owner": "{{ env.OWNER"},
            }
        )
    first, *lines = str(refused.value).splitlines()
    assert first == "defs.yaml is not usable:"
    assert len(lines) == 3
    for line, (path, name) in zip(
        lines,
        [("table", "ICEBERG_DB_NAME"), ("partition_by.0.size", "SIZE"), ("properties.owner", "OWNER")],
        strict=True,
    ):
        assert line.strip().startswith(f"{path}: ")
        assert name in line


@pytest.mark.parametrize("parts", [("a", "b"), ("a.b", "c"), ("we`ird", "na'me"), ("Ünï", "x y", "z")])
def test_any_identifier_is_printed_and_read_back(parts):
    assert parse_identifier(format_identifier(parts)) == parts
    assert parse_identifier(list(parts)) == parts


def test_slugs_of_different_names_differ():
    names = [
        ("demo", "flights"),
        ("demo.flights", "x"),
        ("demo", "flights.x"),
        ("demo__flights",),
        ("dé", "mo"),
        ("de", "mo"),
    ]
    assert len({slug(*name) for name in names}) == len(names)
    assert slug("demo", "flights") == "demo__flights"


def test_a_project_folder_that_would_be_a_pattern_is_refused():
    with pytest.raises(ConfigurationError, match=r"source\.path is read from /pro%ject, and % in its name"):
        parse_table(yaml.safe_load(WHOLE), root=Path("/pro%ject"), variables={}, where="defs.yaml")


@pytest.mark.parametrize("spelled", ["link/%Y-%m-%d/*.parquet", "raw/../raw/%Y-%m-%d/*.parquet"])
def test_one_folder_is_one_path_however_it_is_spelled(tmp_path, spelled):
    (tmp_path / "raw").mkdir()
    (tmp_path / "link").symlink_to("raw")
    attributes = yaml.safe_load(WHOLE) | {"source": {"path": spelled}}
    spec = parse_table(attributes, root=tmp_path, variables={}, where="defs.yaml")
    assert spec.source is not None
    assert spec.source.pattern(date(2024, 1, 2)) == f"{tmp_path.resolve()}/raw/2024-01-02/*.parquet"


def test_a_table_without_a_column_of_dates_has_to_say_so_and_has_no_source() -> None:
    """A forgotten ``column`` must not turn a table of dates into one that is rewritten as a whole."""
    whole = {"table": "a.b", "dates": {"column": None, "start": "2024-01-01"}}
    assert TableSpec.model_validate(whole).dates.column is None
    with pytest.raises(ValidationError, match="column"):
        TableSpec.model_validate({"table": "a.b", "dates": {"start": "2024-01-01"}})
    with pytest.raises(ValidationError, match=r"dates\.column: a table with a source needs one"):
        TableSpec.model_validate({**whole, "source": {"path": "raw/%Y-%m-%d/*.parquet"}})


def test_a_flat_location_brings_the_class_that_heeds_it():
    for listed in ("carrier", "carrier_bucket, time_hour_day", "time_hour", ""):
        properties = parse({"properties": {"write.location-provider.flat.fields": listed}}).properties
        assert properties["write.location-provider.flat.fields"] == listed
        assert properties["write.location-provider.impl"] == "iceberg_assets.jvm.FlatLocationProvider"
    assert "write.location-provider.impl" not in parse().properties


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "properties.write.location-provider.flat.fields: 'carier' is no partition field; did you mean 'carrier'?"),
        (
            {"write.location-provider.impl": "com.example.Own"},
            "com.example.Own knows nothing of write.location-provider",
        ),
        ({"write.object-storage.enabled": True}, "write.object-storage.enabled: Iceberg spreads files over folders"),
    ],
)
def test_a_flat_location_that_could_not_be_is_refused(properties, said):
    with pytest.raises(ConfigurationError) as refused:
        parse({"properties": {"write.location-provider.flat.fields": "time_hour,carier", **properties}})
    assert said in str(refused.value)
