/* SPDX-License-Identifier: MIT */
/*
 * image_add: copies an archive or folder to another one, image by image. The result has
 * only what the index, or docker's manifest.json, refers to: blobs unchanged, each once,
 * and changed configs and manifests. An archive of both forms keeps both.
 */
#include "base/called.h"
#include "base/xalloc.h"
#include "image/own.h"

#include <stdio.h>
#include <stdlib.h>

enum { INDEX_DEPTH = 4 };

/* A manifest or index that was changed, and its new descriptor. */
struct done {
    char from[IMAGE_HEX + 1], to[IMAGE_HEX + 1];
    uint64_t size;
    bool config; /* a config: for docker's list, which has the same images */
    char layer[IMAGE_HEX + 1];
};

struct add {
    const struct image_spec *spec;
    struct image_box *in;
    struct image_out *out;
    struct change change;
    struct done *done; /* owned; IMAGE_IMAGES_MAX * 2 of them */
    unsigned done_n, images, refs, left;
    struct image_file layers[IMAGE_LAYERS_MAX + 1];
    char names[IMAGE_LAYERS_MAX + 1][IMAGE_NAME_MAX + 1];
};

static const struct done *was_done(const struct add *a, const char *hex, bool config)
{
    for (unsigned i = 0; i < a->done_n; i++) {
        if (a->done[i].config == config && strcmp(a->done[i].from, hex) == 0)
            return &a->done[i];
    }
    return NULL;
}

static struct done *add_done(struct add *a, const char *from, const char *to,
                             uint64_t size)
{
    struct done *d =
        &a->done[a->done_n < 2 * IMAGE_IMAGES_MAX - 1 ? a->done_n++ : a->done_n];
    *d = (struct done){.size = size};
    snprintf(d->from, sizeof(d->from), "%s", from);
    snprintf(d->to, sizeof(d->to), "%s", to);
    return d;
}

/* ---- blobs ---- */

/* Copies a file. want: the digest that --verify compares with, or "". */
static int copy_file(struct add *a, const char *name, const struct image_file *f,
                     const char *want, struct err *e)
{
    struct hash h;
    bool check = a->spec->verify && *want;
    if (image_out_has(a->out, name))
        return 0;
    if (check)
        hash_begin_sha256(&h);
    int rc = image_out_copy(a->out, name, f, check ? &h : NULL, e);
    if (check) {
        uint8_t digest[HASH_SHA256_SIZE];
        char hex[IMAGE_HEX + 1];
        hash_end(&h, digest);
        image_hex(digest, hex);
        if (rc == 0 && strcmp(hex, want) != 0)
            return err_set(e, ERR_INVALID, "%.150s does not match the digest in its name",
                           name);
    }
    return rc;
}

static int copy_ref(struct add *a, const struct json *descriptor, bool maybe,
                    struct err *e)
{
    struct image_ref r;
    struct image_file f;
    if (image_ref_of(descriptor, &r, e) < 0)
        return -1;
    int rc = image_box_find(a->in, str_of(r.name), &f, NULL, e);
    if (rc == 0 && (maybe || json_count(json_get(descriptor, "urls")) > 0))
        return 0;
    if (rc == 0)
        return err_set(e, ERR_NOTFOUND, "%.150s is not in the image's archive", r.name);
    if (rc < 0)
        return -1;
    if (f.size != r.size)
        rc = err_set(e, ERR_INVALID,
                     "%.150s has %llu bytes, not the %llu in its descriptor", r.name,
                     (unsigned long long)f.size, (unsigned long long)r.size);
    else
        rc = copy_file(a, r.name, &f, r.hex, e);
    image_file_close(&f);
    return rc < 0 ? -1 : 0;
}

/* Copies an unchanged manifest and its blobs. */
static int copy_manifest(struct add *a, const struct json *descriptor,
                         const struct json *manifest, struct err *e)
{
    if (copy_ref(a, descriptor, false, e) < 0 ||
        (json_get(manifest, "config") &&
         copy_ref(a, json_get(manifest, "config"), false, e) < 0))
        return -1;
    for (const struct json *j = json_first(json_get(manifest, "layers")); j;
         j = json_next(j)) {
        if (copy_ref(a, j, false, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- images of a layout ---- */

static void set_ref(struct json *descriptor, const char *hex, uint64_t size)
{
    char digest[8 + IMAGE_HEX];
    snprintf(digest, sizeof(digest), "sha256:%s", hex);
    json_put_z(descriptor, "digest", digest);
    json_put_int(descriptor, "size", (int64_t)size);
    if (json_has(descriptor, "data")) /* a copy of the old blob */
        json_drop(descriptor, json_get(descriptor, "data"));
}

/* Writes the object as a blob, and updates its descriptor. */
static int put_json(struct add *a, const struct image_ref *was, const struct json *j,
                    struct json *descriptor, struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    char hex[IMAGE_HEX + 1], name[IMAGE_NAME_MAX + 1];
    int rc = json_print(&text, j) < 0
                 ? err_set(e, ERR_LIMIT, "%.150s is too large when changed", was->name)
                 : 0;
    image_sha256(buf_str(&text), hex);
    change_name(true, hex, "", name);
    if (rc == 0)
        rc = image_out_text(a->out, name, buf_str(&text), e);
    set_ref(descriptor, hex, text.n);
    add_done(a, was->hex, hex, text.n);
    buf_release(&text);
    return rc;
}

/* Returns the new layer's descriptor, with a media type of the manifest's family. */
static struct json *layer_ref(const struct add *a, struct str config_type,
                              const struct change_result *r)
{
    bool docker = str_starts(config_type, STR("application/vnd.docker."));
    const char *type = docker ? "application/vnd.docker.image.rootfs.diff.tar"
                              : "application/vnd.oci.image.layer.v1.tar";
    struct json *j = json_object();
    char full[128];
    snprintf(full, sizeof(full), "%s%s", type,
             !a->change.gzip ? ""
             : docker        ? ".gzip"
                             : "+gzip");
    json_put_z(j, "mediaType", full);
    set_ref(j, r->layer, r->layer_size);
    return j;
}

/* Handles an image without a binary for it. Returns 0 if it stays unchanged. */
static int no_binary(const struct add *a, const struct json *config, struct err *e)
{
    char platform[64];
    change_platform(config, platform);
    if (a->spec->skip_missing) {
        image_say(a->spec, "%s: there is no od for it: left unchanged", platform);
        return 0;
    }
    struct str arch = json_str(config, "architecture", "ARCH");
    return err_set(
        e, ERR_NOTFOUND,
        "there is no od for an image of %.60s: give one with --binary %.20s=FILE, or "
        "leave such images unchanged with --skip-missing",
        platform, arch.p);
}

static void say_done(const struct add *a, const struct json *config,
                     const struct change_result *r)
{
    char platform[64];
    change_platform(config, platform);
    if (r->changed)
        image_say(a->spec, "%s: od %s at %s, a layer of %llu bytes", platform,
                  a->spec->version, a->spec->dest, (unsigned long long)r->layer_size);
    else
        image_say(a->spec, "%s: has this od already", platform);
}

/*
 * Layers go first, so that a reader of the archive from a pipe has them before the
 * config.
 */
static int change_manifest(struct add *a, struct json *manifest, struct json *config,
                           const struct image_binary *binary, struct change_result *r,
                           struct err *e)
{
    unsigned n = 0;
    struct json *layers = json_get(manifest, "layers");
    if (!json_is_array(layers))
        return err_set(e, ERR_INVALID, "a manifest of the image has no list of layers");
    if (image_layers_of(a->in, manifest, a->layers, &n, e) < 0)
        return -1;
    int rc = change_image(&a->change, config, binary, a->layers, n, r, e);
    image_files_close(a->layers, n);
    if (rc < 0)
        return -1;
    for (const struct json *j = json_first(layers); j; j = json_next(j)) {
        if (copy_ref(a, j, false, e) < 0)
            return -1;
    }
    if (!r->changed)
        return 0;
    struct json *ref = json_get(manifest, "config");
    struct image_ref was;
    if (image_ref_of(ref, &was, e) < 0)
        return -1;
    json_push(layers, layer_ref(a, was.type, r));
    set_ref(ref, r->config, r->config_size);
    struct done *d = add_done(a, was.hex, r->config, r->config_size);
    d->config = true;
    memcpy(d->layer, r->layer, sizeof(d->layer));
    return 0;
}

static int add_manifest(struct add *a, struct json *descriptor,
                        const struct image_ref *ref, struct json *manifest, struct err *e)
{
    struct image_ref config_ref;
    struct json *config = NULL, *given = json_get(manifest, "config");
    struct change_result r;
    /* Not an image, or a statement about another one: it stays unchanged. */
    if (json_has(manifest, "subject") || !given ||
        !image_type_is_config(json_str(given, "mediaType", "")))
        return copy_manifest(a, descriptor, manifest, e);
    int rc = image_ref_of(given, &config_ref, e) < 0
                 ? -1
                 : image_ref_json(a->in, &config_ref, &config, e);
    if (rc == 0)
        rc = err_set(e, ERR_NOTFOUND, "%.150s is not in the image's archive",
                     config_ref.name);
    if (rc < 0)
        return -1;
    const struct image_binary *binary = change_binary(a->spec, config);
    if (!binary) {
        rc = no_binary(a, config, e);
        if (rc == 0)
            rc = copy_manifest(a, descriptor, manifest, e);
    } else {
        rc = change_manifest(a, manifest, config, binary, &r, e);
        a->images++;
        if (rc == 0) {
            say_done(a, config, &r);
            a->left += r.left;
            rc = r.changed ? put_json(a, ref, manifest, descriptor, e)
                           : copy_manifest(a, descriptor, manifest, e);
        }
    }
    json_free(config);
    return rc < 0 ? -1 : 0;
}

static int add_index(struct add *a, struct json *index, int depth, struct err *e);

static int add_ref(struct add *a, struct json *descriptor, int depth, struct err *e)
{
    struct image_ref ref;
    struct json *j = NULL;
    if (++a->refs > IMAGE_IMAGES_MAX)
        return err_set(e, ERR_LIMIT, "the image's index has more than %d entries",
                       IMAGE_IMAGES_MAX);
    if (image_ref_of(descriptor, &ref, e) < 0)
        return -1;
    const struct done *d = was_done(a, ref.hex, false);
    if (d) {
        set_ref(descriptor, d->to, d->size);
        return 0;
    }
    bool index = image_type_is_index(ref.type);
    if (!index && !image_type_is_manifest(ref.type))
        return copy_ref(a, descriptor, true, e);
    int rc = image_ref_json(a->in, &ref, &j, e);
    if (rc == 0) /* an archive may have one image of many, and the index of all */
        image_say(a->spec, "%s is not in the archive: left unchanged", ref.name);
    if (rc <= 0)
        return rc;
    if (index) {
        rc = add_index(a, j, depth + 1, e);
        if (rc == 0)
            rc = put_json(a, &ref, j, descriptor, e);
    } else {
        rc = add_manifest(a, descriptor, &ref, j, e);
    }
    json_free(j);
    return rc < 0 ? -1 : 0;
}

static int add_index(struct add *a, struct json *index, int depth, struct err *e)
{
    struct json *list = json_get(index, "manifests");
    if (!json_is_array(list))
        return err_set(e, ERR_INVALID, "an index of the image has no list of manifests");
    if (depth > INDEX_DEPTH)
        return err_set(e, ERR_LIMIT, "indexes are nested more than %d deep", INDEX_DEPTH);
    for (struct json *j = json_first(list), *next; j; j = next) {
        next = json_next(j);
        if (image_is_attestation(j)) {
            image_say(a->spec, "left out: the builder's attestation of the old image");
            json_drop(list, j);
        } else if (add_ref(a, j, depth, e) < 0) {
            return -1;
        }
    }
    return 0;
}

/* image-spec, "annotations", and the one that containerd reads. */
static int tag_layout(const struct add *a, struct json *index, struct err *e)
{
    struct json *list = json_get(index, "manifests"), *only = json_first(list);
    if (!a->spec->tag)
        return 0;
    if (json_count(list) != 1)
        return err_set(e, ERR_INVALID, "--tag names one image, and there are %d",
                       json_count(list));
    if (!json_is_object(json_get(only, "annotations")))
        json_put(only, "annotations", json_object());
    struct json *notes = json_get(only, "annotations");
    json_put_z(notes, "org.opencontainers.image.ref.name",
               a->spec->ref ? a->spec->ref : a->spec->tag);
    json_put_z(notes, "io.containerd.image.name", a->spec->tag);
    return 0;
}

static int put_text(struct add *a, const char *name, const struct json *j, struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    if (image_out_has(a->out, name))
        return err_set(e, ERR_INVALID, "the image calls a layer or config %s", name);
    int rc = json_print(&text, j) < 0 ? err_set(e, ERR_LIMIT, "%s is too large", name)
                                      : image_out_text(a->out, name, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

static struct json *parse_text(const char *name, const struct buf *text, bool array,
                               struct err *e)
{
    struct err why = ERR_INIT;
    struct json *j = json_parse(buf_str(text), &why);
    if (j && (array ? json_is_array(j) : json_is_object(j)))
        return j;
    json_free(j);
    err_set(e, ERR_INVALID, "the image's %s is damaged%s%.200s", name,
            why.text[0] ? ": " : "", why.text);
    return NULL;
}

static int add_layout(struct add *a, const struct buf *text, struct err *e)
{
    struct json *index = parse_text("index.json", text, false, e);
    int rc = -1;
    if (index &&
        image_out_text(a->out, "oci-layout", STR("{\"imageLayoutVersion\":\"1.0.0\"}"),
                       e) == 0 &&
        add_index(a, index, 0, e) == 0 && tag_layout(a, index, e) == 0)
        rc = put_text(a, "index.json", index, e);
    json_free(index);
    return rc;
}

/* ---- docker's list ---- */

static void push_name(struct json *list, const char *name)
{
    json_push_str(list, str_of(name));
}

static int change_docker(struct add *a, struct json *entry, struct json *config,
                         const char *config_name, unsigned n, struct change_result *r,
                         struct err *e)
{
    const struct image_binary *binary = change_binary(a->spec, config);
    const char *slash = strrchr(config_name, '/');
    const struct done *d = a->change.oci
                               ? was_done(a, slash ? slash + 1 : config_name, true)
                               : NULL;
    char name[IMAGE_NAME_MAX + 1];
    *r = (struct change_result){.changed = false};
    if (d) {
        r->changed = true;
        memcpy(r->config, d->to, sizeof(r->config));
        memcpy(r->layer, d->layer, sizeof(r->layer));
    } else if (!binary) {
        return no_binary(a, config, e);
    } else if (change_image(&a->change, config, binary, a->layers, n, r, e) < 0) {
        return -1;
    } else {
        say_done(a, config, r);
        a->left += r->left;
    }
    a->images++;
    if (!r->changed)
        return 0;
    change_name(a->change.oci, r->config, ".json", name);
    json_put_z(entry, "Config", name);
    change_name(a->change.oci, r->layer, ".tar", name);
    push_name(json_get(entry, "Layers"), name);
    return 0;
}

/*
 * Sets the digest that a layer should have. Only that of a plain layer is known: it is in
 * the config.
 */
static void wanted(const struct json *config, unsigned i, const struct image_file *f,
                   char want[IMAGE_HEX + 1])
{
    const struct json *j = json_first(json_get(json_get(config, "rootfs"), "diff_ids"));
    for (; j && i > 0; i--)
        j = json_next(j);
    struct str id = json_str_value(j, "");
    *want = 0;
    if (id.n == 7 + IMAGE_HEX && str_starts(id, STR("sha256:")) && !layer_is_gzip(f))
        snprintf(want, IMAGE_HEX + 1, "%s", id.p + 7);
}

static int copy_layers(struct add *a, const struct json *config, struct json *list,
                       unsigned n, struct err *e)
{
    for (unsigned i = 0; i < n; i++) {
        char want[IMAGE_HEX + 1];
        wanted(config, i, &a->layers[i], want);
        if (copy_file(a, a->names[i], &a->layers[i], want, e) < 0)
            return -1;
        push_name(list, a->names[i]);
    }
    return 0;
}

static int add_docker_image(struct add *a, struct json *entry, struct err *e)
{
    char config_name[IMAGE_NAME_MAX + 1];
    struct json *config = NULL;
    struct change_result r;
    unsigned n = 0;
    if (++a->refs > IMAGE_IMAGES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d images in one archive",
                       IMAGE_IMAGES_MAX);
    if (!json_is_array(json_get(entry, "Layers")))
        return err_set(e, ERR_INVALID,
                       "the image's manifest.json has an entry without Layers");
    if (image_docker_config(a->in, entry, config_name, &config, e) < 0)
        return -1;
    int rc = image_docker_layers(a->in, entry, a->layers, a->names, &n, e);
    if (rc == 0) {
        struct json *list = json_array();
        rc = copy_layers(a, config, list, n, e);
        json_put(entry, "Layers", list);
    }
    if (rc == 0)
        rc = change_docker(a, entry, config, config_name, n, &r, e);
    image_files_close(a->layers, n);
    struct image_file f;
    if (rc == 0 && !r.changed &&
        (rc = image_box_find(a->in, str_of(config_name), &f, NULL, e)) > 0) {
        rc = copy_file(a, config_name, &f, "", e);
        json_put_z(entry, "Config", config_name);
        image_file_close(&f);
    }
    if (json_has(entry, "LayerSources"))
        json_drop(entry, json_get(entry, "LayerSources")); /* of the old layers */
    json_free(config);
    return rc < 0 ? -1 : 0;
}

static int add_docker(struct add *a, const struct buf *text, struct err *e)
{
    struct json *list = parse_text("manifest.json", text, true, e);
    int rc = list ? 0 : -1;
    for (struct json *j = json_first(list); j && rc == 0; j = json_next(j))
        rc = add_docker_image(a, j, e);
    if (rc == 0 && a->spec->tag) {
        struct json *tags = json_array();
        json_push_str(tags, str_of(a->spec->tag));
        if (json_count(list) == 1)
            json_put(json_first(list), "RepoTags", tags);
        else
            rc = err_set(e, ERR_INVALID, "--tag names one image, and there are %d",
                         json_count(list));
        if (rc < 0)
            json_free(tags);
    }
    if (rc == 0)
        rc = put_text(a, "manifest.json", list, e);
    json_free(list);
    return rc;
}

/* ---- all ---- */

static int add_all(struct add *a, const char *in, struct err *e)
{
    struct buf index = BUF_INIT(IMAGE_JSON_MAX + 1),
               docker = BUF_INIT(IMAGE_JSON_MAX + 1);
    int oci = image_box_text(a->in, "index.json", true, &index, e);
    int list = oci < 0 ? -1 : image_box_text(a->in, "manifest.json", true, &docker, e);
    int rc = oci < 0 || list < 0 ? -1 : 0;
    if (rc == 0 && !oci && !list)
        rc = err_set(
            e, ERR_INVALID,
            "%.200s is not an image: there is neither index.json (OCI) nor manifest.json "
            "(docker save) in it; %s make --from takes root file systems",
            in, called("image").z);
    a->change = (struct change){
        .spec = a->spec, .out = a->out, .oci = oci > 0, .gzip = oci > 0 && !list};
    if (rc == 0 && oci)
        rc = add_layout(a, &index, e);
    a->refs = 0;
    if (rc == 0 && list)
        rc = add_docker(a, &docker, e);
    if (rc == 0 && !a->images && !a->spec->skip_missing)
        rc = err_set(e, ERR_INVALID, "there is no image in %.200s", in);
    buf_release(&index);
    buf_release(&docker);
    return rc;
}

int image_add(const struct image_spec *s, const char *in, const char *out, struct err *e)
{
    int rc = -1;
    struct add *a = xnew(struct add);
    a->spec = s;
    a->done = xcalloc(2 * IMAGE_IMAGES_MAX, sizeof(*a->done));
    a->in = image_box_open(in, e);
    if (a->in)
        a->out = image_out_open(out, image_box_is_folder(a->in), s->force, s->token, e);
    if (a->out && add_all(a, in, e) == 0)
        rc = image_out_finish(a->out, e) < 0 ? -1 : links_say_left(s, a->left, out, e);
    image_out_close(a->out);
    image_box_close(a->in);
    free(a->done);
    free(a);
    return rc;
}
