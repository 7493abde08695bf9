/* SPDX-License-Identifier: MIT */
/*
 * One binary with many names: finds the applet, or hands over to od(1).
 *
 * `od` is also the name of POSIX od(1), and scripts use that. So the applets,
 * `help` and a few long options are ours, and everything else goes, argument
 * by argument, to the next `od` on PATH that is not one of ours. This makes a
 * plain copy into /usr/local/bin harmless. It means that the list of words
 * below is a promise: each of them takes a file name away from od(1), which
 * then has to be written ./NAME.
 *
 * Other builds of od on PATH are recognised by a note in their first page. A wrapper
 * script that leads back to us is not, so each program that we hand over to is noted in
 * the environment (OD_FALLTHROUGH) and never tried again.
 */
#include "applet.h"
#include "archive/zip_text.h"
#include "base/called.h"
#include "base/limits.h"
#include "base/log.h"
#include "front/program.h"
#include "licences.h"
#include "os/relro.h"
#include "os/self.h"
#include "program.h"
#include "version.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "OD_FALLTHROUGH"
#define PATH_DEFAULT \
    "/usr/local/bin:/usr/bin:/bin" /* that of execvp, if PATH is not set */

enum { EXIT_CANNOT_RUN = 126, EXIT_NO_OD = 127, HELP_MAX = 1 << 20 };

static const struct applet *const applets[] = {
#define APPLET(c_name) &applet_##c_name,
#include "applets.def"
#undef APPLET
};

enum { APPLETS = sizeof(applets) / sizeof(applets[0]) };

/* Whether the list of words, as in applet.also, has this one. */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    while (words && *words) {
        size_t len = strcspn(words, " ");
        if (len == n && memcmp(words, word, n) == 0)
            return true;
        words += len + strspn(words + len, " ");
    }
    return false;
}

static const struct applet *applet_by_name(const char *name, bool hidden_too)
{
    for (int i = 0; i < APPLETS; i++)
        if (strcmp(applets[i]->name, name) == 0 && (hidden_too || !applets[i]->hidden))
            return applets[i];
    return NULL;
}

/*
 * Finds the applet by the name the program was started under: od-NAME, NAME, or another
 * of its names. Hidden ones have only the first form: a file named "worker" is od(1)'s.
 */
static const struct applet *applet_by_argv0(const char *base)
{
    if (strncmp(base, "od-", 3) == 0)
        return applet_by_name(base + 3, true);
    for (int i = 0; i < APPLETS; i++)
        if (has_word(applets[i]->also, base) || has_word(applets[i]->known, base))
            return applets[i];
    return applet_by_name(base, false);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- what we say ourselves -------------------------------------------- */

/* Exit status after printing: a full disk or a closed pipe is a failure. */
static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "od: cannot write: %s\n", strerror(errno));
    return 1;
}

static int list(void)
{
    for (int i = 0; i < APPLETS; i++)
        if (!applets[i]->hidden)
            printf("%-16s %s\n", applets[i]->name, applets[i]->brief);
    return printed();
}

static int version(bool verbose)
{
    const struct build_info *b = &build_info;
    printf("od %s%s%s\n", b->version, *b->commit ? " " : "", b->commit);
    if (!verbose)
        return printed();
    printf("target: %s, %s\ncompiler: %s\nflags: %s\nlibraries: %s\napplets:", b->target,
           b->mode, b->compiler, b->flags, b->libraries);
    for (int i = 0; i < APPLETS; i++)
        if (!applets[i]->hidden)
            printf(" %s", applets[i]->name);
    printf("\nlimits:\n");
#define LIMIT(name, value, why) \
    printf("  %-14s %10ld  %s\n", #name, (long)LIMIT_##name, why);
    LIMITS(LIMIT)
#undef LIMIT
    return printed();
}

static int licences(void)
{
    struct buf text = BUF_INIT(HELP_MAX);
    zip_text(&text, str_n(licences_gz, sizeof(licences_gz)));
    bool whole = fwrite(buf_z(&text), 1, text.n, stdout) == text.n;
    buf_release(&text);
    int rc = printed();
    return rc || !whole;
}

static const struct {
    const char *words, *brief;
} uses[] = {
    {"APPLET [ARGUMENT...]", "run an applet"},
    {"help APPLET", "the manual of an applet"},
    {"help actions [--json]", "the actions of the event stream; their schemas"},
    {"help action NAME", "the parameters of an action"},
    {"help client --python", "a client of a server in one file; or --typescript"},
    {"--list", "the applets, a line each"},
    {"--version [-v]", "the version; how it was built, its limits"},
    {"--licenses", "the licences of od and of all linked into it"},
    {"--install DIR", "make links od-APPLET in DIR"},
    {"--install DIR --as NAME,...",
     "make links DIR/NAME, of those below; --force replaces"},
    {"--install --openhands [ROOT]", "make the link that OpenHands' client starts"},
    {NULL, "in a container: the image can be its runtime"},
    {"...", "anything else: the system's od(1)"},
};

/* The options of one letter: each means the same in every applet that has it. */
static const struct {
    const char *option, *brief;
} letters[] = {
    {"-c, --code", "the code to run"},
    {"-d, --detach", "do not wait for the end"},
    {"-f, --file", "take the text from a file"},
    {"-h, --help", "the manual"},
    {"-i, --attach", "make this terminal the session's"},
    {"-k, --kernel", "a kind of kernel"},
    {"-n, --no-stdin", "do not pass on standard input"},
    {"-o, --output", "the file for the result"},
    {"-p, --process", "the name of a process"},
    {"-q, --quiet", "no notes"},
    {"-s, --session", "the name of a session; of a kernel: --name"},
    {"-t, --timeout", "a time limit, in seconds"},
    {"-v, --verbose", "print more details"},
};

static int help(void)
{
    const char *start = called_start();
    for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
        printf("%-7s%s%-*s %s\n", i == 0 ? "Usage:" : "", uses[i].words ? start : "",
               uses[i].words ? 28 : 28 + (int)strlen(start),
               uses[i].words ? uses[i].words : "", uses[i].brief);
    printf("\n"
           "A computer for an AI agent in one file: shells that remember, for programs\n"
           "and from the command line.\n"
           "\n"
           "For an agent: export OD_EXEC_FLAGS=\"--text --return-on-input -t 20\", then\n"
           "%sexec 'COMMAND' prints plain text, and returns when the command asks\n"
           "(%sexec --input ANSWER, --key KEYS) or after 20 s (%sexec --wait goes on).\n"
           "\n"
           "Applets:\n",
           start, start, start);
    for (int i = 0; i < APPLETS; i++)
        if (!applets[i]->hidden)
            printf("  %-16s %s\n", applets[i]->name, applets[i]->brief);
    printf("\nOptions of one letter, the same in every applet that has them:\n");
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        printf("  %-16s %s\n", letters[i].option, letters[i].brief);
    const struct program *p = program_at(0);
    if (p)
        printf("\nA link to this file with one of these names is that program:\n");
    for (size_t i = 0; (p = program_at(i)); i++)
        printf("  %-22s %s\n", p->name, p->about);
    printf("  %-22s %s\n", applet_tmux.name, "tmux's command line");
    printf("  %-22s %s\n", applet_asciinema.name, "asciinema's command line");
    printf("  %-22s %s\n", applet_script.name, "util-linux's script");
    printf(
        "\n"
        "Octal dumps work as before: every other option, file name or standard input\n"
        "goes to the next od on PATH. A file with an applet's name is ./NAME there.\n");
    return printed();
}

/*
 * The length of "od APPLET" or "od help APPLET" at the beginning of text, 0 for other
 * words; *a is that applet, *manual that it was help.
 */
static size_t command_at(const char *text, const struct applet **a, bool *manual)
{
    char name[32];
    size_t skip = 3;
    if (strncmp(text, "od ", skip) != 0)
        return 0;
    *manual = strncmp(text + skip, "help ", 5) == 0;
    skip += *manual ? 5 : 0;
    size_t n = strspn(text + skip, "abcdefghijklmnopqrstuvwxyz-");
    if (n == 0 || n >= sizeof(name))
        return 0;
    memcpy(name, text + skip, n);
    name[n] = 0;
    *a = applet_by_name(name, false);
    return *a ? skip + n : 0;
}

/* Appends text, in which "od APPLET" stands for a command, with the names of here. */
static void add_help(struct buf *out, const char *text)
{
    const char *start = called_start();
    bool links = strcmp(start, "od-") == 0;
    for (const char *at = text; *at;) {
        const struct applet *a = NULL;
        bool manual = false, word = at == text || !strchr("/-_.", at[-1]);
        word = word && (at == text || !isalnum((unsigned char)at[-1]));
        size_t n = word ? command_at(at, &a, &manual) : 0;
        if (n && links)
            buf_addf(out, "od-%s%s", a->name, manual ? " --help" : "");
        else if (n)
            buf_addf(out, "%s%s%s", start, manual ? "help " : "", a->name);
        else
            buf_addc(out, *at);
        at += n ? n : 1;
    }
}

static int print_help(const struct applet *a, bool all)
{
    struct buf text = BUF_INIT(HELP_MAX), more = BUF_INIT(HELP_MAX);
    if (a->packed.n > 0)
        zip_text(&more, a->packed);
    add_help(&text, a->usage ? a->usage : buf_z(&more));
    buf_reset(&more);
    if (a->more_usage) {
        a->more_usage(&more, all);
        add_help(&text, buf_z(&more));
    }
    fwrite(buf_z(&text), 1, text.n, stdout);
    buf_release(&text);
    buf_release(&more);
    return printed();
}

int applet_help(const struct applet *a) { return print_help(a, false); }

static bool is_all(const char *word) { return word && strcmp(word, "--all") == 0; }

static int help_named(const char *name, bool all)
{
    if (strcmp(name, "actions") == 0)
        return actions_help(false);
    if (strcmp(name, "action") == 0)
        return action_help(NULL);
    if (strcmp(name, "client") == 0)
        return client_help("");
    const struct applet *a = applet_by_argv0(name);
    if (a && !a->hidden)
        return print_help(a, all);
    const struct program *p = program_find(name);
    if (p) {
        fputs(p->usage, stdout);
        return printed();
    }
    called_say("no applet %s; %s--list names them\n", name, called_start());
    return 1;
}

/* --- od(1) of the system ---------------------------------------------- */

static bool is_ours(const char *path)
{
    char page[SELF_MARK_IN];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, page, sizeof(page));
    close(fd);
    return n > 0 && self_has_mark(page, (size_t)n);
}

struct main_search {
    struct stat self;
    bool self_known;
    char tried[512]; /* ",DEV:INO;" of each od handed over to, from the mark */
    const char *path;
};

static void file_id(const struct stat *st, char out[48])
{
    snprintf(out, 48, ",%llx:%llx;", (unsigned long long)st->st_dev,
             (unsigned long long)st->st_ino);
}

/*
 * Finds the next executable of that name on PATH from *at on that is not ours and was not
 * tried; sets out. As in a shell, an empty entry is the current folder.
 */
static bool search_next(const struct main_search *s, const char **at, const char *name,
                        char out[PATH_MAX], struct stat *st)
{
    while (*at) {
        const char *dir = *at;
        int len = (int)strcspn(dir, ":");
        *at = dir[len] ? dir + len + 1 : NULL;
        int n = snprintf(out, PATH_MAX, "%.*s/%s", len ? len : 1, len ? dir : ".", name);
        if (n >= PATH_MAX || stat(out, st) < 0 || !S_ISREG(st->st_mode) ||
            access(out, X_OK) < 0)
            continue;
        char id[48];
        file_id(st, id);
        bool self = s->self_known && st->st_dev == s->self.st_dev &&
                    st->st_ino == s->self.st_ino;
        if (!self && !strstr(s->tried, id) && !is_ours(out))
            return true;
    }
    return false;
}

static void search_init(struct main_search *s)
{
    int fd = self_open();
    s->self_known = fd >= 0 && fstat(fd, &s->self) == 0;
    if (fd >= 0)
        close(fd);
    const char *mark = getenv(MARK);
    snprintf(s->tried, sizeof(s->tried), "%s", mark ? mark : "");
    s->path = getenv("PATH");
    if (!s->path)
        s->path = PATH_DEFAULT;
}

/* Returns if the file cannot be run, with errno. */
static void hand_over(const struct main_search *s, const char *path,
                      const struct stat *st, char **argv)
{
    char id[48], mark[sizeof(s->tried) + sizeof(id)];
    file_id(st, id);
    snprintf(mark, sizeof(mark), "%s%s", s->tried, id);
    if (setenv(MARK, mark, 1) < 0)
        return;
    execv(path, argv);
}

/*
 * Returns argv[0] for od(1): its messages begin with it, and multi-call binaries use it.
 */
static char *od_argv0(char *argv0)
{
    static char od[] = "od";
    return argv0 && strcmp(base_name(argv0), "od") == 0 ? argv0 : od;
}

static int octal_dump(int argc, char **argv)
{
    struct main_search s;
    struct stat st;
    char file[PATH_MAX], failed[PATH_MAX] = "";
    int why = 0;

    search_init(&s);
    /* A mark this long means an endless chain of wrappers. */
    bool endless = strlen(s.tried) + 1 >= sizeof(s.tried);
    char **av = calloc((size_t)argc + 3, sizeof(*av));
    if (!av) {
        fprintf(stderr, "od: out of memory\n");
        return EXIT_CANNOT_RUN;
    }
    for (int i = 1; i < argc; i++)
        av[i + 1] = argv[i];
    av[1] = od_argv0(argc > 0 ? argv[0] : NULL);
    for (const char *at = s.path; !endless && search_next(&s, &at, "od", file, &st);) {
        hand_over(&s, file, &st, av + 1);
        why = errno;
        memcpy(failed, file, sizeof(failed));
    }

    /* Images with busybox but without its links have an od, too. */
    static char boxes[][8] = {"busybox", "toybox"};
    av[1] = od_argv0(NULL);
    for (size_t i = 0; !endless && i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        const char *at = s.path;
        av[0] = boxes[i];
        if (search_next(&s, &at, boxes[i], file, &st))
            hand_over(&s, file, &st, av);
    }
    free(av);

    if (why) {
        fprintf(stderr, "od: cannot run %s: %s\n", failed, strerror(why));
        return EXIT_CANNOT_RUN;
    }
    fprintf(stderr,
            "od: there is no other od on PATH to dump files with; %s--help shows what "
            "this one "
            "does\n",
            called_start());
    return EXIT_NO_OD;
}

/* --- od --install ------------------------------------------------------ */

/*
 * Makes DIR/NAME a link to target. Replaces a link of an older installation; with force
 * another file, too, but no folder.
 */
static int link_one(const char *dir, const char *name, const char *target, bool force)
{
    char path[PATH_MAX], temp[PATH_MAX];
    struct stat st;
    if (snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX ||
        snprintf(temp, PATH_MAX, "%s/.%s.%ld", dir, name, (long)getpid()) >= PATH_MAX) {
        fprintf(stderr, "od: %s/%s: the name is too long\n", dir, name);
        return 1;
    }
    if (lstat(path, &st) == 0 && !is_ours(path) && !force) {
        fprintf(stderr, "od: %s exists and is not ours: left unchanged\n", path);
        return 1;
    }
    if (symlink(target, temp) < 0 || rename(temp, path) < 0) {
        fprintf(stderr, "od: cannot make the link %s: %s\n", path, strerror(errno));
        unlink(temp);
        return 1;
    }
    printf("%s -> %s\n", path, target);
    return 0;
}

static int link_applet(const char *dir, const struct applet *a, const char *target)
{
    char name[NAME_MAX + 1];
    snprintf(name, sizeof(name), "od-%s", a->name);
    int failed = link_one(dir, name, target, false);
    for (const char *also = a->also; also && *also;) {
        int len = (int)strcspn(also, " ");
        snprintf(name, sizeof(name), "%.*s", len, also);
        failed |= link_one(dir, name, target, false);
        also += len + (int)strspn(also + len, " ");
    }
    return failed;
}

bool program_known(struct str one)
{
    char name[NAME_MAX + 1];
    /* Also an applet whose own name is that of a program which it replaces. */
    return buf_fill(name, sizeof(name), "%.*s", STR_ARG(one)) &&
           (program_find(name) || strcmp(name, applet_tmux.name) == 0 ||
            strcmp(name, applet_asciinema.name) == 0 ||
            strcmp(name, applet_script.name) == 0);
}

int program_links(const char *dir, const char *names, const char *target, bool force)
{
    int failed = 0;
    struct str rest = str_of(names);
    do {
        char name[NAME_MAX + 1];
        struct str one = str_cut(&rest, ',');
        if (!program_known(one)) {
            fprintf(stderr, "od: no program has the name %.*s; %shelp lists them\n",
                    STR_ARG(one), called_start());
            failed = 1;
        } else {
            buf_fill(name, sizeof(name), "%.*s", STR_ARG(one));
            failed |= link_one(dir, name, target, force);
        }
    } while (rest.n > 0);
    return failed;
}

int applet_links(const char *dir, const char *target)
{
    int failed = 0;
    for (int i = 0; i < APPLETS; i++)
        if (!applets[i]->hidden)
            failed |= link_applet(dir, applets[i], target);
    return failed;
}

/* Makes the links od-APPLET in dir; with names of programs only those links. */
static int install(const char *dir, const char *programs, bool force)
{
    char self[PATH_MAX], real[PATH_MAX];
    if (self_path(self, sizeof(self)) < 0) {
        fprintf(stderr, "od: cannot find my own file: %s\n", strerror(errno));
        return 1;
    }
    if (!realpath(dir, real)) {
        fprintf(stderr, "od: cannot install into %s: %s\n", dir, strerror(errno));
        return 1;
    }
    /* A relative link stays valid when the folder is moved or mounted elsewhere. */
    const char *base = base_name(self);
    size_t n = (size_t)(base - self) - 1;
    bool beside = strlen(real) == n && memcmp(real, self, n) == 0;
    const char *target = beside ? base : self;
    int failed = programs ? program_links(dir, programs, target, force)
                          : applet_links(dir, target);
    int rc = printed();
    return rc | failed;
}

int applet_make_folder(const char *dir, mode_t mode, char *full)
{
    char part[PATH_MAX];
    for (size_t i = 1; dir[i] && i < sizeof(part); i++) {
        if (dir[i] != '/')
            continue;
        snprintf(part, i + 1, "%s", dir);
        mkdir(part, mode);
    }
    return (mkdir(dir, mode) < 0 && errno != EEXIST) || !realpath(dir, full) ? -1 : 0;
}

static int make_dirs(const char *path)
{
    char full[PATH_MAX];
    if (applet_make_folder(path, 0755, full) == 0)
        return 0;
    fprintf(stderr, "od: cannot make %s: %s\n", path, strerror(errno));
    return 1;
}

/*
 * The command line of OpenHands' Docker runtime begins with a path that its
 * images have, and runs in a directory of theirs (applets/micromamba.c). root: of an
 * unpacked image, "" for this system.
 */
static int install_openhands(const char *root)
{
    char self[PATH_MAX], real[PATH_MAX] = "", bin[PATH_MAX], code[PATH_MAX];
    if (self_path(self, sizeof(self)) < 0) {
        fprintf(stderr, "od: cannot find my own file: %s\n", strerror(errno));
        return 1;
    }
    if (*root && !realpath(root, real)) {
        fprintf(stderr, "od: cannot install into %s: %s\n", root, strerror(errno));
        return 1;
    }
    size_t n = strlen(real);
    if (snprintf(bin, sizeof(bin), "%s/openhands/micromamba/bin", real) >= PATH_MAX ||
        snprintf(code, sizeof(code), "%s/openhands/code", real) >= PATH_MAX) {
        fprintf(stderr, "od: %s: the name is too long\n", root);
        return 1;
    }
    umask(022); /* an image is for any user */
    if (make_dirs(bin) || make_dirs(code))
        return 1;
    /* Relative: valid both inside that image and from here. */
    char target[PATH_MAX + 16];
    bool inside = n > 1 && strncmp(self, real, n) == 0 && self[n] == '/';
    snprintf(target, sizeof(target), "%s%s", inside ? "../../.." : "",
             self + (inside ? n : 0));
    int failed = link_one(bin, "micromamba", target, false);
    int rc = printed();
    return rc | failed;
}

/* --- dispatch ---------------------------------------------------------- */

/*
 * LeakSanitizer, in builds that have it: a part of the server exits with what it holds,
 * and cannot be traced (PR_SET_DUMPABLE). A check at its exit would change its status,
 * or never end.
 */
#ifdef __SANITIZE_ADDRESS__
int __lsan_is_turned_off(void);
static int leaks_allowed;
int __lsan_is_turned_off(void) { return leaks_allowed; }
static void allow_leaks(void) { leaks_allowed = 1; }
#else
static void allow_leaks(void) {}
#endif

/* An applet of several names looks at argv[0]; od-NAME is the first one. */
static int run(const struct applet *a, int argc, char **argv, enum called_by by,
               const char *argv0)
{
    const char *base = argc > 0 ? base_name(argv[0]) : "";
    bool other = has_word(a->also, base) || has_word(a->known, base);
    if (a->hidden) { /* a part of the server, which was called by another name */
        called_set(CALLED_OD, NULL, "serve");
        allow_leaks();
    } else
        called_set(by, argv0, a->name);
    if ((argc == 2 || (argc == 3 && is_all(argv[2]))) &&
        (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return print_help(a, argc == 3);
    argv[0] = (char *)(other ? base : a->name);
    return a->main(argc, argv);
}

/*
 * `od` without arguments at a terminal prints what it is: hardly anyone types a file to
 * dump there. `od -` dumps what is typed.
 */
static int introduce(void)
{
    printf("od %s, a computer for an AI agent in one file: see %shelp; octal dumps are "
           "od(1)'s, %s- reads this terminal\n",
           build_info.version, called_start(), called_start());
    return printed();
}

/* A word that names an applet, typed to dump the file of that name. */
static bool means_file(const struct applet *a, int argc)
{
    return a->file_first && argc == 2 && isatty(STDIN_FILENO) &&
           access(a->name, F_OK) == 0;
}

int main(int argc, char **argv)
{
    const struct applet *a;
    relro_apply();
    if (argc > 0 && (a = applet_by_argv0(base_name(argv[0]))))
        return run(a, argc, argv,
                   strncmp(base_name(argv[0]), "od-", 3) == 0 ? CALLED_LINK : CALLED_OWN,
                   argv[0]);
    const char *word = argc > 1 ? argv[1] : "";
    const struct program *p = argc > 0 ? program_find(base_name(argv[0])) : NULL;
    if (p && !(p->applets && applet_by_name(word, false)))
        return program_run(p, argc, argv);
    called_set(CALLED_OD, argc > 0 ? argv[0] : NULL, NULL);
    if ((a = applet_by_name(word, false)) && !means_file(a, argc))
        return run(a, argc - 1, argv + 1, CALLED_OD, argv[0]);
    if (argc == 1 && isatty(STDIN_FILENO))
        return introduce();
    if (strcmp(word, "help") == 0 && argc <= 3)
        return argc == 3 ? help_named(argv[2], false) : help();
    if (strcmp(word, "help") == 0 && argc == 4 && is_all(argv[3]))
        return help_named(argv[2], true);
    if (strcmp(word, "help") == 0 && argc == 4 && strcmp(argv[2], "action") == 0)
        return action_help(argv[3]);
    if (strcmp(word, "help") == 0 && argc == 4 && strcmp(argv[2], "client") == 0)
        return client_help(argv[3]);
    if (strcmp(word, "help") == 0 && argc == 4 && strcmp(argv[2], "actions") == 0 &&
        strcmp(argv[3], "--json") == 0)
        return actions_help(true);
    if (strcmp(word, "--help") == 0 && argc == 2)
        return help();
    if (strcmp(word, "--list") == 0 && argc == 2)
        return list();
    if (strcmp(word, "--version") == 0 && argc == 2)
        return version(false);
    if (strcmp(word, "--version") == 0 && argc == 3 && strcmp(argv[2], "-v") == 0)
        return version(true);
    if (strcmp(word, "--licenses") == 0 && argc == 2)
        return licences();
    if (strcmp(word, "--install") == 0 && argc >= 3 && argc <= 4 &&
        strcmp(argv[2], "--openhands") == 0)
        return install_openhands(argc == 4 ? argv[3] : "");
    if (strcmp(word, "--install") == 0 && argc == 3)
        return install(argv[2], NULL, false);
    bool force = argc == 6 && strcmp(argv[5], "--force") == 0;
    if (strcmp(word, "--install") == 0 && (argc == 5 || force) &&
        strcmp(argv[3], "--as") == 0)
        return install(argv[2], argv[4], force);
    return octal_dump(argc, argv);
}
