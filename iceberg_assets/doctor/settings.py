"""What a profile needs of this machine, before anything is asked of others: jars, Python packages, folders, space."""

import os
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from iceberg_assets.doctor.finding import Findings, fail, ok, warn
from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.kinds import RAW_ON_S3, Extra
from iceberg_assets.profiles.packages import extras
from iceberg_assets.spark.jars import OWN_JAR, ivy_home, jars, runtime_of
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.units import format_bytes, format_count

_ENOUGH_BYTES = 5 * 1024**3
"""A compaction writes what it compacts once more before the old files go."""


def pair(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Iceberg has a runtime for each minor version of Spark, and with another one every statement fails."""
    installed = version("pyspark")
    spark, coordinate = runtime_of(profile)
    if spark is None:
        yield warn("no package of the profile is an Iceberg runtime", "leave packages to the profile, or name one")
    elif installed.startswith(f"{spark}."):
        yield ok(f"pyspark {installed} and {coordinate}")
    else:
        yield fail(
            f"pyspark is {installed}, and {coordinate} is for Spark {spark}",
            f"pip install 'pyspark=={spark}.*', or name another iceberg-spark-runtime in packages of the profile",
        )


def jars_there(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Whether a session would have to fetch anything."""
    missing = [jar.name for jar in jars(profile) if not jar.is_file()]
    if not OWN_JAR.is_file():
        yield fail(f"{OWN_JAR} is missing", "install the package anew")
    home = ivy_home(profile)
    if missing and not _can_be_made(home):
        yield fail(
            f"{', '.join(missing)} would be fetched to {home}, which cannot be written to",
            "give this user the right to, or name another folder as spark.jars.ivy below spark",
        )
    elif missing:
        yield warn(
            f"the first session fetches {', '.join(missing)} to {home / 'jars'}",
            "give this machine access to Maven Central once, or copy them there from one that has them",
        )
    else:
        yield ok(f"{format_count(len(jars(profile)) + 1, 'jar')}, all of them here")


def wanted_packages(profile: Profile) -> tuple[Extra, ...]:
    """What the catalog and the store ask of Python."""
    return (*extras(profile.catalog), *((RAW_ON_S3,) if profile.store else ()))


def python_packages(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Whether they are there."""
    wanted = wanted_packages(profile)
    for extra in (missing := [extra for extra in wanted if find_spec(extra.module) is None]):
        yield fail(f"Python has no {extra.module}", f"pip install 'iceberg-assets[{extra.extra}]'")
    if not missing:
        yield ok(f"Python has {', '.join(extra.module for extra in wanted) or 'all that is needed'}")


def folders(profile: Profile, specs: Sequence[TableSpec]) -> Findings:
    """Whether local folders can be written to; they are made where they are missing, which is not done here."""
    file, warehouse = profile.catalog.sqlite, profile.catalog.warehouse or ""
    written = {"catalog.uri": Path(file).parent} if file else {}
    if warehouse.startswith("/"):
        written["catalog.warehouse"] = Path(warehouse)
    if file and Path(file).is_dir():
        yield fail(f"catalog.uri: {file} is a folder", "name a file, which is made")
    for key, folder in written.items():
        if _can_be_made(folder):
            yield ok(f"{key}: {folder} {'can be written to' if folder.exists() else 'can be made'}")
        else:
            there = _nearest(folder)
            yield fail(f"{key}: {there} cannot be written to", "give this user the right to, or name another folder")
    for spec in specs:
        if spec.source and "://" not in spec.source.path and not os.access(spec.source.root, os.R_OK | os.X_OK):
            yield warn(
                f"{spec.name}: {spec.source.root}, where raw files land, is not there or cannot be read",
                "land the first files, or correct source.path",
            )


def _can_be_made(folder: Path) -> bool:
    """Whether a folder is there and can be written to, or can be made."""
    there = _nearest(folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _nearest(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())


def space(profile: Profile, _: Sequence[TableSpec]) -> Findings:
    """Of the disk that a local warehouse is on."""
    if not (warehouse := profile.catalog.warehouse or "").startswith("/"):
        return
    free = shutil.disk_usage(_nearest(Path(warehouse))).free
    said = f"{format_bytes(free)} are free where {warehouse} is"
    if free < _ENOUGH_BYTES:
        yield warn(said, "make room: a compaction writes its files anew before expiry removes the old ones")
    else:
        yield ok(said)
