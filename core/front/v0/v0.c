/* SPDX-License-Identifier: MIT */
/*
 * V0: routes, and the life of an action from request to received answer.
 *
 *   request ─ decode ─┬─ same as one in flight or not received: ask there
 *                     └─ new: v0_run, v0_read, v0_write … ─ v0_answer ─ askers
 *
 * Its client sends a request again when the connection broke. The same body is
 * the same action when it carries an id or a time of its own; one without is
 * the same only while its answer was not received. So nothing runs twice.
 */
#include "front/v0/own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "os/self.h"
#include "setup/users.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Who waits for an action's answer. */
struct asker {
    struct list node;
    struct action *action; /* NULL: it was forgotten meanwhile */
    struct req *req;       /* NULL: answered */
};

/* ---- answers ---- */

static const char json_type[] = "application/json";

void v0_answer_json(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(BODY_MAX);
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

static void action_free(struct action *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        list_del(&k->node);
        k->action = NULL;
    }
    list_del(&a->node);
    list_del(&a->turn);
    json_free(a->body);
    buf_release(&a->answer);
    buf_release(&a->prefix);
    buf_release(&a->did);
    free(a);
}

/* Of an action that is over: its share of what is kept. */
static void count_kept(struct action *a, int sign)
{
    size_t n = a->answer.n;
    size_t *bytes = a->received ? &a->v->kept_bytes : &a->v->lost_bytes;
    *bytes = sign > 0 ? *bytes + n : *bytes - n;
    a->v->kept += (unsigned)sign;
}

static void forget(struct action *a)
{
    count_kept(a, -1);
    if (!a->received)
        v0_run_forget(a);
    action_free(a);
}

/* Answers go, the oldest first, when they are too old, too many or too large. */
static void expire(struct v0 *v)
{
    int64_t now = clock_ms();
    struct list *it, *tmp;
    list_each (it, tmp, &v->actions) {
        struct action *a = list_entry(it, struct action, node);
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

/* The client has this answer: what it told is told. */
static void received(struct action *a)
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
    /* The same body is another action from now on; whoever answers still holds it. */
    a->done = !a->a.unique;
    if (a->done)
        task_defer(v->en->loop, &v->sweep);
}

static void on_received(void *owner, bool whole)
{
    struct asker *k = owner;
    list_del(&k->node);
    struct action *a = k->action;
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

static void answer_asker(struct action *a, struct asker *k)
{
    struct req *r = k->req;
    k->req = NULL;
    req_on_delivered(r, on_received, k);
    req_answer(r, a->status, json_type, buf_str(&a->answer));
}

static void tell_end(const struct action *a)
{
    const struct v0_log *log = &a->v->log;
    struct v0_end x = {.id = a->id,
                       .status = a->status,
                       .answer = buf_str(&a->answer),
                       .unheard = a->status == 0,
                       .has_output = a->has_output && a->session,
                       .session = a->session ? session_name(a->session) : a->sh->name,
                       .from = a->from,
                       .to = a->to};
    if (log->end && a->id)
        log->end(log->arg, &x);
}

void v0_started(struct action *a, const char *command, uint64_t from)
{
    const struct v0_log *log = &a->v->log;
    if (log->started && a->id && !a->refused)
        log->started(log->arg, a->id, session_name(a->session), command, from);
}

void v0_answer(struct action *a, int status, struct buf *take)
{
    struct v0 *v = a->v;
    struct list *it, *tmp;
    a->status = status;
    a->answer = *take;
    *take = (struct buf){0};
    a->done_ms = clock_ms();
    a->op = NULL;
    json_free(a->body);
    a->body = NULL;
    count_kept(a, +1);
    tell_end(a);
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        if (k->req)
            answer_asker(a, k);
    }
    if (a->sh->current == a) {
        a->sh->current = NULL;
        task_defer(v->en->loop, &v->turn);
    }
    if (a->held) /* the log has it */
        received(a);
    if (v->kept > KEPT_COUNT / 2 || !timer_active(&v->expire))
        task_defer(v->en->loop, &v->sweep);
}

void v0_answer_error(struct action *a, struct str text)
{
    struct buf b = BUF_INIT(BODY_MAX);
    v0_put_error_observation(&b, text);
    v0_answer(a, 200, &b);
}

void v0_answer_detail(struct action *a, int status, const char *text)
{
    struct buf b = BUF_INIT(BODY_MAX);
    v0_put_error(&b, status, str_of(text));
    v0_answer(a, status, &b);
}

void v0_answer_internal(struct action *a, const char *text)
{
    char detail[1200];
    snprintf(detail, sizeof(detail), "Internal server error: %s", text);
    v0_answer_detail(a, 500, detail);
}

/* ---- requests ---- */

static void ask(struct action *a, struct req *r)
{
    struct asker *k = xnew(struct asker);
    k->action = a;
    k->req = r;
    list_add_tail(&a->askers, &k->node);
    req_own(r, k, on_gone);
    if (a->status)
        answer_asker(a, k);
}

/* The same action as one that is known; see above. */
static struct action *find_same(struct v0 *v, const char *key, bool unique)
{
    for (struct list *it = v->actions.prev; it != &v->actions; it = it->prev) {
        struct action *a = list_entry(it, struct action, node);
        if (strcmp(a->key, key) == 0 &&
            (unique || (!a->received && list_empty(&a->askers))))
            return a;
    }
    return NULL;
}

static void start(struct action *a)
{
    struct err e = ERR_INIT;
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
        v0_answer_detail(a, 500, e.text);
    }
}

/* Does somebody wait for it who has not closed his side? Who gave up has. */
static bool is_awaited(const struct action *a)
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
 * Nobody waits for it any more: every connection is gone, or is given up as it seems and
 * input comes, which is for what runs. Another command waits for its turn.
 */
static bool is_given_up(const struct action *now, const struct action *next)
{
    return !now->held &&
           (list_empty(&now->askers) || (next->a.run.is_input && !is_awaited(now)));
}

/* It makes room: what it runs goes on, and asking again finds it in the session. */
static void abandon(struct action *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->askers) {
        struct asker *k = list_entry(it, struct asker, node);
        struct req *r = k->req;
        if (!r)
            continue;
        k->action = NULL;
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
    tell_end(a);
    a->sh->current = NULL;
    action_free(a);
}

/* Actions start in the order of their coming; a run waits for the one before. */
static void start_next(struct v0 *v)
{
    struct list *it, *tmp;
    if (!v->ready)
        return;
    list_each (it, tmp, &v->turns) {
        struct action *a = list_entry(it, struct action, turn);
        bool turn = a->a.kind == V0_RUN && !a->a.run.is_static;
        struct action *now = a->sh->current;
        if (turn && now && is_given_up(now, a))
            abandon(now);
        if (turn && a->sh->current)
            continue;
        if (turn)
            a->sh->current = a;
        list_del(&a->turn);
        start(a);
    }
}

static void on_turn(struct task *t) { start_next(container_of(t, struct v0, turn)); }

void v0_key_of(struct str bytes, char key[KEY_LEN + 1])
{
    uint8_t sum[32];
    hash_sha256(bytes, sum);
    for (int i = 0; i < KEY_LEN / 2; i++)
        snprintf(key + 2 * i, 3, "%02x", sum[i]);
}

/* Takes body. */
static struct action *action_new(struct v0_shell *sh, struct json *body,
                                 const struct v0_action *decoded)
{
    struct action *a = xnew(struct action);
    a->v = sh->v;
    a->sh = sh;
    a->body = body;
    a->a = *decoded;
    buf_init(&a->prefix, TEXT_MAX);
    list_init(&a->node);
    list_init(&a->turn);
    list_init(&a->askers);
    return a;
}

static void action_queue(struct action *a, const char *key)
{
    struct v0 *v = a->v;
    memcpy(a->key, key, KEY_LEN);
    a->number = v->number = a->id > v->number ? a->id : v->number + 1;
    list_add_tail(&v->actions, &a->node);
    list_add_tail(&v->turns, &a->turn);
    start_next(v);
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
    if (body && v0_action_decode(body, &decoded, &status, &e) == 0) {
        v0_key_of(req_body(r), key);
        struct action *a = find_same(v, key, decoded.unique);
        if (a) {
            json_free(body);
            ask(a, r);
            return;
        }
        a = action_new(v->main, body, &decoded);
        if (v->log.begin)
            a->id = v->log.begin(v->log.arg, json_get(body, "action"), key,
                                 decoded.unique);
        ask(a, r);
        action_queue(a, key);
        return;
    }
    json_free(body);
    v0_refuse(r, status, e.text);
}

static void alive(struct req *r)
{
    req_answer(r, 200, json_type, STR("{\"status\":\"ok\"}"));
}

static void get_ready(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct json *j = json_object();
    json_put_z(j, "status", v->ready ? "ready" : "initializing");
    const char *problem = v->problem[0] ? v->problem : plugins_problem(v->en->plugins);
    if (problem)
        json_put_z(j, "problem", problem);
    if (v->en->plugins)
        json_put(j, "plugins", plugins_json(v->en->plugins));
    v0_answer_json(r, v->ready ? 200 : 503, j);
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
     .about = "Whether a file is sent as it is, with ranges, and not in a zip"},
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
     .open = true,
     .about = "Answers at once, before the sandbox is prepared"},
    {.methods = HTTP_GET,
     .path = "/ready",
     .run = get_ready,
     .open = true,
     .about = "Answers 503 until the sandbox is prepared"},
    {.methods = HTTP_GET,
     .path = "/server_info",
     .run = v0_server_info,
     .open = true,
     .about = "Reports uptime, idle time and resources of the server"},
    {.methods = HTTP_POST,
     .path = "/execute_action",
     .run = execute_action,
     .body_max = BODY_MAX,
     .about = "Does one action of OpenHands' V0 runtime API; the answer is its "
              "observation",
     .schema = "V0Request"},
    {.methods = HTTP_POST,
     .path = "/upload_file",
     .body = v0_upload,
     .about = "Writes an uploaded file, or unpacks an uploaded zip",
     .query = upload_query,
     .takes = "multipart/form-data"},
    {.methods = HTTP_GET,
     .path = "/download_files",
     .run = v0_download,
     .about = "Sends a file or folder as a zip, or a file as it is",
     .query = download_query,
     .gives = "application/octet-stream"},
    {.methods = HTTP_POST,
     .path = "/list_files",
     .run = v0_list,
     .body_max = 64 << 10,
     .about = "Lists the names in a folder, folders first"},
    {.methods = HTTP_GET,
     .path = "/vscode/connection_token",
     .run = connection_token,
     .about = "Answers that there is no VS Code"},
    {.methods = HTTP_POST,
     .path = "/update_mcp_server",
     .run = update_mcp_server,
     .body_max = 1 << 20,
     .about = "Answers that there is no such service"},
};

static const struct http_front bare_front = {.prefix = "",
                                             .routes = routes,
                                             .nroutes = sizeof(routes) /
                                                        sizeof(routes[0]),
                                             .fail = fail};

/* ---- what is kept ---- */

static const char told_key[] = "v0/told";

static void put_told(struct buf *b, const struct v0_told *t)
{
    buf_addf(b, "%s %llu %llu %d %d\n", t->id[0] ? t->id : "-",
             (unsigned long long)t->cursor, (unsigned long long)t->number, t->end,
             t->any);
}

void v0_state_key(const struct v0_shell *sh, const char *name, struct buf *out)
{
    buf_addz(out, name);
    if (sh != sh->v->main)
        buf_addf(out, "/%s", sh->name);
}

static void on_tell(struct task *t)
{
    struct v0_shell *sh = container_of(t, struct v0_shell, tell);
    struct buf b = BUF_INIT(512), key = BUF_INIT(128);
    put_told(&b, &sh->told);
    put_told(&b, &sh->next);
    buf_addz(&b, sh->next_key);
    v0_state_key(sh, told_key, &key);
    hold_put(sh->v->en->hold, buf_str(&key), buf_str(&b));
    buf_release(&b);
    buf_release(&key);
}

void v0_expect(struct action *a)
{
    struct v0_shell *sh = a->sh;
    sh->next = a->after;
    memcpy(sh->next_key, a->key, sizeof(sh->next_key));
    task_cancel(&sh->tell);
    on_tell(&sh->tell);
}

static bool get_told(struct str line, struct v0_told *t)
{
    struct str id = str_cut(&line, ' '), cursor = str_cut(&line, ' ');
    struct str number = str_cut(&line, ' ');
    *t = (struct v0_told){0};
    if (id.n > LIMIT_ID || str_to_u64(cursor, &t->cursor) < 0 ||
        str_to_u64(number, &t->number) < 0)
        return false;
    if (!str_eq(id, STR("-")))
        memcpy(t->id, id.p, id.n);
    t->end = str_eq(str_cut(&line, ' '), STR("1"));
    t->any = str_eq(line, STR("1"));
    return true;
}

static void load_told(struct v0_shell *sh)
{
    struct v0 *v = sh->v;
    struct buf key = BUF_INIT(128);
    v0_state_key(sh, told_key, &key);
    struct buf *b = map_get(&v->en->states, buf_str(&key));
    struct str rest = b ? buf_str(b) : STR("");
    buf_release(&key);
    if (!get_told(str_cut(&rest, '\n'), &sh->told) ||
        !get_told(str_cut(&rest, '\n'), &sh->next) || rest.n > KEY_LEN)
        return;
    memcpy(sh->next_key, rest.p, rest.n);
    if (sh->told.number > v->number)
        v->number = sh->told.number;
    if (sh->next.number > v->number)
        v->number = sh->next.number;
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
    load_told(sh);
    v0_typed_load(sh);
    map_put(&v->shells, name, sh);
    return sh;
}

static void load_shells(struct v0 *v)
{
    static const struct str before[] = {STR("v0/told/"), STR("v0/typed/")};
    struct str key;
    void *value;
    load_told(v->main);
    buf_release(&v->main->typed);
    v0_typed_load(v->main);
    for (void *it = NULL; (it = map_next(&v->en->states, it, &key, &value));) {
        for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
            struct str name = str_sub(key, before[i].n, key.n);
            if (str_starts(key, before[i]) && name.n <= V0_SESSION_MAX)
                v0_shell_of(v, name);
        }
    }
}

static void load_spliced(struct v0 *v)
{
    struct buf *b = map_get(&v->en->states, STR("v0/spliced"));
    if (b && b->n < sizeof(v->spliced))
        memcpy(v->spliced, buf_z(b), b->n + 1);
}

void v0_load(struct v0 *v)
{
    load_shells(v);
    load_spliced(v);
    v0_upload_resume(v);
}

void v0_format(struct buf *out) { buf_addf(out, "v0 1.%d", KEY_LEN); }

/* ---- the log's own actions ---- */

void v0_set_log(struct v0 *v, const struct v0_log *log) { v->log = *log; }

struct action *v0_prepare(struct v0 *v, struct json *take, struct str session,
                          struct err *e)
{
    struct v0_action decoded;
    static const struct str before = STR("Internal server error: ");
    if (v0_action_decode_event(take, &decoded, e) == 0 && decoded.kind == V0_OTHER)
        v0_action_refuse(&decoded, e);
    if (!e->code && !map_get(&v->shells, session)) {
        if (session.n == 0 || session.n > V0_SESSION_MAX)
            err_set(e, ERR_INVALID, "a session's name is 1 to %d letters long",
                    V0_SESSION_MAX);
        else if (v->shells.count >= LIMIT_SESSIONS_MAX)
            err_set(e, ERR_LIMIT, "there have been %d sessions already",
                    LIMIT_SESSIONS_MAX);
    }
    if (e->code) {
        if (str_starts(str_of(e->text), before))
            memmove(e->text, e->text + before.n, strlen(e->text + before.n) + 1);
        json_free(take);
        return NULL;
    }
    return action_new(v0_shell_of(v, session), take, &decoded);
}

void v0_submit(struct action *take, const char *key, uint64_t id, bool http)
{
    take->id = id;
    take->held = !http;
    take->a.unique = take->a.unique || !http; /* its key is */
    action_queue(take, key);
}

void v0_discard(struct action *take) { action_free(take); }

static void on_cancelled(void *arg, int found, bool no_proc, bool ended)
{
    (void)arg;
    (void)found;
    (void)no_proc;
    (void)ended;
}

int v0_cancel(struct v0 *v, uint64_t id, struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &v->actions) {
        struct action *a = list_entry(it, struct action, node);
        if (a->id != id || a->status)
            continue;
        if (!list_empty(&a->turn)) {
            list_del(&a->turn);
            v0_answer_error(a, STR("The action was cancelled before it began"));
        } else if (a->op && a->op->queued) { /* for a shell that starts, or is busy */
            op_drop(a->op);
            v0_answer_error(a, STR("The action was cancelled before it began"));
        } else if (a->a.kind == V0_RUN && a->session && session_busy(a->session)) {
            session_kill(a->session, SIGTERM, LIMIT_GRACE_MS, false, on_cancelled, NULL);
        } else if (a->cell) {
            v0_cell_cancel(a);
        } else if (a->browse) {
            v0_browse_cancel(a);
        }
        return 0;
    }
    return err_set(e, ERR_NOTFOUND, "action %llu has ended", (unsigned long long)id);
}

struct session *v0_find_session(struct v0 *v, struct str name)
{
    return session_find(v->en, name);
}

bool v0_begun(struct v0 *v, struct str session, const char *key)
{
    struct session *s = session_find(v->en, session);
    struct buf prefix = BUF_INIT(64);
    buf_addf(&prefix, "v0:%s:", key);
    bool begun = s && (session_call(s, buf_str(&prefix)) ||
                       session_input_call(s, buf_str(&prefix)));
    buf_release(&prefix);
    return begun;
}

bool v0_ready(const struct v0 *v) { return v->ready; }

unsigned v0_open_actions(const struct v0 *v)
{
    unsigned n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &v->actions)
        n += list_entry(it, struct action, node)->status == 0;
    return n;
}

/* ---- life ---- */

struct v0 *v0_open(struct engine *en, const struct json *o)
{
    struct v0 *v = xnew(struct v0);
    struct str dir = str_of(en->home), user = json_str(o, "username", "");
    struct str group = json_str(o, "group", "root");
    const struct json *eval = json_get(o, "eval");
    *v = (struct v0){.en = en,
                     .front = bare_front,
                     .user_id = json_int(o, "user_id", 1000),
                     .no_change_ms = json_int(o, "no_change_ms", 10000),
                     .su = json_bool(o, "su", true),
                     .warm = json_bool(o, "warm", false),
                     .browser = json_bool(o, "browser", true),
                     .downloads = json_bool(o, "downloads", false),
                     .named = user.n > 0,
                     .asked_ms = clock_ms(),
                     .cpu_at_ms = clock_ms()};
    v->front.arg = v;
    if (dir.n < sizeof(v->cwd))
        memcpy(v->cwd, dir.p, dir.n);
    if (group.n < sizeof(v->group))
        memcpy(v->group, group.p, group.n);
    if (user.n < sizeof(v->user))
        memcpy(v->user, user.p, user.n);
    snprintf(v->family, sizeof(v->family), "%s", json_str(eval, "family", "").p);
    snprintf(v->task, sizeof(v->task), "%s", json_str(eval, "page", "").p);
    list_init(&v->actions);
    list_init(&v->turns);
    map_init(&v->shells);
    v0_shell_of(v, STR("main"));
    task_init(&v->turn, on_turn);
    task_init(&v->sweep, on_sweep);
    v->expire.fn = on_expire;
    return v;
}

const struct http_front *v0_front(const struct v0 *v)
{
    return v ? &v->front : &bare_front;
}

/* Sessions begin with what plugins have set up. */
static void on_set_up(void *arg)
{
    struct v0 *v = arg;
    v0_run_resume(v);
    v0_cell_warm(v);
    v->ready = true;
    start_next(v);
    if (v->log.ready)
        v->log.ready(v->log.arg);
}

void v0_start(struct v0 *v)
{
    struct err e = ERR_INIT;
    if (v->warm || v->named) {
        struct users_spec spec = {
            .name = v->user, .uid = (uid_t)v->user_id, .group = v->group, .dir = v->cwd};
        if (users_prepare(&spec, v->named ? &v->en->nameless : NULL, &e) < 0) {
            log_error("%s", e.text);
            snprintf(v->problem, sizeof(v->problem), "%s", e.text);
        }
    }
    v0_browse_warm(v);
    plugins_start(v->en->plugins, v0_user(v), on_set_up, v);
}
