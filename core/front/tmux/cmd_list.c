/* SPDX-License-Identifier: MIT */
/* Commands that show what there is. */
#include "front/tmux/cmds.h"

#include "base/xalloc.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <stdlib.h>
#include <string.h>

/* Prints a line for what v shows, if the filter lets it. */
static void put(struct tm_item *it, struct tm_vars *v, const char *form)
{
    const char *filter = strchr(it->cmd->spec, 'f') ? args_get(&it->args, 'f') : NULL;
    struct buf line = BUF_INIT(TM_OUT_MAX), yes = BUF_INIT(TM_NAME_MAX);
    v->t = it->c->t;
    if (!v->c)
        v->c = it->c->session ? it->c : NULL;
    if (filter)
        vars_expand(v, filter, &yes);
    if (!filter || vars_true(buf_str(&yes))) {
        vars_expand(v, form, &line);
        tm_print(it, "%s", buf_z(&line));
    }
    buf_release(&line);
    buf_release(&yes);
}

static const char *form_of(const struct tm_item *it, const char *dflt)
{
    const char *form = args_get(&it->args, 'F');
    return form ? form : dflt;
}

enum tm_result cmd_list_sessions(struct tm_item *it)
{
    const char *form = form_of(
        it, "#{session_name}: #{session_windows} windows "
            "(created #{t:session_created})"
            "#{?session_grouped, (group ,}#{session_group}#{?session_grouped,),}"
            "#{?session_attached, (attached),}");
    struct tm_session *s;
    for (unsigned i = 0; (s = session_sorted(it->c->t, i)); i++) {
        struct tm_vars v = {.at = {.s = s, .index = -1}, .line = i};
        v.at.l = s->link;
        v.at.w = s->link->w;
        v.at.p = s->link->w->pane;
        put(it, &v, form);
    }
    return TM_DONE;
}

static void list_windows(struct tm_item *it, struct tm_session *s, const char *form,
                         unsigned *line)
{
    struct list *i, *tmp;
    list_each (i, tmp, &s->links) {
        struct tm_link *l = list_entry(i, struct tm_link, node);
        struct tm_vars v = {.at = {.s = s, .l = l, .w = l->w, .p = l->w->pane},
                            .line = (*line)++};
        put(it, &v, form);
    }
}

enum tm_result cmd_list_windows(struct tm_item *it)
{
    bool all = args_has(&it->args, 'a');
    const char *form = form_of(
        it, all ? "#{session_name}:#{window_index}: #{window_name}#{window_raw_flags} "
                  "(#{window_panes} panes) [#{window_width}x#{window_height}] "
                : "#{window_index}: #{window_name}#{window_raw_flags} "
                  "(#{window_panes} panes) [#{window_width}x#{window_height}] "
                  "[layout #{window_layout}] #{window_id}#{?window_active, (active),}");
    struct tm_session *s;
    unsigned line = 0;
    if (!all)
        list_windows(it, it->target.s, form, &line);
    for (unsigned i = 0; all && (s = session_sorted(it->c->t, i)); i++)
        list_windows(it, s, form, &line);
    return TM_DONE;
}

static void list_panes(struct tm_item *it, struct tm_link *l, const char *form,
                       unsigned *line)
{
    struct list *i, *tmp;
    list_each (i, tmp, &l->w->panes) {
        struct tm_pane *p = list_entry(i, struct tm_pane, sibling);
        struct tm_vars v = {.at = {.s = l->s, .l = l, .w = l->w, .p = p},
                            .line = (*line)++};
        put(it, &v, form);
    }
}

#define PANE_FORM \
    "[#{pane_width}x#{pane_height}] [history #{history_size}/#{history_limit}, " \
    "#{history_bytes} bytes] #{pane_id}#{?pane_active, (active),}#{?pane_dead, (dead),}"

enum tm_result cmd_list_panes(struct tm_item *it)
{
    bool all = args_has(&it->args, 'a'), session = args_has(&it->args, 's');
    const char *form = form_of(
        it, all       ? "#{session_name}:#{window_index}.#{pane_index}: " PANE_FORM
            : session ? "#{window_index}.#{pane_index}: " PANE_FORM
                      : "#{pane_index}: " PANE_FORM);
    struct tm_session *s = it->target.s;
    struct list *i, *tmp;
    unsigned line = 0;
    if (!all && !session) {
        list_panes(it, it->target.l, form, &line);
        return TM_DONE;
    }
    for (unsigned k = 0; !all || (s = session_sorted(it->c->t, k)); k++) {
        list_each (i, tmp, &s->links)
            list_panes(it, list_entry(i, struct tm_link, node), form, &line);
        if (!all)
            break;
    }
    return TM_DONE;
}

enum tm_result cmd_list_clients(struct tm_item *it)
{
    const char *form = form_of(
        it, "#{client_name}: #{session_name} [#{client_width}x#{client_height} "
            "#{client_termname}] #{?#{!=:#{client_uid},#{uid}},[user "
            "#{?client_user,#{client_user},#{client_uid},}] ,}"
            "#{?client_flags,(,}#{client_flags}#{?client_flags,),}");
    struct list *i, *tmp;
    unsigned line = 0;
    list_each (i, tmp, &it->c->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (!c->session || (args_has(&it->args, 't') && c->session != it->target.s))
            continue;
        struct tm_vars v = {.c = c, .at = {.s = c->session}, .line = line++};
        target_complete(&v.at);
        put(it, &v, form);
    }
    return TM_DONE;
}

enum tm_result cmd_list_commands(struct tm_item *it)
{
    const char *form = form_of(it, "#{command_list_name}#{?command_list_alias, "
                                   "(#{command_list_alias}),} #{command_list_usage}");
    const char *name = it->args.words > 0 ? it->args.word[0] : NULL;
    const struct tm_command *cmd;
    for (size_t i = 0; (cmd = command_at(i)); i++) {
        if (name && strcmp(cmd->name, name) != 0 &&
            (!cmd->alias || strcmp(cmd->alias, name) != 0))
            continue;
        struct tm_vars v = {.command = cmd};
        put(it, &v, form);
    }
    return TM_DONE;
}

enum tm_result cmd_list_buffers(struct tm_item *it)
{
    const char *form = form_of(
        it, "#{buffer_name}: #{buffer_size} bytes: \"#{buffer_sample}\"");
    struct list *i, *tmp;
    list_each (i, tmp, &it->c->t->buffers) {
        struct tm_vars v = {.buffer = list_entry(i, struct tm_buffer, node)};
        put(it, &v, form);
    }
    return TM_DONE;
}

/* ---- messages ---- */

static void put_var(void *arg, const char *name, struct str value)
{
    tm_print(arg, "%s=%.*s", name, STR_ARG(value));
}

enum tm_result cmd_display_message(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    const char *form = a->words > 0 ? a->word[0] : args_get(a, 'F');
    struct tm_vars v = {.t = it->c->t,
                        .c = it->c->session ? it->c : NULL,
                        .at = it->target,
                        .times = true};
    struct buf line = BUF_INIT(TM_OUT_MAX);
    if (a->words > 0 && args_has(a, 'F'))
        return tm_fail(it, "only one of -F or argument must be given");
    if (args_has(a, 'I'))
        return tm_fail(it, "display-message -I is not supported: a pane here always has "
                           "a program");
    if (args_has(a, 'a')) {
        vars_list(&v, put_var, it);
        return TM_DONE;
    }
    if (!form)
        form = "[#{session_name}] #{window_index}:#{window_name}, current pane "
               "#{pane_index} - (%H:%M %d-%b-%y)";
    vars_expand(&v, form, &line);
    if (args_has(a, 'p'))
        tm_print(it, "%s", buf_z(&line));
    buf_release(&line);
    return TM_DONE;
}

