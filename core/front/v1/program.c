/* SPDX-License-Identifier: MIT */
/*
 * The program openhands-agent-server, for a link of that name: translates its command
 * line (openhands-agent-server __main__.py) into options of od serve. settings.c reads
 * its environment.
 */
#include "front/v1/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: openhands-agent-server [-h] [--host HOST] [--port PORT]\n"
    "\n"
    "Serves the sandbox part of OpenHands' agent-server: commands, files and git. This\n"
    "is od; od help serve has all that it can do.\n"
    "\n"
    "  -h, --help    show this text\n"
    "  --host HOST   the address to listen on: without it 127.0.0.1 if there is no\n"
    "                session key, and 0.0.0.0 if there is one\n"
    "  --port PORT   the port to listen on (8000)\n"
    "\n"
    "--reload, --check-browser, --import-modules and --extra-python-path are accepted\n"
    "and have no effect. Keys and settings come from the variables of the original:\n"
    "OH_SESSION_API_KEYS_0 (or SESSION_API_KEY), OH_SECRET_KEY, OH_DEFERRED_INIT,\n"
    "OH_BASH_EVENTS_DIR, OH_BASH_EVENTS_RETENTION_SECONDS, OH_STATIC_FILES_PATH,\n"
    "OH_ALLOW_CORS_ORIGINS_0, OH_ALLOW_CORS_ORIGIN_REGEX, OH_WEB_URL.\n";

/* Returns the value of --NAME VALUE or --NAME=VALUE at argv[*i]; NULL if that is another
 * word. */
static const char *value_of(char **argv, int *i, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0)
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (argv[*i][n] != 0)
        return NULL;
    return argv[*i + 1] ? argv[++*i] : NULL;
}

/* Is argv[*i] an option of the original that is ignored here? Moves *i over its value. */
static bool is_passed_over(char **argv, int *i)
{
    static const char *const with_value[] = {"--import-modules", "--extra-python-path"};
    if (strcmp(argv[*i], "--reload") == 0 || strcmp(argv[*i], "--check-browser") == 0)
        return true;
    for (size_t k = 0; k < sizeof(with_value) / sizeof(with_value[0]); k++) {
        if (value_of(argv, i, with_value[k]))
            return true;
    }
    return false;
}

/* Is word an option that needs a value? */
static bool needs_value(const char *word)
{
    static const char *const names[] = {"--host", "--port", "--import-modules",
                                        "--extra-python-path"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return false;
}

static bool has_key(void)
{
    const char *const names[] = {"OH_SESSION_API_KEYS_0", "OH_SESSION_API_KEYS",
                                 "SESSION_API_KEY"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *v = getenv(names[i]);
        if (v && v[0])
            return true;
    }
    return false;
}

static int refuse(const char *text, const char *word)
{
    fprintf(stderr,
            "usage: openhands-agent-server [-h] [--host HOST] [--port PORT]\n"
            "openhands-agent-server: error: %s%s\n",
            text, word);
    return 2;
}

static int read_words(int argc, char **argv, struct program_words *out)
{
    const char *host = NULL, *port = "8000", *v;
    uint64_t number;
    (void)argc;
    for (int i = 1; argv[i]; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if ((v = value_of(argv, &i, "--host")))
            host = v;
        else if ((v = value_of(argv, &i, "--port")))
            port = v;
        else if (is_passed_over(argv, &i))
            continue;
        else if (needs_value(argv[i]))
            return refuse("expected one argument after ", argv[i]);
        else
            return refuse("unrecognized arguments: ", argv[i]);
    }
    if (str_to_u64(str_of(port), &number) < 0 || number > 65535)
        return refuse("argument --port: invalid int value: ", port);
    bool open = host && !has_key();
    if (!host)
        host = has_key() ? "0.0.0.0" : "127.0.0.1";
    bool six = strchr(host, ':') && host[0] != '[';
    program_add(out, "--listen");
    program_addf(out, "v1@%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    if (open && strncmp(host, "127.", 4) != 0 && strcmp(host, "localhost") != 0) {
        fprintf(
            stderr,
            "openhands-agent-server: warning: anyone who reaches %s may use it: there "
            "is no session key\n",
            host);
        program_add(out, "--insecure-open");
    }
    return PROGRAM_SERVE;
}

const struct program v1_programs[] = {
    {.name = "openhands-agent-server",
     .about = "OpenHands' agent-server, the sandbox part of it",
     .usage = usage,
     .read = read_words},
    {.name = NULL},
};
