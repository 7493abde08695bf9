/* SPDX-License-Identifier: MIT */
/*
 * What the fence refused programs on the network (reach/supervisor.h): an event in the
 * log, a note to who waits for the command, and a count. The keeper has each of them
 * until it is here in the log; so a worker that dies between the two says one twice.
 */
#include "action/log.h"
#include "action/own.h"

#include "base/log.h"
#include "base/metrics.h"
#include "engine/part.h"
#include "shell/session.h"

#include <stdio.h>

enum { LEARNED_MAX = 1000 };

static uint64_t count;

/* "the fence refused curl (pid 7) a connection to x.org:443: no rule allows it; …" */
static void put_sentence(const struct json *o, struct buf *out)
{
    struct str what = json_str(o, "what", ""), program = json_str(o, "program", "");
    buf_addf(out, "the fence %s %.*s (pid %lld) ",
             json_bool(o, "learned", false) ? "would have refused" : "refused",
             STR_ARG(program), (long long)json_int(o, "pid", 0));
    if (str_eq(what, STR("connect")))
        buf_addz(out, "a connection to ");
    else if (str_eq(what, STR("send")))
        buf_addz(out, "a datagram to ");
    else if (str_eq(what, STR("secret")))
        buf_addz(out, "a request to ");
    else if (str_eq(what, STR("name")))
        buf_addz(out, "the name ");
    else if (str_eq(what, STR("listen")))
        buf_addz(out, "to listen on ");
    else if (str_eq(what, STR("write")))
        buf_addz(out, "to write in ");
    buf_addf(out, "%.*s: %.*s; allowed: %.*s", STR_ARG(json_str(o, "to", "")),
             STR_ARG(json_str(o, "why", "")), STR_ARG(json_str(o, "allowed", "")));
    if (json_has(o, "rule") && !json_bool(o, "learned", false))
        buf_addf(out, "; who runs the server can allow it: od fence allow \"%.*s\"",
                 STR_ARG(json_str(o, "rule", "")));
}

/* The session whose shell is above the program, or is it. */
static struct session *session_of(struct engine *en, const struct json *o)
{
    struct str key;
    void *value;
    int64_t pid = json_int(o, "pid", 0);
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));) {
        struct session *s = value;
        pid_t shell = session_pid(s);
        if (shell > 0 && shell == pid)
            return s;
        const struct json *x = json_first(json_get(o, "within"));
        for (; x; x = json_next(x)) {
            if (shell > 0 && json_int_value(x, 0) == shell)
                return s;
        }
    }
    return NULL;
}

static void log_it(struct engine *en, const struct json *o, struct str sentence,
                   const struct session *s)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    buf_addz(&b, "{\"observation\":\"refused\"");
    if (s) {
        buf_addz(&b, ",\"session\":");
        json_quote(&b, str_of(session_name(s)));
    }
    buf_addz(&b, ",\"content\":");
    json_quote(&b, sentence);
    buf_addz(&b, ",\"extras\":");
    json_print(&b, o);
    buf_addc(&b, '}');
    if (actions_tell(en->actions, &b, &e) < 0)
        log_warn("%.*s", STR_ARG(sentence));
    buf_release(&b);
}

/* The path of a line of write, without its quotes; empty: it is another one. */
static struct str path_of(struct str rule)
{
    if (!str_starts(rule, STR("write ")))
        return STR("");
    rule = str_sub(rule, 6, rule.n);
    return str_starts(rule, STR("\"")) ? str_sub(rule, 1, rule.n - 1) : rule;
}

/* Does the line allow what the other one does? */
static bool covers(struct str rule, struct str other)
{
    struct str a = path_of(rule), b = path_of(other);
    return str_eq(rule, other) ||
           (a.n > 0 && str_starts(b, a) && (b.n == a.n || b.p[a.n] == '/'));
}

/* Writes a line down that would have allowed what was done. */
static void learn(struct engine *en, struct str rule)
{
    struct json *list = json_get(en->fence, "learned"), *x, *next;
    struct buf state = BUF_INIT(LEARNED_MAX * 400);
    if (!en->fence || rule.n == 0)
        return;
    if (!list)
        json_put(en->fence, "learned", list = json_array());
    for (x = json_first(list); x; x = next) {
        next = json_next(x);
        if (covers(json_str_value(x, ""), rule))
            return;
        if (covers(rule, json_str_value(x, "")))
            json_drop(list, x);
    }
    if (json_count(list) >= LEARNED_MAX)
        return;
    json_push_str(list, rule);
    json_print(&state, list);
    keeper_client_put(en->keeper, STR("fence/learned"), buf_str(&state));
    buf_release(&state);
}

static void resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *o = json_parse(state, &e);
    char key[64];
    if (o) {
        struct buf sentence = BUF_INIT(2048);
        struct session *s = session_of(en, o);
        put_sentence(o, &sentence);
        log_it(en, o, buf_str(&sentence), s);
        bool learned = json_bool(o, "learned", false);
        if (learned)
            learn(en, json_str(o, "rule", ""));
        else
            count += 1 + (uint64_t)json_int(o, "more", 0);
        if (s && !learned)
            session_refused(s, buf_z(&sentence));
        buf_release(&sentence);
    }
    json_free(o);
    snprintf(key, sizeof(key), KEEP_REFUSED_KEY "%.*s", STR_ARG(name));
    keeper_client_put(en->keeper, str_of(key), STR(""));
}

static void metrics(const struct engine *en, struct buf *out)
{
    if (en->fence)
        metrics_counter(out, "fence_refusals_total",
                        "Connections, datagrams, names, ports and sockets that the fence "
                        "refused, since the worker began.",
                        count);
}

const struct part part_refused = {
    .key = KEEP_REFUSED_KEY, .resume = resume, .metrics = metrics};
