"""PyIceberg's Hive catalog, made to compare before it swaps, as Iceberg's own does where locks are off.

PyIceberg 0.12 takes a lock of the metastore, reads the table, and alters it whatever it has become. A Spark that
commits without locks (``engine.hive.lock-enabled`` false) heeds none, so that a commit of its in between would be lost.
Here the metastore is told what ``metadata_location`` must be for the change to be made (HIVE-26882: metastores 2.3.10
and 4.0.0 on); a lock is taken as well where the table or the profile says that its writers lock. So both are safe.
"""

import threading
from types import TracebackType
from typing import Any

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    EnvironmentContext,
    LockRequest,
    LockResponse,
    LockState,
    MetaException,
    NoSuchObjectException,
    UnlockRequest,
)
from hive_metastore.ttypes import Table as HiveTable
from pyiceberg.catalog import METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, URI
from pyiceberg.catalog.hive import HiveCatalog, _HiveClient
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.utils.properties import property_as_bool
from thrift.transport import TSocket, TTransport

LOCK_ENABLED = "engine.hive.lock-enabled"
"""Iceberg's table property, and here the catalog's default for it."""

_NO_LOCK = 0
_TIMEOUT_MS = 60_000
# How the metastore's answer begins where somebody else committed in between.
_MODIFIED = "The table has been modified"


class ComparingHiveCatalog(HiveCatalog):
    """A Hive catalog for threads, beside writers that lock and writers that do not."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._client = _Connections(properties)  # type: ignore[assignment]


class _Connections:
    """A connection for each ``with``: PyIceberg's client has one, which threads would close under each other."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties
        self._open = threading.local()

    def __enter__(self) -> "_ComparingClient":
        connection = _Connection(self._properties[URI], self._properties.get("ugi"))
        plain = connection.__enter__()
        self._open.connections = [*getattr(self._open, "connections", ()), connection]
        return _ComparingClient(plain, locks=property_as_bool(self._properties, LOCK_ENABLED, default=False))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.connections.pop().__exit__(kind, error, traceback)


class _Connection(_HiveClient):
    """One that does not wait for ever: thrift's own has no time-out."""

    def _init_thrift_transport(self) -> Any:
        first, _, port = self._uri.split(",")[0].removeprefix("thrift://").partition(":")
        socket = TSocket.TSocket(first, int(port.rstrip("/") or 9083))
        socket.setTimeout(_TIMEOUT_MS)
        return TTransport.TBufferedTransport(socket)


class _ComparingClient(Client):  # type: ignore[misc]
    """The metastore's client, with the three calls that a commit makes changed."""

    def __init__(self, plain: Client, *, locks: bool) -> None:
        super().__init__(plain._iprot, plain._oprot)
        self._locks = locks

    def lock(self, request: LockRequest) -> LockResponse:
        """A lock where the table's writers take one; else what looks like it."""
        (wanted,) = request.component
        try:
            parameters = self.get_table(dbname=wanted.dbname, tbl_name=wanted.tablename).parameters
        except NoSuchObjectException:
            parameters = {}
        if property_as_bool(parameters, LOCK_ENABLED, self._locks):
            return super().lock(request)
        return LockResponse(lockid=_NO_LOCK, state=LockState.ACQUIRED)

    def unlock(self, request: UnlockRequest) -> None:
        """Give a lock back that was one."""
        if request.lockid != _NO_LOCK:
            super().unlock(request)

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: HiveTable, environment_context: EnvironmentContext
    ) -> None:
        """Alter a table if its metadata is still the one that the change was made from.

        Raises:
            CommitFailedException: somebody else committed in between.
        """
        base = new_tbl.parameters.get(PREVIOUS_METADATA_LOCATION)
        # Where the name changes the table is renamed: its parameters are those that it had.
        if base is not None and (new_tbl.dbName, new_tbl.tableName) == (dbname, tbl_name):
            environment_context.properties |= {
                "expected_parameter_key": METADATA_LOCATION,
                "expected_parameter_value": base,
            }
        try:
            super().alter_table_with_environment_context(dbname, tbl_name, new_tbl, environment_context)
        except MetaException as error:
            if _MODIFIED in (error.message or ""):
                raise CommitFailedException(
                    f"{dbname}.{tbl_name} has been committed to meanwhile: {error.message}"
                ) from error
            raise
