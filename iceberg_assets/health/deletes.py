"""Which delete files apply to a data file, by the rules of the Iceberg spec ("Scan Planning")."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from iceberg_assets.health.entries import EQUALITY_DELETES, Entry
from iceberg_assets.health.facts import DataFile, DeleteFile, TableHealth
from iceberg_assets.health.unit import Span

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


def dangling_deletes(deletes: Iterable[DeleteFile], files: Iterable[DataFile]) -> list[DeleteFile]:
    """Those that delete nothing any more: no data file is left that was there when they were written.

    Of an equality delete nobody can tell without reading it; it is never one of them.
    """
    paths: set[str] = set()
    oldest: dict[_Partition, int] = {}
    for file in files:
        paths.add(file.path)
        key = (file.spec_id, file.partition)
        oldest[key] = min(oldest.get(key, file.file_sequence), file.file_sequence)
    found = []
    for one in deletes:
        if one.kind == "equality":
            continue
        if one.referenced is None:
            # It names data files by their paths, and a file that was written later had none yet.
            first = oldest.get((one.spec_id, one.partition))
            dangles = first is None or first > one.file_sequence
        else:
            dangles = one.referenced not in paths
        if dangles:
            found.append(one)
    return found


def dropped_with(files: Collection[DataFile], health: TableHealth) -> list[DeleteFile]:
    """The delete files that the commit of a rewrite drops by itself.

    These are the deletion vectors of the files that it takes, and what is older than every data file that is left
    (``MergingSnapshotProducer.apply``), equality deletes among them.

    Args:
        files: data files of the table that are rewritten.
    """
    taken = {file.path for file in files}
    newest = max((one.sequence_number for one in health.snapshots), default=0)
    oldest = min([newest, *(file.sequence for file in health.files if file.path not in taken)])
    return [
        one
        for one in health.deletes
        if (one.kind == "vector" and one.referenced in taken) or (taken and one.sequence < oldest)
    ]


def delete_fact(spec_id: int, entry: Entry, span: Span | tuple[None, None]) -> DeleteFile:
    """A live delete file of a spec as a fact; ``span``: the dates that its partition can hold."""
    return DeleteFile(
        path=entry.path,
        rows=entry.rows,
        kind="equality" if entry.content == EQUALITY_DELETES else "vector" if entry.vector else "position",
        size=entry.size,
        spec_id=spec_id,
        partition=entry.partition,
        referenced=entry.referenced,
        first=span[0],
        last=span[1],
        file_sequence=entry.file_sequence,
        sequence=entry.sequence,
    )
