"""``Layout``: the files and options of one rewrite, and what the rule says of them.

A layout is one date of a table that it shares with others, or a table of its own where it needs one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from types import ModuleType

from iceberg_assets.health import DataFile, DeleteFile, Group, rewrite_rule

FIRST_DAY = date(2024, 1, 1)


@dataclass(frozen=True)
class World:
    """The kind of table that a layout is in.

    Attributes:
        version: of the format, when data files are written.
        specs: the fields of each of its partition specs, the current one last.
        vectors: whether it becomes a table of version 3, with deletion vectors.
        shared: whether a layout is a date of it, or a table of its own.
    """

    version: int
    specs: tuple[tuple[str, ...], ...]
    vectors: bool = False
    shared: bool = True


WORLDS = {
    "plain": World(2, (("day", "part"),)),
    "vectors": World(2, (("day", "part"),), vectors=True),
    "evolved": World(2, ((), ("month",), ("day", "part"))),
    # What is dropped from a spec of version 1 stays as a field that is always null.
    "void": World(1, (("day", "part"), ("day",))),
    "nulls": World(2, ((), ("part",)), shared=False),
    "bare": World(2, (("day",), ()), shared=False),
    "bare v1": World(1, (("day",), ()), shared=False),
}


@dataclass(frozen=True)
class File:
    """One data file.

    Attributes:
        size: exact, in bytes.
        part: its partition within the date.
        spec: index in the world's specs; -1 is the current one.
        whole: whether it is one row group. Spark counts the bytes of a file's delete files once for each row group, and
            splits a file of many small ones with deletes more often than the planner expects.
        positions: rows that each position delete file deletes that is about this file alone.
        vector: rows that its deletion vector deletes.
    """

    size: int
    part: int | None = 0
    spec: int = -1
    rows: int = 10
    whole: bool = False
    positions: tuple[int, ...] = ()
    vector: int = 0

    @property
    def live_bytes(self) -> float:
        """Of its rows without those that its own delete files delete."""
        return self.size * (1 - max((self.vector, *self.positions)) / self.rows)


@dataclass(frozen=True)
class PartitionDeletes:
    """One delete file for a whole partition: so many rows of its first file by equality, or one of each by position."""

    part: int | None
    equality: int = 0


@dataclass(frozen=True)
class Layout:
    """The files of one rewrite.

    Attributes:
        files: in the order of their manifest.
        properties: of a table of its own.
        names: whether the very files are foretold; else their number.
    """

    seed: int
    theme: str
    world: str
    options: Mapping[str, str]
    files: tuple[File, ...]
    deletes: tuple[PartitionDeletes, ...] = ()
    properties: Mapping[str, str] | None = None
    names: bool = True

    @property
    def day(self) -> date:
        return FIRST_DAY + timedelta(days=self.seed)

    @cached_property
    def facts(self) -> tuple[DataFile, ...]:
        """What health has to read of it."""
        return tuple(self._fact(number, file) for number, file in enumerate(self.files))

    def _fact(self, number: int, file: File) -> DataFile:
        world = WORLDS[self.world]
        spec = file.spec % len(world.specs)
        wide = sum(one.part == file.part and file.spec == -1 for one in self.deletes)
        own = (*file.positions, file.vector) if file.vector else file.positions
        values = {"day": self.day.toordinal(), "month": self.day.month, "part": file.part}
        voids = len(world.specs[0]) - len(world.specs[spec]) if world.version == 1 else 0
        return DataFile(
            path=str(number),
            size=file.size,
            rows=file.rows,
            spec_id=spec,
            partition=(*(values[field] for field in world.specs[spec]), *[None] * voids),
            first=self.day,
            last=self.day,
            deletes=tuple(
                DeleteFile(f"{number} {kind} {n}", 1)
                for kind, many in (("own", len(own)), ("wide", wide))
                for n in range(many)
            ),
            deleted_rows=min(file.rows, sum(own)),
            rows_known=not wide,
        )

    def groups(self, planner: ModuleType = rewrite_rule) -> list[Group]:
        """By the rule, or by one that was changed. Paths are the numbers of files."""
        settings = planner.rule(self.options, self.properties or {})
        return planner.groups(self.facts, len(WORLDS[self.world].specs) - 1, settings)

    def foretold(self, planner: ModuleType = rewrite_rule) -> "Answer":
        """What the rule says, or one that was changed."""
        added: Counter[str] = Counter()
        due = [group for group in self.groups(planner) if group.due]
        for group in due:
            added[partition_name(group.partition)] += group.outputs
        return Answer(frozenset(int(file.path) for group in due for file in group.files), added)

    def agree(self, one: "Answer", other: "Answer") -> bool:
        """Whether two answers are the same, as far as this layout lets that be foretold."""
        if not self.names:
            return (len(one.removed), one.added.total()) == (len(other.removed), other.added.total())
        # Files of older specs become at least one for each partition that they have rows of: only reading tells.
        respecced = any(self.files[number].spec != -1 for number in one.removed)
        return one.removed == other.removed and (respecced or one.added == other.added)


@dataclass(frozen=True)
class Answer:
    """The numbers of the files that a rewrite takes out, and how many it puts into which partition."""

    removed: frozenset[int]
    added: Counter[str]


def partition_name(partition: tuple[object, ...]) -> str:
    """What tells a partition from the others of its layout."""
    return str(partition[-1]) if partition else ""
