/* SPDX-License-Identifier: MIT */
/* Writes the output and questions of cells to the log. */
#include "action/cell.h"

#include "action/own.h"
#include "action/until.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TOLD_MAX = 1 << 20, /* bytes of a cell's output in events */
    TELL_AT = 32 << 10, /* bytes in one event */
    SHOWN_MAX = 512 << 10, /* bytes of a cell's pictures in events, as base64 */
    TELL_MS = 100,      /* output within this time goes into one event */
    PROMPT_MAX = 4096   /* bytes of a question for waits; the event has all of it */
};

void action_cell_begin(struct action_cell *c, struct actions *all, uint64_t id,
                       const char *session, void (*answer)(void *, struct str),
                       void *owner)
{
    ASSERT(!c->all); /* zeroed, over or dropped */
    *c = (struct action_cell){.all = all, .id = id, .answer = answer, .owner = owner};
    snprintf(c->session, sizeof(c->session), "%s", session);
    buf_init(&c->unsaid, LIMIT_KERNEL_MESSAGE);
    buf_init(&c->prompt, PROMPT_MAX);
    list_add_tail(&all->cells, &c->node);
}

static void say(struct action_cell *c, const char *kind, struct str text,
                struct json *take_extras)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    json_put_int(take_extras, "id", (int64_t)c->id);
    buf_addf(&b, "{\"observation\":\"%s\",\"session\":\"%s\",\"content\":", kind,
             c->session);
    if (json_quote(&b, text) == 0 && buf_addz(&b, ",\"extras\":") == 0 &&
        json_print(&b, take_extras) == 0 && buf_addc(&b, '}') == 0)
        log_append(c->all, &b, &e);
    buf_release(&b);
    json_free(take_extras);
}

/* all: also writes what may be the beginning of a secret, without waiting for more. */
static void tell(struct action_cell *c, bool all)
{
    timer_stop(&c->tell);
    while (c->unsaid.n && c->told < TOLD_MAX) {
        struct str text = buf_str(&c->unsaid);
        size_t n = text.n > TELL_AT ? utf8_cut(text, TELL_AT) : text.n;
        if (n < text.n || !all)
            n -= actions_secret_tail(c->all, str_sub(text, 0, n));
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
    tell(container_of(t, struct action_cell, tell), false);
}

/* ---- followers ---- */

void action_cell_follow(struct actions *all, uint64_t id, struct cell_follower *f)
{
    f->id = id;
    list_add_tail(&all->followers, &f->node);
}

void action_cell_unfollow(struct cell_follower *f) { list_del(&f->node); }

/* Returns the follower of the action with this id; NULL if it has none. */
static struct cell_follower *follower(const struct actions *all, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->followers) {
        struct cell_follower *f = list_entry(it, struct cell_follower, node);
        if (f->id == id)
            return f;
    }
    return NULL;
}

void action_cell_begun(struct action_cell *c, int64_t count)
{
    struct cell_follower *f = c->all ? follower(c->all, c->id) : NULL;
    if (f && f->begun)
        f->begun(f, count);
}

void action_cell_hold(const struct actions *all, uint64_t id, bool hold)
{
    const struct action_cell *c = action_cell_find(all, id);
    if (c && c->cell)
        cell_hold(c->cell, hold);
}

void cell_follower_end(struct actions *all, uint64_t id, const struct action_result *r)
{
    struct cell_follower *f = follower(all, id);
    if (!f)
        return;
    action_cell_unfollow(f);
    f->ended(f, r);
}

bool action_cell_followed(const struct action_cell *c)
{
    const struct cell_follower *f = c->all ? follower(c->all, c->id) : NULL;
    return f && f->said;
}

static void add(struct action_cell *c, bool display, struct str text)
{
    if (c->told >= TOLD_MAX)
        return;
    if (c->open)
        buf_addc(&c->unsaid, '\n');
    cell_text_plain(&c->unsaid, text);
    c->open = display && !str_ends(text, STR("\n"));
}

void action_cell_adds(struct action_cell *c, struct str text) { add(c, true, text); }

/* A PNG or JPEG is shown at once; the observation has the others, too. */
static void show_picture(struct action_cell *c, const struct json *content)
{
    static const char *const types[] = {"image/png", "image/jpeg"};
    for (int i = 0; i < 2; i++) {
        struct str data = json_str(json_get(content, "data"), types[i], "");
        if (data.n == 0 || data.n > SHOWN_MAX - c->shown)
            continue;
        struct json *extras = json_object();
        tell(c, false);
        c->shown += data.n;
        json_put_int(extras, "from", (int64_t)c->told);
        json_put_int(extras, "to", (int64_t)c->told);
        json_put_z(extras, "mime", types[i]);
        json_put_str(extras, "data", data);
        say(c, "cell_output", STR(""), extras);
        return;
    }
}

void action_cell_said(struct action_cell *c, struct str type, const struct json *content)
{
    struct buf text = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    struct cell_follower *f = c->all ? follower(c->all, c->id) : NULL;
    if (f && f->said)
        f->said(f, type, content);
    if (c->told < TOLD_MAX && cell_text_of(&text, type, content))
        add(c, cell_text_displays(type), buf_str(&text));
    if (c->all)
        show_picture(c, content);
    buf_release(&text);
    if (c->unsaid.n >= TELL_AT)
        tell(c, false);
    else if (c->unsaid.n && !timer_active(&c->tell))
        timer_begin(c->all->en->loop, &c->tell, TELL_MS, on_tell);
}

void action_cell_asks(struct action_cell *c, struct str prompt, bool password)
{
    struct json *extras = json_object();
    tell(c, true);
    c->asks = true;
    c->password = password;
    buf_reset(&c->prompt);
    buf_adds(&c->prompt, str_sub(prompt, 0, utf8_cut(prompt, PROMPT_MAX)));
    json_put_bool(extras, "password", password);
    say(c, "cell_input", prompt, extras);
    wait_cell_asks(c->all, c->id);
}

void action_cell_drop(struct action_cell *c)
{
    if (!c->all)
        return;
    timer_stop(&c->tell);
    buf_release(&c->unsaid);
    buf_release(&c->prompt);
    list_del(&c->node);
    c->all = NULL;
}

void action_cell_over(struct action_cell *c)
{
    if (c->all)
        tell(c, true);
    action_cell_drop(c);
}

static struct action_cell *find(const struct actions *all, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->cells) {
        struct action_cell *c = list_entry(it, struct action_cell, node);
        if (c->id == id)
            return c;
    }
    return NULL;
}

const struct action_cell *action_cell_find(const struct actions *all, uint64_t id)
{
    return find(all, id);
}

bool action_cell_hides(const struct actions *all, uint64_t id)
{
    const struct action_cell *c = find(all, id);
    return c && c->asks && c->password;
}

uint64_t action_cell_asking(const struct actions *all, struct str session)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->cells) {
        const struct action_cell *c = list_entry(it, struct action_cell, node);
        if (c->asks && str_eq(str_of(c->session), session))
            return c->id;
    }
    return 0;
}

int action_cell_input(struct actions *all, uint64_t id, struct str text, struct err *e)
{
    struct action_cell *c = find(all, id);
    if (!c || !c->asks)
        return err_set(e, ERR_NOTFOUND, "action %llu is not a cell that asks a question",
                       (unsigned long long)id);
    c->asks = false;
    c->answer(c->owner, str_ends(text, STR("\n")) ? str_sub(text, 0, text.n - 1) : text);
    return 0;
}
