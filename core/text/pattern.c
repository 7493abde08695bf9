/* SPDX-License-Identifier: MIT */
/*
 * Three steps, each for the lines that pass the one before: a text that all matches have
 * (base/scan.h), the automaton, and pcre2's matcher, which decides unless the automaton
 * is exact. Most files do not pass the first.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include "archive/zip_text.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "text/automaton.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCH_STEPS = 2000000, /* of one line: a tenth of a second */
    MATCH_HEAP_KIB = 32 << 10,
    ACROSS_STEPS = 200000,   /* of a match that begins at one place */
    ACROSS_PIECE = 64,       /* such places that are tried at first, and then more */
    ACROSS_US = 100000,      /* of all of them */
    REPAIRED_MAX = 64 << 20, /* bytes of a line that is not UTF-8 */
    LITERAL_LINES = 1024,    /* refused lines after which the literal is judged */
    LITERAL_WORTH = 128,     /* bytes of text for each of them, at least */
    SHOWN = 200              /* bytes of a pattern in a sentence */
};

struct pattern {
    char *text; /* owned */
    size_t n;
    bool fixed;
    bool nothing; /* no line can have it */
    bool across;  /* for pattern_find */
    bool has_literal;
    struct scan literal;
    size_t refused, looked_at; /* lines with the literal alone; bytes of text */
    struct automaton *automaton; /* NULL: not known to it, or not needed */
    pcre2_code *code;            /* NULL: fixed */
    pcre2_match_data *data;
    pcre2_match_context *limits;
    struct buf repaired; /* the line at hand, when it is not UTF-8 */
};

/* ---- making ---- */

ZIP_TABLES(pcre2)

void pattern_tables(void) { pcre2_unpack(); }

/* As pcre2_get_error_message does: texts of build/pcre2_sentences.c, by their number. */
extern const char compile_error_texts[], match_error_texts[];

static const char *sentence(int code)
{
    const char *p = code < 0 ? match_error_texts : compile_error_texts;
    for (int n = code < 0 ? -code : code - 100; n > 0 && *p; n--)
        p += strlen(p) + 1;
    return *p ? p : "an unknown error";
}

static struct str shown(const struct pattern *p)
{
    return str_n(p->text, p->n > SHOWN ? SHOWN : p->n);
}

static int compile(struct pattern *p, bool ignore_case, bool literal, struct err *e)
{
    int code;
    PCRE2_SIZE at;
    uint32_t options =
        PCRE2_UTF | (p->across ? PCRE2_DOTALL | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT : 0);
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    if (!c)
        return err_set(e, ERR_LIMIT, "no memory for a pattern");
    pattern_tables();
    /* No K for a k: the text that all matches have is looked for in ASCII. */
    if (!literal)
        pcre2_set_compile_extra_options(c, PCRE2_EXTRA_CASELESS_RESTRICT);
    options |= ignore_case ? PCRE2_CASELESS : 0;
    options |= literal ? PCRE2_LITERAL : PCRE2_NEVER_BACKSLASH_C;
    p->code = pcre2_compile((PCRE2_SPTR)p->text, p->n, options, &code, &at, c);
    pcre2_compile_context_free(c);
    if (p->code)
        return 0;
    return err_set(e, ERR_INVALID,
                   "\"%.*s\" is not a regular expression: %s at offset %zu",
                   STR_ARG(shown(p)), sentence(code), (size_t)at);
}

static int make_matcher(struct pattern *p, bool ignore_case, bool literal, struct err *e)
{
    if (compile(p, ignore_case, literal, e) < 0)
        return -1;
    p->data = pcre2_match_data_create(1, NULL);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->data || !p->limits)
        return err_set(e, ERR_LIMIT, "no memory for a pattern");
    pcre2_set_match_limit(p->limits, p->across ? ACROSS_STEPS : MATCH_STEPS);
    pcre2_set_heap_limit(p->limits, MATCH_HEAP_KIB);
    return 0;
}

static int make(struct pattern *p, bool ignore_case, struct err *e)
{
    struct str text = str_n(p->text, p->n), literal;
    bool fold = ignore_case;
    /* Letters beyond ASCII in either case are for the matcher. */
    if (p->fixed && !(ignore_case && scan_has_high(text))) {
        literal = text;
    } else {
        bool quoted = p->fixed;
        p->fixed = false;
        if (make_matcher(p, ignore_case, quoted, e) < 0)
            return -1;
        p->automaton = quoted ? NULL : automaton_new(text, ignore_case);
        literal = p->automaton ? automaton_literal(p->automaton, &fold) : STR("");
    }
    p->has_literal = literal.n > 0;
    if (p->has_literal)
        scan_init(&p->literal, literal, fold);
    return 0;
}

/* Without the steps before the matcher, which look at lines. */
static int make_across(struct pattern *p, struct err *e)
{
    p->across = true;
    return make_matcher(p, false, false, e);
}

static struct pattern *new_pattern(struct str text, bool fixed, bool ignore_case,
                                   bool across, struct err *e)
{
    if (text.n > PATTERN_MAX) {
        err_set(e, ERR_LIMIT, "the pattern has %zu bytes; at most %d are taken", text.n,
                PATTERN_MAX);
        return NULL;
    }
    struct pattern *p = xnew(struct pattern);
    buf_init(&p->repaired, REPAIRED_MAX);
    p->text = xstrndup(text.p ? text.p : "", text.n);
    p->n = text.n;
    p->fixed = fixed;
    p->nothing = fixed && str_chr(text, '\n') >= 0;
    if ((across ? make_across(p, e) : make(p, ignore_case, e)) == 0)
        return p;
    pattern_free(p);
    return NULL;
}

struct pattern *pattern_new(struct str text, bool fixed, bool ignore_case, struct err *e)
{
    return new_pattern(text, fixed, ignore_case, false, e);
}

struct pattern *pattern_new_across(struct str text, struct err *e)
{
    return new_pattern(text, false, false, true, e);
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    automaton_free(p->automaton);
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->limits);
    pcre2_code_free(p->code);
    buf_release(&p->repaired);
    free(p->text);
    free(p);
}

/* ---- matching ---- */

/*
 * Makes a line valid UTF-8. pcre2's own option for invalid texts reads beyond their end
 * after some lookbehinds (10.46).
 */
static int make_valid(struct pattern *p, struct str *line, struct err *e)
{
    if (!scan_has_high(*line) || utf8_valid(*line))
        return 0;
    buf_reset(&p->repaired);
    if (utf8_repair(&p->repaired, *line, false) < 0)
        return err_set(e, ERR_LIMIT, "a line of %zu bytes is not UTF-8, and too long",
                       line->n);
    *line = buf_str(&p->repaired);
    return 0;
}

static int matches(struct pattern *p, struct str line, struct err *e)
{
    if (make_valid(p, &line, e) < 0)
        return -1;
    const char *start = line.p ? line.p : "";
    int rc = pcre2_match(p->code, (PCRE2_SPTR)start, line.n, 0, PCRE2_NO_UTF_CHECK,
                         p->data, p->limits);
    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    return err_set(e, ERR_LIMIT,
                   "\"%.*s\" takes too many steps on a line of %zu bytes; a simpler "
                   "pattern, or a fixed string, would not",
                   STR_ARG(shown(p)), line.n);
}

/* The automaton has let the line through. */
static int decide(struct pattern *p, struct str line, struct err *e)
{
    if (p->automaton && automaton_is_exact(p->automaton) && !scan_has_high(line))
        return 1;
    return matches(p, line, e);
}

/* From `at` on: a byte of the next line that may match, or text.n. */
static size_t candidate(struct pattern *p, struct str text, size_t at)
{
    if (p->has_literal) {
        long found = scan_find(&p->literal, text, at);
        return found < 0 ? text.n : (size_t)found;
    }
    return p->automaton ? automaton_find(p->automaton, text, at) : at;
}

/* Whether a line with the literal, which the automaton has not seen, may match. */
static bool still_possible(struct pattern *p, struct str line)
{
    if (!p->has_literal || !p->automaton)
        return true;
    return automaton_find(p->automaton, line, 0) < line.n;
}

/*
 * A line has the literal, and the automaton refused it. Where most lines have it ("_"),
 * the automaton alone is faster: it needs no line's borders.
 */
static void judge_literal(struct pattern *p)
{
    if (++p->refused >= LITERAL_LINES)
        p->has_literal = p->looked_at / p->refused >= LITERAL_WORTH;
}

int pattern_next(struct pattern *p, struct str text, size_t from, struct str *line,
                 struct err *e)
{
    while (from < text.n && !p->nothing) {
        size_t at = candidate(p, text, from);
        p->looked_at += (at < text.n ? at : text.n) - from;
        if (at >= text.n)
            return 0;
        size_t start = from + line_start_of(str_sub(text, from, text.n), at - from);
        size_t end = line_end_of(text, at);
        *line = str_sub(text, start, end - start);
        from = end + 1;
        if (p->fixed)
            return 1;
        if (!still_possible(p, *line)) {
            judge_literal(p);
            continue;
        }
        int rc = decide(p, *line, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* One piece of the places where a match may begin. As pattern_find. */
static int find_before(struct pattern *p, struct str text, size_t from, size_t limit,
                       struct str *match)
{
    pcre2_set_offset_limit(p->limits, limit);
    int rc = pcre2_match(p->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, from,
                         PCRE2_NO_UTF_CHECK, p->data, p->limits);
    if (rc < 0)
        return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->data);
    *match = str_sub(text, at[0], at[1] - at[0]);
    return 1;
}

/*
 * The matcher's limit is for each place where a match may begin; this bounds the places.
 */
int pattern_find(struct pattern *p, struct str text, size_t from, struct str *match,
                 struct err *e)
{
    BUG_ON(!p->across);
    int64_t began = clock_cpu_us(), now = began;
    size_t piece = ACROSS_PIECE;
    for (;;) {
        size_t limit = text.n - from > piece ? from + piece : text.n;
        while (limit < text.n && (text.p[limit] & 0xc0) == 0x80)
            limit++;
        int rc = find_before(p, text, from, limit, match);
        if (rc > 0 || (rc == 0 && limit == text.n))
            return rc;
        int64_t then = now;
        now = clock_cpu_us();
        if (rc < 0 || now - began > ACROSS_US)
            return err_set(e, ERR_LIMIT, "\"%.*s\" takes too many steps on %zu bytes",
                           STR_ARG(shown(p)), text.n);
        piece = now - then < ACROSS_US / 100 ? 2 * piece : piece;
        from = limit;
    }
}
