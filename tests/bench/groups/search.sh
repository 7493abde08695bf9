# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# 20,000 files and more, by text, pattern and name; rg, grep, find beside it

# versus GOAL NAME OURS... -- THEIRS...: whole processes, their output to files.
versus() {
    local goal=$1 name=$2 ours=()
    shift 2
    while [ "$1" != -- ]; do
        ours+=("$1")
        shift
    done
    shift
    printf '#!/bin/sh\nexec %s >ours.found\n' "$(printf "'%s' " "${ours[@]}")" >ours.sh
    printf '#!/bin/sh\nexec %s >theirs.found\n' "$(printf "'%s' " "$@")" >theirs.sh
    chmod +x ours.sh theirs.sh
    run 120 "$bin/pair" 9 ./ours.sh -- ./theirs.sh >pair
    if [ "$goal" = - ]; then
        row "$name, ms" "$(pair_ms ours)" "$(pair_ms limit)"
    else
        row "$name, ms" "$(pair_ms ours)" "$(pair_ms limit)" ratio '<=' "$goal"
    fi
    [ "$(wc -l <ours.found)" = "$(wc -l <theirs.found)" ] ||
        row '  the same number of lines' 0 - ours = 1
}

pair_ms() { awk -v k="$1" '$1 == k { print $2 / 1000 }' pair; }

group_search() {
    local i=0 count=0
    while [ "$count" -lt 20000 ] && [ $i -lt 100 ]; do
        i=$((i + 1))
        mkdir -p "tree/$i"
        cp -R /usr/include "$root/core" "$root/tests" "tree/$i" 2>/dev/null
        count=$(find tree -type f | wc -l)
    done
    row 'files to be searched' "$count" - ours '>=' 20000
    if command -v rg >/dev/null; then
        versus 1.5 'a text' "$bin/search" fixed EINVAL tree -p -- rg -n -F EINVAL tree
        versus 1.5 'a pattern with a text in it' "$bin/search" regex 'struct \w+ \*\w+_new\(' \
            tree -p -- rg -n 'struct \w+ \*\w+_new\(' tree
        versus 1.5 'a pattern without' "$bin/search" regex '[A-Z]{5,}_[0-9]+x' tree -p -- \
            rg -n '[A-Z]{5,}_[0-9]+x' tree
    else
        echo '  rg: left out, there is no ripgrep'
    fi
    versus - '  the text, and grep -rn' "$bin/search" fixed EINVAL tree -p -- \
        grep -rnI -F EINVAL tree
    versus 1.5 'files by a part of their name' "$bin/search" find std tree -p -- \
        find tree -type f,l -name '*std*'
    "$bin/search" fixed EINVAL tree >search.out
    row '  memory of a helper at its peak, KiB' "$(median search.out peak)" - ours '<=' 16384
    rm -rf tree
}
