/* SPDX-License-Identifier: MIT */
/* `od serve --upgrade [FILE]`: asks a running server to continue with another od. */
#include "base/called.h"
#include "base/json.h"
#include "ipc/call.h"
#include "os/self.h"
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_OURS = 125, UPGRADE_MS = 30000 };

static int fail(const char *what, const char *why)
{
    called_say("cannot upgrade%s%s: %s\n", *what ? " to " : "", what, why);
    return STATUS_OURS;
}

int serve_upgrade(const struct serve_options *o)
{
    char path[4096];
    struct err e = ERR_INIT;
    if (o->file ? !realpath(o->file, path) : self_path(path, sizeof(path)) < 0)
        return fail(o->file ? o->file : "this od", strerror(errno));
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "upgrade");
    json_put_z(q, "path", path);
    struct json *r = call_simple(o->server, q, UPGRADE_MS, &e);
    json_free(q);
    if (!r)
        return fail("", e.code == ERR_CANCELLED ? "the server does not answer" : e.text);
    int status = 0;
    if (json_bool(r, "ok", false))
        printf("The worker is process %lld now, of %s\n",
               (long long)json_int(r, "worker", 0), path);
    else
        status = fail(path, json_str(json_get(r, "error"), "text", "").p);
    json_free(r);
    return status;
}
