/* SPDX-License-Identifier: MIT */
/* Resources: the kind of a URI, what a client may read, and the answers. */
#include "front/mcp/own.h"

#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "shell/session.h"

#include <stdlib.h>

enum { URI_MAX = 4096, LIST_TTL_MS = 3600000 };

/* ---- answers ---- */

struct json *mcp_contents(enum mcp_revision revision, struct str uri, const char *type,
                          struct str bytes, struct json *meta)
{
    struct buf blob = BUF_INIT(2 * bytes.n + 8);
    struct json *j = json_object(), *list = json_array(), *one = json_object();
    bool plain = utf8_valid(bytes) && !memchr(bytes.n ? bytes.p : "x", 0, bytes.n);
    json_put_str(one, "uri", uri);
    bool fits = plain || !str_starts(str_of(type), STR("text/"));
    json_put_z(one, "mimeType", fits ? type : "application/octet-stream");
    if (!plain)
        enc_base64(&blob, bytes);
    json_put_str(one, plain ? "text" : "blob", plain ? bytes : buf_str(&blob));
    if (meta)
        json_put(one, "_meta", meta);
    json_push(list, one);
    json_put(j, "contents", list);
    if (revision == MCP_2026_07_28) {
        json_put_int(j, "ttlMs", 0);
        json_put_z(j, "cacheScope", "private");
    }
    buf_release(&blob);
    return j;
}

void mcp_resource_fail(struct mcp_ask *a, struct str uri, const struct err *e)
{
    struct json *data = json_object();
    bool gone = e->code == ERR_NOTFOUND;
    json_put_str(data, "uri", str_sub(uri, 0, utf8_cut(uri, URI_MAX)));
    json_put_z(data, "code", err_name(e->code));
    mcp_fail(a, gone && a->revision != MCP_2026_07_28 ? RPC_NO_RESOURCE : RPC_PARAMS,
             str_of(e->text), data);
}

/* ---- reading ---- */

const struct mcp_resource *mcp_resource_of(struct str uri)
{
    const struct mcp_resource *k;
    for (size_t i = 0; (k = mcp_resource_at(i)); i++) {
        if (str_starts(uri, str_of(k->prefix)))
            return k;
    }
    return NULL;
}

void mcp_read_resource(struct mcp_ask *a)
{
    struct err e = ERR_INIT;
    struct str uri = json_str(a->in->params, "uri", "");
    const struct mcp_resource *k = mcp_resource_of(uri);
    if (k) {
        k->read(a, uri);
        return;
    }
    err_set(&e, ERR_NOTFOUND,
            "no such resource: there are file:///PATH, od://output/N, "
            "od://session/NAME/screen and od://events");
    mcp_resource_fail(a, uri, &e);
}

/* ---- lists ---- */

void mcp_resource_put(struct json *list, struct str uri, struct str name,
                      const char *about, const char *type)
{
    struct json *j = json_object();
    json_put_str(j, "uri", uri);
    json_put_str(j, "name", name);
    if (about)
        json_put_z(j, "description", about);
    if (type)
        json_put_z(j, "mimeType", type);
    json_push(list, j);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct json *mcp_session_names(const struct mcp *m, struct str prefix)
{
    const struct map *all = &m->en->sessions;
    char **names = xcalloc(all->count + 1, sizeof(*names));
    struct json *list = json_array();
    size_t n = 0;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(all, it, &key, &value));) {
        if (str_starts(key, prefix) && !session_never_was(value))
            names[n++] = xstrndup(key.p, key.n);
    }
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++) {
        json_push_str(list, str_of(names[i]));
        free(names[i]);
    }
    free(names);
    return list;
}

static int by_uri(const void *a, const void *b)
{
    return strcmp(json_str(*(const struct json *const *)a, "uri", "").p,
                  json_str(*(const struct json *const *)b, "uri", "").p);
}

/* Returns a list in the order of URIs; takes list. */
static struct json *sorted(struct json *list)
{
    size_t n = (size_t)json_count(list), i = 0;
    struct json **items = xcalloc(n + 1, sizeof(struct json *)), *out = json_array();
    for (struct json *j = json_first(list); j; j = json_next(j))
        items[i++] = j;
    qsort(items, n, sizeof(struct json *), by_uri);
    for (i = 0; i < n; i++)
        json_push(out, json_copy(items[i]));
    free(items);
    json_free(list);
    return out;
}

void mcp_list_resources(struct mcp_ask *a)
{
    struct json *list = json_array();
    const struct mcp_resource *k;
    for (size_t i = 0; (k = mcp_resource_at(i)); i++) {
        if (k->list)
            k->list(a->m, list);
    }
    mcp_page(a, "resources", "uri", true, sorted(list), 0);
}

void mcp_list_templates(struct mcp_ask *a)
{
    struct json *list = json_array();
    const struct mcp_resource *k;
    for (size_t i = 0; (k = mcp_resource_at(i)); i++) {
        if (!k->pattern)
            continue;
        struct json *j = json_object();
        json_put_z(j, "uriTemplate", k->pattern);
        json_put_z(j, "name", k->name);
        json_put_z(j, "description", k->about);
        if (k->type)
            json_put_z(j, "mimeType", k->type);
        json_push(list, j);
    }
    mcp_page(a, "resourceTemplates", "uriTemplate", false, list, LIST_TTL_MS);
}
