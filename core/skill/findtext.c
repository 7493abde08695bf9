/* SPDX-License-Identifier: MIT */
/* See find.h. The helper has a copy of the text, since it is forked. */
#include "base/scan.h"
#include "base/xalloc.h"
#include "skill/own.h"
#include "text/pattern.h"

#include <ctype.h>
#include <stdlib.h>

enum { CPU_S = 20, MEMORY = 128 << 20 };

struct find_text_run {
    skill_done_fn *done;
    void *arg;
    struct job *job;
    struct json *facts; /* owned: from the helper, with state and failed */
    struct buf text;
};

/* ---- the helper ---- */

/* The search in one part of the text. Offsets are in that part. */
struct findtext_part {
    struct matches *m;
    struct str text;
    uint64_t number;      /* of the line at counted */
    size_t counted, told; /* lines before `told` were printed or skipped */
    unsigned behind;      /* lines of context still to be put */
};

static void tell(struct findtext_part *p, size_t at, bool context)
{
    size_t end = line_end_of(p->text, at);
    p->number += scan_count(str_sub(p->text, p->counted, at - p->counted), '\n');
    p->counted = at;
    found_line(p->m, p->number, str_sub(p->text, at, end - at), context, false);
    p->told = end + 1;
}

static void tell_behind(struct findtext_part *p, size_t to)
{
    for (; p->behind > 0 && p->told < to; p->behind--)
        tell(p, p->told, true);
}

static void tell_match(struct findtext_part *p, size_t start)
{
    size_t from = start;
    tell_behind(p, start);
    for (unsigned n = p->m->wish.context; n > 0 && from > p->told; n--)
        from = line_start_of(p->text, from - 1);
    while (from < start) {
        tell(p, from, true);
        from = p->told;
    }
    tell(p, start, false);
    p->behind = p->m->wish.context;
}

static int look_through(struct matches *m, struct pattern *pattern, struct str text,
                        uint64_t number, struct err *e)
{
    struct findtext_part p = {.m = m, .text = text, .number = number};
    struct str line;
    int rc;
    for (size_t from = 0; (rc = pattern_next(pattern, text, from, &line, e)) > 0;) {
        size_t start = (size_t)(line.p - text.p);
        tell_match(&p, start);
        from = start + line.n + 1;
    }
    tell_behind(&p, text.n);
    return rc;
}

/* Finds the matches of both parts. Returns -1 and sets *e. */
static int count(const struct find_text *q, bool ignore_case, bool literal,
                 struct matches *m, struct err *e)
{
    struct pattern *p = pattern_new(q->pattern, literal, ignore_case, e);
    found_file(m, str_of(q->name));
    m->named = true; /* its name is of no use here */
    int rc = p ? look_through(m, p, q->head, 1, e) : -1;
    if (rc == 0 && q->tail.n > 0)
        rc = look_through(m, p, q->tail, q->tail_line, e);
    pattern_free(p);
    return rc;
}

static bool has_letters(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (isalpha((unsigned char)s.p[i]))
            return true;
    return false;
}

/* Counts the matches of a search that ignores case. */
static uint64_t in_other_case(const struct find_text *q, bool literal)
{
    struct buf none = BUF_INIT(1 << 20);
    struct found_wish wish = {1, 0, 1};
    struct matches m;
    struct err e = ERR_INIT;
    found_begin(&m, &none, &wish);
    int rc = q->ignore_case || !has_letters(q->pattern) ? -1
                                                        : count(q, true, literal, &m, &e);
    uint64_t n = rc < 0 ? 0 : m.matches;
    found_release(&m);
    buf_release(&none);
    return n;
}

static void say(const struct find_text *q, struct matches *m, bool literal,
                struct buf *state, struct json *facts)
{
    uint64_t n = m->matches, cased = n ? 0 : in_other_case(q, literal);
    if (n)
        buf_addf(state, "%llu match%s in the %llu line%s of %s", (unsigned long long)n,
                 n == 1 ? "" : "es", (unsigned long long)q->lines,
                 q->lines == 1 ? "" : "s", q->name);
    else
        buf_addf(state, "no match in the %llu line%s of %s", (unsigned long long)q->lines,
                 q->lines == 1 ? "" : "s", q->name);
    if (m->shown < n)
        buf_addf(state, ", %llu shown; narrow the pattern%s",
                 (unsigned long long)m->shown,
                 m->wish.limit < FOUND_LIMIT_MAX && !m->no_room ? ", or limit=1000" : "");
    if (cased)
        buf_addf(state, "; %llu with other case: ignore_case=true",
                 (unsigned long long)cased);
    if (q->tail.n > 0)
        buf_addz(state, "; lines in its middle are not kept");
    json_put_int(facts, "matches", (int64_t)n);
    json_put_int(facts, "files", n > 0);
    json_put_int(facts, "shown", (int64_t)m->shown);
    json_put_int(facts, "searched", 1);
    json_put_bool(facts, "literal", literal);
}

static int child(void *arg, const struct job_child *c, struct err *e)
{
    const struct find_text *q = arg;
    struct found_wish wish = {(uint64_t)q->limit, (unsigned)q->context, q->bytes};
    struct buf out = BUF_INIT(SKILL_TEXT_MAX), state = BUF_INIT(1000);
    struct buf note = BUF_INIT(JOB_NOTE_MAX);
    struct json *facts = json_object();
    struct matches m;
    bool literal = q->literal;
    found_begin(&m, &out, &wish);
    int rc = count(q, q->ignore_case, literal, &m, e);
    if (rc < 0 && e->code == ERR_INVALID && !literal) {
        literal = true;
        found_plain(&out, e);
        *e = (struct err)ERR_INIT;
        found_release(&m);
        found_begin(&m, &out, &wish);
        rc = count(q, q->ignore_case, true, &m, e);
    }
    if (rc < 0)
        return -1;
    say(q, &m, literal, &state, facts);
    json_put_str(facts, "state", buf_str(&state));
    json_print(&note, facts);
    job_note(c, buf_str(&note));
    return job_put(c, buf_str(&out)) < 0 ? err_set(e, ERR_IO, "cannot hand over matches")
                                         : 0;
}

/* ---- the call ---- */

static void on_data(struct job *j, struct buf *in)
{
    struct find_text_run *r = job_owner(j);
    buf_adds(&r->text, buf_str(in));
    buf_consume(in, in->n);
}

static void on_note(struct job *j, struct str note)
{
    struct find_text_run *r = job_owner(j);
    struct err e = ERR_INIT;
    json_free(r->facts);
    r->facts = json_parse(note, &e);
}

static void free_run(struct find_text_run *r)
{
    json_free(r->facts);
    buf_release(&r->text);
    free(r);
}

static void on_done(struct job *j, const struct err *e)
{
    struct find_text_run *r = job_owner(j);
    struct buf state = BUF_INIT(1000);
    ASSERT(r->job == j); /* done is called once */
    buf_adds(&state, json_str(r->facts, "state", ""));
    if (r->facts)
        json_drop(r->facts, json_get(r->facts, "state"));
    if (e->code)
        buf_reset(&r->text);
    if (e->code)
        buf_addf(&r->text, "%s\n", e->text);
    else
        buf_addf(&r->text, "[%s]\n", buf_z(&state));
    struct skill_result result = {.text = buf_str(&r->text),
                                  .failed = e->code != ERR_NONE,
                                  .state = e->code ? STR("") : buf_str(&state),
                                  .facts = r->facts};
    r->done(r->arg, &result);
    buf_release(&state);
    free_run(r);
}

static const struct job_events events = {on_data, NULL, on_note, on_done, NULL};

struct find_text_run *find_text_start(struct loop *l, const struct find_text *q,
                                      skill_done_fn *done, void *arg, struct err *e)
{
    struct find_text_run *r = xnew(struct find_text_run);
    struct find_text mine = *q;
    *r = (struct find_text_run){
        .done = done, .arg = arg, .text = BUF_INIT(SKILL_TEXT_MAX)};
    mine.context = found_context(q->context);
    mine.limit = (int64_t)found_limit(q->limit);
    mine.bytes = q->bytes ? q->bytes : SKILL_ANSWER;
    struct job_spec s = {.what = "searching a text",
                         .fn = child,
                         .arg = &mine,
                         .memory = MEMORY,
                         .cpu_s = CPU_S,
                         .ev = &events,
                         .owner = r};
    r->job = job_start(l, &s, e);
    if (r->job)
        return r;
    free_run(r);
    return NULL;
}

void find_text_cancel(struct find_text_run *r)
{
    job_cancel(r->job);
    free_run(r);
}
