/* SPDX-License-Identifier: MIT */
/* A notebook run by od jupyter-bridge, and written back. */
#include "bridge.h"

#include "base/called.h"
#include "base/limits.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the notebook as a whole or not at all: next to the file, then renamed. */
static int write_back(const char *path, const struct notebook *book, struct err *e)
{
    struct buf text = BUF_INIT(BRIDGE_BOOK_MAX), tmp = BUF_INIT(PATH_MAX);
    struct stat st;
    int r = -1;
    buf_addf(&tmp, "%s.od-%d", path, (int)getpid());
    int fd = open(buf_z(&tmp), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  stat(path, &st) == 0 ? st.st_mode & 0777 : 0666);
    if (fd >= 0 && notebook_print(&text, book) == 0 &&
        write(fd, text.p, text.n) == (ssize_t)text.n && rename(buf_z(&tmp), path) == 0)
        r = 0;
    else {
        err_sys(e, errno, "cannot write the notebook %s", path);
        if (fd >= 0)
            unlink(buf_z(&tmp));
    }
    if (fd >= 0)
        close(fd);
    buf_release(&text);
    buf_release(&tmp);
    return r;
}

/* Runs a cell. Returns its status; on failure sets *e. */
static int run_book_cell(struct bridge *o, struct client *client, struct notebook *book,
                         struct str code)
{
    struct err e = ERR_INIT;
    struct bridge_cell *c = xnew(struct bridge_cell);
    c->book = book;
    struct json *result = bridge_run(c, o, client, code, &e);
    int status = result ? bridge_status(result, c) : bridge_fail(&e);
    notebook_ended(book, json_int(result, "count", 0));
    if (result)
        bridge_tell_end(o, result);
    json_free(result);
    bridge_cell_release(c);
    free(c);
    return status;
}

static int run_cells(struct bridge *o, struct client *client, struct notebook *book)
{
    struct buf code = BUF_INIT(LIMIT_COMMAND_MAX);
    int status = 0, total = notebook_cells(book);
    for (int n = 1; notebook_next(book, &code); n++) {
        called_say("cell %d of %d\n", n, total);
        int this = 1;
        if (buf_full(&code))
            called_say("cell %d is longer than %d bytes\n", n, LIMIT_COMMAND_MAX);
        else
            this = run_book_cell(o, client, book, buf_str(&code));
        if (this == 1 && notebook_may_fail(book))
            this = 0;
        buf_reset(&code);
        notebook_error(book, &code);
        if (this)
            called_say("cell %d failed%s%s\n", n, code.n ? ": " : "", buf_z(&code));
        status = this ? this : status;
        if (this > 1 || (this && !o->keep_going))
            break;
    }
    buf_release(&code);
    return status;
}

/*
 * A notebook gets a new kernel, unless one was named, so that it begins without
 * variables.
 */
int bridge_notebook(struct bridge *o, struct client *client, struct str text)
{
    struct err e = ERR_INIT;
    struct notebook *book = notebook_parse(text, o->file, &e);
    char kernel[100], name[40];
    bool own = !o->name;
    if (!book)
        return bridge_fail(&e);
    struct str spec = notebook_kernel(book);
    if (!o->kernel && spec.n && spec.n < sizeof(kernel)) {
        memcpy(kernel, spec.p, spec.n);
        kernel[spec.n] = 0;
        o->kernel = kernel;
    }
    snprintf(name, sizeof(name), "notebook-%d", (int)getpid());
    if (own)
        o->name = name;
    int status = run_cells(o, client, book);
    if (own) {
        o->verb = "close";
        bridge_send_verb(o, &(struct err){0});
    }
    if (write_back(o->output ? o->output : o->file, book, &e) < 0)
        status = bridge_fail(&e);
    notebook_free(book);
    return status;
}
