/* SPDX-License-Identifier: MIT */
/*
 * The editor's words, each against OpenHands'; and that its answers are JSON
 * with the members that a client takes, in spite of what is in a file.
 */
#include "front/v0/edit.h"

#include "base/log.h"

#include "t.h"

#include <stdarg.h>

static struct editor editor;
static struct json *answer;

static const char *in_dir(const char *name)
{
    static char out[600];
    snprintf(out, sizeof(out), "%s/%s", t_dir(), name);
    return out;
}

static void begin(void)
{
    static char kept[600];
    snprintf(kept, sizeof(kept), "%s", in_dir(".kept"));
    editor.edits = edits_new(kept);
    editor.workspace = t_dir();
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
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

/* JSON with ' for " and @ for the test's folder. */
static struct json *args_of(const char *spelt)
{
    struct buf b = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    for (const char *c = spelt; *c; c++) {
        if (*c == '@')
            buf_addz(&b, t_dir());
        else
            buf_addc(&b, *c == '\'' ? '"' : *c);
    }
    struct json *j = json_parse(buf_str(&b), &e);
    if (!j)
        T_FAIL("%s: %s", buf_z(&b), e.text);
    buf_release(&b);
    return j;
}

static struct json *parsed(struct buf *out)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(buf_str(out), &e);
    if (!j)
        T_FAIL("%s: %s", buf_z(out), e.text);
    buf_release(out);
    return j;
}

static struct loop *loop;

static void on_read(void *arg, struct str text, const struct err *why)
{
    editor_told(arg, text, why);
    loop_stop(loop);
}

/* -1: an argument is wrong, or there is no room. */
static int observe(bool edit, const struct json *args, struct buf *out, bool *binary)
{
    struct editor_answer a = EDITOR_ANSWER_INIT;
    struct err e = ERR_INIT;
    int rc = v0_editor_run(&editor, edit, args, &a, &e);
    if (rc == 0 && a.document) {
        loop = loop_new();
        CHECK(editor_read(loop, &a, geteuid(), getegid(), on_read, &a, &e));
        loop_run(loop);
        loop_free(loop);
    }
    *binary = a.binary;
    if (rc == 0)
        rc = v0_editor_put(out, edit, args, &a, &e);
    CHECK(rc == 0 || (e.text[0] && out->n == 0));
    editor_answer_release(&a);
    return rc;
}

static const char *content_of(bool edit, const char *spelt)
{
    struct json *args = args_of(spelt);
    struct buf out = BUF_INIT(64 << 20);
    bool binary;
    CHECK_INT(observe(edit, args, &out, &binary), 0);
    json_free(args);
    json_free(answer);
    answer = parsed(&out);
    return binary && !edit ? "BINARY" : json_str(answer, "content", "?").p;
}

/* The content that the action is answered with. */
static const char *edit(const char *spelt) { return content_of(true, spelt); }
static const char *view(const char *spelt) { return content_of(false, spelt); }

/* What is wanted, with @ for the test's folder; @@ is itself. */
static void check_content(const char *got, const char *want)
{
    static char text[64 << 10];
    size_t n = 0;
    for (const char *c = want; *c; c++) {
        if (*c == '@' && c[1] == '@')
            n += (size_t)snprintf(text + n, sizeof(text) - n, "@%c", *++c);
        else if (*c == '@')
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", t_dir());
        else
            text[n++] = *c;
    }
    text[n] = '\0';
    CHECK_STR(got, text);
}

static const char *extra(const char *name)
{
    return json_str(json_get(answer, "extras"), name, "(none)").p;
}

#define REVIEW \
    "Review the changes and make sure they are as expected. Edit the file again " \
    "if necessary."
#define REVIEW_LINES \
    "Review the changes and make sure they are as expected (correct " \
    "indentation, no duplicate lines, etc). Edit the file again if " \
    "necessary."

/* ---- view ---- */

TEST(a_file)
{
    begin();
    put_file("f", "This is a test file.\nThis file is for testing purposes.\n");
    check_content(view("{'path': '@/f'}"),
                  "Here's the result of running `cat -n` on @/f:\n"
                  "     1\tThis is a test file.\n"
                  "     2\tThis file is for testing purposes.\n"
                  "     3\t\n");
    check_content(json_str(answer, "observation", "").p, "read");
    check_content(extra("impl_source"), "oh_aci");
    check_content(extra("path"), "@/f");
    put_file("f", "");
    check_content(view("{'path': '@//.//f/'}"),
                  "Here's the result of running `cat -n` on @/f:\n     1\t\n");
    check_content(extra("path"), "@//.//f/");
    /* As an edit it says the same. */
    put_file("f", "x\r\ny");
    check_content(
        edit("{'path': '@/f', 'command': 'view'}"),
        "Here's the result of running `cat -n` on @/f:\n     1\tx\n     2\ty\n");
    check_content(extra("diff"), "");
}

TEST(lines_of_a_file)
{
    begin();
    put_file("f", "1\n2\n3\n4\n5\n");
    check_content(
        view("{'path': '@/f', 'view_range': [2, 3]}"),
        "Here's the result of running `cat -n` on @/f:\n     2\t2\n     3\t3\n");
    check_content(view("{'path': '@/f', 'view_range': [5, -1]}"),
                  "Here's the result of running `cat -n` on @/f:\n     5\t5\n");
    check_content(view("{'path': '@/f', 'view_range': [5, 9]}"),
                  "NOTE: We only show up to 5 since there're only 5 lines in this file.\n"
                  "Here's the result of running `cat -n` on @/f:\n     5\t5\n");
    CHECK(strstr(view("{'path': '@/f', 'view_range': null}"), "     1\t1\n"));
    static const char *const wrong[][2] = {
        {"[1]", "[1]. It should be a list of two integers."},
        {"[1, 2, 3]", "[1, 2, 3]. It should be a list of two integers."},
        {"['a', 1.5]", "['a', 1.5]. It should be a list of two integers."},
        {"[0, 2]", "[0, 2]. Its first element `0` should be within the range of lines of "
                   "the file: [1, 5]."},
        {"[6, 7]", "[6, 7]. Its first element `6` should be within the range of lines of "
                   "the file: [1, 5]."},
        {"[3, 2]",
         "[3, 2]. Its second element `2` should be greater than or equal to the "
         "first element `3`."},
        {"[3, -2]", "[3, -2]. Its second element `-2` should be greater than or equal to "
                    "the first element `3`."},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char args[200], want[300];
        snprintf(args, sizeof(args), "{'path': '@/f', 'view_range': %s}", wrong[i][0]);
        snprintf(want, sizeof(want), "ERROR:\nInvalid `view_range` parameter: %s",
                 wrong[i][1]);
        check_content(view(args), want);
    }
}

TEST(a_large_file_is_cut)
{
    begin();
    char *text = malloc(40000);
    for (int i = 0; i < 20000; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2); /* characters are counted, not bytes */
    memcpy(text + 39998, "\n", 2);
    put_file("f", text);
    const char *got = view("{'path': '@/f'}");
    const char *note = strstr(got,
                              "\xc3\xa9<response clipped><NOTE>Due to the max output "
                              "limit, only part of this file has been shown to you. "
                              "You should retry this tool after you have searched "
                              "inside the file with `grep -n` in order to find the "
                              "line numbers of what you are looking for.</NOTE>\n");
    CHECK(note);
    CHECK_INT(note + 2 - strchr(got, '\t') - 1, 2 * EDITOR_SHOWN);
    free(text);
}

TEST(a_folder)
{
    begin();
    CHECK_INT(mkdir(in_dir("w"), 0700), 0);
    CHECK_INT(mkdir(in_dir("w/sub"), 0700), 0);
    put_file("w/sub/f", "");
    put_file("w/test.txt", "");
    check_content(
        view("{'path': '@/w/'}"),
        "Here's the files and directories up to 2 levels deep in @/w, excluding "
        "hidden items:\n@/w/\n@/w/sub/\n@/w/sub/f\n@/w/test.txt");
    put_file("w/.hidden", "");
    check_content(
        view("{'path': '@/w', 'view_range': []}"),
        "Here's the files and directories up to 2 levels deep in @/w, excluding "
        "hidden items:\n@/w/\n@/w/sub/\n@/w/sub/f\n@/w/test.txt\n\n"
        "1 hidden files/directories in this directory are excluded. You can use "
        "'ls -la @/w' to see them.");
    check_content(view("{'path': '@/w', 'view_range': [1, 2]}"),
                  "ERROR:\nInvalid `view_range` parameter: [1, 2]. The `view_range` "
                  "parameter is not allowed when `path` points to a directory.");
    for (int i = 0; i < 2000; i++) {
        char name[40];
        snprintf(name, sizeof(name), "w/sub/%d", i);
        put_file(name, "");
    }
    const char *got = view("{'path': '@/w'}");
    CHECK(strstr(got,
                 "<response clipped><NOTE>Due to the max output limit, only part of "
                 "this directory has been shown to you. You should use `ls -la` "
                 "instead to view large directories incrementally.</NOTE>\n\n1 hidden"));
}

TEST(what_cannot_be_viewed)
{
    begin();
    put_file("f", "\x7f"
                  "ELF\1\2\3\4\5\6\xff");
    CHECK_STR(view("{'path': '@/f'}"), "BINARY");
    check_content(edit("{'path': '@/f', 'command': 'view'}"),
                  "ERROR:\nFile validation failed for @/f: File appears to be binary and "
                  "this file type cannot be read or edited by this tool.");
    CHECK_INT(truncate(in_dir("f"), 12 << 20), 0);
    check_content(view("{'path': '@/f'}"),
                  "ERROR:\nFile validation failed for @/f: File is too large (12.0MB). "
                  "Maximum allowed size is 10MB.");
    check_content(view("{'path': '@/none'}"),
                  "ERROR:\nInvalid `path` parameter: @/none. The path @/none does not "
                  "exist. Please provide a valid path.");
    put_file("a.Pdf", "text");
    CHECK(strstr(view("{'path': '@/a.Pdf'}"), "ERROR:\nError in converting file to "));
    CHECK_INT(mkfifo(in_dir("pipe"), 0600), 0);
    CHECK(strstr(view("{'path': '@/pipe'}"), "it is a pipe"));
}

/* ---- paths ---- */

TEST(paths)
{
    begin();
    put_file("f", "x\n");
    put_file("d.docx", "x\n");
    check_content(edit("{'path': 'f', 'command': 'view'}"),
                  "ERROR:\nInvalid `path` parameter: f. The path should be an absolute "
                  "path, starting with `/`. Maybe you meant @/f?");
    check_content(edit("{'path': './g/', 'command': 'create', 'file_text': ''}"),
                  "ERROR:\nInvalid `path` parameter: g. The path should be an absolute "
                  "path, starting with `/`.");
    check_content(edit("{'path': '@/f', 'command': 'create', 'file_text': 'y'}"),
                  "ERROR:\nInvalid `path` parameter: @/f. File already exists at: @/f. "
                  "Cannot overwrite files using command `create`.");
    check_content(edit("{'path': '@/d.docx', 'command': 'create'}"),
                  "ERROR:\nInvalid `path` parameter: @/d.docx. File already exists at: "
                  "@/d.docx. Cannot overwrite files using command `create`.");
    check_content(edit("{'path': '@/none', 'command': 'insert'}"),
                  "ERROR:\nInvalid `path` parameter: @/none. The path @/none does not "
                  "exist. Please provide a valid path.");
    check_content(
        edit("{'path': '@', 'command': 'undo_edit'}"),
        "ERROR:\nInvalid `path` parameter: @. The path @ is a directory and only "
        "the `view` command can be used on directories.");
    check_content(
        edit("{'path': '@/d.docx', 'command': 'undo_edit'}"),
        "ERROR:\nInvalid `path` parameter: @/d.docx. The path @/d.docx points to "
        "a binary file (.docx) and only the `view` command can be used on "
        "supported binary files.");
    check_content(edit("{'path': '@/f', 'command': 'erase'}"),
                  "ERROR:\nUnrecognized command erase. The allowed commands for the "
                  "oh_editor tool are: view, create, str_replace, insert, undo_edit");
    check_content(edit("{'path': '@/no/f', 'command': 'create', 'file_text': 'y'}"),
                  "ERROR:\nRan into [Errno 2] No such file or directory: '@/no/f' while "
                  "trying to write to @/no/f");
    char args[6000];
    snprintf(args, sizeof(args), "{'path': '/%05000d', 'command': 'view'}", 1);
    CHECK(strstr(edit(args), "longer than a path can be"));
    check_file("f", "x\n");
}

/* ---- documents ---- */

#define SHOWN(name) \
    "Here's the content of the file @/" name " displayed in Markdown format:\n"

static void put_pdf(const char *name, int lines)
{
    FILE *f = fopen(in_dir(name), "w");
    CHECK(f);
    fprintf(f,
            "%%PDF-1.4\n%%\xff\xfe\xfd\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
            "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
            "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 19999]/Contents 4 0 R"
            "/Resources<</Font<</F 5 0 R>>>>>>endobj\n4 0 obj<</Length %d>>stream\n",
            lines * 50);
    for (int i = 0; i < lines; i++)
        fprintf(f, "BT /F 9 Tf 50 %09.3f Td (Line %09d) Tj ET   \n", 19900 - i * 15., i);
    fprintf(f,
            "\nendstream endobj\n5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
            "endobj\ntrailer<</Root 1 0 R>>\n");
    CHECK(fclose(f) == 0);
}

TEST(documents_are_viewed_as_markdown)
{
    begin();
    put_pdf("a.pdf", 2);
    const char *want = SHOWN(
        "a.pdf") "<!-- Page number: 1 -->\nLine 000000000\nLine 000000001\n";
    check_content(edit("{'path': '@/a.pdf', 'command': 'view'}"), want);
    check_content(extra("diff"), "");
    check_content(view("{'path': '@/a.pdf'}"), want);
    check_content(view("{'path': '@/a.pdf', 'view_range': [1, 2]}"), want);
    put_file("a.wav", "RIFF");
    check_content(
        view("{'path': '@/a.wav'}"),
        SHOWN("a.wav") "Type: audio/wav\nBytes: 4\n[A transcript needs a model for "
                       "speech: none is available.]\n");
    put_pdf("A.PDF", 1200); /* as upper case, and too long to be shown */
    const char *got = view("{'path': '@/A.PDF'}");
    CHECK(strstr(got, "Line 000000999\nLine 000001000\n") && !strstr(got, "000001199"));
    CHECK(
        str_ends(str_of(got),
                 STR("<response clipped><NOTE>Due to the max output limit, only part of "
                     "this file has been shown to you. Please use Python libraries to "
                     "view the entire file or search for specific content within the "
                     "file.</NOTE>\n")));
}

TEST(documents_that_cannot_be_viewed)
{
    begin();
    put_file("d.docx", "x\n");
    check_content(
        view("{'path': '@/d.docx'}"),
        "ERROR:\nError in converting file to Markdown: cannot read @/d.docx: not a "
        "zip archive, or a damaged one: there is no end of central directory. "
        "Please use Python code to read @/d.docx");
    put_file("large.pdf", "%PDF-1.4");
    CHECK(truncate(in_dir("large.pdf"), 11 << 20) == 0);
    check_content(edit("{'path': '@/large.pdf', 'command': 'view'}"),
                  "ERROR:\nFile validation failed for @/large.pdf: File is too large "
                  "(11.0MB). Maximum allowed size is 10MB.");
    CHECK(mkfifo(in_dir("p.pdf"), 0600) == 0);
    CHECK(strstr(view("{'path': '@/p.pdf'}"),
                 "ERROR:\nError in converting file to Markdown"));
}

/* ---- changes ---- */

TEST(create)
{
    begin();
    check_content(edit("{'path': '@/f', 'command': 'create', 'file_text': 'a\\nb'}"),
                  "File created successfully at: @/f");
    check_file("f", "a\nb");
    check_content(json_str(answer, "observation", "").p, "edit");
    check_content(json_str(answer, "message", "").p, "I edited the file @/f.");
    check_content(extra("path"), "@/f");
    check_content(extra("impl_source"), "oh_aci");
    check_content(extra("diff"), "--- @/f\n+++ @/f\n@@ -1 +1,2 @@\n-\n+a\n+b");
    const struct json *x = json_get(answer, "extras");
    CHECK(json_is_bool(json_get(x, "prev_exist")) && !json_bool(x, "prev_exist", true));
    CHECK(json_is_null(json_get(x, "old_content")));
    CHECK(json_is_null(json_get(x, "new_content")));
    CHECK(json_is_null(json_get(x, "_diff_cache")));
    CHECK_INT(json_count(x), 7);
    CHECK_INT(json_count(answer), 4);
    check_content(edit("{'path': '@/g', 'command': 'create', 'file_text': ''}"),
                  "File created successfully at: @/g");
    check_file("g", "");
    check_content(edit("{'path': '@/h', 'command': 'create', 'file_text': null}"),
                  "ERROR:\nParameter `file_text` is required for command: create.");
    CHECK(access(in_dir("h"), F_OK) < 0);
}

TEST(str_replace)
{
    begin();
    put_file("f", "def test():\n\tprint(\"Hello, World!\")");
    check_content(
        edit("{'path': '@/f', 'command': 'str_replace', 'old_str': "
             "'def test():\\n\\tprint(\\'Hello, World!\\')', 'new_str': "
             "'def test():\\n\\tprint(\\'Hello, Universe!\\')'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of @/f:\n     1\tdef test():\n"
        "     2\t\tprint(\"Hello, Universe!\")\n" REVIEW);
    check_content(extra("old_content"), "def test():\n\tprint(\"Hello, World!\")");
    check_content(extra("new_content"), "def test():\n\tprint(\"Hello, Universe!\")");
    check_content(extra("diff"), "--- @/f\n+++ @/f\n@@ -2 +2 @@\n"
                                 "-\tprint(\"Hello, World!\")\n"
                                 "+\tprint(\"Hello, Universe!\")");
    put_file("f", "one\n");
    check_content(
        edit("{'path': '@/f', 'command': 'str_replace', 'old_str': 'one', "
             "'new_str': 'uno'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of @/f:\n     1\tuno\n     2\t\n" REVIEW);
    put_file("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n");
    check_content(
        edit("{'path': '@/f', 'command': 'str_replace', 'old_str': '6', "
             "'new_str': 'a\\nb'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of @/f:\n     3\t3\n     4\t4\n     5\t5\n     6\ta\n"
        "     7\tb\n     8\t7\n     9\t8\n    10\t9\n    11\t10\n    12\t\n" REVIEW);
    check_content(
        edit("{'path': '@/f', 'command': 'str_replace', 'old_str': 'a\\nb\\n'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of @/f:\n     3\t3\n     4\t4\n     5\t5\n     6\t7\n"
        "     7\t8\n     8\t9\n     9\t10\n    10\t11\n    11\t\n" REVIEW);
    CHECK(json_is_null(json_get(json_get(answer, "extras"), "new_content")));
}

TEST(str_replace_that_fails)
{
    begin();
    put_file("f", "This is a test file.\nThis file is for testing purposes.\n\n");
    static const char *const wrong[][2] = {
        {"'old_str': 'test', 'new_str': 'x'",
         "No replacement was performed. Multiple occurrences of old_str `test` in lines "
         "[1, 2]. Please ensure it is unique."},
        {"'old_str': '', 'new_str': 'x'", "No replacement was performed. Multiple "
                                          "occurrences of old_str `` in lines [1, 2, "
                                          "3, 4]. Please ensure it is unique."},
        {"'old_str': ' \\n file \\n'", "No replacement was performed. Multiple "
                                       "occurrences of old_str `file` in lines [1, "
                                       "2]. Please ensure it is unique."},
        {"'old_str': ' Non-existent %s Line\\n', 'new_str': 'x'",
         "No replacement was performed, old_str `Non-existent %s Line` did not appear "
         "verbatim in @/f."},
        {"'new_str': 'x'", "Parameter `old_str` is required for command: str_replace."},
        {"'old_str': 'a%n', 'new_str': 'a%n'",
         "Invalid `new_str` parameter: a%n. No replacement was performed. `new_str` and "
         "`old_str` must be different."},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char args[300], want[400];
        snprintf(args, sizeof(args), "{'path': '@/f', 'command': 'str_replace', %s}",
                 wrong[i][0]);
        snprintf(want, sizeof(want), "ERROR:\n%s", wrong[i][1]);
        check_content(edit(args), want);
        check_content(extra("diff"), "");
    }
    check_file("f", "This is a test file.\nThis file is for testing purposes.\n\n");
}

TEST(insert)
{
    begin();
    put_file("f", "Line 1\nLine 2\n");
    check_content(
        edit("{'path': '@/f', 'command': 'insert', 'insert_line': 1, "
             "'new_str': 'in'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of the edited file:\n     1\tLine 1\n     2\tin\n"
        "     3\tLine 2\n     4\t\n" REVIEW_LINES);
    check_content(extra("diff"), "--- @/f\n+++ @/f\n@@ -1,0 +2 @@\n+in");
    put_file("f", "Line 1\nLine 2\n");
    check_content(
        edit("{'path': '@/f', 'command': 'insert', 'insert_line': ' +1 ', "
             "'new_str': ''}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of the edited file:\n     1\tLine 1\n     2\t\n"
        "     3\tLine 2\n     4\t\n" REVIEW_LINES);
    put_file("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n");
    check_content(
        edit("{'path': '@/f', 'command': 'insert', 'insert_line': 6, "
             "'new_str': 'a\\nb'}"),
        "The file @/f has been edited. Here's the result of running `cat -n` on "
        "a snippet of the edited file:\n     3\t3\n     4\t4\n     5\t5\n"
        "     6\t6\n     7\ta\n     8\tb\n     9\t7\n    10\t8\n    11\t9\n"
        "    12\t10\n    13\t\n" REVIEW_LINES);
}

TEST(insert_that_fails)
{
    begin();
    put_file("f", "Line 1\nLine 2\n");
    static const char *const wrong[][2] = {
        {"'insert_line': 3, 'new_str': 'x'",
         "Invalid `insert_line` parameter: 3. It should be within the range of allowed "
         "values: [0, 2]"},
        {"'insert_line': -1, 'new_str': 'x'",
         "Invalid `insert_line` parameter: -1. It should be within the range of allowed "
         "values: [0, 2]"},
        {"'insert_line': 1, 'new_str': null",
         "Parameter `new_str` is required for command: insert."},
        {"'new_str': 'x'", "Parameter `insert_line` is required for command: insert."},
        {"'insert_line': 'two', 'new_str': 'x'",
         "Invalid insert_line value: 'two'. Expected an integer."},
        {"'insert_line': 1.5, 'new_str': 'x'",
         "Invalid insert_line value: '1.5'. Expected an integer."},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char args[300], want[400];
        snprintf(args, sizeof(args), "{'path': '@/f', 'command': 'insert', %s}",
                 wrong[i][0]);
        snprintf(want, sizeof(want), "ERROR:\n%s", wrong[i][1]);
        check_content(edit(args), want);
    }
    check_file("f", "Line 1\nLine 2\n");
}

TEST(undo)
{
    begin();
    put_file("f", "1\n2\n");
    check_content(edit("{'path': '@/f', 'command': 'undo_edit'}"),
                  "ERROR:\nNo edit history found for @/f.");
    edit("{'path': '@/f', 'command': 'str_replace', 'old_str': '1', 'new_str': '3'}");
    check_file("f", "3\n2\n");
    check_content(
        edit("{'path': '@/f', 'command': 'undo_edit'}"),
        "Last edit to @/f undone successfully. Here's the result of running `cat "
        "-n` on @/f:\n     1\t1\n     2\t2\n     3\t\n");
    check_content(extra("diff"), "--- @/f\n+++ @/f\n@@ -1 +1 @@\n-3\n+1");
    check_file("f", "1\n2\n");
}

/* ---- what is wrong with the call itself ---- */

TEST(arguments_of_another_type)
{
    static const char *const wrong[] = {
        "{'path': '/f', 'command': 1}",
        "{'path': '/f', 'command': 'create', 'file_text': []}",
        "{'path': '/f', 'command': 'str_replace', 'old_str': 1}",
        "{'path': '/f', 'command': 'str_replace', 'new_str': {}}",
        "{'path': '/f', 'command': 'view', 'impl_source': 'llm_based_edit'}",
    };
    begin();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct json *args = args_of(wrong[i]);
        struct buf out = BUF_INIT(1000);
        bool binary;
        CHECK_INT(observe(true, args, &out, &binary), -1);
        json_free(args);
    }
}

/* An edit that is done is told, if need be without its diff. */
TEST(an_answer_without_room)
{
    begin();
    struct json *args = args_of("{'path': '@/f', 'command': 'create', 'file_text': "
                                "'0123456789012345678901234567890123456789012345678901234"
                                "567890123456789012345678901234567890123456789'}");
    struct buf out = BUF_INIT(360 + 3 * strlen(t_dir())); /* its path is there three times */
    bool binary;
    CHECK_INT(observe(true, args, &out, &binary), 0);
    answer = parsed(&out);
    check_content(json_str(answer, "content", "").p, "File created successfully at: @/f");
    check_content(extra("diff"), "");
    json_free(args);
}

TEST(whatever_is_in_a_file)
{
    begin();
    put_file("f", "\"quotes\\\" \x01\x1f \xc3\xa9 \xe2\x80\xa8 %s%n\n");
    check_content(view("{'path': '@/f'}"),
                  "Here's the result of running `cat -n` on @/f:\n"
                  "     1\t\"quotes\\\" \x01\x1f \xc3\xa9 \xe2\x80\xa8 %s%n\n     2\t\n");
}

T_MAIN
