"""Random tables of few files, with everything around them that a search for orphans meets. No JVM."""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, TimestamptzType

from iceberg_assets_tests.orphans.reach import plain, reachable

OLD = time.time() - 30 * 86400
_SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "ts", TimestamptzType()), NestedField(3, "_kind", LongType())
)
_SPEC = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "_kind"))
_FOLDERS = ("data", "data/_kind=1", "data/_kind=2/deep", "data-old", "da ta", "data/a%20b", "metadata", "data/x#y")
_HIDDEN = ("data/_SUCCESS", "data/.part.parquet", "_temporary/0/a.parquet", ".tmp/b.parquet", "data/_other=1/c.parquet")


@dataclass
class Layout:
    """A table, and what is done to it.

    Attributes:
        files: data files that were committed, by the path that they were committed with.
        young: files that were written just now.
    """

    seed: int
    catalog: Catalog
    name: str
    root: Path
    chance: random.Random
    table: Table = field(init=False)
    files: list[DataFile] = field(default_factory=list)
    young: set[str] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """The table's location."""
        return Path(plain(self.table.location()))

    def spelled(self, path: Path) -> str:
        """The path with one of the spellings that a local file has."""
        return self.chance.choice(["file:", "file://", ""]) + str(path)

    def file(self, folder: str | None = None) -> DataFile:
        """A data file on disk, known to nobody."""
        within = folder or self.chance.choice([one for one in _FOLDERS if one != "metadata"])
        path = self.folder / within / f"{uuid4().hex[:8]}.parquet"
        put(path)
        return self.described(path)

    def described(self, path: Path) -> DataFile:
        """A file, or a link to one, as a manifest has it."""
        made = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self.spelled(path),
            file_format=FileFormat.PARQUET,
            partition=Record(1),
            record_count=1,
            file_size_in_bytes=path.stat().st_size,
        )
        made.spec_id = 0
        return made

    def append(self, branch: str | None = "main", linked: bool = False) -> None:
        """Commit one or two files; ``linked``: by the name of a link that leads to the file."""
        with self.table.transaction() as transaction, transaction.update_snapshot(branch=branch).fast_append() as made:
            for _ in range(self.chance.randint(1, 2)):
                one = self.file()
                if linked:
                    real = Path(plain(one.file_path))
                    link = real.with_name(f"link-{real.name}")
                    link.symlink_to(real)
                    one = self.described(link)
                made.append_data_file(one)
                if branch == "main":
                    self.files.append(one)
        self.table = self.catalog.load_table(self.name)

    def replace(self) -> None:
        """Take a file out of main."""
        if not self.files:
            return
        with self.table.transaction() as transaction, transaction.update_snapshot().overwrite() as made:
            made.delete_data_file(self.files.pop(self.chance.randrange(len(self.files))))
        self.table = self.catalog.load_table(self.name)

    def branch(self) -> None:
        """A branch with a commit of its own."""
        name, head = f"b{uuid4().hex[:6]}", self.table.current_snapshot()
        if head is not None:
            self.table.manage_snapshots().create_branch(head.snapshot_id, name).commit()
            self.append(name)

    def tag(self) -> None:
        """A tag on main's head."""
        if (head := self.table.current_snapshot()) is not None:
            self.table.manage_snapshots().create_tag(head.snapshot_id, f"t{uuid4().hex[:6]}").commit()
            self.table = self.catalog.load_table(self.name)

    def expire(self) -> None:
        """Forget a snapshot that no ref needs, and leave its files where they are."""
        heads = {ref.snapshot_id for ref in self.table.metadata.refs.values()}
        free = [one.snapshot_id for one in self.table.metadata.snapshots if one.snapshot_id not in heads]
        if free:
            self.table.maintenance.expire_snapshots().by_id(self.chance.choice(free)).commit()
            self.table = self.catalog.load_table(self.name)

    def stray(self) -> None:
        """A file that nothing refers to, of some age, in some folder; or one that is hidden, or not below the table."""
        kind = self.chance.choice(["old", "old", "young", "hidden", "neighbour", "linked folder"])
        name = f"{uuid4().hex[:8]}.{self.chance.choice(['parquet', 'avro', 'metadata.json', 'puffin', 'tmp'])}"
        path = self.folder / self.chance.choice(_FOLDERS) / name
        if kind == "hidden":
            path = self.folder / self.chance.choice(_HIDDEN)
        if kind == "neighbour":
            path = Path(f"{self.folder}{self.chance.choice(['2', '_old', '-backup', '.bak'])}") / "data" / name
        put(path)
        if kind == "young":
            self.young.add(str(path))
        link = self.folder / "data" / f"to-{path.parent.name}"
        if kind == "linked folder" and path.parent.name != "data" and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.parent)

    def statistics(self) -> None:
        """A statistics file and one of partitions, written into the metadata as Iceberg's other writers do."""
        head = self.table.current_snapshot()
        if head is None:
            return
        file = Path(plain(self.table.metadata_location))
        metadata = json.loads(file.read_bytes())
        for kind, more in (
            ("statistics", {"file-footer-size-in-bytes": 1, "blob-metadata": []}),
            ("partition-statistics", {}),
        ):
            path = self.folder / "metadata" / f"{uuid4().hex[:8]}-{kind}.stats"
            put(path)
            one = {
                "snapshot-id": head.snapshot_id,
                "statistics-path": self.spelled(path),
                "file-size-in-bytes": 5,
                **more,
            }
            metadata[kind] = [*(metadata.get(kind) or []), one | more]
        file.write_text(json.dumps(metadata))
        self.table = self.catalog.load_table(self.name)

    def age(self) -> None:
        """All that is not young was written long ago."""
        young = {os.path.realpath(path) for path in self.young}
        for path in walk(self.folder):
            # A linked folder leads to a young file by another name, too.
            moment = time.time() if os.path.realpath(path) in young else OLD
            os.utime(path, (moment, moment), follow_symlinks=False)

    def alive(self) -> set[str]:
        """Real paths of what the metadata reaches."""
        return reachable(self.table.metadata_location)

    def dead(self) -> set[str]:
        """Real paths of what is old, visible, below the location, and not alive."""
        found = {
            os.path.realpath(path)
            for path in walk(self.folder)
            if str(path) not in self.young and not _hidden(path.relative_to(self.folder))
        }
        young = {os.path.realpath(path) for path in self.young}
        return found - self.alive() - young


def _hidden(within: Path) -> bool:
    return any(part[0] in "_." and not part.startswith("_kind=") for part in within.parts)


def put(path: Path) -> None:
    """A file of a few bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"bytes")


def walk(folder: Path) -> Iterator[Path]:
    """Every file below, links followed."""
    for at, _, files in os.walk(folder, followlinks=True):
        yield from (Path(at, name) for name in files)


def layout(catalog: Catalog, root: Path, seed: int) -> Layout:
    """The layout of a seed: a table made by a dozen random deeds, in a random spelling of its location."""
    chance = random.Random(seed)
    namespace = f"orphans_{uuid4().hex[:8]}"
    catalog.create_namespace(namespace)
    home = root / namespace
    home.mkdir(parents=True)
    if chance.random() < 0.3:
        (root / f"{namespace}_real").mkdir()
        home.rmdir()
        home.symlink_to(root / f"{namespace}_real")
    made = Layout(seed, catalog, f"{namespace}.t{seed}", home, chance)
    made.table = catalog.create_table(
        made.name,
        _SCHEMA,
        location=made.spelled(home / chance.choice(["t", "deep/t", "t x", "a.b"])),
        partition_spec=_SPEC,
        properties={"write.metadata.previous-versions-max": str(chance.choice([1, 3, 100]))},
    )
    made.append()
    deeds: list[Callable[[], None]] = [
        made.append, made.replace, made.branch, made.tag, made.expire, made.stray, made.stray,
        lambda: made.append(None), lambda: made.append(linked=True),
    ]  # fmt: skip
    for deed in chance.choices(deeds, k=chance.randint(6, 14)):
        deed()
    if chance.random() < 0.5:
        made.statistics()
    made.age()
    return made
