#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-elf.sh FILE UNSTRIPPED: proves that a release runs in any image and is
# hardened. No tool warns if it is not: with a linker option in the wrong place
# the program needs a C library that is not there.
set -u

file=$1 unstripped=$2 rc=0
head=$(readelf -hW "$file") || exit 1
segments=$(readelf -lW "$file")
dynamic=$(readelf -dW "$file")
symbols=$(nm "$unstripped") || exit 1

has() {
    printf '%s\n' "$2" | grep -Eq "$3" && return
    echo "check-elf: $file: $1"
    rc=1
}
no() {
    printf '%s\n' "$2" | grep -Eq "$3" || return
    echo "check-elf: $file: $1"
    rc=1
}

has "no position-independent executable" "$head" 'Type: +DYN'
has "not marked as PIE" "$dynamic" 'FLAGS_1.*PIE'
no "wants an interpreter: not static" "$segments" 'INTERP'
no "wants a shared library: not static" "$dynamic" '\(NEEDED\)'
no "relocations in the text" "$dynamic" 'TEXTREL'
no "addresses to be looked up by name: it dies at start" \
    "$(readelf -rW "$file" | sed 's/R_[A-Z0-9_]*_RELATIVE//')" ' R_[A-Z0-9]+_'
has "no RELRO" "$segments" 'GNU_RELRO'
has "not bound at start: half a RELRO" "$dynamic" 'BIND_NOW|FLAGS_1.*NOW'
has "no stack header: an executable stack" "$segments" 'GNU_STACK'
no "a segment is writable and executable" "$segments" '(LOAD|GNU_STACK).* (RWE|RW E|WE) '
no "debug or symbol sections left" "$(readelf -SW "$file")" '\.(debug_|symtab)'
no "made with glibc" "$(readelf -nW "$file"; printf '%s\n' "$symbols")" \
    'NT_GNU_ABI_TAG|GLIBC|__libc_start_call_main'
# See build/deps.lock: the function has a known fault in this musl.
no "iconv is linked in" "$symbols" ' [TtWw] iconv(_open)?$'
# Builds of od recognise each other by this note; core/os/self.h reads only one page.
note=$(readelf -SW "$file" | sed -n 's/.* \.note\.od *NOTE *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
if [ -z "$note" ] || [ $((0x$note)) -gt 4000 ]; then
    echo "check-elf: $file: .note.od is not in the first page"
    rc=1
fi
exit $rc
