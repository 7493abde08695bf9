/* SPDX-License-Identifier: MIT */
/*
 * Sessions by the names that clients give them. Each is a session of the engine; this
 * file adds what the engine does not know. The keeper stores it as "swerex/ENGINE", so
 * that the next worker knows the names.
 */
#include "front/swerex/own.h"

#include "base/log.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "front/model/model.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, COLS = 80 };

static const char prefix[] = "swerex/";

/* Set before bash reads the user's files: a terminal without sequences. */
static const char variables[] = "TERM=dumb";

static const struct model_field create_fields[] = {
    {.name = "session", .type = MODEL_STRING, .about = "Its name"},
    {.name = "session_type", .type = MODEL_LITERAL, .choices = "bash", .required = true},
    {.name = "startup_source", .type = MODEL_STRINGS, .about = "Files to be sourced"},
    {.name = "startup_timeout", .type = MODEL_NUMBER, .about = "For its first prompt"},
    {.name = NULL}};
static const struct model create_model = {.fields = create_fields};
static const struct swerex_tag create_tags[] = {{"bash", &create_model}, {NULL, NULL}};

static const struct model_field close_fields[] = {
    {.name = "session", .type = MODEL_STRING},
    {.name = "session_type", .type = MODEL_LITERAL, .choices = "bash", .required = true},
    {.name = NULL}};
static const struct model close_model = {.fields = close_fields};
static const struct swerex_tag close_tags[] = {{"bash", &close_model}, {NULL, NULL}};

/* ---- the list ---- */

static struct swerex_session *find(const struct swerex *w, struct str name)
{
    const struct list *it;
    for (it = w->sessions.next; it != &w->sessions; it = it->next) {
        struct swerex_session *s = list_entry(it, struct swerex_session, node);
        if (str_eq(name, str_of(s->name)))
            return s;
    }
    return NULL;
}

struct session *swerex_shell(const struct swerex_session *s)
{
    return session_find(s->w->en, str_of(s->engine));
}

static struct swerex_session *add(struct swerex *w, struct str name)
{
    struct swerex_session *s = xnew(struct swerex_session);
    s->w = w;
    s->name = xstrndup(name.p ? name.p : "", name.n);
    list_add_tail(&w->sessions, &s->node);
    w->nsessions++;
    return s;
}

static void forget(struct swerex_session *s)
{
    state_drop(s->w->en, prefix, s->engine);
    list_del(&s->node);
    s->w->nsessions--;
    free(s->name);
    free(s->said);
    free(s);
}

static const struct state_field kept[] = {
    STATE_ROW(struct swerex_session, name),
    STATE_ROW(struct swerex_session, closed),
    STATE_ROW(struct swerex_session, made_by),
    STATE_ROW(struct swerex_session, command),
    STATE_ROW(struct swerex_session, cursor),
    STATE_ROW(struct swerex_session, interactive),
    STATE_ROW(struct swerex_session, said),
    {.name = NULL}};

void swerex_session_keep(const struct swerex_session *s)
{
    state_keep(s->w->en, prefix, s->engine, kept, s);
}

static void take_up(void *arg, struct str engine, struct json *j)
{
    struct swerex_session *s = add(arg, STR(""));
    snprintf(s->engine, sizeof(s->engine), "%.*s", STR_ARG(engine));
    s->ready = true;
    state_read(kept, s, j);
}

void swerex_sessions_load(struct swerex *w) { state_each(w->en, prefix, take_up, w); }

struct swerex_session *swerex_session_of(struct req *r, struct str name)
{
    struct swerex *w = req_arg(r);
    struct swerex_session *s = find(w, name);
    struct buf quoted = BUF_INIT(64 << 10);
    if (s && !s->closed)
        return s;
    swerex_put_repr(&quoted, str_sub(name, 0, SWEREX_NAME_MAX));
    if (s)
        swerex_raisef(r, "builtins.RuntimeError", "shell not initialized");
    else
        swerex_raisef(r, SWEREX_CLASS "SessionDoesNotExistError",
                      "session %s does not exist", buf_z(&quoted));
    buf_release(&quoted);
    return NULL;
}

/* ---- create ---- */

/* Does the engine accept this name? */
static bool is_plain(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && !(c == '_' || (i > 0 && (c == '-' || c == '.'))))
            return false;
    }
    return name.n > 0 && name.n <= ACTION_SESSION_MAX;
}

/* Sets the engine's name: the client's, if the engine accepts it and it is free. */
static void name_engine(struct swerex_session *s)
{
    struct swerex *w = s->w;
    if (is_plain(str_of(s->name)) && !session_find(w->en, str_of(s->name))) {
        memcpy(s->engine, s->name, strlen(s->name) + 1);
        return;
    }
    do {
        snprintf(s->engine, sizeof(s->engine), "swerex-%llu",
                 (unsigned long long)++w->next_session);
    } while (session_find(w->en, str_of(s->engine)));
}

/* Appends a path for `source`; without quotes, which would keep bash from expanding ~. */
static void put_source(struct buf *out, struct str path)
{
    bool plain = path.n > 0;
    for (size_t i = 0; i < path.n; i++)
        plain = plain &&
                (isalnum((unsigned char)path.p[i]) || strchr("/._-~+@%,:$", path.p[i]));
    buf_addz(out, out->n ? " ; source " : "source ");
    if (plain)
        buf_adds(out, path);
    else
        words_quote(out, path);
}

static void put_command(struct buf *out, const struct json *sources)
{
    for (const struct json *v = json_first(sources); v; v = json_next(v))
        put_source(out, json_str_value(v, ""));
    if (out->n == 0)
        buf_addc(out, ':'); /* a command that does nothing; its end shows the first
                             * prompt */
}

/* Called when the sandbox is ready, with its user and directory. */
static void on_ready(struct sandbox_wait *wait)
{
    struct swerex_run *x = container_of(wait, struct swerex_run, ready);
    struct engine *en = x->w->en;
    struct err e = ERR_INIT;
    struct session_opts o = {
        .cwd = str_of(sandbox_cwd(en->sandbox, str_of(x->s->engine))),
        .user = sandbox_user(en->sandbox),
        .env = str_n(variables, sizeof(variables)),
        .rows = ROWS,
        .cols = COLS};
    x->awaits = false;
    if (session_get(en, str_of(x->s->engine), &o, &e))
        swerex_run_start(x);
    else
        swerex_created(x, &e, false);
}

static void end_shell(struct swerex_session *s)
{
    struct session *shell = swerex_shell(s);
    if (shell)
        session_kill(shell, SIGHUP, 0, true, NULL, NULL);
}

static void answer_created(struct swerex_run *x)
{
    struct buf b = BUF_INIT(6 * (size_t)SWEREX_TEXT_MAX + 200),
               text = BUF_INIT(SWEREX_TEXT_MAX + 200);
    struct swerex_text t;
    struct session *shell = swerex_shell(x->s);
    struct command_seen seen;
    char id[LIMIT_ID + 1];
    swerex_text_init(&t, x->w, x->s->engine);
    snprintf(id, sizeof(id), "%s", shell ? session_call(shell, STR("")) : "");
    if (shell && session_command(shell, id, &seen) && seen.ended)
        swerex_text_range(&t, seen.from, seen.to);
    swerex_text_all(&t, &text);
    buf_addz(&b, "{\"output\":\"");
    swerex_put_json(&b, buf_str(&text));
    buf_addz(&b, "\",\"session_type\":\"bash\"}");
    swerex_text_release(&t);
    buf_release(&text);
    swerex_answer(x->req, 200, &b);
}

void swerex_created(struct swerex_run *x, const struct err *e, bool late)
{
    struct swerex_session *s = x->s;
    struct req *r = x->req;
    if (!e && !late) {
        s->ready = true;
        swerex_session_keep(s);
        if (r)
            answer_created(x);
        swerex_run_free(x);
        return;
    }
    /* The name is free again. */
    if (r && late)
        swerex_raisef(r, "pexpect.exceptions.TIMEOUT",
                      "the session did not show its prompt within its startup_timeout; "
                      "a longer one gives its startup files more time");
    else if (r)
        swerex_raise_err(r, e);
    swerex_run_free(x);
    end_shell(s);
    forget(s);
}

/* Drops the session that was closed first, to make room. */
static void forget_closed(struct swerex *w)
{
    struct list *it, *tmp;
    list_each (it, tmp, &w->sessions) {
        struct swerex_session *s = list_entry(it, struct swerex_session, node);
        if (s->closed) {
            forget(s);
            return;
        }
    }
}

static void create(struct req *r, const struct json *j)
{
    struct swerex *w = req_arg(r);
    struct str name = json_str(j, "session", "default");
    struct swerex_session *s = find(w, name);
    char id[SWEREX_ID_MAX + 1];
    swerex_id(r, id);
    if (s && !s->closed && s->ready && id[0] && strcmp(s->made_by, id) == 0) {
        swerex_answer_z(r, "{\"output\":\"\",\"session_type\":\"bash\"}");
        return;
    }
    if (s && !s->closed) {
        swerex_raisef(r, SWEREX_CLASS "SessionExistsError", "session %s already exists",
                      s->name);
        return;
    }
    if (w->nsessions >= SWEREX_SESSIONS_MAX)
        forget_closed(w);
    if (name.n > SWEREX_NAME_MAX || w->nsessions >= SWEREX_SESSIONS_MAX) {
        swerex_raisef(r, "builtins.OSError",
                      name.n > SWEREX_NAME_MAX
                          ? "a session's name is at most %d bytes long"
                          : "there are %d sessions already",
                      name.n > SWEREX_NAME_MAX ? SWEREX_NAME_MAX : SWEREX_SESSIONS_MAX);
        return;
    }
    if (s)
        forget(s);
    s = add(w, name);
    name_engine(s);
    memcpy(s->made_by, id, sizeof(id));
    swerex_session_keep(s);
    struct swerex_run *x = swerex_run_new(r, s, RUN_CREATE);
    x->timeout = json_num(j, "startup_timeout", 1.0);
    x->timeout = x->timeout < 0                      ? 0
                 : x->timeout < SWEREX_TIMEOUT_MAX_S ? x->timeout
                                                     : SWEREX_TIMEOUT_MAX_S;
    put_command(&x->command, json_get(j, "startup_source"));
    x->awaits = true;
    sandbox_await(w->en->sandbox, &x->ready, on_ready);
}

void swerex_create_session(struct req *r)
{
    size_t which;
    struct json *j = swerex_tagged(r, "session_type", create_tags, &which);
    if (j)
        create(r, j);
    json_free(j);
}

/* ---- close ---- */

void swerex_close_session(struct req *r)
{
    size_t which;
    struct swerex *w = req_arg(r);
    struct json *j = swerex_tagged(r, "session_type", close_tags, &which);
    struct swerex_session *s = j ? find(w, json_str(j, "session", "default")) : NULL;
    if (j && !s) {
        swerex_session_of(r, json_str(j, "session", "default"));
    } else if (j) {
        swerex_runs_end(w, s, "builtins.RuntimeError", "the session was closed");
        end_shell(s);
        forget(s);
        swerex_answer_z(r, "{\"session_type\":\"bash\"}");
    }
    json_free(j);
}

/* The names stay, so that a later request gets the reason for its failure. */
void swerex_close(struct req *r)
{
    struct swerex *w = req_arg(r);
    struct list *it, *tmp;
    if (swerex_repeats(r))
        return;
    list_each (it, tmp, &w->sessions) {
        struct swerex_session *s = list_entry(it, struct swerex_session, node);
        if (s->closed)
            continue;
        swerex_runs_end(w, s, "builtins.RuntimeError", "the server was closed");
        end_shell(s);
        s->closed = true;
        swerex_session_keep(s);
    }
    swerex_answer_z(r, "{}");
}
