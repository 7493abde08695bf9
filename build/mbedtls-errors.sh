#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the unpacked mbedTLS: makes of the sentences in library/error.c a table, which
# pack-tables.sh then compresses (core/net/tls_words.c reads it):
#
#   library/error_packed.c   const struct { short code; char text[160]; }
#                            mbedtls_error_texts[]; the last code is 0
#
# Two of them are paragraphs: a sentence of ours has room for the first 159 characters.
set -eu

{
    grep '^#include' library/error.c
    echo 'const struct { short code; char text[160]; } mbedtls_error_texts[] = {'
    awk '
    /Begin Auto-Generated/ { on = 1 }
    /End Auto-Generated/ { on = 0 }
    on && /^ *#(if|endif)/ { print }
    on && /case -\(.*\):/ { sub(/.*case -\(/, ""); sub(/\):.*/, ""); code = $0 }
    on && /return\( ".*" \);/ {
        sub(/.*return\( /, ""); sub(/ \);.*/, "")
        if (length($0) > 161) $0 = substr($0, 1, 160) "\""
        if (!code) exit 1
        print "{ -(" code "), " $0 " },"
        code = ""
        n++
    }
    END { if (n < 150) exit 1 }
    ' library/error.c
    echo '{ 0, "" } };'
} >error_texts.c
sh pack-tables.sh mbedtls library/error_packed.c error_texts.c
