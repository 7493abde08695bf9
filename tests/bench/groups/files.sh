# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# a view and an edit of 10 MB; folders packed and unpacked, zip and unzip beside it

# peak COMMAND...: prints "ms N" and "peak N" (KiB), of a whole process.
peak() {
    local from=${EPOCHREALTIME/[.,]/} to
    run 120 "$bin/peak" "$@" || return
    to=${EPOCHREALTIME/[.,]/}
    echo "ms $(((to - from) / 1000))"
}

group_files() {
    local what
    awk 'BEGIN { for (i = 1; i <= 100000; i++) printf "%099d\n", i }' >text
    sed -i '50005s/.*/mark 0./' text
    cp text theirs
    start_web
    for _ in 1 2 3; do
        run 60 "$bin/edit" "$port" "$dir/text" 10 >>edit.ours
        run 60 "$bin/limit/edit" theirs 10 >>edit.limit
        sed -i 's/^mark .*/mark 0./' text theirs
    done
    for what in view edit; do
        row "$what of a file of 10 MB over HTTP, us" "$(median edit.ours $what)" \
            "$(median edit.limit $what)" ratio '<=' 3
    done
    stop_server
    rm -f text theirs

    if ! command -v zip >/dev/null || ! command -v unzip >/dev/null; then
        echo '  zip, unzip: left out, they are not installed'
        return
    fi
    mkdir tree
    find /usr/lib /usr/share /usr/include -xdev -type f -size -2000k -print0 2>/dev/null |
        sort -z | tar -C / -cf - --null -T - 2>/dev/null | head -c 60000000 |
        tar -C tree -xf - 2>/dev/null
    for _ in 1 2 3; do
        rm -rf theirs.zip ours theirs
        peak zip -q -r -1 theirs.zip tree >>zip.theirs
        "$bin/archive" zip tree 1 | tr ' ' '\n' >zip.said
        awk '/MB\/s/ { print "rate", last } /KiB/ { print "peak", last } { last = $1 }' \
            zip.said >>zip.ours
        mkdir ours theirs
        sync
        peak unzip -q theirs.zip -d theirs >>unzip.theirs
        sync
        "$bin/archive" unzip theirs.zip ours | tr ' ' '\n' >zip.said
        awk '/MB\/s/ { print "rate", last } /KiB/ { print "peak", last } { last = $1 }' \
            zip.said >>unzip.ours
    done
    diff -r ours theirs >/dev/null || row '  the same files' 0 - ours = 1
    local kb
    kb=$(find tree -type f -printf '%s\n' | awk '{ n += $1 } END { print n / 1000 }')
    for what in zip unzip; do
        row "$what, level 1, $(find tree -type f | wc -l) files, MB/s" \
            "$(median $what.ours rate)" \
            "$(awk -v kb="$kb" -v ms="$(median $what.theirs ms)" 'BEGIN { print kb / ms }')" \
            ratio '>=' 0.8
        row '  memory at its peak, KiB' "$(median $what.ours peak)" \
            "$(median $what.theirs peak)"
    done
    rm -rf tree ours theirs theirs.zip
}
