/* SPDX-License-Identifier: MIT */
/* What the command line of `od exec` says, and its help. */
#include "base/called.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "exec.h"
#include "ipc/attach.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_ENV "OD_EXEC_FLAGS"

enum { NO_LIMIT = -1 }; /* "none", in place of a time that the flags give */

const char exec_usage[] =
    "Usage: od exec [OPTION]... [--] COMMAND...\n"
    "       od exec [OPTION]... -f FILE\n"
    "       od exec [-s NAME] --input TEXT | --key KEYS | --signal SIG [--wait]\n"
    "       od exec [-s NAME | -p NAME] --wait | --logs | --kill\n"
    "       od exec -i [-s NAME]\n"
    "       od exec --list | --stop\n"
    "\n"
    "Runs COMMAND in a shell that stays: its directory, variables, functions and\n"
    "jobs are there for the next call. One argument is the text of the command, as\n"
    "it is; several are joined by spaces, as ssh does. Output comes as it is made,\n"
    "and the exit status is the command's.\n"
    "\n"
    "The shells belong to a server of the user's. With none running, one is\n"
    "started; it ends after 8 hours without work, or with --stop.\n"
    "\n"
    "Running:\n"
    "  -s, --session NAME    the session to run in (main); made when it is new\n"
    "  -f, --file FILE       take the text of the command from FILE (-: standard\n"
    "                        input): any length, no quoting\n"
    "  -t, --timeout SEC     answer after SEC seconds at the latest; what runs\n"
    "                        goes on\n"
    "      --idle SEC        answer after SEC seconds without new output\n"
    "      --return-on-input\n"
    "                        answer when the command waits for somebody to type, or\n"
    "                        probably does: it may, and has been silent for 2 s\n"
    "                        within a line\n"
    "  -d, --detach          answer at the start and print what names the command\n"
    "      --no-wait         refuse when the session is busy, instead of queueing; as\n"
    "                        the note of a call that queues says, --input, --key and\n"
    "                        --kill reach what runs, and -s OTHER does not wait\n"
    "  -n, --no-stdin        pass no standard input on\n"
    "      --new             a process of its own instead of a session: standard\n"
    "                        output and error apart. Several words are the program\n"
    "                        and its arguments, one is a text for sh -c\n"
    "  -p, --process NAME    the process an option is about; with --new, its name\n"
    "\n"
    "Of a session or process that this call makes:\n"
    "      --cwd DIR         its directory (a session's: the working directory of\n"
    "                        the server; a process's: the current one)\n"
    "      --env NAME=VALUE  a variable; NAME alone takes the value from here\n"
    "      --user NAME       whose it is\n"
    "      --shell PATH      which shell (bash, else sh)\n"
    "\n"
    "What runs:\n"
    "      --wait            wait for the running command, as if it was ours: its\n"
    "                        output since the last answer, its exit status\n"
    "      --input TEXT      type TEXT and Enter\n"
    "      --raw-input TEXT  type TEXT and nothing else\n"
    "      --input-file FILE\n"
    "                        type the bytes of FILE (-: standard input)\n"
    "      --key KEYS        press keys, in this order, after any input, as tmux\n"
    "                        send-keys does: Enter, Tab, Escape, Space, BSpace, Up,\n"
    "                        Home, PageUp, F1, ..., any character with C- or M-, as\n"
    "                        C-c, and keys with S-, as S-Tab; separated by commas.\n"
    "                        What is not the name of a key is typed: q, y, hello\n"
    "      --eof             end the input\n"
    "      --signal SIG      signal the job in the foreground (INT, TERM, 9, ...)\n"
    "      --kill            end the whole tree of the command, daemons too: TERM,\n"
    "                        or what --signal names, and after 2 seconds KILL.\n"
    "                        The shell stays, and jobs of commands before; when\n"
    "                        no command runs, these are ended\n"
    "      --end             with --kill: the session too\n"
    "  -i, --attach          make this terminal the session's. C-] detaches\n"
    "      --detach-key KEY  another key for that: C-a to C-z, C-], C-\\, C-^, C-_\n"
    "                        or none\n"
    "\n"
    "What was:\n"
    "      --list            sessions and processes\n"
    "      --logs            the output that is kept\n"
    "      --follow          with --logs: and what comes, until the end\n"
    "      --offset N        with --logs: from this byte on; negative: of the last N\n"
    "      --limit N         with --logs: at most N bytes\n"
    "      --stderr          with --logs: a process's error output\n"
    "\n"
    "Form:\n"
    "      --text            output as a terminal would show it at the end, long\n"
    "                        text as head and tail\n"
    "      --json            the result as a JSON object on one line, with the text as\n"
    "                        \"output\"; members that do not apply are absent\n"
    "  -q, --quiet           no notes on standard error; errors only\n"
    "\n"
    "The server:\n"
    "      --server WHERE    which one: its name, or the path of its socket, which has\n"
    "                        a slash. Without it: the server default if it runs, else\n"
    "                        the only one that runs; one is started if none does\n"
    "      --socket PATH     the same; a word without a slash is a path too\n"
    "      --stop            end it, and all that it runs: TERM, and after 2\n"
    "                        seconds KILL. Status 0 when nothing is left, 1 when\n"
    "                        something is, or it took longer than -t (30)\n"
    "  -h, --help            this text\n"
    "\n"
    "SEC may have a fraction and a unit: 0.5, 250ms, 10m, 2h. \"none\" is no limit.\n"
    "\n"
    "Result of --json:\n"
    "  ok                   whether it was done; if not, see error\n"
    "  error.code, error.text, error.exit\n"
    "                       BUSY, NOTFOUND, ...; a sentence; the exit status\n"
    "                       if it is not 125\n"
    "  state                ended, running, shell_ended (it ended its shell),\n"
    "                       none (nothing runs)\n"
    "  exit, signal         of what ended: its status, and the number of the\n"
    "                       signal that ended it\n"
    "  why                  of what is running: timeout, idle, input, detached\n"
    "                       or cancelled\n"
    "  waiting.state, waiting.how, waiting.pid, waiting.comm\n"
    "                       of what is running: whether it waits for input\n"
    "                       (yes, no, unknown), how that is known, and which\n"
    "                       process does\n"
    "  session, process, pid, op\n"
    "                       where it ran, and its number there\n"
    "  cwd                  the directory of the session afterwards\n"
    "  duration_ms          how long it has run\n"
    "  output, stderr       text as --text shows it; stderr only of a process\n"
    "  cut.from, cut.to, cut.bytes, cut.lines\n"
    "                       the part of output that the text leaves out, as\n"
    "                       a range for --logs, and in bytes and lines of text\n"
    "  stderr_cut.from, stderr_cut.to, stderr_cut.bytes, stderr_cut.lines\n"
    "                       the same of stderr, for --logs --stderr\n"
    "  from, to             the range of the output, for --logs --offset\n"
    "  notes[].note, notes[].text\n"
    "                       what is a note on standard error otherwise: its\n"
    "                       kind, and the sentence\n"
    "  gaps                 ranges [from, to] of output that is lost\n"
    "  processes, ended, text\n"
    "                       of --kill: the number of processes found, whether\n"
    "                       the session has ended, what could not be done\n"
    "  sessions[].name, sessions[].state, sessions[].shell,\n"
    "  sessions[].terminal, sessions[].pid, sessions[].cwd, sessions[].path,\n"
    "  sessions[].op, sessions[].command, sessions[].running_ms,\n"
    "  sessions[].last_background, sessions[].untold, sessions[].attached,\n"
    "  sessions[].output\n"
    "                       of --list: each session; path is its PATH, op its\n"
    "                       last command, untold whether that ended with\n"
    "                       nobody waiting, attached how many terminals look\n"
    "                       at it, output the bytes it has written\n"
    "  processes[].name, processes[].command, processes[].cwd,\n"
    "  processes[].state, processes[].pid, processes[].exit,\n"
    "  processes[].running_ms, processes[].output, processes[].error_output\n"
    "                       of --list: each process of --new\n"
    "\n"
    "Standard input: a pipe or a file is passed on to the command. A terminal or\n"
    "/dev/null is not; then the session's terminal is the command's input, and\n"
    "--input, from another call, types there. In a loop that reads a list, give -n. A\n"
    "command that waits for a pipe which gives nothing for 2 s is reported.\n"
    "\n"
    "Signals: C-c (SIGINT) interrupts the command, and its result is waited for; a\n"
    "second C-c within a second stops waiting. SIGTERM interrupts too and waits for\n"
    "2 seconds. SIGHUP stops waiting. When nobody reads our output any more, the\n"
    "command is interrupted. Whatever is not waited for goes on.\n"
    "\n"
    "Exit status:\n"
    "  the command's; 128+N when signal N ended it; and\n"
    "  124  the answer came before the end: time limit, no new output, waiting\n"
    "       for input\n"
    "  125  od exec itself failed\n"
    "  126  the command was found and cannot be run\n"
    "  127  there is no such command\n"
    "  130  not waited for, after C-c\n"
    "\n"
    "Environment:\n"
    "  OD_EXEC_FLAGS    options for every call, as \"-t 60 --text\": split into words\n"
    "                   with quotes as a shell does, nothing is expanded. Options of\n"
    "                   the call win. Not for those that need no command to run\n"
    "                   (--wait, --list, ...), nor -f\n"
    "  OD_SERVER        which server, when --server is not given\n"
    "  OD_SOCKET        the path of its socket, when neither is; a server that is\n"
    "                   started listens there, if the folder exists\n"
    "  XDG_RUNTIME_DIR  where sockets are otherwise\n"
    "  OD_OP            set in what a session runs, so that a command that calls the\n"
    "                   session it runs in is refused instead of waiting for itself\n"
    "\n"
    "Files:\n"
    "  $XDG_RUNTIME_DIR/od/sock, /tmp/od-UID/sock\n"
    "                   where the server is looked for, in this order; another server's\n"
    "                   is NAME/sock there. If neither folder can be had: .run in the\n"
    "                   state directory, ~/.od, /run/od-UID, /dev/shm/od-UID and\n"
    "                   /var/tmp/od-UID; if none can: an abstract socket, which counts\n"
    "                   in its container only\n"
    "\n"
    "Examples:\n"
    "  od exec 'cd /src && make'; od exec pwd\n"
    "  od exec -t 60 --return-on-input apt-get install hello\n"
    "  od exec --input y --wait\n"
    "  od exec -s server -d 'python3 -m http.server'; od exec -s server --logs\n"
    "  tar c . | od exec --new tar x -C /work\n"
    "  od exec --key C-c\n";

enum long_only {
    O_IDLE = 256, O_RETURN_ON_INPUT, O_NO_WAIT, O_NEW, O_CWD, O_ENV, O_USER, O_SHELL,
    O_WAIT, O_INPUT, O_RAW_INPUT, O_INPUT_FILE, O_KEY, O_EOF, O_SIGNAL, O_KILL, O_END,
    O_DETACH_KEY, O_LIST, O_LOGS, O_FOLLOW, O_OFFSET, O_LIMIT, O_STDERR, O_TEXT,
    O_JSON, O_SERVER, O_SOCKET, O_STOP
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
    {"stop", no_argument, NULL, O_STOP},
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

static int take_option(struct options *o, int c, struct err *e)
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
    case O_INPUT: o->verbs |= V_SEND; o->input = optarg; o->enter = true; return 0;
    case O_RAW_INPUT: o->verbs |= V_SEND; o->input = optarg; o->enter = false; return 0;
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
    case O_SERVER: o->server = optarg; return 0;
    case O_SOCKET:
        o->server = sockpath_of_path(optarg, o->socket_space);
        return 0;
    case O_STOP: o->verbs |= V_STOP; return 0;
    default: return -1;
    }
}

/* What does not go together, in words. */
static int check_options(struct options *o, struct err *e)
{
    /* With --kill, --signal says which one. */
    if (o->verbs & V_KILL)
        o->verbs &= ~(unsigned)V_SIGNAL;
    unsigned alone = o->verbs;
    if (alone & (V_SEND | V_SIGNAL))
        alone &= ~(unsigned)V_WAIT;
    const char *wrong = NULL;
    if (alone & (alone - 1))
        wrong = "these options ask for different things; give them in calls of their own";
    else if (o->verbs && (o->word_count || o->file))
        wrong = "a command cannot be given with this option";
    else if (o->file && o->word_count)
        wrong = "a command cannot be given twice, by -f and as words";
    else if (!o->verbs && !o->file && !o->word_count)
        wrong = "no command was given";
    else if (o->session && o->process)
        wrong = "-s and -p cannot both be given";
    else if (o->own && (o->session || o->verbs))
        wrong = "--new makes a process and takes a command, not a session";
    else if (!o->verbs && o->process && !o->own)
        wrong = "-p names a process, and commands run in sessions; give --new or -s";
    else if (o->input && o->input_file)
        wrong = "--input and --input-file cannot both be given";
    else if (o->end && !(o->verbs & V_KILL))
        wrong = "--end is for --kill";
    else if ((o->follow || o->has_offset || o->has_limit || o->error_stream) &&
             !(o->verbs & V_LOGS))
        wrong = "--follow, --offset, --limit and --stderr are for --logs";
    else if (o->json && o->follow)
        wrong = "--follow has no end that --json could report";
    if (wrong)
        return err_set(e, ERR_INVALID, "%s (see: %s)", wrong, called_help("exec").z);
    return 0;
}

/* Reads the options up to the first word, which *at is the index of. */
static int parse_words(struct options *o, int argc, char **argv, int *at, struct err *e)
{
    opterr = 0;
    optind = 0; /* from the beginning, also where it was used before */
    int c;
    /* "+": options end at the first word, for the others are the command's. */
    while ((c = getopt_long(argc, argv, "+:s:f:t:dnp:qih", long_options, NULL)) != -1) {
        /* Where a value is missing, a libc may count the missing word too. */
        const char *shown = argv[(optind > argc ? argc : optind) - 1];
        struct called more = called_help("exec");
        if (c == ':')
            return err_set(e, ERR_INVALID, "%s wants a value (see: %s)", shown, more.z);
        if (c != '?') {
            if (take_option(o, c, e) < 0)
                return -1;
            continue;
        }
        /* A bad letter may stand in the middle of a word that is not yet done. */
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

/* OD_EXEC_FLAGS: options of how to run, not what, and not what is asked for. */
static int parse_flags(struct options *o, struct err *e)
{
    const char *text = getenv(FLAGS_ENV);
    int n, at = 1;
    if (!text || !*text)
        return 0;
    if (!(o->flags = words_split(str_of(text), &n, e))) {
        struct err why = *e;
        return err_set(e, ERR_INVALID, FLAGS_ENV ": %s", why.text);
    }
    /* As an argv: a first word that is not looked at, and NULL at the end. */
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
    if (o->verbs || o->file || o->end || o->follow || o->has_offset || o->has_limit ||
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

/* Adds to o what only the flags f have, as far as it is about what o asks for. */
static void add_flags(struct options *o, const struct options *f)
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
    /* The later of two values of a variable counts. */
    const char **env = xcalloc((size_t)(f->env_count + o->env_count) + 1, sizeof(*env));
    for (int i = 0; i < f->env_count; i++)
        env[i] = f->env[i];
    for (int i = 0; i < o->env_count; i++)
        env[f->env_count + i] = o->env[i];
    free(o->env);
    o->env = env;
    o->env_count += f->env_count;
}

int exec_parse(struct options *o, int argc, char **argv, struct err *e)
{
    struct options flags = {0};
    int at = argc;
    *o = (struct options){0};
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

void exec_options_free(struct options *o)
{
    free(o->env);
    free(o->keys);
    words_free(o->flags);
}
