/* SPDX-License-Identifier: MIT */
/*
 * Most rules are a name or *.suffix: those are compared without the matcher.
 */
#include "text/ignore.h"

#include "base/xalloc.h"
#include "text/glob.h"

#include <stdlib.h>

struct rule {
    struct str pattern; /* in the ignore's text */
    bool negated, folder_only;
    bool anchored; /* of the whole path; else of its last part */
    enum { AS_GLOB, AS_NAME, AS_SUFFIX } how;
};

struct ignore {
    char *text; /* owned */
    struct rule *rules;
    size_t n;
};

/* Removes trailing blanks, except those after a backslash. */
static struct str without_blanks(struct str line)
{
    while (line.n && line.p[line.n - 1] == ' ' &&
           !(line.n > 1 && line.p[line.n - 2] == '\\'))
        line.n--;
    return line;
}

static bool parse(struct str line, struct rule *r)
{
    *r = (struct rule){0};
    if (str_ends(line, STR("\r")))
        line.n--;
    line = without_blanks(line);
    if (!line.n || line.p[0] == '#')
        return false;
    if (line.p[0] == '!') {
        r->negated = true;
        line = str_sub(line, 1, line.n);
    }
    if (str_ends(line, STR("/"))) {
        r->folder_only = true;
        line.n--;
    }
    r->anchored = str_chr(line, '/') >= 0;
    if (str_starts(line, STR("/")))
        line = str_sub(line, 1, line.n);
    r->pattern = line;
    if (glob_is_plain(line)) {
        r->how = AS_NAME;
    } else if (!r->anchored && line.p[0] == '*' &&
               glob_is_plain(str_sub(line, 1, line.n))) {
        r->how = AS_SUFFIX;
        r->pattern = str_sub(line, 1, line.n);
    }
    return line.n > 0;
}

struct ignore *ignore_new(struct str text)
{
    struct ignore *g = xnew(struct ignore);
    text = str_sub(text, 0, IGNORE_FILE_MAX);
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_sub(text, 3, text.n);
    g->text = xstrndup(text.p ? text.p : "", text.n);
    struct str rest = str_n(g->text, text.n);
    size_t cap = 0;
    while (rest.n && g->n < IGNORE_RULES_MAX) {
        struct rule r;
        if (!parse(str_cut(&rest, '\n'), &r))
            continue;
        if (g->n == cap) {
            cap = cap ? 2 * cap : 16;
            g->rules = xrealloc(g->rules, cap, sizeof(*g->rules));
        }
        g->rules[g->n++] = r;
    }
    return g;
}

void ignore_free(struct ignore *g)
{
    if (!g)
        return;
    free(g->text);
    free(g->rules);
    free(g);
}

static bool fits(const struct rule *r, struct str path, struct str name)
{
    struct str s = r->anchored ? path : name;
    if (r->how == AS_NAME)
        return str_eq(s, r->pattern);
    if (r->how == AS_SUFFIX)
        return str_ends(s, r->pattern);
    return glob_match(r->pattern, s);
}

enum ignore_verdict ignore_match(const struct ignore *g, struct str path, bool folder)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    struct str name = slash ? str_sub(path, (size_t)(slash - path.p) + 1, path.n) : path;
    for (size_t i = g->n; i-- > 0;) {
        const struct rule *r = &g->rules[i];
        if ((!r->folder_only || folder) && fits(r, path, name))
            return r->negated ? IGNORE_NO : IGNORE_YES;
    }
    return IGNORE_UNKNOWN;
}
