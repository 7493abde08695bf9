/* SPDX-License-Identifier: MIT */
/* browse: actions in the browser of the session's name, and the page behind them. */
#include "base/called.h"
#include "browser/browsing.h"
#include "skill/own.h"

enum { PAGE_BYTES = 100000, TIME_MS = SKILL_TIME_MS - 5000 };

static void put_page(struct skill_run *r, const struct json *seen)
{
    struct str error = json_str(seen, "error", ""), tree = json_str(seen, "tree", "");
    if (error.n)
        buf_addf(&r->text, "ERROR: %.*s\n", STR_ARG(error));
    for (const struct json *n = json_first(json_get(seen, "notes")); n; n = json_next(n))
        buf_addf(&r->text, "[Note: %.*s]\n", STR_ARG(json_str_value(n, "")));
    buf_adds(&r->text, json_str(seen, "said", ""));
    buf_addf(&r->text, "[Current URL: %.*s]\n%.*s\n", STR_ARG(json_str(seen, "url", "")),
             STR_ARG(tree));
    r->failed = error.n > 0;
}

static void on_seen(void *owner, const struct json *seen, const struct err *e)
{
    struct skill_run *r = owner;
    r->browse = NULL;
    if (seen)
        put_page(r, seen);
    else
        skill_fail(r, "%s", e->text);
    skill_tell_now(r);
}

int browse_page(struct skill_run *r, struct err *e)
{
    struct browsing_opts o = {.cwd = str_of(r->q.cwd)};
    struct json *what = json_object(), *look = json_object();
    struct browsing_ask q = {
        .id = r->q.token ? r->q.token : "", .what = what, .timeout_ms = TIME_MS};
    json_put_str(what, "actions", skill_str(r, "actions"));
    json_put_bool(look, "tree", true);
    json_put_bool(look, "compact", true);
    json_put_bool(look, "documents", true);
    json_put_int(look, "page_size", PAGE_BYTES);
    json_put_int(look, "page", skill_int(r, "page"));
    json_put(what, "look", look);
    if (!r->q.engine)
        skill_fail(r, "browse needs a server, which keeps the browser: %s",
                   called("serve").z);
    else {
        struct browsing *b = browsing_open(r->q.engine, str_of(r->q.session), &o, e);
        r->browse = b ? browsing_ask(b, &q, on_seen, r, e) : NULL;
        if (!r->browse)
            skill_fail(r, "%s", e->text);
    }
    json_free(what);
    return 0;
}
