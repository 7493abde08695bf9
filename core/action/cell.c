/* SPDX-License-Identifier: MIT */
/* Cells that the event stream follows: what they say goes into its log. */
#include "action/cell.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "kernel/cell_text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TOLD_MAX = 1 << 20, /* of a cell's output as events: the log is not for more */
    TELL_AT = 32 << 10, /* of one of them */
    TELL_MS = 100       /* what comes within is one */
};

void events_cell_begin(struct events_cell *c, struct events *ev, uint64_t id,
                       const char *session, void (*answer)(void *, struct str),
                       void *owner)
{
    *c = (struct events_cell){.ev = ev, .id = id, .answer = answer, .owner = owner};
    snprintf(c->session, sizeof(c->session), "%s", session);
    buf_init(&c->unsaid, LIMIT_KERNEL_MESSAGE);
    list_add_tail(&ev->cells, &c->node);
}

static void say(struct events_cell *c, const char *kind, struct str text,
                struct json *take_extras)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    json_put_int(take_extras, "id", (int64_t)c->id);
    buf_addf(&b, "{\"observation\":\"%s\",\"session\":\"%s\",\"content\":", kind,
             c->session);
    if (json_quote(&b, text) == 0 && buf_addz(&b, ",\"extras\":") == 0 &&
        json_print(&b, take_extras) == 0 && buf_addc(&b, '}') == 0)
        events_append(c->ev, &b, &e);
    buf_release(&b);
    json_free(take_extras);
}

/* all: what may be the beginning of a secret does not wait for what comes behind it. */
static void tell(struct events_cell *c, bool all)
{
    timer_stop(&c->tell);
    while (c->unsaid.n && c->told < TOLD_MAX) {
        struct str text = buf_str(&c->unsaid);
        size_t n = text.n > TELL_AT ? utf8_cut(text, TELL_AT) : text.n;
        if (n < text.n || !all)
            n -= events_secret_tail(c->ev, str_sub(text, 0, n));
        if (n == 0)
            return;
        struct json *extras = json_object();
        json_put_int(extras, "from", (int64_t)c->told);
        c->told += n;
        json_put_int(extras, "to", (int64_t)c->told);
        say(c, "cell_output", str_sub(text, 0, n), extras);
        buf_consume(&c->unsaid, n);
    }
    buf_reset(&c->unsaid);
}

static void on_tell(struct timer *t)
{
    tell(container_of(t, struct events_cell, tell), false);
}

void events_cell_said(struct events_cell *c, struct str type, const struct json *content)
{
    struct buf text = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    if (c->told < TOLD_MAX && cell_text_of(&text, type, content))
        cell_text_plain(&c->unsaid, buf_str(&text));
    buf_release(&text);
    if (c->unsaid.n >= TELL_AT)
        tell(c, false);
    else if (c->unsaid.n && !timer_active(&c->tell))
        timer_begin(c->ev->en->loop, &c->tell, TELL_MS, on_tell);
}

void events_cell_asks(struct events_cell *c, struct str prompt, bool password)
{
    struct json *extras = json_object();
    tell(c, true);
    c->asks = true;
    json_put_bool(extras, "password", password);
    say(c, "cell_input", prompt, extras);
}

void events_cell_drop(struct events_cell *c)
{
    if (!c->ev)
        return;
    timer_stop(&c->tell);
    buf_release(&c->unsaid);
    list_del(&c->node);
    c->ev = NULL;
}

void events_cell_over(struct events_cell *c)
{
    if (c->ev)
        tell(c, true);
    events_cell_drop(c);
}

static struct events_cell *find(struct events *ev, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->cells) {
        struct events_cell *c = list_entry(it, struct events_cell, node);
        if (c->id == id)
            return c;
    }
    return NULL;
}

int events_cell_input(struct events *ev, uint64_t id, struct str text, struct err *e)
{
    struct events_cell *c = find(ev, id);
    if (!c || !c->asks)
        return err_set(e, ERR_NOTFOUND, "action %llu is no cell that asks for something",
                       (unsigned long long)id);
    c->asks = false;
    c->answer(c->owner, str_ends(text, STR("\n")) ? str_sub(text, 0, text.n - 1) : text);
    return 0;
}

/* ---- V0's ---- */

static void answer_theirs(void *owner, struct str text)
{
    struct events_cell *c = owner;
    v0_cell_input(c->ev->v0, c->id, text);
}

/* Made when it is first heard of; events_cell_ended frees it. NULL: it is not logged. */
static struct events_cell *theirs_of(struct events *ev, uint64_t id)
{
    struct events_cell *c = find(ev, id);
    struct pending *p = events_pending(ev, id);
    if (c || !p)
        return c;
    c = xnew(struct events_cell);
    events_cell_begin(c, ev, id, p->session, answer_theirs, c);
    return c;
}

void events_on_said(void *arg, uint64_t id, struct str type, const struct json *content)
{
    struct events_cell *c = theirs_of(arg, id);
    if (c)
        events_cell_said(c, type, content);
}

void events_on_asks(void *arg, uint64_t id, struct str prompt, bool password)
{
    struct events_cell *c = theirs_of(arg, id);
    if (c)
        events_cell_asks(c, prompt, password);
}

void events_cell_ended(struct events *ev, uint64_t id)
{
    struct events_cell *c = find(ev, id);
    if (!c || c->answer != answer_theirs)
        return;
    events_cell_over(c);
    free(c);
}
