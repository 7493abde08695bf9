/* SPDX-License-Identifier: MIT */
/*
 * The functions that agents know, in the words of OpenHands' agent_skills and of
 * openhands-aci: windows, the edits of 2024, file_editor, and how arguments are checked.
 */
#define T_LIMIT_S 60
#include "skill/skill.h"

#include "t.h"

#include <stdarg.h>
#include <sys/stat.h>

static struct skill_windows *windows;
static struct edits *edits;
static bool failed, lint;
static struct err err;

static const char *in_dir(const char *name)
{
    static char out[600];
    snprintf(out, sizeof(out), "%s/%s", t_dir(), name);
    return out;
}

static void begin(void)
{
    static char dir[600];
    snprintf(dir, sizeof(dir), "%s", in_dir(".windows"));
    windows = skill_windows_new(dir);
    snprintf(dir, sizeof(dir), "%s", in_dir(".edits"));
    edits = edits_new(dir);
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void put_lines(const char *name, int n)
{
    FILE *f = fopen(in_dir(name), "w");
    CHECK(f);
    for (int i = 1; i <= n; i++)
        fprintf(f, "line %d\n", i);
    CHECK(fclose(f) == 0);
}

static void check_file(const char *name, const char *want)
{
    char now[2000];
    FILE *f = fopen(in_dir(name), "r");
    CHECK(f);
    now[fread(now, 1, sizeof(now) - 1, f)] = '\0';
    fclose(f);
    CHECK_STR(now, want);
}

/* With ' for " in args; in what comes out the test's folder is called D. */
static const char *call_as(const char *session, const char *token, const char *name,
                           const char *spelt)
{
    static char out[200000];
    struct buf args = BUF_INIT(1 << 20), text = BUF_INIT(64 << 20);
    for (const char *c = spelt; *c; c++)
        buf_addc(&args, *c == '\'' ? '"' : *c);
    err = (struct err)ERR_INIT;
    struct json *j = json_parse(buf_str(&args), &err);
    if (!j)
        T_FAIL("%s: %s", spelt, err.text);
    struct skill_call q = {.skill = skill_find(str_of(name)),
                           .args = j,
                           .cwd = t_dir(),
                           .token = token,
                           .edits = edits,
                           .windows = windows,
                           .session = session,
                           .lint = lint};
    CHECK(q.skill);
    int rc = skill_wait(&q, &text, &failed, &err);
    const char *from = rc < 0 ? err.text : buf_z(&text), *dir = t_dir();
    size_t n = 0, d = strlen(dir);
    while (*from && n < sizeof(out) - 1) {
        bool here = strncmp(from, dir, d) == 0;
        out[n++] = here ? 'D' : *from;
        from += here ? d : 1;
    }
    out[n] = '\0';
    buf_release(&text);
    buf_release(&args);
    json_free(j);
    return out;
}

static const char *call(const char *name, const char *spelt)
{
    return call_as("main", NULL, name, spelt);
}

/* What a window of numbered lines looks like. */
static const char *window(const char *file, int total, int from, int to, const char *more)
{
    static char out[20000];
    int n = snprintf(out, sizeof(out), "[File: D/%s (%d lines total)]\n", file, total);
    if (from > 1)
        n += snprintf(out + n, sizeof(out) - (size_t)n, "(%d more lines above)\n",
                      from - 1);
    else
        n += snprintf(out + n, sizeof(out) - (size_t)n,
                      "(this is the beginning of the file)\n");
    for (int i = from; i <= to; i++)
        n += snprintf(out + n, sizeof(out) - (size_t)n, "%d|line %d\n", i, i);
    if (to < total)
        n += snprintf(out + n, sizeof(out) - (size_t)n, "(%d more lines below)\n%s",
                      total - to, more);
    else
        n += snprintf(out + n, sizeof(out) - (size_t)n,
                      "(this is the end of the file)\n");
    return out;
}

#define DOWN "[Use `scroll_down` to view the next 100 lines of the file!]\n"

/* ---- windows ---- */

TEST(a_small_file)
{
    begin();
    put_lines("f", 5);
    CHECK_STR(call("open_file", "{'path':'f'}"), window("f", 5, 1, 5, ""));
    CHECK(!failed);
    CHECK_STR(call("open_file", "{'path':'./x/../f','line_number':5}"),
              window("f", 5, 1, 5, ""));
    put_file("empty", "");
    CHECK_STR(call("open_file", "{'path':'empty'}"),
              "[File: D/empty (1 lines total)]\n(this is the beginning of the file)\n1|\n"
              "(this is the end of the file)\n");
    put_file("open", "a\n\nb");
    CHECK_STR(call("open_file", "{'path':'open'}"),
              "[File: D/open (3 lines total)]\n(this is the beginning of the file)\n"
              "1|a\n2|\n3|b\n(this is the end of the file)\n");
    put_file("dos", "a\r\nb\r\n");
    CHECK_STR(call("open_file", "{'path':'dos'}"),
              "[File: D/dos (2 lines total)]\n(this is the beginning of the file)\n"
              "1|a\n2|b\n(this is the end of the file)\n");
}

TEST(around_a_line)
{
    begin();
    put_lines("f", 500);
    CHECK_STR(call("open_file", "{'path':'f'}"), window("f", 500, 1, 100, DOWN));
    CHECK_STR(call("open_file", "{'path':'f','line_number':200,'context_lines':10}"),
              window("f", 500, 195, 205, DOWN));
    CHECK_STR(call("open_file", "{'path':'f','line_number':5,'context_lines':20}"),
              window("f", 500, 1, 20, DOWN));
    CHECK_STR(call("open_file", "{'path':'f','line_number':499,'context_lines':20}"),
              window("f", 500, 481, 500, ""));
    CHECK_STR(call("open_file", "{'path':'f','line_number':250,'context_lines':0}"),
              window("f", 500, 200, 300, DOWN));
    CHECK_STR(call("open_file", "{'path':'f','line_number':250,'context_lines':101}"),
              window("f", 500, 200, 300, DOWN));
    CHECK_STR(call("goto_line", "{'line_number':250}"), window("f", 500, 200, 300, ""));
}

TEST(scrolling)
{
    begin();
    put_lines("f", 350);
    call("open_file", "{'path':'f'}");
    CHECK_STR(call("scroll_down", "{}"), window("f", 350, 101, 201, ""));
    CHECK_STR(call("scroll_down", "{}"), window("f", 350, 201, 301, ""));
    CHECK_STR(call("scroll_down", "{}"), window("f", 350, 251, 350, ""));
    CHECK_STR(call("scroll_down", "{}"), window("f", 350, 251, 350, ""));
    CHECK_STR(call("scroll_up", "{}"), window("f", 350, 251, 350, ""));
    CHECK_STR(call("goto_line", "{'line_number':120}"), window("f", 350, 70, 170, ""));
    CHECK_STR(call("scroll_up", "{}"), window("f", 350, 20, 120, ""));
    CHECK_STR(call("scroll_up", "{}"), window("f", 350, 1, 100, ""));
}

TEST(no_window)
{
    begin();
    put_lines("f", 3);
    CHECK_STR(call("goto_line", "{'line_number':1}"),
              "ERROR: No file open. Use the open_file function first.\n");
    CHECK(failed);
    CHECK_STR(call("scroll_up", "{}"),
              "ERROR: No file open. Use the open_file function first.\n");
    CHECK_STR(call("search_file", "{'search_term':'x'}"),
              "ERROR: No file specified or open. Use the open_file function first.\n");
    CHECK_STR(call("open_file", "{'path':'gone'}"), "ERROR: File gone not found.\n");
    CHECK_STR(call("open_file", "{'path':'/dev/zero'}"),
              "ERROR: File /dev/zero not found.\n");
    CHECK_STR(call("open_file", "{'path':''}"), "ERROR: File  not found.\n");
    CHECK_STR(call("open_file", "{'path':'f','line_number':4}"),
              "ERROR: Line number must be between 1 and 3\n");
    CHECK_STR(call("open_file", "{'path':'f','line_number':0}"),
              "ERROR: Line number must be between 1 and 3\n");
    call("open_file", "{'path':'f'}");
    CHECK_STR(call("goto_line", "{'line_number':4}"),
              "ERROR: Line number must be between 1 and 3.\n");
    CHECK(remove(in_dir("f")) == 0);
    CHECK_STR(call("scroll_down", "{}"),
              "ERROR: No file open. Use the open_file function first.\n");
}

TEST(each_session_has_its_own)
{
    begin();
    put_lines("f", 300);
    put_lines("g", 300);
    call_as("a/../b", NULL, "open_file", "{'path':'f'}");
    call_as("b", NULL, "open_file", "{'path':'g'}");
    CHECK_STR(call_as("a/../b", NULL, "scroll_down", "{}"),
              window("f", 300, 101, 201, ""));
    skill_windows_free(windows);
    windows = skill_windows_new(in_dir(".windows")); /* another process */
    CHECK_STR(call_as("b", NULL, "scroll_down", "{}"), window("g", 300, 101, 201, ""));
    skill_windows_free(windows);
    windows = skill_windows_new(NULL);
    call_as("c", NULL, "open_file", "{'path':'g'}");
    CHECK_STR(call_as("c", NULL, "scroll_down", "{}"), window("g", 300, 101, 201, ""));
}

TEST(the_same_call_scrolls_once)
{
    begin();
    put_lines("f", 300);
    call("open_file", "{'path':'f'}");
    for (int i = 0; i < 3; i++)
        CHECK_STR(call_as("main", "abc", "scroll_down", "{}"),
                  window("f", 300, 101, 201, ""));
    CHECK_STR(call_as("main", "abd", "scroll_down", "{}"),
              window("f", 300, 201, 300, ""));
}

/* More lines than there are marks; and the file changes between two looks. */
TEST(a_long_file)
{
    begin();
    put_lines("f", 300001);
    CHECK_STR(call("open_file", "{'path':'f','line_number':299990}"),
              window("f", 300001, 299902, 300001, ""));
    for (int line = 1000; line < 300000; line += 59999) {
        char args[60];
        snprintf(args, sizeof(args), "{'line_number':%d}", line);
        CHECK_STR(call("goto_line", args), window("f", 300001, line - 50, line + 50, ""));
    }
    put_lines("f", 120);
    CHECK_STR(call("scroll_up", "{}"), window("f", 120, 21, 120, ""));
}

TEST(long_lines_and_bytes)
{
    begin();
    FILE *f = fopen(in_dir("f"), "w");
    for (int i = 0; i < 300000; i++)
        fputc('x', f);
    fputs("\n\xff\xfe\n", f);
    fclose(f);
    const char *got = call("open_file", "{'path':'f'}");
    CHECK(strlen(got) < 10300);
    CHECK(strstr(got, "xx…\n2|\xef\xbf\xbd\xef\xbf\xbd\n(this is the end"));
}

/* ---- 2024 ---- */

#define REVIEW \
    " Please review the changes and make sure they are correct (correct indentation, " \
    "no duplicate lines, etc). Edit the file again if necessary.]\n"

TEST(a_new_file)
{
    begin();
    CHECK_STR(call("create_file", "{'filename':'n.py'}"),
              "[File: D/n.py (1 lines total)]\n(this is the beginning of the file)\n1|\n"
              "(this is the end of the file)\n[File n.py created.]\n");
    check_file("n.py", "\n");
    CHECK_STR(call("create_file", "{'filename':'n.py'}"),
              "ERROR: File 'n.py' already exists.\n");
    CHECK(failed);
    CHECK_STR(call("append_file", "{'file_name':'n.py','content':'a\\nb'}"),
              "[File: D/n.py (2 lines total after edit)]\n"
              "(this is the beginning of the file)\n1|a\n2|b\n"
              "(this is the end of the file)\n[File updated (edited at line 1)." REVIEW);
    check_file("n.py", "a\nb\n");
    call("append_file", "{'file_name':'n.py','content':'c\\n'}");
    check_file("n.py", "a\nb\nc\n");
    CHECK_STR(call("goto_line", "{'line_number':3}"),
              "[File: D/n.py (3 lines total)]\n(this is the beginning of the file)\n"
              "1|a\n2|b\n3|c\n(this is the end of the file)\n");
}

TEST(lines_by_what_they_have)
{
    begin();
    put_file("f", "def a():\n    x = 1\n    return x\nend");
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'f','to_replace':'    x = 1\\n    return x',"
                   "'new_content':'    return 2'}"),
              "[File: D/f (3 lines total after edit)]\n"
              "(this is the beginning of the file)\n1|def a():\n2|    return 2\n3|end\n"
              "(this is the end of the file)\n[File updated (edited at line 2)." REVIEW);
    check_file("f", "def a():\n    return 2\nend");
    /* Blanks that differ, and whole lines for a part of one. */
    call("edit_file_by_replace",
         "{'file_name':'f','to_replace':'return  2','new_content':'pass\\n'}");
    check_file("f", "def a():\npass\nend");
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'f','to_replace':'no\\nsuch','new_content':'y'}"),
              "[No exact match found in f for\n```\nno\nsuch\n```\n]\n");
    CHECK(failed);
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'f','to_replace':'s','new_content':'y'}"),
              "ERROR: `to_replace` appears more than once, please include enough lines "
              "to make code in `to_replace` unique.\n");
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'f','to_replace':' ','new_content':'y'}"),
              "ERROR: `to_replace` must not be empty.\n");
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'f','to_replace':'y','new_content':'y'}"),
              "ERROR: `to_replace` and `new_content` must be different.\n");
    CHECK_STR(call("edit_file_by_replace",
                   "{'file_name':'g','to_replace':'x','new_content':'y'}"),
              "ERROR: File g not found.\n");
    check_file("f", "def a():\npass\nend");
}

TEST(lines_by_number)
{
    begin();
    put_file("f", "a\nb");
    CHECK_STR(call("insert_content_at_line",
                   "{'file_name':'f','line_number':2,'content':'x\\ny'}"),
              "[File: D/f (4 lines total after edit)]\n"
              "(this is the beginning of the file)\n1|a\n2|x\n3|y\n4|b\n"
              "(this is the end of the file)\n[File updated (edited at line 2)." REVIEW);
    check_file("f", "a\nx\ny\nb");
    call("insert_content_at_line", "{'file_name':'f','line_number':5,'content':'z\\n'}");
    check_file("f", "a\nx\ny\nb\nz\n");
    CHECK_STR(
        call("insert_content_at_line", "{'file_name':'f','line_number':7,'content':'z'}"),
        "[Error editing file f. Please confirm the file is correct.]\n"
        "Invalid line number: 7. Line numbers must be between 1 and 5 (inclusive).\n"
        "Your changes have NOT been applied. Please fix your edit command and try "
        "again.\nYou either need to 1) Open the correct file and try again or 2) "
        "Specify the correct line number arguments.\nDO NOT re-run the same failed "
        "edit command. Running it again will lead to the same error.\n");
    put_file("e", "\n");
    call("insert_content_at_line", "{'file_name':'e','line_number':1,'content':'one'}");
    check_file("e", "one\n");
}

/* ---- syntax ---- */

#define REFUSED \
    "[Your proposed edit has introduced new syntax error(s). Please understand the " \
    "errors and retry your edit command.]\nERRORS:\n"
#define RULE "-------------------------------------------------\n"
#define NOT_DONE \
    "Your changes have NOT been applied. Please fix your edit command and try again.\n" \
    "You either need to 1) Specify the correct start/end line arguments or 2) Correct " \
    "your edit code.\nDO NOT re-run the same failed edit command. Running it again " \
    "will lead to the same error.\n"

TEST(an_edit_that_breaks_the_file)
{
    begin();
    lint = true;
    put_file("f.json", "{\"a\":\n1}\n");
    const char *got = call("insert_content_at_line",
                           "{'file_name':'f.json','line_number':2,'content':'2,'}");
    CHECK(strncmp(got, REFUSED "D/f.json: ", sizeof(REFUSED) + 9) == 0);
    CHECK(failed);
    got = strstr(got, "\n[This");
    CHECK(got);
    CHECK_STR(got + 1, "[This is how your edit would have looked if applied]\n" RULE
                       "(this is the beginning of the file)\n1|{\"a\":\n2|2,\n3|1}\n"
                       "(this is the end of the file)\n" RULE "\n"
                       "[This is the original code before your edit]\n" RULE
                       "(this is the beginning of the file)\n1|{\"a\":\n2|1}\n"
                       "(this is the end of the file)\n" RULE NOT_DONE);
    check_file("f.json", "{\"a\":\n1}\n");
    call("edit_file_by_replace",
         "{'file_name':'f.json','to_replace':'1}','new_content':'2}'}");
    CHECK(!failed);
    check_file("f.json", "{\"a\":\n2}\n");
    /* What was wrong before is no fault of an edit; nor is it asked of other files. */
    put_file("g.json", "[1\n");
    call("append_file", "{'file_name':'g.json','content':',2'}");
    CHECK(!failed);
    check_file("g.json", "[1\n,2\n");
    put_file("h", "x\n");
    call("append_file", "{'file_name':'h','content':'('}");
    CHECK(!failed);
    lint = false;
    call("append_file", "{'file_name':'f.json','content':'('}");
    CHECK(!failed);
}

/* ---- file_editor ---- */

static const char *editor(const char *spelt)
{
    static char out[20000];
    const char *got = call("file_editor", spelt), *from = strchr(got, '\n');
    CHECK(from && strncmp(got, "<oh_aci_output_", 15) == 0 && from == got + 48);
    const char *end = strstr(from, "\n</oh_aci_output_");
    CHECK(end && strncmp(end + 17, got + 15, 33) == 0 && end[50] == '\0');
    snprintf(out, sizeof(out), "%.*s", (int)(end - from - 1), from + 1);
    return out;
}

/* What is said of a str_replace in f.json, from behind the lines that are shown. */
static const char *checked(const char *from, const char *to, bool wanted)
{
    char args[2000];
    snprintf(args, sizeof(args),
             "{'command':'str_replace','path':'%s','old_str':'%s','new_str':'%s',"
             "'enable_linting':%s}",
             in_dir("f.json"), from, to, wanted ? "true" : "false");
    const char *got = strstr(editor(args), "formatted"), *end = strstr(got, "Edit the");
    static char out[2000];
    CHECK(!failed && end);
    const char *shown = strstr(got, "]\\n");
    CHECK(shown && shown < end);
    snprintf(out, sizeof(out), "%.*s", (int)(end - shown - 3), shown + 3);
    return out;
}

#define LOOK "Review the changes and make sure they are as expected. "

TEST(what_a_change_made_wrong)
{
    begin();
    put_file("f.json", "[1,\n2]");
    CHECK_STR(checked("1", "3", false), LOOK);
    CHECK_STR(checked("3", "4", true),
              "\\nNo linting issues found in the changes.\\n" LOOK);
    const char *got = checked("4", "4 5", true);
    CHECK(strncmp(got, "\\nLinting issues found in the changes:\\n- ", 42) == 0);
    CHECK(!strstr(got, "f.json"));
    CHECK(strstr(got, "\\n\\n" LOOK));
    /* That was wrong before. */
    CHECK_STR(checked("5", "6", true),
              "\\nNo linting issues found in the changes.\\n" LOOK);
    /* There is nothing that checks other files. */
    put_file("h", "x\n");
    char args[2000];
    snprintf(args, sizeof(args),
             "{'command':'insert','path':'%s','insert_line':1,'new_str':'(',"
             "'enable_linting':true}",
             in_dir("h"));
    CHECK(strstr(editor(args), "No linting issues found in the changes.\\nReview"));
}

static const char *fault_of(const char *name, const char *text)
{
    char args[2000];
    static char out[2000];
    put_file(name, "\n");
    snprintf(args, sizeof(args),
             "{'command':'insert','path':'%s','insert_line':0,'new_str':'%s',"
             "'enable_linting':true}",
             in_dir(name), text);
    const char *got = strstr(editor(args), "- L");
    CHECK(got);
    snprintf(out, sizeof(out), "%.*s", (int)strcspn(got, "\\"), got);
    return out;
}

TEST(where_a_change_is_wrong)
{
    begin();
    const char *got = fault_of("f.py", "x = 1 +");
    CHECK(strncmp(got, "- Line 1, Column ", 17) == 0 &&
          strstr(got, ": E999 SyntaxError: "));
    got = fault_of("f.sh", "if true");
    CHECK(strncmp(got, "- Line ", 7) == 0 && strstr(got, ": syntax error"));
}

TEST(the_editor)
{
    char args[2000];
    begin();
    snprintf(args, sizeof(args), "{'command':'create','path':'%s','file_text':'a\\nb'}",
             in_dir("f"));
    CHECK_STR(editor(args),
              "{\"output\": \"File created successfully at: D/f\",\"error\": null,"
              "\"path\": \"D/f\",\"prev_exist\": false,\"old_content\": null,"
              "\"new_content\": \"a\\nb\",\"formatted_output_and_error\": \"File created "
              "successfully at: D/f\"}");
    CHECK(!failed);
    snprintf(args, sizeof(args), "{'command':'view','path':'%s','view_range':[2,2]}",
             in_dir("f"));
    CHECK_STR(
        editor(args),
        "{\"output\": \"Here's the result of running `cat -n` on D/f:\\n     "
        "2\\tb\\n\",\"error\": null,\"path\": \"D/f\",\"prev_exist\": true,"
        "\"old_content\": null,\"new_content\": null,"
        "\"formatted_output_and_error\": \"Here's the result of running `cat -n` on "
        "D/f:\\n     2\\tb\\n\"}");
    CHECK_STR(editor("{'command':'view','path':'f'}"),
              "{\"output\": null,\"error\": \"Invalid `path` parameter: f. The path "
              "should be an absolute path, starting with `/`.\",\"path\": null,"
              "\"prev_exist\": true,\"old_content\": null,\"new_content\": null,"
              "\"formatted_output_and_error\": \"ERROR:\\nInvalid `path` parameter: f. "
              "The path should be an absolute path, starting with `/`.\"}");
    CHECK(failed);
    snprintf(args, sizeof(args),
             "{'command':'insert','path':'%s','insert_line':'1',"
             "'new_str':'x'}",
             in_dir("f"));
    editor(args);
    check_file("f", "a\nx\nb");
}

/* ---- others ---- */

TEST(others_are_there)
{
    begin();
    put_file("a.txt", "one\ntwo two\n");
    put_file("t.tex", "\\section{A} text\n");
    CHECK_STR(call("find_file", "{'file_name':'a.t'}"),
              "[Found 1 matches for \"a.t\" in ./]\n./a.txt\n"
              "[End of matches for \"a.t\" in ./]\n");
    CHECK_STR(call("search_dir", "{'search_term':'two','dir_path':'gone'}"),
              "ERROR: Directory gone not found\n");
    CHECK_STR(call("search_file", "{'search_term':'two','file_path':'a.txt'}"),
              "[Found 1 matches for \"two\" in a.txt]\nLine 2: two two\n"
              "[End of matches for \"two\" in a.txt]\n");
    call("open_file", "{'path':'a.txt'}");
    CHECK_STR(call("search_file", "{'search_term':'two'}"),
              "[Found 1 matches for \"two\" in D/a.txt]\nLine 2: two two\n"
              "[End of matches for \"two\" in D/a.txt]\n");
    CHECK_STR(call("glob", "{'pattern':'*.txt'}"),
              "Found 1 file(s) matching pattern '*.txt' in 'D':\nD/a.txt\n");
    CHECK_STR(call("grep", "{'pattern':'t.w','include':'*.tex'}"),
              "No files found containing pattern 't.w' in directory 'D' (filtered by "
              "'*.tex')\n");
    const char *got = call("parse_latex", "{'file_path':'t.tex'}");
    CHECK(strncmp(got, "[Reading LaTex file from t.tex]\n", 32) == 0);
    CHECK(!failed);
    call("parse_pdf", "{'file_path':'a.txt'}");
    CHECK(failed);
    CHECK_STR(call("parse_pdf", "{'file_path':''}"), "ERROR: File  not found.\n");
}

TEST(arguments)
{
    begin();
    CHECK_STR(call("open_file", "{}"), "open_file needs an argument path: the file");
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_STR(call("open_file", "{'path':null}"),
              "open_file needs an argument path: the file");
    CHECK_STR(call("open_file", "{'path':1}"), "open_file: path must be a string");
    CHECK_STR(call("open_file", "{'path':'f','line':2}"),
              "open_file has no argument line");
    CHECK_STR(call("goto_line", "{'line_number':1.5}"),
              "goto_line: line_number must be a whole number");
    CHECK_STR(call("scroll_up", "[]"), "the arguments of scroll_up are an object");
    CHECK(!skill_find(STR("open")));
}

TEST(the_schema)
{
    struct buf b = BUF_INIT(1 << 20);
    int n = 0;
    CHECK_INT(skill_schema(&b), 0);
    struct json *all = json_parse(buf_str(&b), &err);
    for (const struct skill *s = NULL; (s = skill_next(s)); n++)
        CHECK(skill_find(str_of(s->name)) == s);
    CHECK(n > 20);
    CHECK_INT(json_count(all), n);
    buf_reset(&b);
    json_print(&b, json_first(all));
    CHECK_STR(
        buf_z(&b),
        "{\"type\":\"function\",\"function\":{\"name\":\"open_file\","
        "\"description\":\"show a file's lines around a line, and remember the "
        "file\",\"parameters\":{\"type\":\"object\",\"properties\":{\"path\":"
        "{\"type\":\"string\",\"description\":\"the file\"},\"line_number\":"
        "{\"type\":\"integer\",\"description\":\"the line in the middle of the "
        "window\",\"default\":1},\"context_lines\":{\"type\":\"integer\","
        "\"description\":\"how many lines are shown, at most 100\",\"default\":100}},"
        "\"required\":[\"path\"],\"additionalProperties\":false}}}");
    json_free(all);
    buf_release(&b);
}

T_MAIN
