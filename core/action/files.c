/* SPDX-License-Identifier: MIT */
/*
 * Actions on files: the verbs of file/fileact.h, each in a helper process, with the user
 * and the directory of its session.
 */
#include "action/own.h"

#include "action/files.h"
#include "action/outside_own.h"
#include "file/fileact.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WATCHES_MAX = 32 };

struct running {
    struct action *a;
    struct fileact *f;
};

int files_start(struct actions *all, const struct files_ask *q,
                const struct fileact_events *calls, void *arg, struct fileact **out,
                struct err *e)
{
    const struct sandbox_place *place = q->place;
    struct fileact_spec spec = {.verb = q->verb,
                                .args = q->args,
                                .cwd = place->cwd,
                                .root = q->root,
                                .token = q->token,
                                .resumed = q->resumed,
                                .kept = q->kept,
                                .input = q->input,
                                .output = q->output,
                                .as_user = place->as_user,
                                .uid = place->uid,
                                .gid = place->gid,
                                .groups = place->groups,
                                .groups_n = place->groups_n};
    *out = fileact_start(all->en->loop, &spec, calls, arg, e);
    return *out ? 0 : -1;
}

/* ---- what a front-end does itself ---- */

/* Returns the kind that the log has for this verb; NULL if it is not logged. */
static const char *logged_kind(const char *verb, const struct json *args)
{
    if (strcmp(verb, "receive_all") == 0)
        return "receive";
    if (strcmp(verb, "send") == 0 && json_bool(args, "head", false))
        return NULL;
    if (strcmp(verb, "send_lines") == 0)
        return "send";
    return outside_kind(str_of(verb)) ? verb : NULL;
}

void files_log_begin(struct files_log *l, struct actions *all, const char *source,
                     struct str session, const char *verb, const struct json *args,
                     outside_stop *stop, void *owner)
{
    const char *kind = source ? logged_kind(verb, args) : NULL;
    struct action *a;
    uint64_t end;
    if (!kind)
        return;
    struct outside_order o = {.kind = kind,
                              .session = session,
                              .source = source,
                              .uid = geteuid(),
                              .pid = getpid(),
                              .args = args ? json_copy(args) : NULL};
    outside_open(all, &o, &a, &end);
    l->all = all;
    memcpy(l->key, a->key, sizeof(l->key));
    outside_on_cancel(a, stop, owner);
}

void files_log_end(struct files_log *l, struct str result, const struct err *e)
{
    struct action *a = l->all ? outside_find(l->all, l->key) : NULL;
    l->all = NULL;
    if (!a)
        return;
    outside_on_cancel(a, NULL, ((struct outside *)a->own)->owner);
    if (e && e->code)
        outside_fail(a, e);
    else
        outside_end(a, STR(""), result.n ? json_parse(result, NULL) : NULL);
}

/* ---- actions ---- */

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct running *r = arg;
    struct action *a = r->a;
    free(r);
    a->own = NULL;
    if (e->code)
        action_fail(a, e);
    else
        action_end_printed(a, STR(""), str_trim(result));
}

/* Finds the user of the argument `user`; else user and directory of the session. */
static int place_of(struct action *a, struct sandbox_place *out, struct err *e)
{
    struct str user = json_str(a->args, "user", "");
    if (user.n > 0)
        return sandbox_place_of(a->all->en->sandbox, user, out, e);
    return action_place(a, out, e);
}

/* noted: the helper notes what it has done, so that a restart does not repeat it. */
static void start(struct action *a, const struct fileact_events *calls, bool noted)
{
    struct err e = ERR_INIT;
    struct sandbox_place place;
    struct files_ask q = {.verb = a->kind->name,
                          .args = a->args,
                          .place = &place,
                          .token = a->key,
                          .resumed = a->resumed};
    struct running *r = calloc(1, sizeof(*r));
    int note = noted ? action_note(a) : -1;
    q.kept = note > 0 ? note : 0;
    if (r && place_of(a, &place, &e) == 0 &&
        files_start(a->all, &q, calls, r, &r->f, &e) == 0) {
        r->a = a;
        a->own = r;
    } else {
        free(r);
        action_fail(a, &e);
    }
    if (note >= 0)
        close(note);
}

static const struct fileact_events once = {.done = on_done};

static void start_reading(struct action *a) { start(a, &once, false); }
static void start_change(struct action *a) { start(a, &once, true); }

static bool cancel(struct action *a)
{
    struct running *r = a->own;
    if (r)
        fileact_cancel(r->f);
    free(r);
    a->own = NULL;
    return false;
}

#define FILE_ACTION(verb, begin) \
    const struct action_kind action_##verb = { \
        .name = #verb, \
        .takes = &fileact_takes_##verb, \
        .gives = (const struct observation[]){{.name = #verb, \
                                               .extras = fileact_gives_##verb}, \
                                              {0}}, \
        .start = begin, \
        .cancel = cancel};

/* After a restart each is started again: the notes of a change say what it has done. */
FILE_ACTION(stat, start_reading)
FILE_ACTION(list, start_reading)
FILE_ACTION(mkdir, start_change)
FILE_ACTION(move, start_change)
FILE_ACTION(copy, start_change)
FILE_ACTION(remove, start_change)
FILE_ACTION(replace, start_change)
FILE_ACTION(join, start_change)
FILE_ACTION(archive, start_change)
FILE_ACTION(extract, start_change)

static int check_chmod(const struct json *args, struct err *e)
{
    return fileact_check("chmod", args, false, false, e);
}

static const struct observation gives_chmod[] = {
    {.name = "chmod", .extras = fileact_gives_chmod}, {0}};

const struct action_kind action_chmod = {.name = "chmod",
                                         .takes = &fileact_takes_chmod,
                                         .gives = gives_chmod,
                                         .check = check_chmod,
                                         .start = start_change,
                                         .cancel = cancel};

/* ---- watch ---- */

/* Writes each line as an event, with the id of the action. */
static size_t on_lines(void *arg, struct str bytes)
{
    struct running *r = arg;
    struct str rest = bytes;
    while (rest.n > 0) {
        struct err e = ERR_INIT;
        struct str line = str_cut(&rest, '\n');
        struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
        buf_addz(&b, "{\"observation\":\"file_change\",\"session\":");
        json_quote(&b, str_of(r->a->session));
        buf_addf(&b, ",\"content\":\"\",\"extras\":{\"watch\":%llu,",
                 (unsigned long long)r->a->id);
        buf_adds(&b, str_sub(line, 1, line.n));
        buf_addc(&b, '}');
        if (line.n > 2)
            action_tell(r->a, &b, &e);
        buf_release(&b);
    }
    return bytes.n;
}

static unsigned watches(const struct actions *all)
{
    unsigned n = 0;
    for (struct action *a = NULL; (a = actions_next(all, a));)
        n += a->kind == &action_watch;
    return n;
}

static void start_watch(struct action *a)
{
    static const struct fileact_events calls = {.data = on_lines, .done = on_done};
    struct err e = ERR_INIT;
    if (watches(a->all) > WATCHES_MAX) {
        err_set(&e, ERR_LIMIT, "%d folders are watched already; cancel one watch",
                WATCHES_MAX);
        action_fail(a, &e);
        return;
    }
    start(a, &calls, false);
}

static const struct observation gives_watch[] = {{.name = "watch",
                                                  .extras = fileact_gives_watch},
                                                 {.name = "file_change",
                                                  .notice = true,
                                                  .causeless = true,
                                                  .extras = fileact_gives_change,
                                                  .about = "A change of what is watched"},
                                                 {0}};

const struct action_kind action_watch = {.name = "watch",
                                         .takes = &fileact_takes_watch,
                                         .gives = gives_watch,
                                         .start = start_watch,
                                         .cancel = cancel};
