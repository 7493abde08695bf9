/* SPDX-License-Identifier: MIT */
/* What screen*.c and browsing*.c share. */
#ifndef OD_BROWSER_SCREEN_OWN_H
#define OD_BROWSER_SCREEN_OWN_H

#include "browser/screen.h"

/* All screens; owned by the engine. */
struct screens {
    struct list all; /* struct audience */
    const struct screen_log *log;
    unsigned viewers;
};

struct audience {
    struct list node;
    struct engine *en;
    char session[64];
    struct list viewers; /* struct screen_viewer */
    /* The lease. driver NULL with a name: the driver's link was lost. */
    struct screen_viewer *driver;
    char driver_name[SCREEN_NAME + 1];
    struct timer lapse;
    unsigned typed;
    struct timer second; /* until the next report of typed */
    /* The link to the host. */
    struct stream link;
    bool linked, asked;
    int quality, width; /* as last requested; 0: not yet */
    /* The last state that the host sent. */
    enum screen_state state;
    struct buf frame;                               /* the JPEG */
    struct screen_frame known[SCREEN_FRAMES_KNOWN]; /* by seq, without jpeg */
    uint32_t seq, base; /* of the newest; added to the host's numbers */
    struct json *tabs, *dialog;
    struct buf text, trouble;
    double x, y;
};

/* Returns the name of the browser's driver; NULL if nobody drives. */
const char *screen_driver(struct engine *en, struct str session);
/* The host of the session's browser listens now. */
void screen_host_listens(struct engine *en, struct str session);
/* Restores the previous worker's lease of this name, which lapses unless it is taken. */
void screen_resume(struct engine *en, struct str session, struct str driver);

/* ---- screen_link.c ---- */

/* Connects to the host, if there is one and somebody needs it. */
void screen_link_open(struct audience *s);
void screen_link_close(struct audience *s);
/* Asks for a picture newer than s->seq. */
void screen_link_ask(struct audience *s);
/* Sends the quality and width that the viewers want, if they have changed. */
void screen_link_want(struct audience *s);
/* Sends an object, which it takes. Returns -1 if the host does not read. */
int screen_link_send(struct audience *s, struct json *take);

/* ---- screen.c ---- */

void screen_tell(struct audience *s, unsigned news);
/* Offers a new picture to the viewers. */
void screen_offer(struct audience *s);

#endif
