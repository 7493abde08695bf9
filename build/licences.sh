#!/bin/sh
# SPDX-License-Identifier: MIT
#
# licences.sh NAME=FOLDER...: a header with the licence texts of od and of all that
# is linked into it, compressed.
set -eu

texts() {
    echo "od is under this licence:"
    echo
    cat LICENSE
    for dep; do
        printf '\n%s\n\n%s %s, which is linked into it, is under this one:\n\n' \
            "----------------------------------------------------------------------" \
            "${dep%%=*}" "$(cat "${dep#*=}/version")"
        # mbedTLS lets us choose one of two licences, and its text ends with the other.
        sed '/^ *GNU GENERAL PUBLIC LICENSE$/{s/.*/(left out: od takes the first)/;q;}' \
            "${dep#*=}/licence"
    done
    cat <<'END2'

----------------------------------------------------------------------

libgcc, parts of which the compiler puts into every program, is under the GNU General
Public License, version 3, with the GCC Runtime Library Exception, version 3.1: a
program that was made by GCC may be passed on under its own terms.
END2
}

echo "/* Made by build/licences.sh. */"
echo "static const unsigned char licences_gz[] = {"
texts "$@" | gzip -9n | od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
echo "};"
