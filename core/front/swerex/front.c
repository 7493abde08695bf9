/* SPDX-License-Identifier: MIT */
/*
 * SWE-ReX as a front-end of od serve (front/front.h), and its server's own program,
 * swerex-remote. Routes and models: https://github.com/SWE-agent/SWE-ReX,
 * src/swerex/server.py and src/swerex/runtime/abstract.py.
 */
#include "front/swerex/own.h"

#include "base/xalloc.h"
#include "front/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "swerex-auth-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "OD_SWEREX_AUTH_TOKEN",
     .member = "auth_token",
     .secret = true,
     .about = "require this token at the listeners swerex@ADDRESS, in X-API-Key; "
              "OD_API_KEY is accepted, too"},
    {.name = NULL},
};

static const struct option_table options_swerex = {
    .heading = "SWE-ReX", .section = "swerex", .rows = rows};

/* ---- the program ---- */

static const char usage[] = "usage: swerex-remote [-h] [-v] [--host HOST] [--port PORT] "
                            "--auth-token AUTH_TOKEN\n";
static const char help[] =
    "usage: swerex-remote [-h] [-v] [--host HOST] [--port PORT] --auth-token AUTH_TOKEN\n"
    "\n"
    "Serves SWE-ReX's clients: od serve --listen swerex@HOST:PORT, by SWE-ReX's own\n"
    "name and options. Variables of od serve (OD_STATE_DIR, OD_LOG …) count, too.\n"
    "\n"
    "options:\n"
    "  -h, --help            this text\n"
    "  -v, --version         the version of SWE-ReX that is served, and exit\n"
    "  --host HOST           the address to listen on; default 0.0.0.0\n"
    "  --port PORT           default 8000\n"
    "  --auth-token AUTH_TOKEN\n"
    "                        what clients must send as X-API-Key; \"\" for no key\n";

struct remote_words {
    const char *host, *port, *token;
    bool version, help;
};

static int usage_error(const char *format, const char *what)
{
    fputs(usage, stderr);
    fputs("swerex-remote: error: ", stderr);
    fprintf(stderr, "%s%s\n", format, what);
    return 2;
}

/* Finds the option of a word as argparse does: by its whole name or a unique prefix. */
static int option_of(const char *word, size_t n)
{
    static const char *const names[] = {"--host", "--port", "--auth-token", "--version",
                                        "--help"};
    for (int i = 0; i < 5; i++) {
        bool may = n > 3 || strncmp(word, "--h", 3) != 0;
        if (n > 2 && may && strncmp(names[i], word, n) == 0)
            return i;
    }
    if (n == 2 && strncmp(word, "-v", 2) == 0)
        return 3;
    return n == 2 && strncmp(word, "-h", 2) == 0 ? 4 : -1;
}

/* Returns 0; or, after printing a message, the exit status. */
static int take_words(int argc, char **argv, struct remote_words *o)
{
    for (int i = 1; i < argc; i++) {
        const char *eq = strchr(argv[i], '=');
        int which = option_of(argv[i], eq ? (size_t)(eq - argv[i]) : strlen(argv[i]));
        if (which < 0)
            return usage_error("unrecognized arguments: ", argv[i]);
        if (which >= 3) {
            o->version |= which == 3;
            o->help |= which == 4;
            continue;
        }
        if (!eq && i + 1 == argc)
            return usage_error("expected one argument: ", argv[i]);
        const char **to = which == 0 ? &o->host : which == 1 ? &o->port : &o->token;
        *to = eq ? eq + 1 : argv[++i];
    }
    return 0;
}

static int read_words(int argc, char **argv, struct program_words *out)
{
    struct remote_words o = {.host = "0.0.0.0", .port = "8000"};
    uint64_t port;
    int status = take_words(argc, argv, &o);
    if (status)
        return status;
    if (o.help)
        return fputs(help, stdout) < 0;
    if (o.version && argc > 2)
        return fprintf(stdout, "Error: --version cannot be combined with other "
                               "arguments\n"),
               1;
    if (o.version)
        return printf(SWEREX_VERSION "\n") < 0;
    if (!o.token)
        return usage_error("the following arguments are required: ", "--auth-token");
    if (str_to_u64(str_of(o.port), &port) < 0 || port > 65535)
        return usage_error("argument --port: invalid int value: ", o.port);
    bool v6 = strchr(o.host, ':') && o.host[0] != '[';
    program_add(out, "--listen");
    program_addf(out, v6 ? "swerex@http://[%s]:%u" : "swerex@http://%s:%u", o.host,
                 (unsigned)port);
    program_add(out, "--name");
    if (port)
        program_addf(out, "swerex-%u", (unsigned)port);
    else
        program_addf(out, "swerex-p%ld", (long)getpid());
    if (o.token[0]) {
        program_add(out, "--swerex-auth-token");
        program_add(out, o.token);
    } else {
        program_add(out, "--insecure-open");
    }
    return PROGRAM_SERVE;
}

static const struct program programs[] = {
    {.name = "swerex-remote",
     .about = "the server of SWE-ReX, for SWE-agent",
     .usage = help,
     .read = read_words},
    {.name = NULL},
};

/* ---- routes ---- */

static void hello(struct req *r)
{
    req_answer(r, 200, "application/json", STR("{\"message\":\"hello world\"}"));
}

static void is_alive(struct req *r)
{
    req_answer(r, 200, "application/json", STR("{\"is_alive\":true,\"message\":\"\"}"));
}

static void fail(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(4096);
    if (status == 404)
        text = "Not Found";
    else if (status == 405)
        text = "Method Not Allowed";
    buf_addz(&b, "{\"detail\":\"");
    swerex_put_json(&b, str_of(text));
    buf_addz(&b, "\"}");
    req_answer_take(r, status, "application/json", &b);
}

static void no_pages(struct req *r)
{
    fail(r, 501, "this server has no page about its routes; see SWE-ReX's documentation");
}

static const struct route routes[] = {
    {.methods = HTTP_GET, .path = "/", .run = hello, .about = "Says hello"},
    {.methods = HTTP_GET,
     .path = "/is_alive",
     .run = is_alive,
     .about = "Answers at once, also while commands run"},
    {.methods = HTTP_POST,
     .path = "/create_session",
     .run = swerex_create_session,
     .body_max = SWEREX_BODY_MAX,
     .about = "Makes a session with a shell"},
    {.methods = HTTP_POST,
     .path = "/run_in_session",
     .run = swerex_run_in_session,
     .body_max = SWEREX_BODY_MAX,
     .about = "Runs a command in a session, types into it or interrupts it"},
    {.methods = HTTP_POST,
     .path = "/close_session",
     .run = swerex_close_session,
     .body_max = SWEREX_BODY_MAX,
     .about = "Ends a session"},
    {.methods = HTTP_POST,
     .path = "/execute",
     .run = swerex_execute,
     .body_max = SWEREX_BODY_MAX,
     .about = "Runs a program outside of sessions"},
    {.methods = HTTP_POST,
     .path = "/read_file",
     .run = swerex_read_file,
     .body_max = SWEREX_BODY_MAX,
     .about = "Reads a text file"},
    {.methods = HTTP_POST,
     .path = "/write_file",
     .run = swerex_write_file,
     .body_max = SWEREX_BODY_MAX,
     .about = "Writes a text file"},
    {.methods = HTTP_POST,
     .path = "/upload",
     .body = swerex_upload,
     .about = "Stores a file, or unpacks it",
     .takes = "multipart/form-data"},
    {.methods = HTTP_POST,
     .path = "/close",
     .run = swerex_close,
     .body_max = SWEREX_BODY_MAX,
     .about = "Ends all sessions; the server goes on"},
    {.methods = HTTP_GET, .path = "/docs", .run = no_pages, .about = "Not served"},
    {.methods = HTTP_GET,
     .path = "/openapi.json",
     .run = no_pages,
     .about = "Not served"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

static const struct http_front *http(const void *f, unsigned i)
{
    const struct swerex *w = f;
    return i > 0 ? NULL : w ? &w->front : &bare;
}

/* ---- keys ---- */

static const struct proof proofs[] = {
    /* FastAPI: an empty one is a missing one */
    {.place = PROOF_FIELD, .name = "X-API-Key", .empty_is_none = true},
    {.place = PROOF_END}};
static const struct door door = {
    .proofs = proofs, .wrong = 401, .missing_text = "Not authenticated"};

/* ---- life ---- */

static void on_started(struct action_watch *watch, const struct action *a)
{
    swerex_run_started(container_of(watch, struct swerex, watch), a);
}

static void on_ended(struct action_watch *watch, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    swerex_run_ended(container_of(watch, struct swerex, watch), cause, end, e);
}

static void *open_swerex(struct fronts *all, const struct json *options)
{
    struct swerex *w = xnew(struct swerex);
    (void)options;
    w->en = fronts_engine(all);
    w->actions = w->en->actions;
    w->front = bare;
    w->front.arg = w;
    w->watch.started = on_started;
    w->watch.ended = on_ended;
    list_init(&w->sessions);
    list_init(&w->runs);
    list_init(&w->reads);
    list_init(&w->puts);
    actions_watch(w->actions, &w->watch);
    return w;
}

static void load(void *f)
{
    swerex_sessions_load(f);
    swerex_puts_load(f);
}

static void start(void *f) { swerex_puts_start(f); }

static void format(struct buf *out) { buf_addz(out, "swerex 1"); }

static struct json *status(const void *f)
{
    const struct swerex *w = f;
    struct json *j;
    if (w->nsessions == 0)
        return NULL;
    j = json_object();
    json_put_int(j, "sessions", w->nsessions);
    return j;
}

static const char *const claims[] = {"swerex/", NULL};

/* The client has no limit of its own below 300 s. */
static const struct httpd_config limits = {.conns_max = 0};

const struct front front_swerex = {
    .name = "swerex",
    .options = &options_swerex,
    .claims = claims,
    .format = format,
    .open = open_swerex,
    .http = http,
    .key = "auth_token",
    .door = &door,
    .limits = &limits,
    .programs = programs,
    .load = load,
    .start = start,
    .status = status,
};
