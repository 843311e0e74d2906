"""A profile's catalog opened by PyIceberg; where it cannot be, one sentence says which key to look at."""

from collections.abc import Mapping
from functools import cache

from pyiceberg.catalog import Catalog, load_catalog
from sqlalchemy.exc import DatabaseError, OperationalError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.catalog import CatalogSettings
from iceberg_assets.profiles.kinds import require
from iceberg_assets.profiles.packages import extras
from iceberg_assets.profiles.store import Store
from iceberg_assets.profiles.values import without_secrets

_START = "start the service, or say where it is"
_REASONS: Mapping[str, tuple[str, str]] = {
    # By the name of an exception's class, the nearest first: the key to look at, and the way out.
    "UnauthorizedError": ("catalog.token, credential or sigv4", "give one that is valid"),
    "AuthorizationExpiredError": ("catalog.token, credential or sigv4", "give one that has not expired"),
    "ForbiddenError": ("catalog.token, credential or sigv4", "give somebody's who may read the catalog"),
    "OAuthError": ("catalog.credential, scope or oauth2_server_uri", "give a client that the server knows"),
    "ProfileNotFound": ("AWS_PROFILE", "name one that this machine has"),
    "NoCredentialsError": ("the AWS keys", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role"),
    "NoRegionError": ("catalog.region or store.region", "set it, or AWS_REGION"),
    "EndpointConnectionError": ("catalog.endpoint or store.endpoint", _START),
    "ClientError": ("the AWS keys, catalog.region and endpoint", "give keys that may read the catalog"),
    "TTransportException": ("catalog.uri", _START),
    "RequestException": ("catalog.uri", _START),
    "OperationalError": ("catalog.uri, user or password", "start the database, or correct them"),
    "PermissionError": ("store.access_key and secret_key, or catalog.warehouse", "give keys or rights to read there"),
    "FileNotFoundError": ("catalog.warehouse", "make the bucket or the folder, or name another"),
    "OSError": ("catalog.warehouse, store.endpoint and store.region", "correct them"),
}


def open_pyiceberg(profile: str, catalog: CatalogSettings, store: Store | None, properties: dict[str, str]) -> Catalog:
    """The catalog, opened once a process and asked once for its namespaces: most kinds connect no earlier.

    Raises:
        OperationalError: the folder of a catalog on SQLite is missing.
        ConfigurationError: it cannot be opened; names profile, key and way out, and no secret.
    """
    for extra in extras(catalog):
        require(extra, f"profile '{profile}', catalog: {_what(catalog)}")
    if catalog.catalog_impl and not catalog.pyiceberg:
        raise ConfigurationError(
            f"profile '{profile}', catalog.pyiceberg: nothing says how PyIceberg reaches the catalog that "
            f"{catalog.catalog_impl} opens for Spark; give the PyIceberg properties of the same catalog there"
        )
    try:
        return _opened(catalog.name, tuple(properties.items()))
    except OperationalError as error:
        if catalog.sqlite:
            raise
        raise _refused(profile, catalog, store, error) from None
    except DatabaseError as error:
        if catalog.sqlite:
            raise no_sqlite(profile, catalog.sqlite, error.orig) from error
        raise _refused(profile, catalog, store, error) from None
    except Exception as error:  # noqa: BLE001 (every driver has exceptions of its own)
        raise _refused(profile, catalog, store, error) from None


def no_sqlite(profile: str, file: str, error: object) -> ConfigurationError:
    """A file that is no catalog."""
    return ConfigurationError(
        f"profile '{profile}', catalog.uri: {file} is not usable as a SQLite catalog ({error}): move it out of the "
        "way, or name another file"
    )


def _refused(profile: str, catalog: CatalogSettings, store: Store | None, error: BaseException) -> ConfigurationError:
    known = (_REASONS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _REASONS)
    key, way_out = next(known, ("the keys below catalog", "correct what is wrong there"))
    said = (str(error).strip().splitlines() or [""])[0]
    for model in (catalog, store):
        said = without_secrets(said, model) if model else said
    where = catalog.uri or catalog.endpoint or catalog.warehouse
    return ConfigurationError(
        f"profile '{profile}': {_what(catalog)}{f' at {where}' if where else ''} cannot be opened "
        f"({type(error).__name__}: {said:.300}). Look at {key}; {way_out}"
    )


def _what(catalog: CatalogSettings) -> str:
    return f"a catalog of type {catalog.type}" if catalog.type else f"the catalog {catalog.catalog_impl}"


@cache
def _opened(name: str, properties: tuple[tuple[str, str], ...]) -> Catalog:
    catalog = _loaded(name, dict(properties))
    catalog.list_namespaces()
    return catalog


def _loaded(name: str, properties: dict[str, str]) -> Catalog:
    # Processes that begin with a new catalog at once trip over each other's CREATE TABLE, once for each of its two.
    for _ in range(2):
        try:
            return load_catalog(name, **properties)
        except DatabaseError as error:
            if "already exists" not in str(error):
                raise
    return load_catalog(name, **properties)
