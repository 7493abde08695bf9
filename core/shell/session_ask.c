/* SPDX-License-Identifier: MIT */
/*
 * Questions of the running command to its terminal: where the cursor is, what terminal it
 * is, which modes and colours it has. The screen of term/picture.h answers, unless a
 * person is attached, whose own terminal does.
 *
 * An answer is typed, so it must not become a line of input for a program that reads
 * lines, or of the next command: it waits until the terminal is in a mode without line
 * editing, which programs that ask switch to, and is dropped with the end of the command.
 * The state is stored in the same step, so that no worker answers twice.
 */
#include "shell/session_own.h"

#include "base/scratch.h"
#include "shell/spool.h"
#include "term/picture.h"

#include <termios.h>

enum {
    SCREEN_BACK = 256 << 10, /* output before a question that the screen is made of */
    RETRY_MS = 20,           /* doubles with each of RETRIES */
    RETRIES = 7,
    ANSWERS_MAX = 2048
};

static void on_retry(struct timer *t);

static void no_screen(struct session_ask *a)
{
    picture_free(a->screen);
    a->screen = NULL;
}

void session_ask_begins(struct session *s, uint64_t from)
{
    struct session_ask *a = &s->ask;
    timer_stop(&a->retry);
    no_screen(a);
    a->scan = (struct question_scan){0};
    a->due = false;
    a->tries = 0;
    a->upto = a->drawn = from;
    a->typed_n = 0;
}

void session_ask_ends(struct session *s)
{
    timer_stop(&s->ask.retry);
    s->ask.due = false;
    no_screen(&s->ask);
}

void session_ask_scan(struct session *s, struct str output)
{
    if (s->state == SESSION_RUNNING && !s->cmd.ended && s->sh.pty &&
        question_seen(&s->ask.scan, output)) {
        s->ask.due = true;
        s->ask.tries = 0;
    }
}

/* Draws the output from a->drawn to end; questions after a->upto are answered. */
static void draw(struct session *s, uint64_t end, struct buf *answers)
{
    struct session_ask *a = &s->ask;
    char *chunk = scratch_take();
    while (a->drawn < end) {
        uint64_t at = a->drawn, stop = at < a->upto ? a->upto : end;
        size_t n = stop - at < SCRATCH ? (size_t)(stop - at) : SCRATCH;
        n = spool_read(s->proc.spool[0], session_out(s), &at, chunk, n);
        if (n == 0 || at >= end)
            break; /* lost to the disk or the budget */
        picture_answer(a->screen, str_n(chunk, at + n > end ? (size_t)(end - at) : n),
                       at < a->upto ? NULL : answers);
        a->drawn = at + n;
    }
    a->drawn = end;
    scratch_give(chunk);
}

static bool edits_lines(const struct session *s)
{
    struct termios t;
    return tcgetattr(s->proc.in, &t) < 0 || (t.c_lflag & ICANON);
}

void session_ask_answer(struct session *s)
{
    struct session_ask *a = &s->ask;
    struct buf answers = BUF_INIT(ANSWERS_MAX);
    if (!a->due || s->state != SESSION_RUNNING || s->cmd.ended)
        return;
    if (list_empty(&s->tty.viewers) && edits_lines(s)) {
        if (a->tries < RETRIES)
            timer_begin(s->en->loop, &a->retry, RETRY_MS << a->tries++, on_retry);
        return;
    }
    uint64_t end = s->scan.at;
    a->due = false;
    timer_stop(&a->retry);
    if (end - a->drawn > SCREEN_BACK) {
        no_screen(a);
        a->drawn = end - SCREEN_BACK;
    }
    if (!a->screen)
        a->screen = picture_new(s->tty.rows, s->tty.cols);
    draw(s, end, &answers);
    a->upto = end;
    if (list_empty(&s->tty.viewers) && answers.n > 0 &&
        answers.n <= keeper_client_room(&s->proc)) {
        a->typed_n = answers.n < sizeof(a->typed) ? answers.n : sizeof(a->typed);
        memcpy(a->typed, answers.p, a->typed_n);
        session_command_fed(s);
        session_store(s, buf_str(&answers));
    }
    buf_release(&answers);
}

static void on_retry(struct timer *t)
{
    session_ask_answer(container_of(t, struct session, ask.retry));
}

bool session_ask_typed(const struct session *s, struct str unread)
{
    return s->ask.typed_n > 0 && unread.n > 0 &&
           str_find(str_n(s->ask.typed, s->ask.typed_n), unread) >= 0;
}
