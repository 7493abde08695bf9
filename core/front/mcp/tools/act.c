/* SPDX-License-Identifier: MIT */
/* The tool browser_act: one act on the current page, and what it changed. */
#include "front/mcp/tools/page.h"

enum { WAIT_S = 10, WAIT_S_MAX = 100 };

static const struct param_list takes = {
    .about = "Do one thing on the current page and show what changed. click, hover, fill "
             "(a field), select (an option), press (a key), scroll, upload (a file), "
             "back, forward, reload, wait (until text is there), new_tab (text: its "
             "address), switch_tab and close_tab (text: a number).",
    .params = (const struct param[]){
        {.name = "action",
         .type = PARAM_STRING,
         .required = true,
         .choices = "click hover fill select press scroll upload back forward reload "
                    "wait new_tab switch_tab close_tab",
         .about = "What to do."},
        {.name = "ref",
         .type = PARAM_STRING,
         .about = "Element, such as e12, of the last outline; or its visible text."},
        {.name = "text",
         .type = PARAM_STRING,
         .about = "Text to fill, option, key (Enter, C-a), up or down, file, text to "
                  "wait for, address or number of a tab."},
        {.name = "submit", .type = PARAM_BOOL, .about = "Press Enter after fill."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .min = 0,
         .max = WAIT_S_MAX,
         .about = "Seconds at most, default 10."},
        {0}}};

/* Whether the act may cause changes that are worth waiting for. */
static bool is_watched(struct str act)
{
    static const char *const acts[] = {"click", "hover", "fill", "select", "press"};
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
        if (str_eq(act, str_of(acts[i])))
            return true;
    }
    return false;
}

static void put_state(struct buf *state, const struct tool_call *c,
                      struct page_line *line)
{
    struct str act = json_str(c->args, "action", "");
    if (str_eq(act, STR("wait")))
        line->waited = json_str(c->args, "text", "");
    line->watched = is_watched(act);
    act_line(state, line);
}

static void on_done(struct tool_call *c, const struct json *event, const struct err *e)
{
    page_end(c, event, e, put_state);
}

static void start(struct tool_call *c)
{
    struct json *args = json_object();
    int64_t wait = json_int(c->args, "wait_s", WAIT_S);
    bool waits = str_eq(json_str(c->args, "action", ""), STR("wait"));
    json_put_str(args, "act", json_str(c->args, "action", ""));
    json_put_str(args, "ref", json_str(c->args, "ref", ""));
    if (json_has(c->args, "text"))
        json_put_str(args, "text", json_str(c->args, "text", ""));
    json_put_bool(args, "submit", json_bool(c->args, "submit", false));
    json_put_int(args, "wait", wait);
    json_put_int(
        args, "timeout",
        PAGE_TIME_S + (waits ? wait : 0) > 120 ? 120 : PAGE_TIME_S + (waits ? wait : 0));
    page_do(c, args, on_done);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    struct str act = json_str(c->args, "action", "");
    buf_adds(line, act);
}

const struct tool tool_browser_act = {
    .name = "browser_act",
    .title = "Act on the page",
    .takes = &takes,
    .also = "act=action type=action uid=ref bid=ref target=ref element_id=ref "
            "element=ref selector=ref value=text key=text input=text option=text "
            "timeout=wait_s timeout_ms=wait_s url=text tab=text tab_id=text "
            "index=text",
    .destructive = true,
    .open_world = true,
    .keeps = "text",
    .start = start,
    .stop = page_stop,
    .progress = progress};
