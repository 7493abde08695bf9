/* SPDX-License-Identifier: MIT */
/* Actions of a reader without a browser, one after the other. */
#include "webpage/webreader.h"

#include "base/clock.h"
#include "base/json.h"
#include "webpage/webpage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { OPTIONS_MAX = 64, SAID_MAX = 1 << 20, WAIT_MS_MAX = 100000 };
enum { WAIT_STEP_MS = 250, WAIT_STEP_MAX = 2000 }; /* between two checks of wait_for */

static void on_done(struct webtext *w, const struct err *e)
{
    struct webreader *r = webtext_owner(w);
    r->why = e ? *e : (struct err)ERR_INIT;
    loop_stop(r->loop);
}

static void on_late(struct timer *t)
{
    loop_stop(container_of(t, struct webreader, late)->loop);
}

static void on_word(struct webreader *r)
{
    halt_check(r->halt);
    if (halt_over(r->halt))
        loop_stop(r->loop);
}

static void on_stop(struct io *io, uint32_t events)
{
    (void)events;
    on_word(container_of(io, struct webreader, stop[0]));
}

static void on_stop_too(struct io *io, uint32_t events)
{
    (void)events;
    on_word(container_of(io, struct webreader, stop[1]));
}

static void watch_halt(struct webreader *r, bool on)
{
    static io_fn *const fn[HALT_FDS] = {on_stop, on_stop_too};
    for (int i = 0; i < HALT_FDS; i++) {
        io_stop(&r->stop[i]);
        if (on && r->halt && r->halt->fds[i] >= 0)
            io_start(r->loop, &r->stop[i], r->halt->fds[i], EPOLLIN, fn[i]);
    }
    timer_stop(&r->late);
    if (on && r->halt && r->halt->end_ms) {
        int64_t left = r->halt->end_ms - clock_ms();
        timer_begin(r->loop, &r->late, left > 0 ? left : 0, on_late);
    }
}

int webreader_open(struct webreader *r, const struct webtext_spec *spec,
                   struct halt *halt, struct err *e)
{
    struct webtext_spec own = *spec;
    *r = (struct webreader){
        .loop = loop_new(), .halt = halt, .stop = {{.fd = -1}, {.fd = -1}}};
    if (!r->loop)
        return err_set(e, ERR_LIMIT, "cannot read pages: no descriptors are left");
    own.loop = r->loop;
    own.on_done = on_done;
    own.owner = r;
    const char *deny = getenv("OD_BROWSE_DENY");
    if (!own.deny && deny && deny[0])
        own.deny = deny;
    r->web = webtext_new(&own, e);
    if (!r->web) {
        loop_free(r->loop);
        return -1;
    }
    buf_init(&r->said, SAID_MAX);
    return 0;
}

void webreader_close(struct webreader *r)
{
    webtext_free(r->web);
    loop_free(r->loop);
    buf_release(&r->said);
    r->web = NULL;
}

static int interrupted(struct webreader *r)
{
    return err_set(&r->why, ERR_CANCELLED, "it was interrupted");
}

/* Runs the loop until something stops it. */
static int turn(struct webreader *r)
{
    watch_halt(r, true);
    int turned = loop_run(r->loop);
    watch_halt(r, false);
    return turned < 0 ? err_set(&r->why, ERR_INTERNAL, "the event loop failed") : 0;
}

/* Waits for the end of an action that was begun. */
static int finish(struct webreader *r, int begun)
{
    if (begun < 0)
        return -1;
    if (turn(r) < 0)
        return -1;
    if (webtext_cancel(r->web))
        return interrupted(r);
    return r->why.code ? -1 : 0;
}

static void on_waited(struct timer *t)
{
    struct webreader *r = container_of(t, struct webreader, wait);
    r->waited = true;
    loop_stop(r->loop);
}

static int wait_ms(struct webreader *r, double ms)
{
    r->waited = false;
    timer_begin(r->loop, &r->wait,
                ms < 0             ? 0
                : ms > WAIT_MS_MAX ? WAIT_MS_MAX
                                   : (int64_t)ms,
                on_waited);
    int rc = turn(r);
    timer_stop(&r->wait);
    return rc < 0 ? -1 : r->waited ? 0 : interrupted(r);
}

static double number_of(const struct browse_value *v, double dflt)
{
    return v && (v->kind == BROWSE_INT || v->kind == BROWSE_REAL) ? v->number : dflt;
}

static struct str text_of(const struct browse_value *v)
{
    return v && v->kind == BROWSE_STR ? v->text : STR("");
}

/* ---- wait_for ---- */

/* Appends a text without Markdown's marks, with blanks folded, in small letters. */
static void put_plain(struct buf *out, struct str s)
{
    bool blank = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        size_t n = i + 1;
        while (c == '[' && i && s.p[i - 1] == ']' && n < s.n && s.p[n] >= '0' &&
               s.p[n] <= '9')
            n++;
        if (n > i + 1 && n < s.n && s.p[n] == ']') {
            i = n;
        } else if ((unsigned char)c <= ' ') {
            blank = out->n > 0;
        } else if (!strchr("[]*_`#>|\\", c)) {
            if (blank)
                buf_addc(out, ' ');
            blank = false;
            buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
        }
    }
}

static bool has_bid(const struct webreader *r, struct str bid)
{
    const struct json *i = json_first(webtext_items(r->web));
    while (i && !(bid.n && str_eq(json_str(i, "bid", ""), bid)))
        i = json_next(i);
    return i != NULL;
}

static bool has_text(const struct webreader *r, struct str text)
{
    struct buf page = BUF_INIT(WEBPAGE_TEXT_MAX + (1 << 20));
    struct buf plain = BUF_INIT(WEBPAGE_TEXT_MAX + (1 << 20)), want = BUF_INIT(4 << 20);
    webtext_observe(r->web, &page);
    put_plain(&plain, buf_str(&page));
    put_plain(&want, text);
    bool has = want.n ? str_find(buf_str(&plain), buf_str(&want)) >= 0
                      : str_find(buf_str(&page), text) >= 0;
    buf_release(&page);
    buf_release(&plain);
    buf_release(&want);
    return has;
}

/*
 * A page does not change by itself here: it is fetched again at growing intervals until
 * the time is over, unless that would send a form again or lose what was filled in.
 */
static int wait_for(struct webreader *r, const struct browse_bound *b)
{
    struct browse_wanted w;
    if (browse_wanted(&w, b, &r->why) < 0)
        return -1;
    if (w.selector.p)
        return err_set(&r->why, ERR_UNSUPPORTED,
                       "wait_for(selector=…) needs a browser, and this page is read "
                       "without one: wait for a text or a bid");
    int64_t end = clock_ms() + w.ms;
    for (int step = WAIT_STEP_MS;; step = step < WAIT_STEP_MAX ? 2 * step : step) {
        struct str bid = w.bid.p ? w.bid : w.any, text = w.text.p ? w.text : w.any;
        if ((bid.p && has_bid(r, bid)) || (text.p && has_text(r, text)))
            return 0;
        int64_t left = end - clock_ms();
        if (left <= 0 || !webtext_can_reload(r->web))
            return browse_wanted_late(
                &w, w.ms, left > 0 ? "without scripts this page does not change" : NULL,
                &r->why);
        if (wait_ms(r, left < step ? (double)left : step) < 0 ||
            finish(r, webtext_reload(r->web, &r->why)) < 0)
            return -1;
    }
}

static int choose(struct webreader *r, const struct browse_bound *b)
{
    struct str options[OPTIONS_MAX];
    size_t n = 0;
    const struct browse_value *list = b->arg[1];
    if (list && list->kind == BROWSE_STR)
        options[n++] = list->text;
    for (struct browse_value *i = list ? list->items : NULL; i && n < OPTIONS_MAX;
         i = i->next)
        options[n++] = text_of(i);
    return webtext_select(r->web, text_of(b->arg[0]), options, n, &r->why);
}

static int act(struct webreader *r, const struct browse_call *c)
{
    struct browse_bound b;
    r->why = (struct err)ERR_INIT;
    if (browse_bind(&b, c, &r->why) < 0)
        return -1;
    struct str bid = text_of(b.arg[0]);
    switch (c->what) {
    case BROWSE_NOOP:
        return wait_ms(r, number_of(b.arg[0], 1000));
    case BROWSE_SCROLL:
    case BROWSE_HOVER:
    case BROWSE_FOCUS:
        return 0; /* the whole page is already there */
    case BROWSE_SEND_MSG:
    case BROWSE_INFEASIBLE:
        return buf_addf(&r->said, "%.*s\n", STR_ARG(bid));
    case BROWSE_GOTO:
        return webreader_goto(r, bid);
    case BROWSE_NEW_TAB:
        return webtext_tab_new(r->web, &r->why);
    case BROWSE_TAB_CLOSE:
        return webtext_tab_close(r->web, &r->why);
    case BROWSE_TAB_FOCUS:
        return webtext_tab_focus(r->web,
                                 b.arg[0]->kind == BROWSE_INT &&
                                         b.arg[0]->number > -1e6 && b.arg[0]->number < 1e6
                                     ? (int64_t)b.arg[0]->number
                                     : WEBTEXT_TABS_MAX,
                                 &r->why);
    case BROWSE_GO_BACK:
        return finish(r, webtext_back(r->web, &r->why));
    case BROWSE_GO_FORWARD:
        return finish(r, webtext_forward(r->web, &r->why));
    case BROWSE_CLICK:
    case BROWSE_CHECK:
    case BROWSE_UNCHECK:
        return finish(r, webtext_click(r->web, bid, &r->why));
    case BROWSE_FILL:
        return finish(r, webtext_fill(r->web, bid, text_of(b.arg[1]), &r->why));
    case BROWSE_CLEAR:
        return finish(r, webtext_fill(r->web, bid, STR(""), &r->why));
    case BROWSE_SELECT:
        return finish(r, choose(r, &b));
    case BROWSE_WAIT_FOR:
        return wait_for(r, &b);
    case BROWSE_RELOAD:
        return finish(r, webtext_reload(r->web, &r->why));
    case BROWSE_PRESS:
        return finish(r, webtext_press(r->web, bid, text_of(b.arg[1]), &r->why));
    default:
        return err_set(&r->why, ERR_UNSUPPORTED,
                       "%.*s needs a browser, and this page is read without one",
                       STR_ARG(c->name));
    }
}

int webreader_goto(struct webreader *r, struct str url)
{
    r->why = (struct err)ERR_INIT;
    return finish(r, webtext_goto(r->web, url, &r->why));
}

int webreader_act(struct webreader *r, struct str actions)
{
    struct browse_text t;
    struct err why = ERR_INIT;
    r->why = (struct err)ERR_INIT;
    buf_reset(&r->said);
    int rc = browse_parse(&t, actions, &r->why, &why);
    if (rc < 0 && why.code) {
        struct err e = r->why;
        err_set(&r->why, ERR_INVALID, "%s (%s)", e.text, why.text);
    }
    r->did = (struct browse_progress){.all = rc == 0 ? t.n : 0};
    while (rc == 0 && r->did.done < t.n) {
        const struct browse_call *c = &t.calls[r->did.done];
        r->did.name = c->name;
        rc = halt_over(r->halt) ? interrupted(r) : act(r, c);
        r->did.done += rc == 0;
    }
    browse_text_release(&t);
    return rc;
}

/* ---- the page as a tree ---- */

struct json *webreader_tabs(const struct webreader *r)
{
    struct json *tabs = json_array();
    for (int i = 0; i < webtext_tabs(r->web); i++) {
        struct json *tab = json_object();
        json_put_z(tab, "url", webtext_tab_url(r->web, i));
        json_put_z(tab, "title", webtext_tab_title(r->web, i));
        json_push(tabs, tab);
    }
    return tabs;
}

/*
 * Finds an item. Items come nearly in the order of the text: searches after *last first.
 */
static const struct json *item_of(const struct webreader *r, struct str bid,
                                  const struct json **last)
{
    const struct json *begin = *last ? json_next(*last) : NULL;
    for (int turn = 0; turn < 2; turn++) {
        for (const struct json *i = begin ? begin : json_first(webtext_items(r->web)); i;
             i = json_next(i)) {
            if (str_eq(json_str(i, "bid", ""), bid)) {
                *last = i;
                return i;
            }
        }
        if (!begin)
            break;
        begin = NULL;
    }
    return NULL;
}

static int put_member(struct buf *out, const struct json *item, const char *before,
                      const char *name)
{
    struct str s = json_str(item, name, "");
    if (s.n == 0)
        return 0;
    return buf_addz(out, before) < 0 ? -1 : webpage_quote(out, s);
}

static int put_item(struct buf *out, const struct json *item)
{
    int rc = buf_addf(out, "\n\t[%.*s] %.*s ", STR_ARG(json_str(item, "bid", "")),
                      STR_ARG(json_str(item, "role", "")));
    if (rc == 0)
        rc = webpage_quote(out, json_str(item, "name", ""));
    if (rc == 0)
        rc = put_member(out, item, " value=", "value");
    if (rc == 0)
        rc = put_member(out, item, ", url=", "url");
    if (rc == 0 && json_has(item, "checked"))
        rc = buf_addf(out, ", checked='%s'",
                      json_bool(item, "checked", false) ? "true" : "false");
    if (rc == 0 && json_bool(item, "disabled", false))
        rc = buf_addz(out, ", disabled=True");
    return rc;
}

/* Appends the items whose numbers are in a line: `[text][3]` and `[4: button 'Send']`. */
static int put_items(const struct webreader *r, struct str line, const struct json **last,
                     struct buf *out)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i + 1 < line.n; i++) {
        size_t n = i + 1;
        while (n < line.n && line.p[n] >= '0' && line.p[n] <= '9')
            n++;
        if (line.p[i] != '[' || n == i + 1 || n == line.n ||
            (line.p[n] != ':' && line.p[n] != ']'))
            continue;
        const struct json *item = item_of(r, str_sub(line, i + 1, n - i - 1), last);
        if (item)
            rc = put_item(out, item);
        i = n;
    }
    return rc;
}

int webreader_outline(const struct webreader *r, struct buf *out)
{
    struct buf page = BUF_INIT(WEBPAGE_TEXT_MAX + (1 << 20));
    const struct json *last = NULL;
    int rc = webtext_observe(r->web, &page);
    if (rc == 0)
        rc = buf_addz(out, "RootWebArea ");
    if (rc == 0)
        rc = webpage_quote(out, str_of(webtext_title(r->web)));
    if (rc == 0)
        rc = buf_addz(out, ", url=");
    if (rc == 0)
        rc = webpage_quote(out, str_of(webtext_url(r->web)));
    for (struct str rest = buf_str(&page); rc == 0 && rest.n > 0;) {
        struct str line = str_cut(&rest, '\n');
        if (str_trim(line).n == 0)
            continue;
        rc = buf_addz(out, "\n\tStaticText ");
        if (rc == 0)
            rc = webpage_quote(out, line);
        if (rc == 0)
            rc = put_items(r, line, &last, out);
    }
    buf_release(&page);
    return rc;
}
