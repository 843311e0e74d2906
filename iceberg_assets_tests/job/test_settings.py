"""The job's file is read as it stands, in three spellings, and what is wrong in it is named with its path."""

import json
from pathlib import Path

import pytest
import yaml

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.job import JobSettings, read_settings
from iceberg_assets.spec.policy import MaintenancePolicy
from iceberg_assets_tests.job.written import written

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("name", ["compaction.conf", "compaction-first.conf"])
def test_the_file_that_people_start_from_is_read_as_it_stands(name: str) -> None:
    settings = read_settings(FILES / name)
    assert settings.catalog == "spark_catalog"
    assert settings.rewrite_data_files.options == {"min-input-files": "2"}
    assert (settings.parallelism, settings.stats_batch_size) == (4, 100)
    assert settings.table_overrides == {}, "placeholders are no table"
    assert any("older_than_days is 1" in note for note in settings.notes)


def test_hocon_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    hocon = written(
        tmp_path,
        """
        catalog: lake   // a comment
        databases = [sales, "eu.orders"]
        rewrite_data_files { strategy: sort, sort_order: "id ASC", options { rewrite-all: true, min-input-files: 1 } }
        expire_snapshot.retain_last = 3
        table_overrides { sales.archive { rewrite_data_files { enabled: false, quiet_for: 1 h } } }
        """,
    )
    same = {
        "catalog": "lake",
        "databases": ["sales", "eu.orders"],
        "rewrite_data_files": {
            "strategy": "sort",
            "sort_order": "id ASC",
            "options": {"rewrite-all": True, "min-input-files": 1},
        },
        "expire_snapshot": {"retain_last": 3},
        "table_overrides": {"sales.archive": {"rewrite_data_files": {"enabled": False, "quiet_for": "1h"}}},
    }
    assert hocon == written(tmp_path, json.dumps(same), "job.json")
    assert hocon == written(tmp_path, yaml.safe_dump(same), "job.yaml")
    assert hocon.databases == (("sales",), ("eu", "orders"))


def test_an_override_is_found_however_its_table_is_written(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        """
        catalog: lake
        table_overrides {
            a.nested { expire_snapshot.retain_last: 1 }
            "a.quoted" { expire_snapshot.retain_last: 2 }
            a.deep.er { expire_snapshot.retain_last: 3 }
            "a.`with.dot`" { expire_snapshot.retain_last: 4 }
            alone { expire_snapshot.retain_last: 5 }
        }
        """,
    )
    tables = [("a", "nested"), ("a", "quoted"), ("a", "deep", "er"), ("a", "with.dot"), ("any", "alone")]
    assert [settings.of(table).expire_snapshot.retain_last for table in tables] == [1, 2, 3, 4, 5]
    assert settings.of(("a", "other")).expire_snapshot.retain_last is None


def test_the_override_of_one_table_goes_before_that_of_a_name_and_both_before_the_file(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        """
        catalog: lake
        expire_snapshot { retain_last: 9, older_than_days: 9 }
        rewrite_data_files.options { min-input-files: 9, max-files-to-rewrite: 9 }
        table_overrides {
            t { expire_snapshot { retain_last: 1, older_than_days: 1 } }
            a.t { expire_snapshot.retain_last: 2, rewrite_data_files.options { min-input-files: 2 } }
        }
        """,
    )
    expire = settings.of(("a", "t")).expire_snapshot
    assert (expire.retain_last, expire.older_than_days) == (2, 1)
    assert settings.of(("b", "t")).expire_snapshot.retain_last == 1
    assert settings.of(("a", "t")).rewrite_data_files.options == {"min-input-files": "2"}, "options as a whole"


def test_a_condition_of_ones_own_says_what_is_at_rest(tmp_path: Path) -> None:
    policy = (
        written(tmp_path, "catalog: lake, rewrite_data_files.where: \"day < DATE '2024-01-01'\"")
        .of(("a", "b"))
        .policy()
    )
    assert policy.quiet_for.total_seconds() == 0
    assert MaintenancePolicy().quiet_for.total_seconds() > 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("catalogue: lake", "unknown key 'catalogue'"),
        ("catalogue: lake", "did you mean 'catalog'?"),
        ("databases: []", "catalog: Field required"),
        ("catalog: lake, rewrite_data_files.option {}", "rewrite_data_files.option: unknown key"),
        ("catalog: lake, rewrite_data_files.options.min-input-file: 2", "did you mean 'min-input-files'?"),
        ("catalog: lake, rewrite_data_files.options.min-input-files: few", "min-input-files: expected a whole number"),
        ('catalog: lake, rewrite_data_files.options { "partial-progress.enabled": true }', "a date is one commit"),
        ("catalog: lake, rewrite_data_files.options.partial-progress.enabled: true", "a date is one commit"),
        ("catalog: lake, rewrite_data_files.strategy: zorder", "rewrite_data_files.strategy: "),
        ("catalog: lake, rewrite_data_files.options.compression-factor: 2", "compression-factor needs strategy: sort"),
        ("catalog: lake, remove_orphan_files.older_than_days: 0.5", "expected at least 1, got 0.5"),
        ("catalog: lake, parallelism: 0", "parallelism: "),
        ("catalog: lake, table_include: [a..b]", "table_include.0: expected database.table"),
        ('catalog: lake, table_include: [""]', "table_include.0: expected database.table"),
        ('catalog: lake, databases: [a, // not "b"\n"", """"""]', "databases.2: expected database.table"),
        ('catalog: lake, table_exclude: ["sales.*"]', "table_exclude.0: expected a name, and patterns are none"),
        ('catalog: lake, include "common.conf"', "common.conf. File does not exist or cannot be read: put it there"),
        ("catalog: lake, parallelism: true", "parallelism: expected a number, got true"),
        ("catalog: lake, expire_snapshot.retain_last: true", "snapshot.retain_last: expected a number, got true"),
        ("catalog: lake, expire_snapshot.older_than_days: false", "older_than_days: expected a number, got false"),
        ("catalog: lake, iceberg_assets.max_share: true", "iceberg_assets.max_share: expected a number, got true"),
        ("catalog: lake, table_overrides.a.t.expire_snapsot.enabled: false", "a.t.expire_snapsot.enabled"),
        ("catalog: lake, table_overrides.a.t.expire_snapsot.enabled: false", "did you mean 'expire_snapshot'?"),
        ("catalog: lake, table_overrides.a.t.expire_snapshot: off", "table_overrides.a.t.expire_snapshot: "),
        ("catalog: lake, table_overrides.a.t { expire_snapshot {}, nope {} }", "unknown key 'nope'"),
        (
            'catalog: lake, table_overrides { a.t { rewrite_data_files {} }, "a.t" { expire_snapshot {} } }',
            "table_overrides: a.t: the table is there twice",
        ),
        (
            'catalog: lake, table_overrides { "a.t": {}, "a.`t`": {} }',
            "table_overrides: a.`t`: the table is there twice",
        ),
        (
            "catalog: lake, table_overrides.a.t.rewrite_data_files.options.compression-factor: 2",
            "table_overrides.a.t.rewrite_data_files.options: compression-factor needs strategy: sort",
        ),
        ("[1, 2]", "got a list"),
        ("catalog: lake, databases: [", "line 1, column "),
        ("catalog: ${NOT_SET_ANYWHERE}", "NOT_SET_ANYWHERE"),
    ],
)
def test_a_mistake_is_refused_with_its_path(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        written(tmp_path, text)
    assert named in str(refused.value)
    assert "job.conf" in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_file_that_is_not_there_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_settings(tmp_path / "job.conf")


@pytest.mark.parametrize("name", ["job.conf", "job.yaml"])
def test_orphans_are_set_aside_until_the_file_lets_them_go(tmp_path: Path, name: str) -> None:
    def read(said: str) -> JobSettings:
        ours = f"iceberg_assets: {{orphans: {said}, max_share: 0.5}}"
        return written(tmp_path, "\n".join(["catalog: lake", *([ours] if said else [])]), name)

    aside, removed = (settings.policy_of(settings.of(("a", "b"))).orphans for settings in (read(""), read("remove")))
    assert aside.quarantine is not None
    assert (removed.quarantine, removed.max_share) == (None, 0.5)
    assert read("off").iceberg_assets.orphans == "off", "which YAML reads as false"
    assert [note.partition(" ")[0] for note in read("").notes] == ["iceberg_assets.orphans"]


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        """
        catalog: lake
        table_include: [a.b], table_exclude: [a.c]
        lock.enabled: true, iceberg_assets.orphans: remove
        rewrite_data_files.sort_order: id
        table_overrides {
            a.sorted.rewrite_data_files.strategy: sort
            a.packed.rewrite_data_files { strategy: binpack, sort_order: id }
        }
        """,
    )
    assert [note.partition(" ")[0] for note in settings.notes] == [
        "table_exclude",
        "lock",
        "rewrite_data_files.sort_order",
        "table_overrides.a.packed.rewrite_data_files.sort_order",
    ]
    assert settings.of(("a", "sorted")).policy().compact.sort_order == "id"
    assert settings.of(("a", "packed")).policy().compact.sort_order is None


def test_what_looks_like_a_list_in_a_text_or_a_comment_is_none(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        """
        catalog: lake   # [
        databases: ["with[", b]   // ["", {
        rewrite_data_files.where: "a = '[' OR b = \\"\\""
        """,
    )
    assert settings.databases == (("with[",), ("b",))
    assert settings.rewrite_data_files.where == "a = '[' OR b = \"\""
