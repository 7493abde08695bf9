/* SPDX-License-Identifier: MIT */
/* Finding, starting and ending Chromium. Its error output is a file in its folder. */
#include "base/clock.h"
#include "base/xalloc.h"
#include "browser/driver/driver.h"
#include "os/remove.h"
#include "os/spawn.h"
#include "os/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLITE_MS = 3000, LAST_WORDS = 400, SHM_ENOUGH_MIB = 256 };

/* ---- finding ---- */

static const char *const variables[] = {"OD_BROWSER", "CHROME_PATH",
                                        "PUPPETEER_EXECUTABLE_PATH"};
/*
 * Programs of distributions and of Google's packages. Headless shells come first, as
 * they start in a third of the time.
 */
static const char *const places[] = {
    "/usr/bin/chromium-headless-shell",
    "/usr/lib/chromium/chromium-headless-shell",
    "/headless-shell/headless-shell",
    "/usr/bin/headless_shell",
    "@chromium_headless_shell-:chrome-linux/headless_shell",
    "@chromium_headless_shell-:chrome-headless-shell-linux64/chrome-headless-shell",
    "@chromium-:chrome-linux/chrome",
    "@chromium-:chrome-linux64/chrome",
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/usr/bin/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/opt/microsoft/msedge/msedge",
    "/opt/brave.com/brave/brave",
};

static bool runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/*
 * Finds the program with the highest revision in a folder of Playwright. place:
 * "@NAME-:REST".
 */
static bool find_revision(const char *folder, const char *place, char *path, size_t n)
{
    const char *rest = strchr(place, ':') + 1;
    struct str stem = str_n(place + 1, (size_t)(rest - place) - 2);
    long best = -1;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        char tried[PATH_MAX];
        if (!str_starts(str_of(f->d_name), stem))
            continue;
        long revision = strtol(f->d_name + stem.n, NULL, 10);
        int m = snprintf(tried, sizeof(tried), "%s/%s/%s", folder, f->d_name, rest);
        if (revision <= best || m < 0 || (size_t)m >= n || !runs(tried))
            continue;
        best = revision;
        memcpy(path, tried, (size_t)m + 1);
    }
    if (d)
        closedir(d);
    return best >= 0;
}

static bool find_in_caches(const char *place, char *path, size_t n)
{
    char home[PATH_MAX];
    const char *h = getenv("HOME"), *own = getenv("PLAYWRIGHT_BROWSERS_PATH");
    snprintf(home, sizeof(home), "%s/.cache/ms-playwright", h ? h : "");
    const char *folders[] = {own, home, "/ms-playwright", "/opt/playwright-browsers"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (folders[i] && folders[i][0] && find_revision(folders[i], place, path, n))
            return true;
    }
    return false;
}

/*
 * Returns the path of a Chromium: OD_BROWSER, CHROME_PATH, PUPPETEER_EXECUTABLE_PATH,
 * then the places of distributions, vendors and Playwright, headless shells first.
 * Returns -1 and sets *e: NOTFOUND, there is none; INVALID, a variable names a file that
 * cannot be run.
 */
static int browser_find(char *path, size_t n, struct err *e)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *v = getenv(variables[i]);
        if (!v || !v[0])
            continue;
        if (!runs(v) || strlen(v) >= n)
            return err_set(e, ERR_INVALID,
                           "%s names %.300s, which is not a program that can run",
                           variables[i], v);
        snprintf(path, n, "%s", v);
        return 0;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (places[i][0] == '@' ? find_in_caches(places[i], path, n) : runs(places[i])) {
            if (places[i][0] != '@')
                snprintf(path, n, "%s", places[i]);
            return 0;
        }
    }
    return err_set(e, ERR_NOTFOUND,
                   "there is no Chromium here: install the package chromium or "
                   "chromium-headless-shell, or name one in OD_BROWSER");
}

/* ---- starting ---- */

static const char *const flags[] = {
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-startup-window",
    "--window-size=1280,720",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-quic",
    "--disable-breakpad",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-back-forward-cache",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--force-color-profile=srgb",
    "--disable-features=Translate,MediaRouter,OptimizationHints,OverlayScrollbars,"
    "ExtendedOverlayScrollbars",
};
enum { FLAGS = sizeof(flags) / sizeof(*flags), ARGS_MAX = 32 };

/*
 * If addresses are denied, nothing bypasses the proxy: not even loopback, no names are
 * looked up (or prefetched for links), and WebRTC, which would send UDP, uses only the
 * proxy.
 */
static const char *const fenced[] = {
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
};
enum { FENCED = sizeof(fenced) / sizeof(*fenced) };

static bool small_shm(void)
{
    struct statvfs v;
    return statvfs("/dev/shm", &v) < 0 ||
           (uint64_t)v.f_bsize * v.f_bavail < (uint64_t)SHM_ENOUGH_MIB << 20;
}

static int make_dir(struct browser *b, struct err *e)
{
    const char *folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (!folders[i] || !folders[i][0])
            continue;
        snprintf(b->dir, sizeof(b->dir), "%s/od-browser.XXXXXX", folders[i]);
        if (mkdtemp(b->dir))
            return 0;
    }
    b->dir[0] = '\0';
    return err_sys(e, errno, "cannot make a folder for the browser's profile");
}

/* Waits until a process of that number has ended. Returns whether it has. */
static bool wait_for(pid_t pid)
{
    struct pollfd p = {pid > 0 ? sys_pidfd(pid) : -1, POLLIN, 0};
    if (p.fd < 0)
        return pid > 0 && errno == ESRCH;
    while (poll(&p, 1, POLITE_MS) < 0 && errno == EINTR)
        ;
    close(p.fd);
    return p.revents != 0;
}

/* Locks the profile. One whose browser is being closed is waited for. */
static bool lock_profile(int lock)
{
    struct flock whole = {.l_type = F_WRLCK}, other = whole;
    return fcntl(lock, F_SETLK, &whole) == 0 ||
           (fcntl(lock, F_GETLK, &other) == 0 &&
            (other.l_type == F_UNLCK || wait_for(other.l_pid)) &&
            fcntl(lock, F_SETLK, &whole) == 0);
}

/*
 * A Chromium whose host was killed ends by itself, and writes its profile then. Returns
 * whether none has the profile any more. Its lock is a link to HOST-PID.
 */
static bool is_left(int dir, const char *path)
{
    char to[300], line[4096], word[PATH_MAX + 24], file[40];
    ssize_t n = readlinkat(dir, "SingletonLock", to, sizeof(to) - 1);
    to[n > 0 ? n : 0] = '\0';
    const char *dash = strrchr(to, '-');
    int64_t pid;
    if (!dash || str_to_i64(str_of(dash + 1), &pid) < 0)
        return true;
    snprintf(file, sizeof(file), "/proc/%lld/cmdline", (long long)pid);
    snprintf(word, sizeof(word), "--user-data-dir=%s", path);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, line, sizeof(line)) : -1;
    if (fd >= 0)
        close(fd);
    bool has = n > 0 && memmem(line, (size_t)n, word, strlen(word) + 1);
    return !has || wait_for((pid_t)pid);
}

/* Takes a profile that is kept for this browser alone. The lock that a former Chromium
 * left there would keep it out on a machine of another name. */
static int take_profile(struct browser *b, const char *path, struct err *e)
{
    static const char *const left[] = {"SingletonLock", "SingletonCookie",
                                       "SingletonSocket"};
    char above[PATH_MAX];
    struct stat st = {0};
    const char *slash = strrchr(path, '/');
    if (slash && slash > path &&
        buf_fill(above, sizeof(above), "%.*s", (int)(slash - path), path))
        mkdir(above, 0700);
    mkdir(path, 0700);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid())
        b->profile = openat(dir, "od-lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                            0600);
    int why = errno, rc = -1;
    if (dir >= 0 && st.st_uid != geteuid())
        err_set(e, ERR_DENIED,
                "the browser's profile %.300s belongs to another user: choose another "
                "folder (--browse-profiles)",
                path);
    else if (b->profile < 0)
        err_sys(e, why, "cannot open the browser's profile %.300s", path);
    else if (!lock_profile(b->profile) || !is_left(dir, path))
        err_set(e, ERR_BUSY,
                "another browser uses the profile %.300s: close that, or choose another "
                "session or folder (--browse-profiles)",
                path);
    else
        rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(left) / sizeof(*left); i++)
        unlinkat(dir, left[i], 0);
    if (dir >= 0)
        close(dir);
    return rc;
}

static int open_words(const struct browser *b, int how)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/stderr", b->dir);
    return open(path, how | O_CLOEXEC, 0600);
}

/* The browser does not get our variables; its home is a folder of its own. */
static char **environment(const struct browser *b)
{
    size_t n = 0, at = 0;
    while (environ[n])
        n++;
    char **v = xcalloc(n + 2, sizeof(*v)), home[PATH_MAX + 8];
    for (size_t i = 0; i < n; i++) {
        struct str s = str_of(environ[i]);
        if (!str_starts(s, STR("OD_")) && !str_starts(s, STR("HOME=")) &&
            !str_starts(s, STR("XDG_")) && !str_starts(s, STR("SESSION_API_KEY=")))
            v[at++] = xstrdup(environ[i]);
    }
    snprintf(home, sizeof(home), "HOME=%s", b->dir);
    v[at] = xstrdup(home);
    return v;
}

/*
 * Appends the words of OD_BROWSE_ARGS, which text gets. A pipe and a profile of our own
 * are what the rest of this file stands on. Returns how many, or -1 and sets *e.
 */
static int add_args(char **argv, char *text, size_t size, struct err *e)
{
    const char *given = getenv("OD_BROWSE_ARGS");
    char *rest = NULL, *word;
    int n = 0;
    if (!given)
        return 0;
    if (!buf_fill(text, size, "%s", given))
        return err_set(e, ERR_LIMIT, "OD_BROWSE_ARGS has more than %zu bytes", size - 1);
    for (word = strtok_r(text, " \t\n", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest)) {
        struct str w = str_of(word);
        if (!str_starts(w, STR("--")) || str_starts(w, STR("--remote-debugging")) ||
            str_starts(w, STR("--user-data-dir")))
            return err_set(e, ERR_INVALID,
                           "cannot start the browser with %.100s (--browse-args, "
                           "OD_BROWSE_ARGS): options begin with --, and those of the "
                           "profile and of DevTools are ours; other programs drive it at "
                           "/devtools",
                           word);
        if (n == ARGS_MAX)
            return err_set(e, ERR_LIMIT, "OD_BROWSE_ARGS has more than %d options",
                           ARGS_MAX);
        argv[n++] = word;
    }
    return n;
}

/* The debugging pipe is descriptors 3 and 4; spawn gives 0 to 2. */
static char script[] = "exec \"$@\" 3<&0 4>&1 </dev/null >&2";

static int start(struct browser *b, const char *program, const char *kept, int in,
                 int out, int words, struct err *e)
{
    char profile[PATH_MAX + 24], proxy[64], trusted[128];
    char *argv[FLAGS + FENCED + ARGS_MAX + 12], **envp, more[4096];
    const char *authority = getenv("OD_FENCE_AUTHORITY"); /* secret/values.h */
    struct spawn_failure f = {0};
    int at = 0, report = -1;
    int args = add_args(argv + 5 + FLAGS, more, sizeof(more), e);
    if (args < 0)
        return -1;
    envp = environment(b);
    snprintf(profile, sizeof(profile), "--user-data-dir=%s", kept ? kept : b->dir);
    argv[at++] = (char *)"sh";
    argv[at++] = (char *)"-c";
    argv[at++] = script;
    argv[at++] = (char *)"sh";
    argv[at++] = (char *)program;
    for (int i = 0; i < FLAGS; i++)
        argv[at++] = (char *)flags[i];
    at += args; /* before ours, which hold */
    argv[at++] = profile;
    if (geteuid() == 0)
        argv[at++] = (char *)"--no-sandbox";
    if (small_shm())
        argv[at++] = (char *)"--disable-dev-shm-usage";
    snprintf(trusted, sizeof(trusted), "--ignore-certificate-errors-spki-list=%s",
             authority ? authority : "");
    if (authority)
        argv[at++] = trusted;
    snprintf(proxy, sizeof(proxy), "--proxy-server=socks5://127.0.0.1:%u", b->deny.port);
    if (b->deny.pid > 0)
        argv[at++] = proxy;
    for (int i = 0; i < FENCED && b->deny.pid > 0; i++)
        argv[at++] = (char *)fenced[i];
    argv[at] = NULL;
    struct spawn s = {
        .path = "/bin/sh", .argv = argv, .envp = envp, .fds = {in, out, words}};
    int r = spawn_start(&s, &b->pid, &report);
    if (r < 0)
        err_sys(e, errno, "cannot start the browser %s", program);
    else if (read(report, &f, sizeof(f)) == sizeof(f))
        r = err_sys(e, f.errnum, "cannot start the browser %s by /bin/sh", program);
    if (report >= 0)
        close(report);
    for (int i = 0; envp[i]; i++)
        free(envp[i]);
    free(envp);
    return r;
}

int browser_launch(struct browser *b, const struct browser_opts *o, struct err *e)
{
    char found[PATH_MAX];
    int to[2] = {-1, -1}, from[2] = {-1, -1}, words = -1, r = -1;
    if (!o->program && browser_find(found, sizeof(found), e) < 0)
        return -1;
    if (browser_deny_start(b, e) < 0 || make_dir(b, e) < 0 ||
        (o->profile && take_profile(b, o->profile, e) < 0))
        return -1;
    words = open_words(b, O_WRONLY | O_CREAT | O_APPEND);
    if (words < 0 || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        err_sys(e, errno, "cannot make the browser's pipes");
    else
        r = start(b, o->program ? o->program : found, o->profile, to[0], from[1], words,
                  e);
    if (r == 0) {
        b->cdp.from = from[0];
        b->cdp.to = to[1];
        from[0] = to[1] = -1;
    }
    int fds[] = {to[0], to[1], from[0], from[1], words};
    for (int i = 0; i < 5; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return r;
}

void browser_last_words(const struct browser *b, struct err *e)
{
    char bytes[LAST_WORDS], said[sizeof(e->text)];
    int fd = b->dir[0] ? open_words(b, O_RDONLY) : -1;
    if (fd < 0)
        return;
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, bytes, sizeof(bytes),
                      size > LAST_WORDS ? size - LAST_WORDS : 0);
    close(fd);
    struct str s = str_trim(str_n(bytes, n > 0 ? (size_t)n : 0));
    snprintf(said, sizeof(said), "%s", e->text);
    if (s.n > 0)
        err_set(e, e->code, "%.90s; its last output: %.*s", said, STR_ARG(s));
}

/* ---- ending ---- */

/* Closing its pipe makes the browser end; the rest of its process group is killed. */
void browser_end(struct browser *b)
{
    cdp_close(&b->cdp);
    browser_screen_end(b);
    if (b->pid > 0) {
        struct pollfd p = {sys_pidfd(b->pid), POLLIN, 0};
        if (p.fd >= 0) {
            while (poll(&p, 1, POLITE_MS) < 0 && errno == EINTR)
                ;
            close(p.fd);
        }
        kill(-b->pid, SIGKILL);
        while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        b->pid = 0;
    }
    browser_deny_end(b);
    if (b->dir[0])
        remove_tree(b->dir);
    b->dir[0] = '\0';
    if (b->profile >= 0)
        close(b->profile);
    b->profile = -1;
}
