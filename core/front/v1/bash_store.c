/* SPDX-License-Identifier: MIT */
/*
 * Events of commands: one file each, and an index of all in memory.
 *
 * A file's name has the time, the kind and the ids, so names sort by time, and the index
 * is made from names alone. Its content is the event's JSON, as clients get it. Files
 * written by the agent-server itself are read in the same way.
 *
 * A search uses only the index: at most BASH_EVENTS_MAX entries. It reads the files of
 * the events in its answer, at most a page, except for the newest, whose text is in
 * memory (BASH_CACHED_MAX). The order of an output is not in its name: it is known for
 * outputs that this worker wrote, and read once, from the file, for others.
 */
#include "front/v1/bash.h"

#include "base/clock.h"
#include "base/jsontext.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/v1/own.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DIGITS = 20, /* of the time in a file name */
    NAME_SIZE = 128,
    MEMORY_MAX = LIMIT_EVENTS_MEMORY
};

static const char *const kinds[] = {"BashCommand", "BashOutput"};

/* ---- ids and times ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool id_read(struct str hex, uint8_t out[BASH_ID / 2])
{
    if (hex.n != BASH_ID)
        return false;
    for (size_t i = 0; i < BASH_ID; i += 2) {
        int high = digit(hex.p[i]), low = digit(hex.p[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void id_print(const uint8_t id[BASH_ID / 2], struct buf *out)
{
    for (size_t i = 0; i < BASH_ID / 2; i++)
        buf_addf(out, "%02x", id[i]);
}

void bash_time(uint64_t us, char out[32])
{
    time_t s = (time_t)(us / 1000000);
    struct tm tm;
    gmtime_r(&s, &tm);
    size_t n = strftime(out, 24, "%Y-%m-%dT%H:%M:%S", &tm);
    unsigned part = (unsigned)(us % 1000000);
    if (part)
        snprintf(out + n, 32 - n, ".%06uZ", part);
    else
        snprintf(out + n, 32 - n, "Z");
}

/* Reads YYYYMMDDHHMMSSffffff, UTC, or 14 digits, as earlier versions of the product
 * wrote. */
static bool stamp_read(struct str s, uint64_t *us)
{
    static const unsigned sizes[] = {4, 2, 2, 2, 2, 2, 6};
    uint64_t v[7] = {0};
    if (s.n != DIGITS && s.n != 14)
        return false;
    for (size_t i = 0; i < 7 && s.n > 0; i++) {
        if (str_to_u64(str_sub(s, 0, sizes[i]), &v[i]) < 0)
            return false;
        s = str_sub(s, sizes[i], s.n);
    }
    struct tm tm = {.tm_year = (int)v[0] - 1900,
                    .tm_mon = (int)v[1] - 1,
                    .tm_mday = (int)v[2],
                    .tm_hour = (int)v[3],
                    .tm_min = (int)v[4],
                    .tm_sec = (int)v[5]};
    time_t t = timegm(&tm);
    *us = (uint64_t)t * 1000000 + v[6];
    return t >= 0;
}

void bash_store_name(const struct bash_event *e, struct buf *out)
{
    time_t s = (time_t)(e->us / 1000000);
    struct tm tm;
    char stamp[24];
    gmtime_r(&s, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
    buf_addf(out, "%s%06u_%s_", stamp, (unsigned)(e->us % 1000000),
             kinds[e->kind == BASH_OUTPUT]);
    if (e->kind == BASH_OUTPUT) {
        id_print(e->command, out);
        buf_addc(out, '_');
    }
    id_print(e->id, out);
}

static bool name_read(struct str name, struct bash_event *e)
{
    struct str stamp = str_cut(&name, '_'), kind = str_cut(&name, '_');
    *e = (struct bash_event){.order = BASH_ORDER_UNKNOWN};
    if (!stamp_read(stamp, &e->us))
        return false;
    if (str_eq(kind, str_of(kinds[BASH_COMMAND]))) {
        e->kind = BASH_COMMAND;
        memset(e->command, 0, sizeof(e->command));
        return id_read(name, e->id) && id_read(name, e->command);
    }
    e->kind = BASH_OUTPUT;
    struct str command = str_cut(&name, '_');
    return str_eq(kind, str_of(kinds[BASH_OUTPUT])) && id_read(command, e->command) &&
           id_read(name, e->id);
}

/* ---- the index ---- */

static size_t count(const struct bash_store *s) { return s->n - s->start; }

uint64_t bash_store_first(const struct bash_store *s) { return s->base + s->start; }
uint64_t bash_store_end(const struct bash_store *s) { return s->base + s->n; }

struct bash_event *bash_store_at(const struct bash_store *s, uint64_t number)
{
    if (number < bash_store_first(s) || number >= bash_store_end(s))
        return NULL;
    return &s->v[number - s->base];
}

/* Drops the unused front of the array once it is half of the array. */
static void compact(struct bash_store *s)
{
    if (s->start < 64 || s->start < count(s))
        return;
    memmove(s->v, s->v + s->start, count(s) * sizeof(*s->v));
    s->base += s->start;
    s->n -= s->start;
    s->start = 0;
}

static void push(struct bash_store *s, const struct bash_event *e)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->v = xrealloc(s->v, s->cap, sizeof(*s->v));
    }
    s->v[s->n++] = *e;
    s->bytes += e->bytes;
    uint64_t number = bash_store_end(s); /* its own and 1 */
    map_put(&s->by_id, str_n(e->id, sizeof(e->id)), (void *)(uintptr_t)number);
    if (e->us > s->last_us)
        s->last_us = e->us;
}

bool bash_store_find(const struct bash_store *s, const char *id, uint64_t *number)
{
    uint8_t key[BASH_ID / 2];
    if (!id_read(str_of(id), key))
        return false;
    uintptr_t found = (uintptr_t)map_get(&s->by_id, str_n(key, sizeof(key)));
    *number = (uint64_t)found - 1;
    const struct bash_event *e = found ? bash_store_at(s, *number) : NULL;
    return e && e->kind != BASH_DEAD;
}

uint64_t bash_store_since(const struct bash_store *s, uint64_t us)
{
    size_t low = s->start, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->v[mid].us < us)
            low = mid + 1;
        else
            high = mid;
    }
    return s->base + low;
}

uint64_t bash_store_now(struct bash_store *s)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    s->last_us = us > s->last_us ? us : s->last_us + 1;
    return s->last_us;
}

/* ---- files ---- */

static void put_path(const struct bash_store *s, const struct bash_event *e,
                     struct buf *out)
{
    buf_addf(out, "%s/", s->dir);
    bash_store_name(e, out);
}

/* As mkdir -p. */
static int make_folder(const char *dir)
{
    char path[V1_PATH_MAX];
    size_t n = strlen(dir);
    if (n == 0 || n >= sizeof(path))
        return errno = ENAMETOOLONG, -1;
    for (size_t i = 1; i <= n; i++) {
        if (dir[i] != '/' && dir[i] != 0)
            continue;
        memcpy(path, dir, i);
        path[i] = 0;
        if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
            return -1;
    }
    return 0;
}

/* Writes a file completely or not at all: first under another name. */
static int put_file(const struct bash_store *s, const struct bash_event *e,
                    struct str text)
{
    struct buf path = BUF_INIT(V1_PATH_MAX + NAME_SIZE), temp = BUF_INIT(V1_PATH_MAX * 2);
    put_path(s, e, &path);
    buf_addf(&temp, "%s.tmp", buf_z(&path));
    int fd = file_make(AT_FDCWD, buf_z(&temp), O_WRONLY | O_TRUNC, 0600);
    if (fd < 0 && errno == ENOENT && make_folder(s->dir) == 0)
        fd = file_make(AT_FDCWD, buf_z(&temp), O_WRONLY | O_TRUNC, 0600);
    int rc = fd < 0 ? -1 : file_write_all(fd, text);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (rc == 0 && rename(buf_z(&temp), buf_z(&path)) < 0)
        rc = -1, why = errno;
    if (rc < 0 && fd >= 0)
        unlink(buf_z(&temp));
    buf_release(&path);
    buf_release(&temp);
    errno = why;
    return rc;
}

/* ---- adding and removing ---- */

static void forget(struct bash_store *s, struct bash_event *e)
{
    struct buf path = BUF_INIT(V1_PATH_MAX + NAME_SIZE);
    struct str id = str_n(e->id, sizeof(e->id));
    uint64_t number = s->base + (uint64_t)(e - s->v);
    if ((uintptr_t)map_get(&s->by_id, id) == number + 1)
        map_del(&s->by_id, id);
    if (e->kind != BASH_DEAD && e->filed) {
        put_path(s, e, &path);
        if (unlink(buf_z(&path)) < 0 && errno != ENOENT)
            log_warn("v1: an event of a command cannot be removed: %m");
    }
    if (e->text && e->filed)
        s->cached -= e->bytes;
    else if (e->text)
        s->in_memory -= e->bytes;
    free(e->text);
    e->text = NULL;
    s->bytes -= e->bytes;
    buf_release(&path);
}

size_t bash_store_drop(struct bash_store *s, uint64_t before)
{
    size_t dropped = 0;
    while (count(s) > 0 && bash_store_first(s) < before) {
        dropped += s->v[s->start].kind != BASH_DEAD;
        forget(s, &s->v[s->start]);
        s->start++;
    }
    compact(s);
    s->kept_number = 0;
    return dropped;
}

/* Keeps the texts of the newest events, so that polling reads no files. */
static void cache(struct bash_store *s)
{
    if (s->cached_from < bash_store_first(s))
        s->cached_from = bash_store_first(s);
    for (; s->cached > BASH_CACHED_MAX; s->cached_from++) {
        struct bash_event *e = bash_store_at(s, s->cached_from);
        if (!e->filed || !e->text)
            continue;
        s->cached -= e->bytes;
        free(e->text);
        e->text = NULL;
    }
}

/* Removes the oldest events if they are too many or too large. */
static void limit(struct bash_store *s)
{
    while (count(s) > 1 &&
           (count(s) > BASH_EVENTS_MAX || s->bytes > (uint64_t)LIMIT_SPOOL_TOTAL ||
            s->in_memory > MEMORY_MAX))
        bash_store_drop(s, bash_store_first(s) + 1);
}

uint64_t bash_store_add(struct bash_store *s, enum bash_kind kind, uint64_t us,
                        const char *id, const char *command, int64_t order,
                        struct str text)
{
    struct bash_event e = {
        .us = us, .order = order, .bytes = (uint32_t)text.n, .kind = (uint8_t)kind};
    id_read(str_of(id), e.id);
    id_read(str_of(command), e.command);
    e.filed = s->dir[0] && put_file(s, &e, text) == 0;
    if (s->dir[0] && !e.filed)
        log_error("v1: an event of a command is kept in memory only: %m");
    e.text = xstrndup(text.p, text.n);
    *(e.filed ? &s->cached : &s->in_memory) += text.n;
    push(s, &e);
    limit(s);
    cache(s);
    return bash_store_end(s) - 1;
}

/* ---- reading ---- */

struct str bash_store_text(struct bash_store *s, uint64_t number)
{
    struct bash_event *e = bash_store_at(s, number);
    struct buf path = BUF_INIT(V1_PATH_MAX + NAME_SIZE);
    struct err why = ERR_INIT;
    if (!e || e->kind == BASH_DEAD)
        return (struct str){NULL, 0};
    if (e->text)
        return str_n(e->text, e->bytes);
    if (s->kept_number == number + 1)
        return buf_str(&s->kept);
    buf_release(&s->kept);
    buf_init(&s->kept, BASH_TEXT_MAX);
    put_path(s, e, &path);
    if (file_read(buf_z(&path), BASH_TEXT_MAX, &s->kept, &why) < 0 ||
        !jsontext_valid(str_trim(buf_str(&s->kept)))) {
        log_warn("v1: an event of a command cannot be read and is skipped: %s",
                 why.text[0] ? why.text : "it is not JSON");
        e->kind = BASH_DEAD;
        s->kept_number = 0;
        buf_release(&path);
        return (struct str){NULL, 0};
    }
    s->kept_number = number + 1;
    buf_release(&path);
    return str_trim(buf_str(&s->kept));
}

int64_t bash_store_order(struct bash_store *s, uint64_t number)
{
    struct bash_event *e = bash_store_at(s, number);
    if (e && e->kind == BASH_OUTPUT && e->order == BASH_ORDER_UNKNOWN) {
        struct str text = bash_store_text(s, number);
        e->order = jsontext_int(jsontext_get(text, STR("order")), 0);
    }
    return e ? e->order : 0;
}

static int by_time(const void *a, const void *b)
{
    const struct bash_event *x = a, *y = b;
    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int c = memcmp(x->command, y->command, sizeof(x->command));
    return c ? c : memcmp(x->id, y->id, sizeof(x->id));
}

/* Reads the existing events from the file names. */
static void read_folder(struct bash_store *s)
{
    struct bash_event *all = NULL;
    size_t n = 0, cap = 0;
    DIR *d = opendir(s->dir);
    struct dirent *f;
    struct stat st;
    while (d && (f = readdir(d))) {
        struct bash_event e;
        if (!name_read(str_of(f->d_name), &e) ||
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        e.filed = true;
        e.bytes = st.st_size < BASH_TEXT_MAX ? (uint32_t)st.st_size : BASH_TEXT_MAX;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            all = xrealloc(all, cap, sizeof(*all));
        }
        all[n++] = e;
    }
    if (d)
        closedir(d);
    if (n > 0)
        qsort(all, n, sizeof(*all), by_time);
    for (size_t i = 0; i < n; i++)
        push(s, &all[i]);
    free(all);
    limit(s);
}

void bash_store_open(struct bash_store *s, const char *dir)
{
    *s = (struct bash_store){.dir = xstrdup(dir)};
    map_init(&s->by_id);
    buf_init(&s->kept, BASH_TEXT_MAX);
    if (dir[0])
        read_folder(s);
}

void bash_store_close(struct bash_store *s)
{
    for (size_t i = s->start; i < s->n; i++)
        free(s->v[i].text);
    free(s->v);
    free(s->dir);
    map_release(&s->by_id);
    buf_release(&s->kept);
}
