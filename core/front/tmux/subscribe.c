/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions of control mode: tmux(1), refresh-client -B and %subscription-changed.
 * Once a second, each format is expanded for each place that it is for; a value that is
 * new or differs from the last one is a notification.
 */
#include "front/tmux/control.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <stdio.h>
#include <string.h>

enum { EVERY_MS = 1000, WATCHES_MAX = 64, VALUE_MAX = 64 << 10, BEHIND = 1 << 20 };

static void check(struct tmux_client *c, struct json *watch, struct tm_link *l,
                  struct tm_pane *p)
{
    struct tm_vars v = {.t = c->t, .c = c};
    struct buf value = BUF_INIT(VALUE_MAX);
    struct json *is = json_get(watch, "is");
    char place[64] = "- - -";
    v.at = (struct tm_place){.s = c->session, .l = l, .w = l ? l->w : NULL, .p = p};
    if (l && p)
        snprintf(place, sizeof(place), "@%u %d %%%u", l->w->id, l->index, p->id);
    else if (l)
        snprintf(place, sizeof(place), "@%u %d -", l->w->id, l->index);
    target_complete(&v.at);
    vars_expand(&v, json_str(watch, "format", "").p, &value);
    if (!json_has(is, place) || !str_eq(json_str(is, place, ""), buf_str(&value))) {
        json_put_str(is, place, buf_str(&value));
        control_note(c, "%%subscription-changed %s $%u %s : %s", json_name(watch),
                     c->session->id, place, buf_z(&value));
    }
    buf_release(&value);
}

/* what: "%*", "@*", "%N", "@N", or anything else for the session. */
static void check_places(struct tmux_client *c, struct json *watch)
{
    const char *what = json_str(watch, "what", "").p;
    unsigned id = 0;
    bool all = what[0] && what[1] == '*' && !what[2];
    bool one = what[0] && sscanf(what + 1, "%u", &id) == 1;
    struct list *i, *j, *tmp, *tmp2;
    if ((what[0] != '%' && what[0] != '@') || (!all && !one)) {
        check(c, watch, NULL, NULL);
        return;
    }
    list_each (i, tmp, &c->session->links) {
        struct tm_link *l = list_entry(i, struct tm_link, node);
        if (what[0] == '@' && (all || l->w->id == id))
            check(c, watch, l, NULL);
        list_each (j, tmp2, &l->w->panes) {
            struct tm_pane *p = list_entry(j, struct tm_pane, sibling);
            if (what[0] == '%' && (all || p->id == id))
                check(c, watch, l, p);
        }
    }
}

static void on_time(struct timer *t)
{
    struct tmux_client *c = container_of(t, struct control, watch)->client;
    if (json_first(c->ctl->watches))
        timer_begin(c->t->en->loop, t, EVERY_MS, on_time);
    for (struct json *w = json_first(c->ctl->watches); w && c->session;
         w = json_next(w)) {
        if (c->out[0].buf.n < BEHIND) /* else the client has not read what there is */
            check_places(c, w);
    }
}

bool control_watch(struct tmux_client *c, const char *text)
{
    const char *what = strchr(text, ':'), *format = what ? strchr(what + 1, ':') : NULL;
    struct control *ctl = c->ctl;
    char name[128];
    if (what && !format)
        return true;
    snprintf(name, sizeof(name), "%.*s", what ? (int)(what - text) : 127, text);
    if (!ctl->watches)
        ctl->watches = json_object();
    json_free(json_take(ctl->watches, name));
    if (!format)
        return true;
    if (json_count(ctl->watches) >= WATCHES_MAX || what - text >= (int)sizeof(name))
        return false;
    struct json *w = json_object();
    json_put_str(w, "what", str_n(what + 1, (size_t)(format - what - 1)));
    json_put_z(w, "format", format + 1);
    json_put(w, "is", json_object());
    json_put(ctl->watches, name, w);
    ctl->client = c;
    if (!timer_active(&ctl->watch))
        timer_begin(c->t->en->loop, &ctl->watch, EVERY_MS, on_time);
    return true;
}
