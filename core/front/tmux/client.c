/* SPDX-License-Identifier: MIT */
/* A request: its commands one after the other, and its output. */
#include "front/tmux/request.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/tmux/cmds.h"
#include "front/tmux/control.h"
#include "front/tmux/lang/format.h"
#include "front/tmux/lang/parse.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/state.h"
#include "front/tmux/source.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PER_TURN = 64, CAPTURE_STEP = 256 << 10 };

/* ---- output ---- */

/* Hands over what is queued. Returns whether all of it was taken. */
static bool flush(struct tmux_client *c)
{
    bool all = true;
    for (int i = 0; i < 2; i++) {
        struct buf *b = &c->out[i].buf;
        if (b->n == 0 || !c->calls || c->left) {
            buf_reset(b);
            continue;
        }
        size_t n = c->calls->output(c->arg, i == 1, c->out[i].at, buf_str(b));
        c->out[i].at += n;
        buf_consume(b, n);
        all &= b->n == 0;
    }
    return all;
}

void tm_print_bytes(struct tm_item *it, struct str bytes)
{
    buf_adds(&it->c->out[0].buf, bytes);
}

void tm_print(struct tm_item *it, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&it->c->out[0].buf, fmt, ap);
    va_end(ap);
    buf_addc(&it->c->out[0].buf, '\n');
}

enum tm_result tm_fail(struct tm_item *it, const char *fmt, ...)
{
    struct tmux_client *c = it->c;
    struct buf *out = &c->out[c->control ? 0 : 1].buf;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(out, fmt, ap);
    va_end(ap);
    buf_addc(out, '\n');
    c->exit = 1;
    return TM_ERROR;
}

static bool pump_capture(struct tmux_client *c)
{
    while (c->capture) {
        bool more = capture_some(c->capture, &c->out[0].buf, CAPTURE_STEP);
        if (!more) {
            capture_end(c->capture);
            free(c->capture);
            c->capture = NULL;
        }
        if (!flush(c))
            return false;
    }
    return true;
}

bool tm_capture(struct tm_item *it, struct capture *take)
{
    struct tmux_client *c = it->c;
    c->capture = xnew(struct capture);
    *c->capture = *take;
    pump_capture(c);
    return !c->capture;
}

/* ---- items ---- */

static void item_free(struct tm_item *it)
{
    if (it->drop)
        it->drop(it);
    timer_stop(&it->timer);
    for (int i = 0; i < it->argc; i++)
        free(it->argv[i]);
    free(it->argv);
    list_del(&it->node);
    free(it);
}

void tm_call_id(const struct tm_item *it, char out[LIMIT_ID + 1])
{
    snprintf(out, LIMIT_ID + 1, "%.40s:%llu", it->c->id[0] ? it->c->id : it->c->name,
             (unsigned long long)(it->c->step * 1000 + (uint64_t)it->serial));
}

/* Takes argv. Returns NULL after it appended the reason to why. */
static struct tm_item *item_new(struct tmux_client *c, int argc, char **argv,
                                unsigned group, int depth, struct buf *why)
{
    const struct tm_command *cmd = command_find(argv[0], why);
    struct tm_item *it = xnew(struct tm_item);
    it->c = c;
    it->cmd = cmd;
    it->argc = argc;
    it->argv = argv;
    it->group = group;
    it->depth = depth;
    list_init(&it->node);
    if (cmd)
        it->spec = command_spec(cmd);
    if (cmd && tmux_args_parse(&it->args, &it->spec, argc, argv, why) == 0)
        return it;
    item_free(it);
    return NULL;
}

static void free_all(struct list *items)
{
    struct list *it, *tmp;
    list_each (it, tmp, items)
        item_free(list_entry(it, struct tm_item, node));
}

/* After an error the other commands of the same line are left out. */
static void drop_group(struct tmux_client *c, unsigned group)
{
    struct list *it, *tmp;
    list_each (it, tmp, &c->items) {
        struct tm_item *x = list_entry(it, struct tm_item, node);
        if (x->group == group)
            item_free(x);
    }
}

/* Puts commands after the one that has begun them. */
static void insert_end(struct tmux_client *c, struct list *items)
{
    while (!list_empty(items)) {
        struct list *first = items->next;
        list_del(first);
        list_add_tail(&c->items, first);
    }
}

static void insert(struct tmux_client *c, struct list *items, struct tm_item *after)
{
    struct list *at = after ? after->node.next : &c->items;
    while (!list_empty(items)) {
        struct list *first = items->next;
        list_del(first);
        list_add_tail(at, first);
    }
}

/* ---- command lines ---- */

static unsigned next_group;

static bool variable(void *ctx, struct str name, struct buf *out)
{
    const struct tmux_client *c = ctx;
    const struct env_var *v = env_find(&c->t->env, name);
    if (v && v->value)
        buf_addz(out, v->value);
    return v && v->value;
}

static bool home(void *ctx, struct str user, struct buf *out)
{
    struct tmux_client *c = ctx;
    char name[64];
    if (user.n == 0 && variable(c, STR("HOME"), out))
        return true;
    if (user.n >= sizeof(name))
        return false;
    snprintf(name, sizeof(name), "%.*s", STR_ARG(user));
    const struct passwd *pw = user.n ? getpwnam(name) : getpwuid(getuid());
    if (pw)
        buf_addz(out, pw->pw_dir);
    return pw != NULL;
}

static void assign(void *ctx, struct str name, struct str value, bool hidden)
{
    struct tmux_client *c = ctx;
    env_set(&c->t->env, name, value, hidden);
    state_changed(c->t);
}

static bool condition(void *ctx, struct str format)
{
    struct tmux_client *c = ctx;
    struct tm_vars v = {.t = c->t, .c = c};
    struct buf out = BUF_INIT(TM_NAME_MAX);
    target_current(c, 0, &v.at);
    vars_expand_str(&v, format, &out);
    bool yes = tmux_format_true(buf_str(&out));
    buf_release(&out);
    return yes;
}

/* The value of command-alias for a first word. */
static bool alias(void *ctx, struct str name, struct buf *out)
{
    struct tmux_client *c = ctx;
    const char *value;
    for (size_t i = 0; (value = opts_item(&c->t->server, "command-alias", i)); i++) {
        if (!str_starts(str_of(value), name) || value[name.n] != '=')
            continue;
        buf_addz(out, value + name.n + 1);
        return true;
    }
    return false;
}

static int check(void *ctx, const struct tmux_command *x, struct buf *why)
{
    struct tmux_args *args = xnew(struct tmux_args);
    const struct tm_command *cmd = command_find(x->argv[0], why);
    struct tmux_spec spec;
    int r = -1;
    (void)ctx;
    if (cmd) {
        spec = command_spec(cmd);
        r = tmux_args_parse(args, &spec, x->argc, x->argv, why);
    }
    free(args);
    return r;
}

static const struct tmux_parse_ops parse_ops = {.variable = variable,
                                                .home = home,
                                                .assign = assign,
                                                .condition = condition,
                                                .alias = alias,
                                                .check = check};

/* Takes the commands, whose groups become others than those of all before. */
static int take_commands(struct tmux_client *c, struct list *items,
                         struct tmux_commands *all, int depth, struct buf *why)
{
    unsigned base = next_group + 1;
    int r = 0;
    for (size_t i = 0; i < all->n && r == 0; i++) {
        struct tmux_command *x = &all->command[i];
        char **words = xcalloc((size_t)x->argc + 1, sizeof(*words));
        for (int k = 0; k < x->argc; k++)
            words[k] = xstrdup(x->argv[k]);
        if (base + x->group > next_group)
            next_group = base + x->group;
        struct tm_item *it = item_new(c, x->argc, words, base + x->group, depth, why);
        if (it)
            list_add_tail(items, &it->node);
        r = it ? 0 : -1;
    }
    return r;
}

static int add_text(struct tmux_client *c, struct list *items, struct str text,
                    const char *file, int depth, struct buf *why)
{
    struct tmux_commands all = {0};
    int r = tmux_parse(&all, text, file, 1, &parse_ops, c, why);
    if (r == 0)
        r = take_commands(c, items, &all, depth, why);
    tmux_commands_release(&all);
    return r;
}

static int add_words(struct tmux_client *c, struct list *items, int argc,
                     char *const *argv, int depth, struct buf *why)
{
    struct tmux_commands all = {0};
    int r = tmux_parse_words(&all, argc, argv, &parse_ops, c, why);
    if (r == 0)
        r = take_commands(c, items, &all, depth, why);
    tmux_commands_release(&all);
    return r;
}

/* ---- doing them ---- */

static void settle(struct tmux_client *c);
static void proceed(struct tmux_client *c);

static void on_go(struct task *task)
{
    proceed(container_of(task, struct tmux_client, go));
}

/* The command is over: the request's next one follows. */
static void item_over(struct tm_item *it, enum tm_result result)
{
    struct tmux_client *c = it->c;
    unsigned group = it->group;
    bool top = it->depth == 0;
    if (result == TM_DONE)
        hook_after(it);
    control_end(it, result == TM_ERROR);
    item_free(it);
    if (result == TM_ERROR)
        drop_group(c, group);
    if (top) {
        c->step++;
        if (c->t->dirty)
            done_note(c, c->step);
    }
    if (c->t->dirty)
        state_store(c->t);
}

void tm_go_on(struct tm_item *it, enum tm_result result)
{
    struct tmux_client *c = it->c;
    BUG_ON(c->waiting != it);
    c->waiting = NULL;
    item_over(it, result);
    if (!c->running)
        task_defer(c->t->en->loop, &c->go);
}

static void do_next(struct tmux_client *c)
{
    struct tm_item *it = list_first(&c->items, struct tm_item, node);
    if (it->depth == 0 && c->step < c->skip) {
        c->step++; /* an earlier worker did it */
        item_free(it);
        return;
    }
    control_begin(it);
    c->waiting = it;
    it->began = true;
    enum tm_result r = target_resolve(it) < 0 ? TM_ERROR : it->cmd->run(it);
    if (r == TM_WAIT) {
        control_free_held(c);
        return;
    }
    c->waiting = NULL;
    item_over(it, r);
}

static void proceed(struct tmux_client *c)
{
    if (c->running || c->over)
        return;
    c->running = true;
    for (int i = 0; i < PER_TURN && !c->waiting && !list_empty(&c->items); i++)
        do_next(c);
    c->running = false;
    if (c->ctl && !c->waiting && list_empty(&c->items) && c->in.n > 0)
        control_input(c);
    if (!c->waiting && !list_empty(&c->items))
        task_defer(c->t->en->loop, &c->go);
    settle(c);
}

/* ---- the end ---- */

static void bury(void *arg)
{
    struct tmux_client *c = arg;
    buf_release(&c->out[0].buf);
    buf_release(&c->out[1].buf);
    buf_release(&c->in);
    env_release(&c->env);
    free(c->cwd);
    free(c->tty);
    free(c->term);
    free(c->last);
    free(c);
}

static void client_free(struct tmux_client *c)
{
    struct tmux *t = c->t;
    c->over = true;
    c->waiting = NULL;
    free_all(&c->items);
    if (c->capture)
        capture_end(c->capture);
    free(c->capture);
    c->capture = NULL;
    control_drop(c);
    if (c->session) {
        c->session->clients--;
        c->session = NULL;
    }
    task_cancel(&c->go);
    list_del(&c->node);
    loop_bury(t->en->loop, c, bury);
    model_check_end(t);
}

/* Sends the result when there is nothing left to do and all output is taken. */
static void settle(struct tmux_client *c)
{
    bool sent = flush(c);
    if (c->over || c->waiting || c->running || !list_empty(&c->items) || c->capture)
        return;
    if (c->calls && ((c->control && !c->in_ended) || c->session) && !c->leaving)
        return; /* a client that stays */
    if (!sent && !c->left)
        return;
    struct json *j = json_object();
    json_put_bool(j, "ok", true);
    json_put_int(j, "exit", c->exit);
    if (c->last) {
        json_put_z(j, "last", c->last);
        json_put_bool(j, "last_error", c->last_error);
    }
    const struct tmux_calls *calls = c->left ? NULL : c->calls;
    void *arg = c->arg;
    client_free(c);
    if (calls)
        calls->done(arg, j);
    else
        json_free(j);
}

void request_settle(struct tmux_client *c) { settle(c); }

void request_leave(struct tmux_client *c, const char *text, bool error)
{
    free(c->last);
    c->last = text ? xstrdup(text) : NULL;
    c->last_error = error;
    c->leaving = true;
    if (error)
        c->exit = 1;
    task_defer(c->t->en->loop, &c->go);
}

/* ---- from the peer ---- */

void tmux_room(struct tmux_client *c)
{
    if (!flush(c) || !pump_capture(c))
        return;
    /* Its last rows may have been read in an earlier turn, and taken only now. */
    if (c->waiting && c->waiting->cmd->run == cmd_capture_pane)
        tm_go_on(c->waiting, TM_DONE);
    else
        control_room(c);
    settle(c);
}

void tm_want_input(struct tm_item *it, void (*ready)(struct tm_item *it))
{
    struct tmux_client *c = it->c;
    c->in_ready = ready;
    if (!c->calls || c->left || c->in_ended)
        ready(it);
    else if (!c->in_wanted)
        c->calls->note(c->arg, "stdin");
    c->in_wanted = true;
}

void tmux_input(struct tmux_client *c, uint64_t offset, struct str bytes)
{
    if (bytes.n == 0)
        c->in_ended = true;
    if (offset > c->in_at)
        c->in_at = offset; /* an earlier worker took what was before */
    if (offset < c->in_at)
        bytes = str_sub(bytes, (size_t)(c->in_at - offset), bytes.n);
    c->in_at += bytes.n;
    buf_adds(&c->in, bytes);
    c->calls->accepted(c->arg, c->in_at);
    if (c->session && !c->control && bytes.n > 0) {
        int64_t ms = clock_wall_ms();
        c->active = ms / 1000;
        c->session->active_us = ms * 1000; /* stored with what changes next */
    }
    if (c->control || c->session) {
        control_input(c);
    } else if (c->in_ended && c->in_ready && c->waiting) {
        void (*ready)(struct tm_item *) = c->in_ready;
        c->in_ready = NULL;
        ready(c->waiting);
    }
    settle(c);
}

void tmux_size(struct tmux_client *c, int rows, int cols)
{
    if (rows < 1 || cols < 1 || rows > TM_SIDE_MAX || cols > TM_SIDE_MAX)
        return;
    c->rows = rows;
    c->cols = cols;
    control_size(c);
}

/* What it began goes on to its end, but nothing waits for it. */
void tmux_leave(struct tmux_client *c)
{
    if (!c || c->over)
        return;
    c->left = true;
    c->calls = NULL;
    client_free(c);
}

/* ---- beginning ---- */

static struct tmux_client *client_new(struct tmux *t)
{
    struct tmux_client *c = xnew(struct tmux_client);
    c->t = t;
    list_init(&c->items);
    buf_init(&c->out[0].buf, TM_OUT_MAX);
    buf_init(&c->out[1].buf, TM_OUT_MAX);
    buf_init(&c->in, TM_OUT_MAX);
    task_init(&c->go, on_go);
    c->made = c->active = clock_wall_ms() / 1000;
    list_add_tail(&t->clients, &c->node);
    return c;
}

static char *member(const struct json *q, const char *name)
{
    struct str s = json_str(q, name, "");
    return xstrndup(s.p, s.n);
}

static char **read_words(const struct json *q, int *argc)
{
    const struct json *list = json_get(q, "argv");
    char **words = xcalloc((size_t)json_count(list) + 1, sizeof(*words));
    *argc = 0;
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        struct str s = json_str_value(v, "");
        struct buf b = BUF_INIT(FRAME_WORD);
        if (json_is_object(v))
            dec_base64(&b, json_str(v, "base64", ""));
        else
            buf_adds(&b, s);
        words[(*argc)++] = xstrndup(buf_z(&b), b.n);
        buf_release(&b);
    }
    return words;
}

static void free_words(char **words, int n)
{
    for (int i = 0; i < n; i++)
        free(words[i]);
    free(words);
}

/* The files of the first client are done before its commands. Errors of them are not its
 * own, as in tmux. */
static void configure(struct tmux *t, struct tmux_client *from, const struct json *q)
{
    bool given = json_bool(q, "files_given", false);
    t->configured = true;
    state_changed(t);
    for (const struct json *v = json_first(json_get(q, "files")); v; v = json_next(v)) {
        struct buf why = BUF_INIT(TM_NAME_MAX);
        struct str path = json_str_value(v, "");
        source_file(t, NULL, from, path.p, !given, &why);
        if (why.n > 0)
            log_warn("tmux: %s", buf_z(&why));
        buf_release(&why);
    }
}

struct tmux_client *tmux_ask(struct tmux *t, const struct json *q, uid_t uid, pid_t pid,
                             const struct tmux_calls *calls, void *arg, struct err *e)
{
    struct str id = json_str(q, "id", "");
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    int argc;
    if (t->ending) {
        err_set(e, ERR_CANCELLED, "server exited");
        return NULL;
    }
    struct tmux_client *c = client_new(t);
    c->uid = uid;
    c->pid = (pid_t)json_int(q, "client", pid);
    snprintf(c->id, sizeof(c->id), "%.*s", STR_ARG(id));
    c->cwd = member(q, "cwd");
    c->tty = member(q, "tty");
    c->term = member(q, "term");
    c->rows = (int)json_int(q, "rows", 0);
    c->cols = (int)json_int(q, "cols", 0);
    c->control = (int)json_int(q, "control", 0);
    if (c->tty[0])
        snprintf(c->name, sizeof(c->name), "%.70s", c->tty);
    else
        snprintf(c->name, sizeof(c->name), "client-%ld", (long)c->pid);
    for (const struct json *v = json_first(json_get(q, "env")); v; v = json_next(v))
        env_set(&c->env, str_of(json_name(v)), json_str_value(v, ""), false);
    if (!t->socket[0])
        snprintf(t->socket, sizeof(t->socket), "%s",
                 json_str(q, "place", t->en->socket).p);
    c->in_at = input_before(t, c->id);
    c->skip = done_find(t, c->id, &c->out[0].buf, &c->out[1].buf, &c->exit);
    if (!t->configured)
        configure(t, c, q);
    c->calls = calls;
    c->arg = arg;
    char **words = read_words(q, &argc);
    char fallback[] = "new-session", *none[] = {fallback};
    if (add_words(c, &c->items, argc ? argc : 1, argc ? words : none, 0, &why) < 0) {
        free_all(&c->items);
        buf_addf(&c->out[c->control ? 0 : 1].buf, "%s\n", buf_z(&why));
        c->exit = 1;
        c->leaving = true;
    }
    free_words(words, argc);
    buf_release(&why);
    control_open(c);
    c->opening = true;
    proceed(c);
    c->opening = false;
    return c->over ? NULL : c;
}

int tm_run_text(struct tmux *t, struct tm_item *it, struct str text, const char *file,
                const struct tm_place *at, struct buf *why)
{
    struct list items = LIST_INIT(items), *i, *tmp;
    struct tmux_client *c = it ? it->c : client_new(t);
    int depth = it ? it->depth + 1 : 1, serial = it ? it->serial * 32 : 0;
    int r = depth > TM_DEPTH ? -1 : add_text(c, &items, text, file, depth, why);
    if (depth > TM_DEPTH)
        buf_addz(why, "too many commands that begin commands");
    list_each (i, tmp, &items) {
        struct tm_item *x = list_entry(i, struct tm_item, node);
        if (at)
            x->current = *at;
        x->serial = ++serial;
    }
    if (r == 0)
        insert(c, &items, it);
    free_all(&items);
    if (!it)
        task_defer(t->en->loop, &c->go);
    return r;
}

int tm_run_words(struct tmux *t, struct tm_item *it, int argc, char *const *argv,
                 const struct tm_place *at, struct buf *why)
{
    struct list items = LIST_INIT(items), *i, *tmp;
    struct tmux_client *c = it ? it->c : client_new(t);
    int r = add_words(c, &items, argc, argv, it ? it->depth + 1 : 1, why);
    list_each (i, tmp, &items) {
        struct tm_item *x = list_entry(i, struct tm_item, node);
        if (at)
            x->current = *at;
    }
    if (r == 0)
        insert(c, &items, it);
    free_all(&items);
    if (!it)
        task_defer(t->en->loop, &c->go);
    return r;
}

void tm_done_state(struct tm_item *it, struct buf *key, struct buf *value)
{
    if (it->depth == 0)
        done_note(it->c, it->c->step + 1);
    done_state(it->c->t, key, value);
}

/* ---- for the model ---- */

void request_pane_room(struct tm_pane *p)
{
    struct list *i, *tmp;
    list_each (i, tmp, &p->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (c->waiting && c->waiting->on_room && c->waiting->target.p == p)
            c->waiting->on_room(c->waiting);
        else if (c->session && c->in.n > 0)
            task_defer(p->t->en->loop, &c->go);
    }
}

/* Commands that have not begun and name the pane find another one or none; those that
 * wait for it go on. */
void request_pane_gone(struct tm_pane *p)
{
    struct list *i, *tmp, *k, *next;
    list_each (i, tmp, &p->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        list_each (k, next, &c->items) {
            struct tm_item *it = list_entry(k, struct tm_item, node);
            struct tm_place none = {.index = -1};
            if (it->current.p == p || it->current.w == p->w)
                it->current = none;
            if (it->target.p == p && it->on_room) {
                it->target.p = NULL;
                it->on_room(it);
            } else if (it->target.p == p) {
                it->target.p = NULL;
            }
        }
        if (c->capture && c->capture->s == &p->screen)
            request_cut_capture(c);
        control_pane_gone(c, p);
    }
}

void request_cut_capture(struct tmux_client *c)
{
    capture_end(c->capture);
    free(c->capture);
    c->capture = NULL;
    if (c->waiting && c->waiting->cmd->run == cmd_capture_pane)
        tm_go_on(c->waiting, TM_DONE);
}

void request_session_gone(struct tm_session *s)
{
    struct list *i, *tmp, *k, *next;
    list_each (i, tmp, &s->t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        list_each (k, next, &c->items) {
            struct tm_item *it = list_entry(k, struct tm_item, node);
            struct tm_place none = {.index = -1};
            if (it->current.s == s)
                it->current = none;
        }
        if (c->session != s)
            continue;
        c->session = NULL;
        s->clients--;
        request_leave(c, c->control ? NULL : "[exited]", false);
    }
}

void request_wake_all(struct tmux *t)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        if (c->waiting && c->waiting->cmd->run == cmd_wait_for)
            tm_go_on(c->waiting, TM_DONE);
    }
}

bool request_any(const struct tmux *t) { return t->clients.next != &t->clients; }

void request_end_all(struct tmux *t)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->clients) {
        struct tmux_client *c = list_entry(i, struct tmux_client, node);
        const struct tmux_calls *calls = c->calls;
        void *arg = c->arg;
        struct json *j = json_object();
        bool killer = c->waiting && c->waiting->cmd->run == cmd_kill_server;
        json_put_bool(j, "ok", true);
        json_put_int(j, "exit", killer ? 0 : 1);
        if (!killer)
            json_put_z(j, "last", "server exited");
        json_put_bool(j, "last_error", true);
        flush(c);
        client_free(c);
        if (calls)
            calls->done(arg, j);
        else
            json_free(j);
    }
}

int tm_config_text(struct tmux_client *from, struct str text, const char *file,
                   struct buf *why)
{
    struct list items = LIST_INIT(items);
    int r = add_text(from, &items, text, file, 1, why);
    if (r == 0)
        insert_end(from, &items);
    free_all(&items);
    return r;
}

struct tm_item *tm_copy(struct tm_item *it)
{
    struct tmux_client *c = client_new(it->c->t);
    struct buf why = BUF_INIT(TM_NAME_MAX);
    char **words = xcalloc((size_t)it->argc + 1, sizeof(*words));
    for (int i = 0; i < it->argc; i++)
        words[i] = xstrdup(it->argv[i]);
    struct tm_item *copy = item_new(c, it->argc, words, ++next_group, 1, &why);
    BUG_ON(!copy); /* it was parsed before */
    copy->target = it->target;
    copy->current = it->current;
    list_add_tail(&c->items, &copy->node);
    c->waiting = copy;
    buf_release(&why);
    return copy;
}

void request_current(struct tm_item *it, const struct tm_place *at)
{
    struct list *i, *tmp;
    list_each (i, tmp, &it->c->items) {
        struct tm_item *x = list_entry(i, struct tm_item, node);
        if (x->group == it->group)
            x->current = *at;
    }
}

int tm_take_line(struct tmux_client *c, struct str line, struct buf *why)
{
    struct list items = LIST_INIT(items);
    int r = add_text(c, &items, line, NULL, 0, why);
    if (r == 0)
        insert_end(c, &items);
    free_all(&items);
    if (!c->running)
        task_defer(c->t->en->loop, &c->go);
    return r;
}

int tm_run_hook(struct tm_item *it, struct str text, struct buf *why)
{
    struct list items = LIST_INIT(items), *i, *tmp;
    int r = add_text(it->c, &items, text, NULL, it->depth + 1, why);
    list_each (i, tmp, &items) {
        struct tm_item *x = list_entry(i, struct tm_item, node);
        x->in_hook = true;
        x->current = it->target.s && !it->target.s->ended ? it->target : it->current;
        if (x->current.s && x->current.s->ended)
            x->current = (struct tm_place){.index = -1};
    }
    if (r == 0)
        insert(it->c, &items, it);
    free_all(&items);
    return r;
}
