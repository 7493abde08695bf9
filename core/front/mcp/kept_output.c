/* SPDX-License-Identifier: MIT */
/* od://output/N?from_line=A&to_line=B: the kept output of a command or cell. */
#include "front/mcp/own.h"

#include "front/mcp/tools/output.h"
#include "base/xalloc.h"
#include "http/http.h"

#include <stdlib.h>

static const char prefix[] = "od://output/";

/* Output that is being read; `own` of a request. */
struct output_reading {
    struct mcp_pending *p;
    uint64_t from, to;
    struct output *output; /* NULL: it was available at once */
};

static void stop(struct mcp_pending *p)
{
    struct output_reading *r = p->own;
    output_stop(r->output);
    free(r);
}

static void on_output(void *arg, const struct output_text *t, const struct err *e)
{
    struct output_reading *r = arg;
    struct mcp_pending *p = r->p;
    uint64_t first, n, count = r->to >= r->from ? r->to - r->from + 1 : 0;
    if (t)
        mcp_pending_result(
            p, mcp_contents(p->revision, str_of(p->uri), "text/plain",
                            output_lines(t, (int64_t)r->from, count, &first, &n), NULL));
    else
        mcp_pending_fail(p, e);
    free(r);
}

static int line_of(struct str query, const char *name, uint64_t *out, struct err *e)
{
    struct buf b = BUF_INIT(64);
    int rc = http_query(query, name, &b);
    bool wrong = rc < 0 || (rc > 0 && (str_to_u64(buf_str(&b), out) < 0 || *out == 0 ||
                                       *out > INT64_MAX / 2));
    buf_release(&b);
    return wrong ? err_set(e, ERR_INVALID, "%s is the number of a line, from 1", name)
                 : 0;
}

static void read_output(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct str query = str_sub(uri, sizeof(prefix) - 1, uri.n);
    struct str number = str_cut(&query, '?');
    uint64_t id, from = 1, to = INT64_MAX / 2;
    if (str_to_u64(number, &id) < 0)
        err_set(&e, ERR_NOTFOUND, "output has the number of a command");
    if (e.code || line_of(query, "from_line", &from, &e) < 0 ||
        line_of(query, "to_line", &to, &e) < 0) {
        mcp_resource_fail(a, uri, &e);
        return;
    }
    struct output_reading *r = xnew(struct output_reading);
    *r = (struct output_reading){.from = from, .to = to};
    r->p = mcp_pending_new(a, uri, r, stop);
    if (!r->p) {
        free(r);
        return;
    }
    struct output *o = output_read(a->m->en, id, on_output, r);
    if (o) /* otherwise r is already freed */
        r->output = o;
}

const struct mcp_resource mcp_resource_output = {
    .prefix = prefix,
    .pattern = "od://output/{number}{?from_line,to_line}",
    .name = "output",
    .about = "The kept output of a command or cell, by the number that its answer names",
    .type = "text/plain",
    .arguments = "number from_line to_line",
    .read = read_output};
