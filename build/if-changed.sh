#!/bin/sh
# SPDX-License-Identifier: MIT
#
# if-changed.sh FILE: standard input into FILE, untouched if it says that
# already, so that what depends on it is not built again.
set -eu
cat >"$1.new.$$"
if cmp -s "$1.new.$$" "$1"; then
    rm "$1.new.$$"
else
    mv "$1.new.$$" "$1"
fi
