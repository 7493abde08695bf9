# SPDX-License-Identifier: MIT
"""agent_sandbox.py FILE KIND [VOLUME...] <OWNER.json: the objects that agent-sandbox's
controller makes for a claim without a pool, of the template in FILE (its version of
2026-08-22, controllers/sandbox_controller.go and
extensions/controllers/sandboxclaim_controller.go), as JSON.

KIND is Sandbox, whose owner is read, a SandboxClaim; or children: the claims of volumes, the
service and the pod, whose owner is read, that Sandbox. Each has the owner as its controller,
which blocks the deletion of the owner in the foreground. The VOLUMEs of the template that are
named are claimed, as statefulset.yaml claims them.
"""
import json
import pathlib
import sys

import yaml

STATEFUL_SET = pathlib.Path(__file__).resolve().parents[2] / "build/deploy/statefulset.yaml"
LABEL = "agents.x-k8s.io/sandbox-name-hash"


def spec_of(path, kind):
    docs = yaml.safe_load_all(pathlib.Path(path).read_text(encoding="utf-8"))
    return next(doc["spec"] for doc in docs if doc["kind"] == kind)


def blueprint(path, volumes):
    """The part of the template that a Sandbox takes over."""
    template = spec_of(path, "SandboxTemplate")
    claimed = spec_of(STATEFUL_SET, "StatefulSet")["volumeClaimTemplates"]
    pod = template["podTemplate"]["spec"]
    pod["volumes"] = [v for v in pod["volumes"] if v["name"] not in volumes]
    return {"podTemplate": template["podTemplate"], "service": template["service"],
            "volumeClaimTemplates": [c for c in claimed if c["metadata"]["name"] in volumes]}


def name_hash(name):
    """FNV-1a of 32 bits."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return f"{value:08x}"


def owned(owner, **more):
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"],
                 "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                 "controller": True, "blockOwnerDeletion": True}
    return {"name": owner["metadata"]["name"], "ownerReferences": [reference], **more}


def children(sandbox):
    spec, name = sandbox["spec"], sandbox["metadata"]["name"]
    label, pod = {LABEL: name_hash(name)}, spec["podTemplate"]
    for claim in spec.get("volumeClaimTemplates", ()):
        volume = claim["metadata"]["name"]
        pod["spec"]["volumes"].append({
            "name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}})
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim["spec"],
               "metadata": {**owned(sandbox, labels=label), "name": f"{volume}-{name}"}}
    if spec["service"]:
        ports = [{"name": port["name"], "port": port["containerPort"]}
                 for container in pod["spec"]["containers"] for port in container["ports"]]
        yield {"apiVersion": "v1", "kind": "Service", "metadata": owned(sandbox, labels=label),
               "spec": {"clusterIP": "None", "selector": label, "ports": ports}}
    yield {"apiVersion": "v1", "kind": "Pod", "spec": pod["spec"], "metadata": owned(
        sandbox, labels={**pod["metadata"]["labels"], **label},
        annotations=pod["metadata"]["annotations"])}


def main(path, kind, *volumes):
    owner = json.load(sys.stdin)
    if kind == "Sandbox":
        made = [{"apiVersion": "agents.x-k8s.io/v1beta1", "kind": kind,
                 "metadata": owned(owner), "spec": blueprint(path, volumes)}]
    else:
        made = list(children(owner))
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))


main(*sys.argv[1:])
