/* SPDX-License-Identifier: MIT */
/*
 * `od mcp`: MCP on standard input and output, for clients that start their servers. It
 * passes lines on to the server of this user, which is started if none runs, and
 * reconnects to the next worker when one ends (ipc/call.h). Standard output has only
 * messages.
 */
#include "applet.h"
#include "base/called.h"
#include "base/json.h"
#include "ipc/call.h"
#include "ipc/frame.h"
#include "mcp.txt.gz.h"
#include "net/sockpath.h"
#include "os/sig.h"
#include "where.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_OURS = 125 };

static int fail(const char *text)
{
    called_say("%s\n", text);
    return STATUS_OURS;
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    return error ? 0 : call_write(c, STDOUT_FILENO, bytes);
}

/* Running requests go on. */
static void on_signal(struct call *c, int signo)
{
    (void)signo;
    call_leave(c, 0);
}

static int run(const char *where, const struct json *options)
{
    static const struct call_events events = {.on_output = on_output,
                                              .on_signal = on_signal};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct err e = ERR_INIT;
    struct client client;
    struct call call;
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "mcp");
    json_put(q, "mcp", json_copy(options));
    if (client_open(&client, where, true, &e) < 0) {
        json_free(q);
        return fail(e.text);
    }
    call_init(&call, &client, q, &events);
    call.input = STDIN_FILENO;
    call.signals = sig_pipe(signals, 3);
    struct json *r = call_run(&call, &e);
    bool ok = json_bool(r, "ok", false), left = call.left;
    struct str why = json_str(json_get(r, "error"), "text", e.text);
    if (!ok && !left)
        called_say("%.*s\n", STR_ARG(why));
    json_free(r);
    json_free(q);
    call_release(&call);
    client_close(&client);
    return ok || left ? 0 : STATUS_OURS;
}

static int read_number(struct json *options, const char *name, const char *value)
{
    uint64_t n;
    if (str_to_u64(str_of(value), &n) < 0 || n > 1000000)
        return -1;
    json_put_int(options, name, (int64_t)n);
    return 0;
}

/*
 * Returns how many words were taken; 0: it is not an option; -1: its value is not a
 * number; -2: see *e.
 */
static int take(char **argv, int left, struct json *options, const char **where,
                char space[SOCKPATH_MAX], struct err *e)
{
    const char *value = left > 1 ? argv[1] : NULL;
    if (strcmp(argv[0], "--structured") == 0 || strcmp(argv[0], "--here") == 0) {
        json_put_bool(options, argv[0] + 2, true);
        return 1;
    }
    if (!value)
        return 0;
    if (strcmp(argv[0], "--tools") == 0)
        json_put_z(options, "tools", value);
    else if (strcmp(argv[0], "--answer-bytes") == 0)
        return read_number(options, "answer_bytes", value) < 0 ? -1 : 2;
    else if (strcmp(argv[0], "--max-wait") == 0)
        return read_number(options, "max_wait", value) < 0 ? -1 : 2;
    else if (strcmp(argv[0], "--server") == 0 || strcmp(argv[0], "--socket") == 0 ||
             strcmp(argv[0], "--ca") == 0)
        return where_take(where, space, argv[0], value, e) < 0 ? -2 : 2;
    else
        return 0;
    return 2;
}

static int mcp_main(int argc, char **argv)
{
    struct json *options = json_object();
    const char *where = NULL;
    char space[SOCKPATH_MAX];
    struct err e = ERR_INIT;
    int rc = 0;
    for (int i = 1, n; i < argc && rc == 0; i += n) {
        n = take(argv + i, argc - i, options, &where, space, &e);
        if (n > 0)
            continue;
        if (n == -2) {
            rc = fail(e.text);
            break;
        }
        called_say(n < 0 ? "%.200s takes a number; see %s\n"
                         : "there is no option %.200s, or its value is missing; see %s\n",
                   argv[i], called_help("mcp").z);
        rc = STATUS_OURS;
        n = 1;
    }
    signal(SIGPIPE, SIG_IGN);
    if (rc == 0)
        rc = run(where, options);
    json_free(options);
    return rc;
}

const struct applet applet_mcp = {
    .name = "mcp",
    .brief = "tools for an AI agent, by the Model Context Protocol",
    .packed = PACKED(mcp_txt_gz),
    .main = mcp_main,
    .file_first = true,
};
