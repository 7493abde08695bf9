/* SPDX-License-Identifier: MIT */
/* Kernelspecs: what the image has, and the embedded kernel. */
#include "front/jupyter/own.h"

#include "kernel/host/find.h"
#include "setup/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPEC_MAX = 256 << 10 };

/* A link in the folder, which an agent may have made, could lead to any file. */
#define OPEN_SPEC (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)

static void find(const struct jupyter *f, struct kernel_list *l)
{
    kernel_find(l, f->en->env, sandbox_cwd(f->en->sandbox, STR("main")));
}

int nb_spec_name(const struct jupyter *f, struct str name, struct buf *out, struct err *e)
{
    struct kernel_list l;
    find(f, &l);
    const struct kernel_spec *s = kernel_choose(&l, name, KERNEL_ANY, e);
    if (s)
        buf_addz(out, s->name);
    kernel_list_release(&l);
    return s ? 0 : -1;
}

/* Its kernel.json; NULL: it has none. */
static struct json *read_spec(const struct kernel_spec *s)
{
    char path[PATH_MAX];
    struct buf text = BUF_INIT(SPEC_MAX);
    struct err e = ERR_INIT;
    snprintf(path, sizeof(path), "%s/kernel.json", s->where);
    int fd = s->embedded ? -1 : open(path, OPEN_SPEC);
    char *room = fd < 0 ? NULL : buf_reserve(&text, SPEC_MAX - 1);
    ssize_t n = room ? read(fd, room, SPEC_MAX - 1) : -1;
    buf_commit(&text, n > 0 ? (size_t)n : 0);
    if (fd >= 0)
        close(fd);
    struct json *j = n > 0 ? json_parse(buf_str(&text), &e) : NULL;
    buf_release(&text);
    if (j && !json_is_object(j)) {
        json_free(j);
        j = NULL;
    }
    return j;
}

/* The files that clients show. */
static bool is_resource(const char *name)
{
    return strncmp(name, "logo-", 5) == 0 || strcmp(name, "kernel.js") == 0 ||
           strcmp(name, "kernel.css") == 0;
}

static struct json *resources(const struct jupyter *f, const struct kernel_spec *s)
{
    struct json *j = json_object();
    DIR *d = s->embedded ? NULL : opendir(s->where);
    struct dirent *one;
    while (d && (one = readdir(d))) {
        const char *name = one->d_name;
        if (!is_resource(name))
            continue;
        struct buf at = BUF_INIT(PATH_MAX), key = BUF_INIT(256);
        buf_addf(&at, "%s/kernelspecs/%s/%s", f->base, s->name, name);
        const char *dot = name[0] == 'l' ? strrchr(name, '.') : NULL;
        buf_add(&key, name, dot ? (size_t)(dot - name) : strlen(name));
        json_put_str(j, buf_z(&key), buf_str(&at));
        buf_release(&at);
        buf_release(&key);
    }
    if (d)
        closedir(d);
    return j;
}

static void put_default(struct json *spec, const char *name, struct json *take)
{
    if (json_has(spec, name))
        json_free(take);
    else
        json_put(spec, name, take);
}

static struct json *print(const struct jupyter *f, const struct kernel_spec *s)
{
    struct json *j = json_object(), *spec = read_spec(s), *argv = json_array();
    if (!spec)
        spec = json_object();
    for (int i = 0; s->argv && s->argv[i]; i++)
        json_push_str(argv, str_of(s->argv[i]));
    put_default(spec, "argv", argv);
    put_default(spec, "env", json_object());
    put_default(spec, "metadata", json_object());
    if (!json_has(spec, "display_name"))
        json_put_z(spec, "display_name", s->display);
    if (!json_has(spec, "language"))
        json_put_z(spec, "language", s->language);
    if (!json_has(spec, "interrupt_mode"))
        json_put_z(spec, "interrupt_mode", s->by_message ? "message" : "signal");
    json_put_z(j, "name", s->name);
    json_put(j, "spec", spec);
    json_put(j, "resources", resources(f, s));
    return j;
}

void nb_get_specs(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *j = json_object(), *all = json_object();
    struct kernel_list l;
    struct err e = ERR_INIT;
    find(f, &l);
    const struct kernel_spec *first = kernel_choose(&l, STR(""), KERNEL_ANY, &e);
    json_put_z(j, "default", first ? first->name : "");
    for (int i = 0; i < l.n; i++)
        json_put(all, l.v[i].name, print(f, &l.v[i]));
    json_put(j, "kernelspecs", all);
    kernel_list_release(&l);
    nb_json(r, 200, j);
}

/* Returns the one that r names; NULL after answering 404. */
static const struct kernel_spec *named(struct req *r, const struct kernel_list *l)
{
    struct str name = req_param(r, "name");
    for (int i = 0; i < l->n; i++) {
        if (str_eq(name, str_of(l->v[i].name)))
            return &l->v[i];
    }
    nb_failf(r, 404, "Kernel spec %.*s not found", (int)(name.n < 80 ? name.n : 80),
             name.p);
    return NULL;
}

void nb_get_spec(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct kernel_list l;
    find(f, &l);
    const struct kernel_spec *s = named(r, &l);
    if (s)
        nb_json(r, 200, print(f, s));
    kernel_list_release(&l);
}

static const char *type_of(struct str name)
{
    static const char *const types[][2] = {{".png", "image/png"},
                                           {".svg", "image/svg+xml"},
                                           {".js", "text/javascript"},
                                           {".css", "text/css"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_ends(name, str_of(types[i][0])))
            return types[i][1];
    }
    return "application/octet-stream";
}

void nb_get_spec_file(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct str file = req_param(r, "file");
    struct kernel_list l;
    char path[PATH_MAX] = "", name[NAME_MAX + 1];
    struct stat st;
    find(f, &l);
    const struct kernel_spec *s = named(r, &l);
    bool known = str_chr(file, '/') < 0 && str_chr(file, 0) < 0 &&
                 buf_fill(name, sizeof(name), "%.*s", STR_ARG(file)) && is_resource(name);
    if (s && known && !s->embedded)
        snprintf(path, sizeof(path), "%s/%s", s->where, name);
    bool found = s != NULL;
    kernel_list_release(&l);
    if (!found)
        return;
    int fd = path[0] ? open(path, OPEN_SPEC) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        req_answer_file(r, fd, type_of(file));
        return;
    }
    if (fd >= 0)
        close(fd);
    nb_fail(r, 404, "The kernelspec has no such file");
}
