"""The values of a profile: texts that may be empty, settings of engines, and what is never shown."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated
from urllib.parse import quote, quote_plus, unquote_plus

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, SecretStr

NAMES = (
    r"secret|passw(?:or)?d|passphrase|token|credential|authorization|cookie|connection[-._]?string|"
    r"(?:access|account|api|private|shared)[-._]?key"
)
"""What is in names of settings with a secret."""

_IN_A_URL = r"://[^/?#@\s]*:[^/?#@\s]+@"
REDACTED = rf"(?i){NAMES}|{_IN_A_URL}"
"""Names of settings with a secret, and URLs with a password: Spark looks for it in names and values alike.

Its own default lacks ``credential`` and ``access-key``, and headers such as ``Authorization``.
"""

_SENSITIVE = re.compile(rf"(?i){NAMES}")
# Of a URL: what stands behind the user's name, or in a parameter of such a name.
_OF_A_URL = re.compile(rf"(?i)://[^/?#@\s:]*:([^/?#@\s]+)@|[?&;][^=&;?\s]*(?:{NAMES})[^=&;?\s]*=([^&;\s]+)")


def in_urls(text: str) -> list[str]:
    """The secrets in the URLs of a text: passwords of users, and parameters that are called as secrets are."""
    return [one for pair in _OF_A_URL.findall(text) for one in pair if one]


def _resolved(value: object) -> object:
    """Dagster's ``EnvVar``, which a profile made in Python may hold, as the variable's value; all else as it is."""
    of_variable = getattr(value, "get_value", None)
    return (of_variable() or "") if callable(of_variable) else value


def given(value: object) -> object:
    """What is said: an empty text, as a variable that is not set leaves it, says nothing."""
    return None if (value := _resolved(value)) == "" else value


Text = Annotated[str | None, BeforeValidator(given)]
Flag = Annotated[bool | None, BeforeValidator(given)]


def secret(value: object) -> SecretStr | None:
    """A text that is never shown; an empty one, as a variable that is not set leaves it, is none.

    Raises:
        ValueError: not a text, or not of one line, which no header takes. It is not repeated: it may hold half of a
            secret.
    """
    if isinstance(value, SecretStr) or value is None:
        return value
    if not isinstance(value := _resolved(value), str):
        raise ValueError("expected a text; put it in quotes")
    if value.splitlines() not in ([], [value]):
        raise ValueError("expected one line, and there is a line break in it, as at the end of a file: take it off")
    return SecretStr(value) if value else None


Secret = Annotated[SecretStr | None, BeforeValidator(secret)]


def _texts(value: object) -> dict[str, str]:
    """Settings as engines take them: texts, YAML's numbers and true/false included."""
    if not isinstance(value, Mapping):
        raise ValueError("expected a map of settings")
    texts = {}
    for name, item in value.items():
        one = _resolved(item)
        if not isinstance(one, str | int | float | bool):
            raise ValueError(f"{name}: expected a text, a number or true/false")
        texts[str(name)] = str(one).lower() if isinstance(one, bool) else str(one)
    return texts


def is_sensitive(name: str, value: str) -> bool:
    """Whether a setting holds a secret: by its name, or in a URL."""
    return bool(value and (_SENSITIVE.search(name) or in_urls(value)))


def _shown(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: "**********" if is_sensitive(name, value) else value for name, value in settings.items()}


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
            if isinstance(item, str):
                yield from in_urls(item)
                if item and _SENSITIVE.search(str(name)):
                    yield item
            else:
                yield from _within(item)


def without_secrets(text: str, model: BaseModel) -> str:
    """A text that others wrote, such as a service's error, with the model's secrets taken out."""
    for way in sorted({way for one in with_halves(secrets_of(model)) for way in _spelled(one)}, key=len, reverse=True):
        text = text.replace(way, "…")
    return text


def with_halves(secrets: Iterable[str]) -> set[str]:
    """The secrets, and of an OAuth credential, ``<client id>:<secret>``, its second half: services repeat either."""
    whole = set(secrets)
    return whole | {half for one in whole if (half := one.partition(":")[2])}


def _spelled(secret: str) -> Iterator[str]:
    """The ways in which others spell a text: in URLs, in quotes of Python and JSON, in a header for HTTP's Basic."""
    yield from (secret, quote(secret, safe=""), quote(secret), quote_plus(secret), unquote_plus(secret))
    yield from (repr(secret)[1:-1], json.dumps(secret)[1:-1], b64encode(secret.encode()).decode())
