"""The Hadoop catalog that PyIceberg lacks: folders, and in each table's ``metadata`` the files ``v<n>.metadata.json``.

It reads and writes what Iceberg's HadoopCatalog and HadoopTableOperations do, so that both see the same tables: a
namespace is a folder, a table is one whose ``metadata`` holds such files, and the newest of them is what the table is.

A commit puts the next file there unless somebody has: on local disk by a link, on S3 by a conditional put. Iceberg's
own looks first and renames then, under a lock of its JVM alone. So such a catalog has **one writer** at a time.
"""

import re
from typing import Any, NoReturn

from pyiceberg.catalog import LOCATION, WAREHOUSE_LOCATION, MetastoreCatalog, PropertiesUpdateSummary
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.view import View
from typing_extensions import override

from iceberg_assets.profiles.folders import folders_of

_VERSION = re.compile(r"v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_HINT = "version-hint.text"

Name = str | Identifier


class HadoopCatalog(MetastoreCatalog):
    """A catalog of folders below ``warehouse``. Whatever is in it lies where its name says, and is not renamed."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._warehouse = properties[WAREHOUSE_LOCATION].rstrip("/")
        self._folders = folders_of(self._warehouse, properties)

    @override
    def create_table(
        self,
        identifier: Name,
        schema: Any,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> Table:
        """Create a table; its first version is 1.

        Raises:
            NoSuchNamespaceError: nothing holds it.
            TableAlreadyExistsError: there is one of that name.
            ValueError: a location is asked for: it follows from the name.
        """
        staged = self._create_staged_table(identifier, schema, location, partition_spec, sort_order, properties)
        if not self._publish(staged.metadata, staged.name(), 1):
            raise TableAlreadyExistsError(f"there is a table {'.'.join(staged.name())} already")
        return self.load_table(staged.name())

    @override
    def _create_staged_table(
        self,
        identifier: Name,
        schema: Any,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> StagedTable:
        name = self.identifier_to_tuple(identifier)
        place = self._place(name)
        if location is not None and location.rstrip("/") != place:
            raise ValueError(f"a table of a Hadoop catalog lies where its name says, at {place}, not at {location}")
        if not self.namespace_exists(name[:-1]):
            raise NoSuchNamespaceError(f"there is no namespace {'.'.join(name[:-1])}")
        metadata = new_table_metadata(
            location=place,
            schema=self._convert_schema_if_needed(schema),
            partition_spec=partition_spec,
            sort_order=sort_order,
            properties=properties,
        )
        io = self._load_file_io(properties, place)
        return StagedTable(name, metadata, self._file(name, 1), io, self)

    @override
    def load_table(self, identifier: Name) -> Table:
        """The newest version of a table.

        Raises:
            NoSuchTableError: there is none of that name.
        """
        name = self.identifier_to_tuple(identifier)
        if (file := self._newest(name)) is None:
            raise NoSuchTableError(f"there is no table {'.'.join(name)}")
        location = f"{self._place(name)}/metadata/{file}"
        metadata = FromInputFile.table_metadata(self._load_file_io(location=location).new_input(location))
        return Table(name, metadata, location, self._load_file_io(metadata.properties, location), self)

    @override
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Put the next version there, if nobody else has.

        Raises:
            CommitFailedException: somebody has, or a requirement is not met, such as that the table is there.
        """
        name = table.name()
        current = self.load_table(name) if self._newest(name) else None
        for requirement in requirements:
            requirement.validate(current.metadata if current else None)
        metadata = update_table_metadata(
            base_metadata=current.metadata if current else self._empty_table_metadata(),
            updates=updates,
            enforce_validation=current is None,
            metadata_location=current.metadata_location if current else None,
        )
        if current and metadata == current.metadata:
            return _committed(metadata, current.metadata_location)
        version = self._version(current.metadata_location) + 1 if current else 1
        if not self._publish(metadata, name, version):
            raise CommitFailedException(f"{'.'.join(name)}: version {version} has been committed by somebody else")
        return _committed(metadata, self._file(name, version))

    def _publish(self, metadata: TableMetadata, name: Identifier, version: int) -> bool:
        content = metadata.model_dump_json(exclude_none=True).encode()
        if self._newest_version(name) >= version or not self._folders.create(self._file(name, version), content):
            return False
        # Where to begin to look; nobody needs it to be right.
        self._folders.replace(f"{self._place(name)}/metadata/{_HINT}", str(version).encode())
        return True

    @override
    def drop_table(self, identifier: Name) -> None:
        """Remove a table's folder: it is the table's entry in the catalog, and all its files are in it.

        Raises:
            NoSuchTableError: there is none of that name.
        """
        name = self.identifier_to_tuple(identifier)
        if self._newest(name) is None:
            raise NoSuchTableError(f"there is no table {'.'.join(name)}")
        self._folders.remove(self._place(name))

    @override
    def purge_table(self, identifier: Name) -> None:
        """The same: nothing of a table is elsewhere."""
        self.drop_table(identifier)

    @override
    def list_tables(self, namespace: Name) -> list[Identifier]:
        """The tables of a namespace, by name.

        Raises:
            NoSuchNamespaceError: there is none of that name.
        """
        above = self.identifier_to_tuple(namespace)
        return [(*above, name) for name in self._below(above) if self._newest((*above, name))]

    @override
    def list_namespaces(self, namespace: Name = ()) -> list[Identifier]:
        """The namespaces right below one, by name.

        Raises:
            NoSuchNamespaceError: there is none of that name.
        """
        above = self.identifier_to_tuple(namespace)
        return [(*above, name) for name in self._below(above) if not self._newest((*above, name))]

    def _below(self, namespace: Identifier) -> list[str]:
        found = self._folders.folders(self._place(namespace))
        if found is None and not namespace:
            return []  # Nobody has made a warehouse yet.
        if found is None or (namespace and self._newest(namespace)):
            raise NoSuchNamespaceError(f"there is no namespace {'.'.join(namespace)}")
        return found

    @override
    def create_namespace(self, namespace: Name, properties: Properties = EMPTY_DICT) -> None:
        """Make a folder.

        Raises:
            NamespaceAlreadyExistsError: there is one of that name.
            NotImplementedError: properties are given; a folder has none.
        """
        name = self.identifier_to_tuple(namespace)
        if properties:
            self._cannot("keeps no properties of a namespace")
        if self._folders.folders(self._place(name)) is not None:
            raise NamespaceAlreadyExistsError(f"there is a namespace {'.'.join(name)} already")
        self._folders.make(self._place(name))

    @override
    def drop_namespace(self, namespace: Name) -> None:
        """Remove an empty folder.

        Raises:
            NamespaceNotEmptyError: something is in it.
            NoSuchNamespaceError: there is none of that name.
        """
        name = self.identifier_to_tuple(namespace)
        if self._below(name) or self._folders.files(self._place(name)):
            raise NamespaceNotEmptyError(f"namespace {'.'.join(name)} is not empty")
        self._folders.remove(self._place(name))

    @override
    def load_namespace_properties(self, namespace: Name) -> Properties:
        """Where a namespace is.

        Raises:
            NoSuchNamespaceError: there is none of that name.
        """
        name = self.identifier_to_tuple(namespace)
        self._below(name)
        return {LOCATION: self._place(name)}

    @override
    def list_views(self, namespace: Name) -> list[Identifier]:
        """None: such a catalog has no views."""
        self.load_namespace_properties(namespace)
        return []

    @override
    def view_exists(self, identifier: Name) -> bool:
        """No: such a catalog has no views."""
        return False

    @override
    def load_view(self, identifier: Name) -> View:
        """Not supported."""
        self._cannot("has no views")

    @override
    def drop_view(self, identifier: Name) -> None:
        """Not supported."""
        self._cannot("has no views")

    @override
    def register_view(self, identifier: Name, metadata_location: str) -> View:
        """Not supported."""
        self._cannot("has no views")

    @override
    def register_table(self, identifier: Name, metadata_location: str, overwrite: bool = False) -> Table:
        """Not supported."""
        self._cannot("has tables only where their names say")

    @override
    def rename_table(self, from_identifier: Name, to_identifier: Name) -> Table:
        """Not supported."""
        self._cannot("does not rename: a table's name is its folder's")

    @override
    def update_namespace_properties(
        self,
        namespace: Name,
        removals: set[str] | None = None,
        updates: Properties = EMPTY_DICT,
    ) -> PropertiesUpdateSummary:
        self._cannot("keeps no properties of a namespace")

    def _cannot(self, what: str) -> NoReturn:
        raise NotImplementedError(f"a Hadoop catalog {what}; '{self.name}' is one")

    def _place(self, name: Identifier) -> str:
        if not _are_folders(name):
            raise NoSuchNamespaceError(f"{'.'.join(name)}: a part of it is no name of a folder")
        return "/".join([self._warehouse, *name])

    def _file(self, name: Identifier, version: int) -> str:
        return f"{self._place(name)}/metadata/v{version}.metadata.json"

    def _newest(self, name: Identifier) -> str | None:
        files = self._folders.files(f"{self._place(name)}/metadata") if _are_folders(name) else []
        return max((file for file in files if _VERSION.fullmatch(file)), key=self._version, default=None)

    def _newest_version(self, name: Identifier) -> int:
        newest = self._newest(name)
        return self._version(newest) if newest else 0

    @staticmethod
    def _version(file: str) -> int:
        found = _VERSION.fullmatch(file.rpartition("/")[2])
        return int(found[1]) if found else 0


def _are_folders(name: Identifier) -> bool:
    return not any(part in ("", ".", "..") or "/" in part for part in name)


def _committed(metadata: TableMetadata, location: str) -> CommitTableResponse:
    return CommitTableResponse.model_validate({"metadata": metadata, "metadata-location": location})
