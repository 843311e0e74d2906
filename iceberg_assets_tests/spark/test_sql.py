"""Any name and any text survive the way into Spark and back."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_assets.spark import call, literal, quote


def test_a_call_names_its_arguments_and_leaves_out_what_is_not_given():
    statement = call("local", "expire_snapshots", table=quote("a", "b"), older_than=None, options={}, retain_last=2)
    assert statement == "CALL `local`.system.expire_snapshots(table => '`a`.`b`', retain_last => 2)"


def test_false_is_an_argument():
    assert "dry_run => false" in call("local", "remove_orphan_files", dry_run=False)


def test_times_carry_their_zone():
    assert literal(datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)) == "TIMESTAMP '2024-01-02 03:04:05+00:00'"
    assert literal(date(2024, 1, 2)) == "DATE '2024-01-02'"


@pytest.mark.parametrize("value", [datetime(2024, 1, 2), object(), None])  # noqa: DTZ001 (a naive time is the point)
def test_what_has_no_literal_is_refused(value):
    with pytest.raises(TypeError, match="no Spark SQL literal"):
        literal(value)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30), min_size=1, max_size=5))
def test_spark_reads_any_text_back(spark, texts):
    row = spark.sql(f"SELECT {', '.join(literal(text) for text in texts)}").collect()[0]
    assert list(row) == texts


@pytest.mark.parametrize("name", ["a b", "a.b", "it's", 'say "x"', "back`tick", "select", "Größe", "emoji🙂"])
def test_spark_takes_any_name(spark, name):
    assert spark.sql(f"SELECT 1 AS {quote(name)}").columns == [name]
