#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bash-commands.sh FILE: how bash itself divides texts into commands. The texts
# in FILE are separated by lines `%%`; for each one a line is printed: the
# number of the first line of every command but the first, or nothing when it
# is one command or does not parse.
#
# A command is complete at the first line at which bash -n accepts it. A here document
# without an end, of which bash only warns, and a line that a backslash continues are not
# complete.
set -u
export LC_ALL=C

parses() {
    [ -z "$("$BASH" -O extglob -n -c -- "$1"$'\n' 2>&1 || echo no)" ]
}

# Whether a line is blank, or a comment.
is_nothing() {
    local text=${1//[$' \t']/}
    [ -z "$text" ] || [ "${text:0:1}" = '#' ]
}

continues() {
    local slashes=${1##*[!\\]}
    [ $((${#slashes} % 2)) = 1 ]
}

divide() { # LINE...
    local starts=() chunk='' from=0 i=0 line
    for line; do
        i=$((i + 1))
        if [ -z "$chunk" ]; then
            is_nothing "$line" && continue
            from=$i chunk=$line
        else
            chunk+=$'\n'$line
        fi
        if continues "$line" && [ "$i" -lt $# ]; then
            continue
        fi
        if parses "$chunk"; then
            starts+=("$from") chunk=''
        fi
    done
    [ -z "$chunk" ] || starts=()
    echo "${starts[*]:1}"
}

lines=()
while IFS= read -r line; do
    if [ "$line" = %% ]; then
        divide ${lines[@]+"${lines[@]}"}
        lines=()
    else
        lines+=("$line")
    fi
done <"$1"
divide ${lines[@]+"${lines[@]}"}
