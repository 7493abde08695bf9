# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Helpers for tests of sessions, after tap.sh:
#
#   serve [OPTION...]       a server of our own; $KEEPER is its pid, $T/log its log
#   run ARGUMENT...         od exec with nothing to read, OD_TEST_LIMIT seconds
#                           (60, times OD_TEST_SLOW); then
#                           $rc, $out and $err, with the bytes in $T/out and $T/err
#   gives NAME STATUS WANTED ARGUMENT...
#                           a check: run, its status, and its output to the byte
#                           (WANTED is read as by printf %b)
#   looks NAME STATUS PATTERN ARGUMENT...
#                           the same, with both as patterns of case
#   bg NAME ARGUMENT...     od exec at the same time; its output is in $T/NAME.out
#                           and .err, its status in $T/NAME.rc when it has ended
#   ended NAME              has it?          said NAME   how, as "STATUS OUTPUT"
#   ask MEMBERS             a request of its own, '"do":"list"' and so on; prints the
#                           result as JSON
#   state_of SESSION        as od exec --list has it
#   busy SESSION, idle SESSION
#   settled SESSION         idle, and its environment was looked at since the end
#   there FILE, gone PID    is it? (a zombie is gone)
#   worker                  the pid of the worker: a helper of the previous one, which is
#                           killed with it, may still be a child of the keeper
#   worker_file             the program that it is; of an ordinary user's, who may not look
#                           into it, what the keeper said of it
#   serving                 does somebody answer?
#   log_is_clean            no sanitizer, no abort: in its log, in what processes said
#
# To be polled with wait_for; none of them waits by itself.

serve() {
    (cd "$HOME" && exec "$OD" serve "$@") >"$T/log" 2>&1 &
    KEEPER=$!
    wait_for 10 serving || {
        sed 's/^/# /' "$T/log"
        exit 1
    }
}

ex() {
    # shellcheck disable=SC2034 # tap.sh says it when a test runs out of time
    tap_doing="od exec $*"
    timeout -k 5 "${OD_TEST_LIMIT:-$((60 * ${OD_TEST_SLOW:-2}))}" "$OD" exec "$@" </dev/null
}

# Not by an applet: `od exec --list` succeeds without a server, and the others start one.
serving() { ask '"do":"list"' >/dev/null 2>&1; }

run() {
    ex "$@" >"$T/out" 2>"$T/err"
    rc=$?
    # shellcheck disable=SC2034 # for the test
    out=$(tr -d '\000' <"$T/out") err=$(tr -d '\000' <"$T/err")
}

gives() {
    gives_name=$1 gives_rc=$2
    printf '%b' "$3" >"$T/wanted"
    shift 3
    run "$@"
    same_bytes "$gives_name" "$gives_rc" "$@"
}

# NAME STATUS ARGUMENT...: checks what run or cell left, whose output is to be $T/wanted
same_bytes() {
    if [ "$rc" = "$2" ] && cmp -s "$T/out" "$T/wanted"; then
        tap_line ok "$1"
    else
        tap_line no "$1"
        note "status $rc, wanted $2: $(shift 2 && printf '%s ' "$@" | head -c 300)"
        diff -a "$T/wanted" "$T/out" | head -n 12 | head -c 1500 | cat -v | sed 's/^/# /'
        head -c 1500 "$T/err" | sed 's/^/# stderr: /'
    fi
}

looks() {
    looks_name=$1 looks_rc=$2 looks_like=$3
    shift 3
    run "$@"
    # shellcheck disable=SC2254 # a pattern is what is wanted here
    case "$rc $out" in
    $looks_rc\ $looks_like) tap_line ok "$looks_name" ;;
    *)
        tap_line no "$looks_name"
        note "got:    $rc $out"
        note "wanted: $looks_rc $looks_like"
        head -c 1500 "$T/err" | sed 's/^/# stderr: /'
        ;;
    esac
}

bg() {
    bg_name=$1
    shift
    rm -f "$T/$bg_name.rc" "$T/$bg_name.out" "$T/$bg_name.err"
    {
        ex "$@" >"$T/$bg_name.out" 2>"$T/$bg_name.err"
        echo $? >"$T/$bg_name.rc.new"
        mv "$T/$bg_name.rc.new" "$T/$bg_name.rc"
    } &
}

ended() { [ -f "$T/$1.rc" ]; }

said() {
    wait_for 60 ended "$1" || echo "not ended"
    printf '%s %s\n' "$(cat "$T/$1.rc")" "$(tr -d '\000' <"$T/$1.out")"
}

ask() {
    # shellcheck disable=SC2016 # Perl's
    timeout -k 5 "${OD_TEST_LIMIT:-$((60 * ${OD_TEST_SLOW:-2}))}" perl -MIO::Socket::UNIX -e '
        my $s = IO::Socket::UNIX->new(Peer => $ENV{OD_SOCKET}) or die "no server";
        my $q = q({"v":1,) . $ARGV[0] . "}";
        $s->syswrite(pack("V a a*", length $q, "Q", $q));
        my $in = "";
        while (sysread($s, $in, 65536, length $in)) {
            while (length $in >= 5) {
                my ($n, $type) = unpack("V a", $in);
                last if length $in < 5 + $n;
                my $payload = substr($in, 5, $n);
                substr($in, 0, 5 + $n) = "";
                print("$payload\n"), exit if $type eq "R";
            }
        }
        exit 1' "$1"
}

state_of() { ex --list | awk -v name="$1" '$1 == name { print $3 }'; }
busy() { [ "$(state_of "$1")" = running ]; }
idle() { [ "$(state_of "$1")" = idle ]; }
there() { [ -e "$1" ]; }
gone() {
    case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) in
    '' | Z*) ;;
    *) return 1 ;;
    esac
}

# The shell writes its environment into the FIFO e after a command was put into c.
settled() {
    idle "$1" || return
    settled_dir=$(echo "$OD_STATE_DIR"/*/s/"$1")
    [ -n "$(find "$settled_dir/e" -newer "$settled_dir/c" 2>/dev/null)" ]
}

worker() { pgrep -n -P "$KEEPER" -f '^od-worker$'; }
worker_file() {
    if [ "$(id -u)" = 0 ]; then
        readlink "/proc/$(worker)/exe"
    else
        awk '/ the worker is \/.* now$/ { before = now; now = $(NF - 1) }
            / the worker is as before it$/ { now = before }
            END { print now }' "$T/log"
    fi
}

log_is_clean() {
    find "$T" -path '*/spool/process-*.err' >"$T/spools" 2>/dev/null
    while read -r spool; do cat "$spool"; done <"$T/spools" >"$T/said" 2>/dev/null
    ! grep -aE 'Sanitizer|runtime error|BUG|core/.*\.c:[0-9]' "$T/log" "$T/said"
}
