/* SPDX-License-Identifier: MIT */
#include "front/terminal/recording.h"

#include "base/xalloc.h"
#include "cast/cast.h"
#include "front/answer.h"
#include "front/terminal/own.h"
#include "front/terminal/recording_own.h"
#include "shell/process.h"
#include "shell/times.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PIECE = 16 << 10,         /* bytes of output in one event */
    PLAIN_MAX = 4 * PIECE,    /* with its returns; a secret's mark has 15 bytes, not 4 */
    OUT_MAX = 16 * PLAIN_MAX, /* as JSON, and what comes with it */
    SEQUENCE = 16,            /* bytes of a sequence that may switch the screen */
    RECORDINGS_MAX = 32
};

struct recording {
    struct engine *en;
    const struct recording_calls *calls;
    void *arg;
    struct recorded_log log;
    bool looked;   /* the first pass over the log is done */
    bool read_all; /* so is the second */
    int times;     /* owned; -1: none */
    unsigned next; /* entry of it */
    struct times_entry entry;
    bool has_entry;
    struct op *op; /* borrowed; NULL: not begun, or its owner is gone */
    struct cast_writer writer;
    int rows, cols;
    /* Sessions do not translate newlines: on the primary screen we add the returns. */
    bool bare, alternate;
    char before;             /* the byte before */
    char sequence[SEQUENCE]; /* after its ESC */
    unsigned nsequence;      /* SEQUENCE: none */
    struct buf plain, out;   /* owned; out: what the peer has not taken */
    uint64_t at, to;
    int64_t base_us, now_us; /* since 1970; 0: unknown */
    uint64_t left_at;        /* output that may begin a secret: offset and length */
    size_t left;
    bool stuck; /* the last turn moved nothing */
    struct task task;
};

/* ---- what is written ---- */

static void give(struct recording *x)
{
    if (x->out.n > 0)
        buf_consume(&x->out, x->calls->take(x->arg, buf_str(&x->out)));
}

static void put(struct recording *x, char code, struct str text)
{
    if (x->base_us == 0)
        x->base_us = x->now_us;
    cast_put(&x->writer, &x->out, x->now_us - x->base_us, code, text);
}

static void put_size(struct recording *x, int rows, int cols)
{
    char text[32];
    if (x->rows == rows && x->cols == cols)
        return;
    x->rows = rows;
    x->cols = cols;
    snprintf(text, sizeof(text), "%dx%d", cols, rows);
    put(x, 'r', str_of(text));
}

/* Is s, such as "[?1049h" or "[?25;47l", a switch to or from the alternate screen? */
static bool switches(struct str s)
{
    struct str rest = str_sub(s, 2, s.n - 3);
    bool any = false;
    while (rest.n > 0) {
        struct str n = str_cut(&rest, ';');
        any = any || str_eq(n, STR("1049")) || str_eq(n, STR("1047")) ||
              str_eq(n, STR("47"));
    }
    return any && s.p[0] == '[' && s.p[1] == '?';
}

static void add_byte(struct recording *x, char c)
{
    if (c == '\n' && x->bare && !x->alternate && x->before != '\r')
        buf_addc(&x->plain, '\r');
    buf_addc(&x->plain, c);
    x->before = c;
    if (c == '\033') {
        x->nsequence = 0;
    } else if (x->nsequence < SEQUENCE) {
        x->sequence[x->nsequence++] = c;
        if ((c == 'h' || c == 'l') && x->nsequence > 3 &&
            switches(str_n(x->sequence, x->nsequence)))
            x->alternate = c == 'h';
        if (c >= '@' && c != '[')
            x->nsequence = SEQUENCE;
    }
}

/*
 * Writes output without secrets. Returns how much of it: not the end if that may begin a
 * secret, unless it is the last.
 */
static size_t put_output(struct recording *x, struct str bytes, bool last)
{
    const struct actions *all = x->en->actions;
    size_t used = bytes.n, at, n;
    if (!last)
        used -= actions_secret_tail(all, bytes);
    bytes = str_sub(bytes, 0, used);
    while (bytes.n > 0) {
        bool any = actions_find_secret(all, bytes, &at, &n);
        for (size_t i = 0; i < (any ? at : bytes.n); i++)
            add_byte(x, bytes.p[i]);
        if (any)
            buf_adds(&x->plain, log_hidden);
        bytes = str_sub(bytes, any ? at + n : bytes.n, bytes.n);
    }
    if (x->plain.n > 0)
        put(x, 'o', buf_str(&x->plain));
    buf_reset(&x->plain);
    return used;
}

static void at_time(struct recording *x, int64_t us)
{
    x->now_us = us > x->now_us ? us : x->now_us;
}

static void next_entry(struct recording *x)
{
    uint64_t last = x->entry.offset;
    do
        x->has_entry = times_next(x->times, &x->next, &x->entry);
    while (x->has_entry && x->entry.offset < last);
}

/* Where the command that is next begins or ends: what was typed is before the first
 * output that may be younger. */
static uint64_t command_at(const struct recording *x, const struct recorded *c)
{
    if (!c || !c->typed)
        return !c ? UINT64_MAX : c->begun ? c->to : c->from;
    if (!x->has_entry)
        return x->to;
    bool older = x->entry.ms + TIMES_GAP_MS <= c->begin_us / 1000;
    return older ? UINT64_MAX : x->entry.offset;
}

/* Does what is due before the byte at `upto`: times, sizes and markers. */
static void pass(struct recording *x, uint64_t upto)
{
    for (;;) {
        struct recorded *c = recorded_first(&x->log);
        uint64_t a = command_at(x, c), b = x->has_entry ? x->entry.offset : UINT64_MAX;
        if ((a > upto && b > upto) || (!c && !x->has_entry))
            return;
        if (a <= b && c && !c->begun) {
            c->begun = true;
            at_time(x, c->begin_us);
            if (c->command)
                put(x, 'm', str_of(c->text));
            if (c->typed)
                recorded_drop(c);
        } else if (a <= b && c) {
            at_time(x, c->end_us);
            recorded_drop(c);
        } else {
            if (x->entry.ms)
                at_time(x, x->entry.ms * 1000);
            else
                put_size(x, x->entry.rows, x->entry.cols);
            next_entry(x);
        }
    }
}

/* ---- output ---- */

static bool wants_log(struct recording *x)
{
    return !x->read_all && !recorded_first(&x->log);
}

/* Takes output up to the next time or marker. */
static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct recording *x = op->owner;
    bool again = x->left > 0 && x->left_at == offset && x->left == bytes.n;
    struct str part = str_sub(bytes, 0, PIECE);
    (void)stream;
    if (offset >= x->to) {
        x->at = offset;
        task_defer(x->en->loop, &x->task);
        return 0;
    }
    pass(x, offset);
    if (wants_log(x)) /* the next command may begin here */
        return 0;
    uint64_t a = command_at(x, recorded_first(&x->log));
    uint64_t b = x->has_entry ? x->entry.offset : UINT64_MAX;
    a = a < b ? a : b;
    if (a > offset && a - offset < part.n && !(x->left && x->left_at == offset))
        part.n = (size_t)(a - offset);
    if (x->to - offset < part.n)
        part.n = (size_t)(x->to - offset);
    size_t used = put_output(x, part, again);
    x->left_at = offset + used;
    x->left = used < part.n ? bytes.n - used : 0;
    x->at = offset + used;
    x->stuck = false;
    give(x);
    task_defer(x->en->loop, &x->task);
    return used;
}

static bool on_ask(struct op *op)
{
    struct recording *x = op->owner;
    if (x->out.n > 0)
        return false;
    task_defer(x->en->loop, &x->task);
    return !wants_log(x);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct recording *x = op->owner;
    char gone[96];
    (void)text;
    if (kind != NOTE_GAP || to <= x->at)
        return;
    pass(x, from);
    snprintf(gone, sizeof(gone), "output is gone: bytes %llu to %llu",
             (unsigned long long)from, (unsigned long long)to);
    put(x, 'm', str_of(gone));
    x->at = to;
    x->stuck = false;
    give(x);
    task_defer(x->en->loop, &x->task);
}

static void on_done(struct op *op)
{
    struct recording *x = op->owner;
    x->op = NULL;
    task_defer(x->en->loop, &x->task);
}

/* ---- life ---- */

static void bury(void *arg)
{
    struct recording *x = arg;
    recorded_release(&x->log);
    cast_release(&x->writer);
    buf_release(&x->plain);
    buf_release(&x->out);
    if (x->times >= 0)
        close(x->times);
    free(x);
}

void recording_close(struct recording *x)
{
    if (x->op)
        op_drop(x->op);
    x->op = NULL;
    task_cancel(&x->task);
    loop_bury(x->en->loop, x, bury);
}

static void finish(struct recording *x, const struct err *e)
{
    const struct recording_calls *calls = x->calls;
    void *arg = x->arg;
    recording_close(x);
    calls->done(arg, e);
}

/* The header, at the place where the recording begins. */
static void begin(struct recording *x)
{
    struct cast_header h = {0};
    char title[ACTION_SESSION_MAX + 3];
    struct session *s = session_find(x->en, str_of(x->log.session));
    h.rows = 24;
    h.cols = 80;
    if (s)
        session_size(s, &h.rows, &h.cols);
    next_entry(x);
    bool sized = false;
    for (; x->has_entry && x->entry.offset <= x->at; next_entry(x)) {
        at_time(x, x->entry.ms * 1000);
        if (x->entry.ms)
            continue;
        h.rows = x->entry.rows;
        h.cols = x->entry.cols;
        sized = true;
    }
    if (!sized && x->has_entry && !x->entry.ms) { /* the first size that is known */
        h.rows = x->entry.rows;
        h.cols = x->entry.cols;
    }
    at_time(x, x->log.start_us);
    h.timestamp = x->now_us / 1000000;
    snprintf(title, sizeof(title), "\"%s\"", x->log.session);
    h.title = str_of(title);
    x->rows = h.rows;
    x->cols = h.cols;
    x->bare = s;
    x->nsequence = SEQUENCE;
    cast_put_header(&x->out, x->writer.format, &h);
}

/* Begins to read output: from x->at, as far as it is there now. */
static int observe(struct recording *x, struct err *e)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_done, .room = on_ask};
    struct session *s = session_find(x->en, str_of(x->log.session));
    struct process *p = process_find(x->en, str_of(x->log.session));
    struct session_view view;
    if (!s && !p)
        return err_set(e, ERR_GONE, "session %s was ended", x->log.session);
    x->op = op_new(s ? OP_VIEW : OP_LOGS, &sink, x);
    x->op->cursor = x->at;
    x->op->stream = true;
    if (s) {
        session_catch_up(s);
        session_view(s, &view);
        x->to = view.view;
        session_observe(s, x->op);
    } else {
        x->to = process_output(p);
        process_wait(p, x->op);
    }
    return 0;
}

/* Reads a part of the log, until what is needed of it is there. */
static bool read_log(struct recording *x, struct err *e)
{
    if (!x->looked) {
        x->looked = recorded_scan(&x->log);
        if (!x->looked)
            return false;
        if (recorded_begin(&x->log, e) < 0)
            return true;
        x->at = x->log.start;
        begin(x);
        observe(x, e);
        return e->code != 0;
    }
    x->read_all = recorded_read(&x->log);
    return false;
}

static bool is_over(const struct recording *x)
{
    return x->looked && (!x->op || x->at >= x->to || x->op->cursor >= x->to || x->stuck);
}

static void on_task(struct task *t)
{
    struct recording *x = container_of(t, struct recording, task);
    struct err e = ERR_INIT;
    give(x);
    if (x->out.n > 0)
        return; /* recording_pump continues */
    bool over = is_over(x);
    if (over && !x->op && x->at < x->to) {
        err_set(&e, ERR_GONE, "session %s was ended", x->log.session);
        finish(x, &e);
        return;
    }
    if (over) { /* what the log still has up to the end */
        pass(x, x->to);
        while (recorded_first(&x->log))
            recorded_drop(recorded_first(&x->log));
    }
    if (over && x->read_all) {
        cast_end(&x->writer, &x->out, x->now_us - x->base_us);
        give(x);
        if (x->out.n == 0)
            finish(x, NULL);
        return;
    }
    if (over || wants_log(x) || !x->looked) {
        if (read_log(x, &e))
            finish(x, &e);
        else
            task_defer(x->en->loop, &x->task);
        return;
    }
    /* The session holds back bytes that may begin a line of ours, perhaps to the end. */
    x->stuck = true;
    uint64_t before = x->op->cursor;
    op_pump(x->op);
    if (!x->op || x->op->cursor != before || wants_log(x))
        x->stuck = false;
    task_defer(x->en->loop, &x->task);
}

void recording_pump(struct recording *x) { task_defer(x->en->loop, &x->task); }

struct recording *recording_open(struct engine *en, const struct recording_ask *q,
                                 const struct recording_calls *calls, void *arg,
                                 struct err *e)
{
    const struct session *s = session_find(en, q->session);
    const struct process *p = s ? NULL : process_find(en, q->session);
    if (!s && (!p || !process_has_tty(p))) {
        err_set(e, ERR_NOTFOUND, "there is no session %.*s", STR_ARG(q->session));
        return NULL;
    }
    if (q->version != 0 && q->version != 2 && q->version != 3) {
        err_set(e, ERR_INVALID, "a recording is of version 2 or 3");
        return NULL;
    }
    struct recording *x = xnew(struct recording);
    int fd = s ? session_times(s) : process_times(p);
    x->en = en;
    x->calls = calls;
    x->arg = arg;
    x->times = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    x->log.all = en->actions;
    x->log.process = !s;
    x->log.action = q->from;
    snprintf(x->log.session, sizeof(x->log.session), "%.*s", STR_ARG(q->session));
    x->log.created_us = times_created_us(x->times);
    recorded_open(&x->log);
    cast_begin(&x->writer, q->version == 3 ? CAST_V3 : CAST_V2, 0, 0);
    buf_init(&x->plain, PLAIN_MAX);
    buf_init(&x->out, OUT_MAX);
    task_init(&x->task, on_task);
    task_defer(en->loop, &x->task);
    return x;
}

/* ---- GET /sessions/{session}/cast ---- */

struct recording_request {
    struct terminal *t;
    struct req *req;
    struct recording *x;
    bool begun;
};

static void free_request(struct recording_request *q)
{
    q->t->nrecordings--;
    free(q);
}

static size_t take_http(void *arg, struct str bytes)
{
    struct recording_request *q = arg;
    if (!q->begun) {
        req_header_add(q->req, "Cache-Control", "no-store");
        req_begin(q->req, 200, "application/x-asciicast", -1);
    }
    q->begun = true;
    return req_send(q->req, bytes);
}

static void done_http(void *arg, const struct err *e)
{
    struct recording_request *q = arg;
    if (!e)
        req_end(q->req);
    else if (q->begun)
        req_abort(q->req);
    else
        answer_error(q->req, err_words(e->code)->http, e->code, e->text);
    free_request(q);
}

static void room_http(struct req *r, void *owner)
{
    struct recording_request *q = owner;
    (void)r;
    recording_pump(q->x);
}

static void gone_http(struct req *r, void *owner)
{
    struct recording_request *q = owner;
    (void)r;
    recording_close(q->x);
    free_request(q);
}

static int number(struct req *r, const char *name, uint64_t *out, struct err *e)
{
    struct buf b = BUF_INIT(STR_U64_MAX);
    int got = req_query(r, name, &b);
    bool bad = got < 0 || (got > 0 && str_to_u64(buf_str(&b), out) < 0);
    buf_release(&b);
    return bad ? err_set(e, ERR_INVALID, "%s in the query is not a number", name) : 0;
}

void recording_get(struct req *r)
{
    static const struct recording_calls calls = {take_http, done_http};
    struct terminal *t = req_arg(r);
    struct err e = ERR_INIT;
    uint64_t version = 0;
    struct recording_ask q = {.session = req_param(r, "session")};
    struct recording_request *own = xnew(struct recording_request);
    *own = (struct recording_request){.t = t, .req = r};
    t->nrecordings++;
    if (number(r, "from", &q.from, &e) == 0 && number(r, "v", &version, &e) == 0) {
        q.version = version > 3 ? -1 : (int)version;
        if (!access_has_place(t->nrecordings - 1, RECORDINGS_MAX, req_right(r)))
            err_set(&e, ERR_BUSY, "%d sessions are exported already", RECORDINGS_MAX);
        else
            own->x = recording_open(t->en, &q, &calls, own, &e);
    }
    if (!own->x) {
        answer_error(r, err_words(e.code)->http, e.code, e.text);
        free_request(own);
        return;
    }
    engine_touch(t->en);
    req_own(r, own, gone_http);
    req_on_room(r, room_http);
}
