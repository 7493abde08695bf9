#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh: includes go to the own layer or a lower one, and what comes
# from elsewhere is seen by one file a family. With CC and CFLAGS in the
# environment also: every header can be included alone.
set -u
cd "$(dirname "$0")/.." || exit 1

rc=0
# shellcheck disable=SC2046 # names without blanks
awk '
    function base(path) { sub(/.*\//, "", path); return path }
    function bad(why) { print FILENAME ":" FNR ": " why; rc = 1 }
    BEGIN {
        n = split("base os io net proto engine front", name, " ")
        for (i = 1; i <= n; i++)
            rank[name[i]] = i
        rank["applets"] = n + 1
        only["cJSON.h"] = "^core/base/json\\.c$"
        only["vterm.h"] = "^core/engine/term[a-z_]*\\.c$"
        only["vterm_keycodes.h"] = only["vterm.h"]
        only["pcre2.h"] = "^core/proto/pattern\\.c$"
        only["zlib.h"] = "^core/(proto/zip[a-z_]*|net/authorities)\\.c$"
        tls = "^core/(base/hash|net/(tls[a-z_]*|trust))\\.[ch]$"
    }
    FNR == 1 {
        split(FILENAME, part, "/")
        own = part[1] == "core" ? part[2] : part[1]
        if (!(own in rank))
            bad("the folder is no layer")
    }
    /^[ \t]*#[ \t]*include/ {
        wanted = $0
        quoted = wanted ~ /"/
        gsub(/^[^"<]*["<]|[">].*$/, "", wanted)
        for (header in only)
            if (base(wanted) == header && FILENAME !~ only[header])
                bad(header " belongs to " only[header])
        if (wanted ~ /^(mbedtls|psa)\// && FILENAME !~ tls)
            bad(wanted " belongs to " tls)
        if (!quoted || base(wanted) in only)
            next
        layer = wanted
        if (sub(/\/.*/, "", layer) == 0) {
            # Without a folder: applets among themselves, and what is made.
            if (own != "applets" && wanted != "build_info.h" && wanted != "kernel_python.h")
                bad("\"" wanted "\": includes are written from core/")
        } else if (!(layer in rank)) {
            bad("\"" wanted "\": no such layer")
        } else if (rank[layer] > rank[own]) {
            bad("\"" wanted "\" is above " own)
        }
    }
    END { exit rc }
' $(find core applets -name '*.[ch]' | sort) || rc=1

if [ -n "${CC:-}" ]; then
    for header in $(find core applets -name '*.h' | sort); do
        # shellcheck disable=SC2086 # options are words
        printf '#include "%s"\n' "${header#*/}" |
            $CC ${CFLAGS:-} -Icore -Iapplets -fsyntax-only -x c - || {
            echo "$header: cannot be included alone"
            rc=1
        }
    done
fi
exit $rc
