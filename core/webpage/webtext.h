/* SPDX-License-Identifier: MIT */
/*
 * A reader of the web without a browser: pages are fetched by HTTP/1.1 (RFC 9112), turned
 * into Markdown in a helper with limits, and acted on by the numbers of their links and
 * fields. It has tabs, each with a history, and one cookie jar.
 *
 *   idle ──goto, click, …──► fetching ──► reading ──► idle, and on_done
 *                               ▲            │ a page that follows at once
 *                               └────────────┘ (redirects are followed in fetching)
 *
 * An action that fails leaves the page as it was. TLS is verified, proxies come from the
 * environment; http_proxy is used by CONNECT too. Scripts are not run. Limits: WEBTEXT_MS
 * for a whole action, WEBTEXT_HOPS redirects, WEBBODY_MAX bytes of an answer,
 * WEBBODY_PLAIN_MAX when unpacked; memory and time of the helper.
 */
#ifndef OD_WEBPAGE_WEBTEXT_H
#define OD_WEBPAGE_WEBTEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    WEBTEXT_MS = 30000,       /* of one action */
    WEBTEXT_HOPS = 20,        /* redirects and refreshes of one action */
    WEBTEXT_HISTORY_MAX = 50, /* pages of a tab; the oldest are dropped */
    WEBTEXT_TABS_MAX = 20
};

struct webtext;
struct json;

struct webtext_spec {
    struct loop *loop;
    const char *agent; /* User-Agent; NULL: od's own */
    const char *ca;    /* authorities to trust; NULL: as net/trust.h finds them */
    /*
     * Addresses that are refused, whatever the host's name, in the form of net/denied.h;
     * NULL: none. A proxy of the environment gets a checked address (dial_spec.allow).
     */
    const char *deny;
    bool no_files; /* file: URLs are refused */
    /*
     * A folder, made when needed, for answers that are attachments or cannot be shown as
     * text; borrowed. NULL: they become pages with their facts.
     */
    const char *downloads;
    /* The user of the helper, whose files are shown, as in struct job_spec; borrowed. */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    int ms; /* of one action; 0: WEBTEXT_MS */
    /* Called once for each action, never within the call; e NULL: it worked. */
    void (*on_done)(struct webtext *w, const struct err *e);
    void *owner;
};

/*
 * Returns NULL and sets *e: INVALID: deny is not valid; or the authorities cannot be
 * read.
 */
struct webtext *webtext_new(const struct webtext_spec *spec, struct err *e);
void webtext_free(struct webtext *w); /* NULL is fine; no callback follows */
void *webtext_owner(const struct webtext *w);

/*
 * Actions. Each returns 0, and on_done follows; or -1 and sets *e, and nothing was begun:
 * BUSY: another action is running; NOTFOUND: no such bid; INVALID: the element does not
 * support it. Messages are those of Playwright's errors, as BrowserGym passes them on. A
 * URL is http, https, file, a path, or a host, which means https.
 */
int webtext_goto(struct webtext *w, struct str url, struct err *e);
/* Follows a link, sends a form by its button, ticks a box. */
int webtext_click(struct webtext *w, struct str bid, struct err *e);
int webtext_fill(struct webtext *w, struct str bid, struct str value, struct err *e);
/* Chooses options by value or label, and replaces the previous choice. */
int webtext_select(struct webtext *w, struct str bid, const struct str *options, size_t n,
                   struct err *e);
/* "Enter" in a field sends its form; in a link or a button it clicks. */
int webtext_press(struct webtext *w, struct str bid, struct str key, struct err *e);
/* Ends the running action without on_done; the page stays as it was. Returns false if
 * no action is running. */
bool webtext_cancel(struct webtext *w);
/* Go back and forward; without a page there they do nothing. */
int webtext_back(struct webtext *w, struct err *e);
int webtext_forward(struct webtext *w, struct err *e);
/* Fetches the page again. */
int webtext_reload(struct webtext *w, struct err *e);
/* Whether the page came by GET and nothing was filled in. */
bool webtext_can_reload(const struct webtext *w);

/*
 * Tabs: done at once, without on_done. A negative index counts from the end. Returns -1
 * and sets *e: BUSY; LIMIT: there are WEBTEXT_TABS_MAX; NOTFOUND: no tab at that index.
 */
int webtext_tab_new(struct webtext *w, struct err *e);
/* Afterwards the last tab is active, or a new blank one. */
int webtext_tab_close(struct webtext *w, struct err *e);
int webtext_tab_focus(struct webtext *w, int64_t index, struct err *e);
int webtext_tabs(const struct webtext *w); /* how many */
int webtext_tab_active(const struct webtext *w);
const char *webtext_tab_url(const struct webtext *w, int index);
const char *webtext_tab_title(const struct webtext *w, int index);

/* ---- the page ---- */

const char *webtext_url(const struct webtext *w);
const char *webtext_title(const struct webtext *w);
/* Returns the HTTP status of the page; 0 if it has none, as a file. */
int webtext_status(const struct webtext *w);
/* Returns the number of the page among all that were read; no two pages have the same. */
unsigned webtext_load(const struct webtext *w);
/*
 * Appends the Markdown, then the fields filled in since, and notes about what
 * needs a browser. Returns -1 if out is full.
 */
int webtext_observe(const struct webtext *w, struct buf *out);
/* Appends "[3]: http://…", a line for each link. */
int webtext_links(const struct webtext *w, struct buf *out);
/* Returns the bytes of a page that is a picture; empty if it is not one. */
struct str webtext_picture(const struct webtext *w);
/*
 * Returns notes on the downloads since the last call: [text]. The caller owns them.
 */
struct json *webtext_notes(struct webtext *w);
/* Returns the path of the last action's download; NULL if there is none. */
const char *webtext_saved(const struct webtext *w);
/* Returns the items as in struct webpage; borrowed until the next action. */
const struct json *webtext_items(const struct webtext *w);

#endif
