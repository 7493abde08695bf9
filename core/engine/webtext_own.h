/* SPDX-License-Identifier: MIT */
/* What the parts of webtext share. */
#ifndef OD_ENGINE_WEBTEXT_OWN_H
#define OD_ENGINE_WEBTEXT_OWN_H

#include "base/json.h"
#include "engine/webpage.h"
#include "engine/webtext.h"
#include "io/job.h"
#include "net/denied.h"
#include "net/tls.h"
#include "proto/cookies.h"
#include "proto/dial.h"
#include "proto/httpc.h"

/* What is asked for; owned by its holder. */
struct webtext_ask {
    char *url;  /* whole, without a fragment */
    char *type; /* of the body; NULL: no body, and GET */
    char *body;
    size_t body_n;
};

struct webtext {
    struct webtext_spec spec;
    char *agent;
    struct denied deny;
    struct cookies *cookies;
    struct tls_client *tls; /* made when first wanted */
    char *ca;

    /* The page that is shown. */
    struct webpage page;
    char *url;
    int status;
    bool changed; /* something was filled in */
    struct webtext_ask history[WEBTEXT_HISTORY_MAX];
    int pages, at; /* at: the one that is shown; -1: none */

    /* The action that is under way. */
    enum webtext_state { WEBTEXT_IDLE, WEBTEXT_DIAL, WEBTEXT_ASK, WEBTEXT_READ } state;
    struct webtext_ask ask;
    int going; /* to this place in the history; -1: to a new one */
    int hops;
    struct dial *dial;
    struct httpc http;
    bool http_on;
    struct buf body;
    struct buf type, encoding, location; /* of the answer */
    int answer;
    struct job *job;
    struct buf result;
    struct timer timer;
    struct task later; /* tells on_done */
    struct err e;
};

/* ---- webtext_fetch.c ---- */

/* Begins: takes what ask holds, also when it fails. going: as above. */
int webtext_fetch(struct webtext *w, struct webtext_ask *take, int going, struct err *e);
/* Before anything else of this file. */
void webtext_prepare(struct webtext *w);
/* on_done shall come, at the end of the turn. */
void webtext_told(struct webtext *w);
/* Nothing of a fetch is under way any more. */
void webtext_stop(struct webtext *w);
void webtext_ask_release(struct webtext_ask *a);
bool webtext_is_busy(const struct webtext *w);

/* ---- webtext_form.c ---- */

/* What sending the form of an item asks for; button NULL: by Enter. */
int webtext_form(const struct webtext *w, const struct json *item,
                 const struct json *button, struct webtext_ask *out, struct err *e);

#endif
