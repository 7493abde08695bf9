#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the unpacked musl: makes the tables of East Asian character sets in od from
# musl's.
#
#   charsets.c, .h, .gz   the tables, and their declaration in C
#
# The tables, one after the other: gb18030 (126 rows of 190), jis0208 (84 of 94),
# big5 (89 of 157), ksc (93 of 94); each entry is the low 16 bits of a code point, or 0.
# For gzip they are differences from the entry before, first the high bytes of all of
# them, then the low ones.
set -eu
export LC_ALL=C

for table in gb18030 jis0208 big5 ksc; do
    tr ',' '\n' <"src/locale/$table.h" | grep -v '^[[:space:]]*$'
done >charsets.list
awk '
BEGIN { n = 0; split("gb18030 jis0208 big5 ksc", name); split("23940 7896 13973 8742", size) }
{ delta[n] = ($1 - last + 65536) % 65536; last = $1 + 0; n++ }
END {
    for (i in size) want += size[i]
    if (n != want) {
        print "charset-tables: musl has " n " entries, not " want > "/dev/stderr"
        exit 1
    }
    for (i = 0; i < n; i++) printf "\\%03o%s", int(delta[i] / 256), i % 100 == 99 ? "\n" : ""
    print ""
    for (i = 0; i < n; i++) printf "\\%03o%s", delta[i] % 256, i % 100 == 99 ? "\n" : ""
    print ""
}' charsets.list >charsets.octal
# shellcheck disable=SC2059 # the lines are made of \ooo only
while read -r line; do printf "$line"; done <charsets.octal >charsets
gzip -9 -n -f charsets

cat >charsets.h <<'END'
/* Made by build/charset-tables.sh, which says what is in them. */
enum { CHARSETS_GBK = 126 * 190, CHARSETS_JIS = 84 * 94, CHARSETS_BIG5 = 89 * 157,
       CHARSETS_KSC = 93 * 94 };
extern const unsigned char charsets[], charsets_end[]; /* gzip */
END
cat >charsets.c <<'END'
__asm__(".section .rodata.charsets,\"a\"\n"
        ".globl charsets\n.globl charsets_end\n"
        "charsets:\n.incbin \"charsets.gz\"\ncharsets_end:\n.byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n.text\n");
END
