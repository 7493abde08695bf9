/* SPDX-License-Identifier: MIT */
/*
 * `search`: the skill of that name, also in kept output, "@17". A long search reports how
 * many files were searched.
 */
#include "action/skill.h"
#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "front/mcp/tools/skills.h"
#include "skill/find.h"

#include <stdlib.h>

enum { SLOW_MS = 2000 }; /* time before progress is reported */

/* c->own: at most one of reading and run is set. */
struct searching {
    struct tool_call *c;       /* the owner of this */
    struct output *reading;    /* kept output */
    struct find_text_run *run; /* the search in it */
    struct timer slow;
};

static void searching_free(struct tool_call *c)
{
    struct searching *own = c->own;
    timer_stop(&own->slow);
    free(own);
    c->own = NULL;
}

static void on_slow(struct timer *t)
{
    tool_progress(container_of(t, struct searching, slow)->c);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    uint64_t n = action_skill_files(c->actions, c->action);
    if (n)
        buf_addf(line, "%llu file%s searched", (unsigned long long)n, n == 1 ? "" : "s");
}

/* ---- kept output ---- */

static void on_found(void *arg, const struct skill_result *result)
{
    struct tool_call *c = arg;
    searching_free(c);
    tool_skill_end(c, result);
}

static void on_output(void *arg, const struct output_text *t, const struct err *e)
{
    struct tool_call *c = arg;
    struct searching *own = c->own;
    struct err why = ERR_INIT;
    own->reading = NULL;
    struct find_text q = {.name = json_str(c->args, "path", "").p,
                          .pattern = json_str(c->args, "pattern", ""),
                          .ignore_case = json_bool(c->args, "ignore_case", false),
                          .literal = json_bool(c->args, "literal", false),
                          .context = json_int(c->args, "context", 0),
                          .limit = json_int(c->args, "limit", 100),
                          .bytes = tool_room(c)};
    if (t) {
        q.head = t->head;
        q.tail = t->tail;
        q.tail_line = t->tail_line;
        q.lines = t->lines;
        own->run = find_text_start(c->en->loop, &q, on_found, c, &why);
        e = &why;
    }
    if (own->run)
        return;
    searching_free(c);
    tool_fail(c, e);
}

static void search_output(struct tool_call *c, uint64_t id)
{
    struct searching *own = c->own;
    struct output *o = output_read(c->en, id, on_output, c);
    if (o)
        own->reading = o; /* otherwise it was called, and own may be freed */
}

/* ---- the tool ---- */

static void on_files(struct tool_call *c, const struct json *event, const struct err *e)
{
    searching_free(c);
    tool_skill_observed(c, event, e);
}

static void start(struct tool_call *c)
{
    struct searching *own;
    uint64_t id;
    bool kept = output_named(json_str(c->args, "path", ""), &id);
    if (kept && !json_has(c->args, "pattern")) {
        struct tool_result r = {
            .text = STR("pattern is missing; to see kept output use read"),
            .failed = true};
        tool_end(c, &r);
        return;
    }
    own = xnew(struct searching);
    *own = (struct searching){.c = c};
    c->own = own;
    timer_begin(c->en->loop, &own->slow, SLOW_MS, on_slow);
    if (kept)
        search_output(c, id);
    else
        tool_skill_as(
            c, "search",
            tool_copy(c, "pattern path glob context ignore_case literal all limit"),
            on_files);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    struct searching *own = c->own;
    if (own->run)
        find_text_cancel(own->run);
    output_stop(own->reading);
    searching_free(c);
    tool_skill_stop(c, why);
}

static const struct param_list takes = {
    .about =
        "Search file contents with a regular expression, like ripgrep (skips hidden, "
        "binary and .gitignored files); without pattern, list files by name. Shows "
        "matching lines under each file; when there are too many, counts per file. "
        "Works on \"@17\", the output of command 17, too.",
    .params = (const struct param[]){
        {.name = "pattern", .type = PARAM_STRING, .about = "Regular expression (Perl)."},
        {.name = "path",
         .type = PARAM_STRING,
         .about = "Directory, file or @command; default \".\"."},
        {.name = "glob",
         .type = PARAM_STRING,
         .about = "Only these files, for example *.py or src/**/*.{c,h}"},
        {.name = "context",
         .type = PARAM_INT,
         .ranged = true,
         .min = 0,
         .max = 20,
         .about = "Lines around each match, default 0."},
        {.name = "ignore_case", .type = PARAM_BOOL, .about = "Default false."},
        {.name = "literal",
         .type = PARAM_BOOL,
         .about = "pattern is plain text. Default false."},
        {.name = "all",
         .type = PARAM_BOOL,
         .about = "Hidden and ignored files too. Default false."},
        {.name = "limit",
         .type = PARAM_INT,
         .ranged = true,
         .min = 1,
         .max = 1000,
         .about = "Matches or files shown, default 100."},
        {0}}};

const struct tool tool_search = {
    .name = "search",
    .title = "Search files",
    .takes = &takes,
    .also = TOOL_PATH_ALSO " directory=path dir_path=path query=pattern regex=pattern "
                           "include=glob include_pattern=glob file_pattern=glob "
                           "case_insensitive=ignore_case",
    .read_only = true,
    .idempotent = true,
    .always_load = true,
    .output = "{\"matches\":{\"type\":\"integer\"},\"files\":{\"type\":\"integer\"},"
              "\"shown\":{\"type\":\"integer\"},\"searched\":{\"type\":\"integer\"},"
              "\"literal\":{\"type\":\"boolean\"},\"elsewhere\":{\"type\":\"object\","
              "\"properties\":{\"ignored\":{\"type\":\"integer\"},"
              "\"case\":{\"type\":\"integer\"}}}}",
    .start = start,
    .stop = stop,
    .progress = progress};
