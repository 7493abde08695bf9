/* SPDX-License-Identifier: MIT */
/*
 * Links beside the binary, for programs that it stands in for. A program of that name in
 * any folder of the image's PATH stays the one that is found, unless force is set.
 */
#include "base/xalloc.h"
#include "image/own.h"

#include <stdlib.h>

/* Of engines, for an image without PATH. */
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool has_name(struct str list, struct str name)
{
    while (list.n > 0) {
        if (str_eq(str_cut(&list, ','), name))
            return true;
    }
    return false;
}

static struct str path_of(const struct json *inner)
{
    struct str path = STR(PATH_DEFAULT);
    for (const struct json *j = json_first(json_get(inner, "Env")); j; j = json_next(j)) {
        struct str one = json_str_value(j, "");
        if (str_starts(one, STR("PATH=")))
            path = str_sub(one, 5, one.n - 5);
    }
    return path;
}

/* Takes the folders of PATH, without the binary's own. */
static int take_path(struct image_links *k, struct str path, struct str own,
                     struct err *e)
{
    bool on_path = false;
    while (path.n > 0) {
        struct str dir = str_cut(&path, ':');
        if (!str_starts(dir, STR("/")))
            continue; /* of the working directory at that time */
        while (dir.n && dir.p[dir.n - 1] == '/')
            dir.n--;
        if (str_eq(dir, own)) {
            on_path = true;
            continue;
        }
        if (k->dirs_n == IMAGE_PATH_MAX)
            return err_set(e, ERR_LIMIT, "the image's PATH has more than %d folders",
                           IMAGE_PATH_MAX);
        k->dirs[k->dirs_n++] = dir;
        k->before += !on_path;
    }
    return 0;
}

int links_begin(struct image_links *k, const struct image_spec *s,
                const struct json *config, struct err *e)
{
    const struct json *inner = json_get(config, "config"),
                      *labels = json_get(inner, "Labels");
    struct str as = str_of(s->as ? s->as : ""), dest = str_of(s->dest);
    struct str own = str_n(dest.p, (size_t)(strrchr(dest.p, '/') - dest.p));
    *k = (struct image_links){.spec = s, .was = json_str(labels, "od.path", "")};
    struct str had = str_eq(k->was, dest) ? json_str(labels, "od.as", "") : STR("");
    buf_fill(k->label, sizeof(k->label), "%.*s", STR_ARG(had));
    while (as.n > 0) {
        struct str name = str_cut(&as, ',');
        if (has_name(had, name) || has_name(str_n(s->as, (size_t)(name.p - s->as)), name))
            continue;
        if (k->n == IMAGE_LINKS_MAX)
            return err_set(e, ERR_LIMIT, "more than %d links", IMAGE_LINKS_MAX);
        k->names[k->n++] = name;
    }
    if (k->n && take_path(k, path_of(inner), own, e) < 0)
        return -1;
    k->places.n = 1 + k->n * (1 + k->dirs_n);
    k->places.at = xcalloc(k->places.n, sizeof(*k->places.at));
    for (unsigned i = 1; i < k->places.n; i++) {
        unsigned d = (i - 1) % (1 + k->dirs_n);
        struct str dir = d ? k->dirs[d - 1] : own;
        struct image_place *l = &k->places.at[i];
        buf_fill(l->place, sizeof(l->place), "%.*s/%.*s", STR_ARG(dir),
                 STR_ARG(k->names[(i - 1) / (1 + k->dirs_n)]));
    }
    return 0;
}

void links_end(struct image_links *k) { free(k->places.at); }

/* ---- what is there ---- */

static const struct image_part *last_of(const struct image_place *l)
{
    return l->parts_n ? &l->parts[l->parts_n - 1] : NULL;
}

static bool is_od(const struct image_links *k, const struct image_part *p)
{
    char to[2 * IMAGE_PLACE_MAX + 4];
    const char *slash = strrchr(p->path, '/');
    int n = *p->link == '/' || !slash ? 0 : (int)(slash + 1 - p->path);
    if (p->kind != IMAGE_SYMLINK)
        return p->ours;
    buf_fill(to, sizeof(to), "/%.*s%s", n, p->path, p->link + (*p->link == '/'));
    return strcmp(to, k->spec->dest) == 0 || str_eq(str_of(to), k->was) ||
           strcmp(to + 1, last_of(&k->places.at[0])->path) == 0;
}

/* Whether a shell would start another program there. */
static bool is_program(const struct image_links *k, const struct image_part *p)
{
    return p &&
           (p->kind == IMAGE_SYMLINK || (p->kind == IMAGE_FILE && (p->mode & 0111))) &&
           !is_od(k, p);
}

/* Returns why the link is not made, or does not count, and where; NULL: nothing is. */
static const char *obstacle(struct image_links *k, unsigned i,
                            const struct image_part **where)
{
    static const char foreign[] = "exists and is not ours: left unchanged";
    bool force = k->spec->force;
    const struct image_place *own = &k->places.at[1 + i * (1 + k->dirs_n)];
    const struct image_part *p = *where = last_of(own);
    k->make[i] = p && strcmp(p->path, last_of(&k->places.at[0])->path) != 0;
    if (!k->make[i])
        return p ? NULL : "the name is too long";
    k->make[i] = force ? p->kind != IMAGE_FOLDER
                       : p->kind == IMAGE_NOTHING || is_od(k, p);
    if (!k->make[i])
        return force ? "is a folder: left unchanged" : foreign;
    for (unsigned d = 1; d <= (force ? k->before : k->dirs_n); d++) {
        *where = last_of(&own[d]);
        if (!is_program(k, *where) || strcmp((*where)->path, p->path) == 0)
            continue;
        k->make[i] = force;
        return force ? "comes first on the image's PATH" : foreign;
    }
    *where = p;
    k->make[i] = force || k->spec->no_unpack || !k->places.blind;
    return k->make[i] ? NULL
                      : "left out, since not every layer can be read: --force makes it";
}

unsigned links_judge(struct image_links *k, const char *platform)
{
    unsigned todo = 0;
    const char *od = strrchr(k->spec->dest, '/') + 1;
    for (unsigned i = 0; i < k->n; i++) {
        const struct image_part *where = NULL;
        const char *why = obstacle(k, i, &where);
        if (why) {
            k->left++;
            image_say(k->spec, "%s: /%.300s %s", platform, where ? where->path : "", why);
        }
        if (!k->make[i])
            continue;
        todo++;
        image_say(k->spec, "%s: /%.300s -> %s", platform,
                  last_of(&k->places.at[1 + i * (1 + k->dirs_n)])->path, od);
        size_t n = strlen(k->label);
        buf_fill(k->label + n, sizeof(k->label) - n, "%s%.*s", n ? "," : "",
                 STR_ARG(k->names[i]));
    }
    return todo;
}

int links_tar(const struct image_links *k, struct buf *out, struct err *e)
{
    const char *place = last_of(&k->places.at[0])->path, *slash = strrchr(place, '/');
    for (unsigned i = 0; i < k->n; i++) {
        struct tar_entry x = {.type = TAR_SYMLINK, .mode = 0777};
        if (!k->make[i])
            continue;
        x.name = str_of(last_of(&k->places.at[1 + i * (1 + k->dirs_n)])->path);
        x.link = str_of(slash ? slash + 1 : place);
        if (tar_add_header(out, &x, e) < 0)
            return -1;
    }
    return 0;
}

int links_say_left(const struct image_spec *s, unsigned left, const char *out,
                   struct err *e)
{
    if (!left)
        return 0;
    return err_set(e, ERR_EXISTS, "%.300s is written, but not all links of --as %.200s",
                   out, s->as);
}
