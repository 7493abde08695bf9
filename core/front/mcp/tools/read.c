/* SPDX-License-Identifier: MIT */
/* `read`: the skill view; and kept output, "@17", by line numbers. */
#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "front/mcp/tools/skills.h"
#include "skill/show.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- kept output ---- */

/* c->own of a call that reads kept output. */
struct reading_output {
    struct output *reading; /* NULL: it is done */
};

static void put_lines(struct tool_call *c, const struct output_text *t, struct buf *out,
                      struct buf *state, struct json *object)
{
    int64_t offset = json_int(c->args, "offset", 1),
            limit = json_int(c->args, "limit", 0);
    struct numbering n;
    uint64_t first = 0, have = 0;
    show_range(&offset, &limit, (int64_t)t->lines);
    struct str part = output_lines(t, offset, limit > 0 ? (uint64_t)limit : UINT64_MAX,
                                   &first, &have);
    if (have == 0) {
        buf_addf(state,
                 "line %lld is not kept: of a long output only the beginning and "
                 "the end are, from line %llu on",
                 (long long)offset, (unsigned long long)t->tail_line);
        return;
    }
    numbering_begin(&n, out, (int64_t)first, limit, tool_room(c));
    n.line = (int64_t)first;
    numbering_feed(&n, part);
    numbering_end(&n);
    buf_addf(state, "lines %lld-%lld of %llu", (long long)first, (long long)n.last,
             (unsigned long long)t->lines);
    if (json_int(c->args, "offset", 1) > (int64_t)t->lines)
        buf_addf(state, "; the output has %llu lines", (unsigned long long)t->lines);
    if (n.full)
        buf_addf(state, "; more: offset=%lld; to find something: search path=\"@%llu\"",
                 (long long)n.last + 1, (unsigned long long)t->id);
    json_put_int(object, "from", (int64_t)first);
    json_put_int(object, "to", n.last);
    json_put_bool(object, "more", n.last < (int64_t)t->lines);
}

static void on_output(void *arg, const struct output_text *t, const struct err *e)
{
    struct tool_call *c = arg;
    struct buf text = BUF_INIT(4 * TOOL_ANSWER_MAX), state = BUF_INIT(1000);
    free(c->own);
    c->own = NULL;
    if (!t) {
        tool_fail(c, e);
        return;
    }
    struct json *object = json_object();
    json_put_str(object, "path", json_str(c->args, "path", ""));
    json_put_z(object, "kind", "output");
    json_put_int(object, "lines", (int64_t)t->lines);
    json_put_int(object, "size", (int64_t)t->bytes);
    if (t->lines == 0)
        buf_addf(&state, "no output%s", t->goes_on ? " yet" : "");
    else
        put_lines(c, t, &text, &state, object);
    if (t->goes_on && t->lines)
        buf_addz(&state, "; more may come");
    if (t->gone)
        buf_addf(&state, "; %llu bytes of it are no longer kept",
                 (unsigned long long)t->gone);
    if (t->bent)
        buf_addz(&state, "; bytes that are not UTF-8 shown as \xef\xbf\xbd");
    struct tool_result r = {
        .text = str_n(buf_z(&text), text.n), .state = buf_str(&state), .object = object};
    tool_end(c, &r);
    buf_release(&text);
    buf_release(&state);
}

static void read_output(struct tool_call *c, uint64_t id)
{
    struct reading_output *own = xnew(struct reading_output);
    c->own = own;
    struct output *o = output_read(c->en, id, on_output, c);
    if (o)
        own->reading = o; /* otherwise it has ended the call */
}

/* ---- the tool ---- */

/* Turns view_range and end_line of other tools into offset and limit. */
static void take_range(struct tool_call *c)
{
    struct err e = ERR_INIT;
    const struct json *range = json_get(c->args, "view_range");
    struct json *parsed = json_is_string(range)
                              ? json_parse(json_str_value(range, ""), &e)
                              : NULL;
    range = parsed ? parsed : range;
    int64_t from = json_int(c->args, "offset", 1);
    int64_t to = json_int(c->args, "end_line", 0);
    struct str text = json_str(c->args, "end_line", "");
    if (to == 0 && text.n > 0)
        str_to_i64(text, &to);
    if (json_is_array(range) && json_count(range) > 0) {
        from = json_int_value(json_first(range), 1);
        to = json_count(range) > 1 ? json_int_value(json_next(json_first(range)), 0) : 0;
        json_put_int(c->args, "offset", from);
    }
    if (to >= from && to > 0 && from > 0)
        json_put_int(c->args, "limit", to - from + 1);
    json_free(parsed);
}

static void start(struct tool_call *c)
{
    uint64_t id;
    take_range(c);
    if (output_named(json_str(c->args, "path", ""), &id))
        read_output(c, id);
    else
        tool_skill(c, "view", tool_copy(c, "path offset limit"));
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    struct reading_output *own = c->own;
    if (own)
        output_stop(own->reading);
    free(own);
    c->own = NULL;
    tool_skill_stop(c, why);
}

static const struct param_list takes = {
    .about =
        "Read a file: lines as number, tab, text. Pictures come as images; PDF, "
        "Office, OpenDocument, EPUB, RTF and notebooks as text; a directory as a list. "
        "path \"@17\" reads the kept output of command 17. Relative paths start in the "
        "directory of session main.",
    .params = (const struct param[]){
        {.name = "path",
         .type = PARAM_STRING,
         .required = true,
         .about = "File, directory or @command."},
        {.name = "offset",
         .type = PARAM_INT,
         .about = "First line, from 1; negative counts from the end."},
        {.name = "limit",
         .type = PARAM_INT,
         .about = "Number of lines; default as many as fit in an answer."},
        {0}}};

const struct tool tool_read = {.name = "read",
                               .title = "Read",
                               .takes = &takes,
                               .also = TOOL_PATH_ALSO
                               " start_line=offset end_line=end_line "
                               "view_range=view_range",
                               .read_only = true,
                               .idempotent = true,
                               .always_load = true,
                               .start = start,
                               .stop = stop};
