/* SPDX-License-Identifier: MIT */
/*
 * `od jupyter-bridge`: cells in a kernel that stays, from a command line. As
 * `execute_cli` it replaces OpenDevin's program of that name: a cell on standard input,
 * its text on standard output.
 */
#include "applet.h"
#include "bridge.h"
#include "where.h"

#include "base/called.h"
#include "base/xalloc.h"
#include "ipc/answer.h"
#include "jupyter-bridge.txt.gz.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_MS = 30000 };

static int read_all(int fd, struct buf *out)
{
    for (;;) {
        char *p = buf_reserve(out, 64 << 10);
        ssize_t n = p ? read(fd, p, 64 << 10) : (errno = EFBIG, -1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        buf_commit(out, (size_t)n);
    }
}

static int do_verb(const struct bridge *o)
{
    struct err e = ERR_INIT;
    return bridge_send_verb(o, &e) < 0 ? bridge_fail(&e) : 0;
}

static int do_list(const struct bridge *o)
{
    struct err e = ERR_INIT;
    struct json *q = bridge_request(o, "kernels");
    struct json *r = call_simple(o->server, q, SMALL_MS, &e);
    json_free(q);
    if (r && !json_bool(r, "ok", false)) {
        err_set(&e, ERR_IO, "%s", json_str(json_get(r, "error"), "text", "refused").p);
        json_free(r);
        r = NULL;
    }
    if (!r)
        return bridge_fail(&e);
    if (o->json) {
        bridge_print_json(r);
    } else {
        const struct json *k = json_get(r, "kernels"), *s = json_get(r, "specs");
        if (json_first(k))
            printf("%-16s %-10s %-8s %s\n", "RUNNING", "STATE", "PID", "KERNEL");
        for (struct json *c = json_first(k); c; c = json_next(c))
            printf("%-16.*s %-10.*s %-8lld %.*s\n", STR_ARG(json_str(c, "name", "")),
                   STR_ARG(json_bool(c, "silent", false) ? STR("silent")
                           : json_bool(c, "busy", false) ? STR("busy")
                                                         : json_str(c, "state", "")),
                   (long long)json_int(c, "pid", 0), STR_ARG(json_str(c, "display", "")));
        if (json_first(s))
            printf("%-16s %-10s %s\n", "KERNEL", "LANGUAGE", "FOUND AT");
        for (struct json *c = json_first(s); c; c = json_next(c))
            printf("%-16.*s %-10.*s %.*s%s\n", STR_ARG(json_str(c, "name", "")),
                   STR_ARG(json_str(c, "language", "")),
                   STR_ARG(json_str(c, "where", "")),
                   json_bool(c, "embedded", false) ? " (embedded)" : "");
        called_add("%.*s", STR_ARG(json_str(r, "notes_on_specs", "")));
    }
    json_free(r);
    return fflush(stdout) == 0 ? 0 : ANSWER_OURS;
}

static int add_env(struct bridge *o, const char *text, struct err *e)
{
    const char *eq = strchr(text, '='), *value = eq ? eq + 1 : getenv(text);
    if (!value || eq == text)
        return err_set(e, ERR_INVALID,
                       "--env takes NAME=VALUE, or the NAME of a variable");
    char name[256];
    snprintf(name, sizeof(name), "%.*s", eq ? (int)(eq - text) : 255, text);
    if (!o->env)
        o->env = json_object();
    json_put_z(o->env, name, value);
    return 0;
}

/* Returns 1 if help was printed. */
static int parse(struct bridge *o, int argc, char **argv, struct err *e)
{
    enum {
        JSON = 256,
        LIST,
        INTERRUPT,
        RESTART,
        CLOSE,
        SERVER,
        SOCKET,
        CA,
        IMAGES,
        EMBEDDED,
        JUPYTER,
        CWD,
        USER,
        ENV,
        KEEP,
        COMPLETE,
        INSPECT,
        HISTORY,
        AT
    };
    static const struct option longs[] = {{"code", 1, NULL, 'c'},
                                          {"kernel", 1, NULL, 'k'},
                                          {"name", 1, NULL, 's'},
                                          {"embedded", 0, NULL, EMBEDDED},
                                          {"jupyter", 0, NULL, JUPYTER},
                                          {"timeout", 1, NULL, 't'},
                                          {"images", 1, NULL, IMAGES},
                                          {"output", 1, NULL, 'o'},
                                          {"keep-going", 0, NULL, KEEP},
                                          {"json", 0, NULL, JSON},
                                          {"cwd", 1, NULL, CWD},
                                          {"user", 1, NULL, USER},
                                          {"env", 1, NULL, ENV},
                                          {"complete", 0, NULL, COMPLETE},
                                          {"inspect", 0, NULL, INSPECT},
                                          {"history", 0, NULL, HISTORY},
                                          {"at", 1, NULL, AT},
                                          {"list", 0, NULL, LIST},
                                          {"interrupt", 0, NULL, INTERRUPT},
                                          {"restart", 0, NULL, RESTART},
                                          {"close", 0, NULL, CLOSE},
                                          {"verbose", 0, NULL, 'v'},
                                          {"server", 1, NULL, SERVER},
                                          {"socket", 1, NULL, SOCKET},
                                          {"ca", 1, NULL, CA},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "c:k:s:n:t:o:vh", longs, NULL)) != -1;) {
        switch (c) {
        case 'c':
            o->code = optarg;
            break;
        case 'k':
            o->kernel = optarg;
            break;
        case 's':
        case 'n': /* its name before -s named a session everywhere */
            o->name = optarg;
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'v':
            o->verbose = true;
            break;
        case JSON:
            o->json = true;
            break;
        case LIST:
            o->list = true;
            break;
        case COMPLETE:
            o->question = "complete";
            break;
        case INSPECT:
            o->question = "inspect";
            break;
        case HISTORY:
            o->question = "history";
            break;
        case AT:
            if (str_to_i64(str_of(optarg), &o->at) < 0 || o->at < 0)
                return err_set(e, ERR_INVALID, "--at takes a number, not %s", optarg);
            break;
        case INTERRUPT:
            o->verb = "interrupt";
            break;
        case RESTART:
            o->verb = "restart";
            break;
        case CLOSE:
            o->verb = "close";
            break;
        case SERVER:
        case SOCKET:
        case CA:
            if (where_take(&o->server, o->socket_space,
                           c == CA       ? "--ca"
                           : c == SOCKET ? "--socket"
                                         : "--server",
                           optarg, e) < 0)
                return -1;
            break;
        case IMAGES:
            o->images = optarg;
            break;
        case EMBEDDED:
            o->choice = "own";
            break;
        case JUPYTER:
            o->choice = "jupyter";
            break;
        case CWD:
            o->cwd = optarg;
            break;
        case USER:
            o->user = optarg;
            break;
        case KEEP:
            o->keep_going = true;
            break;
        case ENV:
            if (add_env(o, optarg, e) < 0)
                return -1;
            break;
        case 't':
            if (str_to_ms(str_of(optarg), &o->timeout_ms) < 0)
                return err_set(e, ERR_INVALID, "--timeout takes seconds, not %s", optarg);
            break;
        case 'h':
            return applet_help(&applet_jupyter_bridge) == 0 ? 1 : -1;
        default:
            return err_set(e, ERR_INVALID, "see %s", called_help("jupyter-bridge").z);
        }
    }
    if (optind < argc)
        o->file = argv[optind++];
    if (optind < argc || (o->file && o->code))
        return err_set(e, ERR_INVALID, "one cell at a time: -c CODE, or one FILE");
    return 0;
}

static int code_of(struct bridge *o, struct buf *code, struct err *e)
{
    if (o->code)
        return buf_addz(code, o->code);
    bool in = !o->file || strcmp(o->file, "-") == 0;
    o->from_stdin = in;
    int fd = in ? STDIN_FILENO : open(o->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read_all(fd, code) < 0)
        return err_sys(e, errno, "cannot read %s", in ? "standard input" : o->file);
    if (!in)
        close(fd);
    return 0;
}

static bool is_notebook(const struct bridge *o)
{
    return o->file && str_ends(str_of(o->file), STR(".ipynb"));
}

/* Changes the directory as OpenDevin's program did. */
static int enter_pwd(struct bridge *o, struct client *client)
{
    const char *dir = getenv("JUPYTER_PWD");
    struct buf code = BUF_INIT(PATH_MAX * 7), quoted = BUF_INIT(PATH_MAX * 6 + 2);
    struct err e = ERR_INIT;
    if (!dir || !dir[0])
        return 0;
    json_quote(&quoted, str_of(dir));
    buf_addf(&code, "import os; os.chdir(%s)", buf_z(&quoted));
    struct bridge_cell *r = xnew(struct bridge_cell);
    struct json *result = bridge_run(r, o, client, buf_str(&code), &e);
    bool ok = result != NULL;
    bridge_cell_release(r);
    json_free(result);
    free(r);
    buf_release(&code);
    buf_release(&quoted);
    return ok ? 0 : bridge_fail(&e);
}

static int bridge_main(int argc, char **argv)
{
    struct bridge o = {.at = -1, .all_text = strstr(argv[0], "execute_cli") != NULL};
    struct err e = ERR_INIT;
    struct client client = {.fd = -1};
    struct buf code = BUF_INIT(BRIDGE_BOOK_MAX);
    int status = ANSWER_OURS;
    int p = parse(&o, argc, argv, &e);
    if (p != 0)
        return p > 0 ? 0 : bridge_fail(&e);
    if (bridge_open_signals(&e) < 0)
        return bridge_fail(&e);
    signal(SIGPIPE, SIG_IGN);
    if (o.all_text && o.timeout_ms == 0)
        o.timeout_ms = 120000;
    if (o.verb)
        return do_verb(&o);
    bool history = o.question && strcmp(o.question, "history") == 0;
    if (!o.list && !history && code_of(&o, &code, &e) < 0)
        return bridge_fail(&e);
    int opened = client_open(&client, o.server, true, &e);
    if (opened == 0)
        o.server = client.server.path; /* the same one for later requests */
    if (opened < 0)
        status = bridge_fail(&e);
    else if (o.list)
        status = do_list(&o);
    else if (o.question)
        status = bridge_ask(&o, &client, buf_str(&code));
    else if (is_notebook(&o))
        status = bridge_notebook(&o, &client, buf_str(&code));
    else if (!o.all_text || (status = enter_pwd(&o, &client)) == 0)
        status = bridge_one_cell(&o, &client, buf_str(&code));
    client_close(&client);
    json_free(o.env);
    buf_release(&code);
    return status;
}

const struct applet applet_jupyter_bridge = {
    .name = "jupyter-bridge",
    .also = "execute_cli",
    .brief = "run cells in a Jupyter kernel that stays",
    .packed = PACKED(jupyter_bridge_txt_gz),
    .main = bridge_main,
};
