/* SPDX-License-Identifier: MIT */
#include "front/tmux/spawn.h"

#include "base/xalloc.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/vars.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *spawn_cwd(const struct tmux_client *c, const struct tm_session *s)
{
    const struct passwd *pw;
    if (c && !c->session && c->cwd && c->cwd[0])
        return c->cwd;
    if (s && s->cwd)
        return s->cwd;
    pw = getpwuid(getuid());
    return pw && pw->pw_dir ? pw->pw_dir : "/";
}

void spawn_read(struct spawn_request *q, struct tm_item *it, struct tm_session *s)
{
    const char *text;
    *q = (struct spawn_request){.it = it,
                                .s = s,
                                .cwd = args_get(&it->args, 'c'),
                                .words = it->args.words,
                                .word = it->args.word};
    for (unsigned i = 0; (text = args_each(&it->args, 'e', i)); i++) {
        const char *eq = strchr(text, '=');
        if (eq)
            env_set(&q->env, str_n(text, (size_t)(eq - text)), str_of(eq + 1), false);
    }
}

void spawn_release(struct spawn_request *q) { env_release(&q->env); }

static bool usable_shell(const char *path)
{
    return path && *path == '/' && access(path, X_OK) == 0;
}

static const char *shell_of(const struct tm_session *s)
{
    const char *wanted = opts_text(&s->opts, "default-shell");
    return usable_shell(wanted) ? wanted : "/bin/sh";
}

int spawn_pane(struct spawn_request *q, struct tm_pane *p, struct buf *why)
{
    struct tm_item *it = q->it;
    struct tm_place at = {.s = q->s, .w = p->w, .p = p, .index = -1};
    struct env env = {0};
    struct err e = ERR_INIT;
    char call[LIMIT_ID + 1];
    const char *command = opts_text(&q->s->opts, "default-command");
    at.l = link_of(q->s, p->w);
    if (q->cwd) {
        free(p->cwd);
        p->cwd = tm_expand(it, q->cwd, &at);
        if (p->cwd[0] != '/' && p->cwd[0]) {
            struct buf whole = BUF_INIT(TM_NAME_MAX);
            buf_addf(&whole, "%s/%s", spawn_cwd(it->c, q->s), p->cwd);
            free(p->cwd);
            p->cwd = buf_take(&whole);
        }
    } else if (!q->respawn || !p->cwd) {
        free(p->cwd);
        p->cwd = xstrdup(spawn_cwd(it->c, q->s));
    }
    free(p->shell);
    p->shell = xstrdup(shell_of(q->s));
    if (q->words > 0 || !q->respawn || !p->argv) {
        json_free(p->argv);
        p->argv = json_array();
        for (int i = 0; i < q->words; i++)
            json_push_str(p->argv, str_of(q->word[i]));
        if (q->words == 0 && *command)
            json_push_str(p->argv, str_of(command));
    }
    const struct env_var *path = env_find(&it->c->env, STR("PATH"));
    if (!it->c->session && path && path->value)
        env_set(&env, STR("PATH"), str_of(path->value), false);
    env_copy(&env, &q->env);
    tm_call_id(it, call);
    int r = pane_spawn(p, q->s, &env, call, &e);
    env_release(&env);
    if (r < 0)
        buf_addz(why, e.text);
    return r;
}

/* A pane whose history has the limit of the session. */
struct tm_pane *spawn_make_pane(struct tm_window *w, const struct tm_session *s, int cols,
                                int rows)
{
    struct tm_pane *p = pane_new(w, w->t->next_pane++, cols, rows);
    int64_t limit = opts_number(&s->opts, "history-limit");
    p->limit = limit < 0 ? 0 : (uint64_t)limit;
    return p;
}

struct tm_link *spawn_window(struct spawn_request *q, int index, bool kill, bool select,
                             struct buf *why)
{
    struct tmux *t = q->s->t;
    struct tm_session *s = q->s;
    struct tm_link *there = index >= 0 ? link_by_index(s, index) : NULL;
    int cols, rows;
    if (there && !kill) {
        buf_addf(why, "index %d in use", index);
        return NULL;
    }
    window_default_size(t, s, &cols, &rows);
    struct tm_window *w = window_new(t, cols, rows);
    struct tm_pane *p = spawn_make_pane(w, s, cols, rows);
    window_put_pane(w, p, NULL, false);
    tmux_layout_init(&w->layout, (unsigned)cols, (unsigned)rows, p->id);
    if (spawn_pane(q, p, why) < 0) {
        window_end(w);
        return NULL;
    }
    if (there && there == s->link)
        select = true;
    struct tm_link *l = NULL;
    if (there) {
        /* The session must not end with its only window. */
        l = link_new(s, w, -1);
        link_end(there);
        link_move(l, index);
    } else {
        l = link_new(s, w, index);
    }
    struct tm_place at = {.s = s, .l = l, .w = w, .p = p, .index = l->index};
    if (q->name) {
        char *name = tm_expand(q->it, q->name, &at);
        free(w->name);
        w->name = name;
        opts_set(&w->opts, "automatic-rename", "off", NULL);
    } else {
        struct buf name = BUF_INIT(TM_NAME_MAX);
        pane_default_name(p, &name);
        free(w->name);
        w->name = buf_take(&name);
    }
    hook_run(t, "window-linked", s, w, NULL);
    if (select)
        link_use(l);
    return l;
}
