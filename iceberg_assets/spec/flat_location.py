"""``write.location-provider.flat.fields``: the partition fields that the paths of data files show. Pure functions.

The rest of the table's partition spec stays in force, and out of the paths. ``jvm/FlatLocationProvider.java`` is what
Spark writes such tables with; an absent list leaves Iceberg's layout, an empty one puts all files directly into the
data folder.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping

FIELDS = "write.location-provider.flat.fields"
IMPLEMENTATION = "write.location-provider.impl"
PROVIDER = "iceberg_assets.jvm.FlatLocationProvider"
_HASHES = "write.object-storage.enabled"


def with_provider(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, with the class that heeds the list where there is one.

    Raises:
        ValueError: another class is named, or folders of hashes, which would tear apart what the list holds together.
    """
    if FIELDS not in properties:
        return dict(properties)
    if (other := properties.get(IMPLEMENTATION, PROVIDER)) != PROVIDER:
        raise ValueError(f"{IMPLEMENTATION}: {other} knows nothing of {FIELDS}; leave one of the two out")
    if properties.get(_HASHES) == "true":
        raise ValueError(f"{_HASHES}: Iceberg spreads files over folders, and {FIELDS} joins them; leave one out")
    return {**properties, IMPLEMENTATION: PROVIDER}


def strange_fields(properties: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    """What the list names and is not known, each as a sentence with the nearest name.

    Args:
        properties: of a table, or as they are declared.
        known: names of partition fields, and of the columns that they are made from.
    """
    for name in (part.strip() for part in properties.get(FIELDS, "").split(",")):
        if name and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known) or 'none'}"
            yield f"{FIELDS}: '{name}' is no partition field; {hint}"
