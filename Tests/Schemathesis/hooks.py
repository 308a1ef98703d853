"""Hooks of schemathesis: the credentials of the run, values that exist, and answers without undescribed members."""

import json
import os

import schemathesis

known = json.loads(os.environ["SWITCHBOARD_KNOWN"])


def close(part):
    """Lets objects have only the members that they describe."""
    if isinstance(part, dict):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
        for value in part.values():
            close(value)
    elif isinstance(part, list):
        for value in part:
            close(value)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for name in ("responses", "schemas"):
        close(raw_schema["components"][name])
    for path in raw_schema["paths"].values():
        for operation in path.values():
            close(operation["responses"])


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every other request names something that exists."""
    for name, value in (path_parameters or {}).items():
        if name in known["items"] and hash(str(value)) % 2:
            path_parameters[name] = known["items"][name]
    return path_parameters


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    for start, fields in known["fields"].items():
        if path.startswith(start):
            case.headers.update({name: value for name, value in fields.items() if name not in case.headers})
