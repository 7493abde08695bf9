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
#   all commands have one OD_OP, $OD_SESSION/$__od_n becomes $OD_SESSION.
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
# - texts of their own (see N) where a trap on ERR, DEBUG or RETURN is set, or set -e, -x or -T;
# - a status other than 0 is handed on by a function in the left half of &&, which neither
#   set -e nor the ERR trap looks at;
# - >> and /dev/tty are not refused by noclobber;
# - what is parsed at each command has no { } [[ if case: a user's alias takes these, too;
# - ${x-} everywhere, for set -u.
#
# What runs at each command is short. bash copies the body of a function at each call, so
# what is seldom needed is a function of its own. The expansion of a word costs more than a
# builtin does, most of all within quotes, so marks and records are one word where that is
# safe: their parts are digits and letters. (( )) and case cost less than [[ ]] does, which
# stands only where it has no words to expand.
#
# At the end of a command bash offers to be held: it waits in our code until the next line
# comes, which acknowledges the end or runs the next command. So the commands of a client
# that has several need neither a prompt nor readline, which cost as much as the rest.
#
# Variables: k nonce, K how marks begin, n number of the last command begun, j number and
# text of the newest one, p the text that is evaluated, s the status, f set when the next
# prompt follows no command, r y while a command runs, l a line of input, m what is evaluated
# after a command, J set once a job was stopped, x set -e if the user has it, q statuses,
# D how our code is made silent, 3 the user's x and v of $-, 5 and 6 what stands around a
# trap, d the session's directory, t where marks go, u and 4 the user's PS1 and PS0, which
# they have while a command runs, v set while PS1 is not to be changed: a person is attached,
# or it is readonly; y the terminal's path.
#
# shellcheck disable=SC1001 # \builtin, as above
# shellcheck disable=SC1007 # x= y= are assignments of nothing, in as few bytes as can be
# shellcheck disable=SC2015 # A && B || C: C is harmless, and needed where B fails
# shellcheck disable=SC2016 # what is in single quotes is evaluated later
# shellcheck disable=SC2034 # names that only such texts use
# shellcheck disable=SC2059 # words of digits and letters in a format, as above
# shellcheck disable=SC2128 # the first element of j
# shellcheck disable=SC2154 # names that only such texts, or read and mapfile, set
__od_z=$?
#? again
# What takes \builtin away: functions of these names, and enable -n. In posix mode unset is
# found before a function of that name.
case ${POSIXLY_CORRECT+x} in
x) \unset -f builtin enable;;
*) POSIXLY_CORRECT=y; \unset -f builtin enable unset; \unset -v POSIXLY_CORRECT;;
esac 2>/dev/null
\enable builtin bind break command declare eval local printf read return shopt trap unset 2>/dev/null
#?
#? new
\enable mapfile 2>/dev/null
#?
#? rc
# shellcheck source=/dev/null # the user's
[ -f ~/.bashrc ] && \builtin printf '' >|@dir@/t && . ~/.bashrc
#?
__od_k=@nonce@ __od_K=$'\033]7723;'$__od_k __od_n=@seq@ __od_s=0 __od_f=1 __od_r= __od_p= __od_l= __od_m= __od_J= __od_d=@dir@ __od_t=@tty@
#? pty
# Marks go to 255, where an interactive bash keeps its terminal (closed on exec), else to
# the device: >& takes both, and a descriptor saves opening a device each time.
# Some kernels have a /dev/tty that cannot be opened: then the terminal's own path is it.
{ [[ -c $__od_t ]] && \builtin printf '' >"$__od_t";} 2>/dev/null || __od_t=@pts@
__od_y=$__od_t
[[ ! -t 255 ]] || __od_t=255
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

# Begin: the mark, and the status of the command before. If that is 0, the printf alone
# stands before the command: c, its number, C.
__od_b() {
    \builtin printf "$__od_K;S;$__od_n\a" >&"$__od_t"
    case $__od_3 in *x*) \builtin set -x;; esac
    return "$__od_s"
}
__od_c="\\builtin printf '$__od_K;S;" __od_C="\\a' >&$__od_t"$'\n'
# The flags of a record beside $-: line editing is on, output is not a terminal; at an end
# also: extglob is on. Statuses
# from 147 on are those of a job that was stopped.
__od_G() {
    __od_g=
    case ${1-} in 14[789]|150) __od_J=j;; esac
    [[ ! -o emacs && ! -o vi ]] || __od_g=!
    __od_g+=${__od_3-}
    [[ -t 1 || -t 29 ]] || __od_g+=@
    [[ ! -s $__od_d/h ]] || __od_g+='='
    case ${PROMPT_COMMAND[*]-} in ''|__od_q|"$__od_A"*__od_Y) ;; *) __od_P;; esac
#? pty
    # The command closed 255, or uses it for something else.
    [[ $__od_t != 255 || -t 255 ]] || __od_t=$__od_y __od_C=${__od_C%255*}$__od_y$'\n'
#?
}
# PS1 and PS0 are empty at a prompt that is not for a person, but for a mark in PS1.
__od_U() {
    [[ $__od_v ]] || {
        case ${PS1-} in *"$__od_K;N"*) PS1=;; ?*) __od_u=$PS1;; esac
        __od_4=${PS0-}
#? new
        case ${PS1+${PS1@a}}${PS0+${PS0@a}} in ''|x|xx) PS1= PS0=; \builtin return;; esac
#?
        # By printf -v, as a failed assignment would end the function's callers, too.
        { \builtin printf -v PS1 '' && \builtin printf -v PS0 '';} 2>/dev/null || __od_v=r
    }
}
# End: the record, the mark, then input is dropped until the acknowledgement. $2 is set
# where m is evaluated next, so that the shell can be held: not every tenth time, as each
# time adds a level, and not where the prompt has more to do: to tell of jobs, to run the
# user's hook, to end the shell as its input is gone.
__od_e() {
    __od_g=!+
    case $__od_r$__od_n.$1${2-}${!-}$__od_J${PROMPT_COMMAND[*]-} in
    y*[1-9].?+__od_q|y*[1-9].??+__od_q) [[ -t 0 && -t 1 && -t 255 && -o emacs ]] || __od_G;;
    y*) __od_G "$1";;
    *) \builtin return;;
    esac
    case ${BASHOPTS-} in *extglob*) __od_g+='*';; esac
    \builtin printf "E\000$__od_n\000$1\000$-$__od_g\000%.4096s\000${!-}\000%.4096s\000" "${PWD-}" "${PATH-}" >>"$__od_d/r"
    # There is no acknowledgement without the mark.
    \builtin printf "$__od_K;E;$__od_n;$1\a" >&"$__od_t" || \return 0
    __od_s=$1 __od_f=1 __od_r= __od_l=
    case ${PS1-}${PS0-} in ?*) __od_U;; esac
#? pty
    case $__od_t in 255) \builtin read -r -u 255 __od_l || \builtin :;; esac
    case $__od_l in *$__od_k\ $__od_n) ;; *) __od_h;; esac
    case $__od_l in *+*) __od_f= __od_m=$__od_L;; esac
#?
}
#? pty
# Drops input, from the line l on, until the acknowledgement; one with a ? is answered by a P.
__od_h() {
    if [[ $__od_t == 255 ]]; then __od_H 255; else __od_l=; __od_H 0 <"$__od_t"; fi
} 2>/dev/null
__od_H() {
    __od_i=0
    # What cannot read does not set l, and does not go round again.
    while [[ $((__od_i+=1)) -lt 9999 && $__od_l != $'\n' ]]; do
        case $__od_l in
        *"$__od_k $__od_n") \builtin break;;
        *"$__od_k $__od_n ?")
            \builtin printf "$__od_K;P;$__od_n;$__od_s\a" >&"$__od_t"
            \builtin break;;
        ?*) \builtin printf '%s\0' D "$__od_l" >>"$__od_d/r";;
        esac
        __od_l=$'\n'
        \builtin read -r -u "$1" __od_l || \builtin :
    done
    \builtin :
}
#?
# The user's hooks at the prompt: they stand between A and Y, and find the status of the
# command. Y marks the end of what they print.
__od_A='__od_y&&\builtin : __od_'$'\n'
__od_y() {
    __od_z=$?
    case $__od_f$__od_r in 1*) __od_z=$__od_s;; y) { __od_e "$__od_z";} 2>/dev/null;; esac
    \builtin return "$__od_z"
}
__od_Y() {
    \builtin printf "$__od_K;U;$__od_n\a" >&"$__od_t"
    __od_q "$__od_z"
}
# Puts the user's hooks there, whatever was made of PROMPT_COMMAND.
__od_P() {
    __od_i=
    for __od_b in "${PROMPT_COMMAND[@]-}"; do
        __od_b=${__od_b//"$__od_A"/} __od_b=${__od_b//$'\n'__od_Y/} __od_b=${__od_b//__od_q;/}
        __od_b=${__od_b//;__od_q/} __od_b=${__od_b//__od_q/}
        __od_i+=${__od_i:+$'\n'}$__od_b
    done
    # By printf -v, as in __od_U.
    \builtin printf -v OD_PC_ %s "$__od_i" 2>/dev/null
    __od_p
}
__od_p() {
    __od_i=__od_q
    [[ ! ${OD_PC_-} ]] || __od_i=$__od_A$OD_PC_$'\n'__od_Y
    \builtin unset -v PROMPT_COMMAND || \builtin :
    \builtin printf -v PROMPT_COMMAND %s "$__od_i" || \builtin :
} 2>/dev/null
# A line of ours that asks for the environment is no command: its prompt has no hooks.
__od_V() {
    \builtin printf -v PROMPT_COMMAND %s "$__od_O"
    __od_q
}
# Prompt.
__od_q() {
    __od_i=${1-$?}
    case ${PS1-}${PS0-} in ''|*"$__od_K;N"*) ;; *) __od_U;; esac
    # bash tells of its jobs after this; the mark ends that.
    case ${!-}$__od_v in *[0-9]) \builtin printf -v PS1 "$__od_K;N;1\a" 2>/dev/null;; esac
    case $__od_f in 1) __od_f=;; *) { __od_Q "$__od_i";} 2>/dev/null;; esac
}
# One that follows no end. A command that was interrupted (it began: r) ends here like any
# other, so that the terminal is the worker's to set until the acknowledgement.
__od_Q() {
    [[ ! $__od_r ]] || __od_e "$1"
    if [[ $__od_f ]]; then __od_f=; \builtin return; fi
    __od_s=$1
    __od_G
    \builtin printf "P\000$__od_n\000$1\000$-$__od_g\000%.4096s\000${!-}\000%.4096s\000" "${PWD-}" "${PATH-}" >>"$__od_d/r"
    \builtin printf "$__od_K;P;$__od_n;$1\a" >&"$__od_t"
}

# Get: the command, from the file c. False: it is not a later one than the last.
__od_g() {
#? new
    \builtin mapfile -d '' -t __od_j <"$__od_d/c" || \builtin return
#? old
    # mapfile -d came with 4.4; a NUL ends read -d ''.
    { IFS= \builtin read -r -d '' '__od_j[0]' && IFS= \builtin read -r -d '' '__od_j[1]';} <"$__od_d/c" || \builtin return
#?
    ((${__od_j-0}>__od_n)) || \builtin return
    # p first: if it cannot be set, the command has not begun.
    __od_p=$__od_c$__od_j$__od_C${__od_j[1]-} __od_n=$__od_j __od_r=y
    case $__od_v in '') \builtin printf -v PS1 %s "$__od_u"; \builtin printf -v PS0 %s "$__od_4";; esac
    ((!__od_s)) || __od_p='__od_b&&\builtin :'$'\n'${__od_j[1]-}
#? new
    # It has no attribute except x (exported), so a plain assignment works.
    case ${OD_OP+${OD_OP@a}} in x) OD_OP=$OD_SESSION/$__od_n;; *) __od_o;; esac
#? old
    __od_o
#?
}
__od_o() {
    # If it is readonly, that is an error of the builtin, not the end of the line.
    \builtin printf -v OD_OP %s "$OD_SESSION/$__od_n" 2>/dev/null || \builtin :
}

# What a key evaluates: the command, then, while the shell is held, the next one.
__od_L='__od_m=;__od_g&&\builtin eval "$__od_p"; __od_e "$?" +; \builtin eval "$__od_m"'
# What the typed lines evaluate: the command, in three ways.
__od_R='__od_g&&\builtin eval "{ __od_b&&\\builtin :;} 2>/dev/null
${__od_j[1]-}"'
__od_X=$__od_R'; { __od_e "$?";} 2>/dev/null'
__od_w=$__od_R' <"$__od_d/i"; { __od_e "$?";} 2>/dev/null'
__od_0=$__od_R' </dev/null; { __od_e "$?";} 2>/dev/null'
# The same three where a trap is set, or set -e, -x or -T, or the command may set one. Neither
# set -e nor the ERR trap looks at the status of `! eval`, but both look at each command
# within, as long as set -e comes within, too. PIPESTATUS has the status as it is. 29 is
# where the output went before; if it is closed, our code is not silent. The file h has the
# traps.
__od_N() {
    __od_D=' >/dev/null 2>/dev/null'
    case ${BASH_XTRACEFD-} in ''|29|255|*[!0-9]*) ;; *) __od_D+=" $BASH_XTRACEFD>/dev/null";; esac
    __od_X1='__od_g&&__od_S&&! \builtin eval "$__od_x{ __od_b&&\\builtin : __od_;}'$__od_D$'\n${__od_j[1]-}"'
    __od_i='; { ( \builtin printf %s\\n "$? $PIPESTATUS" >|"$__od_d/q";\builtin trap -p DEBUG ERR RETURN>|"$__od_d/h");__od_M "$-";} 2>/dev/null 29>&1'$__od_D'||{ \builtin printf %s\\n "- $PIPESTATUS" >|"$__od_d/q";__od_M "$-";}'
    __od_w1=$__od_X1' <"$__od_d/i"'$__od_i
    __od_01=$__od_X1' </dev/null'$__od_i
    __od_X1+=$__od_i
}
__od_S() {
    case $- in *e*) \builtin set +e; __od_x='\builtin set -e;';; *) __od_x=;; esac
}
# The end. The file q has the status of `! eval` and that of eval, which a subshell wrote: no
# trap on DEBUG runs for one.
__od_M() {
    # The trace is off until the next command, as PS4 may do anything.
    \builtin set +x
    __od_3=${1//[!xv]/}
    [[ ! -s $__od_d/h ]] || \builtin trap - DEBUG RETURN
    IFS=' ' \builtin read -r __od_q __od_Q <"$__od_d/q" || \builtin :
    [[ ! -s $__od_d/h ]] || \builtin eval "$(__od_W)"
    case $__od_r$__od_q.$__od_Q in
    # An alias took the place of !, and the command did not run: the next generation runs it.
    y0.0|y1.[1-9]*)
        \builtin unalias ! 2>/dev/null
        ((__od_n-=1)) || \builtin :
        __od_r=;;
    *)
        __od_N
        __od_T
        __od_e "$__od_Q";;
    esac
}
# Prints what makes the user's traps on DEBUG and RETURN, which the file h has, overlook our
# code. With set -x or -v they would show that, and are left as they are.
# shellcheck disable=SC1091,SC2317 # the file h calls trap
__od_W() {
    \builtin trap - DEBUG RETURN
    trap() {
        __od_i=${2#"$__od_5"} __od_i=${__od_i%"$__od_6"}
        case $3$__od_3 in DEBUG|RETURN) __od_i=$__od_5$__od_i$__od_6;; esac
        case $3 in ERR) ;; *) \builtin printf '\\builtin trap -- %q %s\n' "$__od_i" "$3";; esac
    }
    \. "$__od_d/h"
}
__od_5='case ${BASH_COMMAND-}.${FUNCNAME-} in *__od[0-9]*) ;; *)'$'\n' __od_6=$'\n;; esac' __od_3=
__od_N
# The environment, for the shell that may have to follow this one. The FIFO is opened for
# reading too: where nobody else reads (the worker died), SIGPIPE would end this shell.
__od_v() {
    __od_f=1
    case ${PS1-} in *"$__od_K;N"*) __od_U;; esac
    case ${PROMPT_COMMAND-} in *__od_Y) __od_O=$PROMPT_COMMAND; \builtin printf -v PROMPT_COMMAND __od_V;; esac
    { \builtin printf '+\0'; \builtin declare -px; \builtin printf '\0';} 1<>"$__od_d/e"
    __od_T
    [[ ! -s $__od_d/h ]] || { __od_J=j; \builtin eval "$(__od_W)";}
} 2>/dev/null

# At the exit of the shell: its directory and what it exports, for the same purpose. The
# status is handed on to a trap of the user's that follows; BASH_COMMAND has the command
# in place of our eval of it. No later command changes it in that trap.
__od_E() {
    { \builtin printf '%s\0%s\0' "$__od_n" "${PWD-}"; \builtin declare -px; \builtin printf '\0';} >|"$__od_d/x"
    case ${BASH_COMMAND-} in *__od*) \builtin unset -v BASH_COMMAND && \builtin printf -v BASH_COMMAND %s "${__od_j[1]-}";; esac
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
    *) t="'{ __od_E \"\$?\"&&\\builtin :;} >/dev/null 2>/dev/null'${t:+\"
\"}$t";;
    esac
    \builtin eval "\\builtin trap -- $t EXIT"
}
# Called when a person attaches; with '' when the last one detaches. $2 is how often the
# worker had asked before; the mark has it.
__od_a() {
    __od_f=1
    if [[ $1 ]]; then
        case $__od_3 in *x*) __od_3=; \builtin set -x;; esac
        __od_v=a PS1=$__od_u PS2='> ' PS0=$__od_K';H;$__od_n\a'
        \builtin bind 'set enable-bracketed-paste on'
    else
        __od_3=${-//[!xv]/}
        \builtin set +x
        __od_u=$PS1 __od_v= PS1= PS2= PS0=
        \builtin bind 'set enable-bracketed-paste off'
    fi
    \builtin printf "$__od_K;A;$__od_n;${2-0}\a" >&"$__od_t"
    __od_l=
    __od_h
    # A child that ends with 0, after which bash adopts the state of the terminal.
    ( \builtin : )
} 2>/dev/null

case ${HISTCONTROL-} in
*ignorespace*|*ignoreboth*) ;;
*) \builtin printf -v HISTCONTROL %s "ignorespace${HISTCONTROL:+:$HISTCONTROL}";;
esac
case ${PS1-} in *$__od_k*) \builtin printf -v PS1 '';; esac
__od_u=${PS1:-${OD_PS1_-}}
OD_PS1_=$__od_u __od_v= __od_4=
case ${PS0-} in *$__od_k*) ;; *) __od_4=${PS0-};; esac
[[ $__od_u ]] || __od_u='\u@\h:\w\$ '
# By printf -v, a readonly variable is only an error, and does not end this file.
\builtin printf -v PS1 '' || __od_v=r; \builtin printf -v PS2 ''; \builtin printf -v PS0 ''
\builtin bind 'set enable-bracketed-paste off' 2>/dev/null || \builtin :
if [[ ${PROMPT_COMMAND[*]-} == *__od* ]]; then __od_p; else __od_P; fi
# One key runs the command, one runs it where a trap or set -e, -x or -T is set or may be, and
# one writes the variables: readline reads typed text byte by byte. If a function turns set -x
# on, the worker cuts our trace.
for __od_i in emacs vi-insert; do
    \builtin bind -m $__od_i '"\C-_": " \\builtin eval \"$__od_L\"\C-j"'
    \builtin bind -m $__od_i '"\C-^": " \\builtin eval \"$__od_X1\"\C-j"'
    \builtin bind -m $__od_i '"\e[7724~": " \\builtin trap -p DEBUG ERR RETURN 2>/dev/null >|\"$__od_d/h\"; __od_v\C-j"'
done 2>/dev/null
# A line that somebody had not entered goes, without a bell; C-y brings it back. The key
# is one that no keyboard has (CLEAR_SHOWN in core/shell/shell.c).
for __od_i in emacs vi-insert vi-move; do
    \builtin bind -m $__od_i '"\e[7723~": kill-whole-line'
done 2>/dev/null
\builtin shopt -u huponexit 2>/dev/null
{ __od_T;} 2>/dev/null
# What the user's file, or a previous generation, set.
\builtin trap -p DEBUG ERR RETURN >|"$__od_d/h"
{ [[ ! -s $__od_d/h ]] || \builtin eval "$(__od_W)";} 2>/dev/null
if [[ $- == *[exT]* || -s $__od_d/h ]]; then __od_L=$__od_X1 __od_X=$__od_X1 __od_w=$__od_w1 __od_0=$__od_01; fi
#? start
\builtin printf "$__od_K;I;@gen@;$__od_n;$__od_z\a" >&"$__od_t"
#?
#? again
\builtin printf "$__od_K;I;@gen@;$__od_B;$__od_z\a" >&"$__od_t"
#?
