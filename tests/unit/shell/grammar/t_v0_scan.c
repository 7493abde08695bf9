/* SPDX-License-Identifier: MIT */
/*
 * Where commands begin, judged by bash: tests/lib/bash-commands.sh divides the
 * texts of tests/corpus/v0_scan with `bash -n`, and we must come to the same. The
 * answers are recorded (tests/lib/bash-record.sh): they cost 20,000 executions of bash.
 * A sample of them is asked of this machine's bash.
 * Then what no bash is needed for: pieces, depth, time, and broken texts.
 */
#include "shell/grammar/grammar.h"

#include "t.h"

#define PIECES 64
#define SAMPLE 32 /* every 32nd text is asked of bash */

static struct v0_piece piece[PIECES];

static size_t count(const char *text) { return v0_scan(str_of(text), piece, PIECES); }

/* ---- the corpus ---- */

/* A file, or what a command prints, which the caller frees. */
static char *slurp(FILE *f)
{
    size_t n = 0, cap = 1 << 20;
    char *p = malloc(cap);
    CHECK(f && p);
    for (size_t got; (got = fread(p + n, 1, cap - n - 1, f)) > 0;)
        n += got;
    CHECK(n < cap - 1);
    p[n] = '\0';
    return p;
}

static const char *in_tests(char *path, size_t n, const char *name)
{
    snprintf(path, n, "%.*s/../../../%s", (int)(strrchr(__FILE__, '/') - __FILE__),
             __FILE__, name);
    if (access(path, R_OK) < 0)
        T_FAIL("%s: %s; run it in the source tree", path, strerror(errno));
    return path;
}

/* The lines at which commands begin, the first one's left out: "2 5". */
static void starts(struct str text, char *out, size_t size)
{
    size_t n = v0_scan(text, piece, PIECES), at = 0, line = 1;
    CHECK(n <= PIECES);
    out[0] = '\0';
    for (size_t i = 0; i + 1 < n; i++) {
        for (size_t j = 0; j < piece[i].text.n; j++)
            line += piece[i].text.p[j] == '\n';
        at += (size_t)snprintf(out + at, size - at, "%s%zu", at ? " " : "", line);
    }
}

/* The texts that bash judged, and what was recorded of it. */
static struct str text_at, line_at;
static char *text_file, *answer_file;

static void begin_texts(void)
{
    char path[300];
    FILE *f = fopen(in_tests(path, sizeof(path), "corpus/v0_scan/bash.txt"), "r");
    text_at = str_of(text_file = slurp(f));
    fclose(f);
    f = fopen(in_tests(path, sizeof(path), "corpus/v0_scan/bash.answers"), "r");
    line_at = str_of(answer_file = slurp(f));
    fclose(f);
}

struct judged {
    struct str text, body; /* without the last newline; and without those before it */
    struct str begin;      /* the lines at which commands begin */
    struct str open;       /* 0 or 1 for the first byte of body, the first two, … */
};

static bool next_text(struct judged *j)
{
    if (text_at.n == 0)
        return false;
    long end = str_find(text_at, STR("\n%%\n"));
    j->text = j->body = str_sub(text_at, 0, end < 0 ? text_at.n - 1 : (size_t)end);
    while (j->body.n > 0 && j->body.p[0] == '\n')
        j->body = str_sub(j->body, 1, j->body.n);
    text_at = str_sub(text_at, end < 0 ? text_at.n : (size_t)end + 4, text_at.n);
    j->open = str_cut(&line_at, '\n');
    j->begin = str_cut(&j->open, '|');
    if (j->open.n != j->body.n)
        T_FAIL("tests/lib/bash-record.sh is due: %zu answers, %zu bytes: %.*s", j->open.n,
               j->body.n, STR_ARG(j->body));
    return true;
}

static void end_texts(int done)
{
    CHECK_INT(line_at.n, 0);
    CHECK(done >= 600);
    free(text_file);
    free(answer_file);
}

TEST(bash_divides_in_the_same_way)
{
    struct judged j;
    int done = 0, wrong = 0;
    begin_texts();
    while (next_text(&j)) {
        char got[300];
        starts(str_n(j.text.p, j.text.n + 1), got, sizeof(got));
        if (!str_eq(j.begin, str_of(got))) {
            printf("# at line(s) \"%s\", bash says \"%.*s\":\n# %.*s\n", got,
                   STR_ARG(j.begin), STR_ARG(j.text));
            wrong++;
        }
        done++;
    }
    end_texts(done);
    CHECK_INT(wrong, 0);
}

TEST(bash_wants_more_at_the_same_places)
{
    struct judged j;
    int done = 0, wrong = 0;
    begin_texts();
    while (next_text(&j)) {
        for (size_t n = 1; n <= j.body.n; n++) {
            if (v0_scan_open(str_sub(j.body, 0, n)) == (j.open.p[n - 1] == '1'))
                continue;
            printf("# bash says %c, not we:\n# %.*s\n", j.open.p[n - 1], (int)n, j.body.p);
            wrong++;
        }
        done++;
    }
    end_texts(done);
    CHECK_INT(wrong, 0);
}

/* What a script of tests/lib prints about the texts in the file, which the caller frees. */
static char *ask_bash(const char *script, const char *file)
{
    char path[300], command[700];
    snprintf(command, sizeof(command), "bash %s %s", in_tests(path, sizeof(path), script),
             file);
    FILE *bash = popen(command, "r");
    char *answers = slurp(bash);
    CHECK_INT(pclose(bash), 0);
    return answers;
}

/* At the ends of lines, "LENGTH:OPEN …", this bash answers as the record has it. */
static void check_record(const struct judged *j, struct str answers)
{
    while (answers.n > 0) {
        struct str answer = str_cut(&answers, ' '), length = str_cut(&answer, ':');
        uint64_t n;
        CHECK(str_to_u64(length, &n) == 0 && n > 0 && n <= j->body.n && answer.n == 1);
        if (answer.p[0] != j->open.p[n - 1])
            T_FAIL("this bash says %c, the record %c: %.*s", answer.p[0], j->open.p[n - 1],
                   (int)n, j->body.p);
    }
}

TEST(the_record_is_what_this_bash_says)
{
    struct judged j;
    int done = 0;
    char file[300];
    if (system("bash -c : 2>/dev/null") != 0)
        T_SKIP("no bash");
    snprintf(file, sizeof(file), "%s/sample", t_dir());
    FILE *f = fopen(file, "w");
    CHECK(f);
    begin_texts();
    while (next_text(&j))
        if (done++ % SAMPLE == 0)
            fprintf(f, "%s%.*s\n", done > 1 ? "%%\n" : "", STR_ARG(j.text));
    fclose(f);
    end_texts(done);
    char *divided = ask_bash("lib/bash-commands.sh", file);
    char *opened = ask_bash("lib/bash-open.sh", file);
    struct str divide_at = str_of(divided), open_at = str_of(opened);
    begin_texts();
    for (done = 0; next_text(&j); done++) {
        if (done % SAMPLE != 0)
            continue;
        if (!str_eq(str_cut(&divide_at, '\n'), j.begin))
            T_FAIL("this bash divides otherwise than the record: %.*s", STR_ARG(j.text));
        check_record(&j, str_cut(&open_at, '\n'));
    }
    end_texts(done);
    CHECK_INT(divide_at.n + open_at.n, 0);
    free(divided);
    free(opened);
}

/*
 * Commands as agents send them, each behind the number of commands for which the
 * original server takes it: one that its parser does not know runs whole, as 1.
 */
TEST(agents_commands_are_refused_as_the_original_does)
{
    char path[300];
    FILE *f = fopen(in_tests(path, sizeof(path), "corpus/v0_scan/agents.txt"), "r");
    char *texts = slurp(f);
    fclose(f);
    struct str rest = str_of(texts);
    int done = 0, whole = 0, wrong = 0;
    while (rest.n > 0) {
        long end = str_find(rest, STR("\n%%\n"));
        struct str text = str_sub(rest, 0, end < 0 ? rest.n : (size_t)end);
        struct str number = str_cut(&text, '\n');
        uint64_t want;
        CHECK(str_to_u64(number, &want) == 0);
        text = str_trim(text);
        size_t n = v0_scan(text, NULL, 0);
        const char *beyond = v0_scan_beyond(text);
        whole += n > 1 && beyond;
        if ((beyond ? 1 : n) != want) {
            printf("# %zu commands (%s), not %d:\n# %.*s\n", n,
                   beyond ? beyond : "all known", (int)want, STR_ARG(text));
            wrong++;
        }
        done++;
        rest = str_sub(rest, end < 0 ? rest.n : (size_t)end + 4, rest.n);
    }
    CHECK(done >= 100);
    CHECK(whole >= 25);
    CHECK_INT(wrong, 0);
    free(texts);
}

/* ---- what needs no bash ---- */

TEST(what_the_original_does_not_know_has_a_name)
{
    static const char *const beyond[][2] = {
        {"[[ a > b ]]", "[[ … ]]"},
        {"f() { [[ a ]]; }", "[[ … ]]"},
        {"case x in a) ;; esac", "case"},
        {"select x in a; do b; done", "select"},
        {"coproc a", "coproc"},
        {"time a", "time"},
        {"a | time b", "time"},
        {"!", "! without a command"},
        {"((a))", "((…))"},
        {"for ((;;)); do a; done", "((…))"},
        {"a \"$((1))\"", "$((…))"},
        {"a $[1]", "$((…))"},
        {"a `b $((1))`", "$((…))"},
        {"a=(b)", "an array"},
        {"declare a=(b)", "an array"},
        {"a ?(b)", "an extended pattern"},
        {"cat <<'E'\na\nE", "a here document with a quoted delimiter"},
        {"cat <<\\E\na\nE", "a here document with a quoted delimiter"},
        {"a $(b && c)", "a list at the end of a substitution"},
        {"a <(b & c)", "a list at the end of a substitution"},
        {"a $(b;)", "a list at the end of a substitution"},
        {"a $( )", "a list at the end of a substitution"},
        {"a $(b c#d)", "# in a substitution"},
        {"a b'$('", "a substitution in quotes"},
        {"a $'`'", "a substitution in quotes"},
        {"a b\"<(\"", "a substitution in quotes"},
        {"while a\ndo b; done", "while without a separator before do"},
        {"a \\", "a backslash at the end"}};
    static const char *const known[] = {"",
                                        "a",
                                        "a && b; c & d",
                                        "[ a = b ]",
                                        "a '$((1))' \"`b`\"",
                                        "cat <<E\n$((1))\nE",
                                        "a $(b; c | d)",
                                        "a $( (b && c) )",
                                        "a $(b && c\n)",
                                        "a <(b) >(c)",
                                        "echo case time",
                                        "while a; do b; done",
                                        "a b#c ${d#e} $(f ${g#h} '#')",
                                        "! a",
                                        "a '[['",
                                        "a $(b\nc && d)",
                                        "f() { a; }",
                                        "a \\\\",
                                        "if a\nthen b\nfi",
                                        "{ a; }"};
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        const char *got = v0_scan_beyond(str_of(beyond[i][0]));
        CHECK(got);
        CHECK_STR(got, beyond[i][1]);
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (v0_scan_beyond(str_of(known[i])))
            T_FAIL("not known, because of %s: %s", v0_scan_beyond(str_of(known[i])),
                   known[i]);
}

TEST(a_document_that_lacks_its_lines)
{
    static const char *const lacking[] = {"cat <<E", "cat << 'E' | b", "a; cat <<E"};
    static const char *const other[] = {"",           "a",          "cat <<E\n",
                                        "cat <<E\nx", "cat <<E\nE", "'a",
                                        "if cat <<E", "cat <<<E",   "{ cat <<E"};
    for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++)
        if (!v0_scan_lacks_document(str_of(lacking[i])))
            T_FAIL("%s", lacking[i]);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        if (v0_scan_lacks_document(str_of(other[i])))
            T_FAIL("%s", other[i]);
}

/* Pieces are the text, one behind the other. */
static void check_cover(struct str text, size_t n, size_t max)
{
    size_t at = 0;
    for (size_t i = 0; i < n && i < max; i++) {
        CHECK(piece[i].text.p == text.p + at);
        at += piece[i].text.n;
    }
    CHECK(n > max ? at < text.n : at == text.n);
}

TEST(pieces_have_what_is_behind_them)
{
    struct str text = STR("# why\n a  # x\n\n# behind\n  b <<E\nx\nE\n c ; d\n\n# end\n");
    CHECK_INT(v0_scan(text, piece, PIECES), 3);
    CHECK_MEM(piece[0].text.p, piece[0].text.n, "# why\n a  # x\n\n# behind\n  ");
    CHECK_MEM(piece[1].text.p, piece[1].text.n, "b <<E\nx\nE\n ");
    CHECK_MEM(piece[2].text.p, piece[2].text.n, "c ; d\n\n# end\n");
    check_cover(text, 3, PIECES);
}

TEST(more_pieces_than_room)
{
    struct str text = STR("a\nb\nc\nd\n");
    for (size_t max = 0; max < 6; max++) {
        CHECK_INT(v0_scan(text, piece, max), 4);
        if (max > 0)
            check_cover(text, 4, max);
    }
    CHECK_INT(v0_scan(text, piece, 2), 4);
    CHECK_MEM(piece[1].text.p, piece[1].text.n, "b\n");
}

TEST(nothing_is_one_empty_command)
{
    static const char *const none[] = {"",    " ",      "\n",  "\n\n\t\n",
                                       "# a", "#\n#\n", "\\\n"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        CHECK_INT(count(none[i]), 1);
        check_cover(str_of(none[i]), 1, PIECES);
    }
    CHECK_INT(v0_scan(str_n(NULL, 0), piece, PIECES), 1);
    CHECK_INT(piece[0].text.n, 0);
}

TEST(a_backslash_continues_no_comment)
{
    CHECK_INT(count("a # b\\\nc\n"), 2);
    CHECK_INT(count("a b\\\nc\n"), 1);
}

TEST(what_does_not_parse_is_one)
{
    CHECK_INT(count("a\nb\necho \"c\n"), 1);
    check_cover(STR("a\nb\necho \"c\n"), 1, PIECES);
    CHECK_INT(count("a\nb\nfi\n"), 1);
    CHECK_INT(count("a\ncat <<E\nb\n"), 1);
    CHECK_INT(count("cat <<$'E'\na\n$E\nb\n"), 1);
    CHECK_INT(count("cat <<$\"E\"\na\n$E\nb\n"), 1);
}

TEST(more_lines_are_wanted)
{
    static const char *const open[] = {"cat <<E",
                                       "cat <<E\nx",
                                       "cat <<E\nx\n",
                                       "\"",
                                       "'a\n",
                                       "`a",
                                       "echo $(",
                                       "if a",
                                       "for x in 1 2",
                                       "while a\n",
                                       "{",
                                       "( a",
                                       "f()",
                                       "f() {\n  a\n",
                                       "case a in\n b)",
                                       "a &&",
                                       "a ||",
                                       "a |\n\n",
                                       "a |& # why",
                                       "a\\",
                                       "a \\\n",
                                       "\\",
                                       "fi\\",
                                       "a\nb && \\",
                                       "a\n'b",
                                       "((a)",
                                       "a=(1\n",
                                       "${x",
                                       "$'\\'",
                                       "echo >\\",
                                       "cat <<E\\",
                                       "x=$(cat <<E)\n"};
    static const char *const closed[] = {
        "",        "\n",           "a",       "a\n",      "a\nb\n", "# a \\",
        ")",       "fi",           "a )\n'b", "echo >",   "for",    "a\\\\",
        "'a\\'\n", "cat <<E\nE",   "a &",     "a;",       "! ",     "[[ a",
        "a\\\n\n", "cat <<E\nE\n", ") \\",    "a ;;\nif", "time",   "case a in b"};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        if (!v0_scan_open(str_of(open[i])))
            T_FAIL("nothing more is wanted behind: %s", open[i]);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        if (v0_scan_open(str_of(closed[i])))
            T_FAIL("more is wanted behind: %s", closed[i]);
    CHECK(!v0_scan_open(str_n(NULL, 0)));
}

/* `times` times the beginning, as often the end, and a second command. */
static size_t nested(const char *begin, const char *middle, const char *end, size_t times)
{
    size_t n = times * (strlen(begin) + strlen(end)) + strlen(middle) + 10;
    char *text = malloc(n), *to = text;
    CHECK(text);
    for (size_t i = 0; i < times; i++)
        to = stpcpy(to, begin);
    to = stpcpy(to, middle);
    for (size_t i = 0; i < times; i++)
        to = stpcpy(to, end);
    stpcpy(to, "\nls\n");
    size_t got = v0_scan(str_of(text), piece, PIECES);
    free(text);
    return got;
}

static const struct {
    const char *begin, *middle, *end;
} nests[] = {
    {"( ", "a", " )"},
    {"$(", "a", ")"},
    {"\"$(", "a", ")\""},
    {"{ ", "a", "; }"},
    {"${x:-", "a", "}"},
    {"\"${x:-", "a", "}\""},
    {"<(", "a", ")"},
    {"if ", "a", "; then b; fi"},
    {"case $(", "a", ") in b) c;; esac"},
    {"f() { ", "a", "; }"},
    {"coproc { ", "a", "; }"},
    {"x=(", "a", ")"},
    {"@(", "a", ")"},
    {"time -$(", "a", ")"},
    {"coproc a$(", "a", ")"},
    {"[[ ( $(", "a", ") ) ]]"},
    {"$((", "1", "))"},
    {"x[$(", "1", ")]=2"},
};

TEST(constructs_in_one_another)
{
    for (size_t i = 0; i < sizeof(nests) / sizeof(nests[0]); i++) {
        const char *b = nests[i].begin, *m = nests[i].middle, *e = nests[i].end;
        bool array = strcmp(b, "x=(") == 0; /* bash does not have one in another */
        if (nested(b, m, e, array ? 1 : 20) != 2)
            T_FAIL("%s is not understood 20 times", b);
        /* Far beyond the limit nothing is believed, and the stack is not used up. */
        if (strcmp(b, "@(") != 0 && nested(b, m, e, 200000) != 1)
            T_FAIL("%s is understood 200000 times", b);
        if (nested(b, m, "", 200000) != 1)
            T_FAIL("%s without an end is", b);
    }
}

/*
 * Texts that are tempting to read again and again: a megabyte of each is soon
 * done. Who reads it twice for each level needs longer than the universe.
 */
TEST(no_text_takes_long)
{
    static const char *const parts[] = {
        "((",         "((a) ",     "$((",     "$((a) ",       "time -$(", "coproc $(",
        "coproc a$(", "a<<b;",     "<<a\n",   "\\\n",         "`",        "\"",
        "'",          "${",        "a=(",     "a[",           "[[ a && ", "! ",
        "time ",      "{a}>",      "(a) {$(", "(a) 1$(",      "if a;",    "case a in ",
        "a\n",        "a;",        "a|",      "a&&",          "#",        "\n",
        " ",          "\\",        "$",       "<(",           "@(",       "$'",
        "\"$(",       "\"${",      "]",       "function f (", "f()",      "\"`",
        "for ((",     "<<-a <<b ", "\t",      "cat <<E\nE\n", "<<\\\n",   "a\\\n",
    };
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t n = strlen(parts[i]);
        for (size_t at = 0; at < SIZE; at++)
            text[at] = parts[i][at % n];
        CHECK(v0_scan(str_n(text, SIZE), piece, PIECES) >= 1);
        v0_scan_open(str_n(text, SIZE));
        /* As deep as is read, and then the mistake. */
        CHECK(v0_scan(str_n(text, n * (V0_SCAN_DEPTH / 2 - 1)), piece, PIECES) >= 1);
    }
    free(text);
}

/* Every text, cut anywhere, is read without a byte beyond its end. */
TEST(unfinished_texts)
{
    char file[300];
    FILE *f = fopen(in_tests(file, sizeof(file), "corpus/v0_scan/bash.txt"), "r");
    char *texts = slurp(f);
    fclose(f);
    struct str rest = str_of(texts);
    while (rest.n > 0) {
        long end = str_find(rest, STR("\n%%\n"));
        struct str text = str_sub(rest, 0, end < 0 ? rest.n : (size_t)end + 1);
        for (size_t n = 0; n <= text.n; n++) {
            char *copy = malloc(n ? n : 1);
            memcpy(copy, text.p, n);
            size_t pieces = v0_scan(str_n(copy, n), piece, PIECES);
            check_cover(str_n(copy, n), pieces, PIECES);
            CHECK(pieces == 1 || !v0_scan_open(piece[0].text));
            free(copy);
        }
        rest = str_sub(rest, end < 0 ? rest.n : (size_t)end + 4, rest.n);
    }
    free(texts);
}

T_MAIN
