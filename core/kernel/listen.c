/* SPDX-License-Identifier: MIT */
/* Listeners of kernels. */
#include "kernel/listen.h"

#include "base/clock.h"
#include "base/limits.h"
#include "kernel/own.h"

/* ---- what the kernel does ---- */

void kernel_notice(struct kernel *k, struct str line)
{
    static const char *const states[] = {"busy", "idle", "starting"};
    static const struct str member = STR("\"execution_state\":");
    k->active_ms = clock_wall_ms();
    long at = line.n < 4096 ? str_find(line, member) : -1;
    if (at < 0 || !str_starts(line, STR("{\"channel\":\"iopub\"")))
        return;
    struct str rest = str_trim(str_sub(line, (size_t)at + member.n, line.n));
    for (size_t i = 0; i < 3; i++) {
        if (str_starts(str_sub(rest, 1, rest.n), str_of(states[i])))
            k->doing = states[i];
    }
}

struct kernel_activity kernel_activity(const struct kernel *k)
{
    struct kernel_activity a = {.doing = k->doing, .active_ms = k->active_ms};
    struct list *it, *tmp;
    list_each (it, tmp, &k->listeners)
        a.listeners++;
    a.spec = json_str(k->about, "kernel", "");
    if (a.spec.n == 0)
        a.spec = json_str(k->opts, "kernel", "");
    return a;
}

int kernel_tell(struct kernel *k, struct str line, struct err *e)
{
    if (!k->host.process)
        return err_set(e, ERR_GONE, "the kernel %s does not run", k->host.name);
    if (!companion_has_room(&k->host, line.n))
        return err_set(e, ERR_LIMIT, "the kernel %s does not take a message of %zu bytes",
                       k->host.name, line.n);
    companion_send(&k->host, line);
    return 0;
}

bool kernel_is_full(const struct kernel *k) { return k->full || k->host.late.cap > 0; }

const char *kernel_process(const struct kernel *k) { return k->host.process_name; }

/* ---- a listener's reader ---- */

static const char *what_host(struct str line)
{
    static const char *const words[] = {"starting", "ready", "failed", "gap", "dead"};
    struct str word = str_sub(line, sizeof("{\"host\":\"") - 1, line.n);
    word = str_cut(&word, '"');
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(word, str_of(words[i])))
            return i == 4 ? "ended" : words[i];
    }
    return NULL;
}

static void on_line(void *arg, struct str line, uint64_t end)
{
    struct kernel_listener *l = arg;
    (void)end;
    const char *what = NULL;
    if (str_starts(line, STR("{\"channel\":")))
        l->ears->message(l, line);
    else if (str_starts(line, STR("{\"host\":")) && (what = what_host(line)))
        l->ears->host(l, what);
}

static enum line_fate on_head(void *arg, struct str head)
{
    struct kernel_listener *l = arg;
    if (str_starts(head, STR("{\"host\":")))
        return LINE_WHOLE;
    if (!l->ears->wanted(l, head))
        return LINE_PASSED_OVER;
    buf_reset(&l->line);
    buf_adds(&l->line, head);
    return LINE_PARTS;
}

static void on_part(void *arg, struct str bytes, bool ends)
{
    struct kernel_listener *l = arg;
    struct buf whole;
    buf_adds(&l->line, bytes);
    if (!ends)
        return;
    whole = l->line;
    buf_init(&l->line, LIMIT_JUPYTER_OUT);
    if (buf_full(&whole))
        l->ears->host(l, "long");
    else
        l->ears->message(l, buf_str(&whole));
    buf_release(&whole);
}

static bool on_wanted(void *arg) { return !((struct kernel_listener *)arg)->held; }

static void on_read(void *arg)
{
    struct kernel_listener *l = arg;
    kernel_tell_seen(l->k);
    l->ears->read(l);
}

static void on_gap(void *arg, const char *text)
{
    struct kernel_listener *l = arg;
    (void)text;
    l->ears->host(l, "gap");
}

/* The companion reports the end of the process; another one may follow. */
static void on_end(void *arg, const struct op_result *r)
{
    struct kernel_listener *l = arg;
    (void)r;
    l->ears->host(l, "failed");
}

static const struct line_calls calls = {.line = on_line,
                                        .head = on_head,
                                        .part = on_part,
                                        .wanted = on_wanted,
                                        .read = on_read,
                                        .gap = on_gap,
                                        .end = on_end};

static void on_passed(struct timer *t)
{
    struct kernel_listener *l = container_of(t, struct kernel_listener, passed);
    l->ignored = true;
    kernel_tell_seen(l->k);
}

void kernel_listener_hold(struct kernel_listener *l, bool hold)
{
    if (l->held == hold)
        return;
    l->held = hold;
    if (hold) {
        timer_begin(l->k->host.en->loop, &l->passed, LIMIT_HOLD_BACK_MS, on_passed);
        return;
    }
    l->ignored = false;
    timer_stop(&l->passed);
    line_reader_pump(&l->reader);
}

uint64_t kernel_listener_at(const struct kernel_listener *l) { return l->reader.begin; }

void kernel_listen(struct kernel_listener *l, struct kernel *k, uint64_t from,
                   const struct kernel_ears *ears)
{
    struct process *p = k->host.process;
    ASSERT(!l->k);
    l->k = k;
    l->ears = ears;
    buf_init(&l->line, LIMIT_JUPYTER_OUT);
    list_add_tail(&k->listeners, &l->node);
    if (p && k->state == KERNEL_DEAD) {
        k->state = KERNEL_STARTING;
        companion_send(&k->host, STR("{\"host\":\"restart\"}\n"));
    }
    if (p)
        line_reader_open(&l->reader, p, from == KERNEL_NOW ? process_output(p) : from,
                         &calls, l);
}

void kernel_unlisten(struct kernel_listener *l)
{
    struct kernel *k = l->k;
    if (!k)
        return;
    l->k = NULL;
    timer_stop(&l->passed);
    line_reader_close(&l->reader);
    buf_release(&l->line);
    list_del(&l->node);
    kernel_tell_seen(k);
}

/* ---- all of them ---- */

void listeners_begin(struct kernel *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->listeners) {
        struct kernel_listener *l = list_entry(it, struct kernel_listener, node);
        line_reader_open(&l->reader, k->host.process, 0, &calls, l);
    }
}

void listeners_tell(struct kernel *k, const char *what)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->listeners) {
        struct kernel_listener *l = list_entry(it, struct kernel_listener, node);
        l->ears->host(l, what);
    }
}

void listeners_end(struct kernel *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->listeners) {
        struct kernel_listener *l = list_entry(it, struct kernel_listener, node);
        kernel_unlisten(l);
        l->ears->host(l, "closed");
    }
}

uint64_t listeners_seen(const struct kernel *k, uint64_t at)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->listeners) {
        struct kernel_listener *l = list_entry(it, struct kernel_listener, node);
        if (l->reader.op && !l->ignored && l->reader.at < at)
            at = l->reader.at;
    }
    return at;
}
