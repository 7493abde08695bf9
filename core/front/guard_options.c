/* SPDX-License-Identifier: MIT */
/* Options of the HTTP listeners: the key, TLS, and rules for requests without a key. */
#include "front/guard.h"

#include "base/limits.h"
#include "base/option.h"
#include "access/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOSTS_MAX = 64, DAY_MS = 86400000 };

static int check_host(struct str value, struct err *e)
{
    (void)e;
    return hosts_may_add(value) ? 0 : -1;
}

static int check_preview(struct str value, struct err *e)
{
    (void)e;
    return hosts_may_preview(value) ? 0 : -1;
}

static int check_origin(struct str value, struct err *e)
{
    (void)e;
    return access_is_origin(value) ? 0 : -1;
}

static const struct option_row rows[] = {
    {.name = "api-key",
     .type = OPTION_TEXT,
     .value = "KEY",
     .env = "OD_API_KEY",
     .secret = true,
     .about = "require this key of HTTP clients; SESSION_API_KEY is accepted, too. "
              "Other users can see options while the server starts: use the "
              "environment or a file instead"},
    {.name = "api-key-file",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_API_KEY_FILE",
     .about = "read the key from the first line of this file, once at the start"},
    {.name = "insecure-open",
     .type = OPTION_SWITCH,
     .env = "OD_INSECURE_OPEN",
     .about = "listen without a key where others can reach the server: they "
              "may run commands here"},
    {.name = "allow-host",
     .type = OPTION_LIST,
     .value = "NAME",
     .env = "OD_ALLOW_HOST",
     .member = "allow_hosts",
     .max = HOSTS_MAX,
     .takes = "a name without a port, .DOMAIN or *",
     .check = check_host,
     .about = "without a key, accept requests that call this server NAME (.DOMAIN: "
              "any name under it; *: any name); give the option once for each (in the "
              "environment: a list with commas). Always accepted are addresses, "
              "localhost, and with --insecure-open names without a dot or under "
              "local, internal, svc, cluster.local and home.arpa. Any other name may "
              "be one that a web page gave this address (DNS rebinding)"},
    {.name = "preview-host",
     .type = OPTION_TEXT,
     .value = "PORT-NAME",
     .env = "OD_PREVIEW_HOST",
     .takes = "PORT-NAME or PORT.NAME, as PORT-box.example.org, with the word PORT",
     .check = check_preview,
     .about = "pass requests that call this server 3000-NAME (or 3000.NAME) to port "
              "3000 of the sandbox, so that a web app has an origin of its own. Let "
              "in are people who come from the page (--ui), and clients with the key. "
              "The names must be in the DNS, as *.example.org, and over TLS in the "
              "certificate; browsers know PORT.localhost by themselves. Not at "
              "NAME@ADDRESS"},
    {.name = "cors-origin",
     .type = OPTION_TEXT,
     .value = "ORIGIN",
     .env = "OD_CORS_ORIGIN",
     .takes =
         "one origin as browsers send it (https://HOST or http://HOST:PORT, in lower "
         "case, without a path)",
     .check = check_origin,
     .about = "let pages of ORIGIN (https://app.example.com) read answers in a "
              "browser; they must send the key, so the server must have one. Not at "
              "NAME@ADDRESS"},
    {.name = "login-time",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_LOGIN_TIME",
     .member = "login_ms",
     .dflt = "12h",
     .min = 1000,
     .max = 30LL * DAY_MS,
     .takes = "from one second to 30 days",
     .about = "end the login of a person at the page or at an app after this time, and "
              "the connections that it opened"},
    {.name = "tls-cert",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_TLS_CERT",
     .about = "serve HTTPS at TCP addresses, except those written http://ADDRESS, "
              "with the certificate in this PEM file, followed by those between it "
              "and the root; the file is read again when it changes"},
    {.name = "tls-key",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_TLS_KEY",
     .unset = "what is in --tls-cert",
     .about = "take the certificate's private key from this file (PEM)"},
    {.name = "tls-client-ca",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_TLS_CLIENT_CA",
     .unset = "none is asked",
     .about = "let in only clients that show a certificate signed by an authority in "
              "this PEM file; that counts as a key"},
    {.name = NULL},
};

/* ---- the key ---- */

static int put_key(struct json *own, const char *from, struct str key, struct err *e)
{
    key = str_trim(key);
    if (key.n == 0)
        return err_set(e, ERR_INVALID, "%s holds no key", from);
    if (key.n > LIMIT_API_KEY_MAX)
        return err_set(e, ERR_LIMIT, "the key of %s is longer than %d bytes", from,
                       LIMIT_API_KEY_MAX);
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] < 0x20 || key.p[i] > 0x7e)
            return err_set(e, ERR_INVALID,
                           "the key of %s has a byte that no header can carry: it takes "
                           "printable ASCII",
                           from);
    }
    json_put_str(own, "api_key", key);
    return 0;
}

static int key_from_file(struct json *own, const char *from, const char *path,
                         struct err *e)
{
    char text[LIMIT_API_KEY_MAX + 64];
    size_t have = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    /* It may be a pipe: <(a command). */
    while (fd >= 0 && n > 0 && have < sizeof(text) && !memchr(text, '\n', have)) {
        n = read(fd, text + have, sizeof(text) - have);
        have += n > 0 ? (size_t)n : 0;
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (fd < 0 || n < 0)
        return err_sys(e, why, "cannot read the key of %s from %.200s", from, path);
    struct str rest = str_n(text, have);
    int r = put_key(own, from, str_cut(&rest, '\n'), e);
    memset(text, 0, sizeof(text));
    return r;
}

/* An option beats the environment, and OD_* what other programs look at too. */
static int take_key(const struct options *given, struct json *own, struct err *e)
{
    char space[64], *session = getenv("SESSION_API_KEY");
    const char *key = option_text(given, "api-key");
    const char *file = option_text(given, "api-key-file");
    bool by_option = option_given(given, "api-key");
    bool by_file = option_given(given, "api-key-file") || !key;
    int r = 0;
    if (by_option && option_given(given, "api-key-file"))
        r = err_set(e, ERR_INVALID,
                    "--api-key and --api-key-file are two keys: give one");
    else if (file && by_file)
        r = key_from_file(own, option_source(given, "api-key-file", space), file, e);
    else if (key)
        r = put_key(own, option_source(given, "api-key", space), str_of(key), e);
    else if (session && *session)
        r = put_key(own, "SESSION_API_KEY", str_of(session), e);
    option_wipe(session);
    json_drop(own, json_get(own, "api_key_file"));
    return r;
}

/* ---- the rest ---- */

static int check_cors(const struct options *given, const struct json *own, struct err *e)
{
    char space[64];
    if (!json_has(own, "cors_origin") || json_has(own, "api_key"))
        return 0;
    return err_set(
        e, ERR_INVALID,
        "%s needs a key, which the pages send: give one with --api-key-file or "
        "SESSION_API_KEY",
        option_source(given, "cors-origin", space));
}

/* Paths become absolute, as the worker has another directory; links are kept, as they may
 * be changed to point to another file. */
static int take_tls(const struct options *given, struct json *own, struct err *e)
{
    static const char *const names[][2] = {{"tls-key", "tls_key"},
                                           {"tls-client-ca", "tls_client_ca"},
                                           {"tls-cert", "tls_cert"}};
    char space[64];
    for (size_t i = 0; i < 3; i++) {
        const char *path = option_text(given, names[i][0]);
        struct buf whole = BUF_INIT(PATH_MAX);
        if (path && !option_text(given, "tls-cert"))
            return err_set(e, ERR_INVALID,
                           "%s needs a certificate of the server: give one with "
                           "--tls-cert",
                           option_source(given, names[i][0], space));
        int rc = path ? option_absolute(path, &whole, e) : 0;
        if (path && rc == 0)
            json_put_str(own, names[i][1], buf_str(&whole));
        buf_release(&whole);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int prepare(const struct options *given, struct json **own, struct err *e)
{
    return take_key(given, *own, e) < 0 || take_tls(given, *own, e) < 0 ||
                   check_cors(given, *own, e) < 0
               ? -1
               : 0;
}

const struct option_table guard_options = {
    .heading = "HTTP listeners", .section = "http", .rows = rows, .prepare = prepare};
