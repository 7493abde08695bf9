/* SPDX-License-Identifier: MIT */
/*
 * A visit by a browser of its own is also an action in the log of the server of this
 * machine, if one runs (the request visit, ipc/frame.h). A connection is open as long as
 * the visit: if this process ends early, the server sees that.
 */
#include "base/called.h"
#include "base/clock.h"
#include "base/json.h"
#include "browse.h"
#include "ipc/call.h"
#include "ipc/client.h"
#include "where.h"

#include <limits.h>
#include <unistd.h>

enum { END_MS = 2000 }; /* for the server to take the result */

static struct json *request(const struct browse_log *l, const struct browse_options *o)
{
    struct json *q = json_object();
    struct buf url = BUF_INIT(1 << 19);
    char cwd[PATH_MAX];
    browse_address(&url, o->url);
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "visit");
    json_put_z(q, "as", called("browse").z);
    json_put_z(q, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "/");
    json_put_z(q, "visit", l->id);
    json_put_str(q, "url", buf_str(&url));
    if (o->actions.n)
        json_put_str(q, "actions", buf_str(&o->actions));
    buf_release(&url);
    return q;
}

void browse_log_begin(struct browse_log *l, const struct browse_options *o)
{
    struct err e = ERR_INIT;
    *l = (struct browse_log){.client = {.fd = -1}};
    random_hex(l->id, sizeof(l->id) - 1);
    if (where_is_remote(o->server) || client_open(&l->client, o->server, false, &e) < 0)
        return;
    struct json *q = request(l, o);
    l->on = frame_add_json(&l->client.out, 'Q', q) == 0 && client_flush(&l->client) == 0;
    json_free(q);
}

void browse_log_end(struct browse_log *l, const struct browse_options *o,
                    const struct browse_shown *shown)
{
    struct err e = ERR_INIT;
    if (l->on) {
        struct json *q = request(l, o), *result = json_object();
        json_put_str(result, "url", buf_str(&shown->url));
        json_put_str(result, "title", buf_str(&shown->title));
        json_put_int(result, "status", shown->status);
        json_put_str(result, "error", buf_str(&shown->error));
        json_put(q, "result", result);
        json_free(call_simple(l->client.server.path, q, END_MS, &e));
        json_free(q);
    }
    client_close(&l->client);
}
