/* SPDX-License-Identifier: MIT */
/*
 * The editor's messages. Checks are in the order of openhands-aci, so that a call with
 * several faults gets the same message: the path, the arguments, the file, the command's
 * own.
 */
#include "edit/editor.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines shown before and after a change. */
enum { AROUND = 4 };

#define CLIPPED "<response clipped><NOTE>Due to the max output limit, only part of this "
#define NOTE_TEXT \
    CLIPPED "file has been shown to you. You should retry this tool after you have " \
            "searched inside the file with `grep -n` in order to find the line numbers " \
            "of what you are looking for.</NOTE>"
#define NOTE_DOCUMENT \
    CLIPPED \
    "file has been shown to you. Please use Python libraries to view the entire " \
    "file or search for specific content within the file.</NOTE>"
#define NOTE_FOLDER \
    CLIPPED "directory has been shown to you. You should use `ls -la` instead to view " \
            "large directories incrementally.</NOTE>"

/* One call. */
struct editor_call {
    const struct editor *ed;
    struct editor_answer *a;
    struct str command, file_text, old_str, new_str; /* p is NULL: not given */
    const struct json *insert_line, *view_range;     /* NULL: not given */
    const char *path;                                /* a->path */
};

void editor_answer_release(struct editor_answer *a)
{
    buf_release(&a->content);
    edited_release(&a->edited);
}

/* ---- errors ---- */

static void fail(struct editor_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void fail(struct editor_call *c, const char *fmt, ...)
{
    va_list ap;
    c->a->failed = true;
    buf_reset(&c->a->content);
    buf_addz(&c->a->content, "ERROR:\n");
    va_start(ap, fmt);
    buf_addv(&c->a->content, fmt, ap);
    va_end(ap);
}

static void fail_path(struct editor_call *c, const char *why)
{
    fail(c, "Invalid `path` parameter: %s. %s", c->path, why);
}

static void fail_exists(struct editor_call *c)
{
    fail(c,
         "Invalid `path` parameter: %s. File already exists at: %s. Cannot overwrite "
         "files using command `create`.",
         c->path, c->path);
}

static void fail_missing(struct editor_call *c, const char *name)
{
    fail(c, "Parameter `%s` is required for command: %.*s.", name, STR_ARG(c->command));
}

/* Appends without printf: texts may be megabytes. */
static void add(struct editor_call *c, struct str s) { buf_adds(&c->a->content, s); }
static void addz(struct editor_call *c, const char *z) { buf_addz(&c->a->content, z); }

/* Reports the system's error in the form of Python. */
static void fail_system(struct editor_call *c, const struct err *e)
{
    bool reading = str_starts(str_of(e->text), STR("cannot read"));
    const char *how = reading ? "trying to read" : "trying to write to";
    if (e->code == ERR_EXISTS)
        fail_exists(c);
    else if (e->code == ERR_NOTFOUND)
        fail(c, "Ran into [Errno 2] No such file or directory: '%s' while %s %s", c->path,
             how, c->path);
    else if (e->code == ERR_DENIED)
        fail(c, "Ran into [Errno 13] Permission denied: '%s' while %s %s", c->path, how,
             c->path);
    else
        fail(c, "Ran into %s while %s %s", e->text, how, c->path);
}

static void fail_matches(struct editor_call *c, const struct edit_failure *f,
                         struct str old)
{
    fail(c, "No replacement was performed. Multiple occurrences of old_str `");
    add(c, old);
    addz(c, "` in lines [");
    for (size_t i = 0; i < f->nlines; i++)
        buf_addf(&c->a->content, "%s%lld", i ? ", " : "", (long long)f->lines[i]);
    addz(c, f->more_lines ? ", ...]" : "]");
    addz(c, ". Please ensure it is unique.");
}

static void fail_edit(struct editor_call *c, const struct edit_failure *f, int64_t line)
{
    struct str old = f->stripped ? edit_strip(c->old_str) : c->old_str;
    switch (f->why) {
    case EDIT_FILE:
        fail_system(c, &f->e);
        break;
    case EDIT_TOO_LARGE:
        fail(c,
             "File validation failed for %s: File is too large (%.1fMB). Maximum allowed "
             "size is %dMB.",
             c->path, (double)f->size / (1 << 20), EDIT_FILE_MAX >> 20);
        break;
    case EDIT_BINARY:
        c->a->binary = true;
        fail(c,
             "File validation failed for %s: File appears to be binary and this file "
             "type cannot be read or edited by this tool.",
             c->path);
        break;
    case EDIT_NO_MATCH:
        fail(c, "No replacement was performed, old_str `");
        add(c, old);
        buf_addf(&c->a->content, "` did not appear verbatim in %s.", c->path);
        break;
    case EDIT_MATCHES:
        fail_matches(c, f, old);
        break;
    case EDIT_NO_LINE:
        fail(c,
             "Invalid `insert_line` parameter: %lld. It should be within the range of "
             "allowed values: [0, %lld]",
             (long long)line, (long long)f->count);
        break;
    case EDIT_NO_HISTORY:
        fail(c, "No edit history found for %s.", c->path);
        break;
    }
}

/* ---- texts ---- */

/* Returns where the character after the first EDITOR_SHOWN begins, or the end. */
static size_t shown_end(struct str text)
{
    size_t at = 0;
    for (size_t chars = 0; at < text.n; at++) {
        bool begins = ((unsigned char)text.p[at] & 0xc0) != 0x80;
        if (begins && chars++ == EDITOR_SHOWN)
            break;
    }
    return at;
}

/*
 * Appends lines with their numbers. A long text is cut before it is numbered, with a
 * note.
 */
static void add_numbered(struct editor_call *c, const char *what, const char *name,
                         struct str text, int64_t number)
{
    struct str shown = str_sub(text, 0, shown_end(text));
    bool more;
    buf_addf(&c->a->content, "Here's the result of running `cat -n` on %s%s:\n", what,
             name);
    do {
        long n = str_chr(shown, '\n');
        more = n >= 0;
        buf_addf(&c->a->content, "%6lld\t", (long long)number++);
        add(c, str_sub(shown, 0, more ? (size_t)n : shown.n));
        shown = str_sub(shown, more ? (size_t)n + 1 : shown.n, shown.n);
        if (!more && shown_end(text) < text.n)
            addz(c, NOTE_TEXT);
        addz(c, "\n");
    } while (more);
}

/* Appends a list as Python prints it. */
static void add_list(struct editor_call *c, const struct json *list)
{
    int i = 0;
    if (!json_is_array(list))
        json_print(&c->a->content, list);
    else
        addz(c, "[");
    for (const struct json *j = json_is_array(list) ? json_first(list) : NULL; j;
         j = json_next(j)) {
        addz(c, i++ ? ", " : "");
        if (json_is_string(j)) {
            addz(c, "'");
            add(c, json_str_value(j, ""));
            addz(c, "'");
        } else {
            json_print(&c->a->content, j);
        }
    }
    if (json_is_array(list))
        addz(c, "]");
}

/* ---- view ---- */

static void fail_range(struct editor_call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void fail_range(struct editor_call *c, const char *fmt, ...)
{
    va_list ap;
    fail(c, "Invalid `view_range` parameter: ");
    add_list(c, c->view_range);
    addz(c, ". ");
    va_start(ap, fmt);
    buf_addv(&c->a->content, fmt, ap);
    va_end(ap);
}

static void view_folder(struct editor_call *c)
{
    struct buf list = BUF_INIT(EDITOR_TEXT_MAX);
    struct edit_tree tree;
    struct err e = ERR_INIT;
    if (c->view_range) {
        fail_range(c, "The `view_range` parameter is not allowed when `path` points to a "
                      "directory.");
        return;
    }
    if (edit_tree(c->path, false, &list, &tree, &e) < 0) {
        fail_system(c, &e);
    } else {
        struct str all = buf_str(&list), shown = str_sub(all, 0, shown_end(all));
        buf_addf(&c->a->content,
                 "Here's the files and directories up to 2 levels deep in %s, excluding "
                 "hidden items:\n",
                 c->path);
        add(c, shown);
        if (shown.n < all.n || tree.more)
            addz(c, NOTE_FOLDER);
        if (tree.hidden > 0)
            buf_addf(&c->a->content,
                     "\n\n%zu hidden files/directories in this directory are excluded. "
                     "You can use 'ls -la %s' to see them.",
                     tree.hidden, c->path);
    }
    buf_release(&list);
}

/* Reads view_range. Returns 0 and sets the lines to show. */
static int take_range(struct editor_call *c, int64_t lines, int64_t *from, int64_t *to)
{
    const struct json *r = c->view_range,
                      *first = json_is_array(r) ? json_first(r) : NULL;
    const int64_t none = INT64_MIN;
    *from = json_int_value(first, none);
    *to = json_int_value(first ? json_next(first) : NULL, none);
    if (json_count(r) != 2 || *from == none || *to == none) {
        fail_range(c, "It should be a list of two integers.");
        return -1;
    }
    if (*from < 1 || *from > lines) {
        fail_range(c,
                   "Its first element `%lld` should be within the range of lines of the "
                   "file: [1, %lld].",
                   (long long)*from, (long long)lines);
        return -1;
    }
    if (*to > lines)
        buf_addf(&c->a->content,
                 "NOTE: We only show up to %lld since there're only %lld lines in this "
                 "file.\n",
                 (long long)lines, (long long)lines);
    *to = *to == -1 || *to > lines ? lines : *to;
    if (*to >= *from)
        return 0;
    fail_range(c,
               "Its second element `%lld` should be greater than or equal to the first "
               "element `%lld`.",
               (long long)*to, (long long)*from);
    return -1;
}

/* The extension of a document that openhands-aci converts to Markdown, or NULL. */
static const char *document(const char *path)
{
    static const char *const ends[] = {".docx", ".xlsx", ".pptx", ".pdf",
                                       ".mp3",  ".wav",  ".m4a",  ".flac"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcasecmp(dot, ends[i]) == 0)
            return ends[i];
    return NULL;
}

static void view_file(struct editor_call *c)
{
    struct buf text = BUF_INIT(EDIT_TEXT_MAX);
    struct edit_failure f = {0};
    int64_t from = 1, to = 1;
    if (edit_read(c->path, &text, &f) < 0) {
        fail_edit(c, &f, 0);
    } else if (!c->view_range) {
        add_numbered(c, "", c->path, buf_str(&text), 1);
    } else if (take_range(c, edit_count_lines(buf_str(&text)), &from, &to) == 0) {
        struct str part = edit_lines(buf_str(&text), from, to);
        part.n -= part.n > 0 && part.p[part.n - 1] == '\n';
        add_numbered(c, "", c->path, part, from);
    }
    buf_release(&text);
}

/* Views a document; editor_told adds its text later. */
static void view_document(struct editor_call *c, const struct stat *st)
{
    struct edit_failure f = {.why = EDIT_TOO_LARGE, .size = st->st_size};
    c->a->document = st->st_size <= EDIT_FILE_MAX;
    if (!c->a->document)
        fail_edit(c, &f, 0);
}

struct job *editor_read(struct loop *l, const struct editor_answer *a, uid_t uid,
                        gid_t gid, docread_done_fn *done, void *arg, struct err *e)
{
    struct docread_spec s = {.file = {.path = a->path, .markdown = true},
                             .as_user = uid != geteuid(),
                             .uid = uid,
                             .gid = gid,
                             .groups = &gid,
                             .groups_n = 1};
    return docread_start(l, &s, done, arg, e);
}

void editor_told(struct editor_answer *a, struct str text, const struct err *why)
{
    struct editor_call c = {.a = a, .path = a->path};
    a->document = false;
    if (why->code) {
        fail(
            &c,
            "Error in converting file to Markdown: %s. Please use Python code to read %s",
            why->text, a->path);
        return;
    }
    while (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    buf_addf(&a->content,
             "Here's the content of the file %s displayed in Markdown format:\n",
             a->path);
    add(&c, str_sub(text, 0, shown_end(text)));
    addz(&c, shown_end(text) < text.n ? NOTE_DOCUMENT "\n" : "\n");
}

/* ---- changes ---- */

static struct edit edit_of(const struct editor_call *c, enum edit_kind kind)
{
    return (struct edit){.kind = kind,
                         .path = c->path,
                         .token = c->ed->token,
                         .mode = 0644,
                         .chown = c->ed->chown,
                         .uid = c->ed->uid,
                         .gid = c->ed->gid};
}

/* Shows what was added to the file, with the lines around it. */
static void tell_replace(struct editor_call *c, const struct edited *d)
{
    struct str after = buf_str(&d->after);
    int64_t from = d->line > AROUND ? d->line - AROUND + 1 : 1;
    buf_addf(&c->a->content, "The file %s has been edited. ", c->path);
    add_numbered(c, "a snippet of ", c->path,
                 edit_lines(after, from, d->line + AROUND + d->added), from);
    c->a->review = c->a->content.n;
    addz(c, "Review the changes and make sure they are as expected. Edit the file again "
            "if necessary.");
}

static void tell_insert(struct editor_call *c, const struct edited *d)
{
    struct str after = buf_str(&d->after);
    int64_t line = d->line - 1, from = line > AROUND ? line - AROUND + 1 : 1;
    buf_addf(&c->a->content, "The file %s has been edited. ", c->path);
    add_numbered(c, "a snippet of the edited file", "",
                 edit_lines(after, from, line + AROUND + d->added), from);
    c->a->review = c->a->content.n;
    addz(c, "Review the changes and make sure they are as expected (correct indentation, "
            "no duplicate lines, etc). Edit the file again if necessary.");
}

/* The edit is done already, so a long answer is cut with a note. */
static void cut_answer(struct editor_answer *a)
{
    enum { WORDS = 200 };
    size_t n = a->content.n, most = a->content.max - WORDS;
    buf_truncate(&a->content, n < most ? n : utf8_cut(buf_str(&a->content), most));
    buf_resume(&a->content);
    buf_addf(&a->content, "\n[The answer is longer than %d bytes and was cut here.]\n",
             EDITOR_TEXT_MAX);
    if (a->review > a->content.n)
        a->review = a->content.n;
}

void editor_checked(struct editor_answer *a, struct str found)
{
    struct buf review = BUF_INIT(EDITOR_TEXT_MAX);
    buf_adds(&review, str_sub(buf_str(&a->content), a->review, a->content.n));
    buf_truncate(&a->content, a->review);
    buf_addc(&a->content, '\n');
    buf_adds(&a->content, found);
    buf_addc(&a->content, '\n');
    buf_adds(&a->content, buf_str(&review));
    buf_release(&review);
    if (buf_full(&a->content))
        cut_answer(a);
}

static void tell(struct editor_call *c, const struct edit *q, const struct edited *d)
{
    switch (q->kind) {
    case EDIT_CREATE:
        buf_addf(&c->a->content, "File created successfully at: %s", c->path);
        break;
    case EDIT_REPLACE:
        tell_replace(c, d);
        break;
    case EDIT_INSERT:
        tell_insert(c, d);
        break;
    case EDIT_UNDO:
        buf_addf(&c->a->content, "Last edit to %s undone successfully. ", c->path);
        add_numbered(c, "", c->path, buf_str(&d->after), 1);
        break;
    case EDIT_LINES:
    case EDIT_WRITE:
    case EDIT_BACK:
        break; /* not commands of this editor */
    }
}

static void apply(struct editor_call *c, const struct edit *q)
{
    struct edited *d = &c->a->edited;
    c->a->changed = edit_apply(c->ed->edits, q, d) == 0;
    if (c->a->changed)
        tell(c, q, d);
    else
        fail_edit(c, &d->failure, q->line);
}

static void create(struct editor_call *c)
{
    struct edit q = edit_of(c, EDIT_CREATE);
    q.text = c->file_text;
    if (c->file_text.p)
        apply(c, &q);
    else
        fail_missing(c, "file_text");
}

static void str_replace(struct editor_call *c)
{
    struct edit q = edit_of(c, EDIT_REPLACE);
    q.old = c->old_str;
    q.text = c->new_str;
    q.strip_old = q.strip_text = true;
    if (!c->old_str.p) {
        fail_missing(c, "old_str");
    } else if (c->new_str.p && str_eq(c->new_str, c->old_str)) {
        fail(c, "Invalid `new_str` parameter: ");
        add(c, c->new_str);
        addz(c, ". No replacement was performed. `new_str` and `old_str` must be "
                "different.");
    } else {
        apply(c, &q);
    }
}

/*
 * Reads a number, also in a string with blanks around it. Returns -1 if the error was
 * reported.
 */
static int take_line(struct editor_call *c, int64_t *line)
{
    const struct json *j = c->insert_line;
    struct str s = str_trim(json_str_value(j, ""));
    if (s.n > 1 && s.p[0] == '+' && isdigit((unsigned char)s.p[1]))
        s = str_sub(s, 1, s.n);
    if (!json_is_string(j))
        *line = json_int_value(j, INT64_MIN);
    if (json_is_string(j) ? str_to_i64(s, line) == 0 : *line != INT64_MIN)
        return 0;
    fail(c, "Invalid insert_line value: '");
    if (json_is_string(j))
        add(c, json_str_value(j, ""));
    else
        json_print(&c->a->content, j);
    addz(c, "'. Expected an integer.");
    return -1;
}

static void insert(struct editor_call *c, int64_t line)
{
    struct edit q = edit_of(c, EDIT_INSERT);
    q.text = c->new_str;
    q.line = line;
    if (!c->insert_line)
        fail_missing(c, "insert_line");
    else if (!c->new_str.p)
        fail_missing(c, "new_str");
    else
        apply(c, &q);
}

/* ---- calls ---- */

/* Writes a//b/./c/ as a/b/c. Returns -1 if it is longer than a path can be. */
static int set_path(char *out, struct str path)
{
    struct str rest = path;
    size_t n = 0;
    bool absolute = path.n > 0 && path.p[0] == '/';
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (n + part.n + 2 > PATH_MAX)
            return -1;
        if (n > 0 || absolute)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    if (n == 0)
        out[n++] = absolute ? '/' : '.';
    out[n] = '\0';
    return 0;
}

static void fail_relative(struct editor_call *c)
{
    char meant[2 * PATH_MAX];
    struct stat st;
    fail_path(c, "The path should be an absolute path, starting with `/`.");
    snprintf(meant, sizeof(meant), "%s/%s", c->ed->workspace ? c->ed->workspace : "",
             c->path);
    if (c->ed->workspace && stat(meant, &st) == 0)
        buf_addf(&c->a->content, " Maybe you meant %s?", meant);
}

/* Checks the path and sets *st. Returns false if an error was reported. */
static bool check_path(struct editor_call *c, struct stat *st)
{
    bool creates = str_eq(c->command, STR("create"));
    bool views = str_eq(c->command, STR("view"));
    bool exists = stat(c->path, st) == 0, folder = exists && S_ISDIR(st->st_mode);
    if (c->path[0] != '/')
        fail_relative(c);
    else if (creates && exists && !c->file_text.p)
        fail_exists(c); /* else edit_apply finds out whether this same action made it */
    else if (!creates && !exists)
        fail(c,
             "Invalid `path` parameter: %s. The path %s does not exist. Please provide a "
             "valid path.",
             c->path, c->path);
    else if (!views && !creates && folder)
        fail(c,
             "Invalid `path` parameter: %s. The path %s is a directory and only the "
             "`view` command can be used on directories.",
             c->path, c->path);
    else if (!views && !(creates && exists) && document(c->path))
        fail(c,
             "Invalid `path` parameter: %s. The path %s points to a binary file (%s) and "
             "only the `view` command can be used on supported binary files.",
             c->path, c->path, document(c->path));
    return !c->a->failed;
}

static void run_call(struct editor_call *c)
{
    struct stat st;
    int64_t line = 0;
    if (c->insert_line && take_line(c, &line) < 0)
        return;
    if (!check_path(c, &st))
        return;
    if (str_eq(c->command, STR("view"))) {
        if (S_ISDIR(st.st_mode))
            view_folder(c);
        else if (document(c->path))
            view_document(c, &st);
        else
            view_file(c);
    } else if (str_eq(c->command, STR("create"))) {
        create(c);
    } else if (str_eq(c->command, STR("str_replace"))) {
        str_replace(c);
    } else if (str_eq(c->command, STR("insert"))) {
        insert(c, line);
    } else if (str_eq(c->command, STR("undo_edit"))) {
        struct edit q = edit_of(c, EDIT_UNDO);
        apply(c, &q);
    } else {
        fail(c, "Unrecognized command ");
        add(c, c->command);
        addz(c, ". The allowed commands for the oh_editor tool are: view, create, "
                "str_replace, insert, undo_edit");
    }
}

int editor_run(const struct editor *ed, const char *command, const struct json *args,
               struct editor_answer *a, struct err *e)
{
    struct editor_call c = {.ed = ed, .a = a, .path = a->path};
    const struct json *line = json_get(args, "insert_line");
    const struct json *range = json_get(args, "view_range");
    bool none = json_is_null(range) || (json_is_array(range) && json_count(range) == 0);
    struct str path = STR("");
    if (json_want_str(args, "path", &path, e) < 0 ||
        json_want_str(args, "command", &c.command, e) < 0 ||
        json_want_str(args, "file_text", &c.file_text, e) < 0 ||
        json_want_str(args, "old_str", &c.old_str, e) < 0 ||
        json_want_str(args, "new_str", &c.new_str, e) < 0)
        return -1;
    if (command)
        c.command = str_of(command);
    c.insert_line = json_is_null(line) ? NULL : line;
    c.view_range = none ? NULL : range;
    if (set_path(a->path, path) < 0)
        fail(&c, "Invalid `path` parameter: it is longer than a path can be.");
    else
        run_call(&c);
    if (buf_full(&a->content))
        cut_answer(a);
    return 0;
}
