/* SPDX-License-Identifier: MIT */
/* The variables of formats; tmux(1) describes them under FORMATS. */
#include "front/tmux/vars.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/tmux/lang/format.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/target.h"
#include "shell/process.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE = 200 };

typedef bool var_fn(const struct tm_vars *v, struct buf *out);

static bool put_flag(struct buf *out, bool on)
{
    buf_addc(out, on ? '1' : '0');
    return true;
}

static bool put_number(struct buf *out, int64_t n)
{
    buf_addi(out, n);
    return true;
}

static bool put_text(struct buf *out, const char *text)
{
    buf_addz(out, text ? text : "");
    return text != NULL;
}

#define VAR(name) static bool var_##name(const struct tm_vars *v, struct buf *out)
#define S         (v->at.s)
#define L         (v->at.l)
#define W         (v->at.w)
#define P         (v->at.p)

/* ---- the server ---- */

VAR(pid)
{
    (void)v;
    return put_number(out, getppid());
}
VAR(version)
{
    (void)v;
    return put_text(out, TMUX_VERSION);
}
VAR(uid)
{
    (void)v;
    return put_number(out, getuid());
}
VAR(user)
{
    const struct passwd *pw = getpwuid(getuid());
    (void)v;
    return pw && put_text(out, pw->pw_name);
}
VAR(host)
{
    char name[256] = "";
    (void)v;
    return gethostname(name, sizeof(name) - 1) == 0 && put_text(out, name);
}
VAR(host_short)
{
    char name[256] = "";
    (void)v;
    if (gethostname(name, sizeof(name) - 1) < 0)
        return false;
    name[strcspn(name, ".")] = 0;
    return put_text(out, name);
}
VAR(socket_path) { return put_text(out, v->t->socket); }
VAR(start_time) { return put_number(out, v->t->started); }
VAR(line) { return put_number(out, v->line); }
VAR(hook) { return put_text(out, v->hook); }
VAR(command) { return v->command && put_text(out, v->command->name); }
VAR(command_list_alias) { return v->command && put_text(out, v->command->alias); }
VAR(command_list_name) { return v->command && put_text(out, v->command->name); }
VAR(command_list_usage) { return v->command && put_text(out, v->command->usage); }

/* ---- buffers ---- */

VAR(buffer_name) { return v->buffer && put_text(out, v->buffer->name); }
VAR(buffer_size) { return v->buffer && put_number(out, (int64_t)v->buffer->n); }
VAR(buffer_created) { return v->buffer && put_number(out, v->buffer->made); }
VAR(buffer_sample)
{
    if (!v->buffer)
        return false;
    size_t n = v->buffer->n, i = 0, width = 0;
    const char *p = v->buffer->data;
    for (; i < n && width < SAMPLE; width++) {
        uint32_t cp;
        int len = (unsigned char)p[i] < 0x80 ? 1 : utf8_decode(str_n(p + i, n - i), &cp);
        unsigned char c = (unsigned char)p[i];
        if (c == '\n' || c == '\t' || c == '\r')
            buf_addz(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c == '\\')
            buf_addz(out, "\\\\");
        else if (c < 0x20 || c == 0x7f || len <= 0)
            buf_addf(out, "\\%03o", c);
        else
            buf_add(out, p + i, (size_t)len);
        i += len > 0 ? (size_t)len : 1;
    }
    if (i < n)
        buf_addz(out, "...");
    return true;
}

/* ---- clients ---- */

#define C (v->c && v->c->session ? v->c : NULL)
VAR(client_name) { return C && put_text(out, C->name); }
VAR(client_tty) { return C && put_text(out, C->tty); }
VAR(client_pid) { return C && put_number(out, C->pid); }
VAR(client_uid) { return C && put_number(out, C->uid); }
VAR(client_user)
{
    const struct passwd *pw = C ? getpwuid(C->uid) : NULL;
    return pw && put_text(out, pw->pw_name);
}
VAR(client_width) { return C && put_number(out, C->cols); }
VAR(client_height) { return C && put_number(out, C->rows); }
VAR(client_created) { return C && put_number(out, C->made); }
VAR(client_activity) { return C && put_number(out, C->active); }
VAR(client_control_mode) { return C && put_flag(out, C->control > 0); }
VAR(client_prefix) { return C && put_flag(out, false); }
VAR(client_readonly) { return C && put_flag(out, C->read_only); }
VAR(client_utf8) { return C && put_flag(out, true); }
VAR(client_session) { return C && put_text(out, C->session->name); }
VAR(client_termname) { return C && put_text(out, C->term); }
VAR(client_key_table) { return C && put_text(out, "root"); }
VAR(client_discarded) { return C && put_number(out, 0); }
VAR(client_written) { return C && put_number(out, (int64_t)C->out[0].at); }
VAR(client_flags)
{
    if (!C)
        return false;
    return put_text(out, C->control ? "attached,focused,control-mode"
                                    : "attached,focused,UTF-8");
}

/* ---- sessions ---- */

VAR(session_name) { return S && put_text(out, S->name); }
VAR(session_id)
{
    if (S)
        buf_addf(out, "$%u", S->id);
    return S != NULL;
}
VAR(session_windows) { return S && put_number(out, session_count(S)); }
VAR(session_created) { return S && put_number(out, S->made); }
VAR(session_activity) { return S && put_number(out, S->active_us / 1000000); }
VAR(session_last_attached)
{
    return S && S->attached_at && put_number(out, S->attached_at);
}
VAR(session_attached) { return S && put_number(out, S->clients); }
VAR(session_many_attached) { return S && put_flag(out, S->clients > 1); }
VAR(session_path) { return S && put_text(out, S->cwd); }
VAR(session_grouped) { return S && put_flag(out, S->group != NULL); }
VAR(session_group) { return S && put_text(out, S->group); }
VAR(session_marked)
{
    return S && put_flag(out, v->t->marked && link_of(S, v->t->marked->w));
}
VAR(session_format) { return put_flag(out, S && !L); }
VAR(session_alerts)
{
    struct list *it, *tmp;
    bool any = false;
    if (!S)
        return false;
    list_each (it, tmp, &S->links) {
        const struct tm_link *l = list_entry(it, struct tm_link, node);
        if (!l->bell && !l->activity && !l->silence)
            continue;
        buf_addf(out, "%s%d%s%s%s", any ? "," : "", l->index, l->activity ? "#" : "",
                 l->bell ? "!" : "", l->silence ? "~" : "");
        any = true;
    }
    return true;
}
VAR(session_stack)
{
    struct list *it, *tmp;
    if (!S || !S->link)
        return false;
    buf_addf(out, "%d", S->link->index);
    list_each (it, tmp, &S->stack)
        buf_addf(out, ",%d", list_entry(it, struct tm_link, stacked)->index);
    return true;
}

/* Sessions of the group, or how many; attached: those with clients. */
static unsigned of_group(const struct tm_vars *v, bool attached, struct buf *names)
{
    const struct tm_session *s;
    unsigned n = 0;
    for (unsigned i = 0; (s = session_sorted(v->t, i)); i++) {
        if (!s->group || strcmp(s->group, S->group) != 0 || (attached && !s->clients))
            continue;
        if (names)
            buf_addf(names, "%s%s", n ? "," : "", s->name);
        n += attached ? s->clients : 1;
    }
    return n;
}
VAR(session_group_size)
{
    return S && S->group && put_number(out, of_group(v, false, NULL));
}
VAR(session_group_list)
{
    if (S && S->group)
        of_group(v, false, out);
    return S && S->group;
}
VAR(session_group_attached)
{
    return S && S->group && put_number(out, of_group(v, true, NULL));
}
VAR(session_group_many_attached)
{
    return S && S->group && put_flag(out, of_group(v, true, NULL) > 1);
}

/* ---- windows ---- */

VAR(window_id)
{
    if (W)
        buf_addf(out, "@%u", W->id);
    return W != NULL;
}
VAR(window_name)
{
    if (W)
        window_auto_name(W);
    return W && put_text(out, W->name);
}
VAR(window_index) { return L && put_number(out, L->index); }
VAR(window_panes) { return W && put_number(out, window_count(W)); }
VAR(window_width) { return W && put_number(out, W->cols); }
VAR(window_height) { return W && put_number(out, W->rows); }
VAR(window_cell_width) { return W && put_number(out, 16); }
VAR(window_cell_height) { return W && put_number(out, 32); }
VAR(window_activity) { return W && put_number(out, W->active_us / 1000000); }
VAR(window_active) { return L && put_flag(out, L == L->s->link); }
VAR(window_layout)
{
    if (W)
        window_put_layout(W, false, out);
    return W != NULL;
}
VAR(window_visible_layout)
{
    if (W)
        window_put_layout(W, true, out);
    return W != NULL;
}
VAR(window_zoomed_flag) { return W && put_flag(out, W->zoomed != NULL); }
VAR(window_linked) { return W && put_flag(out, W->links > 1); }
VAR(window_linked_sessions) { return W && put_number(out, W->links); }
VAR(window_format) { return put_flag(out, W && !P); }
VAR(window_marked_flag)
{
    return W && put_flag(out, v->t->marked && v->t->marked->w == W);
}
VAR(window_bell_flag) { return L && put_flag(out, L->bell); }
VAR(window_activity_flag) { return L && put_flag(out, L->activity); }
VAR(window_silence_flag) { return L && put_flag(out, L->silence); }
VAR(window_last_flag) { return L && put_flag(out, link_last(L->s) == L); }
VAR(window_start_flag) { return L && put_flag(out, L->node.prev == &L->s->links); }
VAR(window_end_flag) { return L && put_flag(out, L->node.next == &L->s->links); }
VAR(window_bigger) { return W && v->c && v->c->session && put_flag(out, false); }
VAR(window_stack_index)
{
    int n = 0;
    struct list *it, *tmp;
    if (!L)
        return false;
    list_each (it, tmp, &L->s->stack) {
        n++;
        if (list_entry(it, struct tm_link, stacked) == L)
            return put_number(out, n);
    }
    return put_number(out, 0);
}
static void put_window_flags(const struct tm_vars *v, bool escaped, struct buf *out)
{
    const struct tm_link *l = L;
    buf_addz(out, l->activity ? (escaped ? "##" : "#") : "");
    buf_addz(out, l->bell ? "!" : "");
    buf_addz(out, l->silence ? "~" : "");
    buf_addz(out, l == l->s->link ? "*" : "");
    buf_addz(out, link_last(l->s) == l ? "-" : "");
    buf_addz(out, v->t->marked && v->t->marked->w == l->w ? "M" : "");
    buf_addz(out, l->w->zoomed ? "Z" : "");
}
VAR(window_flags)
{
    if (L)
        put_window_flags(v, true, out);
    return L != NULL;
}
VAR(window_raw_flags)
{
    if (L)
        put_window_flags(v, false, out);
    return L != NULL;
}
static void put_sessions(const struct tm_vars *v, bool active, bool names,
                         struct buf *out)
{
    const struct tm_session *s;
    unsigned n = 0, count = 0;
    for (unsigned i = 0; (s = session_sorted(v->t, i)); i++) {
        struct tm_link *l = link_of(s, W);
        if (!l || (active && s->link != l))
            continue;
        if (names)
            buf_addf(out, "%s%s", n ? "," : "", s->name);
        n++;
        count++;
    }
    if (!names)
        buf_addi(out, count);
}
VAR(window_linked_sessions_list)
{
    if (W)
        put_sessions(v, false, true, out);
    return W != NULL;
}
VAR(window_active_sessions)
{
    if (W)
        put_sessions(v, true, false, out);
    return W != NULL;
}
VAR(window_active_sessions_list)
{
    if (W)
        put_sessions(v, true, true, out);
    return W != NULL;
}
VAR(window_active_clients)
{
    return W && put_number(out, S && L == S->link ? S->clients : 0);
}
VAR(window_active_clients_list) { return W && put_text(out, ""); }
VAR(active_window_index) { return S && S->link && put_number(out, S->link->index); }
VAR(last_window_index)
{
    return S && put_number(out, list_entry(S->links.prev, struct tm_link, node)->index);
}
VAR(next_session_id)
{
    buf_addf(out, "$%u", v->t->next_session);
    return true;
}

/* ---- panes ---- */

VAR(pane_id)
{
    if (P)
        buf_addf(out, "%%%u", P->id);
    return P != NULL;
}
VAR(pane_index) { return P && put_number(out, pane_index(P)); }
VAR(pane_active) { return P && put_flag(out, P == P->w->pane); }
VAR(pane_last) { return P && put_flag(out, P->w->stack.next == &P->stacked); }
VAR(pane_title) { return P && put_text(out, pane_title(P)); }
VAR(pane_width) { return P && put_number(out, P->cols); }
VAR(pane_height) { return P && put_number(out, P->rows); }
VAR(pane_left) { return P && put_number(out, P->x); }
VAR(pane_top) { return P && put_number(out, P->y); }
VAR(pane_right) { return P && put_number(out, P->x + P->cols - 1); }
VAR(pane_bottom) { return P && put_number(out, P->y + P->rows - 1); }
VAR(pane_at_left) { return P && put_flag(out, P->x == 0); }
VAR(pane_at_top) { return P && put_flag(out, P->y == 0); }
VAR(pane_at_right) { return P && put_flag(out, P->x + P->cols == P->w->cols); }
VAR(pane_at_bottom) { return P && put_flag(out, P->y + P->rows == P->w->rows); }
VAR(pane_dead) { return P && put_flag(out, P->dead); }
VAR(pane_dead_status) { return P && P->dead && !P->signo && put_number(out, P->status); }
VAR(pane_dead_signal) { return P && P->dead && P->signo && put_number(out, P->signo); }
VAR(pane_dead_time) { return P && P->dead && put_number(out, P->dead_at); }
VAR(pane_input_off) { return P && put_flag(out, P->input_off); }
VAR(pane_marked) { return P && put_flag(out, v->t->marked == P); }
VAR(pane_marked_set) { return P && put_flag(out, v->t->marked != NULL); }
VAR(pane_pipe) { return P && put_flag(out, P->piped); }
VAR(pane_format) { return put_flag(out, P != NULL); }
VAR(pane_in_mode) { return P && put_number(out, 0); }
VAR(pane_synchronized)
{
    return P && put_flag(out, opts_number(&P->opts, "synchronize-panes"));
}
VAR(pane_pid)
{
    const struct process *proc = P ? pane_process(P) : NULL;
    return proc && put_number(out, process_pid(proc));
}
VAR(pane_tty)
{
    char tty[64];
    if (!P)
        return false;
    pane_tty(P, tty, sizeof(tty));
    return put_text(out, tty);
}
VAR(pane_fg) { return P && put_text(out, "default"); }
VAR(pane_bg) { return P && put_text(out, "default"); }
VAR(pane_start_path) { return P && put_text(out, P->cwd); }
VAR(pane_start_command)
{
    if (!P)
        return false;
    pane_put_command(P, out);
    return true;
}
VAR(pane_current_path)
{
    char name[256], cwd[4096];
    if (!P)
        return false;
    pane_foreground(P, name, sizeof(name), cwd, sizeof(cwd));
    return put_text(out, cwd);
}
VAR(pane_current_command)
{
    char name[256], cwd[4096];
    if (!P)
        return false;
    pane_foreground(P, name, sizeof(name), cwd, sizeof(cwd));
    if (name[0] && !(W && W->naming && pane_is_silent(P)))
        pane_short_name(name, out);
    else
        pane_default_name(P, out);
    return true;
}
VAR(pane_path) { return P && put_text(out, ""); }
VAR(pane_tabs)
{
    bool any = false;
    if (!P || !P->screen.pic)
        return false;
    for (int x = 0; x < P->cols; x++) {
        if (x > 0 && picture_tab(P->screen.pic, x)) {
            buf_addf(out, any ? ",%d" : "%d", x);
            any = true;
        }
    }
    return true;
}
VAR(history_size)
{
    return P && put_number(out, (int64_t)history_count(&P->screen.history));
}
VAR(history_limit) { return P && put_number(out, (int64_t)P->limit); }
VAR(history_bytes) { return P && put_number(out, (int64_t)P->screen.history.bytes); }
VAR(mouse_any_flag);
VAR(pane_mode) { return P && put_text(out, ""); }

static bool look(const struct tm_vars *v, struct picture_state *s)
{
    if (!P || !P->screen.pic)
        return false;
    picture_report(P->screen.pic, s);
    return true;
}
#define LOOK(name, value) \
    VAR(name) \
    { \
        struct picture_state s; \
        return look(v, &s) && put_number(out, (value)); \
    }
LOOK(cursor_x, s.col)
LOOK(cursor_y, s.row)
LOOK(cursor_flag, !s.hidden && !P->dead)
LOOK(scroll_region_upper, s.top)
LOOK(scroll_region_lower, s.bottom)
LOOK(alternate_on, s.alt)
LOOK(alternate_saved_x, s.alt ? s.saved_col : (int64_t)UINT32_MAX)
LOOK(alternate_saved_y, s.alt ? s.saved_row : (int64_t)UINT32_MAX)
LOOK(insert_flag, s.insert)
LOOK(keypad_cursor_flag, s.cursor_keys)
LOOK(keypad_flag, s.keypad)
LOOK(origin_flag, s.origin)
LOOK(wrap_flag, !s.no_wrap)
LOOK(mouse_any_flag, s.mouse != 0)
LOOK(mouse_standard_flag, s.mouse == 1000)
LOOK(mouse_button_flag, s.mouse == 1002)
LOOK(mouse_all_flag, s.mouse == 1003)
LOOK(mouse_sgr_flag, s.protocol == 1006)
LOOK(mouse_utf8_flag, s.protocol == 1005)
VAR(cursor_character)
{
    struct picture_state s;
    struct buf row = BUF_INIT(SIZE_MAX);
    bool wrapped;
    int x = 0;
    if (!look(v, &s))
        return false;
    picture_row(P->screen.pic, s.row, false, &row, &wrapped);
    for (size_t i = 0; i < row.n; x++) {
        uint32_t cp;
        while (i < row.n && row.p[i] == '\033') {
            const char *end = memchr(row.p + i, 'm', row.n - i);
            i = end ? (size_t)(end - row.p) + 1 : row.n;
        }
        int len = i < row.n ? utf8_decode(str_sub(buf_str(&row), i, 4), &cp) : 0;
        len = len > 0 ? len : 1;
        if (x == s.col && i < row.n) {
            buf_add(out, row.p + i, (size_t)len);
            break;
        }
        i += (size_t)len;
    }
    if (x != s.col || out->n == 0)
        buf_addc(out, ' ');
    buf_release(&row);
    return true;
}

/* ---- the table ---- */

static const struct var {
    const char *name;
    var_fn *get;
} vars[] = {
#define ROW(name) \
    { \
#name, var_##name \
    }
    ROW(active_window_index),
    ROW(alternate_on),
    ROW(alternate_saved_x),
    ROW(alternate_saved_y),
    ROW(buffer_created),
    ROW(buffer_name),
    ROW(buffer_sample),
    ROW(buffer_size),
    ROW(client_activity),
    ROW(client_control_mode),
    ROW(client_created),
    ROW(client_discarded),
    ROW(client_flags),
    ROW(client_height),
    ROW(client_key_table),
    ROW(client_name),
    ROW(client_pid),
    ROW(client_prefix),
    ROW(client_readonly),
    ROW(client_session),
    ROW(client_termname),
    ROW(client_tty),
    ROW(client_uid),
    ROW(client_user),
    ROW(client_utf8),
    ROW(client_width),
    ROW(client_written),
    ROW(command),
    ROW(command_list_alias),
    ROW(command_list_name),
    ROW(command_list_usage),
    ROW(cursor_character),
    ROW(cursor_flag),
    ROW(cursor_x),
    ROW(cursor_y),
    ROW(history_bytes),
    ROW(history_limit),
    ROW(history_size),
    ROW(hook),
    ROW(host),
    ROW(host_short),
    ROW(insert_flag),
    ROW(keypad_cursor_flag),
    ROW(keypad_flag),
    ROW(last_window_index),
    ROW(line),
    ROW(mouse_all_flag),
    ROW(mouse_any_flag),
    ROW(mouse_button_flag),
    ROW(mouse_sgr_flag),
    ROW(mouse_standard_flag),
    ROW(mouse_utf8_flag),
    ROW(next_session_id),
    ROW(origin_flag),
    ROW(pane_active),
    ROW(pane_at_bottom),
    ROW(pane_at_left),
    ROW(pane_at_right),
    ROW(pane_at_top),
    ROW(pane_bg),
    ROW(pane_bottom),
    ROW(pane_current_command),
    ROW(pane_current_path),
    ROW(pane_dead),
    ROW(pane_dead_signal),
    ROW(pane_dead_status),
    ROW(pane_dead_time),
    ROW(pane_fg),
    ROW(pane_format),
    ROW(pane_height),
    ROW(pane_id),
    ROW(pane_in_mode),
    ROW(pane_index),
    ROW(pane_input_off),
    ROW(pane_last),
    ROW(pane_left),
    ROW(pane_marked),
    ROW(pane_marked_set),
    ROW(pane_mode),
    ROW(pane_path),
    ROW(pane_pid),
    ROW(pane_pipe),
    ROW(pane_right),
    ROW(pane_start_command),
    ROW(pane_start_path),
    ROW(pane_synchronized),
    ROW(pane_tabs),
    ROW(pane_title),
    ROW(pane_top),
    ROW(pane_tty),
    ROW(pane_width),
    ROW(pid),
    ROW(scroll_region_lower),
    ROW(scroll_region_upper),
    ROW(session_activity),
    ROW(session_alerts),
    ROW(session_attached),
    ROW(session_created),
    ROW(session_format),
    ROW(session_group),
    ROW(session_group_attached),
    ROW(session_group_list),
    ROW(session_group_many_attached),
    ROW(session_group_size),
    ROW(session_grouped),
    ROW(session_id),
    ROW(session_last_attached),
    ROW(session_many_attached),
    ROW(session_marked),
    ROW(session_name),
    ROW(session_path),
    ROW(session_stack),
    ROW(session_windows),
    ROW(socket_path),
    ROW(start_time),
    ROW(uid),
    ROW(user),
    ROW(version),
    ROW(window_active),
    ROW(window_active_clients),
    ROW(window_active_clients_list),
    ROW(window_active_sessions),
    ROW(window_active_sessions_list),
    ROW(window_activity),
    ROW(window_activity_flag),
    ROW(window_bell_flag),
    ROW(window_bigger),
    ROW(window_cell_height),
    ROW(window_cell_width),
    ROW(window_end_flag),
    ROW(window_flags),
    ROW(window_format),
    ROW(window_height),
    ROW(window_id),
    ROW(window_index),
    ROW(window_last_flag),
    ROW(window_layout),
    ROW(window_linked),
    ROW(window_linked_sessions),
    ROW(window_linked_sessions_list),
    ROW(window_marked_flag),
    ROW(window_name),
    ROW(window_panes),
    ROW(window_raw_flags),
    ROW(window_silence_flag),
    ROW(window_stack_index),
    ROW(window_start_flag),
    ROW(window_visible_layout),
    ROW(window_width),
    ROW(window_zoomed_flag),
    ROW(wrap_flag),
};
enum { VARS = sizeof(vars) / sizeof(vars[0]) };

bool vars_get(const struct tm_vars *v, struct str name, struct buf *out)
{
    size_t low = 0, high = VARS;
    while (low < high) {
        size_t mid = (low + high) / 2, n = strlen(vars[mid].name);
        int r = memcmp(name.p, vars[mid].name, name.n < n ? name.n : n);
        r = r ? r : name.n < n ? -1 : name.n > n;
        if (r == 0)
            return vars[mid].get(v, out);
        if (r > 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

void vars_list(const struct tm_vars *v,
               void (*fn)(void *arg, const char *name, struct str), void *arg)
{
    for (size_t i = 0; i < VARS; i++) {
        struct buf value = BUF_INIT(TM_NAME_MAX);
        if (vars[i].get(v, &value))
            fn(arg, vars[i].name, buf_str(&value));
        buf_release(&value);
    }
}

bool vars_true(struct str value) { return tmux_format_true(value); }

/* ---- expansion ---- */

/* What an expansion sees, and the objects of its loops, one for each kind. */
struct expansion {
    struct tm_vars v;
    struct expansion *loop; /* owned; [LOOP_CLIENTS + 1] */
};

static bool get(void *ctx, struct str name, struct buf *out)
{
    const struct expansion *x = ctx;
    const struct tm_place *at = &x->v.at;
    struct tmux *t = x->v.t;
    if (vars_get(&x->v, name, out))
        return true;
    if ((at->p && tmux_options_format(&at->p->opts, name, out)) ||
        (!at->p && at->w && tmux_options_format(&at->w->opts, name, out)) ||
        (at->s && tmux_options_format(&at->s->opts, name, out)) ||
        tmux_options_format(&t->server, name, out) ||
        tmux_options_format(&t->global, name, out) ||
        tmux_options_format(&t->global_w, name, out))
        return true;
    const struct env_var *e = at->s ? env_find(&at->s->env, name) : NULL;
    if (!e)
        e = env_find(&t->env, name);
    if (e && e->value)
        buf_addz(out, e->value);
    return e && e->value;
}

static struct tm_link *nth_link(struct tm_session *s, size_t i)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->links) {
        if (i-- == 0)
            return list_entry(it, struct tm_link, node);
    }
    return NULL;
}

static struct tm_pane *nth_pane(struct tm_window *w, size_t i)
{
    struct list *it, *tmp;
    list_each (it, tmp, &w->panes) {
        if (i-- == 0)
            return list_entry(it, struct tm_pane, sibling);
    }
    return NULL;
}

static void *each(void *ctx, enum tmux_loop kind, struct str sort, size_t i, bool *active)
{
    struct expansion *x = ctx;
    const struct tm_vars *v = &x->v;
    struct tm_place at = {.index = -1};
    (void)sort;
    if (!x->loop)
        x->loop = xcalloc(LOOP_CLIENTS + 1, sizeof(*x->loop));
    struct expansion *y = &x->loop[kind];
    y->v = *v;
    if (kind == LOOP_SESSIONS) {
        at.s = session_sorted(v->t, (unsigned)i);
        *active = at.s == v->at.s;
    } else if (kind == LOOP_WINDOWS && v->at.s) {
        at.l = nth_link(v->at.s, i);
        at.s = at.l ? v->at.s : NULL;
        at.w = at.l ? at.l->w : NULL;
        *active = at.l && at.l == v->at.s->link;
    } else if (kind == LOOP_PANES && v->at.w) {
        at = v->at;
        at.p = nth_pane(v->at.w, i);
        at.s = at.p ? at.s : NULL;
        *active = at.p && at.p == v->at.w->pane;
    }
    if (!at.s)
        return NULL;
    target_complete(&at);
    y->v.at = at;
    return y;
}

static bool has_name(void *ctx, bool session, struct str name)
{
    const struct expansion *x = ctx;
    struct list *it, *tmp;
    if (session)
        return session_by_name(x->v.t, name) != NULL;
    if (!x->v.at.s)
        return false;
    list_each (it, tmp, &x->v.at.s->links) {
        if (str_eq(str_of(list_entry(it, struct tm_link, node)->w->name), name))
            return true;
    }
    return false;
}

static void expansion_free(struct expansion *x)
{
    for (int i = 0; x->loop && i <= LOOP_CLIENTS; i++)
        expansion_free(&x->loop[i]);
    free(x->loop);
}

void vars_expand_str(const struct tm_vars *v, struct str format, struct buf *out)
{
    static const struct tmux_format_ops ops = {
        .var = get, .each = each, .name = has_name};
    struct expansion x = {.v = *v};
    struct tmux_format_how how = {.ops = &ops,
                                  .ctx = &x,
                                  .now = clock_wall_ms() / 1000,
                                  .strftime = v->times,
                                  .no_jobs = true};
    tmux_format(out, format, &how);
    expansion_free(&x);
}

void vars_expand(const struct tm_vars *v, const char *format, struct buf *out)
{
    vars_expand_str(v, str_of(format), out);
}

static char *expand(struct tm_item *it, const char *format, const struct tm_place *at,
                    bool times)
{
    struct tm_vars v = {.t = it->c->t, .c = it->c, .at = *at, .times = times};
    struct buf out = BUF_INIT(FORMAT_OUT_MAX);
    vars_expand(&v, format, &out);
    return buf_take(&out);
}

char *tm_expand(struct tm_item *it, const char *format, const struct tm_place *at)
{
    return expand(it, format, at, false);
}

char *tm_expand_times(struct tm_item *it, const char *format, const struct tm_place *at)
{
    return expand(it, format, at, true);
}
