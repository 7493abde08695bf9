/* SPDX-License-Identifier: MIT */
/*
 * Windows: a hundred lines of a file at a time, and which file that is.
 *
 * The first look reads the file as a whole, and notes where some lines begin; after
 * that a window costs what is between two such places, as long as the file is the
 * same. Both happen in a helper: a file may be large, and its disk slow.
 */
#include "base/enc.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "file/files.h"
#include "os/file.h"
#include "skill/own.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK = 128 << 10,
    LINE_SHOWN = 10000, /* bytes of a line; of 100 lines a megabyte */
    TEXT_MAX = 4 << 20,
    MEMORY = 32 << 20,
    CPU_S = 30
};

static const char magic[8] = "od-win1";

/* ---- what a session has open ---- */

struct skill_windows {
    char *dir;           /* owned; NULL: in memory */
    struct map sessions; /* struct window, owned */
};

struct skill_windows *skill_windows_new(const char *dir)
{
    struct skill_windows *w = xnew(struct skill_windows);
    w->dir = dir ? xstrdup(dir) : NULL;
    map_init(&w->sessions);
    return w;
}

struct skill_windows *skill_windows_of(struct engine *en)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/window", en->state_dir);
    if (!en->windows)
        en->windows = skill_windows_new(en->state_dir[0] ? dir : NULL);
    return en->windows;
}

static void forget_all(struct skill_windows *w)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&w->sessions, it, &key, &value));)
        free(value);
    map_release(&w->sessions);
    map_init(&w->sessions);
}

void skill_windows_free(struct skill_windows *w)
{
    if (!w)
        return;
    forget_all(w);
    map_release(&w->sessions);
    free(w->dir);
    free(w);
}

/* Session names can have any bytes. */
static void file_of(const struct skill_windows *w, const char *session, struct buf *out)
{
    uint8_t sum[HASH_SHA256_SIZE];
    hash_sha256(str_of(session), sum);
    buf_addf(out, "%s/", w->dir);
    for (int i = 0; i < 12; i++)
        buf_addf(out, "%02x", sum[i]);
}

/* The file is ours, but an older version or a damaged disk may have written it. */
static bool is_sound(const struct window *v)
{
    bool sound = memcmp(v->magic, magic, sizeof(magic)) == 0 &&
                 memchr(v->path, 0, sizeof(v->path)) &&
                 memchr(v->token, 0, sizeof(v->token)) && v->marks_n <= WINDOW_MARKS &&
                 (v->marks_n == 0 || v->step > 0) && v->total >= 0;
    for (uint64_t i = 1; sound && i < v->marks_n; i++)
        sound = v->marks[i - 1] < v->marks[i] && v->marks[i] <= v->size;
    return sound;
}

void window_load(struct skill_windows *w, const char *session, struct window *out)
{
    struct buf path = BUF_INIT(PATH_MAX), bytes = BUF_INIT(sizeof(*out));
    const struct window *kept = NULL;
    memset(out, 0, sizeof(*out));
    if (w->dir) {
        file_of(w, session, &path);
        if (file_read(buf_z(&path), sizeof(*out), &bytes, NULL) == 0 &&
            bytes.n == sizeof(*out))
            memcpy(out, bytes.p, sizeof(*out));
    } else if ((kept = map_get(&w->sessions, str_of(session)))) {
        *out = *kept;
    }
    if (!is_sound(out))
        memset(out, 0, sizeof(*out));
    memcpy(out->magic, magic, sizeof(magic));
    buf_release(&path);
    buf_release(&bytes);
}

/* 0700 each: only its user may know the open file. */
static void make_folders(const char *dir)
{
    char part[PATH_MAX];
    for (size_t i = 1; i < sizeof(part) && dir[i - 1]; i++) {
        if (dir[i] != '/' && dir[i] != 0)
            continue;
        memcpy(part, dir, i);
        part[i] = 0;
        mkdir(part, 0700);
    }
}

void window_store(struct skill_windows *w, const char *session, const struct window *in)
{
    struct buf path = BUF_INIT(PATH_MAX);
    struct files_put put = {.mode = 0600};
    if (w->dir) {
        file_of(w, session, &path);
        make_folders(w->dir);
        files_replace(buf_z(&path), str_n(in, sizeof(*in)), &put, NULL);
        buf_release(&path);
        return;
    }
    struct window *kept = map_get(&w->sessions, str_of(session));
    if (!kept) {
        if (w->sessions.count >= SKILL_WINDOWS_MAX)
            forget_all(w);
        kept = xnew(struct window);
        map_put(&w->sessions, str_of(session), kept);
    }
    *kept = *in;
}

/* ---- which lines, and how they look ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

struct range {
    int64_t start, end, total;
};

static struct range range_of(int64_t total, int64_t line, int64_t lines, bool from)
{
    int64_t half = most(1, lines / 2);
    struct range g = {from ? line : most(1, line - half),
                      least(total, line + (from ? lines : half)), total};
    if (g.start == 1)
        g.end = least(total, lines);
    if (g.end == total)
        g.start = most(1, g.end - lines + 1);
    return g;
}

/* Prints the lines of a range from bytes that begin with line `line`. */
struct printer {
    struct buf *out;
    struct range g;
    int64_t line;
    bool begun;
    uint64_t n; /* bytes of this line */
};

static void print_begin(struct printer *p)
{
    if (!p->begun)
        buf_addf(p->out, "%lld|", (long long)p->line);
    p->begun = true;
}

static void print_part(struct printer *p, struct str part)
{
    size_t room = p->n < LINE_SHOWN ? LINE_SHOWN - (size_t)p->n : 0;
    print_begin(p);
    buf_adds(p->out, str_sub(part, 0, room));
    p->n += part.n;
}

static void print_end(struct printer *p)
{
    print_begin(p);
    if (p->n > LINE_SHOWN)
        buf_addz(p->out, "…");
    else if (p->out->p[p->out->n - 1] == '\r')
        buf_truncate(p->out, p->out->n - 1);
    buf_addc(p->out, '\n');
    p->begun = false;
    p->n = 0;
}

/* Returns false if no more is needed. */
static bool print_feed(struct printer *p, struct str bytes)
{
    while (bytes.n > 0 && p->line <= p->g.end) {
        long nl = str_chr(bytes, '\n');
        size_t n = nl < 0 ? bytes.n : (size_t)nl;
        if (p->line >= p->g.start)
            print_part(p, str_sub(bytes, 0, n));
        if (nl >= 0) {
            if (p->line >= p->g.start)
                print_end(p);
            p->line++;
        }
        bytes = str_sub(bytes, n + (nl >= 0), bytes.n);
    }
    return p->line <= p->g.end;
}

static void print_above(struct buf *out, const struct range *g)
{
    if (g->start > 1)
        buf_addf(out, "(%lld more lines above)\n", (long long)(g->start - 1));
    else
        buf_addz(out, "(this is the beginning of the file)\n");
}

/*
 * Prints a last line without its newline, or the one line of an empty file, and the
 * count below.
 */
static void print_below(struct printer *p)
{
    if (p->line <= p->g.end && (p->begun || p->g.total == 1))
        print_end(p);
    if (p->g.end < p->g.total)
        buf_addf(p->out, "(%lld more lines below)", (long long)(p->g.total - p->g.end));
    else
        buf_addz(p->out, "(this is the end of the file)");
}

void window_header(struct buf *out, const char *path, int64_t total, const char *words)
{
    buf_addf(out, "[File: %s (%lld lines total%s)]\n", path, (long long)total, words);
}

void window_print(struct buf *out, struct str text, int64_t line, int64_t lines,
                  bool from)
{
    int64_t total = most(1, edit_count_lines(text));
    struct printer p = {.out = out, .line = 1};
    p.g = range_of(total, most(1, least(line, total)), lines, from);
    print_above(out, &p.g);
    print_feed(&p, text);
    print_below(&p);
}

/* ---- the helper: a file's lines ---- */

enum window_ask { OPEN, GOTO, UP, DOWN };

struct looking {
    enum window_ask ask;
    char shown[PATH_MAX]; /* OPEN: the given path */
    int64_t line, lines;
    bool again; /* a repeated scroll: only reported again */
    struct window w;
};

static bool same_file(const struct window *w, const struct stat *st)
{
    return w->marks_n > 0 && w->dev == (uint64_t)st->st_dev &&
           w->ino == (uint64_t)st->st_ino && w->size == (uint64_t)st->st_size &&
           w->mtime_ns ==
               (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static void add_mark(struct window *w, int64_t line, uint64_t at)
{
    if ((uint64_t)(line - 1) % w->step != 0)
        return;
    if (w->marks_n == WINDOW_MARKS) {
        for (size_t i = 0; i < WINDOW_MARKS / 2; i++)
            w->marks[i] = w->marks[2 * i];
        w->marks_n /= 2;
        w->step *= 2;
        if ((uint64_t)(line - 1) % w->step != 0)
            return;
    }
    w->marks[w->marks_n++] = at;
}

/* Reads the file from its first byte to its last. */
static int look_through(struct window *w, int fd, const struct stat *st)
{
    char *block = xcalloc(1, BLOCK);
    uint64_t at = 0;
    int64_t newlines = 0;
    bool open = false;
    ssize_t n;
    w->step = 1;
    w->marks_n = 0;
    add_mark(w, 1, 0);
    while ((n = pread(fd, block, BLOCK, (off_t)at)) > 0) {
        for (struct str b = str_n(block, (size_t)n); b.n > 0;) {
            const char *nl = memchr(b.p, '\n', b.n);
            open = !nl;
            if (!nl)
                break;
            b = str_sub(b, (size_t)(nl - b.p) + 1, b.n);
            newlines++;
            add_mark(w, newlines + 1, at + (uint64_t)(nl - block) + 1);
        }
        at += (uint64_t)n;
    }
    free(block);
    w->total = most(1, newlines + open);
    w->dev = (uint64_t)st->st_dev;
    w->ino = (uint64_t)st->st_ino;
    w->size = (uint64_t)st->st_size;
    w->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
                  (uint64_t)st->st_mtim.tv_nsec;
    return n < 0 ? -1 : 0;
}

static void print_file(const struct window *w, int fd, const struct range *g,
                       struct buf *out)
{
    uint64_t i = (uint64_t)(g->start - 1) / w->step;
    if (i >= w->marks_n)
        i = w->marks_n - 1;
    char *block = xcalloc(1, BLOCK);
    uint64_t at = w->marks[i];
    struct printer p = {.out = out, .g = *g, .line = 1 + (int64_t)(i * w->step)};
    ssize_t n;
    print_above(out, g);
    while ((n = pread(fd, block, BLOCK, (off_t)at)) > 0 &&
           print_feed(&p, str_n(block, (size_t)n)))
        at += (uint64_t)n;
    free(block);
    print_below(&p);
}

static int no_such_line(const struct looking *k, struct err *e)
{
    return err_set(e, ERR_INVALID, "Line number must be between 1 and %lld%s",
                   (long long)k->w.total, k->ask == OPEN ? "" : ".");
}

/* Moves the window, and appends it. */
static int show(struct looking *k, int fd, struct buf *out, struct err *e)
{
    struct window *w = &k->w;
    bool scrolls = k->ask == UP || k->ask == DOWN;
    if (!scrolls && (k->line < 1 || k->line > w->total))
        return no_such_line(k, e);
    int64_t by = k->again ? 0 : k->ask == UP ? -SKILL_WINDOW : SKILL_WINDOW;
    w->line = scrolls ? most(1, least(w->line + by, w->total)) : k->line;
    struct range g = range_of(w->total, w->line, k->lines, scrolls);
    window_header(out, w->path, w->total, "");
    print_file(w, fd, &g, out);
    if (k->ask == OPEN && g.end < g.total)
        buf_addz(out, "\n[Use `scroll_down` to view the next 100 lines of the file!]");
    return buf_addc(out, '\n');
}

static int no_such_file(const struct looking *k, struct err *e)
{
    if (k->ask == OPEN)
        return err_set(e, ERR_NOTFOUND, "File %.400s not found.", k->shown);
    return err_set(e, ERR_NOTFOUND, "No file open. Use the open_file function first.");
}

static int look(struct looking *k, struct buf *out, struct err *e)
{
    struct window *w = &k->w;
    struct stat st;
    if (!w->path[0] || stat(w->path, &st) < 0 || !S_ISREG(st.st_mode))
        return no_such_file(k, e);
    int fd = within_open(w->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %.300s", w->path);
    int rc = fstat(fd, &st);
    if (rc == 0 && !same_file(w, &st))
        rc = look_through(w, fd, &st);
    rc = rc < 0 ? err_sys(e, errno, "cannot read %.300s", w->path) : show(k, fd, out, e);
    close(fd);
    return rc;
}

static int child(void *arg, const struct job_child *c, struct err *e)
{
    struct looking *k = arg;
    struct buf out = BUF_INIT(TEXT_MAX);
    int rc = look(k, &out, e);
    if (rc == 0 &&
        (job_put(c, str_n(&k->w, sizeof(k->w))) < 0 || job_put(c, buf_str(&out)) < 0))
        rc = err_sys(e, errno, "cannot hand over a window");
    buf_release(&out);
    return rc;
}

/* ---- the call ---- */

static void on_data(struct job *j, struct buf *in)
{
    struct skill_run *r = job_owner(j);
    buf_adds(&r->raw, buf_str(in));
    buf_consume(in, in->n);
}

static void on_done(struct job *j, const struct err *e)
{
    struct skill_run *r = job_owner(j);
    struct str got = buf_str(&r->raw);
    ASSERT(r->job == j); /* once */
    r->job = NULL;
    if (e->code) {
        skill_fail(r, "%s", e->text);
    } else if (got.n > sizeof(r->window)) {
        memcpy(&r->window, got.p, sizeof(r->window));
        if (r->q.token)
            snprintf(r->window.token, sizeof(r->window.token), "%s", r->q.token);
        window_store(r->q.windows, r->q.session, &r->window);
        utf8_repair(&r->text, str_sub(got, sizeof(r->window), got.n), true);
    }
    skill_tell_now(r);
}

static const struct job_events events = {on_data, NULL, NULL, on_done, NULL};

static int start(struct skill_run *r, struct looking *k, struct err *e)
{
    static const struct job_spec spec = {.what = "looking at a file",
                                         .fn = child,
                                         .memory = MEMORY,
                                         .cpu_s = CPU_S,
                                         .ev = &events};
    return skill_job(r, &spec, k, e);
}

int window_open_file(struct skill_run *r, struct err *e)
{
    struct looking *k = xnew(struct looking);
    int64_t lines = skill_int(r, "context_lines");
    int rc = 0;
    *k = (struct looking){.ask = OPEN, .line = skill_int(r, "line_number")};
    k->lines = lines < 1 || lines > SKILL_WINDOW ? SKILL_WINDOW : lines;
    memcpy(k->w.magic, magic, sizeof(magic));
    if (skill_path(r, "path", k->shown, k->w.path) == 0) {
        if (strcmp(k->w.path, r->window.path) == 0)
            k->w = r->window;
        rc = start(r, k, e);
    }
    free(k);
    return rc;
}

static int move(struct skill_run *r, enum window_ask ask, struct err *e)
{
    struct looking *k = xnew(struct looking);
    *k = (struct looking){.ask = ask, .lines = SKILL_WINDOW, .w = r->window};
    k->line = ask == GOTO ? skill_int(r, "line_number") : 0;
    k->again = r->q.token && strcmp(r->q.token, r->window.token) == 0;
    int rc = start(r, k, e);
    free(k);
    return rc;
}

int window_goto_line(struct skill_run *r, struct err *e) { return move(r, GOTO, e); }
int window_scroll_up(struct skill_run *r, struct err *e) { return move(r, UP, e); }
int window_scroll_down(struct skill_run *r, struct err *e) { return move(r, DOWN, e); }
