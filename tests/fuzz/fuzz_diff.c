/* SPDX-License-Identifier: MIT */
/*
 * Two texts, which the first NUL parts: the changes must make the one out of the
 * other, and in the other direction there are as many.
 */
#include "base/log.h"
#include "text/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct pass {
    struct str old, new; /* what was not passed over yet */
    size_t old_at, new_at, changes;
};

static struct str take(struct str *rest)
{
    long n = str_chr(*rest, '\n');
    struct str line = str_sub(*rest, 0, n < 0 ? rest->n : (size_t)n);
    *rest = str_sub(*rest, n < 0 ? rest->n : (size_t)n + 1, rest->n);
    return line;
}

static void pass(void *arg, const struct diff_hunk *h)
{
    struct pass *p = arg;
    BUG_ON(h->old_n + h->new_n == 0 || h->old_at < p->old_at);
    BUG_ON(h->old_at - p->old_at != h->new_at - p->new_at);
    for (; p->old_at < h->old_at; p->old_at++, p->new_at++)
        BUG_ON(!str_eq(take(&p->old), take(&p->new)));
    for (size_t i = 0; i < h->old_n; i++)
        take(&p->old);
    for (size_t i = 0; i < h->new_n; i++)
        take(&p->new);
    p->old_at += h->old_n;
    p->new_at += h->new_n;
    p->changes += h->old_n + h->new_n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str new = str_n(data, n), old = str_cut(&new, '\0');
    struct pass p = {old, new, 0, 0, 0}, q = {new, old, 0, 0, 0};
    bool whole = diff_lines(old, new, pass, &p);
    BUG_ON(!str_eq(p.old, p.new));
    BUG_ON(diff_lines(new, old, pass, &q) != whole || (whole && p.changes != q.changes));
    struct buf out = BUF_INIT(1 << 20);
    if (diff_unified(&out, old, new, STR("f")) == 0)
        BUG_ON((out.n == 0) != (p.changes == 0));
    buf_release(&out);
    return 0;
}
