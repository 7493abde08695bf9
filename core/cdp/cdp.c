/* SPDX-License-Identifier: MIT */
#include "cdp/own.h"

#include "base/jsontext.h"
#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { READ_AT_ONCE = 64 << 10 };

void cdp_open(struct cdp *c, int from, int to, cdp_event_fn *on_event, void *owner)
{
    *c = (struct cdp){.from = from,
                      .to = to,
                      .last_id = CDP_ID_FROM,
                      .on_event = on_event,
                      .owner = owner};
    buf_init(&c->in, LIMIT_CDP_MESSAGE);
    buf_init(&c->out, CDP_OUT_MAX);
    if (from >= 0)
        fcntl(from, F_SETFL, O_NONBLOCK);
    if (to >= 0)
        fcntl(to, F_SETFL, O_NONBLOCK);
}

void cdp_end(struct cdp *c, enum err_code code, const char *text)
{
    if (!c->ended)
        err_set(&c->why, code, "%s", text);
    c->ended = true;
}

static void drop(struct cdp_pending *p)
{
    json_free(p->reply);
    buf_release(&p->text);
    *p = (struct cdp_pending){0};
}

void cdp_close(struct cdp *c)
{
    cdp_end(c, ERR_CANCELLED, "the connection to the browser was closed");
    cdp_link_free(c->link);
    c->link = NULL;
    if (c->from >= 0)
        close(c->from);
    if (c->to >= 0 && c->to != c->from)
        close(c->to);
    c->from = c->to = -1;
    buf_release(&c->in);
    buf_release(&c->out);
    for (int i = 0; i < CDP_PENDING_MAX; i++)
        drop(&c->pending[i]);
}

/* ---- out ---- */

void cdp_flush(struct cdp *c)
{
    if (c->link)
        cdp_link_write(c);
    while (c->out.n > 0 && !c->ended && c->to >= 0) {
        ssize_t n = write(c->to, c->out.p, c->out.n);
        if (n > 0)
            buf_consume(&c->out, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR)
            cdp_end(c, ERR_GONE, "the browser has ended");
    }
}

static struct cdp_pending *find(struct cdp *c, int id)
{
    for (int i = 0; i < CDP_PENDING_MAX; i++) {
        if (c->pending[i].id == id)
            return &c->pending[i];
    }
    return NULL;
}

enum cdp_sent { TOLD, ASKED, ASKED_BIG };

/*
 * Sends a call. A call whose answer is dropped takes no place in the list of pending
 * ones.
 */
static int send(struct cdp *c, struct str session, const char *method, struct json *take,
                enum cdp_sent kind)
{
    struct json *j = json_object();
    struct cdp_pending *p = find(c, 0);
    int id = -1;
    json_put_int(j, "id", c->last_id + 1);
    json_put_z(j, "method", method);
    ASSERT(!take || json_is_object(take));
    json_put(j, "params", take ? take : json_object());
    if (session.n > 0)
        json_put_str(j, "sessionId", session);
    if (!c->ended && (p || kind == TOLD) && buf_room(&c->out) > 0) {
        size_t before = c->out.n;
        if (json_print(&c->out, j) == 0 && buf_addc(&c->out, '\0') == 0)
            id = ++c->last_id;
        else
            buf_truncate(&c->out, before);
        buf_resume(&c->out); /* the caller gets the failure */
    }
    json_free(j);
    if (id > 0 && kind != TOLD) {
        p->id = id;
        p->big = kind == ASKED_BIG;
        p->of_page = session.n > 0;
    }
    cdp_flush(c);
    return id;
}

int cdp_send(struct cdp *c, struct str session, const char *method, struct json *take)
{
    return send(c, session, method, take, ASKED);
}

int cdp_send_big(struct cdp *c, struct str session, const char *method, struct json *take)
{
    return send(c, session, method, take, ASKED_BIG);
}

void cdp_tell(struct cdp *c, struct str session, const char *method, struct json *take)
{
    send(c, session, method, take, TOLD);
}

int cdp_pass(struct cdp *c, struct str text, struct str end)
{
    if (c->ended || text.n == 0 || buf_room(&c->out) < text.n + end.n + 1)
        return -1;
    size_t before = c->out.n;
    buf_adds(&c->out, str_sub(text, 0, text.n - 1));
    buf_adds(&c->out, end);
    buf_addc(&c->out, '\0');
    bool full = buf_full(&c->out);
    if (full)
        buf_truncate(&c->out, before);
    buf_resume(&c->out);
    cdp_flush(c);
    return full ? -1 : 0;
}

/* ---- in ---- */

/* Handles an answer that cannot be parsed: its id comes first in Chromium's messages. */
static struct json *bad_answer(struct str text, const struct err *e)
{
    static const struct str begin = {"{\"id\":", 6};
    uint64_t id = 0;
    if (!str_starts(text, begin))
        return NULL;
    struct str rest = str_sub(text, begin.n, text.n);
    if (str_to_u64(str_cut(&rest, ','), &id) < 0 || id > INT32_MAX)
        return NULL;
    struct json *j = json_object(), *error = json_object();
    json_put_int(j, "id", (int64_t)id);
    json_put_z(error, "message", e->text);
    json_put(j, "error", error);
    return j;
}

/* Gives the text of a big answer to its call, unparsed. */
static bool take_big(struct cdp *c, struct buf *whole)
{
    bool any = false;
    for (int i = 0; i < CDP_PENDING_MAX; i++)
        any |= c->pending[i].big;
    int64_t id = any ? jsontext_int(jsontext_get(str_trim(buf_str(whole)), STR("id")), 0)
                     : 0;
    struct cdp_pending *p = id > 0 && id <= c->last_id ? find(c, (int)id) : NULL;
    if (!p || !p->big)
        return false;
    if (p->unwanted) {
        drop(p);
    } else if (!p->text.n) {
        p->text = *whole;
        *whole = (struct buf)BUF_INIT(0);
    }
    return true;
}

void cdp_message(struct cdp *c, struct buf *whole)
{
    struct str text = buf_str(whole);
    struct err e = ERR_INIT;
    if ((c->on_text && c->on_text(c->text_owner, text, false)) || take_big(c, whole))
        return;
    struct json *j = json_parse(text, &e);
    if (!j)
        j = bad_answer(text, &e);
    int64_t id = json_int(j, "id", 0);
    struct cdp_pending *p = id > 0 && id <= c->last_id ? find(c, (int)id) : NULL;
    struct str method = json_str(j, "method", "");
    if (p && !p->reply) {
        p->reply = j;
        j = NULL;
    } else if (id == 0 && method.n > 0 && c->on_event) {
        c->on_event(c->owner, json_str(j, "sessionId", ""), method,
                    json_get(j, "params"));
    }
    json_free(j);
}

/* Keeps the first and the last CDP_END bytes of a message that is too long. */
static void cut(struct cdp *c, struct str bytes)
{
    if (!c->cutting) {
        struct buf ends = BUF_INIT(4 * CDP_END);
        buf_adds(&ends, str_sub(buf_str(&c->in), 0, CDP_END));
        buf_adds(&ends, str_sub(buf_str(&c->in), c->in.n - CDP_END, c->in.n));
        buf_release(&c->in);
        c->in = ends;
    }
    c->cutting = true;
    bytes = str_sub(bytes, bytes.n > CDP_END ? bytes.n - CDP_END : 0, bytes.n);
    buf_adds(&c->in, bytes);
    size_t more = c->in.n - 2 * CDP_END;
    memmove(c->in.p + CDP_END, c->in.p + CDP_END + more, CDP_END);
    buf_truncate(&c->in, 2 * CDP_END);
}

static void cut_over(struct cdp *c)
{
    if (!c->on_text || !c->on_text(c->text_owner, buf_str(&c->in), true))
        cdp_end(c, ERR_LIMIT, "the browser sent a message that is too long");
    buf_release(&c->in);
    buf_init(&c->in, LIMIT_CDP_MESSAGE);
    c->cutting = false;
}

void cdp_take(struct cdp *c, struct str bytes)
{
    while (bytes.n > 0 && !c->ended) {
        const char *zero = memchr(bytes.p, 0, bytes.n);
        size_t n = zero ? (size_t)(zero - bytes.p) : bytes.n;
        bool fits = !c->cutting && buf_room(&c->in) >= n;
        if (!fits && c->on_text)
            cut(c, str_n(bytes.p, n));
        else if (!fits)
            cdp_end(c, ERR_LIMIT, "the browser sent a message that is too long");
        else if (buf_add(&c->in, bytes.p, n) < 0)
            cdp_end(c, ERR_LIMIT, "there is no memory for a message of the browser");
        bytes = str_sub(bytes, n + (zero ? 1 : 0), bytes.n);
        if (zero && c->cutting) {
            cut_over(c);
        } else if (zero) {
            struct buf whole = c->in;
            buf_init(&c->in, LIMIT_CDP_MESSAGE);
            cdp_message(c, &whole);
            buf_release(&whole);
        }
    }
}

static int turn(struct cdp *c, int64_t end_ms)
{
    static char bytes[READ_AT_ONCE];
    if (c->link)
        return cdp_link_turn(c, end_ms);
    for (;;) {
        cdp_flush(c);
        if (c->ended)
            return -1;
        struct pollfd fds[2] = {{c->from, POLLIN, 0},
                                {c->out.n > 0 ? c->to : -1, POLLOUT, 0}};
        int r = halt_poll(c->stop, fds, end_ms);
        if (r < 0)
            cdp_end(c, ERR_CANCELLED, "it was interrupted");
        if (r <= 0)
            return r;
        if (!fds[0].revents)
            continue;
        ssize_t n = read(c->from, bytes, sizeof(bytes));
        if (n > 0) {
            cdp_take(c, str_n(bytes, (size_t)n));
            return c->ended ? -1 : 1;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            cdp_end(c, ERR_GONE, "the browser has ended");
    }
}

int cdp_turn(struct cdp *c, int64_t end_ms)
{
    int r = turn(c, end_ms);
    if (r > 0 && c->on_turn && !c->turning) {
        c->turning = true;
        c->on_turn(c->owner);
        c->turning = false;
    }
    return c->ended ? -1 : r;
}

void cdp_forget(struct cdp *c, int id)
{
    struct cdp_pending *p = id > 0 ? find(c, id) : NULL;
    if (p)
        drop(p);
}

bool cdp_answered(const struct cdp *c, int id)
{
    for (int i = 0; id > 0 && i < CDP_PENDING_MAX; i++) {
        if (c->pending[i].id == id)
            return c->pending[i].reply || c->pending[i].text.n;
    }
    return false;
}

/* Returns the answer, or NULL and sets *e to its message if it is an error. */
static struct json *checked(struct json *reply, struct err *e)
{
    const struct json *error = json_get(reply, "error");
    if (error) {
        struct str text = json_str(error, "message", "the browser gave no reason");
        struct str data = json_str(error, "data", "");
        err_set(e, ERR_INVALID, "%.*s%s%.*s", (int)(text.n > 400 ? 400 : text.n), text.p,
                data.n ? " " : "", (int)(data.n > 100 ? 100 : data.n), data.p);
        json_free(reply);
        return NULL;
    }
    return reply;
}

/*
 * Waits until a call has its answer; on failure drops the call. Returns NULL and sets *e.
 */
static struct cdp_pending *await(struct cdp *c, int id, int64_t end_ms, struct err *e)
{
    struct cdp_pending *p = id > 0 ? find(c, id) : NULL;
    if (!p) {
        err_set(e, c->ended ? c->why.code : ERR_LIMIT, "%s",
                c->ended ? c->why.text : "too many calls to the browser are pending");
        return NULL;
    }
    while (!p->reply && !p->text.n) {
        int r = c->held && p->of_page ? 1 : cdp_turn(c, end_ms);
        if (p->reply || p->text.n)
            break;
        bool held = r > 0 && c->held && p->of_page;
        if (r == 0 || held) {
            p->unwanted = p->big;
            if (!p->big)
                drop(p);
            err_set(e, held ? ERR_BUSY : ERR_TIMEOUT, "%s",
                    held ? "a dialog of the page is open"
                         : "the browser did not answer in time");
            return NULL;
        }
        if (r < 0) {
            drop(p);
            err_set(e, c->why.code, "%s", c->why.text);
            return NULL;
        }
    }
    return p;
}

struct json *cdp_wait(struct cdp *c, int id, int64_t end_ms, struct err *e)
{
    struct cdp_pending *p = await(c, id, end_ms, e);
    if (!p)
        return NULL;
    struct json *reply = p->reply;
    p->reply = NULL;
    drop(p);
    return checked(reply, e);
}

int cdp_wait_big(struct cdp *c, int id, int64_t end_ms, struct buf *out, struct err *e)
{
    struct cdp_pending *p = await(c, id, end_ms, e);
    if (!p)
        return -1;
    buf_release(out);
    *out = p->text;
    p->text = (struct buf)BUF_INIT(0);
    drop(p);
    struct str whole = str_trim(buf_str(out));
    if (jsontext_get(whole, STR("result")).p)
        return 0;
    /* An error is short enough to be parsed into a tree. */
    struct json *reply = json_parse(whole, e);
    if (reply && (reply = checked(reply, e)))
        err_set(e, ERR_INVALID, "the browser's answer has no result");
    json_free(reply);
    return -1;
}

struct json *cdp_call(struct cdp *c, struct str session, const char *method,
                      struct json *take, int64_t end_ms, struct err *e)
{
    return cdp_wait(c, cdp_send(c, session, method, take), end_ms, e);
}
