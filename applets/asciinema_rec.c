/* SPDX-License-Identifier: MIT */
/* `od asciinema rec`: runs a program on a terminal of its own, and records it. */
#include "asciinema.h"
#include "base/clock.h"
#include "base/json.h"
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAUSE_KEY = 0x1c, ENV_MAX = 1 << 20 };

struct asciinema_rec {
    const struct asciinema_options *o;
    struct inside inside;
    struct cast_writer writer;
    struct buf out;
    int fd;
    int64_t began, offset; /* microseconds: clock_us() at the start; of the file */
    int64_t paused;        /* clock_us() of that; 0: it records */
    int error;             /* errno of a write that failed */
};

static struct asciinema_rec rec;

static int64_t rec_time(void) { return rec.offset + clock_us() - rec.began; }

static void rec_write(void)
{
    if (!rec.error && inside_write(rec.fd, buf_str(&rec.out)) < 0) {
        rec.error = errno;
        asciinema_say(rec.o, 1, "cannot write the recording: %s", strerror(rec.error));
    }
    buf_reset(&rec.out);
}

static void rec_event(char code, struct str bytes)
{
    if (rec.paused)
        return;
    cast_put(&rec.writer, &rec.out, rec_time(), code, bytes);
    rec_write();
}

static void on_output(void *arg, struct str bytes)
{
    (void)arg;
    rec_event('o', bytes);
}

static bool on_input(void *arg, struct str bytes)
{
    (void)arg;
    if (rec.inside.terminal >= 0 && bytes.n == 1 && bytes.p[0] == PAUSE_KEY) {
        if (rec.paused)
            rec.began += clock_us() - rec.paused;
        rec.paused = rec.paused ? 0 : clock_us();
        return false;
    }
    if (rec.o->stdin_too)
        rec_event('i', bytes);
    return true;
}

static void on_resized(void *arg, int rows, int cols)
{
    char size[32];
    (void)arg;
    snprintf(size, sizeof(size), "%dx%d", cols, rows);
    rec_event('r', str_of(size));
}

static void put_env(struct buf *env, const char *names)
{
    struct str rest = str_of(names);
    buf_addc(env, '{');
    while (rest.n > 0) {
        char name[256];
        struct str one = str_trim(str_cut(&rest, ','));
        if (one.n == 0 || !buf_fill(name, sizeof(name), "%.*s", STR_ARG(one)))
            continue;
        const char *value = getenv(name);
        if (env->n > 1)
            buf_addz(env, ", ");
        json_quote(env, one);
        buf_addz(env, ": ");
        if (value)
            json_quote(env, str_of(value));
        else
            buf_addz(env, "null");
    }
    buf_addc(env, '}');
}

static void rec_header(const struct asciinema_options *o, int rows, int cols)
{
    struct buf env = BUF_INIT(ENV_MAX), title = BUF_INIT(ENV_MAX);
    struct buf command = BUF_INIT(ENV_MAX), type = BUF_INIT(4096);
    char idle[32] = "";
    bool v3 = rec.writer.format == CAST_V3;
    if (o->idle >= 0)
        snprintf(idle, sizeof(idle), o->idle == (double)(int)o->idle ? "%.1f" : "%g",
                 o->idle);
    put_env(&env, o->env ? o->env : v3 ? "SHELL" : "SHELL,TERM");
    if (o->title && *o->title)
        json_quote(&title, str_of(o->title));
    if (v3 && o->command)
        json_quote(&command, str_of(o->command));
    if (getenv("TERM"))
        json_quote(&type, str_of(getenv("TERM")));
    struct cast_header h = {.cols = cols,
                            .rows = rows,
                            .timestamp = clock_wall_ms() / 1000,
                            .idle = str_of(idle),
                            .command = buf_str(&command),
                            .title = buf_str(&title),
                            .env = buf_str(&env),
                            .type = buf_str(&type)};
    cast_put_header(&rec.out, rec.writer.format, &h);
    buf_release(&env);
    buf_release(&title);
    buf_release(&command);
    buf_release(&type);
}

/* Reads where an existing recording ends. Returns -1 after a message. */
static int find_end(const struct asciinema_options *o, const char *path,
                    enum cast_format *format)
{
    struct cast_reader r;
    struct cast_event ev;
    struct err e = ERR_INIT;
    int n, fd = asciinema_open(path, &e);
    char last = '\n';
    cast_reader_init(&r);
    while (fd >= 0 && (n = asciinema_next(&r, fd, &ev, &e)) > 0)
        continue;
    bool cut = fd >= 0 && (lseek(fd, -1, SEEK_END) < 0 || read(fd, &last, 1) != 1);
    rec.offset = r.us;
    *format = r.format;
    if (fd >= 0)
        close(fd);
    cast_reader_release(&r);
    if (fd >= 0 && n == 0 && !cut && last == '\n' && !r.v1)
        return 0;
    if (r.v1)
        err_set(&e, ERR_INVALID, "it is of version 1");
    asciinema_say(o, 1, "can only append to asciicast v2 and v3 format recordings: %s",
                  e.code ? e.text : "its last line is not complete");
    return -1;
}

/* Opens the file of a recording; sets *format if it is appended to. */
static int rec_open(const struct asciinema_options *o, const char *path,
                    enum cast_format *format)
{
    struct stat st;
    bool there = stat(path, &st) == 0, append = o->append;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    if (strcmp(path, "-") == 0)
        return STDOUT_FILENO;
    if (there && access(path, W_OK) < 0) {
        asciinema_say(o, 1, "can't write to %s", path);
        return -1;
    }
    if (there && st.st_size > 0 && !o->overwrite && !append && S_ISREG(st.st_mode)) {
        asciinema_say(o, 1, "%s already exists, aborting", path);
        asciinema_say(
            o, 1, "use --overwrite option if you want to overwrite existing recording");
        asciinema_say(o, 1,
                      "use --append option if you want to append to existing recording");
        return -1;
    }
    if (!there && append)
        asciinema_say(o, 3, "%s does not exist, not appending", path);
    append = append && there && st.st_size > 0 && !o->overwrite;
    bool text = *format == CAST_RAW || *format == CAST_TXT;
    if (append && !text && find_end(o, path, format) < 0)
        return -1;
    int fd = open(path, flags | (append ? O_APPEND : O_TRUNC), 0666);
    if (fd < 0)
        asciinema_say(o, 1, "cannot write to %s: %s", path, strerror(errno));
    else
        asciinema_say(
            o, 2, append ? "appending to asciicast at %s" : "recording asciicast to %s",
            path);
    return fd;
}

static int rec_run(const struct asciinema_options *o, struct err *e)
{
    static const struct inside_calls calls = {
        .output = on_output, .input = on_input, .resized = on_resized};
    const char *shell = getenv("SHELL");
    const char *command = o->command ? o->command : shell && *shell ? shell : "sh";
    char sh[] = "sh", c[] = "-c", *text = strdup(command);
    char *argv[] = {sh, c, text, NULL};
    int status = 0;
    struct inside *x = &rec.inside;
    x->argv = argv;
    x->calls = &calls;
    setenv("ASCIINEMA_REC", "1", 1);
    if (!isatty(STDIN_FILENO))
        x->input = STDIN_FILENO;
    x->flush_end = x->terminal < 0;
    rec.began = clock_us();
    int r = text ? inside_run(x, &status, e) : err_set(e, ERR_LIMIT, "out of memory");
    free(text);
    return r < 0 ? -1 : inside_exit(status);
}

int asciinema_rec(const struct asciinema_options *o, int n, char **words)
{
    struct err e = ERR_INIT;
    enum cast_format format = o->format;
    int rows, cols;
    if (n != 1)
        return asciinema_say(o, 1, "which file? (od has no upload)");
    const char *path = words[0];
    if (!format)
        format = asciinema_is_txt(path) ? CAST_TXT : CAST_V2;
    rec.o = o;
    rec.fd = rec_open(o, path, &format);
    if (rec.fd < 0)
        return 1;
    asciinema_say(o, 2,
                  o->command ? "exit opened program when you're done"
                             : "press <ctrl-d> or type \"exit\" when you're done");
    int tty = o->headless ? -1 : open("/dev/tty", O_RDWR | O_CLOEXEC);
    rec.inside = (struct inside){
        .terminal = tty, .input = -1, .output = tty, .rows = o->rows, .cols = o->cols};
    inside_size(&rec.inside, &rows, &cols);
    cast_begin(&rec.writer, format, cols, rows);
    rec.writer.last_us = rec.offset;
    buf_init(&rec.out, CAST_OUT_MAX);
    if (lseek(rec.fd, 0, SEEK_END) <= 0)
        rec_header(o, rows, cols);
    rec_write();
    int status = rec_run(o, &e);
    rec.paused = 0;
    cast_end(&rec.writer, &rec.out, rec_time());
    if (format == CAST_V3 && status >= 0) {
        char text[16];
        snprintf(text, sizeof(text), "%d", status);
        cast_put(&rec.writer, &rec.out, rec_time(), 'x', str_of(text));
    }
    rec_write();
    cast_release(&rec.writer);
    buf_release(&rec.out);
    if (close(rec.fd) < 0 || rec.error)
        return 1;
    if (status < 0)
        return asciinema_say(o, 1, "%s", e.text);
    asciinema_say(o, 2, "recording finished");
    asciinema_say(o, 2, "asciicast saved to %s", path);
    return o->returns ? status : 0;
}
