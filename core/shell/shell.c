/* SPDX-License-Identifier: MIT */
/*
 * Sessions' shells: which one, the code that runs inside it (sh/session.bash and
 * sh/session.sh, filled in here), the lines that are typed, the marks that come back.
 */
#include "archive/zip_text.h"
#include "base/words.h"
#include "shell/sh/session.bash.gz.h"
#include "shell/sh/session.sh.gz.h"
#include "shell/shell.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE_MAX = 64 << 10 }; /* bytes of our code for one shell, unpacked */

/* What a terminal's echo makes of the key of LINE_CLEAR. */
#define CLEAR_SHOWN STR("^[[7723~")

static bool is_bash(const struct shell *sh)
{
    return sh->kind != SHELL_POSIX;
}

/* Redirection for errors and traces of our own code. */
static const char *hide(const struct shell *sh)
{
    return sh->no_null ? "2>&-" : "2>/dev/null";
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

/* Looks in each directory of path; one that does not begin with / lies in cwd. */
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

/* Shells that can run a session, the best first; and those that cannot. */
static const char *const usable[] = {"bash", "sh", "ash", "dash", "ksh", "mksh", NULL};
static const char *const foreign[] = {"zsh",    "fish",  "csh",  "tcsh", "nu", "es",
                                      "elvish", "xonsh", "pwsh", "rc",   NULL};
/* Of POSIX, but their interactive mode does not read the file that ENV names. */
static const char *const deaf[] = {"yash", "posh", NULL};

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
                           "cannot run a session in %s: it wants bash or a POSIX sh; "
                           "%s can be run in one, or as a process of its own: exec --new %s -c TEXT",
                           wanted, wanted, wanted);
        if (is_among(base_name(wanted), deaf))
            return err_set(e, ERR_UNSUPPORTED,
                           "cannot run a session in %s: its interactive mode does not "
                           "take the code of od from the file that ENV names; run "
                           "commands with: exec --new %s -c TEXT",
                           wanted, wanted);
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

/* A word of the code and what takes its place. */
struct filling {
    const char *word, *value;
};

/* The lines after "#? WORD" and before the next "#?": left out unless WORD holds. */
struct condition {
    const char *word;
    bool holds;
};

static bool line_holds(struct str word, const struct condition *c)
{
    while (c->word && !str_eq(word, str_of(c->word)))
        c++;
    return word.n == 0 || (c->word && c->holds);
}

static int fill_line(struct buf *out, struct str line, const struct filling *with)
{
    while (line.n > 0) {
        const struct filling *w = with;
        while (w->word && !str_starts(line, str_of(w->word)))
            w++;
        if (buf_adds(out, w->word ? str_of(w->value) : str_sub(line, 0, 1)) < 0)
            return -1;
        line = str_sub(line, w->word ? strlen(w->word) : 1, line.n);
    }
    return buf_addc(out, '\n');
}

/* Both lists end with a NULL. At one place the first filling that fits is taken. */
static int fill(struct buf *out, struct str text, const struct filling *with,
                const struct condition *when)
{
    bool holds = true;
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, STR("#?")))
            holds = line_holds(str_sub(line, line.n > 2 ? 3 : 2, line.n), when);
        else if (holds && fill_line(out, line, with) < 0)
            return -1;
    }
    return 0;
}

/* Appends the last commands of the previous 16 generations, as words of a `for` loop. */
static int add_before(struct buf *out, unsigned gen)
{
    for (unsigned g = gen > 16 ? gen - 16 : 1; g < gen; g++) {
        if (buf_addf(out, "%s\"${__od%u_n-0}\"", out->n > 0 ? " " : "", g) < 0)
            return -1;
    }
    return 0;
}

int shell_code(struct buf *out, const struct shell *sh, uint64_t seq, bool start,
               bool with_rc)
{
    char prefix[24], seq_text[24], gen[16], empty[32], pipe[sizeof(sh->dir) + 4];
    struct buf dir = BUF_INIT(2048), tty = BUF_INIT(2048), before = BUF_INIT(1024);
    struct buf text = BUF_INIT(CODE_MAX);
    const char *pts = sh->tty[0] ? sh->tty : "/dev/tty";
    snprintf(prefix, sizeof(prefix), "__od%u_", sh->gen);
    snprintf(seq_text, sizeof(seq_text), "%llu", (unsigned long long)seq);
    snprintf(gen, sizeof(gen), "%u", sh->gen);
    snprintf(empty, sizeof(empty), "<\"$%sd/n\"", prefix);
    snprintf(pipe, sizeof(pipe), "%s/o", sh->dir);
    int r = words_quote(&dir, str_of(sh->dir));
    if (r == 0)
        r = words_quote(&tty, str_of(sh->pty ? "/dev/tty" : pipe));
    if (r == 0 && !start)
        r = add_before(&before, sh->gen);
    const struct filling with[] = {
        {"$OD_SESSION/$__od_n", "$OD_SESSION"}, /* only if sh->same_env */
        {"__od_", prefix},
        {"2>/dev/null", hide(sh)},
        {">/dev/null", sh->no_null ? ">&-" : ">/dev/null"},
        {"</dev/null", sh->no_null ? empty : "</dev/null"},
        {"@nonce@", sh->nonce},
        {"@seq@", seq_text},
        {"@gen@", gen},
        {"@pty@", sh->pty ? "1" : ""},
        {"@dir@", buf_z(&dir)},
        {"@tty@", buf_z(&tty)},
        {"@pts@", pts},
        {"@before@", buf_z(&before)},
        {NULL, NULL},
    };
    const struct condition when[] = {
        {"start", start},
        {"again", !start},
        {"rc", start && with_rc},
        {"pty", sh->pty},
        {"pipe", !sh->pty},
        {"new", sh->kind != SHELL_BASH_OLD},
        {"old", sh->kind == SHELL_BASH_OLD},
        {NULL, false},
    };
    zip_text(&text, is_bash(sh)
                        ? str_n((const char *)session_bash_gz, sizeof(session_bash_gz))
                        : str_n((const char *)session_sh_gz, sizeof(session_sh_gz)));
    if (r == 0)
        r = fill(out, buf_str(&text), sh->same_env ? with : with + 1, when);
    buf_release(&text);
    buf_release(&dir);
    buf_release(&tty);
    buf_release(&before);
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
        words_quote(out, command) < 0)
        return -1;
    return buf_addc(out, '\n');
}

int shell_line(struct buf *out, const struct shell *sh, enum shell_line what,
               uint64_t seq)
{
    unsigned g = sh->gen;
    char plain = is_bash(sh) ? 'X' : 'x';
    const char *said = is_bash(sh) ? "1" : ""; /* set; other shells' prompts show it */
    bool loud = what >= LINE_RUN_LOUD && what <= LINE_RUN_NULL_LOUD;
    if (loud)
        what -= LINE_RUN_LOUD - LINE_RUN;
    char run = what == LINE_RUN ? plain : what == LINE_RUN_FIFO ? 'w' : '0';
    switch (what) {
    case LINE_RUN_KEY:
        return buf_addc(out, loud ? 0x1e : 0x1f);
    case LINE_RUN_HELD:
        return buf_addf(out, " \\builtin eval \"$__od%u_X\";: + %s %llu\n", g, sh->nonce,
                        (unsigned long long)seq);
    default: /* to run the command */
        if (is_bash(sh))
            return buf_addf(out, " \\builtin eval \"$__od%u_%c%s\"\n", g, run,
                            loud ? "1" : "");
        return buf_addf(out, " __od%u_g;\\eval \"$__od%u_%c\"\n", g, g, run);
    case LINE_ACK:
    case LINE_ACK_ASK:
        /* Run as a command, after an interrupt, it is harmless and makes no P. */
        return buf_addf(out, " __od%u_f=%s;: %s %llu%s\n", g, said, sh->nonce,
                        (unsigned long long)seq, what == LINE_ACK ? "" : " ?");
    case LINE_ACK_SHOWN:
        return buf_addf(out, " __od%u_f=;: %s %llu\n", g, sh->nonce,
                        (unsigned long long)seq);
    case LINE_NEXT:
        return buf_addf(out, " __od%u_f=%s;: %s +\n", g, said, sh->nonce);
    case LINE_HOLD:
        return buf_addf(out, " { __od%u_f=%s;__od%u_W;} %s\n", g, said, g, hide(sh));
    case LINE_INSTALL:
        return buf_addf(out, "\025 \\. '%s/p'\n", sh->dir); /* C-u first */
    case LINE_SOURCE:
        return buf_addf(out, "\\. '%s/p'\n", sh->dir);
    case LINE_ENV:
        return buf_addf(out, is_bash(sh) ? " __od%u_v\n" : " \\eval \"$__od%u_v\"\n", g);
    case LINE_ENV_KEY:
        return buf_addz(out, "\033[7724~");
    case LINE_CLEAR: /* without line editing: VKILL, and what busybox takes for it */
        return buf_addz(out, is_bash(sh) ? "\033[7723~" : "\005\025");
    case LINE_ATTACH:
    case LINE_DETACH:
        buf_addf(out, " __od%u_a %s %llu", g, what == LINE_ATTACH ? "1" : "''",
                 (unsigned long long)seq);
        if (!is_bash(sh))
            buf_addf(out, ";\\eval \"${__od%u_Z-}\"", g);
        return buf_addc(out, '\n');
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

enum {
    MARK_MAX = 96,  /* longer than any mark */
    TRACE_MAX = 512 /* and than the trace of our code in a shell other than bash */
};

/* 1: a mark of n bytes; 0: may become one; -1: none. */
static int parse_mark(struct str s, size_t head, struct mark *m)
{
    const char *p = s.p + head, *end = s.p + s.n;
    if (p == end)
        return 0;
    uint64_t v[3] = {0, 0, 0};
    int n = 0;
    m->kind = *p++;
    if (!strchr("SEPIHAUN", m->kind) || m->kind == 0)
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
    if (n != want && !(m->kind == 'A' && n == 2))
        return -1;
    m->len = (size_t)(p + 1 - s.p);
    m->gen = m->kind == 'I' ? (unsigned)v[0] : 0;
    m->seq = m->kind == 'I' ? v[1] : v[0];
    m->status = m->kind == 'A' && n == 1 ? INT_MAX : (int)(m->kind == 'I' ? v[2] : v[1]);
    return 1;
}

/* As str_find: its tables take longer than a mark that the output begins with. */
static long find_head(struct str bytes, struct str want)
{
    size_t at = 0;
    for (long next; (next = str_chr(str_sub(bytes, at, bytes.n), want.p[0])) >= 0; at++) {
        at += (size_t)next;
        if (str_starts(str_sub(bytes, at, bytes.n), want))
            return (long)at;
    }
    return -1;
}

size_t shell_trace(const struct shell *sh, struct str output)
{
    char name[24];
    int n = snprintf(name, sizeof(name), "__od%u_%s", sh->gen, is_bash(sh) ? "e " : "");
    long last = -1;
    while (!is_bash(sh)) { /* the last lines */
        const char *nl = output.n ? memrchr(output.p, '\n', output.n - 1) : NULL;
        size_t at = nl ? (size_t)(nl + 1 - output.p) : 0;
        if (str_find(str_sub(output, at, output.n), str_n(name, (size_t)n)) < 0)
            return output.n;
        output.n = at;
    }
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

bool shell_mark(const struct shell *sh, struct str bytes, struct mark *m,
                size_t *keep)
{
    static const char begin[] = "\033]7723;";
    char head[sizeof(begin) + sizeof(sh->nonce)];
    size_t len = sizeof(begin) - 1, more = strlen(sh->nonce);
    memcpy(head, begin, len);
    memcpy(head + len, sh->nonce, more);
    head[len + more] = ';';
    struct str want = str_n(head, len + more + 1);
    size_t from = 0;
    for (;;) {
        long at = find_head(str_sub(bytes, from, bytes.n), want);
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
    if (!is_bash(sh) && tail == 0) { /* or the last lines are our trace */
        from = bytes.n > TRACE_MAX ? bytes.n - TRACE_MAX : 0;
        *keep = from + shell_trace(sh, str_sub(bytes, from, bytes.n));
    }
    return false;
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
    /* After the last line at a prompt, output begins on a line of its own. */
    bool keeps_newline = str_starts(str_sub(rest, (size_t)n, rest.n), STR("a ''"));
    /* Typed before there was a prompt: the terminal echoed it with the key, and readline
     * will echo it again. */
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

size_t shell_exit_echo(const struct shell *sh, struct str bytes, uint64_t *len)
{
    char line[24];
    int n = snprintf(line, sizeof(line), "{ __od%u_E ", sh->gen);
    long at = str_find(bytes, str_n(line, (size_t)n));
    long nl = at < 0 ? -1 : str_chr(str_sub(bytes, (size_t)at, bytes.n), '\n');
    if (nl < 0)
        return 0;
    /* trap -p has it in quotes: alone, or before the user's. */
    struct str p = STR("trap -- '"), before = str_n(bytes.p, (size_t)at);
    if (str_ends(before, p) &&
        str_ends(str_trim(str_sub(bytes, (size_t)at, (size_t)nl)), STR("' EXIT"))) {
        at -= (long)p.n;
        nl += (long)p.n;
    }
    *len = (uint64_t)nl + 1;
    return bytes.n - (size_t)at;
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
            for (p++; p < end && *p != '"';) {
                const char *from = p;
                while (p < end && *p != '"' && *p != '\\')
                    p++;
                if (buf_add(out, from, (size_t)(p - from)) < 0)
                    return NULL;
                if (p == end || *p == '"')
                    continue;
                if (p + 1 < end && strchr("\\\"$`\n", p[1]))
                    p++;
                if (buf_addc(out, *p++) < 0)
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
    static const struct str names[] = {
        {"_", 1}, {"SHLVL", 5}, {"PWD", 3}, {"OLDPWD", 6}, {"ENV", 3}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eq(name, names[i]))
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

/* Has the text one of these words, of which the last is followed by NULL? */
static bool has_word(struct str text, const char *const *words)
{
    for (; *words; words++) {
        struct str word = str_of(*words), rest = text;
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

bool shell_text_reads(struct str command)
{
    static const char *const words[] = {"read", "select", "mapfile", "readarray", NULL};
    return has_word(command, words);
}

bool shell_text_traces(struct str command)
{
    static const char *const words[] = {"set",  "xtrace", "source",        "eval",
                                        "trap", "shopt",  "BASH_XTRACEFD", NULL};
    return has_word(command, words) || str_starts(command, STR(". ")) ||
           str_find(command, STR(" . ")) >= 0 || str_find(command, STR("\n. ")) >= 0;
}
