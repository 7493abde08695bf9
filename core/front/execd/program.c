/* SPDX-License-Identifier: MIT */
/*
 * The program execd, by a link or a copy of that name: its command line (flags as Go
 * reads them, with one dash or two) as options of od serve. OpenSandbox's server starts
 * it without arguments, so od serve also reads its environment: EXECD_ACCESS_TOKEN and
 * EXECD_ENVS are options, EXECD_LOG_FILE is opened here.
 */
#include "front/execd/own.h"

#include "front/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage of execd:\n"
    "  -access-token TOKEN   the token of X-EXECD-ACCESS-TOKEN (EXECD_ACCESS_TOKEN);\n"
    "                        without it whoever reaches the port may run commands here\n"
    "  -log-level LEVEL      0 to 7: 3 errors, 4 warnings, 6 notes, 7 everything (6)\n"
    "  -port PORT            the port to listen on, at every IPv4 address (44772)\n"
    "\n"
    "-jupyter-host, -jupyter-token, -jupyter-idle-poll-interval and\n"
    "-graceful-shutdown-timeout are accepted and have no effect: kernels are od's own,\n"
    "and a stream ends with its last event. EXECD_ENVS is a file of variables for\n"
    "commands, EXECD_LOG_FILE gets the log.\n"
    "\n"
    "This is od: `execd serve`, `execd exec` and the other applets work as with it.\n";

enum { PORT, LEVEL, TOKEN };
static const char *const flags[] = {"port",
                                    "log-level",
                                    "access-token",
                                    "jupyter-host",
                                    "jupyter-token",
                                    "jupyter-idle-poll-interval",
                                    "graceful-shutdown-timeout"};
enum { ALL_FLAGS = sizeof(flags) / sizeof(flags[0]) };

static int refuse(const char *text, const char *flag)
{
    fprintf(stderr, "%s%s\n%s", text, flag, usage);
    return 2;
}

/* Returns PROGRAM_SERVE; otherwise the exit status, after printing a message. */
static int take_flags(int argc, char **argv, const char *given[ALL_FLAGS])
{
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *eq = strchr(flag, '=');
        if (flag[0] != '-' || !flag[1] || strcmp(flag, "--") == 0)
            break; /* Go leaves the rest alone, and so does execd */
        flag += 1 + (flag[1] == '-');
        size_t n = eq ? (size_t)(eq - flag) : strlen(flag), k = 0;
        if ((n == 1 && flag[0] == 'h') || (n == 4 && strncmp(flag, "help", 4) == 0))
            return fputs(usage, stderr) < 0;
        while (k < ALL_FLAGS &&
               (strlen(flags[k]) != n || strncmp(flags[k], flag, n) != 0))
            k++;
        if (k == ALL_FLAGS)
            return refuse("flag provided but not defined: -", flag);
        if (!eq && i + 1 == argc)
            return refuse("flag needs an argument: -", flag);
        given[k] = eq ? eq + 1 : argv[++i];
    }
    return PROGRAM_SERVE;
}

static const char *level_name(uint64_t level)
{
    return level <= 3 ? "error" : level == 4 ? "warn" : level <= 6 ? "info" : "debug";
}

static int read_words(int argc, char **argv, struct program_words *out)
{
    const char *given[ALL_FLAGS] = {[PORT] = "44772", [LEVEL] = "6"};
    const char *file = getenv("EXECD_LOG_FILE");
    uint64_t port, level;
    int status = take_flags(argc, argv, given);
    if (status != PROGRAM_SERVE)
        return status;
    if (str_to_u64(str_of(given[PORT]), &port) < 0 || port > 65535)
        return refuse("invalid value for flag -port: ", given[PORT]);
    if (str_to_u64(str_of(given[LEVEL]), &level) < 0)
        return refuse("invalid value for flag -log-level: ", given[LEVEL]);
    if (file && file[0]) {
        if (!freopen(file, "a", stderr))
            return 1;
        setvbuf(stderr, NULL, _IONBF, 0); /* glibc would buffer it */
    }
    program_add(out, "--listen");
    program_addf(out, "execd@http://0.0.0.0:%u", (unsigned)port);
    program_add(out, "--name");
    if (port)
        program_addf(out, "execd-%u", (unsigned)port);
    else
        program_addf(out, "execd-p%ld", (long)getpid());
    program_add(out, "--log");
    program_add(out, level_name(level));
    program_add(out, "--execd-open");
    if (given[TOKEN] && given[TOKEN][0]) {
        program_add(out, "--execd-token");
        program_add(out, given[TOKEN]);
    }
    return PROGRAM_SERVE;
}

const struct program execd_programs[] = {
    {.name = "execd",
     .about = "OpenSandbox's daemon",
     .usage = usage,
     .applets = true,
     .read = read_words},
    {.name = NULL},
};
