"""PyIceberg's commits on a real metastore, beside writers that compare and writers that lock."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hive_metastore.ttypes import EnvironmentContext, LockComponent, LockLevel, LockRequest, LockType, UnlockRequest
from pyiceberg.exceptions import CommitFailedException
from thrift.Thrift import TApplicationException

from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.hive import LOCK_ENABLED, ComparingHiveCatalog
from iceberg_assets_tests.services.metastore import metastore

ROWS = pa.table({"at": pa.array([1, 2], pa.timestamp("us", tz="UTC"))})


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparingHiveCatalog]:
    folder = tmp_path_factory.mktemp("hive") / "metastore"
    with metastore(folder, f"file://{folder}/wh") as service:
        settings = {"name": "lake", "type": "hive", "uri": service.uri, "warehouse": f"{folder}/wh"}
        found = Profile.model_validate({"name": "hive", "catalog": settings}).pyiceberg()
        assert isinstance(found, ComparingHiveCatalog)
        found.create_namespace("demo")
        yield found


@pytest.mark.jvm
def test_a_commit_from_metadata_that_is_not_the_newest_any_more_is_refused(catalog: ComparingHiveCatalog) -> None:
    table = catalog.create_table("demo.compared", ROWS.schema)
    table.append(ROWS)
    with catalog._client as client:
        # As far as PyIceberg has come when somebody else commits.
        stale = client.get_table(dbname="demo", tbl_name="compared")
    catalog.load_table("demo.compared").append(ROWS)
    newest = catalog.load_table("demo.compared").metadata_location
    stale.parameters["previous_metadata_location"] = stale.parameters["metadata_location"]
    with catalog._client as client, pytest.raises(CommitFailedException, match="has been committed to meanwhile"):
        client.alter_table_with_environment_context("demo", "compared", stale, EnvironmentContext(properties={}))
    assert catalog.load_table("demo.compared").metadata_location == newest
    # PyIceberg takes it for what it is, and tries again on what is there now.
    table.append(ROWS)
    assert catalog.load_table("demo.compared").scan().to_arrow().num_rows == 6


@pytest.mark.jvm
def test_a_lock_is_taken_where_the_tables_writers_lock_and_only_there(catalog: ComparingHiveCatalog) -> None:
    catalog.create_table("demo.locked", ROWS.schema, properties={LOCK_ENABLED: "true"})
    catalog.create_table("demo.free", ROWS.schema)
    with catalog._client as client:
        assert client.lock(lock_of("free")).lockid == 0
        client.unlock(UnlockRequest(lockid=0))
    # On its Derby the wheel's metastore has no lock to give: that it was asked for one is seen by its refusal.
    with catalog._client as client, pytest.raises(TApplicationException, match="processing lock"):
        client.lock(lock_of("locked"))


def lock_of(table: str) -> LockRequest:
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, "demo", table)
    return LockRequest(component=[component], user="test", hostname="test")


@pytest.mark.jvm
def test_a_rename_is_no_commit(catalog: ComparingHiveCatalog) -> None:
    catalog.create_table("demo.before", ROWS.schema).append(ROWS)
    catalog.rename_table("demo.before", "demo.after")
    assert catalog.load_table("demo.after").scan().to_arrow().num_rows == 2
