"""Options that Iceberg's procedures take, each declared once."""

from dataclasses import dataclass
from typing import Literal

from iceberg_assets.spec.units import parse_bytes

_MOST = 2**31 - 1
"""The largest number that Java's Integer.parseInt takes."""


@dataclass(frozen=True)
class Option:
    """One entry of a procedure's ``options`` map.

    Attributes:
        name: as Iceberg writes it.
        kind: what its value is; sizes are in bytes, ratios between 0 and 1.
        sentence: what it does.
        choices: the words allowed where ``kind`` is ``word``.
    """

    name: str
    kind: Literal["bytes", "count", "ratio", "flag", "word"]
    sentence: str
    choices: tuple[str, ...] = ()

    def parse(self, value: object) -> str:
        """The value as Iceberg's option map wants it.

        Raises:
            ValueError: the value is not of this option's kind.
        """
        match self.kind:
            case "bytes":
                return str(parse_bytes(value))
            case "count" if _is_count(value):
                return str(int(str(value)))
            case "flag" if str(value).lower() in ("true", "false"):
                return str(value).lower()
            case "ratio" if _is_ratio(value):
                return str(value)
            case "word" if value in self.choices:
                return str(value)
        expected = {
            "count": f"a whole number of {_MOST} at most",
            "flag": "true or false",
            "ratio": "a number between 0 and 1",
            "word": f"one of {', '.join(self.choices)}",
        }[self.kind]
        raise ValueError(f"{self.name}: expected {expected}, got {value!r}")


def _is_count(value: object) -> bool:
    text = str(value)
    return not isinstance(value, bool | float) and text.isascii() and text.isdigit() and int(text) <= _MOST


def _is_ratio(value: object) -> bool:
    try:
        return not isinstance(value, bool) and 0 <= float(str(value)) <= 1
    except ValueError:
        return False


# org.apache.iceberg.actions.{RewriteDataFiles, SizeBasedFileRewritePlanner, BinPackRewriteFilePlanner}, Iceberg 1.12.
REWRITE_DATA_FILES: dict[str, Option] = {
    option.name: option
    for option in (
        Option("target-file-size-bytes", "bytes", "Size of the files written; the table's own target unless set."),
        Option("min-file-size-bytes", "bytes", "Smaller files are rewritten; 0.75 of the target unless set."),
        Option("max-file-size-bytes", "bytes", "Larger files are split; 1.8 of the target unless set."),
        Option(
            "min-input-files", "count", "A group of at least so many files is rewritten (5); two are always needed."
        ),
        Option(
            "max-file-group-size-bytes", "bytes", "A partition's files are rewritten in groups up to this (100 GB)."
        ),
        Option("max-file-group-input-files", "count", "Most files of a group."),
        Option("max-files-to-rewrite", "count", "Most files of one rewrite."),
        Option("delete-file-threshold", "count", "Files with at least so many delete files are rewritten (off)."),
        Option(
            "delete-ratio-threshold", "ratio", "Files with at least this share of deleted rows are rewritten (0.3)."
        ),
        Option("rewrite-all", "flag", "Rewrite every file, whatever its size."),
        Option("max-concurrent-file-group-rewrites", "count", "Groups rewritten at the same time (5)."),
        Option("use-starting-sequence-number", "flag", "Keep concurrent equality deletes applicable (true)."),
        Option("remove-dangling-deletes", "flag", "Drop delete files that apply to nothing any more."),
        Option("output-spec-id", "count", "Partition spec to write with; the current one unless set."),
        Option(
            "rewrite-job-order",
            "word",
            "Which groups first (none).",
            ("bytes-asc", "bytes-desc", "files-asc", "files-desc", "none"),
        ),
    )
}
# Not offered: partial-progress.* — a date is one commit, so that it is done or not done.
