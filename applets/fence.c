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
#include "submit.h"
#include "where.h"

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

static bool has_rule(const struct json *fence, const char *what)
{
    const struct json *r = json_first(json_get(fence, "rules"));
    while (r && !str_eq(json_str(r, "do", ""), str_of(what)))
        r = json_next(r);
    return r;
}

/* What no rule limits. The caller frees it. */
static char *gaps_of(const struct json *fence)
{
    bool net = json_bool(fence, "net", false), reach = net && has_rule(fence, "reach"),
         listen = net && has_rule(fence, "listen");
    const char *others = reach && listen ? ""
                         : reach         ? ", and the ports that programs listen on"
                         : listen        ? ", and what programs connect to"
                                         : ", and the network";
    struct buf text = BUF_INIT(1000);
    if ((reach || listen) && !has_rule(fence, "write") && !has_rule(fence, "read") &&
        !has_rule(fence, "hide"))
        buf_addf(&text, "files, as there is no line of write, read or hide%s", others);
    else
        buf_addf(&text,
                 "modes, owners, times and extended attributes of files (chmod, chown, "
                 "utimes, setxattr) are not limited, nor %s stat, which shows that a "
                 "hidden file exists%s",
                 *others ? "are" : "is", others);
    return buf_take(&text);
}

struct fence_words {
    const char *word, *file, *user, *server;
    char space[SOCKPATH_MAX];
    bool json, undo;
};

static int misused(const char *text)
{
    called_say("%s; see %s\n", text, called_help("fence").z);
    return MISUSED;
}

static bool is_where(const char *word)
{
    return strcmp(word, "--server") == 0 || strcmp(word, "--socket") == 0 ||
           strcmp(word, "--ca") == 0;
}

static int take_words(struct fence_words *w, int argc, char **argv)
{
    struct err e = ERR_INIT;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            w->json = true;
        else if (strcmp(argv[i], "--undo") == 0)
            w->undo = true;
        else if (is_where(argv[i]) && i + 1 < argc) {
            if (where_take(&w->server, w->space, argv[i], argv[i + 1], &e) < 0)
                return misused(e.text);
            i++;
        } else if (strcmp(argv[i], "--user") == 0 && i + 1 < argc)
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
    bool allow = w->word && strcmp(w->word, "allow") == 0,
         learn = w->word && strcmp(w->word, "learn") == 0;
    if (!w->word || (strcmp(w->word, "check") != 0 && strcmp(w->word, "explain") != 0 &&
                     !allow && !learn))
        return misused("check, explain, allow or learn was expected");
    if (learn && w->file)
        return misused("learn takes no FILE");
    if (!w->file && (allow || strcmp(w->word, "check") == 0))
        return misused(allow ? "allow needs a RULE, as \"reach x.example:443\""
                             : "check needs a FILE");
    if ((!allow && w->undo) || (!allow && !learn && w->server))
        return misused("--undo goes with allow; --server, --socket and --ca go with "
                       "allow and learn");
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
    bool files = true, net = json_bool(fence, "net", false);
    for (struct json *l = json_first(json_get(fence, "lacks")); l; l = json_next(l))
        files = files && (!json_bool(l, "needed", false) ||
                          str_eq(json_str(l, "right", ""), STR("net")));
    bool whole = files || json_count(json_get(fence, "rules")) > 0;
    for (struct json *r = json_first(json_get(fence, "rules")); r; r = json_next(r)) {
        bool ok = fence_is_network(r) ? net : files;
        bool part = !fence_is_network(r) && abi > 0;
        json_put_z(r, "enforced", ok ? "yes" : part ? "in part" : "no");
        whole = whole && ok;
    }
    char *gaps = gaps_of(fence);
    json_put_bool(fence, "enforced", whole);
    json_put_z(fence, "kernel", uname(&os) == 0 ? os.release : "unknown");
    json_put_z(fence, "no_new_privs", privileges);
    json_put_z(fence, "not_limited", gaps);
    json_drop(fence, json_get(fence, "lax"));
    free(gaps);
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
    for (const struct json *r = json_first(json_get(fence, "rules")); r;
         r = json_next(r)) {
        struct buf word = BUF_INIT(FENCE_PATH_MAX + 1);
        fence_print_word(r, &word);
        printf("line %lld: %s %s: enforced: %s\n", (long long)json_int(r, "line", 0),
               json_str(r, "do", "").p, buf_z(&word), json_str(r, "enforced", "").p);
        buf_release(&word);
    }
    for (const struct json *l = json_first(json_get(fence, "lacks")); l; l = json_next(l))
        printf("missing right %s (%s): %s%s\n", json_str(l, "right", "").p,
               json_str(l, "since", "").p, json_str(l, "means", "").p,
               json_bool(l, "needed", false) ? "; serve starts with --fence-lax only"
                                             : "");
    print_list("note", json_get(fence, "notes"));
    printf("no_new_privs: %s\nnot limited: %s\n", privileges,
           json_str(fence, "not_limited", "").p);
}

static int allow(const struct fence_words *w)
{
    struct client client;
    struct err e = ERR_INIT;
    struct json *args = json_object(), *r = NULL;
    json_put_z(args, "rule", w->file);
    if (w->undo)
        json_put_bool(args, "undo", true);
    if (client_open(&client, w->server, false, &e) == 0)
        r = submit(&client, called("fence").z, "fence_allow", args, &e);
    client_close(&client);
    json_free(args);
    if (!r) {
        called_say("%s\n", e.text);
        return FAILED;
    }
    if (w->json) {
        struct buf text = BUF_INIT(JSON_MAX);
        json_print(&text, r);
        printf("%s\n", buf_z(&text));
        buf_release(&text);
    } else {
        print_list("added", json_get(r, "added"));
    }
    json_free(r);
    return 0;
}

/* Does a line of this kind stand in the rules, or was one learned? */
static bool has_line(const struct json *fence, const char *kind)
{
    const struct json *x = json_first(json_get(fence, "rules"));
    while (x && (!str_eq(json_str(x, "do", ""), str_of(kind)) ||
                 json_bool(x, "nothing", false)))
        x = json_next(x);
    if (x)
        return true;
    x = json_first(json_get(fence, "learned"));
    while (x && !str_starts(json_str_value(x, ""), str_of(kind)))
        x = json_next(x);
    return x;
}

/* Prints them as a file has them, with a line for each kind that nothing was asked of. */
static void print_learned(const struct json *fence)
{
    const struct json *learned = json_get(fence, "learned");
    if (json_count(learned) == 0)
        printf("# nothing was asked for so far\n");
    for (const struct json *x = json_first(learned); x; x = json_next(x))
        printf("%s\n", json_str_value(x, "").p);
    if (!has_line(fence, "reach"))
        printf("reach nothing\n");
    if (!has_line(fence, "listen"))
        printf("listen nothing\n");
    if (!has_line(fence, "write") && !has_line(fence, "read") && !has_line(fence, "hide"))
        printf("read /\n");
}

/* Prints the lines that a server has learned. */
static int learn(const struct fence_words *w)
{
    struct client client;
    struct err e = ERR_INIT;
    struct json *r = NULL;
    if (client_open(&client, w->server, false, &e) == 0)
        r = submit_request(&client, "info", NULL, NULL, NULL, &e);
    client_close(&client);
    const struct json *fence = json_get(r, "fence"),
                      *learned = json_get(fence, "learned");
    if (r && !json_bool(fence, "learn", false))
        err_set(&e, ERR_INVALID,
                "this server does not learn: start it with od serve --fence-learn");
    if (e.code) {
        called_say("%s\n", e.text);
        json_free(r);
        return FAILED;
    }
    struct buf text = BUF_INIT(JSON_MAX);
    struct json *o = json_object();
    json_put(o, "learned", learned ? json_copy(learned) : json_array());
    json_print(&text, o);
    if (w->json)
        printf("%s\n", buf_z(&text));
    else
        print_learned(fence);
    buf_release(&text);
    json_free(o);
    json_free(r);
    return 0;
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
    if (strcmp(w.word, "allow") == 0)
        return allow(&w);
    if (strcmp(w.word, "learn") == 0)
        return learn(&w);
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
        printf("%s: %d rules, no error\n", w.file, json_count(json_get(fence, "rules")));
    }
    json_free(fence);
    return explains && !whole ? FAILED : 0;
}

const struct applet applet_fence = {
    .name = "fence",
    .brief = "what programs of the sandbox may write, see, reach and use: rules, and "
             "what holds",
    .packed = PACKED(fence_txt_gz),
    .main = fence_main,
};
