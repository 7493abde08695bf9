/* SPDX-License-Identifier: MIT */
/*
 * A reader of the web without a browser: pages are fetched by HTTP/1.1 (RFC 9112), made
 * Markdown in a helper with limits, and acted on by the numbers of their links and
 * fields. One page at a time, a history, a jar of cookies.
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
#ifndef OD_ENGINE_WEBTEXT_H
#define OD_ENGINE_WEBTEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    WEBTEXT_MS = 30000,      /* of one action */
    WEBTEXT_HOPS = 20,       /* redirects and refreshes of one action */
    WEBTEXT_HISTORY_MAX = 50 /* pages; the oldest go */
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
 * reference/browser.md 1.4.
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

/* ---- the page ---- */

const char *webtext_url(const struct webtext *w);
const char *webtext_title(const struct webtext *w);
/* Of its answer; 0: there was none, as of a file. */
int webtext_status(const struct webtext *w);
/*
 * The Markdown, and behind it what was filled in since, if anything. What a page lacks
 * without a browser is said. -1: out is full.
 */
int webtext_observe(const struct webtext *w, struct buf *out);
/* "[3]: http://…", a line for each link. */
int webtext_links(const struct webtext *w, struct buf *out);
/* Items and forms as engine/webpage.h has them; borrowed, until the next action. */
const struct json *webtext_items(const struct webtext *w);

#endif
