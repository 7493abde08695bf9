/* SPDX-License-Identifier: MIT */
/* The command line of `od exec`; its help is exec.txt. */
#include "base/called.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "exec.h"
#include "ipc/attach.h"
#include "where.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_ENV "OD_EXEC_FLAGS"

enum { NO_LIMIT = -1 }; /* "none", which overrides a time in the flags */

enum long_only {
    O_IDLE = 256, O_RETURN_ON_INPUT, O_NO_WAIT, O_NEW, O_CWD, O_ENV, O_USER, O_SHELL,
    O_WAIT, O_INPUT, O_RAW_INPUT, O_INPUT_FILE, O_KEY, O_EOF, O_SIGNAL, O_KILL, O_END,
    O_DETACH_KEY, O_LIST, O_LOGS, O_FOLLOW, O_OFFSET, O_LIMIT, O_STDERR, O_TEXT,
    O_JSON, O_SERVER, O_SOCKET, O_CA, O_STOP, O_PUT, O_GET
};

static const struct option long_options[] = {
    {"session", required_argument, NULL, 's'},
    {"file", required_argument, NULL, 'f'},
    {"timeout", required_argument, NULL, 't'},
    {"idle", required_argument, NULL, O_IDLE},
    {"return-on-input", no_argument, NULL, O_RETURN_ON_INPUT},
    {"detach", no_argument, NULL, 'd'},
    {"no-wait", no_argument, NULL, O_NO_WAIT},
    {"no-stdin", no_argument, NULL, 'n'},
    {"new", no_argument, NULL, O_NEW},
    {"process", required_argument, NULL, 'p'},
    {"cwd", required_argument, NULL, O_CWD},
    {"env", required_argument, NULL, O_ENV},
    {"user", required_argument, NULL, O_USER},
    {"shell", required_argument, NULL, O_SHELL},
    {"wait", no_argument, NULL, O_WAIT},
    {"input", required_argument, NULL, O_INPUT},
    {"raw-input", required_argument, NULL, O_RAW_INPUT},
    {"input-file", required_argument, NULL, O_INPUT_FILE},
    {"key", required_argument, NULL, O_KEY},
    {"eof", no_argument, NULL, O_EOF},
    {"signal", required_argument, NULL, O_SIGNAL},
    {"kill", no_argument, NULL, O_KILL},
    {"end", no_argument, NULL, O_END},
    {"attach", no_argument, NULL, 'i'},
    {"detach-key", required_argument, NULL, O_DETACH_KEY},
    {"list", no_argument, NULL, O_LIST},
    {"logs", no_argument, NULL, O_LOGS},
    {"follow", no_argument, NULL, O_FOLLOW},
    {"offset", required_argument, NULL, O_OFFSET},
    {"limit", required_argument, NULL, O_LIMIT},
    {"stderr", no_argument, NULL, O_STDERR},
    {"text", no_argument, NULL, O_TEXT},
    {"json", no_argument, NULL, O_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"server", required_argument, NULL, O_SERVER},
    {"socket", required_argument, NULL, O_SOCKET},
    {"ca", required_argument, NULL, O_CA},
    {"stop", no_argument, NULL, O_STOP},
    {"put", required_argument, NULL, O_PUT},
    {"get", required_argument, NULL, O_GET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int want_ms(const char *name, int64_t *out, struct err *e)
{
    if (strcmp(optarg, "none") == 0) {
        *out = NO_LIMIT;
        return 0;
    }
    if (str_to_ms(str_of(optarg), out) == 0 && *out > 0)
        return 0;
    return err_set(e, ERR_INVALID, "%s wants a time in seconds, not \"%s\"", name,
                   optarg);
}

static int want_key(int *out, struct err *e)
{
    if (strcmp(optarg, "none") == 0) {
        *out = -1;
        return 0;
    }
    /* C-a is 1, and so on in ASCII: C-[ is Escape, with which arrows begin. */
    int c = strncmp(optarg, "C-", 2) == 0 && optarg[2] && !optarg[3]
                ? optarg[2] & ~(optarg[2] >= 'a' && optarg[2] <= 'z' ? 0x20 : 0) : 0;
    if (c < 'A' || c > '_' || c == '[')
        return err_set(e, ERR_INVALID, "--detach-key wants C-a to C-z, C-], C-\\, C-^, "
                                       "C-_ or none, not \"%s\"", optarg);
    *out = c & 0x1f;
    return 0;
}

static void push(const char ***array, int *count)
{
    *array = xrealloc(*array, (size_t)*count + 1, sizeof(**array));
    (*array)[(*count)++] = optarg;
}

static int take_option(struct exec_options *o, int c, struct err *e)
{
    switch (c) {
    case 's': o->session = optarg; return 0;
    case 'f': o->file = optarg; return 0;
    case 't': return want_ms("-t", &o->limit_ms, e);
    case 'd': o->detach = true; return 0;
    case 'n': o->no_stdin = true; return 0;
    case 'p': o->process = optarg; return 0;
    case 'q': o->quiet = true; return 0;
    case 'i': o->verbs |= V_ATTACH; return 0;
    case 'h': o->verbs |= V_HELP; return 0;
    case O_IDLE: return want_ms("--idle", &o->idle_ms, e);
    case O_RETURN_ON_INPUT: o->return_on_input = true; return 0;
    case O_NO_WAIT: o->no_wait = true; return 0;
    case O_NEW: o->own = true; return 0;
    case O_CWD: o->cwd = optarg; return 0;
    case O_ENV: push(&o->env, &o->env_count); return 0;
    case O_USER: o->user = optarg; return 0;
    case O_SHELL: o->shell = optarg; return 0;
    case O_WAIT: o->verbs |= V_WAIT; return 0;
    case O_INPUT:
    case O_RAW_INPUT:
        o->verbs |= V_SEND;
        o->late_input |= o->input || o->key_count;
        o->input = optarg;
        o->enter = c == O_INPUT;
        return 0;
    case O_INPUT_FILE: o->verbs |= V_SEND; o->input_file = optarg; return 0;
    case O_KEY: o->verbs |= V_SEND; push(&o->keys, &o->key_count); return 0;
    case O_EOF: o->verbs |= V_SEND; o->eof = true; return 0;
    case O_SIGNAL: o->verbs |= V_SIGNAL; o->signal = optarg; return 0;
    case O_KILL: o->verbs |= V_KILL; return 0;
    case O_END: o->end = true; return 0;
    case O_DETACH_KEY: return want_key(&o->detach_key, e);
    case O_LIST: o->verbs |= V_LIST; return 0;
    case O_LOGS: o->verbs |= V_LOGS; return 0;
    case O_FOLLOW: o->follow = true; return 0;
    case O_OFFSET:
        o->has_offset = str_to_i64(str_of(optarg), &o->offset) == 0;
        return o->has_offset ? 0 : err_set(e, ERR_INVALID,
                                           "--offset wants a number of bytes, not \"%s\"",
                                           optarg);
    case O_LIMIT:
        o->has_limit = str_to_i64(str_of(optarg), &o->limit) == 0 && o->limit >= 0;
        return o->has_limit ? 0 : err_set(e, ERR_INVALID,
                                          "--limit wants a number of bytes, not \"%s\"",
                                          optarg);
    case O_STDERR: o->error_stream = true; return 0;
    case O_TEXT: o->text = true; return 0;
    case O_JSON: o->json = true; return 0;
    case O_SERVER: return where_take(&o->server, o->socket_space, "--server", optarg, e);
    case O_SOCKET: return where_take(&o->server, o->socket_space, "--socket", optarg, e);
    case O_CA: return where_take(&o->server, o->socket_space, "--ca", optarg, e);
    case O_STOP: o->verbs |= V_STOP; return 0;
    case O_PUT: o->verbs |= V_PUT; o->copy = optarg; return 0;
    case O_GET: o->verbs |= V_GET; o->copy = optarg; return 0;
    default: return -1;
    }
}

/* Refuses options that do not go together. */
static int check_options(struct exec_options *o, struct err *e)
{
    /* With --kill, --signal gives its signal. */
    if (o->verbs & V_KILL)
        o->verbs &= ~(unsigned)V_SIGNAL;
    unsigned alone = o->verbs;
    if (alone & (V_SEND | V_SIGNAL))
        alone &= ~(unsigned)V_WAIT;
    const char *wrong = NULL;
    if (alone & (alone - 1))
        wrong = "these options ask for different things; give them in calls of their own";
    else if ((o->verbs & (V_PUT | V_GET)) && (o->word_count != 1 || o->file))
        wrong = "--put takes LOCAL REMOTE and --get REMOTE LOCAL, after all other "
                "options";
    else if ((o->verbs & (V_PUT | V_GET)) && o->process)
        wrong = "--put and --get take -s, for the directory that paths begin in";
    else if (o->verbs & ~(unsigned)(V_PUT | V_GET) && (o->word_count || o->file))
        wrong = "a command cannot be given with this option";
    else if (o->file && o->word_count)
        wrong = "a command cannot be given twice, by -f and as words";
    else if (!o->verbs && !o->file && !o->word_count)
        wrong = "no command was given; -f - takes it from standard input";
    else if (o->session && o->process)
        wrong = "-s and -p cannot both be given";
    else if (o->own && (o->session || o->verbs))
        wrong = "--new makes a process and takes a command, not a session";
    else if (!o->verbs && o->process && !o->own)
        wrong = "-p names a process, and commands run in sessions; give --new or -s";
    else if (o->input && o->input_file)
        wrong = "--input and --input-file cannot both be given";
    else if (o->late_input)
        wrong = "a call types one text, then the keys; more text needs another call";
    else if (o->end && !(o->verbs & V_KILL))
        wrong = "--end is for --kill";
    else if ((o->follow || o->has_offset || o->error_stream) && !(o->verbs & V_LOGS))
        wrong = "--follow, --offset and --stderr are for --logs";
    else if (o->has_limit && !(o->verbs & V_LOGS) && !o->text && !o->json)
        wrong = "--limit is for --logs, --text and --json";
    else if (o->json && o->follow)
        wrong = "--follow has no end that --json could report";
    if (wrong)
        return err_set(e, ERR_INVALID, "%s (see: %s)", wrong, called_help("exec").z);
    return 0;
}

/* Reads the options up to the first word; sets *at to its index. */
static int parse_words(struct exec_options *o, int argc, char **argv, int *at,
                       struct err *e)
{
    opterr = 0;
    optind = 0; /* start again, after earlier uses too */
    int c;
    /* "+": options end at the first word; the rest belongs to the command. */
    while ((c = getopt_long(argc, argv, "+:s:f:t:dnp:qih", long_options, NULL)) != -1) {
        /* If a value is missing, a libc may count the missing word too. */
        const char *shown = argv[(optind > argc ? argc : optind) - 1];
        struct called more = called_help("exec");
        if (c == ':')
            return err_set(e, ERR_INVALID, "%s wants a value (see: %s)", shown, more.z);
        if (c != '?') {
            if (take_option(o, c, e) < 0)
                return -1;
            continue;
        }
        /* A bad letter may be in the middle of a word that is not finished. */
        bool is_long = strncmp(shown, "--", 2) == 0;
        if (is_long && optopt && strchr(shown, '='))
            return err_set(e, ERR_INVALID, "%s takes no value (see: %s)", shown, more.z);
        if (optopt)
            return err_set(e, ERR_INVALID, "there is no option -%c (see: %s)", optopt,
                           more.z);
        return err_set(e, ERR_INVALID, "there is no option %s (see: %s)", shown, more.z);
    }
    *at = optind;
    return 0;
}

/* OD_EXEC_FLAGS: options about how to run, not what to run or report. */
static int parse_flags(struct exec_options *o, struct err *e)
{
    const char *text = getenv(FLAGS_ENV);
    int n, at = 1;
    if (!text || !*text)
        return 0;
    if (!(o->flags = words_split(str_of(text), &n, e))) {
        struct err why = *e;
        return err_set(e, ERR_INVALID, FLAGS_ENV ": %s", why.text);
    }
    /* An argv: its first word is ignored, and NULL ends it. */
    char name[] = "od exec", **argv = xcalloc((size_t)n + 2, sizeof(*argv));
    argv[0] = name;
    memcpy(argv + 1, o->flags, (size_t)n * sizeof(*argv));
    int rc = parse_words(o, n + 1, argv, &at, e);
    const char *word = at <= n ? argv[at] : NULL;
    free(argv);
    if (rc < 0) {
        struct err why = *e;
        return err_set(e, ERR_INVALID, FLAGS_ENV ": %s", why.text);
    }
    if (word)
        return err_set(e, ERR_INVALID, FLAGS_ENV " holds options only, not %.100s", word);
    if (o->verbs || o->file || o->end || o->follow || o->has_offset ||
        o->error_stream)
        return err_set(e, ERR_INVALID,
                       FLAGS_ENV " holds an option that is for one call only (see: %s)",
                       called_help("exec").z);
    return 0;
}

static const char *either(const char *given, const char *flag)
{
    return given ? given : flag;
}

/* Adds to o the options that only the flags f have and that fit o's request. */
static void add_flags(struct exec_options *o, const struct exec_options *f)
{
    bool runs = !o->verbs, waits = runs || (o->verbs & V_WAIT);
    if (!o->session && !o->process && !o->own) {
        o->own = f->own && runs;
        o->session = o->own ? NULL : f->session;
        o->process = f->session && !o->own ? NULL : f->process;
        if (runs && !o->own)
            o->process = NULL;
    } else if (o->own && !o->process) {
        o->process = f->process;
    }
    if (!o->server && f->server == f->socket_space) {
        memcpy(o->socket_space, f->socket_space, sizeof(o->socket_space));
        o->server = o->socket_space;
    }
    o->server = either(o->server, f->server);
    o->cwd = either(o->cwd, f->cwd);
    o->user = either(o->user, f->user);
    o->shell = either(o->shell, f->shell);
    if (waits && !o->limit_ms)
        o->limit_ms = f->limit_ms;
    if (waits && !o->has_limit) {
        o->has_limit = f->has_limit;
        o->limit = f->limit;
    }
    if (waits && !o->idle_ms)
        o->idle_ms = f->idle_ms;
    if (!o->text && !o->json) {
        o->text = f->text;
        o->json = f->json && !o->follow;
    }
    o->detach |= f->detach && runs;
    o->no_wait |= f->no_wait;
    o->return_on_input |= f->return_on_input;
    o->no_stdin |= f->no_stdin;
    o->quiet |= f->quiet;
    if (!o->detach_key)
        o->detach_key = f->detach_key;
    /* If a variable has two values, the later one counts. */
    const char **env = xcalloc((size_t)(f->env_count + o->env_count) + 1, sizeof(*env));
    for (int i = 0; i < f->env_count; i++)
        env[i] = f->env[i];
    for (int i = 0; i < o->env_count; i++)
        env[f->env_count + i] = o->env[i];
    free(o->env);
    o->env = env;
    o->env_count += f->env_count;
}

int exec_parse(struct exec_options *o, int argc, char **argv, struct err *e)
{
    struct exec_options flags = {0};
    int at = argc;
    *o = (struct exec_options){0};
    int rc = parse_words(o, argc, argv, &at, e);
    if (rc == 0 && !(o->verbs & V_HELP))
        rc = parse_flags(&flags, e);
    o->words = argv + at;
    o->word_count = argc - at;
    if (rc == 0)
        add_flags(o, &flags);
    o->flags = flags.flags;
    free(flags.env);
    free(flags.keys);
    o->limit_ms = o->limit_ms == NO_LIMIT ? 0 : o->limit_ms;
    o->idle_ms = o->idle_ms == NO_LIMIT ? 0 : o->idle_ms;
    o->detach_key = o->detach_key ? o->detach_key : ATTACH_KEY;
    return rc < 0 || (o->verbs & V_HELP) ? rc : check_options(o, e);
}

void exec_options_free(struct exec_options *o)
{
    free(o->env);
    free(o->keys);
    words_free(o->flags);
}
