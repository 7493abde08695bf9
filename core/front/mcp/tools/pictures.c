/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/pictures.h"

#include "base/enc.h"
#include "front/mcp/tools/state.h"
#include "setup/sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAID_MAX = 4096, BYTES_MAX = 1 << 20 };

void pictures_init(struct pictures *p)
{
    *p = (struct pictures){.n = 0};
    buf_init(&p->said, SAID_MAX);
}

void pictures_release(struct pictures *p) { buf_release(&p->said); }

/* Reads the size of a PNG from its first chunk (RFC 2083 section 11.2.2). */
static bool png_size(struct str bytes, unsigned *width, unsigned *height)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    if (bytes.n < 24 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0)
        return false;
    *width = *height = 0;
    for (int i = 16; i < 20; i++) {
        *width = *width << 8 | p[i];
        *height = *height << 8 | p[i + 4];
    }
    return true;
}

/* ---- its file ---- */

/* Whether this user may go through the folder. */
static bool may_pass(const struct stat *st, const struct picture_reader *r)
{
    mode_t bit = st->st_uid == r->uid   ? S_IXUSR
                 : st->st_gid == r->gid ? S_IXGRP
                                        : S_IXOTH;
    return r->uid == 0 || (st->st_mode & bit);
}

/* Whether this user may go through every folder of the path. */
static bool reaches(const char *path, const struct picture_reader *r)
{
    char folder[PATH_MAX];
    struct stat st;
    for (const char *c = strchr(path, '/'); c; c = strchr(c + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", c == path ? 1 : (int)(c - path), path);
        if (stat(folder, &st) < 0 || !may_pass(&st, r))
            return false;
    }
    return true;
}

bool picture_write(const char *path, struct str bytes, const struct picture_reader *r)
{
    if (r->other && !reaches(path, r))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool good = write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n &&
                (!r->other || fchown(fd, r->uid, r->gid) == 0);
    close(fd);
    if (!good)
        unlink(path);
    return good;
}

/* Writes the picture's file in the state directory; path "" if that fails. */
static void store(struct engine *en, struct str session, uint64_t cell, unsigned n,
                  const char *end, struct str bytes, char *path, size_t size)
{
    struct err e = ERR_INIT;
    struct sandbox_place place;
    char dir[256], number[16] = "";
    path[0] = 0;
    if (sandbox_place(en->sandbox, session, &place, &e) < 0 ||
        engine_state_folder(en, "pictures", 0711, dir, sizeof(dir), &e) < 0 ||
        (place.as_user && chmod(dir, 0711) < 0))
        return;
    if (n)
        snprintf(number, sizeof(number), "-%u", n + 1);
    int len = snprintf(path, size, "%s/cell-%llu%s.%s", dir, (unsigned long long)cell,
                       number, end);
    struct picture_reader r = {place.as_user, place.uid, place.gid};
    if (len < 0 || (size_t)len >= size || !picture_write(path, bytes, &r))
        path[0] = 0;
}

void pictures_take(struct pictures *p, struct engine *en, struct str session,
                   uint64_t cell, struct str url)
{
    static const char *const types[][2] = {
        {"image/png", "png"}, {"image/jpeg", "jpeg"}, {"image/gif", "gif"}};
    struct buf bytes = BUF_INIT(BYTES_MAX);
    struct str base64 = url, head = str_cut(&base64, ',');
    unsigned width, height;
    char path[400];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_find(head, str_of(types[i][0])) < 0 || dec_base64(&bytes, base64) < 0)
            continue;
        if (!png_size(buf_str(&bytes), &width, &height))
            width = height = 0;
        bool small = base64.n <= TOOL_PICTURE_MAX && p->n < TOOL_PICTURES;
        store(en, session, cell, p->seen, types[i][1], buf_str(&bytes), path,
              sizeof(path));
        state_picture(&p->said, width, height, small, path);
        if (small)
            p->list[p->n++] = (struct tool_picture){base64, types[i][0]};
        p->seen++;
        break;
    }
    buf_release(&bytes);
}
