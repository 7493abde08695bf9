/* SPDX-License-Identifier: MIT */
/*
 * `od serve --keys`, --key-add and --key-remove: the keys of the HTTP listeners of a
 * running server. A new key is printed alone, for use in scripts.
 */
#include "base/called.h"
#include "base/json.h"
#include "ipc/call.h"
#include "serve.h"

#include <stdio.h>
#include <string.h>

enum { STATUS_OURS = 125, KEYS_MS = 10000, TEXT_MAX = 1 << 16 };

static struct json *request_of(const struct serve_options *o)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "keys");
    json_put_z(q, "verb", o->key_verb);
    json_put_z(q, "right", o->key_view ? "view" : "use");
    if (o->key_name)
        json_put_z(q, "name", o->key_name);
    if (o->key_at)
        json_put_z(q, "listener", o->key_at);
    return q;
}

static void print_json(struct json *r)
{
    struct buf text = BUF_INIT(TEXT_MAX);
    json_drop(r, json_get(r, "ok"));
    json_print(&text, r);
    printf("%s\n", buf_z(&text));
    buf_release(&text);
}

static const char *where(const struct json *key)
{
    struct str at = json_str(key, "listener", "");
    return at.n > 0 ? at.p : "all";
}

static void print_list(const struct json *r)
{
    for (struct json *v = json_first(json_get(r, "keys")); v; v = json_next(v))
        printf("%-32s %-5s %s\n", json_str(v, "name", "").p, json_str(v, "right", "").p,
               where(v));
}

int serve_keys(const struct serve_options *o)
{
    struct err e = ERR_INIT;
    struct json *q = request_of(o), *r = call_simple(o->server, q, KEYS_MS, &e);
    json_free(q);
    if (!r && e.code == ERR_CANCELLED)
        err_set(&e, ERR_TIMEOUT, "the server does not answer");
    if (r && !json_bool(r, "ok", false)) {
        err_set(&e, ERR_IO, "%s", json_str(json_get(r, "error"), "text", "refused").p);
        json_free(r);
        r = NULL;
    }
    if (!r) {
        called_say("%s\n", e.text);
        return STATUS_OURS;
    }
    if (o->json)
        print_json(r);
    else if (strcmp(o->key_verb, "list") == 0)
        print_list(r);
    else if (strcmp(o->key_verb, "add") == 0) {
        called_say("the key %s may %s; listener: %s\n", json_str(r, "name", "").p,
                   json_str(r, "right", "").p, where(r));
        printf("%s\n", json_str(r, "key", "").p);
    }
    json_free(r);
    return fflush(stdout) == 0 ? 0 : STATUS_OURS;
}
