/* SPDX-License-Identifier: MIT */
/*
 * `od help actions`, `od help action NAME`: what the event stream accepts; and
 * `od help client`: the clients that use it.
 */
#include "action/describe.h"
#include "applet.h"
#include "base/called.h"
#include "front/client/client.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

static int write_out(struct buf *take)
{
    bool whole = fwrite(take->p, 1, take->n, stdout) == take->n && fflush(stdout) == 0;
    if (!whole)
        fprintf(stderr, "od: cannot write: %m\n");
    buf_release(take);
    return whole ? 0 : 1;
}

static void put_list(struct buf *out)
{
    const struct action_kind *k;
    buf_addf(
        out,
        "Actions of the event stream: POST /events, a WebSocket to /events, or\n"
        "od serve --connect. The parameters of one: %shelp action NAME; the schemas\n"
        "of all: %shelp actions --json, GET /openapi.json.\n\n",
        called_start(), called_start());
    for (size_t i = 0; (k = action_kind_at(i)); i++)
        buf_addf(out, "  %-18s %s\n", k->name, k->takes->about);
}

/* Prints an array, one action a line. */
static void put_json(struct buf *out)
{
    struct json *list = actions_json();
    for (struct json *row = json_first(list); row; row = json_next(row)) {
        buf_addz(out, row == json_first(list) ? "[" : ",\n");
        json_print(out, row);
    }
    buf_addz(out, "]\n");
    json_free(list);
}

int client_help(const char *option)
{
    struct buf b = BUF_INIT(CLIENT_TEXT_MAX);
    if (strncmp(option, "--", 2) == 0 && client_text(&b, option + 2) == 0)
        return write_out(&b);
    buf_release(&b);
    called_say("help client takes --python or --typescript, and prints the client of a "
               "server in one file: %shelp client --python >client.py\n",
               called_start());
    return 1;
}

int actions_help(bool json)
{
    struct buf b = BUF_INIT(TEXT_MAX);
    if (json)
        put_json(&b);
    else
        put_list(&b);
    return write_out(&b);
}

int action_help(const char *name)
{
    struct buf b = BUF_INIT(TEXT_MAX);
    const struct action_kind *k = name ? action_kind(str_of(name)) : NULL;
    if (!name) {
        called_say("help action takes the name of an action; %shelp actions lists them\n",
                   called_start());
        return 1;
    }
    if (!k) {
        called_say("no action %s; %shelp actions lists them\n", name, called_start());
        return 1;
    }
    buf_addf(&b, "%s: %s.\n", k->name, k->takes->about);
    buf_addz(&b, k->in_turn
                     ? "It waits for the actions before it in its session.\n"
                     : "It does not wait for the running command of its session.\n");
    if (k->takes->params)
        buf_addz(&b, "\nArguments:\n");
    params_help(k->takes, &b);
    buf_addf(&b, "\nExample:\n  {\"action\":\"%s\"", k->name);
    if (k->takes->example)
        buf_addf(&b, ",\"args\":%s", k->takes->example);
    buf_addz(&b, "}\n");
    return write_out(&b);
}
