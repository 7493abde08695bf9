/* SPDX-License-Identifier: MIT */
/*
 * Lists in pages. A cursor is the name of the list and the key of the last item that the
 * client has, in Base64: it is valid as long as the server runs, also in the next worker.
 */
#include "front/mcp/own.h"

#include "base/enc.h"

enum { CURSOR_MAX = 8 << 10 };

/* Reads the key in a cursor of this list. Returns 0; -1 if text is not such a cursor. */
static int read_cursor(struct str text, const char *list, struct buf *key)
{
    struct str head = str_of(list);
    if (dec_base64(key, text) < 0 || key->n <= head.n || key->p[head.n] != ' ' ||
        !str_starts(buf_str(key), head))
        return -1;
    buf_consume(key, head.n + 1);
    return 0;
}

static void put_cursor(struct json *result, const char *list, struct str key)
{
    struct buf plain = BUF_INIT(CURSOR_MAX), text = BUF_INIT(2 * CURSOR_MAX);
    buf_addf(&plain, "%s ", list);
    buf_adds(&plain, key);
    enc_base64(&text, buf_str(&plain));
    json_put_str(result, "nextCursor", buf_str(&text));
    buf_release(&plain);
    buf_release(&text);
}

static int compare(struct str a, struct str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

/*
 * Finds the first item after the one with that key. Returns 0, with *item NULL at the end
 * of the list; -1 if the list is not sorted and has no item with that key.
 */
static int find_after(struct json *items, const char *key, bool sorted, struct str after,
                      struct json **item)
{
    for (*item = json_first(items); *item; *item = json_next(*item)) {
        int order = compare(json_str(*item, key, ""), after);
        if (order == 0) {
            *item = json_next(*item);
            return 0;
        }
        if (sorted && order > 0)
            return 0;
    }
    return sorted ? 0 : -1;
}

void mcp_page(struct mcp_ask *a, const char *name, const char *key, bool sorted,
              struct json *items, int64_t ttl_ms)
{
    struct json *result = json_object(), *page = json_array(), *item = json_first(items);
    struct json *cursor = json_get(a->in->params, "cursor");
    struct str text = json_str_value(cursor, "");
    struct buf after = BUF_INIT(CURSOR_MAX);
    bool wrong = cursor && !json_is_string(cursor) && !json_is_null(cursor);
    if (text.n > 0)
        wrong = read_cursor(text, name, &after) < 0 ||
                find_after(items, key, sorted, buf_str(&after), &item) < 0;
    const struct json *last = NULL;
    for (; item && json_count(page) < MCP_PAGE; item = json_next(item)) {
        json_push(page, json_copy(item));
        last = item;
    }
    if (item)
        put_cursor(result, name, json_str(last, key, ""));
    json_put(result, name, page);
    mcp_put_cacheable(a, result, ttl_ms);
    json_free(items);
    buf_release(&after);
    if (wrong) {
        json_free(result);
        mcp_error(a, RPC_PARAMS, "that is not a cursor of this list");
        return;
    }
    mcp_result(a, result);
}
