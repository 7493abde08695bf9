/* SPDX-License-Identifier: MIT */
#include "front/terminal/prompts_own.h"

#include "base/utf8.h"
#include "shell/times.h"

#include <stdio.h>

/* Of the log, at most so many of its newest events are read for what is kept already. */
enum { EVENTS = 4000 };

static void on_started(struct action_watch *w, const struct action *a)
{
    (void)a;
    container_of(w, struct prompts, watch)->read = false;
}

void prompts_open(struct prompts *p, struct session *s, uint64_t from)
{
    struct recorded_log *g = &p->log;
    g->all = session_engine(s)->actions;
    snprintf(g->session, sizeof(g->session), "%s", session_name(s));
    g->created_us = times_created_us(session_times(s));
    recorded_open(g);
    if (g->end > EVENTS)
        g->at.next = g->end - EVENTS;
    p->from = from;
    p->watch.started = on_started;
    actions_watch(g->all, &p->watch);
}

void prompts_release(struct prompts *p)
{
    actions_unwatch(&p->watch);
    recorded_release(&p->log);
}

bool prompts_ready(struct prompts *p)
{
    uint64_t end = actions_next_id(p->log.all);
    p->read = p->read && p->log.end == end;
    p->log.end = end;
    return p->read;
}

void prompts_read(struct prompts *p) { p->read = recorded_read(&p->log); }

void prompts_skip(struct prompts *p, uint64_t to) { p->from = to; }

/* The text without control characters, as much as fits into a line. */
static void put_text(struct buf *b, const struct recorded *c, size_t most)
{
    struct str s = str_of(c->text);
    bool cut = c->more;
    size_t chars = 0, n = 0;
    while (n < s.n && (chars < most || (s.p[n] & 0xc0) == 0x80))
        chars += (s.p[n++] & 0xc0) != 0x80;
    cut = cut || n < s.n;
    for (size_t i = 0; i < n; i++)
        buf_addc(b, (unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f ? ' ' : s.p[i]);
    if (cut)
        buf_addz(b, " …");
}

bool prompts_paint(struct prompts *p, struct terminal *t, struct picture *pic,
                   uint64_t upto, uint64_t *at, struct buf *out)
{
    struct recorded *c;
    while ((c = recorded_first(&p->log)) && c->from <= upto) {
        struct picture_state state;
        struct buf b = BUF_INIT(2 * RECORDED_TEXT);
        int rows, cols;
        picture_report(pic, &state);
        picture_size(pic, &rows, &cols);
        bool paints = c->command && c->text[0] && !c->input && c->from >= p->from &&
                      !state.alt;
        *at = c->from;
        if (paints) {
            /* CAN ends a sequence that a program has left unfinished. */
            buf_addz(&b, state.col > 0 ? "\030\r\n\033[0;90m$ " : "\030\033[0;90m$ ");
            put_text(&b, c, cols > 8 ? (size_t)cols - 5 : 3);
            buf_addz(&b, "\033[m\r\n");
            terminal_take(t, pic, buf_str(&b), true, out);
        }
        buf_release(&b);
        recorded_drop(c);
        if (paints)
            return true;
    }
    return false;
}
