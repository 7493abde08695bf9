/* SPDX-License-Identifier: MIT */
/*
 * The Jupyter kernels of the image: kernelspecs where jupyter_core looks for them,
 * an ipykernel that has none, and our own for a python3 without ipykernel.
 *
 * Only files are looked at: nothing is run, because importing ipykernel to see
 * whether it exists takes as long as starting it.
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
    bool tcp;          /* it does not support sockets of the file system */
    bool embedded;     /* our own kernel in interpreter; argv is {NULL} */
};

/* Owns all of it. */
struct kernel_list {
    struct kernel_spec *v;
    int n;
    struct buf notes;  /* a line for each kernel that was found but cannot be used */
    struct buf looked; /* the searched folders, joined by ", " */
};

enum kernel_choice { KERNEL_ANY, KERNEL_OWN_ONLY, KERNEL_JUPYTER_ONLY };

/* Uses PATH, HOME, JUPYTER_PATH … of env (NULL-terminated), and the .venv in cwd. */
void kernel_find(struct kernel_list *out, char *const *env, const char *cwd);
void kernel_list_release(struct kernel_list *l);
/*
 * Returns the kernel of that name (ignoring case), else the first of that language; ""
 * means python3, then the first of Python, then the first. Returns NULL and sets *e:
 * ERR_NOTFOUND, with the kernels there are and the searched folders.
 */
const struct kernel_spec *kernel_choose(const struct kernel_list *l, struct str name,
                                        enum kernel_choice which, struct err *e);
/*
 * Returns the command line of a kernel with its placeholders filled in: NULL-terminated,
 * to be freed by kernel_argv_free.
 */
char **kernel_argv(const struct kernel_spec *s, const char *connection_file);
void kernel_argv_free(char **argv);

#endif
