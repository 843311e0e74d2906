"""Which sides of which thresholds a layout meets: what has been tried is counted, not hoped for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iceberg_assets.health import DataFile, Group, Rule, rule
from iceberg_assets_tests.parity.layouts import WORLDS, Layout


@dataclass(frozen=True)
class Case:
    """A group of a layout, in its own and among the layout's other groups."""

    layout: Layout
    rule: Rule
    group: Group
    groups: Sequence[Group]

    @property
    def count(self) -> int:
        return len(self.group.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.group.files)

    @property
    def heavy(self) -> bool:
        return any(self.rule.has_too_many_deletes(file) for file in self.group.files)

    @property
    def enough(self) -> bool:
        return self.count > 1 and (self.count >= self.rule.min_input_files or self.size > self.rule.target)

    @property
    def remainder(self) -> int:
        return self.size % self.rule.target

    @property
    def due(self) -> bool:
        """By the group alone, whatever ``max-files-to-rewrite`` leaves of it."""
        return self.group.due or "max-files-to-rewrite" in self.group.reason

    @property
    def neighbours(self) -> list[Group]:
        return [one for one in self.groups if one is not self.group and one.partition == self.group.partition]

    @property
    def current(self) -> int:
        return len(WORLDS[self.layout.world].specs) - 1

    @property
    def specs(self) -> set[int]:
        return {file.spec_id for file in self.group.files}

    @property
    def older(self) -> bool:
        return bool(self.specs - {self.current})


FILE: Mapping[str, Callable[[Rule, DataFile], bool]] = {
    "a file one byte below the smallest size": lambda r, f: f.size == r.smallest - 1,
    "a file of the smallest size": lambda r, f: f.size == r.smallest,
    "a file of the largest size": lambda r, f: f.size == r.largest,
    "a file one byte above the largest size": lambda r, f: f.size == r.largest + 1,
    "as many delete files as the threshold": lambda r, f: f.delete_files > 0 and f.delete_files == r.delete_files,
    "one delete file fewer": lambda r, f: r.delete_files is not None and f.delete_files == r.delete_files - 1,
    "as many deleted rows as the ratio": lambda r, f: bool(f.deletes) and f.deleted_rows == r.delete_ratio * f.rows,
    "one deleted row fewer": lambda r, f: bool(f.deletes) and f.deleted_rows + 1 == r.delete_ratio * f.rows,
    "deletes that are not about one file alone": lambda _, f: not f.rows_known,
}
GROUP: Mapping[str, Callable[[Case], bool]] = {
    "as many files as the least": lambda c: c.due and c.count == c.rule.min_input_files > 1 and c.size <= c.rule.target,
    "one file fewer": lambda c: not c.due and c.count == c.rule.min_input_files - 1,
    "a single file, which is no group": lambda c: not c.due and c.count == 1 == c.rule.min_input_files,
    "two files one byte above the target": lambda c: (
        c.due and c.count < c.rule.min_input_files and c.size == c.rule.target + 1
    ),
    "two files of the target": lambda c: not c.due and c.size == c.rule.target,
    "a file above the largest size, alone": lambda c: c.due and c.count == 1 and c.size > c.rule.largest,
    "due for its deletes alone": lambda c: c.due and c.heavy and not c.enough and c.size <= c.rule.largest,
    "rewrite-all alone": lambda c: c.rule.rewrite_all and not c.enough and c.size <= c.rule.largest,
    "one output": lambda c: c.due and c.size < c.rule.target,
    "a remainder of the smallest size": lambda c: c.due and c.remainder == c.rule.smallest,
    "a remainder one byte larger": lambda c: c.due and c.remainder == c.rule.smallest + 1,
    "a remainder that is spread": lambda c: c.due and c.group.outputs == c.size // c.rule.target,
    "a remainder too small for a file and too large to spread": lambda c: (
        c.due and c.remainder <= c.rule.smallest and 1 <= c.size // c.rule.target < c.group.outputs
    ),
    "packed by bytes": lambda c: c.rule.group_bytes < 10**9 and bool(c.neighbours),
    "packed by files": lambda c: c.rule.group_files is not None and bool(c.neighbours),
    "cut in its files": lambda c: (
        c.rule.max_files is not None
        and c.group.due
        and c.rule.max_files == sum(len(g.files) for g in c.groups if g.due)
    ),
    "cut as a whole": lambda c: c.due and not c.group.due,
    "files of older specs": lambda c: c.older,
    "files of no partition with those of older specs": lambda c: c.older and c.current in c.specs,
    "a null beside a date": lambda c: None in c.group.partition and len(c.group.partition) > 1,
}


def branches(layout: Layout) -> set[str]:
    """The names of all that it meets."""
    settings, found = rule(layout.options, layout.properties or {}), layout.groups()
    cases = [Case(layout, settings, group, found) for group in found]
    return {name for name, meets in FILE.items() if any(meets(settings, file) for file in layout.facts)} | {
        name for name, meets in GROUP.items() if any(map(meets, cases))
    }
