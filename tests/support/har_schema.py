"""Is it HAR 1.2? Judged by the JSON schema of the npm package har-schema 2.0.0 (tests/data/har-schema/, ISC licence).

Where that schema is looser than the specification (http://www.softwareishard.com/blog/har-12-spec/) it is made stricter
here: it writes bounds as "min", which no validator heeds, and it allows fields of one's own without the underscore.
"""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from jsonschema import Draft6Validator, FormatChecker
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parent.parent / "data" / "har-schema"
FORMATS = FormatChecker(["ipv4", "ipv6"])


@FORMATS.checks("date-time", ValueError)
def _is_date_time(text: object) -> bool:
    """ISO 8601 with the time zone, as the specification wants it: without one nobody knows when it was."""
    return not isinstance(text, str) or datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None


@FORMATS.checks("uri", ValueError)
def _is_uri(text: object) -> bool:
    """An absolute URL as browsers send it: the few characters they leave unescaped, such as "|", are let pass."""
    return not isinstance(text, str) or bool(re.fullmatch(r"[a-z]+://(?![/?#])[!-~]+", text))


def _strict(schema: Any) -> Any:
    if isinstance(schema, dict):
        stricter = {"minimum" if key == "min" else key: _strict(value) for key, value in schema.items()}
        if "properties" in schema:
            stricter |= {"additionalProperties": False, "patternProperties": {"^_": {}}}
        return stricter
    return [_strict(part) for part in schema] if isinstance(schema, list) else schema


RESOURCES = {path.name: Resource.from_contents(_strict(json.loads(path.read_text())))
             for path in SCHEMAS.glob("*.json")}
VALIDATOR = Draft6Validator({"$ref": "har.json"}, registry=Registry().with_resources(RESOURCES.items()),
                            format_checker=FORMATS)


def assert_har(path: Path) -> Any:
    """Fail with the places where the file is not HAR 1.2; return its "log"."""
    archive = json.loads(path.read_text(encoding="utf-8"))
    assert not [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(archive)], path
    return archive["log"]
