"""Whether a table is as its declaration and its raw files say, told without a JVM and without touching anything."""

from collections.abc import Sequence

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.declared import check_table
from iceberg_assets.tables.fields import fields_of
from iceberg_assets.tables.fit import in_words
from iceberg_assets.tables.intake import inspect, judge
from iceberg_assets.tables.source import RawFile
from iceberg_assets.tables.target import load_target

_FOOTERS = 20
"""So many waiting files are read. Those of one writer are alike, and what is in the table has been compared before."""


def misfits(profile: Profile, spec: TableSpec, waiting: Sequence[RawFile] = ()) -> list[str]:
    """What the next append would refuse: columns, ``derive`` and ``partition_by`` first, then the raw files' columns.

    Args:
        profile: where the table is.
        spec: its declaration.
        waiting: raw files that are not in the table. Those without a footer are not about columns, and passed over.

    Returns:
        Sentences with their ways out; none where all is as declared, or there is no table yet.
    """
    table = load_target(profile, spec)
    if table is None:
        return []
    try:
        check_table(spec, table)
    except ConfigurationError as error:
        return [str(error)]
    if not waiting:
        return []
    columns = fields_of(table.schema())
    inspected = inspect(spec, waiting[:_FOOTERS], columns, keep=True, store=profile.store)
    # Of one date, as it were: that they came on several makes no difference to their columns.
    day = waiting[0].day
    judged = judge(spec, {day: inspected}, columns, profile.store)
    problems = [one for found in judged.problems.values() for one in found if one.column]
    return [in_words(problems)] if problems else []
