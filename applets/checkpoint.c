/* SPDX-License-Identifier: MIT */
/*
 * `od checkpoint`: what files were, and how they become it again. The server does it, by
 * the same actions as for every client; or this process, with --store.
 */
#include "applet.h"
#include "base/called.h"
#include "base/enc.h"
#include "base/json.h"
#include "checkpoint.txt.gz.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint_send.h"
#include "submit.h"
#include "where.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILED = 1, MISUSED = 2, OURS = 125, OUT_MAX = 64 << 20, NUMBERS_MAX = 1000 };

struct checkpoint_options {
    const char *word, *store, *server, *file;
    char space[SOCKPATH_MAX];
    struct json *args;                   /* owned: of the action */
    struct json *dirs, *exclude, *paths; /* owned */
    int64_t ids[NUMBERS_MAX];
    size_t ids_n;
    bool json;
    bool help;
    int input;
    char cwd[PATH_MAX];
};

static int say(int status, const char *text)
{
    called_say("%s\n", text);
    return status;
}

/* ---- what is printed ---- */

static void print_size(int64_t bytes)
{
    const char *unit = "B";
    double n = (double)bytes;
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    for (size_t i = 0; i < 3 && n >= 1024; i++) {
        n /= 1024;
        unit = units[i];
    }
    printf(n < 10 && unit[0] != 'B' ? "%.1f %s" : "%.0f %s", n, unit);
}

static void print_clean(struct str s, const char *keep)
{
    struct buf b = BUF_INIT(OUT_MAX);
    called_clean(&b, s, keep);
    fwrite(buf_z(&b), 1, b.n, stdout);
    buf_release(&b);
}

static void print_name(struct str s) { print_clean(s, ""); }

/* Lines of files, as they are unless a person would see them. */
static void print_diff(struct str diff)
{
    if (isatty(STDOUT_FILENO))
        print_clean(diff, "\n\t");
    else
        fwrite(diff.p, 1, diff.n, stdout);
    putchar('\n');
}

static void print_list_of(const struct json *list, const char *what)
{
    for (const struct json *x = json_first(list); x; x = json_next(x)) {
        printf("%s ", what);
        print_name(json_str(x, "path", ""));
        printf(": ");
        print_name(json_str(x, "why", ""));
        putchar('\n');
    }
}

static void print_record(const struct json *r)
{
    struct str time = json_str(r, "time", ""), label = json_str(r, "label", "");
    printf("%-4lld %.*s  %-8.*s %7lld files  +", (long long)json_int(r, "id", 0),
           (int)(time.n > 19 ? 19 : time.n), time.p, STR_ARG(json_str(r, "why", "")),
           (long long)json_int(r, "files", 0));
    print_size(json_int(r, "added", 0));
    if (json_bool(r, "pinned", false))
        printf("  pinned");
    if (json_int(r, "gaps", 0) > 0)
        printf("  %lld not whole", (long long)json_int(r, "gaps", 0));
    if (json_int(r, "action", 0) > 0)
        printf("  before action %lld", (long long)json_int(r, "action", 0));
    for (const struct json *d = json_first(json_get(r, "dirs")); d; d = json_next(d)) {
        printf("  ");
        print_name(json_str_value(d, ""));
    }
    if (label.n) {
        printf("  ");
        print_name(label);
    }
    putchar('\n');
    print_list_of(json_get(r, "gap_list"), "  gap:");
}

/* One, line by line. */
static void print_whole(const struct json *all)
{
    const struct json *r = json_first(json_get(all, "checkpoints")), *x;
    static const char *const texts[] = {"time", "why", "label"}, *const numbers[] = {
                                                                     "action", "uid",
                                                                     "files",  "folders",
                                                                     "others", "bytes",
                                                                     "read",   "added",
                                                                     "gaps"};
    printf("%-8s %lld%s\n", "id", (long long)json_int(r, "id", 0),
           json_bool(r, "pinned", false) ? ", pinned" : "");
    for (x = json_first(json_get(r, "dirs")); x; x = json_next(x)) {
        printf("%-8s ", "dir");
        print_name(json_str_value(x, ""));
        putchar('\n');
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (json_str(r, texts[i], "").n == 0)
            continue;
        printf("%-8s ", texts[i]);
        print_name(json_str(r, texts[i], ""));
        putchar('\n');
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        printf("%-8s %lld\n", numbers[i], (long long)json_int(r, numbers[i], 0));
    for (x = json_first(json_get(r, "exclude")); x; x = json_next(x)) {
        printf("%-8s ", "exclude");
        print_name(json_str_value(x, ""));
        putchar('\n');
    }
    print_list_of(json_get(all, "gap_list"), "gap:");
}

static void print_changes(const struct json *r)
{
    const struct json *x = json_first(json_get(r, "changes"));
    for (; x; x = json_next(x)) {
        struct str change = json_str(x, "change", "?"), diff = json_str(x, "diff", "");
        putchar(change.p[0] == 'a' ? '+' : change.p[0] == 'r' ? '-' : '~');
        putchar(' ');
        print_name(json_str(x, "path", ""));
        if (str_eq(json_str(x, "kind", ""), STR("folder")))
            putchar('/');
        if (json_has(x, "files"))
            printf(" (%lld files)", (long long)json_int(x, "files", 0));
        const char *sep = " (";
        const struct json *w = json_first(json_get(x, "what"));
        for (; w; w = json_next(w), sep = ", ")
            printf("%s%.*s", sep, STR_ARG(json_str_value(w, "")));
        printf(sep[0] == ',' ? ")\n" : "\n");
        if (diff.n)
            print_diff(diff);
    }
    if (json_int(r, "more", 0) > 0)
        printf("… and %lld more\n", (long long)json_int(r, "more", 0));
}

static void print_restored(const struct json *r)
{
    const struct json *h = json_first(json_get(r, "held"));
    print_changes(r);
    print_list_of(json_get(r, "gaps"), "not kept whole:");
    print_list_of(json_get(r, "problems"), "not restored:");
    for (; h; h = json_next(h)) {
        printf("process %lld (", (long long)json_int(h, "pid", 0));
        print_name(json_str(h, "program", ""));
        printf(") still uses the old ");
        print_name(json_str(h, "path", ""));
        putchar('\n');
    }
    if (json_has(r, "safety"))
        printf("checkpoint %lld has the files as they were before\n",
               (long long)json_int(r, "safety", 0));
}

static void print_verified(const struct json *r)
{
    const struct json *x = json_first(json_get(r, "files"));
    for (; x; x = json_next(x)) {
        printf("damaged in checkpoint %lld: ", (long long)json_int(x, "id", 0));
        print_name(json_str(x, json_has(x, "path") ? "path" : "why", ""));
        putchar('\n');
    }
    printf("%lld checkpoints, %lld damaged contents\n",
           (long long)json_int(r, "checkpoints", 0),
           (long long)json_int(r, "damaged", 0));
}

static void print_all(const struct json *r)
{
    const struct json *x = json_first(json_get(r, "checkpoints"));
    for (; x; x = json_next(x))
        print_record(x);
    if (json_has(r, "unfinished"))
        printf("a restore of checkpoint %lld was killed: restore --finish does the rest, "
               "restore --back takes it back\n",
               (long long)json_int(json_get(r, "unfinished"), "to", 0));
}

static int show(const struct checkpoint_options *o, const char *verb, struct json *r)
{
    struct buf b = BUF_INIT(OUT_MAX);
    bool bad = json_int(r, "failed", 0) > 0 || json_int(r, "damaged", 0) > 0;
    if (o->json && json_print(&b, r) == 0)
        printf("%s\n", buf_z(&b));
    else if (strcmp(verb, "checkpoint") == 0 || o->file || strcmp(verb, "send") == 0)
        print_record(r);
    else if (strcmp(o->word, "show") == 0)
        print_whole(r);
    else if (strcmp(verb, "checkpoints") == 0)
        print_all(r);
    else if (strcmp(verb, "changes") == 0)
        print_changes(r);
    else if (strcmp(verb, "rollback") == 0)
        print_restored(r);
    else if (strcmp(verb, "verify") == 0)
        print_verified(r);
    buf_release(&b);
    json_free(r);
    if (fflush(stdout) == EOF)
        return say(OURS, "cannot write to standard output");
    return bad ? FAILED : 0;
}

/* ---- who does it ---- */

static struct json *by_store(struct checkpoint_options *o, const char *verb,
                             struct err *e)
{
    const struct checkpoint_call q = {.verb = verb,
                                      .store = o->store,
                                      .args = o->args,
                                      .dirs = o->dirs,
                                      .exclude = o->exclude,
                                      .input = o->input,
                                      .cwd = o->cwd};
    return checkpoint_do(&q, e);
}

static struct json *by_server(struct checkpoint_options *o, const char *verb,
                              struct err *e)
{
    struct client client;
    if (client_open(&client, o->server, true, e) < 0)
        return NULL;
    if (!client_is_remote(&client) && !json_has(o->args, "dir") &&
        strcmp(verb, "checkpoint_drop") != 0 && strcmp(verb, "checkpoints") != 0)
        json_put_z(o->args, "from_dir", o->cwd);
    struct json *out = submit(&client, called("checkpoint").z, verb, o->args, e);
    client_close(&client);
    return out;
}

/* To a server elsewhere, from a folder. */
static struct json *send_there(struct checkpoint_options *o, struct err *e)
{
    struct checkpoint_sender to = {
        .server = o->server ? o->server : sockpath_of_environment(o->space)};
    const struct checkpoint_peer peer = {checkpoint_ask, &to};
    const struct checkpoint_call q = {
        .verb = "send", .store = o->store, .args = o->args, .cwd = o->cwd};
    if (!where_is_remote(to.server)) {
        err_set(e, ERR_INVALID, "send needs a server elsewhere: --server http[s]://…");
        return NULL;
    }
    return checkpoint_send(&q, o->ids[0], &peer, e);
}

/* ---- the words ---- */

static const char *verb_of(const struct checkpoint_options *o)
{
    static const char *const verbs[][2] = {
        {"create", "checkpoint"}, {"list", "checkpoints"}, {"show", "checkpoints"},
        {"diff", "changes"},      {"restore", "rollback"}, {"drop", "checkpoint_drop"},
        {"pin", "checkpoint"},    {"unpin", "checkpoint"}, {"verify", "verify"},
        {"export", "export"},     {"import", "import"},    {"send", "send"}};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i][0], o->word) == 0)
            return verbs[i][1];
    return NULL;
}

static bool take_flag(struct checkpoint_options *o, const char *name)
{
    if (strcmp(name, "--json") == 0)
        o->json = true;
    else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        o->help = true;
    else if (strcmp(name, "--pin") == 0)
        json_put_bool(o->args, "pin", true);
    else if (strcmp(name, "--dry-run") == 0)
        json_put_bool(o->args, "dry_run", true);
    else if (strcmp(name, "--text") == 0)
        json_put_bool(o->args, "diff", true);
    else if (strcmp(name, "--each") == 0)
        json_put_bool(o->args, "each", true);
    else if (strcmp(name, "--finish") == 0 || strcmp(name, "--back") == 0)
        json_put_z(o->args, "unfinished", name + 2);
    else
        return false;
    return true;
}

/* Returns how many words it took, or -1 and sets *e. */
static int take_option(struct checkpoint_options *o, const char *name, char *value,
                       struct err *e)
{
    uint64_t n;
    if (take_flag(o, name))
        return 1;
    if (!value)
        return err_set(e, ERR_INVALID, "there is no option %.100s, or it needs a value",
                       name);
    if (strcmp(name, "--dir") == 0)
        json_push_str(o->dirs, str_of(value));
    else if (strcmp(name, "--exclude") == 0)
        json_push_str(o->exclude, str_of(value));
    else if (strcmp(name, "--label") == 0)
        json_put_z(o->args, "label", value);
    else if (strcmp(name, "--store") == 0)
        o->store = value;
    else if (strcmp(name, "--limit") == 0 && str_to_u64(str_of(value), &n) == 0 && n)
        json_put_int(o->args, "limit", (int64_t)n);
    else if (strcmp(name, "--server") == 0 || strcmp(name, "--socket") == 0 ||
             strcmp(name, "--ca") == 0)
        return where_take(&o->server, o->space, name, value, e) < 0 ? -1 : 2;
    else
        return err_set(e, ERR_INVALID, "there is no option %.100s, or not with %.100s",
                       name, value);
    return 2;
}

static void take_path(struct checkpoint_options *o, const char *path)
{
    struct buf b = BUF_INIT(2 * PATH_MAX * 256);
    enc_base64(&b, str_of(path));
    json_push_str(o->paths, buf_str(&b));
    buf_release(&b);
}

static int take_words(struct checkpoint_options *o, int argc, char **argv, struct err *e)
{
    bool words = false;
    uint64_t id;
    for (int i = 1; i < argc;) {
        char *w = argv[i];
        int n = 1;
        if (!words && strcmp(w, "--") == 0)
            words = true;
        else if (!words && w[0] == '-' && w[1])
            n = take_option(o, w, i + 1 < argc ? argv[i + 1] : NULL, e);
        else if (!o->word)
            o->word = w;
        else if (!o->file && strcmp(o->word, "import") == 0)
            o->file = w;
        else if (!words && json_count(o->paths) == 0 && o->ids_n < NUMBERS_MAX &&
                 str_to_u64(str_of(w), &id) == 0 && id)
            o->ids[o->ids_n++] = (int64_t)id;
        else
            take_path(o, w);
        if (n < 0)
            return -1;
        i += n;
    }
    return 0;
}

/* Makes arguments of an action of the words. */
static int take_args(struct checkpoint_options *o, const char *verb, struct err *e)
{
    size_t most = strcmp(o->word, "diff") == 0   ? 2
                  : strcmp(o->word, "drop") == 0 ? NUMBERS_MAX
                                                 : 1;
    bool none = strcmp(o->word, "create") == 0 || strcmp(o->word, "list") == 0 ||
                strcmp(o->word, "verify") == 0 || strcmp(o->word, "import") == 0;
    bool paths = strcmp(o->word, "diff") == 0 || strcmp(o->word, "restore") == 0;
    bool needs = !none && strcmp(o->word, "diff") != 0 &&
                 !json_has(o->args, "unfinished");
    if (o->ids_n > (none ? 0 : most) || (needs && !o->ids_n))
        return err_set(e, ERR_INVALID, "%s takes %s", o->word,
                       none        ? "no number"
                       : most == 1 ? "the number of one checkpoint; list prints them"
                                   : "numbers of checkpoints; list prints them");
    if (strcmp(o->word, "import") == 0 && !o->file)
        return err_set(e, ERR_INVALID, "import takes a tar archive; - is standard input");
    if (json_count(o->paths) > 0 && !paths)
        return err_set(e, ERR_INVALID, "%s takes no path", o->word);
    if (json_count(o->paths) > 0)
        json_put(o->args, "paths_base64", json_copy(o->paths));
    if (strcmp(o->word, "pin") == 0 || strcmp(o->word, "unpin") == 0)
        json_put_bool(o->args, "pin", o->word[0] == 'p');
    if (strcmp(verb, "checkpoint_drop") == 0) {
        struct json *ids = json_array();
        for (size_t i = 0; i < o->ids_n; i++)
            json_push_int(ids, o->ids[i]);
        json_put(o->args, "ids", ids);
    } else if (o->ids_n > 0) {
        const char *first = strcmp(verb, "changes") == 0    ? "from"
                            : strcmp(verb, "rollback") == 0 ? "to"
                                                            : "id";
        json_put_int(o->args, first, o->ids[0]);
        if (o->ids_n > 1)
            json_put_int(o->args, "to", o->ids[1]);
    }
    return 0;
}

static int run(struct checkpoint_options *o, const char *verb)
{
    struct err e = ERR_INIT;
    bool direct = strcmp(verb, "verify") == 0 || strcmp(verb, "export") == 0 ||
                  strcmp(verb, "send") == 0 || o->file;
    if (direct && !o->store)
        return say(MISUSED, "verify, export, import and send use the folder itself: "
                            "--store DIR");
    if (!o->store && json_count(o->exclude) > 0)
        return say(MISUSED, "--exclude needs --store; a server has --checkpoint-exclude");
    if (!o->store && json_count(o->dirs) > 1)
        return say(MISUSED, "a server takes one --dir, or od serve --checkpoint-dir");
    if (!o->store && json_count(o->dirs) == 1)
        json_put_str(o->args, "dir", json_str_value(json_first(o->dirs), ""));
    if (strcmp(verb, "export") == 0) {
        const struct checkpoint_call q = {.verb = verb, .store = o->store, .cwd = o->cwd};
        return checkpoint_export(&q, o->ids[0], STDOUT_FILENO, &e) < 0 ? say(OURS, e.text)
                                                                       : 0;
    }
    if (o->file && strcmp(o->file, "-") != 0 &&
        (o->input = open(o->file, O_RDONLY | O_CLOEXEC)) < 0) {
        err_sys(&e, errno, "cannot open %.300s", o->file);
        return say(OURS, e.text);
    }
    struct json *r = strcmp(verb, "send") == 0 ? send_there(o, &e)
                     : o->store                ? by_store(o, verb, &e)
                                               : by_server(o, verb, &e);
    return r ? show(o, verb, r)
             : say(e.code == ERR_INVALID && !o->file ? MISUSED : OURS, e.text);
}

/* The words have been taken. */
static int do_words(struct checkpoint_options *o)
{
    struct err e = ERR_INIT;
    o->word = o->word ? o->word : "create";
    const char *verb = verb_of(o);
    if (!verb)
        called_say("there is no verb %.100s; see %s\n", o->word,
                   called_help("checkpoint").z);
    else if (take_args(o, verb, &e) < 0)
        say(MISUSED, e.text);
    else
        return run(o, verb);
    return MISUSED;
}

static int checkpoint_main(int argc, char **argv)
{
    struct checkpoint_options *o = calloc(1, sizeof(*o));
    struct err e = ERR_INIT;
    int status = MISUSED;
    if (!o || !getcwd(o->cwd, sizeof(o->cwd)))
        return say(OURS, "the current directory is gone");
    signal(SIGPIPE, SIG_IGN);
    o->args = json_object();
    o->dirs = json_array();
    o->exclude = json_array();
    o->paths = json_array();
    if (take_words(o, argc, argv, &e) < 0)
        say(MISUSED, e.text);
    else
        status = o->help ? applet_help(&applet_checkpoint) : do_words(o);
    json_free(o->args);
    json_free(o->dirs);
    json_free(o->exclude);
    json_free(o->paths);
    free(o);
    return status;
}

const struct applet applet_checkpoint = {
    .name = "checkpoint",
    .brief = "keep what files are, and take back what was done to them",
    .packed = PACKED(checkpoint_txt_gz),
    .main = checkpoint_main,
};
