/* SPDX-License-Identifier: MIT */
/* What is no longer used, and what is damaged. */
#include "checkpoint/store_own.h"

#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static bool is_marked(const struct pack *k, size_t i)
{
    return k->marked && k->marked[i / 8] >> (i % 8) & 1;
}

void store_unmark(struct store *s)
{
    for (size_t i = 0; i < s->packs_n; i++) {
        free(s->pack[i].marked);
        s->pack[i].marked = NULL;
    }
}

int store_mark(struct store *s, const struct content_sum *sum, uint64_t *bytes)
{
    struct pack *k;
    const struct store_place *p = packs_find(s, sum, &k);
    if (!p)
        return -1;
    size_t i = (size_t)(p - k->places);
    if (is_marked(k, i))
        return 0;
    if (!k->marked)
        k->marked = xcalloc(k->n / 8 + 1, 1);
    k->marked[i / 8] |= (uint8_t)(1 << (i % 8));
    *bytes += p->stored + PACK_HEAD + sizeof(*p);
    return 1;
}

static uint64_t used(const struct pack *k)
{
    uint64_t n = 0;
    for (size_t i = 0; i < k->n; i++)
        n += is_marked(k, i) ? k->places[i].stored + PACK_HEAD : 0;
    return n;
}

static int remove_packs(struct store *s, const bool *gone, struct err *e)
{
    char file[PACK_FILE];
    int lock = openat(s->fd, "open", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        if (lock >= 0)
            close(lock);
        return err_sys(e, errno, "cannot lock the store");
    }
    for (size_t i = 0; i < s->packs_n; i++) {
        if (!gone[i])
            continue;
        buf_fill(file, sizeof(file), "%s.pack", s->pack[i].name);
        unlinkat(s->packs, file, 0);
        buf_fill(file, sizeof(file), "%s.index", s->pack[i].name);
        unlinkat(s->packs, file, 0);
    }
    close(lock);
    return packs_open(s, e);
}

int store_sweep(struct store *s, struct err *e)
{
    size_t n = s->packs_n;
    bool *gone = xcalloc(n + 1, sizeof(*gone));
    int rc = 0;
    store_enter(s);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint64_t live = used(&s->pack[i]);
        bool small = s->pack[i].n < STORE_PACK_OBJECTS / 4 &&
                     s->pack[i].size < STORE_PACK_BYTES / 8;
        gone[i] = live < s->pack[i].size / 2 || (small && n > STORE_PACKS_MAX);
        for (size_t j = 0; gone[i] && rc == 0 && j < s->pack[i].n; j++) {
            /* A commit in writer_copy makes s->pack move. */
            const struct pack k = s->pack[i];
            if (is_marked(&k, j))
                rc = writer_copy(s, &k, &k.places[j], e);
        }
    }
    if (rc == 0)
        rc = store_commit(s, true, e);
    if (rc == 0) {
        gone = xrealloc(gone, s->packs_n + 1, sizeof(*gone));
        memset(gone + n, 0, s->packs_n + 1 - n);
        rc = remove_packs(s, gone, e);
    }
    store_leave(s);
    free(gone);
    return rc;
}

int64_t store_verify(struct store *s,
                     void (*bad)(void *arg, const struct content_sum *sum), void *arg,
                     struct err *e)
{
    struct buf content = BUF_INIT(STORE_OBJECT_MAX);
    int64_t found = 0;
    for (size_t i = 0; i < s->packs_n; i++) {
        const struct pack *k = &s->pack[i];
        struct store_place *good = xcalloc(k->n + 1, sizeof(*good));
        size_t n = 0;
        for (size_t j = 0; j < k->n; j++) {
            struct err damage = ERR_INIT;
            buf_reset(&content);
            if (place_read(s, k->fd, &k->places[j], &content, &damage) == 0) {
                good[n++] = k->places[j];
                continue;
            }
            bad(arg, &k->places[j].sum);
            found++;
        }
        int rc = n < k->n && s->lock >= 0 ? index_write(s, k->name, good, n, e) : 0;
        free(good);
        if (rc < 0)
            found = -1;
        if (rc < 0)
            break;
    }
    buf_release(&content);
    if (found > 0 && s->lock >= 0 && packs_open(s, e) < 0)
        return -1;
    return found;
}
