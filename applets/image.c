/* SPDX-License-Identifier: MIT */
/*
 * `od image`: our binary into container images, without an engine.
 *
 * A child does the work, since it parses untrusted input and may take long; this process
 * waits for it and for signals, and removes an unfinished result.
 */
#include "applet.h"
#include "base/called.h"
#include "image.txt.gz.h"
#include "image/image.h"
#include "io/job.h"
#include "os/null.h"
#include "os/self.h"
#include "os/sig.h"
#include "program.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MEMORY = 512 << 20, TAG_MAX = 255 };

enum image_verb { ADD, MAKE, SHOW, VERBS };

static const char *const verbs[VERBS] = {"add", "make", "show"};

struct image {
    enum image_verb verb;
    struct image_spec spec;
    struct image_binary binaries[IMAGE_BINARIES_MAX];
    const char *in, *out, *from;
    bool folder;
    char tag[TAG_MAX + 8], token[IMAGE_TOKEN_MAX];

    struct loop *loop;
    struct job *job; /* NULL when it is over */
    struct io signals;
    int signal, status;
};

static int fail(const struct err *e)
{
    called_say("%s\n", e->text);
    return 1;
}

/* ---- words ---- */

/* Names of processors: ours, and those of uname. */
static bool arch_is(const char *arch, struct str said)
{
    static const char *const also[][2] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7", "arm"}, {"armv7l", "arm"}};
    for (size_t i = 0; i < sizeof(also) / sizeof(also[0]); i++) {
        if (str_eq(said, str_of(also[i][0])))
            said = str_of(also[i][1]);
    }
    return str_eq(said, str_of(arch));
}

static const struct image_binary *given(const struct image *m, const char *arch)
{
    for (size_t i = 0; i < m->spec.binaries_n; i++) {
        if (strcmp(m->binaries[i].arch, arch) == 0)
            return &m->binaries[i];
    }
    return NULL;
}

/* Adds a binary, unless there is one of that architecture. */
static int add_binary(struct image *m, int fd, const char *what, struct str arch,
                      struct err *e)
{
    if (m->spec.binaries_n == IMAGE_BINARIES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d binaries", IMAGE_BINARIES_MAX);
    struct image_binary *b = &m->binaries[m->spec.binaries_n];
    int rc = image_binary_read(b, fd, what, e);
    if (rc == 0 && arch.n && !arch_is(b->arch, arch))
        rc = err_set(e, ERR_INVALID, "%.200s is for %s, not for %.*s", what, b->arch,
                     (int)(arch.n < 40 ? arch.n : 40), arch.p);
    if (rc == 0 && given(m, b->arch))
        rc = err_set(e, ERR_EXISTS, "%.200s is the second binary for %s", what, b->arch);
    if (rc < 0)
        image_binary_release(b);
    else
        m->spec.binaries_n++;
    return rc;
}

/* Takes [ARCH=]FILE. */
static int take_binary(struct image *m, const char *value, struct err *e)
{
    const char *eq = strchr(value, '='), *slash = strchr(value, '/');
    bool named = eq && (!slash || eq < slash);
    const char *file = named ? eq + 1 : value;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %.200s", file);
    int rc = add_binary(m, fd, file, named ? str_n(value, (size_t)(eq - value)) : STR(""),
                        e);
    close(fd);
    return rc;
}

/* Takes this program for its architecture, unless one was given. */
static int take_self(struct image *m, struct err *e)
{
    struct err why = ERR_INIT;
    int fd = self_open();
    if (fd < 0)
        return err_sys(e, errno, "cannot read my own file");
    int rc = add_binary(m, fd, "this od", STR(""), &why);
    close(fd);
    if (rc < 0 && why.code != ERR_EXISTS && !m->spec.binaries_n && m->verb != SHOW)
        return err_set(e, why.code, "%s", why.text);
    return 0;
}

/*
 * Takes an image's name as engines do, and adds a missing tag. A single word is the name
 * of an image in a layout.
 */
static int take_tag(struct image *m, const char *value, struct err *e)
{
    const char *slash = strrchr(value, '/');
    bool good = *value && strlen(value) <= TAG_MAX && !strstr(value, "//") &&
                value[0] != '/' && value[0] != ':' && value[strlen(value) - 1] != '/' &&
                value[strlen(value) - 1] != ':';
    for (const char *p = value; good && *p; p++)
        good = strchr("abcdefghijklmnopqrstuvwxyz0123456789._-/:", *p) ||
               (*p >= 'A' && *p <= 'Z' && slash < p && strchr(value, ':') &&
                strchr(slash ? slash : value, ':') < p);
    if (!good)
        return err_set(e, ERR_INVALID, "%.200s is not a name for an image", value);
    snprintf(m->tag, sizeof(m->tag), "%s%s", value,
             strchr(slash ? slash : value, ':') ? "" : ":latest");
    m->spec.tag = m->tag;
    m->spec.ref = strpbrk(value, "/:") ? NULL : value;
    return 0;
}

static int take_dest(struct image *m, const char *value, struct err *e)
{
    if (value[0] != '/' || value[strlen(value) - 1] == '/')
        return err_set(e, ERR_INVALID, "--dest %.200s: not the absolute path of a file",
                       value);
    m->spec.dest = value;
    return 0;
}

static int take_as(struct image *m, const char *value, struct err *e)
{
    struct str rest = str_of(value);
    while (rest.n > 0) {
        struct str one = str_cut(&rest, ',');
        if (!program_known(one))
            return err_set(e, ERR_NOTFOUND,
                           "no program has the name %.*s; %shelp lists them",
                           STR_ARG(one), called_start());
    }
    m->spec.as = value;
    return 0;
}

static int take_entry(struct image *m, const char *value, struct err *e)
{
    if (strcmp(value, "od") != 0 && strcmp(value, "keep") != 0)
        return err_set(e, ERR_INVALID, "--entrypoint is od or keep, not %.100s", value);
    m->spec.entry = *value == 'o' ? IMAGE_SERVE : IMAGE_KEEP;
    return 0;
}

static int take_from(struct image *m, const char *value, struct err *e)
{
    (void)e;
    m->from = value;
    return 0;
}

/* on: a switch; take: an option with a value. for_: a bit for each verb. */
static const struct option {
    const char *name;
    size_t on;
    int (*take)(struct image *m, const char *value, struct err *e);
    unsigned for_;
} options[] = {
    {"binary", 0, take_binary, 1 << ADD | 1 << MAKE},
    {"dest", 0, take_dest, 1 << ADD | 1 << MAKE},
    {"as", 0, take_as, 1 << ADD | 1 << MAKE},
    {"entrypoint", 0, take_entry, 1 << ADD | 1 << MAKE},
    {"tag", 0, take_tag, 1 << ADD | 1 << MAKE},
    {"from", 0, take_from, 1 << MAKE},
    {"folder", offsetof(struct image, folder), NULL, 1 << MAKE},
    {"force", offsetof(struct image, spec.force), NULL, 1 << ADD | 1 << MAKE},
    {"skip-missing", offsetof(struct image, spec.skip_missing), NULL, 1 << ADD},
    {"look", offsetof(struct image, spec.unpack_all), NULL, 1 << ADD},
    {"no-look", offsetof(struct image, spec.no_unpack), NULL, 1 << ADD},
    {"verify", offsetof(struct image, spec.verify), NULL, 1 << ADD},
};

/* Takes the option argv[0]. Returns how many words it took, or -1. */
static int take_option(struct image *m, char **argv, struct err *e)
{
    const char *word = argv[0] + 2, *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    const struct option *o = NULL;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strncmp(options[i].name, word, n) == 0 && !options[i].name[n])
            o = &options[i];
    }
    if (argv[0][1] != '-' || !o || !(o->for_ & 1u << m->verb))
        return err_set(e, ERR_INVALID, "%s has no option %.200s; see %s", verbs[m->verb],
                       argv[0], called_help("image").z);
    if (!o->take) {
        if (eq)
            return err_set(e, ERR_INVALID, "--%s takes no value", o->name);
        *(bool *)((char *)m + o->on) = true;
        return 1;
    }
    const char *value = eq ? eq + 1 : argv[1];
    if (!value || !*value)
        return err_set(e, ERR_INVALID, "--%s needs a value", o->name);
    if (o->take(m, value, e) < 0)
        return -1;
    return eq ? 1 : 2;
}

static int take_words(struct image *m, int argc, char **argv, struct err *e)
{
    const char *words[2] = {NULL, NULL};
    int n = 0, wanted = m->verb == ADD ? 2 : 1;
    for (int i = 0; i < argc;) {
        if (strcmp(argv[i], "--") == 0 && m->verb == MAKE) {
            if (!argv[i + 1])
                return err_set(e, ERR_INVALID, "after -- there must be a command");
            m->spec.command = argv + i + 1;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            int used = take_option(m, argv + i, e);
            if (used < 0)
                return -1;
            i += used;
        } else if (n == wanted) {
            return err_set(e, ERR_INVALID, "%s takes %s, and then there is %.200s",
                           verbs[m->verb], m->verb == ADD ? "IN and OUT" : "one name",
                           argv[i]);
        } else {
            words[n++] = argv[i++];
        }
    }
    if (n < wanted)
        return err_set(e, ERR_INVALID, "%s needs %s; see %s", verbs[m->verb],
                       m->verb == ADD    ? "IN and OUT"
                       : m->verb == MAKE ? "OUT"
                                         : "IN",
                       called_help("image").z);
    m->in = m->verb == MAKE ? NULL : words[0];
    m->out = m->verb == ADD ? words[1] : m->verb == MAKE ? words[0] : NULL;
    if (m->out && strcmp(m->out, "-") == 0)
        return err_set(e, ERR_INVALID,
                       "OUT is a file or a folder: standard output cannot be taken back "
                       "when something fails");
    if (m->spec.command && !m->from)
        return err_set(e, ERR_INVALID, "a command is for an image that has one: --from");
    return m->verb == MAKE && m->spec.binaries_n ? 0 : take_self(m, e);
}

/* ---- the child ---- */

static void say(void *arg, const char *line)
{
    const struct job_child *c = arg;
    job_put(c, str_of(line));
    job_put(c, STR("\n"));
}

static int work(void *arg, const struct job_child *c, struct err *e)
{
    struct image *m = arg;
    m->spec.say = say;
    m->spec.arg = (void *)(uintptr_t)c;
    dup2(c->fds[0], STDIN_FILENO);
    switch (m->verb) {
    case ADD:
        return image_add(&m->spec, m->in, m->out, e);
    case MAKE:
        return image_make(&m->spec, m->from, m->out, m->folder, e);
    default:
        return image_show(&m->spec, m->in, e);
    }
}

/* ---- waiting for it ---- */

static void on_data(struct job *j, struct buf *in)
{
    (void)j;
    fwrite(in->p, 1, in->n, stdout);
    buf_consume(in, in->n);
}

static void on_done(struct job *j, const struct err *e)
{
    struct image *m = job_owner(j);
    fflush(stdout); /* what was done comes first */
    m->status = e->code == ERR_NONE ? 0 : fail(e);
    m->job = NULL;
}

static void on_gone(void *owner)
{
    struct image *m = owner;
    if (m->out && m->status != 0)
        image_clean(m->out, m->token);
    loop_stop(m->loop);
}

static void on_signal(struct io *io, uint32_t events)
{
    struct image *m = (struct image *)((char *)io - offsetof(struct image, signals));
    int number = sig_next(io->fd);
    (void)events;
    if (!number || !m->job)
        return;
    m->signal = number;
    job_cancel(m->job);
    m->job = NULL;
}

static int run(struct image *m, struct err *e)
{
    static const struct job_events events = {on_data, NULL, NULL, on_done, on_gone};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    int in = STDIN_FILENO;
    struct job_spec spec = {.what = "working on the image",
                            .fn = work,
                            .arg = m,
                            .fds = &in,
                            .fds_n = 1,
                            .memory = MEMORY,
                            .ev = &events,
                            .owner = m};
    m->status = 1;
    m->loop = loop_new();
    int fd = m->loop ? sig_open(signals, 3) : -1;
    if (fd < 0 || io_start(m->loop, &m->signals, fd, EPOLLIN, on_signal) < 0)
        return err_sys(e, errno, "cannot wait for signals");
    m->job = job_start(m->loop, &spec, e);
    if (!m->job)
        return -1;
    if (loop_run(m->loop) < 0)
        return err_sys(e, errno, "cannot wait for the work");
    io_stop(&m->signals);
    close(fd);
    loop_free(m->loop);
    return 0;
}

static int image_main(int argc, char **argv)
{
    static struct image m; /* large: the names of binaries and their places */
    struct err e = ERR_INIT;
    m = (struct image){.spec = {.binaries = m.binaries,
                                .dest = "/usr/local/bin/od",
                                .version = build_info.version,
                                .token = m.token}};
    snprintf(m.token, sizeof(m.token), "od%ld", (long)getpid());
    m.verb = VERBS;
    for (int i = 0; argc > 1 && i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i]) == 0)
            m.verb = (enum image_verb)i;
    }
    if (m.verb == VERBS) {
        called_say("the first word is add, make or show; see %s\n",
                   called_help("image").z);
        return 2;
    }
    if (take_words(&m, argc - 2, argv + 2, &e) < 0) {
        fail(&e);
        return 2;
    }
    if (null_fill() < 0)
        return 1;
    int rc = run(&m, &e);
    for (size_t i = 0; i < m.spec.binaries_n; i++)
        image_binary_release(&m.binaries[i]);
    if (rc < 0)
        return fail(&e);
    if (m.signal) {
        signal(m.signal, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, m.signal);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(m.signal);
    }
    if (fflush(stdout) != 0) {
        called_say("cannot write: %s\n", strerror(errno));
        return 1;
    }
    return m.status;
}

const struct applet applet_image = {
    .name = "image",
    .brief = "put od into container images, without an engine",
    .packed = PACKED(image_txt_gz),
    .main = image_main,
};
