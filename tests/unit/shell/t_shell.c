/* SPDX-License-Identifier: MIT */
/*
 * Marks in every state of arrival, and what real shells make of our text: their
 * lists of variables are read back, and commands of any bytes run as they are.
 * A shell that this machine does not have is passed over; one there must be.
 */
#include "shell/shell.h"

#include "t.h"

#include <fcntl.h>
#include <limits.h>

#define NONCE "0123abcd"
#define HEAD  "\033]7723;" NONCE ";"

static const struct shell bash = {.kind = SHELL_BASH, .nonce = NONCE, .gen = 1};

/* ---- marks ---- */

/* Over a copy that ends where it ends, so that a reader beyond it is caught. */
static bool mark_in(struct str bytes, struct mark *m, size_t *keep)
{
    char *copy = malloc(bytes.n ? bytes.n : 1);
    if (bytes.n)
        memcpy(copy, bytes.p, bytes.n);
    bool found = shell_mark(&bash, str_n(copy, bytes.n), m, keep);
    free(copy);
    return found;
}

static const struct {
    const char *text;
    struct mark m;
} marks[] = {
    {HEAD "S;1\a", {.kind = 'S', .seq = 1}},
    {HEAD "E;42;127\a", {.kind = 'E', .seq = 42, .status = 127}},
    {HEAD "P;9007199254740993;0\a", {.kind = 'P', .seq = 9007199254740993}},
    {HEAD "I;3;12;255\a", {.kind = 'I', .gen = 3, .seq = 12, .status = 255}},
    {HEAD "H;7\a", {.kind = 'H', .seq = 7}},
    {HEAD "A;0;0\a", {.kind = 'A', .seq = 0}},
    {HEAD "A;7;3\a", {.kind = 'A', .seq = 7, .status = 3}},
    {HEAD "A;7\a", {.kind = 'A', .seq = 7, .status = INT_MAX}}, /* of an older shell */
};

enum { MARKS = sizeof(marks) / sizeof(marks[0]) };

static void check_mark(const struct mark *got, const struct mark *want)
{
    CHECK_INT(got->kind, want->kind);
    CHECK_INT(got->seq, want->seq);
    CHECK_INT(got->gen, want->gen);
    CHECK_INT(got->status, want->status);
}

TEST(a_mark_is_found_wherever_the_bytes_are_split)
{
    for (int i = 0; i < MARKS; i++) {
        struct buf all = BUF_INIT(1000);
        size_t n = strlen(marks[i].text);
        buf_addf(&all, "before\033]7;%sbehind", marks[i].text);
        size_t at = all.n - n - strlen("behind");
        for (size_t split = 0; split <= all.n; split++) {
            struct mark m;
            size_t keep = 0;
            bool whole = mark_in(str_n(all.p, split), &m, &keep);
            CHECK_INT(whole, split >= at + n);
            if (whole) {
                CHECK_INT(m.at, at);
            } else {
                /* Nothing of the mark is let go, and nothing else held back. */
                CHECK(keep <= split && keep <= at);
                if (split > at)
                    CHECK_INT(keep, at);
                CHECK(mark_in(str_sub(buf_str(&all), keep, all.n), &m, &keep));
            }
            check_mark(&m, &marks[i].m);
            CHECK_INT(m.len, n);
        }
        buf_release(&all);
    }
}

TEST(marks_come_out_one_after_the_other)
{
    struct buf all = BUF_INIT(1000);
    for (int i = 0; i < MARKS; i++)
        buf_addf(&all, "%s%d", marks[i].text, i);
    struct str rest = buf_str(&all);
    struct mark m;
    size_t keep = 0;
    for (int i = 0; i < MARKS; i++) {
        CHECK(shell_mark(&bash, rest, &m, &keep));
        check_mark(&m, &marks[i].m);
        CHECK_INT(m.at, i > 0);
        rest = str_sub(rest, m.at + m.len, rest.n);
    }
    CHECK(!shell_mark(&bash, rest, &m, &keep));
    CHECK_INT(keep, 1);
    buf_release(&all);
}

TEST(bytes_that_begin_no_mark_are_not_held_back)
{
    static const char *const texts[] = {
        "",
        "plain",
        "\033[0m",
        "\033]0;title\a",
        "\a",
        "\033]7723;0\r",
        "7723;" NONCE ";S",
        "\033\033x",
        "\0330",
        "\033]77\033]8;",
        NONCE,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct mark m;
        size_t keep = 99;
        CHECK(!mark_in(str_of(texts[i]), &m, &keep));
        CHECK_INT(keep, strlen(texts[i]));
    }
}

TEST(what_is_nearly_a_mark_is_text)
{
    static const struct str forged[] = {
        STR("\033]7723;0123abce;E;1;0\a"), /* another nonce */
        STR("\033]7723;;E;1;0\a"),
        STR("\033]7724;" NONCE ";E;1;0\a"),
        STR("\033[7723;" NONCE ";E;1;0\a"),
        STR(HEAD "e;1;0\a"),
        STR(HEAD "X;1\a"),
        STR(HEAD "\0;1\a"),
        STR(HEAD ";1;0\a"),
        STR(HEAD "E\a"),
        STR(HEAD "E;\a"),
        STR(HEAD "E;1\a"), /* a field too few, or too many */
        STR(HEAD "E;1;\a"),
        STR(HEAD "E;1;0;0\a"),
        STR(HEAD "S;1;0\a"),
        STR(HEAD "I;1;2\a"),
        STR(HEAD "I;1;2;3;4\a"),
        STR(HEAD "E;-1;0\a"),
        STR(HEAD "E; 1;0\a"),
        STR(HEAD "E;1;0x\a"),
        STR(HEAD "E;1;0\033\\"),
        STR(HEAD "E;1\0;0\a"),
        STR(HEAD "E;0x1;0\a"),
        STR(HEAD "S;18446744073709551617\a"), /* 1, had it wrapped round */
        STR(HEAD "S;00000000000000000000000000000000000000000000001\a"),
    };
    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        struct mark m;
        size_t keep = 99;
        if (mark_in(forged[i], &m, &keep))
            T_FAIL("taken for a mark: number %zu", i);
        CHECK_INT(keep, forged[i].n);

        /* The next one, right behind it, is not lost. */
        struct buf b = BUF_INIT(1000);
        buf_adds(&b, forged[i]);
        buf_addz(&b, HEAD "E;5;6\a");
        CHECK(mark_in(buf_str(&b), &m, &keep));
        CHECK_INT(m.at, forged[i].n);
        CHECK_INT(m.seq, 5);
        buf_release(&b);
    }
}

TEST(one_mark_breaks_another_off)
{
    struct mark m;
    size_t keep = 0;
    struct str s = STR(HEAD "E;1" HEAD "S;2\a");
    CHECK(mark_in(s, &m, &keep));
    CHECK_INT(m.kind, 'S');
    CHECK_INT(m.at, strlen(HEAD "E;1"));
    CHECK(!mark_in(str_sub(s, 0, s.n - 1), &m, &keep));
    CHECK_INT(keep, strlen(HEAD "E;1"));
}

TEST(a_mark_that_never_ends_is_not_waited_for)
{
    struct buf b = BUF_INIT(1000);
    struct mark m;
    size_t keep = 0;
    buf_addz(&b, HEAD "I;1;2;");
    for (int i = 0; i < 100; i++)
        buf_addc(&b, '3');
    CHECK(!mark_in(buf_str(&b), &m, &keep));
    CHECK_INT(keep, b.n);
    buf_release(&b);
}

/* ---- traces and echoes ---- */

TEST(the_trace_of_our_end_is_cut_where_its_line_begins)
{
    CHECK_INT(shell_trace(&bash, STR("no trace\n")), strlen("no trace\n"));
    CHECK_INT(shell_trace(&bash, STR("")), 0);
    CHECK_INT(shell_trace(&bash, STR("+ __od1_e 0\n")), 0);
    CHECK_INT(shell_trace(&bash, STR("out\n+ __od1_e 0\n")), 4);
    CHECK_INT(shell_trace(&bash, STR("+ __od1_e 1\nout\n++ __od1_e 3\n")), 16);
    /* Of another generation: not ours. */
    CHECK_INT(shell_trace(&bash, STR("+ __od2_e 0\n")), strlen("+ __od2_e 0\n"));
}

/* Those that are typed while people are attached. */
static const enum shell_line echoed[] = {LINE_ACK, LINE_ACK_ASK, LINE_ACK_SHOWN,
                                         LINE_ATTACH, LINE_DETACH};

/* Output begins on a line of its own after the prompt has gone, so its line's end stays.
 */
static void check_echo(const struct shell *sh, enum shell_line what)
{
    struct buf line = BUF_INIT(1000), b = BUF_INIT(2000);
    CHECK_INT(shell_line(&line, sh, what, 7), 0);
    CHECK_INT(line.p[line.n - 1], '\n');
    buf_truncate(&line, line.n - 1);
    buf_addf(&b, "me@here:~$%s\r\nafter\r\n", line.p);
    size_t at = 0, len = 0;
    CHECK(shell_echo(sh, buf_str(&b), &at, &len));
    CHECK_INT(at, strlen("me@here:~$"));
    struct str rest = str_sub(buf_str(&b), at + len, b.n);
    CHECK(str_eq(rest, STR("after\r\n")) || str_eq(rest, STR("\r\nafter\r\n")));
    CHECK_INT(rest.n, what == LINE_DETACH ? 9 : 7);

    /* Until its newline came, only the place is known. */
    struct str open = str_sub(buf_str(&b), 0, at + line.n);
    CHECK(shell_echo(sh, open, &at, &len));
    CHECK_INT(at, strlen("me@here:~$"));
    CHECK_INT(len, 0);
    buf_release(&line);
    buf_release(&b);
}

TEST(each_echoed_line_of_ours_is_found_whole)
{
    struct shell posix = bash;
    posix.kind = SHELL_POSIX;
    posix.gen = 12;
    for (size_t i = 0; i < sizeof(echoed) / sizeof(echoed[0]); i++) {
        check_echo(&bash, echoed[i]);
        check_echo(&posix, echoed[i]);
    }
}

TEST(what_a_terminal_echoes_of_the_clearing_key_goes_with_its_line)
{
    struct buf key = BUF_INIT(100);
    CHECK_INT(shell_line(&key, &bash, LINE_CLEAR, 0), 0);
    CHECK_STR(buf_z(&key), "\033[7723~");
    struct str b = STR("before\r\n^[[7723~ __od1_a ''\r\nafter\r\n");
    size_t at = 0, len = 0;
    CHECK(shell_echo(&bash, b, &at, &len));
    CHECK_INT(at, strlen("before\r\n"));
    CHECK(str_eq(str_sub(b, at + len, b.n), STR("after\r\n")));
    buf_release(&key);
}

TEST(lines_of_others_are_not_taken_for_echoes)
{
    size_t at, len;
    CHECK(!shell_echo(&bash, STR(""), &at, &len));
    CHECK(!shell_echo(&bash, STR("me@here:~$ echo $__od1_x\r\nx__od1_f\r\n"), &at, &len));
    CHECK(!shell_echo(&bash, STR(" __od12_f=1;: x\r\n"), &at, &len));
}

TEST(the_line_of_the_trap_on_exit_is_found_whole)
{
    struct str ours = STR("exit\n{ __od1_E \"$?\";}\necho bye\nbye\n");
    uint64_t len = 0;
    size_t left = shell_exit_echo(&bash, ours, &len);
    CHECK_INT(ours.n - left, strlen("exit\n"));
    CHECK(str_eq(str_sub(ours, ours.n - left + len, ours.n), STR("echo bye\nbye\n")));
    ours = STR("a\ntrap -- '{ __od1_E \"$?\";}' EXIT\nb\n");
    left = shell_exit_echo(&bash, ours, &len);
    CHECK_INT(ours.n - left, strlen("a\n"));
    CHECK(str_eq(str_sub(ours, ours.n - left + len, ours.n), STR("b\n")));
    ours = STR("trap -- '{ __od1_E \"$?\";}\necho bye' EXIT\n");
    left = shell_exit_echo(&bash, ours, &len);
    CHECK(str_eq(str_sub(ours, ours.n - left + len, ours.n), STR("echo bye' EXIT\n")));
    CHECK_INT(ours.n - left, strlen("trap -- '"));
    CHECK_INT(shell_exit_echo(&bash, STR("exit\n{ __od2_E \"$?\";}\n"), &len), 0);
    CHECK_INT(shell_exit_echo(&bash, STR("{ __od1_E \"$?\""), &len), 0);
}

TEST(a_loud_command_has_lines_of_its_own)
{
    static const struct {
        enum shell_line what;
        const char *line;
    } rows[] = {
        {LINE_RUN, " \\builtin eval \"$__od1_X\"\n"},
        {LINE_RUN_FIFO, " \\builtin eval \"$__od1_w\"\n"},
        {LINE_RUN_NULL, " \\builtin eval \"$__od1_0\"\n"},
        {LINE_RUN_KEY, "\x1f"},
        {LINE_RUN_LOUD, " \\builtin eval \"$__od1_X1\"\n"},
        {LINE_RUN_FIFO_LOUD, " \\builtin eval \"$__od1_w1\"\n"},
        {LINE_RUN_NULL_LOUD, " \\builtin eval \"$__od1_01\"\n"},
        {LINE_RUN_KEY_LOUD, "\x1e"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf line = BUF_INIT(64);
        CHECK_INT(shell_line(&line, &bash, rows[i].what, 1), 0);
        CHECK_STR(buf_z(&line), rows[i].line);
        buf_release(&line);
    }
}

TEST(words_that_read_the_terminal)
{
    CHECK(shell_text_reads(STR("read")));
    CHECK(shell_text_reads(STR("a; read -r x")));
    CHECK(shell_text_reads(STR("select x in 1 2; do :; done")));
    CHECK(shell_text_reads(STR("readonly a\nreadarray y")));
    CHECK(shell_text_reads(STR("mapfile<x")));
    CHECK(!shell_text_reads(STR("")));
    CHECK(!shell_text_reads(STR("readonly x; bread; read_me; unread")));
}

TEST(which_commands_may_turn_the_trace_on)
{
    CHECK(shell_text_traces(STR("set -ex; make")));
    CHECK(shell_text_traces(STR("shopt -so xtrace")));
    CHECK(shell_text_traces(STR(". venv/bin/activate")));
    CHECK(shell_text_traces(STR("cd x && . ./env")));
    CHECK(shell_text_traces(STR("cd x\n. ./env")));
    CHECK(shell_text_traces(STR("source env")));
    CHECK(shell_text_traces(STR("trap 'echo $BASH_COMMAND' DEBUG")));
    CHECK(shell_text_traces(STR("shopt -s extdebug")));
    CHECK(!shell_text_traces(STR("")));
    CHECK(!shell_text_traces(STR("ls ./x; reset; sets; ./set_up")));
}

/* ---- real shells ---- */

static char wide_path[] = "PATH=/usr/local/bin:/usr/bin:/bin";

/* Where the shell lies, whatever name it is to be called by; NULL: not here. */
static const char *shell_path(const char *name)
{
    static char path[400];
    static const char *const dirs[] = {"/bin", "/usr/bin", "/usr/local/bin"};
    bool ash = strcmp(name, "ash") == 0;
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dirs[i], ash ? "busybox" : name);
        if (access(path, X_OK) < 0)
            continue;
        if (ash) { /* its applet is the name of the file */
            char link[400];
            snprintf(link, sizeof(link), "%s/ash", t_dir());
            if (symlink(path, link) < 0 && errno != EEXIST)
                T_FAIL("symlink: %s", strerror(errno));
            memcpy(path, link, sizeof(link));
        }
        return path;
    }
    return NULL;
}

static const char *const shells[] = {"bash", "dash", "ash"};
enum { SHELLS = sizeof(shells) / sizeof(shells[0]) };

/* What `path -c script arg` prints. */
static void output_of(struct buf *out, const char *path, const char *script,
                      const char *arg, char *const *env)
{
    int p[2];
    if (pipe(p) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    pid_t pid = t_fork();
    if (pid == 0) {
        const char *argv[] = {path, "-c", script, arg, NULL};
        dup2(p[1], 1);
        execve(path, (char *const *)(uintptr_t)argv, env);
        _exit(127);
    }
    close(p[1]);
    for (;;) {
        char *to = buf_reserve(out, 4096);
        CHECK(to != NULL);
        ssize_t n = read(p[0], to, 4096);
        if (n <= 0)
            break;
        buf_commit(out, (size_t)n);
    }
    close(p[0]);
    CHECK_INT(t_reap(pid), 0);
}

/* Is this entry, terminator included, among those in b? */
static bool has(const struct buf *b, const char *entry)
{
    for (size_t i = 0; i < b->n; i += strlen(b->p + i) + 1)
        if (strcmp(b->p + i, entry) == 0)
            return true;
    return false;
}

static size_t count(const struct buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == 0;
    return n;
}

/* Every byte that a variable can hold. */
static const char *all_bytes(const char *prefix)
{
    static char text[300];
    int n = snprintf(text, 40, "%s", prefix);
    for (int c = 1; c < 256; c++)
        text[n++] = (char)c;
    text[n] = 0;
    return text;
}

static void check_env(const char *path, const char *list, const char *locale)
{
    const char *env[] = {wide_path, locale, "EMPTY=", "PLAIN=a b  c",
                         "SINGLE=it's ''' here'", "DOUBLE=\"q\" \"\"",
                         "DOLLAR=$HOME ${x} $(y) `z` $'n' $\"t\"",
                         "BACK=\\ \\\\ \\n \\' \\\" \\$ \\", "LINES=one\ntwo\n\n",
                         "LOOKS=x\ndeclare -x FAKE=\"1\"\nexport FAKE2='2'\n",
                         "EQUAL==a=b=", "UTF=\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9a",
                         "BAD=\xff\xfe\xc3", "CONTROL=\t\r\a\b\033[1m\177\001\f\v",
                         "BANG=!! !$ ^a^b", "GLOB=* ? [a] ~ {a,b} #", "_UNDER=1",
                         "PWDX=1", "ENVY=2", "ODD=3", all_bytes("ALL="),
                         /* set by a new shell itself, or ours */
                         "SHLVL=3", "ENV=/none", "OD_OP=main/1", "OD_SESSION=main",
                         "__od1_x=code", NULL};
    enum { OF_OURS = 5 };
    struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    output_of(&text, path, list, path, (char *const *)(uintptr_t)env);
    CHECK_INT(shell_parse_env(&out, buf_str(&text)), 0);
    size_t n = 0;
    for (; strncmp(env[n], "SHLVL=", 6) != 0; n++)
        if (!has(&out, env[n]))
            T_FAIL("%s, %s: lost or changed: %s", path, locale, env[n]);
    CHECK(env[n + OF_OURS] == NULL);
    CHECK_INT(count(&out), n);
    buf_release(&text);
    buf_release(&out);
}

TEST(the_environment_of_a_real_shell_is_read_back)
{
    static const char *const locales[] = {"LC_ALL=C", "LC_ALL=C.UTF-8"};
    int tried = 0;
    for (int i = 0; i < SHELLS; i++) {
        const char *path = shell_path(shells[i]);
        for (int j = 0; path && j < 2; j++, tried++) {
            if (i == 0)
                check_env(path, "declare -px", locales[j]);
            check_env(path, "export -p", locales[j]);
        }
    }
    if (!tried)
        T_SKIP("no bash, dash or busybox here");
}

TEST(variables_with_attributes_and_without_values)
{
    const char *path = shell_path("bash");
    if (!path)
        T_SKIP("no bash here");
    const char *env[] = {wide_path, NULL};
    struct buf text = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);
    output_of(&text, path,
              "declare -rx RO=1; declare -ix INT=2; declare -lx LOW=ABC; export NONE; "
              "NOT=exported; declare -px",
              path, (char *const *)(uintptr_t)env);
    CHECK_INT(shell_parse_env(&out, buf_str(&text)), 0);
    CHECK(has(&out, "RO=1") && has(&out, "INT=2") && has(&out, "LOW=abc"));
    CHECK(has(&out, wide_path));
    CHECK_INT(count(&out), 4);
    buf_release(&text);
    buf_release(&out);
}

TEST(arrays_are_in_no_environment)
{
    const char *path = shell_path("bash");
    if (!path)
        T_SKIP("no bash here");
    const char *env[] = {wide_path, NULL};
    struct buf text = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);
    output_of(&text, path,
              "declare -ax LIST=(one 'two three' $'a\\nb'); declare -Ax MAP=([k]=v); "
              "export AFTER=1; declare -px",
              path, (char *const *)(uintptr_t)env);
    CHECK_INT(shell_parse_env(&out, buf_str(&text)), 0);
    CHECK(has(&out, "AFTER=1") && has(&out, wide_path));
    CHECK_INT(count(&out), 2);
    buf_release(&text);
    buf_release(&out);
}

TEST(a_list_that_was_cut_off_is_refused)
{
    static const char *const texts[] = {
        "export A='x",         "declare -x A=\"x",     "declare -x A=$'x",
        "declare -x A=$'x\\",  "declare -x A=$'\\q'",  "export A='it'\"'\"'s",
        "export A-B='x'",      "export 1A=x",          "export =x",
        "export A=x\nexport ", "declare -x A=\"x\\\"", "declare -x A=$'x\\000y'",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf out = BUF_INIT(1000);
        /* A name alone, at the end, is one without a value. */
        bool fine = strcmp(texts[i], "export A=x\nexport ") == 0;
        size_t n = strlen(texts[i]);
        char *copy = malloc(n);
        memcpy(copy, texts[i], n);
        if (shell_parse_env(&out, str_n(copy, n)) != (fine ? 0 : -1))
            T_FAIL("text %zu", i);
        free(copy);
        buf_release(&out);
    }
}

TEST(an_environment_that_does_not_fit_is_refused)
{
    struct buf out = BUF_INIT(7);
    CHECK_INT(shell_parse_env(&out, STR("export A='12345'\n")), -1);
    buf_release(&out);
    buf_init(&out, 8);
    CHECK_INT(shell_parse_env(&out, STR("export A='12345'\n")), 0);
    CHECK_MEM(out.p, out.n, "A=12345\0");
    buf_release(&out);
}

/* ---- finding one ---- */

static void make_file(const char *name, mode_t mode)
{
    char path[500];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || fchmod(fd, mode) < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    close(fd);
}

static const char *in_dir(const char *name)
{
    static char path[4][500];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", t_dir(), name);
    return path[i];
}

TEST(the_wanted_shell_is_found_by_name_and_by_path)
{
    struct shell sh = {0};
    struct err e = ERR_INIT;
    char path[1000];
    snprintf(path, sizeof(path), "/nowhere::%s:/bin", t_dir());
    make_file("mysh", 0755);
    make_file("bash-5.2", 0755);
    CHECK_INT(shell_find(&sh, "mysh", path, "/nowhere", &e), 0);
    CHECK_STR(sh.path, in_dir("mysh"));
    CHECK_INT(sh.kind, SHELL_POSIX);
    CHECK_INT(shell_find(&sh, in_dir("bash-5.2"), NULL, "/nowhere", &e), 0);
    CHECK_STR(sh.path, in_dir("bash-5.2"));
    CHECK_INT(sh.kind, SHELL_BASH);

    make_file("noexec", 0644);
    CHECK_INT(shell_find(&sh, "no-such-shell", path, "/nowhere", &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(strstr(e.text, "no-such-shell") != NULL);
    if (geteuid() != 0 || access(in_dir("noexec"), X_OK) < 0)
        CHECK_INT(shell_find(&sh, "noexec", path, "/nowhere", &e), -1);
}

TEST(an_empty_or_relative_entry_is_below_the_directory)
{
    static const char *const paths[] = {"", ":", "/nowhere:", ":/nowhere",
                                        "/nowhere::/no"};
    struct shell sh = {0};
    struct err e = ERR_INIT;
    make_file("hereshell", 0755);
    CHECK_INT(mkdir(in_dir("sub"), 0755), 0);
    make_file("sub/belowshell", 0755);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        memset(&sh, 0, sizeof(sh));
        CHECK_INT(shell_find(&sh, "hereshell", paths[i], t_dir(), &e), 0);
        CHECK_STR(sh.path, in_dir("hereshell"));
    }
    CHECK_INT(shell_find(&sh, "belowshell", "/no:sub", t_dir(), &e), 0);
    CHECK_STR(sh.path, in_dir("sub/belowshell"));
    CHECK_INT(shell_find(&sh, "hereshell", "/nowhere", t_dir(), &e), -1);
    CHECK_INT(shell_find(&sh, "hereshell", NULL, t_dir(), &e), -1);
}

TEST(without_a_wish_bash_comes_first)
{
    struct shell sh = {0};
    struct err e = ERR_INIT;
    make_file("sh", 0755);
    CHECK_INT(shell_find(&sh, "", t_dir(), "/nowhere", &e), 0);
    bool machine_has_bash = sh.kind == SHELL_BASH; /* in one of the usual places */
    CHECK(machine_has_bash || strcmp(sh.path, in_dir("sh")) == 0);
    make_file("bash", 0755);
    CHECK_INT(shell_find(&sh, NULL, t_dir(), "/nowhere", &e), 0);
    CHECK_STR(sh.path, in_dir("bash"));
    CHECK_INT(sh.kind, SHELL_BASH);
}

TEST(a_folder_is_no_shell)
{
    struct shell sh = {0};
    struct err e = ERR_INIT;
    char path[600];
    CHECK_INT(mkdir(in_dir("one"), 0755), 0);
    CHECK_INT(mkdir(in_dir("one/bash"), 0755), 0);
    CHECK_INT(mkdir(in_dir("two"), 0755), 0);
    make_file("two/bash", 0755);
    snprintf(path, sizeof(path), "%s:%s", in_dir("one"), in_dir("two"));
    CHECK_INT(shell_find(&sh, "bash", path, "/nowhere", &e), 0);
    CHECK_STR(sh.path, in_dir("two/bash"));
    CHECK_INT(shell_find(&sh, t_dir(), path, "/nowhere", &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
}

/* ---- commands, whole ---- */

/* A shell on pipes, as the session has one where there is no terminal. */
struct live {
    struct shell sh;
    pid_t pid;
    int in, out; /* owned */
    uint64_t seq;
    struct buf seen; /* output since the last mark */
};

static void put_file(const char *name, struct str bytes)
{
    int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n)
        T_FAIL("%s: %s", name, strerror(errno));
    close(fd);
}

static void type(struct live *l, struct str line)
{
    if (write(l->in, line.p, line.n) != (ssize_t)line.n)
        T_FAIL("the shell does not read: %s", strerror(errno));
}

/* Waits for the next mark; what came before it is moved to out. */
static struct mark next_mark(struct live *l, struct buf *out)
{
    struct mark m;
    size_t keep = 0;
    while (!shell_mark(&l->sh, buf_str(&l->seen), &m, &keep)) {
        char *to = buf_reserve(&l->seen, 65536);
        CHECK(to != NULL);
        ssize_t n = read(l->out, to, 65536);
        if (n <= 0)
            T_FAIL("%s ended; its last words: %s", l->sh.path, buf_z(&l->seen));
        buf_commit(&l->seen, (size_t)n);
    }
    CHECK_INT(buf_add(out, l->seen.p, m.at), 0);
    buf_consume(&l->seen, m.at + m.len);
    return m;
}

static bool live_start(struct live *l, const char *name)
{
    *l = (struct live){.sh = {.nonce = NONCE, .tag = "tag", .gen = 1},
                       .seen = BUF_INIT(16 << 20)};
    const char *path = shell_path(name);
    struct err e = ERR_INIT;
    if (!path)
        return false;
    CHECK_INT(shell_find(&l->sh, path, NULL, "/nowhere", &e), 0);
    snprintf(l->sh.dir, sizeof(l->sh.dir), "%s", t_dir());
    struct buf code = BUF_INIT(64 << 10), space = BUF_INIT(512), extra = BUF_INIT(1000);
    struct buf line = BUF_INIT(600), before = BUF_INIT(1 << 16);
    char *argv[8], *env[] = {wide_path, (char *)(uintptr_t) "OD_SESSION=main",
                             (char *)(uintptr_t) "OD_OP=", NULL};
    CHECK_INT(shell_code(&code, &l->sh, 0, true, false), 0);
    CHECK_INT(shell_argv(&l->sh, argv, &space, &extra), 0);
    put_file("p", buf_str(&code));
    put_file("r", STR(""));
    unlink(in_dir("o"));
    if (mkfifo(in_dir("o"), 0600) < 0)
        T_FAIL("mkfifo: %s", strerror(errno));
    int in[2], wr = -1;
    l->out = open(in_dir("o"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    wr = open(in_dir("o"), O_WRONLY | O_CLOEXEC);
    if (l->out < 0 || wr < 0 || pipe2(in, O_CLOEXEC) < 0)
        T_FAIL("pipes: %s", strerror(errno));
    fcntl(l->out, F_SETFL, 0);
    l->pid = t_fork();
    if (l->pid == 0) {
        dup2(in[0], 0);
        dup2(wr, 1);
        dup2(wr, 2);
        execve(l->sh.path, argv, env);
        _exit(127);
    }
    close(in[0]);
    close(wr);
    l->in = in[1];
    CHECK_INT(shell_line(&line, &l->sh, LINE_SOURCE, 0), 0);
    type(l, buf_str(&line));
    struct mark m = next_mark(l, &before);
    CHECK_INT(m.kind, 'I');
    CHECK_INT(m.gen, 1);
    CHECK_INT(before.n, 0);
    buf_release(&code);
    buf_release(&space);
    buf_release(&extra);
    buf_release(&line);
    buf_release(&before);
    return true;
}

/* Runs it; its output, and the status. */
static int live_run(struct live *l, struct str command, struct buf *out)
{
    struct buf file = BUF_INIT(16 << 20), line = BUF_INIT(200), none = BUF_INIT(1 << 16);
    l->seq++;
    CHECK_INT(shell_command_file(&file, &l->sh, l->seq, command), 0);
    CHECK_INT(shell_line(&line, &l->sh, LINE_RUN_NULL, l->seq), 0);
    put_file("c", buf_str(&file));
    type(l, buf_str(&line));
    struct mark m = next_mark(l, &none);
    CHECK_INT(m.kind, 'S');
    CHECK_INT(m.seq, l->seq);
    CHECK_INT(none.n, 0);
    m = next_mark(l, out);
    CHECK_INT(m.kind, 'E');
    CHECK_INT(m.seq, l->seq);
    buf_release(&file);
    buf_release(&line);
    buf_release(&none);
    return m.status;
}

static void live_end(struct live *l)
{
    close(l->in);
    CHECK(WIFEXITED(t_reap(l->pid)));
    close(l->out);
    buf_release(&l->seen);
}

/* For each shell there is: fn. */
static void with_shells(void (*fn)(struct live *l))
{
    int tried = 0;
    for (int i = 0; i < SHELLS; i++) {
        struct live l;
        if (!live_start(&l, shells[i]))
            continue;
        tried++;
        fn(&l);
        live_end(&l);
    }
    if (!tried)
        T_SKIP("no bash, dash or busybox here");
}

static void check_run(struct live *l, const char *command, int status, const char *output)
{
    struct buf out = BUF_INIT(1 << 20);
    int got = live_run(l, str_of(command), &out);
    if (got != status || strcmp(buf_z(&out), output) != 0)
        T_FAIL("%s: %s: status %d, output %s", l->sh.path, command, got, buf_z(&out));
    buf_release(&out);
}

static void quotes_and_state(struct live *l)
{
    check_run(l, "echo 'it'\\''s' \"a  b\" `echo y` \\\\ '$HOME'", 0,
              "it's a  b y \\ $HOME\n");
    check_run(l, "printf 'no newline'", 0, "no newline");
    check_run(l, "", 0, "");
    check_run(l, "# a comment alone", 0, "");
    check_run(l, "(exit 42)", 42, "");
    check_run(l, "echo $?", 0, "42\n");
    check_run(l, "x=kept; f() { echo \"f: $1\"; }\ncd /", 0, "");
    check_run(l, "f \"$x\"; pwd", 0, "f: kept\n/\n");
    check_run(l, "cat <<'EOF'\n'\"$x`\\\n\ttab !\nEOF\n", 0, "'\"$x`\\\n\ttab !\n");
    check_run(l, "cat", 0, ""); /* standard input is empty, not the shell's own */
    check_run(l, "set -- 1 2 3; echo $#", 0, "3\n");
}

TEST(commands_run_verbatim_and_leave_their_state) { with_shells(quotes_and_state); }

static void every_byte(struct live *l)
{
    struct buf command = BUF_INIT(4096), out = BUF_INIT(1 << 20), want = BUF_INIT(4096);
    for (int c = 1; c < 256; c++) {
        buf_addc(&want, (char)c);
        buf_addc(&want, c % 3 ? 'x' : '\'');
    }
    buf_addc(&want, '\n');
    buf_addz(&command, "cat <<'end of it'\n");
    buf_adds(&command, buf_str(&want));
    buf_addz(&command, "end of it\n");
    CHECK_INT(live_run(l, buf_str(&command), &out), 0);
    CHECK_INT(out.n, want.n);
    for (size_t i = 0; i < want.n; i++)
        if (out.p[i] != want.p[i])
            T_FAIL("%s: byte %zu is %02x", l->sh.path, i, (unsigned char)out.p[i]);
    buf_release(&command);
    buf_release(&out);
    buf_release(&want);
}

TEST(every_byte_but_nul_gets_through) { with_shells(every_byte); }

static void a_megabyte(struct live *l)
{
    struct buf command = BUF_INIT(4 << 20), out = BUF_INIT(4 << 20);
    buf_addz(&command, "x='");
    for (int i = 0; i < 100000; i++)
        buf_addz(&command, "0123456789");
    buf_addz(&command, "'; echo ${#x} '\"'");
    CHECK_INT(live_run(l, buf_str(&command), &out), 0);
    CHECK_STR(buf_z(&out), "1000000 \"\n");
    buf_release(&command);
    buf_release(&out);
}

TEST(a_command_may_be_a_megabyte) { with_shells(a_megabyte); }

TEST(a_file_that_does_not_fit_is_refused)
{
    struct buf out = BUF_INIT(30);
    struct shell posix = bash;
    posix.kind = SHELL_POSIX;
    CHECK_INT(shell_command_file(&out, &bash, 1, STR("0123456789012345678901234567890")),
              -1);
    buf_reset(&out);
    CHECK_INT(shell_command_file(&out, &posix, 1, STR("''''''''''''")), -1);
    buf_release(&out);
}

/* ---- the code of a shell ---- */

static bool code_has(const struct buf *code, const char *text)
{
    return str_find(buf_str(code), str_of(text)) >= 0;
}

/* Each kind, at its start and later, on a terminal and a pipe, with and without the device. */
TEST(the_code_is_filled_in)
{
    static const char *const words[] = {"__od_",  "@nonce@", "@seq@", "@gen@",   "@pty@",
                                        "@tty@/", "@tty@ ",  "@dir@", "@before@", "#?"};
    for (int i = 0; i < 3 << 5; i++) {
        bool pty = i & 1, no_null = i & 2, same_env = i & 4, start = i & 8, rc = i & 16;
        struct shell sh = {.kind = (enum shell_kind)(i >> 5),
                           .nonce = NONCE,
                           .gen = 3,
                           .pty = pty,
                           .no_null = no_null,
                           .same_env = same_env,
                           .dir = "/tmp/a 'b' __od_ @tty@"};
        struct buf code = BUF_INIT(64 << 10), small = BUF_INIT(64 << 10);
        CHECK_INT(shell_code(&code, &sh, 41, start, rc), 0);
        /* A value is taken as it is, and quoted. */
        const char *dir = "__od3_d='/tmp/a '\\''b'\\'' __od_ @tty@' __od3_t=";
        long at = str_find(buf_str(&code), str_of(dir));
        CHECK(at > 0);
        struct str rest = str_sub(buf_str(&code), (size_t)at + strlen(dir), code.n);
        CHECK(str_starts(rest, pty ? STR("'/dev/tty'")
                                   : STR("'/tmp/a '\\''b'\\'' __od_ @tty@/o'")));
        str_cut(&rest, '\n');
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            CHECK(str_find(rest, str_of(words[w])) < 0);
        CHECK(code_has(&code, " __od3_n=41 "));
        CHECK_INT(code_has(&code, "/dev/null"), !no_null);
        CHECK_INT(code_has(&code, "2>&-"), no_null);
        CHECK_INT(code_has(&code, "$OD_SESSION/$__od3_n"), !same_env);
        const char *before = "for __od3_i in 0 \"${__od1_n-0}\" \"${__od2_n-0}\"; do";
        CHECK_INT(code_has(&code, before), !start);
        CHECK_INT(code_has(&code, "~/.bashrc"), start && rc && sh.kind != SHELL_POSIX);
        CHECK_INT(code_has(&code, "mapfile"), sh.kind == SHELL_BASH);
        CHECK_INT(code_has(&code, "trap : INT"), !pty);
        /* Neither indented nor with comments; a buffer that is one byte short is refused. */
        CHECK(!code_has(&code, "\n ") && !code_has(&code, "\n#") && !code_has(&code, "\n\n"));
        small.max = code.n - 1;
        CHECK_INT(shell_code(&small, &sh, 41, start, rc), -1);
        buf_release(&code);
        buf_release(&small);
    }
}

T_MAIN
