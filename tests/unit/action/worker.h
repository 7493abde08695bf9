/* SPDX-License-Identifier: MIT */
/*
 * For tests of actions: a worker's engine in this process, whose keeper is the test. The
 * state directory is t_dir(). Each case has a process of its own, so what a worker
 * has ends with it.
 *
 *     begin_worker("{}")   the first one; called again, the next one, which gets what the
 *                          one before has kept
 *     order("{…}")         what a client sends; the id of the action
 *     refused("{…}", …)    the same, where nothing may happen
 *     turn()               all that is due in the worker's loop
 *     be_ready()           the sandbox is, so that queued actions begin
 *     event_of(id)         the line of an event, after its time
 */
#ifndef OD_TESTS_WORKER_H
#define OD_TESTS_WORKER_H

#include "action/own.h"
#include "base/xalloc.h"
#include "engine/part.h"

#include "t.h"

extern const struct part part_session, part_process, part_sandbox, part_action;
static struct part sandbox_later; /* part_sandbox, whose preparation a case begins */
const struct part *const engine_parts[] = {&part_session, &part_process, &sandbox_later,
                                           &part_action, NULL};

static struct loop *loop;
static struct engine workers[4], *en; /* the last one is *en */
static struct actions *all;
static int keeper = -1;
static struct json *kept; /* what the keeper has, as texts by key */
static struct keep_msg sent; /* the newest other message: its head and descriptors */
static char space[KEEP_DATA + sizeof(struct keep_head)];
static struct buf line;
static struct err e;

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg, (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg, (void)key, (void)value;
}

static void on_ready(void *arg) { loop_stop(arg); }

static void on_signal(void *arg, int signo) { (void)arg, (void)signo; }

/* Takes what the worker has sent to the keeper. */
static void take_sent(void)
{
    struct keep_msg m;
    while (keep_recv(keeper, &m, space) == 1) {
        char key[200];
        snprintf(key, sizeof(key), "%.*s", STR_ARG(m.key));
        if (m.h.type == KEEP_PUT && m.value.n == 0)
            json_drop(kept, json_get(kept, key));
        else if (m.h.type == KEEP_PUT)
            json_put_str(kept, key, m.value);
        else
            sent = m;
        if (m.h.type == KEEP_PUT || m.nfds == 0)
            keep_release(&m);
    }
    CHECK_INT(errno, EAGAIN);
}

static T_UNUSED const char *kept_text(const char *key)
{
    take_sent();
    return json_str(kept, key, "").p;
}

/* All that is due in the worker's loop. */
static T_UNUSED void turn(void)
{
    for (int i = 0; i < 2; i++) {
        struct keep_msg m = {.h = {.type = KEEP_READY}};
        CHECK_INT(keep_send(keeper, &m), 0);
        CHECK_INT(loop_run(loop), 0);
    }
    take_sent();
}

/* The first worker, or the next one, which gets what the one before has kept. */
static void begin_worker(const char *options)
{
    static const struct keeper_client_events ev = {on_held, on_state, on_ready,
                                                   on_signal};
    struct json *o = json_parse(str_of(options), &e);
    int fds[2];
    if (all) {
        take_sent();
        eventlog_close(all->log);
    } else {
        loop = loop_new();
        kept = json_object();
        buf_init(&line, 2 * LIMIT_EVENT_MAX);
        CHECK_INT(keep_pair(fds), 0);
        keeper = fds[1];
    }
    struct keeper_client *client = all ? en->keeper
                                       : keeper_client_open(loop, fds[0], &ev, loop);
    en = en ? en + 1 : workers;
    CHECK(o && loop && client);
    CHECK_INT(engine_open(en, loop, &e), 0);
    en->keeper = client;
    sandbox_later = part_sandbox;
    sandbox_later.serve = NULL;
    json_put_z(o, "state_dir", t_dir());
    json_put_z(o, "cwd", "/tmp");
    for (struct json *v = json_first(kept); v; v = json_next(v)) {
        struct buf *b = xnew(struct buf);
        buf_init(b, LIMIT_BLOB_MAX);
        buf_adds(b, json_str_value(v, ""));
        map_put(&en->states, str_of(json_name(v)), b);
    }
    engine_configure(en, o);
    engine_resume(en);
    all = en->actions;
    json_free(o);
    take_sent();
}

static T_UNUSED void be_ready(void)
{
    part_sandbox.serve(en);
    turn();
}

/* The line of this id, without its newline. */
static const char *line_of(uint64_t id)
{
    buf_reset(&line);
    if (actions_line(all, id, &line) < 0)
        T_FAIL("there is no event %llu", (unsigned long long)id);
    buf_truncate(&line, line.n - 1);
    return buf_z(&line);
}

/* What follows the time of an event. */
static T_UNUSED const char *event_of(uint64_t id)
{
    const char *at = strstr(line_of(id), "\"timestamp\":\"");
    CHECK(at);
    return at + strlen("\"timestamp\":\"") + EVENT_STAMP + 2;
}

static T_UNUSED uint64_t last(void) { return actions_next_id(all) - 1; }

static int order_as(const char *text, const char *source, struct action_taken *t)
{
    struct err why = ERR_INIT;
    struct json *m = json_parse(str_of(text), &why);
    if (!m)
        T_FAIL("%s: %s", text, why.text);
    e = (struct err)ERR_INIT;
    int r = actions_do(all, m, source, t, &e);
    take_sent();
    return r;
}

static T_UNUSED uint64_t order(const char *text)
{
    struct action_taken t;
    if (order_as(text, NULL, &t) < 0)
        T_FAIL("%s: %s", text, e.text);
    CHECK(!t.repeated);
    return t.id;
}

static T_UNUSED void refused(const char *text, enum err_code code, const char *words)
{
    struct action_taken t;
    uint64_t next = actions_next_id(all);
    CHECK_INT(order_as(text, NULL, &t), -1);
    CHECK_INT(e.code, code);
    if (!strstr(e.text, words))
        T_FAIL("%s: %s", text, e.text);
    CHECK_INT(actions_next_id(all), next);
}

#define WAITS "\"action\":\"request_control\",\"args\":{\"what\":\"browser\"," \
              "\"reason\":\"captcha\",\"timeout\":0}"
#define RUN   "\"action\":\"run\",\"args\":{\"command\":\"sleep 1\",\"until\":\"end\"}"

#endif
