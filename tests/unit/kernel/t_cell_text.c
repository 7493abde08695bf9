/* SPDX-License-Identifier: MIT */
/* What a cell said, as one text and pictures. */
#include "kernel/cell_text.h"

#include "t.h"

static struct cell_text text;

static void add(const char *type, const char *content)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(content), &e);
    if (!j)
        T_FAIL("%s: %s", content, e.text);
    cell_text_add(&text, str_of(type), j);
    json_free(j);
}

static void is(const char *want)
{
    CHECK_STR(buf_z(&text.text), want);
    cell_text_release(&text);
    cell_text_init(&text, 1000);
}

TEST(pieces_are_joined_without_anything_between)
{
    cell_text_init(&text, 1000);
    add("stream", "{\"name\":\"stdout\",\"text\":\"a\\n\"}");
    add("stream", "{\"name\":\"stderr\",\"text\":\"b\"}");
    add("execute_result", "{\"data\":{\"text/plain\":\"c\",\"text/html\":\"<c>\"}}");
    add("display_data", "{\"data\":{\"text/plain\":[\"d\\n\",\"e\"]}}");
    add("update_display_data", "{\"data\":{\"text/plain\":\"f\"}}");
    is("a\nbcd\nef");
    add("error", "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"one\",\"two\"]}");
    is("one\ntwo");
    add("error", "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[]}");
    is("E: v");
    add("page", "{\"text/plain\":\"help\"}");
    is("help");
    add("note", "{\"text\":\"of ours\"}");
    add("comm_open", "{\"data\":{\"text/plain\":\"x\"}}");
    add("stream", "{}");
    add("stream", "[]");
    add("display_data", "{\"data\":{\"text/html\":\"<b>\"}}");
    is("");
    cell_text_release(&text);
}

TEST(a_display_ends_its_line_if_asked_for)
{
    cell_text_init(&text, 1000);
    text.apart = true;
    add("stream", "{\"text\":\"a\"}");
    add("display_data", "{\"data\":{\"text/plain\":\"b\"}}");
    add("display_data", "{\"data\":{\"text/markdown\":\"# c\"}}");
    cell_text_say(&text, STR("d"));
    add("stream", "{\"text\":\"e\\n\"}");
    add("execute_result", "{\"data\":{\"text/plain\":\"f\"}}");
    is("ab\n# c\nd\ne\nf");
    cell_text_release(&text);
}

/* The data of a display is named so, "" if it is not. */
static void named(const char *data, const char *want)
{
    struct buf line = BUF_INIT(1000), message = BUF_INIT(1000);
    struct err e = ERR_INIT;
    struct cell_other o;
    buf_addf(&message, "{\"data\":%s}", data);
    struct json *j = json_parse(buf_str(&message), &e);
    CHECK(j != NULL);
    if (cell_other_of(&o, STR("display_data"), j, false)) {
        cell_other_put(&line, &o, o.ending);
        cell_other_release(&o);
    }
    CHECK_STR(buf_z(&line), want);
    json_free(j);
    buf_release(&line);
    buf_release(&message);
}

TEST(data_that_is_no_text_and_no_picture_is_named)
{
    named("{\"text/plain\":\"a\",\"text/html\":\"<b>\"}", "");
    named("{\"text/plain\":\"<Figure>\",\"image/png\":\"eA==\",\"image/svg+xml\":\"<\"}", "");
    named("{\"text/plain\":\"a\",\"image/svg+xml\":[\"<svg\",\"/>\"]}",
          "[image/svg+xml, 6 bytes: svg]");
    named("{\"text/plain\":\"<x.HTML object>\",\"text/html\":\"<b>\"}",
          "[text/html, 3 bytes: html]");
    named("{\"application/pdf\":\"eHl6\\n\"}", "[application/pdf, 3 bytes: pdf]");
    named("{\"application/json\":{\"a\":[1]}}", "[application/json, 9 bytes: json]");
    named("{\"video/mp4\":\"not base64!\"}", "[video/mp4, 11 bytes: mp4]");
    named("{\"a/../[b]\\n\":\"x\"}", "[a/../?b??, 1 bytes]");
    named("{\"odd\":{},\"x\":null}", "[odd, 2 bytes: odd]");
    named("{}", "");
    named("[]", "");
}

TEST(what_is_cleared_is_gone_at_once_or_before_what_follows)
{
    cell_text_init(&text, 1000);
    add("stream", "{\"text\":\"a\"}");
    add("display_data", "{\"data\":{\"image/png\":\"eA==\"}}");
    add("clear_output", "{\"wait\":false}");
    CHECK(text.images == NULL);
    is("");
    add("stream", "{\"text\":\"a\"}");
    add("clear_output", "{\"wait\":true}");
    CHECK_STR(buf_z(&text.text), "a");
    add("stream", "{\"text\":\"b\"}");
    add("stream", "{\"text\":\"c\"}");
    is("bc");
    cell_text_release(&text);
}

TEST(pictures_are_data_urls)
{
    struct buf b = BUF_INIT(1000);
    cell_text_init(&text, 1000);
    CHECK(text.images == NULL);
    add("display_data", "{\"data\":{\"text/plain\":\"p\",\"image/png\":\"eA\\n==\\n\"}}");
    add("execute_result",
        "{\"data\":{\"image/png\":[\"eQ\",\"==\"],\"image/jpeg\":\"eg==\"}}");
    CHECK_INT(json_print(&b, text.images), 0);
    CHECK_STR(buf_z(&b),
              "[\"data:image/png;base64,eA==\",\"data:image/png;base64,eQ==\"]");
    buf_release(&b);
    is("p");
    cell_text_release(&text);
}

static void plain(const char *given, const char *want)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(cell_text_plain(&b, str_of(given)), 0);
    CHECK_STR(buf_z(&b), want);
    buf_release(&b);
}

TEST(escapes_of_colour_are_left_out)
{
    plain("", "");
    plain("\033[0;31mred\033[0m", "red");
    plain("\033[38;5;241;43mfour\033[m", "four");
    plain("\033[4:3mcurly\033[24m", "curly");
    plain("\033[?2004la\033[?25h", "a");
    plain("\033[2Jcleared", "\033[2Jcleared");
    plain("\033[3", "\033[3");
    plain("\033", "\033");
    plain("\033\033[1mx", "\033x");
}

TEST(overstrikes_are_left_out)
{
    plain("_\bU_\bs_\be", "Use");
    plain("b\bbo\bo\bol\bld", "bold");
    plain("_\b\303\251 \303\251\b\303\251", "\303\251 \303\251");
    plain("_\b\033[1mx\033[m", "_\bx");
    plain("\bx", "\bx");
    plain("9%\b\b10%", "9%\b\b10%");
    plain("_\b", "_\b");
    plain("_\b\n", "_\b\n");
    struct buf b = BUF_INIT(1000);
    buf_addz(&b, "x");
    CHECK_INT(cell_text_plain(&b, STR("\bx")), 0);
    CHECK_STR(buf_z(&b), "x\bx");
    buf_release(&b);
}

TEST(what_does_not_fit_is_counted)
{
    cell_text_init(&text, 4);
    add("stream", "{\"text\":\"abc\"}");
    add("stream", "{\"text\":\"defg\"}");
    CHECK_STR(buf_z(&text.text), "abc");
    CHECK_INT(text.lost, 4);
    cell_text_release(&text);
}

T_MAIN
