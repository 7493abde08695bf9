/* SPDX-License-Identifier: MIT */
/*
 * The content of files before they were edited, one file for each state in one folder:
 * HASH.NUMBER, the first digits of the path's hash and a growing number; with a minus
 * after it if there was no file. The folder is read once; after that the list is kept in
 * memory.
 *
 * `last` describes the edit that was begun last: "TOKEN KIND NUMBER SUM", and for an undo
 * the bytes that it replaces, which are in no state. It is written before the state and
 * before the edited file: if the next worker finds the file with this sum, the edit is
 * done; if not, state NUMBER is dropped.
 *
 * A failure to keep a state does not stop the edit: it is logged, and undo then finds an
 * older state or none.
 */
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "edit/own.h"
#include "engine/engine.h"
#include "file/files.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Digits of a path's hash: enough that no two paths share them. */
enum { PATH_LEN = 32 };

struct state {
    char path[PATH_LEN + 1];
    uint64_t number;
    uint64_t bytes;
    bool none; /* there was no file */
};

struct edits {
    char *dir;        /* owned; NULL: nothing is kept */
    bool known;       /* the folder was read */
    struct state *of; /* owned: by number, room for one more than EDIT_KEPT_FILES */
    size_t n;
    uint64_t bytes, number; /* of all; of the newest */
    struct kept_record begun;
    bool has_begun;
    struct map seen; /* struct sight, owned, by path */
};

/* What identifies a file's content at the time it was seen. */
struct sight {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

struct edits *edits_new(const char *dir)
{
    struct edits *h = xnew(struct edits);
    h->dir = dir ? xstrdup(dir) : NULL;
    buf_init(&h->begun.before, EDIT_TEXT_MAX);
    map_init(&h->seen);
    return h;
}

struct edits *edits_of(struct engine *en)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/edit", en->state_dir);
    if (!en->edits)
        en->edits = edits_new(en->state_dir[0] ? dir : NULL);
    return en->edits;
}

/* ---- contents that callers have seen ---- */

static void forget_seen(struct edits *h)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&h->seen, it, &key, &value));)
        free(value);
    map_release(&h->seen);
    map_init(&h->seen);
}

static bool sight_of(const char *path, struct sight *s)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    *s = (struct sight){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
    return true;
}

void edits_seen(struct edits *h, const char *path)
{
    struct sight now, *kept = h ? map_get(&h->seen, str_of(path)) : NULL;
    if (!h || !sight_of(path, &now))
        return;
    if (!kept) {
        if (h->seen.count >= EDIT_SEEN_MAX)
            forget_seen(h);
        kept = xnew(struct sight);
        map_put(&h->seen, str_of(path), kept);
    }
    *kept = now;
}

bool edits_changed(const struct edits *h, const char *path)
{
    struct sight now;
    const struct sight *kept = h ? map_get(&h->seen, str_of(path)) : NULL;
    if (!kept || !sight_of(path, &now))
        return false;
    return kept->dev != now.dev || kept->ino != now.ino || kept->size != now.size ||
           kept->mtime.tv_sec != now.mtime.tv_sec ||
           kept->mtime.tv_nsec != now.mtime.tv_nsec;
}

void edits_free(struct edits *h)
{
    if (!h)
        return;
    forget_seen(h);
    map_release(&h->seen);
    buf_release(&h->begun.before);
    free(h->dir);
    free(h->of);
    free(h);
}

static void path_key(const char *path, char key[PATH_LEN + 1])
{
    uint8_t sum[HASH_SHA256_SIZE];
    hash_sha256(str_of(path), sum);
    for (int i = 0; i < PATH_LEN / 2; i++)
        snprintf(key + 2 * i, 3, "%02x", sum[i]);
}

/*
 * Writes the path of a state, or of `last` if it is NULL. Returns false if it is too
 * long.
 */
static bool place(const struct edits *h, char out[PATH_MAX], const struct state *s)
{
    int n = s ? snprintf(out, PATH_MAX, "%s/%s.%" PRIu64 "%s", h->dir, s->path, s->number,
                         s->none ? "-" : "")
              : snprintf(out, PATH_MAX, "%s/last", h->dir);
    return n > 0 && n < PATH_MAX;
}

/* ---- the states that are kept ---- */

static int by_number(const void *a, const void *b)
{
    const struct state *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Removes the state at `i`, with its file. */
static void drop_at(struct edits *h, size_t i)
{
    char file[PATH_MAX];
    if (place(h, file, &h->of[i]))
        unlink(file);
    h->bytes -= h->of[i].bytes;
    h->n--;
    memmove(h->of + i, h->of + i + 1, (h->n - i) * sizeof(*h->of));
}

static void add_state(struct edits *h, const struct state *s)
{
    h->of[h->n++] = *s;
    h->bytes += s->bytes;
    h->number = s->number > h->number ? s->number : h->number;
}

/* Removes the oldest states, of this path and of all, above their limits. */
static void keep_to_limits(struct edits *h, const char *key)
{
    size_t count = 0;
    for (size_t i = h->n; i-- > 0;)
        if (strcmp(h->of[i].path, key) == 0 && ++count > EDIT_UNDO_MAX)
            drop_at(h, i);
    while (h->n > EDIT_KEPT_FILES || h->bytes > EDIT_KEPT_BYTES)
        drop_at(h, 0);
}

/* Parses HASH.NUMBER or HASH.NUMBER-. Returns false for any other file. */
static bool parse_name(const char *name, struct state *s)
{
    struct str number = str_of(name), key = str_cut(&number, '.');
    s->none = str_ends(number, STR("-"));
    number.n -= s->none;
    if (key.n != PATH_LEN || str_to_u64(number, &s->number) < 0)
        return false;
    memcpy(s->path, key.p, PATH_LEN);
    s->path[PATH_LEN] = '\0';
    return true;
}

static void read_folder(struct edits *h)
{
    int fd = open(h->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    while (d && h->n < EDIT_KEPT_FILES && (e = readdir(d))) {
        struct state s;
        struct stat st;
        if (parse_name(e->d_name, &s) && fstatat(fd, e->d_name, &st, 0) == 0 &&
            S_ISREG(st.st_mode)) {
            s.bytes = (uint64_t)st.st_size;
            add_state(h, &s);
        }
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    qsort(h->of, h->n, sizeof(*h->of), by_number);
}

/* Takes the next word of `last`, as a string. */
static void take_word(struct str *line, char *out, size_t size)
{
    struct str word = str_cut(line, ' ');
    snprintf(out, size, "%.*s", STR_ARG(word));
}

static void read_last(struct edits *h)
{
    char file[PATH_MAX], kind[2], number[24];
    struct buf b = BUF_INIT(EDIT_TEXT_MAX + 1024);
    struct kept_record *r = &h->begun;
    if (place(h, file, NULL) && file_read(file, b.max, &b, NULL) == 0) {
        struct str rest = buf_str(&b), line = str_cut(&rest, '\n');
        take_word(&line, r->token, sizeof(r->token));
        take_word(&line, kind, sizeof(kind));
        take_word(&line, number, sizeof(number));
        take_word(&line, r->sum, sizeof(r->sum));
        r->kind = (enum edit_kind)(kind[0] - '0');
        h->has_begun = str_to_u64(str_of(number), &r->state) == 0 &&
                       buf_adds(&r->before, rest) == 0;
    }
    buf_release(&b);
}

/* Reads the folder once. Returns false if nothing is kept here. */
static bool know(struct edits *h)
{
    if (!h || !h->dir)
        return false;
    if (h->known)
        return true;
    h->known = true;
    h->of = xcalloc(EDIT_KEPT_FILES + 1, sizeof(*h->of));
    read_folder(h);
    read_last(h);
    return true;
}

/* ---- states ---- */

static int write_file(struct edits *h, const char *file, const char *token,
                      struct str bytes)
{
    struct err e = ERR_INIT;
    struct files_put put = {.token = token, .mode = 0600};
    if (mkdir(h->dir, 0700) == 0 || errno == EEXIST) {
        if (files_replace(file, bytes, &put, &e) == 0)
            return 0;
    } else {
        err_sys(&e, errno, "cannot make %s", h->dir);
    }
    log_warn("an edit cannot be undone: %s", e.text);
    return -1;
}

uint64_t kept_next(struct edits *h) { return know(h) ? h->number + 1 : 0; }

void kept_push(struct edits *h, const char *path, const struct str *bytes)
{
    char file[PATH_MAX];
    struct str text = bytes ? *bytes : STR("");
    if (!know(h))
        return;
    struct state s = {.number = h->number + 1, .bytes = text.n, .none = !bytes};
    path_key(path, s.path);
    if (!place(h, file, &s) || write_file(h, file, "kept", text) < 0)
        return;
    add_state(h, &s);
    keep_to_limits(h, s.path);
}

/* Returns the index of a state, or h->n; number 0 is the newest one. */
static size_t find(struct edits *h, const char *path, uint64_t number)
{
    char key[PATH_LEN + 1];
    path_key(path, key);
    for (size_t i = h->n; i-- > 0;)
        if (strcmp(h->of[i].path, key) == 0 && (!number || h->of[i].number == number))
            return i;
    return h->n;
}

/* Returns the state; NULL if it is missing, or stands for no file. */
static const struct state *state_of(struct edits *h, const char *path, uint64_t number)
{
    size_t i = number && know(h) ? find(h, path, number) : 0;
    return number && know(h) && i < h->n ? &h->of[i] : NULL;
}

uint64_t kept_newest(struct edits *h, const char *path)
{
    if (!know(h))
        return 0;
    size_t i = find(h, path, 0);
    return i < h->n ? h->of[i].number : 0;
}

int kept_read(struct edits *h, const char *path, uint64_t state, struct buf *out,
              struct err *e)
{
    char file[PATH_MAX];
    const struct state *s = state_of(h, path, state);
    if (!s || !place(h, file, s))
        return err_set(e, ERR_NOTFOUND, "nothing is kept of %s", path);
    return file_read(file, out->max, out, e);
}

bool kept_is_none(struct edits *h, const char *path, uint64_t state)
{
    const struct state *s = state_of(h, path, state);
    return s && s->none;
}

int64_t kept_at(struct edits *h, const char *path, uint64_t state)
{
    char file[PATH_MAX];
    struct stat st;
    const struct state *s = state_of(h, path, state);
    return s && place(h, file, s) && stat(file, &st) == 0 ? (int64_t)st.st_mtim.tv_sec
                                                          : 0;
}

size_t edit_undoable(struct edits *h, const char *path)
{
    char key[PATH_LEN + 1];
    size_t n = 0;
    path_key(path, key);
    for (size_t i = 0; know(h) && i < h->n; i++)
        n += strcmp(h->of[i].path, key) == 0;
    return n;
}

void kept_drop(struct edits *h, const char *path, uint64_t state)
{
    if (!state || !know(h))
        return;
    size_t i = find(h, path, state);
    if (i < h->n)
        drop_at(h, i);
}

/* ---- the edit that is being done ---- */

void kept_begin(struct edits *h, const struct kept_record *r)
{
    char file[PATH_MAX];
    struct buf b = BUF_INIT(EDIT_TEXT_MAX + 1024);
    if (!know(h) || !place(h, file, NULL))
        return;
    if (!r->token[0]) {
        unlink(file);
        return;
    }
    buf_addf(&b, "%s %d %" PRIu64 " %s\n", r->token, (int)r->kind, r->state, r->sum);
    if (buf_adds(&b, buf_str(&r->before)) == 0)
        write_file(h, file, "last", buf_str(&b));
    buf_release(&b);
}

const struct kept_record *kept_begun(struct edits *h, const char *token,
                                     enum edit_kind kind)
{
    if (!know(h) || !h->has_begun)
        return NULL;
    h->has_begun = false;
    bool same = token && strcmp(h->begun.token, token) == 0 && h->begun.kind == kind;
    return same ? &h->begun : NULL;
}
