/* SPDX-License-Identifier: MIT */
/*
 * Browsers and calls. The answer of the running call is the line of the host's output
 * that has its id.
 */
#include "browser/browsing_own.h"
#include "browser/screen_own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLACE_MAX = 4096 }; /* bytes of a URL or a title, as kept for lists */

static void on_idle(struct timer *t);

static struct browsing *browsing_of(struct companion *host)
{
    return container_of(host, struct browsing, host);
}

static struct browsing_call *call_of(struct companion_call *call)
{
    return call ? container_of(call, struct browsing_call, call) : NULL;
}

static void save(struct browsing *b) { browsing_save_and_ask(b, STR("")); }

/* ---- calls ---- */

struct browsing_call *browsing_call_make(struct browsing *b, const char *id)
{
    struct browsing_call *c = xnew(struct browsing_call);
    c->b = b;
    buf_init(&c->line, LIMIT_ZMTP_OUT);
    companion_add(&b->host, &c->call, id);
    return c;
}

static void bury_call(void *p)
{
    struct browsing_call *c = p;
    buf_release(&c->line);
    free(c);
}

static void call_over(struct browsing_call *c, const struct json *answer,
                      const struct err *e)
{
    struct browsing *b = c->b;
    struct engine *en = b->host.en;
    ASSERT(!list_empty(&c->call.node)); /* done is called once */
    timer_stop(&c->call.limit);
    list_del(&c->call.node);
    if (c->call.step == CALL_RUNNING)
        b->used_ms = clock_wall_ms();
    en->idle_since_ms = clock_ms();
    if (c->done)
        c->done(c->owner, answer, answer ? NULL : e);
    loop_bury(en->loop, c, bury_call);
    companion_turn_later(&b->host);
}

static void on_fail(struct companion_call *call, const struct err *why)
{
    call_over(call_of(call), NULL, why);
}

static void on_failed(struct companion *host)
{
    save(browsing_of(host));
    companion_turn_later(host);
}

static void on_limit(struct timer *t)
{
    struct browsing_call *c = container_of(t, struct browsing_call, call.limit);
    struct browsing *b = c->b;
    struct err e = ERR_INIT;
    err_set(&e, c->cancelled ? ERR_CANCELLED : ERR_TIMEOUT,
            "%s, and the process of the browser did not answer within %d s more: it "
            "was ended; the next call starts another",
            c->cancelled ? "the call was cancelled" : "the call's time is over",
            BROWSING_GRACE_MS / 1000);
    companion_leave(&b->host);
    call_over(c, NULL, &e);
    save(b);
}

/* The time of a call whose caller does not know that a person drives. */
static void on_driven(struct timer *t)
{
    struct browsing_call *c = container_of(t, struct browsing_call, call.limit);
    struct companion *host = &c->b->host;
    const char *driver = screen_driver(host->en, str_of(host->name));
    struct err e = ERR_INIT;
    err_set(
        &e, ERR_TIMEOUT,
        "the call was not begun within %g s: %s drives the browser %s; it is free when "
        "that person gives it back",
        (double)c->call.timeout_ms / 1000, driver ? driver : "a person", host->name);
    call_over(c, NULL, &e);
}

void browsing_limit(struct browsing_call *c, int64_t left_ms)
{
    left_ms += BROWSING_GRACE_MS;
    timer_begin(c->b->host.en->loop, &c->call.limit, left_ms > 0 ? left_ms : 0, on_limit);
}

void browsing_idle(struct browsing *b, int64_t left_ms)
{
    timer_begin(b->host.en->loop, &b->idle, left_ms > 0 ? left_ms : 0, on_idle);
}

void browsing_set_place(char **place, struct str s)
{
    free(*place);
    *place = xstrndup(s.p, s.n < PLACE_MAX ? s.n : PLACE_MAX);
}

void browsing_remember(struct browsing *b, const char *id)
{
    if (strcmp(b->done[BROWSING_DONE - 1], id) == 0)
        return;
    memmove(b->done[0], b->done[1], sizeof(b->done) - sizeof(b->done[0]));
    snprintf(b->done[BROWSING_DONE - 1], sizeof(b->done[0]), "%s", id);
}

static void on_answer(struct browsing *b, struct browsing_call *c, const struct json *j)
{
    struct err e = ERR_INIT;
    struct str failed = json_str(j, "failed", "");
    browsing_remember(b, c->call.id);
    b->answered = true;
    if (json_has(j, "task"))
        json_put_str(b->opts, "kept", json_str(j, "task", ""));
    if (failed.n) {
        err_set(&e, (enum err_code)json_int(j, "code", ERR_GONE), "%.*s",
                STR_ARG(failed));
        call_over(c, NULL, &e);
        return;
    }
    browsing_set_place(&b->url, json_str(j, "url", ""));
    browsing_set_place(&b->title, json_str(j, "title", ""));
    browsing_set_place(&b->mode, json_str(j, "mode", ""));
    call_over(c, j, NULL);
}

/* The answer of the running call is the line whose first member is its id. */
static bool is_answer(struct companion *host, struct str line)
{
    const struct companion_call *call = companion_first(host);
    char head[LIMIT_ID + 16];
    snprintf(head, sizeof(head), "{\"id\":\"%s\"", call ? call->id : "");
    return call && call->step == CALL_RUNNING && str_starts(line, str_of(head));
}

static void on_line(void *arg, struct str line, uint64_t end)
{
    struct companion *host = arg;
    struct browsing *b = browsing_of(host);
    struct err e = ERR_INIT;
    bool answer = is_answer(host, line);
    (void)end;
    if (!answer && !str_starts(line, STR("{\"dir\":")))
        return;
    struct json *j = json_parse(line, &e);
    if (!answer) {
        snprintf(b->dir, sizeof(b->dir), "%.*s", STR_ARG(json_str(j, "dir", "")));
        screen_host_listens(host->en, str_of(host->name));
    } else if (j)
        on_answer(b, call_of(companion_first(host)), j);
    else
        call_over(call_of(companion_first(host)), NULL, &e);
    json_free(j);
}

static enum line_fate on_head(void *arg, struct str head)
{
    return is_answer(arg, head) || str_starts(head, STR("{\"dir\":")) ? LINE_WHOLE
                                                                      : LINE_PASSED_OVER;
}

static void on_read(void *arg)
{
    struct companion *host = arg;
    struct browsing *b = browsing_of(host);
    if (b->answered)
        save(b);
    companion_read(host, host->reader.at);
}

static void send_about(struct browsing *b, const char *what, const char *id)
{
    char line[LIMIT_ID + 24];
    snprintf(line, sizeof(line), "{\"%s\":\"%s\"}\n", what, id);
    companion_send(&b->host, str_of(line));
}

/* The lost output may contain the answer, which the host still has. */
static void on_gap(void *arg, const char *text)
{
    struct companion *host = arg;
    const struct companion_call *call = companion_first(host);
    (void)text;
    if (call && call->step == CALL_RUNNING)
        send_about(browsing_of(host), "again", call->id);
}

static void on_ended(struct companion *host, const struct err *why)
{
    host->why = *why;
    companion_fail_later(host, false);
}

/* ---- the host ---- */

static int start_host(struct browsing *b, struct err *e)
{
    static const char *const given[] = {"mode", "downloads", "cdp", "task", "kept"};
    struct companion_start s = {.take_options = json_object(),
                                .cwd = json_str(b->opts, "cwd", ""),
                                .user = json_str(b->opts, "user", "")};
    for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
        json_put_str(s.take_options, given[i], json_str(b->opts, given[i], ""));
    json_put_z(s.take_options, "sweep", b->dir);
    json_put_z(s.take_options, "name", b->host.name);
    return companion_start(&b->host, &s, e);
}

static int call_send(struct browsing_call *c, struct err *e)
{
    struct browsing *b = c->b;
    if (companion_begin(&b->host, &c->call, c->line.n, e) < 0)
        return -1;
    c->call.step = CALL_RUNNING;
    browsing_save_and_ask(b, buf_str(&c->line));
    buf_release(&c->line);
    browsing_limit(c, c->call.timeout_ms);
    return 0;
}

static void on_turn(struct companion *host)
{
    struct browsing *b = browsing_of(host);
    struct browsing_call *c = call_of(companion_first(host));
    struct err e = ERR_INIT;
    if (!c && list_empty(&b->links))
        browsing_idle(b, LIMIT_BROWSER_IDLE_MS);
    if (!c || c->call.step != CALL_WAITING)
        return;
    const char *driver = screen_driver(host->en, str_of(host->name));
    if (driver) { /* when the lease ends, turns are given again */
        if (!c->told && c->waits)
            c->waits(c->owner, driver);
        else if (!c->told)
            timer_begin(host->en->loop, &c->call.limit, c->call.timeout_ms, on_driven);
        c->told = true;
        return;
    }
    timer_stop(&b->idle);
    if ((companion_state(host) != COMPANION_RUNS && start_host(b, &e) < 0) ||
        call_send(c, &e) < 0)
        call_over(c, NULL, &e);
}

static void on_save(struct companion *host) { save(browsing_of(host)); }

const struct companion_kind browsing_kind = {
    .noun = "browser",
    .call = "call",
    .program = "od-browser",
    .stem = "od-browser-",
    .key = "browser/",
    .read = "{\"read\":",
    .window = 1,
    .end_ms = LIMIT_GRACE_MS,
    .lines = {.line = on_line,
              .head = on_head,
              .read = on_read,
              .gap = on_gap,
              .end = companion_over},
    .save = on_save,
    .turn = on_turn,
    .fail = on_fail,
    .ended = on_ended,
    .failed = on_failed,
};

/* ---- life ---- */

struct browsing *browsing_make(struct engine *en, struct str name)
{
    struct browsing *b = xnew(struct browsing);
    companion_init(&b->host, en, &browsing_kind, name);
    b->opts = json_object();
    list_init(&b->links);
    b->used_ms = clock_wall_ms();
    map_put(&en->browsers, name, b);
    return b;
}

struct browsing *browsing_lookup(struct engine *en, struct str name)
{
    return map_get(&en->browsers, name);
}

struct browsing *browsing_open(struct engine *en, struct str name,
                               const struct browsing_opts *o, struct err *e)
{
    struct browsing *b = browsing_lookup(en, name);
    if (b)
        return b;
    if (companion_check_name(&browsing_kind, name, e) < 0)
        return NULL;
    if (o->mode.n > 0 && !str_eq(o->mode, STR("text"))) {
        err_set(e, ERR_INVALID, "mode is text, or absent");
        return NULL;
    }
    if (en->browsers.count >= LIMIT_BROWSERS_MAX) {
        err_set(e, ERR_LIMIT, "%d browsers are open already: close one",
                LIMIT_BROWSERS_MAX);
        return NULL;
    }
    b = browsing_make(en, name);
    json_put_str(b->opts, "mode", o->mode);
    json_put_str(b->opts, "downloads", o->downloads);
    json_put_str(b->opts, "cdp", o->cdp);
    json_put_str(b->opts, "task", o->task);
    json_put_str(b->opts, "cwd", o->cwd);
    json_put_str(b->opts, "user", o->user);
    browsing_idle(b, LIMIT_BROWSER_IDLE_MS);
    return b;
}

const char *browsing_differs(const struct browsing *b, const struct browsing_opts *o)
{
    const struct {
        const char *name;
        struct str wanted;
    } all[] = {{"downloads", o->downloads}, {"cdp", o->cdp}};
    if (o->mode.n && !str_eq(o->mode, json_str(b->opts, "mode", "")) &&
        !(b->mode && str_eq(o->mode, str_of(b->mode))))
        return "text";
    /* A Chromium takes another folder with a call. */
    for (size_t i = b->mode && strcmp(b->mode, "chromium") == 0;
         i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].wanted.n && !str_eq(all[i].wanted, json_str(b->opts, all[i].name, "")))
            return all[i].name;
    }
    return NULL;
}

static void bury_browsing(void *p)
{
    struct browsing *b = p;
    free(b->url);
    free(b->title);
    free(b->mode);
    json_free(b->opts);
    free(b);
}

void browsing_close(struct browsing *b)
{
    struct engine *en = b->host.en;
    err_set(&b->host.why, ERR_CANCELLED, "the browser %s was closed", b->host.name);
    companion_close(&b->host);
    devtools_leave_all(b);
    timer_stop(&b->idle);
    map_del(&en->browsers, str_of(b->host.name));
    loop_bury(en->loop, b, bury_browsing);
}

static void on_idle(struct timer *t)
{
    struct browsing *b = container_of(t, struct browsing, idle);
    if (screen_driver(b->host.en, str_of(b->host.name)) || !list_empty(&b->links)) {
        browsing_idle(b, LIMIT_BROWSER_IDLE_MS);
        return;
    }
    if (json_str(b->opts, "task", "").n)
        return; /* the progress of the task would be lost */
    log_info("the browser %s was not used for %d s, and is closed", b->host.name,
             LIMIT_BROWSER_IDLE_MS / 1000);
    browsing_close(b);
}

void browsing_cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->browsers, it, &key, &value));) {
        struct browsing *b = value;
        err_set(&b->host.why, ERR_CANCELLED, "the server was stopped");
        companion_fail(&b->host, true);
    }
}

/* ---- asking ---- */

/* Appends {"id":ID,"within":MS and the members of what. Returns -1 and sets *e. */
static int put_request(struct buf *out, const struct browsing_call *c,
                       const struct json *what, struct err *e)
{
    size_t at;
    int rc = buf_addz(out, "{\"id\":");
    if (rc == 0)
        rc = json_quote(out, str_of(c->call.id));
    if (rc == 0)
        rc = buf_addf(out, ",\"within\":%lld", (long long)c->call.timeout_ms);
    at = out->n;
    if (rc == 0)
        rc = json_print(out, what);
    if (rc == 0) { /* {…} becomes ,…} */
        out->p[at] = ',';
        if (out->n == at + 2) {
            out->p[at] = '}';
            buf_truncate(out, at + 1);
        }
        rc = buf_addc(out, '\n');
    }
    return rc < 0 ? err_set(e, ERR_LIMIT, "the actions are too long") : 0;
}

/*
 * Returns 1 if the call was answered before and the host still has the answer (it keeps
 * the last one), with the request for it in out; 0 if the call is new; -1 and sets *e if
 * the answer is gone.
 */
static int ask_again(struct browsing *b, const char *id, bool alone, struct buf *out,
                     struct err *e)
{
    int i = BROWSING_DONE - 1;
    while (i >= 0 && (!id[0] || strcmp(b->done[i], id) != 0))
        i--;
    if (i < 0)
        return 0;
    if (i < BROWSING_DONE - 1 || !alone || companion_state(&b->host) != COMPANION_RUNS)
        return err_set(e, ERR_GONE,
                       "these actions were carried out before, and the result is "
                       "no longer kept");
    buf_addf(out, "{\"again\":\"%s\"}\n", id);
    return 1;
}

struct browsing_call *browsing_ask(struct browsing *b, const struct browsing_ask *q,
                                   browsing_done_fn *done, void *owner, struct err *e)
{
    struct companion *host = &b->host;
    struct browsing_call *c = call_of(companion_find(host, q->id));
    engine_touch(host->en);
    if (c) {
        c->done = done;
        c->owner = owner;
        c->waits = q->waits;
        return c;
    }
    if (companion_check_queue(host, e) < 0)
        return NULL;
    bool alone = list_empty(&host->calls);
    c = browsing_call_make(b, q->id);
    c->done = done;
    c->owner = owner;
    c->waits = q->waits;
    c->call.timeout_ms = q->timeout_ms > 0 ? q->timeout_ms : BROWSING_TIME_MS;
    int again = ask_again(b, q->id, alone, &c->line, e);
    if (again < 0 || (!again && put_request(&c->line, c, q->what, e) < 0)) {
        list_del(&c->call.node);
        bury_call(c);
        return NULL;
    }
    companion_turn_later(host);
    return c;
}

bool browsing_knows(struct browsing *b, const char *id)
{
    return companion_find(&b->host, id) ||
           (id[0] && strcmp(b->done[BROWSING_DONE - 1], id) == 0);
}

void browsing_cancel(struct browsing_call *c)
{
    struct err e = ERR_INIT;
    if (c->call.step == CALL_WAITING) {
        err_set(&e, ERR_CANCELLED, "the call was cancelled before it began");
        call_over(c, NULL, &e);
    } else if (!c->cancelled) {
        c->cancelled = true;
        send_about(c->b, "cancel", c->call.id);
        browsing_limit(c, 0);
    }
}

bool browsing_runs(const struct browsing_call *c) { return c->call.step == CALL_RUNNING; }

void browsing_drop(struct browsing_call *c)
{
    c->done = NULL;
    if (c->call.step != CALL_WAITING)
        return;
    list_del(&c->call.node);
    loop_bury(c->b->host.en->loop, c, bury_call);
}

struct json *browsing_json(const struct browsing *b)
{
    struct json *j = json_object();
    const struct companion_call *c = companion_first(&b->host);
    json_put_z(j, "name", b->host.name);
    json_put_z(j, "state", c ? "busy" : b->host.process ? "idle" : "closed");
    json_put_z(j, "mode", b->mode ? b->mode : "");
    json_put_z(j, "url", b->url ? b->url : "");
    json_put_z(j, "title", b->title ? b->title : "");
    json_put_int(j, "idle_ms", c ? 0 : clock_wall_ms() - b->used_ms);
    json_put_int(j, "pid", b->host.process ? process_pid(b->host.process) : 0);
    return j;
}
