/* SPDX-License-Identifier: MIT */
/* Shared by the files exec*.c. */
#ifndef OD_EXEC_H
#define OD_EXEC_H

#include "base/json.h"
#include "net/sockpath.h"

#include <stdbool.h>
#include <stdint.h>

#define SMALL_MS 30000 /* a request that starts nothing is answered by then */

enum exec_verb {
    V_RUN = 0,
    V_SEND = 1 << 0,
    V_SIGNAL = 1 << 1,
    V_WAIT = 1 << 2,
    V_KILL = 1 << 3,
    V_LOGS = 1 << 4,
    V_ATTACH = 1 << 5,
    V_LIST = 1 << 6,
    V_STOP = 1 << 7,
    V_HELP = 1 << 8,
    V_PUT = 1 << 9,
    V_GET = 1 << 10
};

/* The parsed command line; strings are borrowed from argv and flags. */
struct exec_options {
    unsigned verbs; /* enum verb; 0: run what words or file say */
    const char *session, *process;
    const char *server; /* WHERE (net/sockpath.h), or NULL */
    char socket_space[SOCKPATH_MAX];
    const char *file, *cwd, *user, *shell;
    const char *copy; /* the source of --put or --get; words has the target */
    const char *input, *input_file, *signal;
    const char **env;  /* owned array */
    const char **keys; /* owned array */
    char **flags;      /* owned; the words of OD_EXEC_FLAGS, or NULL */
    int env_count, key_count;
    char **words;
    int word_count;
    int64_t limit_ms, idle_ms, offset, limit;
    bool has_offset, has_limit;
    bool detach, own, no_wait, return_on_input, no_stdin;
    bool late_input; /* --input after another one, or after --key */
    bool enter, eof, end, follow, error_stream;
    bool text, json, quiet;
    int detach_key;
};

/* exec.c */
/* Prints one line on standard error, whatever bytes the text has. */
void exec_say(struct str text);
/* Prints an error of od exec itself. Returns the exit status. */
int exec_fail(const struct exec_options *o, const struct err *e);
/* Prints a result: its output and its text. Returns the exit status. */
int exec_report(const struct exec_options *o, const struct json *r);

/* exec_options.c */
/*
 * Reads OD_EXEC_FLAGS and the command line, which wins. Returns -1 and sets *e if an
 * option is wrong or two do not go together. The caller frees o after either.
 */
int exec_parse(struct exec_options *o, int argc, char **argv, struct err *e);
void exec_options_free(struct exec_options *o);

/* exec_request.c: the caller owns each request; NULL: *e is set */
/* Appends the beginning of a command line that reaches the same server: "od exec". */
void exec_command(struct buf *out, const struct exec_options *o);
/* Asks the server to begin its hints with that. */
void exec_put_command(struct json *q, const struct exec_options *o);
struct json *exec_request(const char *verb);
struct json *exec_run_request(const struct exec_options *o, bool input, struct err *e);
struct json *exec_input_request(const struct exec_options *o, struct err *e);
struct json *exec_logs_request(const struct exec_options *o, struct err *e);
struct json *exec_target_request(const char *verb, const struct exec_options *o,
                                 struct err *e);
/* Whether standard input has something for the command. */
bool exec_stdin_is_input(const struct exec_options *o);
int exec_put_text(struct json *q, const char *name, const char *z, struct err *e);
int exec_put_target(struct json *q, const struct exec_options *o, struct err *e);
int exec_put_making(struct json *q, const struct exec_options *o, struct err *e);
void exec_put_waiting(struct json *q, const struct exec_options *o);

/* exec_copy.c */
/* Does --put or --get. signals: a descriptor of sig_pipe. Returns the exit status. */
int exec_copy(const struct exec_options *o, int signals, struct err *e);

/* exec_stop.c */
int exec_stop(const struct exec_options *o, struct err *e);

#endif
