/* SPDX-License-Identifier: MIT */
/* A notebook's cells, the outputs they get, and the file that is written. */
#include "kernel/notebook.h"

#include "t.h"

#include <string.h>

static struct notebook *book;
static struct buf source, text;

static void open_book(const char *json)
{
    struct err e = ERR_INIT;
    buf_init(&source, 10000);
    buf_init(&text, 1 << 20);
    book = notebook_parse(str_of(json), "a.ipynb", &e);
    if (!book)
        T_FAIL("%s", e.text);
}

static void close_book(void)
{
    notebook_free(book);
    buf_release(&source);
    buf_release(&text);
}

static void add(const char *type, const char *content)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(content), &e);
    if (!j)
        T_FAIL("%s: %s", content, e.text);
    notebook_output(book, str_of(type), j);
    json_free(j);
}

/* The outputs of the code cell i as they are written, on one line. */
static const char *outputs(int i)
{
    static struct buf line;
    struct err e = ERR_INIT;
    buf_reset(&text);
    CHECK_INT(notebook_print(&text, book), 0);
    struct json *j = json_parse(buf_str(&text), &e);
    struct json *c = json_first(json_get(j, "cells"));
    while (i-- > 0)
        c = json_next(c);
    buf_release(&line);
    buf_init(&line, 1 << 20);
    json_print(&line, json_get(c, "outputs"));
    json_free(j);
    return buf_z(&line);
}

static void refused(const char *json, const char *why)
{
    struct err e = ERR_INIT;
    CHECK(!notebook_parse(str_of(json), "a.ipynb", &e));
    if (strncmp(e.text, why, strlen(why)) != 0)
        T_FAIL("%s: %s", json, e.text);
}

#define CODE(s)     "{\"cell_type\":\"code\",\"source\":" s "}"
#define BOOK(cells) "{\"cells\":[" cells "],\"nbformat\":4}"

TEST(what_is_no_notebook_is_named)
{
    refused("{", "a.ipynb is not a notebook: ");
    refused("[]", "a.ipynb is not a notebook: it has no cells");
    refused("{\"nbformat\":4}", "a.ipynb is not a notebook: it has no cells");
    refused("{\"cells\":{}}", "a.ipynb is not a notebook: it has no cells");
    refused("{\"worksheets\":[]}",
            "a.ipynb is a notebook of format 3, which Jupyter left");
    refused("{\"nbformat\":3,\"cells\":[]}", "a.ipynb is a notebook of format 3");
    refused("{\"nbformat\":2}", "a.ipynb is a notebook of format 2");
    refused("{\"nbformat\":5,\"cells\":[]}", "a.ipynb is a notebook of format 5");
}

TEST(code_cells_come_one_after_the_other)
{
    open_book(BOOK("{\"cell_type\":\"markdown\",\"source\":\"no\"}," CODE(
        "\"x = 1\\nx\"") ",7," CODE("[\"a\\n\",null,\"b\"]") "," CODE("5")) "");
    CHECK_INT(notebook_cells(book), 3);
    CHECK(notebook_next(book, &source));
    CHECK_STR(buf_z(&source), "x = 1\nx");
    CHECK(notebook_next(book, &source));
    CHECK_STR(buf_z(&source), "a\nb");
    CHECK(notebook_next(book, &source));
    CHECK_STR(buf_z(&source), "");
    CHECK(!notebook_next(book, &source));
    close_book();
    open_book("{\"cells\":[],\"metadata\":{\"kernelspec\":{\"name\":\"ir\"}}}");
    CHECK(str_eq(notebook_kernel(book), STR("ir")));
    CHECK(!notebook_next(book, &source));
    add("stream", "{\"text\":\"before any cell\"}");
    notebook_ended(book, 1);
    close_book();
}

TEST(outputs_have_the_members_that_the_format_allows)
{
    open_book(BOOK(CODE("\"\"")));
    notebook_next(book, &source);
    add("stream", "{\"name\":\"stdout\",\"text\":\"a\\nb\",\"more\":1}");
    add("stream", "{\"name\":\"stdout\",\"text\":\"c\\n\"}");
    add("status", "{\"execution_state\":\"idle\"}");
    add("execute_result", "{\"execution_count\":3,\"data\":{\"text/plain\":\"x\\ny\","
                          "\"image/png\":\"AA\\n\",\"application/json\":{\"a\":[1]}},"
                          "\"metadata\":{},\"transient\":{}}");
    add("error",
        "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"t\",\"u\"],\"status\":1}");
    notebook_ended(book, 3);
    CHECK_STR(
        outputs(0),
        "[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[\"a\\n\",\"bc\\n\"]},"
        "{\"data\":{\"application/json\":{\"a\":[1]},\"image/png\":\"AA\\n\","
        "\"text/plain\":[\"x\\n\",\"y\"]},\"execution_count\":3,\"metadata\":{},"
        "\"output_type\":\"execute_result\"},{\"ename\":\"E\",\"evalue\":\"v\","
        "\"output_type\":\"error\",\"traceback\":[\"t\",\"u\"]}]");
    close_book();
}

TEST(outputs_of_strange_types_are_what_the_format_has)
{
    open_book(BOOK(CODE("\"\"")));
    notebook_next(book, &source);
    add("stream", "{\"text\":5}");
    add("display_data", "{\"data\":[1],\"metadata\":7}");
    add("error", "{\"traceback\":{\"a\":\"b\"}}");
    add("stream", "[]");
    notebook_ended(book, 0);
    CHECK_STR(outputs(0),
              "[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[]},"
              "{\"data\":{},\"metadata\":{},\"output_type\":\"display_data\"},"
              "{\"ename\":\"\",\"evalue\":\"\",\"output_type\":\"error\","
              "\"traceback\":[]},"
              "{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[]}]");
    close_book();
}

TEST(what_was_shown_is_changed_also_in_an_earlier_cell)
{
    open_book(BOOK(CODE("\"\"") "," CODE("\"\"")));
    notebook_next(book, &source);
    add("display_data",
        "{\"data\":{\"text/plain\":\"1\"},\"transient\":{\"display_id\":\"d\"}}");
    notebook_ended(book, 1);
    notebook_next(book, &source);
    add("update_display_data",
        "{\"data\":{\"text/plain\":\"2\"},\"transient\":{\"display_id\":\"d\"}}");
    add("update_display_data",
        "{\"data\":{\"text/plain\":\"3\"},\"transient\":{\"display_id\":\"other\"}}");
    notebook_ended(book, 2);
    CHECK_STR(outputs(0), "[{\"data\":{\"text/plain\":[\"2\"]},\"metadata\":{},"
                          "\"output_type\":\"display_data\"}]");
    CHECK_STR(outputs(1), "[]");
    close_book();
}

TEST(clear_output_now_and_before_what_comes_next)
{
    open_book(BOOK(CODE("\"\"")));
    notebook_next(book, &source);
    add("display_data", "{\"data\":{},\"transient\":{\"display_id\":\"d\"}}");
    add("stream", "{\"text\":\"gone\"}");
    add("clear_output", "{}");
    CHECK_STR(outputs(0), "[]");
    add("update_display_data",
        "{\"data\":{\"a\":\"b\"},\"transient\":{\"display_id\":\"d\"}}");
    add("stream", "{\"text\":\"stays\"}");
    add("clear_output", "{\"wait\":true}");
    notebook_ended(book, 0);
    CHECK_STR(outputs(0),
              "[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[\"stays\"]}]");
    add("stream", "{\"text\":\"instead\"}");
    notebook_ended(book, 0);
    CHECK_STR(
        outputs(0),
        "[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[\"instead\"]}]");
    close_book();
}

TEST(the_file_is_indented_by_one_and_sorted)
{
    open_book("{\"nbformat\":4,\"cells\":[{\"cell_type\":\"code\",\"source\":[\"1\"],"
              "\"metadata\":{}}],\"metadata\":{\"b\":0.5,\"a\":[],\"é\":null}}");
    notebook_next(book, &source);
    notebook_ended(book, 7);
    CHECK_INT(notebook_print(&text, book), 0);
    CHECK_STR(buf_z(&text), "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n"
                            "   \"execution_count\": 7,\n   \"metadata\": {},\n"
                            "   \"outputs\": [],\n   \"source\": [\n    \"1\"\n   ]\n"
                            "  }\n ],\n \"metadata\": {\n  \"a\": [],\n  \"b\": 0.5,\n"
                            "  \"é\": null\n },\n \"nbformat\": 4\n}\n");
    close_book();
}

TEST(a_full_buffer_is_told)
{
    struct buf small = BUF_INIT(20);
    open_book(BOOK(CODE("\"\"")));
    buf_addz(&small, "kept");
    CHECK_INT(notebook_print(&small, book), -1);
    CHECK_STR(buf_z(&small), "kept");
    buf_release(&small);
    close_book();
}

T_MAIN
