"""``Profile``: one catalog and the Spark that works on it, rendered to both engines from one source."""

import os
import sqlite3
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pyiceberg.catalog import Catalog

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.catalog import CatalogSettings
from iceberg_assets.profiles.hook import Hook
from iceberg_assets.profiles.kinds import WAIT_SECONDS
from iceberg_assets.profiles.opening import no_sqlite, open_pyiceberg
from iceberg_assets.profiles.packages import packages
from iceberg_assets.profiles.production import Production
from iceberg_assets.profiles.rendering import pyiceberg_catalog, spark_catalog
from iceberg_assets.profiles.store import Store, on_s3
from iceberg_assets.profiles.values import REDACTED, Settings
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.units import Age


class HistorySettings(SpecModel):
    """Of the catalog's own tables of outcomes and errors; what is older than ``keep`` goes, by the month."""

    keep: Age = timedelta(days=90)


class Profile(SpecModel):
    """One catalog, its store, and the Spark that works on it.

    Attributes:
        name: what ``PROFILE`` or a table's ``profile`` selects it by.
        store: the object store that the warehouse or raw files are in; None: neither is in one.
        packages: Maven coordinates that Spark needs beside those of catalog and store; what they declare in their turn
            has to be named as well. See :attr:`maven`.
        jars: files that Spark needs, such as the one with a ``catalog_impl``. Absolute once a profile is loaded.
        spark: further Spark settings.
        history: of what was done.
        on_failure: who is told of failures.
        production: who alone may write; None: everybody.
        shadow: sensors and the job plan, and do nothing.
    """

    name: str
    catalog: CatalogSettings
    store: Store | None = None
    packages: tuple[Annotated[str, Field(pattern=r"^[^:\s]+:[^:\s]+:[^:\s]+$")], ...] = ()
    jars: tuple[str, ...] = ()
    spark: Settings
    history: HistorySettings = HistorySettings()
    on_failure: Hook = Hook()
    production: Production | None = None
    shadow: bool = False

    @field_validator("store")
    @classmethod
    def _an_empty_store_is_none(cls, value: Store | None, info: ValidationInfo) -> Store | None:
        # Its variables may all be unset; with a warehouse on S3 AWS's own settings count then.
        catalog = info.data.get("catalog")
        local = catalog is None or (catalog.warehouse and not on_s3(catalog.warehouse))
        return None if value and value.says_nothing and local else value

    @model_validator(mode="after")
    def _a_store_where_one_is_needed(self) -> Self:
        # Glue reaches its own by AWS's usual settings, and a REST server may give the keys along with a table.
        if self.catalog.type in ("hadoop", "hive", "jdbc") and on_s3(self.catalog.warehouse) and self.store is None:
            raise ValueError(f"store: the warehouse {self.catalog.warehouse} is in one; say how it is reached")
        return self

    @property
    def maven(self) -> tuple[str, ...]:
        """Maven coordinates of all that Spark needs, with exact versions."""
        return packages(self.catalog, self.store, self.packages)

    def spark_settings(self) -> dict[str, str]:
        """Spark settings of a lean session on this catalog, secrets in clear; the profile's own come last and win."""
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
            # What event log and UI, and what EXPLAIN and DESCRIBE EXTENDED leave out.
            "spark.redaction.regex": REDACTED,
            "spark.sql.redaction.options.regex": f"{REDACTED}|url",
            **spark_catalog(self.catalog, self.store),
            **(self.store.spark_hadoop() if self.store else {}),
            **self.spark,
        }

    def pyiceberg_properties(self) -> dict[str, str]:
        """Properties of the PyIceberg catalog that sees the same tables, secrets in clear."""
        return pyiceberg_catalog(self.catalog, self.store)

    def require_writable(self) -> None:
        """Refuse where the profile is marked as one of production, and this is not a place that may write to it.

        Each door through which something is written asks this first; who reads or foretells does not.

        Raises:
            ConfigurationError: names the key, and what to put there.
        """
        if self.production is not None:
            self.production.require_here(self.name)

    def pyiceberg(self) -> Catalog:
        """The catalog as PyIceberg sees it, without a JVM; opened once a process.

        Raises:
            OperationalError: the folder of a catalog on SQLite is missing: :meth:`prepare` makes it.
            ConfigurationError: it cannot be opened; names the key that is most likely wrong.
        """
        return open_pyiceberg(self.name, self.catalog, self.store, self.pyiceberg_properties())

    def require_reachable(self) -> None:
        """Refuse where the catalog cannot be opened; one that only Spark knows is not asked.

        Raises:
            ConfigurationError: names the key that is most likely wrong.
        """
        if self.catalog.type or self.catalog.pyiceberg:
            self.pyiceberg()

    def prepare(self) -> None:
        """Make a catalog's file and a warehouse folder where they are local and missing.

        Raises:
            ConfigurationError: one of them cannot be made or written to.
        """
        if (warehouse := self.catalog.warehouse) and warehouse.startswith("/"):
            _require_writable(Path(warehouse), f"profile '{self.name}', catalog.warehouse")
        if (file := self.catalog.sqlite) is None:
            return
        _require_writable(Path(file).parent, f"profile '{self.name}', catalog.uri")
        try:
            with sqlite3.connect(file, timeout=WAIT_SECONDS) as connection:
                # Readers and one writer at once; the setting stays in the file.
                connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error as error:
            raise no_sqlite(self.name, file, error) from error


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
