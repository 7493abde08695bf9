/* SPDX-License-Identifier: MIT */
/* Which checkpoints stay. */
#include "base/clock.h"
#include "base/xalloc.h"
#include "checkpoint/diff.h"
#include "checkpoint/record.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { HOUR = 3600 * 1000, DAY = 24 * HOUR };

/* ---- marks ---- */

struct marking {
    struct store *s;
    uint64_t *bytes;
    bool fresh; /* the folder's manifest was not marked before */
};

static int mark_name(void *arg, const struct content_sum *sum, struct err *e)
{
    struct marking *m = arg;
    (void)e;
    /* A missing content is not an error here: verify names it. */
    m->fresh |= store_mark(m->s, sum, m->bytes) > 0;
    return 0;
}

static int mark_content(struct marking *m, const struct content_ref *c)
{
    struct err damage = ERR_INIT;
    m->fresh = false;
    content_names(m->s, c, mark_name, m, &damage);
    return m->fresh ? 0 : 1;
}

static int mark_entry(void *arg, struct str path, const struct file_node *x,
                      const struct file_node *y, struct err *e)
{
    (void)path, (void)x, (void)e;
    return mark_content(arg, &y->content);
}

/* A folder whose manifest was marked before has nothing new in it. */
int keep_mark(struct store *s, const struct json *record, uint64_t *bytes, struct err *e)
{
    struct marking m = {.s = s, .bytes = bytes};
    struct pairs p = {.s = s, .fn = mark_entry, .arg = &m};
    struct content_ref tree;
    struct err damage = ERR_INIT;
    if (record_tree(record, &tree, e) < 0)
        return -1;
    if (mark_content(&m, &tree) == 0 && pairs_walk(&p, NULL, &tree, &damage) < 0)
        return 1;
    return 0;
}

/* ---- which ---- */

static bool is_automatic(const struct json *r)
{
    struct str why = json_str(r, "why", "");
    return str_eq(why, STR("turn")) || str_eq(why, STR("each")) ||
           str_eq(why, STR("risky"));
}

/* Is r, of which next is the following one, not the last of its hour or day? */
static bool is_thin(const struct json *r, const struct json *next)
{
    int64_t now = clock_wall_ms(), t = json_int(r, "time", 0);
    int64_t grain = now - t > DAY ? DAY : HOUR;
    return next && is_automatic(r) && is_automatic(next) && t < now - HOUR &&
           !json_bool(r, "pinned", false) &&
           t / grain == json_int(next, "time", 0) / grain;
}

static int drop(struct store *s, struct json **all, long i,
                void (*gone)(void *arg, int64_t id), void *arg, struct err *e)
{
    int64_t id = json_int(all[i], "id", 0);
    if (record_remove(s, id, e) < 0)
        return -1;
    json_free(all[i]);
    all[i] = NULL;
    gone(arg, id);
    return 0;
}

/*
 * Returns 1 if marks are missing, since a manifest is damaged: then nothing may be swept.
 * The newest ones stay that fit; pinned ones, and the newest of all, do in any
 * case.
 */
static int fit(struct store *s, struct json **all, long n, uint64_t budget,
               void (*gone)(void *arg, int64_t id), void *arg, struct err *e)
{
    uint64_t bytes = 0;
    int rc = 0;
    bool full = false, damaged = false;
    store_unmark(s);
    for (long i = 0; rc == 0 && i < n; i++)
        if (all[i] && (i == n - 1 || json_bool(all[i], "pinned", false)))
            rc = keep_mark(s, all[i], &bytes, e) < 0 ? -1 : 0;
    for (long i = n - 2; rc == 0 && i >= 0; i--) {
        if (!all[i] || json_bool(all[i], "pinned", false))
            continue;
        if (!full)
            rc = keep_mark(s, all[i], &bytes, e) < 0 ? -1 : 0;
        full |= bytes > budget;
        if (full && rc == 0)
            rc = drop(s, all, i, gone, arg, e);
    }
    /* What only the dropped ones use must not stay marked. */
    store_unmark(s);
    for (long i = 0; rc >= 0 && i < n; i++) {
        rc = all[i] ? keep_mark(s, all[i], &bytes, e) : 0;
        damaged |= rc > 0;
    }
    return rc < 0 ? -1 : damaged;
}

/* Contents of a checkpoint that is still to come would go. */
static bool is_arriving(const struct store *s)
{
    struct stat st;
    int64_t now = clock_wall_ms() / 1000;
    return fstatat(store_folder(s), STORE_ARRIVING, &st, 0) == 0 &&
           st.st_mtime > now - HOUR / 1000 && st.st_mtime < now + HOUR / 1000;
}

int keep_within(struct store *s, uint64_t budget, void (*gone)(void *arg, int64_t id),
                void *arg, struct err *e)
{
    int64_t *ids;
    long n = record_list(s, &ids, e);
    if (n < 0)
        return -1;
    struct json **all = xcalloc((size_t)n + 1, sizeof(struct json *));
    int rc = 0;
    for (long i = 0; rc == 0 && i < n; i++)
        if (!(all[i] = record_read(s, ids[i], e)))
            rc = -1;
    for (long i = 0; rc == 0 && budget && i + 1 < n; i++)
        if (all[i] && all[i + 1] && is_thin(all[i], all[i + 1]))
            rc = drop(s, all, i, gone, arg, e);
    if (rc == 0)
        rc = fit(s, all, n, budget ? budget : UINT64_MAX, gone, arg, e);
    if (rc == 0 && !is_arriving(s))
        rc = store_sweep(s, e);
    for (long i = 0; i < n; i++)
        json_free(all[i]);
    free(all);
    free(ids);
    return rc;
}
