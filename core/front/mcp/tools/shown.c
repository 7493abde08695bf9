/* SPDX-License-Identifier: MIT */
/* The part of a command's output that an answer shows. */
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "front/mcp/tools/render.h"
#include "shell/spool.h"
#include "skill/skill.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_MAX_SHOWN = 2000, /* bytes of a line in an answer */
    LOOK_BACK = 4 << 20    /* bytes in which the last switch of the screen is searched */
};

struct output_showing {
    struct engine *en;
    struct output_new what;
    char session[ACTION_SESSION_MAX + 1];
    struct task step;
    output_shown_fn *fn;
    void *arg;
    struct render r;
    bool screen, over;
};

static void showing_free(void *p)
{
    struct output_showing *o = p;
    term_free(o->r.term);
    free(o);
}

static void leave_showing(struct output_showing *o)
{
    task_cancel(&o->step);
    o->over = true;
    loop_bury(o->en->loop, o, showing_free);
}

void output_show_stop(struct output_showing *o)
{
    if (o)
        leave_showing(o);
}

struct left_out {
    uint64_t line, from, to;
};

static void put_left_out(struct buf *out, const struct left_out *l, uint64_t total)
{
    buf_addf(out, "[... lines %llu-%llu of %llu left out ...]",
             (unsigned long long)l->from, (unsigned long long)l->to,
             (unsigned long long)total);
}

static void on_left_out(struct buf *out, const struct term_text *info, void *arg)
{
    struct left_out *l = arg;
    l->from = l->line + str_count(buf_str(out), '\n');
    l->to = l->from + (info->cut_lines ? info->cut_lines - 1 : 0);
    put_left_out(out, l, l->line - 1 + info->lines);
}

/* Returns the offset of line n of a text, from 0; its length if there are fewer. */
static size_t line_start(struct str text, uint64_t n)
{
    size_t at = 0;
    for (; n > 0 && at < text.n; n--) {
        long nl = str_chr(str_sub(text, at, text.n), '\n');
        at = nl < 0 ? text.n : at + (size_t)nl + 1;
    }
    return at;
}

/*
 * Leaves out lines in the middle, so that clients which cut answers at a number of lines
 * keep the state line. total: the number of the last line.
 */
static void leave_out(struct buf *text, struct left_out *l, uint64_t total)
{
    enum { HEAD = SKILL_LINES / 4 };
    struct str all = buf_str(text);
    uint64_t lines = str_count(all, '\n'), head = HEAD, tail = SKILL_LINES - HEAD;
    struct buf out = BUF_INIT(text->max);
    if (lines <= SKILL_LINES)
        return;
    if (l->from) { /* between the lines that are left out already, and their mark */
        uint64_t before = l->from - l->line;
        head = before < HEAD ? before : HEAD;
        tail = lines - before - 1 < tail ? lines - before - 1 : tail;
    }
    buf_adds(&out, str_sub(all, 0, line_start(all, head)));
    l->from = l->line + head;
    l->to = total - tail;
    put_left_out(&out, l, total);
    buf_addc(&out, '\n');
    buf_adds(&out, str_sub(all, line_start(all, lines - tail), all.n));
    buf_release(text);
    *text = out;
}

/* Cuts lines that are too long, so that no line fills the whole answer. */
static void cut_lines(struct buf *out, struct str text)
{
    while (text.n > 0) {
        long nl = str_chr(text, '\n');
        struct str line = str_sub(text, 0, nl < 0 ? text.n : (size_t)nl + 1);
        size_t n = line.n > LINE_MAX_SHOWN ? utf8_cut(line, LINE_MAX_SHOWN) : line.n;
        buf_adds(out, str_sub(line, 0, n));
        if (n < line.n)
            buf_addf(out, "\xE2\x80\xA6 [+%zu bytes]%s", line.n - n - (nl >= 0),
                     nl >= 0 ? "\n" : "");
        text = str_sub(text, line.n, text.n);
    }
}

static void show(const struct render *r, const struct output_new *what, bool screen,
                 output_shown_fn *fn, void *arg)
{
    struct buf text = BUF_INIT(what->max + 512), out = BUF_INIT(2 * what->max + 1024);
    struct term_text info = {0};
    struct left_out left = {.line = what->line ? what->line : 1};
    term_text(r->term, &text, &info, on_left_out, &left);
    leave_out(&text, &left, left.line - 1 + info.lines);
    cut_lines(&out, buf_str(&text));
    struct str all = buf_str(&text);
    bool open = all.n > 0 && all.p[all.n - 1] != '\n';
    struct output_shown shown = {.text = buf_str(&out),
                                 .cut_from = left.from,
                                 .cut_to = left.to,
                                 .lines = left.line - 1 + info.lines,
                                 .line = left.line + info.lines - open,
                                 .bytes = r->bytes + r->gone,
                                 .gone = r->gone,
                                 .screen = screen || (info.alt_screen && !what->ended),
                                 .bent = render_bent(r, all)};
    fn(arg, &shown);
    buf_release(&text);
    buf_release(&out);
}

static void step_showing(struct output_showing *o)
{
    if (!render_step(&o->r, o->en, o->session)) {
        task_defer(o->en->loop, &o->step);
        return;
    }
    show(&o->r, &o->what, o->screen, o->fn, o->arg);
    leave_showing(o);
}

static void on_showing_step(struct task *t)
{
    step_showing(container_of(t, struct output_showing, step));
}

/* Returns the kind of the last such switch before `end`, and its offset (spool.h). */
static char last_switch(const struct output_showing *o, uint64_t end, uint64_t *where)
{
    struct session_view v;
    uint64_t oldest = end > LOOK_BACK ? end - LOOK_BACK : 0;
    oldest = oldest > o->what.begin ? oldest : o->what.begin;
    return render_view(o->en, o->session, &v)
               ? spool_screen(v.fd, v.stream, oldest, end, where)
               : 0;
}

/*
 * Chooses the shown range. A screen is shown from its beginning. A screen that was closed
 * since the previous answer is left out, as it is not text.
 */
static void choose_range(struct output_showing *o)
{
    uint64_t where = 0, before = 0;
    char kind = last_switch(o, o->what.to, &where);
    o->screen = kind == 'h' && !o->what.ended;
    bool left = kind == 'l' && where >= o->what.from &&
                last_switch(o, where, &before) == 'h' && before < o->what.from;
    if (o->screen || left)
        o->what.from = where;
}

struct output_showing *output_show(struct engine *en, const struct output_new *what,
                                   output_shown_fn *fn, void *arg)
{
    struct output_showing *o = xnew(struct output_showing);
    *o = (struct output_showing){.en = en, .what = *what, .fn = fn, .arg = arg};
    snprintf(o->session, sizeof(o->session), "%s", what->session);
    task_init(&o->step, on_showing_step);
    choose_range(o);
    render_init(&o->r, o->what.from, o->what.to, what->head, what->max - what->head);
    step_showing(o);
    return o->over ? NULL : o;
}

void output_show_text(struct str text, const struct output_new *what, output_shown_fn *fn,
                      void *arg)
{
    struct render r;
    render_init(&r, 0, 0, what->head, what->max - what->head);
    render_feed(&r, text);
    show(&r, what, false, fn, arg);
    term_free(r.term);
}
