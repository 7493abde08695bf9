/* SPDX-License-Identifier: MIT */
/*
 * The programs jupyter, jupyter-server and jupyter-kernelgateway, for links of these
 * names: their command lines (`--KernelGatewayApp.port=8888`, `--ip 0.0.0.0`) and the
 * gateway's environment (KG_PORT, kernel_gateway/gatewayapp.py) as options of od serve.
 * The class before a dot is not looked at.
 */
#include "front/jupyter/own.h"

#include "base/clock.h"
#include "front/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: jupyter server|kernelgateway [--OPTION=VALUE ...]\n"
    "\n"
    "Serves kernels, sessions and contents as Jupyter's server and kernel gateway do.\n"
    "This is od; od help serve has all that it can do.\n"
    "\n"
    "  ip, port         where to listen (127.0.0.1, 8888)\n"
    "  token, auth_token\n"
    "                   what clients must send (JUPYTER_TOKEN, KG_AUTH_TOKEN). Without\n"
    "                   it the server makes one and prints it, the gateway is open\n"
    "  base_url         the path before all paths\n"
    "  root_dir, notebook_dir\n"
    "                   the folder of contents\n"
    "\n"
    "Each may have the name of its class before it: --ServerApp.port=8888. KG_IP, "
    "KG_PORT\n"
    "and KG_BASE_URL count for the gateway. These are accepted and have no effect:\n"
    "allow_*, answer_yes, debug, disable_check_xsrf, list_kernels, log_*, no-browser,\n"
    "open_browser, port_retries, y.\n";

enum { IP, PORT, TOKEN, BASE, ROOT, VALUES, NOTHING, FLAG, UNKNOWN };

static const struct {
    const char *name; /* a "*" at its end: whatever follows */
    int is;
} names[] = {{"ip", IP},
             {"port", PORT},
             {"token", TOKEN},
             {"auth_token", TOKEN},
             {"base_url", BASE},
             {"root_dir", ROOT},
             {"notebook_dir", ROOT},
             {"notebook-dir", ROOT},
             {"allow-root", FLAG},
             {"no-browser", FLAG},
             {"debug", FLAG},
             {"y", FLAG},
             {"allow_*", NOTHING},
             {"log_*", NOTHING},
             {"answer_yes", NOTHING},
             {"disable_check_xsrf", NOTHING},
             {"list_kernels", NOTHING},
             {"open_browser", NOTHING},
             {"port_retries", NOTHING}};

static int known(struct str name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct str one = str_of(names[i].name);
        if (str_eq(name, one) ||
            (str_ends(one, STR("*")) && str_starts(name, str_sub(one, 0, one.n - 1))))
            return names[i].is;
    }
    return UNKNOWN;
}

static int refuse(const char *word, const char *why)
{
    fprintf(stderr, "jupyter: %s: %s\n%s", word, why, usage);
    return 2;
}

/* A value as callers quote it for a shell that is not there. */
static const char *unquoted(char *value)
{
    size_t n = strlen(value);
    if (n < 2 || (value[0] != '\'' && value[0] != '"') || value[n - 1] != value[0])
        return value;
    value[n - 1] = 0;
    return value + 1;
}

static int take(char **argv, const char *given[VALUES])
{
    for (int i = 0; argv[i]; i++) {
        char *word = argv[i], *eq = strchr(word, '=');
        if (strcmp(word, "-h") == 0 || strncmp(word, "--help", 6) == 0)
            return fputs(usage, stdout) < 0;
        const char *name = word + strspn(word, "-");
        size_t n = eq ? (size_t)(eq - name) : strlen(name);
        const char *dot = memchr(name, '.', n);
        struct str last = dot ? str_n(dot + 1, n - (size_t)(dot + 1 - name))
                              : str_n(name, n);
        int is = word[0] == '-' ? known(last) : UNKNOWN;
        if (is == UNKNOWN)
            return refuse(word, "od has no such setting");
        if (is == FLAG)
            continue;
        if (!eq && !argv[i + 1])
            return refuse(word, "its value is missing");
        const char *value = unquoted(eq ? eq + 1 : argv[++i]);
        if (is < VALUES)
            given[is] = value;
    }
    return PROGRAM_SERVE;
}

/* The token of a server that was given none, as Jupyter makes one. */
static void make_token(const char *host, const char *port, struct program_words *out)
{
    char token[49];
    random_hex(token, 48);
    fprintf(stderr, "jupyter: http://%s:%s/?token=%s\n", host, port, token);
    program_addf(out, "%s", token);
}

static int become(char **argv, bool gateway, struct program_words *out)
{
    const char *v[VALUES] = {"127.0.0.1", "8888"};
    uint64_t number;
    static const char *const variables[] = {"KG_IP", "KG_PORT", "KG_AUTH_TOKEN",
                                            "KG_BASE_URL"};
    for (int i = 0; gateway && i <= BASE; i++)
        v[i] = getenv(variables[i]) ? getenv(variables[i]) : v[i];
    int status = take(argv, v);
    if (status != PROGRAM_SERVE)
        return status;
    if (str_to_u64(str_of(v[PORT]), &number) < 0 || number > 65535)
        return refuse(v[PORT], "a port is a number up to 65535");
    const char *host = v[IP][0] == 0 || v[IP][0] == '*' ? "0.0.0.0" : v[IP];
    const char *variable = getenv("JUPYTER_TOKEN");
    bool local = strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0;
    bool six = strchr(host, ':') != NULL;
    program_add(out, "--listen");
    program_addf(out, "jupyter@%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", v[PORT]);
    program_add(out, "--name");
    if (number)
        program_addf(out, "jupyter-%s", v[PORT]);
    else
        program_addf(out, "jupyter-p%ld", (long)getpid());
    if (v[TOKEN] ? v[TOKEN][0] != 0 : !gateway && !(variable && variable[0])) {
        program_add(out, "--jupyter-token");
        if (v[TOKEN])
            program_add(out, v[TOKEN]);
        else
            make_token(host, v[PORT], out);
    } else if (!local && (v[TOKEN] || !variable || !variable[0])) {
        fprintf(stderr,
                "jupyter: warning: anyone who reaches %s may use it: there is no "
                "token\n",
                host);
        program_add(out, "--insecure-open");
    }
    if (v[BASE] && strcmp(v[BASE], "/") != 0) {
        program_add(out, "--jupyter-base-url");
        program_add(out, v[BASE]);
    }
    if (v[ROOT]) {
        const char *root = realpath(v[ROOT], NULL);
        program_add(out, "--jupyter-root");
        program_add(out, root ? root : v[ROOT]);
    }
    return PROGRAM_SERVE;
}

static int read_server(int argc, char **argv, struct program_words *out)
{
    (void)argc;
    return become(argv + 1, false, out);
}

static int read_gateway(int argc, char **argv, struct program_words *out)
{
    (void)argc;
    return become(argv + 1, true, out);
}

static int read_jupyter(int argc, char **argv, struct program_words *out)
{
    const char *which = argc > 1 ? argv[1] : "--help";
    if (strcmp(which, "server") == 0 || strcmp(which, "kernelgateway") == 0)
        return become(argv + 2, which[0] == 'k', out);
    if (strcmp(which, "--help") == 0 || strcmp(which, "-h") == 0)
        return fputs(usage, stdout) < 0;
    return refuse(which, "od is Jupyter's server and kernelgateway only");
}

const struct program nb_programs[] = {
    {.name = "jupyter",
     .about = "Jupyter's server and kernel gateway, by their names",
     .usage = usage,
     .read = read_jupyter},
    {.name = "jupyter-server",
     .about = "Jupyter's server",
     .usage = usage,
     .read = read_server},
    {.name = "jupyter-kernelgateway",
     .about = "Jupyter's kernel gateway",
     .usage = usage,
     .read = read_gateway},
    {.name = NULL},
};
