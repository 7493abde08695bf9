/* SPDX-License-Identifier: MIT */
/*
 * Output from spools, and answers with it. Short output is answered at once; longer
 * output is sent in pieces as it is read, at the client's pace.
 */
#include "front/swerex/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "shell/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64 << 10,  /* bytes that are read at once */
    SHORT = 512 << 10, /* bytes of output up to which the answer is sent at once */
    PIECE = 256 << 10, /* bytes of output that are read in one turn */
    PENDING_MAX = 8 << 20,
    PARTS_MAX = 2,
    HOLD_MAX = 16
};

/* ---- from the spool ---- */

void swerex_text_init(struct swerex_text *t, struct swerex *w, const char *session)
{
    *t = (struct swerex_text){.w = w};
    buf_init(&t->said, SWEREX_TEXT_MAX);
    snprintf(t->of, sizeof(t->of), "%s", session);
}

void swerex_text_of_process(struct swerex_text *t, struct swerex *w, const char *process,
                            int i)
{
    const struct process *p = process_find(w->en, str_of(process));
    int fd;
    const struct keep_stream *s = p ? process_stream(p, i, &fd) : NULL;
    swerex_text_init(t, w, process);
    t->is_process = true;
    t->stream = i;
    buf_init(&t->hold, HOLD_MAX + CHUNK);
    if (s)
        swerex_text_range(t, 0, s->offset);
}

void swerex_text_range(struct swerex_text *t, uint64_t from, uint64_t to)
{
    BUG_ON(t->n == sizeof(t->v) / sizeof(t->v[0]));
    if (to > from)
        t->v[t->n++] = (struct spool_range){from, to};
}

void swerex_text_release(struct swerex_text *t)
{
    buf_release(&t->said);
    buf_release(&t->hold);
}

static const struct keep_stream *stream_of(const struct swerex_text *t, int *fd)
{
    struct session_view v = {0};
    if (t->is_process) {
        const struct process *p = process_find(t->w->en, str_of(t->of));
        return p ? process_stream(p, t->stream, fd) : NULL;
    }
    const struct session *s = session_find(t->w->en, str_of(t->of));
    if (s)
        session_view(s, &v);
    *fd = v.fd;
    return v.stream;
}

/* Reads the next bytes of a range into chunk and advances it. Returns their number. */
static size_t read_some(struct swerex_text *t, struct spool_range *range, char *chunk,
                        size_t size)
{
    int fd;
    const struct keep_stream *s = stream_of(t, &fd);
    uint64_t at = range->from;
    size_t n = 0, want = range->to - at < size ? (size_t)(range->to - at) : size;
    if (s)
        n = spool_read(fd, s, &at, chunk, want);
    if (n == 0 || at >= range->to) {
        n = 0;
        at = range->to;
    }
    t->gone += at - range->from;
    n = n < range->to - at ? n : (size_t)(range->to - at);
    range->from = at + n;
    return n;
}

/* Appends output that is not a terminal's, as text; hold keeps what may continue in the
 * next piece. */
static void put_plain(struct buf *hold, struct str bytes, bool last, struct buf *out)
{
    buf_adds(hold, bytes);
    size_t n = last ? hold->n : utf8_cut(buf_str(hold), hold->n);
    swerex_put_text(out, str_sub(buf_str(hold), 0, n));
    buf_consume(hold, n);
}

/* Appends at most the next `most` bytes. Returns true when the text is complete. */
static bool swerex_text_step(struct swerex_text *t, size_t most, struct buf *out)
{
    NOT_ZEROED char chunk[CHUNK];
    buf_adds(out, buf_str(&t->said));
    buf_reset(&t->said);
    for (size_t done = 0; t->at < t->n && done < most;) {
        struct spool_range *range = &t->v[t->at];
        size_t n = read_some(t, range, chunk, sizeof(chunk));
        bool last = range->from >= range->to;
        if (t->is_process)
            put_plain(&t->hold, str_n(chunk, n), last, out);
        else
            swerex_clean(&t->hold, str_n(chunk, n), last, out);
        t->at += last;
        done += n;
    }
    return t->at == t->n;
}

static uint64_t bytes_of(const struct swerex_text *t)
{
    uint64_t n = t->said.n;
    for (unsigned i = t->at; i < t->n; i++)
        n += t->v[i].to - t->v[i].from;
    return n;
}

void swerex_text_all(struct swerex_text *t, struct buf *out)
{
    while (out->n < SWEREX_TEXT_MAX && !swerex_text_step(t, CHUNK, out))
        ;
    if (bytes_of(t) > 0)
        buf_addf(out, "\n[... %llu bytes of output follow ...]\n",
                 (unsigned long long)bytes_of(t));
}

/* ---- answers ---- */

/* An answer that is sent in pieces; owned by its request. */
struct long_answer {
    struct swerex *w;
    struct req *r;
    struct swerex_text text[PARTS_MAX]; /* owned */
    char *before[PARTS_MAX], *after;    /* owned */
    unsigned n, at;
    bool begun, whole; /* begun: pending has the part's `before`; whole: and the end of
                        * the answer */
    uint64_t gone;
    struct buf pending; /* owned: JSON that has not been sent */
    struct task step;
};

static void long_free(void *p)
{
    struct long_answer *l = p;
    for (unsigned i = 0; i < l->n; i++) {
        swerex_text_release(&l->text[i]);
        free(l->before[i]);
    }
    buf_release(&l->pending);
    free(l->after);
    free(l);
}

static void long_bury(struct long_answer *l)
{
    task_cancel(&l->step);
    loop_bury(l->w->en->loop, l, long_free);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    long_bury(owner);
}

/* Adds the next piece of about `most` bytes of output to pending. */
static void fill(struct long_answer *l, size_t most)
{
    struct swerex_text *t = &l->text[l->at];
    struct buf text = BUF_INIT(PENDING_MAX);
    if (!l->begun)
        buf_addz(&l->pending, l->before[l->at]);
    l->begun = true;
    bool end = swerex_text_step(t, most, &text);
    swerex_put_json(&l->pending, buf_str(&text));
    buf_release(&text);
    if (!end)
        return;
    buf_addc(&l->pending, '"');
    l->gone += t->gone;
    l->begun = false;
    if (++l->at < l->n)
        return;
    if (l->gone > 0) /* a field that clients ignore, for people */
        buf_addf(&l->pending, ",\"lost_bytes\":%llu", (unsigned long long)l->gone);
    buf_addz(&l->pending, l->after);
    l->whole = true;
}

static void on_step(struct task *t)
{
    struct long_answer *l = container_of(t, struct long_answer, step);
    if (l->pending.n == 0)
        fill(l, PIECE);
    buf_consume(&l->pending, req_send(l->r, buf_str(&l->pending)));
    if (l->pending.n > 0)
        return; /* on_room continues */
    if (l->whole) {
        struct req *r = l->r;
        long_bury(l);
        req_end(r);
        return;
    }
    task_defer(l->w->en->loop, &l->step);
}

static void on_room(struct req *r, void *owner)
{
    struct long_answer *l = owner;
    (void)r;
    task_defer(l->w->en->loop, &l->step);
}

void swerex_send(struct req *r, struct swerex_text *take, const char *const *before,
                 unsigned n, const char *after)
{
    struct long_answer *l = xnew(struct long_answer);
    uint64_t bytes = 0;
    BUG_ON(n == 0 || n > PARTS_MAX);
    *l = (struct long_answer){.w = take->w, .r = r, .n = n, .after = xstrdup(after)};
    buf_init(&l->pending, 6 * PENDING_MAX);
    task_init(&l->step, on_step);
    for (unsigned i = 0; i < n; i++) {
        l->text[i] = take[i];
        l->before[i] = xstrdup(before[i]);
        bytes += bytes_of(&take[i]);
    }
    if (bytes <= SHORT) {
        while (!l->whole)
            fill(l, SHORT);
        swerex_answer(r, 200, &l->pending);
        long_bury(l);
        return;
    }
    req_own(r, l, on_gone);
    req_on_room(r, on_room);
    req_begin(r, 200, "application/json", -1);
    task_defer(l->w->en->loop, &l->step);
}

/* ---- a BashObservation ---- */

static void put_end(struct buf *out, const struct swerex_seen *o)
{
    buf_addz(out, ",\"exit_code\":");
    if (o->has_exit)
        buf_addf(out, "%d", o->exit);
    else
        buf_addz(out, "null");
    buf_addz(out, ",\"failure_reason\":\"\",\"expect_string\":\"");
    swerex_put_json(out, str_of(o->expect));
    buf_addz(out, "\",\"session_type\":\"bash\"}");
}

void swerex_observe_text(struct req *r, struct str text, const struct swerex_seen *o)
{
    struct buf b = BUF_INIT(6 * (size_t)SWEREX_TEXT_MAX + (1 << 20));
    buf_addz(&b, "{\"output\":\"");
    swerex_put_json(&b, text);
    buf_addc(&b, '"');
    put_end(&b, o);
    swerex_answer(r, 200, &b);
}

void swerex_observe(struct req *r, struct swerex_text *take, const struct swerex_seen *o)
{
    static const char *const before[] = {"{\"output\":\""};
    struct buf after = BUF_INIT(1 << 20);
    put_end(&after, o);
    swerex_send(r, take, before, 1, buf_z(&after));
    buf_release(&after);
}
