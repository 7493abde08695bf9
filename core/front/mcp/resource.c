/* SPDX-License-Identifier: MIT */
/*
 * Resources: files by file:///PATH, and the kept output of command N by
 * od://output/N?from_line=A&to_line=B. Neither is listed: both are templates.
 */
#include "front/mcp/own.h"

#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "http/http.h"
#include "os/file.h"

#include <stdlib.h>

enum { FILE_BYTES = 1 << 20, PATH_BYTES = 4096 };

static const char output_uri[] = "od://output/";
static const char file_uri[] = "file://";

/* Output that is being read. */
struct mcp_reading {
    struct list node; /* in mcp.readings */
    struct mcp *m;
    struct mcp_stream *out;
    struct json *id; /* owned */
    enum mcp_revision revision;
    char *uri; /* owned */
    uint64_t from, to;
    struct output *output; /* NULL: it was there at once */
};

/* ---- answers ---- */

static void put_result(struct mcp *m, struct mcp_stream *out, const struct json *id,
                       enum mcp_revision revision, struct str uri, const char *type,
                       struct str text)
{
    struct buf b = BUF_INIT(MCP_ANSWER_BYTES), blob = BUF_INIT(2 * FILE_BYTES);
    struct json *j = json_object(), *list = json_array(), *one = json_object();
    bool plain = utf8_valid(text) && !memchr(text.n ? text.p : "x", 0, text.n);
    json_put_str(one, "uri", uri);
    json_put_z(one, "mimeType", plain ? type : "application/octet-stream");
    if (!plain)
        enc_base64(&blob, text);
    json_put_str(one, plain ? "text" : "blob", plain ? text : buf_str(&blob));
    json_push(list, one);
    json_put(j, "contents", list);
    if (revision == MCP_2026_07_28) {
        json_put_int(j, "ttlMs", 0);
        json_put_z(j, "cacheScope", "private");
        mcp_put_modern(m, j);
    }
    rpc_put_result(&b, id, j);
    mcp_stream_put(out, buf_str(&b), true);
    json_free(j);
    buf_release(&b);
    buf_release(&blob);
}

static void put_error(struct mcp_stream *out, const struct json *id,
                      enum mcp_revision revision, struct str uri, const struct err *e)
{
    struct buf b = BUF_INIT(16 << 10);
    struct json *data = json_object();
    bool modern = revision == MCP_2026_07_28, gone = e->code == ERR_NOTFOUND;
    json_put_str(data, "uri", str_sub(uri, 0, PATH_BYTES));
    rpc_put_error(&b, id, gone && !modern ? RPC_NO_RESOURCE : RPC_PARAMS, str_of(e->text),
                  data);
    out->status = modern ? 400 : 0;
    mcp_stream_put(out, buf_str(&b), true);
    json_free(data);
    buf_release(&b);
}

static void fail(struct mcp_ask *a, struct str uri, const struct err *e)
{
    put_error(a->out, a->in->id, a->revision, uri, e);
}

/* ---- output ---- */

static void reading_free(struct mcp_reading *r)
{
    list_del(&r->node);
    json_free(r->id);
    free(r->uri);
    free(r);
}

void mcp_readings_stop(struct mcp *m, const struct mcp_stream *t)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->readings) {
        struct mcp_reading *r = list_entry(it, struct mcp_reading, node);
        if (r->out != t)
            continue;
        output_stop(r->output);
        reading_free(r);
    }
}

static void on_output(void *arg, const struct output_text *t, const struct err *e)
{
    struct mcp_reading *r = arg;
    struct mcp_stream *out = r->out;
    uint64_t first, n, count = r->to >= r->from ? r->to - r->from + 1 : 0;
    list_del(&r->node);
    list_init(&r->node);
    if (t)
        put_result(r->m, out, r->id, r->revision, str_of(r->uri), "text/plain",
                   output_lines(t, (int64_t)r->from, count, &first, &n));
    else
        put_error(out, r->id, r->revision, str_of(r->uri), e);
    reading_free(r);
}

static int line_of(struct str query, const char *name, uint64_t *out, struct err *e)
{
    struct buf b = BUF_INIT(64);
    int rc = http_query(query, name, &b);
    if (rc > 0 && (str_to_u64(buf_str(&b), out) < 0 || *out == 0 || *out > INT64_MAX / 2))
        rc = err_set(e, ERR_INVALID, "%s is the number of a line, from 1", name);
    buf_release(&b);
    return rc < 0 ? -1 : 0;
}

static void read_output(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct str query = str_sub(uri, sizeof(output_uri) - 1, uri.n);
    struct str number = str_cut(&query, '?');
    uint64_t id, from = 1, to = INT64_MAX / 2;
    if (str_to_u64(number, &id) < 0) {
        err_set(&e, ERR_NOTFOUND, "output has the number of a command");
        fail(a, uri, &e);
        return;
    }
    if (line_of(query, "from_line", &from, &e) < 0 ||
        line_of(query, "to_line", &to, &e) < 0) {
        fail(a, uri, &e);
        return;
    }
    struct mcp_reading *r = xnew(struct mcp_reading);
    *r = (struct mcp_reading){.m = a->m,
                              .out = a->out,
                              .id = json_copy(a->in->id),
                              .revision = a->revision,
                              .uri = xstrndup(uri.p, uri.n),
                              .from = from,
                              .to = to};
    list_add_tail(&a->m->readings, &r->node);
    struct output *o = output_read(a->m->en, id, on_output, r);
    if (o) /* else r is freed */
        r->output = o;
}

/* ---- files ---- */

static void read_file(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(PATH_BYTES), text = BUF_INIT(FILE_BYTES);
    struct str at = str_sub(uri, sizeof(file_uri) - 1, uri.n);
    if (str_starts(at, STR("localhost/")))
        at = str_sub(at, 9, at.n);
    if (at.n == 0 || at.p[0] != '/' || http_decode(&path, at, false) < 0)
        err_set(&e, ERR_INVALID, "the address of a file is file:/// and its path");
    else
        file_read(buf_z(&path), FILE_BYTES, &text, &e);
    if (e.code)
        fail(a, uri, &e);
    else
        put_result(a->m, a->out, a->in->id, a->revision, uri, "text/plain",
                   buf_str(&text));
    buf_release(&path);
    buf_release(&text);
}

/* ---- methods ---- */

void mcp_read_resource(struct mcp_ask *a)
{
    struct err e = ERR_INIT;
    struct str uri = json_str(a->in->params, "uri", "");
    if (str_starts(uri, STR(output_uri))) {
        read_output(a, uri);
    } else if (str_starts(uri, STR(file_uri))) {
        read_file(a, uri);
    } else {
        err_set(&e, ERR_NOTFOUND,
                "no such resource: there are file:///PATH and "
                "od://output/N");
        fail(a, uri, &e);
    }
}

void mcp_list_resources(struct mcp_ask *a)
{
    struct json *j = json_object();
    json_put(j, "resources", json_array());
    mcp_list_result(a, j);
}

static void add_template(struct json *list, const char *uri, const char *name,
                         const char *about)
{
    struct json *j = json_object();
    json_put_z(j, "uriTemplate", uri);
    json_put_z(j, "name", name);
    json_put_z(j, "description", about);
    json_push(list, j);
}

void mcp_list_templates(struct mcp_ask *a)
{
    struct json *j = json_object(), *list = json_array();
    add_template(list, "file:///{+path}", "file", "A file of this computer, up to 1 MiB");
    add_template(list, "od://output/{number}{?from_line,to_line}", "output",
                 "The kept output of a command or cell, by the number that its answer "
                 "names");
    json_put(j, "resourceTemplates", list);
    mcp_list_result(a, j);
}
