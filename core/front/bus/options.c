/* SPDX-License-Identifier: MIT */
/*
 * The options about the bus. od serve checks them, so that a person reads the errors, and
 * stores them for the worker.
 */
#include "front/backend/secret.h"
#include "front/bus/bus.h"
#include "front/bus/where.h"

#include "base/option.h"

#include <string.h>

enum { DAY_MS = 86400000 };

#define A_TIME .min = 1, .max = DAY_MS, .takes = "more than nothing and at most a day"

static const struct option_row rows[] = {
    {.name = "bus",
     .type = OPTION_TEXT,
     .value = "URL",
     .env = "OD_BUS",
     .secret = true,
     .about = "publish events in a stream of a Redis or Valkey server, and take actions "
              "from another: rediss://[USER@]HOST[:PORT][/DB][?prefix=od], "
              "redis://… without TLS, redis[s]+sentinel://HOST,HOST/NAME"},
    {.name = "bus-password-file",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_BUS_PASSWORD_FILE",
     .about = "take the password for the bus from the first line of this file, which "
              "is read again for each try while it is there"},
    {.name = "bus-sentinel-user",
     .type = OPTION_TEXT,
     .value = "NAME",
     .env = "OD_BUS_SENTINEL_USER",
     .unset = "default",
     .about = "log in at the sentinels as this user"},
    {.name = "bus-sentinel-password-file",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_BUS_SENTINEL_PASSWORD_FILE",
     .about = "take the password for the sentinels from this file, as "
              "--bus-password-file; without the option, no password is sent to them"},
    {.name = "bus-ca",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_BUS_CA",
     .unset = "SSL_CERT_FILE, SSL_CERT_DIR, the system's",
     .about = "trust these authorities for the certificate of the bus (PEM)"},
    {.name = "bus-cert",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_BUS_CERT",
     .about = "present this certificate to the bus, with its chain (PEM)"},
    {.name = "bus-key",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_BUS_KEY",
     .unset = "in --bus-cert",
     .about = "take its private key from this file (PEM)"},
    {.name = "bus-insecure",
     .type = OPTION_SWITCH,
     .env = "OD_BUS_INSECURE",
     .about = "use other machines without TLS (redis://), too: anybody on the way "
              "can read the events and send actions"},
    {.name = "bus-no-index",
     .type = OPTION_SWITCH,
     .env = "OD_BUS_NO_INDEX",
     .about = "write only the keys of this sandbox, not the lists of all sandboxes, "
              "for a user of the bus with only these rights"},
    {.name = "bus-deltas",
     .type = OPTION_SWITCH,
     .env = "OD_BUS_DELTAS",
     .about = "publish the output of running commands, too, for those who subscribe "
              "to it (Redis 7.0 or newer)"},
    {.name = "bus-wait",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_BUS_WAIT",
     .member = "wait_ms",
     .dflt = "30",
     A_TIME,
     .about = "wait at most this long between tries; each wait is random, from zero to a "
              "bound that begins at 0.5 and doubles"},
    {.name = "bus-timeout",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_BUS_TIMEOUT",
     .member = "timeout_ms",
     .dflt = "30",
     A_TIME,
     .about = "give up a try when one of its steps takes longer: the connection, and "
              "the answer to each command until the link is up"},
    {.name = NULL},
};

/* names: those of two members of o, for the file and for the password. */
static int put_password(struct json *o, const char *const names[2], const char *file,
                        struct err *e)
{
    struct buf password = BUF_INIT(BACKEND_SECRET_MAX);
    int rc = file ? backend_put_secret(o, names[0], file, &password, e) : 0;
    if (rc == 0 && file)
        json_put_str(o, names[1], buf_str(&password));
    buf_release(&password);
    return rc;
}

static int check_near(const struct bus_where *w, struct err *e)
{
    for (unsigned i = 0; i < w->n && !w->tls; i++) {
        if (!bus_host_is_near(&w->hosts[i]))
            return err_set(e, ERR_DENIED,
                           "cannot use the bus at %s: without TLS everybody on the way "
                           "reads the events and can send actions; use rediss://, or "
                           "allow it with --bus-insecure",
                           w->hosts[i].name);
    }
    return 0;
}

static int put_all(struct json *o, const struct options *given, const struct json *own,
                   struct err *e)
{
    const char *url = option_text(given, "bus");
    const char *file = option_text(given, "bus-password-file");
    const char *cert = option_text(given, "bus-cert"),
               *key = option_text(given, "bus-key");
    const char *sentinel = option_text(given, "bus-sentinel-password-file"),
               *sentinel_user = option_text(given, "bus-sentinel-user");
    static const char *const names[] = {"password_file", "password"},
                             *const sentinel_names[] = {"sentinel_password_file",
                                                        "sentinel_password"};
    bool insecure = json_bool(own, "bus_insecure", false);
    struct bus_where w;
    if (bus_where(&w, str_of(url), e) < 0)
        return -1;
    if (file && w.password[0])
        return err_set(e, ERR_INVALID,
                       "--bus-password-file and the password in the URL of --bus are two "
                       "passwords: give one");
    if (w.user[0] && !file && !w.password[0])
        return err_set(e, ERR_INVALID,
                       "the URL of --bus has a user but no password: give it by "
                       "--bus-password-file");
    if ((sentinel || sentinel_user) && !w.sentinel)
        return err_set(e, ERR_INVALID,
                       "--bus-sentinel-… needs sentinels, and the URL of --bus has none: "
                       "it must begin with redis+sentinel:// or rediss+sentinel://");
    if (sentinel_user && !sentinel)
        return err_set(e, ERR_INVALID,
                       "--bus-sentinel-user needs a password: give it by "
                       "--bus-sentinel-password-file");
    if (key && !cert)
        return err_set(e, ERR_INVALID,
                       "--bus-key belongs to a certificate: give --bus-cert too");
    json_put_z(o, "url", url);
    json_put_int(o, "wait_ms", json_int(own, "wait_ms", 0));
    json_put_int(o, "timeout_ms", json_int(own, "timeout_ms", 0));
    json_put_bool(o, "insecure", insecure);
    json_put_bool(o, "no_index", json_bool(own, "bus_no_index", false));
    json_put_bool(o, "deltas", json_bool(own, "bus_deltas", false));
    if (sentinel_user)
        json_put_z(o, "sentinel_user", sentinel_user);
    backend_put_env(o);
    if (put_password(o, names, file, e) < 0 ||
        put_password(o, sentinel_names, sentinel, e) < 0 ||
        backend_put_file(o, "ca", "--bus-ca", option_text(given, "bus-ca"), e) < 0 ||
        backend_put_file(o, "cert", "--bus-cert", cert, e) < 0 ||
        backend_put_file(o, "key", "--bus-key", key, e) < 0)
        return -1;
    return insecure ? 0 : check_near(&w, e);
}

/*
 * Makes the options that bus_open reads from the rows: url, password, password_file,
 * sentinel_user, sentinel_password, sentinel_password_file, ca, cert, key are strings,
 * with absolute paths of files; env {SSL_CERT_FILE, SSL_CERT_DIR}, if they are set;
 * wait_ms, timeout_ms; insecure, no_index, deltas. Makes nothing if there is no bus.
 */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    return backend_prepare(given, "bus", put_all, own, e);
}

const struct option_table bus_options = {.heading = "Bus",
                                         .section = "bus",
                                         .needs = "bus",
                                         .what = "a bus",
                                         .rows = rows,
                                         .prepare = prepare};
