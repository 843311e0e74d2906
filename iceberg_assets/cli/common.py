"""What the commands share: the application, its options, and the tables that the project declares."""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.profiles import Profile, documents, load_profile, profile_name, project_root
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets.spec.declaration import check_declared_once
from iceberg_assets.spec.table import WHOLE_TABLE, parse_identifier
from iceberg_assets.tables.target import load_target

_COMPONENT = "iceberg_assets.IcebergTable"
# Folders of a project that hold other people's YAML, or none.
_NOT_OURS = {".venv", "build", "data", "dist", "node_modules"}


class _OneMessage(TyperGroup):
    """Ends with 2 and one message where the project refuses something: a traceback would bury the way out."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except IcebergAssetsError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_OneMessage,
    no_args_is_help=True,
    add_completion=False,
    help="Look at the Iceberg tables that the project in this folder declares.",
)

TableArgument = Annotated[str | None, typer.Argument(help="namespace.table; every declared table unless given.")]
RequiredTable = Annotated[str, typer.Argument(metavar="TABLE", help="namespace.table")]
ProfileOption = Annotated[str | None, typer.Option(help="Look there, instead of where the table's YAML says.")]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs: one JSON document.")]


def chosen(table: str | None, profile: str | None) -> Iterator[tuple[TableSpec, Profile]]:
    """The declared table of that name, or all of them, each with its profile.

    Raises:
        ConfigurationError: there is no such table; names those that are declared.
    """
    root = project_root()
    specs = declared_tables(root)
    if not specs:
        raise ConfigurationError(
            f"no table is declared in {root}: put a YAML with type: {_COMPONENT} into a defs folder below it, or go to "
            "the project that has one"
        )
    found = [spec for spec in specs if table in (None, spec.name)]
    if not found:
        known = ", ".join(spec.name for spec in specs)
        raise ConfigurationError(f"there is no table '{table}' in this project; declared are {known}")
    for spec in found:
        yield spec, load_profile(profile or spec.profile, root)


def chosen_with_source(table: str, profile: str | None) -> tuple[TableSpec, Profile]:
    """The declared table of that name, with its profile, where raw files are what fills it.

    Raises:
        ConfigurationError: there is no such table, several profiles have one, or somebody else writes it.
    """
    spec, of = one_of(list(chosen(table, profile)), table, profile)
    if spec.source is None:
        raise ConfigurationError(
            f"{spec.name} has no source, and so no raw files and no ledger: somebody else writes it"
        )
    return spec, of


def known(table: str, profile: str | None) -> tuple[TableSpec, Profile]:
    """The declared table of that name; else the one that the catalog has, since the whole-catalog job maintains those.

    Raises:
        ConfigurationError: there is neither.
    """
    root = project_root()
    if any(spec.name == table for spec in declared_tables(root)):
        return one_of(list(chosen(table, profile)), table, profile)
    of = load_profile(profile, root)
    try:
        spec = TableSpec(table=parse_identifier(table), dates=WHOLE_TABLE)
    except ValueError as error:
        raise ConfigurationError(f"{table}: {error}") from None
    if load_target(of, spec) is None:
        raise ConfigurationError(
            f"there is no table '{table}': this project declares none of that name, nor has the catalog of profile "
            f"'{of.name}'"
        )
    return spec, of


def elsewhere() -> tuple[tuple[str, ...], tuple[Profile, ...]]:
    """Of all declared tables: where their raw files land, and their profiles."""
    root = project_root()
    specs = declared_tables(root)
    profiles = sorted({profile_name(spec.profile) for spec in specs})
    landing_places = tuple(sorted({spec.source.root for spec in specs if spec.source}))
    return landing_places, tuple(load_profile(name, root) for name in profiles)


def one_of(found: list[tuple[TableSpec, Profile]], table: str, profile: str | None) -> tuple[TableSpec, Profile]:
    """The one that is meant where several profiles have a table of the name.

    Raises:
        ConfigurationError: it is not said which.
    """
    if len(found) > 1:
        found = [(spec, of) for spec, of in found if profile and profile_name(spec.profile) == profile]
    if len(found) != 1:
        raise ConfigurationError(f"several profiles have a table '{table}': say which with --profile")
    return found[0]


def profiles_of(table: str | None, profile: str | None) -> list[Profile]:
    """The profiles whose catalogs may have the table, declared or not; None: of all declared tables.

    Where nothing of the name is declared it is the one that ``PROFILE`` or the option says.
    """
    root = project_root()
    declared = {profile_name(spec.profile) for spec in declared_tables(root) if table in (None, spec.name)}
    names = {profile} if profile else declared or {profile_name(None)}
    return [load_profile(name, root) for name in sorted(names)]


def declared_tables(root: Path) -> list[TableSpec]:
    """Every table that the YAML of a project declares, by name.

    Args:
        root: the folder of its ``pyproject.toml``; any ``defs`` folder below it counts.

    Raises:
        ConfigurationError: a file is not YAML, a declaration is wrong, or two are of one table.
    """
    declared = [
        (str(file), parse_table(document.get("attributes") or {}, root=root, variables=os.environ, where=str(file)))
        for file in sorted(root.glob("**/defs/**/*.yaml"))
        if not _NOT_OURS.intersection(file.relative_to(root).parts)
        for document in documents(file)
        if isinstance(document, Mapping) and document.get("type") == _COMPONENT
    ]
    check_declared_once((file, profile_name(spec.profile), spec) for file, spec in declared)
    return sorted((spec for _, spec in declared), key=lambda spec: spec.name)


def print_table(shown: Table) -> None:
    """A table for people."""
    Console(highlight=False).print(shown)


def print_json(document: object) -> None:
    """A document for programs."""
    typer.echo(json.dumps(document, indent=2, default=str, ensure_ascii=False))


DatesOption = Annotated[
    list[str] | None,
    typer.Option("--date", help="A date, or first..last of several; may be given more than once.", metavar="DATE"),
]


def dates_of(spec: TableSpec, given: list[str] | None) -> list[date]:
    """The dates that were given, each once.

    Raises:
        ConfigurationError: one is no date, or lies outside the table's partitions.
    """
    days, now = set[date](), datetime.now(UTC)
    for text in given or ():
        first, _, last = text.partition("..")
        try:
            low, high = date.fromisoformat(first), date.fromisoformat(last or first)
        except ValueError:
            raise ConfigurationError(f"--date {text}: expected 2013-01-31, or 2013-01-01..2013-01-31") from None
        if low > high:
            raise ConfigurationError(f"--date {text}: {low} lies after {high}; swap them")
        inside = spec.dates.between(low, high, now)
        if not inside or (inside[0], inside[-1]) != (low, high):
            raise ConfigurationError(
                f"--date {text}: the partitions of {spec.name} are {spec.dates.start} to {spec.dates.last(now)}"
            )
        days.update(inside)
    return sorted(days)
