/* SPDX-License-Identifier: MIT */
#include "submit.h"

#include "ipc/call.h"
#include "ipc/frame.h"

struct json *submit_request(struct client *client, const char *what, const char *as,
                            const char *verb, const struct json *args, struct err *e)
{
    struct call call;
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", what);
    if (as)
        json_put_z(q, "as", as);
    if (verb)
        json_put_z(q, "verb", verb);
    if (args)
        json_put(q, "args", json_copy(args));
    call_init(&call, client, q, NULL);
    call.input = call.signals = -1;
    struct json *r = call_run(&call, e);
    if (r && !json_bool(r, "ok", false)) {
        err_set(e, err_from_name(json_str(json_get(r, "error"), "code", "").p), "%s",
                json_str(json_get(r, "error"), "text", "the server gave no reason").p);
        json_free(r);
        r = NULL;
    }
    call_release(&call);
    json_free(q);
    return r;
}

struct json *submit(struct client *client, const char *as, const char *verb,
                    const struct json *args, struct err *e)
{
    struct json *r = submit_request(client, "submit", as, verb, args, e);
    struct json *out = r ? json_take(r, "result") : NULL;
    json_free(r);
    return out;
}
