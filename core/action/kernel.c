/* SPDX-License-Identifier: MIT */
/*
 * Actions on Jupyter kernels. The kernel is that of run_ipython in the same session,
 * unless `kernel` names another one, which is made from `spec` if it is new.
 *
 *   {"action":"cell","args":{"code":…,"timeout":S,"input":true}}
 *        its output comes as events cell_output, its questions as cell_input, which
 *        {"action":"input","args":{"id":N,"text":…}} answers; cancel interrupts it
 *   {"action":"complete"|"inspect","args":{"code":…,"at":N}}
 *   {"action":"interrupt_kernel"|"restart_kernel"|"kernels","args":{}}
 */
#include "action/cell.h"
#include "action/own.h"

#include "base/limits.h"
#include "base/xalloc.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 256 << 10,   /* of an observation */
    IMAGES_MAX = 640 << 10, /* of an observation */
    QUESTION_MS = 30000
};

/* A cell or a question. */
struct asked {
    struct action *act;   /* borrowed */
    struct kernel *k;     /* borrowed; valid while cell is */
    struct cell *cell;    /* borrowed; NULL: it is over */
    struct cell_text all; /* its text and pictures */
    struct action_cell tell;
    int images_lost;
    struct json *answer; /* of a question; owned */
};

static void asked_free(struct asked *q)
{
    action_cell_drop(&q->tell);
    cell_text_release(&q->all);
    json_free(q->answer);
    free(q);
}

/* ---- which kernel ---- */

#define KERNEL \
    {.name = "kernel", \
     .type = PARAM_STRING, \
     .about = "The name of a kernel; without it that of run_ipython in the session"}, \
    { \
        .name = "spec", .type = PARAM_STRING, \
        .about = "The kernelspec or language of a kernel that is made" \
    }
#define NEW_KERNEL \
    KERNEL, \
        {.name = "choice", \
         .type = PARAM_STRING, \
         .about = "Which of several: own, the one that is part of od, or jupyter, the " \
                  "image's"}, \
    { \
        .name = "cwd", .type = PARAM_STRING, \
        .about = "The directory of a kernel that is made; without it the session's" \
    }
#define CODE(what) \
    { \
        .name = "code", .type = PARAM_STRING, .required = true, .about = what \
    }
static const struct param_list takes_cell = {
    .about = "Runs code in a Jupyter kernel; what it says comes as events cell_output",
    .params = (const struct param[]){CODE("The code to run"),
                                     {.name = "timeout",
                                      .type = PARAM_NUMBER,
                                      .ranged = true,
                                      .dflt = "0",
                                      .about = "The time limit in seconds; 0 is none"},
                                     {.name = "input",
                                      .type = PARAM_BOOL,
                                      .dflt = "false",
                                      .about = "Whether the code may ask: an event "
                                               "cell_input, which the action input "
                                               "answers"},
                                     NEW_KERNEL,
                                     {0}},
    .example = "{\"code\":\"1 + 1\",\"timeout\":30}"};

#define QUESTION(sentence, what) \
    { \
        .about = sentence, \
        .params = \
            (const struct param[]){CODE(what), \
                                   {.name = "at", \
                                    .type = PARAM_INT, \
                                    .about = "The cursor, in characters; without " \
                                             "it the end of the code"}, \
                                   {.name = "timeout", \
                                    .type = PARAM_NUMBER, \
                                    .ranged = true, \
                                    .dflt = "30", \
                                    .about = "The time limit in seconds; 0 is the " \
                                             "default"}, \
                                   NEW_KERNEL, \
                                   {0}}, \
        .example = "{\"code\":\"import o\",\"at\":8}" \
    }

static const struct param_list takes_complete = QUESTION(
    "Lists what the code at the cursor could be completed with", "The code to complete");
static const struct param_list takes_inspect = QUESTION(
    "Describes the name at the cursor", "The code with the name");
static const struct param_list takes_interrupt = {
    .about = "Interrupts what a kernel runs",
    .params = (const struct param[]){KERNEL, {0}}};
static const struct param_list takes_restart = {
    .about = "Restarts a kernel; its variables are gone",
    .params = (const struct param[]){KERNEL, {0}}};
static const struct param_list takes_kernels = {
    .about = "Lists the kernels that run, and those that could",
    .params = (const struct param[]){
        {.name = "cwd",
         .type = PARAM_STRING,
         .about = "The directory whose environments are looked at, too"},
        {0}}};

static struct kernel *kernel_of(const struct action *a, bool make, struct err *e)
{
    struct engine *en = a->all->en;
    struct str name = json_str(a->args, "kernel", "");
    struct str spec = json_str(a->args, "spec", "");
    struct kernel *k;
    if (name.n == 0 && spec.n == 0)
        return action_kernel(a->all, str_of(a->session), make, e);
    name = name.n ? name : spec;
    k = kernel_lookup(en, name);
    if (!k && make) {
        const struct sandbox *b = en->sandbox;
        struct str cwd = json_str(a->args, "cwd", "");
        struct kernel_opts o = {.kernel = spec,
                                .choice = json_str(a->args, "choice", ""),
                                .cwd = cwd.n ? cwd
                                             : str_of(sandbox_cwd(b, str_of(a->session))),
                                .user = sandbox_user(b)};
        return kernel_open(en, name, &o, e);
    }
    if (!k)
        err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name));
    return k;
}

/* ---- what a cell says ---- */

/* Drops the last picture if an observation has no room for it. */
static void drop_large(struct asked *q)
{
    struct json *last = NULL;
    size_t all = 0;
    for (struct json *i = json_first(q->all.images); i; i = json_next(i)) {
        last = i;
        all += json_str_value(i, "").n;
    }
    if (all <= IMAGES_MAX)
        return;
    json_drop(q->all.images, last);
    q->images_lost++;
}

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct asked *q = owner;
    cell_text_add(&q->all, type, content);
    drop_large(q);
    action_cell_said(&q->tell, type, content);
}

static void on_input(void *owner, struct str prompt, bool password)
{
    struct asked *q = owner;
    action_cell_asks(&q->tell, prompt, password);
}

static void on_input_answer(void *owner, struct str text)
{
    struct asked *q = owner;
    cell_answer(q->cell, text);
}

static void put_images(struct asked *q, struct json *extras)
{
    json_put(extras, "images", q->all.images ? q->all.images : json_array());
    q->all.images = NULL;
    if (q->images_lost)
        json_put_int(extras, "images_lost", q->images_lost);
}

static void on_cell_done(void *owner, const struct cell_result *r)
{
    struct asked *q = owner;
    struct action *a = q->act;
    struct json *extras = json_object();
    struct buf b = BUF_INIT(2 * IMAGES_MAX);
    action_cell_over(&q->tell);
    json_put_z(extras, "end", cell_end_name(r->end));
    json_put_z(extras, "kernel", kernel_name(q->k));
    if (r->count)
        json_put_int(extras, "count", r->count);
    json_put_int(extras, "duration_ms", r->duration_ms);
    if (r->err.code)
        json_put_z(extras, "why", r->err.text);
    if (q->all.lost)
        json_put_int(extras, "lost", (int64_t)q->all.lost);
    put_images(q, extras);
    json_print(&b, extras);
    a->own = NULL;
    action_end(a, buf_str(&q->all.text), buf_str(&b));
    json_free(extras);
    buf_release(&b);
    asked_free(q);
}

static const struct cell_events asking = {on_output, NULL, on_input, on_cell_done};
static const struct cell_events mute = {on_output, NULL, NULL, on_cell_done};

/* ---- questions ---- */

static void on_answer(void *owner, struct str type, const struct json *content)
{
    struct asked *q = owner;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX / 2);
    struct err e = ERR_INIT;
    if (str_ends(type, STR("_reply")) && json_print(&b, content) == 0 && !q->answer)
        q->answer = json_parse(buf_str(&b), &e);
    buf_release(&b);
}

/* The names, a line each; what a name is. */
static void put_answer_text(struct buf *out, const struct json *answer)
{
    const struct json *matches = json_get(answer, "matches");
    for (struct json *m = json_first(matches); m; m = json_next(m)) {
        buf_adds(out, json_str_value(m, ""));
        if (json_next(m))
            buf_addc(out, '\n');
    }
    if (!matches)
        cell_text_plain(out, json_str(json_get(answer, "data"), "text/plain", ""));
}

static void on_question_done(void *owner, const struct cell_result *r)
{
    struct asked *q = owner;
    struct action *a = q->act;
    struct buf text = BUF_INIT(TEXT_MAX), extras = BUF_INIT(LIMIT_EVENT_MAX / 2);
    struct err e = r->err;
    a->own = NULL;
    if (r->end == CELL_OK && q->answer) {
        put_answer_text(&text, q->answer);
        json_print(&extras, q->answer);
        action_end(a, buf_str(&text), buf_str(&extras));
    } else {
        if (!e.code)
            err_set(&e, r->end == CELL_TIMEOUT ? ERR_TIMEOUT : ERR_UNSUPPORTED,
                    "the kernel %s has not answered the question", kernel_name(q->k));
        action_fail(a, &e);
    }
    buf_release(&text);
    buf_release(&extras);
    asked_free(q);
}

static const struct cell_events question = {on_answer, NULL, NULL, on_question_done};

/* ---- actions ---- */

static void begin(struct action *a, const char *what, const struct cell_events *ev,
                  int64_t timeout_ms)
{
    struct err e = ERR_INIT;
    struct asked *q = xnew(struct asked);
    struct cell_opts o = {.id = a->key,
                          .code = json_str(a->args, "code", ""),
                          .history = true,
                          .question = what,
                          .at = json_int(a->args, "at", -1),
                          .timeout_ms = timeout_ms};
    q->act = a;
    a->own = q;
    cell_text_init(&q->all, TEXT_MAX);
    if (!what)
        action_cell_begin(&q->tell, a->all, a->id, a->session, on_input_answer, q);
    q->k = kernel_of(a, true, &e);
    q->cell = q->k ? kernel_run(q->k, &o, ev, q, &e) : NULL;
    if (!q->cell) {
        a->own = NULL;
        asked_free(q);
        action_fail(a, &e);
    }
}

static bool cancel(struct action *a)
{
    struct asked *q = a->own;
    a->own = NULL;
    cell_cancel(q->cell);
    asked_free(q);
    return false;
}

static void start_cell(struct action *a)
{
    begin(a, NULL, json_bool(a->args, "input", false) ? &asking : &mute,
          (int64_t)(json_num(a->args, "timeout", 0) * 1000));
}

const struct action_kind action_cell = {
    .name = "cell", .takes = &takes_cell, .start = start_cell, .cancel = cancel};

static int64_t question_ms(const struct action *a)
{
    double seconds = json_num(a->args, "timeout", 0);
    return seconds > 0 ? (int64_t)(seconds * 1000) : QUESTION_MS;
}

static void start_complete(struct action *a)
{
    begin(a, "complete", &question, question_ms(a));
}

const struct action_kind action_complete = {.name = "complete",
                                            .takes = &takes_complete,
                                            .start = start_complete,
                                            .cancel = cancel};

static void start_inspect(struct action *a)
{
    begin(a, "inspect", &question, question_ms(a));
}

const struct action_kind action_inspect = {
    .name = "inspect", .takes = &takes_inspect, .start = start_inspect, .cancel = cancel};

static void with_kernel(struct action *a, void (*fn)(struct kernel *))
{
    struct err e = ERR_INIT;
    struct kernel *k = kernel_of(a, false, &e);
    if (!k) {
        action_fail(a, &e);
        return;
    }
    fn(k);
    action_end(a, STR(""), STR(""));
}

static enum action_again again_unknown(const struct action *a)
{
    (void)a;
    return ACTION_UNKNOWN;
}

static void start_interrupt(struct action *a) { with_kernel(a, kernel_interrupt); }

const struct action_kind action_interrupt_kernel = {.name = "interrupt_kernel",
                                                    .at_once = true,
                                                    .takes = &takes_interrupt,
                                                    .start = start_interrupt,
                                                    .again = again_unknown};

static void start_restart(struct action *a) { with_kernel(a, kernel_restart); }

const struct action_kind action_restart_kernel = {.name = "restart_kernel",
                                                  .at_once = true,
                                                  .takes = &takes_restart,
                                                  .start = start_restart,
                                                  .again = again_unknown};

static void start_kernels(struct action *a)
{
    struct json *j = kernel_overview(a->all->en, json_str(a->args, "cwd", ""));
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX / 2);
    json_print(&b, j);
    action_end(a, STR(""), buf_str(&b));
    buf_release(&b);
    json_free(j);
}

const struct action_kind action_kernels = {
    .name = "kernels", .at_once = true, .takes = &takes_kernels, .start = start_kernels};
