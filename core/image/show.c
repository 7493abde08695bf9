/* SPDX-License-Identifier: MIT */
/*
 * image_show: describes an archive or a folder in lines for people; of each image what
 * matters for an od in it.
 */
#include "base/xalloc.h"
#include "image/own.h"

#include <stdio.h>
#include <stdlib.h>

enum { INDEX_DEPTH = 4 };

struct show {
    const struct image_spec *spec;
    struct image_box *in;
    unsigned refs;
    struct image_file layers[IMAGE_LAYERS_MAX + 1];
};

static void say_words(const struct show *s, const char *what, const struct json *list)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX);
    if (json_count(list) > 0 && json_print(&text, list) == 0)
        image_say(s->spec, "  %s: %.800s", what, buf_z(&text));
    buf_release(&text);
}

static void say_od(const struct show *s, const struct json *config,
                   const struct json *labels)
{
    struct str sha256 = json_str(labels, "od.sha256", ""),
               as = json_str(labels, "od.as", "");
    const struct image_binary *binary = change_binary(s->spec, config);
    const char *state = !binary ? "not available for that architecture"
                        : str_eq(sha256, str_of(binary->sha256)) ? "current"
                                                                 : "another build";
    if (sha256.n)
        image_say(s->spec, "  od: %.40s at %.200s, %s%s%.200s",
                  json_str(labels, "od.version", "").p, json_str(labels, "od.path", "").p,
                  state, as.n ? ", as " : "", as.n ? as.p : "");
    else
        image_say(s->spec, "  od: none");
}

static void say_image(const struct show *s, struct str name, const struct json *config,
                      unsigned layers, uint64_t bytes)
{
    char platform[64];
    const struct json *inner = json_get(config, "config");
    change_platform(config, platform);
    image_say(s->spec, "%s%s%.300s", platform, name.n ? " " : "", name.n ? name.p : "");
    image_say(s->spec, "  layers: %u, %llu bytes", layers, (unsigned long long)bytes);
    say_words(s, "entrypoint", json_get(inner, "Entrypoint"));
    say_words(s, "cmd", json_get(inner, "Cmd"));
    if (json_str(inner, "User", "").n)
        image_say(s->spec, "  user: %.200s", json_str(inner, "User", "").p);
    if (json_str(inner, "WorkingDir", "").n)
        image_say(s->spec, "  working directory: %.200s",
                  json_str(inner, "WorkingDir", "").p);
    say_od(s, config, json_get(inner, "Labels"));
}

static uint64_t sizes(const struct image_file *files, unsigned n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += files[i].size;
    return sum;
}

static int show_manifest(struct show *s, const struct json *descriptor,
                         const struct json *manifest, struct err *e)
{
    struct image_ref ref;
    struct json *config = NULL, *given = json_get(manifest, "config");
    unsigned n = 0;
    if (!image_type_is_config(json_str(given, "mediaType", ""))) {
        image_say(s->spec, "something else: %.200s",
                  json_str(given, "mediaType", "a manifest without a config").p);
        return 0;
    }
    int rc = image_ref_of(given, &ref, e) < 0 ? -1
                                              : image_ref_json(s->in, &ref, &config, e);
    if (rc == 0)
        rc = err_set(e, ERR_NOTFOUND, "%.150s is not in the image's archive", ref.name);
    if (rc < 0)
        return -1;
    rc = image_layers_of(s->in, manifest, s->layers, &n, e);
    if (rc == 0)
        say_image(s,
                  json_str(json_get(descriptor, "annotations"),
                           "org.opencontainers.image.ref.name", ""),
                  config, n, sizes(s->layers, n));
    image_files_close(s->layers, n);
    json_free(config);
    return rc;
}

static int show_index(struct show *s, const struct json *index, int depth, struct err *e)
{
    if (depth > INDEX_DEPTH)
        return err_set(e, ERR_LIMIT, "indexes are nested more than %d deep", INDEX_DEPTH);
    for (const struct json *j = json_first(json_get(index, "manifests")); j;
         j = json_next(j)) {
        struct image_ref ref;
        struct json *inner = NULL;
        if (++s->refs > IMAGE_IMAGES_MAX)
            return err_set(e, ERR_LIMIT, "the image's index has more than %d entries",
                           IMAGE_IMAGES_MAX);
        if (image_ref_of(j, &ref, e) < 0)
            return -1;
        bool is_index = image_type_is_index(ref.type);
        if (image_is_attestation(j) || (!is_index && !image_type_is_manifest(ref.type)))
            continue;
        int rc = image_ref_json(s->in, &ref, &inner, e);
        if (rc == 0)
            image_say(s->spec, "%s is not in the archive", ref.name);
        if (rc > 0)
            rc = is_index ? show_index(s, inner, depth + 1, e)
                          : show_manifest(s, j, inner, e);
        json_free(inner);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int show_docker(struct show *s, const struct json *list, struct err *e)
{
    for (const struct json *j = json_first(list); j; j = json_next(j)) {
        char name[IMAGE_NAME_MAX + 1];
        struct json *config = NULL;
        unsigned n = 0;
        if (image_docker_config(s->in, j, name, &config, e) < 0)
            return -1;
        int rc = image_docker_layers(s->in, j, s->layers, NULL, &n, e);
        if (rc == 0)
            say_image(s, json_str_value(json_first(json_get(j, "RepoTags")), ""), config,
                      n, sizes(s->layers, n));
        image_files_close(s->layers, n);
        json_free(config);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int show_all(struct show *s, const char *in, struct err *e)
{
    struct buf text = BUF_INIT(IMAGE_JSON_MAX + 1);
    const char *what = image_box_is_folder(s->in) ? "a folder" : "an archive";
    int oci = image_box_text(s->in, "index.json", true, &text, e);
    int rc = oci != 0 ? oci : image_box_text(s->in, "manifest.json", true, &text, e);
    if (rc == 0)
        rc = err_set(
            e, ERR_INVALID,
            "%.200s is not an image: there is neither index.json (OCI) nor manifest.json "
            "(docker save) in it",
            in);
    struct err why = ERR_INIT;
    struct json *j = rc > 0 ? json_parse(buf_str(&text), &why) : NULL;
    if (rc > 0 && !j)
        rc = err_set(e, ERR_INVALID, "the image's %s is damaged: %.300s",
                     oci > 0 ? "index.json" : "manifest.json", why.text);
    if (rc > 0) {
        image_say(s->spec, "%.200s: %s, %s", in, oci > 0 ? "OCI layout" : "docker save",
                  what);
        rc = oci > 0 ? show_index(s, j, 0, e) : show_docker(s, j, e);
    }
    json_free(j);
    buf_release(&text);
    return rc < 0 ? -1 : 0;
}

int image_show(const struct image_spec *spec, const char *in, struct err *e)
{
    struct show *s = xnew(struct show);
    s->spec = spec;
    s->in = image_box_open(in, e);
    int rc = s->in ? show_all(s, in, e) : -1;
    image_box_close(s->in);
    free(s);
    return rc;
}
