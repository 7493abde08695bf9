/* SPDX-License-Identifier: MIT */
/*
 * `od serve`: reads options, finds a place for state and socket, and becomes the keeper
 * by running the binary again with empty arguments and environment: /proc shows those for
 * as long as a process lives, and they may contain keys.
 */
#include "applet.h"
#include "base/called.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/option.h"
#include "base/xalloc.h"
#include "fence/fence.h"
#include "front/front.h"
#include "front/fronts.h"
#include "front/live_page/live_page.h"
#include "keeper/reaper.h"
#include "net/addr.h"
#include "net/sockpath.h"
#include "net/tls.h"
#include "os/null.h"
#include "os/self.h"
#include "secret/values.h"
#include "serve.h"
#include "serve.txt.gz.h"
#include "setup/cachedir.h"
#include "setup/users.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { STATUS_OURS = 125, SOCKETS_MAX = LIMIT_LISTENERS_MAX + 3 };

/*
 * The worker knows it by its name: "local", "http[s] ADDRESS" or, for one front-end,
 * "http[s] NAME@ADDRESS"; "NAME ADDRESS" for one that guards its listeners itself.
 */
struct serve_listener {
    int fd;
    bool unix_socket, tls;
    const struct front
        *only; /* the front-end that is served there; NULL: the native set */
    char address[ADDR_TEXT_MAX + 1];
    char name[ADDR_TEXT_MAX + 48];
};

struct serve {
    struct serve_options o;
    struct serve_state state;
    char socket[SOCKPATH_MAX], cwd[4096];
    char began[4096];    /* the directory that we were started in */
    struct json *stored; /* owned; the worker's options, from options_store on */
    struct serve_listener listeners[SOCKETS_MAX]; /* the first is od exec's */
    int nlisteners;
    struct fence_made fence;
    int reach;     /* rules of the network, for the keeper; -1: none */
    int parent;    /* that waits for this daemon to listen, by a byte; -1: none */
    char once[65]; /* of the link to the live page; "": there is none */
};

/* Reports an error to --ready-fd and on standard error. Frees the options. */
static int fail(struct serve *s, const struct err *e)
{
    called_say("%s\n", e->text);
    if (s->o.ready >= 0)
        dprintf(s->o.ready, "error %s\n", e->text);
    options_free(s->o.given);
    json_free(s->stored);
    return STATUS_OURS;
}

/* ---- options for the worker ---- */

/*
 * Returns a setting of the HTTP listeners (front/guard.h); "" or false if it is not set.
 */
static const char *http_text(const struct serve *s, const char *name)
{
    return json_str(json_get(s->stored, "http"), name, "").p;
}

static bool is_open(const struct serve *s)
{
    return json_bool(json_get(s->stored, "http"), "insecure_open", false);
}

static bool is_secret(const char *entry)
{
    static const char *const names[] = {"SESSION_API_KEY=", "OH_SESSION_API_KEYS",
                                        "OH_SECRET_KEY=", "OD_"};
    /* The choice of a browser, and its access to the web. */
    if (strncmp(entry, "OD_BROWSE", 9) == 0 ||
        strncmp(entry, "OD_FENCE_AUTHORITY=", 19) == 0)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static void push_var(struct json *env, const char *name, const char *value)
{
    struct buf b = BUF_INIT(SOCKPATH_MAX + 64);
    buf_addf(&b, "%s=%s", name, value);
    json_push_str(env, buf_str(&b));
    buf_release(&b);
}

/* Returns the environment of children: ours without keys, and with pagers off. */
static struct json *child_env(const struct serve *s)
{
    struct json *env = json_array();
    for (char **v = environ; *v; v++) {
        if (!is_secret(*v) && strncmp(*v, "TERM=", 5) != 0)
            json_push_str(env, str_of(*v));
    }
    push_var(env, "TERM", "xterm-256color");
    if (!json_has(s->stored, "fence")) /* it refuses programs in there */
        push_var(env, "OD_SOCKET", s->socket);
    if (!getenv("PAGER"))
        push_var(env, "PAGER", "cat");
    if (!getenv("GIT_PAGER"))
        push_var(env, "GIT_PAGER", "cat");
    if (!getenv("PATH"))
        push_var(env, "PATH",
                 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    if (!getenv("HOME")) {
        struct passwd *pw = getpwuid(geteuid());
        push_var(env, "HOME", pw && pw->pw_dir ? pw->pw_dir : "/");
    }
    return env;
}

/*
 * Completes the worker's options, which pass through the keeper as one JSON object:
 *
 *   name                    string: the server's
 *   state_dir, cwd, socket  strings      idle_exit_ms, log_level  numbers
 *   log_json, stay          bools        env                      ["NAME=VALUE", …]
 *   path                    string: our file, for an upgrade by signal
 *   http                    front/guard.h
 *   others                  the section of a front-end or part, by its table of options
 */
static int make_options(struct serve *s, struct buf *out, struct err *e)
{
    struct json *o = s->stored;
    char path[4096];
    json_put_z(o, "state_dir", s->state.dir);
    json_put_z(o, "cwd", s->cwd);
    json_put_z(o, "name", s->o.name);
    json_put_z(o, "socket", s->socket);
    json_put_int(o, "log_level", s->o.log_level);
    json_put_bool(o, "log_json", s->o.log_json);
    json_put_bool(o, "stay", s->o.stay);
    if (self_path(path, sizeof(path)) == 0)
        json_put_z(o, "path", path);
    json_put(o, "env", child_env(s));
    return json_print(out, o) == 0
               ? 0
               : err_set(e, ERR_LIMIT,
                         "the environment is longer than %d bytes; unset what is not "
                         "needed",
                         LIMIT_SPAWN_MAX);
}

static int in_pipe(struct str bytes)
{
    int p[2];
    if (pipe(p) < 0)
        return -1;
    fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    if (write(p[1], bytes.p, bytes.n) != (ssize_t)bytes.n) {
        close(p[0]);
        p[0] = -1;
    }
    close(p[1]);
    return p[0];
}

/*
 * Returns a descriptor that reads as these bytes. They have keys, so they are never on
 * disk.
 */
static int as_file(struct str bytes)
{
    int fd = memfd_create("options", 0);
    if (fd < 0)
        return in_pipe(bytes);
    if (write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/*
 * Writes the command to run too, as the image defines it: with its own environment except
 * our keys and addresses, and its own directory.
 */
static int command_file(const struct serve *s)
{
    struct buf body = BUF_INIT(SERVE_COMMAND_MAX);
    char socket[SOCKPATH_MAX + 16], **env;
    size_t n = 0, count = 0;
    while (environ[count])
        count++;
    env = xcalloc(count + 2, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        if (!is_secret(environ[i]))
            env[n++] = environ[i];
    }
    snprintf(socket, sizeof(socket), "OD_SOCKET=%s", s->socket);
    env[n] = socket;
    int fd = -1;
    if (reaper_spawn_body(&body, s->o.command[0], s->began, s->o.command, env) == 0)
        fd = as_file(buf_str(&body));
    buf_release(&body);
    free(env);
    return fd;
}

/* ---- going to the background ---- */

/*
 * Goes on in a child. This process ends when the child listens, or with the status of an
 * error when it has failed, and has said why.
 */
static int become_daemon(struct serve *s, struct err *e)
{
    int p[2];
    char one;
    ssize_t n;
    pid_t pid = pipe2(p, O_CLOEXEC) < 0 ? -1 : fork();
    if (pid < 0)
        return err_sys(e, errno, "cannot start in the background");
    if (pid > 0) {
        close(p[1]);
        do
            n = read(p[0], &one, 1);
        while (n < 0 && errno == EINTR);
        _exit(n == 1 ? 0 : STATUS_OURS);
    }
    close(p[0]);
    s->parent = p[1];
    setsid();
    return 0;
}

static void redirect_log(const struct serve *s)
{
    char path[sizeof(s->state.dir) + 16];
    int null = null_open();
    snprintf(path, sizeof(path), "%s/server.log", s->state.dir);
    int fd = s->state.dir[0]
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600)
                 : -1;
    for (int i = 0; i < 3; i++) {
        int to = i > 0 && fd >= 0 ? fd : null;
        if (to >= 0 && i != s->o.ready)
            dup2(to, i);
    }
    if (fd > 2)
        close(fd);
    if (null > 2)
        close(null);
}

/* ---- listening ---- */

static void add_listener(struct serve *s, int fd, const char *name, bool unix_socket)
{
    struct serve_listener *l = &s->listeners[s->nlisteners++];
    l->fd = fd;
    l->unix_socket = unix_socket;
    snprintf(l->name, sizeof(l->name), "%s", name);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Adds a listener; a: the address of fd. */
static void add_http(struct serve *s, int fd, const struct addr *a, bool tls,
                     const struct front *only)
{
    struct serve_listener l = {
        .fd = fd, .unix_socket = addr_is_unix(a), .tls = tls, .only = only};
    struct buf address = BUF_INIT(ADDR_TEXT_MAX);
    addr_print(a, &address);
    snprintf(l.address, sizeof(l.address), "%s", buf_z(&address));
    if (only && only->guards)
        snprintf(l.name, sizeof(l.name), "%s %s", only->name, l.address);
    else
        snprintf(l.name, sizeof(l.name), "http%s %s%s%s", tls ? "s" : "",
                 only ? only->name : "", only ? "@" : "", l.address);
    buf_release(&address);
    s->listeners[s->nlisteners++] = l;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Appends an address as --listen takes it: "NAME@https://127.0.0.1:3000". */
static void put_address(const struct serve_listener *l, struct buf *out)
{
    if (l->only)
        buf_addf(out, "%s@", l->only->name);
    buf_addf(out, "%s%s", l->tls ? "https://" : "", l->address);
}

/* Cuts the scheme off an address; sets *tls if there is one. */
static const char *cut_scheme(const char *text, bool *tls)
{
    static const struct {
        const char *text;
        bool tls;
    } schemes[] = {{"https://", true}, {"tls://", true}, {"http://", false}};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t n = strlen(schemes[i].text);
        if (strncmp(text, schemes[i].text, n) == 0) {
            *tls = schemes[i].tls;
            return text + n;
        }
    }
    return text;
}

/* Whether any key is valid at the listeners of `only`, or of the native set. */
static bool has_key(const struct serve *s, const struct front *only)
{
    const struct front *of[] = {only, only ? only->shares : NULL};
    bool named = false;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const struct json *own = of[i] ? fronts_options(of[i], s->stored) : NULL;
        named = named || (own && of[i]->key && json_str(own, of[i]->key, "").n > 0);
    }
    return named || http_text(s, "api_key")[0];
}

/* Checks whether the address may have TLS, or may be without. */
static int check_tls(const struct serve *s, const char *text, const struct addr *a,
                     const struct front *only, bool tls, struct err *e)
{
    if (tls && !http_text(s, "tls_cert")[0])
        return err_set(e, ERR_INVALID,
                       "cannot listen on %s without a certificate: give one with "
                       "--tls-cert",
                       text);
    if (tls && addr_is_unix(a))
        return err_set(e, ERR_INVALID,
                       "cannot listen on %s: TLS is for TCP; a unix socket is its "
                       "owner's only",
                       text);
    bool keyless = only && fronts_keyless(only, s->stored);
    if (json_has(s->stored, "fence") && (keyless || !has_key(s, only)) &&
        !(tls && http_text(s, "tls_client_ca")[0]))
        return err_set(
            e, ERR_DENIED,
            "cannot listen on %s without a key: programs within the fence could "
            "use the server to see what is hidden from them; give a key with "
            "--api-key-file or SESSION_API_KEY",
            text);
    bool known = has_key(s, only) || is_open(s) || keyless ||
                 (tls && http_text(s, "tls_client_ca")[0]);
    if (addr_is_loopback(a) || known)
        return 0;
    return err_set(e, ERR_DENIED,
                   "cannot listen on %s without a key: anyone who reaches that address "
                   "could run commands here; give a key with --api-key-file or "
                   "SESSION_API_KEY, listen on 127.0.0.1, or allow it with "
                   "--insecure-open",
                   text);
}

/* Cuts NAME@ off and sets *only to that front-end; NULL if there is no NAME. */
static int cut_name(const char **text, const struct front **only, struct err *e)
{
    struct str rest = str_of(*text);
    struct buf names = BUF_INIT(512);
    *only = fronts_cut(&rest);
    if (*only || !fronts_named(rest)) {
        *text = rest.p;
        return 0;
    }
    fronts_names(&names);
    err_set(
        e, ERR_NOTFOUND,
        "cannot listen on %.200s: no front-end has the name before the @; there are %s",
        *text, buf_z(&names));
    buf_release(&names);
    return -1;
}

static int listen_http(struct serve *s, const char *text, struct err *e)
{
    struct addr a;
    const struct front *only;
    const char *rest = text;
    bool tls = false;
    if (cut_name(&rest, &only, e) < 0)
        return -1;
    const char *address = cut_scheme(rest, &tls);
    if (addr_parse(&a, str_of(address), e) < 0)
        return -1;
    bool guards = only && only->guards;
    if (guards && (tls || a.ss.ss_family != AF_INET || !addr_is_loopback(&a)))
        return err_set(e, ERR_INVALID,
                       "cannot listen on %.200s: %s answers programs of this machine "
                       "only: give %s@127.0.0.1:PORT",
                       text, only->name, only->name);
    if (address == rest)
        tls = http_text(s, "tls_cert")[0] && !addr_is_unix(&a) && !guards;
    if (guards && json_has(s->stored, "fence"))
        return err_set(
            e, ERR_DENIED,
            "cannot listen on %.200s: that listener knows no key, and programs "
            "within the fence could use it",
            text);
    if (!guards && check_tls(s, text, &a, only, tls, e) < 0)
        return -1;
    int fd = addr_listen(&a, e);
    if (fd < 0)
        return -1;
    addr_of(fd, &a);
    add_http(s, fd, &a, tls, only);
    return 0;
}

/* Reports what is wrong with the certificate to the caller, not only to the log. */
static int check_certificate(struct serve *s, struct err *e)
{
    const char *key = http_text(s, "tls_key"), *ca = http_text(s, "tls_client_ca");
    struct tls_files f = {http_text(s, "tls_cert"), *key ? key : NULL, *ca ? ca : NULL};
    if (!f.cert[0])
        return 0;
    bool spoken = false;
    for (int i = 1; i < s->nlisteners; i++)
        spoken = spoken || s->listeners[i].tls;
    if (!spoken)
        return err_set(e, ERR_INVALID,
                       "--tls-cert is for HTTPS, and there is no TCP address to serve it "
                       "at: give one with --listen");
    struct tls_server *t = tls_server_new(&f, e);
    int rc = t ? 0 : -1;
    tls_server_free(t);
    return rc;
}

/*
 * Listens for the file viewer at one of the 1,024 ports after that of OpenHands' client,
 * as OpenHands' runtime does; does nothing if the client has no port. The last port is
 * tried first, because other programs tend to use the first ones. Without a free port,
 * the server runs without the viewer.
 */
static void listen_viewer(struct serve *s)
{
    unsigned port = 0;
    for (int i = 1; i < s->nlisteners; i++) {
        const struct serve_listener *l = &s->listeners[i];
        struct addr a;
        if (str_starts(str_of(l->name), STR("viewer ")))
            return; /* --listen has one */
        if (port == 0 && !l->unix_socket && addr_of(l->fd, &a) == 0)
            port = addr_port(&a);
    }
    int fd = -1;
    char text[32];
    for (unsigned p = port + 1024; port > 0 && p > port && fd < 0; p--) {
        struct addr a;
        struct err e;
        snprintf(text, sizeof(text), "127.0.0.1:%u", p);
        if (p <= 65535 && addr_parse(&a, str_of(text), &e) == 0)
            fd = addr_listen(&a, &e);
    }
    char name[48];
    snprintf(name, sizeof(name), "viewer %s", text);
    if (fd >= 0)
        add_listener(s, fd, name, false);
}

static int listen_all(struct serve *s, struct err *e)
{
    const char *where = s->o.socket ? s->o.socket : s->o.name;
    int fd = sockpath_listen(where, s->socket, sizeof(s->socket), e);
    if (fd < 0 && e->code == ERR_EXISTS) {
        struct err why = *e;
        err_set(
            e, why.code,
            "%s: %s --server %s --stop ends it, --name NAME starts another one next to "
            "it",
            why.text, called("exec").z, where);
    }
    if (fd < 0)
        return -1;
    add_listener(s, fd, "local", true);
    for (int i = 0; i < s->o.nlisten; i++) {
        if (listen_http(s, s->o.listen[i], e) < 0)
            return -1;
    }
    if (check_certificate(s, e) < 0)
        return -1;
    for (int i = 1; i < s->nlisteners && s->o.ready >= 0; i++) {
        struct buf address = BUF_INIT(sizeof(s->listeners[i].name) + 16);
        put_address(&s->listeners[i], &address);
        dprintf(s->o.ready, "listening %s\n", buf_z(&address));
        buf_release(&address);
    }
    if (s->o.makes_dir && !json_has(s->stored, "fence"))
        listen_viewer(s); /* it knows no key */
    return 0;
}

/* After an error: removes the names of sockets that no longer have a listener. */
static void leave_all(const struct serve *s)
{
    for (int i = 0; i < s->nlisteners; i++) {
        const char *name = i == 0 ? s->socket : s->listeners[i].address;
        if (s->listeners[i].unix_socket)
            sockpath_remove(i > 0 && name[0] != '@' ? name + strlen("unix:") : name);
    }
}

/* Prints a request to the first HTTP listener that has V0, to paste. */
static void say_curl(const struct serve *s)
{
    const struct serve_listener *l = &s->listeners[1],
                                *end = s->listeners + s->nlisteners;
    while (l < end && (!l->address[0] || (l->only && strcmp(l->only->name, "v0") != 0)))
        l++;
    if (l == end)
        return;
    const char *at = l->address;
    const char *key = http_text(s, "api_key")[0]
                          ? " -H \"X-Session-API-Key: $SESSION_API_KEY\""
                          : "";
    fprintf(stderr, "HTTP: curl -s%s ", key);
    if (!l->unix_socket)
        fprintf(stderr, "http%s://%s", l->tls ? "s" : "", at);
    else if (at[0] == '@')
        fprintf(stderr, "--abstract-unix-socket '%s' http://localhost", at + 1);
    else
        fprintf(stderr, "--unix-socket '%s' http://localhost", at + strlen("unix:"));
    if (l->only)
        fprintf(stderr, "/execute_action \\\n"
                        "        -H 'Content-Type: application/json' \\\n"
                        "        -d '{\"action\":{\"action\":\"run\",\"args\":"
                        "{\"command\":\"echo hello\"}}}'\n");
    else
        fprintf(stderr, "/events \\\n        -d '{\"action\":\"run\",\"args\":"
                        "{\"command\":\"echo hello\",\"until\":\"input\"}}'\n");
}

/* Makes the link that logs in to the live page once; the worker gets the hash of it. */
static void make_once(struct serve *s)
{
    struct json *page = json_get(s->stored, "page");
    uint8_t hash[HASH_SHA256_SIZE];
    struct buf text = BUF_INIT(2 * HASH_SHA256_SIZE);
    if (!json_bool(page, "ui", false) || s->o.daemon || s->o.command)
        return;
    random_hex(s->once, sizeof(s->once) - 1);
    hash_sha256(str_of(s->once), hash);
    enc_base64(&text, str_n((const char *)hash, sizeof(hash)));
    json_put_str(page, "once", buf_str(&text));
    buf_release(&text);
}

/* Prints it, of the first listener that a browser can open. */
static void say_page(const struct serve *s)
{
    const struct json *page = json_get(s->stored, "page");
    struct buf link = BUF_INIT(1024), address = BUF_INIT(512);
    int rc = -1;
    for (int i = 1; i < s->nlisteners && s->once[0] && rc < 0; i++) {
        if (str_starts(str_of(s->listeners[i].name), STR("viewer ")))
            continue;
        buf_reset(&address);
        put_address(&s->listeners[i], &address);
        rc = live_page_link(&link, buf_str(&address), json_str(page, "prefix", ""),
                            s->once);
    }
    if (rc == 0)
        fprintf(stderr, "Page: %s (once, for ten minutes)\n", buf_z(&link));
    buf_release(&link);
    buf_release(&address);
}

static void say_how(const struct serve *s)
{
    char self[4096];
    if (self_path(self, sizeof(self)) < 0)
        snprintf(self, sizeof(self), "od");
    called_say("listening on %s", s->socket);
    /* The viewer's address is not printed: it is in the file for the backend. */
    for (int i = 1; i < s->nlisteners; i++)
        if (s->listeners[i].address[0])
            fprintf(stderr, ", %s", s->listeners[i].name);
    fprintf(stderr,
            "; state in %s\n"
            "Try:  %s exec --socket %s 'echo hello from $PWD; export GREETING=hi'\n"
            "then: %s exec --socket %s 'echo $GREETING'\n",
            s->state.dir[0] ? s->state.dir : "memory", self, s->socket, self, s->socket);
    for (int i = 1; i < s->nlisteners; i++) {
        const struct serve_listener *l = &s->listeners[i];
        if (l->only && l->only->available && !l->unix_socket)
            fprintf(stderr, "%s is available at %s://%s\n", l->only->available,
                    l->tls ? "https" : "http", l->address);
    }
    say_curl(s);
    say_page(s);
    if (is_open(s) && !http_text(s, "api_key")[0])
        fprintf(stderr, "No key is set: anyone who reaches these may run commands.\n");
}

/* ---- start ---- */

static const char *hand_down(int fd, char space[16])
{
    if (fd >= 0)
        fcntl(fd, F_SETFD, 0);
    snprintf(space, 16, "%d", fd);
    return space;
}

/*
 * Writes what the supervisor of the network needs (reach/supervisor.h), into o too.
 * state: the state directory, or "".
 */
static int make_reach(struct serve *s, const struct json *fence, const char *state,
                      struct json *o, struct err *e)
{
    struct buf text = BUF_INIT(LIMIT_SPAWN_MAX);
    struct json *own = json_array();
    struct addr at;
    if (s->o.command && json_has(o, "secrets")) {
        json_free(own);
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot enforce secret for %s, which has the server's own "
                       "variables: start it with od exec, or without these rules",
                       s->o.command[0]);
    }
    json_put(o, "rules", json_copy(json_get(fence, "rules")));
    for (int i = 0; i < s->nlisteners; i++) {
        if (addr_of(s->listeners[i].fd, &at) == 0 && addr_port(&at) > 0)
            json_push_int(own, addr_port(&at));
    }
    json_put(o, "own", own);
    json_put_bool(o, "learn", json_bool(fence, "learn", false));
    if (json_bool(fence, "learn", false) && !fence_limits_files(fence)) {
        struct json *files = json_object();
        json_put_str(files, "home", json_str(fence, "home", ""));
        json_put_z(files, "state", state);
        json_put(o, "files", files);
    }
    json_print(&text, o);
    s->reach = as_file(buf_str(&text));
    if (text.p)
        explicit_bzero(text.p, text.n); /* secrets may be in it */
    buf_release(&text);
    return s->reach < 0 ? err_sys(e, errno, "cannot keep the rules of the network") : 0;
}

/* Reads the secrets of the fence; state: the state directory, or "". */
static int make_secrets(struct json *fence, const char *state, struct json *config,
                        struct err *e)
{
    char folder[4096 + sizeof(FENCE_FOLDER)];
    const struct json *x = json_first(json_get(fence, "rules"));
    while (x && !str_eq(json_str(x, "do", ""), STR("secret")))
        x = json_next(x);
    if (!x)
        return 0;
    if (!state[0])
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot enforce secret: programs find the certificate to trust in "
                       "the state directory, and there is none; name one with "
                       "--state-dir");
    snprintf(folder, sizeof(folder), "%s/" FENCE_FOLDER, state);
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make the folder %s", folder);
    return secret_values(json_get(fence, "rules"), folder, config, e);
}

/* Makes the fence, if there is to be one. The state directory exists. */
static int make_fence(struct serve *s, struct err *e)
{
    struct json *fence = json_get(s->stored, "fence"), *x;
    char self[4096], state[4096];
    if (!fence)
        return 0;
    if (self_path(self, sizeof(self)) < 0)
        self[0] = 0;
    if (!s->state.dir[0] || !realpath(s->state.dir, state))
        state[0] = 0;
    struct fence_own own = {.state_dir = state, .socket = s->socket, .self = self};
    struct json *config = json_object();
    int rc = make_secrets(fence, state, config, e);
    rc = rc < 0 ? rc : fence_make(fence, &own, &s->fence, e);
    if (rc == 0 && json_bool(fence, "net", false))
        rc = make_reach(s, fence, state, config, e);
    json_free(config);
    if (rc < 0)
        return -1;
    for (x = json_first(json_get(fence, "notes")); x; x = json_next(x))
        log_warn("fence: %s", json_str_value(x, "").p);
    for (x = json_first(json_get(fence, "lacks")); x; x = json_next(x))
        log_warn("fence: this kernel lacks the right %s (%s): %s",
                 json_str(x, "right", "").p, json_str(x, "since", "").p,
                 json_str(x, "means", "").p);
    if (s->fence.jobs >= 0)
        add_listener(s, s->fence.jobs, FENCE_HELD, false);
    return 0;
}

static int become_keeper(struct serve *s, struct err *e)
{
    struct buf options = BUF_INIT(LIMIT_SPAWN_MAX);
    if (make_options(s, &options, e) < 0)
        return -1;
    enum { GIVEN = 7 };
    int fd = as_file(buf_str(&options)), self = self_open();
    int command = s->o.command ? command_file(s) : -1;
    if (fd < 0 || self < 0 || (s->o.command && command < 0))
        return err_sys(e, errno, "cannot start the keeper");
    const char *argv[1 + GIVEN + 2 * SOCKETS_MAX + 1] = {"od-keeper"};
    char words[GIVEN + SOCKETS_MAX][16];
    int given[GIVEN] = {fd,      s->state.lock,     s->o.ready, self,
                        command, s->fence.programs, s->reach},
        n = 1, w = 0;
    for (; w < GIVEN; w++)
        argv[n++] = hand_down(given[w], words[w]);
    for (int i = 0; i < s->nlisteners; i++) {
        argv[n++] = hand_down(s->listeners[i].fd, words[w + i]);
        argv[n++] = s->listeners[i].name;
    }
    char *trace = getenv("OD_TRACE"), kept[256];
    snprintf(kept, sizeof(kept), "OD_TRACE=%s", trace ? trace : "");
    char *env[] = {trace ? kept : NULL, NULL};
    if (s->o.daemon)
        redirect_log(s);
    else if (!s->o.command)
        say_how(s);
    if (s->parent >= 0 && write(s->parent, "1", 1) < 0)
        log_warn("who started this is gone");
    self_exec(self, (char *const *)(uintptr_t)argv, env);
    return err_sys(e, errno, "cannot start the keeper");
}

/* Enters the directory where sessions begin; makes it if callers expect that. */
static int enter_working_dir(struct serve *s, struct err *e)
{
    const char *dir = s->o.working_dir;
    if (!getcwd(s->began, sizeof(s->began)))
        s->began[0] = 0;
    if (dir && s->o.makes_dir && users_make_dir(dir, e) < 0)
        return -1;
    if (dir && chdir(dir) < 0)
        return err_sys(e, errno, "cannot work in %s", dir);
    if (!getcwd(s->cwd, sizeof(s->cwd)))
        snprintf(s->cwd, sizeof(s->cwd), "/");
    return 0;
}

static void report_leftover(void)
{
    char gone[256];
    if (geteuid() == 0 && cachedir_leftover("", gone, sizeof(gone)))
        log_warn("apt fails on this machine: " CACHEDIR_LEFTOVER ", which an earlier "
                 "od wrote, names %s, which is gone; run: rm " CACHEDIR_LEFTOVER,
                 gone);
}

/* Does what was asked instead of serving. Returns its status; -1 if nothing was asked. */
static int serve_nothing(const struct serve_options *o)
{
    if (o->upgrade)
        return serve_upgrade(o);
    if (o->status)
        return serve_status(o);
    if (o->keys)
        return serve_keys(o);
    return o->routes ? serve_routes() : -1;
}

static int serve_main(int argc, char **argv)
{
    struct serve s = {.state.lock = -1, .fence = {-1, -1}, .reach = -1, .parent = -1};
    struct err e = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    null_fill(); /* our descriptors must not become the stdin of children */
    log_init("serve", 2, LOG_INFO, false);
    if (serve_options_parse(&s.o, argc, argv, &e) < 0)
        return fail(&s, &e);
    int status = serve_nothing(&s.o);
    if (status >= 0) {
        options_free(s.o.given);
        return status;
    }
    umask(022);
    report_leftover();
    s.stored = json_object();
    if (options_store(s.o.given, s.stored, &e) < 0)
        return fail(&s, &e);
    make_once(&s);
    if (enter_working_dir(&s, &e) < 0)
        return fail(&s, &e);
    /* The socket tells clients who listens: it must be the keeper-to-be. */
    if (s.o.daemon && become_daemon(&s, &e) < 0)
        return fail(&s, &e);
    if (listen_all(&s, &e) == 0 &&
        serve_state_take(&s.state, s.o.name, s.socket, s.o.state_dir, &e) == 0) {
        serve_state_record(&s.state, s.o.name, s.socket);
        if (make_fence(&s, &e) == 0)
            become_keeper(&s, &e);
    }
    leave_all(&s);
    return fail(&s, &e);
}

const struct applet applet_serve = {
    .name = "serve",
    .brief = "the server in the sandbox: shells, processes, PID 1",
    .packed = PACKED(serve_txt_gz),
    .main = serve_main,
    .more_usage = serve_options_help,
};
