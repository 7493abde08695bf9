/* SPDX-License-Identifier: MIT */
/*
 * A reader of the web without a browser: pages are fetched by HTTP/1.1 (RFC 9112), made
 * Markdown in a helper with limits, and acted on by the numbers of their links and
 * fields. Tabs, each with a history, and one jar of cookies.
 *
 *   idle ──goto, click, …──► fetching ──► reading ──► idle, and on_done
 *                               ▲            │ a page that follows at once
 *                               └────────────┘ (redirects are followed in fetching)
 *
 * An action that fails leaves the page as it was. TLS is verified, proxies are those of
 * the environment, http_proxy too by CONNECT. Scripts are not run.
 *
 * Bounded: WEBTEXT_MS for all of an action, WEBTEXT_HOPS redirects, what comes by
 * WEBBODY_MAX, unpacked by WEBBODY_PLAIN_MAX; the helper by memory and time.
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
    WEBTEXT_HISTORY_MAX = 50, /* pages of a tab; the oldest go */
    WEBTEXT_TABS_MAX = 20
};

struct webtext;
struct json;

struct webtext_spec {
    struct loop *loop;
    const char *agent; /* User-Agent; NULL: od's own */
    const char *ca;    /* authorities to trust; NULL: as net/trust.h finds them */
    /*
     * Addresses that are not connected to, whatever name led there, as net/denied.h has
     * them; NULL: none. A proxy of the environment is asked for an address that was
     * judged (dial_spec.allow).
     */
    const char *deny;
    bool no_files; /* file: is refused */
    /*
     * A folder, made when needed, for answers that are attachments or that no text can be
     * shown of; borrowed. NULL: they are pages with what is known of them.
     */
    const char *downloads;
    /* Whose files are shown, and who the helper is, as in struct job_spec; borrowed. */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    int ms; /* of one action; 0: WEBTEXT_MS */
    /* Once for each action, never within the call; e NULL: it worked. */
    void (*on_done)(struct webtext *w, const struct err *e);
    void *owner;
};

/* NULL with e: INVALID: deny is none; or the authorities cannot be read. */
struct webtext *webtext_new(const struct webtext_spec *spec, struct err *e);
void webtext_free(struct webtext *w); /* NULL is fine; no callback follows */
void *webtext_owner(const struct webtext *w);

/*
 * Actions: 0, and on_done comes; -1 with e: nothing was begun. BUSY: one is under way;
 * NOTFOUND: no such bid; INVALID: it is not for that. The words are those of
 * Playwright's errors, as BrowserGym passes them on.
 *
 * A URL is http, https, file, a path, or a host, which means https.
 */
int webtext_goto(struct webtext *w, struct str url, struct err *e);
/* Follows a link, sends a form by its button, ticks a box. */
int webtext_click(struct webtext *w, struct str bid, struct err *e);
int webtext_fill(struct webtext *w, struct str bid, struct str value, struct err *e);
/* By value or label; replaces what was chosen. */
int webtext_select(struct webtext *w, struct str bid, const struct str *options, size_t n,
                   struct err *e);
/* "Enter" in a field sends its form; in a link or a button it clicks. */
int webtext_press(struct webtext *w, struct str bid, struct str key, struct err *e);
/* The action under way ends without a word, and the page is as it was. false: there is
 * none. */
bool webtext_cancel(struct webtext *w);
/* Without a page before, or behind, they do nothing. */
int webtext_back(struct webtext *w, struct err *e);
int webtext_forward(struct webtext *w, struct err *e);
/* Fetches the page again. */
int webtext_reload(struct webtext *w, struct err *e);
/* It came by GET, and nothing was filled in. */
bool webtext_can_reload(const struct webtext *w);

/*
 * Tabs: done at once, without on_done. Returns -1 and sets *e: BUSY; LIMIT: there are
 * WEBTEXT_TABS_MAX; NOTFOUND: there is none at index, negative ones from the end.
 */
int webtext_tab_new(struct webtext *w, struct err *e);
/* Then the last one is active, or a new one that is blank. */
int webtext_tab_close(struct webtext *w, struct err *e);
int webtext_tab_focus(struct webtext *w, int64_t index, struct err *e);
int webtext_tabs(const struct webtext *w); /* how many */
int webtext_tab_active(const struct webtext *w);
const char *webtext_tab_url(const struct webtext *w, int index);
const char *webtext_tab_title(const struct webtext *w, int index);

/* ---- the page ---- */

const char *webtext_url(const struct webtext *w);
const char *webtext_title(const struct webtext *w);
/* Of its answer; 0: there was none, as of a file. */
int webtext_status(const struct webtext *w);
/* The number of the page among all that were read: another page has another one. */
unsigned webtext_load(const struct webtext *w);
/*
 * The Markdown, and behind it what was filled in since, if anything. What a page lacks
 * without a browser is said. -1: out is full.
 */
int webtext_observe(const struct webtext *w, struct buf *out);
/* "[3]: http://…", a line for each link. */
int webtext_links(const struct webtext *w, struct buf *out);
/* The bytes of a page that is a picture; empty: it is not one. */
struct str webtext_picture(const struct webtext *w);
/* What was downloaded since the last call, as texts: [text], the caller's. */
struct json *webtext_notes(struct webtext *w);
/* The path of what the last action has downloaded; NULL: nothing. */
const char *webtext_saved(const struct webtext *w);
/* Items and forms as webpage.h has them; borrowed, until the next action. */
const struct json *webtext_items(const struct webtext *w);

#endif
