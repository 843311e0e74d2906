"""The values of a profile: texts that may be empty, settings of engines, and what is never shown."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, SecretStr

REDACTED = r"(?i)secret|password|token|credential|access[-._]?key"
"""Names of settings with a secret. Spark is given it too: its own default lacks ``credential`` and ``access-key``."""

_SENSITIVE = re.compile(REDACTED)


def given(value: object) -> object:
    """What is said: an empty text, as a variable that is not set leaves it, says nothing."""
    return None if value == "" else value


Text = Annotated[str | None, BeforeValidator(given)]
Flag = Annotated[bool | None, BeforeValidator(given)]


def secret(value: object) -> SecretStr | None:
    """A text that is never shown; an empty one, as a variable that is not set leaves it, is none.

    Dagster's ``EnvVar``, which a profile made in Python may hold, stands for the variable's value.

    Raises:
        ValueError: not a text. It is not repeated: it may hold half of a secret.
    """
    if isinstance(value, SecretStr) or value is None:
        return value
    if callable(of_variable := getattr(value, "get_value", None)):
        value = of_variable() or ""
    if not isinstance(value, str):
        raise ValueError("expected a text; put it in quotes")
    return SecretStr(value) if value else None


Secret = Annotated[SecretStr | None, BeforeValidator(secret)]


def _texts(value: object) -> dict[str, str]:
    """Settings as engines take them: texts, YAML's numbers and true/false included."""
    if not isinstance(value, Mapping):
        raise ValueError("expected a map of settings")
    texts = {}
    for name, given in value.items():
        if not isinstance(given, str | int | float | bool):
            raise ValueError(f"{name}: expected a text, a number or true/false")
        texts[str(name)] = str(given).lower() if isinstance(given, bool) else str(given)
    return texts


def is_sensitive(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SENSITIVE.search(name))


def _shown(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: "**********" if is_sensitive(name) and value else value for name, value in settings.items()}


Settings = Annotated[
    Mapping[str, str], BeforeValidator(_texts), PlainSerializer(_shown), Field(default_factory=dict, repr=False)
]
"""Settings as an engine names them. Dumped, those with a secret are masked; an object's ``repr`` leaves all out."""


def secrets_of(model: BaseModel) -> Iterator[str]:
    """Every secret that a model holds, also within others."""
    for name in type(model).model_fields:
        yield from _within(getattr(model, name))


def _within(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        yield from secrets_of(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and item and is_sensitive(str(name)):
                yield item
            else:
                yield from _within(item)


def without_secrets(text: str, model: BaseModel) -> str:
    """A text that others wrote, such as a service's error, with the model's secrets taken out."""
    secrets = set(secrets_of(model))
    # Of an OAuth credential, <client id>:<secret>, services repeat either half.
    secrets |= {half for one in secrets if (half := one.partition(":")[2])}
    for one in sorted(secrets, key=len, reverse=True):
        text = text.replace(one, "…")
    return text
