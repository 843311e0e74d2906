"""``production``: the hosts and deployments that alone may write to a profile's tables."""

import os
import socket
from fnmatch import fnmatchcase
from typing import Self

from pydantic import model_validator

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec.model import SpecModel

_DEPLOYMENT = ("ICEBERG_ASSETS_DEPLOYMENT", "DAGSTER_CLOUD_DEPLOYMENT_NAME")
"""Variables that name the Dagster deployment; the second one is Dagster+'s own."""


class Production(SpecModel):
    """Who may write. One name that fits is enough; ``*`` stands for any letters, as pods have.

    Attributes:
        hosts: names of machines, as ``hostname`` prints them.
        deployments: of Dagster, by the variable ``ICEBERG_ASSETS_DEPLOYMENT``, or Dagster+'s.
    """

    hosts: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not (self.hosts or self.deployments):
            raise ValueError("expected hosts or deployments: as it is, nobody could write")
        return self

    def require_here(self, profile: str) -> None:
        """Refuse where neither this machine nor its deployment is named.

        Raises:
            ConfigurationError: names the keys, and what stands for this place.
        """
        host = socket.gethostname()
        deployment = next((value for name in _DEPLOYMENT if (value := os.environ.get(name))), None)
        if _named(host, self.hosts) or (deployment and _named(deployment, self.deployments)):
            return
        of = f"deployment '{deployment}'" if deployment else f"no deployment, since {_DEPLOYMENT[0]} is not set"
        raise ConfigurationError(
            f"profile '{profile}' is one of production, and neither production.hosts ({_list(self.hosts)}) nor "
            f"production.deployments ({_list(self.deployments)}) names this place: it is host '{host}' and {of}. "
            "Nothing was written. Run it where that is allowed, choose another profile with --profile or PROFILE, or "
            "add this place to the profile"
        )


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
