/* SPDX-License-Identifier: MIT */
/* Paste buffers, and the commands about them. */
#include "front/tmux/cmds.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "front/tmux/buffer.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/typing.h"
#include "front/tmux/vars.h"
#include "os/file.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tm_buffer *buffer_find(struct tmux *t, const char *name)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->buffers) {
        struct tm_buffer *b = list_entry(it, struct tm_buffer, node);
        if (!name || strcmp(b->name, name) == 0)
            return b;
    }
    return NULL;
}

void buffer_drop(struct tmux *t, struct tm_buffer *b)
{
    state_put_buffer(t, b, true);
    list_del(&b->node);
    free(b->name);
    free(b->data);
    free(b);
    state_changed(t);
}

/* The oldest automatic ones go first. */
static void limit_buffers(struct tmux *t)
{
    long most = opts_number(&t->server, "buffer-limit"), n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &t->buffers) {
        struct tm_buffer *b = list_entry(it, struct tm_buffer, node);
        n += b->automatic;
        if (b->automatic && n >= most)
            buffer_drop(t, b);
    }
}

int buffer_put(struct tmux *t, const char *name, struct str data, struct buf *why)
{
    struct tm_buffer *b = name ? buffer_find(t, name) : NULL;
    char own[32];
    if (name && !*name) {
        buf_addz(why, "empty buffer name");
        return -1;
    }
    if (data.n == 0)
        return 0;
    if (!name) {
        limit_buffers(t);
        do {
            snprintf(own, sizeof(own), "buffer%u", t->next_buffer++);
        } while (buffer_find(t, own));
    }
    if (b)
        buffer_drop(t, b);
    b = xnew(struct tm_buffer);
    b->name = xstrdup(name ? name : own);
    b->automatic = !name;
    b->data = xstrndup(data.p, data.n);
    b->n = data.n;
    b->made = clock_wall_ms() / 1000;
    b->order = t->next_order++;
    list_add_tail(t->buffers.next, &b->node);
    state_put_buffer(t, b, false);
    state_changed(t);
    return 0;
}

/* The buffer of -b, or the newest one. NULL after an error message. */
static struct tm_buffer *given(struct tm_item *it)
{
    const char *name = args_get(&it->args, 'b');
    struct tm_buffer *b = buffer_find(it->c->t, name);
    if (!b && name)
        tm_fail(it, "no buffer %s", name);
    else if (!b)
        tm_fail(it, "no buffers");
    return b;
}

enum tm_result cmd_set_buffer(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tmux *t = it->c->t;
    const char *name = args_get(a, 'b'), *to = args_get(a, 'n');
    struct buf why = BUF_INIT(TM_NAME_MAX), whole = BUF_INIT(TM_OUT_MAX);
    struct tm_buffer *b = buffer_find(t, name);
    if (to) {
        if (!b)
            return name ? tm_fail(it, "unknown buffer: %s", name)
                        : tm_fail(it, "no buffer");
        struct tm_buffer *other = buffer_find(t, to);
        if (!*to)
            return tm_fail(it, "empty buffer name");
        if (other && other != b)
            buffer_drop(t, other);
        state_put_buffer(t, b, true);
        free(b->name);
        b->name = xstrdup(to);
        b->automatic = false;
        state_put_buffer(t, b, false);
        state_changed(t);
        return TM_DONE;
    }
    if (a->words != 1)
        return tm_fail(it, "no data specified");
    if (args_has(a, 'a') && b) {
        buf_add(&whole, b->data, b->n);
        name = name ? name : b->name;
    }
    buf_addz(&whole, a->word[0]);
    int r = buffer_put(t, name, buf_str(&whole), &why);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    buf_release(&whole);
    return r < 0 ? TM_ERROR : TM_DONE;
}

enum tm_result cmd_delete_buffer(struct tm_item *it)
{
    const char *name = args_get(&it->args, 'b');
    struct tm_buffer *b = buffer_find(it->c->t, name);
    if (!b)
        return name ? tm_fail(it, "unknown buffer: %s", name) : tm_fail(it, "no buffer");
    buffer_drop(it->c->t, b);
    return TM_DONE;
}

enum tm_result cmd_show_buffer(struct tm_item *it)
{
    struct tm_buffer *b = given(it);
    if (!b)
        return TM_ERROR;
    tm_print_bytes(it, str_n(b->data, b->n));
    if (it->c->control && (b->n == 0 || b->data[b->n - 1] != '\n'))
        tm_print_bytes(it, STR("\n"));
    return TM_DONE;
}

/* A path of the client, seen from where it is. */
static void path_of(struct tm_item *it, const char *text, char *out, size_t size)
{
    char *whole = tm_expand(it, text, &it->current);
    bool rooted = whole[0] == '/';
    buf_fill(out, size, "%s%s%s", rooted ? "" : spawn_cwd(it->c, it->current.s),
             rooted ? "" : "/", whole);
    free(whole);
}

enum tm_result cmd_save_buffer(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_buffer *b = given(it);
    char path[4096];
    if (!b)
        return TM_ERROR;
    if (strcmp(a->word[0], "-") == 0) {
        tm_print_bytes(it, str_n(b->data, b->n));
        return TM_DONE;
    }
    path_of(it, a->word[0], path, sizeof(path));
    int fd = within_open(
        path, O_WRONLY | O_CREAT | O_CLOEXEC | (args_has(a, 'a') ? O_APPEND : O_TRUNC),
        0666);
    int failed = fd < 0 || file_write_all(fd, str_n(b->data, b->n)) < 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    return failed ? tm_fail(it, "%s: %s", path, strerror(why)) : TM_DONE;
}

static enum tm_result take(struct tm_item *it, struct str bytes)
{
    struct buf why = BUF_INIT(TM_NAME_MAX);
    int r = buffer_put(it->c->t, args_get(&it->args, 'b'), bytes, &why);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r < 0 ? TM_ERROR : TM_DONE;
}

static void on_input(struct tm_item *it)
{
    struct tmux_client *c = it->c;
    enum tm_result r = take(it, buf_str(&c->in));
    buf_reset(&c->in);
    tm_go_on(it, r);
}

enum tm_result cmd_load_buffer(struct tm_item *it)
{
    char path[4096];
    struct buf text = BUF_INIT(TM_OUT_MAX);
    struct err e = ERR_INIT;
    if (strcmp(it->args.word[0], "-") == 0) {
        tm_want_input(it, on_input);
        return TM_WAIT;
    }
    path_of(it, it->args.word[0], path, sizeof(path));
    int fd = within_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    int why = errno;
    if (fd < 0)
        return tm_fail(it, "%s: %s", path, strerror(why));
    close(fd);
    if (file_read(path, TM_OUT_MAX, &text, &e) < 0) {
        buf_release(&text);
        return tm_fail(it, "%s", e.text);
    }
    enum tm_result r = take(it, buf_str(&text));
    buf_release(&text);
    return r;
}

enum tm_result cmd_paste_buffer(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    const char *name = args_get(a, 'b'), *sep = args_get(a, 's');
    struct tm_buffer *b = buffer_find(it->c->t, name);
    struct buf out = BUF_INIT(TM_OUT_MAX);
    struct picture_state look;
    if (!b && name)
        return tm_fail(it, "no buffer %s", name);
    if (!b || p->dead)
        return TM_DONE;
    sep = sep ? sep : args_has(a, 'r') ? "\n" : "\r";
    picture_report(p->screen.pic, &look);
    bool brackets = args_has(a, 'p') && look.paste;
    buf_addz(&out, brackets ? "\033[200~" : "");
    struct str rest = str_n(b->data, b->n);
    while (rest.n > 0) {
        const char *nl = memchr(rest.p, '\n', rest.n);
        size_t n = nl ? (size_t)(nl - rest.p) : rest.n;
        buf_add(&out, rest.p, n);
        buf_addz(&out, nl ? sep : "");
        rest = str_sub(rest, n + (nl != NULL), rest.n);
    }
    buf_addz(&out, brackets ? "\033[201~" : "");
    if (args_has(a, 'd'))
        buffer_drop(it->c->t, b);
    return typing_begin(it, &out);
}
