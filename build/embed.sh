#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed.sh FILE [gz]: a header with the file as a C array, whose name is the file's with
# _ for every other character: click.js becomes click_js. With gz, compressed, name_gz.
#
# Of JavaScript and shell code the array has neither comments nor indentation: what is
# sent to a page or read by a shell at each start stays short. Only whole lines are
# removed, so this is safe for a file without here-documents, template literals and
# strings that go on over a line which begins with a blank or a comment's mark. Lines
# that begin with "#?" remain, for the code that fills in the text. Other files are
# embedded as they are.
set -eu

file=$1
name=$(basename "$file" | sed 's/[^A-Za-z0-9]/_/g')

strip() {
    case $file in
    *.js) sed -e 's/^[ \t]*//' -e '/^\/\//d' -e '/^$/d' "$file" ;;
    *.sh | *.bash) sed -e 's/^[ \t]*//' -e '/^#[^?]/d' -e '/^#$/d' -e '/^$/d' "$file" ;;
    *) cat "$file" ;;
    esac
}

echo "/* Made by build/embed.sh of $file. */"
if [ "${2:-}" = gz ]; then
    echo "static const unsigned char ${name}_gz[] = {"
    gzip -9n <"$file" | od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
    echo "};"
else
    echo "static const char ${name}[] ="
    # A ? is written \?, lest two of them make a trigraph.
    strip | sed -e 's/[\\"?]/\\&/g' -e 's/	/\\t/g' -e 's/.*/    "&\\n"/'
    echo "    ;"
fi
