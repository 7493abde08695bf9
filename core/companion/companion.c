/* SPDX-License-Identifier: MIT */
/* Companions: their process, its lines, and the turns of calls. */
#include "companion/companion.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "os/self.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SEEN_STEP = 256 << 10,
    AT_ONCE = 64 << 10,     /* bytes of a line that is sent at once */
    ROOM_AGAIN = 160 << 10, /* the input takes a call again; an empty one has 192 KiB */
    LATE_MAX = 24 << 20
};

/* ---- life ---- */

static struct companion_call *call_of(const struct list *node)
{
    return list_entry(node, struct companion_call, node);
}

int companion_check_name(const struct companion_kind *kind, struct str name,
                         struct err *e)
{
    if (name.n == 0 || name.n > COMPANION_NAME || memchr(name.p, '/', name.n))
        return err_set(e, ERR_INVALID, "a %s's name has 1 to %d bytes and no slash",
                       kind->noun, COMPANION_NAME);
    return 0;
}

static void on_turn(struct task *t)
{
    struct companion *c = container_of(t, struct companion, turn);
    c->kind->turn(c);
}

static void on_fall(struct task *t)
{
    struct companion *c = container_of(t, struct companion, fall);
    companion_fail(c, c->fall_all);
    c->fall_all = false;
    if (!c->closed)
        c->kind->failed(c);
}

void companion_init(struct companion *c, struct engine *en,
                    const struct companion_kind *kind, struct str name)
{
    ASSERT(name.n > 0 && name.n <= COMPANION_NAME);
    ASSERT(kind->lines.end == companion_over);
    *c = (struct companion){.en = en, .kind = kind, .late = BUF_INIT(LATE_MAX)};
    memcpy(c->name, name.p, name.n);
    list_init(&c->calls);
    task_init(&c->turn, on_turn);
    task_init(&c->fall, on_fall);
}

enum companion_state companion_state(const struct companion *c)
{
    return c->closed                   ? COMPANION_CLOSED
           : !c->process               ? COMPANION_NONE
           : process_ended(c->process) ? COMPANION_ENDED
                                       : COMPANION_RUNS;
}

void companion_follow(struct companion *c, uint64_t from)
{
    c->seen = 0; /* what the worker before reported is not known: it is reported again */
    line_reader_open(&c->reader, c->process, from, &c->kind->lines, c);
}

static void name_process(struct companion *c)
{
    char unique[13];
    struct str name = str_of(c->name);
    size_t room = PROCESS_NAME - strlen(c->kind->stem) - sizeof(unique);
    random_hex(unique, 12);
    snprintf(c->process_name, sizeof(c->process_name), "%s%.*s-%s", c->kind->stem,
             (int)(name.n > room ? utf8_cut(name, room) : name.n), name.p, unique);
}

/* Adds the window, and prints the options. Takes them. */
static int print_options(struct companion *c, struct json *take, struct buf *out,
                         struct err *e)
{
    /* The output has one of the two halves of a process's spool. */
    uint64_t window = process_spool_room(c->en, true) / 8 * (uint64_t)c->kind->window;
    c->step = window / 2 < SEEN_STEP ? window / 2 : SEEN_STEP;
    json_put_int(take, "window", (int64_t)window);
    int r = json_print(out, take);
    json_free(take);
    return r < 0 ? err_set(e, ERR_LIMIT, "the options of the %s %s are too long",
                           c->kind->noun, c->name)
                 : 0;
}

int companion_start(struct companion *c, const struct companion_start *s, struct err *e)
{
    struct buf options = BUF_INIT(LIMIT_SPAWN_STRING - 1);
    char self[PATH_MAX] = "/proc/self/exe", word[16];
    int r = -1;
    ASSERT(!c->closed && companion_state(c) != COMPANION_RUNS);
    companion_leave(c);
    if (print_options(c, s->take_options, &options, e) < 0)
        goto out;
    snprintf(word, sizeof(word), "%s", c->kind->program);
    char *argv[] = {word, (char *)buf_z(&options), NULL};
    if (access(self, X_OK) < 0)
        self_path(self, sizeof(self));
    name_process(c);
    struct process_opts po = {.name = str_of(c->process_name),
                              .cwd = s->cwd,
                              .user = s->user,
                              .env = s->env,
                              .argv = argv,
                              .program = self,
                              .with_stdin = true,
                              .whole = true};
    c->reader.at = c->reader.begin = 0;
    c->kind->save(c);
    c->process = process_start(c->en, &po, e);
    if (c->process) {
        companion_follow(c, 0);
        r = 0;
    } else
        c->process_name[0] = 0;
out:
    buf_release(&options);
    return r;
}

void companion_resume(struct companion *c)
{
    ASSERT(!c->process);
    c->process = process_find(c->en, str_of(c->process_name));
}

/* A process that was told to end, and is killed if it does not. */
struct companion_ending {
    struct engine *en;
    char name[sizeof(((struct companion *)0)->process_name)];
    struct timer timer;
};

static void on_ending(struct timer *t)
{
    struct companion_ending *x = container_of(t, struct companion_ending, timer);
    struct process *p = process_find(x->en, str_of(x->name));
    struct err e = ERR_INIT;
    if (p && !process_ended(p))
        process_signal(p, SIGKILL, true, &e);
    free(x);
}

void companion_end_process(struct engine *en, struct process *p, int64_t end_ms)
{
    struct err e = ERR_INIT;
    uint64_t at;
    if (process_ended(p))
        return;
    process_stdin_room(p, &at);
    process_stdin(p, at, STR(""), true);
    process_signal(p, SIGTERM, false, &e);
    struct companion_ending *x = xnew(struct companion_ending);
    x->en = en;
    snprintf(x->name, sizeof(x->name), "%s", process_name(p));
    timer_begin(en->loop, &x->timer, end_ms, on_ending);
}

static void drop_late(struct companion *c)
{
    if (c->late.cap)
        companion_turn_later(c);
    buf_release(&c->late);
}

void companion_leave(struct companion *c)
{
    line_reader_close(&c->reader);
    if (c->process)
        companion_end_process(c->en, c->process, c->kind->end_ms);
    c->process = NULL;
    drop_late(c);
    c->process_name[0] = 0;
}

void companion_close(struct companion *c)
{
    struct list *it, *tmp;
    ASSERT(!c->closed); /* once */
    c->closed = true;
    list_each (it, tmp, &c->calls)
        c->kind->fail(call_of(it), &c->why);
    companion_leave(c);
    companion_forget(c);
    task_cancel(&c->turn);
    task_cancel(&c->fall);
}

/* ---- state at the keeper ---- */

void companion_store(struct companion *c, struct str state, struct str ask)
{
    struct buf key = BUF_INIT(128);
    uint64_t at;
    if (c->closed)
        return;
    buf_addf(&key, "%s%s", c->kind->key, c->name);
    if (state.n == 0) {
        log_error("the state of the %s %s is too large to be kept", c->kind->noun,
                  c->name);
        companion_send(c, ask);
    } else if (ask.n && c->process && process_stdin_room(c->process, &at) >= ask.n)
        process_ask(c->process, ask, buf_str(&key), state);
    else {
        keeper_client_put(c->en->keeper, buf_str(&key), state);
        companion_send(c, ask);
    }
    buf_release(&key);
}

void companion_forget(struct companion *c)
{
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "%s%s", c->kind->key, c->name);
    keeper_client_put(c->en->keeper, buf_str(&key), STR(""));
    buf_release(&key);
}

/* ---- lines ---- */

static void send_now(struct companion *c, struct str bytes)
{
    uint64_t at;
    process_stdin_room(c->process, &at);
    process_stdin(c->process, at, bytes, false);
}

void companion_room(void *arg)
{
    struct companion *c = arg;
    uint64_t at;
    if (!c->late.cap || !c->process)
        return;
    size_t room = process_stdin_room(c->process, &at);
    struct str part = str_sub(buf_str(&c->late), 0, room);
    send_now(c, part);
    buf_consume(&c->late, part.n);
    if (c->late.n == 0 && room - part.n >= ROOM_AGAIN)
        drop_late(c);
}

bool companion_has_room(const struct companion *c, size_t bytes)
{
    return bytes + LIMIT_COMMAND_MAX <= buf_room(&c->late);
}

void companion_send(struct companion *c, struct str line)
{
    if (!c->process)
        return;
    if (!c->late.cap && line.n <= AT_ONCE) {
        send_now(c, line);
        return;
    }
    if (line.n <= buf_room(&c->late))
        buf_adds(&c->late, line);
    else
        log_error("a line of %zu bytes to the %s %s is lost", line.n, c->kind->noun,
                  c->name);
    companion_room(c);
}

void companion_read(struct companion *c, uint64_t at)
{
    char line[64];
    if (at < c->seen + c->step)
        return;
    c->seen = at;
    snprintf(line, sizeof(line), "%s%llu}\n", c->kind->read, (unsigned long long)at);
    companion_send(c, str_of(line));
}

void companion_over(void *arg, const struct op_result *r)
{
    struct companion *c = arg;
    struct err why = ERR_INIT;
    ASSERT(c->process); /* once for each process */
    c->process = NULL;
    drop_late(c);
    if (r->signo)
        err_set(&why, ERR_GONE, "the process of the %s %s was ended by signal %d (%s)",
                c->kind->noun, c->name, r->signo, strsignal(r->signo));
    else
        err_set(&why, ERR_GONE, "the process of the %s %s ended%s%s", c->kind->noun,
                c->name, r->err.code ? ": " : "", r->err.code ? r->err.text : "");
    c->kind->ended(c, &why);
}

/* ---- calls ---- */

int companion_check_queue(const struct companion *c, struct err *e)
{
    int n = 0;
    for (const struct list *it = c->calls.next; it != &c->calls; it = it->next)
        n++;
    if (n >= LIMIT_QUEUE_MAX)
        return err_set(e, ERR_LIMIT, "%d %ss wait for the %s %s already", n,
                       c->kind->call, c->kind->noun, c->name);
    return 0;
}

void companion_add(struct companion *c, struct companion_call *call, const char *id)
{
    if (id[0])
        snprintf(call->id, sizeof(call->id), "%s", id);
    else
        random_hex(call->id, 32);
    list_add_tail(&c->calls, &call->node);
}

struct companion_call *companion_first(const struct companion *c)
{
    for (struct list *it = c->calls.next; it != &c->calls; it = it->next) {
        if (call_of(it)->step != CALL_REPLAYED)
            return call_of(it);
    }
    return NULL;
}

struct companion_call *companion_find(const struct companion *c, const char *id)
{
    for (struct list *it = c->calls.next; id[0] && it != &c->calls; it = it->next) {
        if (strcmp(call_of(it)->id, id) == 0)
            return call_of(it);
    }
    return NULL;
}

void companion_turn_later(struct companion *c)
{
    if (!c->closed)
        task_defer(c->en->loop, &c->turn);
}

int companion_begin(struct companion *c, struct companion_call *call, size_t len,
                    struct err *e)
{
    size_t room = process_stdin_room(c->process, &call->in);
    ASSERT(call->step == CALL_WAITING); /* once */
    if (len > room && !(c->kind->lines.room && companion_has_room(c, len)))
        return err_set(
            e, ERR_LIMIT,
            "the %s has %zu bytes as a message, and the %s's input takes %zu now",
            c->kind->call, len, c->kind->noun, room);
    call->len = len;
    call->begun_ms = clock_wall_ms();
    return 0;
}

bool companion_reached(struct companion *c, uint64_t in, uint64_t len)
{
    uint64_t sent;
    process_stdin_room(c->process, &sent);
    if (sent > in && sent < in + len)
        companion_send(c, STR("\n"));
    return sent >= in + len;
}

void companion_fail(struct companion *c, bool waiting_too)
{
    struct list *it, *tmp;
    list_each (it, tmp, &c->calls) {
        struct companion_call *call = call_of(it);
        if (call->step != CALL_REPLAYED && (waiting_too || call->step != CALL_WAITING))
            c->kind->fail(call, &c->why);
    }
}

void companion_fail_later(struct companion *c, bool waiting_too)
{
    c->fall_all = c->fall_all || waiting_too;
    task_defer(c->en->loop, &c->fall);
}
