/* SPDX-License-Identifier: MIT */
/* Arguments as models bend them. */
#include "front/mcp/tools/straight.h"

#include "t.h"

static const struct param rows[] = {
    {.name = "command", .type = PARAM_STRING, .required = true, .about = "Text"},
    {.name = "view", .type = PARAM_STRING, .choices = "outline text image", .about = "V"},
    {.name = "new_string", .type = PARAM_STRING, .about = "Text"},
    {.name = "limit",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .max = 1000,
     .dflt = "100",
     .about = "N"},
    {.name = "all", .type = PARAM_BOOL, .about = "All"},
    {.name = "wait_s",
     .type = PARAM_INT,
     .ranged = true,
     .max = 600,
     .dflt = "30",
     .about = "Seconds"},
    {0}};
static const struct param_list takes = {.about = "Tests", .params = rows};
static const struct tool tool = {
    .name = "shell",
    .takes = &takes,
    .keeps = "new_string",
    .also = "cmd=command script=command timeout=wait_s timeout_ms=wait_s "
            "run_in_background=wait_s workdir=cwd new_str=new_string"};

static struct buf notes, text;
static struct err e;

/* What text is straightened to, "" if it is refused. */
static const char *straight(const char *args)
{
    struct err bad = ERR_INIT;
    struct json *j = *args ? json_parse(str_of(args), &bad) : NULL;
    buf_release(&notes);
    buf_release(&text);
    buf_init(&notes, 4000);
    buf_init(&text, 4000);
    e = (struct err)ERR_INIT;
    if (*args && !j)
        T_FAIL("%s: %s", args, bad.text);
    struct json *out = tool_straighten(&tool, j, 50, &notes, &e);
    if (out)
        json_print(&text, out);
    json_free(out);
    json_free(j);
    return buf_z(&text);
}

#define REST ",\"limit\":100,\"wait_s\":30}"

TEST(as_they_are)
{
    CHECK_STR(straight("{\"command\":\"ls\"}"), "{\"command\":\"ls\"" REST);
    CHECK_STR(straight("{\"command\":\"ls\",\"limit\":7,\"all\":true,\"wait_s\":2}"),
              "{\"command\":\"ls\",\"limit\":7,\"all\":true,\"wait_s\":2}");
    CHECK_STR(buf_z(&notes), "");
}

TEST(bent_scalars)
{
    CHECK_STR(straight("{\"command\":12,\"limit\":\"250\",\"all\":\"true\"}"),
              "{\"command\":\"12\",\"limit\":250,\"all\":true,\"wait_s\":30}");
    CHECK_STR(straight("{\"command\":true,\"limit\":\" 250.0 \",\"all\":\"No\"}"),
              "{\"command\":\"true\",\"limit\":250,\"all\":false,\"wait_s\":30}");
    CHECK_STR(straight("{\"command\":\"a\",\"all\":1,\"view\":\"IMAGE\"}"),
              "{\"command\":\"a\",\"view\":\"image\",\"limit\":100,\"all\":true,"
              "\"wait_s\":30}");
}

TEST(absent)
{
    CHECK_STR(straight("{\"command\":\"a\",\"limit\":null,\"view\":\"\",\"all\":\"\"}"),
              "{\"command\":\"a\"" REST);
    CHECK_STR(straight("{\"command\":\"a\",\"new_string\":\"\"}"),
              "{\"command\":\"a\",\"new_string\":\"\"" REST);
    CHECK_STR(straight("{\"command\":\"a\",\"new_str\":\"\"}"),
              "{\"command\":\"a\",\"new_string\":\"\"" REST);
    CHECK_STR(straight(""), "");
    CHECK_STR(e.text, "command is missing; shell needs {command, view?, new_string?, "
                      "limit?, all?, wait_s?}");
    CHECK_STR(straight("{\"command\":\"\"}"), "");
    CHECK_STR(straight("null"), "");
}

TEST(other_names)
{
    CHECK_STR(straight("{\"cmd\":\"ls\"}"), "{\"command\":\"ls\"" REST);
    CHECK_STR(straight("{\"script\":\"b\",\"command\":\"a\"}"),
              "{\"command\":\"a\"" REST);
    CHECK_STR(straight("{\"cmd\":\"a\",\"timeout\":\"20000\"}"),
              "{\"command\":\"a\",\"limit\":100,\"wait_s\":20}");
    CHECK_STR(straight("{\"cmd\":\"a\",\"timeout\":20}"),
              "{\"command\":\"a\",\"limit\":100,\"wait_s\":20}");
    CHECK_STR(straight("{\"cmd\":\"a\",\"timeout_ms\":2000}"),
              "{\"command\":\"a\",\"limit\":100,\"wait_s\":2}");
    CHECK_STR(straight("{\"cmd\":\"a\",\"run_in_background\":true}"),
              "{\"command\":\"a\",\"limit\":100,\"wait_s\":0}");
    CHECK_STR(straight("{\"cmd\":\"a\",\"run_in_background\":false}"),
              "{\"command\":\"a\"" REST);
    CHECK_STR(straight("{\"cmd\":\"a\",\"workdir\":\"/x\"}"),
              "{\"command\":\"a\",\"limit\":100,\"wait_s\":30,\"cwd\":\"/x\"}");
    CHECK_STR(buf_z(&notes), "");
}

TEST(unknown_names)
{
    CHECK_STR(straight("{\"command\":\"a\",\"colour\":1}"), "{\"command\":\"a\"" REST);
    CHECK_STR(buf_z(&notes), "(colour is not an argument of shell and was ignored; it "
                             "takes command, view?, new_string?, limit?, all?, "
                             "wait_s?)\n");
    CHECK_STR(straight("{\"command\":\"a\",\"wait_for_previous\":true}"),
              "{\"command\":\"a\"" REST);
    CHECK_STR(buf_z(&notes), "");
}

TEST(ranges)
{
    CHECK_STR(straight("{\"command\":\"a\",\"limit\":5000,\"wait_s\":900}"),
              "{\"command\":\"a\",\"limit\":1000,\"wait_s\":50}");
    CHECK_STR(buf_z(&notes), "(limit is at most 1000: 1000 was used)\n"
                             "(wait_s is at most 50 for this client: 50 was used)\n");
    CHECK_STR(straight("{\"command\":\"a\",\"limit\":-5,\"wait_s\":-1}"),
              "{\"command\":\"a\",\"limit\":1,\"wait_s\":0}");
    CHECK_STR(straight("{\"command\":\"a\",\"limit\":1e300}"),
              "{\"command\":\"a\",\"limit\":1000,\"wait_s\":30}");
}

TEST(refused)
{
    static const struct {
        const char *args, *text;
    } all[] = {
        {"{\"command\":[\"ls\"]}", "command must be text; this is a JSON list"},
        {"{\"command\":{\"a\":1}}", "command must be text; this is a JSON object"},
        {"{\"command\":\"a\",\"limit\":\"many\"}",
         "limit must be a whole number, not \"many\""},
        {"{\"command\":\"a\",\"all\":7}", "all must be true or false; this is a number"},
        {"{\"command\":\"a\",\"view\":\"tree\"}",
         "view must be one of outline, text, image, not \"tree\""},
        {"[1]", "the arguments of shell must be a JSON object"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        CHECK_STR(straight(all[i].args), "");
        CHECK_STR(e.text, all[i].text);
    }
}

/* What a tool that is a skill takes is in the table of skills. */
static const struct tool editor = {
    .name = "file_editor", .skill = "file_editor", .keeps = "new_str"};

static const char *edits(const char *args)
{
    struct err bad = ERR_INIT;
    struct json *j = json_parse(str_of(args), &bad);
    buf_release(&text);
    buf_init(&text, 4000);
    buf_release(&notes);
    buf_init(&notes, 4000);
    e = (struct err)ERR_INIT;
    struct json *out = tool_straighten(&editor, j, 50, &notes, &e);
    if (out)
        json_print(&text, out);
    json_free(out);
    json_free(j);
    return buf_z(&text);
}

TEST(what_a_skill_takes)
{
    static const char head[] = "{\"command\":\"view\",\"path\":\"/a\"";
    static const char *const lists[] = {"[1,20]", "\"[1, 20]\"", "\"1,20\"",
                                        "\" [1,20] \""};
    char args[200], wanted[200];
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        snprintf(args, sizeof(args), "%s,\"view_range\":%s}", head, lists[i]);
        snprintf(wanted, sizeof(wanted),
                 "%s,\"view_range\":[1,20],\"enable_linting\":%s}", head, "false");
        CHECK_STR(edits(args), wanted);
    }
    snprintf(args, sizeof(args), "%s,\"insert_line\":\"3\",\"new_str\":\"\"}", head);
    snprintf(wanted, sizeof(wanted),
             "%s,\"new_str\":\"\",\"insert_line\":3,\"enable_linting\":false}", head);
    CHECK_STR(edits(args), wanted);
    snprintf(args, sizeof(args), "%s,\"view_range\":\"first\"}", head);
    CHECK_STR(edits(args), "");
    CHECK_STR(e.text, "view_range must be a list of whole numbers, as [1, 20], not "
                      "\"first\"");
    snprintf(args, sizeof(args), "%s,\"view_range\":[1,\"x\"]}", head);
    CHECK_STR(edits(args), "");
    CHECK_STR(edits("{\"command\":\"view\"}"), "");
    CHECK_STR(e.text, "path is missing; file_editor needs {command, path, file_text?, "
                      "view_range?, old_str?, new_str?, insert_line?, enable_linting?}");
}

T_MAIN
