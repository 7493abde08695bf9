/* SPDX-License-Identifier: MIT */
/*
 * What may be said to a command while another action waits for it: cancel, input, key,
 * eof, signal, resize. Each is done at once, whatever its session is busy with.
 *
 *   {"action":"input","args":{"text":"yes\n"}}      or "base64"; "id": of a cell
 *   {"action":"key","args":{"key":"C-c"}}
 *   {"action":"eof"}
 *   {"action":"signal","args":{"signal":"INT"}}     a name or a number
 *   {"action":"resize","args":{"rows":50,"cols":200}}
 *   {"action":"cancel","args":{"id":N}}             an action: C-c, then harder
 */
#include "front/events_cell.h"
#include "front/events_native.h"

#include "base/enc.h"
#include "base/limits.h"
#include "engine/session.h"
#include "os/sig.h"

#include <stdio.h>

/* Ends it: rc 0, or -1 with e. */
static void end(struct native *n, int rc, const struct err *e)
{
    if (rc < 0)
        native_fail(n, e);
    else
        native_end(n, STR(""), STR(""));
}

/* The session of an action; its command runs. */
static struct session *want_session(const struct native *n, struct err *e)
{
    struct session *s = v0_find_session(n->ev->v0, str_of(n->session));
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no session %s, so nothing runs in it",
                n->session);
    return s;
}

/* The same, for what is typed: it is typed once, however often it is started. */
static struct session *want_typed(const struct native *n, struct err *e)
{
    char id[OP_ID_MAX + 1];
    struct session *s = want_session(n, e);
    snprintf(id, sizeof(id), "v0:%s:%llu", n->key, (unsigned long long)n->id);
    if (s)
        session_input_as(s, id);
    return s;
}

static enum native_again again_typed(const struct native *n)
{
    return v0_begun(n->ev->v0, str_of(n->session), n->key) ? NATIVE_DONE : NATIVE_AGAIN;
}

static enum native_again again_unknown(const struct native *n)
{
    (void)n;
    return NATIVE_UNKNOWN;
}

/* ---- input ---- */

static int bytes_of(const struct json *args, struct buf *out, struct err *e)
{
    struct str text = STR(""), base64 = STR("");
    if (json_want_str(args, "text", &text, e) < 0 ||
        json_want_str(args, "base64", &base64, e) < 0)
        return -1;
    if ((json_has(args, "text") == json_has(args, "base64")) ||
        (base64.n > 0 && dec_base64(out, base64) < 0))
        return err_set(e, ERR_INVALID, "input takes \"text\", or bytes as \"base64\"");
    return buf_adds(out, text);
}

static int check_input(const struct json *args, struct err *e)
{
    struct buf bytes = BUF_INIT(LIMIT_EVENT_MAX);
    int rc = bytes_of(args, &bytes, e);
    buf_release(&bytes);
    return rc;
}

static void start_input(struct native *n)
{
    struct err e = ERR_INIT;
    struct buf bytes = BUF_INIT(LIMIT_EVENT_MAX);
    int rc = bytes_of(n->args, &bytes, &e);
    if (rc == 0 && json_has(n->args, "id")) {
        rc = events_cell_input(n->ev, (uint64_t)json_int(n->args, "id", 0),
                               buf_str(&bytes), &e);
    } else if (rc == 0) {
        struct session *s = want_typed(n, &e);
        rc = s ? session_input(s, buf_str(&bytes), &e) : -1;
    }
    buf_release(&bytes);
    end(n, rc, &e);
}

const struct native_kind native_input = {.name = "input",
                                         .at_once = true,
                                         .check = check_input,
                                         .start = start_input,
                                         .again = again_typed};

/* ---- key, eof ---- */

static int check_key(const struct json *args, struct err *e)
{
    struct str key = STR("");
    int rc = json_want_str(args, "key", &key, e);
    if (rc == 0 && key.n == 0)
        rc = err_set(e, ERR_INVALID, "key takes a \"key\", as in \"C-c\" or \"Up\"");
    return rc;
}

static void start_key(struct native *n)
{
    struct err e = ERR_INIT;
    struct session *s = want_typed(n, &e);
    end(n, s ? session_key(s, json_str(n->args, "key", ""), &e) : -1, &e);
}

const struct native_kind native_key = {.name = "key",
                                       .at_once = true,
                                       .check = check_key,
                                       .start = start_key,
                                       .again = again_typed};

static void start_eof(struct native *n)
{
    struct err e = ERR_INIT;
    struct session *s = want_typed(n, &e);
    end(n, s ? session_eof(s, &e) : -1, &e);
}

const struct native_kind native_eof = {
    .name = "eof", .at_once = true, .start = start_eof, .again = again_typed};

/* ---- signal ---- */

static int signal_of(const struct json *v)
{
    return sig_number(json_str_value(v, ""), json_int_value(v, 0));
}

static int check_signal(const struct json *args, struct err *e)
{
    if (!signal_of(json_get(args, "signal")))
        return err_set(e, ERR_INVALID, "signal takes a \"signal\": a name or a number");
    return 0;
}

static void start_signal(struct native *n)
{
    struct err e = ERR_INIT;
    struct session *s = want_session(n, &e);
    end(n, s ? session_signal(s, signal_of(json_get(n->args, "signal")), 0, &e) : -1, &e);
}

const struct native_kind native_signal = {.name = "signal",
                                          .at_once = true,
                                          .check = check_signal,
                                          .start = start_signal,
                                          .again = again_unknown};

/* ---- resize ---- */

static int check_resize(const struct json *args, struct err *e)
{
    int64_t rows = 0, cols = 0;
    if (json_want_int(args, "rows", &rows, e) < 0 ||
        json_want_int(args, "cols", &cols, e) < 0)
        return -1;
    if (rows < 1 || cols < 1 || rows > 10000 || cols > 10000)
        return err_set(e, ERR_INVALID, "resize takes \"rows\" and \"cols\", 1 to 10000");
    return 0;
}

static void start_resize(struct native *n)
{
    struct err e = ERR_INIT;
    struct session *s = want_session(n, &e);
    int rows = (int)json_int(n->args, "rows", 0),
        cols = (int)json_int(n->args, "cols", 0);
    end(n, s ? session_resize(s, rows, cols, &e) : -1, &e);
}

/* Twice is as good as once. */
const struct native_kind native_resize = {
    .name = "resize", .at_once = true, .check = check_resize, .start = start_resize};

/* ---- cancel ---- */

static int check_cancel(const struct json *args, struct err *e)
{
    int64_t id = 0;
    if (json_want_int(args, "id", &id, e) < 0)
        return -1;
    return id > 0 ? 0 : err_set(e, ERR_INVALID, "cancel takes the \"id\" of an action");
}

static void start_cancel(struct native *n)
{
    struct events *ev = n->ev;
    struct err e = ERR_INIT;
    uint64_t id = (uint64_t)json_int(n->args, "id", 0);
    int rc = 0;
    if (id == n->id || !events_pending(ev, id))
        rc = err_set(&e, ERR_NOTFOUND, "there is no action %llu that waits for its end",
                     (unsigned long long)id);
    else if (!native_take_back(ev, id))
        rc = v0_cancel(ev->v0, id, &e);
    end(n, rc, &e);
}

const struct native_kind native_cancel = {.name = "cancel",
                                          .at_once = true,
                                          .check = check_cancel,
                                          .start = start_cancel,
                                          .again = again_unknown};
