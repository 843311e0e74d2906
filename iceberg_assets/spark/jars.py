"""The jars of a profile: where they are, and how they come there."""

import fcntl
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.packages import excluded

OWN_JAR = Path(__file__).parents[1] / "jvm" / "flat-location-provider.jar"
"""What this package itself adds to Iceberg, see docs/flat-location.md."""

_LOG = logging.getLogger(__name__)
_RUNTIME = re.compile(r":iceberg-spark-runtime-(\d+\.\d+)_")
# What tells Spark's resolver where to look, and its JVM how to get there.
_OF_RESOLVER = ("spark.jars.", "spark.driver.extraJavaOptions")


def jars(profile: Profile) -> list[Path]:
    """The profile's own jars, and where Spark 4.1's resolver (Ivy) keeps its packages, fetched or not."""
    return [*map(Path, profile.jars), *(_jar(profile, package) for package in profile.maven)]


def runtime_of(profile: Profile) -> tuple[str | None, str]:
    """The Spark that the profile's Iceberg is made for, such as ``4.1``, and its coordinate; None: it has none."""
    found = (_RUNTIME.search(package) for package in profile.maven)
    return next(((match[1], match.string) for match in found if match), (None, ""))


def resolver_settings(profile: Profile) -> dict[str, str]:
    """What makes Spark's resolver fetch the profile's packages, without what is there already or nobody needs."""
    return {
        "spark.jars.packages": ",".join(profile.maven),
        "spark.jars.excludes": ",".join(excluded(profile.maven)),
        "spark.jars.ivy": str(ivy_home(profile)),
    }


def ivy_home(profile: Profile) -> Path:
    """The resolver's folder: ``spark.jars.ivy`` of the profile, else the one that it has in the user's home.

    It is named to Spark in any case: Java takes the home from the system's list of users, Python from ``HOME``.
    """
    return Path(profile.spark.get("spark.jars.ivy") or Path.home() / ".ivy2.5.2")


def fetch_jars(profile: Profile) -> None:
    """Fetch what was never fetched to this machine.

    Spark would do it when a session starts, with pages of its resolver's output around the one line that matters. So
    Spark is asked beforehand, by itself, and what it says goes to a file that is kept where it failed.

    Raises:
        ConfigurationError: names what could not be fetched, and the way out.
    """
    # A jar that is being written counts as there; nobody writes where this user may not.
    if not _missing(profile) and not os.access(ivy_home(profile), os.W_OK):
        return
    with _alone(profile):
        _fetch(profile)


@contextmanager
def _alone(profile: Profile) -> Iterator[None]:
    """Wait for other processes of this machine: two that fetch one jar at once have left a broken one, measured."""
    home = ivy_home(profile)
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / "iceberg-assets.lock").open("w")
    except OSError as error:
        raise ConfigurationError(
            f"profile '{profile.name}', spark: spark.jars.ivy: jars are kept in {home}, which cannot be written to "
            f"({error.strerror}): give this user the right to, or name another folder there"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(profile: Profile) -> None:
    missing = _missing(profile)
    if not missing:
        return
    # A warning, so that it is seen where nobody has set logging up: it may take a minute.
    _LOG.warning("fetching %s, once for this machine", ", ".join(missing))
    with tempfile.NamedTemporaryFile(prefix="iceberg-assets-", suffix=".log", delete=False) as log:
        _resolve(profile, log.fileno())
    for package in missing:
        _drop_if_broken(profile, package)
    if missing := _missing(profile):
        raise ConfigurationError(
            f"profile '{profile.name}' needs {', '.join(missing)}: not in {ivy_home(profile) / 'jars'}, and Spark "
            "could not fetch it. Give this machine access to Maven Central once, or copy the jar there from one "
            f"that has it; what the resolver said is in {log.name}"
        )
    Path(log.name).unlink()


def _resolve(profile: Profile, log: int) -> None:
    """Have Spark run a program that does nothing, with the profile's packages."""
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    home = Path(spark.origin).parent
    given = {**profile.spark, **resolver_settings(profile)}
    settings = [f"--conf={name}={value}" for name, value in given.items() if name.startswith(_OF_RESOLVER)]
    with tempfile.NamedTemporaryFile(suffix=".py") as nothing:
        subprocess.run(
            [home / "bin" / "spark-submit", *settings, nothing.name],
            env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
            stdout=log,
            stderr=log,
            check=False,
        )


def _missing(profile: Profile) -> list[str]:
    return [package for package in profile.maven if not _jar(profile, package).is_file()]


def _drop_if_broken(profile: Profile, package: str) -> None:
    """Take a jar away that did not arrive whole: it would count as fetched, and classes would be missing from it."""
    jar = _jar(profile, package)
    try:
        ZipFile(jar).close()
    except FileNotFoundError:
        return
    except BadZipFile:
        jar.unlink()
        _cached(profile, package).unlink(missing_ok=True)


def _cached(profile: Profile, package: str) -> Path:
    group, artifact, version = package.split(":")
    return ivy_home(profile) / "cache" / group / artifact / "jars" / f"{artifact}-{version}.jar"


def _jar(profile: Profile, package: str) -> Path:
    group, artifact, version = package.split(":")
    return ivy_home(profile) / "jars" / f"{group}_{artifact}-{version}.jar"
