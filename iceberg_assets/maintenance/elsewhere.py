"""Marks of other maintainers: two optimizers rewrite each other's files, and each expires the other's snapshots."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

if TYPE_CHECKING:
    from botocore.client import BaseClient

_LOG = logging.getLogger(__name__)
_OWNER = "iceberg-assets.owner"

# By table property: whether its value says that somebody else maintains the table, and who that is. ``declared`` is
# what our own declaration gives the property.
_MAINTAINERS: Mapping[str, tuple[Callable[[str, str | None], bool], str]] = {
    "self-optimizing.enabled": (lambda value, _: value.lower() == "true", "Amoro optimizes it"),
    _OWNER: (lambda value, declared: value != declared, "another deployment maintains it"),
}

# AWS gives each table of S3 Tables a bucket of its own; the catalog is named by its resource, or by its endpoint.
_S3_TABLES = re.compile(r"^arn:aws[\w-]*:s3tables:|^https?://s3tables\.")
_BUCKET_OF_S3_TABLES = "--table-s3"

# https://docs.aws.amazon.com/glue/latest/webapi/API_GetTableOptimizer.html
_OPTIMIZERS = ("compaction", "retention", "orphan_file_deletion")
_UNDO = "and two maintainers undo each other's work."


def maintained_elsewhere(table: Table, declared: Mapping[str, str]) -> str | None:
    """Why we are not to maintain a table; None: nothing says that anybody else does.

    Args:
        table: as the catalog has it.
        declared: the properties that its YAML declares; a deployment names itself there, as ``iceberg-assets.owner``.
    """
    return by_property(table.properties, declared) or _in_s3_tables(table) or _by_glue(table.catalog, table.name())


def by_property(properties: Mapping[str, str], declared: Mapping[str, str]) -> str | None:
    """The same, by the table's properties."""
    for name, (elsewhere, who) in _MAINTAINERS.items():
        if name in properties and elsewhere(properties[name], declared.get(name)):
            ours = f" or declare it in properties as '{properties[name]}'" if name == _OWNER else ""
            return (
                f"the table's property {name} is '{properties[name]}': {who}, {_UNDO} Take the property off the "
                f"table{ours}, or leave its maintenance to them"
            )
    return None


def _in_s3_tables(table: Table) -> str | None:
    """S3 Tables compacts, expires and removes by itself, and switches none of it off for good."""
    bucket = urlsplit(table.location()).netloc
    named = [table.catalog.properties.get(key) or "" for key in ("warehouse", "uri")]
    if not (bucket.endswith(_BUCKET_OF_S3_TABLES) or any(_S3_TABLES.match(name) for name in named)):
        return None
    return (
        f"the table lies in S3 Tables ({table.location()}): AWS maintains it, {_UNDO} Set its maintenance there "
        "(aws s3tables put-table-maintenance-configuration), and leave it to AWS here"
    )


def _by_glue(catalog: Catalog, name: tuple[str, ...]) -> str | None:
    client = getattr(catalog, "glue", None)
    if client is None:
        return None
    switched_on = glue_optimizers(asking(client, catalog.properties), catalog.properties.get("glue.id"), name)
    if not switched_on:
        return None
    return (
        f"Glue's own {', '.join(switched_on)} is switched on for the table: AWS maintains it, {_UNDO} Switch it off "
        f"(aws glue delete-table-optimizer --type {switched_on[0]} …), or leave its maintenance to AWS"
    )


@cache
def _asking(endpoint: str, region: str, keys: tuple[str | None, ...]) -> "BaseClient":
    import boto3
    from botocore.config import Config

    # Whoever does not know the question is asked twice, not ten times as the catalog's own client does.
    few = Config(retries={"total_max_attempts": 2, "mode": "standard"}, connect_timeout=5, read_timeout=10)
    access_key, secret_key, session_token = keys
    return boto3.client(
        "glue",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        aws_session_token=session_token,
        config=few,
    )


def asking(client: Any, properties: Mapping[str, str]) -> "BaseClient":
    """A client of the same Glue that gives up soon."""
    names = ("access-key-id", "secret-access-key", "session-token")
    keys = tuple(properties.get(f"glue.{name}") or properties.get(f"client.{name}") for name in names)
    return _asking(client.meta.endpoint_url, client.meta.region_name, keys)


_silent: set[str] = set()
"""Endpoints that could not say, so that each is asked, and complained about, once."""


def glue_optimizers(client: Any, catalog_id: str | None, name: tuple[str, ...]) -> tuple[str, ...]:
    """The optimizers of Glue that are switched on for a table; none where Glue does not say."""
    from botocore.exceptions import BotoCoreError, ClientError

    endpoint, found = client.meta.endpoint_url, []
    database, table = name[-2:]
    try:
        for kind in () if endpoint in _silent else _OPTIMIZERS:
            catalog_id = catalog_id or _owner(client, database, table)
            asked = {"CatalogId": catalog_id, "DatabaseName": database, "TableName": table, "Type": kind}
            try:
                said = client.get_table_optimizer(**asked)
            except client.exceptions.EntityNotFoundException:
                continue
            if said.get("TableOptimizer", {}).get("configuration", {}).get("enabled"):
                found.append(kind)
    except (BotoCoreError, ClientError) as error:
        _silent.add(endpoint)
        _LOG.warning(
            "whether Glue's own optimizers are switched on cannot be told (%s): if they are, they and this maintenance "
            "undo each other's work; the right to call glue:GetTableOptimizer lets it be told",
            str(error)[:200],
        )
    return tuple(found)


def _owner(client: Any, database: str, table: str) -> str:
    return str(client.get_table(DatabaseName=database, Name=table)["Table"]["CatalogId"])
