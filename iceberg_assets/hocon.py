"""HOCON, which JSON with comments is too, as plain values: read whole, or refused in one sentence."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from iceberg_assets.errors import ConfigurationError


def hocon_text(file: Path) -> str:
    """What a file holds.

    Raises:
        ConfigurationError: it cannot be read, or is not text in UTF-8; names the file and the way out.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read ({error.strerror}): name a file of HOCON or JSON") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not text in UTF-8 (byte {error.start}): save it as UTF-8") from error


def parse_hocon(text: str, file: Path) -> dict[str, Any]:
    """The text as dicts, lists and values. ``${NAME}`` that no key is called is read from the environment.

    Args:
        text: of the file, perhaps changed since it was read.
        file: for messages, and to find what it includes.

    Raises:
        ConfigurationError: names the file and the line.
    """
    # It takes as long to import as the rest of the command line, and two commands need it.
    from pyhocon import ConfigFactory, ConfigTree
    from pyhocon.exceptions import ConfigException
    from pyparsing import ParseBaseException

    try:
        with _includes_found(file):
            found = ConfigFactory.parse_string(text, basedir=str(file.parent))
    except ParseBaseException as error:
        # Its own words are its whole grammar, and the line itself may hold a secret.
        line = f"line {error.lineno}, column {error.column}"
        raise ConfigurationError(f"{file} is neither HOCON nor JSON from {line}") from None
    except ConfigException as error:
        raise ConfigurationError(f"{file}: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"{file}: there is too much within each other in it: flatten it") from None
    except (AttributeError, TypeError):
        # It has no words of its own for this.
        raise ConfigurationError(f"{file}: a list is joined with what is none, as by +=: write += [value]") from None
    if not isinstance(found, ConfigTree):
        raise ConfigurationError(f"{file}: expected keys at the top, got a list")
    plain: dict[str, Any] = found.as_plain_ordered_dict()
    return plain


@contextmanager
def _includes_found(file: Path) -> Iterator[None]:
    """Refuse an include that is not there: pyhocon logs that, and reads on without what it would have said."""
    said: list[str] = []

    def hear(record: logging.LogRecord) -> bool:
        said.append(record.getMessage())
        return False

    logger = logging.getLogger("pyhocon.config_parser")
    logger.addFilter(hear)
    try:
        yield
    finally:
        logger.removeFilter(hear)
    if missing := [one for one in said if one.startswith("Cannot include")]:
        raise ConfigurationError(f"{file}: {missing[0].rstrip('.')}: put it there, or take the include out")
