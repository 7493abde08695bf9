/* SPDX-License-Identifier: MIT */
/* The table of skills, and each of them as a JSON Schema. */
#include "document/document.h"
#include "skill/own.h"

#include <string.h>

#define DESCRIBE "\"Describe this image as detail as possible.\""
#define NEED(n, t, about_) \
    { \
        .name = n, .type = t, .required = true, .about = about_ \
    }
#define MAY(n, t, default_, about_) \
    { \
        .name = n, .type = t, .dflt = default_, .about = about_ \
    }
#define PARAMS(...) \
    .params = (const struct param[]) \
    { \
        __VA_ARGS__, { 0 } \
    }
static const struct param nothing[] = {{0}};

static const struct skill skills[] = {
    {.name = "open_file",
     .run = window_open_file,
     .shared = true,
     .takes = {"show a file's lines around a line, and remember the file",
               PARAMS(NEED("path", PARAM_STRING, "the file"),
                      MAY("line_number", PARAM_INT, "1",
                          "the line in the middle of the window"),
                      MAY("context_lines", PARAM_INT, "100",
                          "how many lines are shown, at most 100"))}},
    {.name = "goto_line",
     .run = window_goto_line,
     .shared = true,
     .takes = {"show the open file around a line",
               PARAMS(NEED("line_number", PARAM_INT,
                           "the line in the middle of the window"))}},
    {.name = "scroll_down",
     .run = window_scroll_down,
     .shared = true,
     .takes = {"show the next 100 lines of the open file", .params = nothing}},
    {.name = "scroll_up",
     .run = window_scroll_up,
     .shared = true,
     .takes = {"show the 100 lines before those", .params = nothing}},
    {.name = "search_dir",
     .run = skill_search,
     .takes = {"find a text in all files of a folder",
               PARAMS(NEED("search_term", PARAM_STRING, "the text"),
                      MAY("dir_path", PARAM_STRING, "\"./\"", "the folder"))},
     .kind = SKILLS_SEARCH_DIR},
    {.name = "search_file",
     .run = skill_search,
     .shared = true,
     .takes = {"find a text in one file",
               PARAMS(NEED("search_term", PARAM_STRING, "the text"),
                      MAY("file_path", PARAM_STRING, "null",
                          "the file; without it the open one"))},
     .kind = SKILLS_SEARCH_FILE},
    {.name = "find_file",
     .run = skill_search,
     .takes = {"find files by a part of their name",
               PARAMS(NEED("file_name", PARAM_STRING, "a part of the name"),
                      MAY("dir_path", PARAM_STRING, "\"./\"", "the folder"))},
     .kind = SKILLS_FIND_FILE},
    {.name = "glob",
     .run = skill_search,
     .takes = {"find files by a shell pattern, the newest first",
               PARAMS(NEED("pattern", PARAM_STRING, "such as **/*.c"),
                      MAY("path", PARAM_STRING, "null",
                          "the folder; without it the current one"))},
     .kind = SKILLS_GLOB},
    {.name = "grep",
     .run = skill_search,
     .takes = {"find files with a line that matches a regular expression",
               PARAMS(NEED("pattern", PARAM_STRING,
                           "the regular expression; case does not count"),
                      MAY("path", PARAM_STRING, "null",
                          "the folder; without it the current one"),
                      MAY("include", PARAM_STRING, "null",
                          "a shell pattern for names of files"))},
     .kind = SKILLS_GREP},
    {.name = "create_file",
     .run = edit_create_file,
     .shared = true,
     .takes = {"make a new file and open it",
               PARAMS(
                   NEED("filename", PARAM_STRING, "the file, which is not there yet"))}},
    {.name = "edit_file_by_replace",
     .run = edit_by_replace,
     .shared = true,
     .takes = {"replace the lines that have a text by others",
               PARAMS(NEED("file_name", PARAM_STRING, "the file"),
                      NEED("to_replace", PARAM_TEXT, "the text, which the file has once"),
                      NEED("new_content", PARAM_TEXT, "the lines in its place"))}},
    {.name = "insert_content_at_line",
     .run = edit_insert_content,
     .shared = true,
     .takes = {"insert lines before a line",
               PARAMS(NEED("file_name", PARAM_STRING, "the file"),
                      NEED("line_number", PARAM_INT, "the line, from 1"),
                      NEED("content", PARAM_TEXT, "the lines"))}},
    {.name = "append_file",
     .run = edit_append_file,
     .shared = true,
     .takes = {"add lines at the end of a file",
               PARAMS(NEED("file_name", PARAM_STRING, "the file"),
                      NEED("content", PARAM_TEXT, "the lines"))}},
    {.name = "file_editor",
     .run = edit_file_editor,
     .shared = true,
     .returns = true,
     .takes = {"view, create, str_replace, insert or undo_edit a file",
               PARAMS(NEED("command", PARAM_STRING,
                           "view, create, str_replace, insert, undo_edit"),
                      NEED("path", PARAM_STRING, "the absolute path of a file or folder"),
                      MAY("file_text", PARAM_TEXT, "null", "create: what is in the file"),
                      MAY("view_range", PARAM_INTS, "null",
                          "view: the first and the last line, -1: all"),
                      MAY("old_str", PARAM_TEXT, "null",
                          "str_replace: the text, which occurs once"),
                      MAY("new_str", PARAM_TEXT, "null",
                          "str_replace, insert: the new text"),
                      MAY("insert_line", PARAM_INT, "null",
                          "insert: behind this line, 0: before all"),
                      MAY("enable_linting", PARAM_BOOL, "false",
                          "str_replace, insert: say what the change made wrong, if it "
                          "can be known"))}},
    {.name = "view",
     .run = view_path,
     .takes = {"show a file as numbered lines, a document as text, or a folder",
               PARAMS(NEED("path", PARAM_STRING, "the file or folder"),
                      MAY("offset", PARAM_INT, "1",
                          "the first line, from 1; negative counts from the end"),
                      MAY("limit", PARAM_INT, "null",
                          "how many lines; without it as many as fit into an answer"))}},
    {.name = "replace",
     .run = change_replace,
     .shared = true,
     .takes = {"replace a text in a file, which has it once",
               PARAMS(NEED("path", PARAM_STRING, "the file"),
                      NEED("old_string", PARAM_TEXT,
                           "the text, with its white space and without line numbers"),
                      NEED("new_string", PARAM_TEXT, "the text in its place"),
                      MAY("replace_all", PARAM_BOOL, "false",
                          "every place that has the text"),
                      MAY("whole_lines", PARAM_BOOL, "false",
                          "the text is whole lines, no parts of them"))}},
    {.name = "insert",
     .run = change_insert,
     .shared = true,
     .takes = {"insert lines behind a line of a file",
               PARAMS(NEED("path", PARAM_STRING, "the file"),
                      NEED("line", PARAM_INT, "behind this line; 0: before all"),
                      NEED("text", PARAM_TEXT, "the lines"))}},
    {.name = "create",
     .run = change_create,
     .shared = true,
     .takes = {"make a file, or replace its whole content",
               PARAMS(NEED("path", PARAM_STRING, "the file; missing folders are made"),
                      NEED("content", PARAM_TEXT, "the whole content"))}},
    {.name = "undo",
     .run = change_undo,
     .shared = true,
     .takes = {"take back the last change of a file by replace, insert or create",
               PARAMS(NEED("path", PARAM_STRING, "the file"))}},
    {.name = "search",
     .run = find_search,
     .takes = {"find lines that match a regular expression, or files by name",
               PARAMS(
                   MAY("pattern", PARAM_STRING, "null",
                       "the regular expression (Perl's); without it files are listed, "
                       "the newest "
                       "first"),
                   MAY("path", PARAM_STRING, "\".\"", "the folder or file"),
                   MAY("glob", PARAM_STRING, "null",
                       "only these files, such as src/**/*.{c,h}"),
                   MAY("context", PARAM_INT, "0", "lines around each match, at most 20"),
                   MAY("ignore_case", PARAM_BOOL, "false", "letters in either case"),
                   MAY("literal", PARAM_BOOL, "false", "the pattern is plain text"),
                   MAY("all", PARAM_BOOL, "false", "hidden and ignored files, too"),
                   MAY("limit", PARAM_INT, "100", "matches or files that are shown"))}},
    {.name = "browse",
     .run = browse_page,
     .shared = true,
     .takes = {"act in a browser that stays open, and show the page as a tree",
               PARAMS(MAY("actions", PARAM_TEXT, "\"\"",
                          "calls such as goto('http://…') click('12') fill('7', 'text') "
                          "select_option('8', 'label') press('7', 'Enter') go_back() "
                          "scroll(0, 300) "
                          "new_tab() tab_focus(0); elements are named by their numbers "
                          "in the tree"),
                      MAY("page", PARAM_INT, "1",
                          "which part of a long tree is shown"))}},
    {.name = "parse_pdf",
     .run = skill_document,
     .takes = {"print the text of a PDF file",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_PDF},
    {.name = "parse_docx",
     .run = skill_document,
     .takes = {"print the text of a Word file",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_DOCX},
    {.name = "parse_latex",
     .run = skill_document,
     .takes = {"print the text of a LaTeX file",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_LATEX},
    {.name = "parse_pptx",
     .run = skill_document,
     .takes = {"print the text of a PowerPoint file",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_PPTX},
    {.name = "parse_html",
     .run = skill_document,
     .takes = {"print the text of an HTML file",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_HTML},
    {.name = "parse_ipynb",
     .run = skill_document,
     .takes = {"print the cells of a notebook",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"))},
     .kind = DOCREAD_IPYNB},
    {.name = "parse_audio",
     .run = skill_document,
     .takes = {"print the facts of a sound file, and its data",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"),
                      MAY("model", PARAM_STRING, "\"whisper-1\"",
                          "taken, and without effect"))},
     .kind = DOCREAD_AUDIO},
    {.name = "parse_image",
     .run = skill_document,
     .takes = {"print the facts of a picture, and its data",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"),
                      MAY("task", PARAM_STRING, DESCRIBE, "taken, and without effect"))},
     .kind = DOCREAD_IMAGE},
    {.name = "parse_video",
     .run = skill_document,
     .takes = {"print the facts of a film, and its data",
               PARAMS(NEED("file_path", PARAM_STRING, "the file"),
                      MAY("task", PARAM_STRING, DESCRIBE, "taken, and without effect"),
                      MAY("frame_interval", PARAM_INT, "30", "is told"))},
     .kind = DOCREAD_VIDEO},
};

enum { SKILLS = sizeof(skills) / sizeof(skills[0]) };

const struct skill *skill_find(struct str name)
{
    for (size_t i = 0; i < SKILLS; i++)
        if (str_eq(name, str_of(skills[i].name)))
            return &skills[i];
    return NULL;
}

const struct skill *skill_next(const struct skill *s)
{
    if (!s)
        return skills;
    return s + 1 < skills + SKILLS ? s + 1 : NULL;
}

bool skill_needs_server(const struct skill *s) { return s->run == browse_page; }

/* ---- the schema ---- */

static struct json *schema_of(const struct param *p)
{
    static const char *const types[] = {[PARAM_STRING] = "string",
                                        [PARAM_TEXT] = "string",
                                        [PARAM_INT] = "integer",
                                        [PARAM_INTS] = "array",
                                        [PARAM_BOOL] = "boolean"};
    struct json *j = json_object(), *dflt, *items;
    struct err e = ERR_INIT;
    json_put_z(j, "type", types[p->type]);
    json_put_z(j, "description", p->about);
    if (p->type == PARAM_INTS) {
        items = json_object();
        json_put_z(items, "type", "integer");
        json_put(j, "items", items);
    }
    dflt = p->dflt ? json_parse(str_of(p->dflt), &e) : NULL;
    if (dflt && !json_is_null(dflt))
        json_put(j, "default", dflt);
    else
        json_free(dflt);
    return j;
}

static struct json *function_of(const struct skill *s)
{
    struct json *outer = json_object(), *f = json_object(), *params = json_object();
    struct json *properties = json_object(), *required = json_array();
    for (const struct param *p = s->takes.params; p->name; p++) {
        json_put(properties, p->name, schema_of(p));
        if (p->required)
            json_push_str(required, str_of(p->name));
    }
    json_put_z(params, "type", "object");
    json_put(params, "properties", properties);
    json_put(params, "required", required);
    json_put_bool(params, "additionalProperties", false);
    json_put_z(f, "name", s->name);
    json_put_z(f, "description", s->takes.about);
    json_put(f, "parameters", params);
    json_put_z(outer, "type", "function");
    json_put(outer, "function", f);
    return outer;
}

int skill_schema(struct buf *out)
{
    struct json *all = json_array();
    for (const struct skill *s = NULL; (s = skill_next(s));)
        json_push(all, function_of(s));
    int rc = json_print(out, all);
    json_free(all);
    return rc;
}
