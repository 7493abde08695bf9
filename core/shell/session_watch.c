/* SPDX-License-Identifier: MIT */
/* What commands do, for the one that watches all of them, or asks for one by its id. */
#include "shell/session_own.h"

#include <signal.h>
#include <string.h>

void session_watch(struct engine *en, const struct session_watch *w)
{
    en->watch = w;
}

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
    if (strcmp(s->cmd.id, id) == 0 && (!s->cmd.ended || s->wait_prompt)) {
        *out = newest(s);
        return true;
    }
    for (unsigned i = 1; i <= DONE_KEPT; i++) {
        const struct done *d = &s->done[(s->done_next - i) % DONE_KEPT];
        if (strcmp(d->id, id) != 0)
            continue;
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
    return false;
}

bool session_queued(struct session *s, const char *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->queue) {
        if (id[0] && strcmp(list_entry(it, struct op, node)->id, id) == 0)
            return true;
    }
    return false;
}
