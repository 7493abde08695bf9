/* SPDX-License-Identifier: MIT */
/*
 * Orders: makes a peer's request an action in the log, and restores the actions of the
 * previous worker from the log.
 *
 * Each action has its own key, by which its session knows its command. So a new worker
 * starts an unfinished action again: the session follows a command that had begun, and
 * begins one that had not. An action whose effect cannot be observed (a signal), or whose
 * line in the log is incomplete (masked secrets, or cut), ends with an error that
 * explains this.
 */
#include "action/outside_own.h"
#include "action/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- into the log ---- */

/* Members that a client's message cannot set: the log writes them, or leaves them out. */
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

/* Does this member claim a source that only the server may write, such as od exec's? */
static bool is_claim(const struct action *a, const struct json *v)
{
    struct str given = json_str_value(v, "");
    return strcmp(json_name(v), "source") == 0 && (a->source || log_is_source(given));
}

/* Does log_hide leave something of this member out of the log? */
static bool hides(const struct action *a, const struct json *v)
{
    return json_is_object(v) && strcmp(json_name(v), "args") == 0 &&
           (a->all->terse || a->unshown || json_bool(v, "silent", false) ||
            json_is_object(json_get(v, "env")));
}

/* Appends args without what log_hide removes. Returns the number of bytes removed. */
static size_t put_hidden(struct buf *b, const struct action *a, const struct json *args,
                         int *rc)
{
    struct json *copy = json_copy(args);
    size_t hidden = log_hide(a->all, copy, a->unshown);
    *rc = json_print(b, copy);
    json_free(copy);
    return hidden;
}

/* {"key":…,"session":…[,"client_id":…][,"source":…],"action":…, …} */
static int put_action(struct buf *b, const struct action *a)
{
    size_t hidden = 0;
    buf_addf(b, "{\"key\":\"%s\",\"session\":", a->key);
    json_quote(b, str_of(a->session));
    if (a->client_id) {
        buf_addz(b, ",\"client_id\":");
        json_quote(b, str_of(a->client_id));
    }
    if (a->source)
        buf_addf(b, ",\"source\":\"%s\"", a->source);
    for (struct json *v = json_first(a->message); v; v = json_next(v)) {
        if (is_ours(json_name(v)) || is_claim(a, v))
            continue;
        int rc = -1;
        if (buf_addc(b, ',') < 0 || json_quote(b, str_of(json_name(v))) < 0 ||
            buf_addc(b, ':') < 0)
            return -1;
        if (hides(a, v))
            hidden += put_hidden(b, a, v, &rc);
        else
            rc = json_print(b, v);
        if (rc < 0)
            return -1;
    }
    if (hidden > 0)
        buf_addf(b, ",\"cut\":%zu", hidden);
    return buf_addc(b, '}');
}

static int take_secrets(struct actions *all, const struct json *m, struct err *e)
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
        if (actions_secret(all, json_str_value(v, ""), e) < 0)
            return -1;
    }
    return 0;
}

static int read_order(struct actions *all, const struct json *m, struct action_order *o,
                      struct err *e)
{
    *o = (struct action_order){.session = STR("main")};
    if (json_want_str(m, "client_id", &o->client_id, e) < 0 ||
        json_want_str(m, "session", &o->session, e) < 0 || take_secrets(all, m, e) < 0)
        return -1;
    if (o->client_id.n > ACTION_CLIENT_MAX)
        return err_set(e, ERR_INVALID, "a client_id is at most %d bytes long",
                       ACTION_CLIENT_MAX);
    if (o->session.n == 0 || o->session.n > ACTION_SESSION_MAX)
        return err_set(e, ERR_INVALID, "a session's name is 1 to %d letters long",
                       ACTION_SESSION_MAX);
    for (size_t i = 0; i < o->session.n; i++) {
        char c = o->session.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"\\/", c))
            return err_set(e, ERR_INVALID,
                           "a session's name is letters, digits and . _ - :");
    }
    return 0;
}

/* Cuts the long strings of an action that must run and is too long for the log. */
static void cut_long(struct buf *b)
{
    struct err e = ERR_INIT;
    size_t whole = b->n;
    if (whole <= LIMIT_EVENT_MAX - (64 << 10))
        return;
    struct json *copy = json_parse(buf_str(b), &e);
    event_shorten(copy, CUT_STRING / 4);
    buf_reset(b);
    json_print(b, copy);
    buf_truncate(b, b->n ? b->n - 1 : 0);
    buf_addf(b, ",\"cut\":%zu}", whole);
    json_free(copy);
}

/* Puts the line of an action, masked, into b. */
static int put_order(struct buf *b, struct action *a, bool must, struct err *e)
{
    a->unshown = a->kind->unshown && a->kind->unshown(a);
    if (put_action(b, a) < 0)
        return err_set(e, ERR_LIMIT, "an action is at most %d bytes long",
                       LIMIT_EVENT_MAX);
    if (must)
        cut_long(b);
    return log_mask(a->all, b, e);
}

static uint64_t write_action(struct action *a, bool must, struct err *e)
{
    group_write_ends(a->all);
    struct buf *b = log_begin(a->all, must ? 16 << 20 : 2 * LIMIT_EVENT_MAX);
    uint64_t id = 0;
    if (put_order(b, a, must, e) == 0)
        id = log_write(a->all, buf_str(b), e);
    log_done(a->all);
    return id;
}

/* Sets an error that lists the kinds. Returns -1. */
static int unknown_kind(struct str name, struct err *e)
{
    struct buf names = BUF_INIT(2048);
    const struct action_kind *k;
    for (size_t i = 0; (k = action_kind_at(i)); i++)
        buf_addf(&names, "%s%s", i ? ", " : "", k->name);
    err_set(e, ERR_INVALID, "the action \"%.*s\" is not defined. Available actions: %s",
            (int)(name.n < 60 ? name.n : 60), name.n ? name.p : "", buf_z(&names));
    buf_release(&names);
    return -1;
}

/* Sets key to a random one. Draws many at once: a call of the kernel takes 0.3 us. */
static void take_key(struct actions *all, char key[ACTION_KEY])
{
    if (all->nkeys == 0) {
        random_hex(all->keys, KEYS_DRAWN * ACTION_KEY);
        all->nkeys = KEYS_DRAWN;
    }
    memcpy(key, all->keys + --all->nkeys * (size_t)ACTION_KEY, ACTION_KEY);
}

/*
 * Checks the arguments and makes the action, of kind k. Takes message. Returns NULL and
 * sets *e.
 */
static struct action *checked(struct actions *all, const struct action_kind *k,
                              struct json *message, const struct action_order *o,
                              struct err *e)
{
    struct str name = json_str(message, "action", "");
    int rc = 0;
    if (!k)
        rc = unknown_kind(name, e);
    else if (!o->kind && !o->own)
        rc = action_check(k, json_get(message, "args"), e);
    if (rc < 0) {
        json_free(message);
        return NULL;
    }
    struct action *a = action_new(all, k, message,
                                  o->session.n ? o->session : STR("main"));
    a->source = o->source;
    a->own = o->own;
    if (o->own)
        a->in_turn = o->in_turn;
    if (o->client_id.n > 0)
        a->client_id = xstrndup(o->client_id.p, o->client_id.n);
    if (o->key)
        memcpy(a->key, o->key, ACTION_KEY);
    else
        take_key(all, a->key);
    if (k->prepare && !o->own && k->prepare(a, e) < 0) {
        action_discard(a);
        return NULL;
    }
    return a;
}

struct action *action_open(struct actions *all, struct json *message,
                           const struct action_order *o, struct err *e)
{
    const struct action_kind *k = o->kind ? o->kind : action_kind_of(message);
    struct action *a = checked(all, k, message, o, e);
    struct known *known = a && o->unique ? known_find(all, 'k', str_of(o->key)) : NULL;
    if (!a)
        return NULL;
    if (known) { /* its observation may be made again, but is in the log once */
        a->repeats = known->end > 0;
        a->known = known;
        action_enter(a, known->id);
        return a;
    }
    uint64_t id = write_action(a, o->must, e);
    if (!id && !o->must) {
        action_discard(a);
        return NULL;
    }
    if (!id)
        log_error("an action of %s runs without being in the log: %s", o->source,
                  e->text);
    *e = (struct err)ERR_INIT;
    all->stats.actions += id > 0;
    if (id && o->client_id.n > 0)
        a->known = known_add(all, 'c', o->client_id, id);
    else if (id && o->unique)
        a->known = known_add(all, 'k', str_of(o->key), id);
    action_enter(a, id);
    return a;
}

/*
 * Reads the order of a message. Returns 0; 1 if the action existed before, with *out set;
 * or -1 with *e set.
 */
static int take_order(struct actions *all, const struct json *m, struct action_order *o,
                      struct action_taken *out, struct err *e)
{
    if (read_order(all, m, o, e) < 0)
        return -1;
    struct known *k = o->client_id.n ? known_find(all, 'c', o->client_id) : NULL;
    if (k) {
        all->stats.repeated++;
        *out = (struct action_taken){.id = k->id, .end = k->end, .repeated = true};
        return 1;
    }
    if (all->stats.pending >= ACTIONS_MAX)
        return err_set(e, ERR_LIMIT, "%d actions have not ended yet; wait for some",
                       ACTIONS_MAX);
    return 0;
}

int actions_do(struct actions *all, struct json *message, const char *source,
               struct action_taken *out, struct err *e)
{
    struct action_order o;
    *out = (struct action_taken){0};
    int rc = take_order(all, message, &o, out, e);
    if (rc != 0) {
        json_free(message);
        return rc < 0 ? -1 : 0;
    }
    o.source = source;
    struct action *a = action_open(all, message, &o, e);
    if (!a)
        return -1;
    out->id = a->id;
    all->last_cause = 0;
    action_go(a);
    if (all->last_cause == out->id) { /* it has ended already */
        out->end = all->last_end ? all->last_end : out->id;
        action_forget(a);
    }
    return 0;
}

/* ---- many at once ---- */

void order_go(struct action *a, uint64_t id)
{
    struct actions *all = a->all;
    all->stats.actions++;
    if (a->client_id)
        a->known = known_add(all, 'c', str_of(a->client_id), id);
    action_enter(a, id);
    action_go(a);
    if (list_empty(&a->node)) /* it has ended already */
        action_forget(a);
}

void order_refused(struct action *a, const struct err *e)
{
    struct action_sender *s = a->all->sender;
    s->refused(s, str_of(a->client_id ? a->client_id : ""), e);
    action_discard(a);
}

/*
 * Adds a to the group, or else writes it to the log and begins it. Returns as
 * actions_send.
 */
static int join(struct action *a, struct action_taken *out, struct err *e)
{
    struct actions *all = a->all;
    struct buf *b = log_begin(all, 2 * LIMIT_EVENT_MAX);
    int rc = put_order(b, a, false, e);
    bool joined = rc == 0 && group_add(all, a, buf_str(b));
    log_done(all);
    if (joined)
        return 1;
    if (rc == 0) { /* a long line is a group of its own */
        actions_commit(all);
        out->id = write_action(a, false, e);
    }
    if (!out->id) {
        action_discard(a);
        return -1;
    }
    order_go(a, out->id);
    return 0;
}

/* Whether the action k must not be checked before those that wait have begun. */
static bool follows(const struct actions *all, const struct action_kind *k,
                    const struct json *message)
{
    return !k || k->foreign || all->joined.n == GROUP_MAX ||
           all->stats.pending + all->joined.n >= ACTIONS_MAX ||
           group_has(all, json_str(message, "client_id", ""));
}

int actions_send(struct actions *all, struct json *message, struct action_sender *s,
                 struct action_taken *out, struct err *e)
{
    const struct action_kind *k = action_kind_of(message);
    struct action_order o;
    ASSERT(all->joined.n == 0 || all->sender == s);
    all->sender = s;
    if (follows(all, k, message))
        actions_commit(all);
    if (!k || k->foreign)
        return actions_do(all, message, NULL, out, e);
    *out = (struct action_taken){0};
    int rc = take_order(all, message, &o, out, e);
    if (rc != 0) {
        json_free(message);
        return rc < 0 ? -1 : 0;
    }
    struct action *a = checked(all, k, message, &o, e);
    return a ? join(a, out, e) : -1;
}

int actions_check_end(const struct action_taken *t, struct err *e)
{
    if (t->end == 0 || t->end != t->id)
        return 0;
    return err_set(e, ERR_LIMIT,
                   "action %llu has ended and is not done again; there was no room in "
                   "the log for its observation",
                   (unsigned long long)t->id);
}

/* ---- after a restart ---- */

static const char interrupted[] =
    "The server was restarted before this action was done, so it was interrupted and "
    "not applied";
static const char halfway[] =
    "The server ended before this action was done; how much of it was done cannot be "
    "known";

static void fail_with(struct action *a, const char *text)
{
    struct err e = {.code = ERR_INVALID};
    snprintf(e.text, sizeof(e.text), "%s", text);
    action_fail(a, &e);
}

/* The messages of outside.c have the uid of the caller; those of clients do not. */
static bool is_outside(const char *source, const struct json *m)
{
    return source && (strcmp(source, ACTION_SOURCE_EXEC) == 0 ||
                      (strcmp(source, ACTION_SOURCE_V0) != 0 && json_has(m, "uid")));
}

void order_again(struct actions *all, uint64_t id, bool new_server)
{
    static const struct action_kind lost = {.name = "error", .foreign = true};
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX), client = BUF_INIT(ACTION_CLIENT_MAX);
    struct err e = ERR_INIT;
    struct event_members l;
    if (actions_line(all, id, &line) < 0) {
        buf_release(&line);
        return; /* too old to be kept */
    }
    struct json *m = json_parse_kept(buf_str(&line), &e);
    const char *source = log_source(buf_str(&line));
    if (source)
        json_free(json_take(m, "source"));
    event_members(buf_str(&line), &l);
    bool outside = is_outside(source, m);
    const struct action_kind *k = outside ? outside_kind(json_str(m, "action", ""))
                                          : action_kind_of(m);
    struct str session = json_str(m, "session", "main"), key = json_str(m, "key", "");
    if (session.n > ACTION_SESSION_MAX)
        session = STR("main");
    struct action *a = action_new(all, k ? k : &lost, m ? m : json_object(), session);
    a->source = source;
    if (key.n == ACTION_KEY)
        memcpy(a->key, key.p, ACTION_KEY);
    if (l.client_id.n > 0 && event_unquote(l.client_id, &client) == 0)
        a->client_id = xstrndup(client.p, client.n);
    a->known = client.n > 0            ? known_find(all, 'c', buf_str(&client))
               : a->source && !outside ? known_find(all, 'k', str_of(a->key))
                                       : NULL;
    action_enter(a, id);
    a->unshown = k && k->unshown && json_has(m, "cut");
    bool whole = !json_has(m, "masked") && !json_has(m, "cut");
    if (outside && k)
        outside_resume(a, new_server, whole);
    else if (new_server && k && !k->foreign && !k->at_once)
        fail_with(a, halfway);
    else if (new_server || !k || (!whole && !(k->begun && k->begun(a))))
        fail_with(a, interrupted);
    else if (k->prepare && k->prepare(a, &e) < 0)
        fail_with(a, interrupted);
    else
        action_resume(a);
    buf_release(&line);
    buf_release(&client);
}
