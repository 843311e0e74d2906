"""From YAML and environment to a ``Profile``."""

import difflib
import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.documents import documents
from iceberg_assets.profiles.profile import Profile
from iceberg_assets.spec.model import explain

_LOG = logging.getLogger(__name__)
_BASE = "base"
# Of these the warehouse is a place; a REST catalog's may be any name that its server knows.
_PLACES = ("hadoop", "hive", "glue", "jdbc")


def project_root(start: Path | None = None) -> Path:
    """The nearest folder at or above ``start`` (the working directory) with a ``pyproject.toml``; else ``start``."""
    start = (start or Path.cwd()).resolve()
    return next((folder for folder in (start, *start.parents) if (folder / "pyproject.toml").is_file()), start)


def profile_name(given: str | None) -> str:
    """The profile that is meant: the one given, else that of the variable ``PROFILE``, else ``local``."""
    return given or os.environ.get("PROFILE") or "local"


def load_profile(name: str | None = None, root: Path | None = None) -> Profile:
    """The profile of that name, else of the variable ``PROFILE``, else ``local``.

    ``base.yaml`` is what all profiles share: that of the package, overlaid by the project's, overlaid by the profile.

    Args:
        name: the profile's file, without ``.yaml``.
        root: the project's folder: ``profiles/<name>.yaml`` there goes before the package's own, and relative
            paths are read from there.

    Raises:
        ConfigurationError: no such profile, or a key of it is wrong.
    """
    root = root or project_root()
    name = profile_name(name)
    own, ours = root / "profiles", Path(__file__).parent
    known = {path.stem: path for folder in (ours, own) for path in sorted(folder.glob("*.yaml")) if path.stem != _BASE}
    if (file := known.get(name)) is None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ConfigurationError(f"there is no profile {name!r:.80}: known are {', '.join(sorted(known))}{hint}")
    bases = [base for folder in (ours, own) if (base := folder / f"{_BASE}.yaml").exists()]
    settings: dict[str, Any] = {}
    for layer in (*bases, file):
        settings = overlaid(settings, _settings(layer))
    # A mistake of the project's base is in the merged settings: say that it may stand there.
    where = f"{file} over {own / f'{_BASE}.yaml'}" if own / f"{_BASE}.yaml" in bases else str(file)
    try:
        profile = Profile.model_validate({**_from_environment(settings, where), "name": name})
    except ValidationError as error:
        raise explain(error, where) from None
    if profile.catalog.type == "hadoop":
        _warn_of_one_writer(profile.name)
    return _anchored(profile, root)


@cache
def _warn_of_one_writer(profile: str) -> None:
    _LOG.warning(
        "profile '%s': a Hadoop catalog has one writer at a time: of two that commit at once one may lose its commit "
        "without being told. Run nothing else that writes to it, or use another type of catalog",
        profile,
    )


def _settings(file: Path) -> Mapping[str, Any]:
    found = documents(file)
    settings = next(iter(found), None) or {}
    # What stands there instead is not repeated: it may be a secret.
    if not isinstance(settings, dict) or len(found) > 1:
        raise ConfigurationError(f"{file} is not usable: expected keys such as catalog, and one document of YAML")
    if "name" in settings:
        raise ConfigurationError(f"{file} is not usable: name: a profile is called as its file is; take it out")
    return settings


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over others: maps are joined key by key, of anything else the upper one counts; null takes it away."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = overlaid(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return {key: value for key, value in merged.items() if value is not None}


def _anchored(profile: Profile, root: Path) -> Profile:
    """The same profile with local paths absolute."""
    catalog, changed = profile.catalog, {}
    if catalog.sqlite is not None:
        changed["uri"] = f"sqlite:///{_absolute(catalog.sqlite, root)}"
    warehouse = (catalog.warehouse or "").removeprefix("file://")
    if warehouse and ":/" not in warehouse and catalog.type in _PLACES:
        changed["warehouse"] = _absolute(warehouse, root)
    jars = tuple(_absolute(jar, root) for jar in profile.jars)
    for jar in jars:
        if not Path(jar).is_file():
            raise ConfigurationError(f"profile '{profile.name}', jars: there is no file {jar}; put it there")
    return profile.model_copy(update={"catalog": catalog.model_copy(update=changed), "jars": jars})


def _absolute(path: str, root: Path) -> str:
    return os.path.normpath(root / path)


# Spark itself, and Hadoop, fill in such as ${env:HOME} and ${spark.app.name}.
_OF_SPARK = re.compile(r"\$\{(?:env:|system:|spark\.|fs\.|hadoop\.)[\w.-]+\}")


def _without_another_within(variable: re.Match[str]) -> str:
    return variable[2] or ""


_VARIABLE = re.compile(r"\$\{(\w+)(?::-((?:[^}])*))?\}")


def _from_environment(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings with every ``${NAME}`` and ``${NAME:-default}`` in them replaced.

    Raises:
        ConfigurationError: names every variable that is not set and has no default, or the key of something that looks
            like a variable and is none.
    """
    unset: dict[str, None] = {}

    def substitute(match: re.Match[str]) -> str:
        found = os.environ.get(match[1]) or match[2]
        if found is None:
            unset[match[1]] = None
        return found or ""

    def filled(value: Any, key: str) -> Any:
        if isinstance(value, Mapping):
            return {name: filled(item, f"{key}.{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [filled(item, key) for item in value]
        if isinstance(value, str) and "${" in _OF_SPARK.sub("", _VARIABLE.sub(_without_another_within, value)):
            raise ConfigurationError(
                f"{where}: {key.removeprefix('.')}: expected a variable as ${{NAME}} or ${{NAME:-value}}, whose value "
                "holds no other one; a text with ${ in it comes from a variable"
            )
        return _VARIABLE.sub(substitute, value) if isinstance(value, str) else value

    result: dict[str, Any] = filled(settings, "")
    if unset:
        many = len(unset) > 1
        raise ConfigurationError(
            f"{where} needs the environment variable{'s' if many else ''} {', '.join(unset)}, which "
            f"{'are' if many else 'is'} not set"
        )
    return result
