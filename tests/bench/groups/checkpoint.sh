# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# checkpoints of headers, many small files and a large one; git with a folder of its own beside it

# took KEY FILE COMMAND...: its milliseconds, as a line of FILE; its peak of memory, too.
took() {
    local key=$1 file=$2 from=${EPOCHREALTIME/./}
    shift 2
    run 900 "$@" >/dev/null 2>>took.err || echo "checkpoint: $1 failed: $(tail -n 1 took.err)" >&2
    echo "$key $(((${EPOCHREALTIME/./} - from) / 1000))" >>"$file"
}

shadow() { git --git-dir="$dir/shadow" --work-tree="$dir/tree" -C "$dir/tree" "$@"; }
export_shadow() { # for what is timed: functions are not commands
    printf '#!/bin/sh\ncd "%s/tree" && git --git-dir="%s/shadow" --work-tree=. add -A -f &&\n%s\n' \
        "$dir" "$dir" "exec git --git-dir='$dir/shadow' --work-tree=. write-tree" >git_add
    printf '#!/bin/sh\ncd "%s/tree" && exec git --git-dir="%s/shadow" --work-tree=. status\n' \
        "$dir" "$dir" >git_status
    printf '#!/bin/sh\ncd "%s/tree" && exec git --git-dir="%s/shadow" --work-tree=. %s\n' \
        "$dir" "$dir" 'checkout-index -a -f -u' >git_checkout
    chmod +x git_add git_status git_checkout
}

# many N: small files as a folder of modules has them.
many() {
    awk -v n="$1" -v dir=tree 'BEGIN {
        for (i = 0; i < n; i++) {
            if (i % 20 == 0)
                system("mkdir -p " dir "/m" int(i / 400) "/d" int(i / 20) % 20)
            file = dir "/m" int(i / 400) "/d" int(i / 20) % 20 "/f" i ".js"
            for (j = 0; j < 1 + i % 60; j++)
                print "exports.value" j " = function (a, b) { return a * " i " + b; };" >file
            close(file)
        }
    }'
}

# tree_rows NAME: of what is in tree. Waits before looks that nothing may be racy for. A
# server watches folders, and `od checkpoint --store` asks for each file.
tree_rows() {
    local i file first
    rm -rf store shadow ours git
    git init -q --bare shadow
    shadow config core.autocrlf false
    shadow config gc.auto 0
    export_shadow
    took first ours "$OD" checkpoint --store store --dir tree
    took first git ./git_add
    took settle ours "$OD" checkpoint --store store --dir tree
    took settle git ./git_status
    start_server
    for i in 1 2 3; do took settle ours "$OD" checkpoint --dir "$dir/tree"; done
    for i in 1 2 3 4 5; do
        took same ours "$OD" checkpoint --store store --dir tree
        took served ours "$OD" checkpoint --dir "$dir/tree"
        took same git ./git_status
    done
    for i in 1 2 3; do
        find tree -type f | sed -n "$((i * 100)),$((i * 100 + 9))p" >changed
        while read -r file; do echo "// $i" >>"$file"; done <changed
        took ten ours "$OD" checkpoint --store store --dir tree
        took ten_served ours "$OD" checkpoint --dir "$dir/tree"
        took ten git ./git_add
    done
    first=$("$OD" checkpoint --dir "$dir/tree" | cut -d ' ' -f 1)
    for i in 1 2 3; do
        find tree -type f | sed -n "$((i * 500)),$((i * 500 + 999))p" >lost
        xargs rm -f <lost
        took back_served ours "$OD" checkpoint restore "$first"
        xargs rm -f <lost
        took back git ./git_checkout
        xargs rm -f <lost
        took back ours "$OD" checkpoint --store store restore 1
    done
    stop_server
    rm -rf "$OD_STATE_DIR"
    row "$1: the first one, ms; git add, write-tree" "$(median ours first)" \
        "$(median git first)" ratio '<=' 0.5
    row '  nothing changed, of a server, ms; git status' "$(median ours served)" \
        "$(median git same)" ratio '<=' 0.3
    row '  and by a scan of all, ms; git status' "$(median ours same)" "$(median git same)"
    row '  10 files changed, of a server, ms; git add, write-tree' "$(median ours ten_served)" \
        "$(median git ten)" ratio '<=' 0.3
    row '  and by a scan of all, ms; git add, write-tree' "$(median ours ten)" "$(median git ten)"
    row '  1,000 deleted files restored, of a server, ms; checkout' \
        "$(median ours back_served)" "$(median git back)" ratio '<=' 0.5
    row '  and by a scan of all, ms; checkout' "$(median ours back)" "$(median git back)"
    row '  bytes in the store, KiB; loose objects' "$(du -sk store | cut -f 1)" \
        "$(du -sk shadow/objects | cut -f 1)" ratio '<=' 1.2
}

group_checkpoint() {
    command -v git >/dev/null || {
        echo "checkpoint: git is needed" >&2
        return
    }
    cp -R /usr/include tree
    tree_rows "$(find tree -type f | wc -l) headers"
    rm -rf tree
    mkdir tree
    many "${CHECKPOINT_FILES:-60000}"
    tree_rows "$(find tree -type f | wc -l) small files"
    rm -rf tree store shadow ours git
    mkdir tree
    head -c "${CHECKPOINT_BYTES:-2147483648}" /dev/urandom >tree/large
    git init -q --bare shadow
    shadow config gc.auto 0
    export_shadow
    took first ours "$OD" checkpoint --store store --dir tree
    took first git ./git_add
    head -c 1048576 /dev/urandom | dd of=tree/large bs=1M seek=77 conv=notrunc status=none
    took again ours "$OD" checkpoint --store store --dir tree
    took again git ./git_add
    row 'a large file, ms; git add' "$(median ours first)" "$(median git first)"
    row '  again with a changed MiB, ms; git add' "$(median ours again)" \
        "$(median git again)" ratio '<=' 0.1
    rm -rf tree store shadow
}
