#!/bin/sh
# SPDX-License-Identifier: MIT
#
# xterm.sh: makes of the package of xterm.js, in the current directory,
#
#   xterm_files.c, .h   its module and its style sheet, compressed, as C arrays
#
# Both are as the package has them, except for the module's last line, the address of a
# map that is for its authors.
set -eu

array() { # FILE NAME
    gzip -9 -n -c "$1" >"$2.gz"
    cat >>xterm_files.c <<END
__asm__(".section .rodata.$2,\"a\"\n"
        ".globl $2\n.globl $2_end\n"
        "$2:\n.incbin \"$2.gz\"\n$2_end:\n.byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n.text\n");
END
    echo "extern const unsigned char $2[], $2_end[]; /* gzip */" >>xterm_files.h
}

echo "/* Made by build/xterm.sh. */" | tee xterm_files.c >xterm_files.h
sed '/^\/\/# sourceMappingURL=/d' lib/xterm.mjs >xterm.mjs
if grep -q sourceMappingURL xterm.mjs; then exit 1; fi
array xterm.mjs xterm_mjs
array css/xterm.css xterm_css
