/* SPDX-License-Identifier: MIT */
/* Fits the text of an answer into its limit by leaving out whole lines. */
#include "front/mcp/tools/tool.h"

#include "base/utf8.h"
#include "skill/skill.h"

#include <stdio.h>

enum { LINE_MAX_SHOWN = 2000, LINE_MARK = 48 };

/* Returns the line at s without its newline; *whole is its length with it. */
static struct str line_at(struct str s, size_t *whole)
{
    long end = str_chr(s, '\n');
    *whole = end < 0 ? s.n : (size_t)end + 1;
    return str_sub(s, 0, end < 0 ? s.n : (size_t)end);
}

/* Returns the bytes that a line takes in the answer, with its newline. */
static size_t shown_size(struct str line)
{
    return (line.n > LINE_MAX_SHOWN ? LINE_MAX_SHOWN + LINE_MARK : line.n) + 1;
}

static void put_line(struct buf *out, struct str line, bool newline, bool *bent)
{
    struct str shown = line;
    if (line.n > LINE_MAX_SHOWN)
        shown = str_sub(line, 0, utf8_cut(line, LINE_MAX_SHOWN));
    if (!utf8_valid(shown) || memchr(shown.p ? shown.p : "", 0, shown.n)) {
        *bent = true;
        utf8_repair(out, shown, true);
    } else {
        buf_adds(out, shown);
    }
    if (shown.n < line.n)
        buf_addf(out, "… [+%zu bytes]", line.n - shown.n);
    if (newline)
        buf_addc(out, '\n');
}

/*
 * Returns the size of the first lines of text, at most SKILL_LINES, that fit into max,
 * and their number in *lines.
 */
static size_t fit_head(struct str text, size_t max, uint64_t *lines)
{
    size_t at = 0, used = 0, whole;
    *lines = 0;
    while (at < text.n && *lines < SKILL_LINES) {
        struct str line = line_at(str_sub(text, at, text.n), &whole);
        if (used + shown_size(line) > max)
            break;
        used += shown_size(line);
        at += whole;
        ++*lines;
    }
    return at;
}

/* Returns where the last lines that fit into max begin. */
static size_t fit_tail(struct str text, size_t from, size_t max)
{
    size_t at = text.n, used = 0;
    while (at > from) {
        size_t start = at - 1;
        while (start > from && text.p[start - 1] != '\n')
            start--;
        size_t n = at - start - (text.p[at - 1] == '\n');
        if (used + shown_size(str_sub(text, start, n)) > max)
            break;
        used += shown_size(str_sub(text, start, n));
        at = start;
    }
    return at;
}

static void put_lines(struct buf *out, struct str text, bool *bent)
{
    size_t whole;
    for (; text.n > 0; text = str_sub(text, whole, text.n)) {
        struct str line = line_at(text, &whole);
        put_line(out, line, whole > line.n, bent);
    }
}

void tool_cut(struct buf *out, struct str text, size_t head, size_t max, uint64_t *from,
              uint64_t *to, bool *bent)
{
    uint64_t lines, all;
    *from = *to = 0;
    if (fit_head(text, max, &all) == text.n) {
        put_lines(out, text, bent);
        return;
    }
    size_t end = fit_head(text, head ? head : max, &lines);
    size_t tail = head ? fit_tail(text, end, max > head ? max - head : 0) : text.n;
    all = str_count(text, '\n') + (text.n > 0 && text.p[text.n - 1] != '\n');
    *from = lines + 1;
    *to = all - (str_count(str_sub(text, tail, text.n), '\n') +
                 (tail < text.n && text.p[text.n - 1] != '\n'));
    put_lines(out, str_sub(text, 0, end), bent);
    if (head)
        buf_addf(out, "[... lines %llu-%llu of %llu left out ...]\n",
                 (unsigned long long)*from, (unsigned long long)*to,
                 (unsigned long long)all);
    put_lines(out, str_sub(text, tail, text.n), bent);
}
