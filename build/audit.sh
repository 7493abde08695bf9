#!/bin/sh
# SPDX-License-Identifier: MIT
#
# audit.sh [--offline]: what is known about the dependencies of build/deps.lock.
#
# Prints for each of them the version that is built, the newest that its registry has
# (Debian's index of source packages, or npm), and the advisories that a maintainer wrote
# down under its line in the lock:
#
#   #! ID[, fixed in VERSION]: not affected, because …
#   #! ID[, fixed in VERSION]: affected, because …
#
# The version that is built is the first of its line, unless the cache only has an older
# one of that line. An advisory that is fixed in it is printed as fixed. A registry that
# cannot be reached makes "unknown" of that row, and so does --offline, which asks none.
#
# Exits 1 if an advisory affects what is built, or a line of the lock cannot be read; 0
# otherwise: a newer version is news and no fault, and neither is a missing network.
set -eu

here=$(dirname "$0")
lock=${DEPS_LOCK:-$here/deps.lock}
cache=${OD_AUDIT_CACHE:-$("$here/cache-dir.sh")}
if ! [ -r "$lock" ]; then
    echo "audit: cannot read $lock" >&2
    exit 1
fi
newest=
if [ "${1-}" != --offline ]; then
    # shellcheck disable=SC2046 # names without blanks
    newest=$("$here/fetch-deps.sh" "$cache" --newest \
        $(awk '!/^#/ && NF { print $1 }' "$lock") 2>/dev/null) || newest=
fi
present=$(cd "$cache/archives" 2>/dev/null && ls) || present=

{
    printf '%s\n' "$newest" | sed 's/^/newest /'
    printf '%s\n' "$present" | sed 's/^/present /'
    sed 's/^/lock /' "$lock"
} | awk '
    # Whether version a is older than b: numbers between other characters, one by one.
    function older(a, b,    x, y, n, m, i) {
        n = split(a, x, /[^0-9]+/)
        m = split(b, y, /[^0-9]+/)
        for (i = 1; i <= n || i <= m; i++)
            if (x[i] + 0 != y[i] + 0)
                return x[i] + 0 < y[i] + 0
        return 0
    }
    function built(pairs,    p, n, i, v, first) {
        n = split(pairs, p, ",")
        for (i = 1; i <= n; i++) {
            v = p[i]
            sub(/:.*/, "", v)
            if (i == 1)
                first = v
            if ((name "-" v ".tar") in have)
                return v
        }
        return first
    }
    function bad(why) {
        printf "build/deps.lock:%d: %s\n", line, why
        wrong++
    }
    $1 == "newest" { if (NF == 3 && $3 != "-") news[$2] = $3; next }
    $1 == "present" { have[$2] = 1; next }
    { line++ }
    $2 ~ /^#!/ {
        text = $0
        sub(/^lock #! */, "", text)
        if (name == "") {
            bad("an advisory must follow the line of its dependency")
            next
        }
        if (text !~ /^[A-Z][A-Za-z0-9-]*(, fixed in [0-9][^ :]*)?: (not )?affected, because ./) {
            bad("an advisory is \"#! ID[, fixed in VERSION]: [not] affected, because ...\"")
            next
        }
        id = text
        sub(/[,:].*/, "", id)
        fixed = ""
        if (text ~ /^[^:]*, fixed in /) {
            fixed = text
            sub(/^[^:]*, fixed in /, "", fixed)
            sub(/:.*/, "", fixed)
        }
        verdict = text
        sub(/^[^:]*: /, "", verdict)
        if (fixed != "" && !older(version, fixed))
            verdict = "fixed in " fixed
        else if (verdict ~ /^affected/)
            affected++
        printf "    %s: %s\n", id, verdict
        next
    }
    NF < 2 || $2 ~ /^#/ { next }
    {
        name = $2
        if (NF < 4 || $3 !~ /^[^:,]+:[0-9a-f]+(,[^:,]+:[0-9a-f]+)*$/) {
            bad("a dependency is \"NAME VERSION:SHA256[,...] SOURCE [ADDRESS]\"")
            name = ""
            next
        }
        version = built($3)
        if (!(name in news))
            note = "newest: unknown, " $4 " was not reached"
        else if (older(version, news[name]))
            note = "newest: " news[name] " (" $4 ")"
        else
            note = "the newest (" $4 ")"
        printf "%-16s %-12s %s\n", name, version, note
        names++
    }
    END {
        if (!names)
            bad("there is no dependency")
        printf "%d dependencies, %d advisories affect what is built\n", names, affected
        exit (wrong || affected) ? 1 : 0
    }'
