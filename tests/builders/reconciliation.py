"""The specification's own JSON Schemas of the Reconciliation Service API 0.2."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import jsonschema
import orjson
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4, DRAFT7

_FOLDER: Final = Path(__file__).parent.parent / "contract" / "reconciliation"
#: The schemas to which the manifest's schema refers.
_SWAGGER: Final = files("openapi_spec_validator") / "resources/schemas/v2.0/schema.json"


@cache
def _registry() -> Registry[Any]:
    schemas = [orjson.loads(path.read_bytes()) for path in _FOLDER.glob("*.json")]
    resources = [(one["$id"], Resource.from_contents(one, DRAFT7)) for one in schemas]
    swagger = Resource.from_contents(orjson.loads(_SWAGGER.read_bytes()), DRAFT4)
    registry: Registry[Any] = Registry().with_resources(
        [*resources, ("http://swagger.io/v2/schema.json", swagger)]
    )
    return registry


def conforms(value: Any, name: str) -> None:
    """Raises jsonschema.ValidationError unless the value matches the schema of a name."""
    schema = orjson.loads((_FOLDER / f"{name}.json").read_bytes())
    jsonschema.Draft7Validator(schema, registry=_registry()).validate(value)
