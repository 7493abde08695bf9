# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# od in an image of 200 MB: od image add, podman, buildah

# took COMMAND...: prints "ms N", the milliseconds that it took.
took() {
    local from=${EPOCHREALTIME/[.,]/} to
    run 60 "$@" >/dev/null || return
    to=${EPOCHREALTIME/[.,]/}
    echo "ms $(((to - from) / 1000))"
}

# One of plain layers and one of gzip, which have an od already; it gets another place.
group_image() {
    local form what
    mkdir usr
    find /usr/bin /usr/lib /usr/share -xdev -type f -size -4000k -print0 2>/dev/null | sort -z |
        tar -C / -cf - --null -T - 2>/dev/null | head -c 206000000 | tar -C usr -xf - 2>/dev/null
    tar -C usr -cf root.tar .
    gzip -1 -k root.tar
    "$OD" image make plain.tar --from root.tar >/dev/null || return
    "$OD" image make gzip.tar --from root.tar.gz >/dev/null || return
    for _ in 1 2 3 4 5; do
        for form in plain gzip; do
            for what in cp add look; do
                set -- "$OD" image add $form.tar copy.tar --dest /opt/od
                case $what in cp) set -- cp $form.tar copy.tar ;; look) set -- "$@" --look ;; esac
                rm -f copy.tar
                sync
                took "$@" >>$what.$form
            done
        done
    done
    row "od image add, $(($(stat -c %s plain.tar) / 1000000)) MB, ms, against cp" \
        "$(median add.plain ms)" "$(median cp.plain ms)" ratio '<=' 1.5
    row "  layers of gzip, $(($(stat -c %s gzip.tar) / 1000000)) MB" \
        "$(median add.gzip ms)" "$(median cp.gzip ms)"
    row '  --look: for links and other programs' "$(median look.gzip ms)" \
        "$(median cp.gzip ms)"
    rm -f copy.tar
    "$OD" image add plain.tar copy.tar --dest /opt/od >/dev/null
    row '  bytes added, against those of od' \
        $(($(stat -c %s copy.tar) - $(stat -c %s plain.tar))) "$(stat -c %s "$OD")"
    rm -f plain.tar gzip.tar copy.tar root.tar.gz
    if [ "$(id -u)" = 0 ]; then
        image_by podman
        image_by buildah
    else
        echo '  podman, buildah: left out, not root'
    fi
    rm -rf usr root.tar
}

# image_by ENGINE: IMAGE_od of the same files, and what the engine takes for nothing.
image_by() {
    local engine=$1 build
    if ! command -v "$engine" >/dev/null || ! command -v runc >/dev/null; then
        echo "  $engine: left out, it is not here"
        return
    fi
    cat >containers.conf <<END
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
netns = "none"
END
    printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/graph"\nrunroot = "%s/runroot"\n' \
        "$dir" "$dir" >storage.conf
    local -x CONTAINERS_CONF=$dir/containers.conf CONTAINERS_STORAGE_CONF=$dir/storage.conf
    mkdir context
    printf 'FROM scratch\nADD root.tar /\nCMD ["true"]\n' >context/Dockerfile
    ln -f root.tar context/root.tar
    build=("$engine" bud -q --layers=false --pull-never)
    [ "$engine" != podman ] || build=(podman build -q --layers=false --force-rm --pull=never)
    "${build[@]}" -t localhost/large context >said 2>&1 || {
        cat said >&2
        echo "  $engine: left out, it cannot build here"
        rm -rf context
        return
    }
    printf 'FROM localhost/large\nLABEL n=0\n' >context/Dockerfile
    rm -f context/root.tar
    for _ in 1 2 3 4 5; do
        sed -i "s/n=.*/n=$RANDOM$RANDOM/" context/Dockerfile
        took "${build[@]}" context >>"nothing.$engine"
        "$engine" rmi -f localhost/large_od >/dev/null 2>&1
        took sh "$root/install.sh" --image localhost/large --engine "$engine" >>"od.$engine"
    done
    row "install.sh --image by $engine, ms, beyond nothing" \
        "$(($(median "od.$engine" ms) - $(median "nothing.$engine" ms)))" 1000 ratio '<=' 1
    row '  in all, and a build of nothing' "$(median "od.$engine" ms)" \
        "$(median "nothing.$engine" ms)"
    "$engine" rmi -fa >/dev/null 2>&1
    umount -l "$dir/graph/overlay" 2>/dev/null
    rm -rf context graph runroot
}
