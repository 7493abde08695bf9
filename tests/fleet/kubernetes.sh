# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A Kubernetes of one node, built of the distribution's source (kubernetes_build.sh), runs
# the files of build/deploy: a real API server, controller manager, scheduler, kubelet and
# containerd. What the files do not have here: images are not pulled, and the volumes that
# are claimed are folders of this machine. The controller of agent-sandbox is not there:
# agent_sandbox.py makes the objects that it makes. kubernetes.test and apart.sh start this.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/fleet/figure.sh
. "$ROOT/tests/fleet/figure.sh"
PATH=$PATH:/usr/sbin
for program in etcd containerd ctr kubectl runc curl busybox openssl; do
    command -v "$program" >/dev/null || skip_all "no $program: build/tools.sh test fleet"
done
cni=
for cni in /usr/lib/cni /usr/libexec/cni /opt/cni/bin; do [ -x $cni/host-local ] && break; done
[ -x "$cni/host-local" ] || skip_all "no host-local: build/tools.sh test fleet"
parts=$(tail -n 1 <<<"${FLEET_BUILT:-}")
if [ ! -x "$parts/kube-apiserver" ]; then
    note "${FLEET_BUILT:-}"
    skip_all "no Kubernetes could be built"
fi
PATH=$PATH:$parts
cd "$T" || exit 1
mkdir cni certs kubelet volumes
api=https://127.0.0.1:16443
export KUBECONFIG=$T/kubeconfig

# --- the cluster ---------------------------------------------------------------------

ip link set lo up
ip link add up0 type bridge
ip addr add 192.0.2.1/24 dev up0
ip link set up0 up
ip route add default via 192.0.2.1
openssl genrsa -out sa.key 2048 2>/dev/null
echo 'a-token-of-the-cluster,admin,1,"system:masters"' >tokens.csv
: >resolv.conf
cat >kubeconfig <<END
{apiVersion: v1, kind: Config, current-context: c,
 clusters: [{name: c, cluster: {server: "$api", insecure-skip-tls-verify: true}}],
 users: [{name: u, user: {token: a-token-of-the-cluster}}],
 contexts: [{name: c, context: {cluster: c, user: u}}]}
END
cat >containerd.toml <<END
version = 2
root = "$T/ctd"
state = "$T/ctd-state"
[grpc]
  address = "$T/ctd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:latest"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$T/cni"
END
cat >cni/10-ptp.conflist <<'END'
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "subnet": "10.244.0.0/24", "dataDir": "/run/cni-ipam",
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
cat >kubelet.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: $FLEET_GROUP
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: $T/resolv.conf
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
END
for hierarchy in /sys/fs/cgroup/*/; do mkdir -p "$hierarchy$FLEET_GROUP" 2>/dev/null; done
# A new group has no processors until it is given some.
for what in cpus mems; do
    cat "/sys/fs/cgroup/cpuset/cpuset.$what" \
        >"/sys/fs/cgroup/cpuset$FLEET_GROUP/cpuset.$what"
done 2>/dev/null

daemons=()
daemon() { # NAME WORD...
    "${@:2}" >"$T/$1.log" 2>&1 &
    daemons+=($!)
}
# All in this namespace of processes; shims and pods outlive the engine.
stop_cluster() {
    kill "${daemons[@]}"
    wait "${daemons[@]}"
    [ $$ != 1 ] || kill -9 -1
    awk -v t="$T/" 'index($2, t) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
}
at_end stop_cluster
daemon etcd etcd --data-dir "$T/etcd" --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 \
    --listen-peer-urls http://127.0.0.1:12380
daemon containerd containerd -c containerd.toml
daemon apiserver kube-apiserver --etcd-servers=http://127.0.0.1:12379 --secure-port=16443 \
    --bind-address=127.0.0.1 --advertise-address=192.0.2.1 --cert-dir="$T/certs" \
    --token-auth-file=tokens.csv --authorization-mode=AlwaysAllow --allow-privileged \
    --service-account-issuer=https://k --service-account-signing-key-file=sa.key \
    --service-account-key-file=sa.key --service-cluster-ip-range=10.96.0.0/16 \
    --kubelet-preferred-address-types=InternalIP
k() { kubectl --request-timeout=20s "$@" 2>&1; }
serves() { [ "$(k get --raw /readyz)" = ok ]; }
ok "the API server is ready" wait_for 120 serves
daemon manager kube-controller-manager --kubeconfig="$KUBECONFIG" --leader-elect=false \
    --service-account-private-key-file=sa.key --port=0 --secure-port=0
daemon scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false \
    --port=0 --secure-port=0
# Before anything is deleted: the garbage collector looks for new kinds each 30 s. The rules
# (x-kubernetes-validations) are younger than this API server, which also takes an empty
# default for null; no object here has a field that gets it.
definitions() {
    mkdir crds
    tar -xJf "$FLEET_SUITES/agent-sandbox-crds.tar.xz" -C crds ||
        cp "$FLEET_SUITES"/agent-sandbox-crds/*.yaml crds || return
    rm -f crds/kustomization.yaml
    sed -i "s/default: ''$/default: none/" crds/*.yaml
}
definitions 2>/dev/null &&
    ok "agent-sandbox's definitions are taken" k create --validate=false -f crds

# An image of od alone, which also holds the namespaces of a pod, and one without od.
mkdir -p rootfs/bin rootfs/tmp
cp "$(command -v busybox)" rootfs/bin/busybox
for name in sh cat id chmod sleep; do ln -s busybox "rootfs/bin/$name"; done
tar -C rootfs -cf rootfs.tar .
images() {
    "$OD" image make od.tar --tag localhost/od:latest &&
        "$OD" image make pause.tar --tag localhost/pause:latest &&
        "$OD" image make box.tar --from rootfs.tar --tag docker.io/library/debian:stable-slim &&
        for image in od pause box; do
            ctr -a "$T/ctd.sock" -n k8s.io images import "$image.tar" || return
        done
}
ok "images" images
daemon kubelet kubelet --kubeconfig="$KUBECONFIG" --config=kubelet.yaml --container-runtime=remote \
    --container-runtime-endpoint="unix://$T/ctd.sock" --root-dir="$T/kubelet" \
    --cert-dir="$T/kubelet/pki" --volume-plugin-dir="$T/kubelet/plugins" \
    --hostname-override=n1 --node-ip=192.0.2.1
node_ready() { k get node n1 -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}' | grep -qx True; }
ok "the node is ready" wait_for 120 node_ready
has_account() { k get serviceaccount default >/dev/null; }
ok "the namespace has its account" wait_for 60 has_account
k create secret generic od-key --from-literal=key=a-key-of-the-fleet >/dev/null

# --- the pod ----------------------------------------------------------------------------

taken() { # FILE [PATH]
    sed 's/^\( *\)image: .*/&\n\1imagePullPolicy: Never/' "${2:-$ROOT/build/deploy/$1}" >"$1"
    k create -f "$1"
}
field() { k get pod "$1" -o jsonpath="{$2}"; } # POD PATH
is_ready() { [ "$(field "$1" '.status.conditions[?(@.type=="Ready")].status')" = True ]; }
asked() { # ADDRESS KEY
    curl -s -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: $2" "http://$1:3000/events?since=0"
}
# A command in a pod, by HTTP: prints what it prints.
does() { # POD COMMAND
    "$OD" exec --server "http://$(field "$1" .status.podIP):3000" "$2" 2>&1
}
export OD_SERVER_KEY=a-key-of-the-fleet OD_SERVER_INSECURE=1

start=$(now)
ok "pod.yaml is taken" taken pod.yaml
pod_ready() { is_ready sandbox; }
ok "and is ready" wait_for 120 pod_ready
figure "pod: asked for → ready" "$start"
is "as nobody's user, in the workspace" "$(does sandbox 'id -u; id -g; pwd')" "1000
1000
/workspace"
is "its state is in a folder of its own in the volume" \
    "$(does sandbox 'cd /state && echo * && stat -c %a .' | head -n 1)" od-1000
like "its root is read-only" "$(does sandbox 'echo x >/file')" '*ead-only file system*'
is "the secret is the key" "$(address=$(field sandbox .status.podIP)
    asked "$address" a-key-of-the-fleet
    asked "$address" another-key-entirely)" 200403

does sandbox 'KEPT=yes' >/dev/null
# The command kills the worker that would send its output.
is "its worker is killed, and the command goes on" "$(does sandbox 'for p in /proc/[0-9]*; do
    case $(cat $p/cmdline 2>/dev/null) in od-worker*) kill -9 ${p#/proc/} ;; esac
done; echo after')" after
is "a killed worker takes nothing along" "$(does sandbox 'echo $KEPT' | tail -n 1)" yes
metric() { # POD NAME
    curl -s -H "X-Session-API-Key: $OD_SERVER_KEY" \
        "http://$(field "$1" .status.podIP):3000/metrics" | sed -n "s/^$2 //p"
}
is "another one was started" "$(metric sandbox od_worker_starts_total)" 2
is "but not the container" "$(field sandbox '.status.containerStatuses[0].restartCount')" 0

does sandbox 'trap "" TERM; sleep 1000 >/dev/null 2>&1 &' >/dev/null
id=$(field sandbox '.status.containerStatuses[0].containerID')
ctr -a "$T/ctd.sock" -n k8s.io events 2>&1 |
    while read -r event; do echo "$(now) $event"; done >events &
start=$(now)
k delete pod sandbox --wait=false >/dev/null
pod_gone() { ! k get pod sandbox >/dev/null; }
ok "deleted, it goes within its grace" wait_for 120 pod_gone
figure "pod: deleted → gone" "$start"
ended=$(grep "/tasks/exit .*\"id\":\"${id#*//}\"" events)
like "TERM ended it" "$ended" "*exited_at*"
figure "pod: deleted → its container ended" "$start" "${ended%% *}"
is "with 0" "$(echo "$ended" | grep -o '"exit_status":[0-9]*')" ""

# --- the pod with a bus ------------------------------------------------------------------

# A file with the bus that is commented out in it, without TLS.
with_bus() { # FILE
    /usr/bin/python3 "$ROOT/tests/lib/deploy_bus.py" "$ROOT/build/deploy/$1" |
        sed 's/^\( *\)- name: OD_BUS$/\1- name: OD_BUS_INSECURE\n\1  value: "yes"\n&/' >"bus-$1"
    echo "bus-$1"
}
r() { redis-cli -h 192.0.2.1 "$@"; }
bus=
if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
    bus=yes
    daemon redis redis-server --bind 192.0.2.1 --protected-mode no --save '' --dir "$T"
    k create secret generic od-bus --from-literal=url=redis://192.0.2.1 >/dev/null
    ok "the pod with OD_BUS is taken" taken bus.yaml "$(with_bus pod.yaml)"
    ok "it is ready" wait_for 120 pod_ready
    does sandbox true >/dev/null
    linked() { [ -n "$(r --scan --pattern 'od:*:events')" ]; }
    ok "its events are on the bus" wait_for 60 linked
    # Redis takes nothing when TERM comes: the server ends when it does.
    r client pause 5000 write >/dev/null
    does sandbox 'seq 3' >/dev/null
    next=$(metric sandbox od_events_next_id)
    start=$(now)
    k delete pod sandbox --wait=false >/dev/null
    ok "deleted, it goes within its grace" wait_for 120 pod_gone
    figure "pod with a bus that is stuck for 5 s: deleted → gone" "$start"
    is "by then the bus has all of its events" \
        "$(r xrevrange "$(r --scan --pattern 'od:*:events')" + - count 1 | head -n 1)" \
        "$((next - 1))-0"
else
    skip "the pod with a bus" "no redis-server: build/tools.sh test"
fi

# --- the stateful set -----------------------------------------------------------------------

volume() { # NAME SIZE CLAIM
    mkdir -p "volumes/$1"
    k create -f - >/dev/null <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: $1}
spec:
  capacity: {storage: $2}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: $3}
  local: {path: $T/volumes/$1}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]
END
}
for i in 0 1 2 3 4; do
    volume "workspace-$i" 10Gi "workspace-sandbox-$i"
    volume "state-$i" 2Gi "state-sandbox-$i"
done
set_file=
[ -z "$bus" ] || set_file=$(with_bus statefulset.yaml)
start=$(now)
ok "statefulset.yaml is taken" taken statefulset.yaml "$set_file"
five_ready() { [ "$(k get statefulset sandbox -o jsonpath='{.status.readyReplicas}')" = 5 ]; }
ok "five are ready" wait_for 180 five_ready
figure "set of five: asked for → ready" "$start"
is "each has od's folder in the volume that it claims" \
    "$(cd volumes && echo state-?/*)" \
    "state-0/od-1000 state-1/od-1000 state-2/od-1000 state-3/od-1000 state-4/od-1000"
is "and may write in its workspace" "$(does sandbox-3 'echo three >file; cat file')" three

# Another pod with the same volumes goes on: files, and the numbers of events.
before=$(metric sandbox-3 od_events_next_id) uid=$(field sandbox-3 .metadata.uid)
start=$(now)
k delete pod sandbox-3 --wait=false >/dev/null
another() { [ "$(field sandbox-3 .metadata.uid)" != "$uid" ] && is_ready sandbox-3; }
ok "a pod that is deleted is made again" wait_for 120 another
figure "pod of a set: deleted → another is ready" "$start"
is "with its files" "$(does sandbox-3 'cat file')" three
ok "and its events" test "$(metric sandbox-3 od_events_next_id)" -gt "$before"

# --- the dispatchers ------------------------------------------------------------------------

# The names of their pods, without those that end.
workers() {
    k get pods -l app=dispatcher -o go-template='{{range .items}}{{if not
        .metadata.deletionTimestamp}}{{.metadata.name}}{{"\n"}}{{end}}{{end}}'
}
workers_ready() { # NUMBER
    [ "$(k get deployment dispatcher -o jsonpath='{.status.readyReplicas}')" = "$1" ] &&
        [ "$(workers | wc -l)" = "$1" ]
}
store() { # POD WORD...: store.py in that pod
    kubectl exec -i "$1" -- /usr/bin/python3 - "${@:2}" <"$ROOT/tests/fleet/store.py" 2>&1
}
lease() { r get "od:{${1:0:2}}:$1:lease"; } # SANDBOX: prints POD.PID:FENCE
holder() { lease "$1" | sed 's/\..*//'; }
process_of() { # POD
    local id
    id=$(field "$1" '.status.containerStatuses[0].containerID')
    ctr -a "$T/ctd.sock" -n k8s.io tasks list | awk -v id="${id#*//}" '$1 == id { print $2 }'
}
all_leased() { # BUT: each sandbox has a worker, which is another one
    local one name
    for one in "${ids[@]}"; do
        name=$(holder "$one")
        [ -n "$name" ] && [ "$name" != "$1" ] || return
    done
}
left() { store "$rest" left; }
some_done() { [ "$(left)" -lt 150 ]; }
all_done() { [ "$(left)" = 0 ]; }

# The worker that has the lease of the first sandbox, and perhaps of others, goes while
# actions are outstanding. COMMAND gets the name of its pod and the number of its process.
outage() { # NAME COMMAND...
    local victim rest process fence start
    victim=$(holder "${ids[0]}") fence=$(lease "${ids[0]}" | sed 's/.*://')
    rest=$(workers | grep -vx "$victim" | head -n 1) process=$(process_of "$victim")
    ok "$1: actions for each sandbox" store "$rest" ask 30 "${ids[@]}"
    wait_for 60 some_done
    start=$(now)
    "${@:2}" "$victim" "$process"
    ok "$1: some have no observation" test "$(left)" -gt 0
    ok "$1: others have all leases" wait_for 60 all_leased "$victim"
    figure "dispatcher, $1: → others have its leases" "$start"
    like "$1: its fence is behind" "$(store "$rest" stale "${ids[0]}" "$fence")" "refused, behind by [1-9]*"
    [ "$1" != stopped ] || kill -CONT "$process"
    ok "$1: each action gets its observation" wait_for 120 all_done
    ok "$1: there are two again" wait_for 120 workers_ready 2
}
killed() {
    kill -9 "$2"
    k delete pod "$1" --grace-period=0 --force >/dev/null
}
stopped() { kill -STOP "$2"; }
ended() { k delete pod "$1" --wait=false >/dev/null; }

dispatcher_image() {
    mkdir -p worker/usr/local/bin
    cp "$FLEET_ROOTS/dispatcher.tar" worker.tar &&
        cp "$ROOT/build/deploy/dispatcher/dispatcher.py" worker/usr/local/bin/ &&
        tar -C worker --owner=0 --group=0 -rf worker.tar ./usr/local/bin/dispatcher.py &&
        "$OD" image make dispatcher.tar --from worker.tar --tag localhost/dispatcher:latest &&
        ctr -a "$T/ctd.sock" -n k8s.io images import dispatcher.tar
}
if [ -z "$bus" ]; then
    skip "the dispatchers" "no redis-server: build/tools.sh test"
elif [ ! -s "$FLEET_ROOTS/dispatcher.tar" ]; then
    skip "the dispatchers" "$(cat "$FLEET_ROOTS/dispatcher.why" 2>&1)"
    bus=
else
    ok "the dispatcher's image" dispatcher_image
    volume dispatcher 10Gi dispatcher
    ok "deployment.yaml is taken" taken deployment.yaml "$ROOT/build/deploy/dispatcher/deployment.yaml"
    ok "a worker runs" wait_for 120 workers_ready 1
    for i in 0 1 2 3 4; do ids[i]=$(cat "volumes/state-$i"/od-1000/default/events/.sandbox); done
    ok "it has the leases of all sandboxes" wait_for 60 all_leased nobody
    # SQLite in a volume has one node, and this is one.
    k scale deployment dispatcher --replicas=2 >/dev/null
    ok "a second one runs" wait_for 120 workers_ready 2

    outage killed killed
    outage stopped stopped
    outage ended ended

    worker=$(workers | head -n 1)
    is "the store has each event once and in order, and one observation of each action" \
        "$(store "$worker" check "${ids[@]}")" ""
    for i in 0 1 2 3 4; do
        is "sandbox-$i ran each action once, in order" \
            "$(tr '\n' ' ' <"volumes/workspace-$i/ran")" "$(seq -s ' ' 0 89) "
        next=$(metric "sandbox-$i" od_events_next_id)
        is "and all of its events are in the store" "$(store "$worker" last "${ids[i]}")" $((next - 1))
    done
    acknowledged() { [ "$(for i in 0 1 2 3 4; do metric "sandbox-$i" od_bus_backlog; done | sort -u)" = 0 ]; }
    ok "and acknowledged" wait_for 60 acknowledged
fi

k delete statefulset sandbox >/dev/null
none_left() { [ -z "$(k get pods -l app=sandbox -o name)" ]; }
ok "the set is removed" wait_for 120 none_left
is "its volumes stay" "$(k get pvc -l app=sandbox -o name | wc -l)" 10

# --- a claim ends ---------------------------------------------------------------------------

# Kubernetes' part: the definitions' schemas, what is deleted with an owner, volumes, and the
# end of pods. The controller's part, which is not run: it takes a sandbox out of the pool,
# makes these objects (here agent_sandbox.py does), and at its time deletes the claim, or
# (Retain) the sandbox.
claims=sandboxclaims.extensions.agents.x-k8s.io sandboxes=sandboxes.agents.x-k8s.io
made() { # KIND OWNER [VOLUME...]
    k get "$2" -o json >owner.json &&
        /usr/bin/python3 "$ROOT/tests/fleet/agent_sandbox.py" agent-sandbox.yaml "$1" "${@:3}" \
            <owner.json >made.json && k create -f made.json
}
served() { # CLAIM [VOLUME...]
    made Sandbox "$claims/$1" "${@:2}" && made children "$sandboxes/$1" && wait_for 120 is_ready "$1"
}
exists() { k get "$1" >/dev/null; }
gone() { ! exists "$1"; }
of_claim() { # CLAIM: what there is of it
    k get "$sandboxes/$1" "pod/$1" "service/$1" "pvc/workspace-$1" "pvc/state-$1" \
        --ignore-not-found -o name
}
end_of() { # CONTAINER: its line of events
    grep "/tasks/exit .*\"id\":\"$1\"" events
}
if [ -z "$(ls crds)" ]; then
    skip "a claim ends" "no definitions of agent-sandbox: name their folder by OD_SUITES"
elif [ -z "$bus" ]; then
    skip "a claim ends" "no bus, or no dispatchers"
else
    ok "agent-sandbox.yaml is taken" taken agent-sandbox.yaml "$(with_bus agent-sandbox.yaml)"
    volume workspace-task 10Gi workspace-task-1
    volume state-task 2Gi state-task-1
    start=$(now)
    ok "its claim has a sandbox, with volumes" served task-1 workspace state
    figure "pod of a claim: asked for → ready" "$start"
    is "all of it" "$(of_claim task-1)" "sandbox.agents.x-k8s.io/task-1
pod/task-1
service/task-1
persistentvolumeclaim/workspace-task-1
persistentvolumeclaim/state-task-1"
    does task-1 'trap "" TERM; sleep 1000 >/dev/null 2>&1 &' >/dev/null
    id=$(cat volumes/state-task/od-1000/default/events/.sandbox) key="od:{${id:0:2}}"
    has_lease() { [ -n "$(lease "$id")" ]; }
    ok "a dispatcher has its lease" wait_for 60 has_lease
    # Redis takes nothing for a while: events are outstanding when TERM comes.
    r client pause 5000 write >/dev/null
    does task-1 'seq 3' >/dev/null
    next=$(metric task-1 od_events_next_id)
    container=$(field task-1 '.status.containerStatuses[0].containerID')
    start=$(now)
    k delete "$claims/task-1" --cascade=foreground --wait=false >/dev/null
    is "deleted in the foreground, the claim waits" \
        "$(k get "$claims/task-1" -o jsonpath='{.metadata.finalizers}')" '["foregroundDeletion"]'
    ok "and goes" wait_for 120 gone "$claims/task-1"
    figure "claim: deleted in the foreground → gone" "$start"
    is "last: nothing of it is left by then" "$(of_claim task-1)" ""
    ended=$(end_of "${container#*//}")
    figure "claim: deleted in the foreground → its container ended" "$start" "${ended%% *}"
    like "TERM ended it" "$ended" "*exited_at*"
    is "with 0, within its grace" \
        "$(grep -o '"exit_status":[0-9]*' <<<"$ended")$(((${ended%% *} - start) / 30000000000))" 0
    is "its volumes are free" "$(k get pv workspace-task state-task -o jsonpath='{.items[*].status.phase}')" \
        "Released Released"

    worker=$(workers | head -n 1)
    all_stored() { [ "$(store "$worker" last "$id")" = $((next - 1)) ]; }
    ok "its last event came to the bus, and to the store" wait_for 60 all_stored
    is "what stays on the bus" "$(r --scan --pattern "$key:$id*" | sort | tr '\n' ' '
        r hexists "$key:hello" "$id"
        r zscore "$key:sandboxes" "$id" | grep -c .)" \
        "$key:$id:actions $key:$id:events $key:$id:fence $key:$id:lease 1
1"
    # --forget is a day: 20 seconds here.
    k patch deployment dispatcher --type=json -p '[{"op": "add", "value": "--forget=20",
        "path": "/spec/template/spec/containers/0/command/-"}]' >/dev/null
    bus_empty() { [ -z "$(r keys 'od:*')" ]; }
    ok "until the dispatcher forgets it, as all sandboxes that are gone" wait_for 180 bus_empty
    worker=$(workers | head -n 1)
    ok "the store keeps its events" wait_for 60 all_stored

    claimed() { # CLAIM: one more, whose sandbox claims no volumes
        {
            echo 'apiVersion: extensions.agents.x-k8s.io/v1beta1'
            sed -n "s/task-1/$1/; /^kind: SandboxClaim/,\$p" agent-sandbox.yaml
        } >claim.yaml
        k create -f claim.yaml && served "$1"
    }
    all_gone() { [ -z "$(of_claim "$1")" ]; }
    ok "Delete: a claim has a sandbox" claimed task-2
    k delete "$claims/task-2" --cascade=background --wait=false >/dev/null
    is "deleted in the background, it goes at once" "$(exists "$claims/task-2" && echo there)" ""
    is "before its pod" "$(k get pod task-2 -o name)" pod/task-2
    ok "which follows, with the rest" wait_for 120 all_gone task-2
    ok "Retain: a claim has a sandbox" claimed task-3
    k delete "$sandboxes/task-3" --wait=false >/dev/null
    ok "deleted, the sandbox goes with all that it owns" wait_for 120 all_gone task-3
    ok "and the claim stays" exists "$claims/task-3"
fi

done_testing
