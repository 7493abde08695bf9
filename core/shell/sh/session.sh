# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# The code that runs inside the user's shell if it is not bash: session.bash for busybox,
# dash, ksh and others of POSIX. What is said there about names, values, "#?" lines,
# options of the user and odd-looking spots holds here; in place of \builtin stands
# `command`, or a backslash where an alias alone has to be kept out. There is no hook
# before the prompt: PS1 itself has the mark P.
#
# From the end of a command until the next one begins set -x is off, H is y, and 3 is x if
# the user has it. Nobody sees the trace of what turns it off, as 2>/dev/null stands around
# that. In ksh and its kin this is traced too, or does not keep the trace away, so D is
# empty: one line is left, which has our name, and which the worker cuts. `case` is not
# traced, so what is in its word is not, either. A function that follows the word
# `function` has options, and in ksh93 traps, of its own: F and I begin such ones.
#
# In ksh93 the trap on DEBUG goes at the end of a command, and T, which comes in its place,
# runs the user's unless 5 is 1, as from there until the next command begins.
#
# shellcheck disable=SC1001 # \:, as above
# shellcheck disable=SC1007 # x= y= are assignments of nothing, in as few bytes as can be
# shellcheck disable=SC2016 # what is in single quotes is evaluated later
# shellcheck disable=SC2034 # names that only such texts use
# shellcheck disable=SC3043 # local, in shells other than ksh
# shellcheck disable=SC3040 # options that ksh has, set in ksh only
# shellcheck disable=SC2154 # names that only such texts, or read, set
__od_z=$?
#? start
if [ "${OD_ENV_+x}" ]; then
    ENV=$OD_ENV_; export ENV; unset OD_ENV_
else unset ENV; fi
# shellcheck source=/dev/null # the user's
[ -z "${ENV-}" ] || ! [ -f "$ENV" ] || . "$ENV"
#?
__od_k=@nonce@ __od_n=@seq@ __od_s=0 __od_f= __od_r= __od_p= __od_y=@pty@ __od_d=@dir@ __od_t=@tty@
export OD_SESSION OD_OP
#? pty
# Some kernels have a /dev/tty that cannot be opened: then the terminal's own path is it.
{ [ -c "$__od_t" ] && command printf '' >"$__od_t";} 2>/dev/null || __od_t=@pts@
#?
#? again
__od_s=$__od_z
#?
__od_F=__od_ __od_I='() {' __od_D=' 2>/dev/null' __od_3= __od_H=y __od_5= __od_T= __od_K= __od_L='
'
if [ "${KSH_VERSION-}" ] && (eval 'function __od_F { :;}') 2>/dev/null; then
    __od_F='function __od_' __od_I=' {' __od_D=
    case $KSH_VERSION in V*) __od_K='case ${ \trap -p DEBUG >|"$__od_d/t";\trap - DEBUG;} in *) esac;';; esac
#? start
    # They edit lines, and would show ours.
    set +o emacs +o gmacs +o vi 2>/dev/null || :
#?
fi
__od_B=0
for __od_i in 0 @before@; do if [ "$__od_i" -gt "$__od_B" ]; then __od_B=$__od_i; fi; done
if [ "$__od_B" -gt "$__od_n" ]; then __od_n=$__od_B; fi
#? start
# shellcheck disable=SC2064 # D has its value now
trap "{ __od_E \"\$?\";}$__od_D&&__od_H=" EXIT
#?
#? pipe
# The command's own INT must not end the shell that reads a pipe.
trap : INT
#?

# Begin: the mark, and the status of the command before.
\eval "${__od_F}b$__od_I"'
__od_m=$__od_3$__od_D __od_3= __od_H= __od_5= \set +x
command printf "\033]7723;%s;S;%s\007" "$__od_k" "$__od_n" >"$__od_t"
case $__od_m in
x?*)
local PS4=
\set -x;;
esac
return "$__od_s"
}'
# Chooses how the next begin turns set -x on, and hands on $?.
__od_c() {
    case $__od_H$- in *y*) ;; *x*) __od_3=x;; *) __od_3=;; esac
    case $__od_s in 0) __od_p=__od_b;; *) __od_p='__od_b&&\:';; esac
    case $__od_T in ?*) __od_p="\\trap -- \"\$__od_T\" DEBUG;$__od_p";; esac
    case $__od_H$__od_3$__od_D.$__od_s$__od_T in
    yx.0) __od_p='__od_b;\set -x';;
    *x.*) __od_p="\\set -x;$__od_p";;
    *x*) __od_p="{ $__od_p;}$__od_D";;
    esac
}
# End: the record, the mark, then input is dropped until the acknowledgement.
\eval "${__od_F}e$__od_I"'
__od_s=$__od_z __od_f= __od_j= __od_H=y
[ -t 1 ] || __od_j=@
command printf "%s\000%s\000%s\000%s\000%.4096s\000%s\000%.4096s\000" E "$__od_n" "$__od_s" "$-$__od_3$__od_j" "${PWD-}" "${!-}" "${PATH-}" >>"$__od_d/r"
case $__od_K in ?*) __od_t_;; esac
case $__od_C in *trap*) __od_J;; esac
{ command printf "\033]7723;%s;E;%s;%s\007" "$__od_k" "$__od_n" "$__od_s"
__od_c
[ ! "$__od_y" ] || __od_h;} 0<>"$__od_t" >&0
case $__od_A$PS1 in "$__od_o"|1*) ;; *) __od_u=${PS1%"$__od_o"} PS1=$__od_o;; esac
}'
# ksh93: makes T.
__od_t_() {
    __od_T=
    while IFS= command read -r __od_l; do __od_T=$__od_T$__od_l$__od_L; done <"$__od_d/t"
    \eval "__od_T=$__od_T"
    case $__od_T in 'case $__od'*) __od_T=${__od_T#*"$__od_L"} __od_T=${__od_T%"$__od_L"*};; esac
    case $__od_T in ?*) __od_T="case \$__od_5 in 1) ;; *)$__od_L$__od_T$__od_L;; esac";; esac
}
# Drops input until the acknowledgement, or the next line of ours (+).
__od_h() {
    __od_i=0
    while [ "$__od_i" -lt 9999 ]; do
        __od_i=$((__od_i+1)) __od_l=
        command read -r __od_l || :
        case $__od_l in
        *"$__od_k $__od_n"|*"$__od_k +") break;;
        *"$__od_k $__od_n ?") command printf '\033]7723;%s;P;%s;%s\007' "$__od_k" "$__od_n" "$__od_s";;
        ?*) command printf '%s\000' D "$__od_l" >>"$__od_d/r";;
        esac
    done
    :
}
__od_W() {
    [ ! "$__od_y" ] || __od_h 0<>"$__od_t" >&0
}
# Get: the command, from a file that has no generation; and z, the status of a command
# whose end __od_e did not see.
__od_g() {
    __od_z=$?
    [ "$__od_H" ] || __od_c
    # shellcheck source=/dev/null # set -- NUMBER COMMAND
    \. "$__od_d/c"
    # With set -e, a list that fails on its left side does not end the shell, but its eval
    # would, and a trap on ERR would run for both: then the status is kept in q, by the
    # last command.
    __od_m=$1 __od_C=$2 __od_q=
    case $-$__od_e in *e*) __od_C=$2$__od_L${__od_L}'case $((__od_q=$?)) in *) esac';; esac
}
# Is there a trap on ERR? The file h has the traps: a function of busybox has none on ERR.
__od_J() {
    __od_e=
    while command read -r __od_l; do case $__od_l in *\ ERR) __od_e=e;; esac; done <"$__od_d/h"
    :
}

# What the typed lines evaluate: the command in three ways.
__od_r='if \[ "${__od_f+x}" ]; then \unset __od_f; else __od_s=$__od_z; __od_c; fi; \[ "$__od_m" -gt "$__od_n" ] && { __od_n=$__od_m; command export "OD_OP=$OD_SESSION/$__od_n" 2>/dev/null || \:; \eval "$__od_p
$__od_C"'
__od_R='; { case $((__od_z=${__od_q:-$?}))$((__od_5=1))$- in *x*) __od_3=x \set +x;; esac;'"}$__od_D;$__od_K"'case $__od_C in *trap*) \trap >|"$__od_d/h";; esac;__od_e 2>/dev/null;}'
__od_x=$__od_r$__od_R
__od_w=$__od_r' <"$__od_d/i"'$__od_R
__od_0=$__od_r' </dev/null'$__od_R
# The FIFO is opened for reading too, so that no SIGPIPE ends this shell.
__od_v='{ __od_f=; { \command printf "+\000"; \export -p; \command printf "\000";} 1<>"$__od_d/e"; \trap >|"$__od_d/h"; __od_J; __od_W;} 2>/dev/null'

# At the exit of the shell: its directory and what it exports.
\eval "${__od_F}E$__od_I"'
__od_H= \set +x
{ command printf "%s\000%s\000" "$__od_n" "${PWD-}"; \export -p; command printf "\000";} >|"$__od_d/x"
return "$1"
}'
# Called when a person attaches; with '' when the last one detaches. $2 is for the mark.
__od_a() {
    __od_f=
    if [ "$1" ]; then
        __od_A=1 PS1=$__od_o$__od_u PS2='> ' __od_Z='__od_H= \:'
        case $__od_3 in x) __od_Z='__od_H= \set -x';; esac
    else
        __od_A= PS1=$__od_o PS2= __od_Z="__od_c;{ __od_H=y \\set +x;}$__od_D"
    fi
    { command printf '\033]7723;%s;A;%s;%s\007' "$__od_k" "$__od_n" "${2-0}"; __od_h;} 0<>"$__od_t" >&0
}
\trap >|"$__od_d/h"
__od_J
__od_u='$ ' __od_A=
# A prompt that follows no __od_e (f is unset then) says so.
__od_o='${__od_f-'$(command printf '\033]7723;%s;P;' "$__od_k")'$__od_n;$?'$(command printf '\007')'}'
[ "$__od_y" ] || __od_o=
PS1=$__od_o PS2=
__od_c
#? start
command printf '\033]7723;%s;I;@gen@;%s;%s\007' "$__od_k" "$__od_n" "$__od_z" >"$__od_t"
#?
#? again
command printf '\033]7723;%s;I;@gen@;%s;%s\007' "$__od_k" "$__od_B" "$__od_z" >"$__od_t"
#?
__od_W 2>/dev/null
