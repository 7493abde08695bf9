#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build-info.sh VERSION TARGET MODE COMPILER FLAGS NAME=FOLDER...: the source of
# applets/version.h, for `od --version -v`. It has no time and no path of this machine,
# and a commit only if the tree is exactly that commit: two builds of the same
# tree are identical.
set -eu

version=$1 target=$2 mode=$3 compiler=$4 flags=$5
shift 5

commit=
if [ -e .git ] && command -v git >/dev/null 2>&1 &&
    [ -z "$(git status --porcelain 2>/dev/null || echo unknown)" ]; then
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null || :)
fi

libraries=
for dep; do
    libraries="$libraries${libraries:+, }${dep%%=*} $(cat "${dep#*=}/version")"
done

cat <<END
/* Made by build/build-info.sh. */
#include "version.h"

const struct build_info build_info = {
    .version = "$version",
    .commit = "$commit",
    .target = "$target",
    .mode = "$mode",
    .compiler = "$compiler",
    .flags = "$flags",
    .libraries = "$libraries",
};
END
