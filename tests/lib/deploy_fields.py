# SPDX-License-Identifier: MIT
"""deploy_fields.py FILE: what is wrong with a pod or a compose file, a line each.

Only the fields that ours use are known, by the names and types that the API has
(Kubernetes v1 Pod; Compose specification), so that a slip of the pen is found.
"""
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = {"httpGet": {"path": str, "port": str}, "periodSeconds": int, "timeoutSeconds": int,
         "failureThreshold": int}
HARD = {"allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]}}
CONTAINER = {
    "name": str, "image": str, "command": [str], "workingDir": str, "securityContext": HARD,
    "env": [{"name": str, "value": str, "valueFrom": {"secretKeyRef": {"name": str, "key": str}}}],
    "ports": [{"name": str, "containerPort": int}],
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests": {"cpu": str, "memory": str}, "limits": {"memory": str}},
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
POD = {
    "apiVersion": str, "kind": str, "metadata": {"name": str, "labels": {"app": str}},
    "spec": {
        "restartPolicy": str, "terminationGracePeriodSeconds": int,
        "automountServiceAccountToken": bool,
        "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int,
                            "fsGroup": int, "seccompProfile": {"type": str}},
        "initContainers": [CONTAINER], "containers": [CONTAINER],
        "volumes": [{"name": str, "emptyDir": {}}],
    },
}
SERVICE = {
    "image": str, "entrypoint": [str], "working_dir": str, "user": str, "environment": None,
    "ports": [str], "read_only": bool, "tmpfs": [str], "volumes": [str], "cap_drop": [str],
    "security_opt": [str], "stop_grace_period": str, "restart": str,
    "healthcheck": {"test": [str], "interval": str, "timeout": str, "retries": int,
                    "start_period": str},
}
faults = []


def fault(text):
    faults.append(text)


def compare(value, wanted, where):
    if wanted is None:
        return
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return fault(f"{where} is no object")
        for name, inner in value.items():
            if name in wanted:
                compare(inner, wanted[name], f"{where}.{name}")
            else:
                fault(f"{where} has no field {name}")
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            return fault(f"{where} is no list")
        for i, inner in enumerate(value):
            compare(inner, wanted[0], f"{where}[{i}]")
    elif type(value) is not wanted:
        fault(f"{where} is {value!r}, no {wanted.__name__}")


def options():
    """The environment that od serve reads."""
    files = [*(ROOT / "applets").glob("serve*.c"), *(ROOT / "core").rglob("*.c")]
    texts = [file.read_text() for file in files]
    text = "".join(text for text in texts if "struct option_row" in text)
    return set(re.findall(r'"((?:OD|SESSION)_[A-Z_]+)"', text)) | {"HOME"}


def routes():
    return set(re.findall(r'= HTTP_GET,\s+\.path = "(/[a-z_]+)"',
                          (ROOT / "core/front/v0/v0.c").read_text()))


def environment(names, where):
    for name in names:
        if name not in options():
            fault(f"{where}: od serve has no {name}")


def pod(doc):
    compare(doc, POD, "pod")
    spec = doc.get("spec", {})
    volumes = {v["name"] for v in spec.get("volumes", [])}
    if not spec.get("securityContext", {}).get("runAsNonRoot"):
        fault("it may run as root")
    for c in spec.get("initContainers", []) + spec.get("containers", []):
        for mount in c.get("volumeMounts", []):
            if mount["name"] not in volumes:
                fault(f"{c['name']} mounts {mount['name']}, which is no volume")
        if c.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
            fault(f"{c['name']}: its root is not read-only")
        ports = {p["name"] for p in c.get("ports", [])}
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            get = c.get(name, {}).get("httpGet")
            if get and get["path"] not in routes():
                fault(f"{name}: there is no {get['path']}")
            if get and get["port"] not in ports:
                fault(f"{name}: there is no port {get['port']}")
        environment([v["name"] for v in c.get("env", [])], c["name"])
    for name in ("initContainers", "containers"):
        if not spec.get(name):
            fault(f"there are no {name}")


def compose(doc):
    compare(doc, {"services": {"sandbox": SERVICE}}, "compose")
    service = doc["services"]["sandbox"]
    environment(service["environment"], "sandbox")
    if not service.get("read_only"):
        fault("its root is not read-only")


path = pathlib.Path(sys.argv[1])
try:
    doc = yaml.safe_load(path.read_text())
    pod(doc) if path.name == "pod.yaml" else compose(doc)
except (yaml.YAMLError, KeyError, TypeError, AttributeError) as e:
    fault(f"{path.name}: {type(e).__name__} {e}")
print("\n".join(faults), end="\n" if faults else "")
