/* SPDX-License-Identifier: MIT */
/*
 * The command that a session's shell runs or ran last, the answers about earlier
 * commands, and the watcher of all commands.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command ---- */

static void copy_head(char *out, size_t size, struct str text)
{
    struct str line = str_trim(text);
    long nl = str_chr(line, '\n');
    if (nl >= 0)
        line.n = (size_t)nl;
    if (line.n >= size)
        line.n = utf8_cut(line, size - 1);
    memcpy(out, line.p, line.n);
    out[line.n] = 0;
}

void session_new_command(struct session *s, const struct op *op)
{
    struct command *c = &s->cmd;
    *c = (struct command){.seq = s->run.seq,
                          .typed_at = s->scan.at,
                          .since_ms = clock_ms(),
                          .wall_ms = clock_wall_ms(),
                          .reads = shell_text_reads(buf_str(&op->command))};
    memcpy(c->id, op->id, sizeof(c->id));
    memcpy(c->parent, op->parent, sizeof(c->parent));
    copy_head(c->head, sizeof(c->head), buf_str(&op->command));
}

void session_command_began(struct session *s, uint64_t from)
{
    s->cmd.started = true;
    s->cmd.from = from;
}

void session_command_ended(struct session *s, uint64_t to, int status)
{
    struct command *c = &s->cmd;
    c->ended = true;
    c->to = to;
    if (!c->started || c->from > to)
        c->from = to;
    c->status = status & 0xff;
    c->duration_ms = clock_ms() - c->since_ms;
}

void session_command_cut(struct session *s)
{
    if (!s->cmd.ended)
        s->cmd.to = s->scan.at;
    s->cmd.ended = true;
}

void session_command_fed(struct session *s) { s->cmd.fed = true; }
void session_command_retyped(struct session *s) { s->cmd.typed_at = s->scan.at; }

void session_human_command(struct session *s)
{
    s->cmd.head[0] = 0;
    s->cmd.since_ms = clock_ms();
}

bool session_running(const struct session *s, const char *id)
{
    return session_busy(s) && !s->cmd.ended && strcmp(s->cmd.id, id) == 0;
}

const char *session_now(const struct session *s)
{
    /* What a person types has no id, and may come after a command that had one. */
    bool its = session_busy(s) && (s->state != SESSION_HUMAN || !s->cmd.ended);
    return its && s->cmd.id[0] ? s->cmd.id : NULL;
}

bool session_in_chain(const struct session *s, const char *parent)
{
    char name[LIMIT_ID + 1];
    /* parent: SESSION/SEQ of the caller, then of the caller's caller, and so on. */
    for (int depth = 0; parent && *parent && depth < 16; depth++) {
        const char *slash = strrchr(parent, '/');
        size_t n = slash ? (size_t)(slash - parent) : strlen(parent);
        if (n >= sizeof(name))
            return false;
        memcpy(name, parent, n);
        name[n] = 0;
        const struct session *c = session_find(s->en, str_of(name));
        /* Without a number (same_env), it is the command that runs there. */
        uint64_t seq = slash ? strtoull(slash + 1, NULL, 10) : c ? c->cmd.seq : 0;
        if (!c || c->cmd.seq != seq || c->cmd.ended)
            return false;
        if (c == s)
            return true;
        parent = c->cmd.parent;
    }
    return false;
}

/* ---- the answers about commands that ended ---- */

void session_keep_answer(struct session *s, bool shell_ended)
{
    const struct command *c = &s->cmd;
    struct answer *d = &s->answers.kept[s->answers.next++ % ANSWERS_KEPT];
    memcpy(d->id, c->id, sizeof(d->id));
    d->seq = c->seq;
    d->from = c->from;
    d->to = c->to;
    d->status = c->status;
    d->shell_ended = shell_ended;
    d->duration_ms = c->duration_ms;
}

/* The i-th answer, counted from 1, the newest. */
static const struct answer *nth_answer(const struct session *s, unsigned i)
{
    return &s->answers.kept[(s->answers.next - i) % ANSWERS_KEPT];
}

const struct answer *session_answer(const struct session *s, const char *id)
{
    size_t n = strlen(id);
    for (unsigned i = 1; n > 0 && n <= LIMIT_ID && i <= ANSWERS_KEPT; i++) {
        const struct answer *d = nth_answer(s, i);
        /* A client's ids often differ only at their end. */
        if (d->id[n - 1] == id[n - 1] && strcmp(d->id, id) == 0)
            return d;
    }
    return NULL;
}

const char *session_call(const struct session *s, struct str prefix)
{
    if (s->cmd.id[0] && str_starts(str_of(s->cmd.id), prefix))
        return s->cmd.id;
    for (unsigned i = 1; i <= ANSWERS_KEPT; i++) {
        const char *id = nth_answer(s, i)->id;
        if (id[0] && str_starts(str_of(id), prefix))
            return id;
    }
    return NULL;
}

/* ---- the watcher ---- */

void session_watch(struct engine *en, const struct session_watch *w) { en->watch = w; }

int session_signal_of(int status)
{
    return status > 128 && status < 128 + _NSIG ? status - 128 : 0;
}

static struct command_seen newest(struct session *s)
{
    const struct command *c = &s->cmd;
    return (struct command_seen){.session = s,
                                 .id = c->id,
                                 .seq = c->seq,
                                 .began = c->started,
                                 .from = c->from,
                                 .to = c->from};
}

void session_watch_began(struct session *s)
{
    const struct session_watch *w = s->en->watch;
    struct command_seen seen = newest(s);
    if (w && w->began)
        w->began(w->arg, &seen);
}

void session_watch_ended(struct session *s, bool shell_ended, const struct err *failed)
{
    const struct session_watch *w = s->en->watch;
    const struct command *c = &s->cmd;
    struct command_seen seen = newest(s);
    ASSERT(c->ended && c->seq);
    seen.ended = true;
    seen.to = c->to;
    seen.exit = c->status;
    seen.signo = session_signal_of(c->status);
    seen.shell_ended = shell_ended;
    seen.duration_ms = c->duration_ms;
    seen.failed = failed;
    if (w && w->ended)
        w->ended(w->arg, &seen);
}

bool session_command(struct session *s, const char *id, struct command_seen *out)
{
    if (!id[0])
        return false;
    if (strcmp(s->cmd.id, id) == 0 && (!s->cmd.ended || s->end.step == END_AT_PROMPT)) {
        *out = newest(s);
        return true;
    }
    const struct answer *d = session_answer(s, id);
    if (!d)
        return false;
    *out = (struct command_seen){.session = s,
                                 .id = d->id,
                                 .seq = d->seq,
                                 .began = true,
                                 .from = d->from,
                                 .to = d->to,
                                 .ended = true,
                                 .exit = d->status,
                                 .signo = session_signal_of(d->status),
                                 .shell_ended = d->shell_ended,
                                 .duration_ms = d->duration_ms};
    return true;
}

bool session_queued(struct session *s, const char *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.queue) {
        if (id[0] && strcmp(list_entry(it, struct op, node)->id, id) == 0)
            return true;
    }
    return false;
}
