/* SPDX-License-Identifier: MIT */
/*
 * Settings of the agent-server: options of od serve, and the variables OH_… that the
 * product's own images and launchers set (openhands-agent-server config.py). They are
 * read once, before there is a worker. Keys are overwritten in argv and the environment.
 * Variables without an option are read only if some listener is v1@…: a server for other
 * protocols ignores them.
 */
#include "front/v1/own.h"

#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { ITEMS_MAX = 64, KEYS_MAX = 32, CONFIG_MAX = 1 << 20 };

static const struct option_row rows[] = {
    {.name = "v1-api-key",
     .type = OPTION_TEXT,
     .value = "KEY",
     .env = "OH_SESSION_API_KEYS_0",
     .member = "api_key",
     .secret = true,
     .about = "require this key at the agent-server's listeners, v1@ADDRESS; "
              "OH_SESSION_API_KEYS_1 and so on add more"},
    {.name = "v1-secret-key",
     .type = OPTION_TEXT,
     .value = "KEY",
     .env = "OH_SECRET_KEY",
     .member = "secret_key",
     .unset = "the first key",
     .secret = true,
     .about = "require this key of POST /api/init, in X-Init-API-Key"},
    {.name = "v1-deferred-init",
     .type = OPTION_SWITCH,
     .env = "OH_DEFERRED_INIT",
     .member = "deferred_init",
     .about = "answer 503 until POST /api/init is called"},
    {.name = "v1-bash-events-dir",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OH_BASH_EVENTS_DIR",
     .member = "bash_events_dir",
     .unset = "a folder of the state directory",
     .about = "keep the events of commands in this folder, one file each"},
    {.name = "v1-bash-events-retention",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OH_BASH_EVENTS_RETENTION_SECONDS",
     .member = "retention_ms",
     .unset = "never",
     .min = 1,
     .about = "remove events of commands older than this"},
    {.name = "v1-static-files",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OH_STATIC_FILES_PATH",
     .member = "static_dir",
     .about = "serve the files of this folder at /static/"},
    {.name = "v1-cors-origin",
     .type = OPTION_LIST,
     .value = "ORIGIN",
     .member = "origins",
     .about = "let pages of this origin read answers; pages of this machine always may"},
    {.name = "v1-cors-origin-regex",
     .type = OPTION_TEXT,
     .value = "REGEX",
     .env = "OH_ALLOW_CORS_ORIGIN_REGEX",
     .member = "origin_regex",
     .about = "the same for origins that match the whole expression"},
    {.name = NULL},
};

/* ---- the environment ---- */

/*
 * Reads the list OH_NAME: a JSON array; or OH_NAME_0, OH_NAME_1 … up to the first gap, or
 * up to the number in OH_NAME. Adds the items from `from` on to list.
 */
static void put_list(struct json *list, const char *name, unsigned from, bool secret)
{
    char var[96];
    struct err e = ERR_INIT;
    uint64_t most = ITEMS_MAX;
    snprintf(var, sizeof(var), "OH_%s", name);
    char *whole = getenv(var);
    struct json *array = whole ? json_parse(str_of(whole), &e) : NULL;
    for (struct json *v = json_is_array(array) ? json_first(array) : NULL; v;
         v = json_next(v))
        json_push_str(list, json_str_value(v, ""));
    bool done = json_is_array(array);
    json_free(array);
    if (whole && !done)
        str_to_u64(str_of(whole), &most);
    for (unsigned i = from; !done && i < most && i < ITEMS_MAX; i++) {
        snprintf(var, sizeof(var), "OH_%s_%u", name, i);
        char *value = getenv(var);
        if (!value)
            break;
        json_push_str(list, str_of(value));
        if (secret)
            option_wipe(value);
    }
    if (whole && done && secret)
        option_wipe(whole);
}

static void put_var(struct json *own, const char *member, const char *name)
{
    const char *value = getenv(name);
    if (value && !json_has(own, member))
        json_put_z(own, member, value);
}

/* ---- the file ---- */

/* Members of the product's configuration file, and their names here. */
static const struct {
    const char *theirs, *ours;
} members[] = {
    {"secret_key", "secret_key"},
    {"bash_events_dir", "bash_events_dir"},
    {"allow_cors_origin_regex", "origin_regex"},
    {"web_url", "web_url"},
    {"static_files_path", "static_dir"},
    {"deferred_init", "deferred_init"},
    {"session_api_keys", "keys"},
    {"allow_cors_origins", "origins"},
};

/* Its members count if nothing else sets them. The file may be absent. */
static int put_file(struct json *own, struct err *e)
{
    const char *path = getenv("OPENHANDS_AGENT_SERVER_CONFIG_PATH");
    struct buf text = BUF_INIT(CONFIG_MAX);
    struct err why = ERR_INIT;
    if (!path || !path[0])
        path = "workspace/openhands_agent_server_config.json";
    if (file_read(path, CONFIG_MAX, &text, &why) < 0) {
        buf_release(&text);
        return why.code == ERR_NOTFOUND
                   ? 0
                   : err_set(e, why.code, "cannot read the configuration %s: %s", path,
                             why.text);
    }
    struct json *file = json_parse(buf_str(&text), &why);
    buf_release(&text);
    if (!json_is_object(file)) {
        json_free(file);
        return err_set(e, ERR_INVALID, "the configuration %s must be a JSON object%s%s",
                       path, why.text[0] ? ": " : "", why.text);
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        struct json *v = json_get(file, members[i].theirs);
        const struct json *had = json_get(own, members[i].ours);
        bool given = had && !(json_is_bool(had) && !json_bool(own, members[i].ours, 0)) &&
                     !(json_is_array(had) && json_count(had) == 0);
        if (v && !json_is_null(v) && !given)
            json_put(own, members[i].ours, json_copy(v));
    }
    json_free(file);
    return 0;
}

/* ---- together ---- */

/* Is some listener v1@…? */
static bool is_served(const struct options *given)
{
    const char *address;
    for (unsigned i = 0; (address = option_item(given, "listen", i)); i++) {
        if (str_starts(str_of(address), STR("v1@")))
            return true;
    }
    return false;
}

static int make_absolute(struct json *own, const char *member, struct err *e)
{
    struct buf b = BUF_INIT(V1_PATH_MAX);
    struct str path = json_str(own, member, "");
    int rc = path.n > 0 ? option_absolute(path.p, &b, e) : 0;
    if (rc == 0 && path.n > 0)
        json_put_str(own, member, buf_str(&b));
    buf_release(&b);
    return rc;
}

/* The first of keys becomes the key that od serve knows, if there is no other. */
static void put_first_key(struct json *own)
{
    struct json *first = json_first(json_get(own, "keys"));
    if (json_has(own, "api_key") || !first)
        return;
    json_put(own, "api_key", json_copy(first));
    json_drop(json_get(own, "keys"), first);
}

/* Refuses keys that cannot count, as they would leave the server open. */
static int check_keys(const struct json *own, struct err *e)
{
    const struct json *list = json_get(own, "keys");
    bool fit = json_count(list) < KEYS_MAX &&
               json_str(own, "api_key", "").n <= LIMIT_API_KEY_MAX;
    for (struct json *k = json_first(list); k; k = json_next(k)) {
        size_t n = json_str_value(k, "").n;
        fit = fit && n > 0 && n <= LIMIT_API_KEY_MAX;
    }
    return fit ? 0
               : err_set(e, ERR_INVALID,
                         "the session keys of OH_SESSION_API_KEYS must be at most %d, "
                         "each of 1 to %d bytes",
                         KEYS_MAX, LIMIT_API_KEY_MAX);
}

static int prepare(const struct options *given, struct json **own, struct err *e)
{
    if (is_served(given)) {
        struct json *keys = json_array(), *origins = json_array();
        put_list(keys, "SESSION_API_KEYS", 1, true);
        put_list(origins, "ALLOW_CORS_ORIGINS", 0, false);
        if (json_count(origins) > 0 && json_count(json_get(*own, "origins")) == 0)
            json_put(*own, "origins", origins);
        else
            json_free(origins);
        if (json_count(keys) > 0)
            json_put(*own, "keys", keys);
        else
            json_free(keys);
        put_var(*own, "docker_host", "DOCKER_HOST_ADDR");
        put_var(*own, "web_url", "OH_WEB_URL");
        put_var(*own, "git_sha", "OPENHANDS_BUILD_GIT_SHA");
        put_var(*own, "git_ref", "OPENHANDS_BUILD_GIT_REF");
        put_var(*own, "idle_timeout", "OH_RUNTIME_IDLE_TIMEOUT_SECONDS");
        if (put_file(*own, e) < 0)
            return -1;
        if (check_keys(*own, e) < 0)
            return -1;
        put_first_key(*own);
        json_put_bool(*own, "served", true);
    }
    if (make_absolute(*own, "bash_events_dir", e) < 0)
        return -1;
    return make_absolute(*own, "static_dir", e);
}

const struct option_table v1_options = {.heading = "OpenHands' agent-server",
                                        .section = "v1",
                                        .rows = rows,
                                        .prepare = prepare};
