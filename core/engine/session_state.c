/* SPDX-License-Identifier: MIT */
/*
 * A session's state line: what a new worker cannot find again in the spool.
 *
 * It is stored at the keeper in the same step as the input that it is about.
 */
#include "engine/session_own.h"

#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- write ---- */

void session_key_name(struct session *s, struct buf *key)
{
    buf_addf(key, "session/%s", s->name);
}

static void add_command(struct json *j, const struct command *c)
{
    json_put_int(j, "seq", (int64_t)c->seq);
    json_put_z(j, "id", c->id);
    json_put_z(j, "parent", c->parent);
    json_put_z(j, "head", c->head);
    json_put_bool(j, "reads", c->reads);
    json_put_int(j, "typed_at", (int64_t)c->typed_at);
    json_put_int(j, "input_at", (int64_t)c->input_at);
    json_put_int(j, "wall_ms", c->wall_ms);
    json_put_bool(j, "ended", c->ended);
}

/* What a new worker cannot find again in the spool. */
static void state_line(struct session *s, struct buf *out)
{
    struct json *j = json_object();
    json_put_int(j, "proc", (int64_t)s->proc.r.id);
    json_put_int(j, "feed", s->feeding ? (int64_t)s->feed.r.id : 0);
    json_put_bool(j, "feed_eof", s->feed_eof);
    json_put_int(j, "state", s->state);
    json_put_int(j, "kind", s->sh.kind);
    json_put_z(j, "nonce", s->sh.nonce);
    json_put_int(j, "gen", s->sh.gen);
    json_put_bool(j, "pty", s->sh.pty);
    json_put_z(j, "dir", s->sh.dir);
    json_put_z(j, "shell", s->sh.path);
    json_put_z(j, "wanted", s->shell_wanted);
    json_put_z(j, "user", s->user);
    json_put_int(j, "uid", s->uid);
    json_put_int(j, "gid", s->gid);
    json_put_z(j, "cwd", s->cwd);
    json_put_z(j, "start_cwd", s->start_cwd);
    json_put_bool(j, "with_rc", s->with_rc);
    json_put_bool(j, "fresh", s->fresh);
    json_put_int(j, "fresh_status", s->fresh_status);
    json_put_int(j, "rows", s->rows);
    json_put_int(j, "cols", s->cols);
    json_put_int(j, "scanned", (int64_t)s->scanned);
    json_put_int(j, "records", (int64_t)s->records);
    json_put_int(j, "seen", (int64_t)s->seen);
    json_put_int(j, "prompts_due", s->prompts_due);
    json_put_bool(j, "attached", s->attached_mode);
    json_put_bool(j, "prompt", s->prompt_on);
    json_put_z(j, "no_pty", s->pty_error);
    struct json *c = json_object();
    add_command(c, &s->cmd);
    json_put(j, "cmd", c);
    struct json *list = json_array();
    for (unsigned i = 0; i < DONE_KEPT; i++) {
        const struct done *d = &s->done[(s->done_next + i) % DONE_KEPT];
        if (!d->id[0])
            continue;
        struct json *e = json_object();
        json_put_z(e, "id", d->id);
        json_put_int(e, "seq", (int64_t)d->seq);
        json_put_int(e, "from", (int64_t)d->from);
        json_put_int(e, "to", (int64_t)d->to);
        json_put_int(e, "status", d->status);
        json_put_bool(e, "shell_ended", d->shell_ended);
        json_put_int(e, "ms", d->duration_ms);
        json_push(list, e);
    }
    json_put(j, "done", list);
    json_print(out, j);
    json_free(j);
}

/* Stores the state line with input (which may be empty) in one step. */
void session_store(struct session *s, struct str bytes)
{
    struct buf key = BUF_INIT(128), line = BUF_INIT(LIMIT_BLOB_MAX);
    session_key_name(s, &key);
    state_line(s, &line);
    if (bytes.n > 0)
        hold_write(&s->proc, bytes, buf_str(&key), buf_str(&line));
    else
        hold_put(s->en->hold, buf_str(&key), buf_str(&line));
    buf_release(&key);
    buf_release(&line);
}

void session_save(struct session *s) { session_store(s, STR("")); }

void session_say(struct session *s, enum shell_line what)
{
    struct buf line = BUF_INIT(1024);
    shell_line(&line, &s->sh, what, s->cmd.seq);
    session_store(s, buf_str(&line));
    buf_release(&line);
}

/* ---- read ---- */

static void take_int(const struct json *j, const char *name, uint64_t *out)
{
    *out = (uint64_t)json_int(j, name, 0);
}

void session_resume(struct engine *en, struct str name, const struct json *j)
{
    struct session *s = session_make(en, name);
    uint64_t v;
    take_int(j, "proc", &v);
    session_copy(s->sh.nonce, sizeof(s->sh.nonce), json_str(j, "nonce", ""));
    session_copy(s->sh.dir, sizeof(s->sh.dir), json_str(j, "dir", ""));
    session_copy(s->sh.path, sizeof(s->sh.path), json_str(j, "shell", ""));
    session_copy(s->shell_wanted, sizeof(s->shell_wanted), json_str(j, "wanted", ""));
    session_copy(s->user, sizeof(s->user), json_str(j, "user", ""));
    session_copy(s->cwd, sizeof(s->cwd), json_str(j, "cwd", "/"));
    session_copy(s->start_cwd, sizeof(s->start_cwd), json_str(j, "start_cwd", "/"));
    session_copy(s->pty_error, sizeof(s->pty_error), json_str(j, "no_pty", ""));
    s->sh.kind = (enum shell_kind)json_int(j, "kind", SHELL_POSIX);
    s->sh.gen = (unsigned)json_int(j, "gen", 1);
    s->sh.pty = json_bool(j, "pty", true);
    s->state = (enum session_state)json_int(j, "state", SESSION_NONE);
    s->uid = (uid_t)json_int(j, "uid", en->uid);
    s->gid = (gid_t)json_int(j, "gid", en->gid);
    s->with_rc = json_bool(j, "with_rc", true);
    s->fresh = json_bool(j, "fresh", false);
    s->fresh_status = (int)json_int(j, "fresh_status", 0);
    s->rows = (int)json_int(j, "rows", ROWS);
    s->cols = (int)json_int(j, "cols", COLS);
    s->prompts_due = (unsigned)json_int(j, "prompts_due", 0);
    s->attached_mode = json_bool(j, "attached", false);
    s->prompt_on = json_bool(j, "prompt", false);
    take_int(j, "scanned", &s->scanned);
    take_int(j, "records", &s->records);
    take_int(j, "seen", &s->seen);
    struct json *c = json_get(j, "cmd");
    take_int(c, "seq", &s->cmd.seq);
    take_int(c, "typed_at", &s->cmd.typed_at);
    take_int(c, "input_at", &s->cmd.input_at);
    session_copy(s->cmd.id, sizeof(s->cmd.id), json_str(c, "id", ""));
    session_copy(s->cmd.parent, sizeof(s->cmd.parent), json_str(c, "parent", ""));
    session_copy(s->cmd.head, sizeof(s->cmd.head), json_str(c, "head", ""));
    s->cmd.reads = json_bool(c, "reads", false);
    s->cmd.ended = json_bool(c, "ended", false);
    s->cmd.wall_ms = json_int(c, "wall_ms", 0);
    s->cmd.since_ms = clock_ms() - (clock_wall_ms() - s->cmd.wall_ms);
    s->seq = s->cmd.seq;
    for (struct json *d = json_first(json_get(j, "done")); d; d = json_next(d)) {
        struct done *to = &s->done[s->done_next++ % DONE_KEPT];
        session_copy(to->id, sizeof(to->id), json_str(d, "id", ""));
        take_int(d, "seq", &to->seq);
        take_int(d, "from", &to->from);
        take_int(d, "to", &to->to);
        to->status = (int)json_int(d, "status", 0);
        to->shell_ended = json_bool(d, "shell_ended", false);
        to->duration_ms = json_int(d, "ms", 0);
    }
    take_int(j, "feed", &v);
    if (v && hold_claim(en->hold, &s->feed, v) == 0) {
        s->feeding = true;
        s->feed_eof = json_bool(j, "feed_eof", false);
        s->feed.changed = session_feed_changed;
    }
    take_int(j, "proc", &v);
    s->proc.changed = session_changed;
    if (hold_claim(en->hold, &s->proc, v) < 0) {
        s->state = SESSION_NONE;
        return;
    }
    s->proc.uid = s->uid;
    s->proc.gid = s->gid;
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "environ/%s", s->name);
    struct buf *kept = map_get(&en->states, buf_str(&key));
    if (kept)
        buf_adds(&s->env, buf_str(kept));
    buf_release(&key);
    if (s->state == SESSION_STARTING)
        session_limit_start(s);
    /* The state was stored when a line was typed: what came of it is searched. */
    if (s->state == SESSION_RUNNING)
        s->state = SESSION_TYPED;
    if (s->attached_mode && !session_busy(s) && s->state != SESSION_STARTING)
        session_attach_mode(s, false);
    task_defer(en->loop, &s->scan);
}
