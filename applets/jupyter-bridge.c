/* SPDX-License-Identifier: MIT */
/*
 * `od jupyter-bridge`: cells in a kernel that stays, from a command line. As
 * `execute_cli` it is what OpenDevin's program of that name was: a cell on
 * standard input, its text on standard output.
 */
#include "applet.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/cell_text.h"
#include "proto/answer.h"
#include "proto/call.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum { SMALL_MS = 30000, NOTEBOOK_MAX = 256 << 20, SHOWN_MAX = 1000 };

static const char usage[] =
    "Usage: od jupyter-bridge [OPTION]... [FILE]\n"
    "       od jupyter-bridge [OPTION]... -c CODE\n"
    "       od jupyter-bridge [OPTION]... NOTEBOOK.ipynb\n"
    "       od jupyter-bridge --list | --interrupt | --restart | --close\n"
    "       execute_cli < CODE\n"
    "\n"
    "Runs a cell in a Jupyter kernel that stays: what one call defines is there for\n"
    "the next. The cell comes from -c, FILE or standard input. The kernel is one of\n"
    "the image's own (ipykernel, R, any other that has a kernelspec); where there is\n"
    "python3 and no ipykernel, one that is part of od. A notebook is run from its\n"
    "first cell to its last, and written back with what the cells gave.\n"
    "\n"
    "  -c, --code CODE       the cell\n"
    "  -k, --kernel NAME     a kernelspec's name or a language (python3)\n"
    "  -n, --name NAME       which running kernel; made when it is new (python, or\n"
    "                        what -k says)\n"
    "      --embedded        od's own kernel, also where ipykernel is\n"
    "      --jupyter         never od's own kernel\n"
    "  -t, --timeout SEC     interrupt the cell after SEC seconds\n"
    "      --images DIR      write pictures there, and print their names\n"
    "  -o, --output FILE     of a notebook: write it here instead\n"
    "      --keep-going      of a notebook: on after a cell that fails\n"
    "      --json            the cell's result as a JSON object\n"
    "      --cwd DIR         directory of a kernel that this call makes (this one)\n"
    "      --user NAME       whose it is\n"
    "      --env NAME=VALUE  a variable of it\n"
    "      --list            running kernels, and those that could be started\n"
    "      --interrupt       interrupt the running cell\n"
    "      --restart         start the kernel anew: names are gone\n"
    "      --close           end it\n"
    "  -v, --verbose         which kernel it is, and how long it took to start\n"
    "      --socket PATH     which server (@NAME: an abstract socket)\n"
    "  -h, --help            this text\n"
    "\n"
    "Text of the cell goes to standard output, error output and tracebacks to\n"
    "standard error (execute_cli: all to standard output). input() asks on the\n"
    "terminal. C-c interrupts the cell.\n"
    "\n"
    "Exit status: 0; 1 the cell failed; 124 its time was over; 125 there is no\n"
    "kernel or server; 130 interrupted.\n";

struct options {
    const char *code, *file, *kernel, *name, *images, *output, *cwd, *user, *socket;
    const char *choice, *verb;
    struct json *env;
    int64_t timeout_ms;
    bool json, list, verbose, keep_going, all_text;
    bool from_stdin; /* the cell was read from there */
};

/* Outputs of a notebook that may still be changed. */
struct shown {
    char *id[SHOWN_MAX];
    struct json *output[SHOWN_MAX], *of[SHOWN_MAX]; /* borrowed */
    int n;
};

/* A cell in flight. */
struct run {
    struct call call;
    const struct options *o;
    struct buf line;          /* of what comes, until its newline */
    struct cell_text text;    /* for json and execute_cli */
    struct json *outputs;     /* of a notebook's cell; NULL: not wanted */
    struct json *last_output; /* of them; borrowed */
    struct buf stream;        /* its text so far, if it is one */
    struct shown *shown;      /* of the whole notebook; borrowed */
    bool clear;               /* before the next output */
    int pictures;
    char last; /* byte of standard output */
    bool interrupted, asking;
};

static int signal_pipe[2] = {-1, -1};

static void on_raw_signal(int signo)
{
    int saved = errno;
    char c = (char)signo;
    ssize_t ignored = write(signal_pipe[1], &c, 1);
    (void)ignored;
    errno = saved;
}

static void say(const char *text) { fprintf(stderr, "od jupyter-bridge: %s\n", text); }

static int fail(const struct err *e)
{
    say(e->text);
    return ANSWER_OURS;
}

/* ---- what a cell says ---- */

static int put(struct run *r, int fd, struct str bytes)
{
    if (fd == STDOUT_FILENO && bytes.n)
        r->last = bytes.p[bytes.n - 1];
    return call_write(&r->call, fd, bytes);
}

static void save_picture(struct run *r, const struct json *content)
{
    static const struct {
        const char *mime, *ending;
    } kinds[] = {{"image/png", "png"},
                 {"image/jpeg", "jpg"},
                 {"image/gif", "gif"},
                 {"image/svg+xml", "svg"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct str v = json_str(json_get(content, "data"), kinds[i].mime, "");
        char path[PATH_MAX];
        struct buf bytes = BUF_INIT(192 << 20), b64 = BUF_INIT(256 << 20);
        if (v.n == 0)
            continue;
        for (size_t k = 0; i < 3 && k < v.n; k++) {
            if ((unsigned char)v.p[k] > ' ')
                buf_addc(&b64, v.p[k]);
        }
        if (i == 3)
            buf_adds(&bytes, v);
        else
            dec_base64(&bytes, buf_str(&b64));
        int fd = -1;
        while (fd < 0 && r->pictures < 100000) {
            snprintf(path, sizeof(path), "%s/image_%d.%s", r->o->images, ++r->pictures,
                     kinds[i].ending);
            fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd < 0 && errno != EEXIST)
                break;
        }
        ssize_t n = fd >= 0 ? write(fd, bytes.p, bytes.n) : -1;
        if (n != (ssize_t)bytes.n)
            fprintf(stderr, "od jupyter-bridge: cannot write %s: %s\n", path,
                    strerror(errno));
        else {
            struct buf line = BUF_INIT(PATH_MAX + 16);
            buf_addf(&line, "[image: %s]\n", path);
            put(r, STDOUT_FILENO, buf_str(&line));
            buf_release(&line);
        }
        if (fd >= 0)
            close(fd);
        buf_release(&bytes);
        buf_release(&b64);
        return;
    }
}

static int show(struct run *r, struct str type, const struct json *content)
{
    struct buf raw = BUF_INIT(192 << 20), plain = BUF_INIT(192 << 20);
    int status = 0;
    bool stream = str_eq(type, STR("stream"));
    bool error = str_eq(type, STR("error")) ||
                 (stream && str_eq(json_str(content, "name", ""), STR("stderr")));
    if (cell_text_of(&raw, type, content)) {
        if (isatty(error ? STDERR_FILENO : STDOUT_FILENO))
            buf_adds(&plain, buf_str(&raw));
        else
            cell_text_plain(&plain, buf_str(&raw));
        if (!stream && plain.n && plain.p[plain.n - 1] != '\n')
            buf_addc(&plain, '\n');
        status = put(r, error ? STDERR_FILENO : STDOUT_FILENO, buf_str(&plain));
    }
    buf_release(&raw);
    buf_release(&plain);
    if (r->o->images)
        save_picture(r, content);
    return status;
}

/* As OpenDevin had pictures in a text. */
static void add_inline(struct run *r, const struct json *content)
{
    struct str v = json_str(json_get(content, "data"), "image/png", "");
    if (v.n)
        buf_addf(&r->text.text, "\n![image](data:image/png;base64,%.*s)\n",
                 STR_ARG(str_trim(v)));
}

/* ---- a notebook's outputs, nbformat 4 ---- */

static struct json *copy_of(const struct json *j)
{
    struct buf b = BUF_INIT(256 << 20);
    struct json *copy = j && json_print(&b, j) == 0
                            ? json_parse(buf_str(&b), &(struct err){0})
                            : NULL;
    buf_release(&b);
    return copy;
}

/* Members that the format has for this type; it allows no others. */
static struct json *output_of(struct str type, const struct json *content)
{
    static const char *const stream[] = {"name", "text", NULL},
                             *const shown[] = {"data", "metadata", NULL},
                             *const result[] = {"data", "metadata", "execution_count",
                                                NULL},
                             *const error[] = {"ename", "evalue", "traceback", NULL};
    static const struct {
        const char *type, *name;
        const char *const *members;
    } kinds[] = {{"stream", "stream", stream},
                 {"display_data", "display_data", shown},
                 {"update_display_data", "display_data", shown},
                 {"execute_result", "execute_result", result},
                 {"error", "error", error}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (!str_eq(type, str_of(kinds[i].type)))
            continue;
        struct json *j = json_object();
        json_put_z(j, "output_type", kinds[i].name);
        for (const char *const *m = kinds[i].members; *m; m++) {
            struct json *v = copy_of(json_get(content, *m));
            if (v)
                json_put(j, *m, v);
        }
        return j;
    }
    return NULL;
}

/* Text of a stream that goes on belongs to the output before. */
static bool joins(struct run *r, struct str type, const struct json *content)
{
    struct json *last = r->last_output;
    struct str name = json_str(content, "name", "");
    if (!last || !str_eq(type, STR("stream")) ||
        !str_eq(json_str(last, "output_type", ""), STR("stream")) ||
        !str_eq(json_str(last, "name", ""), name))
        return false;
    return buf_adds(&r->stream, json_str(content, "text", "")) == 0;
}

static void end_stream(struct run *r)
{
    if (r->last_output && r->stream.n)
        json_put_str(r->last_output, "text", buf_str(&r->stream));
    buf_reset(&r->stream);
}

/* Outputs that were shown with this display_id are changed, in earlier cells too. */
static void update(struct run *r, struct str id, const struct json *content)
{
    static const char *const members[] = {"data", "metadata"};
    for (int i = 0; r->shown && i < r->shown->n; i++) {
        for (int m = 0; str_eq(str_of(r->shown->id[i]), id) && m < 2; m++) {
            struct json *v = copy_of(json_get(content, members[m]));
            if (v)
                json_put(r->shown->output[i], members[m], v);
        }
    }
}

static void forget(struct run *r)
{
    int kept = 0;
    struct shown *s = r->shown;
    for (int i = 0; s && i < s->n; i++) {
        if (s->of[i] == r->outputs) {
            free(s->id[i]);
            continue;
        }
        s->id[kept] = s->id[i];
        s->of[kept] = s->of[i];
        s->output[kept++] = s->output[i];
    }
    if (s)
        s->n = kept;
    for (struct json *c; (c = json_first(r->outputs));)
        json_drop(r->outputs, c);
    r->last_output = NULL;
    buf_reset(&r->stream);
}

static void remember(struct run *r, struct str id, struct json *output)
{
    struct shown *s = r->shown;
    if (!s || id.n == 0 || s->n == SHOWN_MAX)
        return;
    s->id[s->n] = xstrndup(id.p, id.n);
    s->of[s->n] = r->outputs;
    s->output[s->n++] = output;
}

static void keep(struct run *r, struct str type, const struct json *content)
{
    struct str id = json_str(json_get(content, "transient"), "display_id", "");
    if (str_eq(type, STR("clear_output"))) {
        if (!json_bool(content, "wait", false))
            forget(r);
        r->clear = json_bool(content, "wait", false);
        return;
    }
    if (str_eq(type, STR("update_display_data"))) {
        update(r, id, content);
        return;
    }
    struct json *j = output_of(type, content);
    if (!j)
        return;
    if (r->clear)
        forget(r);
    r->clear = false;
    if (joins(r, type, content)) {
        json_free(j);
        return;
    }
    end_stream(r);
    json_push(r->outputs, j);
    r->last_output = j;
    if (str_eq(type, STR("stream")))
        buf_adds(&r->stream, json_str(content, "text", ""));
    remember(r, id, j);
}

/* ---- lines of the server ---- */

static int on_line(struct run *r, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str type = json_str(j, "type", "");
    const struct json *content = json_get(j, "content");
    int status = 0;
    if (str_eq(type, STR("note")))
        fprintf(stderr, "od jupyter-bridge: %.*s\n",
                STR_ARG(json_str(content, "text", "")));
    if (r->outputs)
        keep(r, type, content);
    if (r->o->json || r->o->all_text) {
        cell_text_add(&r->text, type, content);
        if (r->o->all_text)
            add_inline(r, content);
        if (r->o->images)
            save_picture(r, content);
    } else if (!r->outputs)
        status = show(r, type, content);
    json_free(j);
    return status;
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct run *r = container_of(c, struct run, call);
    (void)error;
    while (bytes.n) {
        long nl = str_chr(bytes, '\n');
        size_t n = nl < 0 ? bytes.n : (size_t)nl;
        buf_add(&r->line, bytes.p, n);
        bytes = str_sub(bytes, n + (nl >= 0), bytes.n);
        if (nl < 0)
            break;
        if (on_line(r, buf_str(&r->line)) < 0)
            return -1;
        buf_reset(&r->line);
    }
    return 0;
}

static void interrupt(const struct options *o);

/* A line, without its end. false: there is none, or a signal came meanwhile. */
static bool read_answer(int fd, struct buf *line)
{
    for (char c;;) {
        ssize_t n = read(fd, &c, 1);
        if (n <= 0)
            return n == 0 && line->n > 0;
        if (c == '\n')
            return true;
        buf_addc(line, c);
    }
}

/*
 * The cell asks. Standard input answers, unless the cell itself came from there:
 * then the terminal does. Without an answer the cell is interrupted, or it would
 * wait for ever.
 */
static void on_note(struct call *c, const struct json *note)
{
    struct run *r = container_of(c, struct run, call);
    struct buf line = BUF_INIT(64 << 10);
    struct termios t, quiet;
    struct str prompt = json_str(note, "prompt", "");
    if (!str_eq(json_str(note, "note", ""), STR("input")))
        return;
    int tty = r->o->from_stdin ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    int fd = tty >= 0 ? tty : STDIN_FILENO;
    bool hide = json_bool(note, "password", false) && tcgetattr(fd, &t) == 0;
    if (hide) {
        quiet = t;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(fd, TCSAFLUSH, &quiet);
    }
    ssize_t ignored = write(tty >= 0 ? tty : STDERR_FILENO, prompt.p, prompt.n);
    (void)ignored;
    if (read_answer(fd, &line)) {
        struct json *j = json_object();
        json_put_str(j, "answer", buf_str(&line));
        call_send(c, 'Z', j);
        json_free(j);
    } else if (!r->interrupted) {
        say("the cell asks, and nobody answers: it is interrupted");
        interrupt(r->o);
    }
    if (hide)
        tcsetattr(fd, TCSAFLUSH, &t);
    if (tty >= 0)
        close(tty);
    buf_release(&line);
}

static void on_signal(struct call *c, int signo)
{
    struct run *r = container_of(c, struct run, call);
    if (!r->interrupted)
        interrupt(r->o);
    if (r->interrupted || signo != SIGINT)
        call_leave(c, 0);
    else
        say("the cell is interrupted; once more leaves it alone");
    r->interrupted = true;
}

static const struct call_events call_events = {on_output, on_note, on_signal, NULL};

/* ---- requests ---- */

static const char *name_of(const struct options *o)
{
    return o->name ? o->name : o->kernel ? o->kernel : "python";
}

static struct json *request(const struct options *o, const char *verb)
{
    char cwd[PATH_MAX];
    const char *parent = getenv("OD_OP");
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", verb);
    if (parent && utf8_valid(str_of(parent)))
        json_put_z(q, "parent", parent);
    json_put_z(q, "kernel", name_of(o));
    json_put_z(q, "spec", o->kernel ? o->kernel : "");
    json_put_z(q, "choice", o->choice ? o->choice : "any");
    if (o->cwd || getcwd(cwd, sizeof(cwd)))
        json_put_z(q, "cwd", o->cwd ? o->cwd : cwd);
    if (o->user)
        json_put_z(q, "user", o->user);
    return q;
}

static void interrupt(const struct options *o)
{
    struct err e = ERR_INIT;
    struct json *q = request(o, "kernel");
    json_put_z(q, "verb", "interrupt");
    json_free(call_simple(o->socket, q, SMALL_MS, &e));
    json_free(q);
}

static int send_verb(const struct options *o, struct err *e)
{
    struct json *q = request(o, "kernel");
    json_put_z(q, "verb", o->verb);
    struct json *r = call_simple(o->socket, q, SMALL_MS, e);
    bool ok = json_bool(r, "ok", false);
    if (r && !ok)
        err_set(e, ERR_NOTFOUND, "%.*s",
                STR_ARG(json_str(json_get(r, "error"), "text", "it was refused")));
    json_free(q);
    json_free(r);
    return ok ? 0 : -1;
}

static int status_of(const struct json *result, const struct run *r)
{
    struct str end = json_str(result, "end", "");
    if (str_eq(end, STR("ok")))
        return 0;
    if (r->interrupted)
        return 130;
    if (str_eq(end, STR("timeout")))
        return ANSWER_EARLY;
    return str_eq(end, STR("failed")) ? ANSWER_OURS : 1;
}

static void tell_end(const struct options *o, const struct json *result)
{
    struct str end = json_str(result, "end", "");
    if (str_eq(end, STR("timeout")))
        fprintf(stderr,
                "od jupyter-bridge: the cell was interrupted: its %g seconds were "
                "over%s\n",
                (double)o->timeout_ms / 1000,
                json_bool(result, "stuck", false)
                    ? "; it did not even then end, so the kernel was restarted"
                    : "");
    struct str why = json_str(result, "why", "");
    if (why.n)
        fprintf(stderr, "od jupyter-bridge: %.*s\n", STR_ARG(why));
}

/* The result, to be freed; NULL: e. */
static struct json *run_cell(struct run *r, const struct options *o,
                             struct client *client, struct str code, struct err *e)
{
    struct json *q = request(o, "cell");
    json_put_str(q, "code", code);
    json_put_bool(q, "ask", !o->all_text && !r->outputs);
    json_put_int(q, "timeout_ms", o->timeout_ms);
    if (o->env) {
        struct buf b = BUF_INIT(LIMIT_SPAWN_MAX);
        if (json_print(&b, o->env) == 0)
            json_put(q, "env", json_parse(buf_str(&b), e));
        buf_release(&b);
    }
    call_init(&r->call, client, q, &call_events);
    r->o = o;
    r->call.input = -1;
    r->call.signals = signal_pipe[0];
    r->call.limit_ms = 0;
    r->last = '\n';
    buf_init(&r->line, LIMIT_KERNEL_MESSAGE + (1 << 20));
    buf_init(&r->stream, NOTEBOOK_MAX);
    cell_text_init(&r->text, LIMIT_KERNEL_MESSAGE);
    struct json *result = call_run(&r->call, e);
    if (result && !json_bool(result, "ok", false)) {
        const struct json *er = json_get(result, "error");
        err_set(e, ERR_INVALID, "%.*s", STR_ARG(json_str(er, "text", "it was refused")));
        json_free(result);
        result = NULL;
    }
    end_stream(r);
    if (r->text.lost)
        fprintf(stderr, "od jupyter-bridge: %zu bytes of its output did not fit\n",
                r->text.lost);
    call_release(&r->call);
    buf_release(&r->line);
    buf_release(&r->stream);
    json_free(q);
    return result;
}

static int print_json(const struct json *j)
{
    struct buf b = BUF_INIT(256 << 20);
    int r = json_print(&b, j) | buf_addc(&b, '\n');
    r = r == 0 && fwrite(b.p, 1, b.n, stdout) == b.n && fflush(stdout) == 0 ? 0 : -1;
    buf_release(&b);
    return r;
}

static int one_cell(const struct options *o, struct client *client, struct str code)
{
    struct err e = ERR_INIT;
    struct run *r = xnew(struct run);
    struct json *result = run_cell(r, o, client, code, &e);
    if (!result)
        return r->interrupted ? 130 : fail(&e);
    int status = status_of(result, r);
    if (o->json) {
        json_put_str(result, "text", buf_str(&r->text.text));
        json_put(result, "images", r->text.images ? r->text.images : json_array());
        r->text.images = NULL;
        json_put_bool(result, "ok", status == 0);
        print_json(result);
    } else if (o->all_text) {
        struct str end = json_str(result, "end", ""), text = buf_str(&r->text.text);
        bool late = str_eq(end, STR("timeout"));
        if (late)
            printf("[Execution timed out (%g seconds).]", (double)o->timeout_ms / 1000);
        else if (text.n)
            fwrite(text.p, 1, text.n, stdout);
        else
            printf("[Code executed successfully with no output]");
        struct str why = json_str(result, "why", "");
        printf("%s%.*s\n", why.n ? "\n" : "", STR_ARG(why));
    } else {
        if (r->last != '\n' && isatty(STDOUT_FILENO))
            printf("\n");
        tell_end(o, result);
    }
    cell_text_release(&r->text);
    json_free(result);
    free(r);
    return fflush(stdout) == 0 ? status : ANSWER_OURS;
}

/* ---- notebooks ---- */

static int read_all(int fd, struct buf *out)
{
    for (;;) {
        char *p = buf_reserve(out, 64 << 10);
        ssize_t n = p ? read(fd, p, 64 << 10) : (errno = EFBIG, -1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        buf_commit(out, (size_t)n);
    }
}

static void source_of(const struct json *cell, struct buf *out)
{
    const struct json *s = json_get(cell, "source");
    if (json_is_array(s)) {
        for (struct json *c = json_first(s); c; c = json_next(c))
            buf_adds(out, json_str_value(c, ""));
    } else
        buf_adds(out, json_str_value(s, ""));
}

/* Whole or not at all: beside the file, then in its place. */
static int write_back(const char *path, const struct json *book, struct err *e)
{
    struct buf text = BUF_INIT(NOTEBOOK_MAX), tmp = BUF_INIT(PATH_MAX);
    struct stat st;
    int r = -1;
    buf_addf(&tmp, "%s.od-%d", path, (int)getpid());
    int fd = open(buf_z(&tmp), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  stat(path, &st) == 0 ? st.st_mode & 0777 : 0666);
    if (fd >= 0 && json_print(&text, book) == 0 && buf_addc(&text, '\n') == 0 &&
        write(fd, text.p, text.n) == (ssize_t)text.n && rename(buf_z(&tmp), path) == 0)
        r = 0;
    else {
        err_sys(e, errno, "cannot write the notebook %s", path);
        if (fd >= 0)
            unlink(buf_z(&tmp));
    }
    if (fd >= 0)
        close(fd);
    buf_release(&text);
    buf_release(&tmp);
    return r;
}

/* -1: e says what it is instead of a notebook that can be run. */
static int check_book(const struct json *book, const char *file, struct err *e)
{
    if (!book) {
        struct err why = *e;
        return err_set(e, ERR_INVALID, "%s is no notebook: %s", file, why.text);
    }
    if (json_has(book, "worksheets") || json_int(book, "nbformat", 4) < 4)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s is a notebook of format %lld, which Jupyter left in 2015: "
                       "jupyter nbconvert --to notebook makes one of format 4 of it",
                       file, (long long)json_int(book, "nbformat", 3));
    if (!json_is_array(json_get(book, "cells")))
        return err_set(e, ERR_INVALID, "%s is no notebook: it has no cells", file);
    return 0;
}

/* Runs a code cell and puts its outputs in. Its status; -1: e. */
static int run_book_cell(struct options *o, struct client *client, struct json *cell,
                         struct shown *shown, struct err *e)
{
    struct buf code = BUF_INIT(LIMIT_COMMAND_MAX);
    struct run *r = xnew(struct run);
    r->outputs = json_array();
    r->shown = shown;
    json_put(cell, "outputs", r->outputs);
    source_of(cell, &code);
    struct json *result = run_cell(r, o, client, buf_str(&code), e);
    int status = result ? status_of(result, r) : -1;
    int64_t count = json_int(result, "count", 0);
    if (count)
        json_put_int(cell, "execution_count", count);
    else
        json_put_null(cell, "execution_count");
    if (result)
        tell_end(o, result);
    json_free(result);
    cell_text_release(&r->text);
    free(r);
    buf_release(&code);
    return status;
}

static int run_book(struct options *o, struct client *client, struct json *cells)
{
    struct err e = ERR_INIT;
    struct shown *shown = xnew(struct shown);
    int status = 0, n = 0, total = 0;
    for (struct json *c = json_first(cells); c; c = json_next(c))
        total += str_eq(json_str(c, "cell_type", ""), STR("code"));
    for (struct json *c = json_first(cells); c; c = json_next(c)) {
        if (!str_eq(json_str(c, "cell_type", ""), STR("code")))
            continue;
        fprintf(stderr, "od jupyter-bridge: cell %d of %d\n", ++n, total);
        int this = run_book_cell(o, client, c, shown, &e);
        if (this < 0)
            this = fail(&e);
        else if (this)
            fprintf(stderr, "od jupyter-bridge: cell %d failed\n", n);
        status = this ? this : status;
        if (this > 1 || (this && !o->keep_going))
            break;
    }
    for (int i = 0; i < shown->n; i++)
        free(shown->id[i]);
    free(shown);
    return status;
}

/* A kernel of its own for a notebook, unless one was named, so that it begins empty. */
static int run_notebook(struct options *o, struct client *client, struct str text)
{
    struct err e = ERR_INIT;
    struct json *book = json_parse(text, &e);
    struct str spec = json_str(json_get(json_get(book, "metadata"), "kernelspec"), "name",
                               "");
    char kernel[100], name[40];
    bool own = !o->name;
    if (check_book(book, o->file, &e) < 0) {
        json_free(book);
        return fail(&e);
    }
    if (!o->kernel && spec.n && spec.n < sizeof(kernel)) {
        memcpy(kernel, spec.p, spec.n);
        kernel[spec.n] = 0;
        o->kernel = kernel;
    }
    snprintf(name, sizeof(name), "notebook-%d", (int)getpid());
    if (own)
        o->name = name;
    int status = run_book(o, client, json_get(book, "cells"));
    if (own) {
        o->verb = "close";
        send_verb(o, &(struct err){0});
    }
    if (write_back(o->output ? o->output : o->file, book, &e) < 0)
        status = fail(&e);
    json_free(book);
    return status;
}

/* ---- the rest ---- */

static int do_verb(const struct options *o)
{
    struct err e = ERR_INIT;
    return send_verb(o, &e) < 0 ? fail(&e) : 0;
}

static int do_list(const struct options *o, struct client *client)
{
    struct err e = ERR_INIT;
    struct json *q = request(o, "kernels");
    (void)client;
    struct json *r = call_simple(o->socket, q, SMALL_MS, &e);
    json_free(q);
    if (!r)
        return fail(&e);
    if (o->json) {
        print_json(r);
    } else {
        const struct json *k = json_get(r, "kernels"), *s = json_get(r, "specs");
        if (json_first(k))
            printf("%-16s %-10s %-8s %s\n", "RUNNING", "STATE", "PID", "KERNEL");
        for (struct json *c = json_first(k); c; c = json_next(c))
            printf("%-16.*s %-10.*s %-8lld %.*s\n", STR_ARG(json_str(c, "name", "")),
                   STR_ARG(json_bool(c, "busy", false) ? STR("busy")
                                                       : json_str(c, "state", "")),
                   (long long)json_int(c, "pid", 0), STR_ARG(json_str(c, "display", "")));
        if (json_first(s))
            printf("%-16s %-10s %s\n", "KERNEL", "LANGUAGE", "FOUND AT");
        for (struct json *c = json_first(s); c; c = json_next(c))
            printf("%-16.*s %-10.*s %.*s%s\n", STR_ARG(json_str(c, "name", "")),
                   STR_ARG(json_str(c, "language", "")),
                   STR_ARG(json_str(c, "where", "")),
                   json_bool(c, "embedded", false) ? " (embedded)" : "");
        fprintf(stderr, "%.*s", STR_ARG(json_str(r, "notes_on_specs", "")));
    }
    json_free(r);
    return fflush(stdout) == 0 ? 0 : ANSWER_OURS;
}

static int add_env(struct options *o, const char *text, struct err *e)
{
    const char *eq = strchr(text, '='), *value = eq ? eq + 1 : getenv(text);
    if (!value || eq == text)
        return err_set(e, ERR_INVALID,
                       "--env takes NAME=VALUE, or the NAME of a variable");
    char name[256];
    snprintf(name, sizeof(name), "%.*s", eq ? (int)(eq - text) : 255, text);
    if (!o->env)
        o->env = json_object();
    json_put_z(o->env, name, value);
    return 0;
}

/* 1: help was printed. */
static int parse(struct options *o, int argc, char **argv, struct err *e)
{
    enum {
        JSON = 256,
        LIST,
        INTERRUPT,
        RESTART,
        CLOSE,
        SOCKET,
        IMAGES,
        EMBEDDED,
        JUPYTER,
        CWD,
        USER,
        ENV,
        KEEP
    };
    static const struct option longs[] = {{"code", 1, NULL, 'c'},
                                          {"kernel", 1, NULL, 'k'},
                                          {"name", 1, NULL, 'n'},
                                          {"embedded", 0, NULL, EMBEDDED},
                                          {"jupyter", 0, NULL, JUPYTER},
                                          {"timeout", 1, NULL, 't'},
                                          {"images", 1, NULL, IMAGES},
                                          {"output", 1, NULL, 'o'},
                                          {"keep-going", 0, NULL, KEEP},
                                          {"json", 0, NULL, JSON},
                                          {"cwd", 1, NULL, CWD},
                                          {"user", 1, NULL, USER},
                                          {"env", 1, NULL, ENV},
                                          {"list", 0, NULL, LIST},
                                          {"interrupt", 0, NULL, INTERRUPT},
                                          {"restart", 0, NULL, RESTART},
                                          {"close", 0, NULL, CLOSE},
                                          {"verbose", 0, NULL, 'v'},
                                          {"socket", 1, NULL, SOCKET},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "c:k:n:t:o:vh", longs, NULL)) != -1;) {
        switch (c) {
        case 'c':
            o->code = optarg;
            break;
        case 'k':
            o->kernel = optarg;
            break;
        case 'n':
            o->name = optarg;
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'v':
            o->verbose = true;
            break;
        case JSON:
            o->json = true;
            break;
        case LIST:
            o->list = true;
            break;
        case INTERRUPT:
            o->verb = "interrupt";
            break;
        case RESTART:
            o->verb = "restart";
            break;
        case CLOSE:
            o->verb = "close";
            break;
        case SOCKET:
            o->socket = optarg;
            break;
        case IMAGES:
            o->images = optarg;
            break;
        case EMBEDDED:
            o->choice = "own";
            break;
        case JUPYTER:
            o->choice = "jupyter";
            break;
        case CWD:
            o->cwd = optarg;
            break;
        case USER:
            o->user = optarg;
            break;
        case KEEP:
            o->keep_going = true;
            break;
        case ENV:
            if (add_env(o, optarg, e) < 0)
                return -1;
            break;
        case 't':
            if (str_to_ms(str_of(optarg), &o->timeout_ms) < 0)
                return err_set(e, ERR_INVALID, "--timeout takes seconds, and %s is none",
                               optarg);
            break;
        case 'h':
            fputs(usage, stdout);
            return fflush(stdout) == 0 ? 1 : -1;
        default:
            return err_set(e, ERR_INVALID, "see od help jupyter-bridge");
        }
    }
    if (optind < argc)
        o->file = argv[optind++];
    if (optind < argc || (o->file && o->code))
        return err_set(e, ERR_INVALID, "one cell at a time: -c CODE, or one FILE");
    return 0;
}

static int code_of(struct options *o, struct buf *code, struct err *e)
{
    if (o->code)
        return buf_addz(code, o->code);
    bool in = !o->file || strcmp(o->file, "-") == 0;
    o->from_stdin = in;
    int fd = in ? STDIN_FILENO : open(o->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read_all(fd, code) < 0)
        return err_sys(e, errno, "cannot read %s", in ? "standard input" : o->file);
    if (!in)
        close(fd);
    return 0;
}

static bool is_notebook(const struct options *o)
{
    return o->file && str_ends(str_of(o->file), STR(".ipynb"));
}

/* What OpenDevin's program did with the directory that it was told. */
static int enter_pwd(struct options *o, struct client *client)
{
    const char *dir = getenv("JUPYTER_PWD");
    struct buf code = BUF_INIT(PATH_MAX * 2), quoted = BUF_INIT(PATH_MAX * 2);
    struct err e = ERR_INIT;
    if (!dir || !dir[0])
        return 0;
    json_quote(&quoted, str_of(dir));
    buf_addf(&code, "import os; os.chdir(%s)", buf_z(&quoted));
    struct run *r = xnew(struct run);
    struct json *result = run_cell(r, o, client, buf_str(&code), &e);
    bool ok = result != NULL;
    cell_text_release(&r->text);
    json_free(result);
    free(r);
    buf_release(&code);
    buf_release(&quoted);
    return ok ? 0 : fail(&e);
}

static int open_signals(struct err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction take = {.sa_handler = on_raw_signal}, before;
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    for (int i = 0; i < 3; i++) {
        if (sigaction(signals[i], &take, &before) == 0 && before.sa_handler == SIG_IGN)
            sigaction(signals[i], &before, NULL);
    }
    return 0;
}

static int bridge_main(int argc, char **argv)
{
    struct options o = {.all_text = strstr(argv[0], "execute_cli") != NULL};
    struct err e = ERR_INIT;
    struct client client = {.fd = -1};
    struct buf code = BUF_INIT(NOTEBOOK_MAX);
    int status = ANSWER_OURS;
    int p = parse(&o, argc, argv, &e);
    if (p != 0)
        return p > 0 ? 0 : fail(&e);
    if (open_signals(&e) < 0)
        return fail(&e);
    signal(SIGPIPE, SIG_IGN);
    if (o.all_text && o.timeout_ms == 0)
        o.timeout_ms = 120000;
    if (o.verb)
        return do_verb(&o);
    if (!o.list && code_of(&o, &code, &e) < 0)
        return fail(&e);
    if (client_open(&client, o.socket, true, &e) < 0)
        status = fail(&e);
    else if (o.list)
        status = do_list(&o, &client);
    else if (is_notebook(&o))
        status = run_notebook(&o, &client, buf_str(&code));
    else if (!o.all_text || (status = enter_pwd(&o, &client)) == 0)
        status = one_cell(&o, &client, buf_str(&code));
    client_close(&client);
    json_free(o.env);
    buf_release(&code);
    return status;
}

const struct applet applet_jupyter_bridge = {
    .name = "jupyter-bridge",
    .also = "execute_cli",
    .brief = "run cells in a Jupyter kernel that stays",
    .usage = usage,
    .main = bridge_main,
};
