/* SPDX-License-Identifier: MIT */
/* The description of a page in an answer of the host. */
#include "browser/host/host_own.h"

#include "base/enc.h"
#include "base/log.h"
#include "browser/host/js/page_html.js.h"
#include "browser/driver/page.h"
#include "file/files.h"
#include "webpage/webpage.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SHOT_MAX = 32 << 20, TEXT_MAX = 16 << 20 };

/* `[text][3]` as `[text](address)`, `[4: button 'Send']` as `[button 'Send']`. */
static void put_plain(struct buf *out, struct str text, const struct json *items)
{
    const struct json *at = json_first(items);
    for (size_t i = 0; i < text.n; i++) {
        size_t n = i + 1;
        while (text.p[i] == '[' && n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
            n++;
        struct str bid = str_sub(text, i + 1, n - i - 1);
        bool link = bid.n && n < text.n && text.p[n] == ']' && i && text.p[i - 1] == ']';
        bool field = bid.n && n + 1 < text.n && text.p[n] == ':' && text.p[n + 1] == ' ';
        const struct json *begin = at, *it = at;
        while ((link || field) && it && !str_eq(json_str(it, "bid", ""), bid)) {
            it = json_next(it) ? json_next(it) : json_first(items);
            if (it == begin)
                it = NULL;
        }
        if (link && it) {
            buf_addf(out, "(%.*s)", STR_ARG(json_str(it, "url", "")));
            i = n;
        } else if (field && it) {
            buf_addc(out, '[');
            i = n + 1;
        } else {
            buf_addc(out, text.p[i]);
        }
        at = it ? it : at;
    }
}

/* As Markdown. */
static int see_markdown(struct host *h, struct json *out, struct err *e)
{
    struct json *j = browser_run_script(h->b, page_html_js, "", e);
    struct json *url = browser_run(h->b, "document.baseURI", e);
    struct str html = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    struct webpage page;
    struct buf text = BUF_INIT(TEXT_MAX);
    webpage_init(&page);
    int rc = j && url ? 0 : -1;
    if (rc == 0)
        rc = webpage_html(
            &page, html,
            json_str(json_get(json_get(url, "result"), "result"), "value", ""), e);
    if (rc == 0) {
        put_plain(&text, buf_str(&page.text), page.items);
        json_put_str(out, "text", buf_str(&text));
    }
    webpage_release(&page);
    buf_release(&text);
    json_free(j);
    json_free(url);
    return rc;
}

/* screenshot_20240131_235959_000001.png, as OpenHands' browser names it. */
static void save_shot(struct host *h, struct str folder, struct str shot,
                      struct json *out)
{
    struct timespec now;
    struct tm tm;
    char name[64];
    struct buf path = BUF_INIT(PATH_MAX);
    struct files_put put = {.mode = 0644, .parents = true};
    struct err e = ERR_INIT;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(name, sizeof(name), "%Y%m%d_%H%M%S", &tm);
    buf_addf(&path, "%.*s/screenshot_%s_%06ld.png", STR_ARG(folder), name,
             now.tv_nsec / 1000);
    if (files_replace(buf_z(&path), shot, &put, &e) == 0)
        json_put_str(out, "saved", buf_str(&path));
    else
        buf_addf(&h->news, "%sthe picture was not saved: %s", h->news.n ? "; " : "",
                 e.text);
    buf_release(&path);
}

static void put_shot(struct host *h, struct str folder, struct str shot, struct json *out)
{
    struct buf text = BUF_INIT(SHOT_MAX / 3 * 4 + 16);
    if (shot.n > SHOT_MAX || enc_base64(&text, shot) < 0)
        buf_addz(&h->news, "the picture is too large");
    else
        json_put_str(out, "shot", buf_str(&text));
    if (folder.n && shot.n)
        save_shot(h, folder, shot, out);
    buf_release(&text);
}

static void put_json(struct json *out, const char *name, const struct buf *text)
{
    struct err e = ERR_INIT;
    struct json *j = text->n ? json_parse(buf_str(text), &e) : NULL;
    if (j)
        json_put(out, name, j);
}

static void put_har(struct host *h, struct json *out)
{
    struct buf har = BUF_INIT(BROWSER_HAR_MAX);
    if (browser_har_end(h->b, &har) == 0)
        put_json(out, "har", &har);
    else
        buf_addz(&h->news, "the archive is too long");
    buf_release(&har);
}

/*
 * Adds a picture with the marks of the last look, next to the one without. Drawing them
 * in a page of their own costs more than all the rest, so it is left out if there are
 * none.
 */
static void put_marked(struct host *h, struct str shot, struct json *out)
{
    if (str_eq(buf_str(&h->b->marks), STR("[]"))) {
        json_put_str(out, "marked", json_str(out, "shot", ""));
        return;
    }
    struct buf marked = BUF_INIT(SHOT_MAX), text = BUF_INIT(SHOT_MAX / 3 * 4 + 16);
    struct err e = ERR_INIT;
    if (shot.n && buf_adds(&marked, shot) == 0 &&
        browser_draw_marks(h->b, "png", &marked, &e) == 0 &&
        enc_base64(&text, buf_str(&marked)) == 0)
        json_put_str(out, "marked", buf_str(&text));
    buf_release(&marked);
    buf_release(&text);
}

void host_put_notes(struct host *h, struct json *out, struct json *take)
{
    ASSERT(take && take != out);
    if (h->news.n)
        json_push_str(take, buf_str(&h->news));
    buf_reset(&h->news);
    json_put(out, "notes", take);
}

static size_t page_size(const struct json *want)
{
    int64_t n = json_int(want, "page_size", 0);
    return n > 0 ? (size_t)n : 0;
}

int host_see_browser(struct host *h, const struct json *q, struct json *out,
                     struct err *e)
{
    const struct json *want = json_get(q, "look");
    bool html = json_bool(want, "html", false), both = json_bool(want, "both", false);
    struct browser_want asked = {.tree = json_bool(want, "tree", false),
                                 .shot = json_bool(want, "shot", false),
                                 .text = json_bool(want, "text", false) && !html,
                                 .compact = json_bool(want, "compact", false),
                                 .whole = json_bool(want, "whole", false),
                                 .marks = json_bool(want, "marks", false) && !both,
                                 .properties = json_bool(want, "raw", false) || both,
                                 .raw = json_bool(want, "raw", false),
                                 .format = json_str(want, "format", "png").p,
                                 .page_size = page_size(want),
                                 .page = (int)json_int(want, "page", 1)};
    struct browser_seen seen;
    int rc = browser_see(h->b, &asked, &seen, e);
    if (rc == 0) {
        h->told = asked.tree;
        json_put_z(out, "mode", "chromium");
        json_put_str(out, "url", buf_str(&seen.url));
        json_put_str(out, "title", buf_str(&seen.title));
        json_put_int(out, "status", seen.status);
        json_put_str(out, "error", buf_str(&seen.error));
        json_put_str(out, "focused", buf_str(&seen.focused));
        json_put_str(out, "said", buf_str(&seen.said));
        json_put_int(out, "active", seen.active);
        json_put(out, "tabs", seen.tabs);
        if (asked.tree)
            json_put_str(out, "tree", buf_str(&seen.tree));
        if (asked.text) {
            json_put_str(out, "text", buf_str(&seen.text));
            json_put_str(out, "links", buf_str(&seen.links));
        }
        if (html)
            rc = see_markdown(h, out, e);
        if (asked.shot)
            put_shot(h, json_str(q, "shots", ""), buf_str(&seen.shot), out);
        if (asked.shot && both)
            put_marked(h, buf_str(&seen.shot), out);
        if (asked.raw) {
            put_json(out, "axtree", &seen.raw);
            put_json(out, "extras", &seen.properties);
        }
        if (asked.marks)
            put_json(out, "marks", &seen.marks);
        if (h->b->har)
            put_har(h, out);
        json_put_int(out, "pages", seen.pages);
        host_put_notes(h, out, seen.notes);
        if (json_bool(want, "console", false))
            json_put(out, "console", seen.console);
        else
            json_free(seen.console);
        seen.tabs = seen.notes = seen.console = NULL;
    }
    browser_seen_release(&seen);
    return rc;
}

void host_see_reader(struct host *h, const struct json *q, struct json *out)
{
    const struct json *want = json_get(q, "look");
    struct buf text = BUF_INIT(TEXT_MAX + (1 << 20));
    int pages = 1, page = (int)json_int(want, "page", 1);
    const char *url = webtext_url(h->reader.web);
    json_put_z(out, "mode", "text");
    json_put_z(out, "url", url && *url ? url : "about:blank");
    json_put_z(out, "title", webtext_title(h->reader.web));
    json_put_int(out, "status", webtext_status(h->reader.web));
    json_put_z(out, "error", h->reader.why.code ? h->reader.why.text : "");
    json_put_z(out, "focused", "");
    json_put_str(out, "said", buf_str(&h->reader.said));
    json_put_int(out, "active", webtext_tab_active(h->reader.web));
    json_put(out, "tabs", webreader_tabs(&h->reader));
    if (json_bool(want, "tree", false)) {
        webreader_outline(&h->reader, &text);
        pages = browser_page_cut(&text, page_size(want), page);
        json_put_str(out, "tree", buf_str(&text));
    }
    if (json_bool(want, "text", false)) {
        buf_reset(&text);
        webtext_observe(h->reader.web, &text);
        pages = browser_page_cut(&text, page_size(want), page);
        json_put_str(out, "text", buf_str(&text));
        buf_reset(&text);
        webtext_links(h->reader.web, &text);
        json_put_str(out, "links", buf_str(&text));
    }
    json_put_int(out, "pages", pages);
    /* V0 has PNG only. */
    struct str picture = webtext_picture(h->reader.web),
               folder = json_str(q, "shots", "");
    if (json_bool(want, "shot", false) && picture.n &&
        (!folder.n || str_starts(picture, STR("\x89PNG"))))
        put_shot(h, folder, picture, out);
    host_put_notes(h, out, webtext_notes(h->reader.web));
    buf_release(&text);
}
