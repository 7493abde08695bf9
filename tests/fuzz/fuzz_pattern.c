/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions of strangers on texts of theirs. The first line is the pattern,
 * its first byte whether case is ignored; the rest is the text. The lines found are
 * those that pcre2 alone finds, and of what it takes too long for there is an end.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/log.h"
#include "base/utf8.h"
#include "text/pattern.h"

#include <pcre2.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static pcre2_code *compile(struct str pattern, bool fold)
{
    int why;
    PCRE2_SIZE at;
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    pcre2_set_compile_extra_options(c, PCRE2_EXTRA_CASELESS_RESTRICT);
    pcre2_code *code = pcre2_compile(
        (PCRE2_SPTR)pattern.p, pattern.n,
        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | (fold ? PCRE2_CASELESS : 0), &why, &at, c);
    pcre2_compile_context_free(c);
    return code;
}

/* 1, 0, or -1: it takes too long to say. */
static int matches(pcre2_code *code, struct str line)
{
    pcre2_match_data *d = pcre2_match_data_create(1, NULL);
    pcre2_match_context *c = pcre2_match_context_create(NULL);
    struct buf valid = BUF_INIT(1 << 16);
    utf8_repair(&valid, line, false);
    pcre2_set_match_limit(c, 100000);
    int rc = pcre2_match(code, (PCRE2_SPTR)buf_z(&valid), valid.n, 0, 0, d, c);
    buf_release(&valid);
    pcre2_match_context_free(c);
    pcre2_match_data_free(d);
    return rc >= 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

static void check(struct pattern *p, pcre2_code *code, struct str text)
{
    struct err e = ERR_INIT;
    struct str line, rest = text;
    size_t from = 0;
    int rc = pattern_next(p, text, from, &line, &e);
    while (rest.n && rc >= 0) {
        struct str each = str_cut(&rest, '\n');
        bool found = rc > 0 && line.p == each.p && line.n == each.n;
        int want = matches(code, each);
        BUG_ON(want >= 0 && found != want);
        from = (size_t)(each.p - text.p) + each.n + 1;
        if (found)
            rc = pattern_next(p, text, from, &line, &e);
    }
    BUG_ON(rc > 0 || (rc < 0 && e.code != ERR_LIMIT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n), pattern = str_cut(&text, '\n');
    struct err e = ERR_INIT;
    if (!pattern.n || pattern.n > 200 || text.n > 2000)
        return 0;
    bool fold = pattern.p[0] & 1;
    pattern = str_sub(pattern, 1, pattern.n);
    pattern_tables();
    pcre2_code *code = compile(pattern, fold);
    struct pattern *p = pattern_new(pattern, false, fold, &e);
    BUG_ON(!code != !p);
    if (p)
        check(p, code, text);
    pattern_free(p);
    pcre2_code_free(code);
    return 0;
}
