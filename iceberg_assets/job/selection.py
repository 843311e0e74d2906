"""Which tables of the catalog the job is about. Pure."""

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from iceberg_assets.job.overrides import Name
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.profiles import Listed, Listing
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.spec.table import format_identifier


@dataclass(frozen=True)
class Selection:
    """What the job looks at, and what a person should know of how it was chosen."""

    objects: tuple[Listed, ...]
    notes: tuple[str, ...]


def select(settings: JobSettings, listing: Listing) -> Selection:
    """The tables and views of a catalog that the file is about."""
    chosen = tuple(one for one in listing.objects if takes(settings, one.name))
    unknown = _unknown_names(settings, listing.namespaces, [one.name for one in listing.objects])
    return Selection(chosen, (*settings.notes, *unknown))


def takes_namespace(settings: JobSettings, namespace: Name) -> bool:
    """Whether tables of a namespace may be selected; those of the project's own one never are."""
    if namespace[0].casefold() == STATE_NAMESPACE:
        return False
    return not settings.databases or namespace in settings.databases


def takes(settings: JobSettings, table: Name) -> bool:
    """Whether a table is selected: with ``table_include`` nothing is that it does not name, in whichever database."""
    if not takes_namespace(settings, table[:-1]):
        return False
    if settings.table_include:
        return _is_named(table, settings.table_include)
    return not _is_named(table, settings.table_exclude)


def _unknown_names(settings: JobSettings, namespaces: Collection[Name], tables: Collection[Name]) -> Iterator[str]:
    """What the file names and the catalog does not have, each as a sentence."""
    for name in settings.databases:
        if name not in namespaces:
            yield _unknown("databases", name, namespaces)
    named = {
        "table_include": settings.table_include,
        "table_exclude": () if settings.table_include else settings.table_exclude,
        "table_overrides": tuple(settings.table_overrides),
    }
    for key, names in named.items():
        for name in names:
            if not any(_is_named(table, (name,)) for table in tables):
                yield _unknown(key, name, tables)


def _is_named(table: Name, names: Collection[Name]) -> bool:
    return table in names or table[-1:] in names


def _unknown(key: str, name: Name, known: Collection[Name]) -> str:
    text = format_identifier(name)
    nearest = difflib.get_close_matches(text, [format_identifier(one) for one in known], n=1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
    return f"{key}: nothing is called '{text}' in what was looked through{hint}"
