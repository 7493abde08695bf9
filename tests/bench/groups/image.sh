# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# od image add, of 200 MB, against cp of the archive

# ms COMMAND...: prints "ms N", the milliseconds that it took.
ms() {
    local from=${EPOCHREALTIME/[.,]/} to
    run 60 "$@" >/dev/null || return
    to=${EPOCHREALTIME/[.,]/}
    echo "ms $(((to - from) / 1000))"
}

# One of plain layers and one of gzip, which have an od already; it gets another place.
group_image() {
    local form
    mkdir usr
    find /usr/bin /usr/lib /usr/share -xdev -type f -size -4000k -print0 2>/dev/null | sort -z |
        tar -C / -cf - --null -T - 2>/dev/null | head -c 206000000 | tar -C usr -xf - 2>/dev/null
    tar -C usr -cf root.tar .
    gzip -1 -k root.tar
    "$OD" image make plain.tar --from root.tar >/dev/null || return
    "$OD" image make gzip.tar --from root.tar.gz >/dev/null || return
    rm -rf usr root.tar root.tar.gz
    for _ in 1 2 3 4 5; do
        for form in plain gzip; do
            for what in cp add quick; do
                set -- "$OD" image add $form.tar copy.tar --dest /opt/od
                case $what in cp) set -- cp $form.tar copy.tar ;; quick) set -- "$@" --no-look ;; esac
                rm -f copy.tar
                sync
                ms "$@" >>$what.$form
            done
        done
    done
    row "od image add, $(($(stat -c %s plain.tar) / 1000000)) MB, ms, against cp" \
        "$(median add.plain ms)" "$(median cp.plain ms)" ratio '<=' 1.5
    row "  layers of gzip, $(($(stat -c %s gzip.tar) / 1000000)) MB, --no-look" \
        "$(median quick.gzip ms)" "$(median cp.gzip ms)"
    row '  looked into, for links and other programs' "$(median add.gzip ms)" \
        "$(median cp.gzip ms)"
    rm -f copy.tar
    "$OD" image add plain.tar copy.tar --dest /opt/od >/dev/null
    row '  bytes added, against those of od' \
        $(($(stat -c %s copy.tar) - $(stat -c %s plain.tar))) "$(stat -c %s "$OD")"
    rm -f plain.tar gzip.tar copy.tar
}
