/* SPDX-License-Identifier: MIT */
/*
 * Texts of V0. Objects are written by hand, because a command or its output may be
 * megabytes and is quoted directly into the answer. Names and order of members are those
 * of OpenHands (events/serialization).
 */
#include "front/v0/text.h"

#include "base/json.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define CUT_LINE "\n[... Observation truncated due to length ...]\n"

enum { USUAL = 768 }; /* of an answer without its content */

#define CONST_STR(lit) \
    { \
        (lit), sizeof(lit) - 1 \
    }

const struct str v0_hint = CONST_STR(
    "You may wait longer to see additional output by sending empty command '', send "
    "other "
    "commands to interact with the current process, send keys (\"C-c\", \"C-z\", "
    "\"C-d\") "
    "to interrupt/kill the previous command before sending your new command, or use the "
    "timeout parameter in execute_bash for future commands.");
const struct str v0_prefix_below = CONST_STR(
    "[Below is the output of the previous command.]\n");
const struct str v0_no_command = CONST_STR(
    "ERROR: No previous running command to retrieve logs from.");
const struct str v0_no_program = CONST_STR(
    "ERROR: No previous running command to interact with.");
const struct str v0_binary_file = CONST_STR("ERROR_BINARY_FILE");
const struct str v0_no_browser = CONST_STR(
    "Browser functionality is not supported or disabled.");

/* ---- sentences ---- */

/* Removes what several steps have added if one of them failed. */
static int done(struct buf *out, size_t before, bool ok)
{
    if (ok)
        return 0;
    buf_truncate(out, before);
    return -1;
}

int v0_suffix_completed(struct buf *out, int exit_code, char letter)
{
    if (!letter)
        return buf_addf(out, "\n[The command completed with exit code %d.]", exit_code);
    return buf_addf(out, "\n[The command completed with exit code %d. CTRL+%c was sent.]",
                    exit_code, letter);
}

int v0_suffix_no_change(struct buf *out, int64_t seconds)
{
    return buf_addf(out, "\n[The command has no new output after %lld seconds. %.*s]",
                    (long long)seconds, STR_ARG(v0_hint));
}

int v0_suffix_timed_out(struct buf *out, double seconds)
{
    size_t before = out->n;
    return done(out, before,
                buf_addz(out, "\n[The command timed out after ") == 0 &&
                    v0_float(out, seconds) == 0 &&
                    buf_addf(out, " seconds. %.*s]", STR_ARG(v0_hint)) == 0);
}

int v0_suffix_refused(struct buf *out, struct str command)
{
    size_t before = out->n;
    return done(out, before,
                buf_addz(out, "\n[Your command \"") == 0 && buf_adds(out, command) == 0 &&
                    buf_addf(out,
                             "\" is NOT executed. The previous command is still running "
                             "- You CANNOT send new commands until the previous command "
                             "is completed. By setting `is_input` to `true`, you can "
                             "interact with the current process: %.*s]",
                             STR_ARG(v0_hint)) == 0);
}

int v0_prefix_truncated(struct buf *out, size_t lines)
{
    return buf_addf(out,
                    "[Previous command outputs are truncated. Showing the last %zu lines "
                    "of the output below.]\n",
                    lines);
}

int v0_refuse_commands(struct buf *out, const struct v0_piece *pieces, size_t n,
                       size_t all)
{
    struct buf list = BUF_INIT(SIZE_MAX);
    int rc = buf_addz(&list,
                      "ERROR: Cannot execute multiple commands at once.\n"
                      "Please run each command separately OR chain them into a single "
                      "command via && or ;\nProvided commands:");
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = buf_addf(&list, "\n(%zu) ", i + 1);
        if (rc == 0)
            rc = buf_adds(&list, str_trim(pieces[i].text));
    }
    if (rc == 0 && all > n)
        rc = buf_addf(&list, "\n(and %zu more)", all - n);
    if (rc == 0)
        rc = v0_truncate(out, buf_str(&list));
    buf_release(&list);
    return rc;
}

/* Writes the fewest digits that identify v, `n` of them, with the value d.ddd ×
 * 10^exp. */
static int shortest(double v, char digits[18], int *n)
{
    char z[40];
    for (int places = 0; places <= 16; places++) {
        snprintf(z, sizeof(z), "%.*e", places, v);
        if (strtod(z, NULL) == v)
            break;
    }
    char *e = strchr(z, 'e');
    *n = 0;
    for (const char *p = z; p < e; p++)
        if (isdigit((unsigned char)*p))
            digits[(*n)++] = *p;
    return (int)strtol(e + 1, NULL, 10);
}

/* Python writes exponents below -4 and from 16 on. */
int v0_float(struct buf *out, double v)
{
    if (!isfinite(v))
        return buf_addz(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    char digits[18], z[64];
    int n, at = 0, exp = shortest(fabs(v), digits, &n);
    if (signbit(v))
        z[at++] = '-';
    if (exp < -4 || exp >= 16) {
        z[at++] = digits[0];
        if (n > 1)
            z[at++] = '.';
        memcpy(z + at, digits + 1, (size_t)n - 1);
        at += n - 1;
        return buf_addf(out, "%.*se%c%02d", at, z, exp < 0 ? '-' : '+', abs(exp));
    }
    for (int place = exp < 0 ? 0 : exp; place >= -1 || exp - place < n; place--) {
        if (place == -1)
            z[at++] = '.';
        int i = exp - place;
        z[at++] = i >= 0 && i < n ? digits[i] : '0';
    }
    return buf_add(out, z, (size_t)at);
}

/*
 * Returns the offset after the first `n` characters, or s.n if there are fewer; sets
 * *seen to their number. Bytes that become one U+FFFD count as one.
 */
static size_t skip_chars(struct str s, size_t n, size_t *seen)
{
    size_t at = 0, count = 0;
    while (at < s.n && count < n) {
        uint32_t cp;
        int len = utf8_decode(str_sub(s, at, s.n), &cp);
        at += len > 0 ? (size_t)len : utf8_bad(str_sub(s, at, s.n));
        count++;
    }
    *seen = count;
    return at;
}

int v0_truncate(struct buf *out, struct str text)
{
    size_t half = (V0_CONTENT_MAX - (sizeof(CUT_LINE) - 1)) / 2;
    size_t head, rest, before = out->n;
    size_t at = skip_chars(text, half, &head);
    struct str behind = str_sub(text, at, text.n);
    skip_chars(behind, SIZE_MAX, &rest);
    if (head + rest <= V0_CONTENT_MAX)
        return buf_adds(out, text);
    size_t from = skip_chars(behind, rest - half, &head);
    return done(out, before,
                buf_add(out, text.p, at) == 0 && buf_addz(out, CUT_LINE) == 0 &&
                    buf_adds(out, str_sub(behind, from, behind.n)) == 0);
}

/* ---- keys ---- */

bool v0_special_key(struct str text, char *byte, char *letter)
{
    if (text.n != 3 || !str_starts(text, STR("C-")))
        return false;
    unsigned char c = (unsigned char)text.p[2];
    if (c <= ' ' || c >= 0x7f)
        return false;
    *byte = c == '?' ? 0x7f : (char)(c & 0x1f);
    *letter = (char)toupper(c);
    return true;
}

/* The bytes that tmux sends to a program in a terminal of type `screen`. */
static const struct {
    const char *name, *bytes, *app;
} keys[] = {
    {"Up", "\033[A", "\033OA"},    {"Down", "\033[B", "\033OB"},
    {"Right", "\033[C", "\033OC"}, {"Left", "\033[D", "\033OD"},
    {"Enter", "\r", NULL},         {"Escape", "\033", NULL},
    {"Tab", "\t", NULL},           {"BTab", "\033[Z", NULL},
    {"Space", " ", NULL},          {"BSpace", "\177", NULL},
    {"Home", "\033[1~", NULL},     {"End", "\033[4~", NULL},
    {"IC", "\033[2~", NULL},       {"Insert", "\033[2~", NULL},
    {"DC", "\033[3~", NULL},       {"Delete", "\033[3~", NULL},
    {"PPage", "\033[5~", NULL},    {"PageUp", "\033[5~", NULL},
    {"PgUp", "\033[5~", NULL},     {"NPage", "\033[6~", NULL},
    {"PageDown", "\033[6~", NULL}, {"PgDn", "\033[6~", NULL},
    {"F1", "\033OP", NULL},        {"F2", "\033OQ", NULL},
    {"F3", "\033OR", NULL},        {"F4", "\033OS", NULL},
    {"F5", "\033[15~", NULL},      {"F6", "\033[17~", NULL},
    {"F7", "\033[18~", NULL},      {"F8", "\033[19~", NULL},
    {"F9", "\033[20~", NULL},      {"F10", "\033[21~", NULL},
    {"F11", "\033[23~", NULL},     {"F12", "\033[24~", NULL},
};

struct str v0_key(struct str text, bool app)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (text.n == strlen(keys[i].name) &&
            strncasecmp(text.p, keys[i].name, text.n) == 0)
            return str_of(app && keys[i].app ? keys[i].app : keys[i].bytes);
    return str_n("", 0);
}

/* ---- observations ---- */

/* Appends s as the inside of a JSON string. */
static int put_inside(struct buf *out, struct str s)
{
    size_t at = out->n;
    if (json_quote(out, s) < 0)
        return -1;
    memmove(out->p + at, out->p + at + 1, out->n - at - 2);
    buf_truncate(out, out->n - 2);
    return 0;
}

/* Appends "NAME": before a value. */
static int put_name(struct buf *out, const char *name)
{
    buf_addc(out, '"');
    buf_addz(out, name);
    return buf_addz(out, "\": ");
}

/* Appends a member and a comma. */
static int put_str(struct buf *out, const char *name, struct str s)
{
    if (put_name(out, name) < 0)
        return -1;
    if ((s.p ? json_quote(out, s) : buf_addz(out, "null")) < 0)
        return -1;
    return buf_addz(out, ", ");
}

/* Appends {"message": "…", "observation": "…", with a message of three parts. */
static int put_head(struct buf *out, const char *kind, const char *before,
                    struct str middle, const char *behind)
{
    if (buf_addf(out, "{\"message\": \"%s", before) < 0 || put_inside(out, middle) < 0)
        return -1;
    return buf_addf(out, "%s\", \"observation\": \"%s\", ", behind, kind);
}

static int put_metadata(struct buf *out, const struct v0_metadata *m)
{
    if (buf_addf(out, "{\"exit_code\": %d, \"pid\": %lld, ", m->exit_code,
                 (long long)m->pid) < 0 ||
        put_str(out, "username", m->username) < 0 ||
        put_str(out, "hostname", m->hostname) < 0 ||
        put_str(out, "working_dir", m->working_dir) < 0 ||
        put_str(out, "py_interpreter_path", m->py_interpreter_path) < 0 ||
        put_str(out, "prefix", m->prefix.p ? m->prefix : STR("")) < 0 ||
        put_str(out, "suffix", m->suffix.p ? m->suffix : STR("")) < 0)
        return -1;
    buf_truncate(out, out->n - 2);
    return buf_addc(out, '}');
}

/* Never null, unlike the strings of metadata. */
static struct str text_of(struct str s) { return s.p ? s : STR(""); }

int v0_put_run(struct buf *out, struct str command, struct str content, bool hidden,
               const struct v0_metadata *m)
{
    size_t before = out->n;
    char behind[64];
    if (content.n + USUAL <= buf_room(out)) /* at once, so that nothing is moved */
        buf_reserve(out, content.n + USUAL);
    buf_fill(behind, sizeof(behind), "` executed with exit code %d.", m->exit_code);
    bool ok =
        put_head(out, "run", "Command `", command, behind) == 0 &&
        put_str(out, "content", text_of(content)) == 0 &&
        buf_addf(out, "\"success\": %s, ", m->exit_code == 0 ? "true" : "false") == 0 &&
        buf_addz(out, "\"extras\": {") == 0 &&
        put_str(out, "command", text_of(command)) == 0 &&
        buf_addf(out, "\"hidden\": %s, \"metadata\": ", hidden ? "true" : "false") == 0 &&
        put_metadata(out, m) == 0 && buf_addz(out, "}}") == 0;
    return done(out, before, ok);
}

int v0_put_read(struct buf *out, struct str path, bool aci, struct str content)
{
    size_t before = out->n;
    bool ok = put_head(out, "read", "I read the file ", path, ".") == 0 &&
              put_str(out, "content", text_of(content)) == 0 &&
              buf_addz(out, "\"extras\": {") == 0 &&
              put_str(out, "path", text_of(path)) == 0 &&
              buf_addf(out, "\"impl_source\": \"%s\"}}", aci ? "oh_aci" : "default") == 0;
    return done(out, before, ok);
}

int v0_put_write(struct buf *out, struct str path)
{
    size_t before = out->n;
    bool ok = put_head(out, "write", "I wrote to the file ", path, ".") == 0 &&
              buf_addz(out, "\"content\": \"\", \"extras\": {\"path\": ") == 0 &&
              json_quote(out, text_of(path)) == 0 && buf_addz(out, "}}") == 0;
    return done(out, before, ok);
}

int v0_put_cell(struct buf *out, struct str code, struct str content,
                const struct json *images)
{
    size_t before = out->n;
    bool ok = put_head(out, "run_ipython", "Code executed in IPython cell.", STR(""),
                       "") == 0 &&
              buf_addz(out, "\"success\": true, ") == 0 &&
              put_str(out, "content", text_of(content)) == 0 &&
              buf_addz(out, "\"extras\": {") == 0 &&
              put_str(out, "code", text_of(code)) == 0 &&
              buf_addz(out, "\"image_urls\": ") == 0 &&
              (images ? json_print(out, images) : buf_addz(out, "null")) == 0 &&
              buf_addz(out, "}}") == 0;
    return done(out, before, ok);
}

static int put_error_box(struct buf *out, const char *what, struct str error)
{
    return buf_addf(out,
                    "================ BEGIN error message ===============\n"
                    "The following error occurred when %s:\n%.*s\n"
                    "================ END error message ===============\n",
                    what, STR_ARG(error));
}

static int put_notes(struct buf *out, const struct json *notes)
{
    int rc = 0;
    for (const struct json *n = json_first(notes); n && rc == 0; n = json_next(n))
        rc = buf_addf(out, "[Note: %.*s]\n", STR_ARG(json_str_value(n, "")));
    return rc;
}

static int put_visit(struct buf *out, const struct v0_page *p)
{
    int rc = 0;
    if (p->error.n)
        rc = put_error_box(out, "trying to visit the URL", p->error);
    if (rc == 0)
        rc = put_notes(out, p->notes);
    if (rc == 0)
        rc = buf_addz(out, "============== BEGIN webpage content ==============\n");
    if (rc == 0)
        rc = buf_adds(out, text_of(p->body));
    if (rc == 0)
        rc = buf_addz(out, "\n============== END webpage content ==============\n");
    return rc;
}

static int put_acted(struct buf *out, const struct v0_page *p)
{
    int rc = buf_addf(out, "[Focused element bid: %.*s]\n", STR_ARG(p->focused));
    if (rc == 0 && p->saved.n)
        rc = buf_addf(out, "[Screenshot saved to: %.*s]\n", STR_ARG(p->saved));
    if (rc == 0)
        rc = buf_addc(out, '\n');
    if (rc == 0)
        rc = p->error.n ? put_error_box(out, "executing the last action", p->error)
                        : buf_addz(out, "[Action executed successfully.]\n");
    if (rc == 0)
        rc = put_notes(out, p->notes);
    if (rc == 0)
        rc = buf_addz(
            out, "Accessibility tree of the COMPLETE webpage:\n"
                 "Note: [bid] is the unique alpha-numeric identifier at the beginning "
                 "of lines for each element in the AXTree. Always use bid to refer to "
                 "elements in your actions.\n"
                 "============== BEGIN accessibility tree ==============\n");
    if (rc == 0)
        rc = buf_adds(out, text_of(p->body));
    if (rc == 0)
        rc = buf_addz(out, "\n============== END accessibility tree ==============\n");
    return rc;
}

static int v0_page_content(struct buf *out, const struct v0_page *p)
{
    size_t before = out->n;
    bool visit = str_eq(p->trigger, STR("browse"));
    if (p->bare)
        return buf_adds(out, p->body);
    bool ok = buf_addf(out, "[Current URL: %.*s]\n", STR_ARG(p->url)) == 0 &&
              (visit ? put_visit(out, p) : put_acted(out, p)) == 0;
    return done(out, before, ok);
}

static int put_picture(struct buf *out, const char *name, struct str base64)
{
    if (base64.n == 0)
        return put_str(out, name, STR(""));
    if (buf_addf(out, "\"%s\": \"data:image/png;base64,", name) < 0 ||
        buf_adds(out, base64) < 0)
        return -1;
    return buf_addz(out, "\", ");
}

static int put_tabs(struct buf *out, const struct json *tabs, int active)
{
    int rc = buf_addz(out, "\"open_pages_urls\": [");
    for (const struct json *t = json_first(tabs); t && rc == 0; t = json_next(t)) {
        rc = json_quote(out, json_str(t, "url", ""));
        if (rc == 0 && json_next(t))
            rc = buf_addz(out, ", ");
    }
    return rc < 0 ? -1 : buf_addf(out, "], \"active_page_index\": %d, ", active);
}

static int put_object(struct buf *out, const char *name, const struct json *j)
{
    if (put_name(out, name) < 0 || (j ? json_print(out, j) : buf_addz(out, "{}")) < 0)
        return -1;
    return buf_addz(out, ", ");
}

int v0_put_page(struct buf *out, const struct v0_page *p)
{
    size_t before = out->n;
    struct buf content = BUF_INIT(SIZE_MAX);
    bool ok = v0_page_content(&content, p) == 0 &&
              put_head(out, "browse", "Visited ", p->url, "") == 0 &&
              put_str(out, "content", buf_str(&content)) == 0 &&
              buf_addz(out, "\"extras\": {") == 0 &&
              put_str(out, "url", text_of(p->url)) == 0 &&
              put_str(out, "trigger_by_action", p->trigger) == 0 &&
              put_picture(out, "screenshot", p->shot) == 0 &&
              put_str(out, "screenshot_path", p->saved.n ? p->saved : (struct str){0}) ==
                  0 &&
              put_picture(out, "set_of_marks", p->marks) == 0 &&
              buf_addf(out, "\"error\": %s, \"goal_image_urls\": [], ",
                       p->error.n ? "true" : "false") == 0 &&
              put_tabs(out, p->tabs, p->active) == 0 &&
              buf_addz(out, "\"dom_object\": {}, ") == 0 &&
              put_object(out, "axtree_object", p->axtree) == 0 &&
              put_object(out, "extra_element_properties", p->extras) == 0 &&
              put_str(out, "last_browser_action", text_of(p->action)) == 0 &&
              put_str(out, "last_browser_action_error", text_of(p->error)) == 0 &&
              put_str(out, "focused_element_bid", text_of(p->focused)) == 0 &&
              buf_addz(out, "\"filter_visible_only\": false}}") == 0;
    buf_release(&content);
    return done(out, before, ok);
}

int v0_put_download(struct buf *out, struct str action, struct str path)
{
    size_t before = out->n;
    struct buf content = BUF_INIT(SIZE_MAX);
    bool ok = buf_addf(&content,
                       "Execution of the previous action %.*s resulted in a file "
                       "download. The downloaded file is saved at location: %.*s",
                       STR_ARG(action), STR_ARG(path)) == 0 &&
              put_head(out, "download", "Downloaded the file at location: ", path, "") ==
                  0 &&
              put_str(out, "content", buf_str(&content)) == 0 &&
              buf_addz(out, "\"extras\": {\"file_path\": ") == 0 &&
              json_quote(out, path) == 0 && buf_addz(out, "}}") == 0;
    buf_release(&content);
    return done(out, before, ok);
}

int v0_put_error_observation(struct buf *out, struct str content)
{
    size_t before = out->n;
    bool ok = put_head(out, "error", "", content, "") == 0 &&
              put_str(out, "content", text_of(content)) == 0 &&
              buf_addz(out, "\"extras\": {\"error_id\": \"\"}}") == 0;
    return done(out, before, ok);
}

int v0_put_error(struct buf *out, int status, struct str text)
{
    size_t before = out->n;
    bool ok = buf_addz(out, status == 422
                                ? "{\"detail\": \"Invalid request parameters\", "
                                  "\"errors\": "
                                : "{\"detail\": ") == 0 &&
              json_quote(out, text_of(text)) == 0 && buf_addc(out, '}') == 0;
    return done(out, before, ok);
}
