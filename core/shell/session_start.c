/* SPDX-License-Identifier: MIT */
/*
 * A session's shell: its directory and files, its terminal or pipes, its start.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/file.h"
#include "os/null.h"
#include "os/pty.h"
#include "shell/process.h"
#include "shell/spare.h"
#include "shell/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* ---- files of the session's directory ---- */

static int make_dir(struct session *s, struct err *e);

/* The directory was removed under a live shell: makes what the shell opens again. */
static bool restore_dir(struct session *s)
{
    struct err e = ERR_INIT;
    struct stat st;
    if (!s->proc.keeper || lstat(s->sh.dir, &st) == 0 || make_dir(s, &e) < 0)
        return false;
    session_drop_records(s);
    if (session_put_file(s, "r", STR(""), &e) < 0 || session_make_fifo(s, "e") < 0)
        return false;
    session_reserve_records(s);
    return true;
}

/* Opens a file of the directory to be written. Returns -1 with errno. */
static int open_file(struct session *s, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EMFILE && s->en->spare >= 0) {
        /* No descriptor is left: uses the spare one, so that a command can still run. */
        close(s->en->spare);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        s->en->spare = -1;
    }
    if (fd < 0 && errno == ENOENT && restore_dir(s))
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd;
}

/* Writes all of it, and cuts off what is longer. Returns -1 with errno. */
static int write_file(struct session *s, const char *path, struct str text)
{
    struct stat st;
    int fd = open_file(s, path);
    if (fd < 0)
        return -1;
    if (s->uid != s->en->uid && fchown(fd, s->uid, s->gid) < 0)
        log_warn("session %s: cannot give %s to its user: %m", s->name, path);
    int r = file_write_all(fd, text);
    if (r == 0 && fstat(fd, &st) == 0 && st.st_size > (off_t)text.n)
        r = ftruncate(fd, (off_t)text.n);
    int errnum = errno;
    close(fd);
    errno = errnum;
    return r;
}

int session_put_file(struct session *s, const char *name, struct str text, struct err *e)
{
    char path[300];
    buf_fill(path, sizeof(path), "%s/%s", s->sh.dir, name);
    int r = write_file(s, path, text);
    if (r < 0 && spare_take(s->en, errno, name, path))
        r = write_file(s, path, text);
    if (r < 0)
        err_sys(e, errno, "cannot write %s", path);
    if (s->en->spare < 0)
        s->en->spare = open("/", O_PATH | O_CLOEXEC);
    return r;
}

int session_make_fifo(struct session *s, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", s->sh.dir, name);
    unlink(path);
    if (mkfifo(path, 0600) < 0 && !spare_take(s->en, errno, name, path))
        return -1;
    if (s->uid != s->en->uid && lchown(path, s->uid, s->gid) < 0)
        log_warn("session %s: cannot give %s to its user: %m", s->name, path);
    return 0;
}

static int make_dir(struct session *s, struct err *e)
{
    char path[256];
    if (!s->en->state_dir[0])
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot start a shell: no directory could be written for its "
                       "files; start it with serve --state-dir DIR");
    if (engine_state_folder(s->en, "s", 0711, path, sizeof(path), e) < 0)
        return -1;
    snprintf(s->sh.dir, sizeof(s->sh.dir), "%s/s/%s", s->en->state_dir, s->name);
    if (mkdir(s->sh.dir, 0700) < 0 && errno != EEXIST &&
        !spare_take(s->en, errno, NULL, s->sh.dir))
        return err_sys(e, errno, "cannot make %s", s->sh.dir);
    struct stat st;
    if (lstat(s->sh.dir, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(e, ERR_IO, "cannot use %s: it is not a directory", s->sh.dir);
    if (st.st_uid != s->uid && chown(s->sh.dir, s->uid, s->gid) < 0)
        return err_sys(e, errno, "cannot give %s to uid %u", s->sh.dir, (unsigned)s->uid);
    return 0;
}

/* ---- start ---- */

void session_name_tty(struct session *s, int master)
{
    int n;
    s->sh.tty[0] = 0;
    if (ioctl(master, TIOCGPTN, &n) == 0)
        snprintf(s->sh.tty, sizeof(s->sh.tty), "/dev/pts/%d", n);
}

void session_fail_queue(struct session *s, const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.queue) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_FAILED;
        op->r.err = *e;
        op_settle(op);
    }
    list_each (it, tmp, &s->tty.viewers) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_FAILED;
        op->r.err = *e;
        op->r.to = op->cursor;
        op_settle(op);
    }
}

static void close_some(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

/* The descriptors of a shell without a terminal: a pipe in, a FIFO out. */
static int open_pipes(struct session *s, struct keeper_client_spawn *sp, struct err *e)
{
    char path[300];
    int in[2];
    snprintf(path, sizeof(path), "%s/o", s->sh.dir);
    if (session_make_fifo(s, "o") < 0)
        return err_sys(e, errno, "cannot make %s", path);
    int out = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    int wr = out < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    if (wr < 0 || pipe2(in, O_CLOEXEC) < 0) {
        err_sys(e, errno, "cannot open pipes for a shell");
        close_some((int[]){out, wr}, 2);
        return -1;
    }
    sp->kind = KEEP_IN;
    sp->child[0] = in[0];
    sp->child[1] = sp->child[2] = wr;
    sp->in = in[1];
    sp->out[0] = out;
    return 0;
}

/* Removes what the previous shell wrote at its exit. */
static void remove_left(const struct session *s)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/x", s->sh.dir);
    unlink(path);
    path[strlen(path) - 1] = 't';
    unlink(path);
}

/*
 * Returns the environment of a new shell: the server's, that of --env, if `kept` is true
 * the variables of the previous shell, and ours. The caller frees the list; its strings
 * are in space.
 */
static char **make_env(struct session *s, struct str shell_env, bool kept,
                       struct buf *space)
{
    struct buf extra = BUF_INIT(SPAWN_ENV_MAX);
    buf_adds(&extra, buf_str(&s->given.env));
    if (kept)
        session_env_add(s, &extra);
    buf_addf(&extra, "OD_SESSION=%s", s->name);
    buf_addc(&extra, 0);
    buf_addf(&extra, "OD_SESSION_TAG=%s", s->sh.tag);
    buf_addc(&extra, 0);
    buf_addz(&extra, "OD_OP=");
    buf_addc(&extra, 0);
    /* A shell takes its directory by this name, which may lead through symbolic links. */
    buf_addf(&extra, "PWD=%s", s->report.cwd);
    buf_addc(&extra, 0);
    buf_adds(&extra, shell_env);
    buf_reset(space);
    char **env = engine_env(s->en, buf_str(&extra), space);
    BUG_ON(buf_full(&extra) || !env); /* of the maxima of its parts */
    buf_release(&extra);
    return env;
}

static int spawn_shell(struct session *s, struct err *e)
{
    struct engine *en = s->en;
    s->sh = (struct shell){.gen = 1,
                           .pty = true,
                           .no_null = !null_there(),
                           .same_env = s->sh.same_env};
    random_hex(s->sh.nonce, 8);
    random_hex(s->sh.tag, 8);
    if (shell_find(&s->sh, s->given.shell, env_get(en->env, "PATH"), s->report.cwd, e) <
            0 ||
        make_dir(s, e) < 0)
        return -1;

    struct keeper_client_spawn sp = {.cwd = s->report.cwd,
                                     .uid = s->uid,
                                     .gid = s->gid,
                                     .in = -1,
                                     .out = {-1, -1},
                                     .spool = {-1, -1},
                                     .child = {-1, -1, -1},
                                     .offset = s->scan.at};
    struct termios modes = session_termios(false);
    int fds[2];
    if (pty_open(fds, s->tty.rows, s->tty.cols, &modes, s->uid) == 0) {
        sp.kind = KEEP_PTY;
        sp.in = sp.out[0] = fds[0];
        sp.child[0] = fds[1];
        session_name_tty(s, fds[0]);
    } else {
        snprintf(s->start.pty_error, sizeof(s->start.pty_error), "%s", strerror(errno));
        s->sh.pty = false;
        if (open_pipes(s, &sp, e) < 0)
            return -1;
    }
    struct buf code = BUF_INIT(64 << 10), shell_env = BUF_INIT(1024);
    struct buf space = BUF_INIT(512), envs = BUF_INIT(SPAWN_ENV_MAX), key = BUF_INIT(128);
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    char *argv[8];
    int r = -1;
    shell_code(&code, &s->sh, s->gone.rerun ? s->run.seq - 1 : s->run.seq, true,
               s->start.rc == RC_READ);
    shell_argv(&s->sh, argv, &space, &shell_env);
    BUG_ON(buf_full(&code) || buf_full(&space) || buf_full(&shell_env));
    char **env = make_env(s, buf_str(&shell_env), true, &envs);
    if (s->env.vars.n && !session_env_fits(s, env)) {
        free(env);
        env = make_env(s, buf_str(&shell_env), false, &envs);
    }
    sp.spool_bytes = s->proc.keeper ? session_out(s)->cap : process_spool_room(en, false);
    bool handed = false;
    if (session_put_file(s, "p", buf_str(&code), e) < 0 ||
        session_put_file(s, "r", STR(""), e) < 0 ||
        (s->sh.no_null && session_put_file(s, "n", STR(""), e) < 0))
        goto out;
    session_drop_records(s);
    session_reserve_records(s);
    session_make_fifo(s, "e");
    remove_left(s);
    /* The spool goes on over shells: one file, one count of bytes. */
    if (s->proc.keeper) {
        sp.spool[0] = fcntl(s->proc.spool[0], F_DUPFD_CLOEXEC, 3);
        keeper_client_forget(&s->proc);
    } else {
        char file[96];
        snprintf(file, sizeof(file), "session-%s", s->name);
        sp.spool[0] = spool_new(en, file, &sp.spool_bytes, e);
        snprintf(file, sizeof(file), TIMES_FILE, s->name);
        times_close(&s->times);
        times_open(&s->times, en, file, true, 0, s->tty.rows, s->tty.cols);
    }
    if (sp.spool[0] < 0)
        goto out;
    session_to(s, SESSION_STARTING);
    s->start.tries++;
    s->start.born = s->scan.at;
    session_nothing_to_repair(s);
    session_first_path(s);
    s->proc.r.id = keeper_client_next_id(en->keeper);
    session_key_name(s, &key);
    sp.key = buf_str(&key);
    session_pack(s, &state);
    sp.value = buf_str(&state);
    sp.program = s->sh.path;
    sp.argv = argv;
    sp.envp = env;
    s->proc.changed = session_changed;
    handed = true;
    r = keeper_client_spawn(en->keeper, &s->proc, &sp, e);
    if (r == 0 && !s->sh.pty) /* it does not read our code by itself */
        session_say(s, LINE_SOURCE);
    session_limit_start(s);
out:
    for (int i = 0; i < 3; i++) {
        if (sp.child[i] >= 0 && (i == 0 || sp.child[i] != sp.child[i - 1]))
            close(sp.child[i]);
    }
    if (!handed)
        close_some((int[]){sp.in, sp.kind == KEEP_PTY ? -1 : sp.out[0], sp.spool[0]}, 3);
    if (r < 0 && !s->proc.keeper && sp.kind == KEEP_PTY)
        session_to(s, SESSION_NONE);
    free(env);
    buf_release(&code);
    buf_release(&shell_env);
    buf_release(&space);
    buf_release(&envs);
    buf_release(&key);
    buf_release(&state);
    return r;
}

void session_start(struct session *s)
{
    struct err e = ERR_INIT;
    struct stat st;
    if (stat(s->report.cwd, &st) < 0 || !S_ISDIR(st.st_mode)) {
        /* A fresh shell after the directory vanished starts above it. */
        int why = errno;
        if (s->run.seq == 0) {
            if (why == 0 || stat(s->report.cwd, &st) == 0)
                err_set(&e, ERR_INVALID, "cannot start a shell in %s: not a directory",
                        s->report.cwd);
            else
                err_sys(&e, why, "cannot start a shell in %s", s->report.cwd);
            session_fail_queue(s, &e);
            return;
        }
        char text[300];
        snprintf(text, sizeof(text), "the directory %.200s is gone; the shell is in /",
                 s->report.cwd);
        session_notify(&s->run.queue, NOTE_CWD, text);
        session_set_cwd(s, STR("/"));
    }
    if (spawn_shell(s, &e) < 0) {
        session_to(s, SESSION_NONE);
        session_fail_queue(s, &e);
    }
}

/* The rc file in which the shell is: our code writes the file t before the user's. */
static const char *slow_file(const struct session *s)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "%s/t", s->sh.dir);
    if (s->sh.kind == SHELL_POSIX)
        return "the file that ENV names";
    return lstat(path, &st) == 0 ? "~/.bashrc"
                                 : "a file of the system, as /etc/bash.bashrc";
}

/* The shell came to no prompt in time: ends it. Rc files are left out the next time. */
static void on_start_limit(struct timer *t)
{
    struct session *s = container_of(t, struct session, start.limit);
    struct reaper_request q = {
        .verb = REAPER_SIGNAL_TREE, .pid = s->proc.r.pid, .sig = SIGKILL, .root = 1};
    log_warn("session %s: %s came to no prompt within %d ms%s", s->name, s->sh.path,
             LIMIT_START_MS,
             s->start.rc == RC_READ ? "; starting it without rc files" : "");
    s->start.late = true;
    if (s->start.rc == RC_READ)
        s->start.slow = slow_file(s);
    if (s->proc.r.flags & KEEP_P_STARTED)
        keeper_client_ask(s->en->keeper, s->uid, s->gid, &q, NULL, NULL);
}

void session_limit_start(struct session *s)
{
    s->start.late = false;
    timer_begin(s->en->loop, &s->start.limit, LIMIT_START_MS, on_start_limit);
}

void session_no_start_limit(struct session *s) { timer_stop(&s->start.limit); }

void session_started(struct session *s)
{
    session_no_start_limit(s);
    s->start.lived = true;
}

void session_first_try(struct session *s) { s->start.tries = 0; }

void session_leave_rc(struct session *s)
{
    if (s->start.rc == RC_READ)
        s->start.rc = RC_LEFT_OUT;
}

void session_rc_told(struct session *s)
{
    if (s->start.rc == RC_LEFT_OUT)
        s->start.rc = RC_NONE;
}

/* ---- another generation of our code ---- */

void session_next_code(struct session *s)
{
    struct buf code = BUF_INIT(64 << 10);
    struct err e = ERR_INIT;
    s->sh.gen++;
    shell_code(&code, &s->sh,
               s->run.seq > 0 && !s->cmd.started ? s->run.seq - 1 : s->run.seq, false,
               false);
    if (session_put_file(s, "p", buf_str(&code), &e) < 0)
        log_warn("session %s: %s", s->name, e.text);
    buf_release(&code);
}
