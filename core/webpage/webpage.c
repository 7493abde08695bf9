/* SPDX-License-Identifier: MIT */
/* A whole page: its head, its main part, and whether it needs scripts. */
#include "webpage/own.h"

#include "http/url_join.h"

enum {
    NEEDS_TEXT = 250, /* a page with scripts and less text needs a browser */
    REFRESH_S = 5,
};

bool webpage_is_hidden(const struct html_node *n)
{
    switch (n->tag) {
    case HTML_script:
    case HTML_style:
    case HTML_template:
    case HTML_noembed:
    case HTML_noframes:
    case HTML_head:
        return true;
    default:
        break;
    }
    if (!n->attrs)
        return false;
    struct str style = html_get(n, "style");
    return html_get(n, "hidden").p ||
           webpage_is_word(html_get(n, "aria-hidden"), "true") ||
           str_find(style, STR("display:none")) >= 0 ||
           str_find(style, STR("display: none")) >= 0 ||
           str_find(style, STR("visibility:hidden")) >= 0;
}

static const struct html_node *find(const struct html_node *top, enum html_tag tag)
{
    for (const struct html_node *n = top; n; n = html_after(n, top)) {
        if (n->tag == tag && !n->foreign)
            return n;
    }
    return NULL;
}

/* Counts the bytes of text that is shown, with or without the content of noscript. */
static size_t weigh(const struct html_node *top, bool fallbacks)
{
    size_t sum = 0;
    for (const struct html_node *n = top; n;) {
        if (n->tag == HTML_TEXT && webpage_has_text(n->name))
            sum += n->name.n;
        bool passed = webpage_is_hidden(n) || (!fallbacks && n->tag == HTML_noscript);
        n = passed ? html_past(n, top) : html_after(n, top);
    }
    return sum;
}

/* Returns the main part if it holds most of the text; else NULL. */
static const struct html_node *main_part(const struct html_node *body)
{
    const struct html_node *n = find(body, HTML_main);
    if (!n)
        n = find(body, HTML_article);
    return n && weigh(n, true) * 2 > weigh(body, true) ? n : NULL;
}

static void read_refresh(struct webpage *p, const struct reading *r, struct str s)
{
    uint64_t delay = 0;
    size_t n = 0;
    s = str_trim(s);
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    if (str_to_u64(str_sub(s, 0, n), &delay) < 0 || delay > REFRESH_S)
        return;
    long at = str_chr(s, '=');
    if (at < 0)
        return;
    s = str_trim(str_sub(s, (size_t)at + 1, s.n));
    if (s.n > 1 && (*s.p == '\'' || *s.p == '"')) {
        char quote = *s.p;
        s = str_sub(s, 1, s.n);
        s = str_cut(&s, quote);
    }
    buf_reset(&p->refresh);
    url_join(&p->refresh, r->base, s);
}

/* Reads title, base and refresh from the head, and counts scripts. */
static int read_head(struct reading *r, struct str url)
{
    int scripts = 0;
    r->base = url;
    for (const struct html_node *n = r->html; n; n = html_after(n, r->html)) {
        if (n->tag == HTML_script)
            scripts++;
        if (n->foreign)
            continue;
        if (n->tag == HTML_title && !r->page->title.n)
            webpage_text_of(n, &r->page->title, WEBPAGE_NAME_MAX);
        if (n->tag == HTML_base && html_get(n, "href").p && !r->base_of.n &&
            url_join(&r->base_of, url, html_get(n, "href")) == 0)
            r->base = buf_str(&r->base_of);
        if (n->tag == HTML_meta && webpage_is_word(html_get(n, "http-equiv"), "refresh"))
            read_refresh(r->page, r, html_get(n, "content"));
    }
    return scripts;
}

static int write_page(struct reading *r, struct err *e)
{
    const struct html_node *body = find(r->html, HTML_body);
    body = body ? body : r->html;
    if (webpage_write(r, main_part(body), body) == 0)
        return 0;
    return err_set(e, ERR_LIMIT, "cannot show the page: its text is longer than %d MiB",
                   WEBPAGE_TEXT_MAX >> 20);
}

/* Whether a page has little text, not counting that of noscript. */
static bool says_little(const struct reading *r)
{
    size_t own = weigh(r->html, false), fallbacks = weigh(r->html, true) - own;
    return own < NEEDS_TEXT && r->page->text.n < NEEDS_TEXT + fallbacks &&
           json_count(r->page->items) < 3;
}

void webpage_init(struct webpage *p)
{
    *p = (struct webpage){.items = json_array(), .forms = json_array()};
    buf_init(&p->text, WEBPAGE_TEXT_MAX);
    buf_init(&p->title, WEBPAGE_NAME_MAX + 8);
    buf_init(&p->refresh, URL_JOIN_MAX);
    buf_init(&p->picture, WEBPAGE_PICTURE_MAX);
}

void webpage_release(struct webpage *p)
{
    json_free(p->items);
    json_free(p->forms);
    p->items = p->forms = NULL;
    buf_release(&p->text);
    buf_release(&p->title);
    buf_release(&p->refresh);
    buf_release(&p->picture);
}

/* html NULL: *e has the reason. */
static int read_tree(struct webpage *p, struct html_node *html, bool given,
                     struct str url, struct err *e)
{
    struct reading r = {.page = p, .html = html, .given = given};
    int rc = -1;
    map_init(&r.labels);
    map_init(&r.forms);
    buf_init(&r.base_of, URL_JOIN_MAX);
    if (html) {
        int scripts = read_head(&r, url);
        webpage_number(&r);
        rc = write_page(&r, e);
        p->needs_browser = scripts && says_little(&r);
    }
    map_release(&r.labels);
    map_release(&r.forms);
    buf_release(&r.base_of);
    return rc;
}

int webpage_html(struct webpage *p, struct str html, struct str url, struct err *e)
{
    struct arena a;
    arena_init(&a, WEBPAGE_MEMORY);
    int rc = read_tree(p, html_parse(&a, html, e), false, url, e);
    arena_release(&a);
    return rc;
}

int webpage_tree(struct webpage *p, struct html_node *html, struct str url, struct err *e)
{
    return read_tree(p, html, true, url, e);
}
