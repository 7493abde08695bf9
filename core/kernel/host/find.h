/* SPDX-License-Identifier: MIT */
/*
 * The Jupyter kernels of the image: kernelspecs where jupyter_core looks for them,
 * an ipykernel that has none, and for a python3 without ipykernel our own.
 *
 * Only files are looked at: nothing is run, because importing ipykernel to see
 * whether it is there takes as long as starting it.
 */
#ifndef OD_KERNEL_HOST_FIND_H
#define OD_KERNEL_HOST_FIND_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct kernel_spec {
    char *name, *display, *language;
    char *where;       /* the folder of kernel.json, or the file that led to it */
    char **argv;       /* with {connection_file} and {resource_dir} still in it */
    char **env;        /* NAME=VALUE to be added; NULL-terminated */
    char *interpreter; /* of a Python kernel: its python; "" if not known */
    bool by_message;   /* interrupt_mode is message */
    bool embedded;     /* our own kernel in interpreter; argv is {NULL} */
};

/* Owns all of it. */
struct kernel_list {
    struct kernel_spec *v;
    int n;
    struct buf notes;  /* a line each of what was found and cannot be used */
    struct buf looked; /* the folders that were looked in, ", " between them */
};

enum kernel_choice { KERNEL_ANY, KERNEL_OWN_ONLY, KERNEL_JUPYTER_ONLY };

/* env: NULL-terminated, whose PATH, HOME, JUPYTER_PATH … count; cwd: for .venv. */
void kernel_find(struct kernel_list *out, char *const *env, const char *cwd);
void kernel_list_release(struct kernel_list *l);
/*
 * The one of that name (without case), else the first of that language; "" is
 * python3, then the first of Python, then the first. NULL: ERR_NOTFOUND, with
 * what there is and where was looked.
 */
const struct kernel_spec *kernel_choose(const struct kernel_list *l, struct str name,
                                        enum kernel_choice which, struct err *e);
/*
 * The command line of one: placeholders filled in. NULL-terminated, to be freed by
 * kernel_argv_free.
 */
char **kernel_argv(const struct kernel_spec *s, const char *connection_file);
void kernel_argv_free(char **argv);

#endif
