/* SPDX-License-Identifier: MIT */
/* A folder to be taken along: snapshot of fileact.c. */
#include "archive/tar_write.h"
#include "file/fileact_own.h"
#include "text/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : "root";
}

/* The same members by their names. Takes o. */
static struct json *sorted(struct json *o)
{
    struct json *out = json_object();
    while (json_count(o) > 0) {
        const char *least = NULL;
        for (struct json *m = json_first(o); m; m = json_next(m)) {
            if (!least || strcmp(json_name(m), least) < 0)
                least = json_name(m);
        }
        char name[64];
        snprintf(name, sizeof(name), "%s", least);
        struct json *value = json_take(o, name);
        if (!value)
            break; /* the name was cut: it is not one of ours */
        json_put(out, name, value);
    }
    json_free(o);
    return out;
}

/* The report: the members that were given, the number of files and their bytes. */
static int put_manifest(struct fa *f, const struct fa_tar_rules *r, struct buf *out,
                        struct err *e)
{
    char name[2 * NAME_MAX + 2];
    struct buf text = BUF_INIT(FILEACT_TEXT_MAX);
    struct json *about = json_parse(fa_str(f, "about", "{}"), e);
    if (!about)
        return -1;
    json_put_int(about, "file_count", (int64_t)f->files);
    json_put_int(about, "total_bytes", (int64_t)f->bytes);
    about = sorted(about);
    json_print(&text, about);
    json_free(about);
    snprintf(name, sizeof(name), "%s/%.*s", r->root, STR_ARG(fa_str(f, "manifest", "")));
    struct tar_entry x = {.name = str_of(name),
                          .type = TAR_FILE,
                          .size = text.n,
                          .mode = 0644,
                          .uid = geteuid(),
                          .gid = getegid(),
                          .mtime = time(NULL)};
    int rc = tar_add_file(out, &x, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

int fa_snapshot(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct str manifest = fa_str(f, "manifest", "");
    struct stat st;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    if (manifest.n > NAME_MAX || str_chr(manifest, '/') >= 0)
        return err_set(e, ERR_INVALID, "manifest must be the name of a file");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fa_fail(e, errno, "pack", path);
    bool taken = manifest.n > 0 && fstatat(fd, manifest.p, &st, AT_SYMLINK_NOFOLLOW) == 0;
    struct ignore *ignore = ignore_new(fa_str(f, "exclude", ""));
    struct fa_tar_rules rules = {.root = base_of(path),
                                 .ignore = ignore,
                                 .no_links = true,
                                 .no_secrets = true,
                                 .last = manifest.n > 0 && !taken ? put_manifest : NULL};
    int rc = fa_tar_write(f, fd, path, f->c->out, true, &rules, e);
    ignore_free(ignore);
    close(fd);
    return rc;
}
