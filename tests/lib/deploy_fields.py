# SPDX-License-Identifier: MIT
"""deploy_fields.py FILE: what is wrong with a file of build/deploy, a line each.

Of Kubernetes' objects and of compose files, those fields are known that ours use, by the
names and types that the API has (Kubernetes v1 and apps/v1; Compose specification), so
that a slip of the pen is found; agent-sandbox's own objects are deploy_schema.py's. Then
what must hold of every pod: mounts have volumes, probes have routes, variables are
options of od serve, roots are read-only.
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
POD_SPEC = {
    "restartPolicy": str, "terminationGracePeriodSeconds": int,
    "automountServiceAccountToken": bool,
    "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int,
                        "fsGroup": int, "fsGroupChangePolicy": str,
                        "seccompProfile": {"type": str}},
    "initContainers": [CONTAINER], "containers": [CONTAINER],
    "volumes": [{"name": str, "emptyDir": {}, "persistentVolumeClaim": {"claimName": str}}],
}
METADATA = {"name": str, "labels": {"app": str}}
CLAIM = {"metadata": {"name": str},
         "spec": {"accessModes": [str], "resources": {"requests": {"storage": str}}}}
KINDS = {
    "Pod": {"spec": POD_SPEC},
    "StatefulSet": {"spec": {
        "serviceName": str, "replicas": int, "podManagementPolicy": str,
        "selector": {"matchLabels": {"app": str}},
        "template": {"metadata": {"labels": {"app": str}}, "spec": POD_SPEC},
        "volumeClaimTemplates": [CLAIM]}},
    "Deployment": {"spec": {
        "replicas": int, "strategy": {"type": str}, "selector": {"matchLabels": {"app": str}},
        "template": {"metadata": {"labels": {"app": str}}, "spec": POD_SPEC}}},
    "PersistentVolumeClaim": {"spec": CLAIM["spec"]},
    "Service": {"spec": {
        "clusterIP": str, "publishNotReadyAddresses": bool, "selector": {"app": str},
        "ports": [{"name": str, "port": int}]}},
    "SandboxTemplate": {"spec": None},
    "SandboxWarmPool": {"spec": None},
    "SandboxClaim": {"spec": None},
}
SERVICE = {
    "image": str, "entrypoint": [str], "working_dir": str, "user": str, "environment": None,
    "ports": [str], "read_only": bool, "tmpfs": [str], "volumes": None, "cap_drop": [str],
    "security_opt": [str], "stop_grace_period": str, "restart": str, "hostname": str,
    "secrets": None, "networks": [str], "deploy": None,
    "healthcheck": {"test": [str], "interval": str, "timeout": str, "retries": int,
                    "start_period": str},
}
COMPOSE = {"version": str, "services": {"sandbox": SERVICE}, "networks": None,
           "secrets": None, "volumes": None}
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
    return set(re.findall(r'"((?:OD|SESSION|SANDBOX)_[A-Z_]+)"', text)) | {"HOME"}


def routes():
    return set(re.findall(r'= HTTP_GET,\s+\.path = "(/[a-z_]+)"',
                          (ROOT / "core/front/v0/v0.c").read_text()))


def dispatcher_options():
    """The environment that build/deploy/dispatcher reads."""
    text = (ROOT / "build/deploy/dispatcher/dispatcher.py").read_text()
    return set(re.findall(r'env\("(\w+)"', text))


def environment(names, where):
    known = dispatcher_options() if where == "dispatcher" else options()
    for name in names:
        if name not in known:
            fault(f"{where}: {'it' if where == 'dispatcher' else 'od serve'} has no {name}")


def pod(spec, claims=()):
    """What must hold of a pod; claims are the names of its further volumes."""
    volumes = {v["name"] for v in spec.get("volumes", [])} | set(claims)
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
        if not spec.get(name) and (name, spec["containers"][0]["name"]) != ("initContainers",
                                                                           "dispatcher"):
            fault(f"there are no {name}")


def kubernetes(docs):
    named = {(doc["kind"], doc["metadata"]["name"]) for doc in docs}

    def needs(kind, name, who):
        if (kind, name) not in named:
            fault(f"{who}: there is no {kind} {name}")

    for doc in docs:
        kind, spec = doc["kind"], doc["spec"]
        if kind not in KINDS:
            fault(f"a {kind} is not known here")
            continue
        compare(doc, {"apiVersion": str, "kind": str, "metadata": METADATA} | KINDS[kind], kind)
        if kind == "Pod":
            pod(spec)
        elif kind == "Deployment":
            pod(spec["template"]["spec"])
            if spec["selector"]["matchLabels"] != spec["template"]["metadata"]["labels"]:
                fault("the selector does not select the pods")
            for volume in spec["template"]["spec"]["volumes"]:
                needs("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"], kind)
        elif kind == "StatefulSet":
            pod(spec["template"]["spec"],
                [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]])
            if spec["selector"]["matchLabels"] != spec["template"]["metadata"]["labels"]:
                fault("the selector does not select the pods")
            needs("Service", spec["serviceName"], kind)
        elif kind == "SandboxTemplate":
            pod(spec["podTemplate"]["spec"])
        elif kind == "SandboxWarmPool":
            needs("SandboxTemplate", spec["sandboxTemplateRef"]["name"], kind)
        elif kind == "SandboxClaim":
            needs("SandboxWarmPool", spec["warmPoolRef"]["name"], kind)


def compose(doc):
    compare(doc, COMPOSE, "compose")
    service = doc["services"]["sandbox"]
    environment(service["environment"], "sandbox")
    if not service.get("read_only"):
        fault("its root is not read-only")
    if service["healthcheck"]["test"][0] != "CMD":
        fault("its health check needs a shell")


path = pathlib.Path(sys.argv[1])
try:
    docs = list(yaml.safe_load_all(path.read_text()))
    kubernetes(docs) if "kind" in docs[0] else compose(docs[0])
except (yaml.YAMLError, KeyError, TypeError, AttributeError) as e:
    fault(f"{path.name}: {type(e).__name__} {e}")
print("\n".join(faults), end="\n" if faults else "")
