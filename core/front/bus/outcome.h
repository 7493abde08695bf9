/* SPDX-License-Identifier: MIT */
/* How a try or a link to the bus ended; README.md explains the names. */
#ifndef OD_FRONT_BUS_OUTCOME_H
#define OD_FRONT_BUS_OUTCOME_H

#include "base/str.h"

#define BUS_OUTCOME_LIST(X) \
    X(LOCAL, "local")               /* a local file; descriptors */ \
    X(CLEAR, "clear")               /* no TLS to another machine; not tried */ \
    X(NO_ADDRESS, "no-address")     /* the name has none */ \
    X(UNREACHABLE, "unreachable")   /* nothing listens or answers there */ \
    X(TLS, "tls")                   /* dates, name, issuer, versions */ \
    X(SILENT, "silent")             /* connected, and no answer in time */ \
    X(REFUSED, "refused")           /* NOAUTH, WRONGPASS */ \
    X(DENIED, "denied")             /* NOPERM */ \
    X(BUSY, "busy")                 /* too many clients */ \
    X(LOADING, "loading")           /* it reads its data */ \
    X(REPLICA, "replica")           /* READONLY, or ROLE is not master */ \
    X(NO_MASTER, "no-master")       /* the sentinel knows none, MASTERDOWN */ \
    X(CLUSTER_DOWN, "cluster-down") /* CLUSTERDOWN */ \
    X(MOVED, "moved")               /* too often, or without an address */ \
    X(FULL, "oom")                  /* OOM */ \
    X(MISCONF, "misconf")           /* it cannot write to its disk */ \
    X(FUTURE, "future-id")          /* the stream belongs to another log */ \
    X(LOST, "lost")                 /* the stream or group was removed */ \
    X(WRONG_TYPE, "wrong-type")     /* a key is not a stream */ \
    X(OLD, "too-old")               /* the server lacks a command or an option */ \
    X(ERROR, "error")               /* any other error */ \
    X(GARBAGE, "garbage")           /* not a reply, or not one to this command */ \
    X(CUT, "cut")                   /* the connection ended */ \
    X(DEAD, "dead")                 /* no sign of life */

enum bus_outcome {
#define X(name, text) BUS_##name,
    BUS_OUTCOME_LIST(X)
#undef X
        BUS_OUTCOMES
};

const char *bus_outcome_name(enum bus_outcome o);
/* Returns the outcome that an error reply means, by its first word. */
enum bus_outcome bus_outcome_of(struct str error);

#endif
