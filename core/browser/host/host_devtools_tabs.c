/* SPDX-License-Identifier: MIT */
/* Tabs of DevTools clients: the log, and what the driver sees of them. */
#include "base/clock.h"
#include "base/jsontext.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/host/host_devtools_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct devtools_client *devtools_client_by(const struct host *h, unsigned number)
{
    struct list *it, *tmp;
    list_each (it, tmp, &h->devtools.clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        if (c->number == number)
            return c;
    }
    return NULL;
}

bool devtools_is_attached(const struct host *h, const char *target)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&h->devtools.sessions, it, &key, &value));) {
        const struct devtools_session *s = value;
        if (strcmp(s->target, target) == 0 && s->client->state == DEVTOOLS_OPEN)
            return true;
    }
    return false;
}

/* ---- the log ---- */

static void report(struct devtools_client *c, const char *event, struct str target,
                   struct str url)
{
    struct buf line = BUF_INIT(4096);
    int64_t second = clock_ms() / 1000;
    c->events = c->second == second ? c->events + 1 : 1;
    c->second = second;
    if (c->events > DEVTOOLS_EVENTS_MAX) {
        c->unreported++;
        return;
    }
    buf_addf(&line, "@{\"event\":\"%s\",\"target\":", event);
    json_quote(&line, target);
    buf_addz(&line, ",\"url\":");
    json_quote(&line, url);
    if (c->unreported)
        buf_addf(&line, ",\"unreported\":%u", c->unreported);
    buf_addz(&line, "}");
    if (!buf_full(&line))
        devtools_put(c, buf_str(&line), STR(""));
    c->unreported = 0;
    buf_release(&line);
}

/* The client that may have changed this page; 0: none. */
static unsigned actor_of(const struct host *h, struct str target)
{
    struct str key;
    void *value;
    unsigned number = 0;
    for (void *it = NULL; (it = map_next(&h->devtools.sessions, it, &key, &value));) {
        struct devtools_session *s = value;
        if (s->acted && str_eq(str_of(s->target), target)) {
            number = s->client->number;
            s->acted = false;
        }
    }
    return number;
}

/* Notes the beginning of an address, a string of JSON. Returns whether it is another. */
static bool set_url(struct devtools_page *p, struct str value)
{
    char before[sizeof(p->url)];
    struct buf text = BUF_INIT(2 * sizeof(p->url)), url = BUF_INIT(2 * sizeof(p->url));
    struct str begin = str_sub(value, 0, sizeof(p->url) - 1);
    bool same = value.n == p->length || !p->length;
    memcpy(before, p->url, sizeof(before));
    if (begin.n < value.n) { /* no escape is cut */
        begin.n = utf8_cut(value, begin.n);
        for (size_t i = begin.n > 6 ? begin.n - 6 : 1; i < begin.n; i++)
            begin.n = begin.p[i] == '\\' ? i : begin.n;
    }
    buf_adds(&text, begin);
    if (begin.n < value.n)
        buf_addc(&text, '"');
    if (jsontext_string(&url, buf_str(&text)) == 0)
        snprintf(p->url, sizeof(p->url), "%s", buf_z(&url));
    p->length = value.n;
    buf_release(&text);
    buf_release(&url);
    return !same || strcmp(before, p->url) != 0;
}

/* A tab that was there before the first client, with the address that the driver knows.
 */
static struct devtools_page *known_page(struct host *h, struct str id)
{
    const struct target *t = browser_target(devtools_browser(h), id);
    struct devtools_page *p = map_get(&h->devtools.pages, id);
    if (p || !t || !t->page)
        return p;
    p = xnew(struct devtools_page);
    p->told = true;
    snprintf(p->url, sizeof(p->url), "%.*s",
             (int)utf8_cut(buf_str(&t->url),
                           t->url.n < sizeof(p->url) - 1 ? t->url.n : sizeof(p->url) - 1),
             buf_z(&t->url));
    map_put(&h->devtools.pages, id, p);
    return p;
}

/* A tab changed its address, or has its first. */
void devtools_on_changed(struct host *h, struct str info)
{
    struct str id = devtools_member(info, "targetId");
    struct devtools_page *p = known_page(h, id);
    bool other = p && set_url(p, jsontext_get(info, STR("url")));
    if (!other || !p->url[0])
        return;
    unsigned actor = actor_of(h, id);
    struct devtools_client *c = devtools_client_by(h, p->client ? p->client : actor);
    bool opens = p->client && !p->told;
    p->told = true;
    if (c)
        report(c, opens ? "opened" : "navigated", id, str_of(p->url));
}

/* ---- what the driver sees ---- */

static struct devtools_client *owner_of(const struct host *h, struct str context)
{
    struct list *it, *tmp, *at, *next;
    list_each (it, tmp, &h->devtools.clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        list_each (at, next, &c->contexts) {
            if (str_eq(context,
                       str_of(list_entry(at, struct devtools_context, node)->id)))
                return c;
        }
    }
    return NULL;
}

/* The client that has called createTarget, and got no tab yet. */
static struct devtools_client *opener(const struct host *h)
{
    struct list *it, *tmp;
    list_each (it, tmp, &h->devtools.clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        if (c->opening)
            return c;
    }
    return NULL;
}

/* A new target. Returns whether the driver must not see it. */
bool devtools_on_created(struct host *h, struct str info)
{
    struct browser *b = devtools_browser(h);
    struct str id = devtools_member(info, "targetId");
    struct devtools_client *c = owner_of(h, devtools_member(info, "browserContextId"));
    bool foreign = c != NULL;
    if (!str_eq(devtools_member(info, "type"), STR("page")) || id.n >= DEVTOOLS_ID ||
        map_get(&h->devtools.pages, id))
        return foreign;
    struct str parent = devtools_member(info, "openerId");
    const struct devtools_page *from = map_get(&h->devtools.pages, parent);
    if (!c && !parent.n && !b->making)
        c = opener(h);
    if (c && c->opening && !parent.n)
        c->opening--;
    struct devtools_page *p = xnew(struct devtools_page);
    p->client = c ? c->number : from ? from->client : 0;
    map_put(&h->devtools.pages, id, p);
    if (!foreign && p->client && b->active)
        devtools_set_id(h->devtools.active, str_of(b->active->id));
    devtools_on_changed(h, info);
    return foreign;
}

void devtools_on_destroyed(struct host *h, struct str id)
{
    struct devtools_page *p = id.n ? map_del(&h->devtools.pages, id) : NULL;
    struct devtools_client *c = p ? devtools_client_by(h, p->client) : NULL;
    if (c && p->told)
        report(c, "closed", id, str_of(p->url));
    free(p);
}

/* The client that opened the page has its dialogs, else the last that acted in it. */
bool devtools_is_asked(const struct devtools_session *s)
{
    const struct host *h = s->client->h;
    const struct devtools_page *p = map_get(&h->devtools.pages, str_of(s->target));
    const struct devtools_session *best = s;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&h->devtools.sessions, it, &key, &value));) {
        const struct devtools_session *x = value;
        if (strcmp(x->target, s->target) != 0 || x->client->state != DEVTOOLS_OPEN ||
            x->client == best->client)
            continue;
        bool opened = p && p->client == x->client->number;
        bool before = p && p->client == best->client->number;
        if (opened || (!before && x->turn > best->turn))
            best = x;
    }
    return best->client == s->client;
}

void devtools_restore(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    struct browser *b = devtools_browser(h);
    if (d->asked && b && !b->dialog.type[0])
        b->asks = d->asks;
    d->asked &= b && b->dialog.type[0];
    if (b && d->active[0]) {
        struct target *t = browser_target(b, str_of(d->active));
        d->active[0] = '\0';
        if (t && t != b->active)
            browser_activate(b, t);
    }
}

/*
 * A dialog of a tab that a client has, too, stays open for it. The driver need not know
 * of it unless the tab is its active one. Returns whether the driver must not see it.
 */
bool devtools_on_dialog(struct host *h, struct str session)
{
    struct browser *b = devtools_browser(h);
    const struct target *t = browser_session(b, session);
    if (!t || !devtools_is_attached(h, t->id))
        return false;
    if (!browser_within(b, t))
        return true;
    if (!h->devtools.asked)
        h->devtools.asks = b->asks;
    h->devtools.asked = b->asks = true;
    return false;
}
