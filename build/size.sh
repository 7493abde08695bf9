#!/bin/sh
# SPDX-License-Identifier: MIT
#
# size.sh BUILD: the bytes of the program in BUILD, room by room and library by library,
# beside the budget that build/sizes gives each, from the linker's map (BUILD/od.map,
# which each build writes).
#
# size.sh BUILD check: prints only what is wrong, and exits 1 then: a room that is over its
# budget, that has no line in build/sizes, or a line there without a room.
#
# A string that several files have is in the program once, and counts for each of them.
set -eu

build=$1 check=${2:-}
here=$(dirname "$0")
map=$build/od.map
[ -s "$map" ] || {
    echo "size: there is no $map: run make, which links $build/od and writes it" >&2
    exit 1
}
case $build in
*x86_64-release*) ;;
*)
    # Another processor or mode has other sizes.
    [ -z "$check" ] || exit 0
    ;;
esac
{
    sed '/^#/d; /^$/d; s/^/budget /' "$here/sizes"
    sed '1,/^Linker script and memory map/d' "$map"
} | awk -v file="$(wc -c <"$build/od")" -v check="$check" '
    function hex(s,  i, v) {
        for (i = 3; i <= length(s); i++)
            v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
        return v
    }
    # obj/core/http/ws.o is of the room http, libz.a(x.o) of libz.
    function part_of(path) {
        if (match(path, /lib[a-z0-9_-]*\.a\(/))
            return substr(path, RSTART, RLENGTH - 3)
        if (path ~ /crt[0-9in]*\.o$/)
            return "libc"
        if (!sub(/.*\/obj\//, "", path))
            return ""
        sub(/^core\//, "", path)
        return sub(/\/[^\/]*$/, "", path) ? path : "applets"
    }
    function wrong(text) {
        print "size: " text
        bad = 1
    }
    $1 == "budget" { budget[$2] = $3; next }
    # A long name stands on a line of its own.
    NF == 1 && /^ \./ { held = $1; next }
    /size before relaxing/ {
        if (part != "") {
            sum[part] += hex($1) - bytes
            shared += hex($1) - bytes
        }
        next
    }
    /^ / && held != "" { $0 = held " " $0 }
    {
        held = part = ""
        if (NF < 4 || $2 !~ /^0x/ || $3 !~ /^0x/ || $1 !~ /^\.[a-z]/ ||
            $1 ~ /^\.(debug|comment|bss|note\.GNU|symtab|strtab)/)
            next
        part = part_of($4)
        bytes = hex($3)
        if (part != "")
            sum[part] += bytes
    }
    END {
        if (file > budget["all"])
            wrong("the file has " file " bytes, its budget is " budget["all"])
        for (p in sum) {
            all += sum[p]
            if (!check)
                printf "%8d %8s  %s\n", sum[p], budget[p], p | "sort -rn"
            else if (!(p in budget))
                wrong(p " has " sum[p] " bytes and no budget: add its line to build/sizes")
            else if (sum[p] > budget[p])
                wrong(p " has " sum[p] " bytes, its budget is " budget[p] \
                      ": make it smaller (flags and packed texts: build/flags.mk, Makefile)," \
                      " or raise its line in build/sizes and say in the commit what for")
        }
        for (p in budget)
            if (check && p != "all" && !(p in sum))
                wrong("build/sizes has " p ", which is not in the program")
        if (!check) {
            close("sort -rn")
            printf "%8d %8s  strings that several files have\n", -shared, ""
            printf "%8d %8s  relocations, padding, headers\n", file - all + shared, ""
            printf "%8d %8s  the file\n", file, budget["all"]
        }
        exit bad
    }'
