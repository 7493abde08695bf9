/* SPDX-License-Identifier: MIT */
/* `od fence`: reads a file of rules, and what of it this kernel enforces. */
#include "applet.h"
#include "base/called.h"
#include "base/json.h"
#include "fence.txt.gz.h"
#include "fence/fence.h"
#include "fence/rules.h"
#include "os/file.h"
#include "os/landlock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FAILED = 1, MISUSED = 2, JSON_MAX = 8 << 20 };

static const char privileges[] =
    "programs gain no privileges: set-user-ID programs (sudo, su, ping with a file "
    "capability) run as the user who starts them. What needs root belongs into the "
    "image, "
    "or into programs of a server that runs as root; --username and --user still choose "
    "the user, as the server does that";

static const char gaps[] =
    "modes, owners, times and extended attributes of files (chmod, chown, utimes, "
    "setxattr) are not limited, nor are stat, which shows that a hidden file exists, and "
    "the network";

struct fence_words {
    const char *word, *file, *user;
    bool json;
};

static int misused(const char *text)
{
    called_say("%s; see %s\n", text, called_help("fence").z);
    return MISUSED;
}

static int take_words(struct fence_words *w, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            w->json = true;
        else if (strcmp(argv[i], "--user") == 0 && i + 1 < argc)
            w->user = argv[++i];
        else if (argv[i][0] == '-' && argv[i][1])
            return misused("there is no such option, or it needs a value");
        else if (!w->word)
            w->word = argv[i];
        else if (!w->file)
            w->file = argv[i];
        else
            return misused("one file was expected");
    }
    if (!w->word || (strcmp(w->word, "check") != 0 && strcmp(w->word, "explain") != 0))
        return misused("check or explain was expected");
    if (!w->file && strcmp(w->word, "check") == 0)
        return misused("check needs a FILE");
    if (!w->file)
        w->file = getenv("OD_FENCE");
    return 0;
}

/* Reads the file into the section of fence/fence.h. NULL and *e. */
static struct json *read_rules(const struct fence_words *w, struct err *e)
{
    struct json *fence = json_object(), *rules = json_array();
    struct buf text = BUF_INIT(FENCE_FILE_MAX + 1);
    char home[PATH_MAX];
    int rc = 0;
    fence_home(w->user, home, sizeof(home));
    if (w->file)
        rc = file_read(w->file, FENCE_FILE_MAX + 1, &text, e);
    if (w->file && rc == 0)
        rc = fence_parse(buf_str(&text), w->file, home, rules, e);
    json_put(fence, "rules", rules);
    json_put_bool(fence, "lax", true); /* explains what is not enforced */
    buf_release(&text);
    if (rc == 0)
        return fence;
    json_free(fence);
    return NULL;
}

/* Adds "enforced" to each rule, and what holds for all. Returns whether all are. */
static bool judge(struct json *fence)
{
    struct utsname os;
    int64_t abi = json_int(fence, "abi", 0);
    bool whole = true;
    for (struct json *l = json_first(json_get(fence, "lacks")); l; l = json_next(l))
        whole = whole && !json_bool(l, "needed", false);
    for (struct json *r = json_first(json_get(fence, "rules")); r; r = json_next(r))
        json_put_z(r, "enforced", whole ? "yes" : abi > 0 ? "in part" : "no");
    json_put_bool(fence, "enforced", whole);
    json_put_z(fence, "kernel", uname(&os) == 0 ? os.release : "unknown");
    json_put_z(fence, "no_new_privs", privileges);
    json_put_z(fence, "not_limited", gaps);
    json_drop(fence, json_get(fence, "lax"));
    return whole;
}

static void print_list(const char *label, const struct json *list)
{
    for (const struct json *x = json_first(list); x; x = json_next(x))
        printf("%s: %s\n", label, json_str_value(x, "").p);
}

static void print_text(const struct json *fence)
{
    printf("kernel: Linux %s, Landlock %s", json_str(fence, "kernel", "").p,
           json_int(fence, "abi", 0) > 0 ? "ABI " : "missing or refused\n");
    if (json_int(fence, "abi", 0) > 0)
        printf("%lld\n", (long long)json_int(fence, "abi", 0));
    for (const struct json *r = json_first(json_get(fence, "rules")); r; r = json_next(r))
        printf("line %lld: %s %s: enforced: %s\n", (long long)json_int(r, "line", 0),
               json_str(r, "do", "").p, json_str(r, "path", "").p,
               json_str(r, "enforced", "").p);
    for (const struct json *l = json_first(json_get(fence, "lacks")); l; l = json_next(l))
        printf("missing right %s (%s): %s%s\n", json_str(l, "right", "").p,
               json_str(l, "since", "").p, json_str(l, "means", "").p,
               json_bool(l, "needed", false) ? "; serve starts with --fence-lax only"
                                             : "");
    print_list("note", json_get(fence, "notes"));
    printf("no_new_privs: %s\nnot limited: %s\n", privileges, gaps);
}

static int fence_main(int argc, char **argv)
{
    struct fence_words w = {0};
    struct err e = ERR_INIT;
    struct fence_own own = {"", "", ""};
    struct fence_made made;
    int status = take_words(&w, argc, argv);
    if (status)
        return status;
    struct json *fence = read_rules(&w, &e);
    if (!fence || fence_make(fence, &own, &made, &e) < 0) {
        called_say("%s\n", e.text);
        json_free(fence);
        return FAILED;
    }
    if (made.programs >= 0)
        close(made.programs);
    if (made.jobs >= 0)
        close(made.jobs);
    bool explains = strcmp(w.word, "explain") == 0, whole = judge(fence);
    if (w.json) {
        struct buf text = BUF_INIT(JSON_MAX);
        json_print(&text, fence);
        printf("%s\n", buf_z(&text));
        buf_release(&text);
    } else if (explains) {
        print_text(fence);
    } else {
        print_list("note", json_get(fence, "notes"));
        printf("%s: %d paths, no error\n", w.file, json_count(json_get(fence, "rules")));
    }
    json_free(fence);
    return explains && !whole ? FAILED : 0;
}

const struct applet applet_fence = {
    .name = "fence",
    .brief = "what programs of the sandbox may write and see: rules, and what holds",
    .packed = PACKED(fence_txt_gz),
    .main = fence_main,
};
