"""What every declaration shares: frozen, strict about its keys, and helpful about a wrong one."""

import difflib
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from iceberg_assets.errors import ConfigurationError


class SpecModel(BaseModel):
    """A frozen part of a declaration. An unknown key is refused, with the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @model_validator(mode="wrap")
    @classmethod
    def _name_the_nearest_key(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            known = [field.alias or name for name, field in cls.model_fields.items()]
            raise ValidationError.from_exception_data(
                cls.__name__, [_explained(details, known) for details in error.errors()]
            ) from None


def _explained(details: Any, known: list[str]) -> InitErrorDetails:
    """The same error; for an unknown key of this very model, with what was expected.

    Of pydantic's own error types only: Dagster takes them apart to add the file and line.
    """
    kind, location, context = details["type"], details["loc"], details.get("ctx", {})
    if kind == "extra_forbidden" and len(location) == 1:
        nearest = difflib.get_close_matches(str(location[0]), known, n=1)
        hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
        reason = f"unknown key '{location[0]}', expected one of {', '.join(known)}{hint}"
        kind, context = "value_error", {"error": ValueError(reason)}
    return InitErrorDetails(type=kind, loc=location, input=details["input"], ctx=context)


def explain(error: ValidationError, where: str) -> ConfigurationError:
    """One error that lists every mistake of a declaration by its key path.

    Args:
        error: what pydantic found.
        where: the file or component that was read.
    """
    lines = [
        f"  {'.'.join(str(part) for part in details['loc']) or '(top level)'}: "
        f"{details['msg'].removeprefix('Value error, ')}"
        # Our own messages say what they got where it helps.
        + ("" if details["type"] in ("value_error", "missing") else f", got {_got(details['type'], details['input'])}")
        for details in error.errors()
    ]
    return ConfigurationError(f"{where} is not usable:\n" + "\n".join(lines))


def _got(expected: str, value: object) -> str:
    """What was there instead; where keys or a list belong it may hold a secret, and is not repeated."""
    if isinstance(value, Mapping | list) or expected in ("model_type", "dict_type", "tuple_type", "list_type"):
        return next((words for kind, words in _KINDS.items() if isinstance(value, kind)), "a value")
    return f"{value!r:.80}"


_KINDS: Mapping[type, str] = {str: "a text", Mapping: "a map", list: "a list", bool: "true or false"}
