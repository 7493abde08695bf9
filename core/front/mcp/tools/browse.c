/* SPDX-License-Identifier: MIT */
/*
 * The tool browse: a page is opened, or looked at.
 *
 *     [200, 3 elements with refs; http://127.0.0.1:8000/]
 *     [part 7 of 12 around "Price", 3 more places; 404 Not Found; …]
 */
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
         .choices = "outline text image",
         .about =
             "Default outline. text: to read; image: a screenshot with refs marked."},
        {.name = "find", .type = PARAM_STRING, .about = "Only what is around this text."},
        {.name = "part",
         .type = PARAM_INT,
         .ranged = true,
         .min = 1,
         .about = "Part of a long page, default 1."},
        {0}}};

/* Where in the page this is; true: something was said. */
static void put_part(struct buf *state, const struct tool_call *c,
                     const struct json *extras)
{
    long long part = json_int(extras, "part", 1), parts = json_int(extras, "parts", 1);
    long long places = json_int(extras, "places", 0),
              shown = json_int(extras, "shown", 0);
    struct str find = json_str(c->args, "find", "");
    if (!find.n && part > parts) {
        buf_addf(state, "there is no part %lld, the last one is part=%lld; ", part,
                 parts);
    } else if (!find.n && parts > 1) {
        buf_addf(state, "part %lld of %lld; ", part, parts);
        if (part < parts)
            buf_addf(state, "more: part=%lld; ", part + 1);
    }
    if (!find.n)
        return;
    if (places && parts > 1)
        buf_addf(state, "part %lld of %lld around ", part, parts);
    else
        buf_addz(state, places ? "around " : "nothing here says ");
    page_put_quoted(state, find);
    if (places > shown)
        buf_addf(state, ", %lld more place%s", places - shown,
                 places - shown > 1 ? "s" : "");
    if (!places && json_str(extras, "near", "").n) {
        buf_addz(state, ", nearest: ");
        page_put_plain(state, json_str(extras, "near", ""));
    }
    buf_addz(state, "; ");
}

static void put_state(struct buf *state, const struct tool_call *c,
                      const struct json *extras)
{
    struct str picture = json_str(extras, "picture", "");
    if (page_put_dialog(state, extras))
        return;
    if (json_str(extras, "shot", "").n) {
        buf_addf(state, "picture %lldx%lld with refs marked",
                 (long long)json_int(extras, "width", 0),
                 (long long)json_int(extras, "height", 0));
        if (picture.n)
            buf_addf(state, ", also %.*s", STR_ARG(picture));
        buf_addz(state, "; ");
    } else if (json_bool(extras, "downloaded", false)) {
        buf_addz(state, "downloaded, and the page is the one before; ");
    } else {
        put_part(state, c, extras);
    }
    size_t before = state->n;
    page_put_status(state, extras);
    if (state->n > before)
        buf_addz(state, ", ");
    page_put_refs(state, json_int(extras, "refs", 0));
    page_put_console(state, extras);
    if (str_eq(json_str(extras, "mode", ""), STR("text")))
        buf_addz(state, "; text browser, no scripts");
    buf_addz(state, "; ");
    page_put_url(state, extras);
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
