"""``ManifestCache``: what has been read from manifests, in one SQLite file. Losing it costs time only."""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from iceberg_assets.health.entries import Entry

# Another number makes all that was stored before unreadable, and thereby forgotten.
_VERSION = 1
_WAIT_SECONDS = 30


class ManifestCache:
    """Entries by manifest path. Manifests are immutable, so that what was read once stays true.

    Several processes may use one file. A file that is damaged, or of another version, is made anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, table: str, column: int, manifests: Iterable[str]) -> dict[str, list[Entry]]:
        """What is known of these manifests of a table.

        Args:
            table: its uuid.
            column: field id of the column whose bounds the entries hold.
            manifests: their paths.
        """
        asked = "SELECT entries FROM manifests WHERE table_uuid = ? AND column_id = ? AND path = ?"
        with self._connection() as connection:
            rows = {path: connection.execute(asked, (table, column, path)).fetchone() for path in manifests}
        try:
            return {path: _unpack(row[0]) for path, row in rows.items() if row}
        except (zlib.error, ValueError, TypeError):
            self._path.unlink(missing_ok=True)
            return {}

    def store(self, table: str, column: int, read: Mapping[str, Sequence[Entry]], *, listed: Collection[str]) -> None:
        """Add what was read, and drop the manifests that the table lists no more."""
        if not read:
            return
        with self._connection() as connection, connection:
            known = connection.execute(
                "SELECT path FROM manifests WHERE table_uuid = ? AND column_id = ?", (table, column)
            ).fetchall()
            connection.executemany(
                "DELETE FROM manifests WHERE table_uuid = ? AND column_id = ? AND path = ?",
                [(table, column, path) for (path,) in known if path not in listed],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO manifests VALUES (?, ?, ?, ?)",
                [(table, column, path, _pack(entries)) for path, entries in read.items()],
            )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._opened()
        except sqlite3.DatabaseError:
            self._path.unlink(missing_ok=True)
            connection = self._opened()
        with closing(connection):
            yield connection

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS)
        try:
            if _version(connection) != _VERSION:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    if _version(connection) == _VERSION:
                        return connection  # another process was faster
                    connection.execute("DROP TABLE IF EXISTS manifests")
                    connection.execute(
                        "CREATE TABLE manifests (table_uuid TEXT, column_id INTEGER, path TEXT, entries BLOB, "
                        "PRIMARY KEY (table_uuid, column_id, path))"
                    )
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _pack(entries: Sequence[Entry]) -> bytes:
    return zlib.compress(json.dumps(entries).encode(), level=1)


def _unpack(packed: bytes) -> list[Entry]:
    return [
        Entry(content, path, tuple(partition), *rest)
        for content, path, partition, *rest in json.loads(zlib.decompress(packed))
    ]
