/* SPDX-License-Identifier: MIT */
/*
 * Actions: into the log, then into V0, and what came of them back into the log.
 *
 * An action has a key of its own, by which its session knows its command. So a new
 * worker hands an action that has no observation to V0 again: what had begun is
 * followed, what had not is begun. What cannot be told from outside (a signal) or is
 * not in the log as it was (secrets in it, or too long) ends with an error that says so.
 */
#include "action/native.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/v0/action.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- into the log ---- */

/* Members of an action that are the log's, or nobody's. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {"id",     "timestamp", "key",     "session",
                                        "cause",  "client_id", "secrets", "masked",
                                        "output", "cut",       NULL};
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static int put_action(struct buf *b, const struct json *m, const char *key,
                      struct str session, struct str client_id, bool http)
{
    buf_addf(b, "{\"key\":\"%s\",\"session\":", key);
    json_quote(b, session);
    if (client_id.n > 0) {
        buf_addz(b, ",\"client_id\":");
        json_quote(b, client_id);
    }
    if (http)
        buf_addz(b, ",\"source\":\"http\"");
    for (struct json *v = json_first(m); v; v = json_next(v)) {
        if (is_ours(json_name(v)) || (http && strcmp(json_name(v), "source") == 0))
            continue;
        if (buf_addc(b, ',') < 0 || json_quote(b, str_of(json_name(v))) < 0 ||
            buf_addc(b, ':') < 0 || json_print(b, v) < 0)
            return -1;
    }
    return buf_addc(b, '}');
}

/* The members that every action may have. */
struct order {
    struct str client_id, session;
};

static int take_secrets(struct events *ev, const struct json *m, struct err *e)
{
    const struct json *list = json_get(m, "secrets");
    if (!list || json_is_null(list))
        return 0;
    if (!json_is_object(list) && !json_is_array(list))
        return err_set(
            e, ERR_INVALID,
            "secrets must be an object of names and values, or a list of values");
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        if (!json_is_string(v))
            return err_set(e, ERR_INVALID, "a secret is a string");
        if (events_secret(ev, json_str_value(v, ""), e) < 0)
            return -1;
    }
    return 0;
}

static int read_order(struct events *ev, const struct json *m, struct order *o,
                      struct err *e)
{
    *o = (struct order){.session = STR("main")};
    if (json_want_str(m, "client_id", &o->client_id, e) < 0 ||
        json_want_str(m, "session", &o->session, e) < 0 || take_secrets(ev, m, e) < 0)
        return -1;
    if (o->client_id.n > CLIENT_ID_MAX)
        return err_set(e, ERR_INVALID, "a client_id is at most %d bytes long",
                       CLIENT_ID_MAX);
    if (o->session.n == 0 || o->session.n > V0_SESSION_MAX)
        return err_set(e, ERR_INVALID, "a session's name is 1 to %d letters long",
                       V0_SESSION_MAX);
    for (size_t i = 0; i < o->session.n; i++) {
        char c = o->session.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"\\/", c))
            return err_set(e, ERR_INVALID,
                           "a session's name is letters, digits and . _ - :");
    }
    return 0;
}

static struct json *copy_of(const struct json *m)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    struct json *j = json_print(&b, m) == 0 ? json_parse(buf_str(&b), &e) : NULL;
    buf_release(&b);
    return j;
}

/* Appends it; then it is pending. NULL: e. */
static struct pending *log_action(struct events *ev, const struct json *m,
                                  const struct order *o, const char *key, struct err *e)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct pending *p = NULL;
    uint64_t id = 0;
    if (put_action(&b, m, key, o->session, o->client_id, false) < 0)
        err_set(e, ERR_LIMIT, "an action is at most %d bytes long", LIMIT_EVENT_MAX);
    else
        id = events_append(ev, &b, e);
    if (id > 0) {
        struct known *k = o->client_id.n ? events_know(ev, 'c', o->client_id, id) : NULL;
        p = events_pend(ev, id, o->session, o->client_id, k);
        ev->stats.actions++;
    }
    buf_release(&b);
    return p;
}

/* Behind V0's actions, which the sentence ends with. */
static void add_natives(struct err *e)
{
    struct err was = *e;
    struct buf names = BUF_INIT(1024);
    native_names(&names);
    err_set(e, was.code, "%s%s", was.text, buf_z(&names));
    buf_release(&names);
}

int events_act(struct events *ev, const struct json *m, struct events_taken *out,
               struct err *e)
{
    struct order o;
    struct action *a = NULL;
    char key[EVENTS_KEY + 1];
    *out = (struct events_taken){0};
    if (read_order(ev, m, &o, e) < 0)
        return -1;
    struct known *k = o.client_id.n ? events_known(ev, 'c', o.client_id) : NULL;
    if (k) {
        ev->stats.duplicates++;
        *out = (struct events_taken){.id = k->id, .end = k->end, .again = true};
        return 0;
    }
    if (ev->npendings >= ACTIONS_MAX)
        return err_set(e, ERR_LIMIT, "%d actions are on their way already; wait for some",
                       ACTIONS_MAX);
    const struct native_kind *own = native_find(m);
    struct json *copy = own ? NULL : copy_of(m);
    if (own && native_check(own, m, e) < 0)
        return -1;
    if (!own && !copy)
        return err_set(e, ERR_LIMIT, "the action is too long");
    if (!own && !(a = v0_prepare(ev->v0, copy, o.session, e))) {
        if (json_has(m, "action") && !v0_action_served(json_str(m, "action", "")))
            add_natives(e);
        return -1;
    }
    random_hex(key, EVENTS_KEY);
    struct pending *p = log_action(ev, m, &o, key, e);
    if (!p) {
        if (a)
            v0_discard(a);
        return -1;
    }
    out->id = p->id;
    ev->last_cause = 0;
    if (a)
        v0_submit(a, key, out->id, false);
    else
        native_start(own, p, ev, m, key);
    if (ev->last_cause == out->id)
        out->end = ev->last_end ? ev->last_end : out->id;
    return 0;
}

int events_check_end(const struct events_taken *t, struct err *e)
{
    if (t->end == 0 || t->end != t->id)
        return 0;
    return err_set(e, ERR_LIMIT,
                   "action %llu is over, and is not done again; there was no room in the "
                   "log for its observation",
                   (unsigned long long)t->id);
}

/* ---- V0's calls ---- */

uint64_t events_on_begin(void *arg, const struct json *event, const char *key,
                         bool unique)
{
    struct events *ev = arg;
    struct err e = ERR_INIT;
    struct known *k = unique ? events_known(ev, 'k', str_of(key)) : NULL;
    struct buf b = BUF_INIT(16 << 20);
    if (k) { /* its observation may be said a second time by HTTP, but is one event */
        if (!events_pending(ev, k->id) && !k->end)
            events_pend(ev, k->id, STR("main"), STR(""), k);
        return k->id;
    }
    uint64_t id = 0;
    if (put_action(&b, event, key, STR("main"), STR(""), true) == 0) {
        if (b.n > LIMIT_EVENT_MAX - (64 << 10)) {
            struct json *copy = json_parse(buf_str(&b), &e);
            size_t whole = b.n;
            events_shorten(copy, CUT_STRING / 4);
            buf_reset(&b);
            json_print(&b, copy);
            buf_truncate(&b, b.n ? b.n - 1 : 0);
            buf_addf(&b, ",\"cut\":%zu}", whole);
            json_free(copy);
        }
        id = events_append(ev, &b, &e);
    }
    buf_release(&b);
    if (id == 0) {
        log_error("an action of HTTP runs without being in the log: %s", e.text);
        return 0;
    }
    ev->stats.actions++;
    events_pend(ev, id, STR("main"), STR(""),
                unique ? events_know(ev, 'k', str_of(key), id) : NULL);
    return id;
}

void events_on_started(void *arg, uint64_t id, const char *session, const char *command,
                       uint64_t from)
{
    struct events *ev = arg;
    struct pending *p = events_pending(ev, id);
    if (!p || p->started)
        return;
    p->started = true;
    p->from = from;
    snprintf(p->session, sizeof(p->session), "%s", session);
    snprintf(p->command, sizeof(p->command), "%s", command);
    task_defer(ev->en->loop, &ev->flows);
}

void events_on_end(void *arg, const struct v0_end *x)
{
    struct events *ev = arg;
    struct pending *p = events_pending(ev, x->id);
    events_cell_ended(ev, x->id);
    if (p)
        events_end(ev, p, x);
}

void events_on_ready(void *arg) { natives_ready(arg); }

/* ---- after a restart ---- */

static const char interrupted[] =
    "The server was restarted before this action was done, so it was interrupted and "
    "not applied";
static const char halfway[] =
    "The server ended before this action was done; how much of it was done cannot be "
    "known";

void events_act_again(struct events *ev, uint64_t id, bool new_server)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX), client = BUF_INIT(CLIENT_ID_MAX);
    struct err e = ERR_INIT;
    struct event_look l;
    if (events_line(ev, id, &line) < 0) {
        buf_release(&line);
        return; /* too old to be kept */
    }
    struct json *m = json_parse(buf_str(&line), &e);
    events_look(buf_str(&line), &l);
    bool http = str_eq(json_str(m, "source", ""), STR("http"));
    struct str session = json_str(m, "session", "main"), key = json_str(m, "key", "");
    char name[EVENTS_KEY + 1] = "";
    if (key.n == EVENTS_KEY)
        memcpy(name, key.p, EVENTS_KEY);
    if (l.client_id.n > 0)
        events_unquote(l.client_id, &client);
    struct known *k = http           ? events_known(ev, 'k', key)
                      : client.n > 0 ? events_known(ev, 'c', buf_str(&client))
                                     : NULL;
    struct pending *p = events_pend(ev, id, session, buf_str(&client), k);
    bool whole = !json_has(m, "masked") && !json_has(m, "cut");
    bool begun = v0_begun(ev->v0, session, name);
    const struct native_kind *own = m ? native_find(m) : NULL;
    if (new_server && own && !own->at_once) {
        events_end_text(ev, p, "error", halfway);
    } else if (new_server || !m || (!whole && !begun)) {
        events_end_text(ev, p, "error", interrupted);
    } else if (own) {
        native_resume(own, p, ev, m, name);
    } else {
        struct json *copy = copy_of(m);
        struct action *a = copy ? v0_prepare(ev->v0, copy, session, &e) : NULL;
        if (a)
            v0_submit(a, name, id, http);
        else
            events_end_text(ev, p, "error", interrupted);
    }
    json_free(m);
    buf_release(&line);
    buf_release(&client);
}
