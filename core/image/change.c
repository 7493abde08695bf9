/* SPDX-License-Identifier: MIT */
/*
 * Adds our binary to one image: a layer, and a config that includes it (image-spec,
 * "config"). The same input gives the same bytes: no current time is in them, members
 * keep their order. Labels describe the change, so that a later one can recognise and
 * undo it: od.version, od.path, od.sha256 (of the binary), and od.entrypoint, the image's
 * own Entrypoint if ours replaced it.
 */
#include "archive/zip_gz.h"
#include "base/xalloc.h"
#include "image/own.h"
#include "os/self.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void image_hex(const uint8_t *digest, char out[IMAGE_HEX + 1])
{
    for (int i = 0; i < HASH_SHA256_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void image_sha256(struct str bytes, char out[IMAGE_HEX + 1])
{
    uint8_t digest[HASH_SHA256_SIZE];
    hash_sha256(bytes, digest);
    image_hex(digest, out);
}

void image_say(const struct image_spec *s, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    /*
     * Names in the line are not trusted, and may have control sequences for a terminal.
     */
    for (char *p = line; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    }
    if (s->say)
        s->say(s->arg, line);
}

/* ---- the binary ---- */

/* ELF's numbers of processors, and Go's names, which images use. */
static const char *arch_of(unsigned machine, bool wide, bool little)
{
    static const struct {
        unsigned machine;
        bool wide, little;
        const char *name;
    } archs[] = {{EM_X86_64, true, true, "amd64"},  {EM_AARCH64, true, true, "arm64"},
                 {EM_ARM, false, true, "arm"},      {EM_386, false, true, "386"},
                 {EM_RISCV, true, true, "riscv64"}, {EM_PPC64, true, true, "ppc64le"},
                 {EM_S390, true, false, "s390x"},   {258, true, true, "loong64"}};
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        if (archs[i].machine == machine && archs[i].wide == wide &&
            archs[i].little == little)
            return archs[i].name;
    }
    return NULL;
}

static uint64_t get(const uint8_t *p, unsigned n, bool little)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)p[little ? i : n - 1 - i] << 8 * i;
    return v;
}

/* System V ABI, "ELF Header" and "Program Header". */
static int check_elf(struct image_binary *b, const char *what, struct err *e)
{
    const uint8_t *p = (const uint8_t *)buf_z(&b->bytes);
    size_t n = b->bytes.n;
    if (n < sizeof(Elf64_Ehdr) || memcmp(p, ELFMAG, SELFMAG) != 0)
        return err_set(e, ERR_INVALID, "%.200s is not a program for Linux", what);
    bool wide = p[EI_CLASS] == ELFCLASS64, little = p[EI_DATA] == ELFDATA2LSB;
    const char *arch = arch_of((unsigned)get(p + 18, 2, little), wide, little);
    if (!arch)
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s is for a processor that images do not have", what);
    snprintf(b->arch, sizeof(b->arch), "%s", arch);
    uint64_t at = wide ? get(p + 32, 8, little) : get(p + 28, 4, little);
    uint64_t size = get(p + (wide ? 54 : 42), 2, little);
    uint64_t count = get(p + (wide ? 56 : 44), 2, little);
    for (uint64_t i = 0; i < count; i++) {
        if (size < 4 || at > n || n - at < size * (i + 1))
            return err_set(e, ERR_INVALID, "%.200s is cut off, or not a program", what);
        if (get(p + at + size * i, 4, little) == PT_INTERP)
            return err_set(
                e, ERR_UNSUPPORTED,
                "%.200s needs libraries of this system, which an image may not "
                "have: give a release build with --binary",
                what);
    }
    if (!self_has_mark(p, n < SELF_MARK_IN ? n : SELF_MARK_IN))
        return err_set(e, ERR_INVALID, "%.200s is another program, not an od", what);
    return 0;
}

int image_binary_read(struct image_binary *b, int fd, const char *what, struct err *e)
{
    memset(b, 0, sizeof(*b));
    buf_init(&b->bytes, IMAGE_BINARY_MAX);
    for (;;) {
        char *p = buf_reserve(&b->bytes, 256 << 10);
        if (!p)
            return err_set(e, ERR_LIMIT,
                           "%.200s is larger than %d bytes: it is not an od", what,
                           IMAGE_BINARY_MAX);
        ssize_t n = pread(fd, p, 256 << 10, (off_t)b->bytes.n);
        int why = errno;
        buf_commit(&b->bytes, n > 0 ? (size_t)n : 0);
        if (n == 0)
            break;
        if (n < 0 && why != EINTR)
            return err_sys(e, why, "cannot read %.200s", what);
    }
    image_sha256(buf_str(&b->bytes), b->sha256);
    return check_elf(b, what, e);
}

void image_binary_release(struct image_binary *b) { buf_release(&b->bytes); }

void change_platform(const struct json *config, char out[64])
{
    struct str os = json_str(config, "os", "linux"),
               arch = json_str(config, "architecture", "?"),
               variant = json_str(config, "variant", "");
    snprintf(out, 64, "%.20s/%.20s%s%.10s", os.n ? os.p : "linux", arch.p,
             variant.n ? "/" : "", variant.p);
}

const struct image_binary *change_binary(const struct image_spec *s,
                                         const struct json *config)
{
    struct str os = json_str(config, "os", "linux");
    struct str arch = json_str(config, "architecture", "");
    for (size_t i = 0; (!os.n || str_eq(os, STR("linux"))) && i < s->binaries_n; i++) {
        if (str_eq(arch, str_of(s->binaries[i].arch)))
            return &s->binaries[i];
    }
    return NULL;
}

/* ---- the layer ---- */

/* binary: NULL if the image has it. */
static int layer_tar(const struct change *c, const struct image_links *k,
                     const struct image_binary *binary, struct buf *out, struct err *e)
{
    const struct image_place *l = k->places.at;
    for (unsigned i = 0; i + 1 < l->parts_n; i++) {
        const struct image_part *p = &l->parts[i];
        struct tar_entry x = {.name = str_of(p->path), .type = TAR_FOLDER, .mode = 0755};
        if (p->kind == IMAGE_FOLDER) {
            x.mode = p->mode;
            x.uid = p->uid;
            x.gid = p->gid;
            x.mtime = p->mtime;
        }
        if (tar_add_header(out, &x, e) < 0)
            return -1;
    }
    const struct image_part *last = &l->parts[l->parts_n - 1];
    struct tar_entry x = {.name = str_of(last->path), .mode = 0755};
    if (last->kind == IMAGE_FOLDER)
        return err_set(e, ERR_EXISTS,
                       "%.200s is a folder in the image: choose another --dest",
                       c->spec->dest);
    if (last->kind != IMAGE_NOTHING && !last->ours && !c->spec->force)
        return err_set(
            e, ERR_EXISTS,
            "the image has another program at %.200s: choose another --dest, or "
            "replace it with --force",
            c->spec->dest);
    if ((binary && tar_add_file(out, &x, buf_str(&binary->bytes), e) < 0) ||
        links_tar(k, out, e) < 0)
        return -1;
    return tar_add_end(out, e);
}

/* ---- the config ---- */

/*
 * Returns the member of that name, made if it is absent or null. Returns NULL and sets *e
 * if it has another type.
 */
static struct json *member(struct json *parent, const char *name, bool array,
                           struct err *e)
{
    struct json *j = json_get(parent, name);
    if (j && !json_is_null(j)) {
        if (array ? json_is_array(j) : json_is_object(j))
            return j;
        err_set(e, ERR_INVALID, "the image's config has a %s that is not %s", name,
                array ? "a list" : "an object");
        return NULL;
    }
    json_put(parent, name, array ? json_array() : json_object());
    return json_get(parent, name);
}

static bool is_words(const struct json *list)
{
    for (const struct json *j = json_first(list); j; j = json_next(j)) {
        if (!json_is_string(j))
            return false;
    }
    return true;
}

/* Whether the list is DEST serve, or begins with DEST serve --. */
static bool is_ours(const struct json *entry, struct str dest)
{
    const struct json *j = json_first(entry);
    if (!j || !str_eq(json_str_value(j, ""), dest))
        return false;
    j = json_next(j);
    return j && str_eq(json_str_value(j, ""), STR("serve"));
}

/*
 * Returns the image's own Entrypoint: the present one, or the one that ours replaced. The
 * caller owns it. Returns NULL and sets *e on failure.
 */
static struct json *own_entry(struct json *config, const struct json *labels,
                              struct err *e)
{
    const struct json *now = json_get(config, "Entrypoint");
    struct str before = json_str(labels, "od.entrypoint", "");
    bool ours = before.n && is_ours(now, json_str(labels, "od.path", ""));
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    struct json *own = NULL;
    if (!ours && (!now || json_is_null(now)))
        own = json_array();
    else if (ours || json_print(&text, now) == 0)
        own = json_parse(ours ? before : buf_str(&text), e);
    buf_release(&text);
    if (own && json_is_array(own) && is_words(own))
        return own;
    json_free(own);
    err_set(e, ERR_INVALID, "the image's Entrypoint is not a list of strings");
    return NULL;
}

/*
 * Sets the Entrypoint to DEST serve -- OWN; the rest of the image's own command is in
 * Cmd.
 */
static void set_serve(struct json *config, const struct json *own, const char *dest)
{
    struct json *entry = json_array();
    json_push_str(entry, str_of(dest));
    json_push_str(entry, STR("serve"));
    if (json_count(own) > 0 || json_count(json_get(config, "Cmd")) > 0)
        json_push_str(entry, STR("--"));
    for (const struct json *j = json_first(own); j; j = json_next(j))
        json_push_str(entry, json_str_value(j, ""));
    json_put(config, "Entrypoint", entry);
}

static int set_entry(const struct change *c, struct json *config, struct json *labels,
                     struct err *e)
{
    struct json *own = own_entry(config, labels, e);
    bool had = json_has(labels, "od.entrypoint");
    if (!own)
        return -1;
    if (had)
        json_drop(labels, json_get(labels, "od.entrypoint"));
    if (c->alone) {
        struct json *entry = json_array(), *cmd = json_array();
        json_push_str(entry, str_of(c->spec->dest));
        json_push_str(cmd, STR("serve"));
        json_put(config, "Entrypoint", entry);
        json_put(config, "Cmd", cmd);
    } else if (c->spec->entry == IMAGE_KEEP) {
        if (had && json_count(own) == 0) {
            json_put_null(config, "Entrypoint");
        } else if (had) {
            json_put(config, "Entrypoint", own);
            return 0; /* the config owns it now */
        }
    } else {
        struct buf text = BUF_INIT(IMAGE_JSON_MAX);
        if (json_print(&text, own) == 0)
            json_put_str(labels, "od.entrypoint", buf_str(&text));
        buf_release(&text);
        set_serve(config, own, c->spec->dest);
    }
    json_free(own);
    return 0;
}

/*
 * "history" has an entry for each layer, and others; if it does not, it stays unchanged.
 */
static void add_history(const struct change *c, struct json *config, int layers)
{
    struct json *history = json_get(config, "history");
    int said = 0;
    for (const struct json *j = json_first(history); j; j = json_next(j))
        said += !json_bool(j, "empty_layer", false);
    if (said != layers || (history && !json_is_array(history)))
        return;
    if (!history) {
        json_put(config, "history", json_array());
        history = json_get(config, "history");
    }
    struct json *entry = json_object();
    struct buf by = BUF_INIT(IMAGE_PLACE_MAX + 64);
    buf_addf(&by, "od image add: %.1000s", c->spec->dest);
    json_put_str(entry, "created", json_str(config, "created", "1970-01-01T00:00:00Z"));
    json_put_str(entry, "created_by", buf_str(&by));
    json_push(history, entry);
    buf_release(&by);
}

static int change_config(const struct change *c, struct json *config,
                         const struct image_binary *binary, const char *as,
                         const char *diff_id, unsigned layers, struct err *e)
{
    struct json *rootfs = member(config, "rootfs", false, e);
    struct json *diff_ids = rootfs ? member(rootfs, "diff_ids", true, e) : NULL;
    struct json *inner = diff_ids ? member(config, "config", false, e) : NULL;
    struct json *labels = inner ? member(inner, "Labels", false, e) : NULL;
    if (!labels)
        return -1;
    if (set_entry(c, inner, labels, e) < 0)
        return -1;
    json_put_z(labels, "od.version", c->spec->version);
    json_put_z(labels, "od.path", c->spec->dest);
    json_put_z(labels, "od.sha256", binary->sha256);
    if (*as)
        json_put_z(labels, "od.as", as);
    else if (json_has(labels, "od.as"))
        json_drop(labels, json_get(labels, "od.as"));
    add_history(c, config, (int)layers);
    char id[8 + IMAGE_HEX];
    snprintf(id, sizeof(id), "sha256:%s", diff_id);
    json_push_str(diff_ids, str_of(id));
    return 0;
}

/* Whether the image has the same binary at the same place, started in the same way. */
static bool is_current(const struct change *c, const struct json *config,
                       const struct image_binary *binary)
{
    const struct json *inner = json_get(config, "config"),
                      *labels = json_get(inner, "Labels");
    struct str dest = str_of(c->spec->dest);
    if (!str_eq(json_str(labels, "od.sha256", ""), str_of(binary->sha256)) ||
        !str_eq(json_str(labels, "od.path", ""), dest))
        return false;
    return (c->spec->entry == IMAGE_SERVE) ==
           (json_has(labels, "od.entrypoint") &&
            is_ours(json_get(inner, "Entrypoint"), dest));
}

/* ---- both ---- */

void change_name(bool oci, const char *hex, const char *suffix,
                 char out[IMAGE_NAME_MAX + 1])
{
    snprintf(out, IMAGE_NAME_MAX + 1, "%s%s%s", oci ? "blobs/sha256/" : "", hex,
             oci ? "" : suffix);
}

static int write_config(const struct change *c, const struct json *config,
                        struct change_result *r, struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    char name[IMAGE_NAME_MAX + 1];
    int rc = json_print(&text, config);
    if (rc < 0)
        err_set(e, ERR_LIMIT, "the image's config is too large");
    r->config_size = text.n;
    image_sha256(buf_str(&text), r->config);
    change_name(c->oci, r->config, ".json", name);
    if (rc == 0)
        rc = image_out_text(c->out, name, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

int change_image(const struct change *c, struct json *config,
                 const struct image_binary *binary, const struct image_file *layers,
                 unsigned n, struct change_result *r, struct err *e)
{
    struct buf plain = BUF_INIT(IMAGE_BINARY_MAX + (1 << 20)), packed = plain;
    struct image_links k;
    char diff_id[IMAGE_HEX + 1], name[IMAGE_NAME_MAX + 1], platform[64];
    bool current = is_current(c, config, binary);
    int rc = links_begin(&k, c->spec, config, e);
    *r = (struct change_result){.changed = !current};
    if (rc < 0 || (current && !k.n))
        goto out;
    rc = -1;
    int told = json_count(json_get(json_get(config, "rootfs"), "diff_ids"));
    if (told != (int)n) {
        err_set(e, ERR_INVALID, "the image has %u layers, and its config lists %d", n,
                told);
        goto out;
    }
    k.places.packed_max = c->spec->no_unpack ? 0
                          : c->spec->unpack_all || c->spec->verify || k.n
                              ? UINT64_MAX
                              : IMAGE_UNPACK_MAX;
    if (layers_find(&k.places, c->spec->dest, layers, n, e) < 0)
        goto out;
    change_platform(config, platform);
    r->changed = links_judge(&k, platform) > 0 || !current;
    r->left = k.left;
    rc = r->changed ? layer_tar(c, &k, current ? NULL : binary, &plain, e) : 0;
    if (!r->changed || rc < 0)
        goto out;
    rc = -1;
    if (k.places.blind)
        image_say(c->spec,
                  "not every layer was read: od assumes that /%s is not below a link%s",
                  k.places.at->parts[k.places.at->parts_n - 1].path,
                  k.places.skipped ? "; --look unpacks all of them" : "");
    image_sha256(buf_str(&plain), diff_id);
    if (c->gzip && gzip_add(&packed, buf_str(&plain), e) < 0)
        goto out;
    struct str bytes = c->gzip ? buf_str(&packed) : buf_str(&plain);
    image_sha256(bytes, r->layer);
    r->layer_size = bytes.n;
    change_name(c->oci, r->layer, ".tar", name);
    if (change_config(c, config, binary, k.label, diff_id, n, e) == 0 &&
        image_out_text(c->out, name, bytes, e) == 0)
        rc = write_config(c, config, r, e);
out:
    links_end(&k);
    buf_release(&plain);
    buf_release(&packed);
    return rc;
}
