/* SPDX-License-Identifier: MIT */
/*
 * Reads the parts of images: descriptors, blobs, manifests (image-spec, "descriptor",
 * "manifest"), and docker's manifest.json. A blob is parsed only after its digest was
 * checked.
 */
#include "image/own.h"

#include <stdio.h>
#include <stdlib.h>

void image_files_close(struct image_file *files, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        image_file_close(&files[i]);
}

static bool is_one_of(struct str s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(s, str_of(list[i])))
            return true;
    }
    return false;
}

#define ONE_OF(s, list) is_one_of(s, list, sizeof(list) / sizeof((list)[0]))

bool image_type_is_index(struct str type)
{
    static const char *const types[] = {
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json"};
    return ONE_OF(type, types);
}

bool image_type_is_manifest(struct str type)
{
    static const char *const types[] = {
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json"};
    return ONE_OF(type, types);
}

bool image_type_is_config(struct str type)
{
    static const char *const types[] = {"application/vnd.oci.image.config.v1+json",
                                        "application/vnd.docker.container.image.v1+json"};
    return ONE_OF(type, types);
}

/* Whether it is the media type of a layer, in any compression. */
static bool is_layer(struct str type)
{
    static const char *const types[] = {
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
        "application/vnd.docker.image.rootfs.foreign.diff.tar",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"};
    return ONE_OF(type, types);
}

/*
 * A builder's statement about an image: it is about the old image, not about the changed
 * one.
 */
bool image_is_attestation(const struct json *descriptor)
{
    const struct json *notes = json_get(descriptor, "annotations");
    return str_eq(json_str(notes, "vnd.docker.reference.type", ""),
                  STR("attestation-manifest"));
}

/* "descriptor", "Digests": makes a file's name of an algorithm and hexadecimal digits. */
int image_ref_of(const struct json *descriptor, struct image_ref *r, struct err *e)
{
    struct str digest = json_str(descriptor, "digest", ""), rest = digest;
    struct str algorithm = str_cut(&rest, ':');
    int64_t size = json_int(descriptor, "size", -1);
    bool sha256 = str_eq(algorithm, STR("sha256"));
    bool good = rest.n == (sha256 ? IMAGE_HEX : 2 * IMAGE_HEX) &&
                (sha256 || str_eq(algorithm, STR("sha512")));
    for (size_t i = 0; good && i < rest.n; i++)
        good = (rest.p[i] >= '0' && rest.p[i] <= '9') ||
               (rest.p[i] >= 'a' && rest.p[i] <= 'f');
    if (!good)
        return err_set(e, ERR_INVALID,
                       "the image refers to a blob without a digest: %.*s",
                       (int)(digest.n < 100 ? digest.n : 100), digest.p);
    if (size < 0)
        return err_set(e, ERR_INVALID, "the image has no size for %.100s", digest.p);
    r->type = json_str(descriptor, "mediaType", "");
    r->size = (uint64_t)size;
    snprintf(r->hex, sizeof(r->hex), "%.*s", sha256 ? IMAGE_HEX : 0, rest.p);
    snprintf(r->name, sizeof(r->name), "blobs/%.*s/%.*s", STR_ARG(algorithm),
             STR_ARG(rest));
    return 0;
}

static int wrong_size(const struct image_ref *r, uint64_t has, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%.150s has %llu bytes, not the %llu in its descriptor", r->name,
                   (unsigned long long)has, (unsigned long long)r->size);
}

/* Parses the object in a file that was read. Returns NULL and sets *e on failure. */
static struct json *parse(const char *name, struct str text, struct err *e)
{
    struct err why = ERR_INIT;
    struct json *j = json_parse(text, &why);
    if (j && json_is_object(j))
        return j;
    json_free(j);
    err_set(e, ERR_INVALID, "%.150s in the image is not a JSON object%s%.200s", name,
            why.text[0] ? ": " : "", why.text);
    return NULL;
}

int image_ref_json(struct image_box *b, const struct image_ref *r, struct json **out,
                   struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX + 1);
    char hex[IMAGE_HEX + 1];
    int rc = image_box_text(b, r->name, true, &text, e);
    if (rc > 0 && text.n != r->size)
        rc = wrong_size(r, text.n, e);
    if (rc > 0) {
        image_sha256(buf_str(&text), hex);
        if (strcmp(hex, r->hex) != 0)
            rc = err_set(e, ERR_INVALID, "%.150s does not match the digest in its name",
                         r->name);
    }
    if (rc > 0 && !(*out = parse(r->name, buf_str(&text), e)))
        rc = -1;
    buf_release(&text);
    return rc;
}

static int layer_of(struct image_box *b, const struct json *layer, struct image_file *out,
                    struct err *e)
{
    struct image_ref r;
    if (image_ref_of(layer, &r, e) < 0)
        return -1;
    if (!is_layer(r.type))
        return err_set(e, ERR_UNSUPPORTED,
                       "the image has a layer of a foreign type: %.200s", r.type.p);
    int rc = image_box_find(b, str_of(r.name), out, NULL, e);
    if (rc == 0 && json_count(json_get(layer, "urls")) == 0)
        return err_set(e, ERR_NOTFOUND, "the layer %.150s is not in the image's archive",
                       r.name);
    if (rc > 0 && out->size != r.size) {
        wrong_size(&r, out->size, e);
        image_file_close(out);
        return -1;
    }
    if (rc == 0)
        out->fd = -1;
    return rc < 0 ? -1 : 0;
}

int image_layers_of(struct image_box *b, const struct json *manifest,
                    struct image_file *out, unsigned *n, struct err *e)
{
    *n = 0;
    for (const struct json *j = json_first(json_get(manifest, "layers")); j;
         j = json_next(j)) {
        out[*n] = (struct image_file){.fd = -1};
        if (*n == IMAGE_LAYERS_MAX)
            err_set(e, ERR_LIMIT, "an image of more than %d layers", IMAGE_LAYERS_MAX);
        if (*n == IMAGE_LAYERS_MAX || layer_of(b, j, &out[*n], e) < 0) {
            image_files_close(out, *n);
            return -1;
        }
        ++*n;
    }
    return 0;
}

/* ---- docker's ---- */

int image_docker_layers(struct image_box *b, const struct json *entry,
                        struct image_file *out, char (*names)[IMAGE_NAME_MAX + 1],
                        unsigned *n, struct err *e)
{
    *n = 0;
    for (const struct json *j = json_first(json_get(entry, "Layers")); j;
         j = json_next(j)) {
        struct str name = json_str_value(j, "");
        int rc = -1;
        out[*n] = (struct image_file){.fd = -1};
        if (*n == IMAGE_LAYERS_MAX)
            err_set(e, ERR_LIMIT, "an image of more than %d layers", IMAGE_LAYERS_MAX);
        else if ((rc = image_box_find(b, name, &out[*n], names ? names[*n] : NULL, e)) ==
                 0)
            err_set(e, ERR_NOTFOUND, "the layer %.150s is not in the image's archive",
                    name.p);
        if (rc <= 0) {
            image_files_close(out, *n);
            return -1;
        }
        ++*n;
    }
    return 0;
}

/* The name of a config is its SHA-256, in one of two forms. */
static int check_name(const char *name, struct str text, struct err *e)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t digits = strspn(base, "0123456789abcdef");
    char hex[IMAGE_HEX + 1];
    if (digits != IMAGE_HEX || (base[digits] && strcmp(base + digits, ".json") != 0))
        return 0;
    image_sha256(text, hex);
    if (memcmp(hex, base, IMAGE_HEX) == 0)
        return 0;
    return err_set(e, ERR_INVALID, "%.150s does not match the digest in its name", name);
}

int image_docker_config(struct image_box *b, const struct json *entry,
                        char name[IMAGE_NAME_MAX + 1], struct json **out, struct err *e)
{
    struct str given = json_str(entry, "Config", "");
    struct image_file f;
    struct buf text = BUF_INIT(IMAGE_JSON_MAX + 1);
    int rc = image_box_find(b, given, &f, name, e);
    if (rc == 0)
        rc = err_set(e, ERR_NOTFOUND, "the config %.150s is not in the image's archive",
                     given.p);
    if (rc > 0) {
        image_file_close(&f);
        rc = image_box_text(b, name, false, &text, e);
    }
    if (rc > 0 && check_name(name, buf_str(&text), e) < 0)
        rc = -1;
    if (rc > 0 && !(*out = parse(name, buf_str(&text), e)))
        rc = -1;
    buf_release(&text);
    return rc < 0 ? -1 : 0;
}
