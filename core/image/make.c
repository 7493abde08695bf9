/* SPDX-License-Identifier: MIT */
/*
 * image_make: makes an image of our binary alone, or of a root file system with it. An
 * archive is an OCI layout and one of docker save at once, which every loader accepts;
 * docker's list names only the first architecture.
 */
#include "base/xalloc.h"
#include "image/own.h"

#include <stdio.h>
#include <stdlib.h>

#define OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_CONFIG   "application/vnd.oci.image.config.v1+json"
#define OCI_LAYER    "application/vnd.oci.image.layer.v1.tar"

struct make {
    const struct image_spec *spec;
    struct image_out *out;
    bool folder;
    unsigned left;
    bool has_root, root_gzip;
    struct image_file root;
    char diff_id[IMAGE_HEX + 1], blob[IMAGE_HEX + 1];
    struct json *index, *docker; /* owned */
};

static struct json *ref_of(const char *type, const char *hex, uint64_t size)
{
    struct json *j = json_object();
    char digest[8 + IMAGE_HEX];
    snprintf(digest, sizeof(digest), "sha256:%s", hex);
    json_put_z(j, "mediaType", type);
    json_put_z(j, "digest", digest);
    json_put_int(j, "size", (int64_t)size);
    return j;
}

/*
 * Computes the digests of the root file system: of the archive unchanged, and unpacked.
 */
static int hash_root(struct make *m, const char *rootfs, struct err *e)
{
    struct image_file plain = m->root;
    uint8_t digest[HASH_SHA256_SIZE];
    struct err why = ERR_INIT;
    struct image_places l = {xcalloc(1, sizeof(*l.at)), .n = 1, .packed_max = UINT64_MAX};
    struct hash h;
    m->root_gzip = layer_is_gzip(&m->root);
    hash_begin_sha256(&h);
    int rc = layers_find(&l, m->spec->dest, &plain, 1, &why);
    if (rc == 0 && l.blind)
        rc = err_set(&why, ERR_UNSUPPORTED, "it is compressed by zstd: unpack it first");
    if (rc == 0)
        rc = layer_hash(&m->root, &h, &why);
    hash_end(&h, digest);
    image_hex(digest, m->diff_id);
    memcpy(m->blob, m->diff_id, sizeof(m->blob));
    if (rc == 0 && m->root_gzip) {
        char block[16 << 10];
        ssize_t n;
        uint64_t at = 0;
        hash_begin_sha256(&h);
        while ((n = image_file_read(&m->root, at, block, sizeof(block), &why)) > 0) {
            hash_add(&h, str_n(block, (size_t)n));
            at += (uint64_t)n;
        }
        hash_end(&h, digest);
        image_hex(digest, m->blob);
        rc = (int)n;
    }
    free(l.at);
    return rc < 0 ? err_set(e, why.code,
                            "%.200s is not a root file system for an image: %.250s",
                            rootfs, why.text)
                  : 0;
}

static struct json *base_config(const struct make *m, const struct image_binary *binary)
{
    struct json *j = json_object(), *inner = json_object(), *rootfs = json_object(),
                *ids = json_array(), *history = json_array(), *env = json_array();
    json_put_z(j, "created", "1970-01-01T00:00:00Z");
    json_put_z(j, "architecture", binary->arch);
    json_put_z(j, "os", "linux");
    json_push_str(
        env, STR("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    json_put(inner, "Env", env);
    if (m->spec->command) {
        struct json *cmd = json_array();
        for (char *const *word = m->spec->command; *word; word++)
            json_push_str(cmd, str_of(*word));
        json_put(inner, "Cmd", cmd);
    }
    json_put_z(inner, "WorkingDir", "/");
    json_put(j, "config", inner);
    json_put_z(rootfs, "type", "layers");
    if (m->has_root) {
        struct json *entry = json_object();
        char id[8 + IMAGE_HEX];
        snprintf(id, sizeof(id), "sha256:%s", m->diff_id);
        json_push_str(ids, str_of(id));
        json_put_z(entry, "created", "1970-01-01T00:00:00Z");
        json_put_z(entry, "created_by", "od image make: a root file system");
        json_push(history, entry);
    }
    json_put(rootfs, "diff_ids", ids);
    json_put(j, "rootfs", rootfs);
    json_put(j, "history", history);
    return j;
}

static int put_manifest(struct make *m, const struct image_binary *binary,
                        const struct change_result *r, struct err *e)
{
    struct json *manifest = json_object(), *layers = json_array();
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    char hex[IMAGE_HEX + 1], name[IMAGE_NAME_MAX + 1];
    json_put_int(manifest, "schemaVersion", 2);
    json_put_z(manifest, "mediaType", OCI_MANIFEST);
    json_put(manifest, "config", ref_of(OCI_CONFIG, r->config, r->config_size));
    if (m->has_root)
        json_push(layers, ref_of(m->root_gzip ? OCI_LAYER "+gzip" : OCI_LAYER, m->blob,
                                 m->root.size));
    json_push(layers, ref_of(OCI_LAYER, r->layer, r->layer_size));
    json_put(manifest, "layers", layers);
    int rc = json_print(&text, manifest) < 0
                 ? err_set(e, ERR_LIMIT, "too large a manifest")
                 : 0;
    image_sha256(buf_str(&text), hex);
    change_name(true, hex, "", name);
    if (rc == 0)
        rc = image_out_text(m->out, name, buf_str(&text), e);

    struct json *ref = ref_of(OCI_MANIFEST, hex, text.n), *platform = json_object();
    json_put_z(platform, "architecture", binary->arch);
    json_put_z(platform, "os", "linux");
    json_put(ref, "platform", platform);
    if (m->spec->tag) {
        struct json *notes = json_object();
        json_put_z(notes, "org.opencontainers.image.ref.name",
                   m->spec->ref ? m->spec->ref : m->spec->tag);
        json_put_z(notes, "io.containerd.image.name", m->spec->tag);
        json_put(ref, "annotations", notes);
    }
    json_push(json_get(m->index, "manifests"), ref);
    json_free(manifest);
    buf_release(&text);
    return rc;
}

static void list_docker(struct make *m, const struct change_result *r)
{
    struct json *entry = json_object(), *layers = json_array(), *tags = json_array();
    char name[IMAGE_NAME_MAX + 1];
    change_name(true, r->config, "", name);
    json_put_z(entry, "Config", name);
    if (m->spec->tag)
        json_push_str(tags, str_of(m->spec->tag));
    json_put(entry, "RepoTags", tags);
    if (m->has_root) {
        change_name(true, m->blob, "", name);
        json_push_str(layers, str_of(name));
    }
    change_name(true, r->layer, "", name);
    json_push_str(layers, str_of(name));
    json_put(entry, "Layers", layers);
    json_push(m->docker, entry);
}

static int make_one(struct make *m, const struct image_binary *binary, struct err *e)
{
    struct change c = {
        .spec = m->spec, .out = m->out, .oci = true, .alone = !m->has_root};
    struct change_result r;
    struct json *config = base_config(m, binary);
    int rc = change_image(&c, config, binary, &m->root, m->has_root, &r, e);
    if (rc == 0)
        rc = put_manifest(m, binary, &r, e);
    if (rc == 0 && json_count(m->docker) == 0)
        list_docker(m, &r);
    if (rc == 0)
        image_say(m->spec, "linux/%s: od %s at %s, a layer of %llu bytes", binary->arch,
                  m->spec->version, m->spec->dest, (unsigned long long)r.layer_size);
    m->left += r.left;
    json_free(config);
    return rc;
}

static int put_list(struct make *m, const char *name, const struct json *j, struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    int rc = json_print(&text, j) < 0 ? err_set(e, ERR_LIMIT, "%s is too large", name)
                                      : image_out_text(m->out, name, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

static int make_all(struct make *m, struct err *e)
{
    char name[IMAGE_NAME_MAX + 1];
    json_put_int(m->index, "schemaVersion", 2);
    json_put_z(m->index, "mediaType", "application/vnd.oci.image.index.v1+json");
    json_put(m->index, "manifests", json_array());
    if (image_out_text(m->out, "oci-layout", STR("{\"imageLayoutVersion\":\"1.0.0\"}"),
                       e) < 0)
        return -1;
    change_name(true, m->blob, "", name);
    if (m->has_root && image_out_copy(m->out, name, &m->root, NULL, e) < 0)
        return -1;
    for (size_t i = 0; i < m->spec->binaries_n; i++) {
        if (make_one(m, &m->spec->binaries[i], e) < 0)
            return -1;
    }
    if (put_list(m, "index.json", m->index, e) < 0 ||
        (!m->folder && put_list(m, "manifest.json", m->docker, e) < 0))
        return -1;
    return image_out_finish(m->out, e);
}

int image_make(const struct image_spec *s, const char *rootfs, const char *out,
               bool folder, struct err *e)
{
    struct image_spec spec = *s;
    struct make m = {.spec = &spec, .folder = folder, .root.fd = -1};
    int rc = 0;
    spec.unpack_all = true; /* it is unpacked for its digest in any case */
    if (rootfs && s->binaries_n != 1)
        return err_set(
            e, ERR_INVALID,
            "a root file system is of one architecture, and so must be the binary");
    if (rootfs) {
        m.has_root = true;
        rc = image_file_open(rootfs, &m.root, e);
        if (rc == 0)
            rc = hash_root(&m, rootfs, e);
    }
    if (rc == 0)
        m.out = image_out_open(out, folder, s->force, s->token, e);
    m.index = json_object();
    m.docker = json_array();
    if (rc == 0)
        rc = m.out && make_all(&m, e) == 0 ? links_say_left(s, m.left, out, e) : -1;
    json_free(m.index);
    json_free(m.docker);
    image_out_close(m.out);
    image_file_close(&m.root);
    return rc;
}
