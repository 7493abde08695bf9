/* SPDX-License-Identifier: MIT */
/* Control mode: tmux(1), CONTROL MODE. */
#include "front/tmux/control.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "front/tmux/cmds.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEHIND_MAX = 16 << 20 };

static unsigned next_number = 1;

static void say(struct tmux_client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct tmux_client *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&c->out[0].buf, fmt, ap);
    va_end(ap);
    buf_addc(&c->out[0].buf, '\n');
    if (!c->opening)
        task_defer(c->t->en->loop, &c->go);
}

void control_open(struct tmux_client *c)
{
    if (!c->ctl) {
        c->ctl = xnew(struct control);
        buf_init(&c->ctl->held, TM_OUT_MAX);
    }
    if (c->control && c->calls)
        c->calls->note(c->arg, "stdin");
    if (c->control > 1 && c->out[0].at == 0 && c->skip == 0)
        buf_addz(&c->out[0].buf, "\033P1000p");
}

void control_drop(struct tmux_client *c)
{
    if (!c->ctl)
        return;
    json_free(c->ctl->paused);
    timer_stop(&c->ctl->watch);
    json_free(c->ctl->watches);
    buf_release(&c->ctl->held);
    free(c->ctl);
    c->ctl = NULL;
}

/* ---- commands ---- */

void control_begin(struct tm_item *it)
{
    struct tmux_client *c = it->c;
    if (!c->control || !c->ctl || !c->calls)
        return;
    c->ctl->number = next_number++;
    c->ctl->since = clock_wall_ms() / 1000;
    say(c, "%%begin %lld %u %d", (long long)c->ctl->since, c->ctl->number,
        c->ctl->from_input);
    c->ctl->in_block = true;
}

void control_free_held(struct tmux_client *c)
{
    if (!c->ctl || !c->ctl->in_block)
        return;
    c->ctl->in_block = false;
    buf_adds(&c->out[0].buf, buf_str(&c->ctl->held));
    buf_reset(&c->ctl->held);
}

void control_end(struct tm_item *it, bool error)
{
    struct tmux_client *c = it->c;
    if (!c->control || !c->ctl || !c->calls || !it->began)
        return;
    say(c, "%%%s %lld %u %d", error ? "error" : "end", (long long)c->ctl->since,
        c->ctl->number, c->ctl->from_input);
    control_free_held(c);
}

static void take_line(struct tmux_client *c, struct str line)
{
    struct buf why = BUF_INIT(TM_NAME_MAX);
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0) {
        request_leave(c, NULL, false);
        return;
    }
    c->ctl->from_input = true;
    if (tm_take_line(c, line, &why) < 0) {
        unsigned number = next_number++;
        long long now = clock_wall_ms() / 1000;
        say(c, "%%begin %lld %u 1", now, number);
        say(c, "parse error: %s", buf_z(&why));
        say(c, "%%error %lld %u 1", now, number);
    }
    buf_release(&why);
}

/* A line follows when the commands of the one before it are done: so are their errors. */
void control_input(struct tmux_client *c)
{
    if (!c->control) {
        attach_input(c);
        return;
    }
    const char *nl = NULL;
    while (!c->over && !c->leaving && !c->waiting && list_empty(&c->items) &&
           c->in.n > 0 && (nl = memchr(c->in.p, '\n', c->in.n))) {
        size_t n = (size_t)(nl - c->in.p);
        char *line = xstrndup(c->in.p, n);
        buf_consume(&c->in, n + 1);
        take_line(c, str_of(line));
        free(line);
    }
    bool rest = c->in.n > 0 && memchr(c->in.p, '\n', c->in.n);
    if (c->in_ended && !rest && !c->leaving)
        request_leave(c, NULL, false);
}

/* ---- notifications ---- */

void control_note(struct tmux_client *c, const char *fmt, ...)
{
    struct buf *out = c->ctl->in_block ? &c->ctl->held : &c->out[0].buf;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(out, fmt, ap);
    va_end(ap);
    buf_addc(out, '\n');
    if (!c->opening)
        task_defer(c->t->en->loop, &c->go);
}

static bool is_control(const struct tmux_client *c)
{
    return c->control && c->session && c->calls && c->ctl;
}

static void tell_window(struct tmux_client *c, const char *what, struct tm_window *w)
{
    const char *un = c->session && link_of(c->session, w) ? "" : "unlinked-";
    if (strcmp(what, "layout-change") == 0) {
        struct tm_vars v = {.t = c->t, .at = {.s = c->session, .w = w}};
        struct buf b = BUF_INIT(1 << 20);
        v.at.l = c->session ? link_of(c->session, w) : NULL;
        if (*un)
            return;
        vars_expand(&v,
                    "#{window_id} #{window_layout} #{window_visible_layout} "
                    "#{window_raw_flags}",
                    &b);
        control_note(c, "%%layout-change %s", buf_z(&b));
        buf_release(&b);
    } else if (strcmp(what, "window-renamed") == 0) {
        control_note(c, "%%%swindow-renamed @%u %s", un, w->id, w->name);
    } else {
        control_note(c, "%%%s%s @%u", un, what, w->id);
    }
}

void control_tell(struct tmux *t, const char *what, struct tm_window *w)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (is_control(c))
            tell_window(c, what, w);
        else if (c->session && c->ctl && !c->control)
            attach_show(c);
    }
}

void control_session_renamed(struct tm_session *s)
{
    struct list *i, *tmp;
    list_each (i, tmp, &s->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (is_control(c))
            control_note(c, "%%session-renamed $%u %s", s->id, s->name);
    }
}

void control_sessions_changed(struct tmux *t)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (is_control(c))
            control_note(c, "%%sessions-changed");
    }
}

/* ---- output ---- */

static void put_output(struct tmux_client *c, struct tm_pane *p, struct str bytes)
{
    struct buf *out = c->ctl->in_block ? &c->ctl->held : &c->out[0].buf;
    char name[24];
    snprintf(name, sizeof(name), "%%%u", p->id);
    if (c->ctl->no_output || json_has(c->ctl->paused, name))
        return;
    if (out->n > BEHIND_MAX) {
        if (!c->ctl->pause_after) {
            request_leave(c, "too far behind", true);
            return;
        }
        if (!c->ctl->paused)
            c->ctl->paused = json_object();
        json_put_bool(c->ctl->paused, name, true);
        control_note(c, "%%pause %s", name);
        return;
    }
    if (c->ctl->pause_after)
        buf_addf(out, "%%extended-output %s 0 : ", name);
    else
        buf_addf(out, "%%output %s ", name);
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char ch = (unsigned char)bytes.p[i];
        if (ch < ' ' || ch == '\\')
            buf_addf(out, "\\%03o", ch);
        else
            buf_addc(out, (char)ch);
    }
    control_note(c, "%s", "");
}

void control_output(struct tm_pane *p, uint64_t offset, struct str bytes)
{
    struct list *i, *tmp;
    (void)offset;
    list_each (i, tmp, &p->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (!c->session || !c->ctl || !c->calls || c->leaving)
            continue;
        if (c->control && link_of(c->session, p->w)) {
            put_output(c, p, bytes);
        } else if (!c->control && c->ctl->pane == p) {
            if (c->out[0].buf.n > BEHIND_MAX)
                c->ctl->shown = false; /* painted again when there is room */
            else
                buf_adds(&c->out[0].buf, bytes);
            task_defer(c->t->en->loop, &c->go);
        }
    }
}

void control_pane_gone(struct tmux_client *c, struct tm_pane *p)
{
    if (!c->ctl || c->ctl->pane != p)
        return;
    c->ctl->pane = NULL;
    if (c->in.n > 0) /* input that had no room goes to the next one */
        task_defer(c->t->en->loop, &c->go);
}

void control_room(struct tmux_client *c)
{
    if (c->session && !c->control)
        attach_show(c);
}

void control_size(struct tmux_client *c)
{
    struct list *i, *tmp;
    if (!c->session || c->read_only)
        return;
    list_each (i, tmp, &c->session->links) {
        struct tm_window *w = list_entry(i, struct tm_link, node)->w;
        if (strcmp(opts_text(&w->opts, "window-size"), "manual") != 0)
            window_resize(w, c->cols, c->rows);
    }
    if (c->ctl && !c->control)
        c->ctl->shown = false;
    if (!c->control)
        attach_show(c);
}

/* ---- refresh-client ---- */

static struct tmux_client *of_command(struct tm_item *it)
{
    const char *name = args_get(&it->args, 't');
    struct list *i, *tmp;
    struct tmux_client *c = name ? target_client(it->c->t, name) : NULL;
    if (name)
        return c;
    if (it->c->session || it->c->control)
        return it->c;
    list_each (i, tmp, &it->c->t->clients) {
        c = list_entry(i, struct tmux_client, node);
        if (c->session)
            return c;
    }
    return NULL;
}

static enum tm_result set_size(struct tm_item *it, struct tmux_client *c,
                               const char *text)
{
    int cols, rows;
    char sep;
    if (sscanf(text, "%d%c%d", &cols, &sep, &rows) != 3 || (sep != ',' && sep != 'x'))
        return tm_fail(it, "bad size argument");
    if (cols < 1 || rows < 1 || cols > TM_SIDE_MAX || rows > TM_SIDE_MAX)
        return tm_fail(it, "size too small or too big");
    tmux_size(c, rows, cols);
    return TM_DONE;
}

/* "%N:STATE" of -A. */
static enum tm_result set_pane(struct tmux_client *c, const char *text)
{
    const char *colon = strchr(text, ':');
    char name[24];
    if (!colon || (size_t)(colon - text) >= sizeof(name) || text[0] != '%')
        return TM_DONE;
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = 0;
    if (!c->ctl->paused)
        c->ctl->paused = json_object();
    if (strcmp(colon + 1, "on") == 0 || strcmp(colon + 1, "continue") == 0) {
        json_free(json_take(c->ctl->paused, name));
        if (colon[1] == 'c')
            control_note(c, "%%continue %s", name);
    } else {
        json_put_bool(c->ctl->paused, name, true);
        if (strcmp(colon + 1, "pause") == 0)
            control_note(c, "%%pause %s", name);
    }
    return TM_DONE;
}

static void set_flags(struct tmux_client *c, const char *text)
{
    struct str rest = str_of(text);
    while (rest.n > 0) {
        struct str word = str_cut(&rest, ',');
        bool off = word.n > 0 && word.p[0] == '!';
        word = off ? str_sub(word, 1, word.n) : word;
        if (str_eq(word, STR("no-output")))
            c->ctl->no_output = !off;
        else if (str_starts(word, STR("pause-after")))
            c->ctl->pause_after = off ? 0 : 1;
        else if (str_eq(word, STR("read-only")))
            c->read_only = !off;
    }
}

enum tm_result cmd_refresh_client(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tmux_client *c = of_command(it);
    const char *text;
    if (!c || !c->ctl) {
        const char *name = args_get(a, 't');
        return name ? tm_fail(it, "can't find client: %s", name)
                    : tm_fail(it, "no current client");
    }
    if ((text = args_get(a, 'F')) || (text = args_get(a, 'f')))
        set_flags(c, text);
    if ((args_has(a, 'A') || args_has(a, 'B') || args_has(a, 'C')) && !c->control)
        return tm_fail(it, "not a control client");
    for (unsigned i = 0; (text = args_each(a, 'A', i)); i++)
        set_pane(c, text);
    for (unsigned i = 0; (text = args_each(a, 'B', i)); i++) {
        if (!control_watch(c, text))
            return tm_fail(it, "too many subscriptions: %.100s", text);
    }
    if ((text = args_get(a, 'C')))
        return set_size(it, c, text);
    if (!c->control)
        c->ctl->shown = false;
    attach_show(c);
    return TM_DONE;
}
