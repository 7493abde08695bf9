/* SPDX-License-Identifier: MIT */
/* Commands about sessions, the server and clients. */
#include "front/tmux/cmds.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "front/tmux/control.h"
#include "front/tmux/lang/format.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/spawn.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- new-session ---- */

/* Variables of update-environment, from the client to its session. */
static void update_env(struct tmux *t, const struct env *from, struct env *to)
{
    const char *pattern;
    for (unsigned i = 0; (pattern = opts_item(&t->global, "update-environment", i));
         i++) {
        bool found = false;
        for (size_t k = 0; k < from->n; k++) {
            const struct env_var *v = &from->v[k];
            if (!tmux_fnmatch(str_of(pattern), str_of(v->name), false) || !v->value)
                continue;
            found = true;
            env_set(to, str_of(v->name), str_of(v->value), false);
        }
        if (!found)
            env_set(to, str_of(pattern), (struct str){NULL, 0}, false);
    }
}

/* A side of -x or -y. Returns 0 if it is not given, -1 after an error message. */
static int side(struct tm_item *it, char flag, const char *what, int own)
{
    const char *text = args_get(&it->args, flag);
    const char *why;
    int64_t n;
    if (!text)
        return 0;
    if (strcmp(text, "-") == 0)
        return own;
    if (tmux_number(str_of(text), 1, USHRT_MAX, &n, &why) < 0) {
        tm_fail(it, "%s %s", what, why);
        return -1;
    }
    return (int)n;
}

/* The name, or prefix, and the group that -t asks for. Returns -1 after an error. */
static int find_group(struct tm_item *it, char **group, struct tm_session **with)
{
    const char *text = args_get(&it->args, 't');
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct tm_place at;
    *group = NULL;
    *with = NULL;
    if (!text)
        return 0;
    if (tm_target(it->c->t, &it->current, text, 's', 0, &at, &why) == 0)
        *with = at.s;
    buf_release(&why);
    if (*with && (*with)->group)
        *group = xstrdup((*with)->group);
    else if (*with)
        *group = xstrdup((*with)->name);
    else
        *group = session_clean_name(text);
    struct list *i, *tmp;
    list_each (i, tmp, &it->c->t->sessions) {
        struct tm_session *s = list_entry(i, struct tm_session, node);
        if (!*with && *group && s->group && strcmp(s->group, *group) == 0)
            *with = s;
    }
    if (!*group)
        tm_fail(it, "invalid session group: %s", text);
    return *group ? 0 : -1;
}

static char *auto_name(struct tmux *t, const char *prefix)
{
    for (;;) {
        char *name = NULL;
        struct buf b = BUF_INIT(TM_NAME_MAX * 2);
        buf_addf(&b, prefix ? "%s-%u" : "%s%u", prefix ? prefix : "", t->next_session);
        name = buf_take(&b);
        if (!session_by_name(t, str_of(name)))
            return name;
        free(name);
        t->next_session++;
    }
}

static bool opens_terminal(struct tm_item *it)
{
    struct tmux_client *c = it->c;
    const struct env_var *inside = env_find(&c->env, STR("TMUX"));
    if (inside && inside->value && inside->value[0]) {
        tm_fail(it, "sessions should be nested with care, unset $TMUX to force");
        return false;
    }
    if (!c->tty || !c->tty[0]) {
        tm_fail(it, "open terminal failed: not a terminal");
        return false;
    }
    return true;
}

/* Creates the session with its first window, or the windows of its group. */
static struct tm_session *make(struct tm_item *it, const char *name, const char *group,
                               struct tm_session *with, int cols, int rows)
{
    struct tmux *t = it->c->t;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct spawn_request q;
    const char *text;
    char size[48];
    char *own = name ? xstrdup(name) : auto_name(t, group), *cwd;
    text = args_get(&it->args, 'c');
    cwd = text ? tm_expand(it, text, &it->current) : xstrdup(spawn_cwd(it->c, NULL));
    struct tm_session *s = session_new(t, own, cwd);
    free(own);
    free(cwd);
    if (!args_has(&it->args, 'E'))
        update_env(t, &it->c->env, &s->env);
    for (unsigned i = 0; (text = args_each(&it->args, 'e', i)); i++) {
        const char *eq = strchr(text, '=');
        if (eq)
            env_set(&s->env, str_n(text, (size_t)(eq - text)), str_of(eq + 1), false);
    }
    if (cols || rows) {
        int c = 80, r = 24;
        window_default_size(t, NULL, &c, &r);
        snprintf(size, sizeof(size), "%dx%d", cols ? cols : c, rows ? rows : r);
        opts_set(&s->opts, "default-size", size, NULL);
    }
    if (group)
        s->group = xstrdup(group);
    if (with && !with->group)
        with->group = xstrdup(group);
    if (with && with != s) {
        session_sync_group(s);
    } else {
        spawn_read(&q, it, s);
        env_release(&q.env); /* they are the session's */
        q.cwd = NULL;
        q.name = args_get(&it->args, 'n');
        bool good = spawn_window(&q, -1, false, true, &why) != NULL;
        spawn_release(&q);
        if (!good) {
            tm_fail(it, "create window failed: %s", buf_z(&why));
            session_end(s);
            s = NULL;
        }
    }
    buf_release(&why);
    if (s)
        hook_run(t, "session-created", s, NULL, NULL);
    return s;
}

enum tm_result cmd_new_session(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    const struct tmux_args *a = &it->args;
    const char *text = args_get(a, 's');
    char *name = NULL, *group = NULL;
    struct tm_session *with = NULL, *s = NULL;
    bool detached = args_has(a, 'd') || !it->c->calls;
    enum tm_result r = TM_ERROR;
    if (args_has(a, 't') && (a->words > 0 || args_has(a, 'n')))
        return tm_fail(it, "command or window name given with target");
    if (text) {
        char *whole = tm_expand(it, text, &it->current);
        name = session_clean_name(whole);
        if (!name)
            tm_fail(it, "invalid session: %s", whole);
        free(whole);
        if (!name)
            return TM_ERROR;
    }
    struct tm_session *there = name ? session_by_name(t, str_of(name)) : NULL;
    int cols = 0, rows = 0;
    if (there && args_has(a, 'A')) {
        free(name);
        it->target = (struct tm_place){.s = there, .index = -1};
        target_complete(&it->target);
        return attach_to(it, there, args_has(a, 'D'), args_has(a, 'X'), false);
    }
    if (there)
        tm_fail(it, "duplicate session: %s", name);
    else if (find_group(it, &group, &with) == 0 &&
             (detached || it->c->control || it->c->session || opens_terminal(it)) &&
             (cols = side(it, 'x', "width", it->c->cols ? it->c->cols : 80)) >= 0 &&
             (rows = side(it, 'y', "height", it->c->rows ? it->c->rows : 24)) >= 0) {
        if (!detached && !cols && !rows && it->c->cols && !it->c->control) {
            cols = it->c->cols;
            rows = it->c->rows;
        }
        s = make(it, name, group, with, cols, rows);
    }
    if (s) {
        struct tm_place at = {.s = s, .index = -1};
        target_complete(&at);
        if (!detached)
            r = attach_to(it, s, false, false, false);
        else
            r = TM_DONE;
        if (args_has(a, 'P')) {
            const char *form = args_get(a, 'F');
            char *line = tm_expand(it, form ? form : "#{session_name}:", &at);
            tm_print(it, "%s", line);
            free(line);
        }
        request_current(it, &at);
    }
    free(name);
    free(group);
    return r;
}

enum tm_result cmd_has_session(struct tm_item *it)
{
    (void)it; /* its target was found */
    return TM_DONE;
}

enum tm_result cmd_start_server(struct tm_item *it)
{
    (void)it; /* it runs */
    return TM_DONE;
}

/* ---- ends and names ---- */

enum tm_result cmd_kill_session(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    struct tm_session *s = it->target.s;
    struct list *i, *tmp;
    if (args_has(&it->args, 'C')) {
        list_each (i, tmp, &s->links) {
            struct tm_link *l = list_entry(i, struct tm_link, node);
            l->bell = l->activity = l->silence = false;
        }
        state_changed(t);
        return TM_DONE;
    }
    if (!args_has(&it->args, 'a')) {
        session_end(s);
        return TM_DONE;
    }
    list_each (i, tmp, &t->sessions) {
        struct tm_session *o = list_entry(i, struct tm_session, node);
        if (o != s)
            session_end(o);
    }
    return TM_DONE;
}

/* The server's end answers it. */
enum tm_result cmd_kill_server(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    struct list *i, *tmp;
    list_each (i, tmp, &t->sessions)
        session_end(list_entry(i, struct tm_session, node));
    if (t->own && t->en->sessions.count == 0)
        front_tmux_end(t);
    return t->ending ? TM_WAIT : TM_DONE;
}

enum tm_result cmd_rename_session(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    struct tm_session *s = it->target.s;
    char *whole = tm_expand(it, it->args.word[0], &it->target);
    char *name = session_clean_name(whole);
    enum tm_result r = TM_DONE;
    if (!name)
        r = tm_fail(it, "invalid session: %s", whole);
    else if (strcmp(name, s->name) != 0 && session_by_name(t, str_of(name)))
        r = tm_fail(it, "duplicate session: %s", name);
    if (r == TM_DONE && strcmp(name, s->name) != 0) {
        free(s->name);
        s->name = name;
        name = NULL;
        state_changed(t);
        control_session_renamed(s);
        hook_run(t, "session-renamed", s, NULL, NULL);
    }
    free(whole);
    free(name);
    return r;
}

/* ---- clients ---- */

enum tm_result attach_to(struct tm_item *it, struct tm_session *s, bool others,
                         bool hangup, bool read_only)
{
    struct tmux_client *c = it->c;
    struct list *i, *tmp;
    (void)hangup;
    if (!c->calls)
        return TM_DONE;
    if (!c->control && !c->session && !opens_terminal(it))
        return TM_ERROR;
    list_each (i, tmp, &c->t->clients) {
        struct tmux_client *o = list_entry(i, struct tmux_client, node);
        if (others && o != c && o->session == s)
            client_detach(o);
    }
    const char *cwd = args_get(&it->args, 'c');
    if (cwd && it->cmd->run == cmd_attach_session) {
        char *path = tm_expand(it, cwd, &it->target);
        free(s->cwd);
        s->cwd = path;
    }
    c->read_only = read_only;
    control_attach(c, s);
    return TM_DONE;
}

enum tm_result cmd_attach_session(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    struct tm_place at = it->target;
    if (list_empty(&t->sessions))
        return tm_fail(it, "no sessions");
    const char *text = args_get(&it->args, 't');
    bool other = text && (strchr(text, ':') || strchr(text, '.'));
    char type = text && (text[strcspn(text, ":.")] || *text == '%') ? 'p' : 's';
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    (void)other;
    int r = tm_target(t, &it->current, text, type, CMD_PREFER_UNATTACHED, &at, &why);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    if (r < 0)
        return TM_ERROR;
    if (type == 'p' && at.p)
        window_use_pane(at.p);
    if (type == 'p' && at.l)
        link_use(at.l);
    it->target = at;
    return attach_to(it, at.s, args_has(&it->args, 'd'), args_has(&it->args, 'x'),
                     args_has(&it->args, 'r'));
}

enum tm_result cmd_detach_client(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    const char *name = args_get(&it->args, 't');
    struct list *i, *tmp;
    struct tmux_client *who = name             ? target_client(t, name)
                              : it->c->session ? it->c
                                               : NULL;
    if (args_has(&it->args, 's')) {
        struct tm_place at;
        struct buf why = BUF_INIT(TM_NAME_MAX * 2);
        int r = tm_target(t, &it->current, args_get(&it->args, 's'), 's', 0, &at, &why);
        struct tm_session *s = r == 0 ? at.s : NULL;
        if (r < 0)
            tm_fail(it, "%s", buf_z(&why));
        buf_release(&why);
        if (r < 0)
            return TM_ERROR;
        list_each (i, tmp, &t->clients) {
            struct tmux_client *o = list_entry(i, struct tmux_client, node);
            if (s && o->session == s)
                client_detach(o);
        }
        return TM_DONE;
    }
    if (name && !who)
        return tm_fail(it, "can't find client: %s", name);
    list_each (i, tmp, &t->clients) {
        struct tmux_client *o = list_entry(i, struct tmux_client, node);
        if (!who && o->session && !args_has(&it->args, 'a'))
            who = o;
    }
    if (!who)
        return tm_fail(it, "no current client");
    list_each (i, tmp, &t->clients) {
        struct tmux_client *o = list_entry(i, struct tmux_client, node);
        if (o->session && (args_has(&it->args, 'a') ? o != who : o == who))
            client_detach(o);
    }
    return TM_DONE;
}

enum tm_result cmd_switch_client(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    const char *name = args_get(&it->args, 'c');
    struct list *i, *tmp;
    struct tmux_client *who = name             ? target_client(t, name)
                              : it->c->session ? it->c
                                               : NULL;
    if (name && !who)
        return tm_fail(it, "can't find client: %s", name);
    list_each (i, tmp, &t->clients) {
        struct tmux_client *o = list_entry(i, struct tmux_client, node);
        if (!who && o->session)
            who = o;
    }
    if (!who)
        return tm_fail(it, "no current client");
    control_attach(who, it->target.s);
    return TM_DONE;
}
