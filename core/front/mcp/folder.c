/* SPDX-License-Identifier: MIT */
/*
 * Changes of files that clients subscribe to: a helper process watches each folder (the
 * verb watch of file/fileact.h), for all subscriptions to its entries. So a file stays
 * watched when an editor replaces it.
 *
 *   START ── "watching" ─▶ WATCHING ── the helper ended ─▶ sent as a change, LOST
 *     ▲ └── it cannot ─▶ its subscriptions end                             │
 *     └──────────────────────── after MCP_CALM_MS ─────────────────────────┘
 */
#include "front/mcp/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

struct mcp_folder {
    struct list node; /* in mcp.folders */
    struct mcp *m;
    char *path;          /* owned */
    struct fileact *act; /* NULL: it ended */
    struct list subs;    /* mcp_sub.near */
    bool watching;
    struct timer again;
};

static void folder_free(struct mcp_folder *d)
{
    list_del(&d->node);
    d->m->nfolders--;
    timer_stop(&d->again);
    if (d->act)
        fileact_cancel(d->act);
    d->act = NULL;
    free(d->path);
    d->path = NULL;
    loop_bury(d->m->en->loop, d, free);
}

/* ---- what the helper reports ---- */

/* Reports a change of one entry; of all entries if name is NULL. */
static void changed(struct mcp_folder *d, const struct str *name, bool again)
{
    struct list *it, *tmp;
    list_each (it, tmp, &d->subs) {
        struct mcp_sub *s = list_entry(it, struct mcp_sub, near);
        if (!name || str_eq(*name, str_of(s->name)))
            mcp_sub_changed(s, again);
    }
}

static void begin_watching(struct mcp_folder *d)
{
    struct list *it, *tmp;
    d->watching = true;
    list_each (it, tmp, &d->subs) {
        struct mcp_sub *s = list_entry(it, struct mcp_sub, near);
        if (s->ready)
            mcp_sub_changed(s, false); /* changes before this may have been missed */
        else
            mcp_sub_ready(s);
    }
}

static void take_line(struct mcp_folder *d, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str kind = json_str(j, "kind", ""), name = json_str(j, "path", "");
    if (str_eq(kind, STR("watching")))
        begin_watching(d);
    else if (str_eq(kind, STR("overflow")))
        changed(d, NULL, false);
    else
        changed(d, &name, str_eq(kind, STR("modified")));
    json_free(j);
}

static size_t on_lines(void *arg, struct str bytes)
{
    struct mcp_folder *d = arg;
    struct str rest = bytes;
    while (rest.n > 0 && d->act)
        take_line(d, str_cut(&rest, '\n'));
    return bytes.n;
}

/* Ends the subscriptions to a folder that cannot be watched. */
static void give_up(struct mcp_folder *d, const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &d->subs)
        mcp_sub_lost(list_entry(it, struct mcp_sub, near), e); /* the last one frees d */
}

static int start(struct mcp_folder *d, struct err *e);

static void on_again(struct timer *t)
{
    struct mcp_folder *d = container_of(t, struct mcp_folder, again);
    struct err e = ERR_INIT;
    if (start(d, &e) < 0)
        give_up(d, &e);
}

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct mcp_folder *d = arg;
    (void)result;
    d->act = NULL;
    if (!d->watching) {
        give_up(d, e);
        return;
    }
    d->watching = false;
    changed(d, NULL, false);
    timer_begin(d->m->en->loop, &d->again, MCP_CALM_MS, on_again);
}

static int start(struct mcp_folder *d, struct err *e)
{
    static const struct fileact_events calls = {.data = on_lines, .done = on_done};
    struct sandbox_place place;
    struct json *args = json_object();
    struct files_ask q = {.verb = "watch", .args = args, .place = &place, .token = "mcp"};
    json_put_z(args, "path", d->path);
    int rc = sandbox_place(d->m->en->sandbox, STR("main"), &place, e);
    if (rc == 0)
        rc = files_start(d->m->actions, &q, &calls, d, &d->act, e);
    json_free(args);
    return rc;
}

/* ---- subscriptions ---- */

static struct mcp_folder *find(const struct mcp *m, const char *path)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->folders) {
        struct mcp_folder *d = list_entry(it, struct mcp_folder, node);
        if (strcmp(d->path, path) == 0)
            return d;
    }
    return NULL;
}

int mcp_folder_add(struct mcp_sub *s, const char *path, struct str name, struct err *e)
{
    struct mcp *m = s->listener->m;
    struct mcp_folder *d = find(m, path);
    if (!utf8_valid(name))
        return err_set(e, ERR_INVALID, "a file whose name is not UTF-8 is not followed");
    if (!d && m->nfolders >= MCP_FOLDERS_MAX)
        return err_set(e, ERR_LIMIT,
                       "%d folders are watched already; unsubscribe from files of one",
                       MCP_FOLDERS_MAX);
    if (!d) {
        d = xnew(struct mcp_folder);
        *d = (struct mcp_folder){.m = m, .path = xstrndup(path, strlen(path))};
        list_init(&d->subs);
        list_add_tail(&m->folders, &d->node);
        m->nfolders++;
        if (start(d, e) < 0) {
            folder_free(d);
            return -1;
        }
    }
    s->folder = d;
    s->name = xstrndup(name.p, name.n);
    list_add_tail(&d->subs, &s->near);
    if (d->watching)
        mcp_sub_ready(s);
    return 0;
}

void mcp_folder_leave(struct mcp_sub *s)
{
    struct mcp_folder *d = s->folder;
    if (!d)
        return;
    list_del(&s->near);
    s->folder = NULL;
    free(s->name);
    s->name = NULL;
    if (list_empty(&d->subs))
        folder_free(d);
}
