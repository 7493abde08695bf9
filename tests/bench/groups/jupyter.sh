# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# Jupyter's server, Debian's beside ours, with ipykernel: 1+1, start, a save, output, memory

group_jupyter() {
    if ! /usr/bin/python3 -c 'import jupyter_server, ipykernel, websocket' 2>/dev/null; then
        echo '  jupyter: left out, jupyter_server, ipykernel or websocket-client is not there'
        return
    fi
    PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 \
        run 300 /usr/bin/python3 "$here/jupyter_server.py" "$OD" >jupyter
    row '1+1 by the channels, ms' "$(median jupyter ours)" "$(median jupyter theirs)" ratio '<=' 0.9
    row 'start to the first result, ms' "$(median jupyter ours_start)" \
        "$(median jupyter theirs_start)" ratio '<=' 0.4
    row 'a notebook of 50 cells is saved, ms' "$(median jupyter ours_save)" \
        "$(median jupyter theirs_save)" ratio '<=' 1.5
    row '100 MB of output, ms' "$(median jupyter ours_out)" "$(median jupyter theirs_out)" ratio '<=' 0.7
    row 'memory of the server, KiB' "$(median jupyter ours_kib)" \
        "$(median jupyter theirs_kib)" ratio '<=' 0.067
}
