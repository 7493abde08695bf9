/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of search.h: starts the helpers, takes their hits, sorts.
 *
 *   RUNNING --all helpers done, error, enough found--> ended --all gone--> done
 *   RUNNING --time over--> stopping: each helper sends what it has --> ended
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "search/own.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    HELPER_MEMORY = 256 << 20,
    STOP_MS = 500 /* for helpers to send what they have, after the time is over */
};

struct helper {
    struct search *search;
    struct job *job; /* NULL: it is done, or was ended */
};

struct search {
    struct loop *loop;
    search_done_fn *done;
    void *arg;
    struct helper helpers[SEARCH_HELPERS_MAX];
    unsigned started, running, gone;
    bool ended; /* no more hits are taken */
    bool cancelled;
    struct search_shared *shared;
    struct timer timer;
    struct buf got;          /* hits as they came */
    struct search_hit *hits; /* owned: made at the end */
    size_t files_max, lines_max, hits_n;
    uint64_t lines_kept;
    bool newest, count;
    char unread_why[256];
    struct search_result result;
};

/* ---- the end ---- */

static void free_search(struct search *s)
{
    timer_stop(&s->timer);
    munmap(s->shared, sizeof(*s->shared));
    buf_release(&s->got);
    free(s->hits);
    free(s);
}

static void deliver(struct timer *t);

/* Finishes the search if no helper is left. */
static void end_if_gone(struct search *s)
{
    if (!s->ended || s->gone < s->started)
        return;
    if (s->cancelled)
        free_search(s);
    else
        timer_begin(s->loop, &s->timer, 0, deliver);
}

/* Stops taking hits and kills the helpers that are not done. */
static void end(struct search *s)
{
    s->ended = true;
    timer_stop(&s->timer);
    for (unsigned i = 0; i < s->started; i++) {
        struct job *j = s->helpers[i].job;
        s->helpers[i].job = NULL;
        if (j)
            job_cancel(j);
    }
    end_if_gone(s);
}

static int path_order(const struct search_hit *x, const struct search_hit *y)
{
    size_t n = x->path.n < y->path.n ? x->path.n : y->path.n;
    int c = n ? memcmp(x->path.p, y->path.p, n) : 0;
    if (c)
        return c;
    return x->path.n != y->path.n ? (x->path.n < y->path.n ? -1 : 1) : 0;
}

/* Orders hits; those of one file stay in the order in which they came. */
static int hit_order(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;
    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns < y->mtime_ns ? 1 : -1;
    int c = path_order(x, y);
    return c ? c : x->path.p < y->path.p ? -1 : 1;
}

static void make_hits(struct search *s)
{
    size_t n = 0;
    s->hits = xcalloc(s->hits_n + 1, sizeof(*s->hits));
    for (size_t at = 0; at < s->got.n;) {
        struct search_head h;
        memcpy(&h, s->got.p + at, sizeof(h));
        const char *path = s->got.p + at + sizeof(h);
        s->hits[n++] = (struct search_hit){.path = str_n(path, h.path_n),
                                           .mtime_ns = h.mtime_ns,
                                           .lines = str_n(path + h.path_n,
                                                          h.size - sizeof(h) - h.path_n)};
        at += h.size;
    }
    qsort(s->hits, n, sizeof(*s->hits), hit_order);
    if (s->newest && n > s->files_max) {
        n = s->files_max;
        s->result.truncated = true;
    }
    s->result.hits = s->hits;
    s->result.hits_n = n;
}

static void deliver(struct timer *t)
{
    struct search *s = container_of(t, struct search, timer);
    ASSERT(s->ended && !s->cancelled && s->gone == s->started); /* once, at the end */
    if (s->result.err.code == ERR_NONE)
        make_hits(s);
    s->result.unread_why = s->unread_why;
    s->result.searched = s->shared->searched;
    s->done(s->arg, &s->result);
    free_search(s);
}

/* ---- hits ---- */

/* Takes a hit. Returns true if enough was found. */
static bool take_hit(struct search *s, const char *p)
{
    struct search_head h;
    memcpy(&h, p, sizeof(h));
    s->result.files += h.first;
    s->result.lines += h.matches;
    s->result.truncated |= h.dropped;
    bool enough = (s->files_max && !s->newest && s->result.files > s->files_max) ||
                  (s->lines_max && s->lines_kept >= s->lines_max);
    if (enough || s->got.n + h.size > SEARCH_KEPT_MAX ||
        buf_add(&s->got, p, h.size) < 0) {
        s->result.truncated = true;
        return !s->count;
    }
    s->lines_kept += h.matches;
    s->hits_n++;
    return false;
}

static void on_data(struct job *j, struct buf *in)
{
    struct helper *w = job_owner(j);
    struct search_head h;
    size_t at = 0;
    while (in->n - at >= sizeof(h)) {
        memcpy(&h, in->p + at, sizeof(h));
        BUG_ON(h.size < sizeof(h) || h.size > SEARCH_HIT_MAX);
        if (in->n - at < h.size)
            break;
        if (take_hit(w->search, in->p + at)) {
            end(w->search);
            return;
        }
        at += h.size;
    }
    buf_consume(in, at);
}

static void on_note(struct job *j, struct str note)
{
    struct search *s = ((struct helper *)job_owner(j))->search;
    s->result.unread++;
    if (!s->unread_why[0])
        snprintf(s->unread_why, sizeof(s->unread_why), "%.*s",
                 (int)(note.n > 250 ? 250 : note.n), note.p);
}

static void on_done(struct job *j, const struct err *e)
{
    struct helper *w = job_owner(j);
    struct search *s = w->search;
    w->job = NULL;
    s->running--;
    if (s->ended)
        return;
    s->result.err = *e;
    if (e->code || !s->running)
        end(s);
}

static void on_gone(void *owner)
{
    struct search *s = ((struct helper *)owner)->search;
    s->gone++;
    end_if_gone(s);
}

static const struct job_events events = {on_data, NULL, on_note, on_done, on_gone};

/* ---- time ---- */

static void give_up(struct timer *t) { end(container_of(t, struct search, timer)); }

static void time_over(struct timer *t)
{
    struct search *s = container_of(t, struct search, timer);
    s->result.timed_out = s->result.truncated = true;
    search_stop(s->shared);
    timer_begin(s->loop, &s->timer, STOP_MS, give_up);
}

/* ---- starting ---- */

static unsigned processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > SEARCH_HELPERS_MAX ? SEARCH_HELPERS_MAX : (unsigned)n;
}

static int check(const struct search_spec *q, struct err *e)
{
    if (q->newest && (!q->files_max || q->files_max > SEARCH_NEWEST_MAX))
        return err_set(e, ERR_INVALID, "of the newest files, 1 to %d can be asked for",
                       SEARCH_NEWEST_MAX);
    if (q->newest && q->what == SEARCH_LINES)
        return err_set(e, ERR_INVALID, "lines are not sorted by time");
    if (q->before > SEARCH_CONTEXT_MAX || q->after > SEARCH_CONTEXT_MAX)
        return err_set(e, ERR_LIMIT, "at most %d lines of context", SEARCH_CONTEXT_MAX);
    return 0;
}

static struct search *new_search(struct loop *l, const struct search_spec *q,
                                 search_done_fn *done, void *arg, struct err *e)
{
    struct search_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                        0);
    if (shared == MAP_FAILED) {
        err_sys(e, errno, "cannot search %.300s", q->root);
        return NULL;
    }
    struct search *s = xnew(struct search);
    *s = (struct search){.loop = l,
                         .done = done,
                         .arg = arg,
                         .shared = shared,
                         .files_max = q->files_max,
                         .lines_max = q->lines_max,
                         .newest = q->newest,
                         .count = q->count};
    buf_init(&s->got, SEARCH_KEPT_MAX);
    return s;
}

static struct job *start_helper(struct search *s, const struct search_spec *q,
                                const char *what, struct err *e)
{
    struct search_job job = {q, s->shared, s->started == 0};
    struct job_spec spec = {.what = what,
                            .fn = search_child,
                            .arg = &job,
                            .memory = HELPER_MEMORY,
                            .as_user = q->as_user,
                            .uid = q->uid,
                            .gid = q->gid,
                            .groups = q->groups,
                            .groups_n = q->groups_n,
                            .cwd = q->cwd,
                            .ev = &events,
                            .owner = &s->helpers[s->started]};
    s->helpers[s->started].search = s;
    return job_start(s->loop, &spec, e);
}

struct search *search_start(struct loop *l, const struct search_spec *q,
                            search_done_fn *done, void *arg, struct err *e)
{
    char what[256];
    struct search *s = check(q, e) < 0 ? NULL : new_search(l, q, done, arg, e);
    if (!s)
        return NULL;
    snprintf(what, sizeof(what), "searching %.200s", q->root);
    s->shared->workers = processors();
    while (s->started < s->shared->workers) {
        struct job *j = start_helper(s, q, what, e);
        if (!j)
            break;
        s->helpers[s->started++].job = j;
        s->running++;
    }
    if (s->started < s->shared->workers) {
        search_cancel(s);
        return NULL;
    }
    int64_t ms = q->time_ms > 0 ? q->time_ms : SEARCH_TIME_MAX_MS;
    timer_begin(l, &s->timer, ms, time_over);
    return s;
}

void search_cancel(struct search *s)
{
    ASSERT(!s->cancelled); /* only before done, and once */
    s->cancelled = true;
    end(s);
}

uint64_t search_files_searched(const struct search *s)
{
    return *(const volatile uint64_t *)&s->shared->searched;
}

/* ---- results ---- */

bool search_next_line(struct str *lines, struct search_line *line)
{
    struct search_line_head h;
    if (lines->n < sizeof(h))
        return false;
    memcpy(&h, lines->p, sizeof(h));
    *line = (struct search_line){.number = h.number,
                                 .text = str_sub(*lines, sizeof(h), h.n),
                                 .context = h.context,
                                 .cut = h.cut};
    *lines = str_sub(*lines, sizeof(h) + h.n, lines->n);
    return true;
}
