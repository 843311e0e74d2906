"""What is done on a real object store without a JVM: raw files listed and read, a Hadoop catalog's commits."""

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_assets.errors import ConfigurationError, SourceError
from iceberg_assets.profiles import Profile, Store
from iceberg_assets.profiles.hadoop import HadoopCatalog
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets.tables import check_places
from iceberg_assets.tables.footers import read_footers
from iceberg_assets.tables.source import landed, raw_files
from iceberg_assets_tests.services.seaweedfs import LAKE, RAW, SeaweedFS, seaweedfs

DAY = date(2024, 5, 1)
CANARY = "canary-of-the-store"
ODD = "a b#0?%20 é.parquet"


@pytest.fixture(scope="module")
def weed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs(tmp_path_factory.mktemp("weed") / "store", CANARY) as running:
        written = io.BytesIO()
        pq.write_table(pa.table({"ts": [datetime(2024, 5, 1, tzinfo=UTC)]}), written)
        for key, body in ((ODD, written.getvalue()), ("bad.parquet", b""), ("_hidden.parquet", b"")):
            running.client().put_object(Bucket=RAW, Key=f"in/{DAY}/{key}", Body=body)
        yield running


def store(weed: SeaweedFS, **other: object) -> Store:
    own = {"endpoint": weed.endpoint, "path_style": True, "access_key": weed.access_key, "secret_key": weed.secret_key}
    return Store.model_validate(own | other)


def spec(place: str) -> TableSpec:
    attributes = {"table": "demo.t", "source": {"path": f"{place}/%Y-%m-%d/*.parquet"}}
    dates = {"dates": {"column": "ts", "start": str(DAY)}}
    return parse_table(attributes | dates, root=Path("/"), variables={}, where="test")


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_a_raw_file_is_known_by_one_path_however_its_place_is_spelled(weed: SeaweedFS, scheme: str) -> None:
    found = landed(spec(f"{scheme}://{RAW}/in"), DAY, store(weed))
    assert [one.path for one in found] == [f"s3://{RAW}/in/{DAY}/{ODD}", f"s3://{RAW}/in/{DAY}/bad.parquet"]
    assert all(one.version.startswith('"') for one in found), "an ETag"
    assert all(one.modified and one.modified.tzinfo for one in found)


def test_what_has_landed_since_is_seen_and_a_replaced_file_is_another_version(weed: SeaweedFS) -> None:
    of, put = store(weed), weed.client().put_object
    put(Bucket=RAW, Key=f"later/{DAY}/1.parquet", Body=b"one")
    (first,) = landed(spec(f"s3://{RAW}/later"), DAY, of)
    put(Bucket=RAW, Key=f"later/{DAY}/1.parquet", Body=b"two")
    put(Bucket=RAW, Key=f"later/{DAY}/2.parquet", Body=b"three")
    again, _ = landed(spec(f"s3://{RAW}/later"), DAY, of)
    assert (again.path, again.size) == (first.path, first.size)
    assert again.version != first.version


def test_footers_are_read_and_what_is_no_parquet_is_told(weed: SeaweedFS) -> None:
    files = landed(spec(f"s3://{RAW}/in"), DAY, store(weed))
    (footer,), (bad,) = read_footers(files, dates_of="ts", store=store(weed))
    assert footer.dates == ((DAY, 1),)
    assert bad.file.path.endswith("bad.parquet")
    assert bad.opened


def test_a_bucket_with_keys_of_its_own_is_read_with_these(weed: SeaweedFS) -> None:
    own = {RAW: {"secret_key": weed.secret_key}}
    assert landed(spec(f"s3://{RAW}/in"), DAY, store(weed, secret_key="of the others", buckets=own))


def test_a_store_that_refuses_is_told_without_its_secret(weed: SeaweedFS) -> None:
    with pytest.raises(
        SourceError, match=r"cannot be listed .PermissionError: .*see endpoint, keys and buckets"
    ) as told:
        landed(spec(f"s3://{RAW}/in"), DAY, store(weed, secret_key=f"wrong-{CANARY}"))
    assert CANARY not in str(told.value)
    with pytest.raises(SourceError, match=r"the folder s3://nowhere/in/2024-05-01 does not exist"):
        raw_files(spec("s3://nowhere/in"), DAY, store(weed))


def test_raw_files_in_a_store_need_a_profile_that_has_one() -> None:
    catalog = {"name": "c", "type": "hadoop", "warehouse": "/wh"}
    profile = Profile.model_validate({"name": "disk", "catalog": catalog})
    with pytest.raises(ConfigurationError, match="lands in s3a://raw/in, and profile 'disk' has no store"):
        check_places(profile, spec("s3a://raw/in"))


def test_a_version_of_a_hadoop_table_is_put_once(weed: SeaweedFS) -> None:
    catalog = {"name": "folders", "type": "hadoop", "warehouse": f"s3a://{LAKE}/hadoop"}
    profile = Profile.model_validate({"name": "folders", "catalog": catalog, "store": store(weed)})
    folders = profile.pyiceberg()
    assert isinstance(folders, HadoopCatalog)
    rows = pa.table({"id": pa.array([1], pa.int64())})
    folders.create_namespace(("a", "b"))
    folders.create_table("a.b.t", rows.schema).append(rows)
    table = folders.load_table("a.b.t")
    assert table.metadata_location == f"s3a://{LAKE}/hadoop/a/b/t/metadata/v2.metadata.json"
    other = table.metadata.model_copy(update={"last_updated_ms": 1})
    assert not folders._folders.create(table.metadata_location, other.model_dump_json().encode())
    assert folders._folders.create(
        table.metadata_location, table.metadata.model_dump_json(exclude_none=True).encode()
    ), "the same again is a put whose answer was lost"
    assert folders.load_table("a.b.t").metadata == table.metadata
    assert (folders.list_tables("a.b"), folders.list_namespaces("a")) == ([("a", "b", "t")], [("a", "b")])
    folders.drop_table("a.b.t")
    folders.drop_namespace("a.b")
    assert folders.list_namespaces("a") == []
