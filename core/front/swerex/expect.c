/* SPDX-License-Identifier: MIT */
/*
 * Matches patterns in output as it arrives. A client's patterns are Python expressions
 * with DOTALL for the text of a terminal, where a line ends in CR LF (pexpect, "expect").
 * Our sessions' terminals do not translate LF while a command runs, so it is done here.
 *
 * The match that begins first wins, then the pattern that is first in the list. Only a
 * window is searched: the last bytes of the output, at most WINDOW; when it is full, its
 * first half is dropped.
 */
#include "front/swerex/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "text/pattern.h"

#include <stdlib.h>

enum { WINDOW = 64 << 10 };

struct swerex_expect {
    struct pattern *v[SWEREX_PATTERNS]; /* owned */
    char *text[SWEREX_PATTERNS];        /* owned */
    int n;
    uint64_t at;     /* offset in the stream where the window begins */
    struct buf raw;  /* the window as it arrived */
    struct buf view; /* the window as it is searched */
    size_t viewed;   /* bytes of raw that are in view */
    bool after_cr;   /* the last byte before raw was CR */
};

struct swerex_expect *swerex_expect_new(const struct json *list, struct err *e)
{
    struct swerex_expect *x = xnew(struct swerex_expect);
    buf_init(&x->raw, 2 * WINDOW);
    buf_init(&x->view, 16 * WINDOW);
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        struct str text = json_str_value(v, "");
        if (x->n == SWEREX_PATTERNS) {
            err_set(e, ERR_LIMIT, "expect has more than %d patterns", SWEREX_PATTERNS);
        } else if ((x->v[x->n] = pattern_new_across(text, e))) {
            x->text[x->n++] = xstrndup(text.p, text.n);
            continue;
        }
        swerex_expect_free(x);
        return NULL;
    }
    return x;
}

void swerex_expect_free(struct swerex_expect *x)
{
    if (!x)
        return;
    for (int i = 0; i < x->n; i++) {
        pattern_free(x->v[i]);
        free(x->text[i]);
    }
    buf_release(&x->raw);
    buf_release(&x->view);
    free(x);
}

const char *swerex_expect_text(const struct swerex_expect *x, int i)
{
    return x->text[i];
}

/* Appends one character of s, as it is searched, to out. Returns its length in s; 0 if it
 * is incomplete. */
static size_t show_one(struct str s, bool *after_cr, struct buf *out)
{
    uint32_t c;
    int n = utf8_decode(s, &c);
    bool feed = s.p[0] == '\n' && !*after_cr;
    if (n == 0)
        return 0;
    *after_cr = s.p[0] == '\r';
    if (feed)
        buf_addc(out, '\r');
    if (n > 0)
        buf_adds(out, str_sub(s, 0, (size_t)n));
    else
        buf_addf(out, "\\x%02x", (unsigned char)s.p[0]);
    return n > 0 ? (size_t)n : 1;
}

static void show(struct swerex_expect *x)
{
    bool after_cr = x->viewed > 0 ? x->raw.p[x->viewed - 1] == '\r' : x->after_cr;
    for (size_t n; x->viewed < x->raw.n; x->viewed += n) {
        n = show_one(str_sub(buf_str(&x->raw), x->viewed, x->raw.n), &after_cr, &x->view);
        if (n == 0)
            break;
    }
}

/* Returns the offset in raw for the offset `at` in view. */
static size_t place(const struct swerex_expect *x, size_t at)
{
    struct buf seen = BUF_INIT(16 * WINDOW);
    bool after_cr = x->after_cr;
    size_t i = 0;
    while (i < x->viewed && seen.n < at) {
        size_t n = show_one(str_sub(buf_str(&x->raw), i, x->raw.n), &after_cr, &seen);
        if (n == 0)
            break;
        i += n;
    }
    buf_release(&seen);
    return i;
}

/* Drops the beginning of a full window. */
static void shrink(struct swerex_expect *x)
{
    if (x->raw.n <= WINDOW)
        return;
    size_t drop = x->raw.n - WINDOW / 2;
    drop = drop < x->viewed ? drop : x->viewed;
    x->after_cr = x->raw.p[drop - 1] == '\r';
    buf_consume(&x->raw, drop);
    x->at += drop;
    x->viewed = 0;
    buf_reset(&x->view);
    show(x);
}

static int search(struct swerex_expect *x, struct str *match, struct err *e)
{
    int best = SWEREX_NO_MATCH;
    struct str text = buf_str(&x->view);
    for (int i = 0; i < x->n; i++) {
        struct str m;
        int rc = pattern_find(x->v[i], text, 0, &m, e);
        if (rc < 0)
            return SWEREX_HARD;
        if (rc > 0 && (best < 0 || m.p < match->p)) {
            best = i;
            *match = m;
        }
    }
    return best;
}

int swerex_expect_feed(struct swerex_expect *x, uint64_t at, struct str bytes,
                       struct spool_range *range, struct err *e)
{
    int found = SWEREX_NO_MATCH;
    if (x->raw.n == 0 || at != x->at + x->raw.n) { /* the first, or after a gap */
        buf_reset(&x->raw);
        buf_reset(&x->view);
        x->viewed = 0;
        x->at = at;
    }
    while (bytes.n > 0 && found == SWEREX_NO_MATCH) {
        struct str some = str_sub(bytes, 0, WINDOW / 2), match;
        bytes = str_sub(bytes, some.n, bytes.n);
        buf_adds(&x->raw, some);
        show(x);
        found = search(x, &match, e);
        if (found >= 0) {
            size_t start = (size_t)(match.p - x->view.p);
            range->from = x->at + place(x, start);
            range->to = x->at + place(x, start + match.n);
        } else {
            shrink(x);
        }
    }
    return found;
}
