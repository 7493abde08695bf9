/* SPDX-License-Identifier: MIT */
/*
 * The options of od serve: those of the server itself are here, the others are rows of
 * the front-ends and parts that act on them (base/option.h).
 */
#include "base/called.h"
#include "base/log.h"
#include "base/option.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "front/front.h"
#include "front/guard.h"
#include "net/sockpath.h"
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLES_MAX = 64 };

static const struct option_row rows[] = {
    {.name = "PORT", .type = OPTION_TEXT, .word = true},
    {.name = "name",
     .type = OPTION_TEXT,
     .value = "NAME",
     .env = "OD_NAME",
     .unset = "PORT, else default",
     .about = "name the server, for --server of its clients; a user may run several: "
              "letters, digits, \"-\", \"_\" and \".\". The server keeps its state in "
              "the folder NAME of --state-dir, and refuses to start while another "
              "server has it"},
    {.name = "socket",
     .type = OPTION_TEXT,
     .value = "PATH",
     .env = "OD_SOCKET",
     .unset = "by its name; see od help exec",
     .about = "listen for od exec at this unix socket; @NAME is an abstract one"},
    {.name = "state-dir",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_STATE_DIR",
     .unset = "/var/lib/od, ~/.local/state/od, /var/tmp, /tmp, …",
     .about = "keep output and state in this folder: in its subfolder od-UID if "
              "others own DIR or may write there. Where no folder can be written, "
              "keep them in memory"},
    {.name = "working-dir",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_WORKING_DIR",
     .unset = "the current one",
     .about = "begin sessions in this folder; it is made if PORT or --username is "
              "given"},
    {.name = "listen",
     .type = OPTION_LIST,
     .value = "ADDRESS",
     .env = "OD_LISTEN",
     .max = LIMIT_LISTENERS_MAX,
     .about = "serve HTTP at this address; give the option once for each (in the "
              "environment: a list with commas): 3000, 127.0.0.1:3000, [::1]:3000, "
              "unix:/path, @name. https://ADDRESS (or tls://) needs --tls-cert; "
              "http://ADDRESS is without TLS. NAME@ADDRESS serves the routes of the "
              "front-end NAME alone: openhands, e2b, e2b-interpreter, opensandbox, "
              "agent-sandbox, swerex, jupyter, devtools and others (see --routes)"},
    {.name = "idle-exit",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_IDLE_EXIT",
     .member = "idle_exit_ms",
     .unset = "never",
     .about = "end when there has been no client and no command for this long"},
    {.name = "log",
     .type = OPTION_TEXT,
     .value = "LEVEL",
     .env = "OD_LOG",
     .unset = "info",
     .choices = "error warn info debug",
     .about = "log what is at least this important: error, warn, info or debug"},
    {.name = "log-form",
     .type = OPTION_TEXT,
     .value = "FORM",
     .env = "OD_LOG_FORM",
     .dflt = "text",
     .choices = "text json",
     .about = "write the log as text or as lines of JSON: text or json"},
    {.name = "daemon",
     .type = OPTION_SWITCH,
     .about = "run in the background, with a log in the state directory; this returns "
              "when the server listens, or with 125 and the reason"},
    {.name = "stay",
     .type = OPTION_SWITCH,
     .about = "go on serving when COMMAND has ended"},
    {.name = "upgrade",
     .type = OPTION_MAYBE,
     .value = "[FILE]",
     .unset = "no; FILE: this od",
     .about = "serve nothing, but make the server of --server continue with the od in "
              "FILE; refused if that one cannot serve"},
    {.name = "status",
     .type = OPTION_SWITCH,
     .about = "serve nothing, but list the running servers of this user, or the one of "
              "--server: addresses, version, sessions, link to the backend; 125 if none "
              "runs"},
    {.name = "keys",
     .type = OPTION_SWITCH,
     .about = "serve nothing, but list the keys of the HTTP listeners of --server: name, "
              "right and listener. The one of --api-key is start"},
    {.name = "key-add",
     .type = OPTION_MAYBE,
     .value = "[NAME]",
     .unset = "no; NAME: key-1, …",
     .about = "serve nothing, but make the server of --server add a key, and print "
              "it once. It is valid at once, until --key-remove or the end of the "
              "server"},
    {.name = "view",
     .type = OPTION_SWITCH,
     .about = "with --key-add: make a key that may only view; --routes lists what "
              "that allows"},
    {.name = "listener",
     .type = OPTION_TEXT,
     .value = "ADDRESS",
     .unset = "all",
     .about = "with --key-add: make the key valid at this listener alone, written as "
              "in --listen; NAME@ stands for every listener of that front-end"},
    {.name = "key-remove",
     .type = OPTION_TEXT,
     .value = "NAME",
     .about = "serve nothing, but make the server of --server refuse this key from "
              "now on, and end what came from it: requests in progress, WebSockets, "
              "logins, signed addresses and sessions of MCP. The last key of a listener "
              "cannot be removed, because the listener would be open without one"},
    {.name = "json",
     .type = OPTION_SWITCH,
     .about = "with --status, --keys and --key-add: print a JSON object"},
    {.name = "server",
     .type = OPTION_TEXT,
     .value = "WHERE",
     .env = "OD_SERVER",
     .unset = "default, else the only one",
     .about = "with --upgrade, --status and the options about keys: choose the "
              "server, by its name or the path of its socket; --socket (OD_SOCKET) "
              "does the same"},
    {.name = "routes",
     .type = OPTION_SWITCH,
     .about =
         "serve nothing, but list the HTTP routes, as JSON: listener (http, "
         "or else NAME in --listen NAME@ADDRESS), front-end, methods, path, the "
         "right that it needs (use, view, none) and where its key is (head; message: "
         "or in the first message of a WebSocket; none; peer: the caller's user "
         "decides)"},
    {.name = "ready-fd",
     .type = OPTION_INT,
     .value = "N",
     .max = 1023,
     .takes = "a descriptor's number",
     .about = "write \"listening ADDRESS\" for each HTTP listener, then \"ready\", or "
              "\"error REASON\" to this descriptor"},
    {.name = NULL},
};

/* serve.c completes the options that the worker gets. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    (void)given;
    (void)e;
    int64_t idle_ms = json_int(*own, "idle_exit_ms", 0);
    json_free(*own);
    *own = json_object();
    json_put_int(*own, "idle_exit_ms", idle_ms);
    return 0;
}

static const struct option_table own_table = {
    .heading = "Server", .section = "", .rows = rows, .prepare = prepare};

/* Lists all tables in the order of the manual. Returns how many. */
static size_t tables(const struct option_table *out[TABLES_MAX])
{
    size_t n = 0;
    out[n++] = &own_table;
    out[n++] = &guard_options;
    for (size_t i = 0; front_list[i]; i++) {
        BUG_ON(n == TABLES_MAX);
        if (front_list[i]->options)
            out[n++] = front_list[i]->options;
    }
    for (size_t i = 0; engine_parts[i]; i++) {
        BUG_ON(n == TABLES_MAX);
        if (engine_parts[i]->options)
            out[n++] = engine_parts[i]->options;
    }
    return n;
}

/* ---- words ---- */

static int take_words(struct serve_options *o, int argc, char **argv, struct err *e)
{
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--") == 0) {
            if (i + 1 == argc)
                return err_set(e, ERR_INVALID, "after -- there must be a command");
            o->command = argv + i + 1;
            return 0;
        }
        int used = options_take(o->given, argv + i, e);
        if (used < 0)
            return -1;
        i += used;
    }
    return 0;
}

/* Taken first, so that errors of the others can be reported there. */
static int take_ready(struct serve_options *o, struct err *e)
{
    const char *text = option_text(o->given, "ready-fd");
    uint64_t n = 0;
    if (!text)
        return 0;
    if (str_to_u64(str_of(text), &n) < 0 || n > 1023)
        return err_set(e, ERR_INVALID,
                       "--ready-fd takes a descriptor's number, not \"%.200s\"", text);
    o->ready = (int)n;
    return 0;
}

/* ---- meaning ---- */

static int add_listener(struct serve_options *o, const char *address, struct err *e)
{
    if (o->nlisten == LIMIT_LISTENERS_MAX)
        return err_set(e, ERR_LIMIT, "--listen %s is one too many: there can be %d",
                       address, LIMIT_LISTENERS_MAX);
    o->listen[o->nlisten++] = address;
    return 0;
}

/* PORT first: it is the address that is printed. */
static int take_listeners(struct serve_options *o, struct err *e)
{
    uint64_t n;
    const char *port = option_text(o->given, "PORT");
    if (port && (str_to_u64(str_of(port), &n) < 0 || n > 65535))
        return err_set(
            e, ERR_INVALID,
            "PORT is a number from 0 to 65535, not \"%.200s\"; other addresses "
            "go to --listen",
            port);
    if (port && add_listener(o, port, e) < 0)
        return -1;
    const struct json *list = option_json(o->given, "listen");
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        if (add_listener(o, xstrdup(json_str_value(v, "").p), e) < 0)
            return -1;
    }
    return 0;
}

static int take_command(struct serve_options *o, struct err *e)
{
    char space[64];
    o->stay = option_is_on(o->given, "stay");
    if (o->stay && !o->command)
        return err_set(e, ERR_INVALID, "--stay is for a command, which follows --");
    if (!o->command)
        return 0;
    if (o->daemon)
        return err_set(e, ERR_INVALID,
                       "--daemon and a command do not go together: a command ends the "
                       "server with its status, for the caller");
    if (json_int_value(option_json(o->given, "idle-exit"), 0) > 0)
        return err_set(e, ERR_INVALID,
                       "%s and a command do not go together: the command says when it is "
                       "over",
                       option_source(o->given, "idle-exit", space));
    /* The terminal belongs to the command. */
    if (!option_text(o->given, "log"))
        o->log_level = LOG_WARN;
    return 0;
}

/*
 * The options that send a request to a running server, which --server names, and what may
 * go with them.
 */
static const struct serve_request {
    const char *name, *takes;
    const char
        *with[8]; /* the other options that may go with it, as named in the refusal */
} asked[] = {
    {"upgrade", "one FILE", {"server", "socket"}},
    {"status", "no words", {"server", "json", "socket"}},
    {"keys", "no words", {"server", "json", "socket"}},
    {"key-add", "one NAME", {"server", "view", "listener", "json", "socket"}},
    {"key-remove", "one NAME", {"server", "socket"}},
};

/* Returns the first of them that was given; NULL if there is none. */
static const struct serve_request *find_asked(const struct options *g)
{
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        if (option_given(g, asked[i].name))
            return &asked[i];
    }
    return NULL;
}

/* Refuses options that have a meaning only with one of them. */
static int check_lonely(const struct options *g, const struct serve_request *a,
                        struct err *e)
{
    static const char *const lonely[][2] = {
        {"json", "--status, --keys and --key-add"},
        {"view", "--key-add"},
        {"listener", "--key-add; a server that is started has --listen"}};
    for (size_t i = 0; i < sizeof(lonely) / sizeof(lonely[0]); i++) {
        bool allowed = false;
        for (size_t k = 0; a && k < 8 && a->with[k]; k++)
            allowed |= strcmp(a->with[k], lonely[i][0]) == 0;
        if (option_given(g, lonely[i][0]) && !allowed)
            return err_set(e, ERR_INVALID, "--%s is for %s", lonely[i][0], lonely[i][1]);
    }
    return 0;
}

static int check_asked(const struct serve_options *o, const struct serve_request *a,
                       struct err *e)
{
    const char *allowed[10] = {a->name};
    struct buf list = BUF_INIT(200);
    for (size_t i = 0; i < 8 && a->with[i]; i++) {
        allowed[i + 1] = a->with[i];
        if (a->with[i + 1])
            buf_addf(&list, "%s--%s",
                     i == 0            ? ""
                     : !a->with[i + 2] ? " and "
                                       : ", ",
                     a->with[i]);
    }
    const char *other = option_other(o->given, allowed);
    int rc = 0;
    if (other && strcmp(other, "PORT") != 0)
        rc = err_set(e, ERR_INVALID,
                     "--%s does not apply to a running server: --%s goes only with %s",
                     other, a->name, buf_z(&list));
    else if (other || o->command)
        rc = err_set(e, ERR_INVALID, "--%s takes %s, and no %s", a->name, a->takes,
                     other ? other : "command");
    buf_release(&list);
    return rc;
}

static void take_keys(struct serve_options *o)
{
    const struct options *g = o->given;
    bool add = option_given(g, "key-add"), remove = option_given(g, "key-remove");
    o->keys = add || remove || option_given(g, "keys");
    o->key_verb = add ? "add" : remove ? "remove" : "list";
    o->key_name = option_text(g, add ? "key-add" : "key-remove");
    o->key_view = option_given(g, "view");
    o->key_at = option_text(g, "listener");
}

static int take_asked(struct serve_options *o, struct err *e)
{
    const struct options *g = o->given;
    const struct serve_request *a = find_asked(g);
    o->upgrade = option_given(g, "upgrade");
    o->status = option_given(g, "status");
    o->file = option_text(g, "upgrade");
    o->json = option_given(g, "json");
    take_keys(o);
    if (check_lonely(g, a, e) < 0)
        return -1;
    o->asks = a != NULL;
    if (!a && option_given(g, "server"))
        return err_set(e, ERR_INVALID,
                       "--server names the server that --upgrade or --status asks; the "
                       "name of the one to start is --name %.100s",
                       option_text(g, "server"));
    if (!a)
        return 0;
    if (check_asked(o, a, e) < 0)
        return -1;
    if (option_given(g, "server"))
        o->server = option_text(g, "server");
    else if (option_given(g, "socket"))
        o->server = sockpath_of_path(option_text(g, "socket"), o->socket_space);
    return 0;
}

/*
 * Takes the name and the socket. Within a session OD_SOCKET leads to the session's own
 * server, and a server that is started there listens elsewhere; so does one with a --name
 * if the server of OD_SOCKET runs.
 */
static int take_name(struct serve_options *o, struct err *e)
{
    uint64_t n = 0;
    char space[64];
    struct err why = ERR_INIT;
    const char *port = option_text(o->given, "PORT");
    if (o->asks)
        return 0;
    o->name = option_text(o->given, "name");
    if (!o->name && port && str_to_u64(str_of(port), &n) == 0 && n != 0) {
        snprintf(o->port_space, sizeof(o->port_space), "%u", (unsigned)n);
        o->name = o->port_space;
    }
    if (!o->name)
        o->name = SOCKPATH_DEFAULT;
    if (sockpath_check_name(o->name, &why) < 0)
        return err_set(e, why.code, "%s: %s", option_source(o->given, "name", space),
                       why.text);
    o->socket = option_text(o->given, "socket");
    if (o->socket)
        o->socket = sockpath_of_path(o->socket, o->socket_space);
    if (!o->socket || option_given(o->given, "socket") ||
        !(option_given(o->given, "name") || getenv("OD_OP")))
        return 0;
    int fd = sockpath_connect(o->socket, NULL, NULL);
    if (fd < 0)
        return 0;
    close(fd);
    o->socket = NULL;
    return 0;
}

static int take_routes(struct serve_options *o, struct err *e)
{
    static const char *const alone[] = {"routes", NULL};
    o->routes = option_given(o->given, "routes");
    if (!o->routes || (!o->command && !option_other(o->given, alone)))
        return 0;
    return err_set(e, ERR_INVALID,
                   "--routes goes with nothing else: routes do not depend on options");
}

static int understand(struct serve_options *o, struct err *e)
{
    const char *level = option_text(o->given, "log");
    if (level)
        o->log_level = log_level_from(level);
    o->log_json = str_eq(json_str_value(option_json(o->given, "log-form"), ""),
                         STR("json"));
    o->daemon = option_is_on(o->given, "daemon");
    if (take_listeners(o, e) < 0 || take_command(o, e) < 0 || take_routes(o, e) < 0 ||
        take_asked(o, e) < 0 || take_name(o, e) < 0)
        return -1;
    o->state_dir = option_text(o->given, "state-dir");
    o->working_dir = option_text(o->given, "working-dir");
    o->makes_dir = option_text(o->given, "PORT") || option_text(o->given, "username");
    return 0;
}

int serve_options_parse(struct serve_options *out, int argc, char **argv, struct err *e)
{
    const struct option_table *list[TABLES_MAX];
    *out = (struct serve_options){.ready = -1, .log_level = LOG_INFO};
    out->given = options_new("serve", list, tables(list));
    struct err why = ERR_INIT;
    int r = take_words(out, argc, argv, e);
    if (take_ready(out, r < 0 ? &why : e) < 0 || r < 0)
        return -1;
    if (options_environment(out->given, e) < 0 || options_check(out->given, e) < 0)
        return -1;
    return understand(out, e);
}

/* ---- help ---- */

void serve_options_help(struct buf *out, bool all)
{
    static const char first[] = "working-dir listen daemon status api-key ui plugins "
                                "username fence checkpoints";
    const struct option_table *list[TABLES_MAX];
    size_t n = tables(list);
    buf_addf(out,
             "\n%s(its variable in the environment; its default):\n"
             "\n"
             "  -h, --help [--all]\n"
             "      this text\n",
             all ? "Options, each with "
                 : "Options that are needed first (all: od help serve --all), each "
                   "with\n");
    for (size_t i = 0; i < n; i++)
        options_help(list[i], all ? NULL : first, out);
}
