#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pack-tables.sh NAME OUT.c SOURCE.c...: makes a C file that has the constants of the
# sources in zeroed memory, under their own names, and their content compressed:
#
#   NAME_tables .. NAME_tables_end   where zip_tables() unpacks it (archive/zip_text.h)
#   NAME_tables_gz .. NAME_tables_gz_end   gzip
#
# The sources have constants without addresses and with names that other files see. The
# compiler gives the content, so it is what would have been linked otherwise. In the
# environment: CC, CFLAGS, AR, and DEP_CPP, more options; may be empty.
set -eu

name=$1 out=$2
shift 2
tools=${AR%ar}
work=$out.work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
line() { printf '    "%s\\n"\n' "$1"; }

: >"$work/all"
{
    printf '/* Made by build/pack-tables.sh. */\n__asm__(\n'
    line ".section .bss.${name}_tables,\\\"aw\\\",%nobits"
    line '.balign 16'
    line ".globl ${name}_tables"
    line "${name}_tables:"
    for source in "$@"; do
        # shellcheck disable=SC2086 # options are words
        $CC $CFLAGS ${DEP_CPP:-} -fPIE -fdata-sections -fno-sanitize=all -w \
            -c "$source" -o "$work/o"
        "${tools}nm" "$work/o" | awk '$2 == "R" { print $3 }' |
            LC_ALL=C sort >"$work/symbols"
        while read -r symbol; do
            rm -f "$work/part"
            "${tools}objcopy" -O binary --only-section=".rodata.$symbol" \
                "$work/o" "$work/part"
            bytes=$(($(wc -c <"$work/part")))
            [ $bytes -gt 0 ]
            room=$(((bytes + 15) / 16 * 16))
            cat "$work/part" >>"$work/all"
            head -c $((room - bytes)) /dev/zero >>"$work/all"
            line ".globl $symbol"
            line ".type $symbol,%object"
            line ".size $symbol,$bytes"
            line "$symbol: .zero $room"
        done <"$work/symbols"
    done
    line ".globl ${name}_tables_end"
    line "${name}_tables_end:"
    line ".section .rodata.${name}_tables_gz,\\\"a\\\""
    line ".globl ${name}_tables_gz"
    line ".globl ${name}_tables_gz_end"
    line "${name}_tables_gz:"
    gzip -9 -n -c "$work/all" | od -An -v -tu1 |
        sed 's/  */,/g; s/^,\(.*\)/    ".byte \1\\n"/'
    line "${name}_tables_gz_end: .byte 0"
    line '.section .note.GNU-stack,\"\",%progbits'
    line '.text'
    echo '    );'
} >"$work/c"
mv "$work/c" "$out"
