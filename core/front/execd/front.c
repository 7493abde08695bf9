/* SPDX-License-Identifier: MIT */
/* OpenSandbox's daemon as a front-end of od serve (front/front.h). */
#include "front/execd/own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

static const struct option_row rows[] = {
    {.name = "execd-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "EXECD_ACCESS_TOKEN",
     .member = "token",
     .secret = true,
     .about = "require this token at the listeners execd@ADDRESS, in "
              "X-EXECD-ACCESS-TOKEN"},
    {.name = "execd-open",
     .type = OPTION_SWITCH,
     .env = "OD_EXECD_OPEN",
     .member = "open",
     .about = "let anyone use the listeners execd@ADDRESS without a key, as "
              "OpenSandbox's server starts its own daemon. Whoever reaches the "
              "address may run commands here"},
    {.name = "execd-envs",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "EXECD_ENVS",
     .member = "envs",
     .about = "give commands the variables NAME=VALUE in this file, which is read for "
              "each command"},
    {.name = NULL},
};

/* If there is a token, an open listener requires it, too. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    struct buf path = BUF_INIT(4096);
    const char *envs = option_text(given, "execd-envs");
    int rc = envs ? option_absolute(envs, &path, e) : 0;
    if (envs && rc == 0)
        json_put_str(*own, "envs", buf_str(&path));
    if (json_str(*own, "token", "").n > 0)
        json_put_bool(*own, "open", false);
    buf_release(&path);
    return rc;
}

static const struct option_table options_execd = {.heading = "OpenSandbox's execd",
                                                  .section = "execd",
                                                  .rows = rows,
                                                  .prepare = prepare};

static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-EXECD-ACCESS-TOKEN"}, {.place = PROOF_END}};
static const struct door door = {.proofs = proofs, .missing = 401, .wrong = 401};

static void refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    (void)f;
    if (unknown) {
        struct json *j = json_object();
        const char *said = "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN";
        json_put_z(j, "error", said);
        json_put_z(j, "code", "UNAUTHORIZED");
        json_put_z(j, "message", said);
        execd_json(r, status, j);
    } else {
        execd_say(r, status, "UNAUTHORIZED", "%s", text);
    }
}

/* ---- small routes ---- */

static void get_ping(struct req *r) { execd_ok(r); }

static void get_capabilities(struct req *r)
{
    struct json *j = json_object();
    json_put_bool(j, "available", false);
    json_put_z(j, "isolator", "");
    json_put_z(j, "version", "");
    json_put_z(j, "message", "od has no isolated sessions");
    json_put_bool(j, "setpriv_available", false);
    json_put_bool(j, "userns_available", false);
    json_put_bool(j, "commit_supported", false);
    json_put_bool(j, "diff_supported", false);
    execd_json(r, 200, j);
}

static void no_isolation(struct req *r)
{
    execd_say(r, 503, "NOT_SUPPORTED", "od has no isolated sessions");
}

#define BODY (4 << 20)

static const struct route routes[] = {
    {.methods = HTTP_GET, .path = "/ping", .run = get_ping, .about = "Answers 200"},
    {.methods = HTTP_POST,
     .path = "/command",
     .run = execd_post_command,
     .body_max = BODY,
     .gives = "text/event-stream",
     .about = "Runs a command, and streams its output"},
    {.methods = HTTP_DELETE,
     .path = "/command",
     .run = execd_delete_command,
     .about = "Ends a command, or closes a session"},
    {.methods = HTTP_GET,
     .path = "/command/status/{id}",
     .run = execd_get_status,
     .about = "Reports the state of a command"},
    {.methods = HTTP_GET,
     .path = "/command/{id}/logs",
     .run = execd_get_logs,
     .gives = "text/plain",
     .about = "Sends output of a command in the background"},
    {.methods = HTTP_POST,
     .path = "/session",
     .run = execd_post_session,
     .body_max = BODY,
     .about = "Makes a session"},
    {.methods = HTTP_POST,
     .path = "/session/{id}/run",
     .run = execd_post_run,
     .body_max = BODY,
     .gives = "text/event-stream",
     .about = "Runs a command in a session, and streams its output"},
    {.methods = HTTP_DELETE,
     .path = "/session/{id}",
     .run = execd_delete_session,
     .about = "Closes a session"},
    {.methods = HTTP_POST,
     .path = "/code",
     .run = execd_post_code,
     .body_max = BODY,
     .gives = "text/event-stream",
     .about = "Runs code in a context, or a command, and streams its output"},
    {.methods = HTTP_DELETE,
     .path = "/code",
     .run = execd_delete_command,
     .about = "As DELETE /command; interrupts the kernel of a context"},
    {.methods = HTTP_POST,
     .path = "/code/context",
     .run = execd_post_context,
     .body_max = BODY,
     .about = "Makes a context: a kernel of a language"},
    {.methods = HTTP_GET,
     .path = "/code/contexts",
     .run = execd_get_contexts,
     .about = "Lists contexts"},
    {.methods = HTTP_DELETE,
     .path = "/code/contexts",
     .run = execd_delete_contexts,
     .about = "Removes the contexts of a language"},
    {.methods = HTTP_GET,
     .path = "/code/contexts/{id}",
     .run = execd_get_context,
     .about = "Reports the language of a context"},
    {.methods = HTTP_DELETE,
     .path = "/code/contexts/{id}",
     .run = execd_delete_context,
     .about = "Removes a context, and ends its kernel"},
    {.methods = HTTP_GET,
     .path = "/files/info",
     .run = execd_get_info,
     .about = "Describes files"},
    {.methods = HTTP_DELETE,
     .path = "/files",
     .run = execd_delete_files,
     .about = "Removes files"},
    {.methods = HTTP_POST,
     .path = "/files/mv",
     .run = execd_post_mv,
     .body_max = BODY,
     .about = "Moves files"},
    {.methods = HTTP_POST,
     .path = "/files/permissions",
     .run = execd_post_permissions,
     .body_max = BODY,
     .about = "Changes modes and owners"},
    {.methods = HTTP_GET,
     .path = "/files/search",
     .run = execd_get_search,
     .about = "Lists the files below a folder whose names match a pattern"},
    {.methods = HTTP_POST,
     .path = "/files/replace",
     .run = execd_post_replace,
     .body_max = BODY,
     .about = "Replaces texts in files"},
    {.methods = HTTP_POST,
     .path = "/files/upload",
     .body = execd_post_upload,
     .takes = "multipart/form-data",
     .about = "Puts files in place"},
    {.methods = HTTP_GET,
     .path = "/files/download",
     .run = execd_get_download,
     .gives = "application/octet-stream",
     .about = "Sends a file, or a part of it"},
    {.methods = HTTP_GET,
     .path = "/directories/list",
     .run = execd_get_directories,
     .about = "Lists a folder"},
    {.methods = HTTP_POST,
     .path = "/directories",
     .run = execd_post_directories,
     .body_max = BODY,
     .about = "Makes folders"},
    {.methods = HTTP_DELETE,
     .path = "/directories",
     .run = execd_delete_directories,
     .about = "Removes folders with their contents"},
    {.methods = HTTP_GET,
     .path = "/metrics",
     .run = execd_get_metrics,
     .about = "Reports processors and memory"},
    {.methods = HTTP_GET,
     .path = "/metrics/watch",
     .run = execd_watch_metrics,
     .gives = "text/event-stream",
     .about = "Reports them every two seconds"},
    {.methods = HTTP_POST,
     .path = "/pty",
     .run = execd_post_pty,
     .body_max = BODY,
     .about = "Makes a terminal session"},
    {.methods = HTTP_GET,
     .path = "/pty/{id}",
     .run = execd_get_pty,
     .about = "Reports whether its program runs, and how much it has written"},
    {.methods = HTTP_DELETE,
     .path = "/pty/{id}",
     .run = execd_delete_pty,
     .about = "Ends it"},
    {.methods = HTTP_GET,
     .path = "/pty/{id}/ws",
     .run = execd_get_pty_ws,
     .about = "Opens its WebSocket"},
    {.methods = REVERSE_PROXY_METHODS,
     .path = "/proxy/*",
     .body = execd_proxy,
     .about = "The same request to a port of 127.0.0.1 or ::1, as /proxy/PORT/rest"},
    {.methods = REVERSE_PROXY_METHODS,
     .path = "/proxy",
     .body = execd_proxy,
     .about = "Answers that a port is required"},
    {.methods = HTTP_GET,
     .path = "/v1/isolated/capabilities",
     .run = get_capabilities,
     .about = "Answers that there are no isolated sessions"},
    {.methods = HTTP_POST,
     .path = "/v1/isolated/session",
     .run = no_isolation,
     .body_max = BODY,
     .about = "Answers 503"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = execd_fail};

/* ---- life ---- */

static void *open_execd(struct fronts *all, const struct json *options)
{
    struct execd *f = xnew(struct execd);
    struct str envs = json_str(json_get(options, "execd"), "envs", "");
    f->en = fronts_engine(all);
    f->front = bare;
    f->front.arg = f;
    f->envs = xstrndup(envs.p, envs.n);
    list_init(&f->commands);
    list_init(&f->sessions);
    list_init(&f->ptys);
    list_init(&f->streams);
    execd_codes_init(f);
    actions_watch(f->en->actions, &f->watch);
    execd_proxy_init(f, all);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct execd *e = f;
    return i > 0 ? NULL : e ? &e->front : &bare;
}

static void load(void *f)
{
    execd_commands_load(f);
    execd_sessions_load(f);
    execd_contexts_load(f);
    execd_ptys_load(f);
}

static void start(void *f)
{
    execd_commands_start(f);
    execd_ptys_start(f);
}

static void close_execd(void *f, bool another)
{
    execd_ptys_close(f, another);
    reverse_proxy_end(&((struct execd *)f)->reverse_proxy);
}

static void format(struct buf *out) { buf_addz(out, "execd 1"); }

static const char *const claims[] = {"execd/", NULL};

const struct front front_execd = {
    .name = "execd",
    .also = "opensandbox",
    .options = &options_execd,
    .claims = claims,
    .format = format,
    .programs = execd_programs,
    .key = "token",
    .keyless = "open",
    .door = &door,
    .refuse = refuse,
    .open = open_execd,
    .http = http,
    .load = load,
    .start = start,
    .close = close_execd,
};
