/* SPDX-License-Identifier: MIT */
/*
 * The accessibility trees of a page's frames as one, for clients that print it
 * themselves: Chromium's nodes unchanged, each with its bid as browsergym_id, and a
 * frame's tree below its element: BrowserGym's axtree_object. Ids of nodes are those of
 * their frame, prefixed by its number except in the first frame.
 */
#include "browser/driver/snapshot_own.h"

#include "base/jsontext.h"

/* Appends a node's id, given with its quotes, as an id of frame k. */
static void put_id(struct buf *out, int k, struct str id)
{
    struct str plain = jsontext_plain(id);
    if (k > 0)
        buf_addf(out, "\"%d.%.*s\"", k, STR_ARG(plain));
    else
        buf_addf(out, "\"%.*s\"", STR_ARG(plain));
}

static void put_children(const struct snapshot *l, struct buf *out, int k,
                         struct str list, int64_t node)
{
    struct str in = jsontext_inside(list), id;
    size_t n = 0;
    buf_addz(out, "\"childIds\":[");
    for (; jsontext_item(&in, &id); n++) {
        if (n)
            buf_addc(out, ',');
        put_id(out, k, id);
    }
    for (int i = 0; node && i < l->n; i++) {
        const struct snap_frame *f = &l->frames[i];
        if (f->owner != node || f->ax_n == 0 ||
            strcmp(f->owner_session, l->frames[k].session) != 0)
            continue;
        if (n++)
            buf_addc(out, ',');
        put_id(out, i, jsontext_get(f->ax[0].text, STR("nodeId")));
    }
    buf_addc(out, ']');
}

static void put_node(const struct snapshot *l, struct buf *out, int k, struct str text)
{
    const struct snap_frame *f = &l->frames[k];
    int64_t node = jsontext_int(jsontext_get(text, STR("backendDOMNodeId")), 0);
    const struct element *el = f->document && node
                                   ? map_get(&f->document->bids, snap_key(&node))
                                   : NULL;
    struct str in = jsontext_inside(text), name, value;
    buf_addc(out, '{');
    if (el)
        buf_addf(out, "\"browsergym_id\":\"%s\",", el->bid);
    while (jsontext_member(&in, &name, &value)) {
        if (str_eq(name, STR("childIds")))
            continue;
        buf_addf(out, "\"%.*s\":", STR_ARG(name));
        if (str_eq(name, STR("nodeId")) || str_eq(name, STR("parentId")))
            put_id(out, k, value);
        else
            buf_adds(out, value);
        buf_addc(out, ',');
    }
    put_children(l, out, k, jsontext_get(text, STR("childIds")), node);
    buf_addc(out, '}');
}

void snap_whole(const struct snapshot *l, struct buf *out, const char *what)
{
    if (!buf_full(out))
        return;
    browser_note(l->b, "%s would take more than %zu bytes, and are left out", what,
                 out->max);
    buf_reset(out);
}

void snap_raw(const struct snapshot *l, struct buf *out)
{
    buf_addz(out, "{\"nodes\":[");
    for (int k = 0; k < l->n; k++) {
        for (size_t i = 0; i < l->frames[k].ax_n; i++) {
            if (k || i)
                buf_addc(out, ',');
            put_node(l, out, k, l->frames[k].ax[i].text);
        }
    }
    buf_addz(out, "]}");
    snap_whole(l, out, "the raw tree");
}
