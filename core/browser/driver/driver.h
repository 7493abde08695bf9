/* SPDX-License-Identifier: MIT */
/*
 * Chromium over DevTools: the browser, its targets, elements and pictures of pages, and
 * acts on them. Shared by the files of this room and browser/host, the process that
 * drives it.
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
    BROWSER_ID = 80, /* bytes of Chromium's longest id, and a zero */
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

/* A page, or a frame with a process of its own. Its id is that of its main frame. */
struct target {
    struct list node;
    char id[BROWSER_ID], session[BROWSER_ID];
    char parent[BROWSER_ID]; /* the session that reported it; "": it is a page */
    struct buf url, title;
    bool page, crashed;
    bool fresh;              /* opened by a page, and has not settled yet */
    bool loading, ready;     /* loading: between start and stop; ready: after
                              * DOMContentLoaded */
    char loaded[BROWSER_ID]; /* the loader of the last load event */
    unsigned moves;          /* loads and moves within the document so far */
    unsigned stops;          /* how often it stopped loading */
    char loader[BROWSER_ID]; /* of the shown document */
    int status;              /* of its HTTP answer; 0: there was none */
    struct {
        char loader[BROWSER_ID];
        int status;
    } answered; /* the last document that a server sent */
};

/* A document during its life; a number is never used twice in it. */
struct document {
    struct list node;
    char session[BROWSER_ID];
    char frame[BROWSER_ID];
    int64_t root; /* backendNodeId of the document itself */
    char prefix[32];
    unsigned numbers, frames; /* of the next element */
    unsigned seen;            /* the last look that found it */
    struct map bids;          /* backendNodeId as bytes → struct element */
};

struct element {
    struct document *document;
    int64_t node; /* backendNodeId */
    char bid[48];
    bool clickable;
    bool block, pointer; /* see IS_BLOCK and IS_POINTER */
    unsigned ref;        /* 12 for e12 of an outline; 0: none yet */
    unsigned seen;       /* the last look that found it */
    /* How it is found in the new node when the page renders it again: */
    struct element *up; /* the element that contained it; NULL: none */
    uint32_t form;      /* of its node (snapshot_own.h) */
    unsigned index;     /* elements are numbered in this order */
    struct element *next;
};

/* The process that keeps our Chromium from the addresses in OD_BROWSE_DENY. */
struct browser_deny {
    pid_t pid;     /* 0: none, everything is allowed */
    int fd;        /* readable: browser_deny_hear; -1: none */
    uint16_t port; /* of its proxy, at 127.0.0.1 */
    int noted;     /* refusals since the last look */
    bool lost;     /* it ended before the browser did */
    bool probed;   /* the browser has asked its proxy */
    /* Of the current navigation: */
    char host[256]; /* "": unknown */
    struct err why; /* the refusal that explains its failure best */
    enum {
        BROWSER_DENY_NOTHING,
        BROWSER_DENY_OTHER,
        BROWSER_DENY_LISTED,
        BROWSER_DENY_IT
    } fit;
};

/* A held answer to a request for a document: paper.c. */
struct paper {
    char session[BROWSER_ID], request[BROWSER_ID];
    struct buf url, type;
    int status;
};

/* What people see of the active tab, and do in it: screen.c. */
struct browser_screen {
    bool on;                  /* somebody watches */
    int quality, max_width;   /* of the pictures: JPEG's 1 to 100, and pixels */
    char session[BROWSER_ID]; /* where the screencast runs; "": nowhere */
    struct buf frame;         /* the newest picture, in base64 */
    unsigned seq;             /* its number; 0: there is none */
    int width, height;        /* of the viewport that it shows, in CSS pixels */
    int scroll_x, scroll_y;
    double x, y;    /* where the last action moved the pointer */
    unsigned moves; /* how often the last action's pointer moved */
    int buttons;    /* held by the person */
    int asked;      /* a call whose answer is awaited; 0: none */
    int steps;      /* through the history when the answer comes; 0: a visit */
    int cast;       /* the call that starts the screencast; 0: answered */
    int shot;       /* the call for a first picture; 0: none */
    int titled;     /* the call for the title of the active tab; 0: none */
    bool retitle;   /* the title may have changed since that call */
    struct buf address, trouble;  /* of the visit; the reason of its failure */
    void (*changed)(void *owner); /* after each event while it is on; it must not wait */
    void *owner;
};

struct browser {
    struct cdp cdp;
    struct browser_deny deny;
    pid_t pid;        /* 0: none */
    bool guest;       /* not started by us: only tabs that we opened are ours */
    bool making;      /* a new tab is being made */
    bool refuses;     /* refuses downloads */
    bool keeps;       /* keeps downloads in a given folder */
    int downloads;    /* number of those in progress */
    int64_t moved_ms; /* when progress of one was last reported */
    bool reads;       /* documents that Chromium cannot show become text */
    bool reads_all;   /* even if downloads are kept, except attachments */
    struct paper papers[BROWSER_PAPERS_MAX];
    int papers_n;
    int width, height; /* of the viewport */
    char dir[PATH_MAX];
    int profile;           /* the lock of a profile that is kept; -1: none */
    struct list targets;   /* struct target, in the order of their creation */
    struct target *active; /* NULL: none */
    struct list documents;
    struct map elements; /* bid → struct element, owned by it */
    unsigned refs;       /* number of refs given so far */
    unsigned snapshots;
    unsigned found; /* elements that kept their number in another node, so far */
    bool gone;      /* the element of the action had left the page */
    bool loads_on;  /* the time of the call did not suffice for the action's document */
    /* The open dialog of the active tab; type "": none is open. */
    struct {
        char session[BROWSER_ID], type[16];
        struct buf text, fill; /* its text; the default text of a prompt */
    } dialog;
    bool asks; /* dialogs stay open for the caller instead of being dismissed */
    struct buf error, said;
    struct json *notes;
    struct json *console;  /* NULL: not collected */
    int console_lost;      /* number of entries that did not fit */
    char held[BROWSER_ID]; /* session in which a drag may begin; "": no button is held */
    struct buf drag;       /* the dragged data as JSON; empty: nothing is dragged */
    struct {
        int64_t node; /* the field of an open file chooser; 0: none yet */
        bool many;
    } chooser;
    struct buf marks; /* of the last look: JSON, see marks.c */
    struct {          /* a page to draw in, which is not a tab: marks.c */
        char context[BROWSER_ID], session[BROWSER_ID]; /* "": none */
    } studio;
    double x, y; /* the pointer */
    int modifiers, buttons;
    bool cut;               /* a document was aborted since the actions began */
    char heard[BROWSER_ID]; /* the session that reports its requests; "": none */
    struct map requests;    /* ids of its scripts' open requests; values are unused */
    const struct browse_call *call; /* runs */
    struct browse_progress did;     /* of the last text */
    struct browser_screen screen;
    struct browser_har *har; /* owned: har.c; NULL: requests are not recorded */
};

/* launch.c */
int browser_launch(struct browser *b, const struct browser_opts *o, struct err *e);
void browser_end(struct browser *b);
/* Appends the last lines of its error output. */
void browser_last_words(const struct browser *b, struct err *e);

/* deny.c */
/* The value of OD_BROWSE_DENY; NULL: nothing is denied. */
const char *browser_denied(void);
/*
 * Starts the process, if any address is denied. Returns -1 and sets *e (INVALID: the
 * list is malformed).
 */
int browser_deny_start(struct browser *b, struct err *e);
/*
 * Checks that the browser, which has its first tab, uses our proxy: its flags and
 * policies may set another one, or none. Returns -1 and sets *e if it must not be used.
 */
int browser_deny_check(struct browser *b, struct err *e);
/* Ends the process, and waits for its exit. Idempotent. */
void browser_deny_end(struct browser *b);
/*
 * Reads its new refusals. If the process is gone, the connection to the browser is
 * ended.
 */
void browser_deny_hear(struct browser *b);
/*
 * Called before a navigation. Returns false if it is not allowed: the browser's own
 * pages can connect in ways that web pages cannot.
 */
bool browser_deny_begin(struct browser *b, struct str url);
/* Appends the error of a failed navigation, with the text of the refusal. */
void browser_deny_explain(struct browser *b, struct str error, struct str url,
                          struct buf *out);

/* browser.c */
int64_t browser_in(int ms); /* a deadline */
struct target *browser_target(struct browser *b, struct str id);
struct target *browser_session(struct browser *b, struct str session);
struct str browser_session_of(const struct target *t);
/*
 * Makes a call in that session, with a deadline, and returns its answer. Returns NULL
 * and sets *e.
 */
struct json *browser_ask(struct browser *b, struct str session, const char *method,
                         struct json *take, struct err *e);
/*
 * Returns the parameters of Runtime.evaluate that call a function of js/ with these
 * arguments (JavaScript) and await its promise. The caller frees them.
 */
struct json *browser_script(const char *function, const char *arguments);
/* Runs a script in the active tab and awaits its value. Returns NULL and sets *e. */
struct json *browser_run(struct browser *b, const char *script, struct err *e);
/* The same with a function of js/. */
struct json *browser_run_script(struct browser *b, const char *function,
                                const char *arguments, struct err *e);
/* Takes the address and title of a known tab from Chromium. */
void browser_update(struct browser *b, const struct json *info);
/* Opens a tab, makes it active, and waits until it answers. Returns -1 and sets *e. */
int browser_new_tab(struct browser *b, struct err *e);
void browser_activate(struct browser *b, struct target *t);
/* Returns the page at a position; a negative one counts from the end. NULL: none. */
struct target *browser_page(struct browser *b, int64_t index);
void browser_note(struct browser *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Stops loading, and terminates a running script if the page does not answer within ms.
 * Returns false if the page does not answer even then.
 */
bool browser_calm(struct browser *b, int ms);

/* dialog.c */
/* Page.javascriptDialogOpening. */
void browser_on_dialog(struct browser *b, struct str session, const struct json *p);
/* The dialog was closed, or its page is gone. */
void browser_dialog_over(struct browser *b, struct str session);
/* Answers the open dialog. */
void browser_answer_dialog(struct browser *b, bool accept);
/* Dismisses the open dialog, with a note. */
void browser_dismiss_dialog(struct browser *b);

/* paper.c */
/* Starts or stops holding the documents of a session, as b->reads requires. await_ms:
 * waits so long at most for the browser to have started it. */
void browser_watch_papers(struct browser *b, struct str session, int await_ms);
/* Fetch.requestPaused. */
void browser_on_paused(struct browser *b, struct str session, const struct json *p);
/* Reads the held documents. */
void browser_read_papers(struct browser *b);
void browser_drop_papers(struct browser *b);

/* har.c */
/* A new session is recorded, too. */
void browser_har_watch(struct browser *b, struct str session);
/* An event of the Network domain, while requests are recorded. */
void browser_har_event(struct browser *b, struct target *t, struct str method,
                       const struct json *p);
/* Takes bodies that have come, and asks for others. It does not wait. */
void browser_har_turn(struct browser *b);
void browser_har_drop(struct browser *b);

/* settle.c */
/* Has the active tab, and no other, report the requests of its scripts until it has
 * settled. */
void browser_listen(struct browser *b);
void browser_on_request(struct browser *b, struct str method, const struct json *p);
/*
 * Waits, a few seconds at most, until the active tab has loaded its document and shows
 * the effect of the actions. last: the kind of the last one.
 */
void browser_settle(struct browser *b, enum browse_do last);

/* act.c: carries out one call. Returns -1 and sets *e to the whole sentence. */
int browser_do(struct browser *b, const struct browse_call *c, struct err *e);

/* mouse.c: in the coordinates of the session's viewport. Returns -1 and sets *e. */
int browser_move(struct browser *b, struct str session, double x, double y,
                 struct err *e);
/* browser_move in two steps, if no button is held. Returns the call's id. */
int browser_begin_move(struct browser *b, struct str session, double x, double y);
int browser_finish_move(struct browser *b, int id, struct err *e);
/* button: left, right, middle. A release during a drag drops the dragged data. */
int browser_press(struct browser *b, struct str session, const char *button, int clicks,
                  bool down, struct err *e);
int browser_clicks(struct browser *b, struct str session, const char *button, int count,
                   struct err *e);
/* Called before a press that may begin a drag; the release ends it. */
void browser_hold(struct browser *b, struct str session);

/* keys.c */
/*
 * Sends keyDown and keyUp of a combination like Shift+KeyA; steps: 1 down, 2 up, 3 both.
 */
int browser_keys(struct browser *b, struct str session, struct str combination, int steps,
                 struct err *e);
int browser_type(struct browser *b, struct str session, struct str text, struct err *e);
/*
 * Sends one event of a key (KeyboardEvent.key, .code), and does not wait for its answer.
 */
void browser_tell_key(struct browser *b, struct str session, struct str key,
                      struct str code, int modifiers, bool down);

/* snapshot.c */
int browser_tree(struct browser *b, const struct browser_want *want,
                 struct browser_seen *out, struct err *e);
/* Returns the element with this bid; NULL if there is none. */
struct element *browser_element(struct browser *b, struct str bid);
/*
 * Numbers the elements of the active tab again, without a picture of it. Returns whether
 * elements that the page rendered again have kept their numbers.
 */
bool browser_find_again(struct browser *b);
/* Returns the element of the active tab with this ref; NULL if there is none. */
struct element *browser_element_of_ref(struct browser *b, unsigned ref);
void browser_forget(struct browser *b); /* all documents */
/* Is t the active page, or a frame of it? */
bool browser_within(struct browser *b, const struct target *t);

/* marks.c */
/* Draws b->marks over a PNG, and converts it to the format. Returns -1 and sets *e. */
int browser_draw_marks(struct browser *b, const char *format, struct buf *shot,
                       struct err *e);

/* screen.c: nothing here waits, so that it works while an action runs. */
/*
 * Starts pictures of the active tab, whichever tab that becomes. quality: 1 to 100;
 * width: pixels at most. A second start changes these.
 */
void browser_screen_start(struct browser *b, int quality, int width,
                          void (*changed)(void *owner), void *owner);
void browser_screen_stop(struct browser *b);
/* Page.screencastFrame. */
void browser_screen_frame(struct browser *b, const struct target *t,
                          const struct json *p);
/* Page.frameNavigated: a screencast may end when the page changes its process. */
void browser_screen_navigated(struct browser *b, const struct target *t,
                              const struct json *frame);
/* Called after each event: moves the screencast to the active tab. */
void browser_screen_follow(struct browser *b);
/* The title of the active tab may have changed. */
void browser_screen_retitle(struct browser *b);
/* Called after each turn: takes the answers to visits. */
void browser_screen_turn(struct browser *b);
/* The browser has ended. */
void browser_screen_end(struct browser *b);
/*
 * Does what a person does: one of the members mouse {kind: down, up, move, wheel; x, y in
 * CSS pixels; button, clicks, mods, dx, dy}, key {kind: down, up; key, code, mods}, text,
 * go, back (steps), reload, tab (an id), dialog (bool, with text).
 */
void browser_screen_input(struct browser *b, const struct json *q);

/* wait.c: wait_for, bound. Returns -1 and sets *e. */
int browser_wait_for(struct browser *b, const struct browse_bound *a, struct err *e);

#endif
