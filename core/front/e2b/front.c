/* SPDX-License-Identifier: MIT */
/* E2B's protocol as a front-end of od serve (front/front.h). */
#include "front/e2b/own.h"

#include "base/xalloc.h"

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "e2b-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "OD_E2B_TOKEN",
     .member = "token",
     .secret = true,
     .about = "require this access token at the listeners e2b@ADDRESS, in "
              "X-Access-Token; without the option the first POST /init sets one"},
    {.name = NULL},
};

static const struct option_table options_e2b = {
    .heading = "E2B's daemon", .section = "e2b", .rows = rows};

/* ---- refusals ---- */

void e2b_fail(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(4096);
    buf_addf(&b, "{\"code\":%d,\"message\":", status);
    json_quote(&b, str_of(text));
    buf_addz(&b, "}\n");
    req_answer_take(r, status, "application/json; charset=utf-8", &b);
}

void e2b_refuse(struct req *r, const struct err *e)
{
    e2b_fail(r, err_words(e->code)->http, e->text);
}

void e2b_refuse_file(struct req *r, const struct err *e)
{
    int status = err_words(e->code)->http;
    bool path = e->code == ERR_UNSUPPORTED || e->code == ERR_DENIED;
    e2b_fail(r, path ? 400 : status, e->text);
}

static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Access-Token"},
    {.place = PROOF_QUERY,
     .name = "signature",
     .kind = PROOF_DERIVED,
     .on = ROUTE_SIGNED,
     .derive = e2b_sign},
    {.place = PROOF_BODY, .name = "accessToken", .on = ROUTE_LOGIN},
    {.place = PROOF_END}};
const struct door e2b_door = {.proofs = proofs, .missing = 401, .wrong = 401};

static const char *unknown_text(const struct req *r)
{
    struct buf given = BUF_INIT(256);
    bool files = req_marks(r, ROUTE_SIGNED) && !req_header(r, "X-Access-Token").p;
    bool is_signed = req_query(r, "signature", &given) != 0;
    buf_release(&given);
    if (!files)
        return "unauthorized access, please provide a valid access token in "
               "X-Access-Token, or a signed URL of /files";
    return !is_signed       ? "missing signature query parameter"
           : e2b_is_late(r) ? "signature is already expired"
                            : "invalid signature";
}

static void refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    (void)f;
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    e2b_fail(r, status, unknown ? unknown_text(r) : text);
}

static bool preflight(void *f, struct req *r)
{
    struct e2b *e = f;
    return e2b_cors(fronts_access(e->fronts), "e2b@", r);
}

/* ---- routes ---- */

enum { FILES_BODY_MAX = 64 << 10 };

#define FILES(method, handler, sentence) \
    { \
        .methods = HTTP_POST, .path = "/filesystem.Filesystem/" method, .run = handler, \
        .body_max = FILES_BODY_MAX, .about = sentence \
    }
#define PROCESS(method, handler, sentence) \
    { \
        .methods = HTTP_POST, .path = "/process.Process/" method, .run = handler, \
        .body_max = E2B_RPC_BODY_MAX, .about = sentence \
    }

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/health",
     .run = e2b_get_health,
     .about = "Answers 204 while the server runs"},
    {.methods = HTTP_GET,
     .path = "/metrics",
     .run = e2b_get_metrics,
     .about = "Reports processors, memory and disk"},
    {.methods = HTTP_GET,
     .path = "/envs",
     .run = e2b_get_envs,
     .about = "Reports the variables of new processes"},
    {.methods = HTTP_POST,
     .path = "/init",
     .run = e2b_post_init,
     .body_max = 1 << 20,
     .right = RIGHT_SETUP,
     .marks = ROUTE_LOGIN,
     .about = "Sets token, variables, user and directory"},
    {.methods = HTTP_GET,
     .path = "/files",
     .run = e2b_get_files,
     .marks = ROUTE_SIGNED,
     .gives = "application/octet-stream",
     .about = "Sends a file, or a range of it"},
    {.methods = HTTP_POST,
     .path = "/files",
     .body = e2b_post_files,
     .marks = ROUTE_SIGNED,
     .takes = "multipart/form-data",
     .about = "Stores files"},
    {.methods = HTTP_POST,
     .path = "/files/compose",
     .run = e2b_post_compose,
     .body_max = 512 << 10,
     .about = "Joins files into one, and removes the parts"},
    PROCESS("List", e2b_process_list, "Lists running processes"),
    PROCESS("Start", e2b_process_start, "Starts a process and streams its events"),
    PROCESS("Connect", e2b_process_connect, "Streams the events of a process"),
    PROCESS("Update", e2b_process_update, "Sets the size of a process's terminal"),
    PROCESS("SendInput", e2b_process_send_input, "Writes to a process"),
    {.methods = HTTP_POST,
     .path = "/process.Process/StreamInput",
     .body = e2b_process_stream_input,
     .about = "Writes a stream of messages to a process"},
    PROCESS("SendSignal", e2b_process_send_signal, "Sends TERM or KILL to a process"),
    PROCESS("CloseStdin", e2b_process_close_stdin, "Ends the input of a process"),
    FILES("Stat", e2b_fs_stat, "Describes a file or directory"),
    FILES("ListDir", e2b_fs_list, "Lists a directory"),
    FILES("MakeDir", e2b_fs_make_dir, "Makes a directory and its parents"),
    FILES("Move", e2b_fs_move, "Moves or renames a file or directory"),
    FILES("Remove", e2b_fs_remove, "Removes a file, or a directory and its contents"),
    FILES("WatchDir", e2b_fs_watch_dir, "Streams the changes in a directory"),
    FILES("CreateWatcher", e2b_fs_create_watcher, "Starts a watcher of a directory"),
    FILES("GetWatcherEvents", e2b_fs_get_watcher_events,
          "Reports the changes since the last call"),
    FILES("RemoveWatcher", e2b_fs_remove_watcher, "Ends a watcher"),
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = e2b_fail};

/* ---- life ---- */

const struct json *e2b_env(const struct e2b *f) { return f->env; }
const char *e2b_workdir(const struct e2b *f) { return f->workdir; }

static void on_process(struct action_watch *w, const struct action *a, struct process *p)
{
    e2b_listeners_started(container_of(w, struct e2b, watch), a->id, p);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    e2b_listeners_ended(container_of(w, struct e2b, watch), cause, end, e);
}

static void *open_e2b(struct fronts *all, const struct json *options)
{
    struct e2b *f = xnew(struct e2b);
    f->en = fronts_engine(all);
    f->actions = f->en->actions;
    f->fronts = all;
    f->front = bare;
    f->front.arg = f;
    list_init(&f->processes);
    list_init(&f->listeners);
    list_init(&f->watches);
    f->watch.process = on_process;
    f->watch.ended = on_ended;
    actions_watch(f->actions, &f->watch);
    e2b_init_open(f, json_get(options, "e2b"));
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct e2b *e = f;
    return i > 0 ? NULL : e ? &e->front : &bare;
}

static void load(void *f)
{
    e2b_init_load(f);
    e2b_processes_load(f);
    e2b_watchers_load(f);
}

static void start(void *f) { e2b_watchers_start(f); }

/* Ends streams, which would keep their connections open. */
static void close_e2b(void *f, bool another)
{
    (void)another;
    e2b_listeners_close(f);
    e2b_watches_close(f);
}

static void format(struct buf *out) { buf_addz(out, "e2b 1"); }

static const char *const claims[] = {"e2b/", NULL};

/* As in envd: longer than any client keeps an unused connection. */
static const struct httpd_config limits = {.idle_ms = 640 * 1000};

const struct front front_e2b = {
    .name = "e2b",
    .options = &options_e2b,
    .claims = claims,
    .format = format,
    .key = "token",
    .door = &e2b_door,
    .preflight = preflight,
    .refuse = refuse,
    .limits = &limits,
    .open = open_e2b,
    .http = http,
    .load = load,
    .start = start,
    .close = close_e2b,
};
