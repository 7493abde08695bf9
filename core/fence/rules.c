/* SPDX-License-Identifier: MIT */
#include "fence/rules.h"

#include "base/utf8.h"
#include "reach/words.h"

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

static struct json *new_rule(struct str what)
{
    struct json *rule = json_object();
    json_put_str(rule, "do", what);
    return rule;
}

/* Completes a rule, which is taken, and appends it. */
static int push_rule(struct rules_reader *r, struct json *rule)
{
    if (json_count(r->out) >= FENCE_PATHS_MAX) {
        json_free(rule);
        return bad(r, ERR_LIMIT, "there are more than 1000 paths, hosts and ports");
    }
    if (r->number > 0)
        json_put_int(rule, "line", r->number);
    else
        json_put_z(rule, "option", r->name);
    json_push(r->out, rule);
    return 0;
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

/* Reads a path into out. */
static int read_path(struct rules_reader *r, struct str word, struct buf *path)
{
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
    if (rc == 0 && ((at_home && put_parts(path, home) < 0) || put_parts(path, rest) < 0))
        rc = bad(r, ERR_INVALID, "a path without .. was expected");
    if (rc == 0 && path->n == 0)
        buf_addc(path, '/');
    if (rc == 0 && buf_full(path))
        rc = bad(r, ERR_LIMIT, "the path is longer than 1023 bytes");
    return rc;
}

static int take_path(struct rules_reader *r, struct str what, struct str word)
{
    struct buf path = BUF_INIT(FENCE_PATH_MAX);
    int rc = read_path(r, word, &path);
    if (rc == 0) {
        struct json *rule = new_rule(what);
        json_put_str(rule, "path", buf_str(&path));
        rc = push_rule(r, rule);
    }
    buf_release(&path);
    return rc;
}

static bool is_network(struct str what)
{
    return str_eq(what, STR("reach")) || str_eq(what, STR("listen"));
}

/* A word is wrong at this place in it. */
static int bad_at(struct rules_reader *r, struct str word,
                  const struct reach_wrong *wrong)
{
    if (r->number > 0)
        r->from = (size_t)(word.p - r->line.p) + wrong->at;
    return bad(r, ERR_INVALID, wrong->expected);
}

static int take_network(struct rules_reader *r, struct str what, struct str word)
{
    struct json *rule = new_rule(what);
    struct reach_wrong wrong;
    int rc = str_eq(what, STR("reach")) ? reach_word(word, rule, &wrong)
                                        : reach_listen_word(word, rule, &wrong);
    if (rc == 0)
        return push_rule(r, rule);
    json_free(rule);
    return bad_at(r, word, &wrong);
}

/* ---- secret ---- */

/* POSIX 8.1, a name */
static bool is_variable(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0 && s.n <= 64;
}

static bool is_secret(const struct json *rule, struct str name)
{
    return str_eq(json_str(rule, "do", ""), STR("secret")) &&
           str_eq(json_str(rule, "name", ""), name);
}

static bool has_secret(const struct json *rules, struct str name)
{
    const struct json *x = json_first(rules);
    while (x && !is_secret(x, name))
        x = json_next(x);
    return x != NULL;
}

/* Adds a host to the array of the line's rules. */
static int take_host(struct rules_reader *r, struct str name, struct str word,
                     struct json *hosts)
{
    struct json *rule = new_rule(STR("secret"));
    struct reach_wrong wrong;
    json_put_str(rule, "name", name);
    if (reach_secret_word(word, rule, &wrong) == 0) {
        json_push(hosts, rule);
        return 0;
    }
    json_free(rule);
    return bad_at(r, word, &wrong);
}

/* Reads "from PATH" and "in bodies", of which word is the first one, into *file. */
static int take_ends(struct rules_reader *r, struct str word, struct buf *file,
                     bool *bodies)
{
    if (str_eq(word, STR("from"))) {
        if (!next_word(r, &word))
            return bad(r, ERR_INVALID, "the path of a file was expected after from");
        if (read_path(r, word, file) < 0)
            return -1;
        if (!next_word(r, &word))
            return 0;
    }
    *bodies = str_eq(word, STR("in")) && next_word(r, &word) &&
              str_eq(word, STR("bodies")) && !next_word(r, &word);
    return *bodies
               ? 0
               : bad(r, ERR_INVALID, "the end of the line, or in bodies, was expected");
}

/* What follows the word secret in a line. */
static int take_secret(struct rules_reader *r)
{
    struct json *hosts = json_array(), *x;
    struct buf file = BUF_INIT(FENCE_PATH_MAX);
    struct str name, word;
    bool bodies = false, more = false;
    int rc = 0;
    if (!next_word(r, &name) || !is_variable(name))
        rc = bad(r, ERR_INVALID, "the name of a variable was expected, as CODE_TOKEN");
    else if (has_secret(r->out, name))
        rc = bad(r, ERR_INVALID, "this secret has a line already; one has all its hosts");
    while (rc == 0 && (more = next_word(r, &word)) && !str_eq(word, STR("from")) &&
           !str_eq(word, STR("in")))
        rc = take_host(r, name, word, hosts);
    if (rc == 0 && json_count(hosts) == 0)
        rc = bad(r, ERR_INVALID, "a DNS name was expected, as code.example");
    if (rc == 0 && more)
        rc = take_ends(r, word, &file, &bodies);
    for (x = json_first(hosts); x && rc == 0; x = json_next(x)) {
        struct json *rule = json_copy(x);
        if (file.n > 0)
            json_put_str(rule, "file", buf_str(&file));
        if (bodies)
            json_put_bool(rule, "bodies", true);
        rc = push_rule(r, rule);
    }
    json_free(hosts);
    buf_release(&file);
    return rc;
}

static int take_word(struct rules_reader *r, struct str what, struct str word)
{
    return is_network(what) ? take_network(r, what, word) : take_path(r, what, word);
}

static const char *expected_of(struct str what)
{
    return str_eq(what, STR("reach"))    ? "a name, an address, a network as 10.0.0.0/8, "
                                           "*, or the word nothing was expected"
           : str_eq(what, STR("listen")) ? "a port, or the word nothing, was expected"
                                         : "a path that begins with / or ~/ was expected";
}

static int take_line(struct rules_reader *r)
{
    struct str what, word;
    if (!next_word(r, &what))
        return 0;
    if (str_eq(what, STR("secret")))
        return take_secret(r);
    if (!is_network(what) && !str_eq(what, STR("write")) && !str_eq(what, STR("read")) &&
        !str_eq(what, STR("hide")))
        return bad(r, ERR_INVALID,
                   "write, read, hide, reach, listen or secret was expected");
    int n = 0;
    bool nothing = false;
    for (; next_word(r, &word); n++) {
        if (r->open)
            return bad(r, ERR_INVALID, "a \" was expected at the end of this word");
        nothing = nothing || (is_network(what) && str_eq(word, STR("nothing")));
        if (nothing && n > 0)
            return bad(r, ERR_INVALID, "the word nothing was expected alone in its line");
        if (r->at < r->line.n && !is_blank(r->line.p[r->at])) {
            r->from = r->at;
            return bad(r, ERR_INVALID, "a blank was expected after the \"");
        }
        if (take_word(r, what, word) < 0)
            return -1;
    }
    return n > 0 ? 0 : bad(r, ERR_INVALID, expected_of(what));
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

int fence_add(struct str word, const char *what, const char *source, const char *home,
              struct json *out, struct err *e)
{
    struct rules_reader r = {.name = source, .home = home, .out = out, .e = e};
    if (strcmp(what, "secret") != 0)
        return take_word(&r, str_of(what), word);
    r.line = word;
    return take_secret(&r);
}

bool fence_is_network(const struct json *rule)
{
    struct str what = json_str(rule, "do", "");
    return is_network(what) || str_eq(what, STR("secret"));
}

void fence_print_word(const struct json *rule, struct buf *out)
{
    struct str file = json_str(rule, "file", "");
    if (str_eq(json_str(rule, "do", ""), STR("secret"))) {
        buf_adds(out, json_str(rule, "name", ""));
        buf_addc(out, ' ');
        reach_print_rule(rule, out);
        if (file.n > 0)
            buf_addf(out, " from %.*s", STR_ARG(file));
        if (json_bool(rule, "bodies", false))
            buf_addz(out, " in bodies");
    } else if (fence_is_network(rule))
        reach_print_rule(rule, out);
    else
        buf_adds(out, json_str(rule, "path", ""));
}
