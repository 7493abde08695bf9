#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh: checks that a room includes only the rooms that build/rooms names for
# it; that these are above it in that list, so that there is no circle; that a header
# own.h or NAME_own.h is included in its own room only, and a header of a third party by
# one file per library; and, with CC and CFLAGS in the environment, that every header can
# be included alone. Prints the rooms with their lines of code.
set -u
cd "$(dirname "$0")/.." || exit 1

rc=0
# shellcheck disable=SC2046 # names without blanks
awk '
    function base(path) { sub(/.*\//, "", path); return path }
    function dir(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
    function bad(why) { print FILENAME ":" FNR ": " why; rc = 1 }
    BEGIN {
        only["cJSON.h"] = "^core/base/json\\.c$"
        only["vterm.h"] = "^core/term/[a-z_]*\\.[ch]$"
        only["vterm_keycodes.h"] = only["vterm.h"]
        only["bearssl_block.h"] = "^core/net/tls_gcm\\.c$"
        only["bearssl_hash.h"] = only["bearssl_block.h"]
        only["pcre2.h"] = "^core/text/pattern\\.c$"
        only["zlib.h"] = "^core/(archive/zip[a-z_]*|net/authorities)\\.c$"
        tls = "^core/(base/(hash|cipher)|net/(tls[a-z_]*|trust|issuer))\\.[ch]$"
        made["licences.h"] = 1
    }
    FILENAME == "build/rooms" {
        sub(/#.*/, "")
        except = sub(/^EXCEPT /, "")
        if (!sub(/:/, ""))
            next
        if (!except)
            name[rank[$1] = ++rooms] = $1
        for (i = 2; i <= NF; i++) {
            may[$1, $i] = 1
            if (except)
                waived[$1, $i] = 1
            if (!except && !($i in rank))
                bad($1 " may include " $i ", which does not stand above it")
        }
        next
    }
    FNR == 1 {
        own = dir(FILENAME)
        sub(/^core\//, "", own)
        if (!(own in rank))
            bad("the folder is not in build/rooms")
    }
    { lines[own]++ }
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
        room = dir(wanted)
        # A text that build/embed.sh makes a header of is for the room whose folder it is in.
        if (wanted ~ /\.(js|sh|bash|html|css|txt|py|ts)(\.gz)?\.h$/) {
            if (own == "applets" ? room != "" : index(room "/", own "/") != 1)
                bad("\"" wanted "\" is for " room " alone")
            next
        }
        used[own, room] = 1
        if (room == own || (room == "" && (own == "applets" || wanted in made)))
            next
        if (!(room in rank))
            bad("\"" wanted "\": includes are written from core/")
        else if (!((own, room) in may))
            bad("\"" wanted "\": " own " may not include " room " (build/rooms)")
        else if (!((own, room) in waived) && base(wanted) ~ /(^|_)own\.h$/)
            bad("\"" wanted "\" is for " room " alone")
    }
    END {
        for (edge in may)
            if (!(edge in used)) {
                split(edge, part, SUBSEP)
                print "build/rooms: " part[1] " does not include " part[2]
                rc = 1
            }
        for (i = 1; i <= rooms; i++)
            printf "%s%s %d", (i > 1 ? ", " : ""), name[i], lines[name[i]]
        print " lines"
        exit rc
    }
' build/rooms $(find core applets -name '*.[ch]' | sort) || rc=1

# A unit test lies in the folder of its room.
find tests/unit -name 't_*.c' 2>/dev/null | sort | awk '
    FILENAME == "build/rooms" { if (sub(/:.*/, "")) room[$0] = 1; next }
    {
        of = $0
        sub(/^tests\/unit\//, "", of)
        if (!sub(/\/[^\/]*$/, "", of) || !(of in room)) {
            print $0 ": tests/unit/ROOM/t_NAME.c, where ROOM is in build/rooms"
            rc = 1
        }
    }
    END { exit rc }' build/rooms - || rc=1

# A header that a source file includes before all else is compiled alone with that file.
# The other headers are compiled here.
if [ -n "${CC:-}" ]; then
    headers=$(
        {
            # shellcheck disable=SC2046 # names without blanks
            awk 'FNR == 1 { top = 1 }
                top && /^[#A-Za-z_]/ {
                    top = 0
                    if (sub(/^#include "/, "") && sub(/".*/, "")) {
                        print "core/" $0
                        print "applets/" $0
                    }
                }' $(find core applets -name '*.c') | sort -u | sed p
            find core applets -name '*.h'
        } | sort | uniq -u
    )
    for header in $headers; do
        # shellcheck disable=SC2086 # options are words
        printf '#include "%s"\n' "${header#*/}" |
            $CC ${CFLAGS:-} -Icore -Iapplets -fsyntax-only -x c - || {
            echo "$header: cannot be included alone"
            rc=1
        }
    done
fi
exit $rc
