/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints (checkpoint/checkpoint.h) as actions. The work is done in a helper: it
 * opens the store as the server, and files with the rights of the session's user. A
 * rollback that a crash interrupts is finished by the next worker: it has the same key.
 */
#include "action/checkpoint_own.h"

#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    RESULT_MAX = 900 << 10,
    /* The helper's descriptors; KEPT_FD only if there is a note */
    EVENTS_FD = 0,
    TABLE_FD = 1,
    KEPT_FD = 2
};

/* ---- the helper ---- */

/* Reads what an earlier helper did for the same action. */
static bool read_kept(int fd, struct buf *out)
{
    struct err e = ERR_INIT;
    char *p = buf_reserve(out, RESULT_MAX);
    ssize_t n = p ? pread(fd, p, RESULT_MAX, 0) : -1;
    struct json *j = n > 0 ? json_parse(str_n(p, (size_t)n), &e) : NULL;
    bool whole = j != NULL;
    if (whole)
        buf_commit(out, (size_t)n);
    json_free(j);
    return whole;
}

static int in_helper(void *arg, const struct job_child *c, struct err *e)
{
    struct checkpointing *r = arg;
    struct buf b = BUF_INIT(2 * RESULT_MAX);
    int kept = r->kept ? c->fds[KEPT_FD] : -1;
    if (r->call.watch.events > 0)
        r->call.watch = (struct watch_fds){c->fds[EVENTS_FD], c->fds[TABLE_FD]};
    if (r->resumed && kept >= 0 && read_kept(kept, &b))
        return job_put(c, buf_str(&b)) < 0 ? -1 : 0;
    struct json *j = checkpoint_do(&r->call, e);
    if (!j)
        return -1;
    buf_reset(&b);
    int rc = json_print(&b, j);
    json_free(j);
    if (rc < 0 || b.n > RESULT_MAX)
        return err_set(e, ERR_LIMIT, "the result is too long; ask for fewer changes");
    if (kept >= 0 && pwrite(kept, b.p, b.n, 0) < 0)
        return err_set(e, ERR_IO, "cannot note the result");
    return job_put(c, buf_str(&b)) < 0 ? err_set(e, ERR_IO, "the server is gone") : 0;
}

void checkpointing_data(struct job *j, struct buf *in)
{
    struct checkpointing *r = job_owner(j);
    buf_adds(&r->result, buf_str(in));
    buf_consume(in, in->n);
}

void checkpointing_free(struct checkpointing *r)
{
    buf_release(&r->result);
    free(r);
}

/* Fills in what all calls have. Returns -1 and sets *e. */
static int prepare(struct checkpointing *r, struct actions *all, struct err *e)
{
    const struct checkpoints *o = all->checkpoints;
    if (engine_state_folder(all->en, "checkpoints", 0700, r->store, sizeof(r->store), e) <
        0)
        return -1;
    r->call.store = r->store;
    r->call.hide = all->en->state_dir;
    r->call.cwd = r->place.cwd;
    r->call.dirs = o->dirs;
    r->call.exclude = o->exclude;
    r->call.budget = o->budget;
    r->call.file_max = o->budget;
    r->call.key = r->key;
    if (r->place.as_user) {
        r->user = (struct store_user){r->place.uid, r->place.gid, r->place.groups,
                                      r->place.groups_n};
        r->call.user = &r->user;
    }
    return 0;
}

/* What makes a checkpoint gets the watches; they begin with the first one. */
static struct watch_fds watch_for(const struct checkpointing *r, struct checkpoints *o)
{
    static const struct watch_fds none = {-1, -1};
    if (strcmp(r->call.verb, "checkpoint") != 0 && strcmp(r->call.verb, "rollback") != 0)
        return none;
    if (o->watch.events <= 0 && watch_open(&o->watch) < 0)
        o->watch = none;
    return o->watch;
}

int checkpointing_begin(struct checkpointing *r, struct actions *all,
                        const struct job_events *ev, int note, struct err *e)
{
    const struct watch_fds w = watch_for(r, all->checkpoints);
    const int fds[] = {w.events, w.table, note};
    struct job_spec spec = {.what = r->call.verb,
                            .fn = in_helper,
                            .arg = r,
                            .fds = fds,
                            .fds_n = note >= 0 ? 3 : 2,
                            .ev = ev,
                            .owner = r};
    r->kept = note >= 0;
    r->call.watch = w;
    buf_init(&r->result, 2 * RESULT_MAX);
    if (prepare(r, all, e) < 0)
        return -1;
    r->job = job_start(all->en->loop, &spec, e);
    return r->job ? 0 : -1;
}

/* The server's working directory, if the place is in it. */
static void to_base(struct actions *all, struct sandbox_place *p)
{
    struct str base = str_of(sandbox_cwd(all->en->sandbox, STR(""))),
               cwd = str_of(p->cwd);
    if (base.n > 1 && str_starts(cwd, base) && cwd.n > base.n && cwd.p[base.n] == '/')
        p->cwd[base.n] = 0;
}

int checkpointing_place(struct actions *all, struct str session,
                        struct sandbox_place *out, struct err *e)
{
    if (sandbox_place(all->en->sandbox, session, out, e) < 0)
        return -1;
    to_base(all, out);
    return 0;
}

/* ---- actions ---- */

static void on_done(struct job *j, const struct err *e)
{
    struct checkpointing *r = job_owner(j);
    struct action *a = r->a;
    a->own = NULL;
    if (e->code)
        action_fail(a, e);
    else
        action_end_printed(a, STR(""), buf_str(&r->result));
    checkpointing_free(r);
}

/*
 * The folder of the caller counts, and not that of a session, for `od checkpoint`. The
 * place is stored with the action: a worker that repeats it uses the same.
 */
static int place(struct action *a, struct checkpointing *r, struct err *e)
{
    struct str from = json_str(a->args, "from_dir", "");
    if (action_place(a, &r->place, e) < 0)
        return -1;
    to_base(a->all, &r->place);
    if (from.n && from.p[0] == '/')
        buf_fill(r->place.cwd, sizeof(r->place.cwd), "%.*s", STR_ARG(from));
    return 0;
}

static void start_with(struct action *a, bool noted)
{
    static const struct job_events calls = {.on_data = checkpointing_data,
                                            .on_done = on_done};
    struct err e = ERR_INIT;
    struct checkpointing *r = xnew(struct checkpointing);
    int note = noted ? action_note(a) : -1;
    r->a = a;
    r->resumed = a->resumed;
    memcpy(r->key, a->key, sizeof(r->key));
    r->call.verb = a->kind->name;
    r->call.args = a->args;
    if (place(a, r, &e) == 0 && checkpointing_begin(r, a->all, &calls, note, &e) == 0) {
        a->own = r;
    } else {
        checkpointing_free(r);
        action_fail(a, &e);
    }
    if (note >= 0)
        close(note);
}

static void start_reading(struct action *a) { start_with(a, false); }
static void start_change(struct action *a) { start_with(a, true); }

static bool cancel(struct action *a)
{
    struct checkpointing *r = a->own;
    if (r) {
        job_cancel(r->job);
        checkpointing_free(r);
    }
    a->own = NULL;
    return false;
}

static int check_rollback(const struct json *args, struct err *e)
{
    bool to = json_int(args, "to", 0) > 0,
         unfinished = json_str(args, "unfinished", "").n > 0;
    return to != unfinished
               ? 0
               : err_set(e, ERR_INVALID,
                         "rollback takes `to`, the number of a checkpoint, or "
                         "`unfinished`");
}

static const struct observation gives_checkpoint[] = {
    {.name = "checkpoint", .extras = checkpoint_gives_checkpoint},
    {.name = "checkpointed",
     .notice = true,
     .causeless = true,
     .extras = checkpoint_made_members,
     .about = "A checkpoint was made before an action (--checkpoints)"},
    {0}};

#define CHECKPOINT_ACTION(verb, begin_fn, gives_list, ...) \
    const struct action_kind action_##verb = {.name = #verb, \
                                              .takes = &checkpoint_takes_##verb, \
                                              .gives = gives_list, \
                                              .start = begin_fn, \
                                              .cancel = cancel, \
                                              __VA_ARGS__};
#define GIVES(verb) \
    ((const struct observation[]){{.name = #verb, .extras = checkpoint_gives_##verb}, \
                                  {0}})

CHECKPOINT_ACTION(checkpoint, start_change, gives_checkpoint, .in_turn = false)
CHECKPOINT_ACTION(checkpoints, start_reading, GIVES(checkpoints), .in_turn = false)
CHECKPOINT_ACTION(changes, start_reading, GIVES(changes), .in_turn = false)
CHECKPOINT_ACTION(rollback, start_change, GIVES(rollback), .check = check_rollback)
CHECKPOINT_ACTION(checkpoint_drop, start_change, GIVES(checkpoint_drop), .in_turn = false)
CHECKPOINT_ACTION(checkpoint_import, start_change,
                  ((const struct observation[]){{.name = "checkpoint_import",
                                                 .extras = checkpoint_gives_checkpoint},
                                                {0}}),
                  .in_turn = false)

/* ---- contents of other servers ---- */

const struct member checkpoint_contents_gives[] = {
    {.name = "missing",
     .type = MEMBER_STRINGS,
     .about = "The SHA-256 of those that were asked for and are not there"},
    {.name = "taken", .type = MEMBER_INT, .about = "How many came with their bytes"},
    {0}};

static void on_contents(struct job *j, const struct err *e)
{
    struct checkpointing *r = job_owner(j);
    r->done(r->arg, buf_str(&r->result), e->code ? e : NULL);
    checkpointing_free(r);
}

struct checkpointing *checkpoint_contents(struct actions *all, struct str body,
                                          void (*done)(void *arg, struct str result,
                                                       const struct err *e),
                                          void *arg, struct err *e)
{
    static const struct job_events calls = {.on_data = checkpointing_data,
                                            .on_done = on_contents};
    struct checkpointing *r = xnew(struct checkpointing);
    r->done = done;
    r->arg = arg;
    r->call.verb = "contents";
    r->call.bytes = body;
    if (checkpointing_begin(r, all, &calls, -1, e) == 0)
        return r;
    checkpointing_free(r);
    return NULL;
}

void checkpoint_contents_cancel(struct checkpointing *r)
{
    job_cancel(r->job);
    checkpointing_free(r);
}
