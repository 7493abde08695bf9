/* SPDX-License-Identifier: MIT */
/* Commands that run shell commands or other commands, and channels. */
#include "front/tmux/cmds.h"

#include "base/xalloc.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/source.h"
#include "front/tmux/spawn.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"
#include "os/file.h"
#include "shell/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOB_OUT = 8 << 20 };

/* ---- jobs ---- */

/* A shell command of run-shell or if-shell. */
struct shell_job {
    struct tmux *t;
    struct tm_item *it; /* that waits for it; NULL: none does, or it is gone */
    struct op *op;
    struct buf out;
    bool condition, has_client;
    char *command, *yes, *no; /* owned */
};

static void job_free(struct shell_job *j)
{
    buf_release(&j->out);
    free(j->command);
    free(j->yes);
    free(j->no);
    free(j);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct shell_job *j = op->owner;
    (void)stream;
    (void)offset;
    if (buf_room(&j->out) >= bytes.n)
        buf_adds(&j->out, bytes);
    return bytes.n;
}

/* The branch of if-shell is done in the place of the command, and where the command is:
 * its -t is for formats alone. */
static enum tm_result branch(struct tmux *t, struct tm_item *it, const char *text)
{
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    const struct tm_place *at = it ? &it->current : NULL;
    int r = text ? tm_run_text(t, it, str_of(text), NULL, at, &why) : 0;
    if (r < 0 && it)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r < 0 ? TM_ERROR : TM_DONE;
}

static void put_job_output(struct tm_item *it, struct shell_job *j, int status, int signo)
{
    struct str rest = buf_str(&j->out);
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        tm_print(it, "%.*s", STR_ARG(line));
    }
    if (signo)
        tm_print(it, "'%s' terminated by signal %d", j->command, signo);
    else if (status)
        tm_print(it, "'%s' returned %d", j->command, status);
    if (it->c->exit == 0)
        it->c->exit = signo ? signo + 128 : status;
}

static void on_done(struct op *op)
{
    struct shell_job *j = op->owner;
    struct tm_item *it = j->it;
    int status = op->r.state == OP_ENDED ? op->r.exit : 127;
    int signo = op->r.state == OP_ENDED ? op->r.signo : 0;
    j->op = NULL;
    if (op->r.err.code == ERR_CANCELLED) {
        if (it)
            it->state = NULL;
        job_free(j);
        return;
    }
    enum tm_result r = TM_DONE;
    if (j->condition)
        r = branch(j->t, it, status == 0 && !signo ? j->yes : j->no);
    else if (it)
        put_job_output(it, j, status, signo);
    if (it) {
        it->state = NULL;
        tm_go_on(it, r);
    }
    job_free(j);
}

static void job_left(struct tm_item *it)
{
    struct shell_job *j = it->state;
    if (j)
        j->it = NULL;
    it->state = NULL;
}

static void job_variables(struct tmux *t, const struct tm_session *s, struct buf *out)
{
    struct env all = {0};
    char value[400];
    env_copy(&all, &t->env);
    if (s)
        env_copy(&all, &s->env);
    snprintf(value, sizeof(value), "%s,%ld,%ld", t->socket, (long)getppid(),
             s ? (long)s->id : -1L);
    env_set(&all, STR("TMUX"), str_of(value), false);
    env_put(&all, out);
    env_release(&all);
}

/* Begins it. Returns NULL after an error message. */
static struct shell_job *job_begin(struct tm_item *it, const char *command,
                                   bool background)
{
    static const struct op_sink sink = {.output = on_output, .done = on_done};
    struct tmux *t = it->c->t;
    char call[LIMIT_ID + 1];
    const char *shell = "/bin/sh", *argv[] = {"sh", "-c", command, NULL};
    struct buf vars = BUF_INIT(LIMIT_SPAWN_MAX);
    struct err e = ERR_INIT;
    job_variables(t, it->target.s, &vars);
    tm_call_id(it, call);
    struct process_opts o = {.cwd = str_of(spawn_cwd(it->c, it->target.s)),
                             .env = buf_str(&vars),
                             .env_only = true,
                             .argv = (char *const *)(uintptr_t)argv,
                             .program = shell,
                             .call = call,
                             .merge = true};
    struct process *proc = process_by_call(t->en, call);
    if (!proc)
        proc = process_start(t->en, &o, &e);
    buf_release(&vars);
    if (!proc) {
        tm_fail(it, "failed to run command: %s", command);
        return NULL;
    }
    struct shell_job *j = xnew(struct shell_job);
    j->t = t;
    j->command = xstrdup(command);
    j->out = (struct buf)BUF_INIT(JOB_OUT);
    struct op *op = op_new(OP_WAIT, &sink, j);
    op->stream = op->caller = true;
    op->limit = UINT64_MAX;
    op->cursor_err = UINT64_MAX;
    j->op = op;
    if (!background) {
        j->it = it;
        it->state = j;
        it->drop = job_left;
    }
    process_wait(proc, op);
    return j;
}

enum tm_result cmd_if_shell(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    char *text = tm_expand(it, a->word[0], &it->target);
    const char *no = a->words > 2 ? a->word[2] : NULL;
    enum tm_result r = TM_WAIT;
    if (args_has(a, 'F')) {
        r = branch(it->c->t, it, vars_true(str_of(text)) ? a->word[1] : no);
    } else {
        bool back = args_has(a, 'b');
        struct shell_job *j = job_begin(it, text, back);
        if (j) {
            j->condition = true;
            j->yes = xstrdup(a->word[1]);
            j->no = no ? xstrdup(no) : NULL;
        }
        r = !j ? TM_ERROR : back ? TM_DONE : TM_WAIT;
    }
    free(text);
    return r;
}

static enum tm_result run_now(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    bool back = args_has(a, 'b');
    char *text = a->words > 0 ? tm_expand(it, a->word[0], &it->target) : NULL;
    enum tm_result r = TM_DONE;
    if (text && args_has(a, 'C')) {
        r = branch(it->c->t, it, text);
    } else if (text) {
        struct shell_job *j = job_begin(it, text, back);
        r = !j ? TM_ERROR : back ? TM_DONE : TM_WAIT;
    }
    free(text);
    return r;
}

static void on_delay(struct timer *timer)
{
    struct tm_item *it = container_of(timer, struct tm_item, timer);
    enum tm_result r = run_now(it);
    if (r != TM_WAIT)
        tm_go_on(it, r);
}

enum tm_result cmd_run_shell(struct tm_item *it)
{
    const char *delay = args_get(&it->args, 'd');
    char *end;
    if (!delay)
        return run_now(it);
    double s = strtod(delay, &end);
    if (*end || !*delay || s < 0)
        return tm_fail(it, "invalid delay time: %s", delay);
    if (args_has(&it->args, 'b')) {
        struct tm_item *copy = tm_copy(it); /* a request of the server's own */
        timer_begin(it->c->t->en->loop, &copy->timer, (int64_t)(s * 1000), on_delay);
        return TM_DONE;
    }
    timer_begin(it->c->t->en->loop, &it->timer, (int64_t)(s * 1000), on_delay);
    return TM_WAIT;
}

/* ---- source-file ---- */

int source_file(struct tmux *t, struct tm_item *it, struct tmux_client *from,
                const char *path, bool quiet, struct buf *why)
{
    struct buf text = BUF_INIT(8 << 20);
    struct err e = ERR_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), no = errno;
    if (fd < 0) {
        if (!quiet || no != ENOENT)
            buf_addf(why, "%s: %s", path, strerror(no));
        return quiet && no == ENOENT ? 0 : -1;
    }
    struct stat st;
    bool empty = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode); /* -f /dev/null */
    close(fd);
    if (empty)
        return 0;
    int r = file_read(path, 8 << 20, &text, &e);
    if (r < 0)
        buf_addz(why, e.text);
    else
        r = it ? tm_run_text(t, it, buf_str(&text), path, NULL, why)
               : tm_config_text(from, buf_str(&text), path, why);
    buf_release(&text);
    return r;
}

static void on_input(struct tm_item *it)
{
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    int r = tm_run_text(it->c->t, it, buf_str(&it->c->in), "-", NULL, &why);
    buf_reset(&it->c->in);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    tm_go_on(it, r < 0 ? TM_ERROR : TM_DONE);
}

/* One word of source-file, which may be a pattern. */
static int source_word(struct tm_item *it, const char *word, struct buf *why)
{
    struct buf pattern = BUF_INIT(TM_NAME_MAX);
    bool quiet = args_has(&it->args, 'q');
    glob_t found;
    char *text = args_has(&it->args, 'F') ? tm_expand(it, word, &it->target)
                                          : xstrdup(word);
    if (text[0] != '/')
        buf_addf(&pattern, "%s/", spawn_cwd(it->c, it->current.s));
    buf_addz(&pattern, text);
    int r = glob(buf_z(&pattern), 0, NULL, &found), rc = 0;
    if (r == GLOB_NOMATCH && !quiet) {
        buf_addf(why, "%s: %s", text, strerror(ENOENT));
        rc = -1;
    }
    /* The last one first: each is put right after this command. */
    for (size_t i = r == 0 ? found.gl_pathc : 0; i > 0 && rc == 0; i--)
        rc = source_file(it->c->t, it, NULL, found.gl_pathv[i - 1], quiet, why);
    if (r == 0)
        globfree(&found);
    free(text);
    buf_release(&pattern);
    return rc;
}

enum tm_result cmd_source_file(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    int r = 0;
    for (int i = a->words; i > 0 && r == 0; i--) {
        if (strcmp(a->word[i - 1], "-") == 0) {
            tm_want_input(it, on_input);
            return TM_WAIT;
        }
        r = source_word(it, a->word[i - 1], &why);
    }
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r < 0 ? TM_ERROR : TM_DONE;
}

/* ---- channels ---- */

static struct tm_channel *channel_of(struct tmux *t, const char *name, bool make)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->channels) {
        struct tm_channel *ch = list_entry(i, struct tm_channel, node);
        if (strcmp(ch->name, name) == 0)
            return ch;
    }
    if (!make)
        return NULL;
    struct tm_channel *ch = xnew(struct tm_channel);
    ch->name = xstrdup(name);
    list_add_tail(&t->channels, &ch->node);
    return ch;
}

static void channel_check(struct tmux *t, struct tm_channel *ch)
{
    state_changed(t);
    if (ch->woken || ch->locked)
        return;
    list_del(&ch->node);
    free(ch->name);
    free(ch);
}

/* A command that waits for the channel, the one that came first; lock: to lock it. */
static struct tm_item *waiter_of(struct tmux *t, const char *name, bool lock)
{
    struct list *i, *tmp;
    list_each (i, tmp, &t->clients) {
        struct tm_item *it = list_entry(i, struct tmux_client, node)->waiting;
        if (it && it->waits_for && args_has(&it->args, 'L') == lock &&
            strcmp(it->args.word[0], name) == 0)
            return it;
    }
    return NULL;
}

enum tm_result cmd_wait_for(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tmux *t = it->c->t;
    const char *name = a->word[0];
    struct tm_channel *ch = channel_of(t, name, false);
    struct tm_item *other;
    if (args_has(a, 'S')) {
        if (!waiter_of(t, name, false)) {
            ch = channel_of(t, name, true);
            ch->woken = true;
            state_changed(t);
        }
        while ((other = waiter_of(t, name, false))) {
            other->waits_for = false;
            tm_go_on(other, TM_DONE);
        }
        return TM_DONE;
    }
    if (args_has(a, 'L')) {
        if (ch && ch->locked) {
            it->waits_for = true;
            return TM_WAIT;
        }
        ch = channel_of(t, name, true);
        ch->locked = true;
        state_changed(t);
        return TM_DONE;
    }
    if (args_has(a, 'U')) {
        if (!ch || !ch->locked)
            return tm_fail(it, "channel %s not locked", name);
        other = waiter_of(t, name, true);
        if (other) {
            other->waits_for = false;
            tm_go_on(other, TM_DONE);
        } else {
            ch->locked = false;
            channel_check(t, ch);
        }
        return TM_DONE;
    }
    if (ch && ch->woken) {
        ch->woken = false;
        channel_check(t, ch);
        return TM_DONE;
    }
    it->waits_for = true;
    return TM_WAIT;
}
