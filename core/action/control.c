/* SPDX-License-Identifier: MIT */
/*
 * Asks a person to do what an agent cannot, such as solve a captcha or type a password:
 *
 *   {"action":"request_control","args":{"what":"browser","reason":"captcha"}}
 *
 * Pages ring when they receive the action's own event. Its observation comes when the
 * person who took the terminal or browser of the session has given it back, or at the
 * time limit. A worker that takes over reads from the log who has it, and since when.
 */
#include "action/control.h"

#include "action/own.h"
#include "base/clock.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 256, /* of a person */
    REASON_MAX = 1000,
    REQUESTS_MAX = 16, /* that wait */
    KEY_MAX = ACTION_SESSION_MAX + 32,
    TIMEOUT_S = 600,
    TIMEOUT_S_MAX = 7 * 24 * 3600
};

static const struct param_list takes = {
    .about = "Asks a person to take the terminal or browser of the session; it is "
             "observed when they have given it back",
    .params =
        (const struct param[]){
            {.name = "what",
             .type = PARAM_STRING,
             .required = true,
             .choices = "terminal browser",
             .about = "What the person is to take"},
            {.name = "reason",
             .type = PARAM_STRING,
             .required = true,
             .ranged = true,
             .min = 1,
             .about = "What they are to do, in a few words for them: 1000 bytes at most"},
            {.name = "timeout",
             .type = PARAM_NUMBER,
             .ranged = true,
             .max = TIMEOUT_S_MAX,
             .dflt = "600",
             .about = "The time limit in seconds, also for a person who has it; 0: none"},
            {0}},
    .example = "{\"what\":\"browser\",\"reason\":\"captcha\",\"timeout\":300}"};

static const struct member extras[] = {
    {.name = "what",
     .type = MEMBER_STRING,
     .choices = "terminal browser",
     .about = "What was asked for"},
    {.name = "end",
     .type = MEMBER_STRING,
     .choices = "given timeout",
     .about = "Given: a person gave it back; timeout: the time limit came first"},
    {.name = "by",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The name of the person who had it last; missing if nobody took it"},
    {.name = "seconds",
     .type = MEMBER_NUMBER,
     .optional = true,
     .about = "How long people had it"},
    {0}};

static const struct observation gives[] = {{.name = "request_control", .extras = extras},
                                           {0}};

static int check(const struct json *args, struct err *e)
{
    if (json_str(args, "reason", "").n > REASON_MAX)
        return err_set(e, ERR_INVALID, "reason has at most %d bytes", REASON_MAX);
    return 0;
}

/* A request for a person that has not ended. Times are clock_ms. */
struct request {
    struct action *a; /* the owner of this */
    struct str what;  /* borrowed from a */
    char by[NAME_MAX_BYTES + 1];
    int64_t asked, taken; /* taken: 0 until somebody takes control */
    struct timer late;
};

static void request_free(void *p) { free(p); }

/* May be called from its own timer. */
static void drop(struct request *r)
{
    r->a->own = NULL;
    timer_stop(&r->late);
    loop_bury(r->a->all->en->loop, r, request_free);
}

static void put_sentence(struct buf *text, const struct request *r, bool given,
                         double seconds)
{
    int what = (int)r->what.n;
    if (given)
        buf_addf(text, "%s had the %.*s for %.0f seconds and gave it back", r->by, what,
                 r->what.p, seconds);
    else if (r->taken)
        buf_addf(text, "%s has had the %.*s for %.0f seconds and has not given it back",
                 r->by, what, r->what.p, seconds);
    else
        buf_addf(text, "Nobody has taken the %.*s within %.10g seconds", what, r->what.p,
                 (double)((clock_ms() - r->asked + 99) / 100) / 10);
}

static void observe(struct request *r, bool given)
{
    struct action *a = r->a;
    struct json *j = json_object();
    struct buf text = BUF_INIT(4096);
    /* A person who had it already counts from the time of the request. */
    int64_t since = r->taken ? r->taken : r->asked;
    double seconds = (double)(clock_ms() - since) / 1000;
    json_put_str(j, "what", r->what);
    json_put_z(j, "end", given ? "given" : "timeout");
    if (given || r->taken) {
        json_put_z(j, "by", r->by);
        json_put_num(j, "seconds", seconds);
    }
    put_sentence(&text, r, given, seconds);
    drop(r);
    action_end(a, buf_str(&text), j);
    buf_release(&text);
}

static void on_late(struct timer *t)
{
    observe(container_of(t, struct request, late), false);
}

/* ---- what people do ---- */

/* Returns whether a person has given it back. */
static bool note(struct request *r, struct str who, bool drives, int64_t at)
{
    snprintf(r->by, sizeof(r->by), "%.*s", STR_ARG(who));
    if (drives && !r->taken)
        r->taken = at;
    return !drives;
}

static struct str holder_key(struct buf *out, const char *session, struct str of)
{
    buf_addf(out, "%s/%.*s", session, STR_ARG(of));
    return buf_str(out);
}

void control_changed(struct actions *all, const char *session, const char *of,
                     const char *who, bool drives)
{
    struct buf b = BUF_INIT(KEY_MAX);
    struct str key = holder_key(&b, session, str_of(of));
    free(drives ? map_put(&all->holders, key, xstrdup(who))
                : map_del(&all->holders, key));
    buf_release(&b);
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        struct request *r = a->kind == &action_request_control ? a->own : NULL;
        if (r && strcmp(a->session, session) == 0 && str_eq(r->what, str_of(of)) &&
            note(r, str_of(who), drives, clock_ms())) {
            observe(r, true);
            a = NULL; /* other actions may have ended with it */
        }
    }
}

/* ---- the next worker ---- */

struct look_back {
    struct request *r;
    bool given;
    int64_t offset; /* from the log's time to clock_ms */
};

static int64_t when(const struct look_back *s, struct str line)
{
    struct event_line head;
    int64_t us = event_head(line, &head) ? event_stamp_us(head.stamp.p) : -1;
    int64_t ms = us < 0 ? clock_ms() : us / 1000 + s->offset;
    return ms < 1 ? 1 : ms;
}

static void on_line(void *arg, struct str line)
{
    struct look_back *s = arg;
    struct event_line head;
    struct err e = ERR_INIT;
    struct action *a = s->r->a;
    if (event_head(line, &head) && head.id == a->id)
        s->r->asked = when(s, line);
    if (s->given || str_find(line, STR("\"observation\":\"control\"")) < 0)
        return;
    struct json *j = json_parse(line, &e);
    const struct json *x = json_get(j, "extras");
    if (str_eq(json_str(j, "observation", ""), STR("control")) &&
        str_eq(json_str(j, "session", ""), str_of(a->session)) &&
        str_eq(json_str(x, "of", ""), s->r->what))
        s->given = note(s->r, json_str(x, "viewer", ""), json_bool(x, "drives", false),
                        when(s, line));
    json_free(j);
}

/* Returns whether a person gave it back before this worker began. */
static bool look_back(struct request *r)
{
    struct actions *all = r->a->all;
    struct look_back s = {.r = r, .offset = clock_ms() - clock_wall_ms()};
    log_each(all, r->a->id, eventlog_next(all->log), on_line, &s);
    return s.given;
}

/* ---- the action ---- */

static unsigned waiting(const struct actions *all)
{
    unsigned n = 0;
    for (struct action *a = NULL; (a = actions_next(all, a));)
        n += a->kind == &action_request_control && a->own;
    return n;
}

static void start(struct action *a)
{
    struct err e = ERR_INIT;
    if (waiting(a->all) >= REQUESTS_MAX) {
        err_set(&e, ERR_LIMIT,
                "%d requests for a person wait already; cancel one of them",
                REQUESTS_MAX);
        action_fail(a, &e);
        return;
    }
    struct request *r = xnew(struct request);
    double seconds = json_num(a->args, "timeout", TIMEOUT_S);
    r->a = a;
    r->what = json_str(a->args, "what", "");
    r->asked = clock_ms();
    a->own = r;
    struct buf key = BUF_INIT(KEY_MAX);
    const char *who = map_get(&a->all->holders, holder_key(&key, a->session, r->what));
    buf_release(&key);
    if (who)
        note(r, str_of(who), true, r->asked);
    if (a->resumed && look_back(r)) {
        observe(r, true);
        return;
    }
    if (seconds > 0) {
        int64_t left = r->asked + (int64_t)(seconds * 1000) - clock_ms();
        timer_begin(a->all->en->loop, &r->late, left > 0 ? left : 0, on_late);
    }
}

static bool cancel(struct action *a)
{
    if (a->own)
        drop(a->own);
    return false;
}

const struct action_kind action_request_control = {.name = "request_control",
                                                   .at_once = true,
                                                   .takes = &takes,
                                                   .gives = gives,
                                                   .check = check,
                                                   .start = start,
                                                   .cancel = cancel};
