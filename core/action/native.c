/* SPDX-License-Identifier: MIT */
/* The table of native.h, and the life of what is in it. */
#include "action/native.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct native_kind *const kinds[] = {
#define NATIVE(name) &native_##name,
#include "action/native.def"
#undef NATIVE
};

const struct native_kind *native_find(const struct json *m)
{
    struct str name = json_str(m, "action", "");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eq(name, str_of(kinds[i]->name)))
            return kinds[i];
    }
    return NULL;
}

void native_names(struct buf *out)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        buf_addf(out, ", %s", kinds[i]->name);
}

const struct native_kind *native_at(size_t i)
{
    return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : NULL;
}

int native_check_args(const struct native_kind *k, const struct json *args, struct err *e)
{
    if (args && !json_is_object(args))
        return err_set(e, ERR_INVALID, "args must be an object");
    if (params_check(k->name, k->takes, args, NULL, e) < 0)
        return -1;
    return k->check ? k->check(args, e) : 0;
}

int native_check(const struct native_kind *k, const struct json *m, struct err *e)
{
    return native_check_args(k, json_get(m, "args"), e);
}

/* ---- life ---- */

/* A copy of its own, since what it came in is gone when it goes on. */
static struct json *args_of(const struct json *m)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    const struct json *args = json_get(m, "args");
    struct json *j = args && json_print(&b, args) == 0 ? json_parse(buf_str(&b), &e)
                                                       : NULL;
    buf_release(&b);
    return j ? j : json_object();
}

static struct native *native_new(const struct native_kind *k, const struct pending *p,
                                 struct events *ev, const struct json *m, const char *key)
{
    struct native *n = xnew(struct native);
    *n = (struct native){.ev = ev, .kind = k, .id = p->id, .args = args_of(m)};
    memcpy(n->session, p->session, sizeof(n->session));
    memcpy(n->key, key, EVENTS_KEY);
    list_add_tail(&ev->natives, &n->node);
    return n;
}

static void native_free(void *p)
{
    struct native *n = p;
    json_free(n->args);
    free(n);
}

/* ---- where ---- */

static struct native *find(const struct events *ev, const char *key)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->natives) {
        struct native *n = list_entry(it, struct native, node);
        if (strcmp(n->key, key) == 0)
            return n;
    }
    return NULL;
}

static const char place_before[] = "native/";

/* "": it is forgotten. */
static void keep_place(struct events *ev, const char *key, const char *cwd)
{
    struct buf name = BUF_INIT(64);
    buf_addf(&name, "%s%s", place_before, key);
    hold_put(ev->en->hold, buf_str(&name), str_of(cwd));
    buf_release(&name);
}

void natives_load(struct events *ev)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&ev->en->states, it, &key, &value));) {
        if (str_starts(key, STR(place_before)))
            map_put(&ev->places, str_sub(key, sizeof(place_before) - 1, key.n),
                    xstrdup(buf_z(value)));
    }
}

/* ---- what was done ---- */

static const char notes[] = "/done";

static int note_path(const struct events *ev, const char *key, char *path, size_t n)
{
    if (!ev->en->state_dir[0])
        return -1;
    snprintf(path, n, "%s%s%s%s", ev->en->state_dir, notes, *key ? "/" : "", key);
    return 0;
}

int native_note(struct native *n)
{
    char path[sizeof(n->ev->en->state_dir) + sizeof(notes) + EVENTS_KEY + 2];
    if (note_path(n->ev, "", path, sizeof(path)) < 0)
        return -1;
    mkdir(path, 0700);
    note_path(n->ev, n->key, path, sizeof(path));
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    n->noting = fd >= 0;
    return fd;
}

static void drop_note(const struct events *ev, const char *key)
{
    char path[sizeof(ev->en->state_dir) + sizeof(notes) + EVENTS_KEY + 2];
    if (note_path(ev, key, path, sizeof(path)) == 0)
        unlink(path);
}

/* Of those that have ended, or are of another server's time. */
static void drop_notes(const struct events *ev)
{
    char path[sizeof(ev->en->state_dir) + sizeof(notes) + 1];
    DIR *d = note_path(ev, "", path, sizeof(path)) == 0 ? opendir(path) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strlen(f->d_name) == EVENTS_KEY && !find(ev, f->d_name))
            drop_note(ev, f->d_name);
    }
    if (d)
        closedir(d);
}

void natives_loaded(struct events *ev)
{
    struct list *it, *tmp;
    struct str key;
    void *value;
    list_each (it, tmp, &ev->natives) {
        struct native *n = list_entry(it, struct native, node);
        n->placed = n->placed || map_get(&ev->places, str_of(n->key));
    }
    for (void *at = NULL; (at = map_next(&ev->places, at, &key, &value));) {
        char name[EVENTS_KEY + 1] = "";
        memcpy(name, key.p, key.n < EVENTS_KEY ? key.n : EVENTS_KEY);
        if (!find(ev, name))
            keep_place(ev, name, "");
    }
    drop_notes(ev);
}

int native_place(struct native *n, struct v0_place *p, struct err *e)
{
    struct events *ev = n->ev;
    const char *before = map_get(&ev->places, str_of(n->key));
    if (v0_place(ev->v0, str_of(n->session), p, e) < 0)
        return -1;
    if (before)
        snprintf(p->cwd, sizeof(p->cwd), "%s", before);
    else
        keep_place(ev, n->key, p->cwd);
    n->placed = true;
    return 0;
}

/* ---- beginning ---- */

/* Out of the list; it is valid until the turn is over. Its pending; NULL: there is none.
 */
static struct pending *leave(struct native *n)
{
    list_del(&n->node);
    loop_bury(n->ev->en->loop, n, native_free);
    return events_pending(n->ev, n->id);
}

/* Its end is in the log: nobody will ask again. */
static void forget(const struct native *n)
{
    if (n->placed)
        keep_place(n->ev, n->key, "");
    if (n->noting)
        drop_note(n->ev, n->key);
}

static void begin(struct native *n)
{
    n->started = true;
    n->kind->start(n);
}

static void begin_or_wait(struct native *n)
{
    if (n->kind->at_once || v0_ready(n->ev->v0))
        begin(n);
}

void native_start(const struct native_kind *k, const struct pending *p, struct events *ev,
                  const struct json *m, const char *key)
{
    begin_or_wait(native_new(k, p, ev, m, key));
}

void natives_ready(struct events *ev)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->natives) {
        struct native *n = list_entry(it, struct native, node);
        if (!n->started)
            begin(n);
    }
}

/* ---- ends ---- */

void native_end(struct native *n, struct str text, struct str extras)
{
    struct pending *p = leave(n);
    if (p)
        events_end_as(n->ev, p, n->kind->name, text, extras.n ? extras : STR("{}"));
    forget(n);
}

void native_fail(struct native *n, const struct err *e)
{
    struct pending *p = leave(n);
    if (p)
        events_end_err(n->ev, p, e);
    forget(n);
}

int native_tell(struct native *n, struct buf *object, struct err *e)
{
    return events_append(n->ev, object, e) ? 0 : -1;
}

bool native_take_back(struct events *ev, uint64_t id)
{
    struct list *it, *tmp;
    struct err e = {.code = ERR_CANCELLED};
    list_each (it, tmp, &ev->natives) {
        struct native *n = list_entry(it, struct native, node);
        if (n->id != id)
            continue;
        if (n->started && n->kind->cancel)
            n->kind->cancel(n);
        snprintf(e.text, sizeof(e.text), "The action was cancelled%s",
                 n->started ? "" : " before it began");
        native_fail(n, &e);
        return true;
    }
    return false;
}

/* ---- after a restart ---- */

void native_resume(const struct native_kind *k, struct pending *p, struct events *ev,
                   const struct json *m, const char *key)
{
    struct err e = ERR_INIT;
    struct native *n = native_new(k, p, ev, m, key);
    n->again = true;
    switch (k->again ? k->again(n) : NATIVE_AGAIN) {
    case NATIVE_AGAIN:
        begin_or_wait(n);
        return;
    case NATIVE_DONE:
        native_end(n, STR(""), STR(""));
        return;
    case NATIVE_UNKNOWN:
        err_set(&e, ERR_GONE,
                "The server was restarted while it did this; whether it was done cannot "
                "be known");
        native_fail(n, &e);
        return;
    case NATIVE_INTERRUPTED:
        err_set(&e, ERR_GONE,
                "The server was restarted before this action was done, so it was "
                "interrupted and not applied");
        native_fail(n, &e);
        return;
    }
}
