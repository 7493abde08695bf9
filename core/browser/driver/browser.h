/* SPDX-License-Identifier: MIT */
/*
 * A Chromium of our own, for a process that does one thing at a time: it is started
 * with the debugging pipe and a private profile, carries out texts of the action
 * language (browse_action.h), and is looked at. All calls wait, each with a deadline.
 *
 * Elements have bids, as in BrowserGym (core/observation.py), by their backendNodeId: the
 * page is not changed, and sees nothing of it. Frames in and out of process and shadow
 * trees, closed ones too, are one tree.
 */
#ifndef OD_BROWSER_DRIVER_BROWSER_H
#define OD_BROWSER_DRIVER_BROWSER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "os/halt.h"

struct browser;

struct browser_opts {
    const char *program; /* NULL: found as below */
    /*
     * A browser that runs, as cdp_dial has it: it gets a tab of ours, which is closed
     * at the end, and its other tabs are left alone. NULL: OD_BROWSER, if that is such
     * an address and no program is given; else one is started.
     */
    const char *address;
    int width, height;     /* of the viewport; 0: 1280 by 720 */
    struct halt *stop;     /* ends calls early, or all of it; NULL: nothing does */
    const char *downloads; /* an absolute folder, made when needed; NULL: none are kept */
    bool
        console; /* what pages write to their console, and requests that fail, are kept */
};

struct outline;

struct browser_look {
    bool tree, shot, text;   /* what is wanted */
    bool compact;            /* the tree in fewer words, see tree.c */
    bool whole;              /* the shot: all of the page, not what is visible of it */
    bool marks;              /* the shot has boxes with bids over what can be clicked */
    bool properties;         /* with the tree: browser_seen.properties */
    bool raw;                /* with the tree: browser_seen.raw */
    const char *format;      /* of the shot: "png", "jpeg", "webp"; NULL: png */
    size_t page_size;        /* tree and text in pages of so many bytes; 0: all of it */
    int page;                /* which of them; the first is 1 */
    struct outline *outline; /* initialised; is filled instead of the tree. NULL: no */
    bool refs;               /* text and marks name elements by their refs, not by bids */
    double scale;            /* of the shot; 0: 1 */
};

/* What was seen. All of it the caller's: browser_seen_release. */
struct browser_seen {
    struct buf url, title;
    struct buf error;   /* of the last action, "Class: message"; "": it went well */
    struct buf focused; /* its bid, "" if unknown */
    struct buf tree;    /* one line a node: BrowserGym's, or the compact form; tree.c */
    /* The page as text mode prints it, of another document than HTML its text. */
    struct buf text;
    struct buf links; /* with text: "[12]: URL", a line for each link */
    struct buf shot;  /* the picture */
    /* {bid: {visibility, bbox, clickable, set_of_marks}}: BrowserGym's
     * extra_element_properties. */
    struct buf properties;
    struct buf raw;     /* {nodes}: the tree as Chromium has it, see raw.c */
    struct buf marks;   /* [[x, y, width, height, bid]], in pixels of the shot */
    struct buf said;    /* send_msg_to_user and report_infeasible, one line each */
    int status;         /* of the page's HTTP answer; 0: there was none, as of a file */
    struct json *tabs;  /* [{url, title}] */
    bool is_html;       /* the document */
    int active;         /* index in tabs */
    struct json *notes; /* [text]: dialogs, downloads, crashes since the last look */
    /*
     * What was on the console since the last look: [{kind, text, url, line}]; kind is
     * the console's own (log, warning, error …), exception, or request: one that
     * failed, or was answered with an error.
     */
    struct json *console;
    int pages; /* of the text, or of the tree where only that was wanted */
};

/*
 * The path of a Chromium: OD_BROWSER, CHROME_PATH, PUPPETEER_EXECUTABLE_PATH, then
 * where distributions, vendors and Playwright put theirs, headless shells first.
 * -1 with e: NOTFOUND: there is none; INVALID: a variable names what is no program.
 */
int browser_find(char *path, size_t n, struct err *e);

/*
 * Started, with one blank tab. NULL with e, which has the last of its error output;
 * NOTFOUND: there is none. Addresses that OD_BROWSE_DENY has (net/denied.h) it does not
 * reach; INVALID: that is no list; UNSUPPORTED: a browser that runs already cannot be
 * kept from them.
 */
struct browser *browser_open(const struct browser_opts *o, struct err *e);
/* Ends it and removes its profile. NULL is fine. */
void browser_close(struct browser *b);
/*
 * Waits until the downloads that have begun are over, none has moved for ms, or
 * BROWSER_DOWNLOAD_MS have passed: what is not complete when the browser is closed is
 * lost.
 */
enum { BROWSER_DOWNLOAD_MS = 600000, BROWSER_STALLED_MS = 10000 };
void browser_finish_downloads(struct browser *b, int ms);
/*
 * Runs the actions, in order up to the first that fails, and waits until the page has
 * settled. 0: all went well; else `error` is what browser_see will tell.
 */
int browser_act(struct browser *b, struct str actions);
/*
 * Documents that a browser does not show as a page (PDF, Office) become pages with their
 * text, from the next actions on; not so where files are kept (downloads).
 */
void browser_read_documents(struct browser *b, bool on);
/* -1 with e: the browser has ended, or hangs. *out is set in any case. */
int browser_see(struct browser *b, const struct browser_look *want,
                struct browser_seen *out, struct err *e);
void browser_seen_release(struct browser_seen *s);

#endif
