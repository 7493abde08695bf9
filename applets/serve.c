/* SPDX-License-Identifier: MIT */
/*
 * `od serve`: reads options, finds a place for state and socket, and becomes
 * the keeper by running the binary again with nothing in its arguments and
 * environment: what was given to us there stays readable in /proc for as long
 * as a process lives, and keys are among it.
 */
#include "applet.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/sockpath.h"
#include "os/self.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { STATE_SLOTS = 64, STATUS_OURS = 125 };

/* What may be set, where, and what it is when it is not. */
static const struct setting {
    const char *option, *env, *value, *dflt, *help;
} settings[] = {
    {"socket", "OD_SOCKET", "PATH", "see od help exec",
     "unix socket to listen on; @NAME is an abstract one"},
    {"state-dir", "OD_STATE_DIR", "DIR",
     "/var/lib/od, ~/.local/state/od, /var/tmp, /tmp, …",
     "where output and state are kept; memory when none can be written"},
    {"working-dir", "OD_WORKING_DIR", "DIR", "the current one", "where sessions begin"},
    {"idle-exit", "OD_IDLE_EXIT", "SECONDS", "never",
     "end after this long without clients and commands"},
    {"log", "OD_LOG", "LEVEL", "info", "error, warn, info or debug"},
    {"log-form", "OD_LOG_FORM", "FORM", "text", "text or json"},
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };
enum { SOCKET, STATE_DIR, WORKING_DIR, IDLE_EXIT, LOG, LOG_FORM };

struct serve {
    const char *set[SETTINGS]; /* from option or environment, NULL: default */
    bool daemon;
    int ready; /* descriptor for one line, -1: none */
    char state_dir[160], socket[SOCKPATH_MAX], cwd[4096];
    int lock, listening;
    bool ours_dir;
};

/* To whoever waits for us, and to people. */
static int fail(struct serve *s, const struct err *e)
{
    fprintf(stderr, "od serve: %s\n", e->text);
    if (s->ready >= 0)
        dprintf(s->ready, "error %s\n", e->text);
    return STATUS_OURS;
}

/* ---- state ---- */

static void empty_dir(int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) < 0 && depth < 3) {
            empty_dir(dirfd(d), e->d_name, depth + 1);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
    }
    closedir(d);
}

/* Each missing part is made; the last one must be ours. */
static int make_dirs(const char *path, mode_t mode, struct err *e)
{
    char part[200];
    size_t n = strlen(path);
    if (n >= sizeof(part) - 8)
        return err_set(e, ERR_LIMIT,
                       "the state directory's name is longer than %zu bytes",
                       sizeof(part) - 9);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, i == n ? mode : 0755) < 0 && errno != EEXIST)
            return err_sys(e, errno, "cannot make the state directory %s", part);
    }
    struct stat st;
    if (lstat(path, &st) < 0)
        return err_sys(e, errno, "cannot use the state directory %s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID,
                       "cannot use the state directory %s: it is no directory", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_DENIED,
                       "cannot use the state directory %s: it belongs to uid "
                       "%u; give another one with --state-dir",
                       path, (unsigned)st.st_uid);
    if ((st.st_mode & 0777) != mode && chmod(path, mode) < 0)
        return err_sys(e, errno, "cannot protect the state directory %s", path);
    return 0;
}

/*
 * The first numbered folder that no living server holds. Its lock is held by
 * the keeper for as long as it lives; what an earlier server left is removed.
 */
static int take_slot(struct serve *s, const char *base, struct err *e)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700; /* other users' shells pass through */
    char dir[160], path[200];
    if (strlen(base) > sizeof(dir) - 8)
        return err_set(e, ERR_LIMIT, "the state directory's name %s is too long", base);
    if (make_dirs(base, mode, e) < 0)
        return -1;
    for (int i = 0; i < STATE_SLOTS; i++) {
        snprintf(dir, sizeof(dir), "%.140s/%d", base, i);
        snprintf(path, sizeof(path), "%s.lock", dir);
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return err_sys(e, errno, "cannot write in the state directory %s", base);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            close(fd);
            continue;
        }
        empty_dir(AT_FDCWD, dir, 0);
        snprintf(path, sizeof(path), "%s/spool", dir);
        if (make_dirs(dir, mode, e) < 0 || make_dirs(path, 0700, e) < 0) {
            close(fd);
            return -1;
        }
        memcpy(s->state_dir, dir, strlen(dir) + 1);
        s->lock = fd;
        return 0;
    }
    return err_set(e, ERR_LIMIT, "%d servers use the state directory %s already",
                   STATE_SLOTS, base);
}

static int find_state_dir(struct serve *s, struct err *e)
{
    if (s->set[STATE_DIR])
        return take_slot(s, s->set[STATE_DIR], e);
    char list[8][256];
    int n = 0;
    unsigned uid = (unsigned)geteuid();
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const char *run = getenv("XDG_RUNTIME_DIR");
    if (uid == 0)
        snprintf(list[n++], 256, "/var/lib/od");
    if (xdg && *xdg == '/')
        snprintf(list[n++], 256, "%.200s/od", xdg);
    if (home && *home == '/' && home[1])
        snprintf(list[n++], 256, "%.200s/.local/state/od", home);
    snprintf(list[n++], 256, "/var/tmp/od-state-%u", uid);
    snprintf(list[n++], 256, "/tmp/od-state-%u", uid);
    if (run && *run == '/')
        snprintf(list[n++], 256, "%.200s/od-state", run);
    snprintf(list[n++], 256, "/run/od-state-%u", uid);
    snprintf(list[n++], 256, "/dev/shm/od-state-%u", uid);
    for (int i = 0; i < n; i++) {
        if (take_slot(s, list[i], e) == 0)
            return 0;
        log_debug("%s", e->text);
    }
    log_warn("no directory for state could be written; output is kept in memory only "
             "(the last one tried: %s)",
             e->text);
    s->state_dir[0] = 0;
    return 0;
}

/* ---- options for the worker ---- */

static bool is_secret(const char *entry)
{
    static const char *const names[] = {"SESSION_API_KEY=", "OD_"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static void push_var(struct json *env, const char *name, const char *value)
{
    struct buf b = BUF_INIT(SOCKPATH_MAX + 64);
    buf_addf(&b, "%s=%s", name, value);
    json_push_str(env, buf_str(&b));
    buf_release(&b);
}

/* What children get: ours without keys, and a terminal that pages nothing. */
static struct json *child_env(const struct serve *s)
{
    struct json *env = json_array();
    for (char **v = environ; *v; v++) {
        if (!is_secret(*v) && strncmp(*v, "TERM=", 5) != 0)
            json_push_str(env, str_of(*v));
    }
    push_var(env, "TERM", "xterm-256color");
    push_var(env, "OD_SOCKET", s->socket);
    if (!getenv("PAGER"))
        push_var(env, "PAGER", "cat");
    if (!getenv("GIT_PAGER"))
        push_var(env, "GIT_PAGER", "cat");
    if (!getenv("PATH"))
        push_var(env, "PATH",
                 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    if (!getenv("HOME")) {
        struct passwd *pw = getpwuid(geteuid());
        push_var(env, "HOME", pw && pw->pw_dir ? pw->pw_dir : "/");
    }
    return env;
}

static int make_options(const struct serve *s, struct buf *out, struct err *e)
{
    struct json *o = json_object();
    int64_t idle_ms = 0;
    int level = s->set[LOG] ? log_level_from(s->set[LOG]) : LOG_INFO;
    int r = 0;
    if (s->set[IDLE_EXIT] && str_to_ms(str_of(s->set[IDLE_EXIT]), &idle_ms) < 0)
        r = err_set(e, ERR_INVALID, "--idle-exit takes seconds, not %s",
                    s->set[IDLE_EXIT]);
    if (level < 0)
        r = err_set(e, ERR_INVALID, "--log takes error, warn, info or debug, not %s",
                    s->set[LOG]);
    json_put_z(o, "state_dir", s->state_dir);
    json_put_z(o, "cwd", s->cwd);
    json_put_z(o, "socket", s->socket);
    json_put_int(o, "idle_exit_ms", idle_ms);
    json_put_int(o, "log_level", level);
    json_put_bool(o, "log_json",
                  s->set[LOG_FORM] && strcmp(s->set[LOG_FORM], "json") == 0);
    json_put(o, "env", child_env(s));
    if (r == 0 && (json_print(out, o) < 0 || out->n > LIMIT_SPAWN_MAX))
        r = err_set(e, ERR_LIMIT,
                    "the environment is longer than %d bytes; unset what is not "
                    "needed",
                    LIMIT_SPAWN_MAX);
    json_free(o);
    return r;
}

/* A descriptor that reads as these bytes: in memory, else an unlinked file, a pipe. */
static int as_file(const struct serve *s, struct str bytes)
{
    int fd = memfd_create("options", 0), p[2];
    if (fd < 0 && s->state_dir[0]) {
        char path[200];
        snprintf(path, sizeof(path), "%s/options", s->state_dir);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        unlink(path);
    }
    if (fd >= 0) {
        if (write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n ||
            lseek(fd, 0, SEEK_SET) < 0) {
            close(fd);
            return -1;
        }
        return fd;
    }
    if (pipe(p) < 0)
        return -1;
    fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    if (write(p[1], bytes.p, bytes.n) != (ssize_t)bytes.n) {
        close(p[0]);
        p[0] = -1;
    }
    close(p[1]);
    return p[0];
}

/* ---- start ---- */

static int become_daemon(struct serve *s, struct err *e)
{
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(e, errno, "cannot start in the background");
    if (pid > 0)
        _exit(0);
    setsid();
    (void)s;
    return 0;
}

static void redirect_log(const struct serve *s)
{
    char path[200];
    int null = open("/dev/null", O_RDWR);
    snprintf(path, sizeof(path), "%s/server.log", s->state_dir);
    int fd = s->state_dir[0]
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600)
                 : -1;
    for (int i = 0; i < 3; i++) {
        int to = i > 0 && fd >= 0 ? fd : null;
        if (to >= 0 && i != s->ready)
            dup2(to, i);
    }
    if (fd > 2)
        close(fd);
    if (null > 2)
        close(null);
}

static void say_how(const struct serve *s)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = 0;
    fprintf(stderr,
            "od serve: listening on %s, state in %s\n"
            "Try:  %s exec --socket %s 'echo hello from $PWD; export GREETING=hi'\n"
            "then: %s exec --socket %s 'echo $GREETING'\n",
            s->socket, s->state_dir[0] ? s->state_dir : "memory", n > 0 ? self : "od",
            s->socket, n > 0 ? self : "od", s->socket);
}

static int become_keeper(struct serve *s, struct err *e)
{
    struct buf options = BUF_INIT(1 << 20);
    if (make_options(s, &options, e) < 0)
        return -1;
    int fd = as_file(s, buf_str(&options)), self = self_open();
    if (fd < 0 || self < 0)
        return err_sys(e, errno, "cannot start the keeper");
    char words[5][16];
    int fds[5] = {fd, s->lock, s->ready, self, s->listening};
    char *argv[8] = {(char *)(uintptr_t) "od-keeper"};
    for (int i = 0; i < 5; i++) {
        if (fds[i] >= 0)
            fcntl(fds[i], F_SETFD, 0);
        snprintf(words[i], sizeof(words[i]), "%d", fds[i]);
        argv[i + 1] = words[i];
    }
    argv[6] = (char *)(uintptr_t) "local";
    char *trace = getenv("OD_TRACE"), kept[256];
    snprintf(kept, sizeof(kept), "OD_TRACE=%s", trace ? trace : "");
    char *env[] = {trace ? kept : NULL, NULL};
    if (s->daemon)
        redirect_log(s);
    else
        say_how(s);
    self_exec(self, argv, env);
    return err_sys(e, errno, "cannot start the keeper");
}

static int parse(struct serve *s, int argc, char **argv)
{
    struct option longs[SETTINGS + 4];
    memset(longs, 0, sizeof(longs));
    for (int i = 0; i < SETTINGS; i++) {
        longs[i] = (struct option){settings[i].option, required_argument, NULL, 256 + i};
        s->set[i] = getenv(settings[i].env);
        if (s->set[i] && !*s->set[i])
            s->set[i] = NULL;
    }
    longs[SETTINGS] = (struct option){"daemon", no_argument, NULL, 'd'};
    longs[SETTINGS + 1] = (struct option){"ready-fd", required_argument, NULL, 'r'};
    longs[SETTINGS + 2] = (struct option){"help", no_argument, NULL, 'h'};
    int o;
    uint64_t fd;
    while ((o = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (o >= 256 && o < 256 + SETTINGS)
            s->set[o - 256] = optarg;
        else if (o == 'd')
            s->daemon = true;
        else if (o == 'r' && str_to_u64(str_of(optarg), &fd) == 0 && fd < 1024)
            s->ready = (int)fd;
        else
            return -1;
    }
    return optind < argc ? -1 : 0;
}

static int serve_main(int argc, char **argv)
{
    struct serve s = {.ready = -1, .lock = -1, .listening = -1};
    struct err e = ERR_INIT;
    if (parse(&s, argc, argv) < 0) {
        fprintf(stderr, "od serve: see od help serve\n");
        return STATUS_OURS;
    }
    signal(SIGPIPE, SIG_IGN);
    log_init("serve", 2, LOG_INFO, false);
    umask(022);
    if (s.set[WORKING_DIR] && chdir(s.set[WORKING_DIR]) < 0) {
        err_sys(&e, errno, "cannot work in %s", s.set[WORKING_DIR]);
        return fail(&s, &e);
    }
    if (!getcwd(s.cwd, sizeof(s.cwd)))
        snprintf(s.cwd, sizeof(s.cwd), "/");
    /* The socket tells clients who listens: it must be the keeper-to-be. */
    if (s.daemon && become_daemon(&s, &e) < 0)
        return fail(&s, &e);
    s.listening = sockpath_listen(s.set[SOCKET], s.socket, sizeof(s.socket), &e);
    if (s.listening < 0)
        return fail(&s, &e);
    fcntl(s.listening, F_SETFL, O_NONBLOCK);
    if (find_state_dir(&s, &e) < 0 || become_keeper(&s, &e) < 0) {
        sockpath_remove(s.socket);
        return fail(&s, &e);
    }
    return STATUS_OURS;
}

static void serve_more(struct buf *out)
{
    buf_addz(out, "\nOptions (environment, default):\n");
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *t = &settings[i];
        buf_addf(out, "  --%s %s\n      %s\n      (%s; %s)\n", t->option, t->value,
                 t->help, t->env, t->dflt);
    }
    buf_addz(
        out,
        "  --daemon\n      go to the background, with a log in the state directory\n"
        "  --ready-fd N\n      write \"ready\" or \"error REASON\" to this descriptor\n");
}

const struct applet applet_serve = {
    .name = "serve",
    .brief = "the server in the sandbox: shells, processes, PID 1",
    .usage =
        "usage: od serve [OPTIONS]\n"
        "\n"
        "Serves shells and processes to od exec over a unix socket. It is two\n"
        "processes: a small keeper, which holds terminals, output and everything\n"
        "that must last, and a worker, which may die and be started again at any\n"
        "instant with nothing lost. As PID 1 of a container it reaps orphans,\n"
        "passes signals on and ends what remains.\n"
        "\n"
        "TERM or INT end it: programs get HUP and TERM, and KILL after two seconds.\n",
    .main = serve_main,
    .more_usage = serve_more,
};
