/* SPDX-License-Identifier: MIT */
/* From a URL to a page: dialling, asking, redirects, and the helper that reads. */
#include "webpage/webtext_own.h"

#include "base/enc.h"
#include "webpage/login.h"
#include "base/xalloc.h"
#include "http/url_join.h"
#include "net/trust.h"
#include "webpage/own.h"
#include "webpage/webbody.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    STREAM_BYTES = 64 << 10,
    ASK_MAX = 9 << 20, /* of a request with its body */
    RESULT_MAX = 96 << 20,
    READ_MEMORY = 512 << 20,
    READ_CPU_S = 20,
    READ_NICE = 5,
};

static int start(struct webtext *w, struct err *e);

/* ---- ends ---- */

void webtext_ask_release(struct webtext_ask *a)
{
    free(a->url);
    free(a->type);
    free(a->body);
    *a = (struct webtext_ask){0};
}

bool webtext_is_busy(const struct webtext *w) { return w->state != WEBTEXT_IDLE; }

static void forget_answer(struct webtext *w)
{
    buf_release(&w->body);
    buf_reset(&w->type);
    buf_reset(&w->encoding);
    buf_reset(&w->location);
    buf_reset(&w->disposition);
}

void webtext_stop(struct webtext *w)
{
    if (w->dial)
        dial_cancel(w->dial);
    if (w->job)
        job_cancel(w->job);
    httpc_release(&w->http);
    w->dial = NULL;
    w->job = NULL;
    w->going_to = false;
    timer_stop(&w->timer);
    task_cancel(&w->later);
    forget_answer(w);
    buf_release(&w->result);
    webtext_ask_release(&w->ask);
}

bool webtext_cancel(struct webtext *w)
{
    if (!webtext_is_busy(w))
        return false;
    webtext_stop(w);
    w->state = WEBTEXT_IDLE;
    return true;
}

static void on_told(struct task *t)
{
    struct webtext *w = container_of(t, struct webtext, later);
    struct err e = w->e;
    w->state = WEBTEXT_IDLE;
    w->spec.on_done(w, e.code ? &e : NULL);
}

void webtext_prepare(struct webtext *w) { task_init(&w->later, on_told); }

void webtext_told(struct webtext *w)
{
    /* Stays busy until on_done was called, so that actions come one after the other. */
    w->state = WEBTEXT_READ;
    task_defer(w->spec.loop, &w->later);
}

static void finish(struct webtext *w, const struct err *e)
{
    webtext_stop(w);
    w->e = e ? *e : (struct err)ERR_INIT;
    webtext_told(w);
}

static void on_late(struct timer *t)
{
    struct webtext *w = container_of(t, struct webtext, timer);
    struct err e;
    err_set(&e, ERR_TIMEOUT, "TimeoutError: Page.goto: Timeout %dms exceeded (%s)",
            w->spec.ms ? w->spec.ms : WEBTEXT_MS,
            w->state == WEBTEXT_DIAL  ? "while connecting"
            : w->state == WEBTEXT_ASK ? "while the answer came"
                                      : "while the page was read");
    finish(w, &e);
}

/* ---- which addresses ---- */

static bool is_allowed(void *owner, const struct sockaddr *sa)
{
    const struct webtext *w = owner;
    return !denied_has(&w->deny, sa);
}

/* Ports of other protocols, which a request could be taken for (Fetch standard, 2.9). */
static bool is_unsafe(uint16_t port)
{
    static const uint16_t ports[] = {
        1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,
        25,   37,   42,   43,   53,   69,   77,   79,   87,   95,   101,  102,
        103,  104,  109,  110,  111,  113,  115,  117,  119,  123,  135,  137,
        139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,
        530,  531,  532,  540,  548,  554,  556,  563,  587,  601,  636,  989,
        990,  993,  995,  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
        6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};
    for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
        if (ports[i] == port)
            return true;
    }
    return false;
}

/* ---- reading ---- */

static bool is_file(const struct webtext *w)
{
    return url_scheme_is(str_of(w->ask.url), "file");
}

/* Appends the path of a file: URL. */
static int path_of(const struct webtext *w, struct buf *out, struct err *e)
{
    struct str url = str_of(w->ask.url);
    url = str_sub(url, 5, url.n);
    if (str_starts(url, STR("//localhost/")))
        url = str_sub(url, 11, url.n);
    else if (str_starts(url, STR("//")))
        url = str_sub(url, 2, url.n);
    url = str_cut(&url, '?');
    if (!url.n || *url.p != '/')
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot open %s: only files of this machine can be opened, "
                       "as file:///path",
                       w->ask.url);
    if (http_decode(out, url, false) < 0)
        return err_set(e, ERR_INVALID, "cannot open %s: that is not a path", w->ask.url);
    return 0;
}

/* Four lines: the page, its items, its forms, its bytes if it is a picture. */
static int put_page(const struct webpage *p, const struct job_child *c, struct err *e)
{
    struct buf out = BUF_INIT(RESULT_MAX);
    int rc = buf_addz(&out, "{\"title\":");
    rc = rc < 0 ? rc : json_quote(&out, buf_str(&p->title));
    rc = rc < 0 ? rc : buf_addz(&out, ",\"refresh\":");
    rc = rc < 0 ? rc : json_quote(&out, buf_str(&p->refresh));
    rc = rc < 0 ? rc
                : buf_addf(&out, ",\"needs_browser\":%s,\"more\":%u,\"text\":",
                           p->needs_browser ? "true" : "false", p->more);
    rc = rc < 0 ? rc : json_quote(&out, buf_str(&p->text));
    rc = rc < 0 ? rc : buf_addz(&out, "}\n");
    rc = rc < 0 ? rc : json_print(&out, p->items);
    rc = rc < 0 ? rc : buf_addz(&out, "\n");
    rc = rc < 0 ? rc : json_print(&out, p->forms);
    rc = rc < 0 ? rc : buf_addz(&out, "\n");
    rc = rc < 0 ? rc : enc_base64(&out, buf_str(&p->picture));
    if (rc < 0)
        err_set(e, ERR_LIMIT,
                "cannot show the page: with its links and fields it is longer "
                "than %d MiB",
                RESULT_MAX >> 20);
    else if (job_put(c, buf_str(&out)) < 0)
        rc = err_set(e, ERR_IO, "cannot hand over the page");
    buf_release(&out);
    return rc;
}

/* Puts the address before an error about the content. */
static void name_it(const struct webtext *w, bool opened, struct err *e)
{
    struct err why = *e;
    bool packed = str_trim(buf_str(&w->encoding)).n > 0 &&
                  (why.code == ERR_INVALID || why.code == ERR_UNSUPPORTED);
    if (!str_starts(str_of(why.text), STR("cannot ")))
        err_set(e, why.code, "cannot show %.200s: %.250s", w->ask.url, why.text);
    why = *e;
    if (!opened && (why.code == ERR_NOTFOUND || why.code == ERR_DENIED))
        webtext_net_error(e, webtext_file_name(why.code), &why, w->ask.url);
    else if (!is_file(w) && packed)
        webtext_net_error(e, "ERR_CONTENT_DECODING_FAILED", &why, w->ask.url);
}

/* Runs in the helper, which has a copy of all of w. */
static int read_page(void *arg, const struct job_child *c, struct err *e)
{
    const struct webtext *w = arg;
    struct webpage p;
    bool opened = true;
    int rc;
    if (w->saving)
        return webtext_save(w, c, e);
    webpage_init(&p);
    if (is_file(w)) {
        struct buf path = BUF_INIT(4096);
        rc = path_of(w, &path, e);
        opened = rc == 0 && access(buf_z(&path), R_OK) == 0;
        rc = rc < 0 ? rc : webbody_file(buf_z(&path), str_of(w->ask.url), &p, e);
        buf_release(&path);
    } else {
        struct webbody b = {.bytes = buf_str(&w->body),
                            .type = buf_str(&w->type),
                            .encoding = buf_str(&w->encoding),
                            .url = str_of(w->ask.url)};
        rc = webbody_read(&b, &p, e);
    }
    if (rc == 0)
        rc = put_page(&p, c, e);
    else
        name_it(w, opened, e);
    webpage_release(&p);
    return rc;
}

static void on_result(struct job *j, struct buf *in)
{
    struct webtext *w = job_owner(j);
    buf_adds(&w->result, buf_str(in));
    buf_consume(in, in->n);
}

/* Makes this the page that is shown; takes items and forms. */
static void take_page(struct webtext *w, const struct json *j, struct json *items,
                      struct json *forms)
{
    webpage_release(&w->tab->page);
    webpage_init(&w->tab->page);
    buf_adds(&w->tab->page.title, json_str(j, "title", ""));
    buf_adds(&w->tab->page.text, json_str(j, "text", ""));
    w->tab->page.needs_browser = json_bool(j, "needs_browser", false);
    w->tab->page.more = (unsigned)json_int(j, "more", 0);
    json_free(w->tab->page.items);
    json_free(w->tab->page.forms);
    w->tab->page.items = items;
    w->tab->page.forms = forms;
    free(w->tab->url);
    w->tab->url = xstrdup(w->ask.url);
    w->tab->status = is_file(w) ? 0 : w->answer;
    w->tab->changed = false;
    w->tab->load = ++w->loads;
}

static void forget_pages(struct webtext *w, int from)
{
    for (int i = from; i < w->tab->pages; i++)
        webtext_ask_release(&w->tab->history[i]);
    w->tab->pages = from < w->tab->pages ? from : w->tab->pages;
}

static void remember(struct webtext *w)
{
    if (w->going >= 0) {
        w->tab->at = w->going;
        return;
    }
    forget_pages(w, w->tab->at + 1);
    if (w->tab->pages == WEBTEXT_HISTORY_MAX) {
        webtext_ask_release(&w->tab->history[0]);
        memmove(&w->tab->history[0], &w->tab->history[1],
                (WEBTEXT_HISTORY_MAX - 1) * sizeof(w->tab->history[0]));
        w->tab->pages--;
    }
    w->tab->at = w->tab->pages;
    w->tab->history[w->tab->pages++] = w->ask;
    w->ask = (struct webtext_ask){0};
}

static void hop(struct webtext *w, struct str to, bool as_get);

/* Takes the helper's lines. Goes on to a page that follows at once. */
static void on_lines(struct webtext *w, struct err *e)
{
    struct str rest = buf_str(&w->result);
    struct json *page = json_parse(str_cut(&rest, '\n'), e);
    struct json *items = page ? json_parse(str_cut(&rest, '\n'), e) : NULL;
    struct json *forms = items ? json_parse(str_cut(&rest, '\n'), e) : NULL;
    struct str next = json_str(page, "refresh", "");
    if (!forms) {
        json_free(items);
        finish(w, e);
    } else if (next.n && !str_eq(next, str_of(w->ask.url))) {
        json_free(items);
        json_free(forms);
        hop(w, next, true);
    } else {
        take_page(w, page, items, forms);
        dec_base64(&w->tab->page.picture, rest);
        remember(w);
        finish(w, NULL);
    }
    json_free(page);
}

/* The page stays when a link on it was a download. */
static void on_saved(struct webtext *w)
{
    struct buf note = BUF_INIT(8192);
    struct err e = ERR_INIT;
    free(w->saved);
    w->saved = xstrndup(w->result.p, w->result.n);
    buf_addf(&note, "a download is complete: %s", w->saved);
    json_push_str(w->notes, buf_str(&note));
    buf_release(&note);
    if (w->going_to)
        err_set(&e, ERR_UNSUPPORTED, "Error: Page.goto: Download is starting");
    finish(w, w->going_to ? &e : NULL);
}

static void on_read(struct job *j, const struct err *e)
{
    struct webtext *w = job_owner(j);
    struct err why = *e;
    w->job = NULL;
    if (why.code)
        finish(w, &why);
    else if (w->saving)
        on_saved(w);
    else
        on_lines(w, &why);
}

static const struct job_events job_calls = {.on_data = on_result, .on_done = on_read};

static int start_reading(struct webtext *w, struct err *e)
{
    char what[200];
    snprintf(what, sizeof(what), "reading %.150s", w->ask.url);
    w->state = WEBTEXT_READ;
    buf_release(&w->result);
    buf_init(&w->result, RESULT_MAX);
    struct job_spec spec = {.what = what,
                            .fn = read_page,
                            .arg = w,
                            .memory = READ_MEMORY,
                            .cpu_s = READ_CPU_S,
                            .nice = READ_NICE,
                            .as_user = w->spec.as_user,
                            .uid = w->spec.uid,
                            .gid = w->spec.gid,
                            .groups = w->spec.groups,
                            .groups_n = w->spec.groups_n,
                            .ev = &job_calls,
                            .owner = w};
    w->job = job_start(w->spec.loop, &spec, e);
    return w->job ? 0 : -1;
}

/* ---- asking ---- */

static struct cookies_where where(const struct webtext *w, const struct url *u)
{
    (void)w;
    return (struct cookies_where){.host = u->host, .path = u->target, .secure = u->tls};
}

static void note_login(struct webtext *w, struct str challenge)
{
    struct buf text = BUF_INIT(1000);
    login_explain(&text, str_of(w->ask.url), challenge);
    if (text.n)
        json_push_str(w->notes, buf_str(&text));
    buf_release(&text);
}

static void on_head(struct httpc *c)
{
    struct webtext *w = container_of(c, struct webtext, http);
    struct url u;
    forget_answer(w);
    buf_init(&w->body, WEBBODY_MAX);
    w->answer = c->head.status;
    buf_adds(&w->type, http_field(&c->head, "content-type"));
    buf_adds(&w->encoding, http_field(&c->head, "content-encoding"));
    buf_adds(&w->location, http_field(&c->head, "location"));
    buf_adds(&w->disposition, http_field(&c->head, "content-disposition"));
    if (w->answer == 401)
        note_login(w, http_field(&c->head, "www-authenticate"));
    if (url_parse(&u, str_of(w->ask.url), NULL) < 0)
        return;
    struct cookies_where from = where(w, &u);
    for (int i = 0; i < c->head.nfields; i++) {
        if (webpage_is_word(c->head.fields[i].name, "set-cookie"))
            cookies_take(w->cookies, &from, c->head.fields[i].value, time(NULL));
    }
}

/* Whether the announced length is too long to wait for. */
static bool is_too_long(const struct httpc *c)
{
    uint64_t n;
    return str_to_u64(http_field(&c->head, "content-length"), &n) == 0 && n > WEBBODY_MAX;
}

static size_t on_body(struct httpc *c, struct str piece)
{
    struct webtext *w = container_of(c, struct webtext, http);
    struct err e;
    if (is_too_long(c) || buf_adds(&w->body, piece) < 0) {
        err_set(&e, ERR_LIMIT, "cannot show %.200s: it is larger than %d MiB", w->ask.url,
                WEBBODY_MAX >> 20);
        finish(w, &e);
    }
    return piece.n;
}

static void go_on(struct webtext *w)
{
    struct err e = ERR_INIT;
    int s = w->answer;
    bool moved = s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
    if (moved && w->location.n) {
        bool keep = s == 307 || s == 308;
        char *to = xstrndup(w->location.p, w->location.n);
        hop(w, str_of(to), !keep);
        free(to);
        return;
    }
    w->saving = webtext_is_download(w);
    if (start_reading(w, &e) < 0)
        finish(w, &e);
}

static void on_answered(struct httpc *c, const struct err *e)
{
    struct webtext *w = container_of(c, struct webtext, http);
    struct err why;
    httpc_release(&w->http);
    if (!e) {
        go_on(w);
        return;
    }
    webtext_net_error(&why, webtext_answer_name(e), e, w->ask.url);
    finish(w, &why);
}

static const struct httpc_events http_calls = {
    .on_head = on_head, .on_body = on_body, .on_done = on_answered};

/*
 * Adds the fields of Fetch Metadata (2.3) as browsers send them: servers that check them
 * refuse requests from other sites, and so does od's.
 */
static int add_metadata(struct webtext *w, const struct url *u, struct buf *out)
{
    struct url page;
    bool form = w->ask.type && w->tab->url &&
                url_parse(&page, str_of(w->tab->url), NULL) == 0;
    const char *site = !form ? "none"
                       : str_eq(page.host, u->host) && page.port == u->port
                           ? "same-origin"
                           : "cross-site";
    int rc = httpc_add_field(out, "Sec-Fetch-Site", str_of(site));
    rc = rc < 0 ? rc : httpc_add_field(out, "Sec-Fetch-Mode", STR("navigate"));
    return rc < 0 ? rc : httpc_add_field(out, "Sec-Fetch-Dest", STR("document"));
}

/* Returns the "name:password" that was given for this server; p NULL: none. */
static struct str login_of(const struct webtext *w, const struct url *u)
{
    struct url given;
    bool same = w->login && url_parse(&given, str_of(w->login), NULL) == 0 &&
                given.tls == u->tls && given.port == u->port &&
                str_eq(given.host, u->host);
    return same ? given.user : (struct str){0};
}

/* Keeps the login of the address, which is not shown, for all pages of its server. */
static void take_login(struct webtext *w)
{
    struct url u;
    char *url = w->ask.url;
    if (url_parse(&u, str_of(url), NULL) < 0 || !u.user.p)
        return;
    size_t host = (size_t)(u.authority.p - url), user = (size_t)(u.user.p - url);
    free(w->login);
    w->login = xstrndup(url, host + u.authority.n);
    memmove(url + user, url + host, strlen(url + host) + 1);
}

static int add_fields(struct webtext *w, const struct url *u, struct buf *out)
{
    struct buf cookies = BUF_INIT(16 << 10), key = BUF_INIT(2048);
    struct cookies_where to = where(w, u);
    int rc = httpc_add_field(out, "User-Agent", str_of(w->agent));
    rc = rc < 0 ? rc
                : httpc_add_field(out, "Accept",
                                  STR("text/html,application/xhtml+xml,*/*;q=0.8"));
    rc = rc < 0 ? rc : httpc_add_field(out, "Accept-Encoding", STR("gzip, deflate"));
    rc = rc < 0 ? rc : httpc_add_field(out, "Connection", STR("close"));
    rc = rc < 0 ? rc : add_metadata(w, u, out);
    if (rc == 0 && cookies_say(w->cookies, &to, time(NULL), &cookies) > 0)
        rc = httpc_add_field(out, "Cookie", buf_str(&cookies));
    struct str user = login_of(w, u);
    if (rc == 0 && user.p && http_decode(&key, user, false) == 0) {
        struct buf basic = BUF_INIT(4096);
        buf_addz(&basic, "Basic ");
        rc = enc_base64(&basic, buf_str(&key));
        rc = rc < 0 ? rc : httpc_add_field(out, "Authorization", buf_str(&basic));
        buf_release(&basic);
    }
    if (rc == 0 && w->ask.type)
        rc = httpc_add_field(out, "Content-Type", str_of(w->ask.type));
    buf_release(&cookies);
    buf_release(&key);
    return rc;
}

static int send_ask(struct webtext *w, struct err *e)
{
    struct url u;
    struct buf fields = BUF_INIT(24 << 10);
    if (url_parse(&u, str_of(w->ask.url), e) < 0)
        return -1;
    if (add_fields(w, &u, &fields) < 0) {
        buf_release(&fields);
        return err_set(e, ERR_LIMIT, "cannot ask for %.200s: its fields are too long",
                       w->ask.url);
    }
    struct httpc_request q = {.method = w->ask.type ? "POST" : "GET",
                              .target = u.target,
                              .host = u.authority,
                              .fields = buf_str(&fields)};
    if (w->ask.type)
        q.body = str_n(w->ask.body, w->ask.body_n);
    int rc = httpc_send(&w->http, &q, e);
    buf_release(&fields);
    return rc;
}

static void on_dialed(struct dial *d, struct stream *s, const struct err *e)
{
    struct webtext *w = dial_owner(d);
    struct err why = ERR_INIT;
    w->dial = NULL;
    if (s) {
        w->state = WEBTEXT_ASK;
        httpc_start(&w->http, s, -1, &http_calls);
        if (send_ask(w, &why) == 0)
            return;
    } else {
        webtext_net_error(&why, webtext_dial_name(d, w->proxied, e), e, w->ask.url);
    }
    finish(w, &why);
}

static int start_dialing(struct webtext *w, const struct url *u, struct err *e)
{
    struct proxy proxy;
    int has = url_proxy(&proxy, u, getenv, e);
    if (has < 0)
        return -1;
    if (u->tls && !w->tls) {
        struct trust *t = trust_new(&(struct trust_where){.ca = w->ca}, e);
        w->tls = t ? tls_client_new(t, NULL, e) : NULL;
        if (!w->tls)
            return -1;
    }
    w->proxied = has > 0;
    struct dial_spec spec = {.host = u->host,
                             .port = u->port,
                             .tls = u->tls ? w->tls : NULL,
                             .proxy = has ? &proxy : NULL,
                             .in_max = STREAM_BYTES,
                             .out_max = ASK_MAX,
                             .allow = w->deny.n ? is_allowed : NULL,
                             .on_done = on_dialed,
                             .owner = w};
    w->state = WEBTEXT_DIAL;
    w->dial = dial_start(w->spec.loop, &spec, e);
    return w->dial ? 0 : -1;
}

/* ---- beginnings ---- */

static int start(struct webtext *w, struct err *e)
{
    struct url u;
    take_login(w);
    struct str url = str_of(w->ask.url);
    if (is_file(w)) {
        struct buf path = BUF_INIT(4096);
        int rc = w->spec.no_files
                     ? err_set(e, ERR_DENIED,
                               "cannot open %.200s: files are not shown here", w->ask.url)
                     : path_of(w, &path, e);
        buf_release(&path);
        return rc < 0 ? rc : start_reading(w, e);
    }
    if (!url_scheme_is(url, "http") && !url_scheme_is(url, "https"))
        return err_set(
            e, ERR_UNSUPPORTED,
            "Error: Page.goto: Protocol error (Page.navigate): Cannot navigate to "
            "invalid URL: \"%.200s\" is neither http, https nor file",
            w->ask.url);
    if (url_parse(&u, url, e) < 0)
        return -1;
    if (is_unsafe(u.port))
        return err_set(e, ERR_DENIED, "Error: Page.goto: net::ERR_UNSAFE_PORT at %.200s",
                       w->ask.url);
    return start_dialing(w, &u, e);
}

/* Goes to another page within the same action. */
static void hop(struct webtext *w, struct str to, bool as_get)
{
    struct buf url = BUF_INIT(URL_JOIN_MAX);
    struct err e = ERR_INIT;
    bool web = !is_file(w);
    int rc = url_join(&url, str_of(w->ask.url), to);
    struct str whole = buf_str(&url);
    whole = str_cut(&(struct str){whole.p, whole.n}, '#');
    if (rc < 0)
        err_set(&e, ERR_LIMIT,
                "Error: Page.goto: the redirect at %.200s is malformed or too long",
                w->ask.url);
    else if (++w->hops > WEBTEXT_HOPS)
        rc = err_set(&e, ERR_LIMIT,
                     "Error: Page.goto: net::ERR_TOO_MANY_REDIRECTS at %.200s",
                     w->ask.url);
    else if (web && !url_scheme_is(whole, "http") && !url_scheme_is(whole, "https"))
        rc = err_set(
            &e, ERR_DENIED,
            "Error: Page.goto: net::ERR_UNSAFE_REDIRECT at %.200s: it leads from "
            "the web to %.*s:",
            w->ask.url, STR_ARG(url_scheme(whole)));
    if (rc == 0) {
        struct webtext_ask next = {.url = xstrndup(whole.p, whole.n)};
        if (!as_get && w->ask.type) {
            next.type = w->ask.type;
            next.body = w->ask.body;
            next.body_n = w->ask.body_n;
            w->ask.type = w->ask.body = NULL;
        }
        webtext_ask_release(&w->ask);
        w->ask = next;
        forget_answer(w);
        rc = start(w, &e);
    }
    buf_release(&url);
    if (rc < 0)
        finish(w, &e);
}

int webtext_fetch(struct webtext *w, struct webtext_ask *take, int going, struct err *e)
{
    ASSERT(w->state == WEBTEXT_IDLE && take != &w->ask); /* one action at a time */
    webtext_ask_release(&w->ask);
    w->ask = *take;
    *take = (struct webtext_ask){0};
    w->going = going;
    w->hops = 0;
    w->saving = false;
    free(w->saved);
    w->saved = NULL;
    if (start(w, e) < 0) {
        webtext_stop(w);
        w->state = WEBTEXT_IDLE;
        return -1;
    }
    timer_begin(w->spec.loop, &w->timer, w->spec.ms ? w->spec.ms : WEBTEXT_MS, on_late);
    return 0;
}
