/* SPDX-License-Identifier: MIT */
/*
 * How people watch a browser and act in it.
 *
 * There is a screen for each session that somebody watches, whether its browser runs or
 * not. It requests a picture from the host only while one is due for a viewer, keeps the
 * newest, and sends it to each viewer at that viewer's pace; a viewer gets the next one
 * after it has painted the previous one.
 *
 *   NONE --the host listens--> OPEN (Chromium) or TEXT --it ends--> NONE
 *
 * One person at a time drives. Meanwhile calls of the browser wait (browsing.c), except
 * a running one; they can be cancelled. The lease is stored with the browser: it ends
 * when the driver gives it back, or DRIVE_LAPSE_MS after the driver was lost, which the
 * end of a worker causes, too.
 */
#ifndef OD_BROWSER_SCREEN_H
#define OD_BROWSER_SCREEN_H

#include "base/json.h"
#include "base/list.h"
#include "engine/engine.h"
#include "io/stream.h"

enum {
    SCREEN_NAME = 64,
    SCREEN_FRAME_MAX = 1 << 20, /* bytes of a JPEG */
    SCREEN_FRAMES_KNOWN = 64,   /* how many last pictures input may refer to */
    SCREEN_VIEWERS_MAX = 64,    /* of all browsers */
    SCREEN_FPS = 12,            /* of viewers who do not drive */
    SCREEN_FPS_DRIVER = 25,
    SCREEN_LAPSE_MS = 60000,
    SCREEN_PASTE_MAX = 64 << 10 /* bytes of a text or an address */
};

struct audience;
struct screen_viewer;

/* What has changed, as bits. */
enum screen_news {
    SCREEN_STATE = 1,
    SCREEN_TABS = 2,
    SCREEN_DIALOG = 4,
    SCREEN_CURSOR = 8,
    SCREEN_DRIVER = 16,
    SCREEN_TROUBLE = 32
};

enum screen_state { SCREEN_NONE, SCREEN_OPEN, SCREEN_TEXT };

/* A picture; numbers of pictures only grow during a worker's life. */
struct screen_frame {
    uint32_t seq;
    uint16_t width, height; /* of the viewport, in CSS pixels */
    uint16_t scroll_x, scroll_y;
    struct str jpeg; /* borrowed until the callback returns */
};

struct screen_calls {
    /*
     * Takes a picture that is due; the next one follows after screen_seen. Returns false
     * if there is no room: the viewer calls screen_again later.
     */
    bool (*frame)(struct screen_viewer *v, const struct screen_frame *f);
    void (*news)(struct screen_viewer *v, unsigned news); /* bits of enum screen_news */
};

/* Embedded in its owner. */
struct screen_viewer {
    struct list node;
    struct audience *screen;          /* NULL: not watching */
    const struct screen_calls *calls; /* borrowed */
    char name[SCREEN_NAME + 1];
    int fps, quality, width; /* the viewer's wishes */
    bool ready;              /* it has painted the last picture */
    uint32_t shown;          /* the last picture that was sent to it */
    int64_t shown_ms;
    struct timer due;
};

/* What all viewers of a session see. Pointers are borrowed until the next call. */
struct screen_facts {
    enum screen_state state;
    const char *why;           /* of NONE, for people */
    struct str text;           /* of TEXT: the page */
    const struct json *tabs;   /* [{id, url, title, active}] */
    const struct json *dialog; /* {kind, text, fill}; NULL: none is open */
    double x, y;               /* pointer of the agent, in fractions of the viewport */
    const char *driver;        /* its name; NULL: nobody drives */
    const struct screen_viewer *driving; /* NULL: nobody, or its link was lost */
    const char *trouble;                 /* why a person's last visit failed */
    unsigned viewers;
    const char *session;
};

/*
 * Begins to watch. v has calls, name, fps, quality and width; the rest is zero. news is
 * called from the next turn on. Returns -1 and sets *e if there are too many viewers.
 */
int screen_watch(struct engine *en, struct str session, struct screen_viewer *v,
                 struct err *e);
/* Stops watching. Idempotent. stays: a driver's lease waits to be taken again. */
void screen_leave(struct screen_viewer *v, bool stays);
void screen_facts(const struct screen_viewer *v, struct screen_facts *out);
/* The viewer has painted the picture. */
void screen_seen(struct screen_viewer *v, uint32_t seq);
/* The viewer has room again after frame returned false. */
void screen_again(struct screen_viewer *v);

enum screen_drive { SCREEN_GIVE, SCREEN_TAKE, SCREEN_STEAL };
/*
 * Takes or gives back the lease. Returns -1 and sets *e: DENIED, another person drives.
 */
int screen_drive(struct screen_viewer *v, enum screen_drive how, struct err *e);
/*
 * Input of the driver: a JSON object with mouse {kind, at, x, y, button, clicks, mods,
 * dx, dy}, x and y in fractions of picture `at`; key {kind, key, code, mods}; text;
 * paste; go; back; reload; tab; dialog and text. cwd: for addresses that are files.
 * Returns -1 and sets *e: INVALID; DENIED, v does not drive; NOTFOUND, there is no
 * browser; GONE, the picture is no longer known; BUSY, the browser does not read.
 */
int screen_input(struct screen_viewer *v, const struct json *q, struct str cwd,
                 struct err *e);

/* Callbacks for the log; borrowed, one for each engine. Not called from within the
 * functions above. */
struct screen_log {
    void (*driven)(const struct screen_log *log, const char *session, const char *who,
                   bool drives);
    /* Number of inputs in the last second. */
    void (*typed)(const struct screen_log *log, const char *session, const char *who,
                  unsigned n);
};
void screen_set_log(struct engine *en, const struct screen_log *log);

#endif
