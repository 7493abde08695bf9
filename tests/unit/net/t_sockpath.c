/* SPDX-License-Identifier: MIT */
/* The server's socket: which one, whose, and of two servers only one. */
#include "net/sockpath.h"

#include "net/peer.h"

#include "t.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static char path[SOCKPATH_MAX];
static struct err e;

/* Nothing of the caller's decides; the runtime directory is private. */
static void begin(void)
{
    unsetenv("OD_SOCKET");
    unsetenv("OD_SERVER");
    unsetenv("OD_STATE_DIR");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", t_dir(), 1);
    setenv("XDG_RUNTIME_DIR", t_dir(), 1);
}

static const char *in_dir(const char *name)
{
    static char full[4][SOCKPATH_MAX];
    static int turn;
    char *p = full[turn++ % 4];
    snprintf(p, SOCKPATH_MAX, "%s/%s", t_dir(), name);
    return p;
}

/*
 * Empty folders take the places that no variable names, where a server of this user may
 * run; t_dir() stays where it is.
 */
static bool hide_places(void)
{
    static const char *const tops[] = {"/tmp", "/var/tmp", "/var/lib", "/run", "/dev/shm"};
    char from[64], to[SOCKPATH_MAX];
    snprintf(to, sizeof(to), "%s", t_dir());
    if (!t_own_mounts())
        return false;
    int own = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(own >= 0);
    for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
        if (access(tops[i], F_OK) == 0 && mount("none", tops[i], "tmpfs", 0, "mode=1777") < 0)
            return false;
    }
    for (char *at = strchr(to + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(to, 0755);
        *at = '/';
    }
    mkdir(to, 0700);
    snprintf(from, sizeof(from), "/proc/self/fd/%d", own);
    CHECK(mount(from, to, NULL, MS_BIND, NULL) == 0);
    close(own);
    return true;
}

/* A place without a name is free only when this user has no server. */
static void begin_unnamed(void)
{
    begin();
    bool hidden = hide_places();
    int fd = sockpath_connect(NULL, NULL, &e);
    if (fd >= 0 && !hidden)
        T_SKIP("this user has a server running, which cannot be hidden");
    CHECK(fd < 0);
}

/* Abstract names are everybody's, so ours has our number. */
static const char *abstract(void)
{
    static char name[64];
    if (!name[0]) /* the same in children */
        snprintf(name, sizeof(name), "@od-test-%ld", (long)getpid());
    return name;
}

static int try_connect(const char *given)
{
    int fd = sockpath_connect(given, NULL, &e);
    if (fd < 0)
        return -(int)e.code;
    close(fd);
    return 0;
}

TEST(candidates_in_order)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    begin();
    int n = sockpath_candidates(NULL, c, &e), i = 0;
    char text[SOCKPATH_MAX];
    unsigned uid = (unsigned)geteuid();
    CHECK_STR(c[i++].path, in_dir("od/sock"));
    snprintf(text, sizeof(text), "/tmp/od-%u/sock", uid);
    CHECK_STR(c[i++].path, text);
    if (uid == 0)
        CHECK_STR(c[i++].path, "/var/lib/od/.run/sock");
    CHECK_STR(c[i++].path, in_dir(".local/state/od/.run/sock"));
    CHECK_STR(c[i++].path, in_dir(".od/sock"));
    snprintf(text, sizeof(text), "/run/od-%u/sock", uid);
    CHECK_STR(c[i++].path, text);
    snprintf(text, sizeof(text), "/dev/shm/od-%u/sock", uid);
    CHECK_STR(c[i++].path, text);
    snprintf(text, sizeof(text), "/var/tmp/od-%u/sock", uid);
    CHECK_STR(c[i++].path, text);
    CHECK_INT(n, i); /* an abstract one is not among them: a directory can be had */
    for (i = 0; i < n; i++)
        CHECK(c[i].place == strlen(c[i].path) - strlen("/sock"));

    CHECK_INT(sockpath_candidates("build", c, &e), n);
    CHECK_STR(c[0].path, in_dir("od/build/sock"));
    snprintf(text, sizeof(text), "/tmp/od-%u/build/sock", uid);
    CHECK_STR(c[1].path, text);
    CHECK(c[0].place == strlen(in_dir("od")));

    setenv("OD_STATE_DIR", in_dir("state"), 1);
    CHECK(sockpath_candidates(NULL, c, &e) > 3);
    CHECK_STR(c[2].path, in_dir("state/.run/sock"));

    setenv("OD_SOCKET", "/x/y", 1);
    CHECK_INT(sockpath_candidates(NULL, c, &e), 1);
    CHECK_STR(c[0].path, "/x/y");
    CHECK(c[0].place == 0);
    CHECK_INT(sockpath_candidates("@given", c, &e), 1);
    CHECK_STR(c[0].path, "@given");
    setenv("OD_SERVER", "build", 1);
    CHECK(sockpath_candidates(NULL, c, &e) > 3);
    CHECK_STR(c[0].path, in_dir("od/build/sock"));
    setenv("OD_SERVER", "", 1);
    setenv("OD_SOCKET", "", 1);
    CHECK(sockpath_candidates(NULL, c, &e) > 3);
    CHECK_STR(c[0].path, in_dir("od/sock"));
}

TEST(a_word_of_the_socket_option_is_a_path)
{
    char space[SOCKPATH_MAX];
    CHECK_STR(sockpath_of_path("sock", space), "./sock");
    CHECK_STR(sockpath_of_path("a/sock", space), "a/sock");
    CHECK_STR(sockpath_of_path("@a", space), "@a");
    unsetenv("OD_SERVER");
    setenv("OD_SOCKET", "3000", 1);
    CHECK_STR(sockpath_of_environment(space), "./3000");
    setenv("OD_SERVER", "3000", 1);
    CHECK_STR(sockpath_of_environment(space), "3000");
}

TEST(names_of_servers)
{
    char longest[SOCKPATH_NAME_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    longest[SOCKPATH_NAME_MAX] = 0;
    const char *const good[] = {"default", "3000", "a", "A-b_c.d", longest};
    const char *const bad[] = {"", ".", "..", ".run", "-x", "a b", "a/b", "@a", "a\nb",
                               "a:b", "\xc3\xa4", "sock", "sock.lock", "skills"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK_INT(sockpath_check_name(good[i], &e), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        e.code = ERR_NONE;
        CHECK_INT(sockpath_check_name(bad[i], &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
    }
    longest[SOCKPATH_NAME_MAX] = 'x';
    longest[SOCKPATH_NAME_MAX + 1] = 0;
    CHECK_INT(sockpath_check_name(longest, &e), -1);
}

TEST(each_socket_of_a_name_fits_an_address)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    char name[SOCKPATH_NAME_MAX + 1], deep[SOCKPATH_MAX];
    begin();
    memset(name, 'x', sizeof(name));
    name[SOCKPATH_NAME_MAX] = 0;
    snprintf(deep, sizeof(deep), "%s/%060d", t_dir(), 0);
    CHECK(mkdir(deep, 0700) == 0);
    setenv("XDG_RUNTIME_DIR", deep, 1);
    setenv("HOME", deep, 1);
    int n = sockpath_candidates(name, c, &e);
    CHECK(n >= 4);
    for (int i = 0; i < n; i++)
        CHECK(strlen(c[i].path) <= 107);
    CHECK(strncmp(c[0].path, "/tmp/od-", 8) == 0);
}

TEST(an_address_of_the_network_is_for_later)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    CHECK_INT(sockpath_candidates("https://host:3000", c, &e), -1);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    CHECK(strstr(e.text, "https://host:3000") != NULL);
}

TEST(a_runtime_directory_that_is_not_ours_is_passed_over)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    begin();
    setenv("XDG_RUNTIME_DIR", in_dir("missing"), 1);
    CHECK(sockpath_candidates(NULL, c, &e) > 1);
    CHECK(strncmp(c[0].path, "/tmp/od-", 8) == 0);
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    CHECK(sockpath_candidates(NULL, c, &e) > 1);
    CHECK(strncmp(c[0].path, "/tmp/od-", 8) == 0);
    if (geteuid() == 0) {
        CHECK(chown(t_dir(), 1234, 1234) == 0);
        setenv("XDG_RUNTIME_DIR", t_dir(), 1);
        CHECK(sockpath_candidates(NULL, c, &e) > 1);
        CHECK(strncmp(c[0].path, "/tmp/od-", 8) == 0);
    }
}

TEST(a_relative_name_is_made_absolute)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    begin();
    CHECK(chdir(t_dir()) == 0);
    char cwd[512];
    CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
    strncat(cwd, "/a/sock", sizeof(cwd) - strlen(cwd) - 1);
    CHECK_INT(sockpath_candidates("a/sock", c, &e), 1);
    CHECK_STR(c[0].path, cwd);
    CHECK(chdir("/") == 0);
    CHECK_INT(sockpath_candidates("./sock", c, &e), 1);
    CHECK_STR(c[0].path, "/sock");
}

TEST(names_that_are_none)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    char longer[SOCKPATH_MAX + 1];
    memset(longer, 'x', sizeof(longer));
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    const char *const bad[] = {"", "@", "/dir/", longer};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        e.code = ERR_NONE;
        CHECK_INT(sockpath_candidates(bad[i], c, &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
    }
    longer[0] = '@';
    longer[120] = '\0';
    CHECK_INT(sockpath_candidates(longer, c, &e), -1);
}

TEST(nobody_there_is_not_found)
{
    begin();
    CHECK_INT(try_connect(in_dir("none")), -ERR_NOTFOUND);
    CHECK(strstr(e.text, in_dir("none")) != NULL);
    CHECK_INT(try_connect(in_dir("no/such/dir")), -ERR_NOTFOUND);
    CHECK_INT(try_connect(abstract()), -ERR_NOTFOUND);
}

TEST(listen_then_connect)
{
    begin_unnamed();
    int fd = sockpath_listen(NULL, path, sizeof(path), &e);
    CHECK(fd >= 0);
    CHECK_STR(path, in_dir("od/sock"));
    struct sockpath_server server;
    int c = sockpath_connect(NULL, &server, &e);
    CHECK(c >= 0);
    CHECK_INT(server.pid, getpid());
    CHECK_STR(server.path, path);
    CHECK_STR(server.name, "default");
    CHECK(fcntl(c, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(c, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    int a = accept(fd, NULL, NULL);
    CHECK(write(a, "x", 1) == 1);
    char b;
    struct pollfd p = {.fd = c, .events = POLLIN};
    CHECK_INT(poll(&p, 1, 10000), 1);
    CHECK(read(c, &b, 1) == 1 && b == 'x');
    close(a);
    close(c);
    close(fd);
}

TEST(nobody_else_may_come_in)
{
    begin_unnamed();
    umask(0);
    int fd = sockpath_listen(NULL, path, sizeof(path), &e);
    CHECK(fd >= 0);
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat(in_dir("od"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK_INT(umask(022), 0);
    close(fd);
    /* A directory of ours that was left open is closed. */
    CHECK(chmod(in_dir("od"), 0777) == 0);
    fd = sockpath_listen(NULL, path, sizeof(path), &e);
    CHECK(fd >= 0);
    CHECK(stat(in_dir("od"), &st) == 0 && (st.st_mode & 0777) == 0700);
    close(fd);
}

TEST(a_live_server_is_named)
{
    begin();
    int fd = sockpath_listen(in_dir("s"), path, sizeof(path), &e);
    CHECK(fd >= 0);
    CHECK_INT(sockpath_listen(in_dir("s"), path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK(strstr(e.text, in_dir("s")) != NULL);
    CHECK_INT(try_connect(in_dir("s")), 0);
    close(fd);

    fd = sockpath_listen(abstract(), path, sizeof(path), &e);
    if (fd < 0)
        T_SKIP("no abstract sockets here");
    CHECK_STR(path, abstract());
    CHECK_INT(sockpath_listen(abstract(), path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK_INT(try_connect(abstract()), 0);
    close(fd);
}

TEST(what_a_dead_server_left_is_taken_over)
{
    begin();
    int fd = sockpath_listen(in_dir("s"), path, sizeof(path), &e);
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(access(path, F_OK), 0);
    CHECK_INT(try_connect(in_dir("s")), -ERR_NOTFOUND);
    fd = sockpath_listen(in_dir("s"), path, sizeof(path), &e);
    CHECK(fd >= 0);
    CHECK_INT(try_connect(in_dir("s")), 0);
    sockpath_remove(path);
    CHECK(access(path, F_OK) < 0);
    close(fd);
}

TEST(a_file_that_is_no_socket_stays)
{
    begin();
    int file = open(in_dir("s"), O_WRONLY | O_CREAT, 0600);
    CHECK(file >= 0 && write(file, "mine", 4) == 4);
    close(file);
    CHECK_INT(sockpath_listen(in_dir("s"), path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    struct stat st;
    CHECK(stat(in_dir("s"), &st) == 0 && st.st_size == 4);
}

TEST(a_full_queue_means_busy_and_alive)
{
    begin();
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%.90s/s", t_dir());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 0) == 0);
    int held[8], code = 0;
    for (int i = 0; i < 8 && code == 0; i++) {
        held[i] = sockpath_connect(a.sun_path, NULL, &e);
        code = held[i] < 0 ? (int)e.code : 0;
    }
    CHECK_INT(code, ERR_BUSY);
    CHECK_INT(sockpath_listen(a.sun_path, path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
}

TEST(paths_longer_than_an_address)
{
    begin();
    char dir[420];
    snprintf(dir, sizeof(dir), "%s/%0150d", t_dir(), 0);
    CHECK(mkdir(dir, 0700) == 0);
    char full[SOCKPATH_MAX];
    snprintf(full, sizeof(full), "%s/sock", dir);
    int fd = sockpath_listen(full, path, sizeof(path), &e);
    if (fd < 0 && access("/proc/self/fd", F_OK) < 0)
        T_SKIP("no /proc");
    CHECK(fd >= 0);
    CHECK_STR(path, full);
    CHECK_INT(try_connect(full), 0);
    CHECK_INT(sockpath_listen(full, path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    close(fd);
    fd = sockpath_listen(full, path, sizeof(path), &e);
    CHECK(fd >= 0);
    close(fd);
    /* The name alone is too long for any address. */
    snprintf(full, sizeof(full), "%s/%0120d", t_dir(), 0);
    CHECK_INT(sockpath_listen(full, path, sizeof(path), &e), -1);
    CHECK(e.code != ERR_NOTFOUND && strstr(e.text, "too long") != NULL);
}

TEST(links_and_strangers_are_not_followed)
{
    begin();
    /* XDG_RUNTIME_DIR/od leads to where a server of ours really listens. */
    CHECK(mkdir(in_dir("real"), 0700) == 0);
    int fd = sockpath_listen(in_dir("real/sock"), path, sizeof(path), &e);
    CHECK(fd >= 0);
    CHECK(symlink("real", in_dir("od")) == 0);
    struct sockpath c[SOCKPATH_CANDIDATES];
    CHECK(sockpath_candidates(NULL, c, &e) > 3);
    int got = sockpath_connect(NULL, NULL, &e);
    if (got >= 0) {
        /* Some other place of this user's may have a server; not this one. */
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK_INT(poll(&p, 1, 0), 0);
        close(got);
    }
    close(fd);
    if (geteuid() != 0)
        return;
    CHECK(unlink(in_dir("od")) == 0 && mkdir(in_dir("od"), 0700) == 0);
    fd = sockpath_listen(in_dir("od/sock"), path, sizeof(path), &e);
    CHECK(fd >= 0 && chown(in_dir("od"), 1234, 1234) == 0);
    got = sockpath_connect(NULL, NULL, &e);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    CHECK_INT(poll(&p, 1, 0), 0);
    if (got >= 0)
        close(got);
    close(fd);
}

TEST(another_users_server_is_refused)
{
    if (geteuid() != 0)
        T_SKIP("needs root to be two users");
    begin();
    CHECK(chmod(t_dir(), 0777) == 0);
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        if (setuid(1234) < 0)
            _exit(1);
        int fd = sockpath_listen(in_dir("theirs"), path, sizeof(path), &e);
        if (fd < 0 || chmod(path, 0777) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    char x;
    close(ready[1]);
    CHECK(read(ready[0], &x, 1) == 1);
    CHECK_INT(try_connect(in_dir("theirs")), -ERR_DENIED);
    kill(pid, SIGKILL);
    t_reap(pid);
    /* Root's, from another user's side, is fine. */
    int fd = sockpath_listen(in_dir("roots"), path, sizeof(path), &e);
    CHECK(fd >= 0 && chmod(path, 0777) == 0);
    pid = t_fork();
    if (pid == 0)
        _exit(setuid(1234) < 0 || try_connect(in_dir("roots")) != 0);
    CHECK_INT(t_reap(pid), 0);
    close(fd);
}

TEST(only_what_lies_above_state_is_made)
{
    begin();
    struct stat st;
    CHECK(!places_possible(in_dir("no/tmp/od")));
    CHECK_INT(places_make(in_dir("no/tmp/od")), -1);
    CHECK(stat(in_dir("no"), &st) < 0);
    CHECK(places_possible(in_dir("some/state/od/.run")));
    CHECK(stat(in_dir("some"), &st) < 0);
    CHECK_INT(places_make(in_dir("some/state/od/.run")), 0);
    CHECK(stat(in_dir("some/state"), &st) == 0 && (st.st_mode & 0755) == 0755);
    CHECK(stat(in_dir("some/state/od/.run"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK_INT(places_make(in_dir("some/state/od/.run")), 0);
}

/* ---- several servers ---- */

/* Another process, which listens until it is killed. */
static pid_t serve(const char *where)
{
    int ready[2];
    char x = 0;
    CHECK(pipe(ready) == 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        x = sockpath_listen(where, path, sizeof(path), &e) >= 0 ? 'x' : 0;
        if (write(ready[1], &x, 1) != 1)
            _exit(1);
        pause();
    }
    CHECK(read(ready[0], &x, 1) == 1 && x == 'x');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(of_several_servers_the_default_or_the_only_one)
{
    begin_unnamed();
    struct sockpath_server found, *all = calloc(SOCKPATH_SERVERS_MAX, sizeof(*all));
    int a = sockpath_listen("3000", path, sizeof(path), &e);
    CHECK(a >= 0);
    CHECK_STR(path, in_dir("od/3000/sock"));
    struct stat st;
    CHECK(stat(in_dir("od/3000"), &st) == 0 && (st.st_mode & 0777) == 0700);
    int fd = sockpath_connect(NULL, &found, &e);
    CHECK(fd >= 0);
    CHECK_STR(found.name, "3000");
    CHECK_STR(found.path, path);
    close(fd);

    pid_t b = serve("3001");
    CHECK_INT(sockpath_connect(NULL, &found, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK(strstr(e.text, "3000") && strstr(e.text, "3001") &&
          strstr(e.text, "--server"));
    fd = sockpath_connect("3001", &found, &e);
    CHECK(fd >= 0);
    CHECK_STR(found.name, "3001");
    CHECK_INT(found.pid, b);
    close(fd);
    CHECK_INT(try_connect("3002"), -ERR_NOTFOUND);
    CHECK(strstr(e.text, "3002") && strstr(e.text, "3001"));
    CHECK_INT(sockpath_listen("3000", path, sizeof(path), &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);

    pid_t c = serve("default");
    fd = sockpath_connect(NULL, &found, &e);
    CHECK(fd >= 0);
    CHECK_STR(found.name, "default");
    CHECK_STR(found.path, in_dir("od/sock"));
    close(fd);
    CHECK_INT(sockpath_servers(all), 3);
    CHECK_STR(all[0].name, "default");
    kill(b, SIGKILL);
    kill(c, SIGKILL);
    t_reap(b);
    t_reap(c);
    CHECK_INT(sockpath_servers(all), 1);
    CHECK_STR(all[0].name, "3000");
    free(all);
    close(a);
}

TEST(a_server_elsewhere_is_found_by_its_record)
{
    begin_unnamed();
    struct sockpath_server found;
    int a = sockpath_listen(in_dir("elsewhere"), path, sizeof(path), &e);
    CHECK(a >= 0);
    setenv("OD_STATE_DIR", in_dir("state"), 1);
    CHECK(mkdir(in_dir("state"), 0700) == 0 && mkdir(in_dir("state/far"), 0700) == 0);
    FILE *f = fopen(in_dir("state/far/" SOCKPATH_RECORD), "w");
    CHECK(f && fprintf(f, "{\"pid\":1,\"name\":\"far\",\"socket\":\"%s\"}", path) > 0);
    CHECK(f && fclose(f) == 0);
    int fd = sockpath_connect("far", &found, &e);
    CHECK(fd >= 0);
    CHECK_STR(found.path, path);
    close(fd);
    fd = sockpath_connect(NULL, &found, &e); /* the only one */
    CHECK(fd >= 0);
    CHECK_STR(found.name, "far");
    close(fd);
    close(a);
    CHECK_INT(try_connect("far"), -ERR_NOTFOUND);
    /* A record that is none. */
    f = fopen(in_dir("state/far/" SOCKPATH_RECORD), "w");
    CHECK(f && fputs("{\"socket\":", f) >= 0 && fclose(f) == 0);
    CHECK_INT(try_connect("far"), -ERR_NOTFOUND);
}

/* ---- abstract ones ---- */

/*
 * A child, in other namespaces if flags say so, says how a connection to our abstract
 * socket went: peer_check of its side, and *ours of this one.
 */
static int across(int flags, uid_t uid, int *ours)
{
    int fd = sockpath_listen(abstract(), path, sizeof(path), &e);
    CHECK(fd >= 0);
    pid_t child = t_fork();
    if (child == 0) {
        if (flags && unshare(flags) < 0)
            _exit(77);
        pid_t inner = flags & CLONE_NEWPID ? fork() : 0;
        if (inner > 0) {
            int status = 0;
            waitpid(inner, &status, 0);
            _exit(WEXITSTATUS(status));
        }
        if (uid != 0 && setuid(uid) < 0)
            _exit(77);
        /* It stays until the other side has looked at it. */
        struct pollfd end = {.fd = sockpath_connect(abstract(), NULL, &e), .events = POLLIN};
        if (end.fd >= 0)
            poll(&end, 1, 10000);
        _exit(end.fd >= 0 ? 0 : e.code == ERR_DENIED ? 1 : 2);
    }
    struct pollfd p = {.fd = fd, .events = POLLIN};
    *ours = 0;
    if (poll(&p, 1, 10000) == 1) {
        int c = accept(fd, NULL, NULL);
        *ours = peer_check(c, geteuid(), NULL, &e);
        close(c);
    }
    int status = t_reap(child);
    close(fd);
    return WEXITSTATUS(status);
}

TEST(an_abstract_socket_is_its_containers)
{
    begin();
    int ours = 0;
    CHECK_INT(across(0, 0, &ours), 0);
    CHECK_INT(ours, 0);
    if (geteuid() != 0)
        T_SKIP("needs root for other namespaces");
    static const int flags[] = {CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNS | CLONE_NEWPID};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        int status = across(flags[i], 0, &ours);
        if (status == 77)
            T_SKIP("no namespaces here");
        CHECK_INT(status, 1);
        CHECK_INT(ours, -1);
        CHECK_INT(e.code, ERR_DENIED);
    }
}

TEST(root_is_not_believed_at_an_abstract_socket)
{
    if (geteuid() != 0)
        T_SKIP("needs root to be two users");
    begin();
    int ours = 0;
    /* Another user finds root's, and root another user's. */
    CHECK_INT(across(0, 1234, &ours), 1);
    CHECK_INT(ours, -1);
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_INT(peer_check(pair[0], 1234, NULL, &e), 0); /* in a directory it is */
    int fd = sockpath_listen(abstract(), path, sizeof(path), &e);
    int c = sockpath_connect(abstract(), NULL, &e), a = accept(fd, NULL, NULL);
    CHECK(fd >= 0 && c >= 0 && a >= 0);
    CHECK_INT(peer_check(a, 0, NULL, &e), 0);
    CHECK_INT(peer_check(a, 1234, NULL, &e), -1);
    CHECK_INT(e.code, ERR_DENIED);
}

/* A process of a PID namespace that has no number for the peer. */
TEST(a_peer_without_a_pid_is_refused)
{
    if (geteuid() != 0)
        T_SKIP("needs root for other namespaces");
    begin();
    int fd = sockpath_listen(abstract(), path, sizeof(path), &e);
    CHECK(fd >= 0);
    pid_t child = t_fork();
    if (child == 0) {
        if (unshare(CLONE_NEWPID) < 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0) {
            int c = sockpath_connect(abstract(), NULL, &e);
            _exit(c < 0 && e.code == ERR_DENIED && strstr(e.text, "PID namespace") ? 0 : 1);
        }
        int status = 0;
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status = WEXITSTATUS(t_reap(child));
    close(fd);
    if (status == 77)
        T_SKIP("no namespaces here");
    CHECK_INT(status, 0);
}

enum { MANY = 8 };

/* Tries when `go` ends, tells how it went, and lives until `hold` ends. */
static void contend(int go, int hold, int told)
{
    char c;
    if (read(go, &c, 1) != 0)
        _exit(1);
    int fd = sockpath_listen(in_dir("s"), path, sizeof(path), &e);
    c = fd >= 0 ? 'w' : e.code == ERR_EXISTS ? 'l' : '?';
    if (write(told, &c, 1) != 1)
        _exit(1);
    _exit(read(hold, &c, 1) != 0);
}

static void contest(void)
{
    int told[2], go[2], hold[2];
    CHECK(pipe(told) == 0 && pipe(go) == 0 && pipe(hold) == 0);
    pid_t pid[MANY];
    for (int i = 0; i < MANY; i++) {
        pid[i] = t_fork();
        if (pid[i] == 0) {
            /* The writing ends are nobody's but the parent's. */
            close(go[1]);
            close(hold[1]);
            contend(go[0], hold[0], told[1]);
        }
    }
    close(go[1]);
    int winners = 0, losers = 0;
    for (int i = 0; i < MANY; i++) {
        char c;
        CHECK(read(told[0], &c, 1) == 1);
        winners += c == 'w';
        losers += c == 'l';
    }
    CHECK_INT(winners, 1);
    CHECK_INT(losers, MANY - 1);
    CHECK_INT(try_connect(in_dir("s")), 0);
    close(hold[1]);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(t_reap(pid[i]), 0);
    close(go[0]);
    close(hold[0]);
    close(told[0]);
    close(told[1]);
}

TEST(of_many_that_start_at_once_one_listens)
{
    begin();
    /* What a dead one left is there each time, and all want to remove it. */
    close(sockpath_listen(in_dir("s"), path, sizeof(path), &e));
    for (int round = 0; round < 30; round++)
        contest();
}

T_MAIN
