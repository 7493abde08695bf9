/* SPDX-License-Identifier: MIT */
/*
 * V0's `run`: a command, input for it, or a look at its output.
 *
 * The session knows its newest command by our id, "v0:KEY:NUMBER". Every look at it is a
 * run with the same id, which attaches to it or reports its end again; V0 decides where
 * the text of an answer begins (v0_told.cursor). So an answer that the client did not
 * receive is sent again, complete, by this worker or the next.
 */
#include "front/v0/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/grammar/grammar.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROWS = 1000,
    COLS = 1000,
    LINES_KEPT = 11000, /* of a terminal's history and screen, as the client knows it */
    PIECES = 64         /* commands listed in a refusal */
};

static const char session_main[] = "main";

/* ---- the session ---- */

const char *v0_cwd(const struct v0_shell *sh)
{
    return sandbox_cwd(sh->v->en->sandbox, str_of(sh->name));
}

/* Finds or makes a session. Its first command is ours, and nobody waits for that. */
static struct session *open_session(struct v0 *v, struct str name, struct str cwd,
                                    struct err *e)
{
    static const struct op_sink nobody;
    struct session_opts o = {.cwd = cwd,
                             .user = sandbox_user(v->en->sandbox),
                             .env = str_n("TERM=screen", sizeof("TERM=screen")),
                             .rows = ROWS,
                             .cols = COLS,
                             .same_env = true};
    struct session *s = session_find(v->en, name);
    if (s || !(s = session_get(v->en, name, &o, e)))
        return s;
    struct op *op = op_new(OP_RUN, &nobody, NULL);
    op->own = true;
    buf_addz(&op->command, "alias git='git --no-pager'");
    session_run(s, op);
    return s;
}

/* ---- answers ---- */

/* Finds the first `python` in PATH, as `which` does; "" if there is none. */
static void find_python(struct str path, char *out, size_t size)
{
    struct stat st;
    out[0] = 0;
    while (path.n > 0) {
        struct str dir = str_cut(&path, ':');
        if (buf_fill(out, size, "%.*s%spython", STR_ARG(dir), dir.n ? "/" : "") &&
            stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
            return;
    }
    out[0] = 0;
}

/* Facts about the shell when a command has ended. */
struct run_facts {
    char host[256], python[4096];
};

static const char *user_name(struct v0 *v, uid_t uid)
{
    if (v->who[0] && v->who_uid == uid)
        return v->who;
    struct passwd *pw = getpwuid(uid);
    v->who_uid = uid;
    if (pw)
        snprintf(v->who, sizeof(v->who), "%s", pw->pw_name);
    else
        snprintf(v->who, sizeof(v->who), "%u", (unsigned)uid);
    return v->who;
}

static void put_facts(struct v0_metadata *m, const struct v0_call *a, int exit,
                      struct run_facts *f)
{
    const struct session *s = a->session;
    f->host[0] = 0;
    gethostname(f->host, sizeof(f->host) - 1);
    f->host[strcspn(f->host, ".")] = 0;
    find_python(str_of(session_path(s)), f->python, sizeof(f->python));
    pid_t pid = session_last_background(s);
    m->exit_code = exit;
    m->pid = pid > 0 ? pid : -1;
    m->username = str_of(user_name(a->v, session_uid(s)));
    m->hostname = str_of(f->host);
    m->working_dir = str_of(session_cwd(s));
    m->py_interpreter_path = str_of(f->python);
}

/* Appends the terminal's text of an op, stripped, and cut unless the run is hidden. */
static void put_content(const struct v0_call *a, struct op *op, struct buf *out,
                        struct term_text *info)
{
    struct buf text = BUF_INIT(TEXT_MAX + (64 << 10));
    *info = (struct term_text){0};
    if (op->term)
        term_text(op->term, &text, info, NULL, NULL);
    if (a->a.run.hidden)
        buf_adds(out, str_trim(buf_str(&text)));
    else
        v0_truncate(out, str_trim(buf_str(&text)));
    buf_release(&text);
}

static void put_suffix(struct v0_call *a, const struct op *op, struct buf *out)
{
    const struct op_result *r = &op->r;
    struct str command = str_trim(a->a.run.command);
    if (r->state == OP_RUNNING && a->refused)
        v0_suffix_refused(out, command);
    else if (r->state == OP_RUNNING && r->why == OP_IDLE)
        v0_suffix_no_change(out, a->v->no_change_ms / 1000);
    else if (r->state == OP_RUNNING)
        v0_suffix_timed_out(out, a->a.timeout);
    else
        v0_suffix_completed(out, r->exit, a->letter);
    if (r->state == OP_SHELL_ENDED)
        buf_addz(out,
                 "\n[The command ended its shell. The next command gets a fresh one, "
                 "with the same directory and environment.]");
    if (a->missing[0])
        buf_addf(out, "\n[%s.]", a->missing);
}

static void answer_run(struct v0_call *a, struct op *op)
{
    struct v0_shell *sh = a->sh;
    struct buf content = BUF_INIT(ANSWER_MAX), prefix = BUF_INIT(ANSWER_MAX);
    struct buf suffix = BUF_INIT(ANSWER_MAX), out = BUF_INIT(ANSWER_MAX);
    struct term_text info;
    struct run_facts facts;
    bool over = op->r.state != OP_RUNNING;
    a->from = op->r.from > op->output_from ? op->r.from : op->output_from;
    a->to = op->r.to;
    a->has_output = !a->typing && !a->refused && a->to >= a->from;
    put_content(a, op, &content, &info);
    buf_adds(&prefix, buf_str(&a->prefix));
    if (!over && (a->refused || (a->typing ? sh->typed_any : sh->told.any)))
        buf_adds(&prefix, v0_prefix_below);
    else if (over && (info.cut_lines > 0 || a->lost))
        v0_prefix_truncated(
            &prefix, info.lines > info.cut_lines ? info.lines - info.cut_lines : 1);
    put_suffix(a, op, &suffix);
    struct v0_metadata m = {.exit_code = -1, .pid = -1};
    if (over)
        put_facts(&m, a, op->r.exit, &facts);
    m.prefix = buf_str(&prefix);
    m.suffix = buf_str(&suffix);
    bool full = buf_full(&content) || buf_full(&prefix) || buf_full(&suffix);
    int r = full ? -1
                 : v0_put_run(&out, str_trim(a->a.run.command), buf_str(&content),
                              a->a.run.hidden && (over || a->refused), &m);
    sh->typed_any = a->typing;
    if (!a->a.run.is_static && !a->typing) {
        a->tells = true;
        a->after = sh->told;
        memcpy(a->after.id, op->id, sizeof(a->after.id));
        a->after.cursor = op->r.to;
        a->after.end = over;
        a->after.any = true;
        a->after.number = a->number;
        v0_expect(a);
    }
    buf_release(&content);
    buf_release(&prefix);
    buf_release(&suffix);
    if (r < 0)
        v0_answer_error(a, STR("The output is larger than an answer can be; write it to "
                               "a file and fetch that."));
    else
        v0_answer(a, 200, &out);
}

/* Answers with a sentence that is not about a command. */
static void answer_plain(struct v0_call *a, struct str text)
{
    struct buf out = BUF_INIT(BODY_MAX);
    struct v0_metadata m = {.exit_code = -1, .pid = -1};
    v0_put_run(&out, STR(""), text, false, &m);
    v0_answer(a, 200, &out);
}

/* ---- ops ---- */

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct v0_call *a = op->owner;
    (void)from;
    if (kind == NOTE_GAP) {
        a->lost = true;
        if (op->disk_full)
            snprintf(a->missing, sizeof(a->missing), "%s", text);
    } else if (kind == NOTE_DISK) {
        if (!a->missing[0])
            snprintf(a->missing, sizeof(a->missing), "%s", text);
    } else if (kind == NOTE_STARTED && op == a->op)
        v0_started(a, op->id, to > op->output_from ? to : op->output_from);
    else if (kind == NOTE_WAITING || kind == NOTE_PROBABLY_WAITING)
        actions_check_waiting(a->v->en->actions); /* those that it would block fail */
}

static void run_new(struct v0_call *a);

/* The previous command ended first: the answer begins with its text. */
static void rest_done(struct v0_call *a, struct op *op)
{
    struct buf text = BUF_INIT(ANSWER_MAX);
    struct term_text info;
    put_content(a, op, &text, &info);
    if (text.n > 0) {
        buf_adds(&a->prefix, v0_prefix_below);
        buf_adds(&a->prefix, buf_str(&text));
        buf_addf(&a->prefix, "\n[The previous command completed with exit code %d.]\n",
                 op->r.exit);
    }
    buf_release(&text);
    a->rest = NULL;
    run_new(a);
}

static void on_done(struct op *op)
{
    struct v0_call *a = op->owner;
    if (op == a->rest && op->r.state != OP_FAILED) {
        rest_done(a, op);
        return;
    }
    a->rest = NULL;
    if (op->r.state == OP_FAILED)
        v0_answer_error(a, str_of(op->r.err.text));
    else
        answer_run(a, op);
}

static const struct op_sink sink = {.note = on_note, .done = on_done};

static struct op *make_op(struct v0_call *a, const char *id)
{
    struct op *op = op_new(OP_RUN, &sink, a);
    struct term_opts t = {.rows = ROWS,
                          .cols = COLS,
                          .tail = TEXT_MAX,
                          .keep_lines = LINES_KEPT,
                          .keep_tabs = true};
    buf_fill(op->id, sizeof(op->id), "%s", id);
    op->term = term_new(&t);
    return op;
}

/* From here on, sh->told is about this command. */
static void tell_of(struct v0_shell *sh, const char *id)
{
    if (strcmp(sh->told.id, id) != 0)
        sh->told = (struct v0_told){.number = sh->told.number};
    memcpy(sh->told.id, id, strlen(id) + 1);
}

/* Waits for the command `id`, which the session knows. */
static void ask_again(struct v0_call *a, const char *id)
{
    struct v0 *v = a->v;
    struct op *op = make_op(a, id);
    if (!a->a.run.is_static)
        op->output_from = a->sh->told.cursor;
    op->detach = a->refused;
    op->timeout_ms = a->a.has_timeout ? (int64_t)(a->a.timeout * 1000) : 0;
    op->idle_ms = a->a.run.blocking ? 0 : v->no_change_ms;
    a->op = op;
    if (session_running(a->session, id))
        v0_started(a, id, op->output_from);
    session_run(a->session, op);
}

void v0_id(const struct v0_call *a, char id[LIMIT_ID + 1])
{
    buf_fill(id, LIMIT_ID + 1, "v0:%s:%llu", a->key, (unsigned long long)a->number);
}

void v0_run_text(struct v0_call *a, struct str text)
{
    struct op *op = make_op(a, "");
    v0_id(a, op->id);
    op->fail_on_input = true; /* of a command that is not V0's */
    op->timeout_ms = a->a.has_timeout ? (int64_t)(a->a.timeout * 1000) : 0;
    op->idle_ms = a->a.run.blocking ? 0 : a->v->no_change_ms;
    if (!a->a.run.is_static) {
        tell_of(a->sh, op->id);
        task_cancel(&a->sh->tell); /* a newer command implies it */
    }
    buf_adds(&op->command, text);
    a->op = op;
    session_run(a->session, op);
}

static void run_new(struct v0_call *a)
{
    if (!v0_typed(a))
        v0_run_text(a, str_trim(a->a.run.command));
}

/* ---- one call ---- */

static void type_input(struct v0_call *a, struct err *e)
{
    char id[LIMIT_ID + 1];
    struct str text = str_trim(a->a.run.command);
    struct buf line = BUF_INIT(LIMIT_COMMAND_MAX);
    v0_id(a, id);
    session_input_as(a->session, id);
    struct str key = v0_key(text, false);
    if (a->letter || key.n > 0) {
        if (session_key(a->session, text, e) < 0 && e->code == ERR_INVALID && key.n > 0) {
            *e = (struct err)ERR_INIT;
            session_input(a->session, key, e);
        }
    } else if (buf_adds(&line, text) < 0 || buf_addc(&line, '\r') < 0) {
        err_set(e, ERR_LIMIT, "the input is longer than %d bytes", LIMIT_COMMAND_MAX);
    } else {
        session_input(a->session, buf_str(&line), e);
    }
    buf_release(&line);
}

static bool refuse_many(struct v0_call *a)
{
    struct v0_piece pieces[PIECES];
    struct str text = str_trim(a->a.run.command);
    size_t n = v0_scan(text, pieces, PIECES);
    const char *beyond = n > 1 ? v0_scan_beyond(text) : NULL;
    if (beyond)
        log_debug("v0: %zu commands are run as one, because of %s", n, beyond);
    if (n <= 1 || beyond)
        return false;
    struct buf out = BUF_INIT(BODY_MAX);
    v0_refuse_commands(&out, pieces, n < PIECES ? n : PIECES, n);
    v0_answer_error(a, buf_str(&out));
    buf_release(&out);
    return true;
}

void v0_answer_none(struct v0_call *a, enum op_state state, enum op_why why, int exit)
{
    struct op none = {.r = {.state = state, .why = why, .exit = exit}};
    a->typing = true;
    answer_run(a, &none);
}

/* Writes the common prefix of the ids of all actions with this body. */
static void id_prefix(const struct v0_call *a, char out[KEY_LEN + 8])
{
    buf_fill(out, KEY_LEN + 8, "v0:%s:", a->key);
}

/*
 * Did the previous worker begin the action with this body, as the command or input `id`?
 * A body without an id of its own can only be the newest one, unanswered.
 */
static bool begun_before(const struct v0_call *a, const char *id, const char *newest)
{
    uint64_t number = 0;
    if (!id || str_to_u64(str_of(strrchr(id, ':') + 1), &number) < 0)
        return false;
    return a->a.unique || (id == newest && number > a->sh->told.number);
}

/*
 * Handles the first action of this worker if the previous one had sent an answer: a
 * client that sends a different action has received that answer.
 */
static void first_of_all(struct v0_call *a, struct str prefix, const char *newest)
{
    struct v0_shell *sh = a->sh;
    a->first = !sh->begun;
    if (sh->begun)
        return;
    sh->begun = true;
    if (sh->next_key[0] && strcmp(sh->next_key, a->key) != 0)
        sh->told = sh->next;
    sh->next_key[0] = 0;
    if (newest && !session_running(a->session, newest) &&
        !str_starts(str_of(newest), prefix) && strcmp(newest, sh->told.id) != 0) {
        tell_of(sh, newest);
        sh->told.end = true;
    }
}

void v0_run(struct v0_call *a)
{
    struct v0 *v = a->v;
    struct err e = ERR_INIT;
    struct str text = str_trim(a->a.run.command);
    a->session = open_session(v, str_of(a->sh->name), str_of(v->cwd), &e);
    if (!a->session) {
        v0_answer_error(a, str_of(e.text));
        return;
    }
    char byte, prefix[KEY_LEN + 8], open[LIMIT_ID + 1] = "";
    v0_special_key(text, &byte, &a->letter);
    id_prefix(a, prefix);
    const char *newest = session_call(a->session, STR("v0:"));
    first_of_all(a, str_of(prefix), newest);
    const char *before = session_call(a->session, str_of(prefix));
    if (begun_before(a, before, newest)) {
        tell_of(a->sh, before);
        ask_again(a, before);
        return;
    }
    /* The newest command of V0, if the client has not received its end. */
    if (newest && !(strcmp(newest, a->sh->told.id) == 0 && a->sh->told.end)) {
        snprintf(open, sizeof(open), "%s", newest);
        tell_of(a->sh, open);
    }
    if (a->sh->typed.n > 0 && v0_typed(a))
        return;
    bool runs = open[0] && session_running(a->session, open);
    if (!open[0] && text.n == 0) {
        answer_plain(a, v0_no_command);
    } else if (!open[0] && a->a.run.is_input) {
        answer_plain(a, v0_no_program);
    } else if (refuse_many(a)) {
        return;
    } else if (runs && text.n > 0 && !a->a.run.is_input) {
        a->refused = true;
        ask_again(a, open);
    } else if (runs && text.n > 0) {
        const char *typed = session_input_call(a->session, str_of(prefix));
        if (!begun_before(a, typed, typed))
            type_input(a, &e);
        if (e.code)
            v0_answer_error(a, str_of(e.text));
        else
            ask_again(a, open);
    } else if (open[0] && (text.n == 0 || a->a.run.is_input)) {
        ask_again(a, open);
    } else if (a->letter) {
        /* Answer as a shell at its prompt reacts to a key. */
        v0_answer_none(a, OP_ENDED, OP_WHY_NONE, a->letter == 'C' ? 130 : 0);
    } else if (open[0]) {
        a->rest = make_op(a, open);
        a->rest->output_from = a->sh->told.cursor;
        session_run(a->session, a->rest);
    } else {
        run_new(a);
    }
}

/* ---- static runs ---- */

static void static_name(const struct v0_call *a, char *out, size_t size)
{
    snprintf(out, size, "static-%s", a->key);
}

void v0_run_static(struct v0_call *a)
{
    struct v0 *v = a->v;
    struct err e = ERR_INIT;
    char name[48];
    static_name(a, name, sizeof(name));
    struct str cwd = a->a.run.cwd.n ? a->a.run.cwd : str_of(v->cwd);
    a->session = open_session(v, str_of(name), cwd, &e);
    if (!a->session) {
        v0_answer_error(a, str_of(e.text));
    } else if (!refuse_many(a)) {
        const char *before = session_call(a->session, STR("v0:"));
        if (before)
            ask_again(a, before);
        else
            run_new(a);
    }
}

void v0_run_forget(struct v0_call *a)
{
    char name[48];
    if (a->a.kind != V0_RUN || !a->a.run.is_static)
        return;
    static_name(a, name, sizeof(name));
    struct session *s = session_find(a->v->en, str_of(name));
    if (s)
        session_kill(s, SIGHUP, 0, true, NULL, NULL);
}

void v0_run_resume(struct v0 *v)
{
    struct err e = ERR_INIT;
    if (sandbox_warm(v->en->sandbox) &&
        !open_session(v, str_of(session_main), str_of(v->cwd), &e))
        log_error("%s", e.text);
}
