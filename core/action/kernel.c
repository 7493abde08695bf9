/* SPDX-License-Identifier: MIT */
/*
 * Actions on Jupyter kernels. The kernel is that of run_ipython in the same session,
 * unless `kernel` names another one, which is made from `spec` if it is new.
 *
 *   {"action":"cell","args":{"code":…,"timeout":S,"input":true,"rich":true}}
 *        its output comes as events cell_output, its questions as cell_input, which
 *        {"action":"input","args":{"id":N,"text":…}} answers; cancel interrupts it
 *   {"action":"complete"|"inspect","args":{"code":…,"at":N}}
 *   {"action":"interrupt_kernel"|"restart_kernel"|"close_kernel"|"kernels","args":{}}
 */
#include "action/cell.h"
#include "action/kernel_gives.h"
#include "action/own.h"
#include "action/picture.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "kernel/cell_rich.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 256 << 10,      /* of an observation */
    IMAGES_MAX = 640 << 10,    /* of an observation */
    NEW_KERNEL_MAX = 32 << 10, /* of init and env: they are kept with the kernel */
    ERROR_MAX = 4096,          /* of the name and the message of an error */
    OTHERS_KEPT = 50,          /* files of the displays of a cell */
    QUESTION_MS = 30000
};

/* A cell or a question. */
struct asked {
    struct action *act;   /* borrowed */
    struct kernel *k;     /* borrowed; valid while cell is */
    struct cell *cell;    /* borrowed; NULL: it is over */
    struct cell_text all; /* its text and pictures */
    bool is_rich;
    struct cell_rich rich; /* with is_rich: all that it shows */
    struct action_cell tell;
    int images_lost;
    int others;          /* displays that are shown neither as text nor as pictures */
    struct json *answer; /* of a question; owned */
    struct json *error;  /* {ename, evalue} of the cell; owned; NULL: none */
};

static void asked_free(struct asked *q)
{
    action_cell_drop(&q->tell);
    cell_text_release(&q->all);
    if (q->is_rich)
        cell_rich_release(&q->rich);
    json_free(q->answer);
    json_free(q->error);
    free(q);
}

/* ---- which kernel ---- */

#define KERNEL \
    {.name = "kernel", \
     .type = PARAM_STRING, \
     .about = \
         "The name of a kernel; without it the kernel of run_ipython in the session"}, \
    { \
        .name = "spec", .type = PARAM_STRING, \
        .about = "The kernelspec or language for a new kernel" \
    }
#define NEW_KERNEL \
    KERNEL, \
        {.name = "choice", \
         .type = PARAM_STRING, \
         .about = "Which kernel, if there are several: own, which is part of od, or " \
                  "jupyter, the image's"}, \
        {.name = "cwd", \
         .type = PARAM_STRING, \
         .about = "The directory of a new kernel; without it the session's"}, \
        {.name = "env", \
         .type = PARAM_OBJECT, \
         .about = "Environment variables of a new kernel"}, \
    { \
        .name = "init", .type = PARAM_STRING, \
        .about = "Code that a new kernel runs whenever it starts, without output" \
    }
#define CODE(what) \
    { \
        .name = "code", .type = PARAM_STRING, .required = true, .about = what \
    }
static const struct param_list takes_cell = {
    .about = "Runs code in a Jupyter kernel; its output comes as events cell_output",
    .params =
        (const struct param[]){
            CODE("The code to run"),
            {.name = "timeout",
             .type = PARAM_NUMBER,
             .ranged = true,
             .dflt = "0",
             .about = "The time limit in seconds; 0: no limit"},
            {.name = "input",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether the code may ask for input, as an event cell_input that "
                      "the action input answers"},
            {.name = "silent",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether the kernel leaves the code out of its count and history, "
                      "and shows no result. The log then has only the length and sum of "
                      "the code"},
            {.name = "rich",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether the observation has each output in all its types, as "
                      "outputs, instead of images"},
            {.name = "request",
             .type = PARAM_OBJECT,
             .about = "The Jupyter message execute_request as which the kernel gets the "
                      "code: header, metadata and content"},
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
    "Lists completions of the code at the cursor", "The code to complete");
static const struct param_list takes_inspect = QUESTION(
    "Describes the name at the cursor", "The code with the name");
static const struct param_list takes_interrupt = {
    .about = "Interrupts the running cell of a kernel",
    .params = (const struct param[]){KERNEL, {0}}};
static const struct param_list takes_restart = {
    .about = "Restarts a kernel; its variables are lost",
    .params = (const struct param[]){KERNEL, {0}}};
static const struct param_list takes_kernels = {
    .about = "Lists the running kernels, and those that can be started",
    .params = (const struct param[]){
        {.name = "cwd",
         .type = PARAM_STRING,
         .about = "A directory whose environments are listed, too"},
        {0}}};

static const struct param_list takes_close = {
    .about = "Ends a kernel; its cells end with an error",
    .params = (const struct param[]){KERNEL, {0}}};

static struct kernel *kernel_make_as(const struct action *a, struct str name,
                                     struct err *e)
{
    const struct sandbox *b = a->all->en->sandbox;
    struct str cwd = json_str(a->args, "cwd", "");
    struct buf env = BUF_INIT(NEW_KERNEL_MAX);
    struct kernel_opts o = {.kernel = json_str(a->args, "spec", ""),
                            .choice = json_str(a->args, "choice", ""),
                            .cwd = cwd.n ? cwd
                                         : str_of(sandbox_cwd(b, str_of(a->session))),
                            .user = sandbox_user(b),
                            .init = json_str(a->args, "init", "")};
    struct kernel *k = NULL;
    int rc = env_put_json(&env, json_get(a->args, "env"), e);
    if (rc == 0 && env.n + o.init.n > NEW_KERNEL_MAX)
        rc = err_set(e, ERR_LIMIT, "env and init have at most %d bytes", NEW_KERNEL_MAX);
    o.env = buf_str(&env);
    if (rc == 0)
        k = kernel_open(a->all->en, name, &o, e);
    buf_release(&env);
    return k;
}

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
    if (!k && make)
        return kernel_make_as(a, name, e);
    if (!k)
        err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name));
    return k;
}

/* ---- output of a cell ---- */

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

static void keep_error(struct asked *q, const struct json *content)
{
    static const char *const names[] = {"ename", "evalue"};
    json_free(q->error);
    q->error = json_object();
    for (size_t i = 0; i < 2; i++) {
        struct str s = json_str(content, names[i], "");
        json_put_str(q->error, names[i], str_sub(s, 0, utf8_cut(s, ERROR_MAX)));
    }
}

/* Data that is not shown goes to a file; the text has its type, size and place. */
static void name_other(struct asked *q, struct str type, const struct json *content)
{
    struct action *a = q->act;
    struct cell_other o;
    struct buf line = BUF_INIT(1024);
    char name[64], path[PICTURE_PATH] = "";
    if (!cell_other_of(&o, type, content, false))
        return;
    snprintf(name, sizeof(name), "cell-%llu-output-%d.%s", (unsigned long long)a->id,
             q->others + 1, o.ending);
    if (q->others++ < OTHERS_KEPT)
        picture_keep(a->all->en, str_of(a->session), name, buf_str(&o.bytes), path);
    cell_other_put(&line, &o, path);
    cell_text_say(&q->all, buf_str(&line));
    action_cell_adds(&q->tell, buf_str(&line));
    cell_other_release(&o);
    buf_release(&line);
}

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct asked *q = owner;
    if (str_eq(type, STR("error")))
        keep_error(q, content);
    cell_text_add(&q->all, type, content);
    drop_large(q);
    if (q->is_rich)
        cell_rich_add(&q->rich, type, content);
    action_cell_said(&q->tell, type, content);
    if (!q->is_rich && !action_cell_followed(&q->tell))
        name_other(q, type, content);
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

static void put_outputs(struct asked *q, struct json *extras)
{
    int dropped;
    json_put(extras, "images", json_array());
    json_put(extras, "outputs", cell_rich_take(&q->rich, &dropped));
    if (dropped)
        json_put_int(extras, "outputs_lost", dropped);
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
    action_cell_over(&q->tell);
    json_put_z(extras, "end", cell_end_name(r->end));
    json_put_z(extras, "kernel", kernel_name(q->k));
    if (r->count)
        json_put_int(extras, "count", r->count);
    json_put_int(extras, "duration_ms", r->duration_ms);
    if (r->err.code)
        json_put_z(extras, "why", r->err.text);
    for (struct json *v = json_first(q->error); v; v = json_next(v))
        json_put_str(extras, json_name(v), json_str_value(v, ""));
    if (r->leaves)
        json_put_bool(extras, "leaves", true);
    if (r->renewed)
        json_put_bool(extras, "renewed", true);
    if (q->all.lost)
        json_put_int(extras, "lost", (int64_t)q->all.lost);
    if (q->is_rich)
        put_outputs(q, extras);
    else
        put_images(q, extras);
    a->own = NULL;
    action_end(a, buf_str(&q->all.text), extras);
    asked_free(q);
}

static void on_begun(void *owner, int64_t count)
{
    struct asked *q = owner;
    action_cell_begun(&q->tell, count);
}

static const struct cell_events asking = {on_output, NULL, on_input, on_cell_done,
                                          on_begun};
static const struct cell_events mute = {on_output, NULL, NULL, on_cell_done, on_begun};

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

/* Appends the completions, one per line, or the description of a name. */
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
    struct buf text = BUF_INIT(TEXT_MAX);
    struct err e = r->err;
    a->own = NULL;
    if (r->end == CELL_OK && q->answer) {
        put_answer_text(&text, q->answer);
        action_end(a, buf_str(&text), q->answer);
        q->answer = NULL;
    } else {
        if (!e.code)
            err_set(&e, r->end == CELL_TIMEOUT ? ERR_TIMEOUT : ERR_UNSUPPORTED,
                    "the kernel %s has not answered the question", kernel_name(q->k));
        action_fail(a, &e);
    }
    buf_release(&text);
    asked_free(q);
}

static const struct cell_events question = {on_answer, NULL, NULL, on_question_done,
                                            NULL};

/* ---- actions ---- */

static void begin(struct action *a, const char *what, const struct cell_events *ev,
                  int64_t timeout_ms)
{
    struct err e = ERR_INIT;
    struct asked *q = xnew(struct asked);
    const struct json *request = json_get(a->args, "request");
    struct str id = json_str(json_get(request, "header"), "msg_id", "");
    struct cell_opts o = {.id = request ? id.p : a->key,
                          .request = request,
                          .code = json_str(a->args, "code", ""),
                          .silent = json_bool(a->args, "silent", false),
                          .history = !json_bool(a->args, "silent", false),
                          .question = what,
                          .at = json_int(a->args, "at", -1),
                          .timeout_ms = timeout_ms};
    q->act = a;
    a->own = q;
    cell_text_init(&q->all, TEXT_MAX);
    q->all.apart = true;
    q->is_rich = json_bool(a->args, "rich", false);
    if (q->is_rich)
        cell_rich_init(&q->rich);
    if (!what)
        action_cell_begin(&q->tell, a->all, a->id, a->session, on_input_answer, q);
    q->k = kernel_of(a, true, &e);
    q->cell = q->k ? kernel_run(q->k, &o, ev, q, &e) : NULL;
    if (!q->cell) {
        a->own = NULL;
        asked_free(q);
        action_fail(a, &e);
        return;
    }
    q->tell.cell = q->cell;
}

static bool cancel(struct action *a)
{
    struct asked *q = a->own;
    a->own = NULL;
    cell_cancel(q->cell);
    asked_free(q);
    return false;
}

/* Is the msg_id of a request one that can name its cell? */
static int check_request(const struct json *q, struct err *e)
{
    struct str id = json_str(json_get(q, "header"), "msg_id", "");
    bool ok = id.n > 0 && id.n <= LIMIT_ID;
    for (size_t i = 0; i < id.n; i++)
        ok = ok && (isalnum((unsigned char)id.p[i]) || memchr("_-.:", id.p[i], 4));
    if (!json_is_object(q) || ok)
        return 0;
    return err_set(e, ERR_INVALID,
                   "cell: the msg_id of request.header must have 1 to %d letters, digits, "
                   "dashes, dots and underscores",
                   LIMIT_ID);
}

static void start_cell(struct action *a)
{
    struct err e = ERR_INIT;
    if (check_request(json_get(a->args, "request"), &e) < 0)
        action_fail(a, &e);
    else
        begin(a, NULL, json_bool(a->args, "input", false) ? &asking : &mute,
              (int64_t)(json_num(a->args, "timeout", 0) * 1000));
}

const struct action_kind action_cell = {.name = "cell",
                                        .takes = &takes_cell,
                                        .gives = kernel_gives_cell,
                                        .start = start_cell,
                                        .cancel = cancel};

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
                                            .gives = kernel_gives_complete,
                                            .start = start_complete,
                                            .cancel = cancel};

static void start_inspect(struct action *a)
{
    begin(a, "inspect", &question, question_ms(a));
}

const struct action_kind action_inspect = {.name = "inspect",
                                           .takes = &takes_inspect,
                                           .gives = kernel_gives_inspect,
                                           .start = start_inspect,
                                           .cancel = cancel};

static void with_kernel(struct action *a, void (*fn)(struct kernel *))
{
    struct err e = ERR_INIT;
    struct kernel *k = kernel_of(a, false, &e);
    if (!k) {
        action_fail(a, &e);
        return;
    }
    fn(k);
    action_end(a, STR(""), NULL);
}

static void start_interrupt(struct action *a) { with_kernel(a, kernel_interrupt); }

const struct action_kind action_interrupt_kernel = {.name = "interrupt_kernel",
                                                    .at_once = true,
                                                    .takes = &takes_interrupt,
                                                    .start = start_interrupt,
                                                    .resume = action_resume_unknown};

static void start_restart(struct action *a) { with_kernel(a, kernel_restart); }

const struct action_kind action_restart_kernel = {.name = "restart_kernel",
                                                  .at_once = true,
                                                  .takes = &takes_restart,
                                                  .start = start_restart,
                                                  .resume = action_resume_unknown};

static void start_close(struct action *a) { with_kernel(a, kernel_close); }

const struct action_kind action_close_kernel = {.name = "close_kernel",
                                                .at_once = true,
                                                .takes = &takes_close,
                                                .start = start_close,
                                                .resume = action_resume_unknown};

static void start_kernels(struct action *a)
{
    action_end(a, STR(""), kernel_overview(a->all->en, json_str(a->args, "cwd", "")));
}

const struct action_kind action_kernels = {.name = "kernels",
                                           .at_once = true,
                                           .brief = true,
                                           .takes = &takes_kernels,
                                           .gives = kernel_gives_kernels,
                                           .start = start_kernels};
