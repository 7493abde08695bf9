#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build-dep.sh CACHE NAME DEST: builds one dependency into DEST, which is in
# the cache and has a hash of everything that matters in its name: present
# means complete and right. In the environment: CC, AR, TARGET, CFLAGS, and
#   DEP_SRC  the C files, patterns inside the archive, or "musl": its own way
#   DEP_INC  the public headers, patterns too, or folders of them
#   DEP_CPP  preprocessor options, paths inside the archive
#   DEP_ONLY  FILE=OPTION: more options for one C file, or for a pattern; may be empty
#   DEP_MAKE  a command that is run in it first; may be empty
#   DEP_OWN  pairs: a file of ours and its place in the archive: configuration; may be empty
#   DEP_REN  pairs: a file inside the archive and the name it is used by; may be empty
# Makes DEST/include, DEST/lib/libNAME.a, DEST/licence and DEST/version.
#
# Concurrent builds: one waits for the other where flock is to be had; without
# it both build aside and the first to rename wins.
set -eu

mkdir -p "$(dirname "$3")" "$1/lock"
cache=$(cd "$1" && pwd) name=$2
dest=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$dest" ] && exit 0
if command -v flock >/dev/null 2>&1; then
    exec 9>"$cache/lock/$(basename "$dest")"
    flock 9
    [ -d "$dest" ] && exit 0
fi

# All archives in one go, by one process: an index of packages is large.
names=$(awk '!/^#/ && NF { print $1 }' "$here/deps.lock")
# shellcheck disable=SC2086 # names
got=$({
    ! command -v flock >/dev/null 2>&1 || flock 8
    "$here/fetch-deps.sh" "$cache" $names
} 8>"$cache/lock/fetch")
got=$(printf '%s\n' "$got" | grep "^$name ")
archive=${got#* * }
version=${got#* }
version=${version%% *}
work=$dest.part.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$work"
mkdir -p "$work/src" "$work/out/lib" "$work/out/include"
tar -xf "$archive" -C "$work/src" --strip-components=1
# shellcheck disable=SC2086 # names without blanks
set -- ${DEP_OWN:-}
while [ $# -gt 1 ]; do
    cp "$here/../$1" "$work/src/$2"
    shift 2
done
cd "$work/src"
work=$(cd .. && pwd)
# shellcheck disable=SC2086 # names without blanks
set -- ${DEP_REN:-}
while [ $# -gt 1 ]; do
    cp "$1" "$2"
    shift 2
done
export ZERO_AR_DATE=1

if [ "$DEP_SRC" = musl ]; then
    CROSS_COMPILE=${AR%ar} ./configure --target="$TARGET" --prefix="$work/out" \
        --disable-shared --disable-wrapper CC="$CC" CFLAGS="$CFLAGS" >"$work/log" 2>&1
    make -j"$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" \
        install-libs install-headers >>"$work/log" 2>&1 9>&- || {
        tail -n 20 "$work/log" >&2
        exit 1
    }
    # What makes a gcc for glibc link against this musl, statically and as PIE.
    sed "s#@MUSL@#$dest#g" "$here/specs.in" >"$work/out/od.specs"
else
    # shellcheck disable=SC2086 # words
    [ -z "${DEP_MAKE:-}" ] || $DEP_MAKE
    for file in $DEP_SRC; do
        only=''
        for word in ${DEP_ONLY:-}; do
            # shellcheck disable=SC2254 # a pattern
            case $file in ${word%%=*}) only="$only ${word#*=}" ;; esac
        done
        # shellcheck disable=SC2086 # options are words
        $CC $CFLAGS $DEP_CPP $only -ffile-prefix-map="$work/src=$name" -w \
            -c "$file" -o "${file%.c}.o"
    done
    # shellcheck disable=SC2046,SC2086 # patterns, names without blanks
    "$AR" rcsD "$work/out/lib/lib$name.a" $(printf '%s\n' $DEP_SRC | sed 's/\.c$/.o/')
    # shellcheck disable=SC2086
    cp -R $DEP_INC "$work/out/include/"
fi
cp LICEN?E* "$work/out/licence" 2>/dev/null || cp COPYRIGHT "$work/out/licence"
echo "$version" >"$work/out/version"
# An interrupted make leaves a folder without version, as it removes the file that it was making.
[ -e "$dest/version" ] || rm -rf "$dest"
# Where another was faster, its result is as good as ours.
mv -T "$work/out" "$dest" 2>/dev/null || [ -d "$dest" ]
echo "built $name $version" >&2
