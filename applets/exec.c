/* SPDX-License-Identifier: MIT */
/*
 * `od exec`: the shells of the server, from a command line.
 *
 * Options become one request (frame.h), a call (call.h) carries it to its
 * result, and the result becomes output, one line of words and an exit status.
 * Nothing of a command passes through more of this process than a buffer, so
 * its memory is the same for a line and for a gigabyte.
 */
#include "applet.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "os/procfs.h"
#include "os/sys.h"
#include "proto/answer.h"
#include "proto/attach.h"
#include "proto/call.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SMALL_MS 30000    /* a request that starts nothing is answered by then */
#define DYING_MS 500      /* between a KILL and the end of what got it */
#define INTERRUPT_MS 1000 /* for passing C-c on, and between two of them */
#define TERM_MS 2000      /* what a command gets to end after our SIGTERM */

static const char usage[] =
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
    "                        answer when the command waits for somebody to type\n"
    "  -d, --detach          answer at the start and print what names the command\n"
    "      --no-wait         refuse when the session is busy, instead of queueing\n"
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
    "      --key KEYS        press keys, in this order, after any input: C-c, C-d,\n"
    "                        Enter, Tab, Escape, Up, F1, ...; separated by commas\n"
    "      --eof             end the input\n"
    "      --signal SIG      signal the job in the foreground (INT, TERM, 9, ...)\n"
    "      --kill            end the whole tree of the command: TERM, or what\n"
    "                        --signal names, and after 2 seconds KILL\n"
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
    "      --json            the result as a JSON object, with the text as \"output\"\n"
    "  -q, --quiet           no notes on standard error; errors only\n"
    "\n"
    "The server:\n"
    "      --socket PATH     which one (@NAME: an abstract socket)\n"
    "      --stop            end it, and all that it runs: TERM, and after 2\n"
    "                        seconds KILL. Status 0 when nothing is left, 1 when\n"
    "                        something is, or it took longer than -t (30)\n"
    "  -h, --help            this text\n"
    "\n"
    "SEC may have a fraction and a unit: 0.5, 250ms, 10m, 2h.\n"
    "\n"
    "Standard input: a pipe or a file is passed on to the command. A terminal or\n"
    "/dev/null is not; then the session's terminal is the command's input, and\n"
    "--input, from another call, types there. In a loop that reads a list, give -n.\n"
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
    "  OD_SOCKET        the server's socket, when --socket is not given\n"
    "  XDG_RUNTIME_DIR  where the socket is otherwise\n"
    "  OD_OP            set in what a session runs, so that a command that calls the\n"
    "                   session it runs in is refused instead of waiting for itself\n"
    "\n"
    "Files:\n"
    "  $XDG_RUNTIME_DIR/od/sock, /tmp/od-UID/sock, abstract @od-UID\n"
    "                   where the server is looked for, in this order\n"
    "\n"
    "Examples:\n"
    "  od exec 'cd /src && make'; od exec pwd\n"
    "  od exec -t 60 --return-on-input apt-get install hello\n"
    "  od exec --input y --wait\n"
    "  od exec -s server -d 'python3 -m http.server'; od exec -s server --logs\n"
    "  tar c . | od exec --new tar x -C /work\n"
    "  od exec --key C-c\n";

enum verb {
    V_RUN = 0,
    V_SEND = 1 << 0,
    V_SIGNAL = 1 << 1,
    V_WAIT = 1 << 2,
    V_KILL = 1 << 3,
    V_LOGS = 1 << 4,
    V_ATTACH = 1 << 5,
    V_LIST = 1 << 6,
    V_STOP = 1 << 7,
    V_HELP = 1 << 8
};

/* What the command line says; everything is borrowed from argv. */
struct options {
    unsigned verbs; /* enum verb; 0: run what words or file say */
    const char *session, *process, *socket;
    const char *file, *cwd, *user, *shell;
    const char *input, *input_file, *signal;
    const char **env; /* owned array */
    const char **keys; /* owned array */
    int env_count, key_count;
    char **words;
    int word_count;
    int64_t limit_ms, idle_ms, offset, limit;
    bool has_offset, has_limit;
    bool detach, own, no_wait, return_on_input, no_stdin;
    bool enter, eof, end, follow, error_stream;
    bool text, json, quiet;
    int detach_key;
};

/* One call with what its callbacks need. */
struct exec {
    struct call call;
    const struct options *o;
    bool queued;          /* behind another's command: C-c is not for that one */
    bool forward;         /* C-c goes to the command */
    bool nobody_reads;
    int64_t interrupted;  /* when; 0: not */
    int signo;            /* why we left, 0: we did not */
    char *process;        /* as the "started" note has it; owned */
    int64_t op;           /* the same; -1: not known */
};

/* One line on standard error, whatever bytes the text has. */
static void say(struct str text)
{
    struct buf line = BUF_INIT(8192);
    buf_addz(&line, "od exec: ");
    buf_adds(&line, str_sub(text, 0, 8000));
    for (size_t i = 0; i < line.n; i++) {
        if ((unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f)
            line.p[i] = ' ';
    }
    buf_addc(&line, '\n');
    ssize_t ignored = write(STDERR_FILENO, line.p, line.n);
    (void)ignored;
    buf_release(&line);
}

/* Text of ours on standard output. -1: it could not be written, and said so. */
static int print(struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(STDOUT_FILENO, text.p, text.n);
        if (n > 0) {
            text = str_sub(text, (size_t)n, text.n);
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (errno != EINTR) {
            struct err e;
            err_sys(&e, errno, "cannot write the output");
            if (errno != EPIPE)
                say(str_of(e.text));
            return -1;
        }
    }
    return 0;
}

static int print_json(const struct json *j)
{
    struct buf out = BUF_INIT(2 * FRAME_MAX);
    json_print(&out, j);
    buf_addc(&out, '\n');
    int ok = print(buf_str(&out));
    buf_release(&out);
    return ok;
}

/* Says why we could not do it. */
static int fail(const struct options *o, const struct err *e)
{
    say(str_of(e->text));
    if (o->json) {
        struct json *r = json_object(), *error = json_object();
        json_put_bool(r, "ok", false);
        json_put_z(error, "code", err_name(e->code));
        json_put_z(error, "text", e->text);
        json_put(r, "error", error);
        print_json(r);
        json_free(r);
    }
    return ANSWER_OURS;
}

/* Options. */

enum long_only {
    O_IDLE = 256, O_RETURN_ON_INPUT, O_NO_WAIT, O_NEW, O_CWD, O_ENV, O_USER, O_SHELL,
    O_WAIT, O_INPUT, O_RAW_INPUT, O_INPUT_FILE, O_KEY, O_EOF, O_SIGNAL, O_KILL, O_END,
    O_DETACH_KEY, O_LIST, O_LOGS, O_FOLLOW, O_OFFSET, O_LIMIT, O_STDERR, O_TEXT,
    O_JSON, O_SOCKET, O_STOP
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
    {"socket", required_argument, NULL, O_SOCKET},
    {"stop", no_argument, NULL, O_STOP},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int want_ms(const char *name, int64_t *out, struct err *e)
{
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
    case O_SOCKET: o->socket = optarg; return 0;
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
        return err_set(e, ERR_INVALID, "%s (see: od help exec)", wrong);
    return 0;
}

static int parse(struct options *o, int argc, char **argv, struct err *e)
{
    *o = (struct options){.detach_key = ATTACH_KEY};
    opterr = 0;
    int c;
    /* "+": options end at the first word, for the others are the command's. */
    while ((c = getopt_long(argc, argv, "+:s:f:t:dnp:qih", long_options, NULL)) != -1) {
        /* Where a value is missing, a libc may count the missing word too. */
        const char *shown = argv[(optind > argc ? argc : optind) - 1];
        if (c == ':')
            return err_set(e, ERR_INVALID, "%s wants a value (see: od help exec)", shown);
        if (c != '?') {
            if (take_option(o, c, e) < 0)
                return -1;
            continue;
        }
        /* A bad letter may stand in the middle of a word that is not yet done. */
        bool is_long = strncmp(shown, "--", 2) == 0;
        const char *more = "(see: od help exec)";
        if (is_long && optopt && strchr(shown, '='))
            return err_set(e, ERR_INVALID, "%s takes no value %s", shown, more);
        if (optopt)
            return err_set(e, ERR_INVALID, "there is no option -%c %s", optopt, more);
        return err_set(e, ERR_INVALID, "there is no option %s %s", shown, more);
    }
    o->words = argv + optind;
    o->word_count = argc - optind;
    return o->verbs & V_HELP ? 0 : check_options(o, e);
}

/* Requests. */

static struct json *request(const char *verb)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", verb);
    return q;
}

/* JSON holds text: other bytes would arrive as something else. */
static int put_text(struct json *q, const char *name, const char *z, struct err *e)
{
    if (!z)
        return 0;
    if (!utf8_valid(str_of(z)))
        return err_set(e, ERR_INVALID, "the %s is not valid UTF-8", name);
    json_put_z(q, name, z);
    return 0;
}

static int put_target(struct json *q, const struct options *o, struct err *e)
{
    if (o->process)
        return put_text(q, "process", o->process, e);
    return put_text(q, "session", o->session ? o->session : "main", e);
}

static void put_base64(struct json *q, const char *name, struct str bytes)
{
    struct buf text = BUF_INIT(FRAME_MAX);
    enc_base64(&text, bytes);
    json_put_str(q, name, buf_str(&text));
    buf_release(&text);
}

/* The whole of a file, at most LIMIT_COMMAND_MAX bytes. */
static int read_file(struct buf *out, const char *file, struct err *e)
{
    bool standard = strcmp(file, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %s", file);
    buf_init(out, LIMIT_COMMAND_MAX + 65536);
    int ok = 0;
    ssize_t n;
    do {
        char *at = buf_reserve(out, 32768);
        n = at ? read(fd, at, 32768) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            ok = err_sys(e, errno, "cannot read %s", standard ? "standard input" : file);
        else
            buf_commit(out, (size_t)n);
        if (out->n > LIMIT_COMMAND_MAX)
            ok = err_set(e, ERR_LIMIT, "%s holds more than %d bytes",
                         standard ? "standard input" : file, LIMIT_COMMAND_MAX);
    } while (ok == 0 && n != 0);
    if (!standard)
        close(fd);
    return ok;
}

static int too_long(struct err *e)
{
    return err_set(e, ERR_LIMIT, "the command is longer than %d bytes",
                   LIMIT_COMMAND_MAX);
}

/* Text as "command"; bytes that are no text as "command64". */
static int put_command(struct json *q, struct str text, struct err *e)
{
    if (text.n && memchr(text.p, '\0', text.n))
        return err_set(e, ERR_INVALID,
                       "the command holds a zero byte, which no shell takes");
    if (text.n > LIMIT_COMMAND_MAX)
        return too_long(e);
    if (utf8_valid(text))
        json_put_str(q, "command", text);
    else
        put_base64(q, "command64", text);
    return 0;
}

static int put_words(struct json *q, const struct options *o, struct err *e)
{
    struct buf text = BUF_INIT(LIMIT_COMMAND_MAX + 65536);
    int ok = 0;
    if (o->file)
        ok = read_file(&text, o->file, e);
    for (int i = 0; i < o->word_count && ok == 0; i++) {
        if (i > 0)
            ok |= buf_addc(&text, ' ');
        ok |= buf_addz(&text, o->words[i]);
        if (ok < 0)
            too_long(e);
    }
    if (ok == 0)
        ok = put_command(q, buf_str(&text), e);
    buf_release(&text);
    return ok;
}

/* As they were given, without a shell in between. */
static int put_argv(struct json *q, const struct options *o, struct err *e)
{
    struct json *argv = json_array();
    json_put(q, "argv", argv);
    for (int i = 0; i < o->word_count; i++) {
        if (!utf8_valid(str_of(o->words[i])))
            return err_set(e, ERR_INVALID, "word %d of the command is not valid UTF-8",
                           i + 1);
        json_push_str(argv, str_of(o->words[i]));
    }
    return 0;
}

/* Of two values for one name the later counts, and the first member is read. */
static int put_env(struct json *q, const struct options *o, struct err *e)
{
    if (o->env_count == 0)
        return 0;
    struct json *env = json_object();
    json_put(q, "env", env);
    for (int i = o->env_count - 1; i >= 0; i--) {
        const char *set = o->env[i], *equals = strchr(set, '=');
        char *name = xstrndup(set, equals ? (size_t)(equals - set) : strlen(set));
        const char *value = equals ? equals + 1 : getenv(name);
        int ok = 0;
        if (!*name || !utf8_valid(str_of(name)))
            ok = err_set(e, ERR_INVALID, "--env wants NAME=VALUE, not \"%s\"", set);
        else if (value && !json_has(env, name))
            ok = put_text(env, name, value, e);
        free(name);
        if (ok < 0)
            return -1;
    }
    return 0;
}

/*
 * What is for a session or process that the request makes. The server says
 * where sessions begin; a process begins where its caller is.
 */
static int put_making(struct json *q, const struct options *o, struct err *e)
{
    char here[4096];
    const char *cwd = o->cwd;
    struct buf path = BUF_INIT(2 * sizeof(here));
    if (cwd ? cwd[0] != '/' : o->own) {
        /* The server's own directory is another one. */
        const char *at = getcwd(here, sizeof(here));
        if (!at && cwd)
            return err_sys(e, errno, "cannot tell where %s is", cwd);
        if (at)
            buf_addz(&path, at);
        if (cwd)
            buf_addf(&path, "/%s", cwd);
        cwd = path.n && utf8_valid(buf_str(&path)) ? path.p : NULL;
    }
    int ok = put_text(q, "cwd", cwd, e);
    buf_release(&path);
    if (ok < 0 || put_env(q, o, e) < 0 || put_text(q, "shell", o->shell, e) < 0)
        return -1;
    return put_text(q, "user", o->user, e);
}

static void put_waiting(struct json *q, const struct options *o)
{
    /* Who would wait for itself is told so. */
    const char *parent = getenv("OD_OP");
    if (parent && utf8_valid(str_of(parent)))
        json_put_z(q, "parent", parent);
    if (o->limit_ms)
        json_put_int(q, "timeout_ms", o->limit_ms);
    if (o->idle_ms)
        json_put_int(q, "idle_ms", o->idle_ms);
    json_put_z(q, "on_input", o->return_on_input ? "return" : "report");
    bool text = o->text || o->json;
    json_put_bool(q, "stream", !text && !o->detach);
    if (text)
        json_put_bool(q, "text", true);
}

/*
 * Somebody's input: a pipe, a file, a socket, a device that gives something. A
 * terminal stays ours, and /dev/null means that nobody wanted to give any.
 */
static bool stdin_is_input(const struct options *o)
{
    struct stat st;
    if (o->no_stdin || o->detach || (o->file && strcmp(o->file, "-") == 0) ||
        fstat(STDIN_FILENO, &st) < 0)
        return false;
    if (!S_ISCHR(st.st_mode))
        return !S_ISDIR(st.st_mode);
    return st.st_rdev != makedev(1, 3) && !isatty(STDIN_FILENO);
}

static void put_size(struct json *q)
{
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row == 0 || w.ws_col == 0)
        return;
    json_put_int(q, "rows", w.ws_row);
    json_put_int(q, "cols", w.ws_col);
}

static struct json *run_request(const struct options *o, bool input, struct err *e)
{
    struct json *q = request(o->own ? "new" : "run");
    bool argv = o->own && o->word_count > 1;
    int ok = argv ? put_argv(q, o, e) : put_words(q, o, e);
    if (ok == 0)
        ok = put_making(q, o, e);
    if (ok == 0 && o->own)
        ok = put_text(q, "name", o->process, e);
    else if (ok == 0)
        ok = put_target(q, o, e);
    if (ok < 0) {
        json_free(q);
        return NULL;
    }
    put_waiting(q, o);
    json_put_bool(q, "stdin", input);
    json_put_bool(q, "detach", o->detach);
    json_put_bool(q, "no_wait", o->no_wait);
    put_size(q);
    return q;
}

static void put_keys(struct json *q, const struct options *o)
{
    if (o->key_count == 0)
        return;
    struct json *keys = json_array();
    for (int i = 0; i < o->key_count; i++) {
        struct str rest = str_of(o->keys[i]);
        /* A comma alone is the key. */
        do {
            struct str key = str_eq(rest, STR(",")) ? rest : str_cut(&rest, ',');
            if (key.p == rest.p)
                rest.n = 0;
            if (key.n)
                json_push_str(keys, key);
        } while (rest.n);
    }
    json_put(q, "keys", keys);
}

static struct json *input_request(const struct options *o, struct err *e)
{
    struct json *q = request("input");
    struct buf file = BUF_INIT(0);
    int ok = put_target(q, o, e);
    if (ok == 0 && o->input_file)
        ok = read_file(&file, o->input_file, e);
    struct str data = o->input ? str_of(o->input) : buf_str(&file);
    if (ok == 0 && o->input && utf8_valid(data))
        json_put_str(q, "data", data);
    else if (ok == 0 && data.n)
        put_base64(q, "data64", data);
    buf_release(&file);
    json_put_bool(q, "enter", o->input && o->enter);
    json_put_bool(q, "eof", o->eof);
    put_keys(q, o);
    if (ok == 0)
        return q;
    json_free(q);
    return NULL;
}

static struct json *logs_request(const struct options *o, struct err *e)
{
    struct json *q = request("logs");
    if (put_target(q, o, e) < 0) {
        json_free(q);
        return NULL;
    }
    if (o->has_offset)
        json_put_int(q, "offset", o->offset);
    if (o->has_limit)
        json_put_int(q, "limit", o->limit);
    if (o->error_stream)
        json_put_z(q, "stream", "err");
    json_put_bool(q, "follow", o->follow);
    if (o->text || o->json)
        json_put_bool(q, "text", true);
    return q;
}

static struct json *target_request(const char *verb, const struct options *o,
                                   struct err *e)
{
    struct json *q = request(verb);
    if (put_target(q, o, e) == 0 && put_text(q, "signal", o->signal, e) == 0)
        return q;
    json_free(q);
    return NULL;
}

/* Signals: the handler writes their numbers into a pipe that the call polls. */

static int signal_pipe[2] = {-1, -1};

static void on_raw_signal(int signo)
{
    int saved = errno;
    unsigned char byte = (unsigned char)signo;
    ssize_t ignored = write(signal_pipe[1], &byte, 1);
    (void)ignored;
    errno = saved;
}

static int open_signals(bool attach, struct err *e)
{
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    /* No SA_RESTART: a write of output that blocks must not hold a C-c back. */
    struct sigaction take = {.sa_handler = on_raw_signal}, before;
    for (int i = 0; i < (attach ? 5 : 3); i++) {
        /* What our parent wants ignored (nohup, a background job) stays so. */
        if (sigaction(signals[i], &take, &before) == 0 && before.sa_handler == SIG_IGN)
            sigaction(signals[i], &before, NULL);
    }
    return 0;
}

/* Running. */

static struct exec *exec_of(struct call *c)
{
    return container_of(c, struct exec, call);
}

/* C-c for the command, on a connection of its own. */
static void interrupt(struct exec *x)
{
    const struct options *o = x->o;
    const char *process = x->process ? x->process : o->process;
    if (o->own && !process)
        return;
    struct json *q = request("signal");
    if (process)
        json_put_z(q, "process", process);
    else
        json_put_z(q, "session", o->session ? o->session : "main");
    /* So that it never reaches a command that came after ours. */
    if (x->op >= 0)
        json_put_int(q, "op", x->op);
    json_put_z(q, "signal", "INT");
    json_free(call_simple(o->socket, q, INTERRUPT_MS, NULL));
    json_free(q);
}

static void leave(struct exec *x, int signo, int64_t ms)
{
    x->signo = signo;
    call_leave(&x->call, ms);
}

static void on_signal(struct call *c, int signo)
{
    struct exec *x = exec_of(c);
    int64_t now = clock_ms();
    bool again = x->interrupted && now - x->interrupted < INTERRUPT_MS;
    if (signo == SIGHUP || !x->forward || x->queued || (signo == SIGINT && again)) {
        leave(x, signo, 0);
        return;
    }
    x->interrupted = now;
    if (signo == SIGTERM)
        leave(x, signo, TERM_MS);
    interrupt(x);
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct exec *x = exec_of(c);
    x->queued = false;
    if (call_write(c, error ? STDERR_FILENO : STDOUT_FILENO, bytes) == 0)
        return 0;
    int saved = errno;
    if (saved == EPIPE) {
        x->nobody_reads = true;
        if (x->forward)
            interrupt(x);
    }
    errno = saved;
    return -1;
}

static void on_started(struct exec *x, const struct json *note)
{
    struct str process = json_str(note, "process", "");
    x->queued = false;
    x->op = json_int(note, "op", -1);
    free(x->process);
    x->process = process.n ? xstrndup(process.p, process.n) : NULL;
}

static void on_note(struct call *c, const struct json *note)
{
    struct exec *x = exec_of(c);
    struct str kind = json_str(note, "note", "");
    if (str_eq(kind, STR("started")))
        on_started(x, note);
    bool queued = str_eq(kind, STR("queued")), waiting = str_eq(kind, STR("waiting"));
    x->queued = x->queued || queued;
    if (x->o->quiet || (waiting && x->o->return_on_input))
        return; /* the result will say so */
    /* So it will of what can wait for it, when it is JSON. */
    if (x->o->json && !queued && !waiting)
        return;
    struct buf text = BUF_INIT(8192);
    answer_note(&text, note);
    if (text.n)
        say(buf_str(&text));
    buf_release(&text);
}

static const struct call_events events = {
    .on_output = on_output,
    .on_note = on_note,
    .on_signal = on_signal,
};

/* The result of whatever had one: output, words, status. */
static int report(const struct options *o, const struct json *r)
{
    int status = answer_exit(r);
    bool ok = json_bool(r, "ok", false);
    if (o->json) {
        if (print_json(r) < 0)
            return ANSWER_OURS;
    } else if (json_has(r, "output")) {
        if (print(json_str(r, "output", "")) < 0)
            return ANSWER_OURS;
    }
    struct buf text = BUF_INIT(8192);
    if (o->detach && ok && !o->json) {
        answer_name(&text, r);
        buf_addc(&text, '\n');
        print(buf_str(&text));
        buf_reset(&text);
    }
    answer_words(&text, r, o->socket);
    if (text.n && (!ok || (!o->quiet && !o->json)))
        say(buf_str(&text));
    buf_release(&text);
    return status;
}

/* The end of a call without a result. */
static int no_result(struct exec *x, const struct err *e)
{
    if (x->nobody_reads)
        return 128 + SIGPIPE;
    if (x->signo) {
        if (!x->o->quiet && !x->queued && x->forward)
            say(STR("no longer waited for; what runs goes on"));
        return 128 + x->signo;
    }
    if (e->code == ERR_CANCELLED)
        return ANSWER_EARLY;
    return fail(x->o, e);
}

/* Carries q to its end on an open client. forward: it is a command of ours. */
static int perform(struct client *client, const struct options *o, const struct json *q,
                   bool input, bool forward)
{
    struct err e = ERR_INIT;
    struct exec x = {.o = o, .forward = forward, .op = -1};
    call_init(&x.call, client, q, &events);
    x.call.signals = signal_pipe[0];
    x.call.input = input ? STDIN_FILENO : -1;
    if (forward) {
        x.call.limit_ms = o->limit_ms;
        x.call.idle_ms = o->text || o->json ? 0 : o->idle_ms;
    } else if (o->limit_ms && o->follow) {
        call_leave(&x.call, o->limit_ms);
    } else if (!o->follow) {
        x.call.idle_ms = SMALL_MS;
        x.call.started = true;
    }
    struct json *r = call_run(&x.call, &e);
    int status = r ? report(o, r) : no_result(&x, &e);
    json_free(r);
    free(x.process);
    call_release(&x.call);
    return status;
}

/* One request from a closed state to its exit status. Takes q; NULL: see e. */
static int perform_alone(const struct options *o, struct json *q, bool start, bool input,
                         bool forward, struct err *e)
{
    struct client client = {.fd = -1};
    int status = ANSWER_OURS;
    if (!q || client_open(&client, o->socket, start, e) < 0)
        fail(o, e);
    else
        status = perform(&client, o, q, input, forward);
    client_close(&client);
    json_free(q);
    return status;
}

static int do_run(const struct options *o, struct err *e)
{
    bool input = stdin_is_input(o);
    return perform_alone(o, run_request(o, input, e), true, input, true, e);
}

static int do_wait(const struct options *o, struct err *e)
{
    struct json *q = request("wait");
    if (put_target(q, o, e) < 0) {
        json_free(q);
        q = NULL;
    } else {
        put_waiting(q, o);
    }
    return perform_alone(o, q, false, false, true, e);
}

/* Input or a signal, and then --wait, if both went well. */
static int do_send(const struct options *o, struct err *e)
{
    int status = 0;
    /* Of several results the last is the answer. */
    struct options first = *o;
    first.json = o->json && !(o->verbs & V_WAIT);
    if (o->verbs & V_SEND)
        status = perform_alone(&first, input_request(o, e), false, false, false, e);
    if (status == 0 && (o->verbs & V_SIGNAL))
        status = perform_alone(&first, target_request("signal", o, e), false, false,
                               false, e);
    if (status == 0 && (o->verbs & V_WAIT))
        status = do_wait(o, e);
    return status;
}

static int do_kill(const struct options *o, struct err *e)
{
    struct json *q = target_request("kill", o, e);
    if (q && o->end)
        json_put_bool(q, "end", true);
    return perform_alone(o, q, false, false, false, e);
}

static int do_attach(const struct options *o, struct err *e)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        err_set(e, ERR_INVALID, "-i needs a terminal as standard input and output");
        return fail(o, e);
    }
    struct client client = {.fd = -1};
    struct json *q = request("attach");
    const char *term = getenv("TERM"), *name = o->session ? o->session : "main";
    int status = ANSWER_OURS, code = 0;
    enum attach_end end = ATTACH_FAILED;
    if (put_target(q, o, e) == 0 && put_making(q, o, e) == 0 &&
        put_text(q, "term", term, e) == 0 &&
        client_open(&client, o->socket, true, e) == 0)
        end = attach_run(&client, q, signal_pipe[0], o->detach_key, &code, e);
    client_close(&client);
    json_free(q);
    struct buf text = BUF_INIT(1024);
    switch (end) {
    case ATTACH_FAILED:
        fail(o, e);
        break;
    case ATTACH_DETACHED:
        buf_addf(&text, "detached from session %s, which goes on", name);
        status = 0;
        break;
    case ATTACH_ENDED:
        buf_addf(&text, "session %s has ended", name);
        status = code;
        break;
    case ATTACH_SIGNAL:
        status = code;
        break;
    }
    if (text.n && !o->quiet)
        say(buf_str(&text));
    buf_release(&text);
    return status;
}

/* An empty answer when there is no server: there is nothing to list. */
static int do_list(const struct options *o, struct err *e)
{
    struct json *q = request("list");
    struct json *r = call_simple(o->socket, q, SMALL_MS, e);
    json_free(q);
    if (!r && e->code == ERR_NOTFOUND) {
        r = json_object();
        json_put_bool(r, "ok", true);
        json_put(r, "sessions", json_array());
        json_put(r, "processes", json_array());
    }
    if (!r)
        return fail(o, e);
    int status = 0;
    if (o->json || !json_bool(r, "ok", false)) {
        status = report(o, r);
    } else {
        struct buf table = BUF_INIT(FRAME_MAX);
        answer_table(&table, r);
        status = print(buf_str(&table)) < 0 ? ANSWER_OURS : 0;
        buf_release(&table);
    }
    json_free(r);
    return status;
}

/*
 * The worker answers and goes; the keeper ends what ran, and then itself, which
 * is what we wait for. Where the kernel does not tell us, a connection that
 * nobody will accept does: it ends with the listening socket. false: the keeper
 * was still there when the time was up.
 */
static bool await_end(struct client *c, int keeper, int64_t ms)
{
    int64_t deadline = clock_ms() + ms;
    struct err e;
    if (keeper >= 0) {
        struct pollfd p = {.fd = keeper, .events = POLLIN};
        return poll(&p, 1, (int)ms) > 0;
    }
    do {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int64_t left = deadline - clock_ms();
        if (c->fd < 0)
            return true;
        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return false;
    } while (client_read(c) >= 0 || client_reopen(c, &e) == 0);
    return true;
}

/* Whether it is there, a moment after it was told to die. */
static bool stays(pid_t pid)
{
    struct procfs_stat stat;
    int fd = sys_pidfd(pid);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd >= 0) {
        bool ended = poll(&p, 1, DYING_MS) > 0;
        close(fd);
        return !ended;
    }
    return errno != ESRCH && procfs_stat(pid, &stat) == 0 && !procfs_dead(&stat);
}

/* Those of the list that run on, as words. How many. */
static int still_there(struct buf *out, const struct json *list)
{
    int n = 0;
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        pid_t pid = (pid_t)json_int(v, "pid", 0);
        if (pid <= 0 || str_eq(json_str(v, "state", ""), STR("ended")) || !stays(pid))
            continue;
        struct str name = json_str(v, "name", "?");
        buf_addf(out, "%s%.*s (pid %d)", out->n ? ", " : "", STR_ARG(name), (int)pid);
        n++;
    }
    return n;
}

/* After the end: did all of it end? 0, or 1 with what is left. */
static int check_end(const struct json *before, struct err *e)
{
    struct buf names = BUF_INIT(4096);
    int n = still_there(&names, json_get(before, "sessions"));
    n += still_there(&names, json_get(before, "processes"));
    if (n > 0)
        err_set(e, ERR_BUSY, "the server has ended, and left behind: %s", buf_z(&names));
    buf_release(&names);
    return n > 0;
}

static int stop_server(struct client *client, const struct options *o, struct err *e)
{
    int64_t ms = o->limit_ms && o->limit_ms < INT_MAX ? o->limit_ms : SMALL_MS;
    int keeper = sys_pidfd(client->server);
    struct json *ask = request("list"), *q = request("stop");
    struct json *before = call_simple(o->socket, ask, SMALL_MS, e);
    struct call c;
    call_init(&c, client, q, NULL);
    call_leave(&c, SMALL_MS);
    struct json *r = call_run(&c, e);
    call_release(&c);
    int status = 0;
    if (r ? !json_bool(r, "ok", false) : e->code != ERR_GONE) {
        status = r ? report(o, r) : fail(o, e);
    } else if (!await_end(client, keeper, ms)) {
        err_set(e, ERR_TIMEOUT,
                "the server was told to end and is still there after %lld ms; kill -9 "
                "%d ends it, and what it runs is left behind",
                (long long)ms, (int)client->server);
        status = 1;
        fail(o, e);
    } else if (check_end(before, e) != 0) {
        status = 1;
        fail(o, e);
    } else if (r) { /* gone before it could answer is what was asked for */
        status = report(o, r);
    }
    if (keeper >= 0)
        close(keeper);
    json_free(ask);
    json_free(before);
    json_free(q);
    json_free(r);
    return status;
}

static int do_stop(const struct options *o, struct err *e)
{
    struct client client;
    int status = 0;
    if (client_open(&client, o->socket, false, e) == 0)
        status = stop_server(&client, o, e);
    else if (e->code != ERR_NOTFOUND)
        status = fail(o, e);
    else if (!o->quiet)
        say(str_of(e->text));
    client_close(&client);
    return status;
}

/* A descriptor of ours must never become the one that output goes to. */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            return;
    }
}

static int dispatch(const struct options *o, struct err *e)
{
    switch (o->verbs) {
    case V_RUN:
        return do_run(o, e);
    case V_WAIT:
        return do_wait(o, e);
    case V_KILL:
        return do_kill(o, e);
    case V_LOGS:
        return perform_alone(o, logs_request(o, e), false, false, false, e);
    case V_ATTACH:
        return do_attach(o, e);
    case V_LIST:
        return do_list(o, e);
    case V_STOP:
        return do_stop(o, e);
    default:
        return do_send(o, e);
    }
}

static int exec_main(int argc, char **argv)
{
    struct options o;
    struct err e = ERR_INIT;
    int status;
    fill_standard_descriptors();
    if (parse(&o, argc, argv, &e) < 0) {
        status = fail(&o, &e);
    } else if (o.verbs & V_HELP) {
        status = print(STR(usage)) < 0 ? ANSWER_OURS : 0;
    } else if (open_signals(o.verbs & V_ATTACH, &e) < 0) {
        status = fail(&o, &e);
    } else {
        signal(SIGPIPE, SIG_IGN);
        status = dispatch(&o, &e);
    }
    free(o.env);
    free(o.keys);
    return status;
}

const struct applet applet_exec = {
    .name = "exec",
    .brief = "run a command in a shell that stays",
    .usage = usage,
    .main = exec_main,
};
