/* SPDX-License-Identifier: MIT */
/*
 * What the files of a call about one page share.
 *
 *   host_page.c          opens it, looks at it, and what all answers have
 *   host_page_element.c  which element is meant, and an act in the action language
 *   host_page_act.c      an act, and what is different then
 */
#ifndef OD_BROWSER_HOST_PAGE_OWN_H
#define OD_BROWSER_HOST_PAGE_OWN_H

#include "browser/host/host_own.h"

enum page_act {
    LOOK,
    CLICK,
    HOVER,
    FILL,
    SELECT,
    PRESS,
    SCROLL,
    UPLOAD,
    BACK,
    FORWARD,
    RELOAD,
    WAIT
};
extern const char *const host_page_acts[]; /* their names, by enum page_act */

struct page_call {
    struct host *h;
    const struct json *q;
    struct json *out;
    enum page_act act;
    struct str ref, text;
    size_t size;
    int part, wait_ms;
    char name[24]; /* "e12": of the element that is acted on; "": none */
    struct outline before, after;
    struct buf was;           /* the address before the act */
    struct browser_seen seen; /* of Chromium, the last look */
    bool looked;              /* it is filled */
};

/* host_page.c */

/* The answer is that it was not done. Returns 0. */
int host_page_refuse(struct page_call *c, enum err_code code, const char *text);
int host_page_refuse_blank(struct page_call *c);
/* The same for a failure of the action language, in words for its reader. */
int host_page_refuse_failed(struct page_call *c, struct str error);
/* s without word at its beginning. */
struct str host_page_strip(struct str s, const char *word);
/* A look whose notes are for a later one. Returns -1 and sets *e. */
int host_page_peek(struct page_call *c, struct outline *o, struct err *e);
/* The look of the answer: c->after and c->seen, with the text if wanted. */
int host_page_see(struct page_call *c, bool text, struct err *e);
/* Which document the active tab shows: another one has another name. */
void host_page_name(struct host *h, char out[2 * BROWSER_ID]);
bool host_page_is_blank(struct host *h);
/* What is the same in each answer. */
void host_page_put_place(struct page_call *c);
/* Appends the line with the title, if there is one. */
void host_page_put_title(const struct page_call *c, struct buf *out);
/* c->after is what the caller has seen last. */
void host_page_remember(struct page_call *c);
/* Carries out a text; -1: it failed, and why is in error. */
int host_page_carry_out(struct page_call *c, struct str actions, struct str *error);

/* host_page_element.c */

/* Returns -1 if the act needs what was not given; the answer says so. */
int host_page_check(struct page_call *c);
/* The bid of what c->ref names; -1: the answer says why there is none. */
int host_page_find_bid(struct page_call *c, struct buf *bid);
/* Appends a call of the action language; an argument whose p is NULL is left out. */
void host_page_put_call(struct buf *out, const char *name, struct str one,
                        struct str two);
/* Appends the act as a text of the action language. -1: the answer says why not. */
int host_page_compose(struct page_call *c, struct str bid, struct buf *out);

/* host_page_act.c: as host_page. */
int host_page_act(struct page_call *c, struct err *e);

#endif
