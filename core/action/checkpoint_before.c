/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints before what may change files (--checkpoints): what is about to begin
 * asks at the gate (engine/gate.h). If a checkpoint is due, a helper makes it, and what
 * asked waits for its end, or for --checkpoint-wait; then it goes on beside it.
 */
#include "action/checkpoint_own.h"

#include "action/log.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "shell/grammar/risky.h"

#include <sys/statvfs.h>

enum {
    PAUSE_MS = 30000, /* without an action: the next one begins a turn */
    BUDGET_GIB = 2,   /* or a tenth of the disk */
    WORDS_MAX = 4096
};

/* ---- is one due? ---- */

static bool is_due(const struct checkpoints *o, const struct gate_ask *q)
{
    if (o->when == CHECKPOINT_RISKY)
        return q->kind != GATE_COMMAND || risky_command(q->text);
    if (o->when == CHECKPOINT_EACH)
        return true;
    return !o->turn || (o->ended_ms && clock_ms() - o->ended_ms > PAUSE_MS);
}

/* The number in the log of the action with this id, as a key or as its request's. */
static uint64_t action_of(const struct actions *all, const char *id)
{
    for (struct action *a = NULL; id[0] && (a = actions_next(all, a));) {
        if (strcmp(a->key, id) == 0 || strcmp(a->command, id) == 0)
            return a->id;
    }
    return 0;
}

/* ---- it is made ---- */

const struct member checkpoint_made_members[] = {
    {.name = "id", .type = MEMBER_INT, .about = "The checkpoint; 0: there is none"},
    {.name = "action",
     .type = MEMBER_INT,
     .about = "The action that it precedes; 0: not known"},
    {.name = "same",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "Nothing had changed since it was made"},
    {.name = "beside",
     .type = MEMBER_BOOL,
     .about =
         "The action began before it was complete (--checkpoint-wait): files that it "
         "changed at once may be in it as they were after that"},
    {.name = "ms", .type = MEMBER_INT, .optional = true, .about = "Milliseconds it took"},
    {.name = "gaps",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Files that are not kept, or not whole"},
    {.name = "dropped",
     .type = MEMBER_ANY,
     .optional = true,
     .about = "Checkpoints that were removed to keep the budget"},
    {.name = "failed",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Why there is no checkpoint; the action began nevertheless"},
    {0}};

/* Writes into the log what became of it. failed: NULL, it was made. */
static void tell(struct checkpoints *o, const struct checkpointing *r, const char *failed)
{
    struct err e = ERR_INIT;
    struct json *made = failed ? NULL : json_parse(buf_str(&r->result), &e);
    struct json *event = json_object(), *extras = json_object();
    json_put_int(extras, "id", json_int(made, "id", 0));
    json_put_int(extras, "action", (int64_t)r->action);
    json_put_bool(extras, "beside", o->beside);
    if (made) {
        json_put_bool(extras, "same", json_bool(made, "same", false));
        json_put_int(extras, "ms", json_int(made, "ms", 0));
        json_put_int(extras, "gaps", json_int(made, "gaps", 0));
        if (json_has(made, "dropped"))
            json_put(extras, "dropped", json_take(made, "dropped"));
    } else {
        log_warn("no checkpoint before action %llu: %s", (unsigned long long)r->action,
                 failed ? failed : e.text);
        json_put_z(extras, "failed", failed ? failed : e.text);
    }
    json_put_z(event, "observation", "checkpointed");
    json_put_z(event, "content", "");
    json_put(event, "extras", extras);
    actions_note(o->all, event, &e);
    json_free(event);
    json_free(made);
}

static void on_go(struct task *t)
{
    struct checkpoints *o = container_of(t, struct checkpoints, go);
    struct list now, *it, *tmp; /* one that begins may let another one ask */
    list_init(&now);
    list_each (it, tmp, &o->waits) {
        list_del(it);
        list_add_tail(&now, it);
    }
    while (!list_empty(&now)) {
        struct gate_wait *w = list_first(&now, struct gate_wait, node);
        list_del(&w->node);
        w->passed = true;
        w->go(w);
    }
}

/* Those that wait begin, in a turn of their own: they may end others that wait. */
static void let_all(struct checkpoints *o) { task_defer(o->all->en->loop, &o->go); }

static void on_preceding(struct job *j, const struct err *e)
{
    struct checkpointing *r = job_owner(j);
    struct checkpoints *o = r->o;
    tell(o, r, e->code ? e->text : NULL);
    timer_stop(&o->late);
    o->running = NULL;
    checkpointing_free(r);
    let_all(o);
}

static void on_late(struct timer *t)
{
    struct checkpoints *o = container_of(t, struct checkpoints, late);
    o->beside = true;
    let_all(o);
}

/* / is kept only if an option names it: it is all that the image has. */
static bool is_root(const struct checkpoints *o, const struct checkpointing *r)
{
    return !o->dirs && strcmp(r->place.cwd, "/") == 0;
}

/* Returns false if there is none to wait for. */
static bool begin(struct checkpoints *o, const struct gate_ask *q)
{
    static const struct job_events calls = {.on_data = checkpointing_data,
                                            .on_done = on_preceding};
    static const char *const whys[] = {NULL, "turn", "each", "risky"};
    struct err e = ERR_INIT;
    struct checkpointing *r = xnew(struct checkpointing);
    r->o = o;
    r->action = action_of(o->all, q->id);
    r->call.verb = "checkpoint";
    r->call.why = whys[o->when];
    r->call.action = (int64_t)r->action;
    o->beside = false;
    o->turn = true;
    if (checkpointing_place(o->all, q->session, &r->place, &e) < 0 ||
        (is_root(o, r) && err_set(&e, ERR_UNSUPPORTED,
                                  "/ is kept only if --checkpoint-dir names it") < 0) ||
        checkpointing_begin(r, o->all, &calls, -1, &e) < 0) {
        tell(o, r, e.text);
        checkpointing_free(r);
        return false;
    }
    o->running = r;
    timer_begin(o->all->en->loop, &o->late, o->wait_ms, on_late);
    return true;
}

static bool lets(struct gate *g, struct gate_wait *w, const struct gate_ask *q)
{
    struct checkpoints *o = container_of(g, struct checkpoints, gate);
    /* What comes while one is made waits for it, too, unless its time is up already. */
    bool due = o->running ? !o->beside && (o->when != CHECKPOINT_RISKY || is_due(o, q))
                          : is_due(o, q);
    if (!due || (!o->running && !begin(o, q)))
        return true;
    list_add_tail(&o->waits, &w->node);
    return false;
}

/* ---- for actions ---- */

static void on_gate(struct gate_wait *w)
{
    actions_turn(container_of(w, struct action, gate)->all);
}

static bool is_one_of(const struct action *a, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(a->kind->name, *names) == 0)
            return true;
    }
    return false;
}

/* Appends the words of a program, as if for a shell. */
static void put_words(struct buf *out, const struct json *args)
{
    buf_adds(out, json_str(args, "command", ""));
    for (const struct json *v = json_first(json_get(args, "argv")); v; v = json_next(v))
        buf_addf(out, "%s%.*s", out->n ? " " : "", STR_ARG(json_str_value(v, "")));
}

bool checkpoint_lets(struct action *a)
{
    static const char *const writes[] = {"write", "edit",    "move", "copy",    "remove",
                                         "mkdir", "replace", "join", "extract", "archive",
                                         "chmod", "skill",   NULL};
    static const char *const programs[] = {"process", NULL};
    struct gate_ask q = {.kind = GATE_FILES, .id = a->key, .session = str_of(a->session)};
    if (a->gate.passed || !a->all->en->gate || a->resumed)
        return true;
    struct buf words = BUF_INIT(WORDS_MAX);
    bool program = is_one_of(a, programs);
    bool passed = true;
    if (program) {
        put_words(&words, a->args);
        q.kind = GATE_COMMAND;
        q.text = buf_str(&words);
    }
    a->gate.go = on_gate;
    if (program || is_one_of(a, writes))
        passed = gate_lets(a->all->en, &a->gate, &q);
    buf_release(&words);
    return passed;
}

void checkpoint_ended(struct actions *all)
{
    if (all->checkpoints)
        all->checkpoints->ended_ms = clock_ms();
}

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "checkpoints",
     .type = OPTION_TEXT,
     .value = "WHEN",
     .env = "OD_CHECKPOINTS",
     .dflt = "off",
     .choices = "off turn each risky",
     .about =
         "keep what files are before actions: turn, before the first one after a pause "
         "of 30 s; each; risky, before those that may lose files, such as rm, git "
         "reset, or a redirection to a file"},
    {.name = "checkpoint-dir",
     .type = OPTION_LIST,
     .value = "DIR",
     .env = "OD_CHECKPOINT_DIR",
     .member = "dirs",
     .max = 32,
     .unset = "the session's directory",
     .about = "a folder that checkpoints keep; may be given again"},
    {.name = "checkpoint-exclude",
     .type = OPTION_LIST,
     .value = "PATTERN",
     .env = "OD_CHECKPOINT_EXCLUDE",
     .member = "exclude",
     .max = 64,
     .about = "leave these files out, as a line of .gitignore does; may be given again"},
    {.name = "checkpoint-wait",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_CHECKPOINT_WAIT",
     .member = "wait_ms",
     .dflt = "50ms",
     .about = "an action waits so long for the checkpoint before it, which then goes on "
              "beside it"},
    {.name = "checkpoint-budget",
     .type = OPTION_INT,
     .value = "MIB",
     .env = "OD_CHECKPOINT_BUDGET",
     .member = "budget",
     .unset = "2048, or a tenth of the disk if that is less",
     .min = 1,
     .max = 1 << 24,
     .unit = 1 << 20,
     .takes = "MiB, from 1 on",
     .about = "the most that checkpoints take; the oldest that are not pinned go first"},
    {.name = NULL},
};

/* Folders are meant from where the server was started. */
static int prepare_options(const struct options *given, struct json **own, struct err *e)
{
    struct json *dirs = json_array();
    (void)given;
    for (struct json *d = json_first(json_get(*own, "dirs")); d; d = json_next(d)) {
        struct buf b = BUF_INIT(8192);
        int rc = option_absolute(json_str_value(d, "").p, &b, e);
        json_push_str(dirs, buf_str(&b));
        buf_release(&b);
        if (rc < 0) {
            json_free(dirs);
            return -1;
        }
    }
    json_put(*own, "dirs", dirs);
    return 0;
}

static const struct option_table options = {.heading = "Checkpoints",
                                            .section = "checkpoint",
                                            .rows = rows,
                                            .prepare = prepare_options};

static uint64_t default_budget(const char *dir)
{
    struct statvfs v;
    uint64_t most = (uint64_t)BUDGET_GIB << 30;
    if (statvfs(dir, &v) < 0)
        return most;
    uint64_t tenth = (uint64_t)v.f_blocks * v.f_frsize / 10;
    return tenth < most ? tenth : most;
}

static void configure(struct engine *en, const struct json *stored)
{
    const struct json *own = json_get(stored, "checkpoint");
    struct checkpoints *o = xnew(struct checkpoints);
    struct str when = json_str(own, "checkpoints", "off");
    o->all = en->actions;
    o->when = str_eq(when, STR("turn"))    ? CHECKPOINT_TURN
              : str_eq(when, STR("each"))  ? CHECKPOINT_EACH
              : str_eq(when, STR("risky")) ? CHECKPOINT_RISKY
                                           : CHECKPOINT_OFF;
    o->wait_ms = json_int(own, "wait_ms", 50);
    if (json_first(json_get(own, "dirs")))
        o->dirs = json_copy(json_get(own, "dirs"));
    if (json_first(json_get(own, "exclude")))
        o->exclude = json_copy(json_get(own, "exclude"));
    o->budget = (uint64_t)json_int(own, "budget", 0);
    if (!o->budget)
        o->budget = default_budget(en->state_dir[0] ? en->state_dir : "/");
    list_init(&o->waits);
    task_init(&o->go, on_go);
    o->gate.lets = lets;
    en->actions->checkpoints = o;
    en->gate = o->when == CHECKPOINT_OFF ? NULL : &o->gate;
}

const struct part part_checkpoint = {.options = &options, .configure = configure};
