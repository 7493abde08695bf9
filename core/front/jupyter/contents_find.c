/* SPDX-License-Identifier: MIT */
/*
 * What a request about contents finds, and what must be done for it, as
 * jupyter_server/services/contents/filemanager.py answers it. All of it runs in a helper,
 * as the user of the sandbox; contents.c does what the head says (own.h). The helper
 * changes nothing.
 */
#include "front/jupyter/own.h"

#include "base/enc.h"
#include "base/hash.h"
#include "base/jsontext.h"
#include "base/mime.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "kernel/notebook.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAMES_MAX = 100000, OUT_MAX = 400 << 20, ROW = 57 };
#define CHECKPOINTS ".ipynb_checkpoints"

/* A path of a request, below the root. */
struct nb_spot {
    const char *api;  /* without slashes at its ends; "": the root */
    const char *full; /* absolute */
    bool hidden, there, folder;
    struct stat st; /* of a link itself, if it is there */
};

struct nb_found {
    const struct nb_ask *ask;
    struct json *head, *steps; /* owned */
    struct buf out;            /* owned: what follows the head */
    struct buf text;           /* owned: a file, or a decoded text */
};

/* ---- answers ---- */

/* fmt begins with the status, in three digits. */
static int refuse(struct nb_found *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(struct nb_found *l, const char *fmt, ...)
{
    char text[2 * PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_put_int(l->head, "status",
                 100 * (text[0] - '0') + 10 * (text[1] - '0') + text[2] - '0');
    json_put_z(l->head, "message", text + 3);
    return -1;
}

/* Adds an action on a path; with `to`, from the one to the other. */
static struct json *step(struct nb_found *l, const char *action, const char *path,
                         const char *to)
{
    struct json *j = json_object(), *args = json_object();
    json_put_z(args, to ? "from" : "path", path);
    if (to)
        json_put_z(args, "to", to);
    json_put_z(j, "action", action);
    json_put(j, "args", args);
    json_push(l->steps, j);
    return args;
}

/* Answers with this path's model after all is done. */
static int then(struct nb_found *l, int status, const char *api)
{
    json_put_int(l->head, "status", status);
    json_put_z(l->head, "then", api);
    return 0;
}

/* ---- paths ---- */

/* Returns a formatted text, which is there until the helper ends. */
static const char *textf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static const char *textf(const char *fmt, ...)
{
    struct buf b = BUF_INIT(4 * PATH_MAX);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&b, fmt, ap);
    va_end(ap);
    return buf_take(&b);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int nb_path(struct str path, char out[PATH_MAX], bool *hidden)
{
    size_t n = 0;
    for (struct str rest = path; rest.n;) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            if (n == 0)
                return -1;
            while (n > 0 && out[--n] != '/')
                ;
            continue;
        }
        if (str_chr(part, 0) >= 0 || n + part.n + 2 > PATH_MAX)
            return -1;
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = 0;
    *hidden = out[0] == '.' || strstr(out, "/.");
    return 0;
}

/* Finds folder/name below the root. Returns -1 after refusing a path outside of it. */
static int find(struct nb_found *l, const char *folder, const char *name,
                struct nb_spot *s)
{
    char api[PATH_MAX];
    struct stat st;
    const char *path = textf("%s/%s", folder, name);
    *s = (struct nb_spot){0};
    if (nb_path(str_of(path), api, &s->hidden) < 0)
        return refuse(l, "404%s is outside root contents directory", path);
    s->api = textf("%s", api);
    s->full = textf("%s%s%s", l->ask->root, api[0] ? "/" : "", api);
    s->there = lstat(s->full, &s->st) == 0;
    s->folder = s->there && stat(s->full, &st) == 0 && S_ISDIR(st.st_mode);
    if (api[0] && s->folder && access(s->full, R_OK | X_OK) < 0)
        s->hidden = true;
    return 0;
}

/* Refuses what is hidden or is not there. */
static int want(struct nb_found *l, const struct nb_spot *s)
{
    return s->there && !s->hidden
               ? 0
               : refuse(l, "404file or directory does not exist: '%s'", s->api);
}

static int want_parent(struct nb_found *l, const struct nb_spot *s)
{
    struct stat st;
    const char *dir = textf("%.*s/", (int)(base_of(s->full) - s->full), s->full);
    return stat(dir, &st) == 0 ? 0 : refuse(l, "404No such directory: %s", dir);
}

static bool is_file(const struct nb_spot *s)
{
    struct stat st;
    return s->there && stat(s->full, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_notebook(const char *path)
{
    return str_ends(str_of(path), STR(".ipynb"));
}

/* The end of the links of a path, if there is something. */
static const char *real(const struct nb_spot *s)
{
    const char *path = realpath(s->full, NULL);
    return path ? path : s->full;
}

/* ---- checkpoints ---- */

static const char *checkpoints_of(const struct nb_spot *s)
{
    return textf("%.*s" CHECKPOINTS, (int)(base_of(s->full) - s->full), s->full);
}

/* NAME-checkpoint.EXT in that folder. */
static const char *checkpoint_of(const struct nb_spot *s)
{
    const char *name = base_of(s->full), *dot = strrchr(name, '.');
    if (!dot || dot == name)
        dot = name + strlen(name);
    return textf("%s/%.*s-checkpoint%s", checkpoints_of(s), (int)(dot - name), name, dot);
}

static void add_checkpoint(struct nb_found *l, const struct nb_spot *s)
{
    step(l, "mkdir", checkpoints_of(s), NULL);
    json_put_bool(step(l, "copy", real(s), checkpoint_of(s)), "overwrite", true);
}

/* ---- models ---- */

static void put_time(struct buf *out, const char *name, const struct timespec *t)
{
    char date[32];
    struct tm tm;
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&t->tv_sec, &tm));
    buf_addf(out, ",\"%s\":\"%s.%06ldZ\"", name, date, t->tv_nsec / 1000);
}

/* Reads a whole file into l->text. Returns -1 after refusing. */
static int read_whole(struct nb_found *l, const struct nb_spot *s)
{
    struct err e = ERR_INIT;
    if (!is_file(s))
        return refuse(l, "400Cannot read non-file %s", s->full);
    buf_reset(&l->text);
    if (file_read(s->full, NB_SAVE_MAX, &l->text, &e) == 0)
        return 0;
    if (e.code == ERR_DENIED)
        return refuse(l, "403Permission denied: %s", s->api);
    return refuse(l, "413%s: a file of more than %d MiB is read at /files/", e.text,
                  NB_SAVE_MAX >> 20);
}

/* Appends the hash of l->text. */
static void put_hash(struct nb_found *l, struct buf *out)
{
    uint8_t sum[HASH_SHA256_SIZE];
    hash_sha256(buf_str(&l->text), sum);
    enc_hex(out, str_n(sum, sizeof(sum)));
}

/* A member that is a string or null. */
static void put_text(struct nb_found *l, const char *name, const char *value)
{
    buf_addf(&l->out, ",\"%s\":", name);
    if (value)
        json_quote(&l->out, str_of(value));
    else
        buf_addz(&l->out, "null");
}

/* All of a model but its content, up to the colon. */
static void put_base(struct nb_found *l, const struct nb_spot *s, const char *type,
                     const char *mime, const char *format, bool hash)
{
    struct buf *b = &l->out, sum = BUF_INIT(80);
    if (hash)
        put_hash(l, &sum);
    buf_addz(b, "{\"name\":");
    json_quote(b, str_of(base_of(s->api)));
    put_text(l, "path", s->api);
    put_time(b, "last_modified", &s->st.st_mtim);
    put_time(b, "created", &s->st.st_ctim);
    put_text(l, "type", type);
    put_text(l, "mimetype", mime);
    put_text(l, "format", format);
    put_text(l, "hash", sum.n ? buf_z(&sum) : NULL);
    put_text(l, "hash_algorithm", sum.n ? "sha256" : NULL);
    buf_addz(b, ",\"size\":");
    if (s->folder)
        buf_addz(b, "null");
    else
        buf_addi(b, s->st.st_size);
    buf_addf(b, ",\"writable\":%s,\"content\":",
             faccessat(AT_FDCWD, s->full, W_OK, AT_EACCESS) == 0 ? "true" : "false");
    buf_release(&sum);
}

/* Rows of base64, as Python's encodebytes writes them. */
static void put_base64(struct buf *out, struct str bytes)
{
    buf_addc(out, '"');
    for (; bytes.n; bytes = str_sub(bytes, ROW, bytes.n)) {
        enc_base64(out, str_sub(bytes, 0, ROW));
        buf_addz(out, "\\n");
    }
    buf_addc(out, '"');
}

static int put_notebook(struct nb_found *l, const struct nb_spot *s, bool hash)
{
    struct str nb = str_trim(buf_str(&l->text));
    bool valid = utf8_valid(nb) && jsontext_valid(nb) && nb.p[0] == '{';
    int64_t format = valid ? jsontext_int(jsontext_get(nb, STR("nbformat")), 0) : 0;
    struct buf newer = BUF_INIT(OUT_MAX); /* the helper's until it ends */
    if (format == 3 && notebook_upgrade(nb, &newer) == 0)
        nb = buf_str(&newer);
    else if (format < 4)
        return refuse(l,
                      "400Unreadable Notebook: %s: it is not a JSON object, or "
                      "its nbformat is less than 3",
                      s->full);
    put_base(l, s, "notebook", NULL, "json", hash);
    notebook_write(&l->out, nb, false);
    return 0;
}

static int put_file(struct nb_found *l, const struct nb_spot *s, const char *type,
                    bool hash)
{
    const struct nb_ask *a = l->ask;
    struct str bytes = buf_str(&l->text);
    bool text = a->format[0] != 'b' && utf8_valid(bytes);
    if (!text && a->format[0] == 't') {
        json_put_z(l->head, "reason", "bad format");
        return refuse(l, "400%s is not UTF-8 encoded", s->full);
    }
    if (!type)
        type = text ? "text/plain" : "application/octet-stream";
    put_base(l, s, "file", type, text ? "text" : "base64", hash);
    if (text)
        json_quote(&l->out, bytes);
    else
        put_base64(&l->out, bytes);
    return 0;
}

static int put_entries(struct nb_found *l, const struct nb_spot *s);

/* Appends the model of what is there. content, hash: as in struct nb_ask. */
static int put_model(struct nb_found *l, const struct nb_spot *s, bool content, bool hash)
{
    bool notebook = l->ask->type[0] ? l->ask->type[0] == 'n' : is_notebook(s->api);
    const char *type = notebook || s->folder ? NULL
                                             : mime_of_name(str_of(base_of(s->api)));
    int rc = 0;
    if ((content || hash) && !s->folder && read_whole(l, s) < 0)
        return -1;
    if (!content || s->folder)
        put_base(l, s,
                 s->folder  ? "directory"
                 : notebook ? "notebook"
                            : "file",
                 type, content ? "json" : NULL, hash && !s->folder);
    if (!content)
        buf_addz(&l->out, "null");
    else
        rc = s->folder  ? put_entries(l, s)
             : notebook ? put_notebook(l, s, hash)
                        : put_file(l, s, type, hash);
    buf_addc(&l->out, '}');
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_entry(struct nb_found *l, const struct nb_spot *in, const char *name)
{
    struct nb_spot s;
    if (find(l, in->api, name, &s) < 0 || s.hidden || !s.there)
        return;
    mode_t m = s.st.st_mode;
    if (!S_ISLNK(m) && !S_ISREG(m) && !S_ISDIR(m))
        return;
    if (l->out.p[l->out.n - 1] != '[')
        buf_addc(&l->out, ',');
    put_model(l, &s, false, false);
}

static int put_entries(struct nb_found *l, const struct nb_spot *s)
{
    char **names = NULL;
    size_t n = 0, cap = 0;
    struct dirent *x;
    DIR *d = opendir(s->full);
    while (d && (x = readdir(d))) {
        if (x->d_name[0] == '.')
            continue;
        if (n == NAMES_MAX)
            return refuse(l, "413%s has more than %d entries", s->api, NAMES_MAX);
        if (n == cap)
            names = xrealloc(names, cap = cap ? 2 * cap : 64, sizeof(*names));
        names[n++] = xstrdup(x->d_name);
    }
    if (d)
        closedir(d);
    if (n)
        qsort(names, n, sizeof(*names), compare);
    buf_addc(&l->out, '[');
    for (size_t i = 0; i < n; i++) /* both are the helper's until it ends */
        put_entry(l, s, names[i]);
    buf_addc(&l->out, ']');
    return 0;
}

static int get(struct nb_found *l)
{
    const struct nb_ask *a = l->ask;
    struct nb_spot s;
    if (find(l, a->path, "", &s) < 0 || want(l, &s) < 0)
        return -1;
    if (a->type[0] && s.folder != (a->type[0] == 'd')) {
        json_put_z(l->head, "reason", "bad type");
        return refuse(l, "400%s is %s directory, not a %s", s.api, s.folder ? "a" : "no",
                      a->type);
    }
    json_put_int(l->head, "status", 200);
    json_put_int(l->head, "mtime", s.st.st_mtime);
    json_put_z(l->head, "path", s.api);
    return put_model(l, &s, a->content, a->hash);
}

/* ---- names ---- */

/* Finds the first of NAME, NAME + insert + number, that is free in the folder. */
static int free_name(struct nb_found *l, const char *folder, const char *name,
                     const char *insert, struct nb_spot *s)
{
    const char *dot = is_notebook(name) ? strrchr(name, '.') : strchr(name, '.');
    int stem = (int)(dot ? dot - name : (long)strlen(name));
    int rc = find(l, folder, name, s);
    for (int i = 1; rc == 0 && s->there; i++)
        rc = find(l, folder, textf("%.*s%s%d%s", stem, name, insert, i, dot ? dot : ""),
                  s);
    return rc;
}

/* ---- saving ---- */

static struct str member(const struct nb_found *l, const char *name)
{
    return jsontext_get(l->ask->body, str_of(name));
}

/* A member that is a string; "" if it is missing or another type. */
static const char *word(const struct nb_found *l, const char *name)
{
    struct str value = member(l, name);
    struct buf b = BUF_INIT(value.n + 16);
    return jsontext_string(&b, value) == 0 ? buf_take(&b) : "";
}

/* With the member `hash`: the file must still be the one that the client has read. */
static int check_hash(struct nb_found *l, const struct nb_spot *s)
{
    const char *wanted = word(l, "hash");
    struct buf now = BUF_INIT(80);
    if (!wanted[0])
        return 0;
    if (s->there && read_whole(l, s) < 0)
        return -1;
    if (s->there)
        put_hash(l, &now);
    return strcmp(buf_z(&now), wanted) == 0
               ? 0
               : refuse(l, "409%s has changed since it was read: its hash is '%s' now",
                        s->api, buf_z(&now));
}

static int save_bytes(struct nb_found *l, const struct nb_spot *s)
{
    struct str content = member(l, "content");
    const char *format = word(l, "format");
    size_t n = 0;
    buf_reset(&l->text);
    if (!content.p)
        return 0;
    if (strcmp(format, "text") != 0 && strcmp(format, "base64") != 0)
        return refuse(l, "400Must specify format of file contents as 'text' or 'base64'");
    int rc = jsontext_string(format[0] == 't' ? &l->out : &l->text, content);
    for (size_t i = 0; i < l->text.n; i++) { /* without its line ends */
        if (!strchr("\n\r ", l->text.p[i]))
            l->text.p[n++] = l->text.p[i];
    }
    buf_truncate(&l->text, n);
    if (rc < 0 || dec_base64(&l->out, buf_str(&l->text)) < 0)
        return refuse(l, "400Encoding error saving %s: the content is not %s", s->api,
                      format);
    return 0;
}

static int save_notebook(struct nb_found *l, const struct nb_spot *s, struct str content)
{
    struct stat st;
    if (!content.p)
        content = STR("{\"cells\":[],\"metadata\":{},\"nbformat\":4,"
                      "\"nbformat_minor\":5}");
    if (content.p[0] != '{' ||
        jsontext_int(jsontext_get(content, STR("nbformat")), 0) < 1)
        return refuse(l, "400%s: the content is not a notebook", s->api);
    notebook_write(&l->out, content, true);
    if (stat(checkpoint_of(s), &st) < 0)
        add_checkpoint(l, s);
    return 0;
}

/* Has the bytes that follow the head become the file s. */
static void receive(struct nb_found *l, const struct nb_spot *s, bool append)
{
    struct json *args = json_object();
    json_put_z(args, "path", s->full);
    json_put_bool(args, "keep", true);
    json_put_int(args, "mode", 0666);
    json_put_bool(args, "append", append);
    json_put(l->head, "receive", args);
}

/* Saves the body as s, and answers with its model. */
static int save(struct nb_found *l, const struct nb_spot *s, const char *type, int status)
{
    struct str chunk = member(l, "chunk");
    bool part = chunk.p && chunk.p[0] != 'n', folder = strcmp(type, "directory") == 0;
    then(l, status, s->api);
    if (strcmp(type, "file") != 0 && (part || (strcmp(type, "notebook") != 0 && !folder)))
        return refuse(l, "400Unhandled contents type: %s", type);
    if (s->there && s->folder != folder)
        return refuse(l, "400Not a %s: %s", folder ? "directory" : "file", s->full);
    if (want_parent(l, s) < 0 || (!folder && check_hash(l, s) < 0))
        return -1;
    if (folder) {
        if (!s->there)
            step(l, "mkdir", s->full, NULL);
        return 0;
    }
    receive(l, s, part && jsontext_int(chunk, 0) != 1);
    return type[0] == 'n' ? save_notebook(l, s, member(l, "content")) : save_bytes(l, s);
}

static int hidden(struct nb_found *l, const char *verb, const struct nb_spot *s)
{
    return refuse(l, "400Cannot %s file or directory '%s'", verb, s->api);
}

static int new_untitled(struct nb_found *l, const struct nb_spot *in)
{
    const char *type = word(l, "type"), *ext = word(l, "ext"), *name = "untitled";
    struct nb_spot s;
    if (!in->folder)
        return refuse(l, "404No such directory: %s", in->api);
    if (!type[0])
        type = strcmp(ext, ".ipynb") ? "file" : "notebook";
    if (type[0] == 'n')
        name = "Untitled", ext = ".ipynb";
    else if (type[0] == 'd')
        name = "Untitled Folder";
    if (strchr(ext, '/') || free_name(l, in->api, textf("%s%s", name, ext),
                                      type[0] == 'd' ? " " : "", &s) < 0)
        return refuse(l, "400ext must have no slash");
    return save(l, &s, type, 201);
}

static int put(struct nb_found *l)
{
    struct nb_spot s;
    const char *type = word(l, "type");
    if (find(l, l->ask->path, "", &s) < 0)
        return -1;
    if (word(l, "copy_from")[0])
        return refuse(l, "400Cannot copy with PUT, only POST");
    if (s.hidden)
        return hidden(l, "create", &s);
    if (!l->ask->body.n)
        return new_untitled(l, &s);
    bool old = is_file(&s);
    if (old && (!type[0] || (!member(l, "content").p && type[0] != 'd')))
        return refuse(l, "400No file %s provided", type[0] ? "content" : "type");
    if (!type[0])
        type = is_notebook(s.api) ? "notebook" : "file";
    return save(l, &s, type, old ? 200 : 201);
}

static int copy(struct nb_found *l, const struct nb_spot *to, const char *given)
{
    struct nb_spot s, made;
    if (find(l, given, "", &s) < 0)
        return -1;
    if (s.hidden)
        return hidden(l, "copy", &s);
    if (want(l, &s) < 0)
        return -1;
    if (s.folder)
        return refuse(l, "400Can't copy directories");
    if (!to->folder)
        return refuse(l, "404No such directory: %s", to->api);
    const char *name = base_of(s.api), *dash = strstr(name, "-Copy");
    const char *end = dash ? dash + 5 : name;
    while (*end >= '0' && *end <= '9')
        end++;
    if (dash && *end == '.') /* a copy of a copy has no longer name */
        name = textf("%.*s%s", (int)(dash - name), name, end);
    if (free_name(l, to->api, name, "-Copy", &made) < 0)
        return -1;
    then(l, 201, made.api);
    if (is_notebook(name)) {
        receive(l, &made, false);
        return read_whole(l, &s) < 0 ? -1
                                     : save_notebook(l, &made,
                                                     jsontext_valid(buf_str(&l->text))
                                                         ? str_trim(buf_str(&l->text))
                                                         : STR("[]"));
    }
    step(l, "copy", real(&s), made.full);
    return 0;
}

static int post(struct nb_found *l)
{
    struct nb_spot s;
    const char *from = word(l, "copy_from");
    if (find(l, l->ask->path, "", &s) < 0)
        return -1;
    if (is_file(&s))
        return refuse(l, "400Cannot POST to files, use PUT instead.");
    if (s.hidden)
        return hidden(l, from[0] ? "copy" : "create", &s);
    return from[0] ? copy(l, &s, from) : new_untitled(l, &s);
}

/* ---- renaming, removing ---- */

static int patch(struct nb_found *l)
{
    const char *path = word(l, "path");
    struct nb_spot s, to;
    struct stat a, b;
    if (!l->ask->body.n)
        return refuse(l, "400JSON body missing");
    if (find(l, l->ask->path, "", &s) < 0 || find(l, path[0] ? path : s.api, "", &to) < 0)
        return -1;
    if (s.hidden || to.hidden)
        return hidden(l, "rename", &s);
    if (want(l, &s) < 0 || want_parent(l, &to) < 0)
        return -1;
    then(l, 200, to.api);
    if (strcmp(s.api, to.api) == 0)
        return 0;
    if (stat(to.full, &b) == 0 && (stat(s.full, &a) < 0 || a.st_ino != b.st_ino))
        return refuse(l, "409File already exists: %s", to.api);
    step(l, "move", s.full, to.full);
    if (stat(checkpoint_of(&s), &a) == 0) {
        step(l, "mkdir", checkpoints_of(&to), NULL);
        json_put_bool(step(l, "move", checkpoint_of(&s), checkpoint_of(&to)), "overwrite",
                      true);
    }
    return 0;
}

/* Whether a folder has only checkpoints. */
static bool is_empty(const char *folder)
{
    DIR *d = opendir(folder);
    bool empty = true;
    for (struct dirent *x; d && empty && (x = readdir(d));)
        empty = strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0 ||
                strcmp(x->d_name, CHECKPOINTS) == 0;
    if (d)
        closedir(d);
    return empty;
}

static int delete (struct nb_found *l)
{
    struct nb_spot s;
    struct stat st;
    if (find(l, l->ask->path, "", &s) < 0)
        return -1;
    if (!s.api[0])
        return refuse(l, "400Can't delete root");
    if (s.hidden)
        return hidden(l, "delete", &s);
    if (want(l, &s) < 0)
        return -1;
    bool folder = S_ISDIR(s.st.st_mode);
    if (folder && !is_empty(s.full))
        return refuse(l, "400Directory %s not empty", s.full);
    json_put_bool(step(l, "remove", s.full, NULL), "recursive", true);
    if (!folder && stat(checkpoint_of(&s), &st) == 0)
        step(l, "remove", checkpoint_of(&s), NULL);
    json_put_int(l->head, "status", 204);
    return 0;
}

static int checkpoints(struct nb_found *l)
{
    const struct nb_ask *a = l->ask;
    struct nb_spot s;
    struct stat st;
    if (find(l, a->path, "", &s) < 0 || (a->verb != NB_CHECKS && want(l, &s) < 0))
        return -1;
    const char *path = checkpoint_of(&s);
    bool known = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    json_put_int(l->head, "status",
                 a->verb == NB_CHECK    ? 201
                 : a->verb < NB_RESTORE ? 200
                                        : 204);
    if (a->verb == NB_CHECK) {
        if (s.folder)
            return refuse(l, "400It is a directory: %s", s.api);
        json_put_z(l->head, "check", s.api);
        add_checkpoint(l, &s);
    } else if (a->verb < NB_RESTORE) {
        buf_addz(&l->out, a->verb == NB_CHECKS ? "[" : "");
        if (known) {
            buf_addz(&l->out, "{\"id\":\"checkpoint\"");
            put_time(&l->out, "last_modified", &st.st_mtim);
            buf_addc(&l->out, '}');
        }
        buf_addz(&l->out, a->verb == NB_CHECKS ? "]" : "");
    } else if (!known || strcmp(a->id, "checkpoint") != 0) {
        return refuse(l, "404Checkpoint does not exist: %s@%s", s.api, a->id);
    } else if (a->verb == NB_UNCHECK) {
        step(l, "remove", path, NULL);
    } else {
        json_put_bool(step(l, "copy", path, real(&s)), "overwrite", true);
    }
    return 0;
}

/* ---- the helper ---- */

static int check_body(struct nb_found *l)
{
    struct str body = l->ask->body;
    if (body.n && (!utf8_valid(body) || !jsontext_valid(body) || body.p[0] != '{'))
        return refuse(l, "400Invalid JSON in body of request");
    return 0;
}

int nb_find(void *arg, const struct job_child *c, struct err *e)
{
    static int (*const verbs[])(struct nb_found *) = {[NB_GET] = get,
                                                      [NB_PUT] = put,
                                                      [NB_POST] = post,
                                                      [NB_PATCH] = patch,
                                                      [NB_DELETE] = delete,
                                                      [NB_CHECKS] = checkpoints,
                                                      [NB_CHECK] = checkpoints,
                                                      [NB_RESTORE] = checkpoints,
                                                      [NB_UNCHECK] = checkpoints,
                                                      [NB_CHECKED] = checkpoints};
    struct nb_ask *a = arg;
    struct nb_found l = {.ask = a,
                         .head = json_object(),
                         .steps = json_array(),
                         .out = BUF_INIT(OUT_MAX),
                         .text = BUF_INIT(NB_SAVE_MAX + 1)};
    struct buf head = BUF_INIT(1 << 20);
    bool good;
    if (a->verb < NB_PAGE)
        good = check_body(&l) == 0 && verbs[a->verb](&l) == 0;
    else
        good = nb_app_find(a, &l.out) == 0 ||
               refuse(&l, "404%s has no such file: %s", a->root, a->path) == 0;
    if (good && a->verb >= NB_PAGE)
        json_put_int(l.head, "status", 200);
    if (good && buf_full(&l.out))
        good = refuse(&l, "413The content is too long") == 0;
    if (good)
        json_put(l.head, "do", l.steps);
    else
        buf_reset(&l.out);
    json_print(&head, l.head);
    buf_addc(&head, '\n');
    return job_put(c, buf_str(&head)) < 0 || job_put(c, buf_str(&l.out)) < 0
               ? err_sys(e, errno, "cannot report what was found")
               : 0;
}
