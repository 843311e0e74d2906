"""Reading the job's file: HOCON, which JSON with comments is too, or the same settings as YAML."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.profiles import documents
from iceberg_assets.spec.model import explain

# HOCON allows <database>.<table> as a key without quotes, and pyhocon does not read it.
_PLACEHOLDER = re.compile(r"^(\s*)(<[^\s:{}\"]+>)(\s*[:={])", re.MULTILINE)


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
    # It takes as long to import as the rest of the command line, and one command needs it.
    from pyhocon import ConfigFactory, ConfigTree
    from pyhocon.exceptions import ConfigException
    from pyparsing import ParseBaseException

    try:
        text = file.read_text(encoding="utf-8")
        found = ConfigFactory.parse_string(_PLACEHOLDER.sub(r'\1"\2"\3', text), basedir=str(file.parent))
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read ({error.strerror}): name the job's file") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not text in UTF-8 (byte {error.start}): save it as UTF-8") from error
    except ParseBaseException as error:
        # Its own words are its whole grammar.
        line = f"line {error.lineno}, column {error.column}: {error.line.strip()[:80]!r}"
        raise ConfigurationError(f"{file} is neither HOCON nor JSON from {line}") from None
    except ConfigException as error:
        raise ConfigurationError(f"{file}: {error}") from None
    if not isinstance(found, ConfigTree):
        raise ConfigurationError(f"{file}: expected keys such as catalog at the top, got a list")
    return {key: _plain(value) for key, value in found.as_plain_ordered_dict().items()}


def _plain(value: Any) -> Any:
    """The value with each ``15 m`` in it as a timedelta, also where pyhocon finds dateutil and makes another of it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if type(value).__name__ == "relativedelta":
        units = ("days", "hours", "minutes", "seconds", "microseconds")
        return timedelta(**{unit: getattr(value, unit) for unit in units})
    return value
