/* SPDX-License-Identifier: MIT */
/*
 * The body of POST /execute_action: the events of OpenHands V0 (events/action), decoded
 * and checked, but not done.
 *
 * Unknown arguments are ignored, so that later clients work; known ones must have their
 * type, and null counts as absent if there is a default. Numbers are integers below 2^53,
 * times at most V0_TIMEOUT_MAX. A NUL cannot occur: json_parse refuses it.
 */
#ifndef OD_FRONT_V0_ACTION_H
#define OD_FRONT_V0_ACTION_H

#include "base/err.h"
#include "base/json.h"

enum v0_kind {
    V0_RUN,
    V0_READ,
    V0_WRITE,
    V0_EDIT,
    V0_RUN_IPYTHON,
    V0_BROWSE,
    V0_BROWSE_INTERACTIVE,
    V0_OTHER, /* known to OpenHands, which does not serve it either */
};

/* Seconds; a wait longer than a year has no limit. */
#define V0_TIMEOUT_MAX 31536000.0
enum { V0_QUIET_MAX = 86400 };

/* Borrows from the JSON that it was decoded from, and owns nothing. */
struct v0_action {
    enum v0_kind kind;
    struct str name;
    bool has_timeout;
    double timeout;          /* seconds, above 0 and at most V0_TIMEOUT_MAX */
    bool unique;             /* has a timestamp: the same body is a repetition */
    const struct json *args; /* an object, or NULL when there is none */
    struct {
        struct str command;
        bool is_input, blocking, is_static, hidden;
        struct str cwd; /* empty: not given */
    } run;
    struct {
        struct str path;
        int64_t start, end; /* end -1: to the end */
        bool aci;           /* impl_source is oh_aci */
        bool has_range;
        int64_t range[2];
        const struct json *odd_range; /* a view_range that is not two integers */
    } read;
    struct {
        struct str path, content;
        int64_t start, end;
    } write;
};

/*
 * Returns 0, or -1 and sets *status and *e. 500: e->text is the whole `detail`. 422: it
 * is the `errors` next to the detail that all such answers have (text.h, v0_put_error).
 */
int v0_action_decode(const struct json *body, struct v0_action *out, int *status,
                     struct err *e);

/* The same for the value of the body's "action". */
int v0_action_decode_event(const struct json *event, struct v0_action *out,
                           struct err *e);

/* Sets *e to the detail of the 500 for an action that is not served. Returns -1. */
int v0_action_refuse(const struct v0_action *a, struct err *e);

#endif
