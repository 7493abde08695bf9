#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install.sh [--prefix DIR] [--uninstall]: installs od for everybody (as root:
# /usr/local) or for you (~/.local), with links od-APPLET, manual pages and
# completion. Takes the file that was built in out/, or the one beside this
# script in a release, and builds one if there is none.
#
# It never touches the system's od(1): a file of that name which is not ours
# stays, and this stops. In front of it on PATH, ours hands octal dumps over.
# DESTDIR is put before every path, for packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
action=install

die() {
    echo "install.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -gt 1 ] || die "--prefix needs a folder"
        prefix=$2
        shift
        ;;
    --prefix=*) prefix=${1#*=} ;;
    --uninstall) action=uninstall ;;
    -h | --help)
        sed -n '4,12s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) die "$1: unknown; see --help" ;;
    esac
    shift
done
case $prefix in /*) ;; *) die "--prefix $prefix: not an absolute path" ;; esac

root=${DESTDIR:-}$prefix
bin=$root/bin

# Every build of ours has this in its first page, see core/os/self.c.
ours() { head -c 4096 "$1" 2>/dev/null | LC_ALL=C grep -q "an od of an agent's box"; }
# What build/man.sh and build/completion.sh make says where it is from.
made() { head -n 3 "$1" 2>/dev/null | grep -q 'Made from the usage text'; }

# The file to install, and the folder with the documentation.
find_build() {
    for build in "${OD_BUILD:-}" "$here" "$here/out/$(uname -m)-release"; do
        [ -n "$build" ] && [ -f "$build/od" ] && ours "$build/od" && return
    done
    command -v make >/dev/null 2>&1 || "$here/build/tools.sh" build
    make -C "$here" all docs || die "the build failed"
}

put() { # FILE FOLDER NAME
    [ -f "$1" ] || return 0
    mkdir -p "$2"
    cp "$1" "$2/.$3.$$"
    chmod 644 "$2/.$3.$$"
    mv "$2/.$3.$$" "$2/$3"
}

install() {
    build=
    find_build
    docs=$build/docs
    mkdir -p "$bin" || die "cannot make $bin"
    if [ -e "$bin/od" ] && ! ours "$bin/od"; then
        die "$bin/od is another program: choose another --prefix"
    fi
    # Written aside and renamed: a server that runs keeps its file.
    cp "$build/od" "$bin/.od.$$"
    chmod 755 "$bin/.od.$$"
    mv "$bin/.od.$$" "$bin/od"
    if "$bin/od" --list >/dev/null 2>&1; then
        "$bin/od" --install "$bin" >/dev/null
    else
        echo "install.sh: $bin/od does not run here: no links made" >&2
    fi
    for page in "$docs"/man/*.[17]; do
        put "$page" "$root/share/man/man${page##*.}" "$(basename "$page")"
    done
    put "$docs/completion/od.bash" "$root/share/bash-completion/completions" od
    put "$docs/completion/_od" "$root/share/zsh/site-functions" _od
    put "$docs/completion/od.fish" "$root/share/fish/vendor_completions.d" od.fish
    echo "installed $bin/od"
    case :${PATH:-}: in
    *":$bin:"*) ;;
    *) [ -n "${DESTDIR:-}" ] || echo "$bin is not on your PATH: PATH=$bin:\$PATH" ;;
    esac
}

uninstall() {
    for link in "$bin"/*; do
        case $([ -h "$link" ] && readlink "$link") in
        od | "$prefix/bin/od") rm -f "$link" ;;
        esac
    done
    if ours "$bin/od"; then rm -f "$bin/od"; fi
    for file in "$root"/share/man/man[17]/od-*.[17] \
        "$root/share/bash-completion/completions/od" \
        "$root/share/zsh/site-functions/_od" \
        "$root/share/fish/vendor_completions.d/od.fish"; do
        if made "$file"; then rm -f "$file"; fi
    done
    echo "removed from $root"
}

$action
