"""What others answer: whether services are there, take our credentials, and have the same time."""

from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from iceberg_assets.doctor.finding import Findings, fail, ok, warn
from iceberg_assets.doctor.place import addresses, buckets, clock_of, unreachable
from iceberg_assets.doctor.settings import wanted_packages
from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.maintenance.elsewhere import maintained_elsewhere
from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.services import naming_the_service
from iceberg_assets.profiles.store import failures
from iceberg_assets.profiles.values import without_secrets
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.units import format_age, format_count
from iceberg_assets.tables.location_provider import provider_notes
from iceberg_assets.tables.target import load_target

_SKEW = timedelta(minutes=1)
# S3 refuses requests that are signed for a time so far away (RequestTimeTooSkewed).
_REFUSED = timedelta(minutes=15)


def services(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Whether something listens at each address."""
    for address in addresses(profile):
        if why := unreachable(address):
            yield fail(
                f"{address.key}: nothing answers at {address} ({why})",
                f"start the service, open the way to it, or correct {address.key}",
            )
        else:
            yield ok(f"{address.key}: {address} answers")


def credentials(profile: Profile, specs: Sequence[TableSpec]) -> Findings:
    """Whether the catalog lets itself be listed, and the store its buckets be looked at."""
    yield from _of_catalog(profile)
    raw = (spec.source.root for spec in specs if spec.source)
    for bucket in buckets(profile, raw):
        yield from _of_bucket(profile, bucket)


def _of_catalog(profile: Profile) -> Findings:
    catalog = profile.catalog
    if catalog.catalog_impl and not catalog.pyiceberg:
        yield warn(
            f"nothing says how PyIceberg reaches what {catalog.catalog_impl} opens, so that its tables are maintained "
            "by the job alone, and sensors and checks do not see them",
            "give the PyIceberg properties of the same catalog as catalog.pyiceberg",
        )
        return
    if _to_be_made(profile):
        yield ok(f"catalog.uri: {catalog.sqlite} is made by the first append")
        return
    if not _answers(profile):
        return
    try:
        with naming_the_service(profile):
            namespaces = profile.pyiceberg().list_namespaces()
    except IcebergAssetsError as error:
        yield fail(str(error))
    else:
        yield ok(f"catalog {catalog.name} lists {format_count(len(namespaces), 'namespace')}")


def _of_bucket(profile: Profile, bucket: str) -> Findings:
    store = profile.store
    if store is None:
        yield fail(f"{bucket} is a bucket, and the profile has no store", "say below store how it is reached")
        return
    if not _answers(profile):
        return
    try:
        store.filesystem(bucket).call_s3("head_bucket", Bucket=bucket)
    except FileNotFoundError:
        yield fail(f"there is no bucket {bucket}", "make it, or correct catalog.warehouse or source.path")
    except failures(f"s3://{bucket}") as error:
        said = without_secrets(str(error).splitlines()[0], store)
        yield fail(
            f"bucket {bucket} cannot be looked at ({type(error).__name__}: {said:.200})",
            "give keys that may read and write it, below store or in the environment",
        )
    else:
        yield ok(f"bucket {bucket} is there for us")


def clocks(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Requests to a store are signed with the time."""
    for address in addresses(profile):
        if address.scheme not in ("http", "https") or (ahead := clock_of(address)) is None:
            continue
        by = format_age(timedelta(seconds=round(abs(ahead).total_seconds())))
        said = f"this machine's clock is {by} {'ahead of' if ahead > timedelta(0) else 'behind'} that of {address}"
        if abs(ahead) > _REFUSED:
            yield fail(f"{said}, and signed requests are refused", "set the clock, by NTP")
        elif abs(ahead) > _SKEW:
            yield warn(said, "set the clock, by NTP: from 15 minutes on signed requests are refused")
        else:
            yield ok(said)


def others(profile: Profile, specs: Sequence[TableSpec]) -> Findings:
    """Marks of other optimizers on declared tables, and what Glue's would do to a flat location."""
    if _to_be_made(profile) or not _answers(profile):
        return
    for spec in specs:
        try:
            table = load_target(profile, spec)
        except IcebergAssetsError as error:
            yield fail(str(error))
            continue
        if table is None:
            continue
        if why := maintained_elsewhere(table, spec.properties):
            yield warn(f"{spec.name}: {why}", "decide for one of the two")
        for note in provider_notes(profile, spec, table.properties):
            yield warn(note, "see docs/flat-location.md")


def _answers(profile: Profile) -> bool:
    """Whether nothing that is said elsewhere keeps others from answering; retries would take their time."""
    return all(find_spec(extra.module) for extra in wanted_packages(profile)) and not any(
        unreachable(address) for address in addresses(profile)
    )


def _to_be_made(profile: Profile) -> bool:
    """Whether the catalog is a file that is not there yet; to ask would make it."""
    file = profile.catalog.sqlite
    return file is not None and not Path(file).is_file()
