/* SPDX-License-Identifier: MIT */
/*
 * `od script`, or a link named script: util-linux's script(1), for callers that need it
 * to have a terminal, or for what scriptreplay reads. Options, files and texts are those
 * of util-linux 2.38.
 */
#include "applet.h"
#include "base/clock.h"
#include "inside.h"
#include "os/null.h"
#include "script.txt.gz.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCRIPT_VERSION "2.38.1" /* that is followed */

/* A file that is written. in and out may be the same one. */
struct script_log {
    const char *path; /* NULL: none */
    int fd;
    int64_t last; /* clock_us() of the last line of times */
};

static struct script {
    struct inside inside;
    struct script_log out, in, times;
    bool append, quiet, returns, force, tty, no_echo;
    enum { TIMES_BY_USE, TIMES_CLASSIC, TIMES_ADVANCED } form;
    const char *command, *shell;
    uint64_t limit, written; /* bytes of the files; limit 0: none */
    int64_t began;
    int error;
    int signal;
    bool full;
} script;

static int script_say(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("script: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return 1;
}

static int script_hint(void)
{
    fputs("Try 'script --help' for more information.\n", stderr);
    return 1;
}

/* ---- files ---- */

static void put(struct script_log *log, struct str bytes)
{
    script.written += bytes.n;
    if (script.error || inside_write(log->fd, bytes) == 0)
        return;
    script.error = errno;
    script_say("write failed: %s", strerror(errno));
    script.inside.stop = true;
}

__attribute__((format(printf, 2, 3))) static void putf(struct script_log *log,
                                                       const char *format, ...)
{
    struct buf text = BUF_INIT(1 << 20);
    va_list ap;
    va_start(ap, format);
    buf_addv(&text, format, ap);
    va_end(ap);
    put(log, buf_str(&text));
    buf_release(&text);
}

static void now_iso(char out[40])
{
    time_t now = time(NULL);
    struct tm tm;
    char text[40];
    size_t n = localtime_r(&now, &tm) ? strftime(text, 32, "%Y-%m-%d %H:%M:%S%z", &tm)
                                      : 0;
    /* +0000 becomes +00:00 */
    int at = n > 2 ? (int)n - 2 : 0;
    snprintf(out, 40, "%.*s%s%.2s", at, text, at ? ":" : "", text + at);
}

/* The size, and the names of the terminal; false: there is none. */
static bool terminal(int *rows, int *cols, const char **type, const char **name)
{
    inside_size(&script.inside, rows, cols);
    *type = getenv("TERM");
    *name = script.tty ? ttyname(STDIN_FILENO) : NULL;
    return script.tty;
}

static void put_start(struct script_log *log)
{
    char now[40];
    int rows, cols;
    const char *type, *name;
    now_iso(now);
    putf(log, "Script started on %s [", now);
    if (script.command)
        putf(log, "COMMAND=\"%s\" ", script.command);
    if (!terminal(&rows, &cols, &type, &name)) {
        put(log, STR("<not executed on terminal>]\n"));
        return;
    }
    if (type)
        putf(log, "TERM=\"%s\" ", type);
    if (name)
        putf(log, "TTY=\"%s\" ", name);
    putf(log, "COLUMNS=\"%d\" LINES=\"%d\"]\n", cols, rows);
}

static void put_note(const char *name, const char *value)
{
    if (value)
        putf(&script.times, "H 0.000000 %s %s\n", name, value);
}

static void put_times_start(void)
{
    char now[40], side[16];
    int rows, cols;
    const char *type, *name;
    now_iso(now);
    put_note("START_TIME", now);
    if (terminal(&rows, &cols, &type, &name)) {
        put_note("TERM", type);
        put_note("TTY", name);
        snprintf(side, sizeof(side), "%d", cols);
        put_note("COLUMNS", side);
        snprintf(side, sizeof(side), "%d", rows);
        put_note("LINES", side);
    }
    put_note("SHELL", script.shell);
    put_note("COMMAND", script.command);
    put_note("TIMING_LOG", script.times.path);
    put_note("OUTPUT_LOG", script.out.path);
    put_note("INPUT_LOG", script.in.path);
}

/* The time since the line before, of that letter; 0: output alone. */
static void put_time(char letter)
{
    int64_t now = clock_us(), gap = now - script.times.last;
    script.times.last = now;
    if (letter)
        putf(&script.times, "%c ", letter);
    putf(&script.times, "%lld.%06d ", (long long)(gap / 1000000), (int)(gap % 1000000));
}

static int script_open(struct script_log *log, bool append)
{
    if (!log->path)
        return 0;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
    log->fd = open(log->path, flags, 0666);
    if (log->fd < 0)
        return script_say("cannot open %s: %s", log->path, strerror(errno));
    return 0;
}

static bool same_log(void)
{
    return script.in.path && script.out.path &&
           strcmp(script.in.path, script.out.path) == 0;
}

static int open_all(void)
{
    if (script_open(&script.out, script.append))
        return 1;
    if (same_log())
        script.in.fd = script.out.fd;
    else if (script_open(&script.in, script.append))
        return 1;
    if (script_open(&script.times, false))
        return 1;
    script.began = script.times.last = clock_us();
    if (script.out.path)
        put_start(&script.out);
    if (script.in.path && !same_log())
        put_start(&script.in);
    if (script.times.path && script.form == TIMES_ADVANCED)
        put_times_start();
    return 0;
}

static void put_end(struct script_log *log, int status)
{
    char now[40];
    now_iso(now);
    if (!log->path)
        return;
    if (script.full)
        putf(log, "\nScript done on %s [<max output size exceeded>]\n", now);
    else
        putf(log, "\nScript done on %s [COMMAND_EXIT_CODE=\"%d\"]\n", now, status);
}

static void end_all(int status)
{
    int64_t took = clock_us() - script.began;
    put_end(&script.out, status);
    if (!same_log())
        put_end(&script.in, status);
    if (script.times.path && script.form == TIMES_ADVANCED)
        putf(&script.times, "H 0.000000 DURATION %lld.%06d\nH 0.000000 EXIT_CODE %d\n",
             (long long)(took / 1000000), (int)(took % 1000000), status);
}

/* ---- what happens ---- */

static void take(struct script_log *log, char letter, struct str bytes)
{
    if (!log->path || script.full)
        return;
    if (script.times.path) {
        put_time(script.form == TIMES_ADVANCED ? letter : 0);
        putf(&script.times, "%zu\n", bytes.n);
    }
    put(log, bytes);
    if (script.limit && script.written >= script.limit)
        script.full = script.inside.stop = true;
}

static void on_output(void *arg, struct str bytes)
{
    (void)arg;
    take(&script.out, 'O', bytes);
}

static bool on_input(void *arg, struct str bytes)
{
    (void)arg;
    take(&script.in, 'I', bytes);
    return true;
}

static void on_signal(void *arg, int number)
{
    int rows, cols;
    (void)arg;
    if (number != SIGWINCH)
        script.signal = number;
    if (!script.times.path || script.form != TIMES_ADVANCED)
        return;
    put_time('S');
    if (number == SIGWINCH) {
        inside_size(&script.inside, &rows, &cols);
        putf(&script.times, "SIGWINCH ROWS=%d COLS=%d\n", rows, cols);
    } else {
        putf(&script.times, "SIG%s\n",
             number == SIGTERM   ? "TERM"
             : number == SIGINT  ? "INT"
             : number == SIGQUIT ? "QUIT"
                                 : "HUP");
    }
}

/* Where it cannot be run, the child of util-linux's writes that to its terminal. */
static void put_failure(const struct err *e)
{
    struct buf text = BUF_INIT(2048);
    const char *why = strrchr(e->text, ':');
    buf_addf(&text, "script: failed to execute %.1000s%s\r\n", script.shell,
             why ? why : "");
    on_output(NULL, buf_str(&text));
    inside_write(STDOUT_FILENO, buf_str(&text));
    buf_release(&text);
}

static int script_run(void)
{
    static const struct inside_calls calls = {
        .output = on_output, .input = on_input, .signal = on_signal};
    const char *base = strrchr(script.shell, '/');
    const char *name = base ? base + 1 : script.shell;
    const char *argv[] = {name, script.command ? "-c" : "-i", script.command, NULL};
    struct err e = ERR_INIT;
    int wait = 0;
    script.inside.path = script.command && access(script.shell, X_OK) < 0 ? name
                                                                          : script.shell;
    script.inside.argv = (char *const *)argv;
    script.inside.calls = &calls;
    int status = 1;
    bool ran = inside_run(&script.inside, &wait, &e) == 0, no_terminal = false;
    if (ran)
        status = inside_exit(wait);
    else if (str_starts(str_of(e.text), STR("failed to execute")))
        put_failure(&e);
    else
        no_terminal = script_say("%s", e.text);
    end_all(status);
    if (script.signal)
        fputs("\nSession terminated, killing shell... ...killed.\n", stderr);
    if (script.full && !script.quiet)
        printf("Script terminated, max output files size %llu exceeded.\n",
               (unsigned long long)script.limit);
    if (script.full || script.error || no_terminal)
        return 1;
    return script.returns ? status : 0;
}

/* ---- options ---- */

static const struct option options[] = {{"append", no_argument, NULL, 'a'},
                                        {"command", required_argument, NULL, 'c'},
                                        {"echo", required_argument, NULL, 'E'},
                                        {"flush", no_argument, NULL, 'f'},
                                        {"force", no_argument, NULL, 'X'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"log-in", required_argument, NULL, 'I'},
                                        {"log-io", required_argument, NULL, 'B'},
                                        {"log-out", required_argument, NULL, 'O'},
                                        {"log-timing", required_argument, NULL, 'T'},
                                        {"logging-format", required_argument, NULL, 'm'},
                                        {"output-limit", required_argument, NULL, 'o'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"return", no_argument, NULL, 'e'},
                                        {"timing", optional_argument, NULL, 't'},
                                        {"version", no_argument, NULL, 'V'},
                                        {0}};

/* The number of value among n names; -1: none, after a message. */
static int choose(const char *const *names, int n, const char *value, const char *what)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], value) == 0)
            return i;
    return -script_say("%s: '%s'", what, value);
}

/* A size as 10, 10K, 10KiB (1024) or 10KB (1000). */
static bool to_size(const char *text, uint64_t *out)
{
    static const char units[] = "kmgt";
    size_t n = strspn(text, "0123456789");
    const char *unit = text + n;
    if (str_to_u64(str_n(text, n), out) < 0)
        return false;
    const char *at = *unit ? strchr(units, *unit | 0x20) : NULL;
    if (*unit && !at)
        return false;
    bool ten = *unit && strcmp(unit + 1, "B") == 0;
    if (*unit && unit[1] && !ten && strcmp(unit + 1, "iB") != 0)
        return false;
    for (const char *u = units; at && u <= at; u++) {
        if (*out > UINT64_MAX / 1024)
            return false;
        *out *= ten ? 1000 : 1024;
    }
    return true;
}

/* Returns -1, or the exit status. */
static int take_option(int c)
{
    static const char *const echoes[] = {"auto", "always", "never"};
    static const char *const forms[] = {"", "classic", "advanced"};
    int n;
    switch (c) {
    case 'a':
        script.append = true;
        return -1;
    case 'c':
        script.command = optarg;
        return -1;
    case 'e':
        script.returns = true;
        return -1;
    case 'f': /* nothing is ever held back */
        return -1;
    case 'X':
        script.force = true;
        return -1;
    case 'q':
        script.quiet = true;
        return -1;
    case 'B':
        script.in.path = script.out.path = optarg;
        return -1;
    case 'I':
        script.in.path = optarg;
        return -1;
    case 'O':
        script.out.path = optarg;
        return -1;
    case 'T':
        script.times.path = optarg;
        return -1;
    case 't':
        script.times.path = !optarg ? "/dev/stderr" : optarg + (*optarg == '=');
        return -1;
    case 'E':
        n = choose(echoes, 3, optarg, "unssuported echo mode");
        script.no_echo = n == 2;
        return n < 0 ? 1 : -1;
    case 'm':
        n = choose(forms, 3, optarg, "unsupported logging format");
        script.form = n < 0 ? TIMES_BY_USE : n;
        return n < 0 ? 1 : -1;
    case 'o':
        if (to_size(optarg, &script.limit))
            return -1;
        return script_say("failed to parse output limit size: '%s': Invalid argument",
                          optarg);
    case 'V':
        printf("script from util-linux " SCRIPT_VERSION "\n");
        return fflush(stdout) == 0 ? 0 : 1;
    case 'h':
        return applet_help(&applet_script);
    default:
        return -1;
    }
}

/* The texts of glibc's getopt_long. */
static int bad_option(int c, const char *word)
{
    if (c == ':')
        script_say("option requires an argument -- '%c'", optopt);
    else if (optopt > 0 && strncmp(word, "--", 2) != 0)
        script_say("invalid option -- '%c'", optopt);
    else
        script_say("unrecognized option '%s'", word);
    return script_hint();
}

/* The default file may be a link that somebody else made. */
static int default_file(void)
{
    struct stat st;
    script.out.path = "typescript";
    if (script.force || lstat(script.out.path, &st) < 0 ||
        (!S_ISLNK(st.st_mode) && st.st_nlink <= 1))
        return 0;
    script_say("output file `%s' is a link\nUse --force if you really want to use it.\n"
               "Program not started.",
               script.out.path);
    return 1;
}

static int choose_files(int n, char **words)
{
    if (n > 1) {
        script_say("unexpected number of arguments");
        return script_hint();
    }
    if (n == 1 && !script.out.path && !script.in.path)
        script.out.path = words[0];
    else if (n == 1) {
        script_say("unexpected number of arguments");
        return script_hint();
    }
    if (!script.out.path && !script.in.path && default_file())
        return 1;
    if (script.form == TIMES_CLASSIC && script.in.path && script.out.path)
        return script_say(
            "log multiple streams is mutually exclusive with 'classic' format");
    if (script.form == TIMES_BY_USE)
        script.form = script.in.path ? TIMES_ADVANCED : TIMES_CLASSIC;
    return 0;
}

static void say_start(void)
{
    printf("Script started");
    if (script.out.path)
        printf(", output log file is '%s'", script.out.path);
    if (script.in.path)
        printf(", input log file is '%s'", script.in.path);
    if (script.times.path)
        printf(", timing file is '%s'", script.times.path);
    printf(".\n");
    fflush(stdout);
}

static int script_main(int argc, char **argv)
{
    int c, status;
    null_fill();
    signal(SIGPIPE, SIG_IGN);
    const char *letters = ":aB:c:eE:fI:O:o:qm:T:t::Vh";
    while ((c = getopt_long(argc, argv, letters, options, NULL)) >= 0) {
        if (c == '?' || c == ':')
            return bad_option(c, argv[optind - 1]);
        if ((status = take_option(c)) >= 0)
            return status;
    }
    if (choose_files(argc - optind, argv + optind))
        return 1;
    script.shell = getenv("SHELL");
    if (!script.shell || !*script.shell)
        script.shell = "/bin/sh";
    script.tty = isatty(STDIN_FILENO);
    script.inside = (struct inside){.terminal = script.tty ? STDIN_FILENO : -1,
                                    .input = script.tty ? -1 : STDIN_FILENO,
                                    .output = STDOUT_FILENO,
                                    .terminal_modes = true,
                                    .no_echo = script.no_echo,
                                    .flush_end = !script.tty};
    if (!script.quiet)
        say_start();
    status = open_all() ? 1 : script_run();
    if (!script.quiet)
        printf("Script done.\n");
    return fflush(stdout) == 0 ? status : 1;
}

const struct applet applet_script = {
    .name = "script",
    .brief = "record a terminal as util-linux's script does",
    .packed = PACKED(script_txt_gz),
    .main = script_main,
    .file_first = true,
};
