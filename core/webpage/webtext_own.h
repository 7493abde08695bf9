/* SPDX-License-Identifier: MIT */
/* What the parts of webtext share. */
#ifndef OD_WEBPAGE_WEBTEXT_OWN_H
#define OD_WEBPAGE_WEBTEXT_OWN_H

#include "base/json.h"
#include "http/cookies.h"
#include "http/dial.h"
#include "http/httpc.h"
#include "io/job.h"
#include "net/denied.h"
#include "net/tls.h"
#include "webpage/webpage.h"
#include "webpage/webtext.h"

/* A request; owned by its holder. */
struct webtext_ask {
    char *url;  /* complete, without a fragment */
    char *type; /* of the body; NULL: no body, and GET */
    char *body;
    size_t body_n;
};

/* A tab: the open page, and the pages before and after it in the history. */
struct webtext_tab {
    struct webpage page;
    char *url;
    int status;
    bool changed;  /* something was filled in */
    unsigned load; /* the page's number among all that were read */
    struct webtext_ask history[WEBTEXT_HISTORY_MAX];
    int pages, at; /* at: the page that is shown; -1: none */
};

struct webtext {
    struct webtext_spec spec;
    char *agent;
    struct denied deny;
    struct cookies *cookies;
    struct tls_client *tls; /* made when first needed */
    char *ca;

    struct webtext_tab *tabs[WEBTEXT_TABS_MAX]; /* owned */
    int tabs_n;
    unsigned loads;
    struct webtext_tab *tab; /* the active one of them */

    /* The state of the running action. */
    enum webtext_state { WEBTEXT_IDLE, WEBTEXT_DIAL, WEBTEXT_ASK, WEBTEXT_READ } state;
    struct webtext_ask ask;
    int going; /* the target's place in the history; -1: a new one */
    int hops;
    struct dial *dial;
    bool proxied; /* the request goes to a proxy */
    char *login; /* owned: "scheme://NAME:PASSWORD@host:port" as last given; NULL: none */
    struct httpc http;
    bool http_on;
    struct buf body;
    struct buf type, encoding, location, disposition; /* of the answer */
    bool going_to;                                    /* the action is webtext_goto */
    bool saving;                                      /* the answer becomes a file */
    int answer;
    struct job *job;
    struct buf result;
    struct timer timer;
    struct task later; /* calls on_done */
    struct err e;
    struct json *notes; /* owned: [text], of downloads */
    char *saved;        /* owned: the path of the action's download; NULL: none */
};

/* ---- webtext_fetch.c ---- */

/* Begins a fetch: takes what ask holds, also when it fails. going: as above. */
int webtext_fetch(struct webtext *w, struct webtext_ask *take, int going, struct err *e);
/* Called before anything else of this file. */
void webtext_prepare(struct webtext *w);
/* Makes on_done be called at the end of the turn. */
void webtext_told(struct webtext *w);
/* Stops the fetch. */
void webtext_stop(struct webtext *w);
void webtext_ask_release(struct webtext_ask *a);
bool webtext_is_busy(const struct webtext *w);

/* ---- webtext_download.c ---- */

/* Whether the answer is kept as a file. */
bool webtext_is_download(const struct webtext *w);
/*
 * Runs in the helper: writes the file, and hands its path over. Returns -1 and sets *e.
 */
int webtext_save(const struct webtext *w, const struct job_child *c, struct err *e);

/* ---- webtext_error.c ---- */

/*
 * Sets *out to "Error: Page.goto: net::NAME at URL: WHY", with the code of why. Returns
 * -1.
 */
int webtext_net_error(struct err *out, const char *name, const struct err *why,
                      const char *url);
/* Returns Chromium's name of a failed connection (called in its on_done) … */
const char *webtext_dial_name(const struct dial *d, bool proxy, const struct err *e);
/* … of an answer that broke off, or is not HTTP … */
const char *webtext_answer_name(const struct err *e);
/* … and of a file that cannot be opened. */
const char *webtext_file_name(enum err_code code);

/* ---- webtext_form.c ---- */

/* Makes the request that sends the form of an item; button NULL: by Enter. */
int webtext_form(const struct webtext *w, const struct json *item,
                 const struct json *button, struct webtext_ask *out, struct err *e);

#endif
