# SPDX-License-Identifier: MIT
"""deploy_schema.py FOLDER FILE...: Kubernetes' objects against the schemas of agent-sandbox.

FOLDER has its custom resource definitions (config/crd of kubernetes-sigs/agent-sandbox).
Their own objects are checked as a whole; of pods and stateful sets, what the definition
of a Sandbox has too: the pod's spec and the claims of volumes. Prints a line for each
object, with its file and what is wrong, and ends with the sum of the definitions.
"""
import hashlib
import pathlib
import sys

import jsonschema
import yaml

GROUPS = ("agents.x-k8s.io", "extensions.agents.x-k8s.io")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # half a megabyte each
schemas, digest = {}, hashlib.sha256()


def closed(schema):
    """A JSON Schema of an openAPIV3Schema, in which no object has unknown fields."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    out = {name: closed(value) for name, value in schema.items() if not name.startswith("x-")}
    if isinstance(out.get("properties"), dict) and "additionalProperties" not in out:
        out["additionalProperties"] = False
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        out.pop("additionalProperties", None)
    return out


def load(folder):
    for path in sorted(pathlib.Path(folder).glob("*agents.x-k8s.io_*.yaml")):
        digest.update(path.read_bytes())
        spec = yaml.load(path.read_text(), LOADER)["spec"]
        for version in spec["versions"]:
            if version["name"] != "v1beta1":
                continue
            schema = closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            schemas[spec["group"] + "/" + version["name"], spec["names"]["kind"]] = schema


def check(value, schema, where):
    validator = jsonschema.Draft7Validator(schema)
    for error in sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.path))):
        yield ".".join([where, *map(str, error.path)]) + ": " + error.message[:200]


def faults(doc):
    kind, spec = doc["kind"], doc.get("spec", {})
    if doc["apiVersion"].split("/")[0] in GROUPS:
        schema = schemas.get((doc["apiVersion"], kind))
        if not schema:
            return [f"there is no {kind} of {doc['apiVersion']}"]
        return list(check(doc, schema, kind))
    sandbox = schemas[GROUPS[0] + "/v1beta1", "Sandbox"]["properties"]["spec"]["properties"]
    pod = sandbox["podTemplate"]["properties"]["spec"]
    if kind == "Pod":
        return list(check(spec, pod, kind))
    if kind == "Deployment":
        return list(check(spec["template"]["spec"], pod, kind))
    if kind == "PersistentVolumeClaim":
        return list(check([{"spec": spec}], sandbox["volumeClaimTemplates"], kind))
    if kind == "StatefulSet":
        return [*check(spec["template"]["spec"], pod, kind),
                *check(spec["volumeClaimTemplates"], sandbox["volumeClaimTemplates"], kind)]
    return []


load(sys.argv[1])
for name in sys.argv[2:]:
    for doc in yaml.safe_load_all(pathlib.Path(name).read_text()):
        found = faults(doc)
        print(pathlib.Path(name).stem, doc["kind"], "; ".join(found) or "ok")
print("definitions", digest.hexdigest())
