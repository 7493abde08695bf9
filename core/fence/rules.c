/* SPDX-License-Identifier: MIT */
#include "fence/rules.h"

#include "base/buf.h"
#include "base/utf8.h"

struct rules_reader {
    const char *name, *home;
    struct json *out;
    struct str line; /* the whole one */
    size_t at, from; /* in it: what is read next; where the last word began */
    unsigned number; /* of the line; 0: an option, and name says which */
    bool open;       /* the last word has no quote at its end */
    struct err *e;
};

static int bad(struct rules_reader *r, enum err_code code, const char *text)
{
    if (r->number == 0)
        return err_set(r->e, code, "%s: %s", r->name, text);
    return err_set(r->e, code, "%s, line %u, column %zu: %s", r->name, r->number,
                   r->from + 1, text);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Cuts off the next word; a quoted one without its quotes. Returns false at the end. */
static bool next_word(struct rules_reader *r, struct str *out)
{
    struct str l = r->line;
    while (r->at < l.n && is_blank(l.p[r->at]))
        r->at++;
    r->from = r->at;
    if (r->at == l.n || l.p[r->at] == '#')
        return false;
    size_t from = r->at, end = r->at;
    bool quoted = l.p[from] == '"';
    if (quoted) {
        end = ++from;
        while (end < l.n && l.p[end] != '"')
            end++;
        r->open = end == l.n;
    } else {
        while (end < l.n && !is_blank(l.p[end]))
            end++;
    }
    r->at = quoted && !r->open ? end + 1 : end;
    *out = str_sub(l, from, end - from);
    return true;
}

/* Appends path with its parts alone. Returns -1 for one with a part "..". */
static int put_parts(struct buf *out, struct str path)
{
    while (path.n > 0) {
        struct str part = str_cut(&path, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR("..")))
            return -1;
        buf_addc(out, '/');
        buf_adds(out, part);
    }
    return 0;
}

static int take_path(struct rules_reader *r, struct str what, struct str word)
{
    struct buf path = BUF_INIT(FENCE_PATH_MAX);
    struct str home = str_of(r->home), rest = word;
    int rc = 0;
    bool at_home = word.n > 0 && word.p[0] == '~';
    for (size_t i = 0; i < word.n && rc == 0; i++) {
        if ((unsigned char)word.p[i] < 0x20 || word.p[i] == 0x7f)
            rc = bad(r, ERR_INVALID, "a path without control characters was expected");
    }
    if (rc == 0 && !utf8_valid(word))
        rc = bad(r, ERR_INVALID, "a path in UTF-8 was expected");
    if (rc == 0 && at_home && word.n > 1 && word.p[1] != '/')
        rc = bad(r, ERR_INVALID,
                 "~ is the home of the sandbox's user alone; write the path of another "
                 "one from /");
    else if (rc == 0 && at_home && (home.n == 0 || home.p[0] != '/'))
        rc = bad(r, ERR_INVALID,
                 "the home of the sandbox's user is not known here; write the path "
                 "from /");
    else if (rc == 0 && !at_home && (word.n == 0 || word.p[0] != '/'))
        rc = bad(r, ERR_INVALID, "a path that begins with / or ~/ was expected");
    if (rc == 0 && at_home)
        rest = str_sub(word, 1, word.n);
    if (rc == 0 &&
        ((at_home && put_parts(&path, home) < 0) || put_parts(&path, rest) < 0))
        rc = bad(r, ERR_INVALID, "a path without .. was expected");
    if (rc == 0 && path.n == 0)
        buf_addc(&path, '/');
    if (rc == 0 && buf_full(&path))
        rc = bad(r, ERR_LIMIT, "the path is longer than 1023 bytes");
    if (rc == 0 && json_count(r->out) >= FENCE_PATHS_MAX)
        rc = bad(r, ERR_LIMIT, "there are more than 1000 paths");
    if (rc == 0) {
        struct json *o = json_object();
        json_put_str(o, "do", what);
        json_put_str(o, "path", buf_str(&path));
        if (r->number > 0)
            json_put_int(o, "line", r->number);
        else
            json_put_z(o, "option", r->name);
        json_push(r->out, o);
    }
    buf_release(&path);
    return rc;
}

static int take_line(struct rules_reader *r)
{
    struct str what, word;
    if (!next_word(r, &what))
        return 0;
    if (str_eq(what, STR("reach")) || str_eq(what, STR("listen")) ||
        str_eq(what, STR("secret")))
        return bad(r, ERR_UNSUPPORTED,
                   "this version fences files only: it cannot enforce reach, listen and "
                   "secret; remove the line");
    if (!str_eq(what, STR("write")) && !str_eq(what, STR("read")) &&
        !str_eq(what, STR("hide")))
        return bad(r, ERR_INVALID, "write, read or hide was expected");
    int n = 0;
    for (; next_word(r, &word); n++) {
        if (r->open)
            return bad(r, ERR_INVALID, "a \" was expected at the end of this path");
        if (r->at < r->line.n && !is_blank(r->line.p[r->at])) {
            r->from = r->at;
            return bad(r, ERR_INVALID, "a blank was expected after the \"");
        }
        if (take_path(r, what, word) < 0)
            return -1;
    }
    return n > 0 ? 0
                 : bad(r, ERR_INVALID, "a path that begins with / or ~/ was expected");
}

int fence_parse(struct str text, const char *name, const char *home, struct json *out,
                struct err *e)
{
    struct rules_reader r = {.name = name, .home = home, .out = out, .e = e};
    if (text.n > FENCE_FILE_MAX)
        return err_set(e, ERR_LIMIT, "%s is longer than %d bytes", name, FENCE_FILE_MAX);
    while (text.n > 0) {
        r.line = str_cut(&text, '\n');
        r.at = 0;
        r.number++;
        if (take_line(&r) < 0)
            return -1;
    }
    return 0;
}

int fence_add(struct str path, const char *what, const char *source, const char *home,
              struct json *out, struct err *e)
{
    struct rules_reader r = {.name = source, .home = home, .out = out, .e = e};
    return take_path(&r, str_of(what), path);
}
