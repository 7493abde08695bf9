/* SPDX-License-Identifier: MIT */
/*
 * A client in control mode, which is attached to a session whose programs have ended.
 * Lines are commands of it; a line that begins with `!` is output of the first pane.
 * What comes back is blocks, each of which ends with the numbers that it began with, and
 * notifications between them. At the end all that there was is gone.
 *
 * Left out are commands that start programs, use files, or keep commands for later, and
 * lines in which words may become such commands.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "front/tmux/cmds.h"
#include "front/tmux/control.h"
#include "front/tmux/env.h"
#include "front/tmux/lang/parse.h"
#include "front/tmux/life.h"
#include "front/tmux/model.h"
#include "front/tmux/request.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { LINES = 16, LINE = 400, COMMANDS = 6 };

const struct part *const engine_parts[] = {NULL};

static const char state[] =
    "{\"s\":2,\"w\":2,\"p\":3,\"b\":0,\"configured\":true,\"windows\":["
    "{\"id\":0,\"name\":\"w\",\"cols\":80,\"rows\":24,\"panes\":["
    "{\"id\":0,\"dead\":true,\"limit\":100,\"point\":2,\"cols\":40,\"rows\":24,"
    "\"title\":\"t\",\"cwd\":\"/\",\"argv\":[\"cat\"]},"
    "{\"id\":1,\"dead\":true,\"limit\":100,\"cols\":39,\"rows\":24,\"x\":41,"
    "\"argv\":[]}],"
    "\"pane\":0,\"stack\":[1],\"layout\":\"8205,80x24,0,0{40x24,0,0,0,39x24,41,0,1}\"},"
    "{\"id\":1,\"name\":\"two\",\"panes\":[{\"id\":2,\"dead\":true,\"argv\":[\"a\",\"b\"]}],"
    "\"pane\":2,\"layout\":\"b25f,80x24,0,0,2\"}],"
    "\"sessions\":[{\"id\":0,\"name\":\"a\",\"cwd\":\"/\",\"links\":[{\"w\":0,\"i\":0},"
    "{\"w\":1,\"i\":1}],\"link\":0,\"stack\":[1]},"
    "{\"id\":1,\"name\":\"b\",\"cwd\":\"/\",\"links\":[{\"w\":1,\"i\":0}],\"link\":0}]}";

static struct loop *loop;
static struct engine en;
static int keeper = -1;
static char space[KEEP_DATA + sizeof(struct keep_head)];
static struct buf out;
static bool over;

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg, (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg, (void)key, (void)value;
}

static void on_ready(void *arg) { loop_stop(arg); }

static void on_signal(void *arg, int signo) { (void)arg, (void)signo; }

/* All that is due; the keeper has read what was sent to it. */
static void turn(void)
{
    struct keep_msg m = {.h = {.type = KEEP_READY}};
    for (int i = 0; i < 2; i++) {
        BUG_ON(keep_send(keeper, &m) < 0 || loop_run(loop) < 0);
        struct keep_msg got;
        while (keep_recv(keeper, &got, space) == 1)
            keep_release(&got);
    }
}

static void begin(void)
{
    static const struct keeper_client_events ev = {on_held, on_state, on_ready,
                                                   on_signal};
    int fds[2];
    loop = loop_new();
    BUG_ON(!loop || keep_pair(fds) < 0 || engine_open(&en, loop, NULL) < 0);
    keeper = fds[1];
    en.keeper = keeper_client_open(loop, fds[0], &ev, loop);
    struct buf *b = xnew(struct buf);
    buf_init(b, sizeof(state));
    buf_addz(b, state);
    map_put(&en.states, STR("tmux/state"), b);
}

/* ---- the client's end ---- */

static size_t take(void *arg, bool error, uint64_t offset, struct str bytes)
{
    (void)arg, (void)offset;
    BUG_ON(error);
    buf_adds(&out, bytes);
    return bytes.n;
}

static void note(void *arg, const char *kind) { (void)arg, (void)kind; }

static void accepted(void *arg, uint64_t offset) { (void)arg, (void)offset; }

static void done(void *arg, struct json *r)
{
    (void)arg;
    over = true;
    json_free(r);
}

/* Blocks and notifications; the last block may be open. */
static void check_output(struct str text)
{
    struct str begun = {NULL, 0};
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), rest = line, word = str_cut(&rest, ' ');
        if (begun.p) {
            bool end = str_eq(word, STR("%end")) || str_eq(word, STR("%error"));
            if (end && str_eq(rest, begun))
                begun.p = NULL;
        } else if (str_eq(word, STR("%begin"))) {
            begun = rest;
        } else {
            BUG_ON(line.n > 0 && line.p[0] != '%');
            BUG_ON(str_eq(word, STR("%end")) || str_eq(word, STR("%error")));
        }
    }
}

/* ---- which lines ---- */

struct found {
    size_t commands;
    bool bad;
};

static int look(void *ctx, const struct tmux_command *c, struct buf *why)
{
    static cmd_fn *const bad[] = {
        cmd_new_session,    cmd_new_window,  cmd_split_window, cmd_respawn_pane,
        cmd_respawn_window, cmd_pipe_pane,   cmd_run_shell,    cmd_if_shell,
        cmd_source_file,    cmd_save_buffer, cmd_load_buffer,  cmd_set_option,
        cmd_set_hook,       cmd_set_environment};
    struct found *f = ctx;
    const struct tm_command *cmd = command_find(c->argv[0], why);
    f->commands++;
    f->bad |= str_starts(str_of(c->argv[0]), STR("split"));
    for (size_t i = 0; cmd && i < sizeof(bad) / sizeof(bad[0]); i++)
        f->bad |= cmd->run == bad[i];
    return 0;
}

static void assigned(void *ctx, struct str name, struct str value, bool hidden)
{
    (void)name, (void)value, (void)hidden;
    ((struct found *)ctx)->bad = true;
}

static bool asked(void *ctx, struct str format)
{
    (void)format;
    ((struct found *)ctx)->bad = true;
    return true;
}

static bool fit(struct str line)
{
    static const struct tmux_parse_ops ops = {
        .assign = assigned, .condition = asked, .check = look};
    struct tmux_commands all = {0};
    struct found f = {0, false};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    if (line.n > LINE)
        return false;
    tmux_parse(&all, line, NULL, 1, &ops, &f, &why);
    tmux_commands_release(&all);
    buf_release(&why);
    return !f.bad && f.commands <= COMMANDS;
}

/* ---- the end of all ---- */

static void end(struct tmux *t)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->sessions)
        session_end(list_entry(it, struct tm_session, node));
    request_end_all(t);
    turn();
    BUG_ON(t->clients.next != &t->clients || t->sessions.next != &t->sessions);
    BUG_ON(t->windows.next != &t->windows || t->panes.next != &t->panes);
    BUG_ON(t->marked);
    list_each (it, tmp, &t->buffers) {
        struct tm_buffer *b = list_entry(it, struct tm_buffer, node);
        list_del(&b->node);
        free(b->name);
        free(b->data);
        free(b);
    }
    list_each (it, tmp, &t->channels) {
        struct tm_channel *c = list_entry(it, struct tm_channel, node);
        list_del(&c->node);
        free(c->name);
        free(c);
    }
    task_cancel(&t->after);
    task_cancel(&t->feed);
    timer_stop(&t->end);
    json_free(t->globals);
    json_free(t->done);
    tmux_options_release(&t->server);
    tmux_options_release(&t->global);
    tmux_options_release(&t->global_w);
    env_release(&t->env);
    free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct tmux_calls calls = {take, note, accepted, done};
    struct err e = ERR_INIT;
    if (n == 0)
        return 0;
    if (!loop)
        begin();
    struct tmux *t = tmux_new(&en, false);
    tmux_load(t);
    tmux_start(t);
    buf_init(&out, 64 << 20);
    over = false;
    struct json *q = json_parse(
        STR("{\"v\":1,\"do\":\"tmux\",\"control\":1,\"cwd\":\"/\","
            "\"argv\":[\"attach-session\",\"-t\",\"a\"]}"),
        &e);
    struct tmux_client *c = tmux_ask(t, q, getuid(), getpid(), &calls, NULL, &e);
    json_free(q);
    BUG_ON(!c);
    turn();
    struct str text = str_n(data + 1, n - 1);
    size_t step = data[0] ? data[0] : SIZE_MAX;
    uint64_t at = 0;
    for (int i = 0; i < LINES && text.n > 0; i++) {
        struct str line = str_cut(&text, '\n');
        struct tm_pane *p = t->panes.next == &t->panes
                                ? NULL
                                : list_first(&t->panes, struct tm_pane, node);
        if (p && line.n > 0 && line.p[0] == '!') {
            line = str_sub(line, 1, line.n);
            screen_draw(&p->screen, line);
            control_output(p, 0, line);
        } else if (fit(line)) {
            struct buf whole = BUF_INIT(LINE + 2);
            buf_adds(&whole, line);
            buf_addc(&whole, '\n');
            for (size_t k = 0; !over && k < whole.n;) {
                struct str piece = str_sub(buf_str(&whole), k, step);
                k += piece.n;
                tmux_input(c, at, piece);
                at += piece.n;
            }
            buf_release(&whole);
        }
        turn();
        check_output(buf_str(&out));
    }
    if (!over)
        tmux_input(c, at, STR(""));
    turn();
    end(t);
    buf_release(&out);
    return 0;
}
