/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/render.h"

#include "shell/spool.h"

enum {
    ROWS = 50, /* of the terminals of sessions */
    COLS = 200,
    PIECE = 128 << 10 /* bytes that a model takes in one turn */
};

static const char replaced[] = "\xEF\xBF\xBD"; /* U+FFFD */

void render_init(struct render *r, uint64_t from, uint64_t to, size_t head, size_t tail)
{
    const struct term_opts o = {
        .rows = ROWS, .cols = COLS, .head = head, .tail = tail, .keep_tabs = true};
    *r = (struct render){.term = term_new(&o), .at = from, .to = to};
}

void render_feed(struct render *r, struct str bytes)
{
    r->literal = r->literal || str_find(bytes, STR(replaced)) >= 0;
    r->bytes += bytes.n;
    term_feed(r->term, bytes);
}

bool render_view(struct engine *en, const char *session, struct session_view *v)
{
    const struct session *s = session_find(en, str_of(session));
    *v = (struct session_view){0};
    if (s)
        session_view(s, v);
    return v->stream != NULL;
}

bool render_step(struct render *r, struct engine *en, const char *session)
{
    char bytes[16 << 10];
    struct session_view v;
    if (!render_view(en, session, &v)) { /* it was dropped with its session */
        r->gone += r->to - r->at;
        r->at = r->to;
    }
    for (size_t done = 0; r->at < r->to && done < PIECE;) {
        uint64_t at = r->at;
        size_t want = r->to - at < sizeof(bytes) ? (size_t)(r->to - at) : sizeof(bytes);
        size_t n = spool_read(v.fd, v.stream, &at, bytes, want);
        if (n == 0 || at >= r->to)
            at = r->to;
        r->gone += at - r->at;
        r->at = at;
        if (at == r->to)
            break;
        n = n < r->to - at ? n : (size_t)(r->to - at);
        render_feed(r, str_n(bytes, n));
        r->at += n;
        done += n;
    }
    return r->at >= r->to;
}

bool render_bent(const struct render *r, struct str text)
{
    return !r->literal && str_find(text, STR(replaced)) >= 0;
}
