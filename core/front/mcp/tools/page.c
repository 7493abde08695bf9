/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/page.h"

#include "http/http.h"

enum { NOTE_MAX = 400 };

void page_do(struct tool_call *c, struct json *args, tool_observed *fn)
{
    struct json *message = json_object();
    json_put_z(message, "action", "page");
    json_put(message, "args", args);
    tool_act(c, 0, STR("main"), message, fn);
}

void page_stop(struct tool_call *c, enum tool_stop why)
{
    struct err e = ERR_INIT;
    if (why == TOOL_CANCELLED && c->action)
        actions_cancel(c->actions, c->action, &e);
}

/* Reads what happened, for a state line. *p borrows from extras and the arguments. */
static void read_line(struct page_line *p, const struct tool_call *c,
                      const struct json *extras)
{
    const struct json *dialog = json_get(extras, "dialog");
    struct str none = STR("");
    int status = (int)json_int(extras, "status", 0);
    *p = (struct page_line){.find = json_str(c->args, "find", ""),
                            .part = json_int(extras, "part", 1),
                            .parts = json_int(extras, "parts", 1),
                            .places = json_int(extras, "places", 0),
                            .shown = json_int(extras, "shown", 0),
                            .near = json_str(extras, "near", ""),
                            .shot = json_str(extras, "shot", "").n > 0,
                            .width = json_int(extras, "width", 0),
                            .height = json_int(extras, "height", 0),
                            .picture = json_str(extras, "picture", ""),
                            .downloaded = json_bool(extras, "downloaded", false),
                            .status = status,
                            .reason = http_reason(status),
                            .refs = json_int(extras, "refs", 0),
                            .console_errors = json_int(extras, "console_errors", 0),
                            .console = json_str(extras, "console", ""),
                            .text_browser = str_eq(json_str(extras, "mode", ""),
                                                   STR("text")),
                            .url = json_str(extras, "url", ""),
                            .dialog = dialog != NULL,
                            .prompt = str_eq(json_str(dialog, "type", ""), STR("prompt")),
                            .dialog_text = dialog ? json_str(dialog, "text", "") : none,
                            .scrolled = json_str(extras, "scrolled", ""),
                            .disabled = json_str(extras, "disabled", ""),
                            .added = json_int(extras, "added", 0),
                            .removed = json_int(extras, "removed", 0),
                            .changed = json_int(extras, "changed", 0),
                            .moved = json_bool(extras, "moved", false),
                            .went = json_bool(extras, "went", false),
                            .tab = json_int(extras, "tab", 0),
                            .tabs = json_int(extras, "tabs", 0),
                            .opened_from = json_int(extras, "opened_from", 0),
                            .tab_closed = json_bool(extras, "tab_closed", false)};
}

static struct json *object_of(const struct json *extras)
{
    static const char *const strings[] = {"url", "title", "picture", NULL};
    static const char *const numbers[] = {"status", "part",    "parts",   "refs",
                                          "added",  "removed", "changed", "shown",
                                          "places", "tab",     "tabs",    NULL};
    struct json *j = json_object();
    for (size_t i = 0; strings[i]; i++) {
        if (json_str(extras, strings[i], "").n)
            json_put_str(j, strings[i], json_str(extras, strings[i], ""));
    }
    for (size_t i = 0; numbers[i]; i++) {
        if (json_has(extras, numbers[i]))
            json_put_int(j, numbers[i], json_int(extras, numbers[i], 0));
    }
    json_put_str(j, "engine", json_str(extras, "mode", ""));
    if (json_has(extras, "console_errors"))
        json_put_int(j, "console_errors", json_int(extras, "console_errors", 0));
    return j;
}

void page_end(struct tool_call *c, const struct json *event, const struct err *e,
              page_state_fn *put_state)
{
    struct page_line line;
    const struct json *extras = json_get(event, "extras");
    struct buf state = BUF_INIT(STATE_MAX);
    if (!event) {
        tool_fail(c, e);
        return;
    }
    read_line(&line, c, extras);
    put_state(&state, c, &line);
    struct tool_result r = {.text = json_str(event, "content", ""),
                            .object = object_of(extras)};
    struct str shot = json_str(extras, "shot", "");
    for (const struct json *n = json_first(json_get(extras, "notes")); n;
         n = json_next(n)) {
        buf_addc(&c->notes, '(');
        put_plain(&c->notes, json_str_value(n, ""), NOTE_MAX);
        buf_addz(&c->notes, ")\n");
    }
    if (shot.n)
        r.pictures[r.npictures++] = (struct tool_picture){
            .base64 = shot, .type = json_str(extras, "shot_type", "image/png").p};
    r.state = buf_str(&state);
    tool_end(c, &r);
    buf_release(&state);
}
