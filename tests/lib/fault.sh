# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For tests of failures in the middle of work, instead of tap.sh, which it includes:
#
#   torture SCENARIO...     runs those of tests/fault/torture.py, and ends the test

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

torture() {
    lib=$(dirname "$OD")/lib
    if [ ! -x "$lib/fault" ] || [ ! -x "$lib/od-fault" ]; then
        (cd "$ROOT" && env -u MAKEFLAGS -u MAKELEVEL -u MODE make --no-print-directory \
            "${lib#"$ROOT"/}/fault" "${lib#"$ROOT"/}/od-fault" >"$T/made" 2>&1) ||
            skip_all "tests/lib/fault.c cannot be built: $(tail -n 1 "$T/made")"
    fi
    "$lib/fault" "$T/ctl" /bin/true 2>/dev/null ||
        skip_all "no notifications of seccomp here"
    PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/tests/fault/torture.py" "$@"
    rc=$?
    # shellcheck disable=SC2034 # tap.sh looks at it
    tap_done=yes
    exit $rc
}
