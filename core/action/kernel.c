/* SPDX-License-Identifier: MIT */
/*
 * Jupyter kernels by the event stream. The kernel is that of run_ipython in the same
 * session, unless `kernel` names another one (made when it is new, of `spec`).
 *
 *   {"action":"cell","args":{"code":…,"timeout":S,"input":true}}
 *        what it says, as it says it: events cell_output; what it asks: cell_input, and
 *        {"action":"input","args":{"id":N,"text":…}} answers; cancel interrupts it
 *   {"action":"complete"|"inspect","args":{"code":…,"at":N}}
 *   {"action":"interrupt_kernel"|"restart_kernel"|"kernels","args":{}}
 */
#include "action/cell.h"
#include "action/native.h"

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
    struct native *n;     /* borrowed */
    struct kernel *k;     /* borrowed; valid while cell is */
    struct cell *cell;    /* borrowed; NULL: it is over */
    struct cell_text all; /* its text and pictures */
    struct events_cell tell;
    int images_lost;
    struct json *answer; /* of a question; owned */
};

static void asked_free(struct asked *a)
{
    events_cell_drop(&a->tell);
    cell_text_release(&a->all);
    json_free(a->answer);
    free(a);
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

static struct kernel *kernel_of(const struct native *n, bool make, struct err *e)
{
    struct engine *en = n->ev->en;
    struct str name = json_str(n->args, "kernel", "");
    struct str spec = json_str(n->args, "spec", "");
    struct kernel *k;
    if (name.n == 0 && spec.n == 0)
        return v0_kernel(n->ev->v0, str_of(n->session), make, e);
    name = name.n ? name : spec;
    k = kernel_lookup(en, name);
    if (!k && make) {
        struct kernel_opts o = {.kernel = spec,
                                .choice = json_str(n->args, "choice", ""),
                                .cwd = json_str(n->args, "cwd", "")};
        return v0_kernel_open(n->ev->v0, str_of(n->session), name, &o, e);
    }
    if (!k)
        err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name));
    return k;
}

/* ---- what a cell says ---- */

/* The picture that came last, if an observation has no room for it. */
static void drop_large(struct asked *a)
{
    struct json *last = NULL;
    size_t all = 0;
    for (struct json *i = json_first(a->all.images); i; i = json_next(i)) {
        last = i;
        all += json_str_value(i, "").n;
    }
    if (all <= IMAGES_MAX)
        return;
    json_drop(a->all.images, last);
    a->images_lost++;
}

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct asked *a = owner;
    cell_text_add(&a->all, type, content);
    drop_large(a);
    events_cell_said(&a->tell, type, content);
}

static void on_input(void *owner, struct str prompt, bool password)
{
    struct asked *a = owner;
    events_cell_asks(&a->tell, prompt, password);
}

static void on_input_answer(void *owner, struct str text)
{
    struct asked *a = owner;
    cell_answer(a->cell, text);
}

static void put_images(struct asked *a, struct json *extras)
{
    json_put(extras, "images", a->all.images ? a->all.images : json_array());
    a->all.images = NULL;
    if (a->images_lost)
        json_put_int(extras, "images_lost", a->images_lost);
}

static void on_cell_done(void *owner, const struct cell_result *r)
{
    struct asked *a = owner;
    struct native *n = a->n;
    struct json *extras = json_object();
    struct buf b = BUF_INIT(2 * IMAGES_MAX);
    events_cell_over(&a->tell);
    json_put_z(extras, "end", cell_end_name(r->end));
    json_put_z(extras, "kernel", kernel_name(a->k));
    if (r->count)
        json_put_int(extras, "count", r->count);
    json_put_int(extras, "duration_ms", r->duration_ms);
    if (r->err.code)
        json_put_z(extras, "why", r->err.text);
    if (a->all.lost)
        json_put_int(extras, "lost", (int64_t)a->all.lost);
    put_images(a, extras);
    json_print(&b, extras);
    n->own = NULL;
    native_end(n, buf_str(&a->all.text), buf_str(&b));
    json_free(extras);
    buf_release(&b);
    asked_free(a);
}

static const struct cell_events asking = {on_output, NULL, on_input, on_cell_done};
static const struct cell_events mute = {on_output, NULL, NULL, on_cell_done};

/* ---- questions ---- */

static void on_answer(void *owner, struct str type, const struct json *content)
{
    struct asked *a = owner;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX / 2);
    struct err e = ERR_INIT;
    if (str_ends(type, STR("_reply")) && json_print(&b, content) == 0 && !a->answer)
        a->answer = json_parse(buf_str(&b), &e);
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
    struct asked *a = owner;
    struct native *n = a->n;
    struct buf text = BUF_INIT(TEXT_MAX), extras = BUF_INIT(LIMIT_EVENT_MAX / 2);
    struct err e = r->err;
    n->own = NULL;
    if (r->end == CELL_OK && a->answer) {
        put_answer_text(&text, a->answer);
        json_print(&extras, a->answer);
        native_end(n, buf_str(&text), buf_str(&extras));
    } else {
        if (!e.code)
            err_set(&e, r->end == CELL_TIMEOUT ? ERR_TIMEOUT : ERR_UNSUPPORTED,
                    "the kernel %s has not answered the question", kernel_name(a->k));
        native_fail(n, &e);
    }
    buf_release(&text);
    buf_release(&extras);
    asked_free(a);
}

static const struct cell_events question = {on_answer, NULL, NULL, on_question_done};

/* ---- actions ---- */

static void begin(struct native *n, const char *what, const struct cell_events *ev,
                  int64_t timeout_ms)
{
    struct err e = ERR_INIT;
    struct asked *a = xnew(struct asked);
    struct cell_opts o = {.id = n->key,
                          .code = json_str(n->args, "code", ""),
                          .history = true,
                          .question = what,
                          .at = json_int(n->args, "at", -1),
                          .timeout_ms = timeout_ms};
    a->n = n;
    n->own = a;
    cell_text_init(&a->all, TEXT_MAX);
    if (!what)
        events_cell_begin(&a->tell, n->ev, n->id, n->session, on_input_answer, a);
    a->k = kernel_of(n, true, &e);
    a->cell = a->k ? kernel_run(a->k, &o, ev, a, &e) : NULL;
    if (!a->cell) {
        n->own = NULL;
        asked_free(a);
        native_fail(n, &e);
    }
}

static void cancel(struct native *n)
{
    struct asked *a = n->own;
    n->own = NULL;
    cell_cancel(a->cell);
    asked_free(a);
}

static void start_cell(struct native *n)
{
    begin(n, NULL, json_bool(n->args, "input", false) ? &asking : &mute,
          (int64_t)(json_num(n->args, "timeout", 0) * 1000));
}

const struct native_kind native_cell = {
    .name = "cell", .takes = &takes_cell, .start = start_cell, .cancel = cancel};

static int64_t question_ms(const struct native *n)
{
    double seconds = json_num(n->args, "timeout", 0);
    return seconds > 0 ? (int64_t)(seconds * 1000) : QUESTION_MS;
}

static void start_complete(struct native *n)
{
    begin(n, "complete", &question, question_ms(n));
}

const struct native_kind native_complete = {.name = "complete",
                                            .takes = &takes_complete,
                                            .start = start_complete,
                                            .cancel = cancel};

static void start_inspect(struct native *n)
{
    begin(n, "inspect", &question, question_ms(n));
}

const struct native_kind native_inspect = {
    .name = "inspect", .takes = &takes_inspect, .start = start_inspect, .cancel = cancel};

static void with_kernel(struct native *n, void (*fn)(struct kernel *))
{
    struct err e = ERR_INIT;
    struct kernel *k = kernel_of(n, false, &e);
    if (!k) {
        native_fail(n, &e);
        return;
    }
    fn(k);
    native_end(n, STR(""), STR(""));
}

static enum native_again again_unknown(const struct native *n)
{
    (void)n;
    return NATIVE_UNKNOWN;
}

static void start_interrupt(struct native *n) { with_kernel(n, kernel_interrupt); }

const struct native_kind native_interrupt_kernel = {.name = "interrupt_kernel",
                                                    .at_once = true,
                                                    .takes = &takes_interrupt,
                                                    .start = start_interrupt,
                                                    .again = again_unknown};

static void start_restart(struct native *n) { with_kernel(n, kernel_restart); }

const struct native_kind native_restart_kernel = {.name = "restart_kernel",
                                                  .at_once = true,
                                                  .takes = &takes_restart,
                                                  .start = start_restart,
                                                  .again = again_unknown};

static void start_kernels(struct native *n)
{
    struct json *j = kernel_overview(n->ev->en, json_str(n->args, "cwd", ""));
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX / 2);
    json_print(&b, j);
    native_end(n, STR(""), buf_str(&b));
    buf_release(&b);
    json_free(j);
}

const struct native_kind native_kernels = {
    .name = "kernels", .at_once = true, .takes = &takes_kernels, .start = start_kernels};
