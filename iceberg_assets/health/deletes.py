"""Which delete files apply to a data file, by the rules of the Iceberg spec ("Scan Planning")."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from iceberg_assets.health.entries import EQUALITY_DELETES, Entry

_Partition = tuple[int, tuple[Any, ...]]


class DeleteIndex:
    """Delete files by what they apply to.

    Whether an equality delete's values can occur in a data file is not looked at: the engine does that while it
    plans, so that it may count fewer.
    """

    def __init__(self, entries: Iterable[tuple[int, Entry]], unpartitioned: set[int]) -> None:
        """Build the index.

        Args:
            entries: spec id and entry of each delete file.
            unpartitioned: ids of the specs without fields, whose equality deletes apply to the whole table.
        """
        self._vectors: dict[str, Entry] = {}
        self._by_path: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_partition: defaultdict[_Partition, list[Entry]] = defaultdict(list)
        self._equality: defaultdict[_Partition | None, list[Entry]] = defaultdict(list)
        for spec_id, entry in entries:
            if entry.content == EQUALITY_DELETES:
                everywhere = spec_id in unpartitioned
                self._equality[None if everywhere else (spec_id, entry.partition)].append(entry)
            elif entry.referenced is None:
                self._by_partition[spec_id, entry.partition].append(entry)
            elif entry.vector:
                self._vectors[entry.referenced] = entry
            else:
                self._by_path[entry.referenced].append(entry)

    def of(self, spec_id: int, data: Entry) -> tuple[Entry, ...]:
        """The delete files that apply to a data file."""
        partition = (spec_id, data.partition)
        found = [
            entry
            for key in (None, partition)
            for entry in self._equality.get(key, ())
            # Rows that came with an equality delete are not meant by it.
            if data.sequence < entry.sequence
        ]
        vector = self._vectors.get(data.path)
        if vector is not None:
            # A deletion vector holds all positions that are deleted; older position deletes count no more.
            return (*found, vector)
        positions = [*self._by_partition.get(partition, ()), *self._by_path.get(data.path, ())]
        return (*found, *(entry for entry in positions if data.sequence <= entry.sequence))
