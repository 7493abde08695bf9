/* SPDX-License-Identifier: MIT */
/*
 * `od skills`: the functions that agents know, as commands. The server, if one runs, does
 * those that need a session's window or the history of edits; this process does the
 * others, and all of them without a server.
 */
#include "applet.h"
#include "base/called.h"
#include "base/json.h"
#include "file/files.h"
#include "ipc/answer.h"
#include "ipc/call.h"
#include "ipc/frame.h"
#include "os/file.h"
#include "skill/python.h"
#include "skill/skill.h"
#include "skills-install.py.h"
#include "skills.txt.gz.h"
#include "where.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAILED = 1, MISUSED = 2, ARGUMENT_MAX = 40 << 20, SCHEMA_MAX = 1 << 20 };

struct skills_options {
    const char *server, *socket, *ca, *session, *args_file, *dir;
    bool json, local, schema, python, install;
    bool remote; /* the server is elsewhere */
    const struct skill *skill;
    struct json *args; /* owned */
};

static int say(int status, const char *text)
{
    called_say("%s\n", text);
    return status;
}

/* ---- arguments ---- */

static int read_all(const char *path, struct buf *out, struct err *e)
{
    if (strcmp(path, "-") != 0)
        return file_read(path, out->max, out, e);
    for (;;) {
        char *p = buf_reserve(out, 64 << 10);
        ssize_t n = p ? read(STDIN_FILENO, p, 64 << 10) : (errno = EFBIG, -1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "cannot read standard input");
        if (n == 0)
            return 0;
        buf_commit(out, (size_t)n);
    }
}

static int put_text(struct skills_options *o, const char *name, const char *value,
                    struct err *e)
{
    struct buf text = BUF_INIT(ARGUMENT_MAX);
    int rc = 0;
    if (strcmp(value, "-") == 0)
        rc = read_all(value, &text, e);
    else if (value[0] == '@' && value[1] != '@')
        rc = read_all(value + 1, &text, e);
    else
        rc = buf_addz(&text, value + (value[0] == '@'));
    if (rc == 0)
        json_put_str(o->args, name, str_n(buf_z(&text), text.n));
    buf_release(&text);
    return rc;
}

/* "1,5" or "[1, 5]" */
static int put_list(struct skills_options *o, const char *name, const char *value,
                    struct err *e)
{
    struct buf b = BUF_INIT(4096);
    int rc = value[0] == '[' ? buf_addz(&b, value) : buf_addf(&b, "[%s]", value);
    struct json *j = rc == 0 ? json_parse(buf_str(&b), e) : NULL;
    if (j)
        json_put(o->args, name, j);
    buf_release(&b);
    return j ? 0 : err_set(e, ERR_INVALID, "%s must be a list: 1,5", name);
}

static int put_value(struct skills_options *o, const struct param *p, const char *value,
                     struct err *e)
{
    int64_t n;
    bool yes = strcmp(value, "true") == 0, no = strcmp(value, "false") == 0;
    switch (p->type) {
    case PARAM_STRING:
        json_put_z(o->args, p->name, value);
        return 0;
    case PARAM_TEXT:
        return put_text(o, p->name, value, e);
    case PARAM_INT:
        if (str_to_i64(str_of(value), &n) < 0)
            return err_set(e, ERR_INVALID, "%s: %s must be a whole number, not %.100s",
                           o->skill->name, p->name, value);
        json_put_int(o->args, p->name, n);
        return 0;
    case PARAM_BOOL:
        json_put_bool(o->args, p->name, yes);
        return yes || no ? 0
                         : err_set(e, ERR_INVALID, "%s: %s is true or false, not %.100s",
                                   o->skill->name, p->name, value);
    case PARAM_INTS:
        return put_list(o, p->name, value, e);
    default:
        return err_set(e, ERR_INTERNAL, "%s: %s has a type of no argument",
                       o->skill->name, p->name);
    }
}

/* Takes the next argument that is not given yet. */
static int put_next(struct skills_options *o, const char *value, struct err *e)
{
    for (const struct param *p = o->skill->takes.params; p->name; p++)
        if (!json_has(o->args, p->name))
            return put_value(o, p, value, e);
    return err_set(e, ERR_INVALID, "%s has no argument for %.100s", o->skill->name,
                   value);
}

static const struct param *param_of(const struct skill *s, const char *name, size_t n)
{
    for (const struct param *p = s ? s->takes.params : NULL; p && p->name; p++) {
        size_t i = 0;
        while (i < n && p->name[i] &&
               (p->name[i] == name[i] || (p->name[i] == '_' && name[i] == '-')))
            i++;
        if (i == n && !p->name[i])
            return p;
    }
    return NULL;
}

/* Returns 1 if it is one of our options; 0 if not. */
static int take_option(struct skills_options *o, const char *name, size_t n,
                       const char **value)
{
    const struct {
        const char *name;
        bool *flag;
        const char **text;
    } all[] = {{"json", &o->json, NULL},      {"local", &o->local, NULL},
               {"schema", &o->schema, NULL},  {"python", &o->python, NULL},
               {"args", NULL, &o->args_file}, {"session", NULL, &o->session},
               {"server", NULL, &o->server},  {"socket", NULL, &o->socket},
               {"ca", NULL, &o->ca},          {"install-python", &o->install, NULL}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strlen(all[i].name) != n || memcmp(all[i].name, name, n) != 0)
            continue;
        if (all[i].flag)
            *all[i].flag = true;
        else
            *all[i].text = *value;
        if (all[i].flag)
            *value = NULL; /* not used up */
        return 1;
    }
    return 0;
}

/* Takes --NAME=VALUE or --NAME VALUE. Returns how many words it took, or -1. */
static int take_long(struct skills_options *o, char **argv, struct err *e)
{
    const char *name = argv[0] + 2, *eq = strchr(name, '=');
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    const char *value = eq ? eq + 1 : argv[1];
    const struct param *p = param_of(o->skill, name, n);
    if (p) {
        bool flag = p->type == PARAM_BOOL && !eq;
        if (flag)
            value = "true";
        if (!value)
            return err_set(e, ERR_INVALID, "%s needs a value", argv[0]);
        return put_value(o, p, value, e) < 0 ? -1 : eq || flag ? 1 : 2;
    }
    const char *used = value ? value : "";
    if (!take_option(o, name, n, &used))
        return err_set(e, ERR_INVALID, "there is no option %.100s; see %s", argv[0],
                       called_help("skills").z);
    if (used && !value)
        return err_set(e, ERR_INVALID, "%s needs a value", argv[0]);
    return eq || !used ? 1 : 2;
}

static int take_word(struct skills_options *o, const char *word, struct err *e)
{
    if (o->skill)
        return put_next(o, word, e);
    if (o->install && !o->dir) {
        o->dir = word;
        return 0;
    }
    o->skill = skill_find(str_of(word));
    return o->skill
               ? 0
               : err_set(e, ERR_NOTFOUND, "there is no function %.100s; %s lists them",
                         word, called("skills").z);
}

static int read_args(struct skills_options *o, struct err *e)
{
    struct buf text = BUF_INIT(ARGUMENT_MAX);
    int rc = read_all(o->args_file, &text, e);
    struct json *j = rc == 0 ? json_parse(buf_str(&text), e) : NULL;
    buf_release(&text);
    if (!j)
        return -1;
    json_free(o->args);
    o->args = j;
    return 0;
}

static int take_args(struct skills_options *o, int argc, char **argv, struct err *e)
{
    bool words = false; /* after -- */
    for (int i = 1, n; i < argc; i += n) {
        n = 1;
        if (!words && strcmp(argv[i], "--") == 0)
            words = true;
        else if (!words && strncmp(argv[i], "--", 2) == 0)
            n = take_long(o, argv + i, e);
        else if (!words && !o->skill && strcmp(argv[i], "-s") == 0 && argv[i + 1])
            n = (o->session = argv[i + 1], 2);
        else if (take_word(o, argv[i], e) < 0)
            n = -1;
        if (n < 0)
            return -1;
    }
    return o->args_file ? read_args(o, e) : 0;
}

/* ---- what there is ---- */

/* Appends the functions with their arguments, for the manual. */
static void more_usage(struct buf *out, bool all)
{
    (void)all;
    buf_addz(out, "\nFunctions:\n");
    for (const struct skill *s = NULL; (s = skill_next(s));) {
        size_t line = out->n;
        buf_addf(out, "  %s", s->name);
        for (const struct param *p = s->takes.params; p->name; p++) {
            if (out->n - line + strlen(p->name) > 75) {
                line = out->n;
                buf_addz(out, "\n     ");
            }
            buf_addf(out, p->dflt ? " [%s]" : " %s", p->name);
        }
        buf_addf(out, "\n      %s\n", s->takes.about);
    }
}

static int printed(void)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : say(ANSWER_OURS, "cannot write to standard output");
}

static int list(void)
{
    for (const struct skill *s = NULL; (s = skill_next(s));)
        printf("%-24s %s\n", s->name, s->takes.about);
    return printed();
}

static int print_json(struct json *take)
{
    struct buf b = BUF_INIT(256 << 20);
    int rc = json_print(&b, take);
    json_free(take);
    if (rc == 0)
        fwrite(b.p, 1, b.n, stdout);
    putchar('\n');
    buf_release(&b);
    return printed();
}

static int schema(void)
{
    struct buf b = BUF_INIT(SCHEMA_MAX);
    skill_schema(&b);
    printf("%s\n", buf_z(&b));
    buf_release(&b);
    return printed();
}

/* ---- Python ---- */

static int module_into(const char *dir, struct str text)
{
    char path[PATH_MAX];
    struct files_put put = {.mode = 0644, .parents = true};
    struct err e = ERR_INIT;
    if (snprintf(path, sizeof(path), "%s/agentskills.py", dir) >= (int)sizeof(path))
        return say(FAILED, "the folder's name is too long");
    if (files_replace(path, text, &put, &e) < 0)
        return say(FAILED, e.text);
    printf("%s\n", path);
    return printed();
}

/* This process becomes Python, whose standard input is the module. */
static int install_by_python(struct str text)
{
    int fds[2];
    char name[] = "python3", option[] = "-c";
    char *argv[] = {name, option, (char *)skills_install_py, (char *)called_name(), NULL};
    if (pipe(fds) < 0 || fcntl(fds[1], F_SETPIPE_SZ, (int)text.n + 4096) < 0 ||
        write(fds[1], text.p, text.n) != (ssize_t)text.n || dup2(fds[0], 0) < 0)
        return say(FAILED, "cannot hand the module to python3");
    close(fds[0]);
    close(fds[1]);
    execvp(name, argv);
    called_say("cannot run python3: %s; %s --install-python DIR needs none\n",
               strerror(errno), called("skills").z);
    return FAILED;
}

static int python(const struct skills_options *o)
{
    struct buf text = BUF_INIT(256 << 10);
    int status;
    if (skill_python(&text) < 0)
        status = say(FAILED, "no memory for the module");
    else if (!o->install)
        status = fwrite(text.p, 1, text.n, stdout) == text.n ? printed() : printed();
    else if (o->dir)
        status = module_into(o->dir, buf_str(&text));
    else
        status = install_by_python(buf_str(&text));
    buf_release(&text);
    return status;
}

/* ---- with a server ---- */

struct skills_asking {
    struct call call;
    struct buf *text;
};

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct skills_asking *a = container_of(c, struct skills_asking, call);
    (void)error;
    return buf_adds(a->text, bytes) < 0 ? (errno = EFBIG, -1) : 0;
}

static const struct call_events events = {.on_output = on_output};

/* Whether edits are checked, as in agentskills of 2024. */
static bool lints(void)
{
    const char *value = getenv("ENABLE_AUTO_LINT");
    return value && strcasecmp(value, "true") == 0;
}

static struct json *request_of(struct skills_options *o, const char *cwd)
{
    struct json *q = json_object();
    const char *home = getenv("HOME");
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "skill");
    json_put_z(q, "as", called("skills").z);
    json_put_z(q, "skill", o->skill->name);
    json_put_z(q, "session", o->session);
    if (!o->remote) {
        json_put_z(q, "cwd", cwd);
        json_put_z(q, "home", home ? home : "");
    }
    json_put_bool(q, "lint", lints());
    json_put(q, "args", o->args);
    o->args = NULL;
    return q;
}

/* Returns 0; or an exit status, after an error message. */
static int ask(struct skills_options *o, struct client *client, const char *cwd,
               struct buf *text, bool *failed)
{
    struct json *q = request_of(o, cwd);
    struct skills_asking *a = calloc(1, sizeof(*a));
    struct err e = ERR_INIT;
    int status = 0;
    if (!a)
        return say(ANSWER_OURS, "no memory");
    call_init(&a->call, client, q, &events);
    a->text = text;
    a->call.input = a->call.signals = -1;
    a->call.limit_ms = SKILL_TIME_MS;
    struct json *r = call_run(&a->call, &e);
    const struct json *er = json_get(r, "error");
    *failed = json_bool(r, "failed", false);
    if (!r) {
        status = say(ANSWER_OURS, e.text);
    } else if (!json_bool(r, "ok", false)) {
        bool mine = str_eq(json_str(er, "code", ""), STR("INVALID"));
        status = say(mine ? MISUSED : ANSWER_OURS, json_str(er, "text", "").p);
    }
    call_release(&a->call);
    json_free(r);
    json_free(q);
    free(a);
    return status;
}

/* ---- without one ---- */

static bool is_ours(const char *dir)
{
    struct stat st;
    mkdir(dir, 0700);
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           access(dir, W_OK) == 0;
}

/*
 * Finds the folder of the open file and the history of edits. Returns false if there is
 * none.
 */
static bool state_folder(char dir[PATH_MAX])
{
    const char *given = getenv("OD_STATE_DIR"), *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME"), *base = given && *given == '/' ? given : NULL;
    char part[PATH_MAX];
    if (!base && xdg && *xdg == '/')
        base = xdg;
    if (base) {
        mkdir(base, 0700);
        snprintf(part, sizeof(part), "%.2000s%s", base, given == base ? "" : "/od");
    } else if (home && *home == '/' && home[1]) {
        static const char *const below[] = {"/.local", "/.local/state",
                                            "/.local/state/od"};
        for (int i = 0; i < 3; i++) {
            snprintf(part, sizeof(part), "%.2000s%s", home, below[i]);
            mkdir(part, 0700);
        }
    } else {
        snprintf(part, sizeof(part), "/tmp/od-state-%u", (unsigned)geteuid());
    }
    snprintf(dir, PATH_MAX, "%.3000s/skills", part);
    if (is_ours(part) && is_ours(dir))
        return true;
    snprintf(dir, PATH_MAX, "/tmp/od-skills-%u", (unsigned)geteuid());
    return is_ours(dir);
}

static int do_here(struct skills_options *o, const char *cwd, struct buf *text,
                   bool *failed)
{
    char dir[PATH_MAX], sub[PATH_MAX + 16];
    struct err e = ERR_INIT;
    bool kept = state_folder(dir);
    snprintf(sub, sizeof(sub), "%s/window", dir);
    struct skill_windows *windows = skill_windows_new(kept ? sub : NULL);
    snprintf(sub, sizeof(sub), "%s/edit", dir);
    struct edits *edits = o->skill->shared ? edits_new(kept ? sub : NULL) : NULL;
    struct skill_call q = {.skill = o->skill,
                           .args = o->args,
                           .cwd = cwd,
                           .home = getenv("HOME"),
                           .edits = edits,
                           .windows = windows,
                           .session = o->session,
                           .lint = lints()};
    int rc = skill_wait(&q, text, failed, &e);
    edits_free(edits);
    skill_windows_free(windows);
    return rc < 0 ? say(e.code == ERR_INVALID ? MISUSED : ANSWER_OURS, e.text) : 0;
}

/* ---- a call ---- */

static int tell(const struct skills_options *o, const struct buf *text, bool failed)
{
    if (o->json) {
        struct json *j = json_object();
        json_put_str(j, "text", str_n(buf_z(text), text->n));
        json_put_bool(j, "failed", failed);
        int status = print_json(j);
        return status ? status : failed;
    }
    fwrite(buf_z(text), 1, text->n, stdout);
    if (o->skill->returns)
        putchar('\n');
    int status = printed();
    return status ? status : failed;
}

static int run(struct skills_options *o)
{
    char cwd[PATH_MAX];
    struct client client = {.fd = -1};
    struct buf text = BUF_INIT(SKILL_TEXT_MAX);
    struct err e = ERR_INIT;
    bool failed = false, server = skill_needs_server(o->skill);
    int status;
    if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
        snprintf(cwd, sizeof(cwd), "/");
    if (!o->session)
        o->session = getenv("OD_SESSION");
    if (!o->session || !*o->session)
        o->session = "main";
    char space[SOCKPATH_MAX];
    const char *where = NULL;
    if ((o->ca && where_take(&where, space, "--ca", o->ca, &e) < 0) ||
        (o->server && where_take(&where, space, "--server", o->server, &e) < 0) ||
        (o->socket && where_take(&where, space, "--socket", o->socket, &e) < 0)) {
        buf_release(&text);
        return say(MISUSED, e.text);
    }
    o->remote = !o->local && where_is_remote(where);
    bool asks = !o->local && (o->skill->shared || o->remote);
    if (asks && client_open(&client, where, server, &e) == 0)
        status = ask(o, &client, cwd, &text, &failed);
    else if (asks && (where || o->remote || server ||
                      e.code == ERR_INVALID)) /* with several servers, none is chosen */
        status = say(ANSWER_OURS, e.text);
    else
        status = do_here(o, cwd, &text, &failed);
    client_close(&client);
    if (status == 0)
        status = tell(o, &text, failed);
    buf_release(&text);
    return status;
}

static int skills_main(int argc, char **argv)
{
    struct skills_options o = {.args = json_object()};
    struct err e = ERR_INIT;
    int status;
    o.skill = skill_find(str_of(argv[0])); /* a link of that name */
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        status = applet_help(&applet_skills);
    } else if (take_args(&o, argc, argv, &e) < 0) {
        status = say(MISUSED, e.text);
    } else if (o.schema) {
        status = schema();
    } else if (o.python || o.install) {
        status = python(&o);
    } else {
        status = o.skill ? run(&o) : list();
    }
    json_free(o.args);
    return status;
}

const struct applet applet_skills = {
    .name = "skills",
    .known = "open_file goto_line scroll_down scroll_up search_dir search_file find_file "
             "create_file edit_file_by_replace insert_content_at_line append_file "
             "file_editor parse_pdf parse_docx parse_latex parse_pptx parse_html "
             "parse_ipynb parse_audio parse_image parse_video",
    .brief = "files for agents: views, searches, edits, documents",
    .packed = PACKED(skills_txt_gz),
    .more_usage = more_usage,
    .main = skills_main,
};
