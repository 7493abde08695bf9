/* SPDX-License-Identifier: MIT */
/*
 * Skills over the local socket: a call's text is sent as its output, with offsets, at the
 * connection's pace; the result follows.
 */
#include "front/local/own.h"

#include "base/limits.h"
#include "base/xalloc.h"
#include "ipc/frame.h"
#include "skill/skill.h"

#include <stdlib.h>

struct skill_ask {
    struct conn *c;
    struct skill_run *run; /* borrowed; NULL: it has ended */
    char token[LIMIT_ID + 1];
    char session[256];
    struct buf text;
    size_t sent;
    bool failed;
};

static void ask_free(struct skill_ask *a)
{
    buf_release(&a->text);
    free(a);
}

static void send_text(struct skill_ask *a)
{
    struct conn *c = a->c;
    if (!local_send_text(c, buf_str(&a->text), &a->sent))
        return;
    struct json *j = local_ok();
    json_put_bool(j, "failed", a->failed);
    c->skill = NULL;
    ask_free(a);
    local_send_result(c, j);
}

void local_skill_room(struct conn *c)
{
    if (!c->skill->run)
        send_text(c->skill);
}

void local_skill_drop(struct conn *c)
{
    struct skill_ask *a = c->skill;
    c->skill = NULL;
    if (a->run)
        skill_leave(a->run);
    local_end_left(c);
    ask_free(a);
}

static void end_action(struct skill_ask *a)
{
    struct json *extras = json_object();
    struct buf cut = BUF_INIT(LIMIT_EVENT_MAX);
    json_put_bool(extras, "failed", a->failed);
    local_cut(&cut, buf_str(&a->text));
    local_end(a->c, buf_str(&cut), extras);
    buf_release(&cut);
}

static void on_done(void *arg, const struct skill_result *result)
{
    struct skill_ask *a = arg;
    a->run = NULL;
    a->failed = result->failed;
    buf_adds(&a->text, result->text);
    end_action(a);
    send_text(a);
}

static void on_cancel(void *owner)
{
    struct conn *c = owner;
    struct skill_ask *a = c->skill;
    skill_cancel(a->run);
    c->skill = NULL;
    ask_free(a);
    local_cancelled(c, "The call was cancelled");
}

/* Copies the id if it can be part of a file's name (file/files.h). */
static void take_token(struct str id, char out[LIMIT_ID + 1])
{
    bool good = id.n > 0 && id.n <= LIMIT_ID;
    for (size_t i = 0; good && i < id.n; i++)
        good = strchr("0123456789abcdefghijklmnopqrstuvwxyz", id.p[i]) && id.p[i];
    if (good)
        memcpy(out, id.p, id.n);
}

static void open_skill(struct conn *c, const struct json *q, struct str skill,
                       struct str session, const struct json *args)
{
    static const char *const names[] = {"cwd", "lint", NULL};
    struct json *logged = json_object();
    struct buf name = BUF_INIT(64), text = BUF_INIT(2 * LIMIT_EVENT_MAX);
    json_put_str(logged, "name", skill);
    if (json_print(&text, args) == 0)
        outside_put_json(c->en->actions, logged, "args", args, buf_str(&text));
    local_put(logged, q, names);
    buf_adds(&name, str_sub(session, 0, ACTION_SESSION_MAX));
    local_open(c, "skill", q, buf_z(&name), logged);
    buf_release(&name);
    buf_release(&text);
}

int local_skill(struct conn *c, const struct json *q, struct err *e)
{
    struct str name = json_str(q, "skill", ""), session = json_str(q, "session", "main");
    struct str cwd = json_str(q, "cwd", ""), home = json_str(q, "home", "");
    const struct skill *s = skill_find(name);
    struct json *none = json_object();
    const struct json *args = json_get(q, "args");
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no skill %.*s; %s lists them",
                name.n > 60 ? 60 : (int)name.n, name.p, local_command(c, "od skills"));
    else if (session.n == 0 || session.n >= sizeof(c->skill->session))
        err_set(e, ERR_INVALID, "a session's name has 1 to 255 bytes");
    else {
        struct skill_ask *a = xnew(struct skill_ask);
        a->c = c;
        buf_init(&a->text, SKILL_TEXT_MAX);
        memcpy(a->session, session.p, session.n);
        take_token(json_str(q, "id", ""), a->token);
        struct skill_call k = {.skill = s,
                               .args = args ? args : none,
                               .cwd = cwd.n && cwd.p[0] == '/' ? cwd.p : c->en->home,
                               .home = home.n ? home.p : NULL,
                               .token = a->token[0] ? a->token : NULL,
                               .edits = edits_of(c->en),
                               .windows = skill_windows_of(c->en),
                               .session = a->session,
                               .engine = c->en,
                               .lint = json_bool(q, "lint", false),
                               .loop = c->en->loop};
        open_skill(c, q, name, session, k.args);
        a->run = skill_start(&k, on_done, a, e);
        if (a->run) {
            c->skill = a;
            local_on_cancel(c, on_cancel);
        } else {
            local_end_failed(c, e);
            ask_free(a);
        }
    }
    json_free(none);
    return c->skill ? 0 : -1;
}
