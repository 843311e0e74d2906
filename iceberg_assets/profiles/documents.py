"""YAML files as people leave them: read whole, or refused in one sentence."""

import re
from pathlib import Path
from typing import Any

import yaml

from iceberg_assets.errors import ConfigurationError


class _EachKeyOnce(yaml.SafeLoader):
    """Refuses a key that stands twice in one map: YAML's own rule, and by itself the loader takes the last one."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set[tuple[str, str]]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is there twice", key.start_mark)
            seen.add((key.tag, str(key.value)))
        return node


def documents(file: Path) -> list[Any]:
    """The documents of a YAML file.

    Raises:
        ConfigurationError: it cannot be read, is not text in UTF-8, or not YAML; names the file and the way out.
    """
    try:
        return list(yaml.load_all(file.read_text(encoding="utf-8"), _EachKeyOnce))
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
    except yaml.MarkedYAMLError as error:
        # The line itself is not repeated, nor what it names: there may be a secret in it.
        problem, mark = re.sub(r" '[^'<]*'$", "", error.problem or ""), error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigurationError(f"{file} is not YAML{where}: {problem}") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{file} is not YAML: {error}") from error
