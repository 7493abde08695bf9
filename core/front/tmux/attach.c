/* SPDX-License-Identifier: MIT */
/*
 * A client on a terminal: it shows one pane, the active one of its session's current
 * window, without a status line; what is typed goes to it. C-b d detaches, C-b C-b types
 * C-b, C-b n and p go to the next and previous window, C-b o to the next pane.
 */
#include "front/tmux/control.h"

#include "base/clock.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 2, PIECE = 16 << 10 };

void attach_show(struct tmux_client *c)
{
    struct control *ctl = c->ctl;
    struct tm_pane *p = c->session && c->session->link ? c->session->link->w->pane : NULL;
    if (!ctl || c->control || !c->session || !p || !p->screen.pic || c->leaving ||
        (ctl->shown && ctl->pane == p))
        return;
    if (ctl->shown || c->out[0].buf.n == 0) {
        buf_addz(&c->out[0].buf, "\033[2J");
        picture_paint(p->screen.pic, &c->out[0].buf, NULL, NULL);
        ctl->shown = true;
    }
    ctl->pane = p;
    if (!c->opening)
        task_defer(c->t->en->loop, &c->go);
}

void control_attach(struct tmux_client *c, struct tm_session *s)
{
    if (!c->ctl)
        control_open(c);
    if (c->session == s)
        return;
    if (c->session)
        c->session->clients--;
    c->session = s;
    s->clients++;
    s->attached_at = clock_wall_ms() / 1000;
    s->active_us = clock_wall_ms() * 1000;
    state_changed(c->t);
    hook_run(c->t, "client-attached", s, NULL, NULL);
    if (c->control) {
        if (c->ctl)
            control_note(c, "%%session-changed $%u %s", s->id, s->name);
        return;
    }
    c->calls->note(c->arg, "raw");
    if (c->cols > 0)
        control_size(c);
    attach_show(c);
}

void client_detach(struct tmux_client *c)
{
    char text[TM_NAME_MAX];
    struct tm_session *s = c->session;
    if (!s)
        return;
    snprintf(text, sizeof(text), "[detached (from session %s)]", s->name);
    c->session = NULL;
    s->clients--;
    state_changed(c->t);
    hook_run(c->t, "client-detached", s, NULL, NULL);
    if (!c->control)
        buf_addz(&c->out[0].buf,
                 "\033[?1047l\033[r\033[m\033[?25h\033[?1l\033[?2004l\033[H"
                 "\033[2J");
    else
        buf_addz(&c->out[0].buf, "%exit\n");
    request_leave(c, c->control ? NULL : text, false);
}

/* A key after the prefix. */
static void after_prefix(struct tmux_client *c, char key)
{
    struct tm_session *s = c->session;
    struct tm_link *l = s->link;
    if (key == 'd')
        client_detach(c);
    else if ((key == 'n' || key == 'p') && link_beside(l, key == 'n' ? 1 : -1, false))
        link_use(link_beside(l, key == 'n' ? 1 : -1, false));
    else if (key == 'o')
        window_use_pane(pane_beside(l->w->pane, 1));
    if (c->session)
        attach_show(c);
}

void attach_input(struct tmux_client *c)
{
    while (c->in.n > 0 && c->session && !c->leaving) {
        struct tm_pane *p = c->session->link->w->pane;
        size_t n = 0, most = c->in.n < PIECE ? c->in.n : PIECE;
        if (c->ctl->prefix) {
            char key = c->in.p[0];
            if (key != PREFIX) {
                c->ctl->prefix = false;
                buf_consume(&c->in, 1);
                after_prefix(c, key);
                continue;
            }
            n = 1;
        }
        while (n < most && c->in.p[n] != PREFIX)
            n++;
        struct buf key = BUF_INIT(128), value = BUF_INIT(KEEP_FAR_MAX);
        uint64_t end = c->in_at - c->in.n + n;
        if (n > 0 && !c->read_only && p) {
            input_state(c, end, &key, &value);
            if (!pane_type(p, str_n(c->in.p, n), buf_str(&key), buf_str(&value))) {
                buf_release(&key);
                buf_release(&value);
                return; /* goes on when the pane has room, or another one is shown */
            }
        }
        buf_release(&key);
        buf_release(&value);
        bool prefix = n < most && c->in.p[n] == PREFIX;
        buf_consume(&c->in, n + prefix);
        c->ctl->prefix = prefix;
    }
    if (c->in_ended && c->session)
        client_detach(c);
}
