/* SPDX-License-Identifier: MIT */
/*
 * `od mcp`: MCP on standard input and output, for clients that start their servers. It
 * passes lines on to the server of this user, which is started if none runs, and
 * reconnects to the next worker when one ends (ipc/call.h). Standard output has only
 * messages.
 *
 *   connected ──the server is lost──► alone: waits for input, without a timer
 *       ▲                               │ a request
 *       └──────── a server answers ─────┴──► none does: the request gets an error
 *
 * A server that never took a message ends the program instead: the options may be wrong,
 * and the client shows its user why.
 */
#include "applet.h"
#include "base/called.h"
#include "base/json.h"
#include "base/list.h"
#include "front/mcp/link.h"
#include "front/mcp/rpc.h"
#include "ipc/call.h"
#include "ipc/frame.h"
#include "mcp.txt.gz.h"
#include "mcp_talk.h"
#include "net/sockpath.h"
#include "os/sig.h"
#include "where.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_OURS = 125, READ_SIZE = 64 << 10 };

struct link {
    struct call call;
    struct client client;
    struct json *request; /* owned */
    const char *where;
    struct mcp_talk talk;
    struct buf in;  /* the incomplete line of the client */
    int signals;    /* sig_pipe */
    pid_t pid;      /* of the last server; or 0, and */
    char id[64];    /* its id, if it is elsewhere */
    bool skips;     /* the rest of a line that is too long */
    bool connected; /* to a server, or to be so by call_run */
    bool worked;    /* a server has taken a message */
    bool ended;     /* the input has */
    bool left;      /* a signal came */
    bool broken;    /* the output is */
};

static int fail(const char *text)
{
    called_say("%s\n", text);
    return STATUS_OURS;
}

static struct link *link_of(struct call *c) { return container_of(c, struct link, call); }

/* Writes what there is for the client. Returns -1 with errno. */
static int say(struct link *l)
{
    struct buf *out = &l->talk.out;
    int rc = -1;
    if (buf_full(out))
        errno = ENOMEM;
    else
        rc = call_write(&l->call, STDOUT_FILENO, buf_str(out));
    l->broken |= rc < 0 && !l->left;
    buf_release(out);
    return rc;
}

/* ---- the server ---- */

static int on_output(struct call *c, bool error, struct str line)
{
    struct link *l = link_of(c);
    if (error)
        return 0;
    mcp_talk_answered(&l->talk, line);
    return say(l);
}

/* Running requests go on. */
static void on_signal(struct call *c, int signo)
{
    (void)signo;
    link_of(c)->left = true;
    call_leave(c, 0);
}

static void on_readable(struct call *c);

/*
 * Finds or starts a server, for call_run to go on with. Returns -1 and sets *e. Blocks as
 * client_open does.
 */
static int connect_to(struct link *l, struct err *e)
{
    static const struct call_events events = {
        .on_output = on_output, .on_signal = on_signal, .on_readable = on_readable};
    while (waitpid(-1, NULL, WNOHANG) > 0) /* a relay, or what started a server */
        ;
    int rc = client_open(&l->client, l->where, true, e);
    if (rc == 0) {
        bool same = l->pid == l->client.server.pid && strcmp(l->id, l->client.id) == 0;
        l->talk.fresh |= l->worked && !same;
        l->pid = l->client.server.pid;
        memcpy(l->id, l->client.id, sizeof(l->id));
        call_release(&l->call);
        call_init(&l->call, &l->client, l->request, &events);
        l->call.input = STDIN_FILENO;
        l->call.hasty = true; /* an agent can go on, and the next call tries again */
        l->call.signals = l->signals;
        mcp_talk_again(&l->talk);
        if (l->talk.out.n > 0 && (rc = call_put(&l->call, buf_str(&l->talk.out))) < 0)
            err_set(e, ERR_LIMIT, "there is no memory to begin again");
        buf_release(&l->talk.out);
    }
    if (rc < 0)
        client_close(&l->client);
    else
        e->code = ERR_NONE; /* of what came before a server was started */
    l->connected = rc == 0;
    return rc;
}

/* Answers what the lost server has not. */
static void disconnect(struct link *l, const struct err *why)
{
    struct err e;
    err_set(&e, why->code,
            "the od server at %.120s was lost while this ran: %.200s. This call is not "
            "repeated, as it may have been done in part: look, then do what is missing. "
            "The next call connects again",
            l->client.server.path, why->text);
    client_close(&l->client);
    l->connected = false;
    mcp_talk_lost(&l->talk, &e);
    say(l);
}

/* ---- the client ---- */

/* why: the reason why no server can be reached; no code: it was not tried yet. */
static void take_line(struct link *l, struct str line, struct err *why)
{
    struct json *message = json_parse(line, NULL);
    bool wants = json_is_array(message) ||
                 (json_has(message, "id") && json_has(message, "method"));
    if (!l->connected && !why->code && wants && connect_to(l, why) < 0) {
        struct err e = *why;
        err_set(why, e.code,
                "this call did nothing: %.350s. Call again when that is mended", e.text);
    }
    if (l->connected && call_put(&l->call, line) < 0) {
        l->broken = true; /* no memory for the line */
        call_leave(&l->call, 0);
    }
    if (l->connected || why->code)
        mcp_talk_asked(&l->talk, message);
    if (!l->connected) {
        mcp_talk_lost(&l->talk, why);
        say(l);
    }
    json_free(message);
}

static void read_input(struct link *l)
{
    struct err why = ERR_INIT;
    char *at = buf_reserve(&l->in, READ_SIZE);
    ssize_t n = at ? read(STDIN_FILENO, at, READ_SIZE) : 0;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        l->ended = true;
        call_put(&l->call, STR(""));
        return;
    }
    buf_commit(&l->in, (size_t)n);
    for (long end; (end = str_chr(buf_str(&l->in), '\n')) >= 0; l->skips = false) {
        if (!l->skips)
            take_line(l, str_sub(buf_str(&l->in), 0, (size_t)end + 1), &why);
        buf_consume(&l->in, (size_t)end + 1);
    }
    if (l->in.n > MCP_MESSAGE_MAX) {
        if (!l->skips) {
            rpc_put_error(&l->talk.out, NULL, RPC_INVALID,
                          STR("a message is at most 4 MiB long"), NULL);
            buf_addc(&l->talk.out, '\n');
            say(l);
        }
        l->skips = true;
        buf_consume(&l->in, l->in.n);
    }
    if (l->in.n == 0)
        buf_release(&l->in);
}

static void on_readable(struct call *c) { read_input(link_of(c)); }

/* Waits for a call for which a server answers, the end of the input, or a signal. */
static void wait_alone(struct link *l)
{
    while (!l->connected && !l->ended && !l->left && !l->broken) {
        struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = l->signals, .events = POLLIN}};
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents)
            l->left = true;
        else if (p[0].revents)
            read_input(l);
    }
}

/* Talks to one server after the other. Returns the status of the program. */
static int talk(struct link *l)
{
    for (;;) {
        struct err e = ERR_INIT;
        struct json *r = call_run(&l->call, &e);
        bool ok = json_bool(r, "ok", false);
        if (r)
            err_set(&e, ERR_GONE, "%.*s",
                    STR_ARG(json_str(json_get(r, "error"), "text",
                                     "it has ended this session")));
        json_free(r);
        l->worked |= l->call.kept_at > 0;
        if (l->left || (ok && l->ended))
            return 0;
        if (!l->worked || l->broken || l->ended)
            return fail(e.text);
        disconnect(l, &e);
        wait_alone(l);
        if (!l->connected)
            return l->broken ? STATUS_OURS : 0;
    }
}

/* Takes options. */
static int run(const char *where, struct json *options)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct err e = ERR_INIT;
    struct link l = {.request = json_object(),
                     .where = where,
                     .in = BUF_INIT(MCP_MESSAGE_MAX + READ_SIZE)};
    int rc = STATUS_OURS;
    json_put_int(l.request, "v", FRAME_VERSION);
    json_put_z(l.request, "do", "mcp");
    json_put(l.request, "mcp", options);
    mcp_talk_init(&l.talk);
    l.signals = -1;
    if (connect_to(&l, &e) < 0) {
        fail(e.text);
    } else {
        l.signals = l.call.signals = sig_pipe(signals, 3);
        rc = talk(&l);
    }
    call_release(&l.call);
    client_close(&l.client);
    mcp_talk_release(&l.talk);
    buf_release(&l.in);
    json_free(l.request);
    return rc;
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
    const char *number = strcmp(argv[0], "--answer-bytes") == 0 ? "answer_bytes"
                         : strcmp(argv[0], "--max-wait") == 0   ? "max_wait"
                                                                : NULL;
    if (strcmp(argv[0], "--tools") == 0)
        json_put_z(options, "tools", value);
    else if (number)
        return read_number(options, number, value) < 0 ? -1 : 2;
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
        return run(where, options);
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
