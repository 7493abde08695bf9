/* SPDX-License-Identifier: MIT */
/*
 * V0: routes, and the life of an action from request to received answer.
 *
 *   request ─ decode ─┬─ same as one in flight or not received: ask there
 *                     └─ new: action_open ─ its turn ─ v0_begin: v0_run, v0_read …
 *                                                       └─ v0_answer ─ log, askers
 *
 * A client repeats a request if the connection broke. The same body is the same action if
 * it has its own id or time; otherwise only until its answer was received. So nothing
 * runs twice.
 */
#include "front/v0/own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "engine/state.h"
#include "os/self.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A request that waits for an action's answer. */
struct asker {
    struct list node;
    struct v0_call *call; /* NULL: it has expired */
    struct req *req;      /* NULL: answered */
};

/* ---- answers ---- */

static const char json_type[] = "application/json";

void v0_answer_json(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(BODY_MAX);
    ASSERT(take);
    json_print(&b, take);
    json_free(take);
    req_answer_take(r, status, json_type, &b);
}

void v0_refuse(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(64 << 10);
    v0_put_error(&b, status, str_of(text));
    req_answer_take(r, status, json_type, &b);
}

static void fail(struct req *r, int status, const char *text)
{
    static const struct {
        int status;
        const char *detail;
    } known[] = {{404, "Not Found"}, {405, "Method Not Allowed"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status)
            text = known[i].detail;
    }
    v0_refuse(r, status, text);
}

/* ---- actions ---- */

static void call_free(struct v0_call *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        list_del(&k->node);
        k->call = NULL;
    }
    list_del(&a->node);
    action_cell_drop(&a->tell);
    buf_release(&a->answer);
    buf_release(&a->prefix);
    buf_release(&a->did);
    free(a);
}

/* Adds or subtracts an ended action's share of the kept answers. */
static void count_kept(struct v0_call *a, int sign)
{
    size_t n = a->answer.n;
    size_t *bytes = a->received ? &a->v->kept_bytes : &a->v->lost_bytes;
    *bytes = sign > 0 ? *bytes + n : *bytes - n;
    a->v->kept += (unsigned)sign;
}

static void forget(struct v0_call *a)
{
    count_kept(a, -1);
    if (!a->received)
        v0_run_forget(a);
    call_free(a);
}

/* Drops answers, the oldest first, that are too old, too many or too large. */
static void expire(struct v0 *v)
{
    int64_t now = clock_ms();
    struct list *it, *tmp;
    list_each (it, tmp, &v->calls) {
        struct v0_call *a = list_entry(it, struct v0_call, node);
        if (a->status == 0)
            continue;
        if (!a->done && now - a->done_ms < KEPT_MS && v->kept <= KEPT_COUNT &&
            (!a->received || v->kept_bytes <= KEPT_BYTES) &&
            (a->received || v->lost_bytes <= LOST_BYTES))
            continue;
        forget(a);
    }
    if (v->kept > 0 && !timer_active(&v->expire))
        timer_begin(v->en->loop, &v->expire, KEPT_MS / 10, v->expire.fn);
}

static void on_sweep(struct task *t) { expire(container_of(t, struct v0, sweep)); }
static void on_expire(struct timer *t) { expire(container_of(t, struct v0, expire)); }

/* The client has this answer: a->after holds now. */
static void received(struct v0_call *a)
{
    struct v0 *v = a->v;
    struct v0_shell *sh = a->sh;
    if (a->received)
        return;
    count_kept(a, -1);
    a->received = true;
    count_kept(a, +1);
    if (a->tells)
        sh->told = a->after;
    sh->next_key[0] = 0;
    if (a->number > sh->told.number)
        sh->told.number = a->number;
    if (a->tells || !a->a.unique)
        task_defer(v->en->loop, &sh->tell);
    v0_run_forget(a);
    /* The same body is a new action from now on; the caller still uses this one. */
    a->done = !a->a.unique;
    if (a->done)
        task_defer(v->en->loop, &v->sweep);
}

static void on_received(void *owner, bool whole)
{
    struct asker *k = owner;
    list_del(&k->node);
    struct v0_call *a = k->call;
    free(k);
    if (a && whole)
        received(a);
}

static void on_gone(struct req *r, void *owner)
{
    struct asker *k = owner;
    (void)r;
    list_del(&k->node);
    free(k);
}

static void answer_asker(struct v0_call *a, struct asker *k)
{
    struct req *r = k->req;
    k->req = NULL;
    req_on_delivered(r, on_received, k);
    req_answer(r, a->status, json_type, buf_str(&a->answer));
}

/* Writes the observation to the log. */
static void end_action(struct v0_call *a)
{
    struct action_result r = {.body = buf_str(&a->answer),
                              .status = a->status,
                              .unheard = a->status == 0,
                              .has_output = a->has_output && a->session,
                              .output_of = a->session ? session_name(a->session)
                                                      : a->sh->name,
                              .from = a->from,
                              .to = a->to};
    struct action *act = a->act;
    a->act = NULL;
    act->own = NULL;
    action_end_as(act, &r);
}

void v0_started(struct v0_call *a, const char *command, uint64_t from)
{
    if (!a->refused)
        action_running(a->act, session_name(a->session), command, from);
}

void v0_answer(struct v0_call *a, int status, struct buf *take)
{
    struct v0 *v = a->v;
    struct list *it, *tmp;
    ASSERT(a->status == 0); /* once */
    a->status = status;
    a->answer = *take;
    *take = (struct buf){0};
    a->done_ms = clock_ms();
    a->op = NULL;
    count_kept(a, +1);
    end_action(a);
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        if (k->req)
            answer_asker(a, k);
    }
    if (a->held) /* the log has it */
        received(a);
    if (v->kept > KEPT_COUNT / 2 || !timer_active(&v->expire))
        task_defer(v->en->loop, &v->sweep);
}

void v0_answer_error(struct v0_call *a, struct str text)
{
    struct buf b = BUF_INIT(BODY_MAX);
    v0_put_error_observation(&b, text);
    v0_answer(a, 200, &b);
}

/* {"detail": …} */
static void answer_detail(struct v0_call *a, int status, const char *text)
{
    struct buf b = BUF_INIT(BODY_MAX);
    v0_put_error(&b, status, str_of(text));
    v0_answer(a, status, &b);
}

void v0_answer_internal(struct v0_call *a, const char *text)
{
    char detail[1200];
    snprintf(detail, sizeof(detail), "Internal server error: %s", text);
    answer_detail(a, 500, detail);
}

/* ---- requests ---- */

static void ask(struct v0_call *a, struct req *r)
{
    struct asker *k = xnew(struct asker);
    k->call = a;
    k->req = r;
    list_add_tail(&a->askers, &k->node);
    req_own(r, k, on_gone);
    if (a->status)
        answer_asker(a, k);
}

/* Returns the known action that is the same; see the top of this file. */
static struct v0_call *find_same(struct v0 *v, const char *key, bool unique)
{
    for (struct list *it = v->calls.prev; it != &v->calls; it = it->prev) {
        struct v0_call *a = list_entry(it, struct v0_call, node);
        if (strcmp(a->key, key) == 0 &&
            (unique || (!a->received && list_empty(&a->askers))))
            return a;
    }
    return NULL;
}

void v0_begin(struct v0_call *a)
{
    struct err e = ERR_INIT;
    struct v0 *v = a->v;
    uint64_t id = a->act->id;
    a->number = v->number = id > v->number ? id : v->number + 1;
    switch (a->a.kind) {
    case V0_RUN:
        if (a->a.run.is_static)
            v0_run_static(a);
        else
            v0_run(a);
        return;
    case V0_READ:
        if (a->a.read.aci)
            v0_edit(a);
        else
            v0_read(a);
        return;
    case V0_WRITE:
        v0_write(a);
        return;
    case V0_BROWSE:
    case V0_BROWSE_INTERACTIVE:
        v0_browse(a);
        return;
    case V0_EDIT:
        v0_edit(a);
        return;
    case V0_RUN_IPYTHON:
        v0_cell(a);
        return;
    default:
        v0_action_refuse(&a->a, &e);
        answer_detail(a, 500, e.text);
    }
}

/* Does a client wait for it whose side of the connection is open? One that gave up has
 * closed it. */
static bool is_awaited(const struct v0_call *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->askers) {
        const struct asker *k = list_entry(it, struct asker, node);
        if (k->req && !req_half_closed(k->req))
            return true;
    }
    return false;
}

/*
 * Has every client given up? Yes if all connections are closed; also if all seem given up
 * and next is input, which is for the running command. Another command waits for its
 * turn.
 */
static bool is_given_up(const struct v0_call *now, const struct v0_call *next)
{
    return !now->held &&
           (list_empty(&now->askers) || (next->a.run.is_input && !is_awaited(now)));
}

/* Answers its clients with 409; its command goes on, and a repeated request finds it in
 * the session. */
static void abandon(struct v0_call *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        struct req *r = k->req;
        if (!r)
            continue;
        k->call = NULL;
        k->req = NULL;
        req_on_delivered(r, on_received, k);
        v0_refuse(r, 409,
                  "input came when this connection seemed to be given up; the command "
                  "goes on: ask again");
    }
    if (a->op)
        op_drop(a->op);
    if (a->rest)
        op_drop(a->rest);
    end_action(a);
    call_free(a);
}

void v0_yield(struct v0_call *now, const struct v0_call *next)
{
    if (is_given_up(now, next))
        abandon(now);
}

void v0_key_of(struct str bytes, char key[KEY_LEN + 1])
{
    uint8_t sum[32];
    hash_sha256(bytes, sum);
    struct buf hex = BUF_INIT(KEY_LEN);
    enc_hex(&hex, str_n(sum, KEY_LEN / 2));
    memcpy(key, buf_z(&hex), KEY_LEN + 1);
    buf_release(&hex);
}

struct v0_call *v0_call_new(struct v0_shell *sh, const struct v0_action *decoded,
                            const char *key)
{
    struct v0_call *a = xnew(struct v0_call);
    a->v = sh->v;
    a->sh = sh;
    a->a = *decoded;
    memcpy(a->key, key, KEY_LEN);
    buf_init(&a->prefix, TEXT_MAX);
    list_init(&a->askers);
    list_add_tail(&sh->v->calls, &a->node);
    return a;
}

void v0_call_free(struct v0_call *a) { call_free(a); }

/* Takes event. */
static void do_action(struct req *r, struct json *event, const struct v0_action *decoded,
                      const char *key)
{
    struct v0 *v = req_arg(r);
    struct err e = ERR_INIT;
    struct v0_call *a = v0_call_new(v->main, decoded, key);
    json_free(json_take(json_get(event, "args"), "until")); /* unknown to this route */
    struct action_order o = {.source = ACTION_SOURCE_V0,
                             .session = str_of(v->main->name),
                             .key = key,
                             .unique = decoded->unique,
                             .must = true,
                             .own = a,
                             .in_turn = v0_in_turn(decoded)};
    a->act = action_open(v->en->actions, event, &o, &e);
    BUG_ON(!a->act); /* it was checked, and must run */
    a->act->own = a;
    ask(a, r);
    action_go(a->act);
}

static void execute_action(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct err e = ERR_INIT;
    struct v0_action decoded;
    int status = 422;
    char key[KEY_LEN + 1];
    v->asked_ms = clock_ms();
    engine_touch(v->en);
    req_settle(r);
    struct json *body = json_parse(req_body(r), &e);
    if (!body || v0_action_decode(body, &decoded, &status, &e) < 0 ||
        (decoded.kind == V0_OTHER && v0_action_refuse(&decoded, &e) < 0)) {
        json_free(body);
        v0_refuse(r, status, e.text);
        return;
    }
    v0_key_of(req_body(r), key);
    struct v0_call *a = find_same(v, key, decoded.unique);
    if (a)
        ask(a, r);
    else
        do_action(r, json_take(body, "action"), &decoded, key);
    json_free(body);
}

static void alive(struct req *r)
{
    req_answer(r, 200, json_type, STR("{\"status\":\"ok\"}"));
}

static void get_ready(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct json *j = json_object();
    bool ready = sandbox_ready(v->en->sandbox);
    json_put_z(j, "status", ready ? "ready" : "initializing");
    const char *problem = sandbox_problem(v->en->sandbox);
    if (problem)
        json_put_z(j, "problem", problem);
    if (v->en->plugins)
        json_put(j, "plugins", plugins_json(v->en->plugins));
    v0_answer_json(r, ready ? 200 : 503, j);
}

static void connection_token(struct req *r)
{
    req_answer(r, 200, json_type, STR("{\"token\":null}"));
}

static void update_mcp_server(struct req *r)
{
    struct err e = ERR_INIT;
    struct json *list = json_parse(req_body(r), &e);
    if (!list || !json_is_array(list)) {
        v0_refuse(r, 400, "Request must be a list of MCP tools to sync");
    } else {
        struct json *j = json_object();
        json_put_z(j, "detail", "MCP server updated successfully");
        json_put_z(j, "router_error_log",
                   json_count(list) == 0 ? ""
                                         : "stdio MCP servers are not supported by this "
                                           "server; none was started");
        v0_answer_json(r, 200, j);
    }
    json_free(list);
}

static const struct param download_query[] = {
    {.name = "path", .type = PARAM_STRING, .about = "The file or folder, absolute"},
    {.name = "raw",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether a file is sent itself, with ranges, and not in a zip"},
    {0}};

static const struct param upload_query[] = {
    {.name = "destination", .type = PARAM_STRING, .about = "The folder to put files in"},
    {.name = "recursive",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether the file is a zip to unpack"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/alive",
     .run = alive,
     .about = "Answers at once, before the sandbox is prepared",
     .answers = v0_answers_alive},
    {.methods = HTTP_GET,
     .path = "/ready",
     .run = get_ready,
     .about = "Answers 503 until the sandbox is prepared",
     .answers = v0_answers_ready},
    {.methods = HTTP_GET,
     .path = "/server_info",
     .run = v0_server_info,
     .about = "Reports uptime, idle time and resources of the server",
     .answers = v0_answers_server_info},
    {.methods = HTTP_POST,
     .path = "/execute_action",
     .run = execute_action,
     .body_max = BODY_MAX,
     .about = "Does one action of OpenHands' V0 runtime API; the answer is its "
              "observation",
     .schema = "V0Request",
     .answers = v0_answers_action},
    {.methods = HTTP_POST,
     .path = "/upload_file",
     .body = v0_upload,
     .about = "Writes an uploaded file, or unpacks an uploaded zip",
     .query = upload_query,
     .takes = "multipart/form-data",
     .answers = v0_answers_upload},
    {.methods = HTTP_GET,
     .path = "/download_files",
     .run = v0_download,
     .about = "Sends a file or folder as a zip, or a file itself",
     .query = download_query,
     .answers = v0_answers_download},
    {.methods = HTTP_POST,
     .path = "/list_files",
     .run = v0_list,
     .body_max = 64 << 10,
     .about = "Lists the names in a folder, folders first",
     .answers = v0_answers_list},
    {.methods = HTTP_GET,
     .path = "/vscode/connection_token",
     .run = connection_token,
     .about = "Answers that there is no VS Code",
     .answers = v0_answers_token},
    {.methods = HTTP_POST,
     .path = "/update_mcp_server",
     .run = update_mcp_server,
     .body_max = 1 << 20,
     .about = "Answers that there is no such service",
     .answers = v0_answers_mcp},
};

static const struct http_front bare_front = {.routes = routes,
                                             .nroutes = sizeof(routes) /
                                                        sizeof(routes[0]),
                                             .fail = fail,
                                             .error = "Detail"};

/* ---- stored state ---- */

static const char prefix[] = "v0/told/";

static const struct state_field kept[] = {
    STATE_ROW(struct v0_shell, told.id),
    STATE_ROW(struct v0_shell, told.cursor),
    STATE_ROW(struct v0_shell, told.number),
    STATE_ROW(struct v0_shell, told.end),
    STATE_ROW(struct v0_shell, told.any),
    STATE_ROW(struct v0_shell, next.id),
    STATE_ROW(struct v0_shell, next.cursor),
    STATE_ROW(struct v0_shell, next.number),
    STATE_ROW(struct v0_shell, next.end),
    STATE_ROW(struct v0_shell, next.any),
    STATE_ROW(struct v0_shell, next_key),
    {.name = NULL},
};

static void on_tell(struct task *t)
{
    struct v0_shell *sh = container_of(t, struct v0_shell, tell);
    state_keep(sh->v->en, prefix, sh->name, kept, sh);
}

void v0_expect(struct v0_call *a)
{
    struct v0_shell *sh = a->sh;
    sh->next = a->after;
    memcpy(sh->next_key, a->key, sizeof(sh->next_key));
    task_cancel(&sh->tell);
    on_tell(&sh->tell);
}

struct v0_shell *v0_shell_of(struct v0 *v, struct str name)
{
    struct v0_shell *sh = map_get(&v->shells, name);
    if (sh)
        return sh;
    sh = xnew(struct v0_shell);
    sh->v = v;
    memcpy(sh->name, name.p, name.n);
    if (!v->main)
        v->main = sh;
    task_init(&sh->tell, on_tell);
    buf_init(&sh->typed, TYPED_MAX);
    map_put(&v->shells, name, sh);
    return sh;
}

static void load_told(void *arg, struct str session, struct json *j)
{
    struct v0 *v = arg;
    struct v0_shell *sh = v0_shell_of(v, session);
    state_read(kept, sh, j);
    if (sh->told.number > v->number)
        v->number = sh->told.number;
    if (sh->next.number > v->number)
        v->number = sh->next.number;
}

static void load_spliced(struct v0 *v)
{
    struct buf *b = map_get(&v->en->states, STR("v0/spliced"));
    if (b && b->n < sizeof(v->spliced))
        memcpy(v->spliced, buf_z(b), b->n + 1);
}

void v0_load(struct v0 *v)
{
    state_each(v->en, prefix, load_told, v);
    v0_typed_load(v);
    load_spliced(v);
    v0_upload_resume(v);
}

void v0_format(struct buf *out) { buf_addf(out, "v0 2.%d", KEY_LEN); }

/* ---- life ---- */

struct v0 *v0_open(struct engine *en, const struct json *o)
{
    struct v0 *v = xnew(struct v0);
    struct str dir = str_of(en->home);
    const struct json *eval = json_get(o, "eval");
    *v = (struct v0){.en = en,
                     .front = bare_front,
                     .no_change_ms = json_int(o, "no_change_ms", 10000),
                     .browser = json_bool(o, "browser", true),
                     .downloads = json_bool(o, "downloads", false),
                     .asked_ms = clock_ms(),
                     .cpu_at_ms = clock_ms()};
    v->front.arg = v;
    if (dir.n < sizeof(v->cwd))
        memcpy(v->cwd, dir.p, dir.n);
    snprintf(v->family, sizeof(v->family), "%s", json_str(eval, "family", "").p);
    snprintf(v->task, sizeof(v->task), "%s", json_str(eval, "page", "").p);
    list_init(&v->calls);
    map_init(&v->shells);
    v0_shell_of(v, STR("main"));
    task_init(&v->sweep, on_sweep);
    v->expire.fn = on_expire;
    actions_set_foreign(en->actions, v);
    return v;
}

const struct http_front *v0_front(const struct v0 *v)
{
    return v ? &v->front : &bare_front;
}

/* Sessions begin with what plugins have set up. */
static void on_ready(struct sandbox_wait *w)
{
    struct v0 *v = container_of(w, struct v0, set_up);
    v0_run_resume(v);
    v0_cell_warm(v);
}

void v0_start(struct v0 *v)
{
    v0_browse_warm(v);
    sandbox_await(v->en->sandbox, &v->set_up, on_ready);
}
