#!/bin/sh
# SPDX-License-Identifier: MIT
#
# if-changed.sh FILE: writes standard input to FILE if that differs, so that targets that
# depend on FILE are not rebuilt without need.
set -eu
cat >"$1.new.$$"
if cmp -s "$1.new.$$" "$1"; then
    rm "$1.new.$$"
else
    mv "$1.new.$$" "$1"
fi
