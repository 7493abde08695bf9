/* SPDX-License-Identifier: MIT */
/*
 * What is done with files, as actions: the verbs of file/fileact.h, each in a helper,
 * as the user and in the directory of its session. See FILES.md.
 */
#include "action/native.h"

#include "action/files.h"
#include "file/fileact.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WATCHES_MAX = 32 };

struct running {
    struct native *n;
    struct fileact *f;
};

int files_start(struct events *ev, const struct files_ask *q,
                const struct fileact_events *calls, void *arg, struct fileact **out,
                struct err *e)
{
    const struct v0_place *place = q->place;
    struct fileact_spec spec = {.verb = q->verb,
                                .args = q->args,
                                .cwd = place->cwd,
                                .token = q->token,
                                .again = q->again,
                                .kept = q->kept,
                                .input = q->input,
                                .output = q->output,
                                .as_user = place->as_user,
                                .uid = place->uid,
                                .gid = place->gid,
                                .groups = place->groups,
                                .groups_n = place->groups_n};
    *out = fileact_start(ev->en->loop, &spec, calls, arg, e);
    return *out ? 0 : -1;
}

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct running *r = arg;
    struct native *n = r->n;
    free(r);
    n->own = NULL;
    if (e->code)
        native_fail(n, e);
    else
        native_end(n, STR(""), str_trim(result));
}

/* noted: what it has done is not to be done twice. */
static void start(struct native *n, const struct fileact_events *calls, bool noted)
{
    struct err e = ERR_INIT;
    struct v0_place place;
    struct files_ask q = {.verb = n->kind->name,
                          .args = n->args,
                          .place = &place,
                          .token = n->key,
                          .again = n->again};
    struct running *r = calloc(1, sizeof(*r));
    int note = noted ? native_note(n) : -1;
    q.kept = note > 0 ? note : 0;
    if (r && native_place(n, &place, &e) == 0 &&
        files_start(n->ev, &q, calls, r, &r->f, &e) == 0) {
        r->n = n;
        n->own = r;
    } else {
        free(r);
        native_fail(n, &e);
    }
    if (note >= 0)
        close(note);
}

static const struct fileact_events once = {.done = on_done};

static void start_look(struct native *n) { start(n, &once, false); }
static void start_change(struct native *n) { start(n, &once, true); }

static void cancel(struct native *n)
{
    struct running *r = n->own;
    if (r)
        fileact_cancel(r->f);
    free(r);
    n->own = NULL;
}

#define FILE_ACTION(verb, begin) \
    const struct native_kind native_##verb = {.name = #verb, \
                                              .takes = &fileact_takes_##verb, \
                                              .start = begin, \
                                              .cancel = cancel};

/* A helper can tell what it has done already, so each is started again. */
FILE_ACTION(stat, start_look)
FILE_ACTION(list, start_look)
FILE_ACTION(mkdir, start_change)
FILE_ACTION(move, start_change)
FILE_ACTION(copy, start_change)
FILE_ACTION(remove, start_change)
FILE_ACTION(chmod, start_change)
FILE_ACTION(archive, start_change)
FILE_ACTION(extract, start_change)

/* ---- watch ---- */

/* Each line as an event, which says whose it is. */
static size_t on_lines(void *arg, struct str bytes)
{
    struct running *r = arg;
    struct str rest = bytes;
    while (rest.n > 0) {
        struct err e = ERR_INIT;
        struct str line = str_cut(&rest, '\n');
        struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
        buf_addz(&b, "{\"observation\":\"file_change\",\"session\":");
        json_quote(&b, str_of(r->n->session));
        buf_addf(&b, ",\"content\":\"\",\"extras\":{\"watch\":%llu,",
                 (unsigned long long)r->n->id);
        buf_adds(&b, str_sub(line, 1, line.n));
        buf_addc(&b, '}');
        if (line.n > 2)
            native_tell(r->n, &b, &e);
        buf_release(&b);
    }
    return bytes.n;
}

static unsigned watches(const struct events *ev)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &ev->natives)
        n += list_entry(it, struct native, node)->kind == &native_watch;
    return n;
}

static void start_watch(struct native *n)
{
    static const struct fileact_events calls = {.data = on_lines, .done = on_done};
    struct err e = ERR_INIT;
    if (watches(n->ev) > WATCHES_MAX) {
        err_set(&e, ERR_LIMIT, "%d folders are watched already; cancel one of those",
                WATCHES_MAX);
        native_fail(n, &e);
        return;
    }
    start(n, &calls, false);
}

const struct native_kind native_watch = {.name = "watch",
                                         .takes = &fileact_takes_watch,
                                         .start = start_watch,
                                         .cancel = cancel};
