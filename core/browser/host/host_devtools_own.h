/* SPDX-License-Identifier: MIT */
/* What the files host_devtools*.c share. */
#ifndef OD_BROWSER_HOST_HOST_DEVTOOLS_OWN_H
#define OD_BROWSER_HOST_HOST_DEVTOOLS_OWN_H

#include "browser/host/host_own.h"

struct devtools_session {
    struct devtools_client *client;
    char target[DEVTOOLS_ID];
    bool acted;       /* the client may have changed its page since the last event */
    uint64_t turn;    /* of its last act; 0: none */
    int64_t since_ms; /* its target waits for the client; 0: it does not */
};

struct devtools_page {
    unsigned client; /* who opened it; 0: no client */
    bool told;       /* its opening is in the log */
    size_t length;   /* of its address, as text of JSON; 0: not known */
    char url[512];   /* the beginning */
};

struct devtools_context {
    struct list node;
    char id[DEVTOOLS_ID];
};

/* ---- host_devtools.c ---- */

/* The Chromium of the host; NULL: none runs. */
struct browser *devtools_browser(const struct host *h);
/* Queues a message of these parts. A client that has no room for it is closed. */
void devtools_put(struct devtools_client *c, struct str first, struct str second);
/* Closes the client's connection after this reason; NULL: without one. */
void devtools_end(struct devtools_client *c, const char *why);
/* Starts the clock of targets that wait. */
void devtools_wait(struct host *h, int ms);

/* ---- host_devtools_tabs.c ---- */

/* Returns the client with this number; NULL: it has gone. */
struct devtools_client *devtools_client_by(const struct host *h, unsigned number);
/* Has a client a session with this target? */
bool devtools_is_attached(const struct host *h, const char *target);
/* A new target, or another address of one, by its TargetInfo. Returns whether the driver
 * must not see it. */
bool devtools_on_created(struct host *h, struct str info);
void devtools_on_changed(struct host *h, struct str info);
void devtools_on_destroyed(struct host *h, struct str id);
/*
 * A dialog of a tab that a client has, too, stays open for it. The driver need not know
 * of it unless the tab is its active one. Returns whether the driver must not see it.
 */
bool devtools_on_dialog(struct host *h, struct str session);
/* Is the dialog of this session's page for its client, of all that have the page? */
bool devtools_is_asked(const struct devtools_session *s);
/* Puts back what a message changed for the driver. */
void devtools_restore(struct host *h);

/* ---- host_devtools_pass.c ---- */

void devtools_set_id(char out[DEVTOOLS_ID], struct str id);
/* A member of an object, if it is a string without escapes; else "". */
struct str devtools_member(struct str object, const char *name);

/* Asks Chromium for the client's session with the browser. */
void devtools_attach(struct devtools_client *c);
/* Takes what the client leaves in Chromium away; the answer frees the client. */
void devtools_detach(struct devtools_client *c);
/* Handles a message of the client. */
void devtools_take(struct devtools_client *c, struct str text);
/* cdp.on_text; owner is the host. */
bool devtools_hear(void *owner, struct str text, bool cut);
/* Drops the sessions of a client; NULL: all, and what is known of pages. */
void devtools_forget(struct host *h, const struct devtools_client *c);
/* Lets targets run that have waited for DEVTOOLS_WAIT_MS. Returns ms until the next; 0:
 * none waits. */
int devtools_let_run(struct host *h);

#endif
