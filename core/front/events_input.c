/* SPDX-License-Identifier: MIT */
/*
 * What may be said to a command while another action waits for it: cancel, input, key,
 * eof, signal, resize. Each is done at once, whatever its session is busy with.
 *
 *   {"action":"input","args":{"text":"yes\n"}}      or "base64"
 *   {"action":"key","args":{"key":"C-c"}}
 *   {"action":"eof"}
 *   {"action":"signal","args":{"signal":"INT"}}     a name or a number
 *   {"action":"resize","args":{"rows":50,"cols":200}}
 *   {"action":"cancel","args":{"id":N}}             an action: C-c, then harder
 */
#include "front/events_own.h"

#include "base/enc.h"
#include "base/limits.h"
#include "engine/session.h"

#include <signal.h>
#include <stdio.h>
#include <strings.h>

enum kind { INPUT, KEY, END, SIGNAL, RESIZE, CANCEL, KINDS };

static const char *const names[KINDS] = {"input",  "key",    "eof",
                                         "signal", "resize", "cancel"};

static const struct {
    const char *name;
    int number;
} signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
               {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
               {"USR2", SIGUSR2}, {"CONT", SIGCONT}, {"STOP", SIGSTOP},
               {"TSTP", SIGTSTP}, {"ALRM", SIGALRM}, {"WINCH", SIGWINCH},
               {"PIPE", SIGPIPE}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}};

static int signal_of(const struct json *v)
{
    int64_t n = json_int_value(v, 0);
    struct str s = json_str_value(v, "");
    if (n > 0 && n < 65)
        return (int)n;
    if (s.n > 3 && strncasecmp(s.p, "SIG", 3) == 0)
        s = str_sub(s, 3, s.n);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (s.n == strlen(signals[i].name) && strncasecmp(s.p, signals[i].name, s.n) == 0)
            return signals[i].number;
    }
    return 0;
}

static int kind_of(const struct json *m)
{
    struct str name = json_str(m, "action", "");
    for (int i = 0; i < KINDS; i++) {
        if (str_eq(name, str_of(names[i])))
            return i;
    }
    return -1;
}

static int bytes_of(const struct json *args, struct buf *out, struct err *e)
{
    struct str text = STR(""), base64 = STR("");
    if (json_want_str(args, "text", &text, e) < 0 ||
        json_want_str(args, "base64", &base64, e) < 0)
        return -1;
    if ((json_has(args, "text") == json_has(args, "base64")) ||
        (base64.n > 0 && dec_base64(out, base64) < 0))
        return err_set(e, ERR_INVALID, "input takes \"text\", or bytes as \"base64\"");
    return buf_adds(out, text);
}

int events_input_check(const struct json *m, struct err *e)
{
    int kind = kind_of(m);
    const struct json *args = json_get(m, "args");
    struct buf bytes = BUF_INIT(LIMIT_EVENT_MAX);
    struct str key = STR("");
    int64_t rows = 0, cols = 0, id = 0;
    int r = 0;
    if (kind < 0)
        return 0;
    if (args && !json_is_object(args))
        return err_set(e, ERR_INVALID, "args must be an object");
    switch (kind) {
    case INPUT:
        r = bytes_of(args, &bytes, e);
        break;
    case KEY:
        r = json_want_str(args, "key", &key, e);
        if (r == 0 && key.n == 0)
            r = err_set(e, ERR_INVALID, "key takes a \"key\", as in \"C-c\" or \"Up\"");
        break;
    case SIGNAL:
        if (!signal_of(json_get(args, "signal")))
            r = err_set(e, ERR_INVALID, "signal takes a \"signal\": a name or a number");
        break;
    case RESIZE:
        r = json_want_int(args, "rows", &rows, e) | json_want_int(args, "cols", &cols, e);
        if (r == 0 && (rows < 1 || cols < 1 || rows > 10000 || cols > 10000))
            r = err_set(e, ERR_INVALID, "resize takes \"rows\" and \"cols\", 1 to 10000");
        break;
    case CANCEL:
        r = json_want_int(args, "id", &id, e);
        if (r == 0 && id < 1)
            r = err_set(e, ERR_INVALID, "cancel takes the \"id\" of an action");
        break;
    default:
        break;
    }
    buf_release(&bytes);
    return r < 0 ? -1 : 1;
}

/* The session of an action; its command runs. */
static struct session *want_session(struct events *ev, const char *name, struct err *e)
{
    struct session *s = v0_find_session(ev->v0, str_of(name));
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no session %s, so nothing runs in it", name);
    return s;
}

static int do_cancel(struct events *ev, const struct json *args, struct err *e)
{
    uint64_t id = (uint64_t)json_int(args, "id", 0);
    struct pending *p = events_pending(ev, id);
    if (!p)
        return err_set(e, ERR_NOTFOUND, "there is no action %llu that waits for its end",
                       (unsigned long long)id);
    return v0_cancel(ev->v0, id, e);
}

static int do_it(struct events *ev, struct pending *p, const struct json *m,
                 const char *key, struct err *e)
{
    const struct json *args = json_get(m, "args");
    enum kind kind = (enum kind)kind_of(m);
    if (kind == CANCEL)
        return do_cancel(ev, args, e);
    struct session *s = want_session(ev, p->session, e);
    if (!s)
        return -1;
    char id[OP_ID_MAX + 1];
    snprintf(id, sizeof(id), "v0:%s:%llu", key, (unsigned long long)p->id);
    if (kind == INPUT || kind == KEY || kind == END)
        session_input_as(s, id);
    struct buf bytes = BUF_INIT(LIMIT_EVENT_MAX);
    int r = 0;
    switch (kind) {
    case INPUT:
        r = bytes_of(args, &bytes, e) < 0 ? -1 : session_input(s, buf_str(&bytes), e);
        break;
    case KEY:
        r = session_key(s, json_str(args, "key", ""), e);
        break;
    case END:
        r = session_eof(s, e);
        break;
    case SIGNAL:
        r = session_signal(s, signal_of(json_get(args, "signal")), 0, e);
        break;
    case RESIZE:
        r = session_resize(s, (int)json_int(args, "rows", 0),
                           (int)json_int(args, "cols", 0), e);
        break;
    default:
        break;
    }
    buf_release(&bytes);
    return r;
}

/* Was it done by the worker before? 1, 0: no; -1: that cannot be known. */
static int done_before(struct events *ev, const struct pending *p, const struct json *m,
                       const char *key)
{
    switch (kind_of(m)) {
    case INPUT:
    case KEY:
    case END:
        return v0_begun(ev->v0, str_of(p->session), key);
    case RESIZE:
        return 0; /* twice is as good as once */
    default:
        return -1;
    }
}

void events_input_do(struct events *ev, struct pending *p, const struct json *m,
                     const char *key, bool again)
{
    struct err e = ERR_INIT;
    int before = again ? done_before(ev, p, m, key) : 0;
    if (before < 0)
        events_end_text(ev, p, "error",
                        "The server was restarted while it did this; whether it was done "
                        "cannot be known");
    else if (before == 0 && do_it(ev, p, m, key, &e) < 0)
        events_end_text(ev, p, "error", e.text);
    else
        events_end_text(ev, p, names[kind_of(m)], "");
}
