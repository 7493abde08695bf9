# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# a Chromium, beside bare DevTools calls and Playwright: start, visits, actions, a large page

# playwright_folder: where playwright-core is installed, or can be.
playwright_folder() {
    local at=${XDG_CACHE_HOME:-$1/.cache}/od/playwright
    [ -d "$at/node_modules/playwright-core" ] ||
        (mkdir -p "$at" && cd "$at" && HOME=$1 run 120 npm install --no-audit --no-fund \
            --prefix . playwright-core) >/dev/null 2>&1 || return 1
    echo "$at"
}

group_browse() {
    local chromium module i
    chromium=$(command -v chromium-headless-shell chromium | head -n 1)
    if [ -z "$chromium" ] || ! command -v node >/dev/null; then
        echo "browse: chromium-headless-shell and node are needed" >&2
        return
    fi
    module=$(playwright_folder ~root) || echo "browse: no playwright-core, so without it" >&2
    mkdir pages
    {
        echo '<!doctype html><title>Small</title><h1>A form</h1><input>'
        echo '<button onclick="n.textContent++">Send</button><p id=n>0</p>'
        for i in {1..20}; do echo "<p>Paragraph $i of some words.</p>"; done
    } >pages/small.html
    {
        echo '<!doctype html><title>Large</title>'
        for i in {1..1250}; do
            echo "<div><a href='#$i'>Link $i</a><button>Button $i</button><input value=$i></div>"
        done
    } >pages/big.html
    export OD_BROWSER=$chromium
    for _ in 1 2 3 4 5; do
        run 120 "$bin/browse" "$dir/pages" >>ours.browse
        run 120 node "$here/browse_cdp.mjs" "$chromium" "$dir/pages" >>bare.browse
        [ -z "$module" ] || run 120 node "$here/browse_playwright.mjs" "$chromium" \
            "$dir/pages" "$module" >>playwright.browse
    done
    unset OD_BROWSER
    touch playwright.browse
    browse_rows 'from the start to a blank page' launch
    browse_rows 'a page, its tree and its picture' visit
    browse_rows 'a field filled' fill ratio '<=' 1.05
    browse_rows 'a click' click ratio '<=' 1.2
    row 'a picture with its marks drawn, and the tree, us' "$(median ours.browse marked)" -
    row 'waited behind actions, for what they change, us' "$(median ours.browse settle)" -
    row '5,000 elements, tree and picture, us; getFullAXTree' "$(median ours.browse big)" \
        "$(median bare.browse tree)" ratio '<=' 1.1
    row '  all three calls at once' "$(median bare.browse big)" "$(median bare.browse tree)"
    row '  our own memory for it, KiB; its largest message' "$(median ours.browse peak)" \
        "$(median bare.browse message)"
    row '  more than the message, KiB' \
        "$(difference "$(median ours.browse peak)" "$(median bare.browse message)")" - ours '<=' 10240
    rm -rf pages
}

# browse_rows FIGURE KEY [GOAL]: against the bare calls, and Playwright.
browse_rows() {
    local figure=$1 key=$2
    shift 2
    row "$figure, us" "$(median ours.browse "$key")" "$(median bare.browse "$key")" "$@"
    row '  Playwright, us' "$(median ours.browse "$key")" "$(median playwright.browse "$key")" \
        ratio '<=' 1
}
