/* SPDX-License-Identifier: MIT */
/*
 * Browsers over the local socket. The result is a line of JSON, which is sent as output
 * with offsets, at the connection's pace. A client that lost its connection repeats the
 * request with the same id and gets the rest.
 */
#include "front/local/own.h"

#include "action/follow.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/browsing.h"
#include "ipc/frame.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 128 << 20, SHORT_MAX = 4096, VISIT_TEXT_MAX = 64 << 10 };

struct browse_ask {
    struct conn *c;
    struct browsing_call *call; /* borrowed; NULL: it has ended */
    struct browsing *b;         /* borrowed; valid while call is */
    char id[LIMIT_ID + 1];
    struct buf line;
    size_t sent;
    struct err e;
};

static void ask_free(struct browse_ask *a)
{
    buf_release(&a->line);
    free(a);
}

static void send_line(struct browse_ask *a)
{
    struct conn *c = a->c;
    if (!local_send_text(c, buf_str(&a->line), &a->sent))
        return;
    struct err e = a->e;
    c->browse = NULL;
    ask_free(a);
    if (e.code)
        local_send_error(c, &e);
    else
        local_send_result(c, local_ok());
}

void local_browse_room(struct conn *c)
{
    if (!c->browse->call)
        send_line(c->browse);
}

void local_browse_drop(struct conn *c)
{
    struct browse_ask *a = c->browse;
    struct action *act = local_action(c);
    bool runs = a->call && browsing_runs(a->call);
    c->browse = NULL;
    if (a->call)
        browsing_drop(a->call);
    if (act && runs && a->id[0])
        follow_browse(act, a->b, a->id);
    else
        local_end_left(c);
    ask_free(a);
}

void local_browse_say(struct conn *c, const struct json *j)
{
    if (c->browse->call && json_bool(j, "cancel", false))
        browsing_cancel(c->browse->call);
}

/*
 * Ends the action with the short members of the result. Only the caller gets the others.
 */
static void end_action(struct browse_ask *a, const struct json *answer)
{
    struct json *extras = json_object();
    for (struct json *v = json_first(answer); v; v = json_next(v)) {
        bool longer = json_is_string(v) && json_str_value(v, "").n > SHORT_MAX;
        if (!longer && !json_is_object(v) && !json_is_array(v))
            json_put(extras, json_name(v), json_copy(v));
    }
    if (a->e.code) {
        json_free(extras);
        local_end_failed(a->c, &a->e);
    } else {
        local_end(a->c, STR(""), extras);
    }
}

static void on_done(void *owner, const struct json *answer, const struct err *e)
{
    struct browse_ask *a = owner;
    a->call = NULL;
    if (answer && json_print(&a->line, answer) < 0)
        err_set(&a->e, ERR_LIMIT, "the result is longer than %d MiB", ANSWER_MAX >> 20);
    else if (!answer)
        a->e = *e;
    end_action(a, answer);
    send_line(a);
}

static void on_cancel(void *owner)
{
    const struct conn *c = owner;
    browsing_cancel(c->browse->call);
}

/* Ids are compared in the form that they have in JSON, so none needs an escape. */
static int take_id(struct str given, char id[LIMIT_ID + 1], struct err *e)
{
    id[0] = 0;
    for (size_t i = 0; i < given.n; i++) {
        if (given.n > LIMIT_ID || given.p[i] < '!' || given.p[i] > '~' ||
            strchr("\"\\/", given.p[i]))
            return err_set(e, ERR_INVALID,
                           "an id has at most %d letters, no spaces, quotes and slashes",
                           LIMIT_ID);
        id[i] = given.p[i];
        id[i + 1] = 0;
    }
    return 0;
}

/* Opens the action. If another connection opened it before, this one will end it. */
static void open_browse(struct conn *c, const struct json *q, struct str session,
                        const struct json *what)
{
    static const char *const names[] = {"mode", "downloads", "cdp", "timeout_ms", NULL};
    struct json *args = json_object();
    struct buf text = BUF_INIT(LIMIT_EVENT_MAX), name = BUF_INIT(64);
    local_put(args, q, names);
    if (json_print(&text, what) == 0)
        outside_put_json(c->en->actions, args, "what", what, buf_str(&text));
    buf_adds(&name, str_sub(session, 0, ACTION_SESSION_MAX));
    enum outside_state state = local_open(c, "browse", q, buf_z(&name), args);
    struct action *act = local_action(c);
    if (act && state == OUTSIDE_AGAIN)
        follow_stop(act);
    buf_release(&text);
    buf_release(&name);
}

int local_browse(struct conn *c, const struct json *q, struct err *e)
{
    struct browsing_opts o = {.mode = json_str(q, "mode", ""),
                              .downloads = json_str(q, "downloads", ""),
                              .cdp = json_str(q, "cdp", ""),
                              .cwd = json_str(q, "cwd", ""),
                              .user = json_str(q, "user", "")};
    char id[LIMIT_ID + 1];
    struct browsing_ask ask = {.id = id,
                               .what = json_get(q, "what"),
                               .timeout_ms = json_int(q, "timeout_ms", 0)};
    if (take_id(json_str(q, "id", ""), id, e) < 0)
        return -1;
    if (!json_is_object(ask.what))
        return err_set(e, ERR_INVALID, "browse needs the object `what`");
    if (json_has(ask.what, "id"))
        return err_set(e, ERR_INVALID, "id is a member of the request, not of `what`");
    struct str name = json_str(q, "session", "main");
    struct browsing *b = browsing_open(c->en, name, &o, e);
    if (!b)
        return -1;
    const char *other = browsing_differs(b, &o);
    if (other)
        return err_set(e, ERR_EXISTS,
                       "%s is for a browser that begins, and %.*s is open already "
                       "without it: %s --session %.*s --close ends that one",
                       other, STR_ARG(name), local_command(c, "od browse"),
                       STR_ARG(name));
    open_browse(c, q, name, ask.what);
    struct browse_ask *a = xnew(struct browse_ask);
    a->c = c;
    a->b = b;
    memcpy(a->id, id, sizeof(a->id));
    buf_init(&a->line, ANSWER_MAX);
    a->call = browsing_ask(b, &ask, on_done, a, e);
    if (!a->call) {
        local_end_failed(c, e);
        ask_free(a);
        return -1;
    }
    c->browse = a;
    local_on_cancel(c, on_cancel);
    local_browse_say(c, q);
    return 0;
}

/* ---- visits that a client makes by itself ---- */

void local_visit_drop(struct conn *c)
{
    c->visiting = false;
    local_end_left(c);
}

/*
 * Opens the action of a visit, which ends with the connection at the latest; or, with the
 * result, ends it. A visit that began before this server did is in the log all the same.
 */
int local_visit(struct conn *c, const struct json *q, struct err *e)
{
    static const char *const names[] = {"cwd", NULL};
    static const char *const strings[] = {"url", "title", "error", NULL};
    struct actions *all = c->en->actions;
    const struct json *result = json_get(q, "result");
    struct str url = json_str(q, "url", ""), actions = json_str(q, "actions", "");
    struct json *args = json_object(), *named = json_object(), *extras = json_object();
    char id[LIMIT_ID + 1];
    if (take_id(json_str(q, "visit", ""), id, e) < 0 ||
        (!id[0] && err_set(e, ERR_INVALID, "visit needs the member visit, its id") < 0)) {
        json_free(args);
        json_free(named);
        json_free(extras);
        return -1;
    }
    local_put(args, q, names);
    outside_put_text(all, args, "url", str_sub(url, 0, VISIT_TEXT_MAX));
    if (actions.n && !json_has(args, "bytes"))
        json_put_str(args, "actions", str_sub(actions, 0, VISIT_TEXT_MAX));
    json_put_z(named, "id", id);
    enum outside_state state = local_open(c, "browse", named, "", args);
    json_free(named);
    const struct action *a = local_action(c);
    if (state == OUTSIDE_OVER || (a && strcmp(a->kind->name, "browse") != 0)) {
        json_free(extras);
        c->act[0] = 0;
        return err_set(e, ERR_GONE, "this visit has ended");
    }
    c->visiting = !result;
    for (size_t i = 0; strings[i]; i++) {
        struct str s = json_str(result, strings[i], "");
        if (result)
            json_put_str(extras, strings[i], str_sub(s, 0, utf8_cut(s, SHORT_MAX)));
    }
    if (result) {
        json_put_int(extras, "status", json_int(result, "status", 0));
        local_end(c, STR(""), extras);
        local_send_result(c, local_ok());
    } else {
        json_free(extras);
    }
    return 0;
}

int local_browsers(struct conn *c, const struct json *q, struct err *e)
{
    struct json *r = local_ok(), *list = json_array();
    struct str key;
    void *value;
    (void)q;
    (void)e;
    for (void *it = NULL; (it = map_next(&c->en->browsers, it, &key, &value));)
        json_push(list, browsing_json(value));
    json_put(r, "browsers", list);
    local_send_result(c, r);
    return 0;
}

int local_browser(struct conn *c, const struct json *q, struct err *e)
{
    struct str name = json_str(q, "session", "main");
    struct browsing *b = browsing_lookup(c->en, name);
    if (!b)
        return err_set(e, ERR_NOTFOUND, "there is no browser %.*s",
                       name.n > 60 ? 60 : (int)name.n, name.p);
    if (!str_eq(json_str(q, "verb", ""), STR("close")))
        return err_set(e, ERR_INVALID, "verb is close");
    struct buf session = BUF_INIT(64);
    struct json *args = json_object();
    json_put_z(args, "verb", "close");
    buf_adds(&session, str_sub(name, 0, ACTION_SESSION_MAX));
    enum outside_state state = local_open(c, "browser", q, buf_z(&session), args);
    buf_release(&session);
    if (state == OUTSIDE_OVER)
        return local_again(c, e);
    browsing_close(b);
    return local_done(c, 0, NULL, e);
}
