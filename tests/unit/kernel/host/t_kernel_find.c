/* SPDX-License-Identifier: MIT */
/* Kernels of an image that is a folder: which are found, in what order, and which not. */
#include "kernel/host/find.h"

#include "t.h"

static char path[600];
static struct kernel_list list;

static const char *at(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    return path;
}

/* A file with the folders above it. */
static void put(const char *name, const char *text, int mode)
{
    char dir[600];
    snprintf(dir, sizeof(dir), "%s", at(name));
    for (char *p = dir + strlen(t_dir()) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(dir, 0755);
        *p = '/';
    }
    FILE *f = fopen(dir, "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
    chmod(dir, (mode_t)mode);
}

static void spec(const char *dir, const char *name, const char *text)
{
    char file[300];
    snprintf(file, sizeof(file), "%s/kernels/%s/kernel.json", dir, name);
    put(file, text, 0644);
}

/* In an environment whose names have t_dir() for "@". */
static void find(const char *const *names)
{
    static char env[16][700];
    char *v[17] = {NULL};
    int n = 0;
    for (; names[n]; n++) {
        const char *mark = strchr(names[n], '@');
        snprintf(env[n], sizeof(env[n]), "%.*s%s%s",
                 mark ? (int)(mark - names[n]) : (int)strlen(names[n]), names[n],
                 mark ? t_dir() : "", mark ? mark + 1 : "");
        v[n] = env[n];
    }
    kernel_find(&list, v, NULL);
}
#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static const struct kernel_spec *choose(const char *name, enum kernel_choice which)
{
    struct err e = ERR_INIT;
    return kernel_choose(&list, str_of(name), which, &e);
}

static void is_at(const char *name, const char *folder)
{
    const struct kernel_spec *s = choose(name, KERNEL_ANY);
    CHECK(s != NULL);
    CHECK_STR(s->where, at(folder));
}

#define SH "{\"argv\":[\"/bin/sh\",\"{connection_file}\"],\"language\":\"sh\"}"

TEST(the_first_folder_that_has_a_name_wins)
{
    spec("one", "k", SH);
    spec("two", "k", SH);
    spec("two", "L", SH);
    spec("data", "k", SH);
    spec("data", "only", SH);
    FIND("JUPYTER_PATH=@/one", "JUPYTER_DATA_DIR=@/data", "PATH=/nonexistent");
    is_at("k", "one/kernels/k");
    is_at("K", "one/kernels/k");
    is_at("only", "data/kernels/only");
    CHECK(choose("l", KERNEL_ANY) == NULL);
    kernel_list_release(&list);
    FIND("JUPYTER_DATA_DIR=@/data", "PATH=/nonexistent");
    is_at("k", "data/kernels/k");
    kernel_list_release(&list);
}

TEST(a_venv_comes_before_the_users_folders)
{
    spec("venv/share/jupyter", "k", SH);
    spec("home/.local/share/jupyter", "k", SH);
    FIND("HOME=@/home", "PATH=/nonexistent");
    is_at("k", "home/.local/share/jupyter/kernels/k");
    kernel_list_release(&list);
    FIND("HOME=@/home", "VIRTUAL_ENV=@/venv", "PATH=/nonexistent");
    is_at("k", "venv/share/jupyter/kernels/k");
    kernel_list_release(&list);
    FIND("HOME=@/home", "CONDA_PREFIX=@/venv", "PATH=/nonexistent");
    is_at("k", "home/.local/share/jupyter/kernels/k");
    kernel_list_release(&list);
    FIND("HOME=@/home", "CONDA_PREFIX=@/venv", "JUPYTER_PREFER_ENV_PATH=1",
         "PATH=/nonexistent");
    is_at("k", "venv/share/jupyter/kernels/k");
    kernel_list_release(&list);
}

TEST(a_kernel_without_sockets_of_files_gets_tcp)
{
    spec("t", "k", SH);
    spec("t", "jvm", "{\"argv\":[\"/bin/sh\"],\"language\":\"java\"}");
    FIND("JUPYTER_PATH=@/t", "PATH=/nonexistent");
    CHECK(!choose("k", KERNEL_ANY)->tcp && choose("jvm", KERNEL_ANY)->tcp);
    kernel_list_release(&list);
}

TEST(what_a_spec_says)
{
    spec("j", "full",
         "{\"argv\":[\"/bin/sh\",\"-f\",\"{connection_file}\",\"{resource_dir}/"
         "x\",\"{no}\"],"
         "\"display_name\":\"Full\",\"language\":\"Lang\",\"interrupt_mode\":\"message\","
         "\"env\":{\"A\":\"${HOME}/$B-$NO\",\"C\":\"d\"}}");
    FIND("JUPYTER_PATH=@/j", "HOME=/h", "B=b", "PATH=/nonexistent");
    const struct kernel_spec *s = choose("full", KERNEL_ANY);
    CHECK(s != NULL);
    CHECK_STR(s->display, "Full");
    CHECK_STR(s->language, "Lang");
    CHECK_STR(s->env[0], "A=/h/b-$NO");
    CHECK_STR(s->env[1], "C=d");
    CHECK(s->env[2] == NULL && s->by_message && !s->embedded);
    char **argv = kernel_argv(s, "/run/file");
    CHECK_STR(argv[2], "/run/file");
    snprintf(path, sizeof(path), "%s/j/kernels/full/x", t_dir());
    CHECK_STR(argv[3], path);
    CHECK_STR(argv[4], "{no}");
    CHECK(argv[5] == NULL);
    kernel_argv_free(argv);
    CHECK(choose("lang", KERNEL_ANY) == s);
    kernel_list_release(&list);
}

TEST(what_cannot_be_used_is_said)
{
    spec("j", "gone", "{\"argv\":[\"/no/such\"]}");
    spec("j", "path", "{\"argv\":[\"no-such-program\"]}");
    spec("j", "bad", "{");
    spec("j", "none", "{\"argv\":[]}");
    spec("j", "remote",
         "{\"argv\":[\"/bin/sh\"],\"metadata\":{\"kernel_provisioner\":{"
         "\"provisioner_name\":\"far\"}}}");
    spec("j", "b ad", SH);
    mkdir(at("j/kernels/empty"), 0755);
    FIND("JUPYTER_PATH=@/j", "PATH=/nonexistent");
    CHECK(strstr(buf_z(&list.notes), "gone/kernel.json: its program /no/such is not"));
    CHECK(strstr(buf_z(&list.notes), "path/kernel.json: its program no-such-program"));
    CHECK(strstr(buf_z(&list.notes), "bad/kernel.json: "));
    CHECK(strstr(buf_z(&list.notes), "none/kernel.json: it has no argv"));
    CHECK(strstr(buf_z(&list.notes), "remote/kernel.json: it is started by far"));
    struct err e = ERR_INIT;
    CHECK(kernel_choose(&list, STR("gone"), KERNEL_ANY, &e) == NULL);
    CHECK_INT(e.code, ERR_NOTFOUND);
    kernel_list_release(&list);
}

TEST(interpreters_without_a_spec)
{
    put("usr/bin/python3", "#!/bin/sh\n", 0755);
    FIND("PATH=@/usr/bin", "HOME=@/home");
    const struct kernel_spec *s = choose("od-python3", KERNEL_ANY);
    CHECK(s != NULL && s->embedded);
    CHECK_STR(s->interpreter, at("usr/bin/python3"));
    CHECK(choose("", KERNEL_OWN_ONLY) == s);
    kernel_list_release(&list);

    put("usr/lib/python3.9/site-packages/ipykernel_launcher.py", "", 0644);
    spec("none", "x", "{}");
    FIND("PATH=@/usr/bin", "HOME=@/home");
    s = choose("", KERNEL_ANY);
    CHECK(s != NULL && !s->embedded);
    char **argv = kernel_argv(s, "file");
    CHECK_STR(argv[1], "-m");
    CHECK_STR(argv[4], "file");
    kernel_argv_free(argv);
    CHECK(choose("", KERNEL_OWN_ONLY)->embedded);
    kernel_list_release(&list);
}

TEST(python_in_a_spec_is_the_one_of_its_folder)
{
    put("venv/bin/python3", "#!/bin/sh\n", 0755);
    put("usr/bin/python3", "#!/bin/sh\n", 0755);
    spec(
        "venv/share/jupyter", "python3",
        "{\"argv\":[\"python3\",\"-m\",\"ipykernel_launcher\"],\"language\":\"python\"}");
    spec("venv/share/jupyter", "plain",
         "{\"argv\":[\"python\",\"-m\",\"x\"],\"language\":\"python\"}");
    FIND("VIRTUAL_ENV=@/venv", "PATH=@/usr/bin");
    CHECK_STR(choose("python3", KERNEL_ANY)->argv[0], at("venv/bin/python3"));
    CHECK_STR(choose("python3", KERNEL_ANY)->interpreter, at("venv/bin/python3"));
    /* "python" where no program has that name. */
    CHECK_STR(choose("plain", KERNEL_ANY)->argv[0], at("venv/bin/python3"));
    kernel_list_release(&list);
}

T_MAIN
