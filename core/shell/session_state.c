/* SPDX-License-Identifier: MIT */
/*
 * A session's state at the keeper: what a new worker cannot find in the spool. It is
 * stored with every command, in the same step as the input, so it is a struct and a few
 * strings instead of text: the next worker is the same binary or knows this version.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "engine/part.h"
#include "os/null.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEPT_VERSION = 3 };
enum { KEPT_NO_PROMPT, KEPT_PROMPT, KEPT_HELD };

struct kept {
    uint32_t version, size;
    uint64_t proc, feed, seq, scanned, records, seen;
    int32_t state, kind, rows, cols, fresh_status, last_background;
    uint32_t gen, uid, gid, done_next;
    uint8_t pty, same_env, with_rc, fresh, lost_rc, feed_eof, attached, prompt, untold,
        switching;
    char nonce[12], tag[12], flags[32];
    uint8_t interrupt;
    uint32_t inputs_next;
    char inputs[INPUTS_KEPT][LIMIT_ID + 1];
    struct command cmd;
    struct answer done[ANSWERS_KEPT];
};

/* The strings after it, each ending in NUL, in this order; size 0: `kept` is the text. */
#define STRINGS(s) \
    {(s)->sh.dir, sizeof((s)->sh.dir), NULL}, \
        {(s)->sh.path, sizeof((s)->sh.path), NULL}, \
        {(s)->given.shell, sizeof((s)->given.shell), NULL}, \
        {(s)->given.user, sizeof((s)->given.user), NULL}, {NULL, 0, &(s)->report.cwd}, \
        {NULL, 0, &(s)->report.path}, \
    { \
        (s)->start.pty_error, sizeof((s)->start.pty_error), NULL \
    }

struct kept_text {
    char *text;
    size_t size;
    char **kept; /* session_keep */
};

/* ---- write ---- */

void session_key_name(struct session *s, struct buf *key)
{
    buf_addf(key, "session/%s", s->name);
}

static void pack(struct session *s, struct buf *out)
{
    struct kept k = {.version = KEPT_VERSION,
                     .size = sizeof(k),
                     .proc = s->proc.r.id,
                     .feed = s->input.feeding ? s->input.feed.r.id : 0,
                     .seq = s->run.seq,
                     .scanned = s->scan.at,
                     .records = s->report.at,
                     .seen = s->run.seen,
                     .state = s->state,
                     .kind = s->sh.kind,
                     .rows = s->tty.rows,
                     .cols = s->tty.cols,
                     .fresh_status = s->gone.status,
                     .last_background = s->report.last_background,
                     .gen = s->sh.gen,
                     .uid = s->uid,
                     .gid = s->gid,
                     .done_next = s->answers.next,
                     .pty = s->sh.pty,
                     .same_env = s->sh.same_env,
                     .with_rc = s->start.rc == RC_READ,
                     .fresh = (uint8_t)s->gone.fresh,
                     .lost_rc = s->start.rc == RC_LEFT_OUT,
                     .feed_eof = s->input.feeding == FEED_EOF,
                     .attached = s->tty.attached,
                     .prompt = session_prompts(s) ? KEPT_PROMPT
                               : s->end.held      ? KEPT_HELD
                                                  : KEPT_NO_PROMPT,
                     .switching = session_switching(s),
                     .untold = s->run.untold,
                     .interrupt = s->input.interrupt,
                     .inputs_next = s->input.ids_next,
                     .cmd = s->cmd};
    memcpy(k.nonce, s->sh.nonce, sizeof(s->sh.nonce));
    memcpy(k.tag, s->sh.tag, sizeof(s->sh.tag));
    memcpy(k.flags, s->report.flags, sizeof(k.flags));
    memcpy(k.done, s->answers.kept, sizeof(k.done));
    memcpy(k.inputs, s->input.ids, sizeof(k.inputs));
    buf_add(out, &k, sizeof(k));
    const struct kept_text strings[] = {STRINGS(s)};
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        const char *text = strings[i].kept ? *strings[i].kept : strings[i].text;
        buf_add(out, text, strlen(text) + 1);
    }
    if (s->input.early.n > 0) { /* last: it may hold any bytes */
        buf_add(out, s->input.early_for, strlen(s->input.early_for) + 1);
        buf_adds(out, buf_str(&s->input.early));
    }
}

typedef void write_fn(struct proc *p, struct str bytes, struct str key, struct str value);

void session_pack(struct session *s, struct buf *out)
{
    pack(s, out);
    s->kept.scanned = s->scan.at;
}

static void store(struct session *s, struct str bytes, write_fn *write)
{
    struct buf key = BUF_INIT(128), state = BUF_INIT(LIMIT_BLOB_MAX);
    session_pack(s, &state);
    session_key_name(s, &key);
    if (bytes.n > 0)
        write(&s->proc, bytes, buf_str(&key), buf_str(&state));
    else
        keeper_client_put(s->en->keeper, buf_str(&key), buf_str(&state));
    buf_release(&key);
    buf_release(&state);
}

void session_store(struct session *s, struct str bytes)
{
    store(s, bytes, keeper_client_write);
}

void session_store_command(struct session *s, struct str bytes, bool awaited)
{
    store(s, bytes, awaited ? keeper_client_write_awaited : keeper_client_write_quietly);
}

void session_save(struct session *s) { session_store(s, STR("")); }

void session_add_line(struct session *s, struct buf *out, enum shell_line what)
{
    if (s->end.held && what == LINE_RUN_KEY) {
        shell_line(out, &s->sh, LINE_RUN_HELD, s->end.held);
        session_released(s);
        return;
    }
    if (s->end.held)
        shell_line(out, &s->sh, LINE_ACK, s->end.held);
    /* At LINE_ATTACH the shell is still held, though its prompt was asked for. */
    else if (s->sh.kind == SHELL_POSIX && s->sh.pty && what != LINE_HOLD &&
             (what == LINE_ATTACH || (session_held(s) && what != LINE_DETACH)))
        shell_line(out, &s->sh, LINE_NEXT, s->cmd.seq);
    session_released(s);
    bool switches = what == LINE_ATTACH || what == LINE_DETACH;
    shell_line(out, &s->sh, what, switches ? s->tty.switches : s->cmd.seq);
}

static void say(struct session *s, enum shell_line what, write_fn *write)
{
    struct buf line = BUF_INIT(1024);
    session_add_line(s, &line, what);
    store(s, buf_str(&line), write);
    buf_release(&line);
}

void session_say(struct session *s, enum shell_line what)
{
    say(s, what, keeper_client_write);
}

void session_say_quietly(struct session *s, enum shell_line what)
{
    say(s, what, keeper_client_write_quietly);
}

/* ---- read ---- */

static void unpack(struct session *s, const struct kept *k, struct str rest)
{
    const struct kept_text strings[] = {STRINGS(s)};
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        struct str text = str_cut(&rest, 0);
        if (strings[i].kept)
            session_keep(strings[i].kept, text);
        else
            session_copy(strings[i].text, strings[i].size, text);
    }
    session_copy(s->input.early_for, sizeof(s->input.early_for), str_cut(&rest, 0));
    buf_adds(&s->input.early, rest);
    s->run.seq = k->seq;
    s->scan.at = s->kept.scanned = k->scanned;
    s->report.at = k->records;
    s->run.seen = k->seen;
    s->state = (enum session_state)k->state;
    s->sh.kind = (enum shell_kind)k->kind;
    s->sh.gen = k->gen;
    s->sh.pty = k->pty;
    s->sh.no_null = !null_there();
    s->sh.same_env = k->same_env;
    s->tty.rows = k->rows;
    s->tty.cols = k->cols;
    s->gone.status = k->fresh_status;
    s->report.last_background = k->last_background;
    s->uid = k->uid;
    s->gid = k->gid;
    s->answers.next = k->done_next;
    s->start.rc = k->with_rc ? RC_READ : k->lost_rc ? RC_LEFT_OUT : RC_NONE;
    s->gone.fresh = (enum fresh)k->fresh;
    s->tty.attached = k->attached;
    if (k->switching)
        s->tty.prompt = k->prompt == KEPT_PROMPT ? PROMPT_COMING : PROMPT_GOING;
    else
        s->tty.prompt = k->prompt == KEPT_PROMPT ? PROMPT_ON : PROMPT_OFF;
    s->end.held = k->prompt == KEPT_HELD ? k->cmd.seq : 0;
    s->run.untold = (enum op_state)k->untold;
    s->cmd = k->cmd;
    s->ask.drawn = k->cmd.from;
    s->ask.upto = k->scanned;
    memcpy(s->sh.nonce, k->nonce, sizeof(s->sh.nonce));
    memcpy(s->sh.tag, k->tag, sizeof(s->sh.tag));
    memcpy(s->report.flags, k->flags, sizeof(s->report.flags));
    s->report.output_away = s->sh.pty &&
                            memchr(s->report.flags, '@', sizeof(s->report.flags));
    memcpy(s->answers.kept, k->done, sizeof(s->answers.kept));
    memcpy(s->input.ids, k->inputs, sizeof(s->input.ids));
    s->input.ids_next = k->inputs_next;
    s->input.interrupt = k->interrupt == 1;
}

/* Appends the version of a stored state, and its size. */
static void session_format(struct buf *out)
{
    buf_addf(out, "session %d.%zu", KEPT_VERSION, sizeof(struct kept));
}

void session_resume(struct engine *en, struct str name, struct str state)
{
    struct kept k;
    if (state.n < sizeof(k) || (memcpy(&k, state.p, sizeof(k)),
                                k.version != KEPT_VERSION || k.size != sizeof(k))) {
        log_error("session %.*s: its state is of another version; its shell is ended",
                  STR_ARG(name));
        return;
    }
    struct session *s = session_make(en, name);
    s->start.lived = true;
    unpack(s, &k, str_sub(state, sizeof(k), state.n));
    /* CLOCK_MONOTONIC is the machine's: the times in cmd still hold. */
    session_resume_feed(s, k.feed, k.feed_eof);
    s->proc.changed = session_changed;
    if (keeper_client_claim(en->keeper, &s->proc, k.proc) < 0) {
        session_shell_lost(s);
        return;
    }
    s->proc.uid = s->uid;
    s->proc.gid = s->gid;
    session_name_tty(s, s->proc.in);
    char file[96];
    snprintf(file, sizeof(file), TIMES_FILE, s->name);
    times_open(&s->times, en, file, false, session_out(s)->offset, s->tty.rows,
               s->tty.cols);
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "environ/%s", s->name);
    struct buf *kept = map_get(&en->states, buf_str(&key));
    session_env_resume(s, kept ? buf_str(kept) : STR(""));
    buf_release(&key);
    if (s->state == SESSION_STARTING)
        session_limit_start(s);
    if (s->state == SESSION_STARTING && !s->sh.pty && s->proc.sent == 0)
        session_say(s, LINE_SOURCE);
    if (s->state == SESSION_TYPED)
        session_limit_typed(s);
    if (s->state == SESSION_RUNNING)
        session_interrupt_early(s);
    /* People who were attached come back by themselves. */
    if (s->tty.attached && s->state != SESSION_STARTING)
        session_attach_mode(s, false);
    if (s->state == SESSION_IDLE) /* the answer to the previous worker may be lost */
        session_env_later(s);
    if (session_switching(s))
        session_switch_again(s);
    if (session_busy(s) && s->cmd.ended && s->state != SESSION_HUMAN)
        session_over_again(s);
    task_defer(en->loop, &s->scan.task);
}

/* ---- as a part of the engine ---- */

static void catch_up_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        session_catch_up(value);
}

static bool any_busy(const struct engine *en)
{
    struct str key;
    void *value;
    bool busy = false;
    for (void *it = NULL; !busy && (it = map_next(&en->sessions, it, &key, &value));)
        busy = session_busy(value);
    return busy;
}

static void cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        session_cancel(value);
}

static void add_metrics(const struct engine *en, struct buf *out)
{
    struct str key;
    void *value;
    unsigned busy = 0;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        busy += session_busy(value);
    metrics_gauge(out, "sessions", "Shells that are there.", (double)en->sessions.count);
    metrics_gauge(out, "sessions_busy", "Shells in which something runs.", busy);
}

const struct part part_session = {
    .key = "session/",
    .claims = "environ/",
    .format = session_format,
    .resume = session_resume,
    .serve = catch_up_all,
    .busy = any_busy,
    .cancel = cancel_all,
    .metrics = add_metrics,
};
