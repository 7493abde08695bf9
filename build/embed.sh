#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed.sh FILE [gz]: a header with the file as a C array, whose name is the file's with
# _ for every other character: click.js becomes click_js. With gz, compressed, name_gz.
#
# JavaScript, our CSS and shell code is embedded without comments and indentation, to send
# less to a page and to a starting shell. Comments are removed as whole lines only. A file
# must have no here-documents or template literals, and no string that continues on a
# line which begins with a blank or a comment's mark. Lines
# that begin with "#?" remain, for the code that fills in the text. Other files are
# embedded as they are.
set -eu

file=$1
name=$(basename "$file" | sed 's/[^A-Za-z0-9]/_/g')

strip() {
    case $file in
    *.js) sed -e 's/^[ \t]*//' -e '/^\/\//d' -e '/^$/d' "$file" ;;
    core/*.css) sed -e 's/^[ \t]*//' -e 's/: /:/g' -e 's/ {/{/g' -e '/^\/\*.*\*\/$/d' -e '/^$/d' "$file" ;;
    *.sh | *.bash) sed -e 's/^[ \t]*//' -e '/^#[^?]/d' -e '/^#$/d' -e '/^$/d' "$file" ;;
    *) cat "$file" ;;
    esac
}

echo "/* Made by build/embed.sh of $file. */"
if [ "${2:-}" = gz ]; then
    echo "static const unsigned char ${name}_gz[] = {"
    strip | gzip -9n | od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
    echo "};"
else
    echo "static const char ${name}[] ="
    # A ? is written \?, because two of them could begin a trigraph.
    strip | sed -e 's/[\\"?]/\\&/g' -e 's/	/\\t/g' -e 's/.*/    "&\\n"/'
    echo "    ;"
fi
