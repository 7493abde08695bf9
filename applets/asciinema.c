/* SPDX-License-Identifier: MIT */
/*
 * `od asciinema`, or a link named asciinema: recordings of terminals, without a server.
 * Options and texts are those of asciinema 2.2, which callers parse; those of 3 that do
 * not collide are there, too.
 */
#include "applet.h"
#include "asciinema.h"
#include "asciinema.txt.gz.h"
#include "base/clock.h"
#include "inside.h"
#include "os/null.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define ASCIINEMA_VERSION "2.2.0" /* that is followed */

int asciinema_say(const struct asciinema_options *o, int colour, const char *format, ...)
{
    struct buf text = BUF_INIT(16 << 10);
    bool tty = isatty(STDERR_FILENO);
    va_list ap;
    if (o->quiet && colour != 1)
        return 1;
    va_start(ap, format);
    buf_addv(&text, format, ap);
    va_end(ap);
    if (tty)
        fprintf(stderr, "\033[0;3%dm", colour);
    fprintf(stderr, "asciinema: %s%s\n", buf_z(&text), tty ? "\033[0m" : "");
    buf_release(&text);
    return 1;
}

/* ---- options ---- */

enum { O_RAW = 256, O_OVERWRITE, O_COLS, O_ROWS, O_WINDOW, O_HEADLESS, O_RETURN };

static const struct option options[] = {{"stdin", no_argument, NULL, 'I'},
                                        {"capture-input", no_argument, NULL, 'I'},
                                        {"append", no_argument, NULL, 'a'},
                                        {"raw", no_argument, NULL, O_RAW},
                                        {"overwrite", no_argument, NULL, O_OVERWRITE},
                                        {"command", required_argument, NULL, 'c'},
                                        {"env", required_argument, NULL, 'e'},
                                        {"capture-env", required_argument, NULL, 'e'},
                                        {"title", required_argument, NULL, 't'},
                                        {"idle-time-limit", required_argument, NULL, 'i'},
                                        {"cols", required_argument, NULL, O_COLS},
                                        {"rows", required_argument, NULL, O_ROWS},
                                        {"window-size", required_argument, NULL,
                                         O_WINDOW},
                                        {"output-format", required_argument, NULL, 'f'},
                                        {"headless", no_argument, NULL, O_HEADLESS},
                                        {"return", no_argument, NULL, O_RETURN},
                                        {"speed", required_argument, NULL, 's'},
                                        {"yes", no_argument, NULL, 'y'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

static bool to_double(const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return *text && !*end && errno == 0 && *out >= 0 && *out < 1e9;
}

static bool to_side(struct str text, int *out)
{
    uint64_t n;
    if (str_to_u64(text, &n) < 0 || n < 1 || n > 0xffff)
        return false;
    *out = (int)n;
    return true;
}

/* COLSxROWS, COLSx or xROWS. */
static bool to_window(struct str text, struct asciinema_options *o)
{
    if (str_chr(text, 'x') < 0)
        return false;
    struct str cols = str_cut(&text, 'x');
    return (cols.n > 0 || text.n > 0) && (cols.n == 0 || to_side(cols, &o->cols)) &&
           (text.n == 0 || to_side(text, &o->rows));
}

static bool to_format(const char *text, enum cast_format *out)
{
    static const char *const names[] = {"asciicast-v2", "asciicast-v3", "raw", "txt"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *out = CAST_V2 + i;
        return true;
    }
    return false;
}

/* Returns false if the option's value, or the option, is not understood. */
static bool take_option(int c, struct asciinema_options *o)
{
    switch (c) {
    case 'I':
        o->stdin_too = true;
        return true;
    case 'a':
        o->append = true;
        return true;
    case 'c':
        o->command = optarg;
        return true;
    case 'e':
        o->env = optarg;
        return true;
    case 't':
        o->title = optarg;
        return true;
    case 'i':
        return to_double(optarg, &o->idle);
    case 's':
        return to_double(optarg, &o->speed) && o->speed > 0;
    case 'f':
        return to_format(optarg, &o->format);
    case 'q':
        o->quiet = true;
        return true;
    case 'y':
        return true;
    case O_RAW:
        o->format = CAST_RAW;
        return true;
    case O_OVERWRITE:
        o->overwrite = true;
        return true;
    case O_COLS:
        return to_side(str_of(optarg), &o->cols);
    case O_ROWS:
        return to_side(str_of(optarg), &o->rows);
    case O_WINDOW:
        return to_window(str_of(optarg), o);
    case O_HEADLESS:
        o->headless = true;
        return true;
    case O_RETURN:
        o->returns = true;
        return true;
    default:
        return false;
    }
}

/* ---- files ---- */

bool asciinema_is_txt(const char *path) { return str_ends(str_of(path), STR(".txt")); }

/* Feeds the next block of fd. Returns -1 and sets *e. */
static int feed(struct cast_reader *r, int fd, struct err *e)
{
    char block[CAST_FEED_MAX];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) < 0 && errno == EINTR)
        continue;
    if (n < 0)
        return err_sys(e, errno, "cannot read");
    r->over = n == 0;
    cast_feed(r, str_n(block, (size_t)n));
    return 0;
}

int asciinema_next(struct cast_reader *r, int fd, struct cast_event *ev, struct err *e)
{
    for (;;) {
        int n = cast_next(r, ev, e);
        if (n != 0 || r->over)
            return n;
        if (feed(r, fd, e) < 0)
            return -1;
    }
}

int asciinema_open(const char *path, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return STDIN_FILENO;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "cannot open %.200s", path) : fd;
}

/* ---- convert and cat ---- */

/* Writes the events of one file, from *at on. Returns -1 after a message. */
static int copy_cast(const struct asciinema_options *o, const char *path,
                     struct cast_writer *w, bool head, int64_t *at, int to)
{
    struct cast_reader r;
    struct cast_event ev;
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(CAST_OUT_MAX);
    int n = -1, fd = asciinema_open(path, &e);
    enum cast_format format = w->format;
    bool begun = !head, full = false;
    cast_reader_init(&r);
    for (; fd >= 0 && !full; buf_reset(&out)) {
        n = asciinema_next(&r, fd, &ev, &e);
        if (!begun && r.format) {
            format = format ? format : r.format;
            cast_begin(w, format, r.header.cols, r.header.rows);
            cast_put_header(&out, format, &r.header);
            begun = true;
        }
        if (n > 0)
            cast_put(w, &out, *at + ev.us, ev.code, ev.text);
        full = inside_write(to, buf_str(&out)) < 0;
        if (full)
            err_sys(&e, errno, "cannot write");
        if (n <= 0)
            break;
    }
    *at += r.us;
    if (fd > 0)
        close(fd);
    buf_release(&out);
    cast_reader_release(&r);
    if (n < 0 || full)
        asciinema_say(o, 1, "%s: %s", path, e.text);
    return n < 0 || full ? -1 : 0;
}

/* One file: its output, as version 2 has it. More: one recording of them, as 3 has it. */
static int do_cat(const struct asciinema_options *o, int n, char **words)
{
    struct cast_writer w = {.format = n == 1 ? CAST_RAW : o->format};
    int64_t at = 0;
    int r = 0;
    if (n < 1)
        return asciinema_say(o, 1, "cat: which file?");
    for (int i = 0; r == 0 && i < n; i++)
        r = copy_cast(o, words[i], &w, i == 0, &at, STDOUT_FILENO);
    cast_release(&w);
    return r < 0 ? 1 : 0;
}

static int do_convert(const struct asciinema_options *o, int n, char **words)
{
    struct cast_writer w = {.format = o->format};
    struct buf out = BUF_INIT(CAST_OUT_MAX);
    int64_t at = 0;
    if (n != 2)
        return asciinema_say(o, 1,
                             "convert: which files? convert [-f FORMAT] INPUT OUTPUT");
    bool plain = strcmp(words[1], "-") == 0;
    if (!w.format)
        w.format = asciinema_is_txt(words[1]) ? CAST_TXT : CAST_V3;
    int fd = plain ? STDOUT_FILENO
                   : open(words[1],
                          O_WRONLY | O_CREAT | O_CLOEXEC | (o->overwrite ? 0 : O_EXCL),
                          0666);
    struct stat in, to;
    if (fd < 0)
        return asciinema_say(o, 1, "cannot write to %s: %s%s", words[1], strerror(errno),
                             errno == EEXIST ? "; --overwrite replaces it" : "");
    if (!plain && stat(words[0], &in) == 0 && fstat(fd, &to) == 0 &&
        in.st_dev == to.st_dev && in.st_ino == to.st_ino)
        return asciinema_say(o, 1, "%s is the input, too", words[1]);
    int r = plain || ftruncate(fd, 0) == 0 || errno == EINVAL ? 0 : -1;
    if (r == 0)
        r = copy_cast(o, words[0], &w, true, &at, fd);
    if (r == 0) {
        cast_end(&w, &out, at);
        r = inside_write(fd, buf_str(&out));
    }
    cast_release(&w);
    buf_release(&out);
    return close(fd) < 0 || r < 0 ? 1 : 0;
}

/* ---- play ---- */

struct asciinema_play {
    int tty; /* for keys; -1: none */
    bool paused, step, over;
    struct termios before;
};

static void play_key(struct asciinema_play *p, char key)
{
    p->over = p->over || key == 3;
    p->paused = key == ' ' ? !p->paused : p->paused;
    p->step = p->step || (p->paused && key == '.');
}

/* Waits us microseconds, longer while it is paused. Returns -1 if it is to end. */
static int play_wait(struct asciinema_play *p, int64_t us)
{
    p->step = false;
    while (!p->over && !p->step && (us > 0 || p->paused)) {
        struct pollfd q = {.fd = p->tty, .events = POLLIN};
        int64_t from = clock_us(), ms = us / 1000 < 1 << 30 ? us / 1000 : 1 << 30;
        char key;
        bool was = p->paused;
        int n = poll(&q, 1, was ? -1 : (int)ms);
        us -= was ? 0 : clock_us() - from;
        if (n == 0 && ms == us / 1000 && us < 1000)
            break;
        if (n > 0 && read(p->tty, &key, 1) == 1)
            play_key(p, key);
        else if (n > 0)
            p->tty = -1;
        if (p->tty < 0)
            p->paused = false;
        if (us < 1000)
            us = 0;
    }
    return p->over ? -1 : 0;
}

static int play_events(const struct asciinema_options *o, struct asciinema_play *p,
                       int fd, struct err *e)
{
    struct cast_reader r;
    struct cast_event ev;
    double idle = o->idle;
    int64_t last = 0, due = 0, now = clock_us();
    int n;
    cast_reader_init(&r);
    while ((n = asciinema_next(&r, fd, &ev, e)) > 0) {
        if (ev.code != 'o')
            continue;
        double gap = (double)(ev.us - last) / 1e6;
        char text[32];
        if (idle < 0 && buf_fill(text, sizeof(text), "%.*s", STR_ARG(r.header.idle)) &&
            !to_double(text, &idle))
            idle = 1e9;
        last = ev.us;
        due += (int64_t)((idle > 0 && gap > idle ? idle : gap) / o->speed * 1e6);
        int64_t left = due - (clock_us() - now);
        if (play_wait(p, left) < 0)
            break;
        now += clock_us() - now - due > 0 && left > 0 ? clock_us() - now - due : 0;
        if (inside_write(STDOUT_FILENO, ev.text) < 0) {
            n = err_sys(e, errno, "cannot write");
            break;
        }
    }
    cast_reader_release(&r);
    return n;
}

static int do_play(const struct asciinema_options *o, int n, char **words)
{
    struct err e = ERR_INIT;
    struct asciinema_play p = {.tty = open("/dev/tty", O_RDWR | O_CLOEXEC)};
    if (n != 1)
        return asciinema_say(o, 1, "play: which file?");
    int fd = asciinema_open(words[0], &e), r = -1;
    struct termios t;
    bool raw = p.tty >= 0 && tcgetattr(p.tty, &p.before) == 0;
    int tty = p.tty;
    if (raw) {
        t = p.before;
        cfmakeraw(&t);
        tcsetattr(tty, TCSADRAIN, &t);
    }
    if (fd >= 0)
        r = play_events(o, &p, fd, &e);
    if (raw)
        tcsetattr(tty, TCSADRAIN, &p.before);
    return r < 0 ? asciinema_say(o, 1, "%s: %s", words[0], e.text) : 0;
}

/* ---- commands ---- */

static const struct {
    const char *name;
    const char *letters;
    int (*run)(const struct asciinema_options *o, int n, char **words);
} commands[] = {
    {"record", "+Iac:e:t:i:f:yqh", asciinema_rec},
    {"play", "+i:s:qh", do_play},
    {"cat", "+f:qh", do_cat},
    {"convert", "+f:qh", do_convert},
    {"upload", "", NULL},
    {"auth", "", NULL},
    {"stream", "", NULL},
    {"session", "", NULL},
};

/* Options may follow the words. Returns -1, or the exit status. */
static int parse(int argc, char **argv, const char *letters, struct asciinema_options *o,
                 int *nwords)
{
    int n = 0;
    for (optind = 1; optind < argc;) {
        int c = getopt_long(argc, argv, letters, options, NULL);
        if (c == 'h')
            return applet_help(&applet_asciinema) ? 1 : 0;
        if (c < 0 && optind < argc)
            argv[n++] = argv[optind++]; /* n < optind: argv[0] is not needed any more */
        else if (c >= 0 && !take_option(c, o)) {
            if (c != '?')
                asciinema_say(o, 1, "%s is not a valid value", optarg);
            return 2;
        }
    }
    *nwords = n;
    return -1;
}

static int asciinema_main(int argc, char **argv)
{
    struct asciinema_options o = {.idle = -1, .speed = 1};
    null_fill();
    signal(SIGPIPE, SIG_IGN);
    int first = 1;
    while (first < argc &&
           (strcmp(argv[first], "-q") == 0 || strcmp(argv[first], "--quiet") == 0)) {
        o.quiet = true;
        first++;
    }
    const char *word = first < argc ? argv[first] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("asciinema " ASCIINEMA_VERSION "\n");
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (!*word || strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 ||
        strcmp(word, "help") == 0)
        return applet_help(&applet_asciinema) || !*word ? 1 : 0;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        int n = 0;
        if (strncmp(commands[i].name, word, strlen(word)) != 0)
            continue;
        if (!commands[i].run)
            return asciinema_say(&o, 1, "%s is not supported: recordings stay in files",
                                 commands[i].name);
        argv[first] = argv[0];
        int status = parse(argc - first, argv + first, commands[i].letters, &o, &n);
        return status >= 0 ? status : commands[i].run(&o, n, argv + first);
    }
    asciinema_say(&o, 1, "there is no command %s: rec, play, cat and convert are there",
                  word);
    return 2;
}

const struct applet applet_asciinema = {
    .name = "asciinema",
    .brief = "record, play and convert recordings of terminals",
    .packed = PACKED(asciinema_txt_gz),
    .main = asciinema_main,
};
