/* SPDX-License-Identifier: MIT */
/*
 * What the files of a call about one page share.
 *
 *   host_page.c          opens it, looks at it; the common parts of answers
 *   host_page_element.c  finds the element; an act in the action language
 *   host_page_act.c      an act, and the differences after it
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
    WAIT,
    NEW_TAB,
    SWITCH_TAB,
    CLOSE_TAB
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
    char name[24]; /* "e12": ref of the element; "": none */
    struct outline before, after;
    struct buf was;           /* the address before the act */
    struct buf url, title;    /* of the last look */
    bool retitled;            /* the same address had another title in the look before */
    int tabs_n;               /* the number of tabs before the act */
    char tab[BROWSER_ID];     /* the active tab before it; "": unknown */
    struct browser_seen seen; /* the last look, with Chromium */
    bool looked;              /* seen is filled */
};

/* host_page.c */

/* Answers that the call was refused. Returns 0. */
int host_page_refuse(struct page_call *c, enum err_code code, const char *text);
int host_page_refuse_blank(struct page_call *c);
/* The same for a failure of the action language, in words for a model. */
int host_page_refuse_failed(struct page_call *c, struct str error);
/* Returns s without word at its beginning. */
struct str host_page_strip(struct str s, const char *word);
/* A look that keeps its notes for a later one. Returns -1 and sets *e. */
int host_page_peek(struct page_call *c, struct outline *o, struct err *e);
/* The look for the answer: fills c->after and c->seen, with the text if requested. */
int host_page_see(struct page_call *c, bool text, struct err *e);
/* The name of the active tab's document: different documents have different names. */
void host_page_name(struct host *h, char out[2 * BROWSER_ID]);
bool host_page_is_blank(struct host *h);
/* Adds the members that every answer has. */
void host_page_put_place(struct page_call *c);
/* Returns the number of tabs; *active is the position of the active one, from 1. */
int host_page_tabs(struct host *h, int *active);
/* Appends a line for each tab: its position from 1, title and address. */
void host_page_put_tabs(struct host *h, struct buf *out);
/* Appends the line with the title, if there is one. */
void host_page_put_title(const struct page_call *c, struct buf *out);
/* Remembers c->after as what the caller last saw. */
void host_page_remember(struct page_call *c);
/* Carries out a text. Returns -1 and sets *error if it failed. */
int host_page_carry_out(struct page_call *c, struct str actions, struct str *error);

/* host_page_element.c */

/* Returns -1 if an argument that the act needs is missing; the answer reports it. */
int host_page_check(struct page_call *c);
/* Finds the bid of c->ref. Returns -1 if there is none; the answer has the reason. */
int host_page_find_bid(struct page_call *c, struct buf *bid);
/*
 * What the wheel scrolls at the pointer: returns its visible height, 0 if it is not
 * known, and appends what of its height is visible, as "720-1440 of 3000".
 */
int host_page_scroll_box(struct page_call *c, struct buf *place);
/* Appends a call of the action language; an argument whose p is NULL is left out. */
void host_page_put_call(struct buf *out, const char *name, struct str one,
                        struct str two);
/*
 * Appends the act as a text of the action language. Returns -1 if it cannot; the answer
 * has the reason.
 */
int host_page_compose(struct page_call *c, struct str bid, struct buf *out);

/* host_page_act.c: as host_page. */
int host_page_act(struct page_call *c, struct err *e);

#endif
