/* SPDX-License-Identifier: MIT */
/*
 * The options of od serve. Read by hand and not by getopt, which cannot give
 * an option several words (--plugins a b), as OpenHands' client does.
 */
#include "base/called.h"
#include "base/log.h"
#include "front/guard.h"
#include "front/hosts.h"
#include "front/v0/v0.h"
#include "net/denied.h"
#include "net/sockpath.h"
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum kind {
    VALUE,  /* one; the last one given counts */
    LIST,   /* any number of times; commas in the environment */
    LINES,  /* any number of times; lines in the environment */
    WORDS,  /* several words, up to the next option */
    MAYBE,  /* one, if the next word is no option */
    SWITCH, /* none: on */
    TOGGLE, /* none: on, and off as --no-NAME */
};

enum id {
    NAME,
    SOCKET,
    STATE_DIR,
    WORKING_DIR,
    LISTEN,
    API_KEY,
    API_KEY_FILE,
    INSECURE_OPEN,
    ALLOW_HOST,
    CORS_ORIGIN,
    TLS_CERT,
    TLS_KEY,
    TLS_CLIENT_CA,
    CONNECT,
    CONNECT_HEADER,
    CONNECT_TOKEN,
    CONNECT_TOKEN_FILE,
    CONNECT_CA,
    CONNECT_CERT,
    CONNECT_KEY,
    CONNECT_INSECURE,
    CONNECT_WAIT,
    CONNECT_TIMEOUT,
    CONNECT_PING,
    IDLE_EXIT,
    LOG,
    LOG_FORM,
    USERNAME,
    USER_ID,
    GROUP,
    SU,
    PLUGINS,
    PLUGIN_TIMEOUT,
    CACHE_DIR,
    BROWSER,
    BROWSE_DENY,
    EVAL_ENV,
    NO_CHANGE,
    FSYNC,
    EVENTS_SIZE,
    EVENTS_AGE,
    SECRET,
    DAEMON,
    STAY,
    UPGRADE,
    STATUS,
    JSON,
    SERVER,
    ROUTES,
    READY_FD,
    SETTINGS
};

/* What may be set, where, and what it is when it is not. */
static const struct setting {
    const char *option, *env; /* env NULL: the option only */
    const char *value, *dflt, *help;
    enum kind kind;
} settings[SETTINGS] = {
    [NAME] = {"name", "OD_NAME", "NAME", "PORT, else default",
              "of the server, for --server of others, so that a user may have several:\n"
              "      letters, digits, \"-\", \"_\" and \".\". Its state is in the\n"
              "      subdirectory NAME of --state-dir, and only one server has it at a time",
              VALUE},
    [SOCKET] = {"socket", "OD_SOCKET", "PATH", "by its name; see od help exec",
                "unix socket of od exec; @NAME is an abstract one", VALUE},
    [STATE_DIR] = {"state-dir", "OD_STATE_DIR", "DIR",
                   "/var/lib/od, ~/.local/state/od, /var/tmp, /tmp, …",
                   "where output and state are kept: in its subdirectory od-UID if others\n"
                   "      own DIR or may write there; in memory if none can be written",
                   VALUE},
    [WORKING_DIR] = {"working-dir", "OD_WORKING_DIR", "DIR", "the current one",
                     "where sessions begin; made if PORT or --username is given", VALUE},
    [LISTEN] =
        {"listen", "OD_LISTEN", "ADDRESS", "none",
         "serve HTTP there, any number of times (a list with commas in the\n"
         "      environment): 3000, 127.0.0.1:3000, [::1]:3000, unix:/path, @name;\n"
         "      https://ADDRESS (or tls://) wants --tls-cert, http:// is without TLS.\n"
         "      NAME@ADDRESS serves the routes of the front-end NAME alone (see --routes)",
         LIST},
    [API_KEY] = {"api-key", "OD_API_KEY", "KEY", "none",
                 "what HTTP clients must send; SESSION_API_KEY counts too. Others may\n"
                 "      see options for an instant: rather use the environment or a file",
                 VALUE},
    [API_KEY_FILE] = {"api-key-file", "OD_API_KEY_FILE", "FILE", "none",
                      "the key is the first line of this file, read once", VALUE},
    [INSECURE_OPEN] = {"insecure-open", "OD_INSECURE_OPEN", NULL, "no",
                       "without a key, listen where others can reach it: whoever does\n"
                       "      may run commands here",
                       SWITCH},
    [ALLOW_HOST] =
        {"allow-host", "OD_ALLOW_HOST", "NAME", "none",
         "without a key, accept requests that call this server NAME (.DOMAIN: any\n"
         "      name under it; *: any), any number of times (a list with commas in\n"
         "      the environment). Accepted anyway: addresses, localhost, and with\n"
         "      --insecure-open names without a dot or under local, internal, svc,\n"
         "      cluster.local and home.arpa. Others may be a web page's (DNS rebinding)",
         LIST},
    [CORS_ORIGIN] =
        {"cors-origin", "OD_CORS_ORIGIN", "ORIGIN", "none",
         "let pages of ORIGIN (https://app.example.com) read answers in a browser;\n"
         "      they must send the key, so it takes one. Not at NAME@ADDRESS",
         VALUE},
    [TLS_CERT] = {"tls-cert", "OD_TLS_CERT", "FILE", "none",
                  "serve HTTPS at TCP addresses, but for those written http://ADDRESS:\n"
                  "      a PEM file with our certificate and those between it and the\n"
                  "      root; read again when it changes",
                  VALUE},
    [TLS_KEY] = {"tls-key", "OD_TLS_KEY", "FILE", "what is in --tls-cert",
                 "the certificate's private key, PEM", VALUE},
    [TLS_CLIENT_CA] = {"tls-client-ca", "OD_TLS_CLIENT_CA", "FILE", "none is asked",
                       "let in only clients that show a certificate which an authority\n"
                       "      in this PEM file has signed; counts as a key",
                       VALUE},
    [CONNECT] =
        {"connect", "OD_CONNECT", "URL", "none",
         "dial out to a backend, wss://HOST/PATH, and keep the event stream to it\n"
         "      open; through HTTPS_PROXY unless NO_PROXY has the host",
         VALUE},
    [CONNECT_HEADER] =
        {"connect-header", "OD_CONNECT_HEADER", "'NAME: VALUE'", "none",
         "goes with the request to the backend, any number of times (lines\n"
         "      in the environment)",
         LINES},
    [CONNECT_TOKEN] =
        {"connect-token", "OD_CONNECT_TOKEN", "TOKEN", "none",
         "goes to the backend as Authorization: Bearer. Others may see\n"
         "      options for an instant: rather use the environment or a file",
         VALUE},
    [CONNECT_TOKEN_FILE] =
        {"connect-token-file", "OD_CONNECT_TOKEN_FILE", "FILE", "none",
         "the token is the first line of this file, read again for each\n"
         "      try while it is there",
         VALUE},
    [CONNECT_CA] = {"ca", "OD_CA", "FILE", "SSL_CERT_FILE, SSL_CERT_DIR, the system's",
                    "whom the backend's certificate must be signed by (PEM)", VALUE},
    [CONNECT_CERT] = {"connect-cert", "OD_CONNECT_CERT", "FILE", "none",
                      "our certificate for the backend, with its chain (PEM)", VALUE},
    [CONNECT_KEY] = {"connect-key", "OD_CONNECT_KEY", "FILE", "in --connect-cert",
                     "its key (PEM)", VALUE},
    [CONNECT_INSECURE] = {"connect-insecure", "OD_CONNECT_INSECURE", NULL, "no",
                          "send token and headers over ws:// to other machines, too:\n"
                          "      everybody on the way reads them",
                          SWITCH},
    [CONNECT_WAIT] =
        {"connect-wait", "OD_CONNECT_WAIT", "SECONDS", "30",
         "the longest wait between tries; each is drawn from zero to a bound\n"
         "      that begins at 0.5 and doubles",
         VALUE},
    [CONNECT_TIMEOUT] = {"connect-timeout", "OD_CONNECT_TIMEOUT", "SECONDS", "30",
                         "for each step: to connect, to be let in, to be greeted", VALUE},
    [CONNECT_PING] =
        {"connect-ping", "OD_CONNECT_PING", "SECONDS", "10",
         "ping a backend that has been silent so long; it is taken for gone\n"
         "      after three times that",
         VALUE},
    [IDLE_EXIT] = {"idle-exit", "OD_IDLE_EXIT", "SECONDS", "never",
                   "end after this long without clients and commands", VALUE},
    [LOG] = {"log", "OD_LOG", "LEVEL", "info", "error, warn, info or debug", VALUE},
    [LOG_FORM] = {"log-form", "OD_LOG_FORM", "FORM", "text", "text or json", VALUE},
    [USERNAME] = {"username", "OD_USERNAME", "NAME", "the server's own user",
                  "whose OpenHands' sessions are; made if the image has none (root only)",
                  VALUE},
    [USER_ID] = {"user-id", "OD_USER_ID", "NUMBER", "1000",
                 "the uid of a user that is made", VALUE},
    [GROUP] = {"group", "SANDBOX_GROUP_ID", "GROUP", "root",
               "the group that --working-dir is given to", VALUE},
    [SU] = {"su-to-user", "SU_TO_USER", NULL, "yes", "run sessions as --username",
            TOGGLE},
    [PLUGINS] =
        {"plugins", "OD_PLUGINS", "DIR|NAME…", "none",
         "folders (with a slash) whose setup.sh is run before the first session;\n"
         "      agent_skills, jupyter and vscode want nothing set up here",
         WORDS},
    [PLUGIN_TIMEOUT] = {"plugin-timeout", "INIT_PLUGIN_TIMEOUT", "SECONDS", "120",
                        "for a plugin that has no limit of its own", VALUE},
    [CACHE_DIR] = {"cache-dir", "OD_CACHE_DIR", "DIR", "none",
                   "what pip, npm and apt download is kept there, and which plugins\n"
                   "      succeeded; may be used by other containers too",
                   VALUE},
    [BROWSER] = {"enable-browser", NULL, NULL, "yes",
                 "V0's browse and browse_interactive are served", TOGGLE},
    [EVAL_ENV] =
        {"browsergym-eval-env", NULL, "NAME", "none",
         "an evaluation: miniwob.TASK is begun and judged in the browser, its page\n"
         "      in the folder MINIWOB_URL; of webarena and visualwebarena the browser",
         VALUE},
    [BROWSE_DENY] =
        {"browse-deny", "OD_BROWSE_DENY", "LIST", "none",
         "addresses that browsers do not connect to, whatever name leads there:\n"
         "      networks with commas between them, and \"local\" for all that is not\n"
         "      public (od help browse)",
         VALUE},
    [NO_CHANGE] = {"no-change-timeout", "NO_CHANGE_TIMEOUT_SECONDS", "SECONDS", "10",
                   "answer OpenHands' client when a command prints nothing for so long",
                   VALUE},
    [FSYNC] = {"fsync", "OD_FSYNC", "WHEN", "interval",
               "events reach the disk: none, when the system likes; interval, within a\n"
               "      second; always, before anything follows from them",
               VALUE},
    [EVENTS_SIZE] = {"events-size", "OD_EVENTS_SIZE", "MIB", "256; 16 in memory",
                     "of the events that are kept; older ones go", VALUE},
    [EVENTS_AGE] = {"events-age", "OD_EVENTS_AGE", "SECONDS", "for ever",
                    "how long events are kept, as in 30, 0.5 or 48h", VALUE},
    [SECRET] =
        {"secret", "OD_SECRETS", "NAME", "none",
         "the value of this variable of the environment is not to be seen in\n"
         "      events, any number of times (a list with commas in the environment)",
         LIST},
    [DAEMON] = {"daemon", NULL, NULL, "no",
                "go to the background, with a log in the state directory", SWITCH},
    [STAY] = {"stay", NULL, NULL, "no", "go on serving when COMMAND has ended", SWITCH},
    [UPGRADE] = {"upgrade", NULL, "[FILE]", "no; FILE: this od",
                 "serve nothing, but have the server of --server go on with the od that\n"
                 "      is in FILE; said and refused if that one does not serve",
                 MAYBE},
    [STATUS] = {"status", NULL, NULL, "no",
                "serve nothing, but list the servers of this user that run, or the one of\n"
                "      --server: addresses, version, sessions, link to the backend; 125 if\n"
                "      none runs",
                SWITCH},
    [JSON] = {"json", NULL, NULL, "no", "with --status: as a JSON object", SWITCH},
    [SERVER] = {"server", "OD_SERVER", "WHERE", "default, else the only one",
                "with --upgrade and --status: which server, its name or the path of its\n"
                "      socket; --socket (OD_SOCKET) is the same",
                VALUE},
    [ROUTES] =
        {"routes", NULL, NULL, "no",
         "serve nothing, but list what is served over HTTP, as JSON: listener (http, or\n"
         "      else NAME in --listen NAME@ADDRESS), front-end, methods, path and key (head; message: or in the first message of a\n"
         "      WebSocket; none; peer: the asker's user decides)",
         SWITCH},
    [READY_FD] =
        {"ready-fd", NULL, "N", "none",
         "write \"listening ADDRESS\" for each HTTP listener, then \"ready\", or\n"
         "      \"error REASON\" to this descriptor",
         VALUE},
};

static const char *const plugins[] = {"agent_skills", "jupyter", "vscode"};

/* What was given, before it is understood. */
struct given {
    struct serve_options *out;
    struct serve_connect connect;
    char *value[SETTINGS]; /* the last one; NULL: not given */
    bool option[SETTINGS]; /* by an option and not by the environment */
    bool off[SETTINGS];    /* as --no-NAME */
    const char *port;      /* NULL: none */
};

bool serve_plugin_known(struct str name)
{
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
        if (str_eq(name, str_of(plugins[i])))
            return true;
    }
    return false;
}

/* "--listen", or "OD_LISTEN": where a value came from. */
static const char *source(const struct given *g, enum id id, char space[64])
{
    if (!g->option[id])
        return settings[id].env;
    snprintf(space, 64, "--%s", settings[id].option);
    return space;
}

static int refuse(const struct given *g, enum id id, const char *expected, struct err *e)
{
    char space[64];
    return err_set(e, ERR_INVALID, "%s takes %s, not \"%.200s\"", source(g, id, space),
                   expected, g->value[id]);
}

/* ---- words ---- */

static int add_listener(struct serve_options *o, const char *address, struct err *e)
{
    if (o->nlisten == LIMIT_LISTENERS_MAX)
        return err_set(e, ERR_LIMIT, "--listen %s is one too many: there can be %d",
                       address, LIMIT_LISTENERS_MAX);
    o->listen[o->nlisten++] = address;
    return 0;
}

static int add_secret(struct serve_options *o, const char *name, struct err *e)
{
    if (o->nsecrets == SERVE_SECRETS_MAX)
        return err_set(e, ERR_LIMIT, "--secret %s is one too many: there can be %d", name,
                       SERVE_SECRETS_MAX);
    o->secrets[o->nsecrets++] = name;
    return 0;
}

static int add_host(struct serve_options *o, const char *name, struct err *e)
{
    if (!hosts_may_add(str_of(name)))
        return err_set(e, ERR_INVALID,
                       "--allow-host takes a name without a port, .DOMAIN or *, not "
                       "\"%.200s\"",
                       name);
    if (o->nhosts == SERVE_HOSTS_MAX)
        return err_set(e, ERR_LIMIT,
                       "--allow-host %.200s is one too many: there can be %d", name,
                       SERVE_HOSTS_MAX);
    o->hosts[o->nhosts++] = name;
    return 0;
}

static int add_listed(struct serve_options *o, enum id id, const char *word,
                      struct err *e)
{
    return id == SECRET       ? add_secret(o, word, e)
           : id == ALLOW_HOST ? add_host(o, word, e)
                              : add_listener(o, word, e);
}

static int add_header(struct given *g, const char *line, struct err *e)
{
    struct serve_connect *c = &g->connect;
    if (c->nheaders == SERVE_HEADERS_MAX)
        return err_set(e, ERR_LIMIT, "there can be %d headers of --connect-header",
                       SERVE_HEADERS_MAX);
    c->headers[c->nheaders++] = line;
    return 0;
}

static int add_plugin(struct serve_options *o, const char *name, struct err *e)
{
    if (!serve_plugin_known(str_of(name)) && !strchr(name, '/'))
        return err_set(e, ERR_NOTFOUND,
                       "Plugin %.200s not found; --plugins takes folders, written with a "
                       "slash (./NAME), and agent_skills, jupyter and vscode",
                       name);
    for (int i = 0; i < o->nplugins; i++) {
        if (strcmp(o->plugins[i], name) == 0)
            return 0;
    }
    if (o->nplugins == PLUGINS_MAX)
        return err_set(e, ERR_LIMIT, "--plugins %.200s is one too many: there can be %d",
                       name, PLUGINS_MAX);
    o->plugins[o->nplugins++] = name;
    return 0;
}

/* The setting of a word without its dashes and value; *off: it was --no-NAME. */
static int find_setting(struct str name, bool *off)
{
    for (int i = 0; i < SETTINGS; i++) {
        const char *option = settings[i].option;
        *off = false;
        if (str_eq(name, str_of(option)))
            return i;
        *off = settings[i].kind == TOGGLE && str_starts(name, STR("no-"));
        if (*off && str_eq(str_sub(name, 3, name.n), str_of(option)))
            return i;
    }
    return -1;
}

/* The words after an option that takes several; how many, or -1. */
static int take_plugins(struct given *g, char **words, struct err *e)
{
    int n = 0;
    for (; words[n] && words[n][0] != '-'; n++) {
        if (add_plugin(g->out, words[n], e) < 0)
            return -1;
    }
    return n;
}

/* argv[i] is an option: takes it and its words. How many, or -1. */
static int take_option(struct given *g, char **argv, int i, struct err *e)
{
    char *word = argv[i], *eq = strchr(word, '=');
    int n = (int)(eq ? (size_t)(eq - word) : strlen(word));
    bool off;
    int id = word[1] == '-' ? find_setting(str_n(word + 2, (size_t)n - 2), &off) : -1;
    if (id < 0)
        return err_set(e, ERR_INVALID, "there is no option %.*s; see %s",
                       n < 200 ? n : 200, word, called_help("serve").z);
    enum kind kind = settings[id].kind;
    g->option[id] = true;
    g->off[id] = off;
    if (kind == SWITCH || kind == TOGGLE) {
        if (eq)
            return err_set(e, ERR_INVALID, "%.*s takes no value", n, word);
        return 1;
    }
    if (kind == WORDS && !eq) {
        int words = take_plugins(g, argv + i + 1, e);
        return words < 0 ? -1 : 1 + words;
    }
    if (kind == MAYBE && !eq && (!argv[i + 1] || argv[i + 1][0] == '-'))
        return 1;
    char *value = eq ? eq + 1 : argv[i + 1];
    if (!value || (!eq && strncmp(value, "--", 2) == 0))
        return err_set(e, ERR_INVALID, "%.*s needs a value: %s", n, word,
                       settings[id].value);
    g->value[id] = value;
    if ((kind == LIST && add_listed(g->out, (enum id)id, value, e) < 0) ||
        (kind == LINES && add_header(g, value, e) < 0) ||
        (kind == WORDS && add_plugin(g->out, value, e) < 0))
        return -1;
    return eq ? 1 : 2;
}

static int take_words(struct given *g, int argc, char **argv, struct err *e)
{
    for (int i = 1; i < argc;) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            if (i + 1 == argc)
                return err_set(e, ERR_INVALID, "after -- there must be a command");
            g->out->command = argv + i + 1;
            return 0;
        }
        if (word[0] == '-' && word[1]) {
            int used = take_option(g, argv, i, e);
            if (used < 0)
                return -1;
            i += used;
        } else if (g->port) {
            return err_set(e, ERR_INVALID,
                           "there can be one PORT, and these are two: %.100s and %.100s; "
                           "a command follows --",
                           g->port, word);
        } else {
            g->port = word;
            i++;
        }
    }
    return 0;
}

/* Cuts the next word off a list with `sep`, in place; NULL: there is none. */
static char *next_word(char **rest, char sep)
{
    static const char blanks[] = " \t\r\n";
    while (*rest) {
        char *word = *rest + strspn(*rest, blanks), *end = strchr(word, sep);
        *rest = end ? end + 1 : NULL;
        if (!end)
            end = word + strlen(word);
        while (end > word && strchr(blanks, end[-1]))
            end--;
        *end = 0;
        if (*word)
            return word;
    }
    return NULL;
}

/* What options left open is as the environment has it. */
static int take_environment(struct given *g, struct err *e)
{
    for (int i = 0; i < SETTINGS; i++) {
        char *value = settings[i].env && !g->option[i] ? getenv(settings[i].env) : NULL;
        if (!value || !*value)
            continue;
        g->value[i] = value;
        enum kind kind = settings[i].kind;
        if (kind != LIST && kind != WORDS && kind != LINES)
            continue;
        for (char *word; (word = next_word(&value, kind == LINES ? '\n' : ','));) {
            if ((kind == LIST    ? add_listed(g->out, (enum id)i, word, e)
                 : kind == LINES ? add_header(g, word, e)
                                 : add_plugin(g->out, word, e)) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- the key ---- */

/* Out of the memory that /proc shows as our arguments and environment. */
static void wipe(char *value)
{
    if (value)
        memset(value, 'x', strlen(value));
}

static int set_key(struct serve_options *o, const char *from, struct str key,
                   struct err *e)
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
    memcpy(o->key, key.p, key.n);
    o->key[key.n] = 0;
    return 0;
}

static int key_from_file(struct serve_options *o, const char *from, const char *path,
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
    int r = set_key(o, from, str_cut(&rest, '\n'), e);
    memset(text, 0, sizeof(text));
    return r;
}

/* An option beats the environment, and OD_* what other programs look at too. */
static int take_key(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    char space[64], *session = getenv("SESSION_API_KEY");
    bool by_file = g->option[API_KEY_FILE] || (!g->option[API_KEY] && !g->value[API_KEY]);
    int r = 0;
    if (g->option[API_KEY] && g->option[API_KEY_FILE])
        r = err_set(e, ERR_INVALID,
                    "--api-key and --api-key-file are two keys: give one");
    else if (g->value[API_KEY_FILE] && by_file)
        r = key_from_file(o, source(g, API_KEY_FILE, space), g->value[API_KEY_FILE], e);
    else if (g->value[API_KEY])
        r = set_key(o, source(g, API_KEY, space), str_of(g->value[API_KEY]), e);
    else if (session && *session)
        r = set_key(o, "SESSION_API_KEY", str_of(session), e);
    wipe(g->value[API_KEY]);
    wipe(getenv("OD_API_KEY"));
    wipe(session);
    return r;
}

/* ---- the backend ---- */

static int take_switch(const struct given *g, enum id id, bool *out, struct err *e);
static int take_seconds(const struct given *g, enum id id, int64_t *ms, struct err *e);

static int take_times(struct given *g, struct err *e)
{
    static const enum id ids[] = {CONNECT_WAIT, CONNECT_TIMEOUT, CONNECT_PING};
    struct serve_connect *c = &g->connect;
    int64_t *const out[] = {&c->wait_ms, &c->timeout_ms, &c->ping_ms};
    c->wait_ms = LIMIT_CONNECT_WAIT_MS;
    c->timeout_ms = LIMIT_DIAL_MS;
    c->ping_ms = LIMIT_WS_PING_MS;
    for (int i = 0; i < 3; i++) {
        if (take_seconds(g, ids[i], out[i], e) < 0)
            return -1;
        if (*out[i] < 1 || *out[i] > 86400000)
            return refuse(g, ids[i], "more than nothing and at most a day", e);
    }
    return 0;
}

/* An option beats the environment, also where the two are of different names. */
static void choose_token(struct given *g)
{
    struct serve_connect *c = &g->connect;
    c->token = g->value[CONNECT_TOKEN];
    c->token_file = g->value[CONNECT_TOKEN_FILE];
    if (g->option[CONNECT_TOKEN] && !g->option[CONNECT_TOKEN_FILE])
        c->token_file = NULL;
    else if (c->token_file && !g->option[CONNECT_TOKEN])
        c->token = NULL;
}

static int take_connect(struct given *g, struct err *e)
{
    struct serve_connect *c = &g->connect;
    c->url = g->value[CONNECT];
    for (int i = CONNECT + 1; i <= CONNECT_PING && !c->url; i++) {
        if (g->option[i])
            return err_set(e, ERR_INVALID,
                           "--%s is for a backend: give --connect URL too",
                           settings[i].option);
    }
    if (!c->url || g->out->upgrade || g->out->status)
        return 0;
    c->ca = g->value[CONNECT_CA];
    c->cert = g->value[CONNECT_CERT];
    c->key = g->value[CONNECT_KEY];
    choose_token(g);
    if (take_times(g, e) < 0 || take_switch(g, CONNECT_INSECURE, &c->insecure, e) < 0)
        return -1;
    g->out->connect = serve_connect(c, e);
    wipe(g->value[CONNECT]);
    wipe(g->value[CONNECT_TOKEN]);
    for (int i = 0; i < c->nheaders; i++)
        wipe((char *)(uintptr_t)c->headers[i]);
    return g->out->connect ? 0 : -1;
}

/* ---- meaning ---- */

/* 1, 0, or -1 for what is neither. */
static int truth(const char *word)
{
    static const char *const words[2][6] = {{"0", "false", "f", "no", "n", "off"},
                                            {"1", "true", "t", "yes", "y", "on"}};
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < 6; i++) {
            if (strcasecmp(word, words[v][i]) == 0)
                return v;
        }
    }
    return -1;
}

static int take_switch(const struct given *g, enum id id, bool *out, struct err *e)
{
    if (g->option[id]) {
        *out = !g->off[id];
    } else if (g->value[id]) {
        int v = truth(g->value[id]);
        if (v < 0)
            return refuse(g, id, "yes or no", e);
        *out = v;
    }
    return 0;
}

static int take_seconds(const struct given *g, enum id id, int64_t *ms, struct err *e)
{
    if (g->value[id] && str_to_ms(str_of(g->value[id]), ms) < 0)
        return refuse(g, id, "seconds, as in 30, 0.5 or 8h", e);
    return 0;
}

static int take_number(const struct given *g, enum id id, uint64_t max,
                       const char *expected, uint64_t *out, struct err *e)
{
    uint64_t n;
    if (!g->value[id])
        return 0;
    if (str_to_u64(str_of(g->value[id]), &n) < 0 || n > max)
        return refuse(g, id, expected, e);
    *out = n;
    return 0;
}

static int take_log(struct given *g, struct err *e)
{
    const char *form = g->value[LOG_FORM];
    if (g->value[LOG] && (g->out->log_level = log_level_from(g->value[LOG])) < 0)
        return refuse(g, LOG, "error, warn, info or debug", e);
    g->out->log_json = form && strcmp(form, "json") == 0;
    if (form && !g->out->log_json && strcmp(form, "text") != 0)
        return refuse(g, LOG_FORM, "text or json", e);
    return 0;
}

static int take_port(struct given *g, struct err *e)
{
    uint64_t n;
    if (!g->port)
        return 0;
    if (str_to_u64(str_of(g->port), &n) < 0 || n > 65535)
        return err_set(
            e, ERR_INVALID,
            "PORT is a number from 0 to 65535, not \"%.200s\"; other addresses "
            "go to --listen",
            g->port);
    /* The first one: it is what people are shown. */
    struct serve_options *o = g->out;
    if (add_listener(o, g->port, e) < 0)
        return -1;
    memmove(o->listen + 1, o->listen, sizeof(o->listen[0]) * (size_t)(o->nlisten - 1));
    o->listen[0] = g->port;
    return 0;
}

static int take_events(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    const char *when = g->value[FSYNC];
    uint64_t mib = 0;
    o->fsync = when ? when : "interval";
    if (strcmp(o->fsync, "none") != 0 && strcmp(o->fsync, "interval") != 0 &&
        strcmp(o->fsync, "always") != 0)
        return refuse(g, FSYNC, "none, interval or always", e);
    if (take_number(g, EVENTS_SIZE, 1 << 20, "MiB, from 1 on", &mib, e) < 0 ||
        take_seconds(g, EVENTS_AGE, &o->events_age_ms, e) < 0)
        return -1;
    if (g->value[EVENTS_SIZE] && mib == 0)
        return refuse(g, EVENTS_SIZE, "MiB, from 1 on", e);
    o->events_bytes = mib << 20;
    return 0;
}

static int take_ready(struct given *g, struct err *e)
{
    uint64_t n = 0;
    if (take_number(g, READY_FD, 1023, "a descriptor's number", &n, e) < 0)
        return -1;
    if (g->value[READY_FD])
        g->out->ready = (int)n;
    return 0;
}

/*
 * OpenHands leaves the user alone who runs the server already, but for two
 * names that it knows (action_execution_server, init_user_and_working_directory).
 */
static const char *wanted_user(const char *name)
{
    const char *own = getenv("USER");
    bool known = name && (strcmp(name, "root") == 0 || strcmp(name, "openhands") == 0);
    return name && own && strcmp(name, own) == 0 && !known ? NULL : name;
}

static int take_command(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    if (take_switch(g, STAY, &o->stay, e) < 0)
        return -1;
    if (o->stay && !o->command)
        return err_set(e, ERR_INVALID, "--stay is for a command, which follows --");
    if (!o->command)
        return 0;
    if (o->daemon)
        return err_set(e, ERR_INVALID,
                       "--daemon and a command do not go together: a command ends the "
                       "server with its status, for who started it");
    if (o->idle_exit_ms > 0)
        return err_set(e, ERR_INVALID,
                       "%s and a command do not go together: the command says when it is "
                       "over",
                       g->option[IDLE_EXIT] ? "--idle-exit" : "OD_IDLE_EXIT");
    /* The terminal is the command's. */
    if (!g->value[LOG])
        o->log_level = LOG_WARN;
    return 0;
}

static int take_cors(struct given *g, struct err *e)
{
    char space[64];
    g->out->cors_origin = g->value[CORS_ORIGIN];
    if (!g->value[CORS_ORIGIN])
        return 0;
    if (!guard_is_origin(str_of(g->value[CORS_ORIGIN])))
        return refuse(g, CORS_ORIGIN,
                      "one origin as browsers send it (https://HOST or http://HOST:PORT, "
                      "in lower case, without a path)",
                      e);
    if (g->out->key[0] || g->out->upgrade || g->out->status)
        return 0;
    return err_set(e, ERR_INVALID,
                   "%s needs a key, which the pages send: give one with --api-key-file or "
                   "SESSION_API_KEY",
                   source(g, CORS_ORIGIN, space));
}

static int take_tls(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    o->tls_cert = g->value[TLS_CERT];
    o->tls_key = g->value[TLS_KEY];
    o->tls_client_ca = g->value[TLS_CLIENT_CA];
    char space[64];
    if (!o->tls_cert && (o->tls_key || o->tls_client_ca))
        return err_set(e, ERR_INVALID,
                       "%s needs a certificate of the server: give one with --tls-cert",
                       source(g, o->tls_key ? TLS_KEY : TLS_CLIENT_CA, space));
    return 0;
}

static int take_browse_deny(struct given *g, struct err *e)
{
    struct denied list = {.n = 0};
    struct err why = ERR_INIT;
    char space[64];
    g->out->browse_deny = g->value[BROWSE_DENY];
    if (!g->out->browse_deny ||
        denied_parse(&list, str_of(g->out->browse_deny), &why) == 0)
        return 0;
    return err_set(e, why.code, "%s: %s", source(g, BROWSE_DENY, space), why.text);
}

/* What asks a server that runs, which --server names. */
static int take_upgrade(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    enum id which = g->option[UPGRADE] ? UPGRADE : STATUS;
    o->upgrade = g->option[UPGRADE];
    o->status = g->option[STATUS];
    o->file = g->value[UPGRADE];
    o->json = g->option[JSON];
    if (o->json && !o->status)
        return err_set(e, ERR_INVALID, "--json is for --status");
    if (!o->upgrade && !o->status) {
        if (g->option[SERVER])
            return err_set(e, ERR_INVALID,
                           "--server says which server --upgrade or --status asks; the "
                           "name of the one to start is --name %.100s",
                           g->value[SERVER]);
        return 0;
    }
    for (int i = 0; i < SETTINGS; i++) {
        if (g->option[i] && i != (int)which && i != SOCKET && i != SERVER &&
            !(i == JSON && o->status))
            return err_set(e, ERR_INVALID,
                           "--%s says nothing to a server that runs: --%s goes with "
                           "--server%s only",
                           settings[i].option, settings[which].option,
                           o->status ? " and --json" : "");
    }
    if (g->port || o->command)
        return err_set(e, ERR_INVALID, "--%s takes %s, and no %s", settings[which].option,
                       o->upgrade ? "one FILE" : "no words",
                       g->port ? "PORT" : "command");
    if (g->option[SERVER])
        o->server = g->value[SERVER];
    else if (g->option[SOCKET])
        o->server = sockpath_of_path(g->value[SOCKET], o->socket_space);
    return 0;
}

/*
 * The name and the socket. In what a session runs OD_SOCKET leads to the session's own
 * server, and a server that is started there listens elsewhere; so does one with a
 * --name where the server of OD_SOCKET lives.
 */
static int take_name(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    uint64_t port = 0;
    struct err why = ERR_INIT;
    if (o->upgrade || o->status)
        return 0;
    o->name = g->value[NAME];
    if (!o->name && g->port && str_to_u64(str_of(g->port), &port) == 0 && port != 0) {
        snprintf(o->port_space, sizeof(o->port_space), "%u", (unsigned)port);
        o->name = o->port_space;
    }
    if (!o->name)
        o->name = SOCKPATH_DEFAULT;
    char space[64];
    if (sockpath_check_name(o->name, &why) < 0)
        return err_set(e, why.code, "%s: %s", source(g, NAME, space), why.text);
    o->socket = g->value[SOCKET];
    if (o->socket)
        o->socket = sockpath_of_path(o->socket, o->socket_space);
    if (!o->socket || g->option[SOCKET] || !(g->option[NAME] || getenv("OD_OP")))
        return 0;
    int fd = sockpath_connect(o->socket, NULL, NULL);
    if (fd < 0)
        return 0;
    close(fd);
    o->socket = NULL;
    return 0;
}

static int take_routes(struct given *g, struct err *e)
{
    bool alone = !g->port && !g->out->command;
    for (int i = 0; i < SETTINGS; i++)
        alone = alone && (i == ROUTES || !g->option[i]);
    g->out->routes = g->option[ROUTES];
    if (!g->out->routes || alone)
        return 0;
    return err_set(e, ERR_INVALID,
                   "--routes goes with nothing else: routes do not depend on options");
}

static int take_eval(struct given *g, struct err *e)
{
    const char *name = g->value[EVAL_ENV];
    if (!name)
        return 0;
    if (!g->out->browser)
        return err_set(e, ERR_INVALID,
                       "--browsergym-eval-env %.200s wants the browser: leave out "
                       "--no-enable-browser",
                       name);
    g->out->eval = v0_eval_read(str_of(name), getenv("MINIWOB_URL"), e);
    return g->out->eval ? 0 : -1;
}

static int understand(struct given *g, struct err *e)
{
    struct serve_options *o = g->out;
    uint64_t user_id = 1000;
    int64_t plugin_ms = 120000;
    if (take_port(g, e) < 0 || take_key(g, e) < 0 || take_log(g, e) < 0 ||
        take_seconds(g, IDLE_EXIT, &o->idle_exit_ms, e) < 0 ||
        take_seconds(g, NO_CHANGE, &o->no_change_ms, e) < 0 ||
        take_seconds(g, PLUGIN_TIMEOUT, &plugin_ms, e) < 0 ||
        take_number(g, USER_ID, 0xfffffffe, "a number", &user_id, e) < 0 ||
        take_switch(g, INSECURE_OPEN, &o->insecure_open, e) < 0 ||
        take_switch(g, SU, &o->su, e) < 0 ||
        take_switch(g, BROWSER, &o->browser, e) < 0 || take_eval(g, e) < 0 ||
        take_switch(g, DAEMON, &o->daemon, e) < 0 || take_events(g, e) < 0 ||
        take_command(g, e) < 0 || take_tls(g, e) < 0 || take_routes(g, e) < 0 ||
        take_upgrade(g, e) < 0 || take_cors(g, e) < 0 || take_browse_deny(g, e) < 0 ||
        take_connect(g, e) < 0 || take_name(g, e) < 0)
        return -1;
    o->state_dir = g->value[STATE_DIR];
    o->working_dir = g->value[WORKING_DIR];
    o->username = wanted_user(g->value[USERNAME]);
    o->user_id = (uint32_t)user_id;
    o->group = g->value[GROUP] ? g->value[GROUP] : "root";
    o->cache_dir = g->value[CACHE_DIR];
    o->plugin_seconds = plugin_ms < 1000 ? 1 : plugin_ms / 1000;
    o->v0 = g->port || g->value[USERNAME];
    return 0;
}

int serve_options_parse(struct serve_options *out, int argc, char **argv, struct err *e)
{
    struct given g = {.out = out};
    *out = (struct serve_options){.ready = -1,
                                  .log_level = LOG_INFO,
                                  .browser = true,
                                  .su = true,
                                  .no_change_ms = 10000};
    struct err why = ERR_INIT;
    int r = take_words(&g, argc, argv, e);
    /* First of all, so that what is wrong with the others can be said there. */
    if (take_ready(&g, r < 0 ? &why : e) < 0 || r < 0)
        return -1;
    return take_environment(&g, e) < 0 ? -1 : understand(&g, e);
}

/* ---- help ---- */

void serve_options_help(struct buf *out)
{
    buf_addz(out, "\nOptions (environment; default):\n"
                  "  -h, --help\n"
                  "      this text\n");
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *t = &settings[i];
        buf_addf(out, "  --%s", t->option);
        if (t->kind == TOGGLE)
            buf_addf(out, ", --no-%s", t->option);
        if (t->value)
            buf_addf(out, " %s", t->value);
        buf_addf(out, "\n      %s\n      (%s%s%s)\n", t->help, t->env ? t->env : "",
                 t->env ? "; " : "", t->dflt);
    }
}
