/* SPDX-License-Identifier: MIT */
/* agent-sandbox's runtime API as a front-end of od serve (front/front.h). */
#include "front/sandbox/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "sandbox-dir",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "SANDBOX_BASE_DIR",
     .member = "base",
     .unset = "/app if there is such a folder, else the server's directory",
     .about = "serve this folder at the listeners sandbox@ADDRESS; no path of a "
              "request leads out of it. Commands begin in it, but may leave it"},
    {.name = "sandbox-timeout",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "SANDBOX_EXEC_TIMEOUT_SECONDS",
     .member = "timeout_ms",
     .dflt = "300",
     .about = "end a command of POST /execute after this long; 0: never"},
    {.name = "sandbox-open",
     .type = OPTION_SWITCH,
     .env = "OD_SANDBOX_OPEN",
     .member = "open",
     .about = "let anyone use the listeners sandbox@ADDRESS without a key, even if "
              "the server has one: agent-sandbox's clients send none, and its router "
              "drops Authorization. Whoever reaches the address may run commands "
              "here, so the network alone must decide who does"},
    {.name = NULL},
};

/* Does the name look like a credential's? (sandboxd/pkg/server/metadata.go) */
static bool is_credential(const char *name, size_t n)
{
    static const char *const words[] = {"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL",
                                        "KEY"};
    char upper[256];
    size_t i = 0;
    for (; i < n && i + 1 < sizeof(upper); i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    upper[i] = 0;
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(upper, words[i]))
            return true;
    }
    return n >= sizeof(upper);
}

/* Adds env, the variables SANDBOX_* of the server; the worker does not have them. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    struct json *env = json_object();
    struct stat st;
    const char *base = option_text(given, "sandbox-dir");
    struct buf path = BUF_INIT(4096);
    int rc = 0;
    for (char **v = environ; *v; v++) {
        const char *end = strchr(*v, '=');
        size_t n = end ? (size_t)(end - *v) : 0;
        char name[256];
        if (strncmp(*v, "SANDBOX_", 8) != 0 || n >= sizeof(name) || is_credential(*v, n))
            continue;
        memcpy(name, *v, n);
        name[n] = 0;
        json_put_z(env, name, end + 1);
    }
    json_put(*own, "env", env);
    if (base)
        rc = option_absolute(base, &path, e);
    else if (stat("/app", &st) == 0 && S_ISDIR(st.st_mode))
        buf_addz(&path, "/app");
    json_put_str(*own, "base", buf_str(&path));
    buf_release(&path);
    return rc;
}

static const struct option_table options_sandbox_front = {
    .heading = "agent-sandbox's runtime API",
    .section = "agent_sandbox",
    .rows = rows,
    .prepare = prepare};

/* ---- answers ---- */

void sandbox_http_answer(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(1 << 20);
    ASSERT(take);
    json_print(&b, take);
    json_free(take);
    req_answer_take(r, status, "application/json", &b);
}

void sandbox_http_say(struct req *r, int status, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "message", text);
    sandbox_http_answer(r, status, j);
}

static void fail(struct req *r, int status, const char *text)
{
    struct json *j = json_object();
    if (str_starts(req_head(r)->path, STR("/v1/"))) {
        json_free(j);
        sandbox_http_rest_fail(r, status, text);
        return;
    }
    json_put_z(j, "detail",
               status == 404   ? "Not Found"
               : status == 405 ? "Method Not Allowed"
                               : text);
    sandbox_http_answer(r, status, j);
}

static void get_root(struct req *r)
{
    struct json *j = json_object();
    json_put_z(j, "status", "ok");
    json_put_z(j, "message", "Sandbox Runtime is active.");
    sandbox_http_answer(r, 200, j);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/",
     .run = get_root,
     .about = "Answers while the server runs"},
    {.methods = HTTP_POST,
     .path = "/execute",
     .run = sandbox_http_post_execute,
     .body_max = 1 << 20,
     .about = "Runs a program without a shell, and answers with its output when it ends"},
    {.methods = HTTP_POST,
     .path = "/upload",
     .body = sandbox_http_post_upload,
     .takes = "multipart/form-data",
     .about = "Stores the part `file` under its file name"},
    {.methods = HTTP_GET,
     .path = "/download/*",
     .run = sandbox_http_get_download,
     .gives = "application/octet-stream",
     .about = "Sends a file"},
    {.methods = HTTP_GET,
     .path = "/list/*",
     .run = sandbox_http_get_list,
     .about = "Lists a folder"},
    {.methods = HTTP_GET,
     .path = "/list",
     .run = sandbox_http_get_list,
     .about = "The same of "
              "the folder that is served"},
    {.methods = HTTP_GET,
     .path = "/exists/*",
     .run = sandbox_http_get_exists,
     .about = "Reports whether there is such a file or folder"},
    {.methods = HTTP_GET,
     .path = "/v1/files/*",
     .run = sandbox_http_rest_get,
     .about = "Sends a file, or a part of it, or lists a folder"},
    {.methods = HTTP_GET,
     .path = "/v1/files",
     .run = sandbox_http_rest_get,
     .about = "Lists the folder that is served"},
    {.methods = HTTP_PUT,
     .path = "/v1/files/*",
     .body = sandbox_http_rest_put,
     .takes = "application/octet-stream",
     .about = "Stores the body, or the part `file` of a form, as a file"},
    {.methods = HTTP_DELETE,
     .path = "/v1/files/*",
     .run = sandbox_http_rest_delete,
     .about = "Removes a file or folder"},
    {.methods = HTTP_GET,
     .path = "/v1/health",
     .run = sandbox_http_rest_health,
     .about = "Answers 200 while the server runs, and 503 when it ends"},
    {.methods = HTTP_GET,
     .path = "/v1/metadata",
     .run = sandbox_http_rest_metadata,
     .about = "Reports the server's variables SANDBOX_*, without credentials"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

/* ---- life ---- */

const char *sandbox_http_base(const struct sandbox_http *f)
{
    return f->base[0] ? f->base : sandbox_cwd(f->en->sandbox, STR("main"));
}

int sandbox_http_place(const struct sandbox_http *f, struct sandbox_place *out,
                       struct err *e)
{
    if (sandbox_place_of(f->en->sandbox, STR(""), out, e) < 0)
        return -1;
    size_t n = strlen(sandbox_http_base(f));
    if (n >= sizeof(out->cwd))
        return err_set(e, ERR_INVALID, "the path of the served folder is too long");
    memcpy(out->cwd, sandbox_http_base(f), n + 1);
    return 0;
}

static void *open_sandbox(struct fronts *all, const struct json *options)
{
    const struct json *o = json_get(options, "agent_sandbox");
    struct sandbox_http *f = xnew(struct sandbox_http);
    struct str base = json_str(o, "base", "");
    f->en = fronts_engine(all);
    f->front = bare;
    f->front.arg = f;
    f->base = xstrndup(base.p, base.n);
    f->timeout_ms = json_int(o, "timeout_ms", 0);
    f->env = json_has(o, "env") ? json_copy(json_get(o, "env")) : json_object();
    list_init(&f->executes);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct sandbox_http *s = f;
    return i > 0 ? NULL : s ? &s->front : &bare;
}

static void close_sandbox(void *f, bool another)
{
    ((struct sandbox_http *)f)->closed = !another;
}

const struct front front_sandbox = {
    .name = "sandbox",
    .also = "agent-sandbox",
    .options = &options_sandbox_front,
    .keyless = "open",
    .open = open_sandbox,
    .http = http,
    .close = close_sandbox,
};
