#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh GROUP...: builds what the groups need, runs their test programs, as
# many at once as there are processors, and adds up their TAP.
#
#   build      the release and the dev build, then tests/scenario/build.test
#   unit       tests/unit/ROOM, with sanitizers (glibc)    unit-musl  as released
#   scenario wire mcp fault compat kernels browser images
#              tests/GROUP/*.test, on the release
#   cross      another processor's build, under an emulator
#   fuzz       each target of tests/fuzz for FUZZ_SECONDS
#   quick, all several of them; in `all`, what the fuzzers try is the same each time
#
# Every program has TEST_LIMIT seconds (240). A group without programs says
# nothing. Logs are in out/test/GROUP/NAME.log; those of failures are shown.
# Ends with the seconds of each group and "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1

make=${MAKE:-make}
limit=${TEST_LIMIT:-240}
fuzz_limit=$((${FUZZ_SECONDS:-10} + 120))
jobs=$(nproc 2>/dev/null || echo 2)
arch=$(uname -m)
logs=out/test
passed=0 failed=0 skipped=0 seconds=()
unset MAKEFLAGS MAKELEVEL MFLAGS MODE TARGET O

# The programs of a group, one a line.
programs() {
    case $1 in
    unit) ls out/"$arch"-dev/unit/t_* ;;
    build) ls tests/scenario/build.test ;;
    unit-musl) ls out/"$arch"-release/unit/t_* ;;
    fuzz) ls tests/fuzz/fuzz_*.c ;;
    *) find tests/"$1" -name '*.test' ! -name build.test | sort ;;
    esac 2>/dev/null
}

# run_one GROUP PROGRAM LOG
run_one() {
    local run=("$2") limit=$limit
    case $1 in
    build) limit=600 run=(sh "$2") ;;
    cross) limit=900 run=(sh "$2") ;;
    images) limit=900 ;;
    fuzz) limit=$fuzz_limit run=(tests/lib/fuzz-one.sh "$2") ;;
    esac
    [[ $2 == *.test && ! -x $2 ]] && run=("$(sed -n '1s/^#! *//p' "$2")" "$2")
    timeout -k 10 "$limit" "${run[@]}" >"$3" 2>&1 </dev/null
    echo "status $?" >>"$3"
}

# add_up LOG: counts its lines, and what kept it from writing them.
add_up() {
    local n
    n=$(awk '
        /^ok .*# SKIP/ { s++; seen++; next }
        /^1\.\.0 # SKIP/ { s++; plan = 0; planned = 1; next }
        /^ok / { p++; seen++ }
        /^not ok / { f++; seen++ }
        /^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
        /^status [0-9]+$/ { rc = $2 }
        END {
            if (!f && (rc || !planned || plan != seen))
                f++
            print p + 0, f + 0, s + 0, rc + 0
        }' "$1")
    # shellcheck disable=SC2086 # four numbers
    set -- $n "$1"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$2" != 0 ]; then
        echo "--- $5"
        [ "$4" != 124 ] && [ "$4" != 137 ] || echo "ended for lack of time"
        tail -n 200 "$5" | grep -v '^ok '
    fi
}

run_programs() {
    local group=$1 program log running=0
    mkdir -p "$logs/$group"
    rm -f "$logs/$group"/*.log
    while read -r program; do
        if [ "$running" -ge "$jobs" ]; then
            wait -n
            running=$((running - 1))
        fi
        log=$logs/$group/$(basename "$program").log
        run_one "$group" "$program" "$log" &
        running=$((running + 1))
    done
    wait
    for log in "$logs/$group"/*.log; do
        [ -f "$log" ] && add_up "$log"
    done
}

# build NAME MAKE-ARGUMENT...: one result, its output shown if it failed.
build() {
    local log=$logs/build-$1.log
    mkdir -p "$logs"
    if "$make" -j"$jobs" --no-print-directory "${@:2}" >"$log" 2>&1; then
        passed=$((passed + 1))
        return 0
    fi
    failed=$((failed + 1))
    echo "--- $log"
    tail -n 60 "$log"
    return 1
}

prepare() {
    case $1 in
    build)
        build/tools.sh dev test >&2 || :
        build release all unit docs || return
        build dev MODE=dev all unit || : # and the gates all the same
        ;;
    unit) build dev MODE=dev unit ;;
    fuzz) [ -z "$(programs fuzz)" ] || build fuzz MODE="$(fuzz_mode)" fuzz-targets ;;
    cross) [ -z "$(programs cross)" ] || build/tools.sh cross >&2 || : ;;
    wire)
        build/tools.sh test >&2 || :
        build release all test-programs
        ;;
    images)
        build/tools.sh test images >&2 || :
        [ -x "out/$arch-release/od" ] || build release all || return
        tests/images/roots.sh scratch busybox bullseye bookworm trixie sid >/dev/null
        rm -f "$logs"/images/*.json
        ;;
    kernels)
        build/tools.sh test kernels >&2 || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    scenario) # and what the tests of upgrades would have to compile in their own time
        build/tools.sh test >&2 || :
        build release all "out/$arch-release/lib/fake_worker"
        build/previous.sh >/dev/null 2>&1 || :
        ;;
    fault | compat | browser)
        build/tools.sh test >&2 || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    *) [ -x "out/$arch-release/od" ] || build release all ;;
    esac
}

# Without clang's runtime the targets still see their corpus.
fuzz_mode() {
    build/tools.sh fuzz >&2
    if build/tools.sh have @libfuzzer; then echo fuzz; else echo dev; fi
}

groups=()
for g; do
    case $g in
    quick) groups+=(build unit scenario) ;;
    all)
        export OD_TEST_DEEP=1 FUZZ_SEED=${FUZZ_SEED:-1}
        groups+=(build unit unit-musl scenario wire mcp kernels fault images compat browser)
        groups+=(cross fuzz)
        ;;
    *) groups+=("$g") ;;
    esac
done

for g in "${groups[@]}"; do
    start=$(date +%s%N)
    before=$((passed + failed + skipped))
    prepare "$g" && run_programs "$g" < <(programs "$g")
    ms=$((($(date +%s%N) - start) / 1000000))
    [ "$((passed + failed + skipped))" = "$before" ] ||
        seconds+=("$(printf '%-10s %4d.%d s' "$g" $((ms / 1000)) $((ms % 1000 / 100)))")
done

printf '%s\n' "${seconds[@]}"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/summary"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
