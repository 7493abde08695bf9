/* SPDX-License-Identifier: MIT */
/*
 * A Chromium of our own, for a process that does one thing at a time: it is started with
 * the debugging pipe and a private profile, carries out texts of the action language
 * (browse_action.h), and describes its page. All calls block, each with a deadline.
 *
 * Elements have bids, as in BrowserGym (core/observation.py), by their backendNodeId:
 * the page is not changed, and cannot detect them. Frames in and out of process and
 * shadow trees, closed ones too, are one tree.
 */
#ifndef OD_BROWSER_DRIVER_BROWSER_H
#define OD_BROWSER_DRIVER_BROWSER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "os/halt.h"

struct browser;

struct browser_opts {
    const char *program; /* NULL: see browser_find */
    /*
     * Address of a running browser, for cdp_dial: we open a tab in it, close that tab at
     * the end, and do not touch its other tabs. NULL: OD_BROWSER, if that is such an
     * address and no program is given; else a browser is started.
     */
    const char *address;
    int width, height;     /* of the viewport; 0: 1280 by 720 */
    struct halt *stop;     /* ends calls early, or the browser; NULL: nothing does */
    const char *downloads; /* an absolute folder, made when needed; NULL: none are kept */
    const char *profile;   /* the same; NULL: one of its own, which goes with it */
    bool console;          /* console messages and failed requests are kept */
};

struct outline;

struct browser_want {
    bool tree, shot, text;   /* what to return */
    bool compact;            /* the tree in its compact form, see tree.c */
    bool whole;              /* the shot shows the whole page, not only what is visible */
    bool marks;              /* the shot has boxes with bids over elements that can be
                              * clicked */
    bool properties;         /* with the tree: browser_seen.properties */
    bool raw;                /* with the tree: browser_seen.raw */
    const char *format;      /* of the shot: "png", "jpeg", "webp"; NULL: png */
    size_t page_size;        /* bytes of a page of the tree or text; 0: one page */
    int page;                /* which page, from 1 */
    struct outline *outline; /* initialised; filled instead of the tree. NULL: none */
    bool refs;               /* text and marks name elements by their refs, not by bids */
    double scale;            /* of the shot; 0: 1 */
};

/* The result of a look. Owned by the caller: browser_seen_release. */
struct browser_seen {
    struct buf url, title;
    struct buf error;   /* of the last action, "Class: message"; "": no error */
    struct buf focused; /* its bid, "" if unknown */
    struct buf tree;    /* one line a node: BrowserGym's, or the compact form; tree.c */
    /* The page as text mode prints it; of a document that is not HTML, its text. */
    struct buf text;
    struct buf links; /* with text: "[12]: URL", a line for each link */
    struct buf shot;  /* the picture */
    /* {bid: {visibility, bbox, clickable, set_of_marks}}: BrowserGym's
     * extra_element_properties. */
    struct buf properties;
    struct buf raw;     /* {nodes}: Chromium's own tree, see raw.c */
    struct buf marks;   /* [[x, y, width, height, bid]], in pixels of the shot */
    struct buf said;    /* send_msg_to_user and report_infeasible, one line each */
    int status;         /* of the page's HTTP answer; 0: none, as for a file */
    struct json *tabs;  /* [{url, title}] */
    bool is_html;       /* the document */
    int active;         /* index in tabs */
    struct json *notes; /* [text]: dialogs, downloads, crashes since the last look */
    /*
     * Console messages since the last look: [{kind, text, url, line}]; kind is the
     * console's own (log, warning, error …), exception, or request (one that failed, or
     * was answered with an error).
     */
    struct json *console;
    int pages; /* of the text, or of the tree if only that was requested */
};

/*
 * Starts a browser with one blank tab, which cannot reach the addresses in OD_BROWSE_DENY
 * (net/denied.h). Returns NULL and sets *e, with the end of its error output: NOTFOUND,
 * there is no browser; INVALID, OD_BROWSE_DENY is malformed; UNSUPPORTED, a running
 * browser cannot be kept from those addresses.
 */
struct browser *browser_open(const struct browser_opts *o, struct err *e);
/* Ends the browser and removes a profile of its own. NULL is fine. */
void browser_close(struct browser *b);
/*
 * Waits until all downloads are over, none has made progress for ms, or
 * BROWSER_DOWNLOAD_MS have passed: downloads that are incomplete when the browser is
 * closed are lost.
 */
enum { BROWSER_DOWNLOAD_MS = 600000, BROWSER_STALLED_MS = 10000 };
void browser_finish_downloads(struct browser *b, int ms);
/*
 * Runs the actions in order, up to the first that fails, and waits until the page has
 * settled. Returns 0 if all succeeded; else browser_see reports the error.
 */
int browser_act(struct browser *b, struct str actions);
/*
 * From the next actions on, documents that a browser does not show as pages (PDF,
 * Office) become pages with their text, unless files are kept (downloads).
 */
void browser_read_documents(struct browser *b, bool on);
/*
 * Looks at the page. Returns -1 and sets *e if the browser has ended or hangs. *out is
 * set in any case.
 */
int browser_see(struct browser *b, const struct browser_want *want,
                struct browser_seen *out, struct err *e);
void browser_seen_release(struct browser_seen *s);
/*
 * Keeps files that pages send in this folder, from the next actions on. NULL: refuses
 * them, but a browser that we did not start keeps its own folder.
 */
void browser_keep_downloads(struct browser *b, const char *dir);
/*
 * Begins to record the requests of all tabs and their answers; what was recorded before
 * is dropped. The first requests of a tab that a page opens may be missing.
 */
void browser_har_begin(struct browser *b);
/*
 * Ends the recording, and appends it to out as an HTTP Archive, HAR 1.2 (har.c). Waits
 * for bodies, 5 s at most. Returns -1 if out is full; BROWSER_HAR_MAX bytes are enough.
 */
enum { BROWSER_HAR_MAX = 64 << 20 };
int browser_har_end(struct browser *b, struct buf *out);

#endif
