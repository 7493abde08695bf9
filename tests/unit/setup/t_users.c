/* SPDX-License-Identifier: MIT */
/* Users and working directories, made below a root of our own. */
#include "setup/users.h"

#include "t.h"

#include "base/log.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>

#define NEEDS_ROOT \
    do { \
        if (geteuid() != 0) \
            T_SKIP("root only: it makes files of other users"); \
    } while (0)

static const char debian_passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
                                    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                                    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
static const char debian_group[] = "root:x:0:\nsudo:x:27:\nstaff:x:50:alice\n";

/* A path below our root; four live at a time. */
static const char *in(const char *path)
{
    static char space[4][600];
    static int i;
    i = (i + 1) % 4;
    snprintf(space[i], sizeof(space[i]), "%s%s", t_dir(), path);
    return space[i];
}

static void put(const char *path, const char *text, mode_t mode)
{
    char dirs[600];
    snprintf(dirs, sizeof(dirs), "%s", in(path));
    for (char *p = dirs + strlen(t_dir()) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(dirs, 0755);
        *p = '/';
    }
    int fd = open(in(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        fchmod(fd, mode) < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    close(fd);
}

/* The content; "(none)" when there is no such file. */
static const char *get(const char *path)
{
    static char text[4][8192];
    static int i;
    i = (i + 1) % 4;
    int fd = open(in(path), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text[i], sizeof(text[i]) - 1);
    if (fd >= 0)
        close(fd);
    text[i][n > 0 ? n : 0] = 0;
    return n < 0 ? "(none)" : text[i];
}

static bool is_there(const char *path) { return access(in(path), F_OK) == 0; }

/* "MODE UID GID" of what is there. */
static const char *owner(const char *path)
{
    static char text[4][64];
    static int i;
    struct stat st;
    i = (i + 1) % 4;
    if (lstat(in(path), &st) < 0)
        return "(none)";
    snprintf(text[i], sizeof(text[i]), "%o %u %u", st.st_mode & 07777, (unsigned)st.st_uid,
             (unsigned)st.st_gid);
    return text[i];
}

static ino_t inode(const char *path)
{
    struct stat st;
    return lstat(in(path), &st) < 0 ? 0 : st.st_ino;
}

static void debian(void)
{
    put("/etc/passwd", debian_passwd, 0644);
    put("/etc/group", debian_group, 0644);
    put("/etc/shadow", "root:*:19000:0:99999:7:::\n", 0640);
    CHECK_INT(chown(in("/etc/shadow"), 0, 42), 0);
    put("/etc/sudoers", "root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n", 0440);
    put("/etc/skel/.bashrc", "# rc\n", 0644);
    put("/etc/skel/.config/x/y", "deep\n", 0600);
    CHECK_INT(symlink("/nowhere", in("/etc/skel/link")), 0);
    put("/bin/bash", "", 0755);
    put("/usr/bin/sudo", "", 04755);
}

static struct user prepared(const char *name, uid_t uid, const char *dir)
{
    struct user u;
    struct err e = ERR_INIT;
    struct users_spec spec = {.root = t_dir(), .name = name, .uid = uid, .dir = dir};
    if (users_prepare(&spec, &u, &e) < 0)
        T_FAIL("%s", e.text);
    return u;
}

/* ---- making ---- */

TEST(a_user_of_a_debian_image)
{
    NEEDS_ROOT;
    debian();
    struct user u = prepared("openhands", 1000, NULL);
    CHECK_INT(u.uid, 1000);
    CHECK_INT(u.gid, 0);
    CHECK(u.listed);
    CHECK_STR(u.home, "/home/openhands");
    CHECK_STR(u.shell, "/bin/bash");
    char wanted[1000];
    snprintf(wanted, sizeof(wanted), "%s%s", debian_passwd,
             "openhands:x:1000:0::/home/openhands:/bin/bash\n");
    CHECK_STR(get("/etc/passwd"), wanted);
    CHECK_STR(get("/etc/group"), "root:x:0:\nsudo:x:27:openhands\nstaff:x:50:alice\n");
    snprintf(wanted, sizeof(wanted), "root:*:19000:0:99999:7:::\nopenhands:!:%ld:0:99999:7:::\n",
             (long)(time(NULL) / 86400));
    CHECK_STR(get("/etc/shadow"), wanted);
    CHECK_STR(owner("/etc/passwd"), "644 0 0");
    CHECK_STR(owner("/etc/shadow"), "640 0 42");
    CHECK_STR(get("/etc/sudoers.d/od-openhands"), "openhands ALL=(ALL) NOPASSWD:ALL\n");
    CHECK_STR(owner("/etc/sudoers.d/od-openhands"), "440 0 0");
    CHECK_STR(get("/etc/sudoers"), "root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n");
    CHECK_STR(owner("/home/openhands"), "755 1000 0");
    CHECK_STR(get("/home/openhands/.bashrc"), "# rc\n");
    CHECK_STR(owner("/home/openhands/.bashrc"), "644 1000 0");
    CHECK_STR(owner("/home/openhands/.config/x"), "755 1000 0");
    CHECK_STR(owner("/home/openhands/.config/x/y"), "600 1000 0");
    CHECK_STR(owner("/home/openhands/link"), "777 1000 0");
    CHECK(!is_there("/etc/passwd.od-new") && !is_there("/home/openhands.od-new"));
}

TEST(again_changes_nothing)
{
    NEEDS_ROOT;
    debian();
    prepared("openhands", 1000, NULL);
    static const char *const files[] = {"/etc/passwd", "/etc/group", "/etc/shadow",
                                        "/etc/sudoers.d/od-openhands", "/home/openhands"};
    ino_t before[5];
    for (int i = 0; i < 5; i++)
        before[i] = inode(files[i]);
    put("/home/openhands/.bashrc", "# theirs\n", 0644);
    struct user u = prepared("openhands", 1000, NULL);
    CHECK_INT(u.uid, 1000);
    CHECK(u.listed);
    for (int i = 0; i < 5; i++)
        CHECK_INT(inode(files[i]), before[i]);
    CHECK_STR(get("/home/openhands/.bashrc"), "# theirs\n");
}

TEST(an_image_with_nothing)
{
    NEEDS_ROOT;
    struct user u = prepared("agent_1", 2000, "/workspace");
    CHECK(u.listed);
    CHECK_STR(u.shell, "/bin/sh");
    CHECK_STR(get("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n"
                                  "agent_1:!:2000:0::/home/agent_1:/bin/sh\n");
    CHECK_STR(get("/etc/group"), "root:x:0:\n");
    CHECK_STR(owner("/etc/passwd"), "644 0 0");
    CHECK(!is_there("/etc/shadow") && !is_there("/etc/sudoers") && !is_there("/etc/sudoers.d"));
    CHECK_STR(owner("/home/agent_1"), "755 2000 0");
    CHECK_STR(owner("/workspace"), "775 2000 0");
}

TEST(files_that_do_not_end_in_a_newline)
{
    NEEDS_ROOT;
    put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh", 0600);
    put("/etc/shadow", "root:*:1::::::", 0400);
    put("/etc/group", "root:x:0:\nsudo:x:27:a,openhandsx", 0644);
    prepared("openhands", 1000, NULL);
    CHECK_STR(get("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n"
                                  "openhands:x:1000:0::/home/openhands:/bin/sh\n");
    CHECK_STR(owner("/etc/passwd"), "600 0 0");
    CHECK(strstr(get("/etc/shadow"), "root:*:1::::::\nopenhands:!:"));
    CHECK_STR(get("/etc/group"), "root:x:0:\nsudo:x:27:a,openhandsx,openhands\n");
}

TEST(one_who_is_there_is_left_as_he_is)
{
    NEEDS_ROOT;
    debian();
    put("/etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\nopenhands:x:1234:99:x:/srv/o:/bin/zsh\n", 0644);
    static char said[4096];
    ino_t group = inode("/etc/group"), passwd = inode("/etc/passwd");
    log_init("test", open(in("/log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), LOG_DEBUG, false);
    struct user u = prepared("openhands", 1000, NULL);
    CHECK_INT(u.uid, 1234);
    CHECK_INT(u.gid, 99);
    CHECK(u.listed);
    CHECK_STR(u.home, "/srv/o");
    CHECK_STR(u.shell, "/bin/zsh");
    snprintf(said, sizeof(said), "%s", get("/log"));
    CHECK(strstr(said, "uid 1234") && strstr(said, "--user-id 1000"));
    CHECK(inode("/etc/group") == group && inode("/etc/passwd") == passwd);
    CHECK(!is_there("/etc/sudoers.d") && !is_there("/home"));
}

TEST(a_uid_that_has_a_name_gets_another)
{
    NEEDS_ROOT;
    put("/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\nz:x:9:9:::\n",
        0644);
    prepared("openhands", 1000, NULL);
    CHECK_STR(get("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n"
                                  "openhands:!:1000:0::/home/openhands:/bin/sh\n"
                                  "ubuntu:x:1000:1000::/home/ubuntu:/bin/sh\nz:x:9:9:::\n");
    /* But uid 0 stays root to who asks. */
    prepared("boss", 0, NULL);
    CHECK(strncmp(get("/etc/passwd"), "root:x:0:0:", 11) == 0);
    CHECK(strstr(get("/etc/passwd"), "\nboss:!:0:0:"));
}

TEST(root_needs_nothing)
{
    NEEDS_ROOT;
    debian();
    ino_t passwd = inode("/etc/passwd");
    struct user u = prepared("root", 0, "/workspace");
    CHECK_INT(u.uid, 0);
    CHECK_STR(u.home, "/root");
    CHECK(inode("/etc/passwd") == passwd);
    CHECK(!is_there("/etc/sudoers.d"));
    CHECK_STR(owner("/workspace"), "775 0 0");
    put("/etc/passwd", "", 0644);
    u = prepared("root", 0, NULL);
    CHECK_INT(u.uid, 0);
    CHECK_STR(u.home, "/root");
    CHECK_STR(get("/etc/passwd"), "");
}

TEST(names_that_are_none)
{
    static const char *const names[] = {"Bob", "a b", "a:b", "1a", "-a", "a\nb", "a/b", ".", "a.b",
                                        "\303\251", "a$", "abcdefghijklmnopqrstuvwxyz1234567"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct user u;
        struct err e = ERR_INIT;
        struct users_spec spec = {.root = t_dir(), .name = names[i], .uid = 1000, .dir = "/d"};
        if (users_prepare(&spec, &u, &e) == 0)
            T_FAIL("\"%s\" was taken", names[i]);
        CHECK_INT(e.code, ERR_INVALID);
        CHECK(strstr(e.text, "--username"));
    }
    CHECK(!is_there("/etc") && !is_there("/home") && !is_there("/d"));
    prepared("_abcdefghijklmnopqrstuvwxyz-1234", 1000, NULL);
    prepared("", 1000, NULL);
    prepared(NULL, 1000, NULL);
}

/* ---- sudo ---- */

static const char sudo_line[] = "openhands ALL=(ALL) NOPASSWD:ALL\n";

static void sudoers(const char *text)
{
    put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0644);
    put("/etc/sudoers", text, 0440);
    put("/usr/bin/sudo", "", 04755);
    prepared("openhands", 1000, NULL);
}

TEST(sudo_without_a_folder_of_its_own)
{
    NEEDS_ROOT;
    sudoers("# @includedir /etc/sudoers.d is not said\nroot ALL=(ALL) ALL");
    CHECK_STR(get("/etc/sudoers"), "# @includedir /etc/sudoers.d is not said\n"
                                   "root ALL=(ALL) ALL\nopenhands ALL=(ALL) NOPASSWD:ALL\n");
    CHECK_STR(owner("/etc/sudoers"), "440 0 0");
    CHECK(!is_there("/etc/sudoers.d"));
    /* As after a crash before passwd was written. */
    put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0644);
    prepared("openhands", 1000, NULL);
    const char *first = strstr(get("/etc/sudoers"), sudo_line);
    CHECK(first && !strstr(first + 1, sudo_line));
}

TEST(sudo_after_a_line_that_goes_on)
{
    NEEDS_ROOT;
    sudoers("root ALL=(ALL) \\\n");
    CHECK_STR(get("/etc/sudoers"),
              "root ALL=(ALL) \\\n\nopenhands ALL=(ALL) NOPASSWD:ALL\n");
}

TEST(sudo_with_its_folder_in_the_older_words)
{
    NEEDS_ROOT;
    sudoers("  #includedir\t/etc/sudoers.d/ \n");
    CHECK_STR(get("/etc/sudoers.d/od-openhands"), sudo_line);
}

TEST(sudo_without_sudoers)
{
    NEEDS_ROOT;
    put("/usr/bin/sudo", "", 04755);
    prepared("openhands", 1000, NULL);
    CHECK_STR(get("/etc/sudoers"), sudo_line);
    CHECK_STR(owner("/etc/sudoers"), "440 0 0");
}

/* ---- what refuses ---- */

/* A read-only file system over the folder, for this case only. */
static void make_read_only(const char *path)
{
    mkdir(in(path), 0755);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", in(path), "tmpfs", MS_RDONLY, NULL) < 0)
        T_SKIP("not allowed to mount");
}

TEST(a_read_only_etc)
{
    NEEDS_ROOT;
    mkdir(in("/tmp"), 01777);
    make_read_only("/etc");
    log_init("test", open(in("/log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), LOG_DEBUG, false);
    struct user u = prepared("openhands", 1000, "/workspace");
    CHECK_INT(u.uid, 1000);
    CHECK_INT(u.gid, 0);
    CHECK(!u.listed);
    CHECK_STR(u.name, "openhands");
    CHECK_STR(u.home, "/tmp/home-openhands");
    CHECK_STR(owner("/tmp/home-openhands"), "700 1000 0");
    CHECK_STR(owner("/workspace"), "775 1000 0");
    CHECK(strstr(get("/log"), "Read-only file system") && strstr(get("/log"), "uid 1000"));
    u = prepared("openhands", 1000, "/workspace");
    CHECK_STR(u.home, "/tmp/home-openhands");
}

TEST(a_read_only_home)
{
    NEEDS_ROOT;
    debian();
    mkdir(in("/tmp"), 01777);
    make_read_only("/home");
    struct user u = prepared("openhands", 1000, NULL);
    CHECK(u.listed);
    CHECK_STR(u.home, "/tmp/home-openhands");
    CHECK(strstr(get("/etc/passwd"), "openhands:x:1000:0::/tmp/home-openhands:/bin/bash\n"));
}

TEST(a_mount_that_refuses_the_directory)
{
    NEEDS_ROOT;
    make_read_only("/workspace");
    struct user u = prepared("openhands", 1000, "/workspace");
    CHECK(u.listed);
    CHECK_STR(owner("/workspace"), "1777 0 0");
}

TEST(nowhere_at_all_for_a_home)
{
    NEEDS_ROOT;
    put("/tmp/home-openhands", "a file", 0600);
    make_read_only("/etc");
    CHECK_STR(prepared("openhands", 1000, NULL).home, "/tmp");
}

TEST(homes_that_are_there)
{
    NEEDS_ROOT;
    debian();
    put("/home/openhands/kept", "kept", 0600);
    put("/home/other", "no directory", 0600);
    put("/home/third/kept", "kept", 0600);
    CHECK_INT(chown(in("/home/third"), 77, 77), 0);
    mkdir(in("/tmp"), 01777);
    CHECK_STR(prepared("openhands", 1000, NULL).home, "/home/openhands");
    CHECK_STR(owner("/home/openhands"), "755 1000 0");
    CHECK_STR(owner("/home/openhands/kept"), "600 0 0");
    CHECK(!is_there("/home/openhands/.bashrc"));
    CHECK_STR(prepared("other", 1001, NULL).home, "/tmp/home-other");
    CHECK_STR(prepared("third", 1002, NULL).home, "/tmp/home-third");
    CHECK_STR(owner("/home/third"), "755 77 77");
    CHECK_STR(get("/tmp/home-third/.bashrc"), "# rc\n");
}

TEST(a_half_made_home_of_before_is_finished)
{
    NEEDS_ROOT;
    debian();
    put("/home/openhands.od-new/.bashrc", "# ha", 0600);
    prepared("openhands", 1000, NULL);
    CHECK_STR(get("/home/openhands/.bashrc"), "# rc\n");
    CHECK_STR(get("/home/openhands/.config/x/y"), "deep\n");
    /* One that somebody else put there is not taken. */
    put("/home/x.od-new/.bashrc", "evil", 0600);
    mkdir(in("/tmp"), 01777);
    CHECK_INT(chown(in("/home/x.od-new"), 77, 77), 0);
    CHECK_STR(prepared("x", 1001, NULL).home, "/tmp/home-x");
}

TEST(a_skel_without_an_end)
{
    NEEDS_ROOT;
    debian();
    char path[64];
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof(path), "/etc/skel/f%d", i);
        put(path, "x", 0644);
    }
    log_init("test", open(in("/log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), LOG_DEBUG, false);
    struct user u = prepared("openhands", 1000, NULL);
    CHECK(u.listed);
    CHECK_STR(owner("/home/openhands"), "755 1000 0");
    CHECK(strstr(get("/log"), "not all of /etc/skel") && strstr(get("/log"), "too long"));
}

TEST(without_being_root)
{
    if (geteuid() == 0) {
        debian();
        CHECK_INT(chown(t_dir(), 12345, 12345), 0);
        CHECK_INT(setgid(12345), 0);
        CHECK_INT(setuid(12345), 0);
    }
    struct user u = prepared("openhands", 1000, "/workspace");
    CHECK_INT(u.uid, geteuid());
    CHECK_INT(u.gid, getegid());
    CHECK(!u.listed);
    CHECK_STR(u.name, "");
    CHECK(!is_there("/home") && !strstr(get("/etc/passwd"), "openhands"));
    CHECK(is_there("/workspace"));
}

/* ---- the directory ---- */

TEST(a_directory_is_given_and_not_what_is_in_it)
{
    NEEDS_ROOT;
    debian();
    put("/w/deep/file", "x", 0600);
    CHECK_INT(chmod(in("/w"), 0700), 0);
    struct user u;
    struct err e = ERR_INIT;
    struct users_spec spec = {
        .root = t_dir(), .name = "openhands", .uid = 1000, .group = "staff", .dir = "/w"};
    CHECK_INT(users_prepare(&spec, &u, &e), 0);
    CHECK_STR(owner("/w"), "760 1000 50");
    CHECK_STR(owner("/w/deep"), "755 0 0");
    CHECK_STR(owner("/w/deep/file"), "600 0 0");
    spec.group = "4711";
    CHECK_INT(users_prepare(&spec, NULL, &e), 0);
    CHECK_STR(owner("/w"), "760 1000 4711");
    spec.group = "nobodys";
    CHECK_INT(users_prepare(&spec, NULL, &e), 0);
    CHECK_STR(owner("/w"), "760 1000 0");
}

TEST(a_shared_directory_stays_shared)
{
    NEEDS_ROOT;
    mkdir(in("/tmp"), 0755);
    CHECK_INT(chmod(in("/tmp"), 01777), 0);
    prepared("openhands", 1000, "/tmp");
    CHECK_STR(owner("/tmp"), "1777 0 0");
}

TEST(a_directory_that_cannot_be_made)
{
    struct err e = ERR_INIT;
    put("/file", "", 0644);
    struct users_spec spec = {.root = t_dir(), .dir = "/file/below/it"};
    CHECK_INT(users_prepare(&spec, NULL, &e), -1);
    CHECK(strstr(e.text, "/file/below/it") && strstr(e.text, "Not a directory"));
    spec.dir = "/file";
    CHECK_INT(users_prepare(&spec, NULL, &e), -1);
}

/* ---- at once, and cut short ---- */

static int lines_of(const char *text, const char *start)
{
    int n = 0;
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        n += strncmp(p, start, strlen(start)) == 0;
    return n;
}

TEST(servers_that_start_at_once)
{
    NEEDS_ROOT;
    enum { SERVERS = 12 };
    pid_t pids[SERVERS];
    debian();
    for (int i = 0; i < SERVERS; i++) {
        if ((pids[i] = t_fork()) == 0) {
            char name[16];
            snprintf(name, sizeof(name), "user-%d", i / 3); /* three for each of four */
            prepared(name, (uid_t)(1000 + i / 3), NULL);
            _exit(0);
        }
    }
    for (int i = 0; i < SERVERS; i++)
        CHECK_INT(t_reap(pids[i]), 0);
    for (int i = 0; i < 4; i++) {
        char start[32], line[64];
        snprintf(start, sizeof(start), "user-%d:", i);
        CHECK_INT(lines_of(get("/etc/passwd"), start), 1);
        CHECK_INT(lines_of(get("/etc/shadow"), start), 1);
        snprintf(line, sizeof(line), "/etc/sudoers.d/od-user-%d", i);
        CHECK(is_there(line));
    }
    CHECK_INT(lines_of(get("/etc/passwd"), ""), 3 + 4);
}

TEST(a_server_that_is_killed_at_any_instant)
{
    NEEDS_ROOT;
    debian();
    int full = 0;
    for (int i = 0; i < 200; i++) {
        put("/etc/passwd", debian_passwd, 0644);
        pid_t pid = t_fork();
        if (pid == 0) {
            prepared("openhands", 1000, "/workspace");
            _exit(0);
        }
        struct timespec some = {0, i * 10000};
        nanosleep(&some, NULL);
        kill(pid, SIGKILL);
        t_reap(pid);
        const char *passwd = get("/etc/passwd");
        CHECK(strncmp(passwd, debian_passwd, strlen(debian_passwd)) == 0);
        CHECK(passwd[strlen(passwd) - 1] == '\n');
        CHECK_INT(lines_of(get("/etc/group"), "root:x:0:"), 1);
        if (!strstr(passwd, "openhands"))
            continue;
        full++; /* who is in passwd has everything else */
        CHECK_STR(get("/etc/sudoers.d/od-openhands"), sudo_line);
        CHECK_STR(get("/home/openhands/.config/x/y"), "deep\n");
        CHECK_INT(lines_of(get("/etc/shadow"), "openhands:!"), 1);
        CHECK(strstr(get("/etc/group"), "sudo:x:27:openhands\n"));
    }
    printf("# %d of 200 got to the end\n", full);
    put("/etc/passwd", debian_passwd, 0644);
    CHECK(prepared("openhands", 1000, NULL).listed);
    CHECK_INT(lines_of(get("/etc/shadow"), "openhands:!"), 1);
    CHECK(!is_there("/etc/passwd.od-new"));
}

TEST(a_lock_that_somebody_keeps)
{
    NEEDS_ROOT;
    debian();
    int fd = open(t_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(flock(fd, LOCK_EX), 0);
    CHECK(prepared("openhands", 1000, NULL).listed);
    CHECK(strstr(get("/etc/passwd"), "openhands"));
}

T_MAIN
