/* SPDX-License-Identifier: MIT */
#include "cast/cast.h"

#include "base/jsontext.h"
#include "base/utf8.h"

#include <string.h>

enum {
    SIDE_MAX = 0xffff,       /* of a size, as a terminal's is 16 bits */
    SECONDS_MAX = 1000000000 /* of a time: 31 years */
};

void cast_reader_init(struct cast_reader *r)
{
    *r = (struct cast_reader){.format = CAST_NONE};
    buf_init(&r->in, CAST_LINE_MAX + CAST_FEED_MAX);
    buf_init(&r->head, CAST_LINE_MAX);
    buf_init(&r->text, CAST_OUT_MAX);
}

void cast_reader_release(struct cast_reader *r)
{
    buf_release(&r->in);
    buf_release(&r->head);
    buf_release(&r->text);
}

void cast_feed(struct cast_reader *r, struct str bytes)
{
    buf_consume(&r->in, r->used);
    r->used = 0;
    buf_adds(&r->in, bytes);
}

bool cast_size(struct str text, int *cols, int *rows)
{
    uint64_t c, r;
    struct str first = str_cut(&text, 'x');
    if (str_to_u64(first, &c) < 0 || str_to_u64(text, &r) < 0 || c < 1 || r < 1 ||
        c > SIDE_MAX || r > SIDE_MAX)
        return false;
    *cols = (int)c;
    *rows = (int)r;
    return true;
}

/* Returns 1 and the next line, without its newline; 0: there is none; -1: too long. */
static int next_line(struct cast_reader *r, struct str *line, struct err *e)
{
    buf_consume(&r->in, r->used);
    r->used = 0;
    struct str rest = str_sub(buf_str(&r->in), r->looked, r->in.n);
    long at = str_chr(rest, '\n');
    size_t n = at < 0 ? r->in.n : r->looked + (size_t)at;
    if (n > CAST_LINE_MAX)
        return err_set(e, ERR_LIMIT, "line %llu is longer than %d bytes",
                       (unsigned long long)r->line + 1, CAST_LINE_MAX);
    if (at < 0 && (!r->over || n == 0)) {
        r->looked = n;
        return 0;
    }
    r->looked = 0;
    r->used = n + (at < 0 ? 0 : 1);
    r->line++;
    *line = str_sub(buf_str(&r->in), 0, n);
    if (line->n > 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return 1;
}

/* ---- the header ---- */

static struct str member(struct str object, const char *name, char first)
{
    struct str v = jsontext_get(object, str_of(name));
    return v.n > 0 && v.p[0] == first ? v : STR("");
}

/* Takes the header, which is in r->head. */
static int take_header(struct cast_reader *r, struct err *e)
{
    struct cast_header *h = &r->header;
    struct str line = str_trim(buf_str(&r->head));
    bool json = utf8_valid(line) && jsontext_valid(line) && str_starts(line, STR("{"));
    int64_t version = json ? jsontext_int(jsontext_get(line, STR("version")), 0) : 0;
    if (version < 1 || version > 3)
        return err_set(e, ERR_INVALID, "only asciicast v1, v2 and v3 can be opened");
    if (version > 1 && str_chr(line, '\n') >= 0)
        return err_set(e, ERR_INVALID, "its header is more than the first line");
    if (version == 1) {
        struct str events = member(line, "stdout", '[');
        if (events.n == 0)
            return err_set(e, ERR_INVALID, "it is of version 1, and has no stdout");
        r->v1 = true;
        r->left = jsontext_inside(events);
        version = 2; /* which has the same header */
    }
    struct str term = jsontext_get(line, STR("term"));
    struct str size = version == 2 ? line : term;
    int64_t cols = jsontext_int(
                jsontext_get(size, version == 2 ? STR("width") : STR("cols")), 0),
            rows = jsontext_int(
                jsontext_get(size, version == 2 ? STR("height") : STR("rows")), 0);
    if (cols < 1 || rows < 1 || cols > SIDE_MAX || rows > SIDE_MAX)
        return err_set(e, ERR_INVALID, "its header has no size of a terminal");
    h->cols = (int)cols;
    h->rows = (int)rows;
    h->timestamp = jsontext_int(jsontext_get(line, STR("timestamp")), 0);
    struct str idle = jsontext_get(line, STR("idle_time_limit"));
    h->idle = jsontext_num(idle, -1) >= 0 ? idle : STR("");
    h->command = member(line, "command", '"');
    h->title = member(line, "title", '"');
    h->env = member(line, "env", '{');
    h->type = version == 2 ? member(h->env, "TERM", '"') : member(term, "type", '"');
    h->theme = member(version == 2 ? line : term, "theme", '{');
    r->format = version == 2 ? CAST_V2 : CAST_V3;
    return 0;
}

/* ---- events ---- */

static int damaged(const struct cast_reader *r, bool last, struct err *e)
{
    return err_set(e, ERR_INVALID, "line %llu is not an event%s",
                   (unsigned long long)r->line,
                   last ? ": the recording was cut there" : "");
}

/* Reads the time into r->us. Returns false if it is none. */
static bool take_time(struct cast_reader *r, struct str value)
{
    double t = jsontext_num(value, -1);
    if (!(t >= 0 && t <= SECONDS_MAX))
        return false;
    int64_t us = (int64_t)(t * 1e6 + 0.5), limit = (int64_t)SECONDS_MAX * 1000000;
    if (r->format == CAST_V3 || r->v1)
        us += r->us;
    if (us > r->us)
        r->us = us < limit ? us : limit;
    return true;
}

static int take_event(struct cast_reader *r, struct str line, struct cast_event *ev,
                      struct err *e)
{
    struct str inside, time, code, text, more;
    bool last = r->over && r->used == r->in.n;
    int cols, rows;
    if (!jsontext_valid(line) || line.p[0] != '[')
        return damaged(r, last, e);
    inside = jsontext_inside(line);
    buf_reset(&r->text);
    if (!jsontext_item(&inside, &time) || !jsontext_item(&inside, &code) ||
        !jsontext_item(&inside, &text) || jsontext_item(&inside, &more) ||
        !take_time(r, time) || jsontext_string(&r->text, text) < 0)
        return damaged(r, false, e);
    code = jsontext_plain(code);
    if (code.n != 1 || code.p[0] < 'A' || code.p[0] > 'z' || code.p[0] == '\\')
        return damaged(r, false, e);
    ev->us = r->us;
    ev->code = code.p[0];
    ev->text = buf_str(&r->text);
    if (ev->code == 'r' && !cast_size(ev->text, &cols, &rows))
        return err_set(e, ERR_INVALID, "line %llu has no size, such as \"80x24\"",
                       (unsigned long long)r->line);
    return 1;
}

/* The events of v1: [seconds since the one before, text]. */
static int next_v1(struct cast_reader *r, struct cast_event *ev, struct err *e)
{
    struct str item, inside, time, text, more;
    r->used = r->in.n; /* nothing follows the object */
    r->looked = 0;
    if (!jsontext_item(&r->left, &item))
        return 0;
    inside = item.n > 0 && item.p[0] == '[' ? jsontext_inside(item) : STR("");
    buf_reset(&r->text);
    if (!jsontext_item(&inside, &time) || !jsontext_item(&inside, &text) ||
        jsontext_item(&inside, &more) || !take_time(r, time) ||
        jsontext_string(&r->text, text) < 0)
        return err_set(e, ERR_INVALID, "an item of its stdout is not an event");
    *ev = (struct cast_event){.us = r->us, .code = 'o', .text = buf_str(&r->text)};
    return 1;
}

/*
 * Adds a line to the header, and takes it when it is complete: the first line, or if that
 * only begins an object, as v1 may, the whole file.
 */
static int add_header(struct cast_reader *r, struct str line, struct err *e)
{
    bool first = r->head.n == 0;
    if (r->head.n + line.n + 1 > CAST_LINE_MAX)
        return err_set(e, ERR_LIMIT, "a recording of version 1 has at most %d bytes",
                       CAST_LINE_MAX);
    buf_adds(&r->head, line);
    if (first && (!str_starts(line, STR("{")) || jsontext_valid(line)))
        return take_header(r, e);
    buf_addc(&r->head, '\n');
    return 0;
}

int cast_next(struct cast_reader *r, struct cast_event *ev, struct err *e)
{
    struct str line;
    for (;;) {
        if (r->v1)
            return next_v1(r, ev, e);
        int n = next_line(r, &line, e);
        if (n == 0 && r->over && r->format == CAST_NONE) {
            if (r->head.n == 0)
                return err_set(e, ERR_INVALID, "it is empty");
            if (take_header(r, e) < 0)
                return -1;
            continue;
        }
        if (n <= 0)
            return n;
        if (r->format == CAST_NONE) {
            if (add_header(r, line, e) < 0)
                return -1;
            continue;
        }
        struct str text = str_trim(line);
        if (text.n > 0 && (r->format == CAST_V2 || text.p[0] != '#'))
            return take_event(r, text, ev, e);
    }
}
