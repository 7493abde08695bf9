# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The code that runs inside the user's bash: sourced at its start, and again to install
# the next generation. core/shell/shell.h has the marks that it prints and the records
# that it writes; core/shell/shell.c fills it in:
#
# - __od_ becomes __odN_, with the generation, in every name;
# - @nonce@ @seq@ @gen@ @pty@ @dir@ @tty@ @before@ become values;
# - the lines after "#? WORD", up to "#?", are left out unless WORD holds: start (of the
#   shell) or again, rc (after the user's file), pty or pipe, new (bash 4.4) or old;
# - without the device, 2>/dev/null becomes 2>&- and </dev/null the empty file n; where
#   all commands have one OD_OP, $OD_SESSION/$__od_m becomes $OD_SESSION.
#
# The build removes comments and indentation (build/embed.sh): no line within quotes may
# begin with a blank or a #.
#
# Neither aliases nor functions of the usual names, nor the options that a user sets
# (-e -u -x -v -C, posix mode, traps on ERR, DEBUG, RETURN), change what it does or show
# in the output; each odd-looking spot is one of those:
#
# - \builtin x: an alias is not expanded, a function named x not called;
# - { ...; } 2>/dev/null around our parts where set -x would trace them;
# - a status is handed on by a function in the left half of &&, which neither set -e nor
#   the ERR trap looks at;
# - >> and /dev/tty are not refused by noclobber;
# - what is parsed at each command has no { } [[ if case: a user's alias takes these, too;
# - ${x-} everywhere, for set -u.
#
# Variables: k nonce, n number of the last command begun, m number of the next one, j that
# and its text, s status, p how the next command begins, f set when the next prompt follows no
# command, r set while a command runs, y set on a terminal, d the session's directory,
# t where marks go, u the user's prompt.
#
# shellcheck disable=SC1001 # \builtin, as above
# shellcheck disable=SC1007 # x= y= are assignments of nothing, in as few bytes as can be
# shellcheck disable=SC2016 # what is in single quotes is evaluated later
# shellcheck disable=SC2034 # names that only such texts use
# shellcheck disable=SC2154 # names that only such texts, or read and mapfile, set
__od_z=$?
#? rc
# shellcheck source=/dev/null # the user's
[ -f ~/.bashrc ] && . ~/.bashrc
#?
__od_k=@nonce@ __od_n=@seq@ __od_s=0 __od_f=1 __od_r= __od_p= __od_y=@pty@ __od_d=@dir@ __od_t=@tty@
#? pty
# Marks go to 255, where an interactive bash keeps its terminal (closed on exec), else to
# the device: >& takes both, and a descriptor saves opening a device each time.
{ \builtin printf '' >&255;} 2>/dev/null && __od_t=255
#?
export OD_SESSION OD_OP
#? again
__od_s=$__od_z
#?
# n is at least the last command of the previous generations: a command that has begun is
# not run again, whatever was lost on the way.
__od_B=0
for __od_i in 0 @before@; do if [ "$__od_i" -gt "$__od_B" ]; then __od_B=$__od_i; fi; done
if [ "$__od_B" -gt "$__od_n" ]; then __od_n=$__od_B; fi
#? pipe
# The command's own INT must not end the shell that reads a pipe.
trap : INT
#?
#? start
shopt -s expand_aliases checkwinsize 2>/dev/null
#?

# Begin: the mark, and the status of the command before.
__od_b() {
    \builtin printf '\033]7723;%s;S;%s\007' "$__od_k" "$__od_n" >&"$__od_t"
    return "$__od_s"
}
# Chooses how the next begin hands on $?.
__od_c() {
    case $-:$__od_s in
    *x*:0) __od_p='{ __od_b;} 2>/dev/null';;
    *x*) __od_p='{ __od_b&&\builtin :;} 2>/dev/null';;
    *:0) __od_p=__od_b;;
    *) __od_p='__od_b&&\builtin :';;
    esac
}
# The flags of a record beside $-: line editing is on, output is not a terminal.
__od_G() {
    case ${SHELLOPTS-} in
    *emacs*|*:vi|*:vi:*) __od_g=!;;
    *) __od_g=;;
    esac
    [[ -t 1 ]] || __od_g+=@
}
# End: the record, the mark, then input is dropped until the acknowledgement.
__od_e() {
    [[ $__od_r ]] || \builtin return
    __od_s=$1; __od_G
    \builtin printf '%s\000%s\000%s\000%s\000%.4096s\000%s\000%.4096s\000' E "$__od_n" "$1" "$-$__od_g" "${PWD-}" "${!-}" "${PATH-}" >>"$__od_d/r"
    \builtin printf '\033]7723;%s;E;%s;%s\007' "$__od_k" "$__od_n" "$1" >&"$__od_t"
    __od_f=1 __od_r=
    __od_c
    [[ ! $__od_y ]] || __od_h
}
# Drops input until the acknowledgement; one with a ? is answered by a P.
__od_h() {
    if [[ $__od_t == 255 ]]; then __od_H 255; else __od_H 0 <"$__od_t"; fi
}
__od_H() {
    __od_i=0
    while [[ $((__od_i+=1)) -lt 9999 ]]; do
        __od_l=
        \builtin read -r -u "$1" __od_l || \builtin :
        case $__od_l in
        *"$__od_k $__od_n") \builtin break;;
        *"$__od_k $__od_n ?")
            \builtin printf '\033]7723;%s;P;%s;%s\007' "$__od_k" "$__od_n" "$__od_s" >&"$__od_t"
            \builtin break;;
        ?*) \builtin printf '%s\0' D "$__od_l" >>"$__od_d/r";;
        esac
    done
    \builtin :
}
# Prompt.
__od_q() {
    if [[ $__od_f ]]; then __od_f=; else { __od_Q "$1";} 2>/dev/null; fi
}
# One that follows no end. A command that was interrupted (it began: r) ends here like any
# other, so that the terminal is the worker's to set until the acknowledgement.
__od_Q() {
    [[ ! $__od_r ]] || __od_e "$1"
    if [[ $__od_f ]]; then __od_f=; \builtin return; fi
    __od_s=$1; __od_c; __od_G
    \builtin printf '%s\000%s\000%s\000%s\000%.4096s\000%s\000%.4096s\000' P "$__od_n" "$1" "$-$__od_g" "${PWD-}" "${!-}" "${PATH-}" >>"$__od_d/r"
    \builtin printf '\033]7723;%s;P;%s;%s\007' "$__od_k" "$__od_n" "$1" >&"$__od_t"
}

# Get: the command, from the file c. False: it is not a later one than the last.
__od_g() {
#? new
    \builtin mapfile -d '' -t __od_j <"$__od_d/c" || \builtin return
#? old
    # mapfile -d came with 4.4; a NUL ends read -d ''.
    { IFS= \builtin read -r -d '' '__od_j[0]' && IFS= \builtin read -r -d '' '__od_j[1]';} <"$__od_d/c" || \builtin return
#?
    __od_m=${__od_j[0]-0}
    [[ $__od_m -gt $__od_n ]] || \builtin return
    __od_n=$__od_m __od_r=1
#? new
    # It has no attribute except x (exported), so a plain assignment works.
    if [[ ${OD_OP+${OD_OP@a}} == x ]]; then OD_OP=$OD_SESSION/$__od_m; \builtin return; fi
#?
    # If it is readonly, that is an error of the builtin, not the end of the line.
    \builtin printf -v OD_OP %s "$OD_SESSION/$__od_m" 2>/dev/null || \builtin :
}

# What the typed lines evaluate: the command, in four ways.
__od_R='__od_g&&\builtin eval "$__od_p
${__od_j[1]-}"'
# Where set -x is off: should the command turn it on, the worker cuts our trace.
__od_x=$__od_R'; __od_e "$?"'
__od_X=$__od_R'; { __od_e "$?";} 2>/dev/null'
__od_w=$__od_R' <"$__od_d/i"; { __od_e "$?";} 2>/dev/null'
__od_0=$__od_R' </dev/null; { __od_e "$?";} 2>/dev/null'
# The environment, for the shell that may have to follow this one. The FIFO is opened for
# reading too: where nobody else reads (the worker died), SIGPIPE would end this shell.
__od_v() {
    __od_f=1
    { \builtin printf '+\0'; \builtin declare -px; \builtin printf '\0';} 1<>"$__od_d/e"
    __od_T
} 2>/dev/null

# At the exit of the shell: its directory and what it exports, for the same purpose. The
# status is handed on to a trap of the user's that follows.
__od_E() {
    { \builtin printf '%s\0%s\0' "$__od_n" "${PWD-}"; \builtin declare -px; \builtin printf '\0';} >|"$__od_d/x"
    \builtin return "$1"
}
# Puts that into the trap on EXIT, before what the user has there.
__od_T() {
    \builtin local t=
    # shellcheck disable=SC2015 # without the file as at its end: there is no trap
    \builtin trap -p EXIT >|"$__od_d/t" && IFS= \builtin read -r -d '' t <"$__od_d/t" || \builtin :
    t=${t#*trap -- } t=${t% EXIT*}
    case $t in
    *__od_E*) \builtin return;;
    *__od*_E*) t=${t//__od[0-9]_E/__od_E} t=${t//__od[0-9][0-9]_E/__od_E};;
    *) t="'{ __od_E \"\$?\";} 2>/dev/null&&\\builtin :'${t:+\\;}$t";;
    esac
    \builtin eval "\\builtin trap -- $t EXIT"
}
# Called when a person attaches; with '' when the last one detaches.
__od_a() {
    __od_f=1
    if [[ $1 ]]; then
        PS1=$__od_u PS2='> ' PS0=$'\033]7723;'$__od_k';H;$__od_n\a'
        \builtin bind 'set enable-bracketed-paste on'
    else
        PS1= PS2= PS0=
        \builtin bind 'set enable-bracketed-paste off'
    fi
    \builtin printf '\033]7723;%s;A;%s\007' "$__od_k" "$__od_n" >&"$__od_t"
    __od_h
    # A child that ends with 0, after which bash adopts the state of the terminal.
    ( \builtin : )
} 2>/dev/null

case ${HISTCONTROL-} in
*ignorespace*|*ignoreboth*) ;;
*) \builtin printf -v HISTCONTROL %s "ignorespace${HISTCONTROL:+:$HISTCONTROL}";;
esac
__od_u=${OD_PS1_-${PS1-}}
OD_PS1_=$__od_u
[[ $__od_u ]] || __od_u='\u@\h:\w\$ '
# By printf -v, a readonly variable is only an error, and does not end this file.
\builtin printf -v PS1 ''; \builtin printf -v PS2 ''; \builtin printf -v PS0 ''
\builtin bind 'set enable-bracketed-paste off' 2>/dev/null || \builtin :
# The user's own hooks run before ours; ours sees the status first.
[[ ${PROMPT_COMMAND[*]-} == *__od* ]] || OD_PC_=${PROMPT_COMMAND-}
\builtin unset -v PROMPT_COMMAND 2>/dev/null || \builtin :
\builtin printf -v PROMPT_COMMAND %s '__od_z=$?
'"${OD_PC_:+$OD_PC_$'\n'}"'__od_q "$__od_z"' || \builtin :
# One key runs the command, another writes the variables: readline reads typed text byte
# by byte.
for __od_i in emacs vi-insert; do
    \builtin bind -m $__od_i '"\C-_": " \\builtin eval \"$__od_x\"\C-j"'
    \builtin bind -m $__od_i '"\C-^": " \\builtin eval \"$__od_X\"\C-j"'
    \builtin bind -m $__od_i '"\e[7724~": " __od_v\C-j"'
done 2>/dev/null
# A line that somebody had not entered goes, without a bell; C-y brings it back. The key
# is one that no keyboard has (CLEAR_SHOWN in core/shell/shell.c).
for __od_i in emacs vi-insert vi-move; do
    \builtin bind -m $__od_i '"\e[7723~": kill-whole-line'
done 2>/dev/null
\builtin shopt -u huponexit 2>/dev/null
{ __od_T;} 2>/dev/null
__od_c
#? start
\builtin printf '\033]7723;%s;I;@gen@;%s;%s\007' "$__od_k" "$__od_n" "$__od_z" >&"$__od_t"
#?
#? again
\builtin printf '\033]7723;%s;I;@gen@;%s;%s\007' "$__od_k" "$__od_B" "$__od_z" >&"$__od_t"
#?
