/* SPDX-License-Identifier: MIT */
/*
 * Questions of od jupyter-bridge: completions, the description of a name, previous cells.
 */
#include "bridge.h"

#include "base/called.h"
#include "base/xalloc.h"
#include "ipc/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_text(struct str text)
{
    struct buf plain = BUF_INIT(64 << 20);
    if (!isatty(STDOUT_FILENO) && cell_text_plain(&plain, text) == 0)
        text = buf_str(&plain);
    fwrite(text.p, 1, text.n, stdout);
    if (text.n && text.p[text.n - 1] != '\n')
        fputc('\n', stdout);
    buf_release(&plain);
}

/* Prints an entry like the shell's history: the number, then the text. */
static void print_entry(const struct json *entry)
{
    struct json *session = json_first(entry);
    struct json *line = session ? json_next(session) : NULL;
    struct json *input = line ? json_next(line) : NULL;
    struct str rest = json_str_value(input, "");
    printf("%5lld  ", (long long)json_int_value(line, 0));
    for (bool first = true; first || rest.n; first = false) {
        struct str text = str_cut(&rest, '\n');
        printf("%s%.*s\n", first ? "" : "       ", STR_ARG(text));
    }
}

/* Prints an answer. Returns 1 if the kernel has none. */
static int print_answer(const char *question, const struct json *content)
{
    const struct json *v = json_get(content, "matches");
    if (strcmp(question, "inspect") == 0) {
        print_text(json_str(json_get(content, "data"), "text/plain", ""));
        return !json_bool(content, "found", false);
    }
    if (strcmp(question, "history") == 0) {
        v = json_get(content, "history");
        for (struct json *e = json_first(v); e; e = json_next(e))
            print_entry(e);
        return 0;
    }
    for (struct json *m = json_first(v); m; m = json_next(m))
        printf("%.*s\n", STR_ARG(json_str_value(m, "")));
    return !json_first(v);
}

int bridge_ask(const struct bridge *o, struct client *client, struct str code)
{
    struct err e = ERR_INIT;
    struct bridge_cell *c = xnew(struct bridge_cell);
    struct json *result = bridge_run(c, o, client, code, &e);
    const struct json *content = json_get(c->reply, "content");
    int status = result ? bridge_status(result, c) : bridge_fail(&e);
    if (result)
        bridge_tell_end(o, result);
    if (content && o->json) {
        bridge_print_json(content);
    } else if (content && status == 0) {
        status = print_answer(o->question, content);
    } else if (result && status == 1) {
        called_say("the kernel does not answer this question\n");
    }
    bridge_cell_release(c);
    json_free(result);
    free(c);
    return fflush(stdout) == 0 ? status : ANSWER_OURS;
}
