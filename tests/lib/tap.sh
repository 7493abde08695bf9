# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# A harness for tests in POSIX sh (or bash). A test begins with
#
#     . "$(dirname "$0")/../lib/tap.sh"
#
# has any number of checks, each of them one line of TAP, and ends in
# `done_testing`. It can be run alone, from anywhere, and many at a time:
#
#   $OD        the program under test (from the environment, else the release)
#   $ROOT      the source tree
#   $T         a private folder, removed at the end
#   HOME, TMPDIR, OD_SOCKET, OD_STATE_DIR, XDG_RUNTIME_DIR lie in $T, so a
#   server that a test starts is its own; it is stopped at the end, however
#   the test ends.
#   umask      022, whatever the caller's is
#   LC_ALL     C; with OD_TEST_LANG unset, and LANG is that
#
#   ok NAME COMMAND...      it succeeds        fails NAME COMMAND...  it does not
#   is NAME GOT WANTED      equal              like NAME GOT PATTERN  as in case
#   status NAME N COMMAND...  its exit status
#   skip NAME WHY           counted, not checked
#   skip_all WHY            the whole file, before any check
#   wait_for SECONDS COMMAND...  polls until it succeeds, for that long at least; for
#                           use in a check
#   at_end COMMAND...       run at the end, last one first
#   ipv6                    does this machine have IPv6, at least ::1?
#   note TEXT               a line for readers of the log
#
# After a check that fails come the lines that servers wrote since the previous failure:
# the last ones of every file in $T that is called log or *.log.

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
: "${OD:=$ROOT/out/$(uname -m)-release/od}"
if [ ! -x "$OD" ]; then
    echo "Bail out! no $OD: run make first"
    exit 1
fi

umask 022
T=$(mktemp -d "${TMPDIR:-/tmp}/od-test.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
mkdir "$T/home" "$T/tmp" "$T/run"
chmod 700 "$T/run"
for tap_name in $(env | sed -n 's/^\(OD_[A-Z_]*\)=.*/\1/p'); do
    case $tap_name in OD_TEST_* | OD_CACHE) ;; *) unset "$tap_name" ;; esac
done
unset tap_name ENV BASH_ENV CDPATH
# shellcheck source=tests/lib/path.sh
. "$ROOT/tests/lib/path.sh"
# For tests that build: the caller's cache, not one in the private home.
: "${OD_CACHE:=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/od}"
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
export OD_CACHE
export ROOT OD T LC_ALL=C
[ -z "${OD_TEST_LANG-}" ] || { unset LC_ALL; export LANG="$OD_TEST_LANG"; }
export HOME="$T/home" TMPDIR="$T/tmp" XDG_RUNTIME_DIR="$T/run"
export OD_SOCKET="$T/sock" OD_STATE_DIR="$T/state"

tap_count=0 tap_failed=0 tap_done='' tap_ends='' tap_doing=''

ipv6() { grep -qs ' lo$' /proc/net/if_inet6; }

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

tap_line() { # OK NAME
    tap_count=$((tap_count + 1))
    if [ "$1" = ok ]; then
        printf 'ok %d - %s\n' "$tap_count" "$2"
    else
        tap_failed=$((tap_failed + 1))
        printf 'not ok %d - %s\n' "$tap_count" "$2"
        tap_logs
    fi
}

# $T/.shown/ has the number of lines of each log that were already shown.
tap_logs() {
    mkdir -p "$T/.shown"
    find "$T" -maxdepth 5 \( -name .git -o -name .shown \) -prune \
        -o -type f \( -name log -o -name '*.log' \) -print 2>/dev/null | head -n 8 | while IFS= read -r tap_log; do
        tap_mark=$T/.shown/$(printf '%s' "${tap_log#"$T"/}" | tr / +)
        tap_from=$(cat "$tap_mark" 2>/dev/null || echo 0)
        wc -l <"$tap_log" >"$tap_mark"
        tail -n "+$((tap_from + 1))" "$tap_log" | tail -n 20 | cut -c 1-300 |
            sed "s|^|# ${tap_log#"$T"/}: |"
    done
}

# The output of a check's command goes to a file, which is shown only if it fails.
tap_run() {
    tap_doing=$*
    "$@" >"$T/.out" 2>&1
    tap_rc=$?
}

tap_show() {
    note "$1"
    head -c 4000 "$T/.out" | sed 's/^/# > /'
}

ok() {
    tap_name=$1
    shift
    tap_run "$@"
    if [ "$tap_rc" = 0 ]; then
        tap_line ok "$tap_name"
    else
        tap_line no "$tap_name"
        tap_show "status $tap_rc: $*"
    fi
}

fails() {
    tap_name=$1
    shift
    tap_run "$@"
    if [ "$tap_rc" != 0 ]; then
        tap_line ok "$tap_name"
    else
        tap_line no "$tap_name"
        tap_show "succeeded: $*"
    fi
}

status() {
    tap_name=$1 tap_want=$2
    shift 2
    tap_run "$@"
    if [ "$tap_rc" = "$tap_want" ]; then
        tap_line ok "$tap_name"
    else
        tap_line no "$tap_name"
        tap_show "status $tap_rc, not $tap_want: $*"
    fi
}

is() {
    if [ "$2" = "$3" ]; then
        tap_line ok "$1"
    else
        tap_line no "$1"
        note "got:    $2"
        note "wanted: $3"
    fi
}

like() {
    # shellcheck disable=SC2254 # a pattern is what is wanted here
    case $2 in
    $3) tap_line ok "$1" ;;
    *)
        tap_line no "$1"
        note "got:    $2"
        note "wanted: $3"
        ;;
    esac
}

skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    tap_done=yes
    exit 0
}

# Half a minute at least, times OD_TEST_SLOW (tests/run.sh measures it; 2 without it): a
# condition that holds takes no time, and machines can be very busy.
wait_for() {
    tap_end=$(($(date +%s) + ($1 > 30 ? $1 : 30) * ${OD_TEST_SLOW:-2}))
    shift
    tap_doing="wait_for $*"
    until "$@"; do
        if [ "$(date +%s)" -ge "$tap_end" ]; then
            note "waited in vain: $*" >&2
            return 1
        fi
        sleep 0.02
    done
}

at_end() {
    tap_ends="$*
$tap_ends"
}

# At the time limit: prints where the test stood, and the server's log.
tap_last_words() {
    note "the last command that was checked or waited for: $tap_doing" | head -c 1000
}

tap_clean() {
    tap_rc=$?
    trap - EXIT
    if [ -z "$tap_done" ]; then
        tap_line no "${0##*/} ended early, with status $tap_rc"
        [ "$tap_rc" != 143 ] || tap_last_words
        tap_rc=1
    fi
    cd /
    eval "$tap_ends" >/dev/null 2>&1
    if [ -S "$T/sock" ]; then
        OD_SOCKET=$T/sock timeout -k 5 20 "$OD" exec --stop >/dev/null 2>&1
    fi
    rm -rf "$T"
    exit "$tap_rc"
}
trap tap_clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

done_testing() {
    echo "1..$tap_count"
    tap_done=yes
    [ "$tap_failed" = 0 ]
    exit
}
