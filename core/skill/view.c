/* SPDX-License-Identifier: MIT */
/*
 * `view`: a file as numbered lines, a picture, a document as text, a folder as a list;
 * and, for all functions of this kind, the sentence about a missing path. A helper does
 * it, as a file may be large, damaged, or on a slow disk. The helper sends its facts as
 * a note, then the text and the picture.
 */
#include "base/enc.h"
#include "base/mime.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "document/document.h"
#include "file/files.h"
#include "os/file.h"
#include "skill/own.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK = 256 << 10,
    CPU_S = 60,
    MEMORY = DOCREAD_FILE_MAX + DOCREAD_TEXT_MAX + DOCREAD_MEMORY,
    LARGE = 1000,        /* lines above which a search is proposed */
    PICTURE_SIDE = 2000, /* pixels: models scale larger ones down first */
    PICTURE_BYTES = SKILL_PICTURE_MAX / 4 * 3
};

struct viewing_ask {
    char path[PATH_MAX], shown[PATH_MAX], cwd[PATH_MAX];
    int64_t offset, limit;
    size_t bytes;
    bool missing; /* only the sentence about a missing path */
};

/* The helper's answer. */
struct view_answer {
    const struct viewing_ask *q;
    struct buf text, state, picture;
    struct json *facts;
    const char *type; /* of the picture */
    bool failed;
};

/* ---- a path that cannot be looked at ---- */

static void tell_denied(struct view_answer *a, const char *path)
{
    struct stat st;
    const struct passwd *p = stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
    buf_addf(&a->text, "no permission to read %s", path);
    if (p)
        buf_addf(&a->text, ": owned by %.60s, mode %04o, you are uid %u", p->pw_name,
                 (unsigned)st.st_mode & 07777, (unsigned)geteuid());
}

static void tell_missing(struct view_answer *a, int why)
{
    const char *path = a->q->path;
    a->failed = true;
    if (why == ENOENT || why == ENOTDIR) {
        buf_addf(&a->text, "no file %s", path);
        near_names(&a->text, path, a->q->cwd);
    } else if (why == EACCES || why == EPERM) {
        tell_denied(a, path);
    } else {
        buf_addf(&a->text, "cannot read %s: %s", path, strerror(why));
    }
    buf_addc(&a->text, '\n');
}

/* ---- lines ---- */

static void put_range(struct view_answer *a, const struct numbering *s, int64_t total)
{
    json_put_int(a->facts, "lines", total);
    json_put_int(a->facts, "from", s->last ? s->from : 0);
    json_put_int(a->facts, "to", s->last);
    json_put_bool(a->facts, "more", s->last < total);
    if (s->last == 0) {
        buf_addz(&a->state, "no lines");
        return;
    }
    if (s->from == s->last)
        buf_addf(&a->state, "line %lld of %lld", (long long)s->from, (long long)total);
    else
        buf_addf(&a->state, "lines %lld-%lld of %lld", (long long)s->from,
                 (long long)s->last, (long long)total);
    if (a->q->offset > total)
        buf_addf(&a->state, "; the file has %lld lines", (long long)total);
    if (s->full) {
        buf_addf(&a->state, "; more: offset=%lld", (long long)s->last + 1);
        if (total > LARGE)
            buf_addz(&a->state, "; to find something: search");
    }
}

/* Makes the printed text valid UTF-8. Returns true if it was not. */
static bool mend(struct buf *text)
{
    struct buf good = BUF_INIT(text->max);
    if (utf8_valid(buf_str(text)) && memchr(buf_z(text), 0, text->n) == NULL)
        return false;
    utf8_repair(&good, buf_str(text), true);
    buf_release(text);
    *text = good;
    return true;
}

static void put_text(struct view_answer *a, struct str text)
{
    struct numbering s;
    int64_t offset = a->q->offset, limit = a->q->limit, total = edit_count_lines(text);
    if (total == 0) {
        buf_addz(&a->state, "empty file");
        json_put_int(a->facts, "lines", 0);
        return;
    }
    show_range(&offset, &limit, total);
    numbering_begin(&s, &a->text, offset, limit, a->q->bytes);
    numbering_feed(&s, text);
    numbering_end(&s);
    put_range(a, &s, total);
}

static void put_form(struct view_answer *a, const struct form *f)
{
    const char *indent = form_indent(f);
    form_tell(f, &a->state);
    if (f->crlf || f->lf)
        json_put_z(a->facts, "eol", form_eol(f));
    if (indent)
        json_put_z(a->facts, "indent", indent);
}

/* The kind of a file that is not text, by its first bytes. */
static void put_binary(struct view_answer *a, struct str head, uint64_t size)
{
    char words[SIZE_WORDS];
    const char *type = mime_of(str_of(a->q->path), head);
    bool elf = str_starts(head, STR("\x7f"
                                    "ELF"));
    bool known = !elf && type && strcmp(type, "application/octet-stream") != 0 &&
                 !str_starts(str_of(type), STR("text/"));
    size_words(size, words);
    buf_addf(&a->state, "%s%s%s, binary; shell: file, xxd | head",
             elf     ? "ELF, "
             : known ? type
                     : "",
             known ? ", " : "", words);
    json_put_z(a->facts, "kind", "binary");
}

/* A text that is small enough for the editor, in the editor's words. */
static int view_small(struct view_answer *a, struct err *e)
{
    struct buf raw = BUF_INIT(EDIT_FILE_MAX), text = BUF_INIT(EDIT_TEXT_MAX);
    struct edit_failure f = {0};
    struct form form = {0};
    int rc = file_read(a->q->path, EDIT_FILE_MAX, &raw, e);
    struct str bytes = buf_str(&raw);
    if (rc == 0 && edit_read(a->q->path, &text, &f) < 0) {
        if (f.why == EDIT_BINARY)
            put_binary(a, bytes, bytes.n);
        else
            rc = (*e = f.e, -1);
    } else if (rc == 0) {
        bool wide = bytes.n > 1 && (str_starts(bytes, STR("\xff\xfe")) ||
                                    str_starts(bytes, STR("\xfe\xff")));
        form_count(&form, wide ? buf_str(&text) : bytes);
        put_text(a, buf_str(&text));
        put_form(a, &form);
        if (wide)
            buf_addz(&a->state, "; UTF-16");
        else if (!utf8_valid(bytes))
            buf_addf(&a->state, "; not UTF-8, %s",
                     str_find(buf_str(&text), STR(EDIT_BYTE_CHAR)) >= 0
                         ? "such bytes are shown as U+10FF80 to U+10FFFF"
                         : "shown as Latin-1");
    }
    buf_release(&raw);
    buf_release(&text);
    return rc;
}

static int64_t count_lines(int fd, char *block)
{
    int64_t n = 0;
    ssize_t got;
    char last = '\n';
    for (off_t at = 0; (got = pread(fd, block, BLOCK, at)) > 0; at += got) {
        n += (int64_t)scan_count(str_n(block, (size_t)got), '\n');
        last = block[got - 1];
    }
    return n + (last != '\n');
}

/* A file that is too large for memory is read twice. */
static void view_large(struct view_answer *a, int fd, uint64_t size)
{
    char *block = xcalloc(1, BLOCK);
    ssize_t n = pread(fd, block, FILES_HEAD, 0);
    struct str head = str_n(block, n > 0 ? (size_t)n : 0);
    int64_t offset = a->q->offset, limit = a->q->limit, total;
    struct form form = {0};
    struct numbering s;
    if (files_is_binary(head)) {
        put_binary(a, head, size);
        free(block);
        return;
    }
    total = count_lines(fd, block);
    show_range(&offset, &limit, total);
    numbering_begin(&s, &a->text, offset, limit, a->q->bytes);
    for (off_t at = 0; (n = pread(fd, block, BLOCK, at)) > 0; at += n) {
        struct str part = str_n(block, (size_t)n);
        if (at == 0)
            form_count(&form, part);
        if (!numbering_feed(&s, part))
            break;
    }
    numbering_end(&s);
    free(block);
    put_range(a, &s, total);
    put_form(a, &form);
}

/* ---- pictures ---- */

static bool has_program(const char *name)
{
    char path[PATH_MAX];
    const char *env = getenv("PATH");
    struct str rest = str_of(env ? env : "/usr/bin:/bin");
    while (rest.n > 0) {
        struct str dir = str_cut(&rest, ':');
        if (snprintf(path, sizeof(path), "%.*s/%s", STR_ARG(dir), name) > 0 &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void propose_scaling(struct view_answer *a)
{
    const char *from = a->q->shown;
    if (has_program("magick"))
        buf_addf(&a->text, "magick %s -resize '1568x1568>' /tmp/small.jpg", from);
    else if (has_program("convert"))
        buf_addf(&a->text, "convert %s -resize '1568x1568>' /tmp/small.jpg", from);
    else if (has_program("ffmpeg"))
        buf_addf(&a->text, "ffmpeg -i %s -vf scale=1568:-1 /tmp/small.jpg", from);
    else
        buf_addf(&a->text,
                 "python3 -c \"from PIL import Image; i = Image.open('%s'); "
                 "i.thumbnail((1568, 1568)); i.convert('RGB').save('/tmp/small.jpg')\" "
                 "(after: pip install pillow)",
                 from);
}

static void put_picture(struct view_answer *a, struct str bytes, uint64_t size,
                        uint64_t width, uint64_t height)
{
    char words[SIZE_WORDS], pixels[64] = "";
    size_words(size, words);
    json_put_z(a->facts, "kind", "image");
    if (width && height)
        snprintf(pixels, sizeof(pixels), "%llux%llu px, ", (unsigned long long)width,
                 (unsigned long long)height);
    if (bytes.n < size || width > PICTURE_SIDE || height > PICTURE_SIDE) {
        char most[SIZE_WORDS];
        a->failed = true;
        size_words(PICTURE_BYTES, most);
        buf_addf(
            &a->text,
            "the picture is too large to be shown: %s%s; at most %d px a side and %s. "
            "Scale it, then read that: ",
            pixels, words, PICTURE_SIDE, most);
        propose_scaling(a);
        buf_addc(&a->text, '\n');
        return;
    }
    enc_base64(&a->picture, bytes);
    buf_addf(&a->state, "picture %s%s: %s", pixels, words, a->q->shown);
}

/* Returns false if it is not a picture. */
static bool view_picture(struct view_answer *a, int fd, uint64_t size)
{
    struct buf bytes = BUF_INIT(PICTURE_BYTES);
    char *p = buf_reserve(&bytes, PICTURE_BYTES);
    ssize_t n = p ? pread(fd, p, PICTURE_BYTES, 0) : -1;
    uint64_t width = 0, height = 0;
    if (n > 0)
        buf_commit(&bytes, (size_t)n);
    a->type = docread_picture(buf_str(&bytes), &width, &height);
    if (a->type)
        put_picture(a, buf_str(&bytes), size, width, height);
    buf_release(&bytes);
    return a->type != NULL;
}

/* ---- documents ---- */

static bool is_document(enum docread_kind kind)
{
    return (kind >= DOCREAD_PDF && kind <= DOCREAD_RTF) || kind == DOCREAD_IPYNB;
}

static void view_document(struct view_answer *a, enum docread_kind kind)
{
    struct docread_file f = {.kind = kind, .path = a->q->path, .markdown = true};
    struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
    struct err e = ERR_INIT;
    json_put_z(a->facts, "kind", "document");
    if (docread_text(&f, &text, &e) < 0) {
        a->failed = true;
        buf_addf(&a->text, "%s\n", e.text);
    } else if (edit_strip(buf_str(&text)).n == 0) {
        buf_addz(&a->state, "the document has no text");
    } else {
        put_text(a, buf_str(&text));
    }
    buf_release(&text);
}

/* ---- the helper ---- */

static int view_file(struct view_answer *a, int fd, const struct stat *st, struct err *e)
{
    char head[MIME_HEAD];
    ssize_t n = pread(fd, head, sizeof(head), 0);
    struct str first = str_n(head, n > 0 ? (size_t)n : 0);
    uint64_t size = (uint64_t)st->st_size;
    enum docread_kind kind = docread_kind_of(str_of(a->q->path), first);
    json_put_z(a->facts, "kind", "text");
    json_put_int(a->facts, "size", (int64_t)size);
    if (files_is_binary(first) && view_picture(a, fd, size))
        return 0;
    if (is_document(kind)) {
        view_document(a, kind);
        return 0;
    }
    struct err foreign = ERR_INIT;
    if (files_is_binary(first) && docread_refuse(fd, &foreign) < 0) {
        a->failed = true;
        buf_addf(&a->text, "cannot read %.200s: %s\n", a->q->shown, foreign.text);
        json_put_z(a->facts, "kind", "binary");
        return 0;
    }
    if (size <= EDIT_FILE_MAX)
        return view_small(a, e);
    view_large(a, fd, size);
    return 0;
}

static int view_folder(struct view_answer *a, struct err *e)
{
    json_put_z(a->facts, "kind", "directory");
    return folder_show(a->q->path, a->q->bytes, &a->text, &a->state, e);
}

static int look(struct view_answer *a, struct err *e)
{
    const char *path = a->q->path;
    struct stat st;
    if (stat(path, &st) < 0 || a->q->missing) {
        tell_missing(a, a->q->missing ? ENOENT : errno);
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return view_folder(a, e);
    if (file_check_kind(st.st_mode, "read", path, e) < 0)
        return -1;
    int fd = within_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0) {
        tell_missing(a, errno);
        return 0;
    }
    int rc = view_file(a, fd, &st, e);
    close(fd);
    return rc;
}

static int send(struct view_answer *a, const struct job_child *c, struct err *e)
{
    struct json *note = json_object();
    struct buf text = BUF_INIT(JOB_NOTE_MAX);
    if (mend(&a->text))
        buf_addz(&a->state, "; bytes that are no text shown as \xef\xbf\xbd");
    json_put_bool(note, "failed", a->failed);
    json_put_str(note, "state", str_n(buf_z(&a->state), a->state.n));
    json_put_int(note, "text", (int64_t)a->text.n);
    json_put_z(note, "type", a->picture.n && a->type ? a->type : "");
    json_put(note, "facts", a->facts);
    int rc = json_print(&text, note);
    job_note(c, buf_str(&text));
    if (rc < 0 || job_put(c, buf_str(&a->text)) < 0 ||
        job_put(c, buf_str(&a->picture)) < 0)
        rc = err_set(e, ERR_IO, "cannot hand over a file");
    json_free(note);
    buf_release(&text);
    return rc;
}

static int child(void *arg, const struct job_child *c, struct err *e)
{
    struct view_answer a = {.q = arg,
                            .text = BUF_INIT(SKILL_TEXT_MAX),
                            .state = BUF_INIT(JOB_NOTE_MAX / 2),
                            .picture = BUF_INIT(SKILL_PICTURE_MAX),
                            .facts = json_object()};
    return look(&a, e) < 0 ? -1 : send(&a, c, e);
}

/* ---- the call ---- */

static void on_data(struct job *j, struct buf *in)
{
    struct skill_run *r = job_owner(j);
    buf_adds(&r->raw, buf_str(in));
    buf_consume(in, in->n);
}

static void on_note(struct job *j, struct str note)
{
    struct skill_run *r = job_owner(j);
    struct err e = ERR_INIT;
    json_free(r->noted);
    r->noted = json_parse(note, &e);
}

static void on_done(struct job *j, const struct err *e)
{
    struct skill_run *r = job_owner(j);
    struct str got = buf_str(&r->raw), type = json_str(r->noted, "type", "");
    size_t n = (size_t)json_int(r->noted, "text", 0);
    ASSERT(r->job == j); /* once */
    r->job = NULL;
    if (e->code) {
        r->failed = true;
        buf_addf(&r->text, "%s\n", e->text);
    } else {
        r->failed = json_bool(r->noted, "failed", false);
        buf_adds(&r->text, str_sub(got, 0, n));
        buf_adds(&r->state, json_str(r->noted, "state", ""));
        buf_adds(&r->picture, str_sub(got, n, got.n));
        snprintf(r->picture_type, sizeof(r->picture_type), "%.*s", STR_ARG(type));
        for (const struct json *f = json_first(json_get(r->noted, "facts")); f;
             f = json_next(f))
            json_put(skill_facts(r), json_name(f), json_copy(f));
        if (!r->failed && r->q.edits && r->watched[0])
            edits_seen(r->q.edits, r->watched);
    }
    skill_tell_now(r);
}

static const struct job_events events = {on_data, NULL, on_note, on_done, NULL};

static int start(struct skill_run *r, const struct viewing_ask *q, struct err *e)
{
    static const struct job_spec spec = {.what = "looking at a file",
                                         .fn = child,
                                         .memory = MEMORY,
                                         .cpu_s = CPU_S,
                                         .ev = &events};
    return skill_job(r, &spec, (void *)(uintptr_t)q, e);
}

static int ask(struct skill_run *r, const char *shown, const char *path, bool missing,
               struct err *e)
{
    struct viewing_ask *q = xnew(struct viewing_ask);
    *q = (struct viewing_ask){.missing = missing, .bytes = r->q.bytes};
    snprintf(q->path, sizeof(q->path), "%s", path);
    snprintf(q->shown, sizeof(q->shown), "%s", shown);
    snprintf(q->cwd, sizeof(q->cwd), "%.4000s", r->q.cwd ? r->q.cwd : r->here);
    if (!missing) {
        q->offset = skill_int(r, "offset");
        q->limit = skill_int(r, "limit");
    }
    q->offset = q->offset ? q->offset : 1;
    int rc = start(r, q, e);
    free(q);
    return rc;
}

int view_missing(struct skill_run *r, const char *path, struct err *e)
{
    return ask(r, path, path, true, e);
}

int view_path(struct skill_run *r, struct err *e)
{
    char shown[PATH_MAX], path[PATH_MAX];
    if (skill_place(r, "path", shown, path) < 0)
        return skill_tell(r);
    json_put_z(skill_facts(r), "path", shown);
    snprintf(r->watched, sizeof(r->watched), "%s", path);
    return ask(r, shown, path, false, e);
}
