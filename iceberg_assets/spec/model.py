"""What every declaration shares: frozen, strict about its keys, and helpful about a wrong one."""

import difflib
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

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
    """The same error; for an unknown key of this very model, with what was expected."""
    location = details["loc"]
    if details["type"] != "extra_forbidden" or len(location) != 1:
        message = details["msg"]
        kind = PydanticCustomError(details["type"], "{message}", {"message": message})
        return InitErrorDetails(type=kind, loc=location, input=details["input"])
    nearest = difflib.get_close_matches(str(location[0]), known, n=1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
    kind = PydanticCustomError(
        "unknown_key",
        "unknown key '{key}', expected one of {known}{hint}",
        {"key": str(location[0]), "known": ", ".join(known), "hint": hint},
    )
    return InitErrorDetails(type=kind, loc=location, input=details["input"])


def explain(error: ValidationError, where: str) -> ConfigurationError:
    """One error that lists every mistake of a declaration by its key path.

    Args:
        error: what pydantic found.
        where: the file or component that was read.
    """
    lines = [
        f"  {'.'.join(str(part) for part in details['loc']) or '(top level)'}: "
        f"{details['msg'].removeprefix('Value error, ')}, got {details['input']!r:.80}"
        for details in error.errors()
    ]
    return ConfigurationError(f"{where} is not usable:\n" + "\n".join(lines))
