/* SPDX-License-Identifier: MIT */
/* Commands about options, hooks and variables. */
#include "front/tmux/cmds.h"

#include "base/xalloc.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which option, and where ---- */

static enum tm_result no_place(struct tm_item *it, const char *what, const char *target)
{
    return target ? tm_fail(it, "no such %s: %s", what, target)
                  : tm_fail(it, "no current %s", what);
}

/* The set of options for a scope. Returns TM_ERROR after a message. */
static enum tm_result scope_set(struct tm_item *it, unsigned scope, bool global,
                                struct tmux_options **out)
{
    struct tmux *t = it->c->t;
    const struct tm_place *at = &it->target;
    const char *text = args_get(&it->args, 't');
    if (scope & OPTION_SERVER)
        *out = &t->server;
    else if (global)
        *out = scope & OPTION_SESSION ? &t->global : &t->global_w;
    else if (scope & OPTION_SESSION && !at->s)
        return no_place(it, "session", text);
    else if (scope & OPTION_SESSION)
        *out = &at->s->opts;
    else if (scope & OPTION_PANE && !at->p)
        return no_place(it, "pane", text);
    else if (scope & OPTION_PANE)
        *out = &at->p->opts;
    else if (!at->w)
        return no_place(it, "window", text);
    else
        *out = &at->w->opts;
    return TM_DONE;
}

/* The scope of flags alone. */
static unsigned scope_of_flags(const struct tm_item *it, bool window)
{
    const struct tmux_args *a = &it->args;
    return args_has(a, 's')             ? OPTION_SERVER
           : args_has(a, 'p')           ? OPTION_PANE
           : window || args_has(a, 'w') ? OPTION_WINDOW
                                        : OPTION_SESSION;
}

/* The scope of an option, which its own scopes decide. */
static unsigned scope_of(const struct tm_item *it, const struct tmux_option_name *x,
                         bool window)
{
    if (!x->option)
        return scope_of_flags(it, window);
    unsigned all = x->option->scope;
    if (all & OPTION_SERVER)
        return OPTION_SERVER;
    if (all & OPTION_SESSION)
        return OPTION_SESSION;
    return all & OPTION_PANE && args_has(&it->args, 'p') ? OPTION_PANE : OPTION_WINDOW;
}

/* Of a target, as much has to be there as is needed. */
static void find_target(struct tm_item *it, char type)
{
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    tm_target(it->c->t, &it->current, args_get(&it->args, 't'), type, CMD_PARTLY,
              &it->target, &why);
    buf_release(&why);
}

/* With -q nothing is said: the message since `said` is taken back. */
static enum tm_result hush(struct tm_item *it, size_t said, int status)
{
    it->c->exit = status;
    buf_truncate(&it->c->out[1].buf, said);
    return TM_DONE;
}

/* ---- set-option ---- */

static void changed(struct tmux *t, const struct tmux_options *o)
{
    if (o == &t->server || o == &t->global || o == &t->global_w) {
        json_free(t->globals);
        t->globals = NULL;
    }
    state_changed(t);
}

static enum tm_result set(struct tm_item *it, const struct tmux_option_name *x,
                          struct tmux_options *o, const char *value)
{
    const struct tmux_args *a = &it->args;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct list *i, *tmp;
    struct tmux_option_set how = {.append = args_has(a, 'a'),
                                  .only_new = args_has(a, 'o'),
                                  .unset = args_has(a, 'u') || args_has(a, 'U')};
    struct str none = {NULL, 0};
    if (args_has(a, 'U') && it->target.w && o == &it->target.w->opts) {
        list_each (i, tmp, &it->target.w->panes)
            tmux_options_set(&list_entry(i, struct tm_pane, sibling)->opts, x, none, how,
                             NULL);
    }
    bool quiet = how.only_new && args_has(a, 'q');
    if (value && x->option && strcmp(x->option->name, "default-shell") == 0 &&
        (*value != '/' || access(value, X_OK) < 0))
        return tm_fail(it, "not a suitable shell: %s", value);
    int r = tmux_options_set(o, x, value ? str_of(value) : none, how, &why);
    changed(it->c->t, o);
    if (r < 0 && !quiet)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r < 0 && !quiet ? TM_ERROR : TM_DONE;
}

enum tm_result cmd_set_option(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    bool window = strcmp(it->cmd->name, "set-window-option") == 0;
    bool hook = it->cmd->run == cmd_set_hook, quiet = args_has(a, 'q');
    bool unsets = args_has(a, 'u') || (!hook && args_has(a, 'U'));
    struct tmux_option_name x;
    struct tmux_options *o;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    int status = it->c->exit;
    size_t said = it->c->out[1].buf.n;
    find_target(it, 'p');
    char *name = tm_expand(it, a->word[0], &it->target), *value = NULL;
    if (a->words > 1)
        value = args_has(a, 'F') ? tm_expand(it, a->word[1], &it->target)
                                 : xstrdup(a->word[1]);
    enum tm_result r = TM_DONE;
    if (tmux_option_find(&x, str_of(name), &why) < 0) {
        r = quiet ? TM_DONE : tm_fail(it, "%s", buf_z(&why));
    } else if (hook && (!x.option || !x.option->hook)) {
        r = tm_fail(it, "invalid option: %s", name);
    } else {
        r = scope_set(it, scope_of(it, &x, window), args_has(a, 'g'), &o);
        if (r == TM_ERROR && quiet)
            r = hush(it, said, status);
        else if (r == TM_DONE && unsets && value)
            r = tm_fail(it, "value passed to unset option: %s", name);
        else if (r == TM_DONE)
            r = set(it, &x, o, value);
    }
    free(name);
    free(value);
    buf_release(&why);
    return r;
}

enum tm_result cmd_set_hook(struct tm_item *it)
{
    struct tmux_option_name x;
    struct buf why = BUF_INIT(TM_NAME_MAX);
    if (!args_has(&it->args, 'R'))
        return cmd_set_option(it);
    find_target(it, 'p');
    int r = tmux_option_find(&x, str_of(it->args.word[0]), &why);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    else
        hook_run(it->c->t, it->args.word[0], it->target.s, it->target.w, it->target.p);
    buf_release(&why);
    return r < 0 ? TM_ERROR : TM_DONE;
}

/* ---- show-options ---- */

static enum tm_result show(struct tm_item *it, const char *name, bool window,
                           struct tmux_option_show how, struct buf *out)
{
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    bool global = args_has(&it->args, 'g');
    struct tmux_options *o = NULL;
    struct tmux_option_name x;
    enum tm_result r;
    if (!name) {
        unsigned scope = scope_of_flags(it, window);
        r = scope_set(it, scope, global, &o);
        if (r == TM_DONE)
            tmux_options_show(o, (enum tmux_option_scope)scope, how, out);
    } else if (tmux_option_find(&x, str_of(name), &why) < 0) {
        r = tm_fail(it, "%s", buf_z(&why));
    } else {
        r = scope_set(it, scope_of(it, &x, window), global, &o);
        if (r == TM_DONE && !tmux_options_show_one(o, &x, how, out) && !x.option)
            r = tm_fail(it, "invalid option: %s", name);
    }
    buf_release(&why);
    return r;
}

enum tm_result cmd_show_options(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    bool window = strcmp(it->cmd->name, "show-window-options") == 0;
    struct tmux_option_show how = {.values = args_has(a, 'v'),
                                   .inherited = args_has(a, 'A'),
                                   .hooks = args_has(a, 'H'),
                                   .only_hooks = strcmp(it->cmd->name, "show-hooks") ==
                                                 0};
    struct buf out = BUF_INIT(TM_OUT_MAX);
    int status = it->c->exit;
    size_t said = it->c->out[1].buf.n;
    find_target(it, 'p');
    char *name = a->words > 0 ? tm_expand(it, a->word[0], &it->target) : NULL;
    enum tm_result r = show(it, name, window, how, &out);
    if (r == TM_ERROR && args_has(a, 'q'))
        r = hush(it, said, status);
    tm_print_bytes(it, buf_str(&out));
    free(name);
    buf_release(&out);
    return r;
}

/* ---- variables ---- */

static struct env *env_of(struct tm_item *it)
{
    if (args_has(&it->args, 'g'))
        return &it->c->t->env;
    find_target(it, 's');
    if (it->target.s)
        return &it->target.s->env;
    no_place(it, "session", args_get(&it->args, 't'));
    return NULL;
}

enum tm_result cmd_set_environment(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    const char *name = a->word[0];
    struct str none = {NULL, 0};
    if (!*name)
        return tm_fail(it, "empty variable name");
    if (strchr(name, '='))
        return tm_fail(it, "variable name contains =");
    struct env *env = env_of(it);
    if (!env)
        return TM_ERROR;
    char *value = a->words < 2       ? NULL
                  : args_has(a, 'F') ? tm_expand(it, a->word[1], &it->current)
                                     : xstrdup(a->word[1]);
    enum tm_result r = TM_DONE;
    if (args_has(a, 'u') || args_has(a, 'r')) {
        if (value)
            r = tm_fail(it, "can't specify a value with -%c",
                        args_has(a, 'u') ? 'u' : 'r');
        else if (args_has(a, 'u'))
            env_unset(env, str_of(name));
        else
            env_set(env, str_of(name), none, false);
    } else if (!value) {
        r = tm_fail(it, "no value specified");
    } else {
        env_set(env, str_of(name), str_of(value), args_has(a, 'h'));
    }
    state_changed(it->c->t);
    free(value);
    return r;
}

static void show_var(struct tm_item *it, const struct env_var *v)
{
    const struct tmux_args *a = &it->args;
    struct buf q = BUF_INIT(TM_NAME_MAX * 2);
    if (v->hidden != args_has(a, 'h'))
        return;
    if (!args_has(a, 's')) {
        if (v->value)
            tm_print(it, "%s=%s", v->name, v->value);
        else
            tm_print(it, "-%s", v->name);
        return;
    }
    for (const char *p = v->value ? v->value : ""; *p; p++)
        buf_addf(&q, strchr("$`\"\\", *p) ? "\\%c" : "%c", *p);
    if (v->value)
        tm_print(it, "%s=\"%s\"; export %s;", v->name, buf_z(&q), v->name);
    else
        tm_print(it, "unset %s;", v->name);
    buf_release(&q);
}

enum tm_result cmd_show_environment(struct tm_item *it)
{
    struct env *env = env_of(it);
    if (!env)
        return TM_ERROR;
    if (it->args.words > 0) {
        const struct env_var *v = env_find(env, str_of(it->args.word[0]));
        if (!v)
            return tm_fail(it, "unknown variable: %s", it->args.word[0]);
        show_var(it, v);
        return TM_DONE;
    }
    for (size_t i = 0; i < env->n; i++)
        show_var(it, &env->v[i]);
    return TM_DONE;
}
