"""The Spark session of a profile, and what the machine must have for one."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, inside
from iceberg_assets.profiles.values import is_sensitive
from iceberg_assets.spark.jars import OWN_JAR, fetch_jars, jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_CLASS_PATH = "spark.driver.extraClassPath"
# What a session keeps as it began.
_KEPT = ("spark.hadoop.", "spark.sql.catalogImplementation", "spark.sql.warehouse.dir")

Session = Callable[[], "SparkSession"]
"""Gives the Spark session; called only where there is work, so that finding none starts no JVM."""


def settings(profile: Profile) -> dict[str, str]:
    """All Spark settings of a profile, with its jars, which :func:`fetch_jars` has brought.

    The driver has them on its class path as they are: that starts faster than resolving them again, and works offline.
    Executors of a cluster are sent them, every one: where ``spark.jars`` is set, Spark sends no packages beside it.
    """
    rendered, local = profile.spark_settings(), [str(jar) for jar in (*jars(profile), OWN_JAR)]
    rendered[_CLASS_PATH] = os.pathsep.join([*filter(None, [rendered.get(_CLASS_PATH)]), *local])
    if not rendered.get("spark.master", "").startswith("local"):
        rendered["spark.jars"] = ",".join([*filter(None, [rendered.get("spark.jars")]), *local])
    return rendered


def session(profile: Profile, build: "Callable[[dict[str, str]], SparkSession] | None" = None) -> "SparkSession":
    """The running session of this process, or a new one with the profile's settings.

    Args:
        profile: the catalog and its Spark.
        build: makes a session of settings; Spark's own builder unless given.

    Raises:
        ConfigurationError: no Java, one too old, a jar that cannot be fetched, a folder that cannot be written to, or
            the running session is another profile's, which this one cannot share.
    """
    profile.prepare()
    require_java()
    # A catalog that cannot be reached is said so in one sentence here, by an exception of Java's after half a minute.
    profile.require_reachable()
    # Spark looks its own host name up, which fails or is slow on many machines.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    fetch_jars(profile)
    _forget_a_dead_jvm()
    given = settings(profile)
    _require_room(profile, given)
    _start_jvm({name: value for name, value in given.items() if not is_sensitive(name, value)})
    return (build or _get_or_create)(given)


def _require_room(profile: Profile, given: Mapping[str, str]) -> None:
    """Refuse to share the running session of another profile where statements would reach that one's tables or files.

    Spark opens a catalog once, by its name: a second one of that name, whatever is set of it, is the first. Hadoop's
    settings and the class path are those that the JVM began with.
    """
    if "spark.remote" in given:
        return
    from pyspark.sql import SparkSession

    running = SparkSession._instantiatedSession
    if running is None or running._sc._jsc is None:
        return
    has: Mapping[str, str] = running.conf.getAll
    name = f"spark.sql.catalog.{profile.catalog.name}"
    theirs, ours = ({key: one[key] for key in one if key == name or key.startswith(f"{name}.")} for one in (has, given))
    kept = {key: value for key, value in given.items() if key.startswith(_KEPT)}
    missing = set(given[_CLASS_PATH].split(os.pathsep)) - set(has.get(_CLASS_PATH, "").split(os.pathsep))
    if theirs and theirs != ours:
        why = f"has a catalog {profile.catalog.name} already, which is another one: every statement would reach that"
    elif others := [key for key, value in kept.items() if not _is_same(has.get(key), value)]:
        why = f"began with another {others[0]}, and cannot change it"
    elif missing:
        why = f"began without {Path(sorted(missing)[0]).name}, and cannot load it"
    else:
        return
    raise ConfigurationError(
        f"profile '{profile.name}': the Spark session of this process is another profile's. It {why}. Materialize "
        "tables of the two profiles in runs of their own"
    )


def _is_same(one: str | None, other: str) -> bool:
    """Whether two values say the same; Spark spells a folder as Hadoop does."""
    return one == other or (one is not None and inside(one, other) and inside(other, one))


def jvm_has_ended(patience: float = 0) -> bool:
    """Whether this process had a JVM, and it is gone: most often the kernel killed it for its memory.

    Args:
        patience: so many seconds it may take to go: its socket is closed before.
    """
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    with suppress(subprocess.TimeoutExpired):
        return process is not None and process.wait(patience) is not None
    return False


def _forget_a_dead_jvm() -> None:
    """Let a session begin anew: PySpark would give the one whose JVM is gone for as long as the process lives."""
    if not jvm_has_ended():
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _start_jvm(public: dict[str, str]) -> None:
    """Start the JVM of a session to come, unless there is one, or the session is another machine's.

    PySpark would put every setting on its command line, where all users of the machine may read them. A JVM that is
    there is given them by its socket.
    """
    if "spark.remote" in public:
        return
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(public.items())))


def _get_or_create(given: dict[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(map=dict(given)).getOrCreate()


def require_java() -> str:
    """Refuse a machine without Java, or with one that Spark does not run on.

    Returns:
        Where it is, and its version, for people.

    Raises:
        ConfigurationError: names the Java that was looked at and the way out.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    way_out = (
        f"install Java {OLDEST_JAVA} or newer (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME to one"
    )
    if java is None:
        place = f"JAVA_HOME={home}" if home else "the PATH"
        raise ConfigurationError(f"Spark needs Java, and there is none in {place}: {way_out}")
    try:
        banner = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise ConfigurationError(f"Spark needs Java, and {java} does not run ({error.strerror}): {way_out}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', banner)
    if version is None or int(version[1]) < OLDEST_JAVA:
        found = version[1] if version else f"an unknown version ({banner.strip()[:80]})"
        raise ConfigurationError(f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is {found}: {way_out}")
    return f"{java} is Java {version[1]}"
