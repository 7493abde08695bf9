/* SPDX-License-Identifier: MIT */
/*
 * What od serve was told: its options, else the environment, else defaults.
 * One table (serve_options.c) declares them, and od help serve prints it.
 */
#ifndef OD_APPLETS_SERVE_H
#define OD_APPLETS_SERVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "net/sockpath.h"
#include "setup/plugins.h"

/* Bytes of the words and the environment of the program beside: what execve takes. */
enum { SERVE_COMMAND_MAX = 8 << 20, SERVE_SECRETS_MAX = 32, SERVE_HOSTS_MAX = 64 };

/* The backend that is dialled; strings are borrowed. */
enum { SERVE_HEADERS_MAX = 32 };

struct serve_connect {
    const char *url;                        /* NULL: none */
    const char *headers[SERVE_HEADERS_MAX]; /* "NAME: VALUE" */
    int nheaders;
    const char *token, *token_file; /* NULL: none, as are these */
    const char *ca, *cert, *key;
    bool insecure;
    int64_t wait_ms, timeout_ms, ping_ms;
};

/* Strings are borrowed from argv and the environment, which is cut into words. */
struct serve_options {
    const char *name;               /* of the server */
    const char *socket, *state_dir; /* NULL: where they can be had */
    char port_space[8], socket_space[SOCKPATH_MAX];
    const char *working_dir;        /* NULL: the current one */
    int64_t idle_exit_ms;           /* 0: never */
    int log_level;
    bool log_json;

    const char *listen[LIMIT_LISTENERS_MAX]; /* as written */
    int nlisten;
    char key[LIMIT_API_KEY_MAX + 1]; /* "": none */
    bool insecure_open;
    const char *hosts[SERVE_HOSTS_MAX]; /* as hosts_may_add takes them */
    int nhosts;
    const char *cors_origin; /* as guard_is_origin takes it; NULL: none */
    const char *tls_cert, *tls_key, *tls_client_ca; /* NULL: not given */

    struct json *connect; /* for front/connect/connect.h; NULL: no backend is dialled */

    /* For the OpenHands front-end. */
    bool v0;              /* PORT or --username was given: make what it needs */
    const char *username; /* NULL: sessions are the server's own user's */
    uint32_t user_id;
    const char *group;
    const char *plugins[PLUGINS_MAX]; /* names that serve knows, or folders */
    int nplugins;
    int64_t plugin_seconds; /* for one that has no limit of its own */
    const char *cache_dir;  /* NULL: none */
    bool browser, su;
    const char *browse_deny; /* a list (net/denied.h); NULL: none */
    struct json *eval;       /* as v0_eval_read has it, until used; NULL: no evaluation */
    int64_t no_change_ms;

    /* The log of events. */
    const char *fsync;                      /* none, interval, always */
    uint64_t events_bytes;                  /* 0: as much as there is by default */
    int64_t events_age_ms;                  /* 0: for ever */
    const char *secrets[SERVE_SECRETS_MAX]; /* names of variables */
    int nsecrets;

    bool daemon;
    int ready; /* descriptor for lines, -1: none */

    char **command; /* what follows "--", to run beside; NULL: nothing */
    bool stay;      /* its end is not the server's */

    bool upgrade;     /* serve nothing: ask a server that is there */
    const char *file; /* to upgrade to; NULL: our own */
    bool status;      /* the same, only to say how it is, or how all are */
    bool json;
    const char *server; /* which one (net/sockpath.h); NULL: by the environment */
    bool routes;      /* serve nothing: list what is served over HTTP */
};

/*
 * Reads argv (argv[0] is the name) and the environment. The keys among them
 * are overwritten where they were, so that they are in out->key only. -1: e
 * names the option or variable and its value; out->ready is valid all the same
 * if it was given before.
 */
int serve_options_parse(struct serve_options *out, int argc, char **argv, struct err *e);

/*
 * Checks what was told of a backend, reads the token, and makes the worker's options
 * of it:
 *
 *   url, fields, token, token_file, ca, cert, key  strings: fields are whole lines of
 *                                a request; files are named from the root
 *   proxy_ws, proxy_wss          {host, port, auth}, if there is one
 *   env                          {SSL_CERT_FILE, SSL_CERT_DIR}, those that are set
 *   wait_ms, timeout_ms, ping_ms numbers
 *
 * NULL: e says what is wrong, without a secret.
 */
struct json *serve_connect(const struct serve_connect *c, struct err *e);

/* The table, for od help serve. */
void serve_options_help(struct buf *out);

/* Is this the name of a plugin, and not a folder? */
bool serve_plugin_known(struct str name);

/* `od serve --upgrade`: returns the exit status. */
int serve_upgrade(const struct serve_options *o);
/* `od serve --status`: the same. */
int serve_status(const struct serve_options *o);
/* `od serve --routes`: the same. */
int serve_routes(void);

struct serve_state {
    char dir[192]; /* "": none could be written */
    int lock;      /* the record, locked for as long as it is open; -1: none */
};

/*
 * Takes the folder NAME below `given`, or below one of the usual places (net/places.h),
 * emptied of what the server before it left but for its events. If it is new, a numbered
 * folder of an earlier version becomes it: that of a server of the same name, else one
 * of which that is not known. Returns 0, with dir "" if none of the usual places can be
 * written. Returns -1 and sets *e: EXISTS, a server of that name lives, the text has its
 * process; others: the place that was given cannot be used.
 */
int serve_state_take(struct serve_state *s, const char *name, const char *given,
                     struct err *e);

/* Writes the record of a server that listens (net/sockpath.h). */
void serve_state_record(const struct serve_state *s, const char *name,
                        const char *socket);

#endif
