/* SPDX-License-Identifier: MIT */
/* Commands that type, and the key bindings, which attached clients have none of but one.
 */
#include "front/tmux/cmds.h"

#include "action/log.h"
#include "action/outside.h"
#include "base/xalloc.h"
#include "front/tmux/control.h"
#include "front/tmux/lang/keys.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/typing.h"
#include "front/tmux/vars.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 32 << 10, LOGGED = 4 << 10 };

/* What is still to be typed by a command. */
struct typing {
    struct buf bytes; /* owned */
    size_t at;
    struct tm_pane *to[256];
    size_t n, next;
};

/* ---- in the log ---- */

static void log_input(struct tm_item *it, struct tm_pane *p, struct str bytes)
{
    struct tmux *t = it->c->t;
    struct action *a;
    uint64_t end;
    char id[LIMIT_ID + 1], name[24];
    struct json *args = json_object();
    if (!t->en->actions)
        return;
    tm_call_id(it, id);
    snprintf(name, sizeof(name), "%%%u", p->id);
    if (pane_hides_input(p))
        json_put_str(args, "data", log_hidden);
    else
        outside_put_text(t->en->actions, args, "data", str_sub(bytes, 0, LOGGED));
    if (bytes.n > LOGGED)
        json_put_int(args, "bytes", (int64_t)bytes.n);
    json_put_z(args, "process", name);
    struct outside_order o = {.kind = "input",
                              .session = str_of(name),
                              .id = str_of(id),
                              .source = "tmux",
                              .uid = it->c->uid,
                              .pid = it->c->pid,
                              .args = args};
    if (outside_open(t->en->actions, &o, &a, &end) != OUTSIDE_OVER && a)
        outside_end(a, STR(""), NULL);
}

/* ---- typing ---- */

static void typing_drop(struct tm_item *it)
{
    struct typing *x = it->state;
    if (x)
        buf_release(&x->bytes);
    free(x);
    it->state = NULL;
}

/* Returns whether all is typed. Only the last bytes of all are stored as the command's
 * end: a restart before that types from the beginning of the piece that was not taken. */
static bool typing_go(struct tm_item *it)
{
    struct typing *x = it->state;
    while (x->next < x->n) {
        struct tm_pane *p = x->to[x->next];
        struct buf key = BUF_INIT(128), value = BUF_INIT(KEEP_FAR_MAX);
        struct str piece = str_sub(buf_str(&x->bytes), x->at, PIECE);
        bool last = x->at + piece.n == x->bytes.n && x->next + 1 == x->n;
        if (p->freed) {
            x->next++;
            x->at = 0;
            continue;
        }
        if (last)
            tm_done_state(it, &key, &value);
        else
            typed_state(it, x->next, x->at + piece.n, &key, &value);
        bool typed = pane_type(p, piece, buf_str(&key), buf_str(&value));
        buf_release(&key);
        buf_release(&value);
        if (!typed)
            return false;
        x->at += piece.n;
        if (x->at == x->bytes.n) {
            x->next++;
            x->at = 0;
        }
    }
    return true;
}

static void on_room(struct tm_item *it)
{
    struct typing *x = it->state;
    while (x->next < x->n && x->to[x->next]->freed)
        x->next++;
    if (typing_go(it))
        tm_go_on(it, TM_DONE);
}

enum tm_result typing_begin(struct tm_item *it, struct buf *take)
{
    struct tm_pane *p = it->target.p;
    struct list *i, *tmp;
    struct typing *x = xnew(struct typing);
    uint64_t which = 0, at = 0;
    x->bytes = *take;
    it->state = x;
    it->drop = typing_drop;
    if (p->input_off || p->dead || x->bytes.n == 0)
        return TM_DONE;
    x->to[x->n++] = p;
    if (opts_number(&p->opts, "synchronize-panes")) {
        list_each (i, tmp, &p->w->panes) {
            struct tm_pane *o = list_entry(i, struct tm_pane, sibling);
            if (o != p && !o->dead && !o->input_off && x->n < 256 &&
                opts_number(&o->opts, "synchronize-panes"))
                x->to[x->n++] = o;
        }
    }
    typed_before(it, &which, &at);
    x->next = which < x->n ? (size_t)which : 0;
    x->at = which < x->n && at <= x->bytes.n ? (size_t)at : 0;
    log_input(it, p, buf_str(&x->bytes));
    it->on_room = on_room;
    return typing_go(it) ? TM_DONE : TM_WAIT;
}

static struct tmux_key_mode modes_of(struct tm_pane *p)
{
    struct picture_state look = {0};
    if (p->screen.pic)
        picture_report(p->screen.pic, &look);
    return (struct tmux_key_mode){.cursor = look.cursor_keys, .keypad = look.keypad};
}

/* ---- send-keys ---- */

enum tm_result cmd_send_keys(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    struct buf once = BUF_INIT(TM_KEYS_MAX), all = BUF_INIT(TM_KEYS_MAX);
    struct tmux_key_mode mode = modes_of(p);
    const char *text = args_get(a, 'N'), *why;
    int64_t times = 1;
    if (!text && args_has(a, 'N'))
        return tm_fail(it, "repeat count missing");
    if (text && tmux_number(str_of(text), 1, UINT_MAX, &times, &why) < 0)
        return tm_fail(it, "repeat count %s", why);
    if (args_has(a, 'X'))
        return tm_fail(it, "not in a mode");
    if (args_has(a, 'M'))
        return tm_fail(it, "no mouse target");
    if (args_has(a, 'R') && p->screen.pic)
        screen_clear(&p->screen);
    for (int i = 0; i < a->words; i++) {
        char *word = args_has(a, 'F') ? tm_expand(it, a->word[i], &it->target)
                                      : xstrdup(a->word[i]);
        if (args_has(a, 'H'))
            tmux_key_hex(&once, str_of(word));
        else
            tmux_key_word(&once, str_of(word), args_has(a, 'l'), &mode);
        free(word);
    }
    for (int64_t i = 0; i < times && once.n > 0; i++)
        buf_adds(&all, buf_str(&once));
    buf_release(&once);
    if (buf_full(&all)) {
        buf_release(&all);
        return tm_fail(it, "the keys are longer than %d bytes", TM_KEYS_MAX);
    }
    return typing_begin(it, &all);
}

enum tm_result cmd_send_prefix(struct tm_item *it)
{
    const char *name = args_has(&it->args, '2') ? "prefix2" : "prefix";
    struct buf out = BUF_INIT(TM_NAME_MAX);
    struct tmux_key_mode mode = modes_of(it->target.p);
    tmux_key_bytes(
        &out, tmux_key_parse(tmux_options_get(&it->target.s->opts, str_of(name))), &mode);
    return typing_begin(it, &out);
}

/* ---- bindings ---- */

enum tm_result cmd_bind_key(struct tm_item *it)
{
    if (tmux_key_parse(str_of(it->args.word[0])) == TMUX_KEY_NONE)
        return tm_fail(it, "unknown key: %s", it->args.word[0]);
    return TM_DONE;
}

enum tm_result cmd_unbind_key(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    bool quiet = args_has(a, 'q');
    if (args_has(a, 'a'))
        return a->words > 0 && !quiet ? tm_fail(it, "key given with -a") : TM_DONE;
    if (a->words == 0)
        return quiet ? TM_DONE : tm_fail(it, "missing key");
    if (tmux_key_parse(str_of(a->word[0])) == TMUX_KEY_NONE && !quiet)
        return tm_fail(it, "unknown key: %s", a->word[0]);
    return TM_DONE;
}

/* The only key that an attached client has. */
enum tm_result cmd_list_keys(struct tm_item *it)
{
    tm_print(it, "bind-key    -T prefix C-b                  send-prefix");
    tm_print(it, "bind-key    -T prefix d                    detach-client");
    return TM_DONE;
}
