"""From a table's YAML to its ``TableSpec``: templates filled in, checked, paths made absolute."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec.model import explain
from iceberg_assets.spec.table import TableSpec

# The values are paths and expressions, never HTML: escaped, they would be other ones.
_TEMPLATES = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701


class _Environment(Mapping[str, str]):
    """``{{ env.NAME }}`` and ``{{ env('NAME', 'default') }}``, as Dagster's own components spell them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> str:
        return self(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __call__(self, name: str, default: str | None = None) -> str:
        value = self._variables.get(name, default)
        if value is None:
            raise ValueError(f"the environment variable {name} is not set and the template gives no default")
        return value


def fill_in(value: Any, variables: Mapping[str, str]) -> Any:
    """The value with every ``{{ … }}`` in its texts filled in from the environment's variables.

    Raises:
        ValidationError: variables are not set, or templates are none; each with its key path.
    """
    mistakes: list[InitErrorDetails] = []
    filled = _filled(value, variables, (), mistakes)
    if mistakes:
        raise ValidationError.from_exception_data("template", mistakes)
    return filled


def _filled(
    value: Any, variables: Mapping[str, str], path: tuple[int | str, ...], mistakes: list[InitErrorDetails]
) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(item, variables, (*path, str(key)), mistakes) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, variables, (*path, n), mistakes) for n, item in enumerate(value)]
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        return _TEMPLATES.from_string(value).render(env=_Environment(variables))
    except (jinja2.TemplateError, ValueError) as error:
        # A value error, since Dagster takes pydantic's own kinds apart to add file and line.
        reason = ValueError(f"{value!r}: {error}")
        mistakes.append(InitErrorDetails(type="value_error", loc=path, input=value, ctx={"error": reason}))
        return value


def parse_table(attributes: Mapping[str, Any], *, root: Path, variables: Mapping[str, str], where: str) -> TableSpec:
    """The table that the ``attributes`` of an ``iceberg_assets.IcebergTable`` declare.

    Args:
        attributes: the mapping below the key ``attributes``.
        root: the folder that a relative ``source.path`` is read from.
        variables: the environment.
        where: the file, for messages.

    Raises:
        ConfigurationError: lists every mistake by its key path.
    """
    try:
        return anchored(TableSpec.model_validate(fill_in(attributes, variables)), root)
    except ValidationError as error:
        raise explain(error, where) from None


def check_declared_once(declared: Iterable[tuple[str, str, TableSpec]]) -> None:
    """Refuse two declarations of one table: each would append and maintain as if it were alone.

    Args:
        declared: the file, the profile's name, and what they declare.

    Raises:
        ConfigurationError: names the table and both files.
    """
    files: dict[tuple[str, tuple[str, ...]], str] = {}
    for file, profile, spec in declared:
        if first := files.get((profile, spec.table)):
            where = f"twice in {file}" if first == file else f"in {first} and in {file}"
            raise ConfigurationError(f"{spec.name} of profile '{profile}' is declared {where}: remove one of the two")
        files[profile, spec.table] = file


def anchored(spec: TableSpec, root: Path) -> TableSpec:
    """The same table with an absolute ``source.path``; one with a scheme (``s3a://``) stays as it is.

    The folder is spelled without symbolic links: the ledger knows a file by its path, and one file has to have one.

    Raises:
        ConfigurationError: the folder's own name would be read as a part of the pattern.
    """
    if spec.source is None or "://" in spec.source.path:
        return spec
    if not spec.source.path.startswith("/") and (special := set(str(root)) & set("%*?[{")):
        raise ConfigurationError(
            f"{spec.name}: source.path is read from {root}, and {' '.join(sorted(special))} in its name would "
            "be taken for a pattern: move the project, or land raw files elsewhere and give an absolute source.path"
        )
    source = spec.source.model_copy(update={"path": str(root / spec.source.path)})
    real = os.path.realpath(source.root) + source.path.removeprefix(source.root)
    return spec.model_copy(update={"source": source.model_copy(update={"path": real})})
