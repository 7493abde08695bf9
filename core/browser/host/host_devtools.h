/* SPDX-License-Identifier: MIT */
/*
 * Other DevTools clients of the host's Chromium, next to od's own driver. They arrive at
 * a unix socket in the host's folder, one connection for each (browser/devtools.h).
 *
 * Chromium keeps the clients apart: each has a session with the browser itself
 * (Target.attachToBrowserTarget), and so its own auto-attach, discovery and ids of
 * messages. A message without a session gets that session. A session belongs to the
 * client that Target.attachedToTarget reported it to; all that comes from it goes there,
 * and the driver never sees it. Ids of targets, sessions and messages are not changed;
 * the driver's own ids begin at CDP_ID_FROM, so that an answer without a session, which
 * Chromium sends if a session has just ended, is never taken for the driver's.
 *
 * Of a message only id, method and sessionId are read; of a few also the sessions,
 * targets and contexts that they report.
 *
 *   client: NEW --its first message--> ASKED --Chromium attached it--> OPEN
 *           any --it left, or was closed--> LEFT --Chromium detached it--> freed
 *
 * When a client leaves, its contexts are disposed and its sessions detached, which ends
 * its interceptions (Fetch) and waits; a dialog of a shared tab is dismissed if no other
 * client and no person is there. A new target that waits for a client's
 * Runtime.runIfWaitingForDebugger runs after DEVTOOLS_WAIT_MS without it.
 *
 * Contexts of clients are not shown to the driver. A tab that a client opens in the
 * default context is listed by the driver, but does not become its active one.
 *
 * On the connection, each way, messages end with a zero byte. To the host first
 * {"target": ID, "closes": whether its Browser.close closes the browser}: the page whose
 * session stands for the browser's, or ""; then the client's messages. From the host, by
 * the first byte:
 *
 *   {        a message for the client
 *   +        it is attached: messages may follow
 *   -        no Chromium runs
 *   @ JSON   for the log: {"event": opened, navigated or closed, "target", "url"}
 *   ! TEXT   it was closed for this reason
 */
#ifndef OD_BROWSER_HOST_HOST_DEVTOOLS_H
#define OD_BROWSER_HOST_HOST_DEVTOOLS_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"

struct host;

/* The name of the socket in the host's folder. */
#define HOST_DEVTOOLS_SOCKET "devtools"

enum {
    DEVTOOLS_CLIENTS_MAX = 32,
    DEVTOOLS_MESSAGE_MAX = 30 << 20, /* bytes of a client's message */
    DEVTOOLS_OUT_MAX = 80 << 20,     /* bytes that wait for a client that does not read */
    DEVTOOLS_WAIT_MS = 10000,
    DEVTOOLS_EVENTS_MAX = 20, /* events for the log in a second */
    DEVTOOLS_ID = 80          /* bytes of Chromium's longest id, and a zero */
};

enum devtools_state { DEVTOOLS_NEW, DEVTOOLS_ASKED, DEVTOOLS_OPEN, DEVTOOLS_LEFT };

struct devtools_client {
    struct list node;
    struct host *h; /* borrowed */
    enum devtools_state state;
    bool ready;  /* fd has something to read */
    bool done;   /* it left, and Chromium has nothing of it: to be freed */
    bool closes; /* its Browser.close closes the browser */
    int fd;      /* owned; -1: closed */
    unsigned number;
    struct buf in, out;
    size_t scanned;              /* bytes of in without a zero */
    unsigned watched;            /* what epoll reports of fd */
    char browser[DEVTOOLS_ID];   /* the session with the browser; "": not yet */
    char root[DEVTOOLS_ID];      /* what messages without a session get */
    char target[DEVTOOLS_ID];    /* the page that was asked for; "": the browser */
    struct buf downloads;        /* its behaviour for the default context, if any */
    uint64_t downloads_turn;     /* when it set that */
    struct list contexts;        /* struct devtools_context */
    int64_t making[8];           /* ids of createBrowserContext; 0: none */
    unsigned opening;            /* calls of createTarget without a new tab so far */
    int64_t second;              /* of the events for the log */
    unsigned events, unreported; /* in that second; since the last one */
    struct {
        int64_t id;
        char session[DEVTOOLS_ID];
    } last[16]; /* the last messages with a session */
    unsigned nlast;
};

/* Embedded in struct host. */
struct host_devtools {
    struct list clients; /* struct devtools_client */
    struct map sessions; /* id → struct devtools_session, of all clients */
    struct map pages;    /* id → struct devtools_page: tabs, while there are clients */
    int listener, timer; /* -1: none */
    uint64_t turn;       /* of the last act of a client */
    unsigned number;     /* of the last client */
    int to;              /* the browser's input, while it is watched; -1: it is not */
    bool asks, asked; /* browser.asks before a dialog was left to a client, if one was */
    char active[DEVTOOLS_ID]; /* the tab that stays the driver's active one */
};

#endif
