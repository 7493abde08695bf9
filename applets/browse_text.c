/* SPDX-License-Identifier: MIT */
/* `od browse` without a Chromium: one visit, read as Markdown. */
#include "base/json.h"
#include "browse.h"
#include "browser/driver/page.h"
#include "webpage/webreader.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 64 << 20 };

/* Prints the page in the form of a browser's observation. */
static void see(const struct browse_options *o, struct webreader *r,
                struct browser_seen *seen)
{
    *seen = (struct browser_seen){.status = webtext_status(r->web),
                                  .tabs = webreader_tabs(r),
                                  .active = webtext_tab_active(r->web),
                                  .notes = webtext_notes(r->web),
                                  .console = json_array()};
    struct buf *all[] = {&seen->url,  &seen->title, &seen->error,
                         &seen->tree, &seen->text,  &seen->links,
                         &seen->shot, &seen->said,  &seen->focused};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        buf_init(all[i], PAGE_MAX);
    buf_addz(&seen->url, webtext_url(r->web));
    buf_addz(&seen->title, webtext_title(r->web));
    buf_addz(&seen->error, r->why.code ? r->why.text : "");
    buf_adds(&seen->said, buf_str(&r->said));
    buf_adds(&seen->shot, webtext_picture(r->web));
    webtext_links(r->web, &seen->links);
    if (o->tree)
        webreader_outline(r, &seen->tree);
    else
        webtext_observe(r->web, &seen->text);
    seen->pages = browser_page_cut(o->tree ? &seen->tree : &seen->text, o->page_size,
                                   o->page);
}

int browse_by_text(const struct browse_options *o, const char *missing)
{
    struct webreader r;
    struct webtext_spec spec = {.downloads = o->downloads};
    struct browser_seen seen;
    struct err e = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    if (webreader_open(&r, &spec, NULL, &e) < 0)
        return browse_fail(e.text);
    char path[PATH_MAX];
    const char *address = realpath(o->url, path) ? path : o->url;
    int rc = webreader_goto(&r, str_of(address));
    if (rc == 0 && o->actions.n)
        rc = webreader_act(&r, buf_str(&o->actions));
    see(o, &r, &seen);
    int status = rc == 0 && o->shot && !seen.shot.n ? browse_fail(missing)
                                                    : browse_show(o, &seen);
    if (status == 0 && o->har)
        status = browse_write_har(o, STR(""));
    browser_seen_release(&seen);
    webreader_close(&r);
    return fflush(stdout) != 0 ? BROWSE_OURS : status;
}
