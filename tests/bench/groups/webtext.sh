# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# large pages without a browser: text, time and memory; w3m and lynx beside it

group_webtext() {
    command -v w3m lynx busybox python3 >/dev/null || {
        echo "webtext: w3m, lynx, busybox and python3 are needed" >&2
        return
    }
    mkdir pages
    run 1200 python3 "$here/webpages.py" "${OD_BENCH_PAGES:-$dir/pages}" >web.text || return 1
    grep '^#' web.text >&2
    row 'pairs of words of w3m -dump, per cent; lynx' "$(median web.text pairs)" \
        "$(median web.text pairs_lynx)" ratio '>=' 0.98
    row 'processor time of a page, ms; w3m' "$(median web.text time_ours)" \
        "$(median web.text time_w3m)" ratio '<=' 1
    row '  lynx' "$(median web.text time_ours)" "$(median web.text time_lynx)" ratio '<=' 1
    row 'memory, on average, KiB; w3m' "$(median web.text memory_ours_mean)" \
        "$(median web.text memory_w3m_mean)" ratio '<=' 1
    row '  lynx' "$(median web.text memory_ours_mean)" "$(median web.text memory_lynx_mean)"
    row '  of the largest, KiB; w3m' "$(median web.text memory_ours)" \
        "$(median web.text memory_w3m)"
    rm -rf pages
}
