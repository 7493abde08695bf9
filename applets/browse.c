/* SPDX-License-Identifier: MIT */
/* `od browse`: one visit to a page by a new Chromium. */
#include "applet.h"
#include "base/called.h"
#include "base/json.h"
#include "base/utf8.h"
#include "browse.h"
#include "where.h"
#include "browse.txt.gz.h"
#include "browser/driver/browser.h"
#include "http/http.h"
#include "os/sig.h"
#include "webpage/browse_action.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int browse_fail(const char *text)
{
    called_say("%s\n", text);
    return BROWSE_OURS;
}

static int wrong_use(const char *text)
{
    called_say("%s (see %s)\n", text, called_help("browse").z);
    return BROWSE_OURS;
}

/*
 * Appends an address unchanged, a file's path as file:, and anything else as a host's
 * name.
 */
void browse_address(struct buf *out, const char *given)
{
    static const char *const schemes[] = {"about:", "data:", "file:", "http:", "https:"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (str_starts(str_of(given), str_of(schemes[i]))) {
            buf_addz(out, given);
            return;
        }
    }
    if (realpath(given, path)) {
        buf_addz(out, "file://");
        for (const char *c = path; *c; c++) {
            if (strchr("%?#", *c))
                buf_addf(out, "%%%02x", (unsigned char)*c);
            else
                buf_addc(out, *c);
        }
        return;
    }
    buf_addf(out, "http://%s", given);
}

static int write_file(const char *name, struct str bytes)
{
    FILE *f = fopen(name, "w");
    bool ok = f && fwrite(bytes.p, 1, bytes.n, f) == bytes.n;
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok)
        called_say("cannot write %s: %s\n", name, strerror(errno));
    return ok ? 0 : BROWSE_OURS;
}

int browse_write_har(const struct browse_options *o, struct str har)
{
    return har.n ? write_file(o->har, har)
                 : browse_fail("no requests were recorded: --har needs a Chromium");
}

static void print_json(const struct browse_options *o, struct browser_seen *seen)
{
    struct json *j = json_object();
    struct buf line = BUF_INIT(64 << 20);
    struct err e = ERR_INIT;
    json_put_str(j, "url", buf_str(&seen->url));
    json_put_str(j, "title", buf_str(&seen->title));
    json_put_int(j, "status", seen->status);
    json_put_str(j, "error", buf_str(&seen->error));
    json_put_str(j, "focused", buf_str(&seen->focused));
    json_put_int(j, "active", seen->active);
    json_put(j, "tabs", seen->tabs);
    json_put(j, "notes", seen->notes);
    json_put_str(j, "said", buf_str(&seen->said));
    json_put_str(j, o->tree ? "tree" : "text",
                 buf_str(o->tree ? &seen->tree : &seen->text));
    json_put_int(j, "pages", seen->pages);
    if (!o->tree)
        json_put_str(j, "links", buf_str(&seen->links));
    if (o->shot)
        json_put_z(j, "screenshot", o->shot);
    if (o->har)
        json_put_z(j, "har", o->har);
    if (o->marks && seen->marks.n)
        json_put(j, "marks", json_parse(buf_str(&seen->marks), &e));
    if (o->console)
        json_put(j, "console", seen->console);
    else
        json_free(seen->console);
    seen->tabs = seen->notes = seen->console = NULL;
    if (json_print(&line, j) == 0)
        printf("%s\n", buf_z(&line));
    buf_release(&line);
    json_free(j);
}

static void print_console(const struct json *entry)
{
    struct str kind = json_str(entry, "kind", ""), text = json_str(entry, "text", ""),
               url = json_str(entry, "url", "");
    int64_t line = json_int(entry, "line", 0);
    called_add("[%.*s] %.*s", STR_ARG(kind), STR_ARG(text));
    if (url.n)
        called_add(" (%.*s", STR_ARG(url));
    if (url.n && line)
        called_add(":%lld", (long long)line);
    called_add(url.n ? ")\n" : "\n");
}

/* Prints the status on standard error, unless it is a 2xx. */
static void print_status(int status, const char *url)
{
    if (status && (status < 200 || status > 299))
        called_say("HTTP status %d (%s) of %s\n", status, http_reason(status), url);
}

/* Returns the first bid in a line, "[12]" or "[12: …"; 0: none. */
static unsigned bid_in(struct str line)
{
    for (size_t i = 0; i < line.n; i++) {
        size_t n = i + 1;
        while (n < line.n && line.p[n] >= '0' && line.p[n] <= '9')
            n++;
        if (line.p[i] == '[' && n > i + 1 && n < line.n && strchr("]:", line.p[n]))
            return (unsigned)strtoul(line.p + i + 1, NULL, 10);
    }
    return 0;
}

/* Prints the lines with elements next to the one whose bid the actions name. */
static void print_near(const char *actions, struct str text)
{
    enum { AROUND = 4, COLUMNS = 200 };
    const char *digit = strpbrk(actions, "0123456789");
    unsigned wanted = digit ? (unsigned)strtoul(digit, NULL, 10) : 0, before = 0, i = 0;
    for (struct str rest = text; rest.n > 0;) {
        unsigned bid = bid_in(str_cut(&rest, '\n'));
        before += bid > 0 && bid < wanted;
    }
    for (struct str rest = text; rest.n > 0;) {
        struct str line = str_cut(&rest, '\n');
        if (bid_in(line) && i++ + AROUND >= before && i <= before + AROUND)
            printf("%.*s\n", (int)utf8_cut(line, COLUMNS), line.p);
    }
}

/*
 * Prints what helps after one action that a page which stays did not take: the names of
 * actions, or elements nearby. Returns false if the page has to be shown.
 */
static bool print_help(const struct browse_options *o, const struct browser_seen *seen)
{
    struct str error = buf_str(&seen->error);
    if (!error.n || !o->session || o->url || !o->actions.n || o->tree || o->links ||
        memchr(o->actions.p, '\n', o->actions.n - 1))
        return false;
    if (str_starts(error, STR("NameError"))) {
        struct buf names = BUF_INIT(4096);
        browse_action_names(&names);
        called_say("the actions are: %s\n", buf_z(&names));
        buf_release(&names);
    } else {
        print_near(buf_z(&o->actions), buf_str(&seen->text));
    }
    return true;
}

static void print_text(const struct browse_options *o, const struct browser_seen *seen)
{
    const struct buf *b = o->links ? &seen->links : o->tree ? &seen->tree : &seen->text;
    for (const struct json *n = json_first(seen->notes); n; n = json_next(n))
        called_say("%.*s\n", STR_ARG(json_str_value(n, "")));
    for (const struct json *c = json_first(seen->console); c; c = json_next(c))
        print_console(c);
    print_status(seen->status, buf_z(&seen->url));
    if (seen->error.n)
        called_say("%s\n", buf_z(&seen->error));
    if (print_help(o, seen))
        return;
    printf("%s%s", buf_z(&seen->said), buf_z(b));
    if (b->n && b->p[b->n - 1] != '\n')
        putchar('\n');
}

/* Returns the format of a picture by the ending of the file's name. */
static const char *shot_format(const char *name)
{
    struct str s = str_of(name);
    return str_ends(s, STR(".jpg")) || str_ends(s, STR(".jpeg")) ? "jpeg"
           : str_ends(s, STR(".webp"))                           ? "webp"
                                                                 : "png";
}

int browse_show(const struct browse_options *o, struct browser_seen *seen)
{
    int status = seen->error.n ? BROWSE_FAILED : 0;
    bool shot = o->shot && (seen->shot.n || !seen->error.n);
    if (o->shown) {
        buf_adds(&o->shown->url, buf_str(&seen->url));
        buf_adds(&o->shown->title, buf_str(&seen->title));
        buf_adds(&o->shown->error, buf_str(&seen->error));
        o->shown->status = seen->status;
    }
    if (o->json)
        print_json(o, seen);
    else
        print_text(o, seen);
    return shot && write_file(o->shot, buf_str(&seen->shot)) != 0 ? BROWSE_OURS : status;
}

struct browser_want browse_want(const struct browse_options *o)
{
    return (struct browser_want){.tree = true,
                                 .shot = o->shot != NULL,
                                 .text = !o->tree,
                                 .compact = !o->full_tree,
                                 .whole = o->whole,
                                 .marks = o->marks && o->shot,
                                 .format = shot_format(o->shot ? o->shot : ""),
                                 .page_size = o->page_size,
                                 .page = o->page};
}

static int put_har(const struct browse_options *o, struct browser *b)
{
    struct buf har = BUF_INIT(BROWSER_HAR_MAX);
    int r = browser_har_end(b, &har) < 0 ? browse_fail("the archive is too long")
                                         : browse_write_har(o, buf_str(&har));
    buf_release(&har);
    return r;
}

static int visit(const struct browse_options *o, struct browser *b)
{
    struct browser_want want = browse_want(o);
    struct browser_seen seen;
    struct err e = ERR_INIT;
    struct buf go = BUF_INIT(1 << 20), address = BUF_INIT(1 << 19);
    browser_read_documents(b, true);
    if (o->har)
        browser_har_begin(b);
    browse_address(&address, o->url);
    buf_addz(&go, "goto(");
    browse_repr_text(&go, buf_str(&address));
    buf_addz(&go, ")");
    int r = browser_act(b, buf_str(&go));
    buf_release(&go);
    buf_release(&address);
    /* Actions refer to elements by bids, which an observation before them gives. */
    if (r == 0 && o->actions.n &&
        browser_see(b, &(struct browser_want){.tree = true}, &seen, &e) == 0) {
        browser_seen_release(&seen);
        r = browser_act(b, buf_str(&o->actions));
    }
    browser_finish_downloads(b, BROWSER_STALLED_MS);
    int archived = o->har ? put_har(o, b) : 0;
    if (browser_see(b, &want, &seen, &e) < 0) {
        browser_seen_release(&seen);
        buf_addz(&o->shown->error, e.text);
        return browse_fail(e.text);
    }
    int status = browse_show(o, &seen);
    browser_seen_release(&seen);
    status = status == 0 ? archived : status;
    return r < 0 && status == 0 ? BROWSE_FAILED : status;
}

/*
 * Returns the value of an option: after "=", or the next word; NULL after an error
 * message.
 */
static const char *value(int argc, char **argv, int *i, const char *name)
{
    size_t n = strlen(name);
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (*i + 1 < argc)
        return argv[++*i];
    called_say("%s wants a value\n", name);
    return NULL;
}

static bool is(const char *arg, const char *name)
{
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && (arg[n] == '\0' || arg[n] == '=');
}

/* Takes --page and --page-size. Returns -1 after an error message. */
static int parse_page(int argc, char **argv, int *i, struct browse_options *o)
{
    bool size = is(argv[*i], "--page-size");
    const char *name = size ? "--page-size" : "--page", *v = value(argc, argv, i, name);
    uint64_t n = 0;
    if (!v)
        return -1;
    if (str_to_u64(str_of(v), &n) < 0 || n > INT_MAX || (n == 0 && !size)) {
        called_say("%s wants a number, not %s\n", name, v);
        return -1;
    }
    if (size)
        o->page_size = (size_t)n;
    else
        o->page = (int)n;
    return 0;
}

static int take_timeout(struct browse_options *o, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (!*text || *end || !(seconds > 0 && seconds <= 86400)) {
        browse_fail("--timeout is a number of seconds, at most a day");
        return -1;
    }
    o->timeout_ms = seconds < 0.001 ? 1 : (int64_t)(seconds * 1000);
    return 0;
}

static int parse(int argc, char **argv, struct browse_options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *v = "";
        if (strcmp(argv[i], "--tree") == 0) {
            o->tree = true;
        } else if (strcmp(argv[i], "--tree=full") == 0) {
            o->tree = o->full_tree = true;
        } else if (strcmp(argv[i], "--full-page") == 0) {
            o->whole = true;
        } else if (strcmp(argv[i], "--marks") == 0) {
            o->marks = true;
        } else if (strcmp(argv[i], "--console") == 0) {
            o->console = true;
        } else if (is(argv[i], "--page") || is(argv[i], "--page-size")) {
            if (parse_page(argc, argv, &i, o) < 0)
                return BROWSE_OURS;
        } else if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
        } else if (strcmp(argv[i], "--text") == 0) {
            o->text = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            o->list = true;
        } else if (strcmp(argv[i], "--close") == 0) {
            o->close = true;
        } else if (is(argv[i], "--session") || strcmp(argv[i], "-s") == 0) {
            if (!(v = o->session = value(argc, argv, &i, "--session")))
                return BROWSE_OURS;
        } else if (is(argv[i], "--socket") || is(argv[i], "--server") ||
                   is(argv[i], "--ca")) {
            const char *which = is(argv[i], "--ca")       ? "--ca"
                                : is(argv[i], "--socket") ? "--socket"
                                                          : "--server";
            struct err e = ERR_INIT;
            if (!(v = value(argc, argv, &i, which)))
                return BROWSE_OURS;
            if (where_take(&o->server, o->socket_space, which, v, &e) < 0)
                return browse_fail(e.text);
        } else if (is(argv[i], "--timeout") || strcmp(argv[i], "-t") == 0) {
            if (!(v = value(argc, argv, &i, "--timeout")) || take_timeout(o, v) < 0)
                return BROWSE_OURS;
        } else if (strcmp(argv[i], "--links") == 0) {
            o->links = o->text = true;
        } else if (is(argv[i], "--actions")) {
            if (!(v = value(argc, argv, &i, "--actions")))
                return BROWSE_OURS;
            if (buf_addf(&o->actions, "%s\n", v) < 0)
                return browse_fail("the actions are too long");
        } else if (is(argv[i], "--screenshot")) {
            if (!(v = o->shot = value(argc, argv, &i, "--screenshot")))
                return BROWSE_OURS;
        } else if (is(argv[i], "--har")) {
            if (!(v = o->har = value(argc, argv, &i, "--har")))
                return BROWSE_OURS;
        } else if (is(argv[i], "--cdp")) {
            if (!(v = o->cdp = value(argc, argv, &i, "--cdp")))
                return BROWSE_OURS;
        } else if (is(argv[i], "--deny")) {
            if (!(v = o->deny = value(argc, argv, &i, "--deny")))
                return BROWSE_OURS;
        } else if (is(argv[i], "--downloads")) {
            if (!(v = o->downloads = value(argc, argv, &i, "--downloads")))
                return BROWSE_OURS;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            called_say("there is no option %s (see %s)\n", argv[i],
                       called_help("browse").z);
            return BROWSE_OURS;
        } else if (o->url) {
            return wrong_use("one address at a time");
        } else {
            o->url = argv[i];
        }
    }
    /* A browser elsewhere belongs to a server, and stays. */
    if (where_is_remote(o->server) && !o->session && !o->list && !o->close)
        o->session = "main";
    if (o->session && o->deny)
        return browse_fail(
            "--deny is for one call: a browser that stays has what its server was "
            "started with (--browse-deny)");
    if (o->deny)
        setenv("OD_BROWSE_DENY", o->deny, 1);
    if (o->session || o->list || o->close)
        return 0;
    return o->url ? 0 : wrong_use("no address was given");
}

/* A browser for this call alone. */
static int visit_once(struct browse_options *o)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct browse_log log;
    struct browse_shown shown = {
        .url = BUF_INIT(1 << 20), .title = BUF_INIT(1 << 16), .error = BUF_INIT(1 << 16)};
    struct halt stop = {.fds = {sig_open(signals, 3), -1}};
    struct browser_opts opts = {.stop = &stop,
                                .downloads = o->downloads,
                                .address = o->cdp,
                                .console = o->console};
    struct err e = ERR_INIT;
    const char *which = getenv("OD_BROWSER");
    bool by_text = o->text || (which && strcmp(which, "text") == 0);
    int status;
    signal(SIGPIPE, SIG_IGN);
    o->shown = &shown;
    browse_log_begin(&log, o);
    struct browser *b = by_text ? NULL : browser_open(&opts, &e);
    if (b)
        status = visit(o, b);
    else if (by_text)
        status = browse_by_text(o, "pictures need a Chromium, but of a page that is "
                                   "a picture");
    else if (e.code == ERR_NOTFOUND)
        status = browse_by_text(o, e.text);
    else
        status = browse_fail(e.text);
    if (!b && !by_text && e.code != ERR_NOTFOUND)
        buf_addz(&shown.error, e.text);
    browser_close(b);
    browse_log_end(&log, o, &shown);
    buf_release(&shown.url);
    buf_release(&shown.title);
    buf_release(&shown.error);
    return status;
}

static int browse_main(int argc, char **argv)
{
    struct browse_options o = {.page_size = BROWSE_PAGE, .page = 1};
    char folder[PATH_MAX];
    buf_init(&o.actions, 1 << 20);
    int status = parse(argc, argv, &o);
    bool remote = where_is_remote(o.server);
    if (status == 0 && remote && o.downloads && o.downloads[0] != '/')
        status = browse_fail("--downloads of a server elsewhere is a path from its root");
    if (status == 0 && !remote && o.downloads &&
        applet_make_folder(o.downloads, 0777, folder) < 0) {
        called_say("cannot keep downloads in %s: %s\n", o.downloads, strerror(errno));
        status = BROWSE_OURS;
    }
    if (status == 0 && !remote && o.downloads)
        o.downloads = folder;
    if (status == 0)
        status = o.session || o.list || o.close ? browse_in_session(&o) : visit_once(&o);
    buf_release(&o.actions);
    return status;
}

const struct applet applet_browse = {
    .name = "browse",
    .brief = "visit a page: read it, act on it, take its picture",
    .packed = PACKED(browse_txt_gz),
    .main = browse_main,
};
