"""Equal contents hold the same rows, and any change to any row is seen."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from iceberg_assets.maintenance.content import Content, content
from iceberg_assets.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = {
    "id": "BIGINT",
    "a": "STRING",
    "b": "STRING",
    "x": "DOUBLE",
    "y": "FLOAT",
    "bits": "BINARY",
    "n": "DECIMAL(20, 4)",
    "at": "TIMESTAMP",
    "odd`.name": "INT",
    "s": "STRUCT<u: INT, v: STRING, w: ARRAY<DOUBLE>>",
    "l": "ARRAY<ARRAY<INT>>",
    "m": "MAP<STRING, STRUCT<k: INT, z: DOUBLE>>",
}
FULL = "1, 'a', 'b', 1.5D, 2.5F, X'00FF', 1.5, TIMESTAMP '2024-01-01 00:00:00Z', 1"
EMPTY = "2, 'c', '', 0D, 0F, X'', 0, TIMESTAMP '2024-01-02 00:00:00Z', 0"
NULLS = "3, NULL, 'e', double('NaN'), float('NaN'), NULL, NULL, NULL, NULL, NULL, NULL, NULL"
TWICE = "4, 'same', 'same', 1D, 1F, X'01', 1, TIMESTAMP '2024-01-04 00:00:00Z', 4"
TWICE += ", named_struct('u', 4, 'v', NULL, 'w', array(1D, NULL)), array(NULL, array(NULL)), map('k', NULL)"
ROWS = (
    f"{FULL}, named_struct('u', 1, 'v', 'v', 'w', array(1D)), array(array(1), array(2)), "
    "map('k', named_struct('k', 1, 'z', 0D))",
    f"{EMPTY}, named_struct('u', 0, 'v', '', 'w', array()), array(array(1, 2), array()), map()",
    NULLS,
    TWICE,
    TWICE,
)

CHANGES = {
    "one value changed": {"a": "IF(id = 1, 'A', a)"},
    "values swapped between columns": {"a": "IF(id = 1, b, a)", "b": "IF(id = 1, a, b)"},
    "values swapped between rows": {"a": "CASE id WHEN 1 THEN 'c' WHEN 2 THEN 'a' ELSE a END"},
    "text moved over a border": {"a": "IF(id = 1, 'ab', a)", "b": "IF(id = 1, '', b)"},
    "null moved to the next column": {"a": "IF(id = 3, b, a)", "b": "IF(id = 3, NULL, b)"},
    "empty text became null": {"b": "nullif(b, '')"},
    "empty binary became null": {"bits": "IF(id = 2, NULL, bits)"},
    "zero became null": {"x": "IF(id = 2, NULL, x)"},
    "zero became minus zero": {"x": "IF(id = 2, -0D, x)"},
    "zero of a float became minus zero": {"y": "IF(id = 2, CAST('-0.0' AS FLOAT), y)"},
    "NaN became null": {"x": "nanvl(x, NULL)"},
    "NaN became zero": {"x": "nanvl(x, 0D)"},
    "decimals lost": {"n": "IF(id = 1, 1.4999, n)"},
    "a second later": {"at": "at + INTERVAL 1 SECOND"},
    "a column of an odd name": {"odd`.name": "IF(id = 1, 2, `odd``.name`)"},
    "null struct became a struct of nulls": {"s": "IF(id = 3, named_struct('u', NULL, 'v', NULL, 'w', NULL), s)"},
    "null in a struct became empty": {"s": "IF(id = 4, named_struct('u', 4, 'v', '', 'w', array(1D, NULL)), s)"},
    "null element lost": {"s": "IF(id = 4, named_struct('u', 4, 'v', NULL, 'w', array(1D)), s)"},
    "empty array became null": {"s": "IF(id = 2, named_struct('u', 0, 'v', '', 'w', NULL), s)"},
    "border between arrays moved": {"l": "IF(id = 2, array(array(1), array(2)), l)"},
    "null array became an array of null": {"l": "IF(id = 4, array(array(NULL), NULL), l)"},
    "empty map became null": {"m": "IF(id = 2, NULL, m)"},
    "key of a map changed": {"m": "IF(id = 1, map('K', named_struct('k', 1, 'z', 0D)), m)"},
    "minus zero in a map": {"m": "IF(id = 1, map('k', named_struct('k', 1, 'z', -0D)), m)"},
    "null value of a map": {"m": "IF(id = 4, map('k', named_struct('k', NULL, 'z', NULL)), m)"},
}
ALL = "SELECT * FROM rows_before"
ROWS_CHANGED = {
    "a row lost": f"{ALL} WHERE id <> 1",
    "a row doubled": f"{ALL} UNION ALL {ALL} WHERE id = 1",
    "both of two equal rows lost": f"{ALL} WHERE id <> 4",
    "one of two equal rows lost": f"{ALL} WHERE id <> 4 UNION ALL ({ALL} WHERE id = 4 LIMIT 1)",
    "one row instead of another": f"{ALL} WHERE id <> 1 UNION ALL {ALL} WHERE id = 2",
}


@pytest.fixture(scope="module")
def rows(spark: "SparkSession") -> "DataFrame":
    names = ", ".join(f"c{n}" for n in range(len(COLUMNS)))
    cast = ", ".join(f"CAST(c{n} AS {kind}) AS {quote(name)}" for n, (name, kind) in enumerate(COLUMNS.items()))
    made = spark.sql(f"SELECT {cast} FROM VALUES {', '.join(f'({row})' for row in ROWS)} AS v({names})")
    made.createOrReplaceTempView("rows_before")
    return made


@pytest.fixture(scope="module")
def before(rows: "DataFrame") -> Content:
    return content(rows)


def test_every_change_of_a_value_is_seen(rows: "DataFrame", before: Content) -> None:
    unseen = []
    for words, changed in CHANGES.items():
        values = (f"CAST({changed.get(name, quote(name))} AS {kind})" for name, kind in COLUMNS.items())
        after = content(
            rows.selectExpr(*(f"{value} AS {quote(name)}" for name, value in zip(COLUMNS, values, strict=True)))
        )
        assert after.rows == before.rows
        if after == before:
            unseen.append(words)
    assert not unseen


def test_every_row_lost_or_doubled_is_seen(spark: "SparkSession", before: Content) -> None:
    assert [words for words, query in ROWS_CHANGED.items() if content(spark.sql(query)) == before] == []


def test_order_and_files_do_not_count(rows: "DataFrame", before: Content) -> None:
    assert content(rows.repartition(7).orderBy("id", ascending=False)) == before
    assert content(rows.limit(0)) == Content(0, Decimal(0))
