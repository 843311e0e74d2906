"""An application's files of settings brought over: a profile and a table's YAML, checked before they are written."""

import os
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from iceberg_assets.conf.made import Made, leaves_of, plain, shown
from iceberg_assets.conf.profile import make_profile
from iceberg_assets.conf.read import read_conf
from iceberg_assets.conf.table import NAME, make_table
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import documents, load_profile
from iceberg_assets.spec import parse_table
from iceberg_assets.spec.names import slug

_COMPONENT = "iceberg_assets.IcebergTable"


@dataclass(frozen=True)
class Brought:
    """What was made of one application and one of its profiles.

    Attributes:
        files: their texts, by where they belong.
        notes: what a person should know, each a sentence.
        left: keys without a counterpart, with their values; secrets are not shown.
    """

    files: Mapping[Path, str]
    notes: tuple[str, ...]
    left: tuple[str, ...]


def bring(files: Sequence[Path], root: Path, *, date_column: str | None = None, start: date) -> Brought:
    """Make a profile and a table of an application's files; nothing is written.

    The profile is called as the last file is: ``docker`` of ``application.docker.conf``.

    Args:
        files: its own first, then one that is laid over it.
        root: of the project that they are for.
        date_column: see :func:`make_table`.
        start: the table's first partition.

    Raises:
        ConfigurationError: a file cannot be read, lacks what a profile or a table needs, or makes one that would be
            refused when it is loaded.
    """
    conf, name = read_conf(files), files[-1].stem.rpartition(".")[2]
    given = leaves_of(conf.tree)
    leaves = {key: value for key, value in given.items() if value is not None}
    source = " and ".join(str(file) for file in files)
    try:
        profile, of_tables = make_profile(leaves)
        table = make_table(leaves, of_tables, date_column, start)
        _check(name, profile.settings, table.settings, root)
    except ConfigurationError as error:
        raise ConfigurationError(f"{source} cannot be brought over: {error}") from None
    left = (
        *(f"{key} = {shown(key, value)}" for key, value in given.items() if key not in profile.taken | table.taken),
        *(f"${{{variable}}}, since another variable stands before it" for variable in conf.hidden),
    )
    folder = _defs(root) / slug(*(str(plain(leaves[key])) for key in NAME))
    return Brought(
        {
            root / "profiles" / f"{name}.yaml": _written(source, profile, left),
            folder / "defs.yaml": _written(source, table, (), {"type": _COMPONENT}),
        },
        (*profile.notes, *table.notes),
        left,
    )


def write(brought: Sequence[Brought]) -> list[Path]:
    """Write what is not there yet.

    Returns:
        The files that were written; one that says the same already is left as it is.

    Raises:
        ConfigurationError: a file is there and says something else, or two of the results do. Nothing was written.
    """
    texts: dict[Path, str] = {}
    for file, text in (item for one in brought for item in one.files.items()):
        there = documents(file) if file.exists() else _documents(texts.get(file, text))
        if there != _documents(text):
            other = "is there, and says" if file.exists() else "would say, of another profile,"
            raise ConfigurationError(
                f"{file} {other} something else: nothing was written. Move it out of the way, or name another project "
                "with --to, and compare"
            )
        texts.setdefault(file, text)
    new = {file: text for file, text in texts.items() if not file.exists()}
    for file, text in new.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x") as target:
            target.write(text)
    return list(new)


def _documents(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def _check(name: str, profile: Mapping[str, Any], table: Mapping[str, Any], root: Path) -> None:
    """Load both, as the project would."""
    with tempfile.TemporaryDirectory() as folder:
        profiles = Path(folder) / "profiles"
        profiles.mkdir()
        if (base := root / "profiles" / "base.yaml").is_file():
            (profiles / "base.yaml").write_text(base.read_text())
        (profiles / f"{name}.yaml").write_text(_dumped(profile))
        try:
            load_profile(name, Path(folder))
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace(f"{folder}/", "")) from None
    parse_table(table, root=root, variables=os.environ, where="its table")


def _defs(root: Path) -> Path:
    """Where a Dagster project keeps its declarations: ``defs`` of its root module."""
    file = root / "pyproject.toml"
    settings = tomllib.loads(file.read_text()) if file.is_file() else {}
    module = settings.get("tool", {}).get("dg", {}).get("project", {}).get("root_module", "")
    return root.joinpath(*module.split("."), "defs")


def _written(source: str, made: Made, left: Sequence[str], kind: Mapping[str, str] | None = None) -> str:
    lines = [*_comment(f"Made of {source} by: iceberg-assets import-conf")]
    for note in made.notes:
        lines += _comment(f"- {note}")
    if left:
        lines += _comment("Without a counterpart here:")
        lines += [f"#   {line}" for line in left]
    settings = {**kind, "attributes": dict(made.settings)} if kind else dict(made.settings)
    return "\n".join(lines) + "\n" + _dumped(settings)


def _comment(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, 118, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def _dumped(settings: Mapping[str, Any]) -> str:
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)
