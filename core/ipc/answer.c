/* SPDX-License-Identifier: MIT */
/*
 * Sentences, statuses and a table from results.
 *
 * If something is left running, the sentence ends with the command line to go
 * on with, so that its reader, person or program, needs no manual.
 */
#include "ipc/answer.h"

#include "base/called.h"
#include "base/utf8.h"

#include <stdio.h>

static bool is(struct str s, const char *z)
{
    return str_eq(s, str_of(z));
}

int answer_exit(const struct json *r)
{
    if (!json_bool(r, "ok", false)) {
        const struct json *error = json_get(r, "error");
        if (json_has(error, "exit"))
            return (int)json_int(error, "exit", ANSWER_OURS);
        return is(json_str(error, "code", ""), "TIMEOUT") ? ANSWER_EARLY : ANSWER_OURS;
    }
    struct str state = json_str(r, "state", "");
    if (is(state, "ended") || is(state, "shell_ended"))
        return (int)json_int(r, "exit", ANSWER_OURS);
    if (is(state, "running") && !is(json_str(r, "why", ""), "detached"))
        return ANSWER_EARLY;
    return 0;
}

/* "COMMAND [-s NAME] REST"; main needs no -s. */
static void add_hint(struct buf *out, const char *command, const char *option,
                     struct str name, const char *rest)
{
    buf_addf(out, "%s ", command);
    if (name.n && !(is(name, "main") && is(str_of(option), "-s"))) {
        buf_addf(out, "%s ", option);
        called_add_word(out, name);
        buf_addc(out, ' ');
    }
    buf_addz(out, rest);
}

static void add_seconds(struct buf *out, int64_t ms)
{
    if (ms % 1000 == 0)
        buf_addf(out, "%lld s", (long long)(ms / 1000));
    else
        buf_addf(out, "%.1f s", (double)ms / 1000);
}

static void running_words(struct buf *out, const struct json *r, const char *command)
{
    struct str why = json_str(r, "why", "");
    struct str process = json_str(r, "process", "");
    struct str session = json_str(r, "session", "main");
    const struct json *w = json_get(r, "waiting");
    struct str waits = json_str(w, "state", "");
    if (is(why, "detached"))
        return;
    buf_addz(out, is(why, "input") ? "" : "still running");
    int64_t ms = is(why, "input") ? -1 : json_int(r, "duration_ms", -1);
    if (ms >= 0) {
        buf_addz(out, " after ");
        add_seconds(out, ms);
    }
    if (is(why, "timeout"))
        buf_addz(out, ", the time limit has passed");
    else if (is(why, "idle"))
        buf_addz(out, ", with no new output");
    else if (is(why, "cancelled"))
        buf_addz(out, ", not waited for");
    if (is(why, "input") || (!process.n && (is(waits, "yes") || is(waits, "probably")))) {
        buf_addz(out, is(why, "input") ? "" : ": ");
        struct str comm = json_str(w, "comm", ""), how = json_str(w, "how", "");
        buf_adds(out, comm.n ? comm : STR("the command"));
        if (is(waits, "probably"))
            buf_addz(out, " probably");
        buf_addz(out, " waits for input");
        if (how.n)
            buf_addf(out, " (%.*s)", STR_ARG(how));
        buf_addz(out, "; answer it: ");
        add_hint(out, command, "-s", session,
                 json_bool(r, "full_screen", false) ? "--key KEYS --wait"
                                                    : "--input TEXT --wait");
        return;
    }
    if (json_bool(r, "full_screen", false) && is(waits, "unknown")) {
        buf_addz(out, "; it uses the whole screen, and may take keys: ");
        add_hint(out, command, "-s", session, "--key KEYS --wait");
        return;
    }
    buf_addz(out, "; wait on: ");
    if (process.n)
        add_hint(out, command, "-p", process, "--wait");
    else
        add_hint(out, command, "-s", session, "--wait");
}

void answer_words(struct buf *out, const struct json *r, const char *command)
{
    if (!json_bool(r, "ok", false)) {
        struct str text = json_str(json_get(r, "error"), "text", "");
        buf_adds(out, text.n ? text : STR("the server refused and did not say why"));
        return;
    }
    struct str state = json_str(r, "state", "");
    if (is(state, "running"))
        running_words(out, r, command);
    else if (is(state, "shell_ended"))
        buf_addf(out, "the shell of session %.*s has ended with status %lld; the next "
                      "command gets a fresh one",
                 STR_ARG(json_str(r, "session", "main")),
                 (long long)json_int(r, "exit", 0));
    else if (is(state, "none"))
        buf_addf(out, "nothing is running in session %.*s",
                 STR_ARG(json_str(r, "session", "main")));
}

void answer_note(struct buf *out, const struct json *note)
{
    struct str kind = json_str(note, "note", ""), text = json_str(note, "text", "");
    static const char *const silent[] = {"started", "restarted", "attached"};
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        if (is(kind, silent[i]))
            return;
    buf_adds(out, text.n ? text : kind);
}

void answer_option(struct buf *out, const struct json *r)
{
    struct str process = json_str(r, "process", "");
    buf_addz(out, process.n ? "-p " : "-s ");
    called_add_word(out, process.n ? process : json_str(r, "session", "main"));
}

/* A table: cells are text, columns as wide as their widest cell. */
enum { COLUMNS = 7, COMMAND_WIDTH = 60 };

static const char *const headings[COLUMNS] = {"NAME", "KIND", "STATE", "SINCE",
                                              "USERS", "DIRECTORY", "COMMAND"};

struct answer_row {
    char cell[COLUMNS][COMMAND_WIDTH * 4 + 8];
};

static int width_of(const char *z)
{
    struct str s = str_of(z);
    int width = 0;
    while (s.n > 0) {
        uint32_t cp;
        int n = utf8_decode(s, &cp);
        if (n <= 0)
            break;
        width += utf8_width(cp);
        s = str_sub(s, (size_t)n, s.n);
    }
    return width;
}

/* The first line, at most `columns` wide; "..." if anything is left out. */
static void put_cell(char *cell, size_t size, struct str s, int columns)
{
    struct str rest = str_trim(s), line = str_cut(&rest, '\n');
    bool more = rest.n > 0;
    size_t used = 0;
    int width = 0;
    while (line.n > 0 && used + 8 < size) {
        uint32_t cp;
        int n = utf8_decode(line, &cp);
        if (n <= 0)
            break;
        bool control = cp < 0x20 || cp == 0x7f;
        width += control ? 1 : utf8_width(cp);
        if (width > columns - 3 && line.n > (size_t)n + 2) {
            more = true;
            break;
        }
        if (control)
            cell[used++] = ' ';
        else
            memcpy(cell + used, line.p, (size_t)n), used += (size_t)n;
        line = str_sub(line, (size_t)n, line.n);
    }
    snprintf(cell + used, size - used, "%s", more ? "..." : "");
}

static void put_age(char *cell, size_t size, const struct json *item)
{
    long long s = (long long)json_int(item, "running_ms", -1);
    if (s < 0) {
        snprintf(cell, size, "-");
        return;
    }
    s /= 1000;
    if (s < 60)
        snprintf(cell, size, "%llds", s);
    else if (s < 3600)
        snprintf(cell, size, "%lldm%02llds", s / 60, s % 60);
    else
        snprintf(cell, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
}

static void put_row(struct answer_row *row, const struct json *item, const char *kind)
{
    struct str path = json_str(item, "shell", kind);
    for (long slash = str_chr(path, '/'); slash >= 0; slash = str_chr(path, '/'))
        path = str_sub(path, (size_t)slash + 1, path.n);
    struct str state = json_str(item, "state", "-");
    const size_t size = sizeof(row->cell[0]);
    put_cell(row->cell[0], size, json_str(item, "name", "?"), COMMAND_WIDTH);
    put_cell(row->cell[1], size, path, 20);
    put_cell(row->cell[2], size, state, 20);
    if (is(state, "ended") && json_has(item, "exit"))
        snprintf(row->cell[2], size, "ended %lld", (long long)json_int(item, "exit", 0));
    put_age(row->cell[3], size, item);
    snprintf(row->cell[4], size, "%lld", (long long)json_int(item, "attached", 0));
    put_cell(row->cell[5], size, json_str(item, "cwd", "-"), COMMAND_WIDTH);
    put_cell(row->cell[6], size, json_str(item, "command", ""), COMMAND_WIDTH);
}

static void add_row(struct buf *out, const struct answer_row *row, const int *width)
{
    for (int i = 0; i < COLUMNS; i++) {
        buf_addz(out, row->cell[i]);
        int pad = i + 1 < COLUMNS ? width[i] - width_of(row->cell[i]) + 2 : 0;
        while (pad-- > 0)
            buf_addc(out, ' ');
    }
    while (out->n > 0 && out->p[out->n - 1] == ' ')
        buf_truncate(out, out->n - 1);
    buf_addc(out, '\n');
}

/* Twice over the items: first for the widths (out is NULL), then for the rows. */
static void walk(struct buf *out, const struct json *items, const char *kind, int *width)
{
    for (const struct json *i = json_first(items); i; i = json_next(i)) {
        struct answer_row row;
        put_row(&row, i, kind);
        if (out) {
            add_row(out, &row, width);
            continue;
        }
        for (int c = 0; c < COLUMNS; c++) {
            int w = width_of(row.cell[c]);
            width[c] = w > width[c] ? w : width[c];
        }
    }
}

void answer_table(struct buf *out, const struct json *list)
{
    const struct json *sessions = json_get(list, "sessions");
    const struct json *processes = json_get(list, "processes");
    if (json_count(sessions) + json_count(processes) == 0)
        return;
    struct answer_row top;
    int width[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        snprintf(top.cell[c], sizeof(top.cell[c]), "%s", headings[c]);
        width[c] = width_of(headings[c]);
    }
    walk(NULL, sessions, "shell", width);
    walk(NULL, processes, "process", width);
    add_row(out, &top, width);
    walk(out, sessions, "shell", width);
    walk(out, processes, "process", width);
}
