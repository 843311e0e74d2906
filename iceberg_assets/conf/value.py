"""A value that environment variables may take the place of, written as profiles and as tables spell that."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from iceberg_assets.errors import ConfigurationError

# Letters that no file has of its own, and that HOCON takes without quotes.
_BEGIN, _OPTIONAL, _END = "\ue000", "\ue001", "\ue002"
_MARK = re.compile(f"{_BEGIN}({_OPTIONAL}?)(\\w+){_END}")


def mark(name: str, *, optional: bool) -> str:
    """What stands for a variable in a text until it is written."""
    return f"{_BEGIN}{_OPTIONAL if optional else ''}{name}{_END}"


def is_marked(value: object) -> bool:
    """Whether it is a text with a mark in it."""
    return isinstance(value, str) and _MARK.search(value) is not None


def is_one_mark(text: str) -> bool:
    """Whether it is a mark and nothing else."""
    return _MARK.fullmatch(text) is not None


@dataclass(frozen=True)
class FromEnvironment:
    """A text with marks in it.

    Attributes:
        default: what holds where the variable is not set, of a text that is nothing but one mark; None: nothing does.
    """

    text: str
    default: str | None = None

    def in_profile(self) -> str:
        """``${NAME:-default}``, as profiles have it.

        Raises:
            ConfigurationError: a profile cannot spell the default.
        """
        return self._written(_of_profile)

    def in_table(self, then: str = "") -> str:
        """``{{ env("NAME", "default") }}``, as tables have it.

        Args:
            then: what is done to each variable's value, such as ``.rstrip("/")``.
        """

        def of_table(name: str, default: str | None) -> str:
            given = [name] if default is None else [name, default]
            return f"{{{{ env({', '.join(json.dumps(one, ensure_ascii=False) for one in given)}){then} }}}}"

        return self._written(of_table)

    def _written(self, spelled: Callable[[str, str | None], str]) -> str:
        def reference(found: re.Match[str]) -> str:
            optional, name = found.groups()
            # HOCON takes an optional one that is not set for nothing at all.
            return spelled(name, self.default if self.default is not None else "" if optional else None)

        return _MARK.sub(reference, self.text)


def marked(text: str) -> set[str]:
    """The variables whose marks are in a text."""
    return {name for _, name in _MARK.findall(text)}


def _of_profile(name: str, default: str | None) -> str:
    if default is not None and "}" in default:
        raise ConfigurationError(
            f"the default of {name} is {default!r}, and a profile's ${{{name}:-…}} ends at a brace: set the variable, "
            "and take the default out"
        )
    return f"${{{name}}}" if default is None else f"${{{name}:-{default}}}"
