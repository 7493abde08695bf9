/* SPDX-License-Identifier: MIT */
/*
 * Can bash parse a command? A separate bash (bash -n) reads the text and runs nothing,
 * before any line of it is run. It has the session's extglob, which adds to the grammar.
 * The check takes most of the time of a short command, so a text of plain words is not
 * checked.
 */
#include "front/swerex/own.h"

#include "os/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPU_S = 10, SYNTAX_MS = 10000, STATUS = 2 /* of bash -n */ };

/* ---- plain words ---- */

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c && strchr("_-./:,=+@%^~", c));
}

/* Cuts one word off, with quotes that expand nothing. Returns 0 at its end. */
static size_t plain_word(struct str s)
{
    size_t i = 0;
    while (i < s.n) {
        if (s.p[i] == '\'' || s.p[i] == '"') {
            char quote = s.p[i++];
            while (i < s.n && s.p[i] != quote && !strchr("$`\\!", s.p[i]))
                i++;
            if (i >= s.n || s.p[i] != quote)
                return 0;
            i++;
        } else if (is_word_byte(s.p[i])) {
            i++;
        } else {
            break;
        }
    }
    return i;
}

/* Is word reserved where a command begins? */
static bool is_reserved(struct str word)
{
    static const char *const words[] = {"if",     "then", "else", "elif",     "fi",
                                        "case",   "esac", "for",  "select",   "while",
                                        "until",  "do",   "done", "function", "time",
                                        "coproc", "in"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq(word, str_of(words[i])))
            return true;
    }
    return false;
}

/* Returns the length of the operator at the start of s, "&&", "||", "|" or ";"; 0 if
 * none. */
static size_t operator_at(struct str s)
{
    if (str_starts(s, STR("&&")) || str_starts(s, STR("||")))
        return 2;
    return s.p[0] == ';' || s.p[0] == '|';
}

bool swerex_may_be_wrong(struct str s)
{
    bool first = true, open = false; /* a command begins; an operator waits for one */
    for (size_t n; s.n > 0; s = str_sub(s, n, s.n)) {
        n = 1;
        if (s.p[0] == ' ')
            continue;
        if (s.p[0] == '\n') {
            first = true;
            if (open)
                return true;
            continue;
        }
        if (!first && (n = operator_at(s)) > 0) {
            open = n == 2 || s.p[0] == '|';
            first = true;
            continue;
        }
        n = plain_word(s);
        if (n == 0 || (first && is_reserved(str_sub(s, 0, n))))
            return true;
        first = open = false;
    }
    return open;
}

/* ---- bash ---- */

static void on_data(struct job *j, struct buf *in)
{
    struct swerex_run *x = job_owner(j);
    size_t room = buf_room(&x->problem);
    buf_adds(&x->problem, str_sub(buf_str(in), 0, room));
    buf_consume(in, in->n);
}

static void raise_syntax(struct swerex_run *x)
{
    struct buf message = BUF_INIT(SWEREX_MESSAGE_MAX), text = BUF_INIT(1 << 20);
    struct json *extra = json_object();
    swerex_put_text(&text, buf_str(&x->problem));
    buf_addf(&message, "Error (exit code %d) while checking bash command \n", STATUS);
    swerex_put_repr(&message, buf_str(&x->command));
    buf_addf(&message, "\n---- Stderr ----\n%.*s\n---- Stdout ----\n",
             STR_ARG(buf_str(&text)));
    json_put_z(extra, "bash_stdout", "");
    json_put_str(extra, "bash_stderr", buf_str(&text));
    swerex_raise(x->req, SWEREX_CLASS "BashIncorrectSyntaxError", buf_str(&message),
                 extra);
    buf_release(&message);
    buf_release(&text);
    swerex_run_free(x);
}

static void on_done(struct job *j, const struct err *e)
{
    struct swerex_run *x = job_owner(j);
    bool wrong = e->code == ERR_INVALID &&
                 str_find(buf_str(&x->problem), STR("bash: ")) >= 0;
    x->syntax = NULL;
    timer_stop(&x->timer);
    if (wrong)
        raise_syntax(x);
    else
        swerex_run_start(x);
}

static const struct job_events events = {.on_data = on_data, .on_done = on_done};

static void on_late(struct timer *t)
{
    struct swerex_run *x = container_of(t, struct swerex_run, timer);
    job_cancel(x->syntax);
    x->syntax = NULL;
    swerex_run_start(x);
}

void swerex_check_syntax(struct swerex_run *x)
{
    const struct session *shell = swerex_shell(x->s);
    bool extglob = shell && session_extglob(shell);
    const char *argv[] = {"bash", "-n", extglob ? "-O" : NULL, "extglob", NULL};
    struct err e = ERR_INIT;
    int fd = file_of_text("od-syntax", buf_str(&x->command));
    struct job_spec spec = {.what = "checking a command",
                            .program = (char *const *)(uintptr_t)argv,
                            .fds = &fd,
                            .fds_n = 1,
                            .cpu_s = CPU_S,
                            .ev = &events,
                            .owner = x};
    if (fd >= 0)
        x->syntax = job_start(x->w->en->loop, &spec, &e);
    if (fd >= 0)
        close(fd);
    if (x->syntax)
        timer_begin(x->w->en->loop, &x->timer, SYNTAX_MS, on_late);
    else
        swerex_run_start(x); /* the shell reports the error after running what precedes
                              * it */
}
