# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# cells in Jupyter kernels; a raw client and jupyter_client beside it

kernel_member() { # NAME KEY
    "$OD" jupyter-bridge --list --json | /usr/bin/python3 -c '
import json, sys
for k in json.load(sys.stdin)["kernels"]:
    if k["name"] == sys.argv[1]:
        print(k[sys.argv[2]])' "$@"
}

jupyter() {
    PYDEVD_DISABLE_FILE_VALIDATION=1 run 120 /usr/bin/python3 "$here/with_jupyter_client.py" "$@"
}

# large KIND CODE OPTION...: time of a cell with much output in a new server, and the
# peaks of its worker and of the process beside the kernel, in KiB, into ms and peak.
large() {
    local kind=$1 code=$2 begin host
    shift 2
    start_server
    "$OD" jupyter-bridge --"$kind" -c pass
    begin=$(date +%s%N)
    run 120 "$OD" jupyter-bridge --"$kind" "$@" -c "$code" >/dev/null
    ms=$((($(date +%s%N) - begin) / 1000000))
    host=$(awk '$1 == "PPid:" { print $2 }' "/proc/$(kernel_member python pid)/status")
    split
    peak=$(memory VmHWM "$worker" "$host")
    stop_server
}

group_kernel() {
    # One interpreter for all of them, and no launcher before it.
    local file code theirs=- mb PATH=/usr/sbin:/usr/bin:/sbin:/bin
    if ! /usr/bin/python3 -c 'import ipykernel, jupyter_client' 2>/dev/null; then
        echo '  kernels: left out, python3-ipykernel is not there'
        return
    fi
    start_server
    "$OD" jupyter-bridge --jupyter -c pass
    file=$(tr '\0' '\n' <"/proc/$(kernel_member python pid)/cmdline" | grep 'kernel\.json$')
    for _ in 1 2 3 4 5 6 7 8 9; do
        run 60 "$bin/cells" 60 python any >>ours.cells
        run 60 "$bin/limit/kernel" 60 "$file" >>limit.cells
        jupyter cells 60 "$file" >>theirs.cells
        run 60 "$bin/cells" 60 own own >>own.cells
    done
    row '1+1 in ipykernel, p50, us' "$(median ours.cells p50)" "$(median limit.cells p50)" \
        ratio '<=' 1.1
    row '  against jupyter_client' "$(median ours.cells p50)" "$(median theirs.cells p50)" \
        ratio '<=' 1
    row '  in the embedded kernel' "$(median own.cells p50)" "$(median limit.cells p50)"
    for _ in 1 2 3; do
        run 60 "$bin/cells" 3 cold jupyter cold >>ours.cold
        jupyter cold 3 >>theirs.cold
        run 60 "$bin/cells" 10 cold own cold >>own.cold
        run 60 "$bin/pair" 10 /usr/bin/python3 -c pass -- /usr/bin/python3 -c pass >>python.cold
    done
    stop_server
    row 'ipykernel, start to the first result, us' "$(median ours.cold p50)" \
        "$(median theirs.cold p50)" ratio '<=' 1
    row 'embedded kernel; python3 -c pass, us' "$(median own.cold p50)" \
        "$(median python.cold limit)" ratio '<=' 2
    for mb in 10 100; do
        code="for _ in range($mb * 10): print((\"x\" * 99 + \"\\n\") * 1000, end=\"\")"
        theirs=$(jupyter output "$code" | sed 's/ms //')
        large jupyter "$code"
        row "$mb MB of output of ipykernel, ms" "$ms" "$theirs"
        row '  worker and host, peak, KiB' "$peak" -
        large embedded "$code"
        row "$mb MB of output of the embedded kernel, ms" "$ms" "$theirs"
        row '  worker and host, peak, KiB' "$peak" -
    done
    code='import os; from IPython.display import Image, display
display(Image(data=b"\x89PNG\r\n\x1a\n" + os.urandom(10000000), format="png"))'
    mkdir images
    theirs=$(jupyter output "$code" | sed 's/ms //')
    large jupyter "$code" --images images
    row 'a picture of 10 MB, written, ms' "$ms" "$theirs"
    row '  worker and host, peak, KiB' "$peak" -
    rm -rf images
}
