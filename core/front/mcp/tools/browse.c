/* SPDX-License-Identifier: MIT */
/* The tool browse: opens or shows a page. */
#include "front/mcp/tools/page.h"

static const struct param_list takes = {
    .about = "Open a web page in a browser that stays open, or, without url, look at its "
             "current page. The outline has a ref like e12 for each link, button and "
             "field, for browser_act. Long pages come in parts. Without Chromium a text "
             "browser that runs no scripts is used.",
    .params = (const struct param[]){
        {.name = "url",
         .type = PARAM_STRING,
         .about = "Address or file; omit for the current page."},
        {.name = "view",
         .type = PARAM_STRING,
         .choices = "outline text image tabs",
         .about = "Default outline. text: to read; image: a screenshot with refs marked; "
                  "tabs: the open tabs."},
        {.name = "find", .type = PARAM_STRING, .about = "Only what is around this text."},
        {.name = "part",
         .type = PARAM_INT,
         .ranged = true,
         .min = 1,
         .about = "Part of a long page, default 1."},
        {0}}};

static void put_state(struct buf *state, const struct tool_call *c,
                      struct page_line *line)
{
    (void)c;
    page_line(state, line);
}

static void on_page(struct tool_call *c, const struct json *event, const struct err *e)
{
    page_end(c, event, e, put_state);
}

static void start(struct tool_call *c)
{
    static const char *const names[] = {"url", "view", "find", NULL};
    struct json *args = json_object();
    size_t max = c->client.answer_max;
    for (size_t i = 0; names[i]; i++) {
        if (json_str(c->args, names[i], "").n)
            json_put_str(args, names[i], json_str(c->args, names[i], ""));
    }
    json_put_int(args, "part", json_int(c->args, "part", 1));
    json_put_int(args, "size",
                 (int64_t)(max > 2 * PAGE_STATE_ROOM ? max - PAGE_STATE_ROOM
                                                     : PAGE_STATE_ROOM));
    json_put_int(args, "timeout", PAGE_TIME_S);
    page_do(c, args, on_page);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    struct str url = json_str(c->args, "url", "");
    buf_addf(line, "loading %.*s", (int)(url.n > 80 ? 80 : url.n), url.p ? url.p : "");
}

const struct tool tool_browse = {
    .name = "browse",
    .title = "Open a page",
    .takes = &takes,
    .also = "query=find text=find pattern=find page=part uri=url address=url path=url",
    .open_world = true,
    .start = start,
    .stop = page_stop,
    .progress = progress};
