# SPDX-License-Identifier: MIT
# shellcheck shell=bash # and any POSIX sh: what only bash has, it alone is given
#
# One run of a session (session.c): $1 is the command. Its error output goes to its output;
# the error output of this shell gets the exported variables and the directory at the end.
exec 3>&2 2>&1
od_report() {
    if [ -n "$BASH_VERSION" ]; then
        for od_name in $(compgen -e); do printf '%s=%s\0' "$od_name" "${!od_name}"; done
    else
        cat /proc/self/environ
    fi >&3
    printf '%s\0' "$PWD" >&3
}
trap od_report EXIT
eval "$1" 3>&-
