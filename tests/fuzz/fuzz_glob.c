/* SPDX-License-Identifier: MIT */
/*
 * Shell patterns and .gitignore files of strangers. The first line is a path, the rest
 * a pattern, or rules. A match agrees with one that is plainly right and slow, and
 * alternatives are as many as they may be.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "text/glob.h"
#include "text/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Steps that the slow one may take: it is exponential. */
static int steps;

static bool is_parts(struct str p, size_t i)
{
    return str_starts(str_sub(p, i, p.n), STR("**")) && (!i || p.p[i - 1] == '/') &&
           (i + 2 == p.n || p.p[i + 2] == '/');
}

/* Only what stars, question marks and plain bytes say; -1: too many steps. */
static int slowly(struct str p, size_t i, struct str s, size_t k)
{
    if (--steps < 0)
        return -1;
    if (i == p.n)
        return k == s.n;
    if (is_parts(p, i)) {
        if (i + 2 == p.n)
            return k < s.n;
        for (size_t from = k;; from++) {
            int rc = slowly(p, i + 3, s, from);
            if (rc)
                return i + 3 == p.n && rc > 0 ? 1 : rc;
            while (from < s.n && s.p[from] != '/')
                from++;
            if (from >= s.n)
                return 0;
        }
    }
    if (p.p[i] == '*') {
        for (size_t from = k;; from++) {
            int rc = slowly(p, i + 1, s, from);
            if (rc || from >= s.n || s.p[from] == '/')
                return rc;
        }
    }
    if (k == s.n || (p.p[i] != s.p[k] && (p.p[i] != '?' || s.p[k] == '/')))
        return 0;
    return slowly(p, i + 1, s, k + 1);
}

static bool is_simple(struct str pattern, struct str path)
{
    for (size_t i = 0; i < pattern.n; i++) {
        if (strchr("[\\", pattern.p[i]) || (unsigned char)pattern.p[i] >= 128)
            return false;
    }
    for (size_t i = 0; i < path.n; i++) {
        if ((unsigned char)path.p[i] >= 128)
            return false;
    }
    return !str_ends(pattern, STR("**/"));
}

static void check_glob(struct str pattern, struct str path)
{
    struct buf out = BUF_INIT(GLOB_ALTERNATIVES_MAX * GLOB_PATTERN_MAX);
    struct err e = ERR_INIT;
    bool fits = glob_match(pattern, path);
    steps = 100000;
    int want = is_simple(pattern, path) ? slowly(pattern, 0, path, 0) : -1;
    BUG_ON(want >= 0 && fits != want);
    if (glob_expand(pattern, &out, &e) == 0) {
        size_t made = 0;
        for (size_t i = 0; i < out.n; i++)
            made += !out.p[i];
        BUG_ON(!made || made > GLOB_ALTERNATIVES_MAX);
    }
    buf_release(&out);
}

static void check_ignore(struct str rules, struct str path)
{
    struct ignore *g = ignore_new(rules);
    enum ignore_verdict file = ignore_match(g, path, false);
    enum ignore_verdict folder = ignore_match(g, path, true);
    BUG_ON(file != IGNORE_UNKNOWN && folder == IGNORE_UNKNOWN);
    ignore_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n(data, n), path = str_cut(&rest, '\n');
    check_glob(rest, path);
    check_ignore(rest, path);
    return 0;
}
