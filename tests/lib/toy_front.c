/* SPDX-License-Identifier: MIT */
/*
 * od-toy: the whole program with one more front-end, as another product's would be: its
 * own place for the key, its own refusals, limits, options and life. It is a template of
 * what a front-end takes, and tests/wire/own.test plays with it.
 */
#include "front/front.h"

#include "base/xalloc.h"
#include "front/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct toy {
    struct http_front front;
    char *greeting; /* owned */
    unsigned asked;
    bool started;
};

static const struct option_row rows[] = {
    {.name = "toy-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "TOY_TOKEN",
     .member = "token",
     .secret = true,
     .about = "the key of the toy's own listeners"},
    {.name = "toy-greeting",
     .type = OPTION_TEXT,
     .value = "WORD",
     .env = "TOY_GREETING",
     .member = "greeting",
     .dflt = "hello",
     .choices = "hello goodbye",
     .about = "what the toy answers"},
    {.name = NULL},
};
static const struct option_table options_toy = {
    .heading = "Toy", .section = "toy", .rows = rows};

static void look(struct req *r)
{
    struct toy *t = req_arg(r);
    t->asked++;
    req_answer(r, 200, "text/plain", str_of(t->greeting));
}

static void health(struct req *r) { req_answer(r, 204, NULL, STR("")); }

static const struct route routes[] = {
    {.methods = HTTP_GET, .path = "/health", .run = health},
    {.methods = HTTP_GET, .path = "/look", .run = look, .right = RIGHT_VIEW},
    {.methods = HTTP_POST, .path = "/do", .run = look, .body_max = 1 << 10},
};

static void fail(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(400);
    buf_addf(&b, "toy %d: %s\n", status, text);
    req_answer_take(r, status, "text/plain", &b);
}

static const struct http_front bare = {.routes = routes, .nroutes = 3, .fail = fail};

static const struct proof proofs[] = {{.place = PROOF_FIELD, .name = "X-Toy"},
                                      {.place = PROOF_END}};
static const struct door door = {.proofs = proofs, .missing = 401, .wrong = 418};

static void refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    struct toy *t = f;
    t->asked++;
    fail(r, why == REFUSE_MISSING ? status : 418, text);
}

static bool preflight(void *f, struct req *r)
{
    struct toy *t = f;
    t->asked++;
    req_header_add(r, "X-Toy-Greets", "everybody");
    if (!str_eq(req_method(r), STR("OPTIONS")))
        return false;
    req_answer(r, 200, "text/plain", STR("ask"));
    return true;
}

static bool instead(void *f, struct req *r)
{
    (void)f;
    if (!req_header(r, "X-Toy-Sleeps").p)
        return false;
    fail(r, 503, "it sleeps");
    return true;
}

static void *open_toy(struct fronts *all, const struct json *options)
{
    struct str greeting = json_str(json_get(options, "toy"), "greeting", "?");
    struct toy *t = xnew(struct toy);
    (void)all;
    t->greeting = xstrndup(greeting.p, greeting.n);
    t->front = bare;
    t->front.arg = t;
    return t;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct toy *t = f;
    return i > 0 ? NULL : t ? &t->front : &bare;
}

static void start(void *f) { ((struct toy *)f)->started = true; }

static struct json *status(const void *f)
{
    const struct toy *t = f;
    struct json *j = json_object();
    json_put_bool(j, "started", t->started);
    json_put_int(j, "asked", t->asked);
    return j;
}

/* `toyd --at ADDRESS TOKEN`, `toyd --version` */
static int read_words(int argc, char **argv, struct program_words *out)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("7.0\n") < 0;
    if (argc != 4 || strcmp(argv[1], "--at") != 0) {
        fprintf(stderr, "%s: usage: toyd --at ADDRESS TOKEN\n", argv[0]);
        return 2;
    }
    program_add(out, "--listen");
    program_addf(out, "toy@%s", argv[2]);
    program_add(out, "--toy-token");
    program_add(out, argv[3]);
    return PROGRAM_SERVE;
}

static const struct program programs[] = {
    {.name = "toyd",
     .about = "a toy's server",
     .usage = "usage: toyd --at ADDRESS TOKEN\n",
     .read = read_words},
    {.name = NULL},
};

static const struct httpd_config limits = {.conns_max = 2};

static const struct front front_toy = {
    .name = "toy",
    .options = &options_toy,
    .key = "token",
    .door = &door,
    .preflight = preflight,
    .instead = instead,
    .refuse = refuse,
    .limits = &limits,
    .programs = programs,
    .open = open_toy,
    .http = http,
    .start = start,
    .status = status,
};

/* Replaces core/front/list.c. */
#define FRONT(name) extern const struct front front_##name;
#include "front/fronts.def"
#undef FRONT

#define FRONT(name) &front_##name,
const struct front *const front_list[] = {
#include "front/fronts.def"
    &front_toy, NULL};

/* Replaces core/access/open.c: the toy's probe is one more open route. */
#define OPEN(front, methods, path, when, because, changes) \
    {#front, methods, path, when, because, changes},
const struct open_row open_rows[] = {
#include "access/open.def"
    {"toy", HTTP_GET, "/health", OPEN_ALWAYS, "probes ask whether it lives", "nothing"},
    {NULL, 0, NULL, OPEN_NO, NULL, NULL}};
