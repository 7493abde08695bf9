#!/bin/sh
# SPDX-License-Identifier: MIT
#
# size.sh BUILD: the parts of the program in BUILD, in bytes, from the linker's map
# (BUILD/od.map): our layers, the applets, each library, and the rest.
set -eu

build=$1
{
    find core applets -name '*.c' | sed 's|\(.*\)/\(.*\)\.c$|layer \2.o \1|'
    sed -n '/^Linker script and memory map/,/^\/DISCARD\//p' "$build/od.map"
} | awk -v file="$(wc -c <"$build/od")" '
    $1 == "layer" { layer[$2] = $3; next }
    # A long name stands on a line of its own.
    NF == 1 && /^ \./ { held = $1; next }
    /^ / && held != "" { $0 = held " " $0 }
    { section = $1; held = "" }
    NF >= 4 && $2 ~ /^0x/ && $3 ~ /^0x/ && section !~ /^\.(debug|comment|bss|note\.GNU|symtab|strtab)/ {
        from = $4
        for (i = 5; i <= NF; i++)
            from = from " " $i
        if (match(from, /lib[a-z0-9_-]+\.a/)) {
            part = substr(from, RSTART, RLENGTH)
            if (part == "libcore.a" && match(from, /\([^)]*\)/))
                part = layer[substr(from, RSTART + 1, RLENGTH - 2)]
        } else if (from ~ /applets\//)
            part = "applets"
        else
            next
        sum[part] += strtonum_hex($3)
    }
    function strtonum_hex(s,  i, v) {
        v = 0
        for (i = 3; i <= length(s); i++)
            v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
        return v
    }
    END {
        for (p in sum) {
            printf "%8d  %s\n", sum[p], p | "sort -rn"
            all += sum[p]
        }
        close("sort -rn")
        printf "%8d  relocations, padding, headers\n", file - all
        printf "%8d  the file\n", file
    }'
