/* SPDX-License-Identifier: MIT */
/*
 * Chromium over DevTools: the browser, its targets, elements and pictures of pages, acts
 * on them. What the files of this room share, and browser/host, the process that drives
 * it.
 */
#ifndef OD_BROWSER_DRIVER_H
#define OD_BROWSER_DRIVER_H

#include "base/list.h"
#include "base/map.h"
#include "browser/driver/browser.h"
#include "cdp/cdp.h"
#include "webpage/browse_action.h"

#include <limits.h>
#include <sys/types.h>

enum {
    BROWSER_ID = 80, /* bytes of Chromium's ids, and a zero */
    BROWSER_ELEMENT_MS = 500,
    BROWSER_GOTO_MS = 100000,
    BROWSER_CALL_MS = 30000,
    BROWSER_TARGETS_MAX = 256,
    BROWSER_ERROR_MAX = 4096,
    BROWSER_NOTES_MAX = 64,
    BROWSER_PAPERS_MAX = 8,
    BROWSER_CONSOLE_MAX = 200,
    BROWSER_WIDTH = 1280, /* of the viewport, by default */
    BROWSER_HEIGHT = 720,
};

/* A page, or a frame with a process of its own. Its id is its main frame's. */
struct target {
    struct list node;
    char id[BROWSER_ID], session[BROWSER_ID];
    char parent[BROWSER_ID]; /* the session that reported it; "": a page */
    struct buf url, title;
    bool page, crashed;
    bool fresh;              /* a page opened it, and it was not settled yet */
    bool loading, ready;     /* between start and stop; DOMContentLoaded was */
    char loaded[BROWSER_ID]; /* the loader whose load event came last */
    unsigned moves;          /* loads and moves within the document so far */
    unsigned stops;          /* how often it stopped loading */
    char loader[BROWSER_ID]; /* of the document that is shown */
    int status;              /* of the answer that it came with; 0: there was none */
    struct {
        char loader[BROWSER_ID];
        int status;
    } answered; /* the last document that a server has answered with */
};

/* A document as long as it lives; its numbers go on, and are never given twice. */
struct document {
    struct list node;
    char session[BROWSER_ID];
    char frame[BROWSER_ID];
    int64_t root; /* backendNodeId of the document itself */
    char prefix[32];
    unsigned numbers, frames; /* of the next element */
    struct map bids;          /* backendNodeId as bytes → struct element */
};

struct element {
    struct document *document;
    int64_t node; /* backendNodeId */
    char bid[48];
    bool clickable;
    bool block, pointer; /* as IS_BLOCK and IS_POINTER have it */
    unsigned ref;        /* e12 of an outline; 0: it has none yet */
    unsigned seen;       /* the look that found it last */
};

/* The process that keeps a Chromium of ours from what OD_BROWSE_DENY has. */
struct browser_deny {
    pid_t pid;     /* 0: none, everything is allowed */
    int fd;        /* readable: browser_deny_hear; -1: none */
    uint16_t port; /* of its proxy, at 127.0.0.1 */
    int noted;     /* refusals since the last look */
    bool lost;     /* it ended before the browser did */
    bool probed;   /* the browser has asked its proxy */
    /* Of the navigation that is under way: */
    char host[256]; /* "": unknown */
    struct err why; /* what was refused that explains its failure best */
    enum {
        BROWSER_DENY_NOTHING,
        BROWSER_DENY_OTHER,
        BROWSER_DENY_LISTED,
        BROWSER_DENY_IT
    } fit;
};

/* The answer to a request for a document, which waits: paper.c. */
struct paper {
    char session[BROWSER_ID], request[BROWSER_ID];
    struct buf url, type;
    int status;
};

struct browser {
    struct cdp cdp;
    struct browser_deny deny;
    pid_t pid;        /* 0: none */
    bool guest;       /* it is not ours: only tabs that we opened are */
    bool making;      /* a tab, just now */
    bool refuses;     /* files that pages send */
    bool keeps;       /* them in a folder that was given */
    int downloads;    /* that have begun and are not over */
    int64_t moved_ms; /* when one of them was reported last */
    bool reads;       /* documents that Chromium does not show become text */
    bool reads_all;   /* where files are kept, too, unless they are attachments */
    struct paper papers[BROWSER_PAPERS_MAX];
    int papers_n;
    int width, height; /* of the viewport */
    char dir[PATH_MAX];
    struct list targets;   /* struct target, as they were made */
    struct target *active; /* NULL: none */
    struct list documents;
    struct map elements; /* bid → struct element, owned by it */
    unsigned refs;       /* that were given so far */
    unsigned looks;
    /* Of the active tab, while it waits for an answer; type "": none is open. */
    struct {
        char session[BROWSER_ID], type[16];
        struct buf text, fill; /* its text; the text for a prompt */
    } dialog;
    bool asks; /* dialogs stay open for the caller, and are not dismissed */
    struct buf error, said;
    struct json *notes;
    struct json *console;  /* NULL: it is not listened to */
    int console_lost;      /* what came when it was full */
    char held[BROWSER_ID]; /* the session where a drag may begin; "": no button is held */
    struct buf drag;       /* what is dragged: JSON; empty: nothing is */
    struct {
        int64_t node; /* the field that a page wants files for; 0: none yet */
        bool many;
    } chooser;
    struct buf marks; /* of the last look: JSON, see marks.c */
    struct {          /* a page to draw in, which is no tab: marks.c */
        char context[BROWSER_ID], session[BROWSER_ID]; /* "": none */
    } studio;
    double x, y; /* the pointer */
    int modifiers, buttons;
    bool cut;               /* a document broke off since the actions began */
    char heard[BROWSER_ID]; /* the session whose requests are reported; "": none */
    struct map requests; /* what its scripts ask for, by their ids; values say nothing */
    const struct browse_call *call; /* runs */
    struct browse_progress did;     /* of the last text */
};

/* launch.c */
int browser_launch(struct browser *b, const struct browser_opts *o, struct err *e);
void browser_end(struct browser *b);
/* Appends what it wrote to its error output last. */
void browser_last_words(const struct browser *b, struct err *e);

/* deny.c */
/* OD_BROWSE_DENY; NULL: nothing is denied. */
const char *browser_denied(void);
/*
 * Starts the process, if any address is denied. Returns -1 and sets *e (INVALID: the
 * list is malformed).
 */
int browser_deny_start(struct browser *b, struct err *e);
/*
 * Does the browser, whose first tab is there, ask the proxy? Its flags and policies may
 * have another, or none. -1: e, it is not to be used.
 */
int browser_deny_check(struct browser *b, struct err *e);
/* Ends it, and waits for that. Idempotent. */
void browser_deny_end(struct browser *b);
/* Notes what it has refused since. If it is gone, so is the connection to the browser. */
void browser_deny_hear(struct browser *b);
/*
 * A navigation begins. false: it must not, as that is a page of the browser's own, which
 * could connect in ways that no page of the web has.
 */
bool browser_deny_begin(struct browser *b, struct str url);
/* Appends a failed navigation's error, in the words of what has refused it. */
void browser_deny_explain(struct browser *b, struct str error, struct str url,
                          struct buf *out);

/* browser.c */
int64_t browser_in(int ms); /* a deadline */
struct target *browser_target(struct browser *b, struct str id);
struct target *browser_session(struct browser *b, struct str session);
struct str browser_session_of(const struct target *t);
/*
 * A call in the active tab, with a deadline; a member of the result. Returns NULL and
 * sets *e.
 */
struct json *browser_ask(struct browser *b, struct str session, const char *method,
                         struct json *take, struct err *e);
/*
 * The parameters of Runtime.evaluate that call a function of js/ with arguments in
 * JavaScript, and await its promise. The caller frees them.
 */
struct json *browser_script(const char *function, const char *arguments);
/* A script in the active tab, its value awaited. Returns NULL and sets *e. */
struct json *browser_run(struct browser *b, const char *script, struct err *e);
/* A function of js/ there. */
struct json *browser_run_script(struct browser *b, const char *function,
                                const char *arguments, struct err *e);
/* A new tab, active, when it can be spoken to. Returns -1 and sets *e. */
int browser_new_tab(struct browser *b, struct err *e);
void browser_activate(struct browser *b, struct target *t);
/* The page at a position; negative ones from the end. Returns NULL if there is none. */
struct target *browser_page(struct browser *b, int64_t index);
void browser_note(struct browser *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * What loads stops loading; a script that runs on is ended, when the page says nothing
 * for so long. Returns false if the page does not answer even then.
 */
bool browser_calm(struct browser *b, int ms);

/* dialog.c */
/* Page.javascriptDialogOpening. */
void browser_on_dialog(struct browser *b, struct str session, const struct json *p);
/* It is closed, or its page is gone. */
void browser_dialog_over(struct browser *b, struct str session);
/* Answers the one that is open. */
void browser_answer_dialog(struct browser *b, bool accept);
/* Dismisses the one that is open, with a note. */
void browser_dismiss_dialog(struct browser *b);

/* paper.c */
/* From now on the documents of a session are looked at, or not any more. */
void browser_watch_papers(struct browser *b, struct str session);
/* Fetch.requestPaused. */
void browser_on_paused(struct browser *b, struct str session, const struct json *p);
/* Reads those that wait. */
void browser_read_papers(struct browser *b);
void browser_drop_papers(struct browser *b);

/* settle.c */
/* Requests of the active tab's scripts are reported until it has settled. */
void browser_listen(struct browser *b);
void browser_on_request(struct browser *b, struct str method, const struct json *p);
/*
 * Waits, a few seconds at most, until the active tab has a document that was read, and
 * shows what the actions did, the last of which is named.
 */
void browser_settle(struct browser *b, enum browse_do last);

/* act.c: one call. -1: e has the whole sentence. */
int browser_do(struct browser *b, const struct browse_call *c, struct err *e);

/* mouse.c: in the coordinates of the session's viewport. Returns -1 and sets *e. */
int browser_move(struct browser *b, struct str session, double x, double y,
                 struct err *e);
/* The same in two parts, where nothing is held. The call's id. */
int browser_begin_move(struct browser *b, struct str session, double x, double y);
int browser_finish_move(struct browser *b, int id, struct err *e);
/* button: left, right, middle. Letting go of what is dragged drops it. */
int browser_press(struct browser *b, struct str session, const char *button, int clicks,
                  bool down, struct err *e);
int browser_clicks(struct browser *b, struct str session, const char *button, int count,
                   struct err *e);
/* Before a press that may begin a drag there; the release is the end of it. */
void browser_hold(struct browser *b, struct str session);

/* keys.c */
/* keyDown and keyUp of a combination like Shift+KeyA; steps: 1 down, 2 up, 3 both. */
int browser_keys(struct browser *b, struct str session, struct str combination, int steps,
                 struct err *e);
int browser_type(struct browser *b, struct str session, struct str text, struct err *e);

/* look.c */
int browser_tree(struct browser *b, const struct browser_look *want,
                 struct browser_seen *out, struct err *e);
/* Returns NULL if there is none. */
struct element *browser_element(struct browser *b, struct str bid);
/* The element of the active tab with this ref. Returns NULL if there is none. */
struct element *browser_element_of_ref(struct browser *b, unsigned ref);
void browser_forget(struct browser *b); /* all documents */
/* Is t the active page, or a frame of it? */
bool browser_within(struct browser *b, const struct target *t);

/* marks.c */
/*
 * Draws b->marks over a PNG, which becomes a picture of the format. Returns -1 and sets
 * *e.
 */
int browser_draw_marks(struct browser *b, const char *format, struct buf *shot,
                       struct err *e);

/* wait.c: wait_for, bound. Returns -1 and sets *e. */
int browser_wait_for(struct browser *b, const struct browse_bound *a, struct err *e);

#endif
