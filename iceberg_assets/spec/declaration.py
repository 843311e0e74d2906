"""From a table's YAML to its ``TableSpec``: templates filled in, checked, paths made absolute."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from pydantic import ValidationError

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
        ValueError: a variable is not set, or the template is not one.
    """
    if isinstance(value, Mapping):
        return {key: fill_in(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_in(item, variables) for item in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        template = _TEMPLATES.from_string(value)
        return template.render(env=_Environment(variables))
    except jinja2.TemplateError as error:
        raise ValueError(f"{value!r}: {error.message}") from error


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
    except ValueError as error:
        raise ConfigurationError(f"{where} is not usable: {error}") from error


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
