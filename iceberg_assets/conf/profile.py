"""From an application's settings to a profile: its catalog, its store, and what else it tells Spark. Pure functions."""

import re
from typing import Any

from iceberg_assets.conf.made import Leaves, Made, is_secret, plain, shown
from iceberg_assets.conf.value import FromEnvironment
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.kinds import DIALECTS, IMPLEMENTATION, KINDS
from iceberg_assets.profiles.store import NAMES, S3_SCHEMES

_CONFIG = "app.config."
_CATALOGS = "spark.sql.catalog."
_S3A = re.compile(r"spark\.hadoop\.fs\.s3a\.(?:bucket\.(?P<bucket>[^.]+)\.)?(?P<name>.+)")
_OF_APPLICATION = {"app.name": "spark.app.name", "app.master": "spark.master"}
# Iceberg's own classes, whose type says the same in a word.
_TYPES = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
}
_PLAIN = "org.apache.iceberg.spark.SparkCatalog"
_SESSION = "org.apache.iceberg.spark.SparkSessionCatalog"
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
# What a profile says by itself, and what it would be wrong to bring over.
_LEFT_OUT = {
    "spark.jars.packages": "a profile names the jars that go together by itself; `packages` takes further ones",
    "spark.sql.extensions": "Iceberg's are not among them, and every session needs these",
    "cache-enabled": "cached tables are 30 s old, and outcomes are counted before and after",
    "io-impl": "where there is a store, files are written by S3FileIO",
}
_PLACES = ("uri", "warehouse", "oauth2_server_uri", "endpoint")
_TABLE_PROPERTY = re.compile(r"table-(?:default|override)\.(.+)")
# A secret in clear stays where it is: the profile asks this variable for it.
_VARIABLES = {
    "access_key": "AWS_ACCESS_KEY_ID",
    "secret_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}


def make_profile(leaves: Leaves) -> tuple[Made, dict[str, Any]]:
    """The profile, and properties that its catalog gives to tables.

    Raises:
        ConfigurationError: no catalog is named.
    """
    spark = {key.removeprefix(_CONFIG): value for key, value in leaves.items() if key.startswith(f"{_CONFIG}spark.")}
    taken = {f"{_CONFIG}{key}" for key in spark}
    for key, name in _OF_APPLICATION.items():
        if key in leaves:
            spark[name] = leaves[key]
            taken.add(key)
    notes: list[str] = []
    catalog, store, of_tables = _catalog(spark, notes)
    further: dict[str, Any] = {}
    for key, value in spark.items():
        found = _S3A.fullmatch(key)
        if found and (ours := _HADOOP.get(found["name"])):
            place = store.setdefault("buckets", {}).setdefault(found["bucket"], {}) if found["bucket"] else store
            place[ours] = _kept(ours, value, notes, prefix=found["bucket"])
        elif key in _LEFT_OUT and _EXTENSIONS not in str(value):
            notes.append(f"{key} = {shown(key, value)} was left out: {_LEFT_OUT[key]}")
        else:
            further[key] = _kept(key, value, notes)
    if store and "io-impl" in catalog.get("properties", {}):
        notes.append(f"io-impl = {catalog['properties'].pop('io-impl')} was left out: {_LEFT_OUT['io-impl']}")
    if store or any(_on_s3(value) for value in (catalog.get("warehouse"), plain(leaves.get("app.s3.from")))):
        # S3FileIO wants one, also of a store that has none.
        store.setdefault("region", "${AWS_REGION:-us-east-1}")
    settings = {"catalog": catalog, "store": store, "spark": further}
    return Made({key: value for key, value in settings.items() if value}, frozenset(taken), tuple(notes)), of_tables


_ICEBERG = {names.iceberg: key for key, names in NAMES.items()}
_HADOOP = {names.hadoop: key for key, names in NAMES.items()}


def _catalog(spark: dict[str, Any], notes: list[str]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The first catalog with a type, taken out of the settings: its keys, those of a store, and tables' properties."""
    names = [key.removeprefix(_CATALOGS).partition(".") for key in spark if key.startswith(_CATALOGS)]
    name = next((name for name, _, key in names if key in ("type", "catalog-impl")), None)
    if name is None:
        raise ConfigurationError(
            "there is no app.config.spark.sql.catalog.<name> with a type or a catalog-impl, and a profile is a catalog"
        )
    prefix = f"{_CATALOGS}{name}."
    given = {key.removeprefix(prefix): spark.pop(key) for key in list(spark) if key.startswith(prefix)}
    implementation = given.pop("catalog-impl", "")
    stated = given.pop("type", _TYPES.get(str(plain(implementation)), ""))
    catalog = {"name": name} | _kind(stated, implementation, given.pop("def-impl", _PLAIN), notes)
    # Where a variable chooses the type, its default says which keys there are.
    known = KINDS.get(str(plain(stated)), IMPLEMENTATION).keys
    ours = {names.spark: key for key, names in known.items() if names.spark} | {"uri": "uri", "warehouse": "warehouse"}
    store: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    of_tables: dict[str, Any] = {}
    for key, value in given.items():
        if key in ours and any(other.startswith(f"{ours[key]}.") for other in known):
            # A section, such as sigv4: that it is there says it.
            catalog |= {ours[key]: catalog.get(ours[key], {})} if str(plain(value)).lower() == "true" else {}
        elif key in ours:
            _put(catalog, ours[key], _kept(ours[key], _uri(value) if key == "uri" else value, notes))
        if key in _ICEBERG:
            store[_ICEBERG[key]] = _kept(_ICEBERG[key], value, notes)
        elif found := _TABLE_PROPERTY.fullmatch(key):
            of_tables[found[1]] = value
        elif key == "cache-enabled":
            notes.append(f"{key} = {shown(key, value)} was left out: {_LEFT_OUT[key]}")
        elif key not in ours:
            properties[key] = _kept(key, value, notes)
    return catalog | ({"properties": properties} if properties else {}), store, of_tables


def _kind(stated: object, implementation: object, of_spark: object, notes: list[str]) -> dict[str, Any]:
    """What kind of catalog it is: by its type or a class of Iceberg's, and by the class that Spark knows it by."""
    kind = {"type": _kept("type", stated, notes)} if stated else {"catalog_impl": _kept("", implementation, notes)}
    if of_spark == _SESSION:
        return kind | {"session": True}
    if of_spark != _PLAIN:
        notes.append(f"def-impl = {shown('', of_spark)} was left out: a profile's catalog is {_PLAIN}, or {_SESSION}")
    return kind


def _on_s3(place: object) -> bool:
    return str(place).partition("://")[0] in S3_SCHEMES


def _put(settings: dict[str, Any], path: str, value: object) -> None:
    *above, last = path.split(".")
    for key in above:
        settings = settings.setdefault(key, {})
    settings[last] = value


def _uri(value: object) -> object:
    """A JDBC URL as a profile has it, ``jdbc:postgresql://…`` without its first word."""
    if isinstance(value, FromEnvironment):
        return FromEnvironment(value.text, None if value.default is None else str(_uri(value.default)))
    for dialect in DIALECTS.values():
        if isinstance(value, str) and value.startswith(dialect.jdbc):
            return f"{dialect.prefix}{value.removeprefix(dialect.jdbc)}"
    return value


def _kept(key: str, value: object, notes: list[str], prefix: str | None = None) -> object:
    """The value as a profile has it; of a secret in clear, the variable that it is to come from."""
    if isinstance(value, list):
        # As the application does: Spark has lists as texts.
        return ",".join(str(_kept(key, one, notes, prefix)) for one in value)
    # A place with a secret in it is refused as the profile is read, which names the key that the secret has.
    if key in _PLACES or not is_secret(key, value):
        if isinstance(value, str) and "${" in value:
            raise ConfigurationError(f"{key}: a profile would read the text ${{…}} in it as a variable: take it out")
        return value.in_profile() if isinstance(value, FromEnvironment) else value
    if isinstance(value, FromEnvironment):
        notes.append(f"the default of {key} is a secret in clear and was not brought over: set the variable")
        return FromEnvironment(value.text, "").in_profile()
    variable = "_".join(filter(None, [prefix, _VARIABLES.get(key.rpartition(".")[2], key)]))
    variable = re.sub(r"\W", "_", variable).upper()
    notes.append(f"{key} is a secret in clear and was not brought over: set {variable} to it")
    return f"${{{variable}:-}}"
