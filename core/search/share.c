/* SPDX-License-Identifier: MIT */
/*
 * Work is a stack of units: folders to read, and batches of files to search. Each helper
 * has its own; one more stack is in shared memory. A helper that sees an idle one moves
 * its oldest unit there, which is the largest: the folder nearest to the root.
 *
 * The lock is a word: 0 free, 1 taken, 2 taken with waiters. A helper that dies while it
 * holds the lock stops the others, until the parent notices its death and ends them all.
 */
#include "os/sys.h"
#include "search/own.h"

#include <stdatomic.h>

static _Atomic uint32_t *atom(const uint32_t *word)
{
    return (_Atomic uint32_t *)(uintptr_t)word;
}

void search_lock(struct search_shared *s)
{
    uint32_t free = 0;
    if (atomic_compare_exchange_strong(atom(&s->lock), &free, 1))
        return;
    while (atomic_exchange(atom(&s->lock), 2) != 0)
        sys_wait_word(&s->lock, 2);
}

void search_unlock(struct search_shared *s)
{
    if (atomic_exchange(atom(&s->lock), 0) == 2)
        sys_wake_word(&s->lock, 1);
}

bool search_is_wanted(const struct search_helper *w)
{
    const struct search_shared *s = w->shared;
    return atomic_load_explicit(atom(&s->idle), memory_order_relaxed) > 0 &&
           atomic_load_explicit(atom(&s->n), memory_order_relaxed) == 0;
}

bool search_is_stopped(const struct search_helper *w)
{
    return atomic_load_explicit(atom(&w->shared->stop), memory_order_relaxed) != 0;
}

void search_count_file(struct search_shared *s)
{
    atomic_fetch_add_explicit((_Atomic uint64_t *)(uintptr_t)&s->searched, 1,
                              memory_order_relaxed);
}

void search_stop(struct search_shared *s)
{
    atomic_store(atom(&s->stop), 1);
    atomic_store(atom(&s->over), 1);
    atomic_fetch_add(atom(&s->turn), 1);
    sys_wake_word(&s->turn, SEARCH_HELPERS_MAX);
}

/* ---- units ---- */

static size_t rounded(size_t n) { return (n + 7) & ~(size_t)7; }

/* Appends a unit, with its size at both ends. Returns -1 if there is no room. */
static int append(struct buf *b, const struct search_unit *u, struct str path,
                  struct str names, const struct search_rules *rules)
{
    size_t used = sizeof(*u) + rules->n * sizeof(*rules->at) + path.n + names.n;
    char *p = buf_reserve(b, u->size);
    if (!p)
        return -1;
    memset(p + used, 0, u->size - used);
    memcpy(p, u, sizeof(*u));
    p += sizeof(*u);
    memcpy(p, rules->at, rules->n * sizeof(*rules->at));
    p += rules->n * sizeof(*rules->at);
    if (path.n)
        memcpy(p, path.p, path.n);
    if (names.n)
        memcpy(p + path.n, names.p, names.n);
    buf_commit(b, u->size);
    memcpy(b->p + b->n - sizeof(u->size), &u->size, sizeof(u->size));
    return 0;
}

/* Moves the oldest unit to the shared stack, if there is room for it. */
static void give(struct search_helper *w)
{
    struct search_shared *s = w->shared;
    uint32_t size;
    memcpy(&size, w->local.p, sizeof(size));
    search_lock(s);
    bool fits = sizeof(s->bytes) - s->n >= size;
    if (fits) {
        memcpy(s->bytes + s->n, w->local.p, size);
        s->n += size;
        s->turn++;
    }
    search_unlock(s);
    if (!fits)
        return;
    buf_consume(&w->local, size);
    sys_wake_word(&s->turn, 1);
}

void search_push(struct search_helper *w, enum search_kind kind, struct str path,
                 struct str names, const struct search_rules *rules)
{
    struct search_unit u = {.kind = (uint16_t)kind,
                            .rules_n = (uint16_t)rules->n,
                            .path_n = (uint32_t)path.n,
                            .names_n = (uint32_t)names.n,
                            .repository = rules->repository,
                            .outer = rules->outer};
    u.size = (uint32_t)rounded(sizeof(u) + rules->n * sizeof(*rules->at) + path.n +
                               names.n + sizeof(u.size));
    if (append(&w->local, &u, path, names, rules) < 0) {
        search_unread(w, "search", path, 0);
        return;
    }
    if (search_is_wanted(w))
        give(w);
}

/* Copies the newest unit of a stack of n bytes to w->unit. Returns its size. */
static uint32_t pop(struct search_helper *w, const char *stack, size_t n)
{
    uint32_t size;
    memcpy(&size, stack + n - sizeof(size), sizeof(size));
    buf_reset(&w->unit);
    buf_add(&w->unit, stack + n - size, size);
    return size;
}

static bool take_shared(struct search_helper *w)
{
    struct search_shared *s = w->shared;
    bool found = false;
    search_lock(s);
    while (!s->n && !s->over) {
        if (++s->idle == s->workers) {
            s->over = 1;
            s->turn++;
            sys_wake_word(&s->turn, SEARCH_HELPERS_MAX);
            break;
        }
        uint32_t turn = s->turn;
        search_unlock(s);
        sys_wait_word(&s->turn, turn);
        search_lock(s);
        s->idle--;
    }
    if (s->n && !s->over) {
        s->n -= pop(w, s->bytes, s->n);
        found = true;
    }
    search_unlock(s);
    return found;
}

bool search_take(struct search_helper *w)
{
    if (!w->local.n)
        return take_shared(w);
    buf_truncate(&w->local, w->local.n - pop(w, w->local.p, w->local.n));
    return true;
}
