/* SPDX-License-Identifier: MIT */
/*
 * The code that runs inside the user's shell. It is written so that neither
 * aliases nor functions of the usual names, nor the options that a user sets
 * (-e -u -x -v -C, posix mode, traps on ERR, DEBUG, RETURN), change what it
 * does or show in the output; each odd-looking spot is one of those:
 *
 * - `\builtin x`: an alias is not expanded, a function named x not called;
 * - `{ …; } 2>/dev/null` around our parts where set -x would trace them;
 * - a status is handed on by a function in the left half of `&&`, which neither
 *   set -e nor the ERR trap looks at;
 * - `>>` and /dev/tty are not refused by noclobber;
 * - `${x-}` everywhere, for set -u.
 *
 * In the texts @@ stands for the prefix of the generation.
 */
#include "shell/shell.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OSC "\\033]7723;%s;"
/* Of an E or P; no record is longer than its reader looks. */
#define RECORD "%s\\000%s\\000%s\\000%s\\000%.4096s\\000%s\\000%.4096s\\000"

/* A key that nobody has; and what a terminal's echo makes of it. */
#define CLEAR_SHOWN STR("^[[7723~")
#define CLEAR_KEY   "\\e[7723~"

/*
 * Begin, and the choice of how the next begin hands on $? (@@p). Marks go to
 * @@t: 255, where an interactive bash keeps its terminal (closed on exec), or
 * /dev/tty; `>&` takes both, and a descriptor saves opening a device each time.
 */
static const char bash_code[] =
    "@@b() { \\builtin printf '" OSC "S;%s\\007' \"$@@k\" \"$@@n\" >&\"$@@t\"; return \"$@@s\"; }\n"
    "@@c() {\n"
    "case $-:$@@s in\n"
    "*x*:0) @@p='{ @@b;} @@HIDE';;\n"
    "*x*) @@p='{ @@b&&\\builtin :;} @@HIDE';;\n"
    "*:0) @@p=@@b;;\n"
    "*) @@p='@@b&&\\builtin :';;\n"
    "esac\n"
    "}\n"
    "@@G() { case ${SHELLOPTS-} in *emacs*|*:vi|*:vi:*) @@g=!;; *) @@g=;; esac; [[ -t 1 ]] || @@g+=@; }\n"
    /* End: record, mark, then swallow input until the acknowledgement. */
    "@@e() {\n"
    "@@s=$1; @@G\n"
    "\\builtin printf '" RECORD
    "' E \"$@@n\" \"$1\" \"$-$@@g\" \"${PWD-}\" \"${!-}\" \"${PATH-}\" >>\"$@@d/r\"\n"
    "\\builtin printf '" OSC "E;%s;%s\\007' \"$@@k\" \"$@@n\" \"$1\" >&\"$@@t\"\n"
    "@@f=1 @@r=\n"
    "@@c\n"
    "[[ ! $@@y ]] || @@h\n"
    "}\n"
    /* Drops input until the acknowledgement; one with a `?` wants to hear of it. */
    "@@h() { if [[ $@@t == 255 ]]; then @@H 255; else @@H 0 <\"$@@t\"; fi; }\n"
    "@@H() {\n"
    "@@i=0\n"
    "while [[ $((@@i+=1)) -lt 9999 ]]; do\n"
    "@@l=\n"
    "\\builtin read -r -u \"$1\" @@l || \\builtin :\n"
    "case $@@l in\n"
    "*\"$@@k $@@n\") \\builtin break;;\n"
    "*\"$@@k $@@n ?\") \\builtin printf '" OSC "P;%s;%s\\007' \"$@@k\" \"$@@n\" \"$@@s\" >&\"$@@t\"; \\builtin break;;\n"
    "?*) \\builtin printf '%s\\0' D \"$@@l\" >>\"$@@d/r\";;\n"
    "esac\n"
    "done\n"
    "\\builtin :\n"
    "}\n"
    /*
     * Prompt. A command that was interrupted (it began: @@r) ends here like any
     * other, so that the terminal is ours to set until the acknowledgement.
     */
    "@@q() {\n"
    "[[ $@@f || ! $@@r ]] || @@e \"$1\"\n"
    "if [[ $@@f ]]; then @@f=; \\builtin return; fi\n"
    "@@s=$1; @@c; @@G\n"
    "\\builtin printf '" RECORD
    "' P \"$@@n\" \"$1\" \"$-$@@g\" \"${PWD-}\" \"${!-}\" \"${PATH-}\" >>\"$@@d/r\"\n"
    "\\builtin printf '" OSC "P;%s;%s\\007' \"$@@k\" \"$@@n\" \"$1\" >&\"$@@t\"\n"
    "}\n"
    /* Where set -x is off: should the command turn it on, the worker cuts our trace. */
    "@@x='@@READ && { @@n=$@@m @@r=1; @@SET; \\builtin eval \"$@@p\n"
    "$@@C\"; @@e \"$?\";}'\n"
    "@@X='@@READ && { @@n=$@@m @@r=1; @@SET; \\builtin eval \"$@@p\n"
    "$@@C\"; { @@e \"$?\";} @@HIDE;}'\n"
    "@@w='@@READ && { @@n=$@@m @@r=1; @@SET; \\builtin eval \"$@@p\n"
    "$@@C\" <\"$@@d/i\"; { @@e \"$?\";} @@HIDE;}'\n"
    "@@0='@@READ && { @@n=$@@m @@r=1; @@SET; \\builtin eval \"$@@p\n"
    "$@@C\" <@@EMPTY; { @@e \"$?\";} @@HIDE;}'\n"
    /* The environment, for the shell that may have to follow this one. */
    "@@v='{ @@f=1; { \\builtin declare -px; \\builtin printf \"\\0\";} >\"$@@d/e\"; @@T;} @@HIDE'\n"
    /*
     * At the exit of the shell: where it is and what it exports, for the same purpose.
     * The status is handed on to a trap of the user's that follows.
     */
    "@@E() {\n"
    "{ \\builtin printf '%s\\0%s\\0' \"$@@n\" \"${PWD-}\"; \\builtin declare -px; \\builtin printf '\\0';} >|\"$@@d/x\"\n"
    "\\builtin return \"$1\"\n"
    "}\n"
    /* Puts that into the trap on EXIT, before what the user has there. */
    "@@T() {\n"
    "\\builtin local t=\n"
    "\\builtin trap -p EXIT >|\"$@@d/t\" && IFS= \\builtin read -r -d '' t <\"$@@d/t\" || \\builtin :\n"
    "t=${t#*trap -- } t=${t% EXIT*}\n"
    "case $t in\n"
    "*@@E*) \\builtin return;;\n"
    "*__od*_E*) t=${t//__od[0-9]_E/@@E} t=${t//__od[0-9][0-9]_E/@@E};;\n"
    "*) t=\"'{ @@E \\\"\\$?\\\";} @@HIDE&&\\\\builtin :'${t:+\\\\;}$t\";;\n"
    "esac\n"
    "\\builtin eval \"\\\\builtin trap -- $t EXIT\"\n"
    "}\n"
    "@@a() {\n"
    "@@f=1\n"
    "if [[ $1 ]]; then PS1=$@@u PS2='> ' PS0=$'\\033]7723;'$@@k';H;$@@n\\a'\n"
    "\\builtin bind 'set enable-bracketed-paste on'\n"
    "else PS1= PS2= PS0=\n"
    "\\builtin bind 'set enable-bracketed-paste off'\n"
    "fi\n"
    "\\builtin printf '" OSC "A;%s\\007' \"$@@k\" \"$@@n\" >&\"$@@t\"\n"
    "@@h\n"
    "( \\builtin : )\n" /* a child that ends well: bash takes the terminal's state as its own */
    "} @@HIDE\n"
    "case ${HISTCONTROL-} in *ignorespace*|*ignoreboth*) ;; *) \\builtin printf -v HISTCONTROL %s \"ignorespace${HISTCONTROL:+:$HISTCONTROL}\";; esac\n"
    "@@u=${OD_PS1_-${PS1-}}\n"
    "OD_PS1_=$@@u\n"
    "[[ $@@u ]] || @@u='\\u@\\h:\\w\\$ '\n"
    /* printf -v: a readonly variable is an error then, not the end of this file. */
    "\\builtin printf -v PS1 ''; \\builtin printf -v PS2 ''; \\builtin printf -v PS0 ''\n"
    "\\builtin bind 'set enable-bracketed-paste off' @@HIDE || \\builtin :\n"
    /* The user's own hooks run before ours; ours sees the status first. */
    "[[ ${PROMPT_COMMAND[*]-} == *__od* ]] || OD_PC_=${PROMPT_COMMAND-}\n"
    "\\builtin unset -v PROMPT_COMMAND @@HIDE || \\builtin :\n"
    "\\builtin printf -v PROMPT_COMMAND %s '@@z=$?\n"
    "'\"${OD_PC_:+$OD_PC_$'\\n'}\"'if [[ $@@f ]]; then @@f=; else { @@q \"$@@z\";} @@HIDE; fi' || \\builtin :\n"
    /* One key runs the command: readline reads typed text byte by byte. */
    "for @@i in emacs vi-insert; do\n"
    "\\builtin bind -m $@@i '\"\\C-_\": \" \\\\builtin eval \\\"$@@x\\\"\\C-j\"'\n"
    "\\builtin bind -m $@@i '\"\\C-^\": \" \\\\builtin eval \\\"$@@X\\\"\\C-j\"'\n"
    "done @@HIDE\n"
    /* A line that somebody had not entered goes, without a bell; C-y brings it back. */
    "for @@i in emacs vi-insert vi-move; do\n"
    "\\builtin bind -m $@@i '\"" CLEAR_KEY "\": kill-whole-line'\n"
    "done @@HIDE\n"
    "\\builtin shopt -u huponexit @@HIDE\n"
    "{ @@T;} @@HIDE\n";

static const char bash_read[] =
    "\\builtin mapfile -d \"\" -t @@j <\"$@@d/c\" && @@m=${@@j[0]-0} @@C=${@@j[1]-}"
    " && \\builtin unset -v @@j && [[ $@@m -gt $@@n ]]";
/* mapfile -d came with 4.4; a NUL ends `read -d ''`. */
static const char bash_old_read[] =
    "{ IFS= \\builtin read -r -d \"\" @@m && IFS= \\builtin read -r -d \"\" @@C;} <\"$@@d/c\""
    " && [[ $@@m -gt $@@n ]]";

static const char posix_code[] =
    "@@b() { command printf '" OSC "S;%s\\007' \"$@@k\" \"$@@n\" >\"$@@t\"; return \"$@@s\"; }\n"
    "@@c() {\n"
    "case $-:$@@s in\n"
    "*x*:0) @@p='{ @@b;} @@HIDE';;\n"
    "*x*) @@p='{ @@b&&\\:;} @@HIDE';;\n"
    "*:0) @@p=@@b;;\n"
    "*) @@p='@@b&&\\:';;\n"
    "esac\n"
    "}\n"
    "@@e() {\n"
    "@@s=$1 @@f= @@j=\n"
    "[ -t 1 ] || @@j=@\n"
    "command printf '" RECORD
    "' E \"$@@n\" \"$1\" \"$-$@@j\" \"${PWD-}\" \"${!-}\" \"${PATH-}\" >>\"$@@d/r\"\n"
    "{ command printf '" OSC "E;%s;%s\\007' \"$@@k\" \"$@@n\" \"$1\"; @@c; [ ! \"$@@y\" ] || @@h;} <>\"$@@t\" >&0\n"
    "}\n"
    "@@h() {\n"
    "@@i=0\n"
    "while [ \"$@@i\" -lt 9999 ]; do\n"
    "@@i=$((@@i+1)) @@l=\n"
    "command read -r @@l || :\n"
    "case $@@l in\n"
    "*\"$@@k $@@n\"|*\"$@@k +\") break;;\n"
    "*\"$@@k $@@n ?\") command printf '" OSC
    "P;%s;%s\\007' \"$@@k\" \"$@@n\" \"$@@s\";;\n"
    "?*) command printf '%s\\000' D \"$@@l\" >>\"$@@d/r\";;\n"
    "esac\n"
    "done\n"
    ":\n"
    "}\n"
    "@@W() { [ ! \"$@@y\" ] || @@h <>\"$@@t\" >&0; }\n"
    /*
     * Get: the command, from a file that knows no generation; and @@z, the status
     * before, of an end that @@e did not see.
     */
    "@@g() { @@z=$?; \\. \"$@@d/c\"; @@m=$1 @@C=$2; }\n"
    "@@r='if \\[ \"${@@f+x}\" ]; then \\unset @@f; else @@s=$@@z; @@c; fi; \\[ \"$@@m\" -gt \"$@@n\" ] && { @@n=$@@m; @@SET; '\n"
    "@@x=$@@r'\\eval \"$@@p\n"
    "$@@C\"; { @@e \"$?\";} @@HIDE;}'\n"
    "@@w=$@@r'\\eval \"$@@p\n"
    "$@@C\" <\"$@@d/i\"; { @@e \"$?\";} @@HIDE;}'\n"
    "@@0=$@@r'\\eval \"$@@p\n"
    "$@@C\" <@@EMPTY; { @@e \"$?\";} @@HIDE;}'\n"
    "@@v='{ @@f=; { \\export -p; \\command printf \"\\000\";} >\"$@@d/e\"; @@W;} "
    "@@HIDE'\n"
    "@@E() {\n"
    "{ command printf '%s\\000%s\\000' \"$@@n\" \"${PWD-}\"; \\export -p; command printf '\\000';} >|\"$@@d/x\"\n"
    "return \"$1\"\n"
    "}\n"
    "@@a() {\n"
    "@@f=\n"
    "if [ \"$1\" ]; then PS1=$@@o$@@u PS2='> '; else PS1=$@@o PS2=; fi\n"
    "{ command printf '" OSC "A;%s\\007' \"$@@k\" \"$@@n\"; @@h;} <>\"$@@t\" >&0\n"
    "}\n"
    "@@u='$ '\n"
    /* A prompt that follows no @@e (f is unset then) says so. */
    "@@o='${@@f-'$(command printf '\\033]7723;%s;P;' \"$@@k\")'$@@n;$?'$(command printf '\\007')'}'\n"
    "[ \"$@@y\" ] || @@o=\n"
    "PS1=$@@o PS2=\n";

static bool is_bash(const struct shell *sh)
{
    return sh->kind != SHELL_POSIX;
}

/* A readonly OD_OP is an error of the builtin then, not the end of the line. */
static const char bash_set[] =
    "\\builtin printf -v OD_OP %s \"@@OP\" @@HIDE || \\builtin :";
static const char posix_set[] = "command export \"OD_OP=@@OP\" @@HIDE || \\:";

/* Where errors and traces of ours go. Without the device: nowhere. */
static const char *hide(const struct shell *sh)
{
    return sh->no_null ? "2>&-" : "2>/dev/null";
}

/* Appends text with @@READ, @@SET, @@OP, @@HIDE, @@EMPTY and @@ replaced. */
static int expand(struct buf *out, const struct shell *sh, const char *text)
{
    char prefix[24];
    snprintf(prefix, sizeof(prefix), "__od%u_", sh->gen);
    const char *read_code = sh->kind == SHELL_BASH_OLD ? bash_old_read : bash_read;
    while (*text) {
        const char *at = strstr(text, "@@");
        size_t n = at ? (size_t)(at - text) : strlen(text);
        if (buf_add(out, text, n) < 0)
            return -1;
        if (!at)
            return 0;
        text = at + 2;
        if (strncmp(text, "READ", 4) == 0) {
            text += 4;
            if (expand(out, sh, read_code) < 0)
                return -1;
        } else if (strncmp(text, "SET", 3) == 0) {
            text += 3;
            if (expand(out, sh, is_bash(sh) ? bash_set : posix_set) < 0)
                return -1;
        } else if (strncmp(text, "HIDE", 4) == 0) {
            text += 4;
            if (buf_addz(out, hide(sh)) < 0)
                return -1;
        } else if (strncmp(text, "EMPTY", 5) == 0) {
            text += 5;
            if (expand(out, sh, sh->no_null ? "\"$@@d/n\"" : "/dev/null") < 0)
                return -1;
        } else if (strncmp(text, "OP", 2) == 0) {
            text += 2;
            if (expand(out, sh, sh->same_env ? "$OD_SESSION" : "$OD_SESSION/$@@m") < 0)
                return -1;
        } else if (buf_addz(out, prefix) < 0) {
            return -1;
        }
    }
    return 0;
}

/* In single quotes, for any shell. */
static int add_quoted(struct buf *out, struct str s)
{
    if (buf_addc(out, '\'') < 0)
        return -1;
    while (s.n > 0) {
        const char *q = memchr(s.p, '\'', s.n);
        size_t n = q ? (size_t)(q - s.p) : s.n;
        if (buf_add(out, s.p, n) < 0 || (q && buf_addz(out, "'\\''") < 0))
            return -1;
        s = str_sub(s, n + (q ? 1 : 0), s.n);
    }
    return buf_addc(out, '\'');
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool try_shell(struct shell *sh, const char *file)
{
    struct stat st;
    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode) || access(file, X_OK) < 0 ||
        strlen(file) >= sizeof(sh->path))
        return false;
    memcpy(sh->path, file, strlen(file) + 1);
    sh->kind = strncmp(base_name(file), "bash", 4) == 0 ? SHELL_BASH : SHELL_POSIX;
    return true;
}

/* In each directory of path; of those, one that does not begin with / lies in cwd. */
static bool try_name(struct shell *sh, const char *name, const char *path,
                     const char *cwd)
{
    char file[512];
    if (strchr(name, '/'))
        return try_shell(sh, name);
    while (path) {
        size_t n = strcspn(path, ":");
        bool below = path[0] != '/';
        int len = snprintf(file, sizeof(file), "%s%s%.*s%s%s", below ? cwd : "",
                           below && n > 0 ? "/" : "", (int)n, path, "/", name);
        if (len > 0 && (size_t)len < sizeof(file) && try_shell(sh, file))
            return true;
        path = path[n] ? path + n + 1 : NULL;
    }
    return false;
}

/* What a session can be run by, the best first; and what does not read what we type. */
static const char *const usable[] = {"bash", "sh", "ash", "dash", "ksh", "mksh", NULL};
static const char *const foreign[] = {"zsh", "fish",   "csh",   "tcsh",
                                      "nu",  "elvish", "xonsh", "pwsh", NULL};

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

bool shell_usable(const char *name) { return is_among(name, usable); }

int shell_find(struct shell *sh, const char *wanted, const char *path_var,
               const char *cwd, struct err *e)
{
    static const char usual[] = "/bin:/usr/bin:/usr/local/bin:/system/bin";
    if (wanted && *wanted) {
        if (is_among(base_name(wanted), foreign))
            return err_set(e, ERR_UNSUPPORTED,
                           "cannot run a session by %s: it wants bash or a POSIX sh; "
                           "%s can be run in one, or as a process of its own: exec --new %s -c TEXT",
                           wanted, wanted, wanted);
        if (try_name(sh, wanted, path_var, cwd) || try_name(sh, wanted, usual, cwd))
            return 0;
        return err_set(e, ERR_NOTFOUND,
                       "cannot run the shell %s: there is no such program", wanted);
    }
    for (const char *const *name = usable; *name; name++) {
        if (try_name(sh, *name, path_var, cwd) || try_name(sh, *name, usual, cwd))
            return 0;
    }
    return err_set(e, ERR_NOTFOUND,
                   "this image has no shell: looked for bash, sh, ash, dash and "
                   "ksh in PATH and in %s; programs can be run with exec --new",
                   usual);
}

int shell_code(struct buf *out, const struct shell *sh, uint64_t seq, bool start,
               bool with_rc)
{
    struct buf head = BUF_INIT(4096);
    char prefix[24];
    snprintf(prefix, sizeof(prefix), "__od%u_", sh->gen);
    int r = 0;
    /* What was: the status, and how far the generation before had come. */
    buf_addf(&head, "%sz=$?\n", prefix);
    if (start && is_bash(sh) && with_rc)
        buf_addz(&head, "[ -f ~/.bashrc ] && . ~/.bashrc\n");
    if (!is_bash(sh) && start)
        buf_addz(&head, "if [ \"${OD_ENV_+x}\" ]; then\n"
                        "ENV=$OD_ENV_; export ENV; unset OD_ENV_\n"
                        "else unset ENV; fi\n"
                        "[ -z \"${ENV-}\" ] || ! [ -f \"$ENV\" ] || . \"$ENV\"\n");
    buf_addf(&head, "%sk=%s %sn=%llu %ss=0 %sf=%s %sr= %sp= %sy=%s %sd=",
             prefix, sh->nonce, prefix, (unsigned long long)seq, prefix, prefix,
             is_bash(sh) ? "1" : "", prefix, prefix, prefix, sh->pty ? "1" : "", prefix);
    add_quoted(&head, str_of(sh->dir));
    buf_addf(&head, " %st=", prefix);
    struct buf tty = BUF_INIT(512);
    buf_addf(&tty, "%s/o", sh->dir);
    const char *terminal = sh->tty[0] ? sh->tty : "/dev/tty";
    add_quoted(&head, sh->pty ? str_of(terminal) : buf_str(&tty));
    buf_release(&tty);
    if (is_bash(sh) && sh->pty)
        buf_addf(&head, "\n{ \\builtin printf '' >&255;} %s && %st=255", hide(sh),
                 prefix);
    buf_addz(&head, "\nexport OD_SESSION OD_OP\n");
    if (!start)
        buf_addf(&head, "%ss=$%sz\n", prefix, prefix);
    /*
     * How far the generations before had come, and never behind it: whatever was
     * lost between us, a command that has begun is not run again.
     */
    buf_addf(&head, "%sB=0\nfor %si in 0", prefix, prefix);
    for (unsigned g = sh->gen > 16 ? sh->gen - 16 : 1; !start && g < sh->gen; g++)
        buf_addf(&head, " \"${__od%u_n-0}\"", g);
    buf_addf(&head,
             "; do if [ \"$%si\" -gt \"$%sB\" ]; then %sB=$%si; fi; done\n"
             "if [ \"$%sB\" -gt \"$%sn\" ]; then %sn=$%sB; fi\n",
             prefix, prefix, prefix, prefix, prefix, prefix, prefix, prefix);
    if (!is_bash(sh) && start)
        buf_addf(&head, "trap '{ %sE \"$?\";} %s&&:' EXIT\n", prefix, hide(sh));
    if (!sh->pty) /* the command's own INT must not end the shell that reads a pipe */
        buf_addz(&head, "trap : INT\n");
    if (is_bash(sh) && start)
        buf_addf(&head, "shopt -s expand_aliases checkwinsize %s\n", hide(sh));
    r = buf_adds(out, buf_str(&head));
    buf_release(&head);
    if (r == 0)
        r = expand(out, sh, is_bash(sh) ? bash_code : posix_code);
    struct buf tail = BUF_INIT(1024);
    buf_addf(&tail,
             "%sc\n%s printf '\\033]7723;%%s;I;%u;%%s;%%s\\007' \"$%sk\" \"$%s%c\" "
             "\"$%sz\" >%s\"$%st\"\n",
             prefix, is_bash(sh) ? "\\builtin" : "command", sh->gen, prefix, prefix,
             start ? 'n' : 'B', prefix, is_bash(sh) ? "&" : "", prefix);
    if (!is_bash(sh))
        buf_addf(&tail, "%sW %s\n", prefix, hide(sh));
    if (r == 0)
        r = buf_adds(out, buf_str(&tail));
    buf_release(&tail);
    return r;
}

int shell_argv(const struct shell *sh, char *argv[8], struct buf *space,
               struct buf *env_extra)
{
    char *name = (char *)(uintptr_t)sh->path;
    int n = 0;
    argv[n++] = name;
    buf_addf(space, "%s/p", sh->dir);
    if (sh->pty && is_bash(sh)) {
        argv[n++] = (char *)(uintptr_t)"--rcfile";
        argv[n++] = space->p;
        argv[n++] = (char *)(uintptr_t)"-i";
    } else if (sh->pty) {
        if (buf_addf(env_extra, "ENV=%s/p", sh->dir) < 0 || buf_addc(env_extra, 0) < 0)
            return -1;
        argv[n++] = (char *)(uintptr_t)"-i";
    } else if (is_bash(sh)) {
        argv[n++] = (char *)(uintptr_t)"--norc";
    }
    argv[n] = NULL;
    return 0;
}

int shell_command_file(struct buf *out, const struct shell *sh, uint64_t seq,
                       struct str command)
{
    if (is_bash(sh)) {
        if (buf_addf(out, "%llu", (unsigned long long)seq) < 0 ||
            buf_addc(out, 0) < 0 || buf_adds(out, command) < 0)
            return -1;
        return buf_addc(out, 0);
    }
    if (buf_addf(out, "\\set -- %llu ", (unsigned long long)seq) < 0 ||
        add_quoted(out, command) < 0)
        return -1;
    return buf_addc(out, '\n');
}

int shell_line(struct buf *out, const struct shell *sh, enum shell_line what,
               uint64_t seq)
{
    unsigned g = sh->gen;
    char plain = is_bash(sh) ? 'X' : 'x';
    const char *said = is_bash(sh) ? "1" : ""; /* set; other shells' prompts show it */
    char run = what == LINE_RUN ? plain : what == LINE_RUN_FIFO ? 'w' : '0';
    switch (what) {
    case LINE_RUN_KEY:
        return buf_addc(out, 0x1f);
    case LINE_RUN_KEY_X:
        return buf_addc(out, 0x1e);
    case LINE_RUN:
    case LINE_RUN_FIFO:
    case LINE_RUN_NULL:
        if (is_bash(sh))
            return buf_addf(out, " \\builtin eval \"$__od%u_%c\"\n", g, run);
        return buf_addf(out, " __od%u_g;\\eval \"$__od%u_%c\"\n", g, g, run);
    case LINE_ACK:
    case LINE_ACK_ASK:
        /* Run as a command, after an interrupt, it is harmless and makes no P. */
        return buf_addf(out, " __od%u_f=%s;: %s %llu%s\n", g, said, sh->nonce,
                        (unsigned long long)seq, what == LINE_ACK ? "" : " ?");
    case LINE_NEXT:
        return buf_addf(out, " __od%u_f=%s;: %s +\n", g, said, sh->nonce);
    case LINE_HOLD:
        return buf_addf(out, " { __od%u_f=%s;__od%u_W;} %s\n", g, said, g, hide(sh));
    case LINE_INSTALL:
        return buf_addf(out, "\025 \\. '%s/p'\n", sh->dir); /* C-u first */
    case LINE_SOURCE:
        return buf_addf(out, "\\. '%s/p'\n", sh->dir);
    case LINE_ENV:
        return buf_addf(out, " %s \"$__od%u_v\"\n",
                        is_bash(sh) ? "\\builtin eval" : "\\eval", g);
    case LINE_CLEAR: /* without line editing: VKILL, and what busybox takes for it */
        return buf_addz(out, is_bash(sh) ? "\033[7723~" : "\005\025");
    case LINE_ATTACH:
        return buf_addf(out, " __od%u_a 1\n", g);
    case LINE_DETACH:
        return buf_addf(out, " __od%u_a ''\n", g);
    }
    return -1;
}

/* ---- marks ---- */

/* A number at *p up to `end`; false when there is none or it is too long. */
static bool number(const char **p, const char *end, uint64_t *v)
{
    const char *s = *p;
    uint64_t n = 0;
    while (s < end && isdigit((unsigned char)*s) && s - *p < 19)
        n = n * 10 + (uint64_t)(*s++ - '0');
    if (s == *p)
        return false;
    *p = s;
    *v = n;
    return true;
}

enum { MARK_MAX = 96 }; /* longer than any mark */

/* 1: a mark of n bytes; 0: may become one; -1: none. */
static int parse_mark(struct str s, size_t head, struct mark *m)
{
    const char *p = s.p + head, *end = s.p + s.n;
    if (p == end)
        return 0;
    uint64_t v[3] = {0, 0, 0};
    int n = 0;
    m->kind = *p++;
    if (!strchr("SEPIHA", m->kind) || m->kind == 0)
        return -1;
    while (p < end && *p == ';' && n < 3) {
        p++;
        if (p == end)
            return 0;
        if (!number(&p, end, &v[n++]))
            return -1;
    }
    if (p == end)
        return s.n < MARK_MAX ? 0 : -1;
    if (*p != '\a')
        return -1;
    int want = m->kind == 'I' ? 3 : m->kind == 'E' || m->kind == 'P' ? 2 : 1;
    if (n != want)
        return -1;
    m->len = (size_t)(p + 1 - s.p);
    m->gen = m->kind == 'I' ? (unsigned)v[0] : 0;
    m->seq = m->kind == 'I' ? v[1] : v[0];
    m->status = (int)(m->kind == 'I' ? v[2] : v[1]);
    return 1;
}

bool shell_mark(const struct shell *sh, struct str bytes, struct mark *m,
                size_t *keep)
{
    char head[32];
    int len = snprintf(head, sizeof(head), "\033]7723;%s;", sh->nonce);
    struct str want = str_n(head, (size_t)len);
    size_t from = 0;
    for (;;) {
        struct str rest = str_sub(bytes, from, bytes.n);
        long at = str_find(rest, want);
        if (at < 0)
            break;
        from += (size_t)at;
        int r = parse_mark(str_sub(bytes, from, bytes.n), want.n, m);
        if (r == 1) {
            m->at = from;
            return true;
        }
        if (r == 0) {
            *keep = from;
            return false;
        }
        from += want.n;
    }
    /* The end may be the beginning of the head. */
    size_t tail = bytes.n - from < want.n - 1 ? bytes.n - from : want.n - 1;
    for (; tail > 0; tail--) {
        if (memcmp(bytes.p + bytes.n - tail, head, tail) == 0)
            break;
    }
    *keep = bytes.n - tail;
    return false;
}

size_t shell_trace(const struct shell *sh, struct str output)
{
    char name[24];
    int n = snprintf(name, sizeof(name), "__od%u_e ", sh->gen);
    long last = -1;
    for (size_t at = 0;;) {
        long hit = str_find(str_sub(output, at, output.n), str_n(name, (size_t)n));
        if (hit < 0)
            break;
        last = (long)at + hit;
        at = (size_t)last + (size_t)n;
    }
    while (last > 0 && output.p[last - 1] != '\n')
        last--;
    return last < 0 ? output.n : (size_t)last;
}

bool shell_echo(const struct shell *sh, struct str bytes, size_t *at, size_t *len)
{
    char names[24];
    int n = snprintf(names, sizeof(names), " __od%u_", sh->gen);
    long first = str_find(bytes, str_n(names, (size_t)n));
    if (first < 0)
        return false;
    struct str rest = str_sub(bytes, (size_t)first, bytes.n);
    long nl = str_chr(rest, '\n');
    /* After the last one of a prompt, output begins on a line of its own. */
    bool keeps_newline = str_starts(str_sub(rest, (size_t)n, rest.n), STR("a ''"));
    /* Typed before there was a prompt: the terminal echoed it and the key, and readline
     * will. */
    if (first >= (long)CLEAR_SHOWN.n &&
        str_eq(str_n(rest.p - CLEAR_SHOWN.n, CLEAR_SHOWN.n), CLEAR_SHOWN)) {
        first -= (long)CLEAR_SHOWN.n;
        rest = str_sub(bytes, (size_t)first, bytes.n);
        nl = str_chr(rest, '\n');
        keeps_newline = false;
    }
    *at = (size_t)first;
    *len = nl < 0 ? 0 : (size_t)nl + 1;
    if (nl > 0 && keeps_newline)
        *len = (size_t)(rest.p[nl - 1] == '\r' ? nl - 1 : nl);
    return true;
}

/* ---- the environment ---- */

static bool is_name(char c, bool first)
{
    return c == '_' || isalpha((unsigned char)c) || (!first && isdigit((unsigned char)c));
}

/* One escape of $'…' (bash manual, ANSI-C Quoting), as `declare -p` writes them. */
static const char *ansi_c(const char *p, const char *end, char *out)
{
    static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    const char *hit = strchr(from, *p);
    if (*p && hit) {
        *out = to[hit - from];
        return p + 1;
    }
    unsigned v = 0;
    int n = 0;
    while (p < end && n < 3 && *p >= '0' && *p <= '7') {
        v = v * 8 + (unsigned)(*p++ - '0');
        n++;
    }
    *out = (char)v;
    return n && (char)v ? p : NULL; /* no variable holds a NUL */
}

/* A shell word of quoted and bare parts, up to an unquoted newline. */
static const char *word(struct buf *out, const char *p, const char *end)
{
    while (p < end && *p != '\n') {
        if (*p == '\'') {
            const char *q = memchr(p + 1, '\'', (size_t)(end - p - 1));
            if (!q || buf_add(out, p + 1, (size_t)(q - p - 1)) < 0)
                return NULL;
            p = q + 1;
        } else if (*p == '$' && p + 1 < end && p[1] == '\'') {
            for (p += 2; p < end && *p != '\'';) {
                char c = *p++;
                if (c == '\\' && (p == end || !(p = ansi_c(p, end, &c))))
                    return NULL;
                if (buf_addc(out, c) < 0)
                    return NULL;
            }
            if (p == end)
                return NULL;
            p++;
        } else if (*p == '"') {
            for (p++; p < end && *p != '"'; p++) {
                if (*p == '\\' && p + 1 < end && strchr("\\\"$`\n", p[1]))
                    p++;
                if (buf_addc(out, *p) < 0)
                    return NULL;
            }
            if (p == end)
                return NULL;
            p++;
        } else {
            if (*p == '\\' && p + 1 < end)
                p++;
            if (buf_addc(out, *p++) < 0)
                return NULL;
        }
    }
    return p < end ? p + 1 : p;
}

static bool left_out(struct str name)
{
    static const char *const names[] = {"_", "SHLVL", "PWD", "OLDPWD", "ENV"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eq(name, str_of(names[i])))
            return true;
    }
    return str_starts(name, STR("OD_")) || str_starts(name, STR("__od"));
}

int shell_parse_env(struct buf *out, struct str text)
{
    const char *p = text.p, *end = p + text.n;
    if (text.n > 0 && memchr(text.p, 0, text.n))
        return -1;
    while (p < end) {
        /* "declare -x NAME=…" or "export NAME=…": the name is the last word. */
        const char *name = p;
        bool array = false; /* -a or -A: no environment holds one */
        while (p < end && *p != '=' && *p != '\n') {
            if (*p == ' ') {
                array = array ||
                        (*name == '-' && memchr(name, 'a', (size_t)(p - name))) ||
                        (*name == '-' && memchr(name, 'A', (size_t)(p - name)));
                name = p + 1;
            }
            p++;
        }
        if (p == end || *p == '\n') { /* exported and without a value */
            p += p < end;
            continue;
        }
        struct str id = str_n(name, (size_t)(p - name));
        for (size_t i = 0; i < id.n; i++) {
            if (!is_name(id.p[i], i == 0))
                return -1;
        }
        size_t mark = out->n;
        if (id.n == 0 || buf_add(out, id.p, id.n + 1) < 0)
            return -1;
        p = word(out, p + 1, end);
        if (!p || buf_addc(out, 0) < 0)
            return -1;
        if (array || left_out(id))
            buf_truncate(out, mark);
    }
    return 0;
}

bool shell_text_reads(struct str command)
{
    static const char *const words[] = {"read", "select", "mapfile", "readarray"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct str word = str_of(words[i]), rest = command;
        for (long at; (at = str_find(rest, word)) >= 0;) {
            size_t end = (size_t)at + word.n;
            bool begins = at == 0 || !is_name(rest.p[at - 1], false);
            if (begins && (end == rest.n || !is_name(rest.p[end], false)))
                return true;
            rest = str_sub(rest, end, rest.n);
        }
    }
    return false;
}
