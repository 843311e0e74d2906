"""YAML files as people leave them: read whole, or refused in one sentence."""

from pathlib import Path
from typing import Any

import yaml

from iceberg_assets.errors import ConfigurationError


def documents(file: Path) -> list[Any]:
    """The documents of a YAML file.

    Raises:
        ConfigurationError: it cannot be read, is not text in UTF-8, or not YAML; names the file and the way out.
    """
    try:
        return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    except IsADirectoryError:
        raise ConfigurationError(f"{file} is a folder, and a file is expected by that name: rename it") from None
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be read ({error.strerror}): give this user the right to, or remove it"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{file} is not text in UTF-8 (byte {error.start}): save it as UTF-8, or move it elsewhere"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{file} is not YAML: {error}") from error
