"""The order that a rewrite sorts by, as its text says: which columns, and whether they are interleaved."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

# A name as it is, or in back-quotes with one inside it doubled; parts of a nested one joined by dots.
_NAME = r"(?:`(?:[^`]|``)+`|[^\s`(),.]+)(?:\.(?:`(?:[^`]|``)+`|[^\s`(),.]+))*"
_CURVE = re.compile(rf"(zorder|hilbert)\(\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\)", re.IGNORECASE)
_FIELD = re.compile(
    rf"\s*(?:(?P<column>{_NAME})|\w+\(\s*(?:\d+\s*,\s*)?(?P<of>{_NAME})(?:\s*,\s*\d+)?\s*\))"
    r"(?:\s+(?:ASC|DESC))?(?:\s+NULLS\s+(?:FIRST|LAST))?\s*(?P<end>,|$)",
    re.IGNORECASE,
)
_NAMES = re.compile(_NAME)

# SparkZOrderFileRewriteRunner and SparkHilbertFileRewriteRunner put their value into a column of this name.
_VALUE_COLUMN = {"zorder": "ICEZVALUE", "hilbert": "ICEHVALUE"}


@dataclass(frozen=True)
class SortOrder:
    """A sort order.

    Attributes:
        text: as it is given to Iceberg.
        kind: by one column after the other, or by all at once along a curve.
        columns: whose values count, as the table's schema names them, parts joined by dots.
    """

    text: str
    kind: Literal["sort", "zorder", "hilbert"]
    columns: tuple[str, ...]

    def mistake(self, known: Iterable[str]) -> str | None:
        """What is wrong with it for a table, as words; None where nothing is.

        Args:
            known: the table's column names, nested ones with dots.
        """
        names = set(known)
        unknown = [column for column in self.columns if column not in names]
        if unknown:
            return f"sort_order '{self.text}': the table has no column {', '.join(unknown)}; it has {', '.join(names)}"
        pathlike = [column for column in self.columns if self.kind != "sort" and re.search("[.`]", column)]
        if pathlike:
            return (
                f"sort_order '{self.text}': {self.kind} takes columns of the table itself, with neither a dot nor a "
                f"back-quote in the name, and not {', '.join(pathlike)}: sort by it instead"
            )
        taken = _VALUE_COLUMN.get(self.kind)
        own = next((name for name in names if taken and name.casefold() == taken.casefold()), None)
        if own:
            return (
                f"sort_order '{self.text}': the table has a column {own}, and {self.kind} needs that name for itself: "
                "sort by columns instead, or rename it"
            )
        return None


def parse_sort_order(value: object) -> SortOrder:
    """``carrier ASC NULLS LAST, ts``, ``bucket(4, id)`` or ``zorder(origin, dest)``.

    Raises:
        ValueError: it is none of these; or a curve over fewer than two columns.
    """
    text = value.strip() if isinstance(value, str) else ""
    if curve := _CURVE.fullmatch(text):
        columns = tuple(_plain(name) for name in _NAMES.findall(curve[2]))
        kind: Literal["zorder", "hilbert"] = "zorder" if curve[1].lower() == "zorder" else "hilbert"
        if len(set(columns)) < 2:
            raise ValueError(f"{kind} interleaves several columns, and '{text}' has one: sort by it instead")
        return SortOrder(text, kind, columns)
    fields = list(_fields(text))
    if not fields:
        raise ValueError(
            f"expected columns such as 'carrier ASC NULLS LAST, ts', or 'zorder(origin, dest)' alone, got {value!r}"
        )
    return SortOrder(text, "sort", tuple(fields))


def _fields(text: str) -> Iterator[str]:
    """The column of each field; nothing at all where the text is no order."""
    position, found = 0, []
    while position < len(text):
        field = _FIELD.match(text, position)
        of_curve = field and re.match(r"\s*(zorder|hilbert)\s*\(", field[0], re.IGNORECASE)
        if field is None or of_curve or (field["end"] == "," and field.end() == len(text)):
            return
        found.append(_plain(field["column"] or field["of"]))
        position = field.end()
    yield from found


def _plain(name: str) -> str:
    """A name without its back-quotes."""
    parts = re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", name)
    return ".".join(quoted.replace("``", "`") if quoted else bare for quoted, bare in parts)
