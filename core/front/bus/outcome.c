/* SPDX-License-Identifier: MIT */
#include "front/bus/outcome.h"

const char *bus_outcome_name(enum bus_outcome o)
{
    static const char *const names[BUS_OUTCOMES] = {
#define X(name, text) text,
        BUS_OUTCOME_LIST(X)
#undef X
    };
    return names[o];
}

enum bus_outcome bus_outcome_of(struct str error)
{
    static const struct {
        const char *begins;
        enum bus_outcome is;
    } rows[] = {
        {"NOAUTH", BUS_REFUSED},
        {"WRONGPASS", BUS_REFUSED},
        {"ERR invalid password", BUS_REFUSED},
        {"ERR Client sent AUTH", BUS_REFUSED},
        {"ERR AUTH", BUS_REFUSED},
        {"NOPERM", BUS_DENIED},
        {"DENIED", BUS_DENIED}, /* protected mode: no password, another machine */
        {"ERR max number of clients", BUS_BUSY},
        {"LOADING", BUS_LOADING},
        {"READONLY", BUS_REPLICA},
        {"UNBLOCKED the stream", BUS_LOST},
        {"UNBLOCKED", BUS_REPLICA}, /* the server's role has changed */
        {"MASTERDOWN", BUS_NO_MASTER},
        {"CLUSTERDOWN", BUS_CLUSTER_DOWN},
        {"TRYAGAIN", BUS_CLUSTER_DOWN},
        {"ASK ", BUS_CLUSTER_DOWN}, /* the slot is being moved */
        {"MOVED ", BUS_MOVED},
        {"OOM", BUS_FULL},
        {"MISCONF", BUS_MISCONF},
        {"NOREPLICAS", BUS_MISCONF},
        {"NOGROUP", BUS_LOST},
        {"WRONGTYPE", BUS_WRONG_TYPE},
        {"ERR unknown command", BUS_OLD},
        {"ERR syntax error", BUS_OLD},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (str_starts(error, str_of(rows[i].begins)))
            return rows[i].is;
    }
    return BUS_ERROR;
}
