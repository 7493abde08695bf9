/* SPDX-License-Identifier: MIT */
/*
 * POST /execute: Python's subprocess.run, as the action `process`. Without a shell, a
 * text is the name of a program; with one, it is for /bin/sh -c; of a list with a shell,
 * only the first element is the script (docs.python.org, "subprocess").
 */
#include "front/swerex/own.h"

#include "action/ask.h"
#include "base/xalloc.h"
#include "front/model/model.h"
#include "shell/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct model_field fields[] = {
    {.name = "command", .type = MODEL_ANY, .required = true},
    {.name = "timeout", .type = MODEL_NUMBER, .nullable = true},
    {.name = "shell", .type = MODEL_BOOL},
    {.name = "check", .type = MODEL_BOOL},
    {.name = "error_msg", .type = MODEL_STRING},
    {.name = "env", .type = MODEL_MAP, .nullable = true},
    {.name = "cwd", .type = MODEL_STRING, .nullable = true},
    {.name = "merge_output_streams", .type = MODEL_BOOL},
    {.name = NULL}};
static const struct model command_model = {.fields = fields};

struct swerex_execute {
    struct action_ask ask;
    struct swerex *w;
    struct req *req;
    struct json *asked; /* owned */
};

static void execute_release(void *p)
{
    struct swerex_execute *x = p;
    json_free(x->asked);
    free(x);
}

static void execute_free(struct swerex_execute *x)
{
    action_ask_drop(&x->ask);
    loop_bury(x->w->en->loop, x, execute_release);
}

/* The client disconnected; the action goes on. */
static void on_gone(struct req *r, void *owner)
{
    (void)r;
    execute_free(owner);
}

/* ---- its end ---- */

/* Appends the command as Python's repr() does: a string, or a list of them. */
static void put_command(struct buf *out, const struct json *command)
{
    if (json_is_string(command)) {
        swerex_put_repr(out, json_str_value(command, ""));
        return;
    }
    buf_addc(out, '[');
    for (const struct json *v = json_first(command); v; v = json_next(v)) {
        buf_addz(out, v == json_first(command) ? "" : ", ");
        swerex_put_repr(out, json_str_value(v, ""));
    }
    buf_addc(out, ']');
}

static void all_of(struct swerex_execute *x, const char *process, int i, struct buf *out)
{
    struct swerex_text t;
    swerex_text_of_process(&t, x->w, process, i);
    swerex_text_all(&t, out);
    swerex_text_release(&t);
}

static void raise_non_zero(struct swerex_execute *x, const char *process, int exit)
{
    struct buf out = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)),
               err = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)),
               message = BUF_INIT(SWEREX_MESSAGE_MAX);
    struct str before = json_str(x->asked, "error_msg", "");
    all_of(x, process, 0, &out);
    all_of(x, process, 1, &err);
    buf_adds(&message, before);
    buf_addz(&message, before.n ? ": Command " : "Command ");
    put_command(&message, json_get(x->asked, "command"));
    buf_addf(&message, " failed with exit code %d. Stdout:\n", exit);
    swerex_put_repr(&message, buf_str(&out));
    buf_addz(&message, "\nStderr:\n");
    swerex_put_repr(&message, buf_str(&err));
    swerex_raise(x->req, SWEREX_CLASS "NonZeroExitCodeError", buf_str(&message), NULL);
    buf_release(&out);
    buf_release(&err);
    buf_release(&message);
}

static void raise_late(struct swerex_execute *x, const char *process)
{
    struct buf out = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)),
               err = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)), message = BUF_INIT(200);
    struct json *extra = json_object();
    all_of(x, process, 0, &out);
    all_of(x, process, 1, &err);
    json_put_str(extra, "stdout", buf_str(&out));
    json_put_str(extra, "stderr", buf_str(&err));
    buf_addz(&message, "Timeout (");
    swerex_put_float(&message, json_num(x->asked, "timeout", 0));
    buf_addz(&message, "s) exceeded while running command");
    swerex_raise(x->req, SWEREX_CLASS "CommandTimeoutError", buf_str(&message), extra);
    buf_release(&out);
    buf_release(&err);
    buf_release(&message);
}

static void answer(struct swerex_execute *x, const char *process, int exit)
{
    static const char *const before[] = {"{\"stdout\":\"", ",\"stderr\":\""};
    struct swerex_text t[2];
    char after[40];
    snprintf(after, sizeof(after), ",\"exit_code\":%d}", exit);
    swerex_text_of_process(&t[0], x->w, process, 0);
    swerex_text_of_process(&t[1], x->w, process, 1);
    swerex_send(x->req, t, before, 2, after);
}

static void observed(struct swerex_execute *x, const struct json *j)
{
    const struct json *extras = json_get(j, "extras");
    const char *process = json_str(extras, "process", "").p;
    int signo = (int)json_int(extras, "signal", 0);
    int exit = signo ? -signo : (int)json_int(j, "exit_code", 0);
    if (json_bool(extras, "timed_out", false))
        raise_late(x, process);
    else if (exit != 0 && json_bool(x->asked, "check", false))
        raise_non_zero(x, process, exit);
    else
        answer(x, process, exit);
    execute_free(x);
}

/* Raises the error of subprocess for a start that failed: the directory, or the
 * program. */
static void raise_start(struct swerex_execute *x, const struct err *e)
{
    struct str cwd = json_str(x->asked, "cwd", "");
    const struct json *command = json_get(x->asked, "command");
    bool shell = json_bool(x->asked, "shell", false);
    struct str program = json_is_string(command)
                             ? json_str_value(command, "")
                             : json_str_value(json_first(command), "");
    int errnum = e->code == ERR_NOTFOUND ? ENOENT : e->code == ERR_DENIED ? EACCES : 0;
    struct stat st;
    if (!errnum)
        swerex_raise_err(x->req, e);
    else if (cwd.n > 0 && stat(cwd.p, &st) < 0)
        swerex_raise_errno(x->req, errno, cwd);
    else
        swerex_raise_errno(x->req, errnum, shell ? STR("/bin/sh") : program);
    execute_free(x);
}

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct swerex_execute *x = container_of(q, struct swerex_execute, ask);
    if (observation)
        observed(x, observation);
    else
        raise_start(x, e);
}

/* ---- its beginning ---- */

static struct json *argv_of(const struct json *asked)
{
    const struct json *command = json_get(asked, "command");
    struct json *argv = json_array();
    if (json_bool(asked, "shell", false)) {
        json_push_str(argv, STR("/bin/sh"));
        json_push_str(argv, STR("-c"));
    }
    if (json_is_string(command)) {
        json_push_str(argv, json_str_value(command, ""));
        return argv;
    }
    for (const struct json *v = json_first(command); v; v = json_next(v))
        json_push_str(argv, json_str_value(v, ""));
    return argv;
}

static struct json *message_of(const struct json *asked, const char *id)
{
    struct json *m = json_object(), *args = json_object();
    const struct json *env = json_get(asked, "env"), *t = json_get(asked, "timeout");
    char name[SWEREX_ID_MAX + 20];
    double timeout = json_num_value(t, 0);
    timeout = timeout < SWEREX_TIMEOUT_MAX_S ? timeout : SWEREX_TIMEOUT_MAX_S;
    json_put(args, "argv", argv_of(asked));
    json_put_bool(args, "merge", json_bool(asked, "merge_output_streams", false));
    if (json_is_object(env)) {
        json_put(args, "env", json_copy(env));
        json_put_bool(args, "env_only", true);
    }
    if (json_is_string(json_get(asked, "cwd")))
        json_put_str(args, "cwd", json_str(asked, "cwd", ""));
    if (json_is_number(t))
        json_put_num(args, "timeout", timeout > 0.001 ? timeout : 0.001);
    json_put_z(m, "action", "process");
    json_put(m, "args", args);
    snprintf(name, sizeof(name), "swerex:%s", id);
    if (id[0])
        json_put_z(m, "client_id", name);
    return m;
}

static void begin(struct swerex_execute *x)
{
    struct err e = ERR_INIT;
    char id[SWEREX_ID_MAX + 1];
    swerex_id(x->req, id);
    struct json *m = message_of(x->asked, id);
    x->ask.done = on_done;
    if (action_ask_do(&x->ask, x->w->actions, m, ACTION_SOURCE_SWEREX, &e) < 0)
        raise_start(x, &e);
}

/* Checks that command is a string or a list of strings; otherwise reports an error for
 * each member of the union. */
static int check_command(struct req *r, const struct json *asked)
{
    const struct json *command = json_get(asked, "command");
    struct json *errors = NULL;
    bool strings = json_is_array(command);
    for (const struct json *v = json_first(command); v && strings; v = json_next(v))
        strings = json_is_string(v);
    if (json_is_string(command) || strings)
        return 0;
    model_error(&errors, "string_type", "body", "command",
                "Input should be a valid string", command);
    model_error(&errors, "list_type", "body", "command", "Input should be a valid list",
                command);
    model_refuse(r, errors);
    return -1;
}

void swerex_execute(struct req *r)
{
    struct json *j = swerex_body(r, &command_model);
    if (!j || check_command(r, j) < 0) {
        json_free(j);
        return;
    }
    const struct json *command = json_get(j, "command");
    bool shell = json_bool(j, "shell", false);
    if (json_is_array(command) && json_count(command) == 0) {
        swerex_raisef(r, "builtins.IndexError", "list index out of range");
        json_free(j);
        return;
    }
    if (!shell && json_is_string(command) && json_str_value(command, "").n == 0) {
        swerex_raise_errno(r, ENOENT, STR(""));
        json_free(j);
        return;
    }
    struct swerex_execute *x = xnew(struct swerex_execute);
    x->w = req_arg(r);
    x->req = r;
    x->asked = j;
    req_own(r, x, on_gone);
    begin(x);
}
