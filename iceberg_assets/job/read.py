"""Reading the job's file: HOCON, which JSON with comments is too, or the same settings as YAML."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.hocon import hocon_text, parse_hocon
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.profiles import documents
from iceberg_assets.spec.model import explain

# HOCON allows <database>.<table> as a key without quotes, and pyhocon does not read it.
_PLACEHOLDER = re.compile(r"^(\s*)(<[^\s:{}\"]+>)(\s*[:={])", re.MULTILINE)
# Texts, comments and brackets: what tells a text in a list from one anywhere else.
_TOKEN = re.compile(r'"""[\s\S]*?"""+|"(?:\\.|[^"\\\n])*"|(?:#|(?<![^\s,{}\[\]])//)[^\n]*|[\[\]{}]')
# pyhocon drops "" from a list, and a table_include of nothing would be every table.
_EMPTY = "\ue000"


def read_settings(file: Path) -> JobSettings:
    """The settings of a file that ends in ``.yaml`` or ``.yml``, or is HOCON or JSON.

    Raises:
        ConfigurationError: it cannot be read; or lists every mistake by its key path.
    """
    given = _yaml(file) if file.suffix in (".yaml", ".yml") else _hocon(file)
    try:
        return JobSettings.model_validate(given)
    except ValidationError as error:
        raise explain(error, str(file)) from None


def _yaml(file: Path) -> Any:
    found = documents(file)
    if len(found) != 1:
        raise ConfigurationError(f"{file} has {len(found)} YAML documents, and one is expected")
    return found[0]


def _hocon(file: Path) -> dict[str, Any]:
    found = parse_hocon(_keep_empty_texts(_PLACEHOLDER.sub(r'\1"\2"\3', hocon_text(file))), file)
    return {key: _plain(value) for key, value in found.items()}


def _keep_empty_texts(text: str) -> str:
    """The text with a mark in the place of each ``""`` of a list, which :func:`_plain` takes out again."""
    open_ones: list[str] = []

    def kept(match: re.Match[str]) -> str:
        word = match[0]
        if word in "[{":
            open_ones.append(word)
        elif word in "]}" and open_ones:
            open_ones.pop()
        elif word in ('""', '""' * 3) and open_ones[-1:] == ["["]:
            return f'"{_EMPTY}"'
        return word

    return _TOKEN.sub(kept, text)


def _plain(value: Any) -> Any:
    """The value with each ``15 m`` in it as a timedelta, also where pyhocon finds dateutil and makes another of it."""
    if isinstance(value, str):
        return value.replace(_EMPTY, "")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if type(value).__name__ == "relativedelta":
        units = ("days", "hours", "minutes", "seconds", "microseconds")
        return timedelta(**{unit: getattr(value, unit) for unit in units})
    return value
