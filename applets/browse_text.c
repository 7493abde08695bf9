/* SPDX-License-Identifier: MIT */
/* `od browse` where no Chromium is: one visit, read as Markdown. */
#include "base/json.h"
#include "browse.h"
#include "engine/browser_page.h"
#include "engine/webreader.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 64 << 20 };

static void print(const struct browse_options *o, const struct webtext *web,
                  const struct err *failed)
{
    struct buf page = BUF_INIT(PAGE_MAX), links = BUF_INIT(PAGE_MAX);
    webtext_observe(web, &page);
    int pages = browser_page_cut(&page, o->page_size, o->page);
    if (o->links || o->json)
        webtext_links(web, &links);
    if (o->json) {
        struct json *j = json_object();
        struct buf line = BUF_INIT(2 * PAGE_MAX);
        json_put_z(j, "url", webtext_url(web));
        json_put_z(j, "title", webtext_title(web));
        json_put_int(j, "status", webtext_status(web));
        json_put_str(j, "error", failed->code ? str_of(failed->text) : STR(""));
        json_put_str(j, "text", buf_str(&page));
        json_put_int(j, "pages", pages);
        json_put_str(j, "links", buf_str(&links));
        if (json_print(&line, j) == 0)
            printf("%s\n", buf_z(&line));
        buf_release(&line);
        json_free(j);
    } else {
        const struct buf *b = o->links ? &links : &page;
        if (failed->code)
            fprintf(stderr, "od browse: %s\n", failed->text);
        fwrite(b->p, 1, b->n, stdout);
        if (b->n && b->p[b->n - 1] != '\n')
            putchar('\n');
    }
    buf_release(&page);
    buf_release(&links);
}

int browse_by_text(const struct browse_options *o)
{
    struct webreader r;
    struct webtext_spec spec = {0};
    struct err e = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    if (webreader_open(&r, &spec, NULL, &e) < 0) {
        fprintf(stderr, "od browse: %s\n", e.text);
        return BROWSE_OURS;
    }
    char path[PATH_MAX];
    const char *address = realpath(o->url, path) ? path : o->url;
    int rc = webreader_goto(&r, str_of(address));
    if (rc == 0 && o->actions.n)
        rc = webreader_act(&r, buf_str(&o->actions));
    fwrite(r.said.p, 1, o->json ? 0 : r.said.n, stdout);
    print(o, r.web, &r.why);
    webreader_close(&r);
    return fflush(stdout) != 0 ? BROWSE_OURS : rc < 0 ? BROWSE_FAILED : 0;
}
