/* SPDX-License-Identifier: MIT */
/* The code interpreter as a front-end of od serve (front/front.h). */
#include "front/interpreter/own.h"

#include "base/xalloc.h"
#include "front/e2b/e2b.h"
#include "setup/sandbox.h"

#include <stdlib.h>

/* The front-end whose routes are served here, too. */
extern const struct front front_e2b;

/* ---- answers ---- */

void interpreter_fail(struct req *r, int status, const char *text)
{
    req_reason(r, text); /* the clients show a person this, and drop the body */
    req_answer(r, status, "text/plain; charset=utf-8", str_of(text));
}

void interpreter_unknown(struct req *r, struct str id)
{
    struct buf b = BUF_INIT(200);
    buf_addf(&b, "Context %.*s not found", (int)(id.n < 80 ? id.n : 80), id.p);
    interpreter_fail(r, 404, buf_z(&b));
    buf_release(&b);
}

/* One address may serve envd, too; the field E2b-Sandbox-Port names the meant port. */
static void health(struct req *r)
{
    if (str_eq(req_header(r, "E2b-Sandbox-Port"), STR("49983")))
        req_answer(r, 204, NULL, STR(""));
    else
        req_answer(r, 200, "application/json", STR("\"OK\""));
}

/* ---- proofs ---- */

/* Whether the route is one of envd. */
static bool is_of_e2b(const struct interpreter *in, const struct req *r)
{
    const struct http_front *of = req_served_by(r);
    return in->e2b && of && of != &in->front;
}

static struct str derive(void *f, const struct req *r, struct buf *out)
{
    struct interpreter *in = f;
    return in->e2b ? e2b_sign(in->e2b, r, out) : (struct str){0};
}

/* Is uid the user of sessions, whose program asks? */
static bool is_user(void *f, uid_t uid)
{
    struct interpreter *in = f;
    struct sandbox_place at;
    struct err e = ERR_INIT;
    if (sandbox_place(in->en->sandbox, STR(""), &at, &e) < 0)
        return false;
    return uid == (at.as_user ? at.uid : in->en->uid);
}

/*
 * Clients send X-Access-Token only with /execute, and E2B-Traffic-Access-Token, if they
 * have one, with all requests. So programs of the sandbox's user may use /contexts
 * without a token.
 */
static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Access-Token"},
    {.place = PROOF_FIELD, .name = "E2B-Traffic-Access-Token"},
    {.place = PROOF_QUERY,
     .name = "signature",
     .kind = PROOF_DERIVED,
     .on = ROUTE_SIGNED,
     .derive = derive},
    {.place = PROOF_BODY, .name = "accessToken", .on = ROUTE_LOGIN},
    {.place = PROOF_PEER, .on = ROUTE_LOCAL, .is_user = is_user},
    {.place = PROOF_END}};
static const struct door door = {.proofs = proofs, .missing = 401, .wrong = 401};

static bool preflight(void *f, struct req *r)
{
    struct interpreter *in = f;
    return e2b_cors(in->access, "interpreter@", r);
}

static void refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    struct interpreter *in = f;
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    if (is_of_e2b(in, r))
        front_e2b.refuse(in->e2b, r, why, status, text);
    else
        interpreter_fail(r, status,
                         unknown ? "The access token is missing or wrong: send it as "
                                   "X-Access-Token or E2B-Traffic-Access-Token"
                                 : text);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/health",
     .run = health,
     .about = "Answers \"OK\" while the server runs"},
    {.methods = HTTP_POST,
     .path = "/execute",
     .run = interpreter_execute,
     .body_max = BODY_MAX,
     .gives = "application/x-ndjson",
     .about = "Runs code in a context and streams its results as lines of JSON"},
    {.methods = HTTP_GET,
     .path = "/contexts",
     .run = contexts_list,
     .marks = ROUTE_LOCAL,
     .about = "Lists the contexts, the newest last"},
    {.methods = HTTP_POST,
     .path = "/contexts",
     .run = contexts_create,
     .marks = ROUTE_LOCAL,
     .body_max = 64 << 10,
     .about = "Makes a context: a kernel of a language in a directory"},
    {.methods = HTTP_POST,
     .path = "/contexts/{id}/restart",
     .run = contexts_restart,
     .marks = ROUTE_LOCAL,
     .body_max = 64 << 10,
     .about = "Restarts the kernel of a context, which loses its variables"},
    {.methods = HTTP_DELETE,
     .path = "/contexts/{id}",
     .run = contexts_delete,
     .marks = ROUTE_LOCAL,
     .about = "Removes a context and ends its kernel"},
};

static const struct http_front bare = {.routes = routes,
                                       .nroutes = sizeof(routes) / sizeof(routes[0]),
                                       .fail = interpreter_fail};

/* ---- life ---- */

static void *open_interpreter(struct fronts *all, const struct json *options)
{
    struct interpreter *f = xnew(struct interpreter);
    (void)options;
    f->en = fronts_engine(all);
    f->actions = f->en->actions;
    f->access = fronts_access(all);
    f->e2b = fronts_find(all, "e2b");
    f->front = bare;
    f->front.arg = f;
    list_init(&f->contexts);
    list_init(&f->runs);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct interpreter *in = f;
    if (i == 0)
        return in ? &in->front : &bare;
    return in && in->e2b ? front_e2b.http(in->e2b, i - 1) : NULL;
}

static void on_started(struct action_watch *w, const struct action *a)
{
    struct interpreter *f = container_of(w, struct interpreter, watch);
    struct execution *x = execution_by_action(f, a->id);
    if (x)
        shell_started(x, a);
}

static void load(void *arg)
{
    struct interpreter *f = arg;
    f->watch.started = on_started;
    actions_watch(f->actions, &f->watch);
    contexts_load(f);
}

static void format(struct buf *out) { buf_addz(out, "interpreter 1"); }

static const char *const claims[] = {"interpreter/", NULL};

/* As in upstream: longer than any client keeps an unused connection. */
static const struct httpd_config limits = {.idle_ms = 640 * 1000};

const struct front front_interpreter = {
    .name = "interpreter",
    .also = "e2b-interpreter",
    .claims = claims,
    .format = format,
    .shares = &front_e2b,
    .door = &door,
    .preflight = preflight,
    .refuse = refuse,
    .limits = &limits,
    .open = open_interpreter,
    .http = http,
    .load = load,
};
