"""One catalog for two engines: a profile's catalog and store as Spark's settings and as PyIceberg's properties."""

from collections.abc import Mapping
from urllib.parse import quote_plus

from pydantic import SecretStr

from iceberg_assets.profiles.catalog import CatalogSettings
from iceberg_assets.profiles.kinds import DIALECTS
from iceberg_assets.profiles.store import Store

_PLAIN = "org.apache.iceberg.spark.SparkCatalog"
_SESSION = "org.apache.iceberg.spark.SparkSessionCatalog"


def spark_catalog(catalog: CatalogSettings, store: Store | None) -> dict[str, str]:
    """The settings of a Spark session that define the catalog; its ``properties`` come last and win."""
    below = {
        **({"type": catalog.type} if catalog.type else {"catalog-impl": str(catalog.catalog_impl)}),
        # Cached tables are 30 s old: counts before and after would be of the same snapshot.
        "cache-enabled": "false",
        **(store.spark_catalog(catalog.warehouse) if store and not _local(catalog.warehouse) else {}),
        **catalog.kind.spark,
        **({"warehouse": place} if (place := _url(catalog.warehouse)) else {}),
        **_named(catalog, "spark"),
        **_database(catalog, "spark"),
        **catalog.properties,
    }
    name = f"spark.sql.catalog.{catalog.name}"
    settings = {name: _SESSION if catalog.session else _PLAIN}
    settings |= {f"{name}.{key}": value for key, value in below.items()}
    return settings | (_of_session(catalog) if catalog.session else {})


def _of_session(catalog: CatalogSettings) -> dict[str, str]:
    """What Spark's own catalog needs for the tables of other formats."""
    settings = {}
    if catalog.warehouse:
        settings["spark.sql.warehouse.dir"] = str(_url(catalog.warehouse))
    if catalog.type == "hive":
        settings |= {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.hive.metastore.uris": str(catalog.uri),
        }
    return settings


def pyiceberg_catalog(catalog: CatalogSettings, store: Store | None) -> dict[str, str]:
    """The properties of the PyIceberg catalog that sees the same tables; the profile's ``pyiceberg`` wins."""
    return {
        **catalog.kind.pyiceberg,
        **(store.pyiceberg(catalog.warehouse) if store else {}),
        **({"warehouse": place} if (place := _url(catalog.warehouse)) else {}),
        **_named(catalog, "pyiceberg"),
        **_database(catalog, "pyiceberg"),
        **catalog.properties,
        **catalog.pyiceberg,
    }


def _named(catalog: CatalogSettings, engine: str) -> dict[str, str]:
    """The keys that are set, by the engine's own names."""
    found = {}
    for key, names in catalog.kind.keys.items():
        name, value = getattr(names, engine), _value(catalog, key)
        if name is not None and value is not None:
            found[name] = value
    return found


def _value(catalog: CatalogSettings, key: str) -> str | None:
    value: object = catalog
    for part in key.split("."):
        value = getattr(value, part, None)
    match value:
        case None:
            return None
        case SecretStr():
            return value.get_secret_value()
        case bool():
            return str(value).lower()
        case str():
            return value
    return "true"  # A section such as sigv4: that it is there says it.


def _database(catalog: CatalogSettings, engine: str) -> Mapping[str, str]:
    """What either engine is told of a JDBC catalog's database."""
    if catalog.type != "jdbc":
        return {}
    dialect = DIALECTS[catalog.dialect]
    place = str(catalog.uri).removeprefix(dialect.prefix)
    if engine == "spark":
        return {"uri": f"{dialect.jdbc}{place}", **dialect.spark}
    user = ""
    if catalog.user:
        password = f":{quote_plus(catalog.password.get_secret_value())}" if catalog.password else ""
        user = f"{quote_plus(catalog.user)}{password}@"
    joint = "&" if "?" in place else "?"
    return {"uri": f"{dialect.sqlalchemy}{user}{place}{joint}{dialect.options}", **dialect.pyiceberg}


def _local(warehouse: str | None) -> bool:
    return (warehouse or "").startswith(("/", "file:"))


def _url(warehouse: str | None) -> str | None:
    """A local folder as both engines want it; whatever else stands there is left as it is."""
    return f"file://{warehouse}" if warehouse and warehouse.startswith("/") else warehouse
