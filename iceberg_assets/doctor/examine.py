"""Every check on the machine, and on each profile that its tables are of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from iceberg_assets.doctor.answers import clocks, credentials, others, services
from iceberg_assets.doctor.finding import Finding, Findings, fail, ok
from iceberg_assets.doctor.machine import OF_MACHINE
from iceberg_assets.doctor.settings import folders, jars_there, pair, python_packages, space
from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.profiles import Profile, load_profile, profile_name
from iceberg_assets.spec import TableSpec

CHECKS: Mapping[str, Callable[[Profile, Sequence[TableSpec]], Findings]] = {
    "spark and iceberg": pair,
    "jars": jars_there,
    "python": python_packages,
    "folders": folders,
    "disk": space,
    "services": services,
    "credentials": credentials,
    "clock": clocks,
    "optimizers": others,
}
"""Of a profile, with the tables that are declared of it; in the order in which what fails explains what follows."""


@dataclass(frozen=True)
class Examined:
    """A finding, with the check that made it and the profile that it is about; None: the machine."""

    profile: str | None
    check: str
    finding: Finding


def examine(names: Sequence[str], specs: Sequence[TableSpec], root: Path) -> Iterator[Examined]:
    """Look at the machine, then at each profile of that name; nothing is made or written."""
    for check, look in OF_MACHINE.items():
        yield from (Examined(None, check, finding) for finding in _found(look))
    for name in names:
        try:
            profile = load_profile(name, root)
        except ConfigurationError as error:
            yield Examined(name, "profile", fail(str(error)))
            continue
        yield Examined(name, "profile", ok("its settings and variables are complete"))
        of_profile = [spec for spec in specs if profile_name(spec.profile) == name]
        for check, of in CHECKS.items():
            yield from (Examined(name, check, finding) for finding in _found(partial(of, profile, of_profile)))


def _found(look: Callable[[], Findings]) -> Findings:
    """What a check finds; one that is refused something is a finding itself, and the others go on."""
    try:
        yield from look()
    except IcebergAssetsError as error:
        yield fail(str(error))
