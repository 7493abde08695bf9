/* SPDX-License-Identifier: MIT */
/* Finding kernels. The order is jupyter_core's (jupyter --paths). */
#include "kernel/host/find.h"

#include "base/json.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPEC_MAX = 256 << 10, KERNELS_MAX = 256, PREFIXES_MAX = 64, ARGS_MAX = 64 };

/* Prefixes of interpreters, which have PREFIX/bin, PREFIX/share and PREFIX/lib. */
struct prefixes {
    char *v[PREFIXES_MAX];
    int n;
};

static const char *from_env(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; *env; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return (*env)[n + 1] ? *env + n + 1 : NULL;
    }
    return NULL;
}

static bool there(const char *path) { return access(path, F_OK) == 0; }

static bool can_run(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void free_strings(char **v)
{
    for (int i = 0; v && v[i]; i++)
        free(v[i]);
    free(v);
}

static void release_spec(struct kernel_spec *s)
{
    free(s->name);
    free(s->display);
    free(s->language);
    free(s->where);
    free(s->interpreter);
    free_strings(s->argv);
    free_strings(s->env);
}

void kernel_list_release(struct kernel_list *l)
{
    for (int i = 0; i < l->n; i++)
        release_spec(&l->v[i]);
    free(l->v);
    buf_release(&l->notes);
    buf_release(&l->looked);
    *l = (struct kernel_list){0};
}

static struct kernel_spec *named(const struct kernel_list *l, struct str name)
{
    for (int i = 0; i < l->n; i++) {
        if (strlen(l->v[i].name) == name.n &&
            strncasecmp(l->v[i].name, name.p, name.n) == 0)
            return &l->v[i];
    }
    return NULL;
}

static void add(struct kernel_list *l, const struct kernel_spec *take)
{
    l->v = xrealloc(l->v, (size_t)l->n + 1, sizeof(*l->v));
    l->v[l->n++] = *take;
}

/* ---- kernel.json ---- */

static int read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int r = -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        for (;;) {
            char *p = buf_reserve(out, 4096);
            ssize_t n = p ? read(fd, p, 4096) : -1;
            if (n <= 0) {
                r = (int)n;
                break;
            }
            buf_commit(out, (size_t)n);
        }
    }
    if (fd >= 0)
        close(fd);
    return r;
}

static char **strings_of(const struct json *array, int *count)
{
    char **v = xcalloc(ARGS_MAX + 1, sizeof(*v));
    int n = 0;
    for (struct json *c = json_first(array); c && n < ARGS_MAX; c = json_next(c)) {
        struct str s = json_str_value(c, "");
        v[n++] = xstrndup(s.p, s.n);
    }
    *count = n;
    return v;
}

static bool in_name(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/* Replaces $NAME and ${NAME} by the environment's values; unknown ones stay. */
static void add_expanded(struct buf *out, struct str text, char *const *env)
{
    for (size_t i = 0; i < text.n; i++) {
        size_t at = i + 1, end;
        bool braces = at < text.n && text.p[at] == '{';
        at += braces;
        for (end = at; end < text.n && in_name(text.p[end], end == at);)
            end++;
        char name[64];
        if (text.p[i] != '$' || end == at || end - at >= sizeof(name) ||
            (braces && (end == text.n || text.p[end] != '}'))) {
            buf_addc(out, text.p[i]);
            continue;
        }
        memcpy(name, text.p + at, end - at);
        name[end - at] = 0;
        const char *value = from_env(env, name);
        if (value)
            buf_addz(out, value);
        else
            buf_adds(out, str_sub(text, i, end + braces - i));
        i = end + braces - 1;
    }
}

static char **env_of(const struct json *object, char *const *env)
{
    char **v = xcalloc((size_t)json_count(object) + 1, sizeof(*v));
    int n = 0;
    for (struct json *c = json_first(object); c; c = json_next(c)) {
        struct buf b = BUF_INIT(SIZE_MAX); /* of a file and our environment */
        buf_addf(&b, "%s=", json_name(c));
        add_expanded(&b, json_str_value(c, ""), env);
        v[n++] = xstrdup(buf_z(&b));
        buf_release(&b);
    }
    return v;
}

/*
 * Whether word is python, python3 or python3.X, which means the spec's own interpreter.
 */
static bool is_python(const char *word)
{
    if (strncmp(word, "python", 6) != 0)
        return false;
    return word[6 + strspn(word + 6, "0123456789.")] == 0;
}

/* Returns the program of the spec; NULL if it does not exist. */
static char *program_of(const char *word, const char *prefix, char *const *env)
{
    char path[PATH_MAX];
    if (prefix && is_python(word)) {
        snprintf(path, sizeof(path), "%s/bin/%s", prefix, word);
        if (can_run(path))
            return xstrdup(path);
    }
    if (strchr(word, '/'))
        return can_run(word) ? xstrdup(word) : NULL;
    const char *dirs = from_env(env, "PATH");
    for (struct str rest = str_of(dirs ? dirs : "/usr/local/bin:/usr/bin:/bin");
         rest.n;) {
        struct str dir = str_cut(&rest, ':');
        snprintf(path, sizeof(path), "%.*s/%s", (int)dir.n, dir.p, word);
        if (dir.n && can_run(path))
            return xstrdup(path);
    }
    /* jupyter_client/manager.py, format_kernel_cmd: python is the one that runs it. */
    return strcmp(word, "python") == 0 ? program_of("python3", prefix, env) : NULL;
}

static bool well_named(const char *name)
{
    return name[0] && name[0] != '.' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789._-")] == 0;
}

/*
 * Deno's kernel, and those of the JVM, whose library of ZeroMQ (JeroMQ) takes the path of
 * an ipc socket for a port.
 */
static bool wants_tcp(const char *program, struct str language)
{
    static const char *const programs[] = {"deno", "java", "coursier", "cs", "almond"};
    static const char *const languages[] = {"java", "scala", "kotlin", "groovy",
                                            "clojure"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        if (strcmp(program, programs[i]) == 0 || str_eq(language, str_of(languages[i])))
            return true;
    }
    return false;
}

static void add_spec(struct kernel_list *l, const char *dir, const char *name,
                     const char *prefix, char *const *env)
{
    char folder[PATH_MAX + 300], path[PATH_MAX + 320];
    snprintf(folder, sizeof(folder), "%s/%s", dir, name);
    snprintf(path, sizeof(path), "%s/kernel.json", folder);
    struct buf text = BUF_INIT(SPEC_MAX);
    struct err e = ERR_INIT;
    struct json *j = NULL;
    if (!well_named(name) || named(l, str_of(name)) || l->n == KERNELS_MAX ||
        (read_file(path, &text) < 0 && !text.n)) {
        buf_release(&text);
        return;
    }
    j = json_parse(buf_str(&text), &e);
    const struct json *argv = json_get(j, "argv");
    if (!j || !json_is_array(argv) || !json_is_string(json_first(argv))) {
        buf_addf(&l->notes, "%s: %s\n", path, j ? "it has no argv" : e.text);
        goto out;
    }
    int n;
    struct kernel_spec s = {.argv = strings_of(argv, &n)};
    char *program = program_of(s.argv[0], prefix, env);
    struct str provisioner = json_str(
        json_get(json_get(j, "metadata"), "kernel_provisioner"), "provisioner_name", "");
    if (!program || (provisioner.n && !str_eq(provisioner, STR("local-provisioner")))) {
        if (program)
            buf_addf(&l->notes, "%s: it is started by %.*s\n", path, (int)provisioner.n,
                     provisioner.p);
        else
            buf_addf(&l->notes, "%s: its program %s is not there\n", path, s.argv[0]);
        free(program);
        free_strings(s.argv);
        goto out;
    }
    struct str display = json_str(j, "display_name", name);
    struct str language = json_str(j, "language", "");
    s.interpreter = xstrdup(is_python(strrchr(program, '/') + 1) ? program : "");
    free(s.argv[0]);
    s.argv[0] = program;
    s.name = xstrdup(name);
    s.display = xstrndup(display.p, display.n);
    s.language = xstrndup(language.p, language.n);
    s.where = xstrdup(folder);
    s.env = env_of(json_get(j, "env"), env);
    /* Deno dies of SIGINT, and its spec does not mention that it supports the message. */
    s.by_message = str_eq(json_str(j, "interrupt_mode", ""), STR("message")) ||
                   strcmp(strrchr(program, '/') + 1, "deno") == 0;
    s.tcp = wants_tcp(strrchr(program, '/') + 1, language);
    add(l, &s);
out:
    json_free(j);
    buf_release(&text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* dir/kernels; prefix: the interpreter's that it belongs to, or NULL. */
static void look_in(struct kernel_list *l, const char *dir, const char *prefix,
                    char *const *env)
{
    char kernels[PATH_MAX], *names[KERNELS_MAX];
    int n = 0;
    snprintf(kernels, sizeof(kernels), "%s/kernels", dir);
    buf_addf(&l->looked, "%s%s", l->looked.n ? ", " : "", kernels);
    DIR *d = opendir(kernels);
    for (struct dirent *e; d && n < KERNELS_MAX && (e = readdir(d));) {
        if (e->d_name[0] != '.')
            names[n++] = xstrdup(e->d_name);
    }
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof(*names), by_name);
    for (int i = 0; i < n; i++) {
        add_spec(l, kernels, names[i], prefix, env);
        free(names[i]);
    }
}

/* ---- interpreters ---- */

static void add_prefix(struct prefixes *p, const char *path)
{
    struct stat st;
    if (p->n == PREFIXES_MAX || !path || path[0] != '/' || stat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return;
    for (int i = 0; i < p->n; i++) {
        if (strcmp(p->v[i], path) == 0)
            return;
    }
    p->v[p->n++] = xstrdup(path);
}

static void add_below(struct prefixes *p, const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.')
            add_prefix(p, path);
    }
    if (d)
        closedir(d);
}

/*
 * Adds the folder above the bin of each python on PATH; links are followed except in a
 * venv.
 */
static void add_of_path(struct prefixes *p, char *const *env)
{
    const char *dirs = from_env(env, "PATH");
    for (struct str rest = str_of(dirs ? dirs : "/usr/local/bin:/usr/bin:/bin");
         rest.n;) {
        struct str dir = str_cut(&rest, ':');
        char path[PATH_MAX], real[PATH_MAX], venv[PATH_MAX];
        for (int i = 0; dir.n && i < 2; i++) {
            snprintf(path, sizeof(path), "%.*s/%s", (int)dir.n, dir.p,
                     i ? "python" : "python3");
            snprintf(venv, sizeof(venv), "%.*s/../pyvenv.cfg", (int)dir.n, dir.p);
            const char *file = there(venv) ? path : realpath(path, real);
            if (!can_run(path) || !file)
                continue;
            char *copy = xstrdup(file), *cut;
            for (int up = 0; up < 2 && (cut = strrchr(copy, '/')); up++)
                *cut = 0;
            add_prefix(p, copy);
            free(copy);
        }
    }
}

static void find_prefixes(struct prefixes *p, char *const *env, const char *cwd)
{
    static const char *const home_ones[] = {"miniconda3", "anaconda3", "micromamba"};
    static const char *const others[] = {"/opt/conda", "/opt/venv", "/venv"};
    const char *home = from_env(env, "HOME");
    char path[PATH_MAX];
    add_prefix(p, from_env(env, "VIRTUAL_ENV"));
    add_prefix(p, from_env(env, "CONDA_PREFIX"));
    for (int i = 0; cwd && i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", cwd, i ? "venv" : ".venv");
        add_prefix(p, path);
    }
    add_of_path(p, env);
    for (int i = 0; i < 3; i++) {
        add_prefix(p, others[i]);
        snprintf(path, sizeof(path), "%s/envs", others[i]);
        add_below(p, path);
        if (!home)
            continue;
        snprintf(path, sizeof(path), "%s/%s", home, home_ones[i]);
        add_prefix(p, path);
        strncat(path, "/envs", sizeof(path) - strlen(path) - 1);
        add_below(p, path);
    }
    if (home) {
        snprintf(path, sizeof(path), "%s/.pyenv/versions", home);
        add_below(p, path);
    }
}

static bool python_of(const char *prefix, char path[PATH_MAX])
{
    static const char *const names[] = {"python3", "python"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, PATH_MAX, "%s/bin/%s", prefix, names[i]);
        if (can_run(path))
            return true;
    }
    return false;
}

static bool launcher_in(const char *dir, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/ipykernel_launcher.py", dir);
    return n < PATH_MAX && there(out);
}

/* ipykernel_launcher.py of an interpreter, in the folders it imports from. */
static bool has_ipykernel(const char *prefix, const char *home, char where[PATH_MAX])
{
    char lib[PATH_MAX + 16], dir[PATH_MAX + 320];
    for (int i = 0; i < 2; i++) {
        if (i && !home)
            break;
        snprintf(lib, sizeof(lib), "%s/%s", i ? home : prefix, i ? ".local/lib" : "lib");
        DIR *d = opendir(lib);
        bool found = false;
        for (struct dirent *e; d && !found && (e = readdir(d));) {
            if (strncmp(e->d_name, "python3", 7) != 0)
                continue;
            snprintf(dir, sizeof(dir), "%s/%s/site-packages", lib, e->d_name);
            found = launcher_in(dir, where);
            snprintf(dir, sizeof(dir), "%s/%s/dist-packages", lib, e->d_name);
            found = found || launcher_in(dir, where);
        }
        if (d)
            closedir(d);
        if (found)
            return true;
    }
    return false;
}

/* A python without a spec: its ipykernel, or our own kernel. */
static void add_python(struct kernel_list *l, const char *python, const char *launcher)
{
    struct kernel_spec s = {.embedded = !launcher};
    s.name = xstrdup(launcher ? "python3" : "od-python3");
    s.display = xstrdup(launcher ? "Python 3 (ipykernel)" : "Python 3 (embedded in od)");
    s.language = xstrdup("python");
    s.where = xstrdup(launcher ? launcher : python);
    s.interpreter = xstrdup(python);
    s.env = xcalloc(1, sizeof(*s.env));
    s.argv = xcalloc(6, sizeof(*s.argv));
    if (launcher) {
        const char *words[] = {python, "-m", "ipykernel_launcher", "-f",
                               "{connection_file}"};
        for (int i = 0; i < 5; i++)
            s.argv[i] = xstrdup(words[i]);
    }
    add(l, &s);
}

/* Of an environment that is active, even if only its variable is set. */
static char *active_python(char *const *env)
{
    static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    char python[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        const char *prefix = from_env(env, names[i]);
        if (prefix && python_of(prefix, python))
            return xstrdup(python);
    }
    return NULL;
}

static void add_interpreters(struct kernel_list *l, const struct prefixes *p,
                             char *const *env)
{
    const char *home = from_env(env, "HOME");
    char python[PATH_MAX], launcher[PATH_MAX];
    for (int i = 0; i < p->n && !named(l, STR("python3")); i++) {
        if (python_of(p->v[i], python) && has_ipykernel(p->v[i], home, launcher))
            add_python(l, python, launcher);
    }
    /* The interpreter that `python3` means for the user comes first. */
    char *first = active_python(env);
    if (!first)
        first = program_of("python3", NULL, env);
    for (int i = 0; !first && i < p->n; i++) {
        if (python_of(p->v[i], python))
            first = xstrdup(python);
    }
    if (first)
        add_python(l, first, NULL);
    free(first);
}

/* ---- all ---- */

static void user_dirs(struct kernel_list *l, char *const *env)
{
    char path[PATH_MAX];
    const char *home = from_env(env, "HOME"), *data = from_env(env, "JUPYTER_DATA_DIR");
    const char *xdg = from_env(env, "XDG_DATA_HOME"),
               *base = from_env(env, "PYTHONUSERBASE");
    if (data)
        snprintf(path, sizeof(path), "%s", data);
    else if (xdg)
        snprintf(path, sizeof(path), "%s/jupyter", xdg);
    else
        snprintf(path, sizeof(path), "%s/.local/share/jupyter", home ? home : "");
    if (data || xdg || home)
        look_in(l, path, NULL, env);
    if (base || home) {
        char again[PATH_MAX];
        snprintf(again, sizeof(again), "%s%s/share/jupyter", base ? base : home,
                 base ? "" : "/.local");
        if (strcmp(again, path) != 0)
            look_in(l, again, NULL, env);
    }
}

static void prefix_dirs(struct kernel_list *l, const struct prefixes *p, char *const *env)
{
    for (int i = 0; i < p->n; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/share/jupyter", p->v[i]);
        if (there(path))
            look_in(l, path, p->v[i], env);
    }
}

void kernel_find(struct kernel_list *out, char *const *env, const char *cwd)
{
    *out = (struct kernel_list){.notes = BUF_INIT(64 << 10),
                                .looked = BUF_INIT(64 << 10)};
    struct prefixes p = {.n = 0};
    find_prefixes(&p, env, cwd);
    const char *more = from_env(env, "JUPYTER_PATH");
    for (struct str rest = str_of(more); rest.n;) {
        struct str dir = str_cut(&rest, ':');
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%.*s", (int)dir.n, dir.p);
        if (dir.n)
            look_in(out, path, NULL, env);
    }
    const char *prefer = from_env(env, "JUPYTER_PREFER_ENV_PATH");
    bool env_first = (prefer && strcmp(prefer, "0") != 0 &&
                      strcasecmp(prefer, "false") != 0 &&
                      strcasecmp(prefer, "no") != 0) ||
                     from_env(env, "VIRTUAL_ENV");
    if (env_first)
        prefix_dirs(out, &p, env);
    user_dirs(out, env);
    if (!env_first)
        prefix_dirs(out, &p, env);
    look_in(out, "/usr/local/share/jupyter", NULL, env);
    look_in(out, "/usr/share/jupyter", NULL, env);
    if (from_env(env, "HOME")) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/.ipython", from_env(env, "HOME"));
        look_in(out, path, NULL, env);
    }
    add_interpreters(out, &p, env);
    for (int i = 0; i < p.n; i++)
        free(p.v[i]);
}

static bool allowed(const struct kernel_spec *s, enum kernel_choice which)
{
    return which == KERNEL_ANY || s->embedded == (which == KERNEL_OWN_ONLY);
}

static const struct kernel_spec *of_language(const struct kernel_list *l, struct str name,
                                             enum kernel_choice which)
{
    for (int i = 0; i < l->n; i++) {
        const struct kernel_spec *s = &l->v[i];
        if (allowed(s, which) &&
            (name.n == 0 || (strlen(s->language) == name.n &&
                             strncasecmp(s->language, name.p, name.n) == 0)))
            return s;
    }
    return NULL;
}

/* Returns why the kernelspec of that name cannot be used; "" if it does not exist. */
static struct str note_on(const struct kernel_list *l, struct str name)
{
    struct buf mark = BUF_INIT(300);
    struct str found = {0};
    buf_addf(&mark, "/%.*s/kernel.json: ", (int)(name.n < 200 ? name.n : 200),
             name.n ? name.p : "");
    for (struct str rest = buf_str(&l->notes); rest.n && !found.n;) {
        struct str line = str_cut(&rest, '\n');
        if (str_find(line, buf_str(&mark)) >= 0)
            found = str_sub(line, 0, 200);
    }
    buf_release(&mark);
    return found;
}

const struct kernel_spec *kernel_choose(const struct kernel_list *l, struct str name,
                                        enum kernel_choice which, struct err *e)
{
    const struct kernel_spec *s = named(l, name.n ? name : STR("python3"));
    if (s && allowed(s, which))
        return s;
    s = of_language(l, name.n && !str_eq(name, STR("python3")) ? name : STR("python"),
                    which);
    if (!s && name.n == 0)
        s = of_language(l, name, which);
    if (s)
        return s;
    struct str why = note_on(l, name);
    struct buf have = BUF_INIT(200);
    for (int i = 0; i < l->n; i++)
        buf_addf(&have, "%s%s", have.n ? ", " : "", l->v[i].name);
    if (l->n == 0)
        err_set(e, ERR_NOTFOUND,
                "no Jupyter kernel and no python3 is in this image: no kernel.json in "
                "%.300s, "
                "no python3 on PATH. Install python3; more is not needed",
                buf_z(&l->looked));
    else
        err_set(e, ERR_NOTFOUND,
                "there is no kernel or language %.*s here; there are: %s%s%.*s",
                (int)(name.n < 100 ? name.n : 100), name.n ? name.p : "", buf_z(&have),
                why.n ? ". Found and not usable: " : "", (int)why.n, why.n ? why.p : "");
    buf_release(&have);
    return NULL;
}

static char *filled(const char *word, const char *file, const char *dir)
{
    struct buf b = BUF_INIT(SIZE_MAX); /* of one word of a file, and names of files */
    for (const char *p = word; *p;) {
        static const char cf[] = "{connection_file}", rd[] = "{resource_dir}";
        if (strncmp(p, cf, sizeof(cf) - 1) == 0) {
            buf_addz(&b, file);
            p += sizeof(cf) - 1;
        } else if (strncmp(p, rd, sizeof(rd) - 1) == 0) {
            buf_addz(&b, dir);
            p += sizeof(rd) - 1;
        } else
            buf_addc(&b, *p++);
    }
    char *z = xstrdup(buf_z(&b));
    buf_release(&b);
    return z;
}

char **kernel_argv(const struct kernel_spec *s, const char *connection_file)
{
    int n = 0;
    while (s->argv[n])
        n++;
    char **v = xcalloc((size_t)n + 1, sizeof(*v));
    for (int i = 0; i < n; i++)
        v[i] = filled(s->argv[i], connection_file, s->where);
    return v;
}

void kernel_argv_free(char **argv) { free_strings(argv); }
