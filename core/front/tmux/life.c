/* SPDX-License-Identifier: MIT */
#include "front/tmux/life.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/tmux/control.h"
#include "front/tmux/model.h"
#include "front/tmux/own.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/vars.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { END_GRACE_MS = 1000 };

static void on_after(struct task *task)
{
    struct tmux *t = container_of(task, struct tmux, after);
    if (t->dirty && !t->ending)
        state_store(t);
}

/* The variables of new programs: those that the server was started with. */
static void take_env(struct tmux *t)
{
    static const char *const ours[] = {"OD_SOCKET", "OD_OP", "OD_SERVER", "TMUX",
                                       "TMUX_PANE", "TERM",  "OD_NAME",   "OD_STATE_DIR"};
    for (char **v = t->en->env; v && *v; v++) {
        const char *eq = strchr(*v, '=');
        if (eq)
            env_set(&t->env, str_n(*v, (size_t)(eq - *v)), str_of(eq + 1), false);
    }
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (t->own || strncmp(ours[i], "OD_", 3) != 0)
            env_unset(&t->env, str_of(ours[i]));
    }
}

static void take_shell(struct tmux *t)
{
    const struct env_var *v = env_find(&t->env, STR("SHELL"));
    const struct passwd *pw = getpwuid(getuid());
    const char *shell = v ? v->value : NULL;
    if (!shell || *shell != '/' || access(shell, X_OK) < 0)
        shell = pw ? pw->pw_shell : NULL;
    if (!shell || *shell != '/' || access(shell, X_OK) < 0)
        shell = "/bin/sh";
    opts_set(&t->global, "default-shell", shell, NULL);
}

struct tmux *tmux_new(struct engine *en, bool own)
{
    struct tmux *t = xnew(struct tmux);
    t->en = en;
    t->own = own;
    list_init(&t->sessions);
    list_init(&t->windows);
    list_init(&t->panes);
    list_init(&t->clients);
    list_init(&t->buffers);
    list_init(&t->channels);
    task_init(&t->after, on_after);
    task_init(&t->feed, pane_feed_all);
    t->done = json_object();
    t->started = clock_wall_ms() / 1000;
    tmux_options_init_defaults(&t->server, OPTION_SERVER);
    tmux_options_init_defaults(&t->global, OPTION_SESSION);
    tmux_options_init_defaults(&t->global_w, OPTION_WINDOW);
    return t;
}

void tmux_load(struct tmux *t)
{
    struct err e = ERR_INIT;
    if (engine_state_folder(t->en, "tmux", 0700, t->dir, sizeof(t->dir), &e) < 0)
        t->dir[0] = 0;
    take_env(t);
    take_shell(t);
    state_load(t);
}

void tmux_start(struct tmux *t)
{
    struct list *it, *tmp;
    t->resuming = true;
    list_each (it, tmp, &t->panes)
        pane_resume(list_entry(it, struct tm_pane, node));
    t->resuming = false;
    if (t->dirty)
        state_store(t);
}

void tmux_close(struct tmux *t, bool another)
{
    struct list *it, *tmp;
    t->ending = true;
    list_each (it, tmp, &t->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, node);
        if (p->screen.pic)
            screen_close(&p->screen, !another);
    }
}

/* New clients are refused at once, and start another server, whose name it is then. */
static void leave_socket(struct engine *en)
{
    const char *path = en->socket;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct stat st;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (path[0] == '/' && strlen(path) < sizeof(a.sun_path) && lstat(path, &st) == 0 &&
        S_ISSOCK(st.st_mode)) {
        memcpy(a.sun_path, path, strlen(path) + 1);
        unlink(path);
        if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
            log_debug("tmux: cannot leave %s behind: %m", path);
    }
    close(fd);
    en->socket[0] = 0;
}

void front_tmux_end(struct tmux *t)
{
    if (t->ending)
        return;
    t->ending = true;
    leave_socket(t->en);
    request_end_all(t);
    engine_stop(t->en, END_GRACE_MS);
}

static int count(const struct list *head)
{
    int n = 0;
    for (const struct list *it = head->next; it != head; it = it->next)
        n++;
    return n;
}

struct json *tmux_status(const struct tmux *t)
{
    if (t->sessions.next == &t->sessions)
        return NULL;
    struct json *j = json_object();
    json_put_int(j, "sessions", count(&t->sessions));
    json_put_int(j, "windows", count(&t->windows));
    json_put_int(j, "panes", count(&t->panes));
    return j;
}

/* ---- hooks ---- */

void hook_run(struct tmux *t, const char *name, struct tm_session *s, struct tm_window *w,
              struct tm_pane *p)
{
    struct tm_place at = {.s = s, .w = w, .p = p, .index = -1};
    struct tmux_options *o = p ? &p->opts : w ? &w->opts : s ? &s->opts : &t->global;
    const char *text;
    if (t->resuming || t->ending)
        return;
    if (strcmp(name, "session-created") == 0 || strcmp(name, "session-closed") == 0)
        control_sessions_changed(t);
    for (size_t i = 0; (text = opts_item(o, name, i)); i++) {
        struct buf why = BUF_INIT(TM_NAME_MAX);
        if (s && s->ended)
            at.s = NULL;
        if (tm_run_text(t, NULL, str_of(text), NULL, &at, &why) < 0)
            log_info("tmux: the hook %s: %s", name, buf_z(&why));
        buf_release(&why);
    }
}

/* after-COMMAND, in the request of the command. */
void hook_after(struct tm_item *it)
{
    char name[80];
    const char *text;
    struct tm_session *s = it->target.s ? it->target.s : it->current.s;
    struct tmux_options *o = s && !s->ended ? &s->opts : &it->c->t->global;
    if (it->in_hook)
        return;
    snprintf(name, sizeof(name), "after-%s", it->cmd->name);
    for (size_t i = 0; (text = opts_item(o, name, i)); i++) {
        struct buf why = BUF_INIT(TM_NAME_MAX);
        if (tm_run_hook(it, str_of(text), &why) < 0)
            log_info("tmux: the hook %s: %s", name, buf_z(&why));
        buf_release(&why);
    }
}
