"""The process that is killed: a plain Python with a JVM of its own, which appends as it is told.

Commands come as lines of JSON on standard input, and what happens goes as lines of JSON to the file descriptor that is
the first argument: a step reached, a Spark task seen running, and at last the result of the command or its error.
"""

import contextlib
import copy
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from iceberg_assets.maintenance import Asked, maintain
from iceberg_assets.maintenance.expire import expire_snapshots
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import session
from iceberg_assets.spec import Operation
from iceberg_assets.tables import append, recover
from iceberg_assets_tests.faults.sabotage import switched_off
from iceberg_assets_tests.faults.told_steps import telling
from iceberg_assets_tests.tables.helpers import Feed, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = Mapping[str, Any]


@dataclass
class Child:
    """Carries out commands until its input ends."""

    profile: Profile
    spark: "SparkSession"
    commands: Iterator[str]
    events: TextIO
    writing: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        self.tell(ready=True)
        for line in self.commands:
            command: Command = json.loads(line)
            try:
                with switched_off(command.get("off", ())):
                    self.tell(done=getattr(self, command["do"])(command))
            except Exception as error:  # noqa: BLE001 - the parent judges it
                self.tell(error=f"{type(error).__name__}: {error}")

    def append(self, command: Command) -> dict[str, Any]:
        feed = self.feed(command)
        outcomes = append(
            lambda: self.spark,
            self.profile,
            feed.spec,
            [date.fromisoformat(day) for day in command["days"]],
            replaces=command.get("replaces", False),
            now=ahead(command),
            on_step=self.on_step(set(command.get("stop_at", ())), watch=command.get("watch", False)),
        )
        return {str(day): [outcome.status, outcome.reason, outcome.files] for day, outcome in outcomes.items()}

    def recover(self, command: Command) -> None:
        recover(self.profile, self.feed(command).spec, now=ahead(command), spark=lambda: self.spark)

    def expire(self, command: Command) -> str:
        days = [date.fromisoformat(day) for day in command["days"]]
        feed = self.feed(command)
        maintained = expire_snapshots(lambda: self.spark, self.profile, feed.spec, days, now=datetime.now(UTC))
        return str(maintained.outcomes[days[0]].reason)

    def maintain(self, command: Command) -> dict[str, Any]:
        declared = copy.deepcopy(dict(command["declared"]))
        declared["maintenance"]["compact"]["verify"] = command.get("verify", "rows")
        spec = self.feed({**command, "declared": declared}).spec
        wanted = Asked([date.fromisoformat(day) for day in command["days"]], datetime.now(UTC), values={}, force=True)
        step = self.on_step(set(command.get("stop_at", ())), watch=False)
        with telling(step, timedelta(seconds=command["lasts"])):
            done = maintain(Operation(command["operation"]), lambda: self.spark, self.profile, spec, wanted)
        return {str(day): [outcome.status, outcome.reason] for day, outcome in done.outcomes.items()}

    def sql(self, command: Command) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(command["statement"]).collect()]

    def feed(self, command: Command) -> Feed:
        return make_feed(self.profile, Path(command["raw"]), command["table"], **command.get("declared", {}))

    def on_step(self, stop_at: set[str], *, watch: bool) -> Callable[[str], None]:
        def step(reached: str) -> None:
            stops = reached in stop_at
            stop_at.discard(reached)
            self.tell(step=reached, stops=stops)
            if stops:
                # Stands still until the parent says go, or kills.
                next(self.commands)
            if watch and reached == "branched":
                threading.Thread(target=self.watch_tasks, daemon=True).start()

        return step

    def watch_tasks(self) -> None:
        tracker = self.spark.sparkContext.statusTracker()
        while True:
            stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
            if running := sum(stage.numActiveTasks for stage in stages if stage):
                self.tell(tasks=running)
                return
            time.sleep(0.002)

    def tell(self, **event: Any) -> None:
        with self.writing:
            self.events.write(json.dumps(event) + "\n")
            self.events.flush()


def ahead(command: Command) -> Callable[[], datetime]:
    """A clock that runs so many seconds ahead: a deadline passes without waiting for it."""
    by = timedelta(seconds=command.get("ahead", 0))
    return lambda: datetime.now(UTC) + by


def main() -> None:
    events, root = int(sys.argv[1]), Path(sys.argv[2])
    profile = load_profile("local", root=root)
    with os.fdopen(events, "w") as out, contextlib.suppress(StopIteration):
        Child(profile, session(profile), iter(sys.stdin.readline, ""), out).run()


if __name__ == "__main__":
    main()
