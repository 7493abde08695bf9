/* SPDX-License-Identifier: MIT */
/* Viewers of a browser, their pace, and who drives. */
#include "browser/screen_own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "browser/browsing_own.h"

#include <stdio.h>
#include <stdlib.h>

enum { SECOND_MS = 1000 };

/* ---- screens ---- */

static struct screens *screens_of(struct engine *en)
{
    if (!en->screens) {
        en->screens = xnew(struct screens);
        list_init(&en->screens->all);
    }
    return en->screens;
}

/* Returns the screen of a session; NULL if nobody watches or drives. */
static struct audience *screen_find(struct engine *en, struct str session)
{
    struct list *it, *tmp;
    if (!en->screens)
        return NULL;
    list_each (it, tmp, &en->screens->all) {
        struct audience *s = list_entry(it, struct audience, node);
        if (str_eq(session, str_of(s->session)))
            return s;
    }
    return NULL;
}

static struct audience *make(struct engine *en, struct str session)
{
    struct audience *s = xnew(struct audience);
    s->en = en;
    snprintf(s->session, sizeof(s->session), "%.*s", STR_ARG(session));
    list_init(&s->viewers);
    s->tabs = json_array();
    buf_init(&s->frame, SCREEN_FRAME_MAX);
    buf_init(&s->text, 1 << 20);
    buf_init(&s->trouble, 4096);
    list_add_tail(&screens_of(en)->all, &s->node);
    return s;
}

static void bury(void *p)
{
    struct audience *s = p;
    json_free(s->tabs);
    json_free(s->dialog);
    buf_release(&s->frame);
    buf_release(&s->text);
    buf_release(&s->trouble);
    free(s);
}

/* Frees a screen that nobody uses any more. */
static void end_unused(struct audience *s)
{
    if (!list_empty(&s->viewers) || s->driver_name[0])
        return;
    screen_link_close(s);
    timer_stop(&s->lapse);
    timer_stop(&s->second);
    list_del(&s->node);
    loop_bury(s->en->loop, s, bury);
}

void screen_set_log(struct engine *en, const struct screen_log *log)
{
    screens_of(en)->log = log;
}

void screen_tell(struct audience *s, unsigned news)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->viewers) {
        struct screen_viewer *v = list_entry(it, struct screen_viewer, node);
        v->calls->news(v, news);
    }
}

void screen_facts(const struct screen_viewer *v, struct screen_facts *out)
{
    const struct audience *s = v->screen;
    *out = (struct screen_facts){
        .state = s->state,
        .why = "this session has no browser: an action browse or page opens it",
        .text = buf_str(&s->text),
        .tabs = s->tabs,
        .dialog = s->dialog,
        .x = s->x,
        .y = s->y,
        .driver = s->driver_name[0] ? s->driver_name : NULL,
        .driving = s->driver,
        .trouble = buf_z(&s->trouble),
        .session = s->session};
    for (const struct list *it = s->viewers.next; it != &s->viewers; it = it->next)
        out->viewers++;
}

/* ---- pictures ---- */

static int64_t period_of(const struct screen_viewer *v)
{
    int most = v->screen->driver == v ? SCREEN_FPS_DRIVER : SCREEN_FPS;
    int fps = v->screen->driver == v || v->fps > most ? most : v->fps;
    return 1000 / (fps > 0 ? fps : 1);
}

static void offer(struct screen_viewer *v);

static void on_due(struct timer *t) { offer(container_of(t, struct screen_viewer, due)); }

/*
 * A timer runs only for a viewer that is ready to paint but whose next picture is not due
 * yet.
 */
static void offer(struct screen_viewer *v)
{
    struct audience *s = v->screen;
    int64_t now = clock_ms(), wait = v->shown_ms + period_of(v) - now;
    if (!v->ready)
        return;
    if (wait > 0 && v->shown) {
        timer_begin(s->en->loop, &v->due, wait, on_due);
        return;
    }
    timer_stop(&v->due);
    if (s->seq == v->shown || s->frame.n == 0) {
        screen_link_ask(s);
        return;
    }
    struct screen_frame f = s->known[s->seq % SCREEN_FRAMES_KNOWN];
    f.jpeg = buf_str(&s->frame);
    v->ready = false;
    if (v->calls->frame(v, &f)) {
        v->shown = f.seq;
        v->shown_ms = now;
    }
}

void screen_offer(struct audience *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->viewers)
        offer(list_entry(it, struct screen_viewer, node));
}

void screen_seen(struct screen_viewer *v, uint32_t seq)
{
    if (!v->screen || seq != v->shown || v->ready)
        return;
    v->ready = true;
    offer(v);
}

void screen_again(struct screen_viewer *v)
{
    if (!v->screen)
        return;
    v->ready = true;
    offer(v);
}

/* ---- viewers ---- */

int screen_watch(struct engine *en, struct str session, struct screen_viewer *v,
                 struct err *e)
{
    struct screens *all = screens_of(en);
    if (companion_check_name(&browsing_kind, session, e) < 0)
        return -1;
    if (all->viewers >= SCREEN_VIEWERS_MAX)
        return err_set(e, ERR_LIMIT, "%d people watch browsers already",
                       SCREEN_VIEWERS_MAX);
    struct audience *s = screen_find(en, session);
    all->viewers++;
    v->screen = s ? s : make(en, session);
    v->ready = true;
    list_add_tail(&v->screen->viewers, &v->node);
    screen_link_open(v->screen);
    screen_link_want(v->screen);
    screen_tell(v->screen, SCREEN_DRIVER);
    offer(v);
    return 0;
}

static void set_driver(struct audience *s, struct screen_viewer *v, const char *name);

void screen_leave(struct screen_viewer *v, bool stays)
{
    struct audience *s = v->screen;
    if (!s)
        return;
    v->screen = NULL;
    timer_stop(&v->due);
    list_del(&v->node);
    s->en->screens->viewers--;
    if (s->driver == v)
        set_driver(s, NULL, stays ? v->name : "");
    if (list_empty(&s->viewers))
        screen_link_close(s);
    else {
        screen_link_want(s);
        screen_tell(s, SCREEN_DRIVER);
    }
    end_unused(s);
}

/* ---- who drives ---- */

static void tell_typed(struct audience *s)
{
    const struct screen_log *log = s->en->screens->log;
    unsigned n = s->typed;
    s->typed = 0;
    timer_stop(&s->second);
    if (n && log)
        log->typed(log, s->session, s->driver_name, n);
}

static void on_second(struct timer *t)
{
    tell_typed(container_of(t, struct audience, second));
}

static void on_lapse(struct timer *t)
{
    struct audience *s = container_of(t, struct audience, lapse);
    set_driver(s, NULL, "");
    end_unused(s);
}

/* Sets the driver. name "": nobody drives. v NULL with a name: the lease lapses. */
static void set_driver(struct audience *s, struct screen_viewer *v, const char *name)
{
    const struct screen_log *log = s->en->screens->log;
    struct browsing *b = browsing_lookup(s->en, str_of(s->session));
    struct json *j = json_object();
    bool was = s->driver_name[0] != '\0';
    tell_typed(s);
    if (log && was && strcmp(s->driver_name, name) != 0)
        log->driven(log, s->session, s->driver_name, false);
    if (log && name[0] && strcmp(s->driver_name, name) != 0)
        log->driven(log, s->session, name, true);
    s->driver = v;
    if (name != s->driver_name)
        snprintf(s->driver_name, sizeof(s->driver_name), "%s", name);
    timer_stop(&s->lapse);
    if (!v && name[0])
        timer_begin(s->en->loop, &s->lapse, SCREEN_LAPSE_MS, on_lapse);
    json_put_bool(j, "drive", name[0] != '\0');
    screen_link_send(s, j);
    if (b && was != (name[0] != '\0')) {
        browsing_save_and_ask(b, STR(""));
        companion_turn_later(&b->host);
    }
    screen_tell(s, SCREEN_DRIVER);
    if (v)
        offer(v); /* its pace has changed */
}

const char *screen_driver(struct engine *en, struct str session)
{
    const struct audience *s = screen_find(en, session);
    return s && s->driver_name[0] ? s->driver_name : NULL;
}

void screen_resume(struct engine *en, struct str session, struct str driver)
{
    struct audience *s = make(en, session);
    snprintf(s->driver_name, sizeof(s->driver_name), "%.*s", STR_ARG(driver));
    timer_begin(en->loop, &s->lapse, SCREEN_LAPSE_MS, on_lapse);
}

void screen_host_listens(struct engine *en, struct str session)
{
    struct audience *s = screen_find(en, session);
    if (s)
        screen_link_open(s);
}

int screen_drive(struct screen_viewer *v, enum screen_drive how, struct err *e)
{
    struct audience *s = v->screen;
    if (how == SCREEN_GIVE) {
        if (s->driver == v)
            set_driver(s, NULL, "");
        return 0;
    }
    if (how == SCREEN_TAKE && s->driver && s->driver != v)
        return err_set(e, ERR_DENIED, "%s drives; \"steal\" takes it over",
                       s->driver_name);
    if (s->driver != v)
        set_driver(s, v, v->name);
    return 0;
}

/* ---- input ---- */

static int want_kind(const struct json *m, const char *const *kinds, struct err *e)
{
    struct str kind = json_str(m, "kind", "");
    for (const char *const *k = kinds; *k; k++) {
        if (str_eq(kind, str_of(*k)))
            return 0;
    }
    return err_set(e, ERR_INVALID, "kind is not valid for this input");
}

static int want_range(const struct json *m, const char *name, double from, double to,
                      double *out, struct err *e)
{
    if (json_want_num(m, name, out, e) < 0)
        return -1;
    if (!(*out >= from && *out <= to))
        return err_set(e, ERR_INVALID, "%s must be from %g to %g", name, from, to);
    return 0;
}

/*
 * Returns the same object for the host, with pixels instead of fractions; NULL and sets
 * *e.
 */
static struct json *read_mouse(const struct audience *s, const struct json *m,
                               struct err *e)
{
    static const char *const kinds[] = {"down", "up", "move", "wheel", NULL};
    static const char *const buttons[] = {"left", "right", "middle", "none"};
    double x = -1, y = -1, dx = 0, dy = 0, clicks = 1, mods = 0;
    int64_t at = 0;
    struct str button = STR("left");
    if (want_kind(m, kinds, e) < 0 || json_want_int(m, "at", &at, e) < 0 ||
        json_want_str(m, "button", &button, e) < 0 ||
        want_range(m, "x", 0, 1, &x, e) < 0 || want_range(m, "y", 0, 1, &y, e) < 0 ||
        want_range(m, "dx", -100000, 100000, &dx, e) < 0 ||
        want_range(m, "dy", -100000, 100000, &dy, e) < 0 ||
        want_range(m, "clicks", 1, 3, &clicks, e) < 0 ||
        want_range(m, "mods", 0, 15, &mods, e) < 0)
        return NULL;
    size_t i = 0;
    while (i < 4 && !str_eq(button, str_of(buttons[i])))
        i++;
    if (i == 4) {
        err_set(e, ERR_INVALID, "button must be left, right, middle or none");
        return NULL;
    }
    const struct screen_frame *f = at > 0 && at <= s->seq
                                       ? &s->known[at % SCREEN_FRAMES_KNOWN]
                                       : NULL;
    if (!f || f->seq != at || !f->width || !f->height) {
        err_set(e, f ? ERR_GONE : ERR_INVALID,
                "at must be the number of one of the last %d frames",
                SCREEN_FRAMES_KNOWN);
        return NULL;
    }
    struct json *j = json_object(), *out = json_object();
    json_put_str(out, "kind", json_str(m, "kind", ""));
    json_put_num(out, "x", x * f->width);
    json_put_num(out, "y", y * f->height);
    json_put_str(out, "button", button);
    json_put_int(out, "clicks", (int64_t)clicks);
    json_put_int(out, "mods", (int64_t)mods);
    json_put_num(out, "dx", dx);
    json_put_num(out, "dy", dy);
    json_put(j, "mouse", out);
    return j;
}

static struct json *read_key(const struct json *m, struct err *e)
{
    static const char *const kinds[] = {"down", "up", NULL};
    struct str key = STR(""), code = STR("");
    double mods = 0;
    if (want_kind(m, kinds, e) < 0 || json_want_str(m, "key", &key, e) < 0 ||
        json_want_str(m, "code", &code, e) < 0 ||
        want_range(m, "mods", 0, 15, &mods, e) < 0)
        return NULL;
    if (key.n == 0 || key.n > 32 || code.n > 32) {
        err_set(e, ERR_INVALID, "key has 1 to 32 bytes, and code 32 at most");
        return NULL;
    }
    struct json *j = json_object(), *out = json_object();
    json_put_str(out, "kind", json_str(m, "kind", ""));
    json_put_str(out, "key", key);
    json_put_str(out, "code", code);
    json_put_int(out, "mods", (int64_t)mods);
    json_put(j, "key", out);
    return j;
}

static struct json *read_text(const struct json *q, const char *name, const char *as,
                              size_t max, struct err *e)
{
    struct str text = STR("");
    if (json_want_str(q, name, &text, e) < 0)
        return NULL;
    if (text.n == 0 || text.n > max) {
        err_set(e, ERR_INVALID, "%s has 1 to %zu bytes", name, max);
        return NULL;
    }
    struct json *j = json_object();
    json_put_str(j, as, text);
    return j;
}

static struct json *read_go(const struct json *q, struct str cwd, struct err *e)
{
    struct buf address = BUF_INIT(2 * SCREEN_PASTE_MAX);
    struct json *given = read_text(q, "go", "go", SCREEN_PASTE_MAX, e);
    if (given) {
        browsing_address(&address, cwd, str_trim(json_str(given, "go", "")));
        json_put_str(given, "go", buf_str(&address));
    }
    buf_release(&address);
    return given;
}

static struct json *read_steps(const struct json *q, const char *name, struct err *e)
{
    int64_t n = 1;
    if (json_want_int(q, name, &n, e) < 0)
        return NULL;
    if (n == 0 || n < -50 || n > 50) {
        err_set(e, ERR_INVALID, "%s must be a number of pages, -50 to 50, not 0", name);
        return NULL;
    }
    struct json *j = json_object();
    json_put_int(j, name, n);
    return j;
}

static struct json *read_dialog(const struct json *q, struct err *e)
{
    bool accept = false;
    struct str text = STR("");
    if (json_want_bool(q, "dialog", &accept, e) < 0 ||
        json_want_str(q, "text", &text, e) < 0)
        return NULL;
    struct json *j = json_object();
    json_put_bool(j, "dialog", accept);
    if (json_has(q, "text"))
        json_put_str(j, "text", str_sub(text, 0, SCREEN_PASTE_MAX));
    return j;
}

static struct json *read_input(const struct audience *s, const struct json *q,
                               struct str cwd, struct err *e)
{
    if (json_has(q, "dialog"))
        return read_dialog(q, e);
    if (json_has(q, "mouse"))
        return read_mouse(s, json_get(q, "mouse"), e);
    if (json_has(q, "key"))
        return read_key(json_get(q, "key"), e);
    if (json_has(q, "text"))
        return read_text(q, "text", "text", SCREEN_PASTE_MAX, e);
    if (json_has(q, "paste"))
        return read_text(q, "paste", "text", SCREEN_PASTE_MAX, e);
    if (json_has(q, "go"))
        return read_go(q, cwd, e);
    if (json_has(q, "back"))
        return read_steps(q, "back", e);
    if (json_has(q, "reload"))
        return read_steps(q, "reload", e);
    if (json_has(q, "tab"))
        return read_text(q, "tab", "tab", 128, e);
    err_set(e, ERR_INVALID, "a message has one of the members that the protocol names");
    return NULL;
}

int screen_input(struct screen_viewer *v, const struct json *q, struct str cwd,
                 struct err *e)
{
    struct audience *s = v->screen;
    struct json *j = read_input(s, q, cwd, e);
    if (!j)
        return -1;
    if (s->driver != v) {
        json_free(j);
        return err_set(e, ERR_DENIED, "only the driver can do that: {\"drive\":true}");
    }
    if (s->state != SCREEN_OPEN) {
        json_free(j);
        return s->state == SCREEN_TEXT
                   ? err_set(e, ERR_UNSUPPORTED,
                             "there is no Chromium in this sandbox: pages are only read")
                   : err_set(e, ERR_NOTFOUND,
                             "this session has no browser: an action opens it");
    }
    engine_touch(s->en);
    if (screen_link_send(s, j) < 0)
        return err_set(e, ERR_BUSY, "the browser is busy and reads nothing now");
    s->typed++;
    if (!timer_active(&s->second))
        timer_begin(s->en->loop, &s->second, SECOND_MS, on_second);
    return 0;
}
