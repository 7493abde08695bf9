/* SPDX-License-Identifier: MIT */
/*
 * `od tmux`, or a link named tmux: tmux's command line, for the server that has the panes
 * (core/front/tmux). Options, the places of sockets, texts and exit statuses are those of
 * tmux(1).
 */
#include "applet.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/list.h"
#include "base/utf8.h"
#include "front/tmux/tmux.h"
#include "ipc/call.h"
#include "ipc/client.h"
#include "os/null.h"
#include "tmux.txt.gz.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

struct tmux_call {
    struct call call;
    bool raw;              /* the terminal is raw, and must be restored */
    struct termios before; /* its modes */
    int control;           /* how often -C was given */
};

struct tmux_words {
    const char *label, *path, *shell_command;
    const char *files[16]; /* of -f */
    int nfiles, control;
    bool no_start;
};

static int signals_write = -1;

static int usage(void)
{
    fputs("usage: tmux [-2CDlNuVv] [-c shell-command] [-f file] [-L socket-name]\n"
          "            [-S socket-path] [-T features] [command [flags]]\n",
          stderr);
    return 1;
}

/* Returns the index of the first word after the options; -1: exit with *status. */
static int parse(int argc, char **argv, struct tmux_words *w, int *status)
{
    int c;
    *status = 1;
    optind = 1;
    while ((c = getopt(argc, argv, "+2c:CDdf:hlL:NqS:T:uUvV")) != -1) {
        switch (c) {
        case 'c':
            w->shell_command = optarg;
            break;
        case 'C':
            w->control++;
            break;
        case 'f':
            if (w->nfiles < 16)
                w->files[w->nfiles++] = optarg;
            break;
        case 'L':
            w->label = optarg;
            break;
        case 'N':
            w->no_start = true;
            break;
        case 'S':
            w->path = optarg;
            break;
        case 'V':
            printf("tmux %s\n", TMUX_VERSION);
            *status = fflush(stdout) == 0 ? 0 : 1;
            return -1;
        case 'h':
            *status = applet_help(&applet_tmux) ? 1 : 0;
            return -1;
        case 'D':
            fputs("tmux: -D (a server in the foreground) is `od serve --socket PATH` "
                  "here\n",
                  stderr);
            return -1;
        case '2':
        case 'd':
        case 'l':
        case 'q':
        case 'T':
        case 'u':
        case 'U':
        case 'v':
            break;
        default:
            *status = usage();
            return -1;
        }
    }
    return optind;
}

/* ---- the socket ---- */

/* Makes the directory of the user's sockets. Returns -1 after a message. */
static int make_label(const char *label, char *out, size_t size)
{
    char real[PATH_MAX], base[PATH_MAX + 32];
    const char *dir = getenv("TMUX_TMPDIR");
    struct stat st;
    if (!dir || !*dir || !realpath(dir, real)) {
        if (!realpath("/tmp/", real)) {
            fputs("no suitable socket path\n", stderr);
            return -1;
        }
    }
    snprintf(base, sizeof(base), "%s/tmux-%ld", real, (long)getuid());
    if (mkdir(base, 0700) < 0 && errno != EEXIST)
        fprintf(stderr, "couldn't create directory %s (%s)\n", base, strerror(errno));
    else if (lstat(base, &st) < 0)
        fprintf(stderr, "couldn't read directory %s (%s)\n", base, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        fprintf(stderr, "%s is not a directory\n", base);
    else if (st.st_uid != getuid() || (st.st_mode & 07) != 0)
        fprintf(stderr, "directory %s has unsafe permissions\n", base);
    else if (buf_fill(out, size, "%s/%s", base, label))
        return 0;
    else
        fprintf(stderr, "error connecting to %s/%s (File name too long)\n", base, label);
    return -1;
}

/*
 * -S, or -L, or the server of the pane that we are in, or that of the od that we were
 * started by, or the user's own.
 */
static int find_socket(const struct tmux_words *w, char *out, size_t size)
{
    const char *inside = getenv("TMUX"), *od = getenv("OD_SOCKET");
    struct sockaddr_un a;
    if (w->path) {
        char here[PATH_MAX];
        bool whole = w->path[0] == '/' || !getcwd(here, sizeof(here));
        if (buf_fill(out, size, "%s%s%s", whole ? "" : here, whole ? "" : "/", w->path) &&
            strlen(out) < sizeof(a.sun_path))
            return 0;
        fprintf(stderr, "error connecting to %s (File name too long)\n", w->path);
        return -1;
    }
    if (!w->label && inside && *inside && *inside != ',')
        return buf_fill(out, size, "%.*s", (int)strcspn(inside, ","), inside) ? 0 : -1;
    if (!w->label && od && *od == '/' && buf_fill(out, size, "%s", od))
        return 0;
    return make_label(w->label ? w->label : "default", out, size);
}

/* Says why there is no server, as tmux does. */
static int not_there(const char *path, const struct err *e)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), why = 0;
    buf_fill(a.sun_path, sizeof(a.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        why = errno;
    if (fd >= 0)
        close(fd);
    if (why == ECONNREFUSED)
        fprintf(stderr, "no server running on %s\n", path);
    else if (why)
        fprintf(stderr, "error connecting to %s (%s)\n", path, strerror(why));
    else
        fprintf(stderr, "error connecting to %s (%s)\n", path, e->text);
    return 1;
}

/* A name for the server's folder: the socket's last word, and a sum of the whole. */
static void server_name(const char *path, char out[SOCKPATH_NAME_MAX + 1])
{
    uint8_t sum[HASH_SHA256_SIZE];
    const char *word = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = 0;
    hash_sha256(str_of(path), sum);
    memcpy(out, "tmux-", 5);
    for (n = 5; *word && n < 36; word++)
        out[n++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789-_.",
                          *word)
                       ? *word
                       : '_';
    snprintf(out + n, (size_t)SOCKPATH_NAME_MAX + 1 - n, "-%02x%02x%02x%02x%02x%02x",
             sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]);
}

static int start(struct client *c, const char *path, struct err *e)
{
    char name[SOCKPATH_NAME_MAX + 1];
    const char *words[] = {"--tmux", "--name", name, NULL};
    server_name(path, name);
    return client_start(c, path, words, e);
}

/* ---- the request ---- */

static void put_word(struct json *list, const char *word)
{
    struct str s = str_of(word);
    if (utf8_valid(s)) {
        json_push_str(list, s);
        return;
    }
    struct buf b = BUF_INIT(SIZE_MAX);
    struct json *j = json_object();
    enc_base64(&b, s);
    json_put_str(j, "base64", buf_str(&b));
    json_push(list, j);
    buf_release(&b);
}

static void put_files(struct json *q, const struct tmux_words *w)
{
    struct json *files = json_array();
    char path[PATH_MAX];
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    for (int i = 0; i < w->nfiles; i++)
        json_push_str(files, str_of(w->files[i]));
    if (w->nfiles == 0) {
        json_push_str(files, STR("/etc/tmux.conf"));
        if (home && buf_fill(path, sizeof(path), "%s/.tmux.conf", home))
            json_push_str(files, str_of(path));
        if (xdg && buf_fill(path, sizeof(path), "%s/tmux/tmux.conf", xdg))
            json_push_str(files, str_of(path));
        if (home && buf_fill(path, sizeof(path), "%s/.config/tmux/tmux.conf", home))
            json_push_str(files, str_of(path));
    }
    json_put(q, "files", files);
    json_put_bool(q, "files_given", w->nfiles > 0);
}

static struct json *make_request(const struct tmux_words *w, int argc, char **argv,
                                 const char *path)
{
    struct json *q = json_object(), *words = json_array(), *env = json_object();
    char cwd[PATH_MAX], tty[PATH_MAX];
    struct winsize size;
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "tmux");
    for (int i = 0; i < argc; i++)
        put_word(words, argv[i]);
    json_put(q, "argv", words);
    for (char **v = environ; *v; v++) {
        const char *eq = strchr(*v, '=');
        char name[256];
        if (eq && buf_fill(name, sizeof(name), "%.*s", (int)(eq - *v), *v) && *name &&
            utf8_valid(str_of(*v)))
            json_put_z(env, name, eq + 1);
    }
    json_put(q, "env", env);
    json_put_z(q, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "/");
    json_put_z(q, "place", path);
    json_put_int(q, "client", getpid());
    json_put_int(q, "control", w->control);
    if (isatty(STDIN_FILENO) && ttyname_r(STDIN_FILENO, tty, sizeof(tty)) == 0)
        json_put_z(q, "tty", tty);
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) {
        json_put_int(q, "rows", size.ws_row);
        json_put_int(q, "cols", size.ws_col);
    }
    json_put_z(q, "term", getenv("TERM") ? getenv("TERM") : "");
    put_files(q, w);
    return q;
}

/* ---- the call ---- */

static void restore(struct tmux_call *x)
{
    if (x->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &x->before);
    x->raw = false;
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    return call_write(c, error ? STDERR_FILENO : STDOUT_FILENO, bytes);
}

static void send_size(struct call *c)
{
    struct winsize size;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return;
    struct json *j = json_object();
    json_put_int(j, "rows", size.ws_row);
    json_put_int(j, "cols", size.ws_col);
    call_send(c, 'Z', j);
    json_free(j);
}

static void on_note(struct call *c, const struct json *note)
{
    struct tmux_call *x = container_of(c, struct tmux_call, call);
    struct str kind = json_str(note, "note", "");
    struct termios t;
    if (str_eq(kind, STR("stdin")))
        c->input = STDIN_FILENO;
    if (!str_eq(kind, STR("raw")) || x->raw || tcgetattr(STDIN_FILENO, &x->before) < 0)
        return;
    t = x->before;
    cfmakeraw(&t);
    x->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0;
    c->input = STDIN_FILENO;
    send_size(c);
}

static void on_signal(struct call *c, int signo)
{
    if (signo == SIGWINCH)
        send_size(c);
    else
        call_leave(c, 0);
}

static void note_signal(int signo)
{
    int saved = errno;
    char byte = (char)signo;
    if (write(signals_write, &byte, 1) < 0) { /* the pipe is full of signals */
    }
    errno = saved;
}

static int open_signals(void)
{
    static const int all[] = {SIGWINCH, SIGTERM, SIGHUP};
    int p[2];
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    signals_write = p[1];
    struct sigaction on = {.sa_handler = note_signal};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        sigaction(all[i], &on, NULL);
    return p[0];
}

/* Returns the exit status; -1: the server has ended before it answered anything. */
static int perform(struct client *client, const struct json *q, bool again)
{
    static const struct call_events events = {
        .on_output = on_output, .on_note = on_note, .on_signal = on_signal};
    struct tmux_call x = {.control = (int)json_int(q, "control", 0)};
    struct err e = ERR_INIT;
    call_init(&x.call, client, q, &events);
    x.call.signals = open_signals();
    struct json *r = call_run(&x.call, &e);
    int status = (int)json_int(r, "exit", 1);
    restore(&x);
    struct str text = json_str(json_get(r, "error"), "text", ""),
               last = json_str(r, "last", "");
    if (!r && again && !x.call.answered_ever && e.code == ERR_GONE)
        status = -1;
    else if (!r && e.code == ERR_GONE && !x.call.answered_ever)
        fprintf(stderr, "no server running on %s\n", client->server.path);
    else if (!r)
        fprintf(stderr, "%s\n",
                e.code == ERR_GONE        ? "server exited unexpectedly"
                : e.code == ERR_CANCELLED ? "terminated"
                                          : e.text);
    else if (text.n > 0)
        fprintf(stderr, "%.*s\n", STR_ARG(text));
    else if (x.control)
        printf("%%exit%s%.*s\n%s", last.n > 0 ? " " : "", STR_ARG(last),
               x.control > 1 ? "\033\\" : "");
    else if (last.n > 0)
        fprintf(json_bool(r, "last_error", false) ? stderr : stdout, "%.*s\n",
                STR_ARG(last));
    if (fflush(stdout) != 0 && status == 0)
        status = 1;
    json_free(r);
    call_release(&x.call);
    return status;
}

static int tmux_main(int argc, char **argv)
{
    struct tmux_words w = {0};
    struct client client = {.fd = -1};
    struct err e = ERR_INIT;
    char path[PATH_MAX];
    int status;
    null_fill();
    int first = parse(argc, argv, &w, &status);
    if (first < 0)
        return status;
    if (w.shell_command) {
        const char *shell = getenv("SHELL");
        shell = shell && *shell == '/' ? shell : "/bin/sh";
        execl(shell, shell, "-c", w.shell_command, (char *)NULL);
        fprintf(stderr, "execl failed: %s\n", strerror(errno));
        return 1;
    }
    if (find_socket(&w, path, sizeof(path)) < 0)
        return 1;
    signal(SIGPIPE, SIG_IGN);
    bool starts = !w.no_start && tmux_starts_server(argc - first, argv + first);
    struct json *q = make_request(&w, argc - first, argv + first, path);
    status = -1;
    for (int i = 0; status < 0; i++) {
        bool open = client_open(&client, path, false, &e) == 0 ||
                    (starts && e.code == ERR_NOTFOUND && start(&client, path, &e) == 0);
        if (!open)
            status = starts && e.code != ERR_DENIED && e.code != ERR_NOTFOUND
                         ? (fprintf(stderr, "%s\n", e.text), 1)
                         : not_there(path, &e);
        else
            status = perform(&client, q, starts && i < 3);
        client_close(&client);
    }
    json_free(q);
    return status;
}

const struct applet applet_tmux = {
    .name = "tmux",
    .brief = "tmux's command line: sessions, windows and panes that outlive a crash",
    .packed = PACKED(tmux_txt_gz),
    .main = tmux_main,
};
