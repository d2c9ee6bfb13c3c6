"""What is wrong with a YAML file of a registry: field, line, and words for who wrote it.

The slow path only: nothing here is imported while the files are in order. jsonschema finds the
place, ruamel.yaml its line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from registry_tool.errors import InputError

# jsonschema's error; its parts hang on the schema, and have no types of their own.
ValidationError: TypeAlias = Any

_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "object": "fields (NAME: VALUE)",
    "array": "a list",
    "null": "nothing (null)",
}
_SHOWN = 60


class FieldError(InputError):
    """A field of a YAML file does not hold what it must; ``pointer`` is its JSON pointer."""

    def __init__(self, message: str, *, path: str, line: int, pointer: str) -> None:
        super().__init__(message, path=path, line=line)
        self.pointer = pointer


def field_error(
    document: dict[str, Any], schema: dict[str, Any], data: bytes, path: str, fallback: str
) -> FieldError:
    """The first thing that ``schema`` has against ``document``, which was read from ``data``.

    ``fallback`` is said if the schema has nothing against it.
    """
    error = _first(document, schema)
    if error is None:
        return FieldError(_plain(fallback), path=path, line=1, pointer="")
    place = list(error.absolute_path)
    if error.validator == "additionalProperties":
        place.append(_unknown_keys(error)[0])
    where = ".".join(str(part) for part in place)
    return FieldError(
        f"{where}: {_words(error)}" if where else _words(error),
        path=path,
        line=line_of(data, place),
        pointer="".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place),
    )


def line_of(data: bytes, place: Sequence[str | int]) -> int:
    """The 1-based line of the field at ``place`` in YAML ``data``, or of its nearest parent."""
    from ruamel.yaml import YAML

    node: Any = YAML(typ="rt", pure=True).load(data.decode("utf-8"))
    line = 1
    for part in place:
        try:
            position = node.lc.item(part) if isinstance(part, int) else node.lc.key(part)
            line, node = position[0] + 1, node[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line


def _first(document: dict[str, Any], schema: dict[str, Any]) -> ValidationError:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    # YAML's 2.0 is no whole number, whatever JSON Schema says.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    validator = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    errors = list(validator(schema).iter_errors(document))
    best: ValidationError = best_match(errors)
    if best is not None and best.validator == "required":
        # A misspelt field is missing, too: the spelling is what has to be mended.
        place = list(best.absolute_path)
        strays = [one for one in errors if one.validator == "additionalProperties"]
        return next((one for one in strays if list(one.absolute_path) == place), best)
    return best


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(error: ValidationError) -> str:
    value, limit = error.validator_value, error.instance
    describe = {
        "type": lambda: f"expected {_types(value)}, found {_found(limit)}",
        "required": lambda: f"the field {_missing(error)} is missing",
        "additionalProperties": lambda: _unknown(error),
        "enum": lambda: f"expected {_or(value)}, found {_found(limit)}",
        "const": lambda: f"expected {value}, found {_found(limit)}",
        "minimum": lambda: f"expected at least {value:g}, found {_found(limit)}",
        "exclusiveMinimum": lambda: f"expected more than {value:g}, found {_found(limit)}",
        "maximum": lambda: f"expected at most {value:g}, found {_found(limit)}",
        "minLength": lambda: "expected some text, found none",
        "maxLength": lambda: f"expected at most {value} characters, found {len(limit)}",
        "minItems": lambda: f"expected at least {value} entries, found {len(limit)}",
        "minProperties": lambda: f"expected at least {value} entry, found {len(limit)}",
        "anyOf": lambda: f"expected {_alternatives(error)}, found {_found(limit)}",
        "pattern": lambda: f"{_found(limit)} is not written as it must be: {_pattern(value)}",
    }.get(str(error.validator))
    return str(error.message)[:300] if describe is None else describe()  # type: ignore[no-untyped-call]


def _types(value: str | Sequence[str]) -> str:
    names = [value] if isinstance(value, str) else list(value)
    return " or ".join(_NAMES.get(name, name) for name in names)


def _alternatives(error: ValidationError) -> str:
    names = []
    for one in error.validator_value:
        if "enum" in one:
            names.append(_or(one["enum"]))
        else:
            names.append(_types(one.get("type", "object")))
    return " or ".join(dict.fromkeys(names))


def _found(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        return f"the text {shown!r}"
    if isinstance(value, dict):
        return f"fields ({', '.join(map(str, list(value)[:5]))})" if value else "no fields"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return f"{value}"


def _or(choices: Sequence[object]) -> str:
    *first, last = [str(choice) for choice in choices]
    return f"{', '.join(first)} or {last}" if first else last


def _missing(error: ValidationError) -> str:
    there = error.instance if isinstance(error.instance, dict) else {}
    return ", ".join(repr(name) for name in error.validator_value if name not in there)


def _unknown_keys(error: ValidationError) -> list[str]:
    known = error.schema.get("properties", {})
    return [name for name in error.instance if name not in known]


def _unknown(error: ValidationError) -> str:
    known = list(error.schema.get("properties", {}))
    name = str(_unknown_keys(error)[0])
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"there is no such field; {hint}"


def _pattern(value: str) -> str:
    if value.startswith("^KR"):
        return "a rule's id is KR and three digits"
    if value.startswith("^[A-Za-z0-9][A-Za-z0-9._-]*"):
        return "letters, digits and . _ - only"
    return "one line, without control characters" if "x00" in value else value


_PYTHON = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false",
    "object": "fields (NAME: VALUE)", "array": "a list", "null": "nothing (null)",
}  # fmt: skip


def _plain(message: str) -> str:
    """A message of msgspec with words in place of the names of types."""
    text = re.sub(r"`(\w+)`", lambda match: _PYTHON.get(match[1], f"`{match[1]}`"), message)
    text = re.sub(r" - at `\$\.?([^`]*)`", r" (at \1)", text)
    return text[:1].lower() + text[1:]
