# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# tmux, Debian's beside ours: calls, new sessions, a history, many panes, memory

group_tmux() {
    local theirs ours=$dir/tmux
    if ! theirs=$(command -v tmux) || ! command -v python3 >/dev/null; then
        echo '  tmux: left out, tmux or python3 is not there'
        return
    fi
    unset TMUX TMUX_PANE
    ln -s "$OD" "$ours"
    export TMUX_TMPDIR=$dir/sockets
    mkdir "$TMUX_TMPDIR"
    ours=("$ours" -f /dev/null -L ours) theirs=("$theirs" -f /dev/null -L theirs)
    "${ours[@]}" new-session -d -s x cat && "${theirs[@]}" new-session -d -s x cat || return
    run 60 "$bin/pair" 300 "${ours[@]}" send-keys -t x a Enter -- \
        "${theirs[@]}" send-keys -t x a Enter >send
    run 60 "$bin/pair" 300 "${ours[@]}" capture-pane -p -t x -- \
        "${theirs[@]}" capture-pane -p -t x >capture
    "${ours[@]}" kill-server
    "${theirs[@]}" kill-server
    cp "$bin/lines" "$dir/lines"
    PYTHONDONTWRITEBYTECODE=1 run 500 python3 "$here/tmux.py" "${ours[0]}" "${theirs[0]}" "$dir/lines" >rest
    row 'send-keys as a process, p50, us' "$(median send ours)" "$(median send limit)" ratio '<=' 0.6
    row 'capture-pane -p as a process, p50, us' "$(median capture ours)" \
        "$(median capture limit)" ratio '<=' 0.6
    row 'new session to its prompt, ms' "$(median rest ours_warm)" "$(median rest theirs_warm)" \
        ratio '<=' 0.6
    row '  with a new server, ms' "$(median rest ours_cold)" "$(median rest theirs_cold)" \
        ratio '<=' 0.6
    row 'capture-pane -p -S - of 1,000,000 lines, ms' "$(median rest ours_whole)" \
        "$(median rest theirs_whole)" ratio '<=' 0.5
    row '100 panes at 1 MB/s: panes with losses' "$(median rest ours_lost)" \
        "$(median rest theirs_lost)" ours = 0
    row '  until all of 5 s is there, s' "$(median rest ours_flow)" "$(median rest theirs_flow)"
    row '  list-panes -a meanwhile, p50, ms' "$(median rest ours_list)" \
        "$(median rest theirs_list)"
    row '  the slowest of these, ms' "$(median rest ours_worst)" "$(median rest theirs_worst)"
    row '10,000,000 lines: memory of the server, KiB' "$(median rest ours_kib)" \
        "$(median rest theirs_kib)" ratio '<=' 0.02
    row '  until they were written, s' "$(median rest ours_write)" "$(median rest theirs_write)"
    rm -rf "$TMUX_TMPDIR"
    unset TMUX_TMPDIR
}
