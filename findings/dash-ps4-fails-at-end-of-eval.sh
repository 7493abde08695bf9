#!/bin/sh
# SPDX-License-Identifier: MIT
#
# dash and busybox expand a command substitution in PS4 for each command but one: in an eval
# and with -c, the first command of the last line, if no newline ends that.
#
# Guess:  PS4='$(date) ' is expanded for each command, as in bash and ksh93, or for none:
#         POSIX asks for parameters only.
# Seen:   dash 0.5.12 and busybox 1.35: `eval ': one; : two'` traces the first command with
#         "Syntax error: end of file unexpected" and PS4 as it stands, the second one as
#         expected. With a newline at the end of the text there is no error.
# Why it matters: who prefixes traces with a time gets an error from each eval, at a line that
#         has no fault. Status and output of the commands are right.
# Needs:  apt-get, dpkg. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # apt-get downloads as another user
cd "$dir"
apt-get -qq download dash=0.5.12-2 busybox-static=1:1.35.0-4+deb12u1+b1
for package in *.deb; do
    dpkg -x "$package" root
done
cat >probe <<'END'
PS4='$(echo now) '
set -x
eval ": one; : two$1"
END
# errors END SHELL...: how many there are, and how many traces are as expected
errors() {
    end=$1
    shift
    "$@" probe "$end" >out 2>&1
    echo "$(grep -c 'yntax error: .*end of file' out) $(grep -cE '^now : (one|two)' out)"
}
newline='
'
for shell in root/bin/dash 'root/bin/busybox sh'; do
    # shellcheck disable=SC2086 # the program and its word
    without=$(errors '' $shell) with=$(errors "$newline" $shell)
    echo "RESULT $shell: errors and traces: $without, with a newline: $with"
    [ "$without" = '1 1' ]
    [ "$with" = '0 2' ]
done
