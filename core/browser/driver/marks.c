/* SPDX-License-Identifier: MIT */
/*
 * Boxes of elements, which of them can be clicked, and a picture with these marked.
 *
 * The page is not changed: boxes come from the snapshot, the element at a place from
 * DOM.getNodeForLocation, and the marks are drawn over the finished picture, in a blank
 * page of a separate browser context that no list of tabs has. They are the set of marks
 * of BrowserGym (overlay_som of its utils/obs.py). Opening that page takes longer than
 * drawing in it, so it stays for the next picture, except in a browser that another
 * program started, where it could be seen.
 */
#include "browser/driver/snapshot_own.h"

#include "base/enc.h"
#include "base/jsontext.h"
#include "base/xalloc.h"
#include "browser/driver/js.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { AREA_MIN = 20, CANDIDATES_MAX = 2000, AT_ONCE = 48, PICTURE_MAX = 64 << 20 };

/* ---- boxes ---- */

static struct str column(struct str object, struct str name)
{
    return jsontext_inside(jsontext_get(object, name));
}

static struct box read_box(struct str bounds)
{
    double v[4] = {0};
    struct str in = jsontext_inside(bounds), n;
    for (int i = 0; i < 4 && jsontext_item(&in, &n); i++)
        v[i] = jsontext_num(n, 0);
    return (struct box){v[0], v[1], v[2], v[3]};
}

static bool has_word(struct str list, const struct words *w, enum snap_word word,
                     int step)
{
    struct str in = jsontext_inside(list), v;
    for (int i = 0; jsontext_item(&in, &v); i++) {
        if (i % step == 0 && snap_word_at(w, jsontext_int(v, -1)) == word)
            return true;
    }
    return false;
}

void snap_read_boxes(struct snap_frame *f, struct str document, const struct words *w)
{
    struct str layout = jsontext_get(document, STR("layout")), at, style, bounds, a;
    struct str places = column(layout, STR("nodeIndex"));
    struct str styles = column(layout, STR("styles"));
    struct str boxes = column(layout, STR("bounds"));
    struct str attributes = column(jsontext_get(document, STR("nodes")), //
                                   STR("attributes"));
    f->scroll_x = jsontext_num(jsontext_get(document, STR("scrollOffsetX")), 0);
    f->scroll_y = jsontext_num(jsontext_get(document, STR("scrollOffsetY")), 0);
    f->boxes = xcalloc((size_t)f->n + 1, sizeof(*f->boxes));
    while (jsontext_item(&places, &at) && jsontext_item(&styles, &style) &&
           jsontext_item(&boxes, &bounds)) {
        int64_t i = jsontext_int(at, -1);
        if (i < 0 || i >= f->n || has_word(style, w, SNAP_HIDDEN, 1))
            continue;
        f->boxes[i] = read_box(bounds);
        if (has_word(style, w, SNAP_POINTER, 1))
            f->nodes[i].flags |= IS_ACTIVE;
    }
    for (int i = 0; i < f->n && jsontext_item(&attributes, &a); i++) {
        if (has_word(a, w, SNAP_ONCLICK, 2))
            f->nodes[i].flags |= IS_ACTIVE;
    }
}

static struct snap_frame *first_of(struct snapshot *l, const char *session)
{
    for (int i = 0; i < l->n; i++) {
        if (strcmp(l->frames[i].session, session) == 0)
            return &l->frames[i];
    }
    return &l->frames[0];
}

static struct box clipped(struct box a, struct box b)
{
    double left = fmax(a.x, b.x), top = fmax(a.y, b.y);
    double w = fmin(a.x + a.w, b.x + b.w) - left, h = fmin(a.y + a.h, b.y + b.h) - top;
    return (struct box){left, top, fmax(w, 0), fmax(h, 0)};
}

/* The box of a frame in the page's viewport, and its visible part. */
static void place_frame(struct snapshot *l, struct snap_frame *f)
{
    const struct box viewport = {0, 0, l->b->width, l->b->height};
    struct err e = ERR_INIT;
    f->place = viewport;
    if (!f->owner)
        return;
    struct snap_frame *up = first_of(l, f->owner_session);
    struct json *p = json_object();
    json_put_int(p, "backendNodeId", f->owner);
    struct json *j = browser_ask(l->b, str_of(f->owner_session), "DOM.getBoxModel", p,
                                 &e);
    const struct json *model = json_get(json_get(j, "result"), "model");
    double q[6] = {0};
    int i = 0;
    for (const struct json *n = json_first(json_get(model, "content")); n && i < 6;
         n = json_next(n))
        q[i++] = json_num_value(n, 0);
    json_free(j);
    struct box box = {up->place.x + q[0], up->place.y + q[1], q[4] - q[0], q[5] - q[1]};
    f->place = box;
    f->shown = clipped(box, up->shown);
}

/* The box of an element in the page's viewport. */
static struct box box_of(const struct snap_frame *f, int i)
{
    struct box b = f->boxes[i];
    b.x += f->place.x - f->scroll_x;
    b.y += f->place.y - f->scroll_y;
    return b;
}

/* ---- which elements are marked ---- */

struct candidate {
    struct snap_frame *f;
    int node, asked;
    bool open, marked; /* not covered by another element */
};

static int node_of(const struct snap_frame *f, int64_t id)
{
    for (int i = 0; i < f->n; i++) {
        if (f->nodes[i].id == id)
            return i;
    }
    return -1;
}

static bool is_below(const struct snap_frame *f, int node, int above)
{
    while (node > above)
        node = f->nodes[node].parent;
    return node == above;
}

static void ask_hit(struct snapshot *l, struct candidate *c)
{
    const struct snap_frame *root = first_of(l, c->f->session);
    struct box b = box_of(c->f, c->node);
    struct json *p = json_object();
    json_put_int(p, "x", (int64_t)(b.x + b.w / 2 - root->place.x));
    json_put_int(p, "y", (int64_t)(b.y + b.h / 2 - root->place.y));
    c->asked = cdp_send(&l->b->cdp, str_of(c->f->session), "DOM.getNodeForLocation", p);
}

static void judge_hit(struct snapshot *l, struct candidate *c)
{
    struct err e = ERR_INIT;
    struct json *j = cdp_wait(&l->b->cdp, c->asked, browser_in(BROWSER_CALL_MS), &e);
    int64_t id = json_int(json_get(j, "result"), "backendNodeId", 0);
    json_free(j);
    int at = id ? node_of(c->f, id) : -1;
    c->open = at >= 0 ? is_below(c->f, at, c->node)
                      : id && (c->f->nodes[c->node].flags & IS_FRAME);
}

/* Finds elements that can be clicked, in the order of the document. */
static size_t find_candidates(struct snapshot *l, struct candidate *all, bool whole)
{
    size_t n = 0;
    for (int k = 0; k < l->n; k++) {
        struct snap_frame *f = &l->frames[k];
        for (int i = 0; i < f->n && n < CANDIDATES_MAX; i++) {
            struct box b = box_of(f, i);
            double x = b.x + b.w / 2, y = b.y + b.h / 2;
            unsigned flags = f->nodes[i].flags;
            bool inside = x >= f->shown.x && y >= f->shown.y &&
                          x < f->shown.x + f->shown.w && y < f->shown.y + f->shown.h;
            if ((flags & (IS_ELEMENT | IS_ACTIVE | IS_PRIVATE)) !=
                    (IS_ELEMENT | IS_ACTIVE) ||
                b.w * b.h < AREA_MIN || (!inside && !(whole && k == 0)))
                continue;
            all[n++] = (struct candidate){f, i, inside ? 0 : -1, !inside, false};
        }
    }
    return n;
}

/*
 * An element within another takes over its mark, unless the other is a button or a link.
 */
static void mark(struct candidate *all, size_t n, struct candidate *c)
{
    for (struct candidate *up = all; up < c; up++) {
        if (up->marked && up->f == c->f && is_below(c->f, c->node, up->node) &&
            (c->f->nodes[up->node].flags & IS_BUTTON))
            return;
    }
    for (struct candidate *up = all; up < c; up++) {
        if (up->marked && up->f == c->f && is_below(c->f, c->node, up->node))
            up->marked = false;
    }
    c->marked = n > 0;
}

static size_t find_marked(struct snapshot *l, struct candidate *all, bool whole)
{
    size_t n = find_candidates(l, all, whole);
    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t to = from + AT_ONCE < n ? from + AT_ONCE : n;
        for (size_t i = from; i < to; i++) {
            if (!all[i].asked)
                ask_hit(l, &all[i]);
        }
        for (size_t i = from; i < to; i++) {
            if (all[i].asked > 0)
                judge_hit(l, &all[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (all[i].open)
            mark(all, n, &all[i]);
    }
    return n;
}

/* ---- the answer ---- */

static struct element *element_at(const struct snap_frame *f, int i)
{
    return f->document ? map_get(&f->document->bids, snap_key(&f->nodes[i].id)) : NULL;
}

/* BrowserGym's extra_element_properties. */
static void put_properties(const struct snapshot *l, struct buf *out)
{
    buf_addc(out, '{');
    for (int k = 0; k < l->n; k++) {
        const struct snap_frame *f = &l->frames[k];
        for (int i = 0; i < f->n; i++) {
            const struct element *el = element_at(f, i);
            struct box b = box_of(f, i), shown = clipped(b, f->shown);
            if (!el)
                continue;
            buf_addf(out, "%s\"%s\":{\"visibility\":", out->n > 1 ? "," : "", el->bid);
            if (b.w * b.h > 0)
                buf_addf(out, "%.2f,\"bbox\":[%g,%g,%g,%g]",
                         shown.w * shown.h / (b.w * b.h), b.x, b.y, b.w, b.h);
            else
                buf_addz(out, "0,\"bbox\":null");
            buf_addf(out, ",\"clickable\":%s,\"set_of_marks\":%s}",
                     el->clickable ? "true" : "false",
                     f->nodes[i].flags & IS_MARKED ? "true" : "false");
        }
    }
    buf_addc(out, '}');
    snap_whole(l, out, "the properties of the elements");
}

/* [x, y, width, height, bid] of each, in the picture. */
static void put_marks(struct snapshot *l, const struct candidate *all, size_t n,
                      const struct browser_want *want, struct buf *out)
{
    bool whole = want->whole;
    double k = want->scale > 0 ? want->scale : 1;
    double x = whole ? l->frames[0].scroll_x : 0, y = whole ? l->frames[0].scroll_y : 0;
    buf_reset(out);
    buf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        struct element *el = element_at(all[i].f, all[i].node);
        struct box b = box_of(all[i].f, all[i].node);
        char ref[16];
        if (!all[i].marked || !el)
            continue;
        snprintf(ref, sizeof(ref), "e%u", l->refs ? snap_ref(l->b, el) : 0);
        buf_addf(out, "%s[%.0f,%.0f,%.0f,%.0f,\"%s\"]", out->n > 1 ? "," : "",
                 (b.x + x) * k, (b.y + y) * k, b.w * k, b.h * k, l->refs ? ref : el->bid);
    }
    buf_addc(out, ']');
    snap_whole(l, out, "the marks");
}

void snap_mark(struct snapshot *l, const struct browser_want *want,
               struct browser_seen *out)
{
    struct candidate *all = xcalloc(CANDIDATES_MAX, sizeof(*all));
    for (int i = 0; i < l->n; i++) {
        l->frames[i].shown = (struct box){0, 0, l->b->width, l->b->height};
        place_frame(l, &l->frames[i]);
    }
    size_t n = find_marked(l, all, want->whole);
    for (size_t i = 0; i < n; i++) {
        if (all[i].marked)
            all[i].f->nodes[all[i].node].flags |= IS_MARKED;
    }
    put_marks(l, all, n, want, &l->b->marks);
    if (want->properties)
        put_properties(l, &out->properties);
    free(all);
}

/* ---- the picture ---- */

static struct json *ask_id(struct browser *b, const char *method, const char *name,
                           const char *value, struct err *e)
{
    struct json *p = json_object();
    json_put_z(p, name, value);
    if (strcmp(method, "Target.createTarget") == 0)
        json_put_z(p, "browserContextId", b->studio.context);
    if (strcmp(method, "Target.attachToTarget") == 0)
        json_put_bool(p, "flatten", true);
    return browser_ask(b, STR(""), method, p, e);
}

static bool keep_id(char out[BROWSER_ID], const struct json *answer, const char *name)
{
    struct str id = json_str(json_get(answer, "result"), name, "");
    bool ok = id.n > 0 && id.n < BROWSER_ID;
    memcpy(out, id.n ? id.p : "", ok ? id.n : 0);
    out[ok ? id.n : 0] = '\0';
    return ok;
}

static void close_studio(struct browser *b)
{
    struct json *p = json_object();
    json_put_z(p, "browserContextId", b->studio.context);
    if (b->studio.context[0])
        cdp_tell(&b->cdp, STR(""), "Target.disposeBrowserContext", p);
    else
        json_free(p);
    b->studio.context[0] = b->studio.session[0] = '\0';
}

/* Opens an invisible blank page, if there is none. */
static int open_studio(struct browser *b, struct err *e)
{
    char target[BROWSER_ID] = "";
    if (b->studio.session[0])
        return 0;
    struct json *p = json_object();
    json_put_bool(p, "disposeOnDetach", true);
    struct json *j = browser_ask(b, STR(""), "Target.createBrowserContext", p, e);
    bool ok = keep_id(b->studio.context, j, "browserContextId");
    json_free(j);
    if (ok) {
        j = ask_id(b, "Target.createTarget", "url", "about:blank", e);
        ok = keep_id(target, j, "targetId");
        json_free(j);
    }
    if (ok) {
        j = ask_id(b, "Target.attachToTarget", "targetId", target, e);
        ok = keep_id(b->studio.session, j, "sessionId");
        json_free(j);
    }
    if (ok)
        return 0;
    close_studio(b);
    return e->text[0] ? -1
                      : err_set(e, ERR_INVALID, "the browser opens no page to draw in");
}

/*
 * Draws the marks. Returns the answer, whose value is the picture in base64; NULL and
 * sets *e.
 */
static struct json *draw_in_studio(struct browser *b, struct str script, struct err *e)
{
    struct json *p = json_object(), *j = NULL;
    json_put_str(p, "expression", script);
    json_put_bool(p, "awaitPromise", true);
    if (open_studio(b, e) == 0)
        j = browser_ask(b, str_of(b->studio.session), "Runtime.evaluate", p, e);
    else
        json_free(p);
    if (!j || b->guest)
        close_studio(b);
    return j;
}

int browser_draw_marks(struct browser *b, const char *format, struct buf *shot,
                       struct err *e)
{
    struct buf text = BUF_INIT(PICTURE_MAX);
    buf_addf(&text, "(%s)(\"", draw_marks_js);
    int r = enc_base64(&text, buf_str(shot));
    if (r == 0)
        r = buf_addf(&text, "\",\"image/%s\",%s)", format, buf_z(&b->marks));
    buf_reset(shot);
    bool kept = b->studio.session[0];
    struct json *j = r == 0 ? draw_in_studio(b, buf_str(&text), e) : NULL;
    if (!j && kept && r == 0 && !halt_over(b->cdp.stop)) /* it may have crashed */
        j = draw_in_studio(b, buf_str(&text), e);
    buf_release(&text);
    struct str drawn = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    if (r < 0 || (j && (drawn.n == 0 || dec_base64(shot, drawn) < 0)))
        r = err_set(e, ERR_INVALID, "the browser cannot draw marks on its picture");
    else if (!j)
        r = -1;
    json_free(j);
    return r;
}
