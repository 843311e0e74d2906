"""``Profile``: one catalog and the Spark that works on it, rendered to both engines from one source."""

import os
import re
import sqlite3
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pyiceberg.catalog import Catalog, load_catalog
from sqlalchemy.exc import DatabaseError, OperationalError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.documents import documents
from iceberg_assets.profiles.hook import Hook
from iceberg_assets.profiles.production import Production
from iceberg_assets.spec.model import SpecModel, explain
from iceberg_assets.spec.units import Age

_SQLITE = "sqlite:///"
# Longer than any commit of ours holds the database; SQLite's own default gives up after 5 s.
_SQLITE_WAIT_SECONDS = 60


class CatalogSettings(SpecModel):
    """Where table names lead to metadata. Paths are absolute once a profile is loaded."""

    name: str = Field(pattern=r"^[A-Za-z_]\w*$")
    type: Literal["jdbc"]
    uri: str
    warehouse: str

    @model_validator(mode="after")
    def _sqlite_alone_is_known(self) -> Self:
        if not self.uri.startswith(_SQLITE):
            raise ValueError(f"uri: expected {_SQLITE}<path of the catalog's file>")
        return self


class HistorySettings(SpecModel):
    """Of the catalog's own tables of outcomes and errors; what is older than ``keep`` goes, by the month."""

    keep: Age = timedelta(days=90)


class Profile(SpecModel):
    """One catalog, its store, and the Spark that works on it.

    Attributes:
        name: what ``PROFILE`` or a table's ``profile`` selects it by.
        packages: Maven coordinates that Spark needs, with exact versions.
        spark: further Spark settings.
        history: of what was done.
        on_failure: who is told of failures.
        production: who alone may write; None: everybody.
        shadow: sensors and the job plan, and do nothing.
    """

    name: str
    catalog: CatalogSettings
    packages: tuple[str, ...] = ()
    spark: Mapping[str, str] = Field(default_factory=dict)
    history: HistorySettings = HistorySettings()
    on_failure: Hook = Hook()
    production: Production | None = None
    shadow: bool = False

    def spark_settings(self) -> dict[str, str]:
        """Spark settings of a lean session on this catalog; the profile's own come last and win."""
        catalog = f"spark.sql.catalog.{self.catalog.name}"
        return {
            "spark.app.name": f"iceberg-assets {self.name}",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            # A cut-off or a day() without a zone would be read in the machine's own.
            "spark.sql.session.timeZone": "UTC",
            # Tables that are maintained at the same time share the cores.
            "spark.scheduler.mode": "FAIR",
            # Spark's 200 makes expiry 3.6 times slower on two cores.
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "jdbc",
            f"{catalog}.uri": f"jdbc:sqlite:file:{self.catalog.uri.removeprefix(_SQLITE)}",
            f"{catalog}.jdbc.schema-version": "V1",
            f"{catalog}.jdbc.busy_timeout": str(_SQLITE_WAIT_SECONDS * 1000),
            f"{catalog}.warehouse": f"file://{self.catalog.warehouse}",
            # Cached tables are 30 s old: counts before and after would be of the same snapshot.
            f"{catalog}.cache-enabled": "false",
            **self.spark,
        }

    def pyiceberg_properties(self) -> dict[str, str]:
        """Properties of the PyIceberg catalog that sees the same tables."""
        return {
            "type": "sql",
            "uri": f"{self.catalog.uri}?timeout={_SQLITE_WAIT_SECONDS}",
            "warehouse": f"file://{self.catalog.warehouse}",
            "init_catalog_tables": "true",
        }

    def require_writable(self) -> None:
        """Refuse where the profile is marked as one of production, and this is not a place that may write to it.

        Each door through which something is written asks this first; who reads or foretells does not.

        Raises:
            ConfigurationError: names the key, and what to put there.
        """
        if self.production is not None:
            self.production.require_here(self.name)

    def pyiceberg(self) -> Catalog:
        """The catalog as PyIceberg sees it, without a JVM.

        Raises:
            OperationalError: its folder is missing: :meth:`prepare` makes it.
            ConfigurationError: its file is not what it should be.
        """
        try:
            return _pyiceberg(self.catalog.name, tuple(self.pyiceberg_properties().items()))
        except OperationalError:
            raise
        except DatabaseError as error:
            raise self._no_catalog(error.orig) from error

    def _no_catalog(self, error: object) -> ConfigurationError:
        return ConfigurationError(
            f"profile '{self.name}', catalog.uri: {self.catalog.uri.removeprefix(_SQLITE)} is not usable as a SQLite "
            f"catalog ({error}): move it out of the way, or name another file"
        )

    def prepare(self) -> None:
        """Make the catalog's file and the warehouse folder where they are missing.

        Raises:
            ConfigurationError: one of them cannot be made or written to.
        """
        database, warehouse = Path(self.catalog.uri.removeprefix(_SQLITE)), Path(self.catalog.warehouse)
        for folder, setting in ((database.parent, "catalog.uri"), (warehouse, "catalog.warehouse")):
            _require_writable(folder, f"profile '{self.name}', {setting}")
        try:
            with sqlite3.connect(database, timeout=_SQLITE_WAIT_SECONDS) as connection:
                # Readers and one writer at once; the setting stays in the file.
                connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error as error:
            raise self._no_catalog(error) from error


def _require_writable(folder: Path, setting: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Its name is its own: others may look at the same folder in the same moment.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"{setting}: the folder {folder} cannot be written to ({error.strerror}); "
            "give this user the right to write there, or name another folder"
        ) from error


@cache
def _pyiceberg(name: str, properties: tuple[tuple[str, str], ...]) -> Catalog:
    # Processes that begin with a new catalog at once trip over each other's CREATE TABLE, once for each of its two.
    for _ in range(2):
        try:
            return load_catalog(name, **dict(properties))
        except OperationalError as error:
            if "already exists" not in str(error):
                raise
    return load_catalog(name, **dict(properties))


def project_root(start: Path | None = None) -> Path:
    """The nearest folder at or above ``start`` (the working directory) with a ``pyproject.toml``; else ``start``."""
    start = (start or Path.cwd()).resolve()
    return next((folder for folder in (start, *start.parents) if (folder / "pyproject.toml").is_file()), start)


def profile_name(given: str | None) -> str:
    """The profile that is meant: the one given, else that of the variable ``PROFILE``, else ``local``."""
    return given or os.environ.get("PROFILE") or "local"


def load_profile(name: str | None = None, root: Path | None = None) -> Profile:
    """The profile of that name, else of the variable ``PROFILE``, else ``local``.

    Args:
        name: the profile's file, without ``.yaml``.
        root: the project's folder: ``profiles/<name>.yaml`` there goes before the package's own, and relative
            paths are read from there.

    Raises:
        ConfigurationError: no such profile, or a key of it is wrong.
    """
    root = root or project_root()
    name = profile_name(name)
    folders = (root / "profiles", Path(__file__).parent)
    file = next((folder / f"{name}.yaml" for folder in folders if (folder / f"{name}.yaml").exists()), None)
    if file is None:
        known = sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
        raise ConfigurationError(f"there is no profile '{name}': known are {', '.join(known)}")
    try:
        settings = next(iter(documents(file)), None) or {}
        if not isinstance(settings, dict):
            raise ConfigurationError(f"{file} is not usable: expected keys such as catalog, got {settings!r:.80}")
        profile = Profile.model_validate({"name": name, **_from_environment(settings, str(file))})
    except ValidationError as error:
        raise explain(error, str(file)) from None
    catalog = profile.catalog
    absolute = {
        "uri": f"{_SQLITE}{_absolute(catalog.uri.removeprefix(_SQLITE), root)}",
        "warehouse": _absolute(catalog.warehouse.removeprefix("file://"), root),
    }
    return profile.model_copy(update={"catalog": catalog.model_copy(update=absolute)})


def _absolute(path: str, root: Path) -> str:
    return os.path.normpath(root / path)


_VARIABLE = re.compile(r"\$\{(\w+)(?::-((?:[^}])*))?\}")


def _from_environment(value: Any, where: str) -> Any:
    """The value with every ``${NAME}`` and ``${NAME:-default}`` in it replaced."""
    if isinstance(value, dict):
        return {key: _from_environment(item, where) for key, item in value.items()}
    if isinstance(value, list):
        return [_from_environment(item, where) for item in value]
    if not isinstance(value, str):
        return value

    def substitute(match: re.Match[str]) -> str:
        found = os.environ.get(match[1]) or match[2]
        if found is None:
            raise ConfigurationError(f"{where} needs the environment variable {match[1]}, which is not set")
        return found

    return _VARIABLE.sub(substitute, value)
