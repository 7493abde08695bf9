/* SPDX-License-Identifier: MIT */
/*
 * The table of verbs, and the parent's side of fileact.h.
 *
 *   RUNNING ── done ─▶ over ──────────────┬─▶ freed
 *      └── cancel, crash ─▶ sweeping ───────┘
 *
 * A helper that ends by itself removes its staged files (fileact_stage.c). What
 * one that was killed left is swept away by a second one.
 */
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "file/fileact_own.h"
#include "os/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { JOB_MEMORY = 256 << 20, JOB_NICE = 5, WARNINGS_MAX = 16 };

struct fileact_verb {
    const char *name;
    fa_fn *run;
    const char *staged; /* the path next to which it stages; NULL: it does not */
    const struct param_list *takes;
    bool inner; /* no action */
};

#define PATH_OF(what) \
    { \
        .name = "path", .type = PARAM_PATH, .required = true, .about = what \
    }
#define OVERWRITE \
    { \
        .name = "overwrite", .type = PARAM_BOOL, .dflt = "false", \
        .about = "Whether an existing file or empty folder is replaced" \
    }
#define USER \
    { \
        .name = "user", .type = PARAM_STRING, \
        .about = "The user to act as, by name or number; relative paths begin in " \
                 "the user's home; the default is the session's user" \
    }
#define FULL(what) \
    { \
        .name = "full", .type = PARAM_BOOL, .dflt = "false", .about = what \
    }
#define OWNER(param_name, kind) \
    { \
        .name = param_name, .type = PARAM_STRING, \
        .about = "The new " kind ", by name or number" \
    }
#define FORMAT(else_by) \
    { \
        .name = "format", .type = PARAM_STRING, \
        .about = "The format of the archive, zip, tar or tar.gz; without it " else_by \
    }
#define PARAMS(...) ((const struct param[]){__VA_ARGS__, {0}})
#define TAKES(verb, sentence, sample, ...) \
    const struct param_list fileact_takes_##verb = {.about = sentence, \
                                                    .params = PARAMS(__VA_ARGS__), \
                                                    .example = sample};

TAKES(stat, "Describes a file or folder", "{\"path\":\"src\",\"follow\":true}",
      PATH_OF("The file or folder"),
      {.name = "follow",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether a link at the end of the path is followed"},
      FULL("Whether the targets of links and extended attributes are reported, too"),
      USER)
TAKES(list, "Lists a folder, sorted by bytes", "{\"path\":\"src\",\"limit\":100}",
      {.name = "path",
       .type = PARAM_PATH,
       .about = "The folder; without it the session's directory"},
      {.name = "recursive",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether the folders in it are listed, too"},
      {.name = "depth",
       .type = PARAM_INT,
       .ranged = true,
       .min = 1,
       .about = "How many folders below each other are listed; without it one, or all "
                "with recursive"},
      FULL("Whether owner, group, the targets of links and extended attributes are "
           "reported, too"),
      {.name = "limit",
       .type = PARAM_INT,
       .ranged = true,
       .min = 1,
       .dflt = "1000",
       .about = "How many entries a page has; at most 10000 are returned"},
      {.name = "cursor",
       .type = PARAM_STRING,
       .about = "The cursor of the previous page, to list the next one"},
      {.name = "follow",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether a link is listed as its target, and left out if it leads "
                "nowhere"},
      USER)
TAKES(mkdir, "Makes a folder and its parents", "{\"path\":\"build/out\"}",
      PATH_OF("The folder"),
      {.name = "mode",
       .type = PARAM_STRING,
       .about = "The mode of a new folder, as chmod takes it"},
      OWNER("owner", "user"), OWNER("group", "group"), USER)
TAKES(
    move, "Moves or renames a file or folder", "{\"from\":\"a\",\"to\":\"b\"}",
    {.name = "from", .type = PARAM_PATH, .required = true, .about = "The file or folder"},
    {.name = "to", .type = PARAM_PATH, .required = true, .about = "Its new name"},
    OVERWRITE,
    {.name = "parents",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether missing folders of its new name are made"},
    {.name = "name",
     .type = PARAM_STRING,
     .about = "The name that it gets in `to`, if that is a folder"},
    {.name = "keep",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether it becomes the content of the file `to`: an existing file keeps "
              "its mode, owner and attributes, and a link to it stays; the umask gives "
              "a new one its mode"},
    USER)
TAKES(
    copy, "Copies a file or folder", "{\"from\":\"a\",\"to\":\"b\",\"overwrite\":true}",
    {.name = "from", .type = PARAM_PATH, .required = true, .about = "The file or folder"},
    {.name = "to", .type = PARAM_PATH, .required = true, .about = "The name of the copy"},
    OVERWRITE, USER)
TAKES(replace, "Replaces every occurrence of a text in a file",
      "{\"path\":\"a.txt\",\"old\":\"one\",\"new\":\"two\"}", PATH_OF("The file"),
      {.name = "old",
       .type = PARAM_TEXT,
       .required = true,
       .ranged = true,
       .min = 1,
       .about = "The text that is replaced"},
      {.name = "new",
       .type = PARAM_TEXT,
       .about = "The replacement; without it the text is removed"},
      USER)
TAKES(join, "Joins files to one, and removes them",
      "{\"from\":[\"a.1\",\"a.2\"],\"to\":\"a\",\"overwrite\":true}",
      {.name = "from",
       .type = PARAM_STRINGS,
       .required = true,
       .about = "The files, in the order of their bytes"},
      {.name = "to", .type = PARAM_PATH, .required = true, .about = "The new file"},
      OVERWRITE,
      {.name = "parents",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether missing folders of the new file are made"},
      USER)
TAKES(remove, "Removes a file or folder", "{\"path\":\"build\",\"recursive\":true}",
      PATH_OF("The file, folder or link"),
      {.name = "recursive",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether a folder is removed with all its content"},
      {.name = "file",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether a folder is an error"},
      {.name = "contents",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether the content of the directory at which relative paths begin "
                "may be removed; the directory itself stays"},
      USER)
const struct param_list fileact_takes_chmod = {
    .about = "Changes the mode or the owner of a file or folder",
    .params = PARAMS(PATH_OF("The file or folder"),
                     {.name = "mode",
                      .type = PARAM_STRING,
                      .about = "Octal digits, or changes such as u+x,go-w"},
                     OWNER("owner", "user"), OWNER("group", "group"),
                     {.name = "recursive",
                      .type = PARAM_BOOL,
                      .dflt = "false",
                      .about = "Whether the content of a folder is changed, too"},
                     USER),
    .rule = "{\"anyOf\":[{\"required\":[\"mode\"]},{\"required\":[\"owner\"]},"
            "{\"required\":[\"group\"]}]}",
    .example = "{\"path\":\"run.sh\",\"mode\":\"u+x,go-w\"}"};
TAKES(archive, "Packs a file or folder",
      "{\"path\":\"src\",\"to\":\"src.tar.gz\",\"format\":\"tar.gz\"}",
      PATH_OF("The file or folder"),
      {.name = "to",
       .type = PARAM_PATH,
       .required = true,
       .about = "The name of the archive"},
      FORMAT("the end of its name decides"), OVERWRITE, USER)
TAKES(extract, "Unpacks an archive, as a whole or not at all",
      "{\"path\":\"src.zip\",\"to\":\"src\",\"max_files\":1000}", PATH_OF("The archive"),
      {.name = "to",
       .type = PARAM_PATH,
       .required = true,
       .about = "The folder to unpack into"},
      FORMAT("its first bytes decide"), OVERWRITE,
      {.name = "parents",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether missing folders of `to` are made"},
      {.name = "max_bytes",
       .type = PARAM_INT,
       .ranged = true,
       .min = 1,
       .about = "How many bytes may be unpacked; without it 64 GiB, and at most 200 "
                "times the archive's size"},
      {.name = "max_files",
       .type = PARAM_INT,
       .ranged = true,
       .min = 1,
       .dflt = "1000000",
       .about = "How many files may be unpacked"},
      USER)
TAKES(watch, "Reports changes of a file or folder as events file_change",
      "{\"path\":\"src\",\"recursive\":true}", PATH_OF("The file or folder"),
      {.name = "recursive",
       .type = PARAM_BOOL,
       .dflt = "false",
       .about = "Whether the folders in it are watched, too"},
      {.name = "folders",
       .type = PARAM_STRINGS,
       .about = "Without recursive: the paths, below it, of folders in it that are "
                "watched, too"},
      FULL("Whether a change has the result of stat with full for the file, as entry"),
      USER)

static const struct param_list takes_send = {
    .about = "Sends the bytes of a file",
    .params = PARAMS(PATH_OF("The file"),
                     {.name = "offset",
                      .type = PARAM_INT,
                      .ranged = true,
                      .about = "The first byte that is sent"},
                     {.name = "length",
                      .type = PARAM_INT,
                      .ranged = true,
                      .min = 1,
                      .about = "How many bytes are sent at most"},
                     {.name = "suffix",
                      .type = PARAM_INT,
                      .ranged = true,
                      .min = 1,
                      .about = "Instead of offset: how many of the last bytes are sent"},
                     {.name = "etag",
                      .type = PARAM_STRING,
                      .about = "The offset counts only if the file still has this etag"},
                     {.name = "head",
                      .type = PARAM_BOOL,
                      .about = "Whether only the line about it is sent"})};
static const struct param_list takes_send_lines = {
    .about = "Sends lines of a file, joined with LF, without one at the end",
    .params = PARAMS(PATH_OF("The file"),
                     {.name = "offset",
                      .type = PARAM_INT,
                      .ranged = true,
                      .min = 1,
                      .about = "The first line that is sent, from 1"},
                     {.name = "limit",
                      .type = PARAM_INT,
                      .ranged = true,
                      .min = 1,
                      .about = "How many lines are sent at most"})};
static const struct param_list takes_receive_all = {
    .about = "Takes files one after the other", .params = PARAMS({0})};
static const struct param_list takes_receive = {
    .about = "Receives a file, as a whole or not at all",
    .params = PARAMS(
        PATH_OF("The file, or an existing folder"),
        {.name = "name", .type = PARAM_STRING, .about = "Its name if path is a folder"},
        {.name = "mode",
         .type = PARAM_INT,
         .ranged = true,
         .max = 07777,
         .about = "Its mode; 0644 without it"},
        {.name = "keep",
         .type = PARAM_BOOL,
         .about = "Whether mode is for a new file only, less the umask, and "
                  "an existing file keeps its mode and owner"},
        {.name = "parents",
         .type = PARAM_BOOL,
         .about = "Whether missing folders are made"},
        {.name = "gzip",
         .type = PARAM_BOOL,
         .about = "Whether the bytes come packed by gzip; without token"},
        {.name = "attributes",
         .type = PARAM_OBJECT,
         .about = "Extended attributes, if the file system has them"},
        {.name = "sync",
         .type = PARAM_BOOL,
         .about = "Whether it is on the disk before the result comes"},
        {.name = "append",
         .type = PARAM_BOOL,
         .about = "Whether the bytes go to the end of the file, which is there"},
        OWNER("owner", "user"), OWNER("group", "group"),
        {.name = "size",
         .type = PARAM_INT,
         .ranged = true,
         .about = "How many bytes it has, with token"},
        {.name = "token",
         .type = PARAM_STRING,
         .about = "The received bytes stay as .od-TOKEN when the transfer is cut"},
        {.name = "offset",
         .type = PARAM_INT,
         .ranged = true,
         .about = "The first byte that comes, with token"})};

static const struct param_list takes_received = {
    .about = "Reports how much of a file was received with a token",
    .params = PARAMS(
        PATH_OF("The file, or an existing folder"),
        {.name = "name", .type = PARAM_STRING, .about = "Its name if path is a folder"},
        {.name = "token",
         .type = PARAM_STRING,
         .required = true,
         .about = "The token of the upload"})};

static const struct param_list takes_folders = {
    .about = "Lists the folders in a folder, but no links to any, by their names in "
             "small letters",
    .params = PARAMS(PATH_OF("The folder"),
                     {.name = "hidden",
                      .type = PARAM_BOOL,
                      .about = "Whether names that begin with a dot are listed"},
                     {.name = "from",
                      .type = PARAM_STRING,
                      .about = "The name in small letters that the page begins with; "
                               "an unknown one is the first"},
                     {.name = "limit",
                      .type = PARAM_INT,
                      .ranged = true,
                      .min = 1,
                      .about = "How many names a page has; 100 without it"})};

static const struct param_list takes_snapshot = {
    .about = "Packs the files and folders of a folder as tar.gz, without links and what "
             "git may keep secret",
    .params = PARAMS(
        PATH_OF("The folder"),
        {.name = "exclude",
         .type = PARAM_STRING,
         .about = "Patterns of files that are left out, as lines of .gitignore"},
        {.name = "manifest",
         .type = PARAM_STRING,
         .about = "The name of a last entry that lists the packed files; "
                  "without it, no such entry is written"},
        {.name = "about",
         .type = PARAM_STRING,
         .about = "Members of that report, as the JSON of an object"})};

static const struct fileact_verb verbs[] = {
    {"stat", fa_stat, NULL, &fileact_takes_stat, false},
    {"list", fa_list, NULL, &fileact_takes_list, false},
    {"mkdir", fa_mkdir, NULL, &fileact_takes_mkdir, false},
    {"move", fa_move, "to", &fileact_takes_move, false},
    {"copy", fa_copy, "to", &fileact_takes_copy, false},
    {"replace", fa_replace, "path", &fileact_takes_replace, false},
    {"join", fa_join, "to", &fileact_takes_join, false},
    {"remove", fa_remove, NULL, &fileact_takes_remove, false},
    {"chmod", fa_chmod, NULL, &fileact_takes_chmod, false},
    {"archive", fa_archive, "to", &fileact_takes_archive, false},
    {"extract", fa_extract, "to", &fileact_takes_extract, false},
    {"watch", fa_watch, NULL, &fileact_takes_watch, false},
    {.name = "send", .run = fa_send, .takes = &takes_send, .inner = true},
    {.name = "send_lines",
     .run = fa_send_lines,
     .takes = &takes_send_lines,
     .inner = true},
    {.name = "receive",
     .run = fa_receive,
     .staged = "path",
     .takes = &takes_receive,
     .inner = true},
    {.name = "receive_all",
     .run = fa_receive_all,
     .takes = &takes_receive_all,
     .inner = true},
    {.name = "received", .run = fa_received, .takes = &takes_received, .inner = true},
    {.name = "folders", .run = fa_folders, .takes = &takes_folders, .inner = true},
    {.name = "snapshot", .run = fa_snapshot, .takes = &takes_snapshot, .inner = true},
};

static const struct fileact_verb *find(struct str name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (str_eq(name, str_of(verbs[i].name)))
            return &verbs[i];
    }
    return NULL;
}

bool fileact_known(struct str verb)
{
    const struct fileact_verb *v = find(verb);
    return v && !v->inner;
}

/* ---- arguments ---- */

int fileact_check(const char *verb, const struct json *args, bool input, bool output,
                  struct err *e)
{
    const struct fileact_verb *v = find(str_of(verb));
    if (!v)
        return err_set(e, ERR_UNSUPPORTED, "there is no action %.40s", verb);
    if (v->run == fa_chmod && !json_has(args, "mode") && !json_has(args, "owner") &&
        !json_has(args, "group"))
        return err_set(e, ERR_INVALID, "chmod takes mode, owner or group");
    const char *by_bytes = v->inner ? NULL : input ? "path" : output ? "to" : NULL;
    return params_check(verb, v->takes, args, by_bytes, e);
}

/* ---- the helper ---- */

/* Staged files are in their place; after a failure they are removed. */
static void tidy(struct fa *f, bool failed)
{
    struct err none = ERR_INIT;
    if (failed && f->part[0])
        fa_remove_tree(f, f->part, &none);
    if (f->whole[0])
        unlink(f->whole);
}

/* A result that is whole ends its line. */
static void keep(const struct fa *f)
{
    if (f->q->kept > 0 && (file_write_all(f->c->fds[0], buf_str(&f->out)) < 0 ||
                           file_write_all(f->c->fds[0], STR("\n")) < 0))
        fa_warn(f, "if the server fails right now, this is done again: %s",
                strerror(errno));
}

static bool was_kept(struct fa *f)
{
    char *p = NULL;
    ssize_t n = 0;
    while (f->q->resumed && f->q->kept > 0 && (p = buf_reserve(&f->out, 4096)) &&
           (n = pread(f->c->fds[0], p, 4096, (off_t)f->out.n)) > 0)
        buf_commit(&f->out, (size_t)n);
    if (str_ends(buf_str(&f->out), STR("\n"))) {
        buf_truncate(&f->out, f->out.n - 1);
        return true;
    }
    if (f->out.n > 0 && ftruncate(f->c->fds[0], 0) < 0)
        fa_warn(f, "the earlier note about it cannot be removed: %s", strerror(errno));
    buf_reset(&f->out);
    return false;
}

static int sweep(void *arg, const struct job_child *c, struct err *e);

static int run(void *arg, const struct job_child *c, struct err *e)
{
    const struct fileact_spec *q = arg;
    struct fa *f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(e, ERR_LIMIT, "cannot begin: no memory");
    f->c = c;
    f->q = q;
    buf_init(&f->out, FILEACT_TEXT_MAX + (64 << 10));
    if (was_kept(f)) {
        if (find(str_of(q->verb))->staged)
            sweep(arg, c, e);
    } else {
        int rc = find(str_of(q->verb))->run(f, e);
        if (rc == 0)
            keep(f);
        tidy(f, rc < 0);
        if (rc < 0)
            return -1;
    }
    if (!q->output && buf_full(&f->out))
        return err_set(e, ERR_LIMIT, "the result is longer than %zu bytes", f->out.max);
    if (!q->output && (job_put(c, STR("{")) < 0 || job_put(c, buf_str(&f->out)) < 0 ||
                       job_put(c, STR("}\n")) < 0))
        return err_sys(e, errno, "cannot hand over a result");
    return 0;
}

/* Removes the staged files of a call, whole or not. */
static int sweep(void *arg, const struct job_child *c, struct err *e)
{
    const struct fileact_spec *q = arg;
    struct fa *f = calloc(1, sizeof(*f));
    char path[PATH_MAX];
    if (!f)
        return 0;
    f->c = c;
    f->q = q;
    buf_init(&f->out, 4096);
    if (fa_path(f, find(str_of(q->verb))->staged, path, e) < 0)
        return 0;
    for (int inside = 0; inside < 2; inside++) {
        struct fa_stage s;
        struct err none = ERR_INIT;
        int rc = inside ? fa_stage(f, &s, path, &none)
                        : fa_stage_beside(f, &s, path, &none);
        if (rc == 0) {
            fa_remove_tree(f, s.part, &none);
            remove(s.whole);
        }
    }
    return 0;
}

/* ---- the parent ---- */

struct fileact {
    struct loop *loop;
    const struct fileact_verb *verb;
    struct job *job; /* borrowed; NULL: it is gone */
    struct fileact_events ev;
    void *arg;
    struct buf text;          /* of the result, or a line that is not whole */
    struct fileact_spec spec; /* a copy of its own, for the sweep */
    struct json *args;
    char *cwd, *root;
    gid_t *groups;
    char token[FILEACT_TOKEN_MAX + 1];
    struct buf warnings; /* strings of JSON with commas */
    unsigned warned;
    bool staged, over;
};

static void free_fileact(struct fileact *f)
{
    buf_release(&f->text);
    buf_release(&f->warnings);
    json_free(f->args);
    free(f->cwd);
    free(f->root);
    free(f->groups);
    free(f);
}

static struct job *start_job(struct fileact *f, const char *what, job_fn *fn,
                             const struct job_events *ev, struct err *e);

/* The changes whose lines are whole; the result is another line. */
static void give_lines(struct fileact *f)
{
    struct str rest = buf_str(&f->text);
    long n;
    while (str_starts(rest, STR("{\"kind\"")) && (n = str_chr(rest, '\n')) >= 0)
        rest = str_sub(rest, (size_t)n + 1, rest.n);
    size_t end = f->text.n - rest.n;
    if (end > 0 && f->ev.data)
        f->ev.data(f->arg, str_sub(buf_str(&f->text), 0, end));
    buf_consume(&f->text, end);
}

static void on_data(struct job *j, struct buf *in)
{
    struct fileact *f = job_owner(j);
    size_t n = in->n;
    if (f->spec.output) {
        n = f->ev.data ? f->ev.data(f->arg, buf_str(in)) : in->n;
        BUG_ON(n > in->n);
        if (n < in->n)
            job_pause(j);
    } else if (buf_adds(&f->text, buf_str(in)) == 0 && f->verb->run == fa_watch) {
        give_lines(f);
    }
    buf_consume(in, n);
}

/* As many as have room, as members of a list. */
static void add_warning(struct fileact *f, struct str text)
{
    if (f->spec.output)
        log_warn("an archive: %.*s", STR_ARG(text));
    if (f->warned == WARNINGS_MAX)
        return;
    text = str_sub(text, 0, utf8_cut(text, 1000));
    if (buf_room(&f->warnings) < 6 * text.n + 3)
        return;
    if (f->warned++ > 0)
        buf_addc(&f->warnings, ',');
    json_quote(&f->warnings, text);
}

static void on_note(struct job *j, struct str note)
{
    struct fileact *f = job_owner(j);
    if (str_eq(note, STR(FA_STAGED)))
        f->staged = true;
    else if (note.n > 1 && note.p[0] == 'W')
        add_warning(f, str_sub(note, 1, note.n));
}

static void on_room(struct job *j)
{
    struct fileact *f = job_owner(j);
    if (f->ev.room)
        f->ev.room(f->arg);
}

/* As many as fit: each is at most a few KiB, so none is cut. */
static void add_warnings(struct fileact *f)
{
    static const struct str end = {"]}\n", 3};
    buf_truncate(&f->text, f->text.n - 2); /* its end */
    buf_addz(&f->text, ",\"warnings\":[");
    if (f->warnings.n + end.n <= buf_room(&f->text))
        buf_adds(&f->text, buf_str(&f->warnings));
    buf_adds(&f->text, end);
}

static void on_done(struct job *j, const struct err *e)
{
    struct fileact *f = job_owner(j);
    struct err full = ERR_INIT;
    ASSERT(f->job == j && !f->over); /* done comes once */
    f->job = NULL;
    f->over = true;
    f->staged = f->staged && e->code; /* it has swept itself, except after a crash */
    if (f->warned > 0 && f->text.n > 2)
        add_warnings(f);
    if (buf_full(&f->text) && !e->code) {
        err_set(&full, ERR_LIMIT, "the result is longer than %zu bytes", f->text.max);
        e = &full;
    }
    f->ev.done(f->arg, buf_str(&f->text), e);
}

static void on_swept_data(struct job *j, struct buf *in)
{
    (void)j;
    buf_consume(in, in->n);
}

static void on_swept(struct job *j, const struct err *e)
{
    (void)j;
    (void)e;
}

static void on_swept_gone(void *owner)
{
    struct fileact *f = owner;
    if (f->ev.gone)
        f->ev.gone(f->arg);
    free_fileact(f);
}

/* The helper is gone, and done was called. */
static void on_gone(void *owner)
{
    static const struct job_events sweeping = {
        .on_data = on_swept_data, .on_done = on_swept, .on_gone = on_swept_gone};
    struct fileact *f = owner;
    struct err e = ERR_INIT;
    f->job = NULL;
    f->spec.resumed = false;
    if (!f->staged || !start_job(f, "sweeping", sweep, &sweeping, &e))
        on_swept_gone(f);
}

static struct job *start_job(struct fileact *f, const char *what, job_fn *fn,
                             const struct job_events *ev, struct err *e)
{
    struct job_spec s = {.what = what,
                         .fn = fn,
                         .arg = &f->spec,
                         .input = f->spec.input && fn == run,
                         .fds = &f->spec.kept,
                         .fds_n = f->spec.kept > 0 && fn == run,
                         .memory = JOB_MEMORY,
                         .nice = JOB_NICE,
                         .as_user = f->spec.as_user,
                         .uid = f->spec.uid,
                         .gid = f->spec.gid,
                         .groups = f->groups,
                         .groups_n = f->spec.groups_n,
                         .ev = ev,
                         .owner = f};
    return job_start(f->loop, &s, e);
}

/* A copy of a value. */
static struct json *copy_of(const struct json *j)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    struct json *copy = j && json_print(&b, j) == 0 ? json_parse(buf_str(&b), &e) : NULL;
    buf_release(&b);
    return copy ? copy : json_object();
}

struct fileact *fileact_start(struct loop *l, const struct fileact_spec *q,
                              const struct fileact_events *ev, void *arg, struct err *e)
{
    static const struct job_events events = {.on_data = on_data,
                                             .on_room = on_room,
                                             .on_note = on_note,
                                             .on_done = on_done,
                                             .on_gone = on_gone};
    struct fileact *f = xnew(struct fileact);
    *f = (struct fileact){.loop = l,
                          .verb = find(str_of(q->verb)),
                          .ev = *ev,
                          .arg = arg,
                          .spec = *q,
                          .args = copy_of(q->args),
                          .cwd = xstrdup(q->cwd),
                          .root = q->root ? xstrdup(q->root) : NULL};
    BUG_ON(!f->verb || strlen(q->token) > FILEACT_TOKEN_MAX);
    memcpy(f->token, q->token, strlen(q->token));
    if (q->groups_n) {
        f->groups = xcalloc(q->groups_n, sizeof(*f->groups));
        memcpy(f->groups, q->groups, q->groups_n * sizeof(*f->groups));
    }
    f->spec.verb = f->verb->name;
    f->spec.args = f->args;
    f->spec.cwd = f->cwd;
    f->spec.root = f->root;
    f->spec.token = f->token;
    f->spec.groups = f->groups;
    buf_init(&f->text, FILEACT_TEXT_MAX + (128 << 10));
    buf_init(&f->warnings, 128 << 10);
    char what[64];
    snprintf(what, sizeof(what), "the action %s", f->verb->name);
    f->job = start_job(f, what, run, &events, e);
    if (!f->job) {
        free_fileact(f);
        return NULL;
    }
    return f;
}

void fileact_cancel(struct fileact *f)
{
    if (!f->job || f->over)
        return;
    f->staged |= f->verb->staged != NULL; /* its note may not have been read */
    job_cancel(f->job);
}

int fileact_write(struct fileact *f, struct str bytes)
{
    return job_write(f->job, bytes);
}
size_t fileact_room(const struct fileact *f) { return job_room(f->job); }
void fileact_want_room(struct fileact *f) { job_want_room(f->job); }
void fileact_end_input(struct fileact *f) { job_end_input(f->job); }
void fileact_resume(struct fileact *f) { job_resume(f->job); }

const char *fileact_media_type(struct str format)
{
    static const char *const types[] = {"application/zip", "application/x-tar",
                                        "application/gzip"};
    enum fa_format k = fa_format_of(format);
    return k == FA_NO_FORMAT ? NULL : types[k];
}
