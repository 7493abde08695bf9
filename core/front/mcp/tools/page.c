/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/page.h"

#include "base/utf8.h"
#include "http/http.h"

enum { QUOTED_MAX = 80, URL_SHOWN = 300, NOTE_MAX = 400, STATE_MAX = 4096 };

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

/* On one line. */
static void put_plain(struct buf *out, struct str s, size_t max)
{
    size_t n = s.n > max ? utf8_cut(s, max) : s.n;
    for (size_t i = 0; i < n; i++)
        buf_addc(out, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
    if (n < s.n)
        buf_addz(out, "…");
}

void page_put_quoted(struct buf *state, struct str s)
{
    buf_addc(state, '"');
    put_plain(state, s, QUOTED_MAX);
    buf_addc(state, '"');
}

void page_put_plain(struct buf *state, struct str s) { put_plain(state, s, QUOTED_MAX); }

void page_put_status(struct buf *state, const struct json *extras)
{
    int status = (int)json_int(extras, "status", 0);
    if (status == 200)
        buf_addz(state, "200");
    else if (status)
        buf_addf(state, "%d %s", status, http_reason(status));
}

void page_put_console(struct buf *state, const struct json *extras)
{
    int64_t n = json_int(extras, "console_errors", 0);
    if (!n)
        return;
    buf_addf(state, "; console: %lld error%s ", (long long)n, n > 1 ? "s" : "");
    page_put_quoted(state, json_str(extras, "console", ""));
}

void page_put_refs(struct buf *state, int64_t n)
{
    buf_addf(state, "%lld element%s with refs", (long long)n, n == 1 ? "" : "s");
}

void page_put_url(struct buf *state, const struct json *extras)
{
    put_plain(state, json_str(extras, "url", ""), URL_SHOWN);
}

bool page_put_dialog(struct buf *state, const struct json *extras)
{
    const struct json *dialog = json_get(extras, "dialog");
    if (!dialog)
        return false;
    bool prompt = str_eq(json_str(dialog, "type", ""), STR("prompt"));
    buf_addz(state, "dialog ");
    page_put_quoted(state, json_str(dialog, "text", ""));
    buf_addf(state, " is open: %spress text=\"Enter\" or \"Esc\"",
             prompt ? "fill text=\"…\" without ref, then " : "");
    return true;
}

static struct json *object_of(const struct json *extras)
{
    static const char *const strings[] = {"url", "title", "picture", NULL};
    static const char *const numbers[] = {"status", "part",    "parts",   "refs",
                                          "added",  "removed", "changed", "shown",
                                          "places", NULL};
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
    const struct json *extras = json_get(event, "extras");
    struct buf state = BUF_INIT(STATE_MAX);
    if (!event) {
        tool_fail(c, e);
        return;
    }
    put_state(&state, c, extras);
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
