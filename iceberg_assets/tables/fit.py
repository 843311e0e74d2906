"""Compare the files of a date with the table, column by column, before anything is written. Pure functions."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from iceberg_assets.spec.names import is_reserved
from iceberg_assets.tables.evolve import Change, Path, dotted, evolved
from iceberg_assets.tables.fields import (
    Field,
    FieldType,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    leaves,
    new_type,
    promoted,
    readable,
)
from iceberg_assets.tables.footers import Footer, UnreadableFile
from iceberg_assets.tables.source import RawFile, differing_in_case, nearest

NewColumns = Literal["fail", "ignore", "evolve"]

_NAMED = 5
"""So many problems are named in a message; the rest is counted."""


@dataclass(frozen=True)
class Problem:
    """Why a file cannot be appended.

    Attributes:
        column: with its parents, joined by dots; empty where the file as a whole is meant.
        what: is wrong, to be read after the column or the file.
    """

    file: RawFile
    column: str
    what: str
    way_out: str


@dataclass(frozen=True)
class Fit:
    """How the files of a date fit the table.

    Attributes:
        problems: none: they can be appended, once the table has these columns.
        columns: of the table once it took what the files bring; the same as before unless columns evolve.
        notes: what is done silently otherwise: columns left out or filled with nulls.
    """

    problems: tuple[Problem, ...] = ()
    columns: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Findings:
    """What one set of columns differs from the table in: the same for all files that share them."""

    problems: list[tuple[str, str, str]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def unreadable(files: Iterable[UnreadableFile]) -> tuple[Problem, ...]:
    """The files without a footer, as problems."""
    repair = "repair or remove the file, or set source.bad_files to quarantine"
    wait = "give this user the right to read it, or wait until whoever moved it is done"
    return tuple(Problem(bad.file, "", str(bad), repair if bad.opened else wait) for bad in files)


def fit(
    footers: Sequence[Footer], table: Sequence[Field], new_columns: NewColumns, derived: Collection[str] = ()
) -> Fit:
    """Compare the files of one date with the table.

    Args:
        footers: of the date.
        table: its columns; none where it is to be made of these files.
        new_columns: what becomes of columns that the table lacks.
        derived: columns that the table computes itself.
    """
    problems: list[Problem] = []
    ignored: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    known: dict[tuple[Field, ...], _Findings] = {}
    columns = tuple(table)
    for footer in footers:
        found = known.get(footer.fields)
        if found is None:
            found = _Findings()
            _compare_fields(footer.fields, _without(columns, derived), (), new_columns, derived, found)
            # What the next files are compared with is what the table will be then.
            columns = evolved(columns, found.changes)
            known[footer.fields] = found
        problems += [Problem(footer.file, *problem) for problem in (*found.problems, *_unopened(footer, columns))]
        ignored.update(found.ignored)
        missing.update(found.missing)
    return Fit(
        tuple(problems),
        columns,
        (*_note(ignored, "ignored (new_columns: ignore)"), *_note(missing, "missing, so null")),
    )


def _unopened(footer: Footer, table: Sequence[Field]) -> Iterable[tuple[str, str, str]]:
    """What Spark fails at while it reads: a file's name, and how the columns that it reads are stored."""
    if footer.file.path.startswith("/") and ":" in PurePath(footer.file.path).name:
        yield "", "its name holds a colon, which Hadoop's local file system does not open", "rename it"
    names = {column.name for column in table}
    for path, how in footer.foreign:
        if path in names or path.partition(".")[0] in names:
            yield path, f"is stored as {how}, which Spark does not read", "write it by another codec or encoding"


def _note(columns: Mapping[str, int], what: str) -> list[str]:
    return [f"column '{column}' of {count} files {what}" for column, count in columns.items()]


def _without(columns: Sequence[Field], derived: Collection[str]) -> tuple[Field, ...]:
    return tuple(column for column in columns if column.name not in derived)


def _compare_fields(
    raw: Sequence[Field],
    table: Sequence[Field],
    parent: Path,
    new_columns: NewColumns,
    derived: Collection[str],
    found: _Findings,
) -> None:
    columns = {column.name: column for column in table}
    folded = {column.name.casefold(): column.name for column in table}
    for twins in differing_in_case(column.name for column in raw):
        inside = f" of '{dotted(parent)}'" if parent else ""
        found.problems.append(("", f"columns {' and '.join(twins)}{inside} differ in case only", "rename one"))
    for one in raw:
        path = (*parent, one.name)
        name = dotted(path)
        column = columns.get(one.name)
        if column is not None:
            _compare_types(one.type, column.type, path, new_columns, found)
        elif not parent and one.name in derived:
            found.problems.append((name, "is derived by the table", "rename it, or drop it from derive"))
        elif (twin := folded.get(one.name.casefold())) is not None:
            # Spark does not look at case: it would read the one as the other, whatever the policy.
            found.problems.append((name, f"differs in case only from the table's '{twin}'", "spell it alike"))
        else:
            _compare_new(one, path, nearest(one.name, columns), new_columns, found)
    there = {column.name.casefold() for column in raw}
    for column in table:
        if column.name.casefold() not in there:
            name = dotted((*parent, column.name))
            if column.required:
                found.problems.append(
                    (name, "is missing, and the table requires it", "write it, or make it optional in the table")
                )
            else:
                found.missing.append(name)


def _compare_new(raw: Field, path: Path, hint: str, new_columns: NewColumns, found: _Findings) -> None:
    name, kind = dotted(path), new_type(raw.type)
    if new_columns == "ignore":
        found.ignored.append(name)
    elif new_columns == "fail":
        way_out = "add it to the table, leave it out, or set source.new_columns to ignore or evolve"
        found.problems.append((name, f"is not in the table{hint}", way_out))
    elif not raw.name:
        found.problems.append(("", "a column has no name, which Iceberg does not write", "name it"))
    elif len(path) == 1 and is_reserved(name):
        found.problems.append((name, "has a name that Iceberg and Spark keep for themselves", "rename it"))
    elif kind is None:
        found.problems.append((name, *_unsupported(raw.type)))
    else:
        found.changes.append(Change(path, kind, new=True))


def _compare_types(raw: FieldType, table: FieldType, path: Path, new_columns: NewColumns, found: _Findings) -> None:
    match raw, table:
        case Struct(), Struct():
            _compare_fields(raw.fields, table.fields, path, new_columns, (), found)
        case ListOf(), ListOf():
            _compare_types(raw.element.type, table.element.type, (*path, "element"), new_columns, found)
        case MapOf(), MapOf():
            # Iceberg does not change the keys of a map.
            policy = "fail" if new_columns == "evolve" else new_columns
            _compare_types(raw.key.type, table.key.type, (*path, "key"), policy, found)
            _compare_types(raw.value.type, table.value.type, (*path, "value"), new_columns, found)
        case Scalar(), Scalar() if readable(raw, table):
            return
        case Scalar(), Scalar() if wider := promoted(table, raw):
            if new_columns == "evolve":
                found.changes.append(Change(path, wider, new=False))
            else:
                what = f"is {raw}, too wide for the table's {table}"
                found.problems.append(
                    (dotted(path), what, f"widen it to {wider} by source.new_columns: evolve, or write {table}")
                )
        case _ if new_type(raw) is None:
            found.problems.append((dotted(path), *_unsupported(raw)))
        case _:
            found.problems.append((dotted(path), f"is {raw}, and the table's is {table}", f"write it as {table}"))


_WAYS_OUT = {
    "timestamp_ns": ("has nanoseconds, which Spark does not read", "write microseconds (pyarrow: coerce_timestamps)"),
    "time": ("is a TIME, which Spark does not read", "write a timestamp, or the microseconds as an integer"),
    "null": ("has no type: the writer saw nulls only", "write it with the type that its values would have"),
    "uuid": ("is a UUID, which Spark does not read", "write it as string"),
    "float16": ("is a half float, which Spark does not read", "write float"),
}


def _unsupported(raw: FieldType) -> tuple[str, str]:
    """What is wrong with a type that no column can have, and the way out."""
    for leaf in leaves(raw):
        if new_type(leaf) is None:
            return _WAYS_OUT.get(leaf.name, (f"is {leaf}, which Spark does not read", "write it as another type"))
    raise AssertionError(f"{raw} is readable")


def in_words(problems: Sequence[Problem]) -> str:
    """All problems as one sentence each, equal ones of many files as one; capped, the rest counted."""
    grouped: dict[tuple[str, str, str], list[RawFile]] = {}
    for problem in problems:
        grouped.setdefault((problem.column, problem.what, problem.way_out), []).append(problem.file)
    lines = []
    for (column, what, way_out), files in grouped.items():
        more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
        said = f": column '{column}' {what}" if column else f"{':' if what[0] != '(' else ''} {what}"
        lines.append(f"{files[0].path}{more}{said}; {way_out}")
    rest = f". And {len(lines) - _NAMED} more problems" if len(lines) > _NAMED else ""
    return ". ".join(lines[:_NAMED]) + rest + ". Nothing of this date was appended"
