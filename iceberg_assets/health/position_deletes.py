"""Which files ``rewrite_position_delete_files`` would take. Pure."""

from collections.abc import Iterable, Mapping

from iceberg_assets.health.facts import DataFile, DeleteFile, Group
from iceberg_assets.health.rewrite_rule import groups, rule_of

_DEFAULT_TARGET = 64 * 1024**2


def position_delete_groups(
    deletes: Iterable[DeleteFile], options: Mapping[str, str], properties: Mapping[str, str]
) -> list[Group]:
    """The groups that one ``rewrite_position_delete_files`` over these delete files forms, due or not.

    The same rule with sizes of its own (``BinPackRewritePositionDeletePlanner``); files are packed by the partition
    that they were written for. Equality deletes are none of its business.

    Args:
        deletes: live delete files.
        options: of ``rewrite_position_delete_files``, by Iceberg's names.
        properties: the table's.

    Raises:
        ConfigurationError: Iceberg would refuse the options.
    """
    settings = rule_of(options, int(properties.get("write.delete.target-file-size-bytes", _DEFAULT_TARGET)))
    of_spec: dict[int, list[DataFile]] = {}
    for one in deletes:
        if one.kind != "equality":
            file = DataFile(one.path, one.size, one.rows, one.spec_id, one.partition, one.first, one.last)
            of_spec.setdefault(one.spec_id, []).append(file)
    return [group for spec_id, files in of_spec.items() for group in groups(files, spec_id, settings)]
