/* SPDX-License-Identifier: MIT */
#include "front/backend/hello.h"

#include "base/clock.h"
#include "base/log.h"
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { OS_RELEASE_MAX = 8192, VALUE_MAX = 256 };

/* ---- the id ---- */

static const char id_key[] = BACKEND_SANDBOX_KEY;

static bool is_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
            return false;
    }
    return s.n == SANDBOX_ID_SIZE - 1;
}

/* The log ignores files with this name. */
static void id_path(const char *dir, char out[256])
{
    snprintf(out, 256, "%.200s/.sandbox", dir);
}

static ssize_t read_start(const char *path, char *space, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, space, size) : -1;
    if (fd >= 0)
        close(fd);
    return n;
}

static void keep_on_disk(const char *dir, const char *id)
{
    char path[256];
    id_path(dir, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, id, SANDBOX_ID_SIZE - 1) != SANDBOX_ID_SIZE - 1)
        log_warn("the sandbox's id could not be written to %s; the next server will "
                 "have another one: %m",
                 path);
    if (fd >= 0)
        close(fd);
}

void backend_sandbox_id(struct engine *en, struct str known, const char *dir,
                        char id[SANDBOX_ID_SIZE])
{
    char path[256], text[SANDBOX_ID_SIZE];
    if (en->sandbox_id[0]) {
        memcpy(id, en->sandbox_id, SANDBOX_ID_SIZE);
        return;
    }
    bool found = is_id(known);
    if (found) {
        memcpy(id, known.p, known.n);
    } else if (dir) {
        id_path(dir, path);
        ssize_t n = read_start(path, text, sizeof(text));
        found = n > 0 && is_id(str_n(text, (size_t)n));
        if (found)
            memcpy(id, text, SANDBOX_ID_SIZE - 1);
    }
    id[SANDBOX_ID_SIZE - 1] = 0;
    if (!found) {
        random_hex(id, SANDBOX_ID_SIZE - 1);
        if (dir)
            keep_on_disk(dir, id);
    }
    memcpy(en->sandbox_id, id, SANDBOX_ID_SIZE);
    if (!is_id(known))
        keeper_client_put(en->keeper, STR(id_key), str_n(id, SANDBOX_ID_SIZE - 1));
}

/* ---- the image ---- */

/* Appends the value as a shell would read it: without one pair of quotes. */
static int unquote(struct str s, struct buf *out)
{
    char quote = s.n > 0 && (s.p[0] == '"' || s.p[0] == '\'') ? s.p[0] : 0;
    for (size_t i = quote ? 1 : 0; i < s.n; i++) {
        if (quote && s.p[i] == quote)
            break;
        if (quote != '\'' && s.p[i] == '\\' && i + 1 < s.n)
            i++;
        if (buf_addc(out, s.p[i]) < 0)
            return -1;
    }
    return 0;
}

int backend_os_release(struct str text, const char *name, struct buf *out)
{
    while (text.n > 0) {
        struct str value = str_trim(str_cut(&text, '\n')), key = str_cut(&value, '=');
        if (!str_eq(key, str_of(name)))
            continue;
        size_t before = out->n;
        if (unquote(value, out) == 0)
            return 0;
        buf_truncate(out, before);
        return -1;
    }
    return -1;
}

static void put_os(struct json *j)
{
    static const char *const names[][2] = {
        {"PRETTY_NAME", "os"}, {"ID", "os_id"}, {"VERSION_ID", "os_version"}};
    char text[OS_RELEASE_MAX];
    ssize_t n = read_start("/etc/os-release", text, sizeof(text));
    if (n < 0)
        n = read_start("/usr/lib/os-release", text, sizeof(text));
    for (size_t i = 0; n > 0 && i < sizeof(names) / sizeof(*names); i++) {
        struct buf value = BUF_INIT(VALUE_MAX);
        if (backend_os_release(str_n(text, (size_t)n), names[i][0], &value) == 0)
            json_put_str(j, names[i][1], buf_str(&value));
        buf_release(&value);
    }
}

static struct json *image(const struct engine *en)
{
    struct json *j = json_object();
    struct utsname u;
    struct shell sh;
    struct sysinfo m;
    struct passwd *pw = getpwuid(en->uid);
    const char *path = env_get(en->env, "PATH");
    put_os(j);
    if (uname(&u) == 0) {
        json_put_z(j, "arch", u.machine);
        json_put_z(j, "kernel", u.release);
        json_put_z(j, "hostname", u.nodename);
    }
    json_put_int(j, "uid", en->uid);
    if (pw)
        json_put_z(j, "user", pw->pw_name);
    if (shell_find(&sh, NULL, path ? path : "", en->home, NULL) == 0)
        json_put_z(j, "shell", sh.path);
    json_put_z(j, "cwd", en->home);
    json_put_int(j, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    if (sysinfo(&m) == 0)
        json_put_int(j, "memory", (int64_t)m.totalram * m.mem_unit);
    return j;
}

/* ---- the message ---- */

static struct json *capabilities(bool deltas)
{
    static const char *const names[] = {"run",    "read", "write", "edit",
                                        "replay", "ack",  "delta"}; /* optional */
    struct json *list = json_array();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) - !deltas; i++)
        json_push_str(list, str_of(names[i]));
    return list;
}

void backend_hello(const struct engine *en, const char *id, const char *version,
                   uint64_t next, bool deltas, struct buf *out)
{
    struct json *message = json_object(), *hello = json_object();
    json_put_z(hello, "protocol", BACKEND_PROTOCOL);
    json_put_z(hello, "sandbox", id);
    json_put_z(hello, "version", version);
    json_put_int(hello, "next", (int64_t)next);
    json_put(hello, "image", image(en));
    json_put(hello, "capabilities", capabilities(deltas));
    json_put(message, "hello", hello);
    json_print(out, message);
    json_free(message);
}
