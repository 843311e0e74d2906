"""Files compared with the table by their footers: what fits, what does not, what the table has to become. No JVM."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.evolve import Change, changes, evolved
from iceberg_assets.tables.fields import Field, ListOf, MapOf, Scalar, Struct
from iceberg_assets.tables.fit import Fit, NewColumns, Problem, fit, in_words, unreadable
from iceberg_assets.tables.footers import Footer, read_footers
from iceberg_assets.tables.intake import inspect
from iceberg_assets.tables.nulls import nulls, required_in
from iceberg_assets.tables.source import RawFile

D1 = date(2013, 1, 1)


def raw(path: str | Path) -> RawFile:
    return RawFile(str(path), 1, "1", D1)


def footer(*fields: Field, name: str = "a") -> Footer:
    return Footer(raw(name), fields, 1)


def column(kind: str, name: str = "v", *, required: bool = False) -> Field:
    """``decimal(10,2)`` or a plain type."""
    if kind.startswith("decimal"):
        precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
        return Field(name, Scalar("decimal", int(precision), int(scale)), required)
    return Field(name, Scalar(kind), required)


def judged(raw_kind: str, table_kind: str, policy: NewColumns = "fail") -> Fit:
    return fit([footer(column(raw_kind))], [column(table_kind)], policy)


@pytest.mark.parametrize(
    ("raw_kind", "table_kind"),
    [
        ("int", "long"),
        ("uint8", "int"),
        ("uint32", "long"),
        ("uint64", "decimal(20,0)"),
        ("float", "double"),
        ("int", "double"),
        ("int", "decimal(12,2)"),
        ("long", "decimal(20,0)"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("int96", "timestamptz"),
        ("date", "timestamp"),
    ],
)
def test_what_spark_reads_right_by_the_tables_type_fits(raw_kind: str, table_kind: str) -> None:
    assert judged(raw_kind, table_kind) == Fit(columns=(column(table_kind),))


@pytest.mark.parametrize(
    ("raw_kind", "table_kind", "said"),
    [
        ("long", "int", "is long, too wide for the table's int"),
        ("double", "float", "is double, too wide for the table's float"),
        ("decimal(12,2)", "decimal(10,2)", "is decimal(12, 2), too wide for the table's decimal(10, 2)"),
        ("decimal(10,4)", "decimal(10,2)", "is decimal(10, 4), and the table's is decimal(10, 2)"),
        ("int", "string", "is int, and the table's is string"),
        ("uint32", "double", "is uint32, and the table's is double"),
        ("uint64", "long", "is uint64, and the table's is long"),
        ("timestamp", "timestamptz", "is timestamp, and the table's is timestamptz"),
        ("timestamp_ns", "timestamptz", "has nanoseconds, which Spark does not read"),
        ("time", "long", "is a TIME, which Spark does not read"),
        ("null", "string", "has no type: the writer saw nulls only"),
        ("uuid", "string", "is a UUID, which Spark does not read"),
    ],
)
def test_what_spark_reads_wrong_or_not_at_all_is_refused(raw_kind: str, table_kind: str, said: str) -> None:
    (problem,) = judged(raw_kind, table_kind).problems
    assert (problem.column, problem.what) == ("v", said)
    assert problem.way_out


@pytest.mark.parametrize(
    ("raw_kind", "table_kind", "becomes"),
    [
        ("long", "int", "long"),
        ("uint32", "int", "long"),
        ("double", "float", "double"),
        ("decimal(12,2)", "decimal(10,2)", "decimal(12,2)"),
    ],
)
def test_evolve_widens_what_iceberg_allows(raw_kind: str, table_kind: str, becomes: str) -> None:
    assert judged(raw_kind, table_kind, "evolve") == Fit(columns=(column(becomes),))


@pytest.mark.parametrize(("raw_kind", "table_kind"), [("string", "int"), ("decimal(10,4)", "decimal(10,2)")])
def test_evolve_refuses_what_iceberg_does_not_allow(raw_kind: str, table_kind: str) -> None:
    assert judged(raw_kind, table_kind, "evolve").problems


def test_new_columns_by_policy() -> None:
    file, table = footer(column("int", "id"), column("string", "note")), [column("int", "id")]
    (refused,) = fit([file], table, "fail").problems
    assert (refused.column, refused.what) == ("note", "is not in the table")
    ignored = fit([file, file], table, "ignore")
    assert (ignored.problems, ignored.columns) == ((), tuple(table))
    assert ignored.notes == ("column 'note' of 2 files ignored (new_columns: ignore)",)
    assert fit([file], table, "evolve").columns == (column("int", "id"), column("string", "note"))


def test_a_new_column_that_spark_cannot_read_is_ignored_but_not_added() -> None:
    file, table = footer(column("int", "id"), column("time", "at")), [column("int", "id")]
    assert not fit([file], table, "ignore").problems
    assert fit([file], table, "evolve").problems[0].column == "at"


@pytest.mark.parametrize("policy", ["fail", "ignore", "evolve"])
def test_a_name_that_differs_in_case_only_is_refused_whatever_the_policy(policy: NewColumns) -> None:
    """Spark would read the one as the other."""
    (problem,) = fit([footer(column("int", "V"))], [column("int", "v")], policy).problems
    assert "differs in case only from the table's 'v'" in problem.what


def test_missing_columns_are_null_where_the_table_allows_it() -> None:
    table = [column("int", "id"), column("int", "a"), column("int", "b", required=True)]
    found = fit([footer(column("int", "id"))], table, "fail")
    assert [(problem.column, problem.what) for problem in found.problems] == [
        ("b", "is missing, and the table requires it")
    ]
    assert found.notes == ("column 'a' of 1 files missing, so null",)


def test_a_derived_column_is_neither_missing_nor_welcome() -> None:
    table = [column("int", "id"), column("int", "twice", required=True)]
    assert not fit([footer(column("int", "id"))], table, "fail", ["twice"]).problems
    (problem,) = fit([footer(*table)], table, "ignore", ["twice"]).problems
    assert problem.what == "is derived by the table"


def struct(*fields: Field) -> Field:
    return Field("s", Struct(fields))


def test_nested_fields_are_compared_by_name_and_new_ones_by_policy() -> None:
    table = [struct(column("long", "a"), column("string", "b"))]
    reordered = footer(struct(column("string", "b"), column("int", "a")))
    assert fit([reordered], table, "fail") == Fit(columns=tuple(table))
    extra = footer(struct(column("long", "a"), column("string", "b"), column("int", "c")))
    assert fit([extra], table, "fail").problems[0].column == "s.c"
    assert fit([extra], table, "evolve").columns == (
        struct(column("long", "a"), column("string", "b"), column("int", "c")),
    )
    in_list = [Field("l", ListOf(Field("element", Struct((column("int", "a"),)))))]
    wider = footer(Field("l", ListOf(Field("element", Struct((column("long", "a"),))))))
    assert fit([wider], in_list, "fail").problems[0].column == "l.element.a"
    assert list(changes(in_list, fit([wider], in_list, "evolve").columns)) == [
        Change(("l", "element", "a"), Scalar("long"), new=False)
    ]


def test_the_keys_of_a_map_do_not_evolve() -> None:
    """Iceberg refuses it, and all dates of the run would fail for the one that brings it."""

    def keyed(kind: str) -> Field:
        return Field("m", MapOf(Field("key", Struct((column(kind, "a"),))), Field("value", Scalar("int"))))

    (problem,) = fit([footer(keyed("long"))], [keyed("int")], "evolve").problems
    assert problem.column == "m.key.a"


def test_columns_that_come_one_after_the_other_are_one_change() -> None:
    files = [footer(struct(column("int", "a")), name="1"), footer(struct(column("long", "a"), column("int", "b")))]
    found = fit(files, [column("int", "id")], "evolve")
    assert list(changes([column("int", "id")], found.columns)) == [
        Change(("s",), Struct((column("long", "a"), column("int", "b"))), new=True)
    ]


_KINDS = st.sampled_from(["int", "long", "float", "double", "string", "decimal(10,2)", "decimal(12,2)", "date"])
_COLUMNS = st.lists(
    st.builds(column, _KINDS, st.sampled_from("abcd")), max_size=4, unique_by=lambda field: field.name
).map(tuple)


@given(_COLUMNS, _COLUMNS)
def test_once_evolved_the_same_files_need_nothing_more(table: tuple[Field, ...], file: tuple[Field, ...]) -> None:
    found = fit([footer(*file)], table, "evolve")
    if not found.problems:
        assert evolved(table, changes(table, found.columns)) == found.columns
        again = fit([footer(*file)], found.columns, "fail")
        assert (again.problems, again.columns) == ((), found.columns)


def test_equal_problems_of_many_files_are_one_sentence_and_many_are_capped() -> None:
    same = [Problem(raw(f"f{number}"), "v", "is wrong", "mend it") for number in range(2000)]
    said = in_words(same)
    assert said == "f0 and 1999 more files: column 'v' is wrong; mend it. Nothing of this date was appended"
    many = [Problem(raw("f"), f"v{number}", "is wrong", "mend it") for number in range(8)]
    assert "v4" in in_words(many)
    assert "v5" not in in_words(many)
    assert "And 3 more problems" in in_words(many)


def write(path: Path, table: pa.Table | Mapping[str, pa.Array], **options: object) -> RawFile:
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    return raw(path)


def test_types_are_parquets_own_not_what_arrow_noted_beside_them(tmp_path: Path) -> None:
    moment = datetime(1850, 3, 4)  # noqa: DTZ001
    file = write(
        tmp_path / "a",
        {
            "u32": pa.array([1], pa.uint32()),
            "u64": pa.array([1], pa.uint64()),
            "i8": pa.array([1], pa.int8()),
            "enum": pa.array(["x"]).dictionary_encode(),
            "large": pa.array(["x"], pa.large_string()),
            "ns": pa.array([moment], pa.timestamp("ns")),
            "ms": pa.array([moment], pa.timestamp("ms", tz="Europe/Rome")),
            "wall": pa.array([moment], pa.timestamp("us")),
            "time": pa.array([1], pa.time64("us")),
            "span": pa.array([1], pa.duration("us")),
            "money": pa.array([Decimal("1.25")]),
            "none": pa.array([None], pa.null()),
            "list": pa.array([[1]], pa.large_list(pa.int32())),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "struct": pa.array([{"b": "x", "a.b": 1}]),
        },
    )
    ((footer_,), ()) = read_footers([file])
    kinds = {field.name: str(field.type) for field in footer_.fields}
    assert kinds == {
        "u32": "uint32",
        "u64": "uint64",
        "i8": "int8",
        "enum": "string",
        "large": "string",
        "ns": "timestamp_ns",
        "ms": "timestamptz",
        "wall": "timestamp",
        "time": "time",
        "span": "long",
        "money": "decimal(3, 2)",
        "none": "null",
        "list": "list<int>",
        "map": "map<string, long>",
        "struct": "struct<b: string, a.b: long>",
    }
    int96 = write(tmp_path / "b", {"v": pa.array([moment], pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True)
    assert str(read_footers([int96])[0][0].fields[0].type) == "int96"


@pytest.mark.parametrize("kind", [pa.timestamp("us", tz="UTC"), pa.date32()])
def test_statistics_beyond_the_years_that_python_has_tell_no_date(tmp_path: Path, kind: pa.DataType) -> None:
    """They ended the whole append, good dates included."""
    values = pa.array([2**59 if kind == pa.timestamp("us", tz="UTC") else 2**30], pa.int64())
    file = write(
        tmp_path / "far", {"at": values.cast(pa.int32()).cast(kind) if kind == pa.date32() else values.cast(kind)}
    )
    ((footer_,), ()) = read_footers([file], dates_of="at")
    assert (footer_.rows, footer_.dates) == (1, None)


def test_what_spark_cannot_open_is_told_by_name_and_footer(tmp_path: Path) -> None:
    """Spark would fail on it in the middle of the batch, and say neither column nor reason."""
    path = tmp_path / "09:00.parquet"
    table = pa.table({"s": [{"x": 1.5}], "b": ["x"], "fine": [1]})
    how = {"s.x": "BYTE_STREAM_SPLIT", "fine": "DELTA_BINARY_PACKED"}
    codecs = {"b": "brotli", "s.x": "zstd", "fine": "snappy"}
    pq.write_table(table, path, use_dictionary=False, column_encoding=how, compression=codecs)
    footers, _ = read_footers([raw(path)])
    assert [(problem.column, problem.what) for problem in fit(footers, (), "evolve").problems] == [
        ("", "its name holds a colon, which Hadoop's local file system does not open"),
        ("s.x", "is stored as BYTE_STREAM_SPLIT, which Spark does not read"),
        ("b", "is stored as BROTLI, which Spark does not read"),
    ]
    (only_the_name,) = fit(footers, [column("long", "fine")], "ignore").problems
    assert not only_the_name.column, "what is not read need not be readable"


def test_a_column_without_a_name_is_refused() -> None:
    (problem,) = fit([footer(column("int", ""), column("int", "id"))], [], "evolve").problems
    assert in_words([problem]).startswith("a: a column has no name")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all", None])
def test_a_file_without_a_footer_is_named_with_its_size(tmp_path: Path, content: bytes | None) -> None:
    whole = write(tmp_path / "whole", {"v": pa.array(range(100))})
    path = tmp_path / "bad"
    path.write_bytes(Path(whole.path).read_bytes()[:-10] if content is None else content)
    footers, bad = read_footers([whole, raw(path)])
    assert [footer.file for footer in footers] == [whole]
    (problem,) = unreadable(bad)
    assert problem.file.path == str(path)
    assert "is not readable Parquet" in problem.what
    assert "quarantine" in problem.way_out


def test_a_file_that_cannot_be_opened_is_not_taken_for_a_bad_one(tmp_path: Path) -> None:
    """Quarantine would move what is perhaps as good as any."""
    spec = TableSpec.model_validate(
        {
            "table": "ns.t",
            "source": {"path": f"{tmp_path}/%Y-%m-%d/*", "bad_files": "quarantine"},
            "dates": {"column": "ts", "start": "2024-01-01"},
        }
    )
    folder = tmp_path / "2024-01-01"
    folder.mkdir()
    (folder / "empty").touch()
    gone, loop = folder / "gone", folder / "loop"
    loop.symlink_to(loop)
    found = inspect(spec, [RawFile(str(path), 9, "1", date(2024, 1, 1)) for path in (gone, loop, folder / "empty")], ())
    assert [problem.file.path for problem in found.problems] == [str(gone), str(loop)]
    assert all("cannot be read" in problem.what and "right to read" in problem.way_out for problem in found.problems)
    assert loop.is_symlink()
    assert "1 files moved to quarantine" in found.notes[0]


@pytest.mark.parametrize("statistics", [True, False])
def test_nulls_in_required_columns_are_found_with_and_without_statistics(tmp_path: Path, statistics: bool) -> None:
    table = pa.table(
        {
            "id": pa.array([1, None, None]),
            "ok": pa.array([1, 2, 3]),
            "s": pa.array([{"a": 1}, {"a": None}, None]),
            "l": pa.array([[1, None], None, []]),
            "m": pa.array([[("k", None)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )
    file = write(tmp_path / "a", table, write_statistics=statistics)
    long = Scalar("long")
    required = required_in(
        [
            column("long", "id", required=True),
            column("long", "ok", required=True),
            Field("s", Struct((column("long", "a", required=True),))),
            Field("l", ListOf(Field("element", long, required=True))),
            Field("m", MapOf(Field("key", Scalar("string")), Field("value", long, required=True))),
            column("long", "free"),
        ]
    )
    assert [one.name for one in required] == ["id", "ok", "s", "l", "m"]
    footers, _ = read_footers([file], [one.name for one in required])
    found = {problem.column: problem.what for problem in nulls(footers, required)}
    assert found.keys() == {"id", "s.a", "l.element", "m.value"}
    assert found["id"] == "has 2 nulls, and the table requires a value"
