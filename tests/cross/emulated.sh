# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Programs of another processor, after tap.sh; $emulator is what runs them.
#
#   starts TARGET       builds the program, and starts it: sets $emulator, $arch, $other; false
#                       without a compiler or an emulator
#   serves ARCH         a check: a server of that processor, its shells and its clients
#   in_namespace COMMAND...   the command, where its programs run by themselves

# BearSSL is linked on x86_64 only: removes its part, and the line that ends it.
without_bearssl() {
    awk '/^-------*$/ && gone { gone = 0; getline; next }
        /^bearssl .*, which is linked into it/ { gone = 1 }
        !gone'
}

starts() {
    arch=${1%%-*}
    other=out/$arch-release/od
    if ! command -v "$1-gcc" >/dev/null; then
        skip "$arch" "no compiler"
        return 1
    fi
    ok "$arch: builds" make "TARGET=$1" all
    ok "$arch: static, position-independent, hardened" build/check-elf.sh "$other" "$other.debug"
    emulator=$(command -v "qemu-$arch-static" || command -v "qemu-$arch") || {
        skip "$arch: runs" "no emulator"
        return 1
    }
    like "$arch: runs" "$("$emulator" "$other" --version -v)" "*target: $1*"
    is "$arch: has the same applets" "$("$emulator" "$other" --list)" "$("$OD" --list)"
    is "$arch: the same licences" "$("$emulator" "$other" --licenses)" \
        "$("$OD" --licenses | without_bearssl)"
    is "$arch: hands octal dumps over" "$(printf abc | "$emulator" "$other" -An -c)" \
        "$(printf abc | PATH=/usr/bin:/bin od -An -c)"
    like "$arch: says how its server is used" "$("$emulator" "$other" help serve)" "*--plugins*"
}

in_namespace() {
    PATH=/usr/bin:/bin:/usr/sbin:/sbin unshare -Urmpf --mount-proc sh \
        "$ROOT/tests/cross/binfmt.sh" "$emulator" "$ROOT/$other" "$@"
}

serves() {
    in_namespace sh "$ROOT/tests/cross/serve.sh" "$ROOT/$other" >"$T/served" 2>"$T/serve.err"
    is "$1: serves shells and processes" "$(cat "$T/served")" '42
status 3
kept /
terminal
out
status 4
{"status":"ok"}
"content": "by HTTP"
ended 0'
    # shellcheck disable=SC2154 # it is tap.sh's
    [ "$tap_failed" = 0 ] || note "$(cat "$T/serve.err" "$T/log" 2>&1)"
}
