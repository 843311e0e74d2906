"""The tables of docs/catalogs.md, made from docs/services.json: what was run against which catalog."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from iceberg_assets_tests.services import results, troubles
from iceberg_assets_tests.services.catalogs import CATALOGS
from iceberg_assets_tests.services.cells import CELLS
from iceberg_assets_tests.services.results import Result, Suite

PAGE = Path(__file__).parents[2] / "docs" / "catalogs.md"
MARK = "<!-- From here on: made by `make test-services` from docs/services.json. -->\n"

_NONE = Suite(0, {})
_NOT_RUN = Result("not run")


def page() -> str:
    """The page as it should be: what people wrote above the mark, and the tables below it."""
    told, suites = results.read()
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    written, _, _ = PAGE.read_text().partition(MARK)
    made = [f"Last run on {told['date']}, with {versions}.", "", *_catalogs(suites), "", *_troubles(suites)]
    return written + MARK + "\n" + "\n".join(made)


def _catalogs(suites: Mapping[str, Suite]) -> Iterator[str]:
    played = [suites.get(name, _NONE) for name in CATALOGS]
    yield f"| what | {' | '.join(one.title for one in CATALOGS.values())} |"
    yield f"|---|{'---|' * len(CATALOGS)}"
    notes: list[str] = []
    for cell in CELLS:
        found = (_shown(one.cells.get(cell.name, _NOT_RUN), notes) for one in played)
        yield f"| **{cell.name}**: {cell.what} | {' | '.join(found)} |"
    yield ""
    yield from (f"{number}. {note}" for number, note in enumerate(notes, 1))


def _shown(one: Result, notes: list[str]) -> str:
    """A word, and the number of its note."""
    if not one.note:
        return one.result
    if one.note not in notes:
        notes.append(one.note)
    return f"{one.result} ({notes.index(one.note) + 1})"


def _troubles(suites: Mapping[str, Suite]) -> Iterator[str]:
    yield "## What went wrong, and what became of it"
    for name, cells in troubles.CELLS.items():
        played = suites.get(name, _NONE)
        yield f"| {name}: what, for {troubles.SECONDS} s where it passes | | what the operation came to |"
        yield "|---|---|---|"
        for cell in cells:
            one = played.cells.get(cell.name, _NOT_RUN)
            yield f"| **{cell.name}**: {cell.what} | {one.result} | {(one.note or '').replace('|', chr(92) + '|')} |"
        yield ""
