#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install.sh [--prefix DIR] [--shadow] [--as NAME,... [--force]] [--upgrade] [--uninstall]
#     installs od for everybody (as root: /usr/local) or for you (~/.local), with
#     links od-APPLET, manual pages and completion. Takes the file that was built in
#     out/, or the one beside this script in a release, and builds one if there is
#     none. The names do not depend on PATH: the program is od-agent, and od(1) of
#     the system stays what it is. --shadow: the program is od, which hands octal
#     dumps over, and od-agent is a link to it; where that was asked for once, it
#     stays. --as tmux,asciinema,script: also these links, as od --install DIR --as
#     makes them; another program of that name is left as it is, unless --force is
#     there. --upgrade: a server that runs goes on with the new file.
# install.sh --image IMAGE [--suffix SUFFIX] [--engine ENGINE] [--as NAME,... [--force]]
#         [--dockerfile]
#     makes the image IMAGE_od of IMAGE with docker, podman or buildah: od, links,
#     and an entrypoint that runs the image's own beside od serve, with the image's
#     Cmd, User and WorkingDir. Does nothing where that was done with this od. --as:
#     also these links; a program of that name anywhere on the image's PATH stays,
#     and has no link, unless --force is there.
#     --dockerfile: prints what would be built.
# DESTDIR is put before every path, for packages.
set -eu
umask 022 # the folders that it makes are for everybody

here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
action=install image='' suffix=_od engine='' shadow='' upgrade='' dockerfile='' as='' force=''

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
    --image | --suffix | --engine | --as)
        [ $# -gt 1 ] || die "$1 needs a value"
        case $1 in
        --image) image=$2 action=image ;;
        --suffix) suffix=$2 ;;
        --engine) engine=$2 ;;
        --as) as=$2 ;;
        esac
        shift
        ;;
    --image=*) image=${1#*=} action=image ;;
    --suffix=*) suffix=${1#*=} ;;
    --engine=*) engine=${1#*=} ;;
    --as=*) as=${1#*=} ;;
    --dockerfile) dockerfile=yes ;;
    --shadow) shadow=yes ;;
    --force) force=--force ;;
    --upgrade) upgrade=yes ;;
    --uninstall) action=uninstall ;;
    -h | --help)
        sed -n '4,22s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) die "$1: unknown; see --help" ;;
    esac
    shift
done
[ -n "$image" ] || [ "$action$dockerfile" != image ] || die "--image needs a name"
[ -z "$dockerfile" ] || [ -n "$image" ] || die "--dockerfile goes with --image"
case $prefix in /*) ;; *) die "--prefix $prefix: not an absolute path" ;; esac

root=${DESTDIR:-}$prefix
bin=$root/bin

# Every build of od has this in its first page, see core/os/self.c.
ours() { head -c 4096 "$1" 2>/dev/null | LC_ALL=C grep -q "an od of an agent's box"; }
# Files of build/man.sh and build/completion.sh name their origin.
made() { head -n 3 "$1" 2>/dev/null | grep -q 'Made from the usage text'; }

# The file for this machine, and the folder with the documentation.
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
    # A plain make leaves them out.
    if [ ! -d "$docs/man" ] && [ "$build" != "$here" ] && command -v make >/dev/null 2>&1; then
        make -C "$here" docs >/dev/null || :
    fi
    mkdir -p "$bin" || die "cannot make $bin"
    name='od-agent'
    # Once it was asked for, it stays.
    if [ -n "$shadow" ] || ours "$bin/od"; then name='od'; fi
    if [ -e "$bin/$name" ] && ! ours "$bin/$name"; then
        die "$bin/$name is another program: choose another --prefix"
    fi
    # Written under another name and renamed: a running server keeps its file.
    cp "$build/od" "$bin/.od.$$"
    chmod 755 "$bin/.od.$$"
    mv "$bin/.od.$$" "$bin/$name"
    if "$bin/$name" --list >/dev/null 2>&1; then
        "$bin/$name" --install "$bin" >/dev/null
    else
        echo "install.sh: $bin/$name does not run here: no links made" >&2
    fi
    unlinked=''
    if [ -n "$as" ]; then
        # shellcheck disable=SC2086 # empty, or one word
        "$bin/$name" --install "$bin" --as "$as" $force || unlinked=yes
    fi
    # The name of the other kind of installation works here, too.
    if [ "$name" = od ] && { [ ! -e "$bin/od-agent" ] || ours "$bin/od-agent"; }; then
        ln -s od "$bin/.od-agent.$$"
        mv -f "$bin/.od-agent.$$" "$bin/od-agent"
    fi
    for page in "$docs"/man/*.[17]; do
        put "$page" "$root/share/man/man${page##*.}" "$(basename "$page")"
    done
    # Shells look for a file of the command's name.
    put "$docs/completion/od.bash" "$root/share/bash-completion/completions" od
    put "$docs/completion/_od" "$root/share/zsh/site-functions" _od
    put "$docs/completion/od.fish" "$root/share/fish/vendor_completions.d" od.fish
    for link in "$bin"/od-*; do
        case $([ -h "$link" ] && readlink "$link") in od | od-agent) ;; *) ours "$link" || continue ;; esac
        link=${link##*/}
        [ ! -f "$docs/completion/od.bash" ] ||
            ln -sf od "$root/share/bash-completion/completions/$link"
        [ ! -f "$docs/completion/od.fish" ] ||
            ln -sf od.fish "$root/share/fish/vendor_completions.d/$link.fish"
    done
    [ -d "$docs/man" ] || echo "without manual pages and completion, which \`make docs\` makes"
    echo "installed $bin/$name"
    [ "$name" = od ] ||
        echo "od is od(1) still: call od-agent, od-exec, od-serve, or install with --shadow"
    if [ -n "$upgrade" ]; then "$bin/$name" serve --upgrade "$bin/$name"; fi
    case :${PATH:-}: in
    *":$bin:"*) ;;
    *) [ -n "${DESTDIR:-}" ] || echo "$bin is not on your PATH: PATH=$bin:\$PATH" ;;
    esac
    [ -z "$unlinked" ] || die "od is installed, but not all links of --as $as"
}

uninstall() {
    for link in "$bin"/* "$root/share/bash-completion/completions"/od-* \
        "$root/share/fish/vendor_completions.d"/od-*.fish; do
        case $([ -h "$link" ] && readlink "$link") in
        od | od.fish | od-agent | "$prefix/bin/od" | "$prefix/bin/od-agent") rm -f "$link" ;;
        esac
    done
    for file in "$bin/od" "$bin/od-agent"; do
        if ours "$file"; then rm -f "$file"; fi
    done
    for file in "$root"/share/man/man[17]/od-*.[17] \
        "$root/share/bash-completion/completions/od" \
        "$root/share/zsh/site-functions/_od" \
        "$root/share/fish/vendor_completions.d/od.fish"; do
        if made "$file"; then rm -f "$file"; fi
    done
    echo "removed from $root"
}

# --- images ------------------------------------------------------------------

dest=/usr/local/bin

image_fail() {
    echo "Failed to install od on $image: $*" >&2
    exit 1
}

# The last message of an engine, in one line.
reason() { tr '\r' '\n' <"$work/said" | sed '/^[[:space:]]*$/d' | tail -n 1 | cut -c 1-500; }

# The first engine that is there and answers.
find_engine() {
    asked=$engine
    for engine in ${asked:-docker podman buildah}; do
        command -v "$engine" >/dev/null 2>&1 || continue
        if "$engine" version >"$work/said" 2>&1; then return; fi
        silent="$engine does not answer: $(reason)"
    done
    engine=''
    [ -n "${silent:-}" ] || silent="no ${asked:-docker, podman or buildah} here"
    [ -n "$dockerfile" ] ||
        image_fail "$silent. Without any: od image add IN OUT, of an image's archive"
}

# read_image NAME FILE: the properties of the image that are needed, as shell variables.
# The engine quotes words as Go does, which is JSON for anything in a command line.
read_image() {
    config=.Config architecture=.Architecture id=.Id
    case $engine in
    buildah)
        set -- "$1" "$2" inspect --type image --format
        config=.OCIv1.Config architecture=.OCIv1.Architecture id=.FromImageID
        ;;
    *) set -- "$1" "$2" image inspect --format ;;
    esac
    # shellcheck disable=SC3050 # it is the engine's
    words() { printf '{{range %s.%s}}{{printf "%%q" .}}, {{end}}\n' "$config" "$1"; }
    label() {
        # shellcheck disable=SC2016 # for the engine to expand
        printf '{{range $k, $v := %s.Labels}}{{if eq $k "%s"}}{{$v}}{{end}}{{end}}\n' \
            "$config" "$1"
    }
    format="{{$architecture}}
{{$id}}
$(words Entrypoint)
$(words Cmd)
$(label od.sha256)
$(label od.base)
$(label od.as)
$(words Env)
end"
    asked_of=$1 answer=$2
    shift 2
    "$engine" "$@" "$format" "$asked_of" >"$answer" 2>"$work/said"
}
line() { sed -n "${2}s/, \$//;${2}p" "$1"; }

find_image() {
    read_image "$image" "$work/base" && return
    "$engine" pull "$image" >"$work/said" 2>&1 ||
        image_fail "$engine has no such image, and cannot pull it: $(reason)"
    read_image "$image" "$work/base" || image_fail "$engine cannot inspect it: $(reason)"
}

# The file for the image's processor.
find_file() {
    case $1 in
    amd64 | x86_64) arch=x86_64 ;;
    arm64 | aarch64) arch=aarch64 ;;
    arm) arch=arm ;;
    *) arch=$1 ;;
    esac
    [ "$arch" != "$(uname -m)" ] || find_build >&2
    for file in "${OD_BUILD:-}/od" "$here/od-$arch" "$here/out/$arch-release/od" "$here/od"; do
        ours "$file" && runs_on "$file" "$arch" && return
    done
    image_fail "it is for $1, and there is no od for that: make TARGET=$arch-linux-gnu"
}
# The machine that an ELF file is for, by its header.
runs_on() {
    case $(od_bytes "$1") in
    '3e 00') [ "$2" = x86_64 ] ;;
    'b7 00') [ "$2" = aarch64 ] ;;
    '28 00') [ "$2" = arm ] ;;
    'f3 00') [ "$2" = riscv64 ] ;;
    *) return 1 ;;
    esac
}
od_bytes() { dd if="$1" bs=1 skip=18 count=2 2>/dev/null | od -An -tx1 | sed 's/^ *//;s/ *$//'; }
sum_of() { sha256sum | cut -d' ' -f1; }

# Checks that no part of our file's path there is a link, which could lead out of it.
no_links() {
    way=$1
    for part in usr local bin od; do
        way=$way/$part
        [ ! -h "$way" ] || return 1
    done
}

# Whether the image has this file at its place. Runs nothing in the image.
has_file() {
    # The quickest way, if podman may mount.
    if [ "$engine" = podman ] && at=$(podman image mount "$image" 2>/dev/null); then
        found=''
        if no_links "$at"; then found=$({ cat "$at$dest/od"; } 2>/dev/null | sum_of); fi
        podman image unmount "$image" >/dev/null 2>&1
        if [ -n "$found" ]; then
            [ "$found" = "$sum" ]
            return
        fi
    fi
    case $engine in
    buildah)
        box=$(buildah from --pull-never "$image" 2>/dev/null) || return 1
        at=$(buildah mount "$box" 2>/dev/null) || at=/nonexistent
        found=$({ cat "$at$dest/od"; } 2>/dev/null | sum_of)
        ;;
    *)
        box=$("$engine" create "$image" od 2>/dev/null) || return 1
        found=$("$engine" cp "$box:$dest/od" - 2>/dev/null | tar -xOf - 2>/dev/null | sum_of)
        ;;
    esac
    "$engine" rm "$box" >/dev/null 2>&1
    box=''
    [ "$found" = "$sum" ]
}

# inside ROOT PATH: whether an unpacked image has something there. Links of folders are
# followed as they are in the image.
inside() {
    way='' rest=${2#/} links=0
    while [ "$rest" != "${rest#*/}" ]; do
        part=${rest%%/*} rest=${rest#*/}
        case $part in
        '' | .) continue ;;
        ..) way=${way%/*} && continue ;;
        esac
        if [ ! -h "$1$way/$part" ]; then
            way=$way/$part
            continue
        fi
        links=$((links + 1))
        [ "$links" -le 40 ] || return 1
        link=$(readlink "$1$way/$part")
        case $link in /*) way='' ;; esac
        rest=$link/$rest
    done
    [ -h "$1$way/$rest" ] || [ -e "$1$way/$rest" ]
}
in_box() {
    case $engine in
    buildah) inside "$at" "$1" ;;
    *) "$engine" cp "$box:$1" - >/dev/null 2>&1 ;;
    esac
}

# Sorts the names of --as: those that the image has from us, that it has of its own, and
# that are new. Runs nothing in the image.
find_links() {
    had=$(line "$work/base" 7) path=$(line "$work/base" 8 |
        sed -n 's/^\(.*", \)\{0,1\}"PATH=\([^"]*\)".*/\2/p')
    path=$dest:${path:-/usr/local/sbin:/usr/bin:/usr/sbin:/sbin:/bin}
    if [ -z "$force" ]; then
        case $engine in
        buildah)
            box=$(buildah from --pull-never "$image" 2>"$work/said") &&
                at=$(buildah mount "$box" 2>"$work/said")
            ;;
        *) box=$("$engine" create "$image" od 2>"$work/said") ;;
        esac || image_fail "$engine does not show its files: $(reason)"
    fi
    old_ifs=$IFS
    IFS=:,
    for name in $as; do
        case ,$had,$new, in *",$name,"*) continue ;; esac
        for dir in $path; do
            case $dir in /*) ;; *) continue ;; esac
            if [ -z "$box" ] || ! in_box "$dir/$name"; then continue; fi
            echo "install.sh: $dir/$name exists and is not ours: left unchanged" >&2
            left=yes
            continue 2
        done
        new=$new${new:+,}$name
    done
    IFS=$old_ifs
    [ -z "$box" ] || "$engine" rm "$box" >/dev/null 2>&1
    box=''
}
end_image() { [ -z "$left" ] || die "$1 has od, but not all links of --as $as"; }

# Whether a string in Go's quoting has no escapes that JSON lacks.
is_plain() {
    case $(printf '%s' "$1" | sed 's/\\\\//g') in *\\[xavU]*) return 1 ;; esac
}

# echo would read backslashes itself, in some shells.
write_dockerfile() {
    printf '%s\n' "FROM $image" "COPY bin/ $dest/" \
        "LABEL od.version=\"$version\" od.path=\"$dest/od\" od.sha256=\"$sum\""
    [ -z "$had$new" ] || echo "LABEL od.as=\"$had${had:+${new:+,}}$new\""
    if [ -n "$old" ]; then return; fi # an entrypoint of ours is there
    label=$(printf '%s' "[$entry]" | sed 's/[\\"$]/\\&/g')
    rest=''
    [ -z "$entry$cmd" ] || rest=', "--"'
    printf '%s\n' "LABEL od.base=\"$base\" od.entrypoint=\"$label\"" \
        "ENTRYPOINT [\"$dest/od\", \"serve\"$rest${entry:+, $entry}]" "CMD [$cmd]"
}

say_start() {
    run=$engine
    [ "$engine" != buildah ] || run=podman
    cat <<END
Its own command, beside a server for od exec:
    $run run -it --rm $target
and a server for programs, on port 3000:
    $run run -d -e SESSION_API_KEY -e OD_LISTEN=0.0.0.0:3000 -p 3000:3000 $target
A command in a container of it:
    $run exec -it CONTAINER $dest/od exec 'echo hello from \$PWD'
END
}

clean_image() {
    [ -z "${box:-}" ] || "$engine" rm "$box" >/dev/null 2>&1
    rm -rf "$work"
}

image() {
    work=$(mktemp -d) box='' entry='' cmd='' old='' base=unknown architecture=$(uname -m)
    had='' new='' left=''
    trap clean_image EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    case $image in
    *[!A-Za-z0-9./:@_-]* | -*) image_fail "this is no image's name" ;;
    esac
    case $as in *[!a-z0-9,-]*) image_fail "--as $as: no program has such a name" ;; esac
    find_engine
    if [ -n "$engine" ]; then
        find_image
        find_file "$(line "$work/base" 1)"
        base=$(line "$work/base" 2) entry=$(line "$work/base" 3) cmd=$(line "$work/base" 4)
        old=$(line "$work/base" 5)
        is_plain "$entry$cmd" || image_fail "its command has control characters in it"
        [ -z "$as" ] || find_links
    else
        find_file "$(uname -m)"
        new=$as
        echo "# There is no engine to ask what $image starts: put that after \"--\"." >&2
    fi
    sum=$(sum_of <"$file")
    version=$("$file" --version 2>/dev/null | cut -d' ' -f2 | grep . || echo unknown)
    # NAME:TAG_od; a digest is not part of the name.
    target=${image%%@*}
    case $target in *"$suffix") ;; *) target=$target$suffix ;; esac
    if [ -n "$dockerfile" ]; then
        write_dockerfile
        return
    fi
    if [ -z "$new" ] && { [ "$old" = "$sum" ] || { [ -z "$old" ] && has_file; }; }; then
        echo "$image has this od: nothing to do"
        end_image "$image"
        return
    fi
    if read_image "$target" "$work/made" && [ "$(line "$work/made" 5)" = "$sum" ] &&
        [ "$(line "$work/made" 6)" = "$base" ] &&
        { [ -z "$as" ] || [ "$(line "$work/made" 7)" = "$had${had:+${new:+,}}$new" ]; }; then
        echo "$target is there, with this od: nothing to do"
        say_start
        end_image "$target"
        return
    fi
    mkdir -p "$work/context/bin"
    cp "$file" "$work/context/bin/od"
    chmod 755 "$work/context/bin/od"
    if "$work/context/bin/od" --list >/dev/null 2>&1; then
        "$work/context/bin/od" --install "$work/context/bin" >/dev/null
        [ -z "$new" ] || "$work/context/bin/od" --install "$work/context/bin" --as "$new" \
            >/dev/null 2>"$work/said" || image_fail "$(reason)"
    else
        for name in $(echo "$new" | tr , ' '); do ln -s od "$work/context/bin/$name"; done
    fi
    write_dockerfile >"$work/context/Dockerfile"
    case $engine in
    docker) set -- docker build -q -t "$target" "$work/context" ;;
    podman) set -- podman build -q --layers=false --force-rm --pull=never -t "$target" "$work/context" ;;
    buildah) set -- buildah bud -q --layers=false --pull-never -t "$target" "$work/context" ;;
    esac
    # The engine gives the name when everything is done.
    "$@" >"$work/said" 2>&1 || image_fail "$engine: $(reason)"
    if ! read_image "$target" "$work/made" || [ "$(line "$work/made" 5)" != "$sum" ]; then
        image_fail "$engine says that it was built, but $target is not what it should be"
    fi
    echo "made $target"
    say_start
    end_image "$target"
}

$action
