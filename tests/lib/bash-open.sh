#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bash-open.sh FILE [STEP]: whether bash needs more lines after a text. The texts in FILE
# are separated by lines `%%`. Each text is tried up to the end of every line, without the
# newline; with STEP, up to every STEPth byte too. Prints for each try LENGTH:1 if more is
# needed, LENGTH:0 if not.
#
# bash -n reports that a text ends too early. For a here document that is not reliable,
# since a `)` may have ended it: so a wrong line is added, which is an error, except
# within a here document. bash reports nothing about a backslash at the end: it continues
# the line where a quote in its place would begin a string, so not in a comment.
set -u
export LC_ALL=C

parse() {
    local text=$1
    [ "${text: -1}" = $'\n' ] || text+=$'\n'
    said=$("$BASH" -O extglob -n -c -- "$text" 2>&1)
}

is_open() {
    local said slashes=${1%$'\n'}
    slashes=${slashes##*[!\\]}
    if [ $((${#slashes} % 2)) = 1 ]; then
        parse "${1%\\*}'"
        [[ $said != *"unexpected EOF while looking for matching \`''"* ]] || return 0
    fi
    parse "$1"
    case $said in
    *': unexpected end of file'* | *'unexpected EOF'* | *"token \`EOF'"*) return 0 ;;
    *'conditional'*) return 1 ;;
    *'error near `'*) return 0 ;; # of ((a), which may yet be two subshells
    esac
    [[ ${1//\\$'\n'/} == *'<<'* && $said != *'syntax error'* ]] || return 1
    parse "${1%$'\n'}"$'\n;;'
    [[ $said != *'syntax error'* ]]
}

ask() { # TEXT
    local out=() n c
    for ((n = 1; n <= ${#1}; n++)); do
        c=${1:n:1}
        if [ "$c" = $'\n' ] || [ "$n" = ${#1} ] || [ $((n % step)) = 0 ]; then
            if is_open "${1:0:n}"; then out+=("$n:1"); else out+=("$n:0"); fi
        fi
    done
    echo "${out[*]}"
}

step=${2:-100000}
text=
while IFS= read -r line; do
    if [ "$line" = %% ]; then
        ask "$text"
        text=
    else
        text+=${text:+$'\n'}$line
    fi
done <"$1"
ask "$text"
