/* SPDX-License-Identifier: MIT */
/*
 * Finds what layers have on the path of the binary (image-spec, "layer"). The new layer
 * has an entry for each folder of that path, equal to the image's own: without the entry
 * an engine makes the folder with other permissions, and an entry where the image has a
 * link would hide the link's target. So the names of every layer are read, from the first
 * to the last, and the state of a few paths is kept. If a folder proves to be a link, the
 * path is another one, and the search for that path begins again.
 *
 * In plain layers only the headers are read; compressed ones must be unpacked, which
 * takes ten times as long as all the rest. So those have a limit.
 */
#include "archive/zip_gz.h"
#include "base/xalloc.h"
#include "image/own.h"
#include "os/self.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 64 << 10, LINKS_MAX = 8, MAGIC = 4 };

/* ---- the bytes of a layer ---- */

struct bytes {
    const struct image_file *file;
    uint64_t at;
    struct gunzip *gz; /* owned; NULL: it is plain */
};

bool layer_is_gzip(const struct image_file *layer)
{
    unsigned char m[MAGIC];
    struct err e;
    return image_file_read(layer, 0, m, MAGIC, &e) >= 2 && m[0] == 0x1f && m[1] == 0x8b;
}

/* RFC 8878, section 3.1.1, and the skippable frames that may come first. */
static bool is_zstd(const struct image_file *layer)
{
    unsigned char m[MAGIC];
    struct err e;
    if (image_file_read(layer, 0, m, MAGIC, &e) != MAGIC)
        return false;
    return (m[0] == 0x28 && m[1] == 0xb5 && m[2] == 0x2f && m[3] == 0xfd) ||
           ((m[0] & 0xf0) == 0x50 && m[1] == 0x2a && m[2] == 0x4d && m[3] == 0x18);
}

static ssize_t packed_read(void *arg, void *p, size_t n, struct err *e)
{
    struct bytes *b = arg;
    ssize_t got = image_file_read(b->file, b->at, p, n, e);
    if (got > 0)
        b->at += (uint64_t)got;
    return got;
}

static ssize_t bytes_read(void *arg, void *p, size_t n, struct err *e)
{
    struct bytes *b = arg;
    return b->gz ? gunzip_read(b->gz, p, n, e) : packed_read(b, p, n, e);
}

static int bytes_init(struct bytes *b, const struct image_file *file, struct err *e)
{
    *b = (struct bytes){.file = file};
    if (layer_is_gzip(file) && !(b->gz = gunzip_new(packed_read, b, e)))
        return -1;
    return 0;
}

static int bytes_skip(void *arg, uint64_t n, struct err *e)
{
    struct bytes *b = arg;
    (void)e;
    b->at = n > INT64_MAX - b->at ? INT64_MAX : b->at + n;
    return 0;
}

int layer_hash(const struct image_file *layer, struct hash *h, struct err *e)
{
    struct bytes b;
    char *block = xcalloc(1, BLOCK);
    ssize_t n = -1;
    if (bytes_init(&b, layer, e) == 0) {
        while ((n = bytes_read(&b, block, BLOCK, e)) > 0)
            hash_add(h, str_n(block, (size_t)n));
    }
    gunzip_free(b.gz);
    free(block);
    return (int)n;
}

/* ---- paths ---- */

/*
 * Writes the path without empty parts and `.`. Returns -1 if it has `..`, or is too long.
 */
static int clean(struct str name, char out[IMAGE_PLACE_MAX + 1], bool *too_long)
{
    size_t n = 0;
    *too_long = false;
    while (name.n > 0) {
        struct str part = str_cut(&name, '/');
        if (str_eq(part, STR("..")))
            return -1;
        if (!part.n || str_eq(part, STR(".")))
            continue;
        *too_long = *too_long || n + part.n + 1 > IMAGE_PLACE_MAX;
        if (*too_long)
            continue;
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = 0;
    return 0;
}

/* Whether path is below dir; every path is below "". */
static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return n == 0 ? *path != 0 : strncmp(path, dir, n) == 0 && path[n] == '/';
}

static int set_parts(struct image_place *l, const char *dest, struct err *e)
{
    struct str rest = str_of(l->place);
    memset(l->parts, 0, sizeof(l->parts));
    l->parts_n = 0;
    char path[IMAGE_PLACE_MAX + 1] = "";
    size_t n = 0;
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        if (!part.n || str_eq(part, STR(".")))
            continue;
        if (l->parts_n == IMAGE_PLACE_DEPTH || n + part.n + 1 > IMAGE_PLACE_MAX ||
            str_eq(part, STR("..")))
            return err_set(e, ERR_INVALID, "%.200s cannot be the path of a program: %s",
                           dest, "it is too long, or has .. in it");
        if (n)
            path[n++] = '/';
        memcpy(path + n, part.p, part.n);
        n += part.n;
        path[n] = 0;
        memcpy(l->parts[l->parts_n++].path, path, n + 1);
    }
    return l->parts_n
               ? 0
               : err_set(e, ERR_INVALID, "%.200s cannot be the path of a program", dest);
}

/* ---- a layer ---- */

static void forget(struct image_part *p)
{
    p->kind = IMAGE_NOTHING;
    p->ours = false;
}

/* Part i of all paths that are looked for in this round; NULL: there is none. */
static struct image_part *part_at(const struct image_places *s, unsigned i)
{
    struct image_place *l = &s->at[i / IMAGE_PLACE_DEPTH];
    return l->found || i % IMAGE_PLACE_DEPTH >= l->parts_n
               ? NULL
               : &l->parts[i % IMAGE_PLACE_DEPTH];
}

/* Removes path and what is below it: of lower layers only, or of all. */
static void remove_at(const struct image_places *s, const char *path, bool itself,
                      bool below, unsigned layer)
{
    for (unsigned i = 0; i < s->n * IMAGE_PLACE_DEPTH; i++) {
        struct image_part *p = part_at(s, i);
        if (p && p->layer <= layer &&
            ((itself && strcmp(p->path, path) == 0) ||
             (below && is_below(p->path, path))))
            forget(p);
    }
}

static enum image_kind kind_of(enum tar_type type)
{
    return type == TAR_FOLDER    ? IMAGE_FOLDER
           : type == TAR_SYMLINK ? IMAGE_SYMLINK
                                 : IMAGE_FILE;
}

/* Reads the beginning of a file: whether it is an od. */
static int read_mark(struct tar_reader *r, const struct tar_entry *x, bool *ours,
                     struct err *e)
{
    char page[SELF_MARK_IN];
    size_t have = 0;
    ssize_t n;
    if (x->type != TAR_FILE || x->sparse)
        return 0;
    while (have < sizeof(page) &&
           (n = tar_read(r, page + have, sizeof(page) - have, e)) != 0) {
        if (n < 0)
            return -1;
        have += (size_t)n;
    }
    *ours = self_has_mark(page, have);
    return 0;
}

static void set_part(struct image_part *p, const struct tar_entry *x, bool ours,
                     unsigned layer)
{
    p->kind = kind_of(x->type);
    p->ours = ours;
    p->layer = layer;
    p->mode = x->mode;
    p->uid = x->uid;
    p->gid = x->gid;
    p->mtime = x->mtime;
    /* A target that is too long is cut, and then leads nowhere. */
    snprintf(p->link, sizeof(p->link), "%.*s", STR_ARG(x->link));
}

/* Notes the folders that exist since something is in them. */
static void imply(const struct image_places *s, const char *path, unsigned layer)
{
    for (unsigned i = 0; i < s->n * IMAGE_PLACE_DEPTH; i++) {
        struct image_part *p = part_at(s, i);
        if (!p || p->kind != IMAGE_NOTHING || !is_below(path, p->path))
            continue;
        p->kind = IMAGE_FOLDER;
        p->layer = layer;
        p->mode = 0755;
        p->uid = p->gid = 0;
        p->mtime = 0;
    }
}

/* "layer": deleted files are entries with a prefix, of no content. */
static int take_entry(const struct image_places *s, struct tar_reader *r,
                      const struct tar_entry *x, unsigned layer, struct err *e)
{
    char path[IMAGE_PLACE_MAX + 1];
    bool too_long;
    if (clean(x->name, path, &too_long) < 0)
        return err_set(e, ERR_DENIED, "its entry %.200s leads out of the image",
                       x->name.p);
    if (too_long)
        return 0; /* not a path that is looked for */
    char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (strcmp(base, ".wh..wh..opq") == 0) {
        *(slash ? slash : path) = 0;
        if (layer > 0)
            remove_at(s, path, false, true, layer - 1);
        return 0;
    }
    if (strncmp(base, ".wh.", 4) == 0) {
        memmove(base, base + 4, strlen(base + 4) + 1);
        remove_at(s, path, true, true, layer);
        return 0;
    }
    if (*path && x->type != TAR_FOLDER)
        remove_at(s, path, false, true, layer);
    bool known = false, ours = false;
    for (unsigned i = 0; i < s->n * IMAGE_PLACE_DEPTH; i++) {
        struct image_part *p = part_at(s, i);
        if (!p || strcmp(p->path, path) != 0)
            continue;
        if (!known && read_mark(r, x, &ours, e) < 0)
            return -1;
        known = true;
        set_part(p, x, ours, layer);
    }
    imply(s, path, layer);
    return 0;
}

static int read_layer(struct image_places *s, const struct image_file *file,
                      unsigned layer, struct err *e)
{
    if (is_zstd(file)) {
        s->blind = true;
        return 0;
    }
    struct bytes b;
    struct tar_entry x;
    int rc = bytes_init(&b, file, e);
    struct tar_source source = {bytes_read, b.gz ? NULL : bytes_skip, &b};
    struct tar_reader *r = tar_reader_new(&source);
    while (rc >= 0 && (rc = tar_next(r, &x, e)) > 0)
        rc = take_entry(s, r, &x, layer, e);
    tar_reader_free(r);
    gunzip_free(b.gz);
    return rc;
}

/* ---- all of them ---- */

static int read_layers(struct image_places *s, const struct image_file *layers,
                       unsigned n, struct err *e)
{
    uint64_t left = s->packed_max;
    s->blind = s->skipped = false;
    for (unsigned i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        if (layers[i].fd < 0)
            s->blind = true; /* it is elsewhere */
        else if (layer_is_gzip(&layers[i]) && layers[i].size > left)
            s->blind = s->skipped = true;
        else if (read_layer(s, &layers[i], i, &why) < 0)
            return err_set(e, why.code, "layer %u of %u: %.400s", i + 1, n, why.text);
        else if (layers[i].fd >= 0 && layer_is_gzip(&layers[i]))
            left -= layers[i].size;
    }
    return 0;
}

/*
 * Sets the place if parts[i] is a link: its target and the rest of the path. Returns -1
 * if that is too long.
 */
static int through(struct image_place *l, unsigned i)
{
    const char *link = l->parts[i].link;
    const char *rest = l->parts[l->parts_n - 1].path + strlen(l->parts[i].path);
    char dir[IMAGE_PLACE_MAX + 1] = "";
    if (*link != '/' && i > 0)
        memcpy(dir, l->parts[i - 1].path, strlen(l->parts[i - 1].path) + 1);
    while (*link && *link != '/' && strncmp(link, "..", 2) == 0 &&
           (link[2] == '/' || !link[2])) {
        char *slash = strrchr(dir, '/');
        *(slash ? slash : dir) = 0;
        link += link[2] ? 3 : 2;
        while (*link == '/')
            link++;
    }
    return buf_fill(l->place, sizeof(l->place), "/%s/%s%s", dir, link, rest) ? 0 : -1;
}

/*
 * After a round: the path is found, or goes on elsewhere. Returns -1 and sets *e if it
 * leads nowhere.
 */
static int follow(struct image_place *l, const char *dest, struct err *e)
{
    unsigned i = 0;
    while (i + 1 < l->parts_n && l->parts[i].kind != IMAGE_SYMLINK &&
           l->parts[i].kind != IMAGE_FILE)
        i++;
    l->found = i + 1 == l->parts_n;
    if (l->found)
        return 0;
    if (l->parts[i].kind == IMAGE_FILE)
        return err_set(e, ERR_EXISTS,
                       "the image has a file at /%.200s, where %.200s is to be",
                       l->parts[i].path, dest);
    if (through(l, i) < 0)
        return err_set(e, ERR_INVALID, "%.200s leads through too long a link", dest);
    return set_parts(l, dest, e);
}

/* Takes what was found at the same place by another path, which saves a round. */
static void take_same(const struct image_places *s, struct image_place *l)
{
    for (unsigned i = 0; i < s->n && !l->found; i++) {
        const struct image_place *o = &s->at[i];
        if (o->found && o->parts_n && o->parts_n == l->parts_n &&
            strcmp(o->parts[o->parts_n - 1].path, l->parts[l->parts_n - 1].path) == 0)
            *l = *o;
    }
}

/* The first path must lead somewhere; another one that does not has no parts then. */
static int settle(struct image_place *l, bool must, int rc, const struct err *why,
                  struct err *e)
{
    if (rc == 0)
        return 0;
    l->found = true;
    l->parts_n = 0;
    return must ? err_set(e, why->code, "%s", why->text) : 0;
}

int layers_find(struct image_places *s, const char *dest, const struct image_file *layers,
                unsigned n, struct err *e)
{
    struct err why = ERR_INIT;
    bool more = true;
    buf_fill(s->at[0].place, sizeof(s->at[0].place), "%s", dest);
    for (unsigned i = 0; i < s->n; i++) {
        struct image_place *l = &s->at[i];
        l->found = false;
        if (settle(l, i == 0, set_parts(l, dest, &why), &why, e) < 0)
            return -1;
    }
    for (int links = 0; more && links <= LINKS_MAX; links++) {
        if (read_layers(s, layers, n, e) < 0)
            return -1;
        more = false;
        for (unsigned i = 0; i < s->n; i++) {
            struct image_place *l = &s->at[i];
            if (!l->found && settle(l, i == 0, follow(l, dest, &why), &why, e) < 0)
                return -1;
        }
        for (unsigned i = 0; i < s->n; i++) {
            take_same(s, &s->at[i]);
            more = more || !s->at[i].found;
        }
    }
    err_set(&why, ERR_INVALID, "%.200s leads through too many links in the image", dest);
    for (unsigned i = 0; i < s->n; i++) {
        if (!s->at[i].found && settle(&s->at[i], i == 0, -1, &why, e) < 0)
            return -1;
    }
    return 0;
}
