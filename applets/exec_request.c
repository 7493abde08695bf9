/* SPDX-License-Identifier: MIT */
/* Makes the request (frame.h) from the command line. */
#include "base/called.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "exec.h"
#include "where.h"
#include "ipc/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void exec_command(struct buf *out, const struct exec_options *o)
{
    buf_addz(out, called("exec").z);
    if (o->server) {
        bool path = strpbrk(o->server, "/@") && !where_is_remote(o->server);
        buf_addz(out, path ? " --socket " : " --server ");
        called_add_word(out, str_of(o->server));
    }
}

void exec_put_command(struct json *q, const struct exec_options *o)
{
    struct buf command = BUF_INIT(8192);
    exec_command(&command, o);
    if (utf8_valid(buf_str(&command)))
        json_put_str(q, "as", buf_str(&command));
    buf_release(&command);
}

struct json *exec_request(const char *verb)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", verb);
    return q;
}

/* JSON has only text: other bytes would be changed. */
int exec_put_text(struct json *q, const char *name, const char *z, struct err *e)
{
    if (!z)
        return 0;
    if (!utf8_valid(str_of(z)))
        return err_set(e, ERR_INVALID, "the %s is not valid UTF-8", name);
    json_put_z(q, name, z);
    return 0;
}

int exec_put_target(struct json *q, const struct exec_options *o, struct err *e)
{
    if (o->process)
        return exec_put_text(q, "process", o->process, e);
    return exec_put_text(q, "session", o->session ? o->session : "main", e);
}

static void put_base64(struct json *q, const char *name, struct str bytes)
{
    struct buf text = BUF_INIT(FRAME_MAX);
    enc_base64(&text, bytes);
    json_put_str(q, name, buf_str(&text));
    buf_release(&text);
}

/* Reads a whole file, at most LIMIT_COMMAND_MAX bytes. */
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

/* Puts text as "command", other bytes as "command64". */
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

static int put_words(struct json *q, const struct exec_options *o, struct err *e)
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

/* Puts the words as they were given, without a shell. */
static int put_argv(struct json *q, const struct exec_options *o, struct err *e)
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

/* If a name has two values, the later one counts, but a reader takes the first member. */
static int put_env(struct json *q, const struct exec_options *o, struct err *e)
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
            ok = exec_put_text(env, name, value, e);
        free(name);
        if (ok < 0)
            return -1;
    }
    return 0;
}

/*
 * Puts the members for a session or process that the request makes. The server decides
 * where sessions begin; a process begins in its caller's directory.
 */
int exec_put_making(struct json *q, const struct exec_options *o, struct err *e)
{
    char here[4096];
    const char *cwd = o->cwd;
    struct buf path = BUF_INIT(2 * sizeof(here));
    bool remote = where_is_remote(o->server);
    if (remote && cwd && cwd[0] != '/')
        return err_set(e, ERR_INVALID,
                       "--cwd of a server elsewhere is a path from its root, not \"%.200s\"",
                       cwd);
    if (remote) {
        /* Our directory is one of this machine, not of the server's. */
    } else if (cwd ? cwd[0] != '/' : o->own) {
        /* The server's own directory differs. */
        const char *at = getcwd(here, sizeof(here));
        if (!at && cwd)
            return err_sys(e, errno, "cannot tell where %s is", cwd);
        if (at)
            buf_addz(&path, at);
        if (cwd)
            buf_addf(&path, "/%s", cwd);
        if (buf_full(&path)) {
            buf_release(&path);
            return err_set(e, ERR_LIMIT, "the directory's name is longer than %zu bytes",
                           2 * sizeof(here));
        }
        cwd = path.n && utf8_valid(buf_str(&path)) ? path.p : NULL;
    }
    int ok = exec_put_text(q, "cwd", cwd, e);
    buf_release(&path);
    if (ok < 0 || put_env(q, o, e) < 0 || exec_put_text(q, "shell", o->shell, e) < 0)
        return -1;
    return exec_put_text(q, "user", o->user, e);
}

void exec_put_waiting(struct json *q, const struct exec_options *o)
{
    /* The server refuses a command that would wait for itself. */
    const char *parent = where_is_remote(o->server) ? NULL : getenv("OD_OP");
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
    if (text && o->has_limit)
        json_put_int(q, "limit", o->limit);
}

/*
 * Whether standard input is input for the command: a pipe, a file, a socket, a device
 * with data. A terminal is not, and /dev/null means that there is none.
 */
bool exec_stdin_is_input(const struct exec_options *o)
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

struct json *exec_run_request(const struct exec_options *o, bool input, struct err *e)
{
    struct json *q = exec_request(o->own ? "new" : "run");
    bool argv = o->own && o->word_count > 1;
    int ok = argv ? put_argv(q, o, e) : put_words(q, o, e);
    if (ok == 0)
        ok = exec_put_making(q, o, e);
    if (ok == 0 && o->own)
        ok = exec_put_text(q, "name", o->process, e);
    else if (ok == 0)
        ok = exec_put_target(q, o, e);
    if (ok < 0) {
        json_free(q);
        return NULL;
    }
    exec_put_waiting(q, o);
    json_put_bool(q, "stdin", input);
    json_put_bool(q, "detach", o->detach);
    json_put_bool(q, "no_wait", o->no_wait);
    put_size(q);
    return q;
}

static void put_keys(struct json *q, const struct exec_options *o)
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

struct json *exec_input_request(const struct exec_options *o, struct err *e)
{
    struct json *q = exec_request("input");
    struct buf file = BUF_INIT(0);
    int ok = exec_put_target(q, o, e);
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

struct json *exec_logs_request(const struct exec_options *o, struct err *e)
{
    struct json *q = exec_request("logs");
    if (exec_put_target(q, o, e) < 0) {
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

struct json *exec_target_request(const char *verb, const struct exec_options *o,
                                 struct err *e)
{
    struct json *q = exec_request(verb);
    if (exec_put_target(q, o, e) == 0 && exec_put_text(q, "signal", o->signal, e) == 0)
        return q;
    json_free(q);
    return NULL;
}
