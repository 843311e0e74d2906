"""The suites against real services, a process each: ``make test-services``.

Results go to ``docs/services.json``, from which the tables of ``docs/catalogs.md`` are made.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iceberg_assets_tests.services import results
from iceberg_assets_tests.services.process import SECRET
from iceberg_assets_tests.services.results import Result, Suite

if TYPE_CHECKING:
    from iceberg_assets_tests.services.cells import Cell
    from iceberg_assets_tests.services.cells import Suite as Shared

_LONGEST_NOTE = 500


def play(name: str, folder: Path, wanted: Sequence[str]) -> None:
    """The cells of a suite in their order, in this process; one that fails stands in no other's way.

    Args:
        folder: of the services and the project; what came of the cells so far is in ``result.json``.
        wanted: cells; all, where there is none.
    """
    # Imported here: the process that starts the others does without Dagster and PyIceberg.
    from iceberg_assets_tests.services.cells import Suite as Shared
    from iceberg_assets_tests.services.suites import SUITES
    from iceberg_assets_tests.services.world import World

    played, began, file = SUITES[name], time.monotonic(), folder / "result.json"
    cells = [cell for cell in played.cells if not wanted or cell.name in wanted]
    found = {cell.name: Result("fails", note="the suite had ended before it") for cell in cells}
    file.write_text(json.dumps(results.to_json(Suite(0, found))))
    with played.catalog.run(folder / "services") as running:
        world = World(running)
        try:
            shared = Shared(played.catalog, world, world.table("shop.events"))
            for cell in cells:
                found[cell.name] = one = _played(cell, shared)
                _say(f"{name}: {cell.name}: {one.result}, {one.seconds} s {one.note or ''}")
                file.write_text(json.dumps(results.to_json(Suite(round(time.monotonic() - began), found))))
        finally:
            world.close()


def _played(cell: "Cell", shared: "Shared") -> Result:
    if why := shared.catalog.has_none.get(cell.name):
        return Result("not run", note=why)
    refusal, began = shared.catalog.refuses.get(cell.name), time.monotonic()
    try:
        note = cell.run(shared)
    except Exception as error:  # noqa: BLE001 (whatever it is, the table has to say it)
        seconds = round(time.monotonic() - began, 1)
        if refusal and refusal in str(error):
            return Result("refused", seconds, refusal)
        traceback.print_exc()
        return Result("fails", seconds, " ".join(f"{type(error).__name__}: {error}".split()))
    seconds = round(time.monotonic() - began, 1)
    return Result("fails", seconds, f"was not refused: {refusal}") if refusal else Result("ok", seconds, note)


def apart(name: str, wanted: Sequence[str] = ()) -> Suite:
    """Play a suite in a process of its own; its log is looked through for secrets, and kept where something failed."""
    folder = Path(tempfile.mkdtemp(prefix=f"iceberg-assets-{name}-"))
    file, log = folder / "result.json", folder / "log"
    with log.open("wb") as errors:
        command = [sys.executable, "-m", "iceberg_assets_tests.services.run", "--here", str(folder), name]
        command += ["--cells", *wanted] if wanted else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                _say(line.rstrip())
    if not file.exists():
        return Suite(0, {"all": Result("fails", note=f"the suite did not begin, see {log}")})
    played = results.from_json(json.loads(file.read_text()))
    cells = {cell: _short(one, folder) for cell, one in played.cells.items()}
    if SECRET in log.read_text(errors="replace"):
        cells["no secret"] = Result("fails", note="it is in the log of the process")
    suite = Suite(played.seconds, cells)
    if suite.failed:
        _say(f"{name}: what the process said is in {log}")
    else:
        shutil.rmtree(folder)
    return suite


def _short(one: Result, folder: Path) -> Result:
    note = one.note.replace(str(folder), "…") if one.note else None
    return Result(one.result, one.seconds, f"{note[:_LONGEST_NOTE]}…" if note and len(note) > _LONGEST_NOTE else note)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the suites that are named; all, unless told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="catalogs, or troubles; see services/suites.py")
    parser.add_argument("--cells", nargs="*", default=(), help="these alone; what others came to before is kept")
    parser.add_argument("--write", action="store_true", help="docs/services.json, and the tables of docs/catalogs.md")
    parser.add_argument("--here", type=Path, help="play the one that is named in this process and folder")
    given = parser.parse_args(arguments)
    if given.here:
        play(given.names[0], given.here, given.cells)
        return 0
    suites = {name: apart(name, given.cells) for name in given.names or _all()}
    for name, suite in suites.items():
        wrong = f", failed: {', '.join(suite.failed)}" if suite.failed else ""
        _say(f"{name}: {len(suite.cells)} cells in {suite.seconds} s{wrong}")
    if given.write:
        from iceberg_assets_tests.services.page import PAGE, page

        results.write(suites, whole=not given.cells)
        PAGE.write_text(page())
    return 1 if any(suite.failed for suite in suites.values()) else 0


def _all() -> list[str]:
    from iceberg_assets_tests.services.suites import SUITES

    return list(SUITES)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
