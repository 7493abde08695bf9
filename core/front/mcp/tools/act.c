/* SPDX-License-Identifier: MIT */
/*
 * The tool browser_act: one act on the current page, and what is different then.
 *
 *     [page changed: http://127.0.0.1:8000/search?q=lamp, 200; 21 elements with refs, 8
 *      shown; all: browse]
 *     [nothing changed in 2 s; e5 is disabled]
 */
#include "front/mcp/tools/page.h"

enum { WAIT_S = 10, WAIT_S_MAX = 100 };

static const struct param_list takes = {
    .about = "Do one thing on the current page and show what changed. click, hover, fill "
             "(a field), select (an option), press (a key), scroll, upload (a file), "
             "back, forward, reload, wait (until text is there).",
    .params = (const struct param[]){
        {.name = "action",
         .type = PARAM_STRING,
         .required = true,
         .choices = "click hover fill select press scroll upload back forward reload "
                    "wait",
         .about = "What to do."},
        {.name = "ref",
         .type = PARAM_STRING,
         .about = "Element, such as e12, of the last outline; or its visible text."},
        {.name = "text",
         .type = PARAM_STRING,
         .about = "Text to fill, option, key (Enter, C-a), up or down, file, or text "
                  "to wait for."},
        {.name = "submit", .type = PARAM_BOOL, .about = "Press Enter after fill."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .min = 0,
         .max = WAIT_S_MAX,
         .about = "Seconds at most, default 10."},
        {0}}};

static void put_moved(struct buf *state, const struct json *extras)
{
    int64_t refs = json_int(extras, "refs", 0), shown = json_int(extras, "shown", 0);
    buf_addz(state, "page changed: ");
    page_put_url(state, extras);
    if (json_int(extras, "status", 0))
        buf_addz(state, ", ");
    page_put_status(state, extras);
    buf_addz(state, "; ");
    page_put_refs(state, refs);
    if (shown < refs)
        buf_addf(state, ", %lld shown; all: browse", (long long)shown);
}

/* "2 changed, 1 new, 1 gone". */
static void put_counts(struct buf *state, const struct json *extras, long long all)
{
    static const char *const names[][2] = {
        {"changed", "changed"}, {"added", "new"}, {"removed", "gone"}};
    const char *comma = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        int64_t n = json_int(extras, names[i][0], 0);
        if (n)
            buf_addf(state, "%s%lld %s", comma, (long long)n, names[i][1]);
        comma = n ? ", " : comma;
    }
    long long shown = json_int(extras, "shown", 0);
    if (shown < all)
        buf_addf(state, ", %lld shown; all: browse", shown);
}

/* Something may come of it that is waited for. */
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
                      const struct json *extras)
{
    struct str act = json_str(c->args, "action", "");
    struct str scrolled = json_str(extras, "scrolled", "");
    struct str disabled = json_str(extras, "disabled", "");
    long long all = json_int(extras, "added", 0) + json_int(extras, "removed", 0) +
                    json_int(extras, "changed", 0);
    if (page_put_dialog(state, extras))
        return;
    if (json_bool(extras, "moved", false)) {
        put_moved(state, extras);
    } else {
        if (str_eq(act, STR("wait"))) {
            page_put_quoted(state, json_str(c->args, "text", ""));
            buf_addz(state, " is there; ");
        }
        if (scrolled.n)
            buf_addf(state, "scrolled to %.*s px; ", STR_ARG(scrolled));
        if (all)
            put_counts(state, extras, all);
        else
            buf_addf(state, "nothing changed%s",
                     !disabled.n && is_watched(act) ? " in 2 s" : "");
        if (disabled.n)
            buf_addf(state, "; %.*s is disabled", STR_ARG(disabled));
        if (json_bool(extras, "went", false)) {
            buf_addz(state, "; now at ");
            page_put_url(state, extras);
        }
    }
    page_put_console(state, extras);
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
            "timeout=wait_s timeout_ms=wait_s",
    .destructive = true,
    .open_world = true,
    .keeps = "text",
    .start = start,
    .stop = page_stop,
    .progress = progress};
