/* SPDX-License-Identifier: MIT */
/*
 * A here document that is typed line by line. V0's shell is a terminal: `cat <<EOF` waits
 * there for its lines, which arrive as input. Our shell gets complete texts, so the lines
 * are collected here until the text is complete. Only a command with none of the lines
 * counts as the beginning of such a document. Other unfinished text (an open quote, a
 * loop without `done`, a document that breaks off) goes to the shell, which reports what
 * is missing.
 */
#include "front/v0/own.h"

#include "engine/state.h"

static const char prefix[] = "v0/typed/";

static struct str text_of(const struct v0_shell *sh)
{
    struct str rest = buf_str(&sh->typed);
    str_cut(&rest, '\n');
    return rest;
}

static void keep(struct v0_shell *sh)
{
    state_put_text(sh->v->en, prefix, sh->name, buf_str(&sh->typed));
}

static void load_one(void *arg, struct str session, struct str text)
{
    buf_adds(&v0_shell_of(arg, session)->typed, text);
}

void v0_typed_load(struct v0 *v) { state_each_text(v->en, prefix, load_one, v); }

static void forget(struct v0_shell *sh)
{
    buf_reset(&sh->typed);
    keep(sh);
}

/* Appends a line to those collected. Returns -1 if the text becomes too long. */
static int gather(struct v0_call *a, struct str line)
{
    struct v0_shell *sh = a->sh;
    struct buf more = BUF_INIT(TYPED_MAX);
    char id[LIMIT_ID + 1];
    v0_id(a, id);
    struct str before = text_of(sh);
    int r = buf_addf(&more, "%s\n", id);
    if (r == 0 && before.n > 0)
        r = buf_adds(&more, before) < 0 || buf_addc(&more, '\n') < 0 ? -1 : 0;
    if (r == 0)
        r = buf_adds(&more, line);
    if (r == 0) {
        buf_reset(&sh->typed);
        buf_adds(&sh->typed, buf_str(&more));
        keep(sh);
    }
    buf_release(&more);
    return r;
}

/* Did the previous worker already collect this very line? */
static bool gathered(struct v0_call *a)
{
    struct str rest = buf_str(&a->sh->typed), id = str_cut(&rest, '\n');
    struct str key = str_sub(id, 3, KEY_LEN);
    return str_eq(key, str_of(a->key)) && (a->a.unique || a->first);
}

/*
 * Lines are missing, and nothing happens before they arrive: answers at once what a
 * terminal that waits for them would answer after its time without output.
 */
static void want_lines(struct v0_call *a) { v0_answer_none(a, OP_RUNNING, OP_IDLE, 0); }

static void next_line(struct v0_call *a)
{
    struct v0_shell *sh = a->sh;
    struct str line = str_trim(a->a.run.command);
    if (!gathered(a) && gather(a, line) < 0) {
        v0_answer_error(a, STR("The command that is being typed is too long; end it with "
                               "C-c and write it to a file instead."));
        return;
    }
    if (v0_scan_open(text_of(sh))) {
        want_lines(a);
        return;
    }
    struct buf whole = BUF_INIT(TYPED_MAX);
    buf_adds(&whole, text_of(sh));
    v0_run_text(a, buf_str(&whole));
    forget(sh);
    buf_release(&whole);
}

bool v0_typed(struct v0_call *a)
{
    struct v0_shell *sh = a->sh;
    struct str line = str_trim(a->a.run.command);
    if (sh->typed.n == 0) {
        if (a->a.run.blocking || !v0_scan_lacks_document(line) || gather(a, line) < 0)
            return false; /* the shell itself reports that it is too long */
        sh->typed_any = false;
        want_lines(a);
    } else if (line.n == 0) {
        want_lines(a);
    } else if (!a->a.run.is_input) {
        a->refused = true;
        v0_answer_none(a, OP_RUNNING, OP_DETACHED, 0);
    } else if (a->letter == 'C') {
        forget(sh);
        v0_answer_none(a, OP_ENDED, OP_WHY_NONE, 130);
    } else if (a->letter == 'D') { /* no more lines: bash reports what is missing */
        struct buf whole = BUF_INIT(TYPED_MAX);
        buf_adds(&whole, text_of(sh));
        v0_run_text(a, buf_str(&whole));
        forget(sh);
        buf_release(&whole);
    } else {
        next_line(a);
    }
    return true;
}
