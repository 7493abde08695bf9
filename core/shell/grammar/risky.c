/* SPDX-License-Identifier: MIT */
#include "shell/grammar/risky.h"

#include <string.h>

enum { WORD = 64, WORDS = 12 };

/* The words of the command that is read; longer ones are cut, further ones dropped. */
struct risky_words {
    char word[WORDS][WORD];
    size_t n;
};

static bool is(const char *word, const char *list)
{
    size_t n = strlen(word);
    for (const char *at = list; n && (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static const char *base(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool has(const struct risky_words *c, size_t from, const char *list)
{
    for (size_t i = from; i < c->n; i++)
        if (is(c->word[i], list))
            return true;
    return false;
}

/* An option of one dash that has this letter among others, as -i in -ni. */
static bool has_letter(const struct risky_words *c, size_t from, char letter)
{
    for (size_t i = from; i < c->n; i++)
        if (c->word[i][0] == '-' && c->word[i][1] != '-' && strchr(c->word[i], letter))
            return true;
    return false;
}

/* Where the command's own name is, behind assignments, sudo and the like. */
static size_t name_at(const struct risky_words *c)
{
    size_t i = 0;
    while (i < c->n &&
           (is(base(c->word[i]),
               "sudo doas env nohup nice time exec command builtin xargs then else do if "
               "while until ! { busybox stdbuf setsid ionice") ||
            (i > 0 && c->word[i][0] == '-') ||
            (strchr(c->word[i], '=') && c->word[i][0] != '=')))
        i++;
    return i;
}

static const char *git(const struct risky_words *c, size_t i)
{
    static const char *const reasons[][2] = {{"reset", "git reset"},
                                             {"checkout", "git checkout"},
                                             {"clean", "git clean"},
                                             {"stash", "git stash"},
                                             {"rebase", "git rebase"},
                                             {"restore", "git restore"},
                                             {"switch", "git switch"},
                                             {"merge", "git merge"},
                                             {"pull", "git pull"},
                                             {"rm", "git rm"},
                                             {"apply", "git apply"},
                                             {"am", "git am"},
                                             {"cherry-pick", "git cherry-pick"},
                                             {"filter-branch", "git filter-branch"}};
    for (i++; i < c->n && (c->word[i][0] == '-' || strchr(c->word[i], '/')); i++)
        ;
    for (size_t k = 0; i < c->n && k < sizeof(reasons) / sizeof(reasons[0]); k++)
        if (strcmp(c->word[i], reasons[k][0]) == 0)
            return reasons[k][1];
    return NULL;
}

static const char *judge(const struct risky_words *c)
{
    static const char *const always[] = {"rm",       "mv",    "rmdir",  "shred",
                                         "truncate", "dd",    "unlink", "rsync",
                                         "install",  "patch", "unzip",  "rename",
                                         "tee"};
    size_t i = name_at(c);
    if (i >= c->n)
        return NULL;
    const char *name = base(c->word[i]);
    for (size_t k = 0; k < sizeof(always) / sizeof(always[0]); k++)
        if (strcmp(name, always[k]) == 0)
            return always[k];
    if (strcmp(name, "git") == 0)
        return git(c, i);
    if (strcmp(name, "eval") == 0 ||
        (is(name, "sh bash dash zsh ksh ash") && has_letter(c, i + 1, 'c')))
        return "a text for another shell";
    if (is(name, "sed perl ruby gawk") &&
        (has_letter(c, i + 1, 'i') || has(c, i + 1, "--in-place")))
        return "an edit in place";
    if (strcmp(name, "find") == 0 && has(c, i + 1, "-delete -exec -execdir -ok"))
        return "find that changes files";
    if (strcmp(name, "tar") == 0 &&
        (has_letter(c, i + 1, 'x') || has(c, i + 1, "--extract --get x xf xzf xvf")))
        return "tar that extracts";
    if (is(name, "cp ln") && !has_letter(c, i + 1, 'n'))
        return "cp or ln over files";
    if (is(name,
           "npm pnpm yarn bun pip pip3 uv cargo go gem composer apt apt-get dpkg apk "
           "dnf yum make cmake ninja poetry conda mamba brew npx") &&
        has(c, i + 1,
            "install i ci add remove uninstall update upgrade sync clean "
            "distclean prune dedupe -i"))
        return "an installer";
    return NULL;
}

struct risky_reading {
    struct risky_words c;
    size_t at; /* bytes of the word that is read */
    bool in_word;
};

static void put(struct risky_reading *r, char byte)
{
    if (!r->in_word) {
        r->in_word = true;
        r->at = 0;
    }
    if (r->c.n < WORDS && r->at + 1 < WORD)
        r->c.word[r->c.n][r->at++] = byte;
}

static void end_word(struct risky_reading *r)
{
    if (!r->in_word)
        return;
    if (r->c.n < WORDS)
        r->c.word[r->c.n++][r->at] = 0;
    r->in_word = false;
}

static const char *end_command(struct risky_reading *r)
{
    end_word(r);
    const char *why = judge(&r->c);
    r->c.n = 0;
    return why;
}

/* Is what follows > a file, and not a descriptor or /dev/null? */
static bool is_file(struct str rest)
{
    while (rest.n && (*rest.p == ' ' || *rest.p == '|'))
        rest = str_sub(rest, 1, rest.n);
    return rest.n && *rest.p != '&' && *rest.p != '(' && *rest.p != '>' &&
           !str_starts(rest, STR("/dev/"));
}

const char *risky_command(struct str text)
{
    struct risky_reading r = {.at = 0};
    const char *why = NULL;
    char quote = 0;
    text = str_sub(text, 0, RISKY_MAX);
    for (size_t i = 0; i < text.n && !why; i++) {
        char b = text.p[i], next = i + 1 < text.n ? text.p[i + 1] : 0;
        bool starts = (b == '$' && next == '(') || b == '`';
        if (quote == '\'' ? b == '\'' : quote && b == quote) {
            quote = 0;
        } else if (b == '\\' && quote != '\'' && next) {
            put(&r, next);
            i++;
        } else if (starts && quote != '\'') {
            why = end_command(&r);
            i += b == '$';
            quote = 0; /* what is in it is not quoted */
        } else if (quote) {
            put(&r, b);
        } else if (b == '\'' || b == '"') {
            quote = b;
            put(&r, 0);
            r.at = r.at ? r.at - 1 : 0;
        } else if (b == '>' && next != '>' && (i == 0 || text.p[i - 1] != '>')) {
            end_word(&r);
            if (is_file(str_sub(text, i + 1, text.n)))
                why = "> to a file";
        } else if (strchr(";&|()\n", b) && b) {
            why = end_command(&r);
        } else if (b == ' ' || b == '\t') {
            end_word(&r);
        } else {
            put(&r, b);
        }
    }
    return why ? why : end_command(&r);
}
