/* SPDX-License-Identifier: MIT */
/* Images: what is added to them, and what is refused of those that strangers made. */
#include "archive/tar_write.h"
#include "archive/zip_gz.h"
#include "base/hash.h"
#include "base/json.h"
#include "image/image.h"
#include "t.h"

#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>

/* ---- a binary ---- */

/* As much of an od as is looked at. */
static const char mark[] = "\4\0\0\0\30\0\0\0\1\0\0\0od\0\0an od of an agent's box",
                  big_mark[] = "\0\0\0\4\0\0\0\30\0\0\0\1od\0\0an od of an agent's box";

/* The number in the order of the processor. */
#define ORDER(bits, n) (big ? htobe##bits((uint##bits##_t)(n)) : htole##bits((uint##bits##_t)(n)))

static int binary_file(unsigned machine, bool interp, bool marked)
{
    bool big = machine == EM_S390;
    struct {
        Elf64_Ehdr h;
        Elf64_Phdr p;
        char note[64];
    } f = {.h = {.e_machine = ORDER(16, machine),
                 .e_phoff = ORDER(64, sizeof(Elf64_Ehdr)),
                 .e_phentsize = ORDER(16, sizeof(Elf64_Phdr)),
                 .e_phnum = ORDER(16, 1)}};
    memcpy(f.h.e_ident, ELFMAG, SELFMAG);
    f.h.e_ident[EI_CLASS] = ELFCLASS64;
    f.h.e_ident[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
    f.p.p_type = ORDER(32, interp ? PT_INTERP : PT_LOAD);
    if (marked)
        memcpy(f.note, big ? big_mark : mark, sizeof(mark));
    char path[300];
    snprintf(path, sizeof(path), "%s/binary", t_dir());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
    CHECK(fd >= 0 && write(fd, &f, sizeof(f)) == sizeof(f));
    return fd;
}

static struct image_binary amd64(void)
{
    struct image_binary b;
    struct err e = ERR_INIT;
    int fd = binary_file(EM_X86_64, false, true);
    CHECK_INT(image_binary_read(&b, fd, "it", &e), 0);
    close(fd);
    return b;
}

/* ---- files ---- */

static const char *path_of(const char *name)
{
    static char paths[8][400];
    static int at;
    char *p = paths[at++ % 8];
    snprintf(p, 400, "%s/%s", t_dir(), name);
    return p;
}

static void put(const char *name, struct str text)
{
    const char *path = path_of(name);
    char dir[400];
    for (size_t i = strlen(t_dir()) + 1; path[i]; i++) {
        if (path[i] != '/')
            continue;
        snprintf(dir, sizeof(dir), "%.*s", (int)i, path);
        CHECK(mkdir(dir, 0777) == 0 || errno == EEXIST);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
    close(fd);
}

static void get(const char *path, struct buf *out)
{
    buf_reset(out);
    int fd = open(path, O_RDONLY);
    ssize_t n;
    if (fd < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    do {
        char *p = buf_reserve(out, 65536);
        CHECK(p);
        n = read(fd, p, 65536);
        buf_commit(out, n > 0 ? (size_t)n : 0);
    } while (n > 0);
    close(fd);
}

static int files_n;
static int count_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    files_n += kind == FTW_F || kind == FTW_SL;
    return 0;
}

static int files_below(const char *path)
{
    files_n = 0;
    nftw(path, count_one, 16, FTW_PHYS);
    return files_n;
}

/* ---- layers and archives ---- */

static void add(struct buf *tar, enum tar_type type, const char *name, const char *more)
{
    struct tar_entry x = {.name = str_of(name), .type = type, .mode = 0755};
    if (type == TAR_FILE) {
        CHECK_INT(tar_add_file(tar, &x, str_of(more), NULL), 0);
        return;
    }
    x.link = str_of(more);
    CHECK_INT(tar_add_header(tar, &x, NULL), 0);
}

static char *hex_of(struct str bytes)
{
    static char hexes[8][65];
    static int at;
    char *hex = hexes[at++ % 8];
    uint8_t d[HASH_SHA256_SIZE];
    hash_sha256(bytes, d);
    for (int i = 0; i < HASH_SHA256_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", d[i]);
    return hex;
}

/* An image of these layers, each a tar archive, as docker save writes it. */
static void docker_archive(struct buf *out, const struct buf *layers, int n,
                           const char *inner)
{
    struct buf config = BUF_INIT(1 << 20), list = BUF_INIT(1 << 20);
    char name[80];
    buf_addf(&config,
             "{\"architecture\":\"amd64\",\"os\":\"linux\",\"created\":\"2020-02-02T"
             "02:02:02Z\",\"config\":%s,\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[",
             inner);
    buf_addf(&list, "\"Layers\":[");
    for (int i = 0; i < n; i++) {
        buf_addf(&config, "%s\"sha256:%s\"", i ? "," : "", hex_of(buf_str(&layers[i])));
        buf_addf(&list, "%s\"l%d.tar\"", i ? "," : "", i);
        snprintf(name, sizeof(name), "l%d.tar", i);
        struct tar_entry x = {.name = str_of(name), .mode = 0644};
        CHECK_INT(tar_add_file(out, &x, buf_str(&layers[i]), NULL), 0);
    }
    buf_addf(&config, "]}}");
    snprintf(name, sizeof(name), "%s.json", hex_of(buf_str(&config)));
    struct tar_entry x = {.name = str_of(name), .mode = 0644};
    CHECK_INT(tar_add_file(out, &x, buf_str(&config), NULL), 0);
    struct buf manifest = BUF_INIT(1 << 20);
    buf_addf(&manifest, "[{\"Config\":\"%s\",\"RepoTags\":[\"a:b\"],%s]}]", name,
             buf_z(&list));
    x.name = STR("manifest.json");
    CHECK_INT(tar_add_file(out, &x, buf_str(&manifest), NULL), 0);
    CHECK_INT(tar_add_end(out, NULL), 0);
    buf_release(&config);
    buf_release(&list);
    buf_release(&manifest);
}

/* The text of a file in a tar archive; its header in x. */
static const char *file_in(struct str tar, const char *name, struct tar_entry *x)
{
    static struct buf text = BUF_INIT(64 << 20);
    struct err e = ERR_INIT;
    buf_reset(&text);
    for (size_t at = 0; at + TAR_BLOCK <= tar.n;) {
        size_t size = strtoul(tar.p + at + 124, NULL, 8);
        (void)e;
        if (strcmp(tar.p + at, name) == 0) {
            *x = (struct tar_entry){.size = size};
            x->mode = (mode_t)strtoul(tar.p + at + 100, NULL, 8);
            x->uid = strtoul(tar.p + at + 108, NULL, 8);
            x->type = tar.p[at + 156] == '5' ? TAR_FOLDER : TAR_FILE;
            buf_adds(&text, str_sub(tar, at + TAR_BLOCK, size));
            return buf_z(&text);
        }
        at += TAR_BLOCK + size + tar_padding(size);
    }
    return NULL;
}

/* ---- running it ---- */

static char said[4096];
static void say(void *arg, const char *line)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static struct image_spec spec_of(const struct image_binary *b)
{
    said[0] = 0;
    return (struct image_spec){.binaries = b,
                               .binaries_n = 1,
                               .dest = "/usr/local/bin/od",
                               .version = "1.2.3",
                               .token = "t1",
                               .say = say};
}

static struct err failed;
static int run_add(const struct image_spec *s, const char *in, const char *out)
{
    failed = (struct err)ERR_INIT;
    int rc = image_add(s, path_of(in), path_of(out), &failed);
    CHECK_INT(rc < 0, failed.code != ERR_NONE);
    CHECK(access(path_of("out.t1.part"), F_OK) < 0);
    return rc;
}

/* It fails with that in its words, and leaves nothing. */
static void refused(const struct image_spec *s, const char *words)
{
    CHECK_INT(run_add(s, "in", "out"), -1);
    if (!strstr(failed.text, words))
        T_FAIL("\"%s\", not \"%s\"", failed.text, words);
    CHECK(access(path_of("out"), F_OK) < 0);
}

static void put_archive(const struct buf *layers, int n, const char *inner)
{
    struct buf tar = BUF_INIT(64 << 20);
    docker_archive(&tar, layers, n, inner);
    put("in", buf_str(&tar));
    buf_release(&tar);
}

/* What the result of an archive of `layers` says; the config stays in *config. */
static struct json *result(struct buf *archive, struct json **config)
{
    struct tar_entry x;
    struct err e = ERR_INIT;
    char name[100];
    get(path_of("out"), archive);
    struct json *list = json_parse(str_of(file_in(buf_str(archive), "manifest.json", &x)),
                                   &e);
    CHECK(list);
    struct json *entry = json_first(list);
    snprintf(name, sizeof(name), "%s", json_str(entry, "Config", "").p);
    *config = json_parse(str_of(file_in(buf_str(archive), name, &x)), &e);
    CHECK(*config);
    return list;
}

static const char *words(const struct json *list)
{
    static struct buf text = BUF_INIT(1 << 20);
    buf_reset(&text);
    if (!list || json_is_null(list))
        return "none";
    CHECK_INT(json_print(&text, list), 0);
    return buf_z(&text);
}

/* ---- what binaries are taken ---- */

TEST(binaries)
{
    static const struct {
        unsigned machine;
        bool interp, marked;
        const char *arch, *words;
    } rows[] = {{EM_X86_64, false, true, "amd64", ""},
                {EM_AARCH64, false, true, "arm64", ""},
                {EM_RISCV, false, true, "riscv64", ""},
                {EM_S390, false, true, "s390x", ""},
                {EM_S390, true, true, "", "needs libraries of this system"},
                {EM_MIPS, false, true, "", "for a processor that images do not have"},
                {EM_X86_64, true, true, "", "needs libraries of this system"},
                {EM_X86_64, false, false, "", "is another program, not an od"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct image_binary b;
        struct err e = ERR_INIT;
        int fd = binary_file(rows[i].machine, rows[i].interp, rows[i].marked);
        int rc = image_binary_read(&b, fd, "it", &e);
        CHECK_INT(rc, *rows[i].words ? -1 : 0);
        CHECK(strstr(e.text, rows[i].words));
        if (rc == 0)
            CHECK_STR(b.arch, rows[i].arch);
        image_binary_release(&b);
        close(fd);
    }
    put("text", STR("#!/bin/sh\n"));
    int fd = open(path_of("text"), O_RDONLY);
    struct image_binary b;
    struct err e = ERR_INIT;
    CHECK_INT(image_binary_read(&b, fd, "it", &e), -1);
    CHECK_STR(e.text, "it is not a program for Linux");
    image_binary_release(&b);
    close(fd);
}

/* ---- what is added ---- */

TEST(a_layer_a_config_a_list)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf layer = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20),
               again = BUF_INIT(1 << 20);
    struct tar_entry dir = {.name = STR("./usr/local"),
                            .type = TAR_FOLDER,
                            .mode = 02775,
                            .uid = 50,
                            .mtime = 7},
                     x;
    CHECK_INT(tar_add_header(&layer, &dir, NULL), 0);
    CHECK_INT(tar_add_end(&layer, NULL), 0);
    put_archive(&layer, 1,
                "{\"User\":\"u\",\"Entrypoint\":[\"/e\",\"a b\"],\"Cmd\":[\"c\"]}");
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK(strstr(said, "linux/amd64: od 1.2.3 at /usr/local/bin/od, a layer of "));

    struct json *config, *list = result(&out, &config), *entry = json_first(list);
    struct json *inner = json_get(config, "config"), *labels = json_get(inner, "Labels");
    CHECK_STR(words(json_get(inner, "Entrypoint")),
              "[\"/usr/local/bin/od\",\"serve\",\"--\",\"/e\",\"a b\"]");
    CHECK_STR(words(json_get(inner, "Cmd")), "[\"c\"]");
    CHECK_STR(json_str(inner, "User", "").p, "u");
    CHECK_STR(json_str(labels, "od.version", "").p, "1.2.3");
    CHECK_STR(json_str(labels, "od.path", "").p, "/usr/local/bin/od");
    CHECK_STR(json_str(labels, "od.sha256", "").p, b.sha256);
    CHECK_STR(json_str(labels, "od.entrypoint", "").p, "[\"/e\",\"a b\"]");
    CHECK_STR(json_str(config, "created", "").p, "2020-02-02T02:02:02Z");
    CHECK_STR(words(json_get(entry, "RepoTags")), "[\"a:b\"]");
    CHECK_INT(json_count(json_get(entry, "Layers")), 2);

    /* The layer's digest is in the config; its folders are as they were. */
    struct json *ids = json_get(json_get(config, "rootfs"), "diff_ids");
    CHECK_INT(json_count(ids), 2);
    char name[100];
    snprintf(name, sizeof(name), "%s.tar",
             json_str_value(json_next(json_first(ids)), "").p + 7);
    const char *text = file_in(buf_str(&out), name, &x);
    CHECK(text);
    struct buf added = BUF_INIT(1 << 20);
    buf_add(&added, text, x.size);
    CHECK_STR(hex_of(buf_str(&added)),
              json_str_value(json_next(json_first(ids)), "").p + 7);
    CHECK(file_in(buf_str(&added), "usr/local/", &x));
    CHECK_INT(x.mode, 02775);
    CHECK_INT(x.uid, 50);
    CHECK(file_in(buf_str(&added), "usr/local/bin/", &x));
    CHECK_INT(x.mode, 0755);
    CHECK(file_in(buf_str(&added), "usr/local/bin/od", &x));
    CHECK_INT(x.mode, 0755);
    CHECK_INT(x.size, b.bytes.n);

    /* The same again, byte by byte. */
    CHECK_INT(run_add(&s, "in", "out2"), 0);
    get(path_of("out2"), &again);
    CHECK(str_eq(buf_str(&out), buf_str(&again)));
    json_free(config);
    json_free(list);
    buf_release(&layer);
    buf_release(&out);
    buf_release(&again);
    buf_release(&added);
    image_binary_release(&b);
}

TEST(command_lines)
{
    static const struct {
        const char *inner, *entry;
    } rows[] = {{"{}", "[\"/usr/local/bin/od\",\"serve\"]"},
                {"null", "[\"/usr/local/bin/od\",\"serve\"]"},
                {"{\"Cmd\":[\"sh\"]}", "[\"/usr/local/bin/od\",\"serve\",\"--\"]"},
                {"{\"Entrypoint\":null,\"Cmd\":[\"sh\"]}",
                 "[\"/usr/local/bin/od\",\"serve\",\"--\"]"},
                {"{\"Entrypoint\":[\"x\"]}",
                 "[\"/usr/local/bin/od\",\"serve\",\"--\",\"x\"]"}};
    struct image_binary b = amd64();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct image_spec s = spec_of(&b);
        struct buf out = BUF_INIT(1 << 20);
        struct json *config, *list;
        s.force = true;
        put_archive(NULL, 0, rows[i].inner);
        CHECK_INT(run_add(&s, "in", "out"), 0);
        list = result(&out, &config);
        CHECK_STR(words(json_get(json_get(config, "config"), "Entrypoint")),
                  rows[i].entry);
        CHECK_INT(json_count(json_get(config, "history")), 1);
        json_free(config);
        json_free(list);
        buf_release(&out);
    }
    image_binary_release(&b);
}

/* Twice is once; another od takes the place of the first; keep gives back what was. */
TEST(again_and_back)
{
    struct image_binary b = amd64(), other = amd64();
    struct image_spec s = spec_of(&b);
    struct buf out = BUF_INIT(1 << 20);
    struct json *config, *list;
    snprintf(other.sha256, sizeof(other.sha256), "%064d", 1);
    put_archive(NULL, 0, "{\"Entrypoint\":[\"x\"]}");
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK_INT(rename(path_of("out"), path_of("in")), 0);
    said[0] = 0;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK_STR(said, "linux/amd64: has this od already\n");
    list = result(&out, &config);
    CHECK_INT(json_count(json_get(json_first(list), "Layers")), 1);
    json_free(config);
    json_free(list);

    s = spec_of(&other);
    s.force = true;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    list = result(&out, &config);
    CHECK_INT(json_count(json_get(json_first(list), "Layers")), 2);
    CHECK_STR(words(json_get(json_get(config, "config"), "Entrypoint")),
              "[\"/usr/local/bin/od\",\"serve\",\"--\",\"x\"]");
    json_free(config);
    json_free(list);

    s.entry = IMAGE_KEEP;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    list = result(&out, &config);
    CHECK_STR(words(json_get(json_get(config, "config"), "Entrypoint")), "[\"x\"]");
    CHECK(!json_has(json_get(json_get(config, "config"), "Labels"), "od.entrypoint"));
    json_free(config);
    json_free(list);
    buf_release(&out);
    image_binary_release(&b);
    image_binary_release(&other);
}

/* ---- what is on the way ---- */

/* The name that the binary has in the new layer. */
static void lands_at(struct buf *layers, int n, const char *place)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf out = BUF_INIT(1 << 20), added = BUF_INIT(1 << 20);
    struct json *config, *list;
    struct tar_entry x;
    s.force = true; /* the archive of the case before */
    put_archive(layers, n, "{}");
    if (run_add(&s, "in", "out") < 0)
        T_FAIL("%s: %s", place, failed.text);
    list = result(&out, &config);
    const struct json *name = json_first(json_get(json_first(list), "Layers"));
    for (int i = 0; i < n; i++)
        name = json_next(name);
    const char *text = file_in(buf_str(&out), json_str_value(name, "").p, &x);
    buf_add(&added, text, x.size);
    if (!file_in(buf_str(&added), place, &x))
        T_FAIL("not at %s", place);
    json_free(config);
    json_free(list);
    buf_release(&out);
    buf_release(&added);
    for (int i = 0; i < n; i++)
        buf_reset(&layers[i]);
    image_binary_release(&b);
}

TEST(links_are_followed)
{
    struct buf l[2] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
    add(&l[0], TAR_SYMLINK, "usr/local", "../var/usrlocal");
    lands_at(l, 1, "var/usrlocal/bin/od");
    add(&l[0], TAR_SYMLINK, "usr/local", "/opt/a");
    add(&l[0], TAR_SYMLINK, "opt/a", "b/./c");
    lands_at(l, 1, "opt/b/c/bin/od");
    /* Gone, or covered, in the next layer. */
    add(&l[0], TAR_SYMLINK, "usr/local", "/opt/a");
    add(&l[1], TAR_FILE, "usr/.wh.local", "");
    lands_at(l, 2, "usr/local/bin/od");
    add(&l[0], TAR_SYMLINK, "usr/local", "/opt/a");
    add(&l[1], TAR_FILE, "usr/.wh..wh..opq", "");
    lands_at(l, 2, "usr/local/bin/od");
    add(&l[0], TAR_SYMLINK, "usr/local", "/opt/a");
    add(&l[1], TAR_FOLDER, "usr/local", "");
    lands_at(l, 2, "usr/local/bin/od");
    /* Out of the image there is nothing. */
    add(&l[0], TAR_SYMLINK, "usr", "../../../../x");
    lands_at(l, 1, "x/local/bin/od");
    buf_release(&l[0]);
    buf_release(&l[1]);
}

TEST(what_is_in_the_way)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf l = BUF_INIT(1 << 20);
    add(&l, TAR_FILE, "usr/local/bin/od", "another program");
    put_archive(&l, 1, "{}");
    refused(&s, "the image has another program at /usr/local/bin/od");
    s.force = true;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    unlink(path_of("out"));
    s.force = false;

    buf_reset(&l);
    struct tar_entry x = {.name = STR("usr/local/bin/od"), .mode = 0755};
    CHECK_INT(tar_add_file(&l, &x, buf_str(&b.bytes), NULL), 0);
    put_archive(&l, 1, "{}");
    CHECK_INT(run_add(&s, "in", "out"), 0);
    unlink(path_of("out"));

    buf_reset(&l);
    add(&l, TAR_FOLDER, "usr/local/bin/od", "");
    put_archive(&l, 1, "{}");
    refused(&s, "/usr/local/bin/od is a folder in the image");
    buf_reset(&l);
    add(&l, TAR_FILE, "usr/local", "");
    put_archive(&l, 1, "{}");
    refused(&s, "the image has a file at /usr/local");
    buf_reset(&l);
    add(&l, TAR_SYMLINK, "usr/local", "local");
    put_archive(&l, 1, "{}");
    refused(&s, "leads through too many links");
    put("out", STR("mine"));
    CHECK_INT(run_add(&s, "in", "out"), -1);
    CHECK(strstr(failed.text, "exists already: --force replaces it"));
    buf_release(&l);
    image_binary_release(&b);
}

/* The new layer of the result, and the label od.as. */
static void as_added(struct image_spec *s, const char *as, struct buf *layers, int n,
                     const char *inner, int status, const char *label, struct buf *added)
{
    struct buf out = BUF_INIT(64 << 20);
    struct json *config, *list;
    struct tar_entry x;
    said[0] = 0;
    s->as = as;
    unlink(path_of("out"));
    put_archive(layers, n, inner);
    CHECK_INT(run_add(s, "in", "out"), status);
    if (status < 0)
        CHECK(strstr(failed.text, "out is written, but not all links of --as "));
    list = result(&out, &config);
    CHECK_STR(json_str(json_get(json_get(config, "config"), "Labels"), "od.as", "").p,
              label);
    const struct json *name = json_first(json_get(json_first(list), "Layers"));
    for (int i = 0; i < n; i++)
        name = json_next(name);
    const char *text = file_in(buf_str(&out), json_str_value(name, "").p, &x);
    buf_reset(added);
    buf_add(added, text, x.size);
    json_free(config);
    json_free(list);
    buf_release(&out);
}

#define LINK "usr/local/bin/tmux"
#define SAID(words)                                                                      \
    if (!strstr(said, words))                                                            \
    T_FAIL("\"%s\" is not in: %s", words, said)

TEST(links_of_other_names)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf l[2] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)}, added = BUF_INIT(1 << 20);
    struct tar_entry x;
    static const char left[] = " exists and is not ours: left unchanged";
    static const struct {
        enum tar_type type;
        const char *name, *more, *env, *at; /* at: what is in the way; NULL: nothing */
        const char *forced; /* what is said then */
    } rows[] = {
        {TAR_FILE, "usr/bin/tmux", "x", "", "/usr/bin/tmux", NULL},
        {TAR_FILE, "usr/bin/tmux", "x", "\"PATH=/bin:/usr/local/bin\"", NULL, NULL},
        {TAR_FILE, "usr/bin/tmux", "x", "\"PATH=/a:/usr/bin//:/usr/local/bin\"",
         "/usr/bin/tmux", "/usr/bin/tmux comes first on the image's PATH"},
        {TAR_FILE, "bin/tmux", "x", "\"PATH=bin::\"", NULL, NULL},
        {TAR_FILE, "tmux", "x", "\"PATH=:\"", NULL, NULL},
        {TAR_FILE, "tmux", "x", "\"PATH=/\"", "/tmux",
         "/tmux comes first on the image's PATH"},
        {TAR_FOLDER, "usr/bin/tmux", "", "", NULL, NULL},
        {TAR_FOLDER, LINK, "", "", "/" LINK, "/" LINK " is a folder: left unchanged"},
        {TAR_FILE, LINK, "x", "", "/" LINK, NULL},
        {TAR_SYMLINK, LINK, "/usr/bin/real", "", "/" LINK, NULL},
        {TAR_SYMLINK, LINK, "od", "", NULL, NULL},
        {TAR_SYMLINK, LINK, "/usr/local/bin/od", "", NULL, NULL},
        {TAR_SYMLINK, "bin/tmux", "od", "", "/bin/tmux", NULL},
        {TAR_SYMLINK, "bin/tmux", "/usr/local/bin/od", "", NULL, NULL},
        {TAR_FILE, "sbin", "x", "", NULL, NULL},
        {TAR_SYMLINK, "sbin", "sbin", "", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char inner[200];
        snprintf(inner, sizeof(inner), "{\"Env\":[\"A=PATH=/\"%s%s]}",
                 *rows[i].env ? "," : "", rows[i].env);
        add(&l[0], rows[i].type, rows[i].name, rows[i].more);
        s.force = false;
        as_added(&s, "tmux", l, 1, inner, rows[i].at ? -1 : 0, rows[i].at ? "" : "tmux",
                 &added);
        if (!rows[i].at != !!file_in(buf_str(&added), LINK, &x))
            T_FAIL("row %zu: %s", i, said);
        CHECK(file_in(buf_str(&added), "usr/local/bin/od", &x));
        if (rows[i].at) {
            SAID(rows[i].at);
            SAID(left);
        }
        s.force = true;
        as_added(&s, "tmux", l, 1, inner, rows[i].forced ? -1 : 0,
                 rows[i].type == TAR_FOLDER && rows[i].forced ? "" : "tmux", &added);
        if (rows[i].forced)
            SAID(rows[i].forced);
        SAID(rows[i].type == TAR_FOLDER && rows[i].forced ? "od 1.2.3"
                                                          : "/" LINK " -> od");
        buf_reset(&l[0]);
    }
    s.force = false;
    /* What a later layer takes away is not there; names that are given twice are one. */
    add(&l[0], TAR_FILE, "usr/bin/tmux", "x");
    add(&l[1], TAR_FILE, "usr/bin/.wh.tmux", "");
    as_added(&s, "tmux,script,tmux", l, 2, "{}", 0, "tmux,script", &added);
    /* Through a link to the binary's folder, and into that of another name. */
    buf_reset(&l[0]);
    buf_reset(&l[1]);
    add(&l[0], TAR_SYMLINK, "usr/local", "/opt");
    add(&l[0], TAR_SYMLINK, "bin", "opt/bin");
    add(&l[0], TAR_SYMLINK, "opt/bin/tmux", "od");
    as_added(&s, "tmux,script", l, 1, "{}", 0, "tmux,script", &added);
    CHECK(file_in(buf_str(&added), "opt/bin/script", &x));
    /* More folders than are looked at. */
    struct buf many = BUF_INIT(4096);
    buf_addz(&many, "{\"Env\":[\"PATH=");
    for (int i = 0; i < 65; i++)
        buf_addf(&many, "/%d:", i);
    buf_addz(&many, "\"]}");
    unlink(path_of("out"));
    put_archive(l, 1, buf_z(&many));
    refused(&s, "the image's PATH has more than 64 folders");
    buf_release(&many);
    buf_release(&l[0]);
    buf_release(&l[1]);
    buf_release(&added);
    image_binary_release(&b);
}

TEST(compressed_layers_have_a_limit)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf l[2] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)}, gz = BUF_INIT(48 << 20);
    add(&l[0], TAR_FILE, "usr/local/bin/od", "another program");
    CHECK_INT(gzip_add(&gz, buf_str(&l[0]), NULL), 0);
    put_archive(&gz, 1, "{}");
    refused(&s, "the image has another program at /usr/local/bin/od");
    s.no_unpack = true;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK(strstr(said, "is not below a link; --look unpacks"));
    unlink(path_of("out"));
    /* Zeroes may follow: it is large without being so when it is unpacked. */
    size_t more = IMAGE_UNPACK_MAX + 1 - gz.n;
    memset(buf_reserve(&gz, more), 0, more);
    buf_commit(&gz, more);
    s = spec_of(&b);
    put_archive(&gz, 1, "{}");
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK(strstr(said, "is not below a link; --look unpacks"));
    unlink(path_of("out"));
    s.unpack_all = true;
    refused(&s, "the image has another program at /usr/local/bin/od");
    s.unpack_all = false;
    s.verify = true;
    refused(&s, "the image has another program at /usr/local/bin/od");
    /* Plain ones have none. */
    s.verify = false;
    more = IMAGE_UNPACK_MAX;
    buf_release(&l[1]);
    buf_init(&l[1], 48 << 20);
    struct tar_entry x = {.name = STR("large"), .mode = 0644, .size = more};
    CHECK_INT(tar_add_header(&l[1], &x, NULL), 0);
    memset(buf_reserve(&l[1], more), 'x', more);
    buf_commit(&l[1], more);
    buf_adds(&l[1], buf_str(&l[0]));
    put_archive(&l[1], 1, "{}");
    refused(&s, "the image has another program at /usr/local/bin/od");
    buf_release(&l[0]);
    buf_release(&l[1]);
    buf_release(&gz);
    image_binary_release(&b);
}

/* ---- what is refused ---- */

TEST(layers_that_are_damaged)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf l = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20);
    add(&l, TAR_FILE, "a/../../etc/passwd", "x");
    put_archive(&l, 1, "{}");
    refused(&s, "layer 1 of 1: its entry a/../../etc/passwd leads out of the image");
    buf_reset(&l);
    add(&l, TAR_FILE, "a", "some bytes");
    CHECK_INT(gzip_add(&gz, buf_str(&l), NULL), 0);
    buf_truncate(&l, 515);
    put_archive(&l, 1, "{}");
    refused(&s, "layer 1 of 1: the tar archive is cut off, in or after a");
    buf_truncate(&gz, gz.n - 9);
    put_archive(&gz, 1, "{}");
    refused(&s, "layer 1 of 1: the gzip data is cut off");
    buf_reset(&l);
    buf_addz(&l, "no archive at all, and longer than a block would have to be: ");
    while (l.n < 1024)
        buf_addc(&l, '.');
    put_archive(&l, 1, "{}");
    refused(&s, "layer 1 of 1: no tar header at byte 0");
    /* One that nobody here can unpack is no reason to refuse, and is told. */
    buf_reset(&l);
    buf_add(&l, "\x28\xb5\x2f\xfd....", 8);
    put_archive(&l, 1, "{}");
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK(strstr(said, "not every layer was read: od assumes that /usr/local/bin/od is "));
    buf_release(&l);
    buf_release(&gz);
    image_binary_release(&b);
}

TEST(archives_that_are_cut_off)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf tar = BUF_INIT(1 << 20), l = BUF_INIT(1 << 20);
    add(&l, TAR_FILE, "a", "some bytes");
    CHECK_INT(tar_add_end(&l, NULL), 0);
    docker_archive(&tar, &l, 1, "{}");
    for (size_t n = 0; n < tar.n - 1024; n += 128) {
        put("in", str_sub(buf_str(&tar), 0, n));
        refused(&s, "");
    }
    buf_release(&tar);
    buf_release(&l);
    image_binary_release(&b);
}

TEST(archives_with_tricks)
{
    static const struct {
        enum tar_type type;
        const char *name, *more, *words;
    } rows[] = {
        {TAR_FILE, "../x", "", "the archive has a file that leads out of it: ../x"},
        {TAR_FILE, "/etc/passwd", "", "leads out of it: /etc/passwd"},
        {TAR_SYMLINK, "l", "../../etc/shadow",
         "the link l in the archive leads out of it"},
        {TAR_SYMLINK, "l", "/etc/shadow", "the link l in the archive leads out of it"},
        {TAR_HARD, "l", "../x", "the link l in the archive leads out of it"},
        {TAR_CHAR, "dev", "", "dev in the archive is not a file, folder or link"},
        {TAR_FILE, "manifest.json", "[]",
         "the archive has two files called manifest.json"}};
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf tar = BUF_INIT(1 << 20);
        add(&tar, rows[i].type, rows[i].name, rows[i].more);
        docker_archive(&tar, NULL, 0, "{}");
        put("in", buf_str(&tar));
        refused(&s, rows[i].words);
        buf_release(&tar);
    }
    image_binary_release(&b);
}

TEST(lists_that_lie)
{
    static const struct {
        const char *text, *words;
    } rows[] = {{"[{\"Config\":\"../c\",\"Layers\":[]}]",
                 "names a file that leads out of it: ../c"},
                {"[{\"Config\":\"c\",\"Layers\":[]}]",
                 "the config c is not in the image's archive"},
                {"[{\"Config\":\"k\",\"Layers\":[\"no\"]}]",
                 "the layer no is not in the image's"},
                {"[{\"Config\":\"k\",\"Layers\":[\"loop\"]}]",
                 "loop is a link that leads nowhere"},
                {"[{\"Config\":\"k\",\"Layers\":[\"k\"]}]",
                 "has 1 layers, and its config lists 0"},
                {"[{\"Config\":\"k\"}]", "has an entry without Layers"},
                {"[{\"Config\":\"manifest.json\",\"Layers\":[]}]", "is not a JSON object"},
                {"[{\"Config\":"
                 "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\","
                 "\"Layers\":[]}]",
                 "does not match the digest in its name"},
                {"[]", "there is no image in"},
                {"{}", "the image's manifest.json is damaged"},
                {"[", "the image's manifest.json is damaged"}};
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf tar = BUF_INIT(1 << 20);
        add(&tar, TAR_FILE, "k",
            "{\"architecture\":\"amd64\",\"rootfs\":{\"diff_ids\":[]},\"config\":{}}");
        add(&tar, TAR_FILE,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "x");
        add(&tar, TAR_SYMLINK, "loop", "pool");
        add(&tar, TAR_SYMLINK, "pool", "loop");
        add(&tar, TAR_FILE, "manifest.json", rows[i].text);
        CHECK_INT(tar_add_end(&tar, NULL), 0);
        put("in", buf_str(&tar));
        refused(&s, rows[i].words);
        buf_release(&tar);
    }
    image_binary_release(&b);
}

TEST(configs_that_lie)
{
    static const struct {
        const char *inner, *words;
    } rows[] = {{"[]", "the image's config has a config that is not an object"},
                {"{\"Labels\":[]}", "the image's config has a Labels that is not an object"},
                {"{\"Entrypoint\":\"sh\"}", "the image's Entrypoint is not a list of strings"},
                {"{\"Entrypoint\":[1]}", "the image's Entrypoint is not a list of strings"}};
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_archive(NULL, 0, rows[i].inner);
        refused(&s, rows[i].words);
    }
    s.binaries_n = 0;
    put_archive(NULL, 0, "{}");
    refused(&s,
            "there is no od for an image of linux/amd64: give one with --binary amd64=");
    s.skip_missing = true;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK_STR(said, "linux/amd64: there is no od for it: left unchanged\n");
    image_binary_release(&b);
}

/* A layer that was changed on its way is found where all are read. */
TEST(verify_reads_layers)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf tar = BUF_INIT(1 << 20), l = BUF_INIT(1 << 20);
    add(&l, TAR_FILE, "a", "some bytes");
    docker_archive(&tar, &l, 1, "{}");
    s.verify = true;
    put("in", buf_str(&tar));
    CHECK_INT(run_add(&s, "in", "out"), 0);
    unlink(path_of("out"));
    tar.p[2 * TAR_BLOCK] ^= 1; /* in the layer's file */
    put("in", buf_str(&tar));
    refused(&s, "l0.tar does not match the digest in its name");
    s.verify = false;
    CHECK_INT(run_add(&s, "in", "out"), 0);
    buf_release(&tar);
    buf_release(&l);
    image_binary_release(&b);
}

/* ---- layouts ---- */

/* Puts a blob into the layout `in`; its descriptor. */
static struct json *blob(const char *type, struct str bytes)
{
    char name[120], digest[80];
    struct json *j = json_object();
    snprintf(name, sizeof(name), "in/blobs/sha256/%s", hex_of(bytes));
    put(name, bytes);
    snprintf(digest, sizeof(digest), "sha256:%s", hex_of(bytes));
    json_put_z(j, "mediaType", type);
    json_put_z(j, "digest", digest);
    json_put_int(j, "size", (int64_t)bytes.n);
    return j;
}

static struct json *blob_of(const char *type, struct json *take)
{
    struct buf b = BUF_INIT(1 << 20);
    CHECK_INT(json_print(&b, take), 0);
    struct json *ref = blob(type, buf_str(&b));
    buf_release(&b);
    json_free(take);
    return ref;
}

#define OCI "application/vnd.oci.image."

static struct json *manifest_ref(const char *arch, const char *layer_type)
{
    char config[300];
    struct buf l = BUF_INIT(1 << 20);
    add(&l, TAR_FILE, "a", arch);
    snprintf(
        config, sizeof(config),
        "{\"architecture\":\"%s\",\"os\":\"linux\",\"config\":{},\"rootfs\":{\"type\":"
        "\"layers\",\"diff_ids\":[\"sha256:%s\"]}}",
        arch, hex_of(buf_str(&l)));
    struct json *m = json_object(), *layers = json_array();
    json_put_int(m, "schemaVersion", 2);
    json_put(m, "config", blob(OCI "config.v1+json", str_of(config)));
    json_push(layers, blob(layer_type, buf_str(&l)));
    json_put(m, "layers", layers);
    buf_release(&l);
    return blob_of(OCI "manifest.v1+json", m);
}

static struct json *index_of(struct json *take_a, struct json *take_b)
{
    struct json *index = json_object(), *list = json_array();
    json_put_int(index, "schemaVersion", 2);
    json_push(list, take_a);
    if (take_b)
        json_push(list, take_b);
    json_put(index, "manifests", list);
    return index;
}

static void put_layout(struct json *take)
{
    struct buf b = BUF_INIT(1 << 20);
    CHECK_INT(json_print(&b, take), 0);
    put("in/index.json", buf_str(&b));
    put("in/oci-layout", STR("{\"imageLayoutVersion\":\"1.0.0\"}"));
    json_free(take);
    buf_release(&b);
}

static struct json *read_blob(const struct json *ref)
{
    struct buf b = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    char name[120];
    const char *hex = json_str(ref, "digest", "").p + 7;
    snprintf(name, sizeof(name), "out/blobs/sha256/%s", hex);
    get(path_of(name), &b);
    CHECK_STR(hex_of(buf_str(&b)), hex);
    CHECK_INT(b.n, json_int(ref, "size", -1));
    struct json *j = json_parse(buf_str(&b), &e);
    buf_release(&b);
    return j;
}

TEST(two_architectures)
{
    struct image_binary b[2] = {amd64(), amd64()};
    struct image_spec s = spec_of(b);
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT(1 << 20);
    snprintf(b[1].arch, sizeof(b[1].arch), "arm64");
    struct json *about = manifest_ref("amd64", OCI "layer.v1.tar"),
                *notes = json_object();
    json_put_z(notes, "vnd.docker.reference.type", "attestation-manifest");
    json_put(about, "annotations", notes);
    struct json *inner = index_of(manifest_ref("amd64", OCI "layer.v1.tar"),
                                  manifest_ref("arm64", OCI "layer.v1.tar"));
    put_layout(index_of(blob_of(OCI "index.v1+json", inner), about));
    refused(&s, "there is no od for an image of linux/arm64");
    s.binaries_n = 2;
    s.tag = "x:y";
    CHECK_INT(run_add(&s, "in", "out"), 0);
    CHECK(strstr(said, "linux/amd64: od") && strstr(said, "linux/arm64: od"));
    CHECK(strstr(said, "left out: the builder's attestation"));

    get(path_of("out/index.json"), &text);
    struct json *index = json_parse(buf_str(&text), &e);
    struct json *top = json_first(json_get(index, "manifests"));
    CHECK_INT(json_count(json_get(index, "manifests")), 1);
    CHECK_STR(
        json_str(json_get(top, "annotations"), "org.opencontainers.image.ref.name", "").p,
        "x:y");
    struct json *list = read_blob(top);
    CHECK_INT(json_count(json_get(list, "manifests")), 2);
    for (struct json *m = json_first(json_get(list, "manifests")); m; m = json_next(m)) {
        struct json *manifest = read_blob(m);
        struct json *config = read_blob(json_get(manifest, "config"));
        struct json *last = json_next(json_first(json_get(manifest, "layers")));
        CHECK_STR(json_str(last, "mediaType", "").p, OCI "layer.v1.tar+gzip");
        CHECK_INT(json_count(json_get(json_get(config, "rootfs"), "diff_ids")), 2);
        json_free(manifest);
        json_free(config);
    }
    /* Two each of manifests, configs and layers; one layer that both have; the index. */
    CHECK_INT(files_below(path_of("out")), 2 + 1 + 2 + 2 + 2 + 1);
    json_free(list);
    json_free(index);
    buf_release(&text);
    image_binary_release(&b[0]);
    image_binary_release(&b[1]);
}

TEST(layouts_that_lie)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    char path[120], other[400];
    put_layout(index_of(manifest_ref("amd64", "application/x-unknown"), NULL));
    refused(&s, "the image has a layer of a foreign type: application/x-unknown");

    struct json *ref = manifest_ref("amd64", OCI "layer.v1.tar");
    snprintf(path, sizeof(path), "in/blobs/sha256/%s", json_str(ref, "digest", "").p + 7);
    struct json *lie = manifest_ref("amd64", OCI "layer.v1.tar");
    json_put_int(lie, "size", 5);
    put_layout(index_of(lie, NULL));
    refused(&s, "bytes, not the 5 in its descriptor");

    struct buf text = BUF_INIT(1 << 20);
    get(path_of(path), &text);
    text.p[3] ^= 1;
    put(path, buf_str(&text));
    put_layout(index_of(ref, NULL));
    refused(&s, "does not match the digest in its name");

    /* A blob that is a link to something of ours. */
    text.p[3] ^= 1;
    put("secret", buf_str(&text));
    snprintf(other, sizeof(other), "%s", path_of("secret"));
    CHECK_INT(unlink(path_of(path)), 0);
    CHECK_INT(symlink(other, path_of(path)), 0);
    refused(&s, "in the image's folder is a link, or below one");
    unlink(path_of(path));

    static const char *const digests[] = {"sha256:../../etc/passwd", "sha256:AA", "",
                                          "md5:aa"};
    for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
        struct json *j = manifest_ref("amd64", OCI "layer.v1.tar");
        json_put_z(j, "digest", digests[i]);
        put_layout(index_of(j, NULL));
        refused(&s, "the image refers to a blob without a digest");
    }
    ref = manifest_ref("amd64", OCI "layer.v1.tar");
    for (int i = 0; i < 6; i++)
        ref = blob_of(OCI "index.v1+json", index_of(ref, NULL));
    put_layout(index_of(ref, NULL));
    refused(&s, "indexes are nested");
    buf_release(&text);
    image_binary_release(&b);
}

/* ---- made, and shown ---- */

TEST(an_image_of_od_alone)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf out = BUF_INIT(1 << 20);
    struct json *config, *list;
    struct err e = ERR_INIT;
    s.tag = "x:y";
    CHECK_INT(image_make(&s, NULL, path_of("out"), false, &e), 0);
    list = result(&out, &config);
    CHECK_STR(words(json_get(json_first(list), "RepoTags")), "[\"x:y\"]");
    CHECK_STR(words(json_get(json_get(config, "config"), "Entrypoint")),
              "[\"/usr/local/bin/od\"]");
    CHECK_STR(words(json_get(json_get(config, "config"), "Cmd")), "[\"serve\"]");
    said[0] = 0;
    CHECK_INT(image_show(&s, path_of("out"), &e), 0);
    CHECK(strstr(said, "OCI layout, an archive\nlinux/amd64 x:y\n  layers: 1, "));
    CHECK(strstr(said, "  od: 1.2.3 at /usr/local/bin/od, current\n"));
    /* It is a layout, too, and of both the same image. */
    CHECK_INT(rename(path_of("out"), path_of("in")), 0);
    s.dest = "/od";
    CHECK_INT(run_add(&s, "in", "out"), 0);
    json_free(config);
    json_free(list);
    list = result(&out, &config);
    struct tar_entry x;
    char name[120];
    snprintf(name, sizeof(name), "%s", json_str(json_first(list), "Config", "").p);
    struct json *index = json_parse(str_of(file_in(buf_str(&out), "index.json", &x)), &e);
    struct json *ref = json_first(json_get(index, "manifests"));
    char blob_name[120];
    snprintf(blob_name, sizeof(blob_name), "blobs/sha256/%s",
             json_str(ref, "digest", "").p + 7);
    struct json *manifest = json_parse(str_of(file_in(buf_str(&out), blob_name, &x)), &e);
    CHECK_STR(json_str(json_get(manifest, "config"), "digest", "").p + 7,
              name + strlen("blobs/sha256/"));
    json_free(manifest);
    json_free(index);
    json_free(config);
    json_free(list);
    buf_release(&out);
    image_binary_release(&b);
}

TEST(an_image_of_a_root_file_system)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct buf l = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    struct json *config, *list;
    struct err e = ERR_INIT;
    char word[] = "/init", *command[] = {word, NULL};
    add(&l, TAR_FILE, "init", "x");
    CHECK_INT(tar_add_end(&l, NULL), 0);
    CHECK_INT(gzip_add(&gz, buf_str(&l), NULL), 0);
    put("root.gz", buf_str(&gz));
    s.command = command;
    CHECK_INT(image_make(&s, path_of("root.gz"), path_of("out"), false, &e), 0);
    list = result(&out, &config);
    CHECK_STR(words(json_get(json_get(config, "config"), "Entrypoint")),
              "[\"/usr/local/bin/od\",\"serve\",\"--\"]");
    CHECK_STR(words(json_get(json_get(config, "config"), "Cmd")), "[\"/init\"]");
    struct json *id = json_first(json_get(json_get(config, "rootfs"), "diff_ids"));
    CHECK_STR(json_str_value(id, "").p + 7, hex_of(buf_str(&l)));
    CHECK_INT(json_count(json_get(config, "history")), 2);
    json_free(config);
    json_free(list);
    put("root.gz", STR("nothing of that kind"));
    unlink(path_of("out"));
    CHECK_INT(image_make(&s, path_of("root.gz"), path_of("out"), false, &e), -1);
    CHECK(strstr(e.text, "is not a root file system for an image: "));
    CHECK(access(path_of("out"), F_OK) < 0);
    buf_release(&l);
    buf_release(&gz);
    buf_release(&out);
    image_binary_release(&b);
}

/* What strangers call their images is for no terminal to act on. */
TEST(names_are_shown_harmless)
{
    struct image_binary b = amd64();
    struct image_spec s = spec_of(&b);
    struct err e = ERR_INIT;
    put_archive(NULL, 0, "{\"User\":\"a\\u001b[2J\"}");
    CHECK_INT(image_show(&s, path_of("in"), &e), 0);
    CHECK(strstr(said, "  user: a?[2J\n  od: none\n"));
    image_binary_release(&b);
}

T_MAIN
