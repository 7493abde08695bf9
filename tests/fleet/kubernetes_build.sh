#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kubernetes_build.sh CACHE: builds the parts of a Kubernetes, of the distribution's
# source package with its Go, one process at a time and with the lowest priority. Prints
# the folder that has kube-apiserver, kube-controller-manager, kube-scheduler and kubelet;
# it is in CACHE, and the next call finds it there. 10 minutes on an idle machine; a build
# that was ended goes on where it was.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/built"
cache=$(cd "$1" && pwd)
for go in go /usr/lib/go-1.19/bin/go; do
    case $("$go" version 2>/dev/null) in *" go1.1"[89]* | *" go1.2"*) break ;; esac
    go=
done
[ -n "$go" ] || {
    echo "kubernetes: no Go: build/tools.sh fleet" >&2
    exit 1
}
key=$({
    awk '$1 == "kubernetes"' "$root/tests/fleet/kubernetes.lock"
    cat "$0"
    "$go" version
} | sha256sum | cut -c 1-16)
made=$cache/built/kubernetes-$key
exec 9>"$cache/built/kubernetes.lock"
flock 9
if [ -e "$made/version" ]; then
    echo "$made"
    exit 0
fi

line=$(DEPS_LOCK=$root/tests/fleet/kubernetes.lock OD_DEB_SUITES=${OD_DEB_SUITES:-bookworm} \
    "$root/build/fetch-deps.sh" "$cache" kubernetes)
archive=${line##* }
work=$cache/built/kubernetes.work
source=$work/src/k8s.io/kubernetes
# Is the source unpacked and complete, by this script?
has_source() { [ "$(cat "$work/key" 2>/dev/null)" = "$key" ]; }
mkdir -p "$work/tmp" "$made"
has_source || {
    rm -rf "$work/src"
    mkdir -p "$source"
    tar -xf "$archive" -C "$source" --strip-components=1
}
cd "$source"
export GOPATH="$work" GO111MODULE=off CGO_ENABLED=0 GOCACHE="$work/cache" GOTMPDIR="$work/tmp" \
    GOFLAGS=-p=1
# Since Go 1.18, reflect.mapiterinit writes through a third argument. The vendored reflect2
# passes two, so iterating over a map writes to a random address: an API server ends with a
# memory fault soon after it has a CustomResourceDefinition.
repair_reflect2() {
    cd vendor/github.com/modern-go/reflect2
    sed -i -e 's/^\(func mapiterinit(.*\)) \*hiter$/\1, it *hiter)/' \
        -e 's,// rest fields are ignored,_ [6]unsafe.Pointer; _ [4]uintptr,' unsafe_link.go
    sed -i 's/mapiterinit(\(.*\)),$/newIter(\1),/' unsafe_map.go
    cat >>unsafe_link.go <<'END'
func newIter(rtype, m unsafe.Pointer) *hiter {
	it := new(hiter)
	mapiterinit(rtype, m, it)
	return it
}
END
}
build() { nice -n 19 "$go" build -o "$1" -ldflags '-s -w' "$2" >&2; }

# The one file that is generated: the API's description, which the server serves.
has_source || {
    (repair_reflect2)
    build "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
    inputs=$(grep -rlE '^// \+k8s:openapi-gen=true' --include=doc.go --include='*.go' \
        pkg staging/src | sed 's,/[^/]*$,,; s,^staging/src/,vendor/,' |
        grep -v generated | sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd, -)
    "$work/openapi-gen" -i "$inputs" -p k8s.io/kubernetes/pkg/generated/openapi \
        -O zz_generated.openapi -h hack/boilerplate/boilerplate.generatego.txt \
        -r "$work/report" >&2
    echo "$key" >"$work/key"
}
for part in kubelet kube-scheduler kube-controller-manager kube-apiserver; do
    [ -x "$made/$part" ] || {
        build "$made/$part.new" "./cmd/$part"
        mv "$made/$part.new" "$made/$part"
    }
done
chmod -R u+w "$work"
rm -rf "$work"
"$go" version >"$made/version"
echo "$made"
