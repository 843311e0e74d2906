"""Several write one history at once; one is killed; it cannot be written. The work goes on, and is told. No JVM."""

import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from iceberg_assets.history import Recorder, Wanted, Who, read_records
from iceberg_assets.history.store import OUTCOMES, fold
from iceberg_assets.profiles import Profile
from iceberg_assets_tests.history.conftest import NOW, Make

# Says a line when it is ready, and goes on when it is given one; then it adds so many records and waits to be ended.
WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from iceberg_assets.history import Record, Recorder, Who
from iceberg_assets.profiles import load_profile
from iceberg_assets.spec import Status
root, batch, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
lake = load_profile("local", root)
who = Who.here(lake)
recorder = Recorder(lake, who, batch=batch)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    recorder.add([Record(who, datetime.now(UTC), "demo.t", "compacted", (), Status.DONE, str(number))])
print("added", flush=True)
sys.stdin.readline()
"""


def start(root: Path, batch: int, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(root), str(batch), str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told(writer: "subprocess.Popen[str]", word: str) -> None:
    assert writer.stdout is not None
    assert writer.stdout.readline().strip() == word


def go_on(writer: "subprocess.Popen[str]") -> None:
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()


def test_writers_at_once_lose_nothing_and_write_nothing_twice(lake: Profile, tmp_path: Path) -> None:
    """From a catalog without a history on, while somebody else folds it again and again."""
    writers = [start(tmp_path, 1, 8) for _ in range(2)]
    for writer in writers:
        told(writer, "ready")
    for writer in writers:
        go_on(writer)
    while (found := Counter(one.who.process for one in read_records(lake, Wanted()))).total() < 16:
        fold(lake, OUTCOMES, lake.history.keep, datetime.now(UTC))
        assert all(writer.poll() is None for writer in writers)
    assert found == {writer.pid: 8 for writer in writers}
    for writer in writers:
        told(writer, "added")
        go_on(writer)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert lake.pyiceberg().load_table(OUTCOMES.name).scan().to_arrow().num_rows == 16


def test_a_kill_loses_less_than_a_batch(lake: Profile, tmp_path: Path) -> None:
    writer = start(tmp_path, 5, 13)
    told(writer, "ready")
    go_on(writer)
    told(writer, "added")
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    assert [one.reason for one in read_records(lake, Wanted())] == [str(number) for number in range(10)]


def test_a_history_that_cannot_be_written_is_told_and_made_up_for(lake: Profile, make: Make) -> None:
    first, second = make(), make(at=NOW + timedelta(seconds=1))
    with Recorder(lake, Who.here(lake)) as recorder:
        recorder.add([first])
    table = lake.pyiceberg().load_table(OUTCOMES.name)
    table.transaction().set_properties({"iceberg-assets.history-version": "2"}).commit_transaction()
    said: list[str] = []
    with Recorder(lake, Who.here(lake), tell=said.append) as recorder:
        recorder.add([second])
        assert ["has version 2, and this iceberg_assets knows 1" in one for one in said] == [True]
        table.refresh().transaction().set_properties({"iceberg-assets.history-version": "1"}).commit_transaction()
    assert read_records(lake, Wanted()) == [first, second]
    assert len(said) == 1


def test_rows_that_never_could_be_written_are_counted_at_the_end(lake: Profile, make: Make) -> None:
    lake.prepare()
    lake.pyiceberg().create_namespace(OUTCOMES.name[:-1])
    lake.pyiceberg().create_table(OUTCOMES.name, OUTCOMES.schema)
    said: list[str] = []
    with Recorder(lake, Who.here(lake), tell=said.append) as recorder:
        recorder.add([make()] * 10_001)
        recorder.add([make()])
    assert said[-1] == "10002 rows of the history of profile 'local' are lost: it could not be written"
