"""Reading an application's HOCON: files over each other, includes followed, variables kept as what they are."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iceberg_assets.conf.value import FromEnvironment, is_marked, is_one_mark, mark, marked
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.hocon import hocon_text, parse_hocon

# What stands in quotes and comments is skipped, so that nothing in them is taken for one of the others.
_NAME, _END = r"[A-Za-z_]\w*", r"(?=[ \t]*(?:[,}\]#\n]|//|$))"
_SKIPPED = r'(?P<skipped>"""(?s:.*?)"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|(?<![:\w])//[^\n]*)'
_PIECES = re.compile(
    # A value that is one optional variable: where that is not set, HOCON takes the whole assignment for not there.
    rf'(?P<override>(?:"[^"\n]*"|[\w./-]+)[ \t]*[=:][ \t]*)\$\{{\?[ \t]*"?(?P<overriding>{_NAME})"?[ \t]*\}}{_END}'
    rf"|{_SKIPPED}"
    rf'|\$\{{(?P<optional>\??)[ \t]*"?(?P<variable>{_NAME})"?[ \t]*\}}'
    # To the reader 512m is a duration, 1.10 is 1.1, 007 is 7 and 1e3 is 1000.0.
    rf"|(?P<before>[=:][ \t]*)(?P<amount>\d+[ \t]*[A-Za-z]+|0\d+|\d+\.\d*0|\d[\d.]*[eE][+-]?\d+){_END}"
)
_FILE = r'(?:(?:required|file|classpath)\()*[ \t]*"(?P<file>[^"\n]+)"[ \t)]*'
_INCLUDE = re.compile(rf"{_SKIPPED}|(?<![^\s{{}},])include[ \t]+(?:{_FILE}|(?P<other>[a-z]+\())")
_ASIDE = r"(?:\s|(?:#|//)[^\n]*(?:\n|\Z))*"
_BRACES = re.compile(rf"{_ASIDE}\{{((?s:.*))\}}{_ASIDE}")
_ENDINGS = ("", ".conf", ".json")

Tree = dict[str, Any]
"""Values below their keys: dicts, lists, texts, numbers, true/false, None, and :class:`FromEnvironment`."""


@dataclass(frozen=True)
class Conf:
    """What files of settings say together.

    Attributes:
        hidden: variables that another one stands before, so that nothing of theirs is in the tree.
    """

    tree: Tree
    hidden: tuple[str, ...]


def read_conf(files: Sequence[Path]) -> Conf:
    """The files as one, later ones over earlier ones.

    The environment is not read: what is a variable there stays one. Parsed twice, with a mark in each variable's place
    and without what the optional ones override, the file itself tells where they go and what holds without them.

    Raises:
        ConfigurationError: a file, or one that it includes, cannot be read, or is not HOCON.
    """
    text, last = "\n".join(_whole(file, ()) for file in files), files[-1]
    with_all = parse_hocon(_rewritten(text, marks := _marks(text)), last)
    if keys := marks.keys() & with_all.keys():
        # A name that is a key of the file is that key's value, to HOCON as well.
        marks = {name: one for name, one in marks.items() if name not in keys}
        with_all = parse_hocon(_rewritten(text, marks), last)
    hidden = sorted(marks.keys() - marked(json.dumps(with_all, ensure_ascii=False)))
    return Conf(_joined(with_all, parse_hocon(_rewritten(text, marks, overridden=True), last)), tuple(hidden))


def _whole(file: Path, within: tuple[Path, ...]) -> str:
    """The file's text, with those that it includes in their places."""
    if file in within:
        raise ConfigurationError(f"{file} includes itself: {' → '.join(map(str, (*within, file)))}")

    def included(found: re.Match[str]) -> str:
        if found["skipped"]:
            return found[0]
        places = [file.parent / f"{found['file']}{ending}" for ending in _ENDINGS]
        place = next((place for place in places if place.is_file()), None)
        if place is None:
            nowhere = " nor ".join(map(str, places))
            raise ConfigurationError(
                f"{file} includes '{found['file']}', and there is no {nowhere}: put it there, or take the include out"
            )
        # Whatever stood around it begins and ends a line of its own.
        return f"\n{_whole(place, (*within, file))}\n"

    text = hocon_text(file)
    if other := next((found["other"] for found in _INCLUDE.finditer(text) if found["other"]), None):
        raise ConfigurationError(
            f"{file} includes by {other}…), and nothing is fetched from elsewhere: put what is there beside it, and "
            "include that file"
        )
    # On its own, so that a mistake in it is told by its own name and line.
    alone = _INCLUDE.sub(lambda found: found["skipped"] or "", text)
    parse_hocon(_rewritten(alone, _marks(alone)), file)
    return _INCLUDE.sub(included, _without_braces(text))


def _marks(text: str) -> dict[str, str]:
    """Marks of what may be variables, by name. One that has to be set anywhere has to be set."""
    optional: dict[str, bool] = {}
    for found in _PIECES.finditer(text):
        if name := found["variable"] or found["overriding"]:
            optional[name] = optional.get(name, True) and bool(found["overriding"] or found["optional"])
    return {name: mark(name, optional=may_be_unset) for name, may_be_unset in optional.items()}


def _without_braces(text: str) -> str:
    """The keys of a file that may have braces around them, which nothing could be put before or after."""
    found = _BRACES.fullmatch(text)
    return found[1] if found else text


def _rewritten(text: str, marks: Mapping[str, str], *, overridden: bool = False) -> str:
    """The text with marks in the variables' places, and amounts such as ``512m`` in quotes.

    As they stand, those are durations to the reader, whatever they are to Spark.

    Args:
        text: of files.
        marks: by variable; any other name is that of a key.
        overridden: leave out what optional variables override. To the reader that would be null, where keys of the same
            section come later.
    """

    def piece(found: re.Match[str]) -> str:
        if (name := found["overriding"]) in marks:
            return "" if overridden else found["override"] + marks[name]
        if (name := found["variable"]) in marks:
            return marks[name]
        return f'{found["before"]}"{found["amount"]}"' if found["amount"] else found[0]

    return _PIECES.sub(piece, text)


def _joined(value: Any, default: Any) -> Any:
    """A value as it is with variables, and what it is without them."""
    if isinstance(value, Mapping):
        below = default if isinstance(default, Mapping) else {}
        return {key: _joined(one, below.get(key)) for key, one in value.items()}
    if isinstance(value, list):
        same = isinstance(default, list) and len(default) == len(value)
        return [_joined(one, default[n] if same else None) for n, one in enumerate(value)]
    if not is_marked(value):
        return value
    whole = default is not None and not is_marked(default) and is_one_mark(value)
    return FromEnvironment(value, _text(default) if whole else None)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
