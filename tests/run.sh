#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh GROUP...: builds what the groups need, runs their test programs, and adds up
# their TAP. As many run at once as there are processors, and one more in groups whose
# programs wait more than they compute.
#
#   build      the release and the dev build, then tests/scenario/build.test
#   unit       tests/unit/ROOM, with sanitizers (glibc)    unit-musl  as released
#   scenario wire mcp agents fault compat kernels browser images
#              tests/GROUP/*.test, on the release
#   cross      another processor's build, under an emulator
#   fleet      build/deploy in real engines; not part of all
#   corpus     each target of tests/fuzz over its seeds, as gcc and its sanitizers build it
#   fuzz       each target of tests/fuzz for FUZZ_SECONDS, as clang and libFuzzer build it
#   quick, all several of them; in `all`, what the fuzzers try is the same each time
#
# Every program has TEST_LIMIT seconds (120; twice that in browser, compat, agents), times
# OD_TEST_SLOW: how many times slower than usual (0.5 ms) an execution is here, from 2 to 8,
# measured at the start. The limits of waiting within programs are multiplied by it too. A
# group without programs prints nothing. Logs are in out/test/GROUP/NAME.log; those of
# failures are shown.
# The first TEST_AGAIN programs that fail (0, in `all` 4) run once more, alone, at the
# end: the second run counts, and the list of programs that passed only then is printed.
# Ends with the seconds of each group, from its first program to the end of its last (the
# next group begins before that), of its TEST_SLOWEST (5) slowest programs, with the
# seconds of a processor that each took (not those of daemons it left to another parent),
# and "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1

make=${MAKE:-make}
slowest=${TEST_SLOWEST:-5}
again=${TEST_AGAIN:-0}

# shellcheck source=tests/lib/path.sh
. tests/lib/path.sh

# How many times longer than half a millisecond an execution takes here: 2 to 8.
measure_slow() {
    local start ms i
    start=$(date +%s%N)
    for ((i = 0; i < 40; i++)); do /bin/true; done
    ms=$((($(date +%s%N) - start) / 1000000))
    echo $((ms < 40 ? 2 : ms > 160 ? 8 : ms / 20))
}
export OD_TEST_SLOW=${OD_TEST_SLOW:-$(measure_slow)}
limit=$((${TEST_LIMIT:-120} * OD_TEST_SLOW))
fuzz_limit=$((${FUZZ_SECONDS:-10} + 120 * OD_TEST_SLOW))
jobs=$(nproc 2>/dev/null || echo 2)
arch=$(uname -m)
logs=out/test
# Tests that build have another HOME, and the same cache of objects.
if command -v ccache >/dev/null; then
    export CCACHE_DIR=${CCACHE_DIR:-$(ccache -k cache_dir)}
fi
passed=0 failed=0 skipped=0 failures=() unsteady=()
declare -A running=() began=() took=() # programs by pid; times of groups
unset MAKEFLAGS MAKELEVEL MFLAGS MODE TARGET O

# The programs of a group, one a line.
programs() {
    case $1 in
    unit) ls out/"$arch"-dev/unit/t_* ;;
    build) ls tests/scenario/build.test ;;
    unit-musl) ls out/"$arch"-release/unit/t_* ;;
    corpus | fuzz) ls tests/fuzz/fuzz_*.c ;;
    *) find tests/"$1" -name '*.test' ! -name build.test | sort ;;
    esac 2>/dev/null
}

# run_one GROUP PROGRAM LOG
run_one() {
    local run=("$2") limit=$limit start status
    case $1 in
    build) limit=$((600 * OD_TEST_SLOW)) run=(sh "$2") ;;
    cross) limit=$((1800 * OD_TEST_SLOW)) run=(sh "$2") ;;
    images) limit=$((900 * OD_TEST_SLOW)) ;;
    browser | compat | agents) limit=$((2 * limit)) ;; # browsers and peers compute most of it
    fleet) limit=3600 ;; # a Kubernetes is built
    corpus) run=(tests/lib/fuzz-one.sh "$2" corpus) ;;
    fuzz) limit=$fuzz_limit run=(tests/lib/fuzz-one.sh "$2") ;;
    esac
    [[ $2 == *.test && ! -x $2 ]] && run=("$(sed -n '1s/^#! *//p' "$2")" "$2")
    local TIMEFORMAT='%U %S'
    start=$(date +%s%N)
    { time timeout -k 10 "$limit" "${run[@]}" >"$3" 2>&1 </dev/null; } 2>"$3.time"
    status=$?
    awk 'NF == 2 { printf "processor %.1f\n", $1 + $2 }' "$3.time" >>"$3"
    rm -f "$3.time"
    printf 'seconds %s\nstatus %d\n' "$(tenths "$start")" "$status" >>"$3"
}

# tenths START: the seconds since START, a time in nanoseconds.
tenths() {
    local ms=$((($(date +%s%N) - $1) / 1000000))
    printf '%4d.%d' $((ms / 1000)) $((ms % 1000 / 100))
}

# slow_ones GROUP: its slowest programs, each with its seconds, and those of a processor.
slow_ones() {
    (cd "$logs/$1" 2>/dev/null && awk '
        /^processor [0-9.]+$/ { p = $2 }
        /^seconds +[0-9.]+$/ {
            print $2, p + 0, substr(FILENAME, 3, length(FILENAME) - 6)
            p = 0
        }' ./*.log) | sort -rn | head -n "$slowest" |
        while read -r s p program; do
            printf '           %6s s  %6s s  %s\n' "$s" "$p" "$program"
        done
}

# results LOG: its rows, and the status of its program.
results() { awk -f tests/lib/results.awk "$1"; }

# show LOG STATUS: what failed in it.
show() {
    echo "--- $1"
    [ "$2" != 124 ] && [ "$2" != 137 ] || echo "ended for lack of time"
    tail -n 200 "$1" | grep -v '^ok '
}

# add_up GROUP PROGRAM LOG: adds its results. One that failed is noted for a second run,
# if there is one left.
add_up() {
    local p f s rc
    read -r p f s rc < <(results "$3")
    if [ "$f" != 0 ]; then
        show "$3" "$rc"
        if [ "${#failures[@]}" -lt "$again" ]; then
            failures+=("$1 $2 $3")
            return
        fi
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# Waits for the next program that ends.
reap() {
    local pid group program log
    wait -n -p pid
    read -r group program log <<<"${running[$pid]}"
    unset "running[$pid]"
    add_up "$group" "$program" "$log"
    took[$group]=$(tenths "${began[$group]}")
}

run_programs() {
    local group=$1 program log jobs=$jobs
    case $group in
    fleet) jobs=1 ;; # each is an engine
    scenario | wire | mcp | agents | kernels | compat | browser) jobs=$((jobs + 1)) ;;
    esac
    mkdir -p "$logs/$group"
    rm -f "$logs/$group"/*.log "$logs/$group"/*.log.first
    began[$group]=$(date +%s%N)
    while read -r program; do
        while [ "${#running[@]}" -ge "$jobs" ]; do reap; done
        log=$logs/$group/$(basename "$program").log
        run_one "$group" "$program" "$log" </dev/null &
        running[$!]="$group $program $log"
    done
}

# Runs each program that failed once more; now its results are added.
run_again() {
    local failure group program log
    again=0
    for failure in "${failures[@]}"; do
        read -r group program log <<<"$failure"
        mv "$log" "$log.first"
        run_one "$group" "$program" "$log"
        add_up "$group" "$program" "$log"
        [ "$(results "$log" | cut -d ' ' -f 2)" != 0 ] || unsteady+=("$group/$(basename "$program")")
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
        build dev MODE=dev all unit || : # and the gates in any case
        ;;
    unit) build dev MODE=dev unit ;;
    corpus) # with the command for files of other projects, tried on this tree's own
        build/tools.sh dev >&2 || :
        build corpus MODE=dev fuzz-targets || return
        build corpus-folder corpus DIR=tests/fuzz
        ;;
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
    fleet)
        RUNLEVEL=1 build/tools.sh test fleet >&2 || : # without starting the machine's own
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    kernels)
        build/tools.sh test kernels >&2 || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    scenario) # and the manual that is installed, and the od that tests of upgrades start from
        build/tools.sh test >&2 || :
        build release all docs "out/$arch-release/lib/fake_worker"
        build/previous.sh >/dev/null 2>&1 || :
        ;;
    compat)
        build/tools.sh test kernels >&2 || :
        tests/images/roots.sh valkey >/dev/null || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    agents) # and the agents, before their tests' time begins
        build/tools.sh test >&2 || :
        tests/agents/fetch.sh >/dev/null || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    fault | browser)
        build/tools.sh test >&2 || :
        [ -x "out/$arch-release/od" ] || build release all
        ;;
    *) [ -x "out/$arch-release/od" ] || build release all ;;
    esac
}

# Without clang's runtime the targets still run their corpus.
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
        again=${TEST_AGAIN:-4}
        groups+=(build unit unit-musl scenario wire mcp agents kernels fault images compat browser)
        groups+=(cross corpus fuzz)
        ;;
    *) groups+=("$g") ;;
    esac
done

# The programs of a group begin while the last ones of the group before still run.
for g in "${groups[@]}"; do
    prepare "$g" && run_programs "$g" < <(programs "$g")
done
while [ "${#running[@]}" -gt 0 ]; do reap; done
run_again

for g in "${groups[@]}"; do
    [ -n "${took[$g]-}" ] || continue
    printf '%-10s %s s\n' "$g" "${took[$g]}"
    slow_ones "$g"
    [ "$g" != fleet ] || grep -h '^# figure: ' "$logs/$g"/*.log || :
done
[ ${#unsteady[@]} = 0 ] ||
    printf 'passed only when run again, alone: %s\n' "${unsteady[@]}"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/summary"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
