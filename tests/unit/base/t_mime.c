/* SPDX-License-Identifier: MIT */
/* Media types: by name, by first bytes, and which of them are compressed. */
#include "base/mime.h"

#include "t.h"

TEST(by_name_in_any_case)
{
    static const char *const v[][2] = {
        {"a.txt", "text/plain"},
        {"/x/y.d/Index.HTML", "text/html"},
        {"archive.tar.gz", "application/gzip"},
        {"page.xhtml", "application/xhtml+xml"},
        {"table.parquet", "application/vnd.apache.parquet"},
        {"a.7z", "application/x-7z-compressed"},
        {"a.zst", "application/zstd"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
        CHECK_STR(mime_of_name(str_of(v[i][0])), v[i][1]);
}

TEST(names_that_say_nothing)
{
    static const char *const v[] = {
        "",        ".",    "..",     "Makefile", "a.",  ".gz",           "/.gz",
        "x/.html", "a.zi", "a.zipp", "dir.gz/x", "txt", "a.abcdefghijkl"};
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
        CHECK_STR(mime_of_name(str_of(v[i])), NULL);
    CHECK_STR(mime_of_name(str_n("a.txt\0", 6)), NULL);
    CHECK_STR(mime_of_name(str_n("a.tx\0t", 6)), NULL);
}

/* Halving finds a row only if the rows around it are in order. */
TEST(names_at_both_ends_and_between_are_found)
{
    static const char *const v[] = {"7z",    "aac", "apk", "gif", "js",  "json",
                                    "jsonl", "m4a", "md",  "tar", "tex", "tgz",
                                    "xml",   "xz",  "zip", "zst"};
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        char name[20];
        snprintf(name, sizeof(name), "x.%s", v[i]);
        CHECK(mime_of_name(str_of(name)) != NULL);
    }
}

TEST(by_the_first_bytes)
{
    CHECK_STR(mime_of(STR("x"), STR("\x89PNG\r\n\x1a\n rest")), "image/png");
    CHECK_STR(mime_of(STR("x"), STR("PK\3\4...")), "application/zip");
    CHECK_STR(mime_of(STR("x"), STR("RIFF\1\2\3\4WEBPVP8 ")), "image/webp");
    CHECK_STR(mime_of(STR("x"), STR("\0\0\0\x20"
                                    "ftypisom")),
              "video/mp4");
    CHECK_STR(mime_of(STR("x"), STR("\x7f"
                                    "ELF")),
              "application/x-elf");
    CHECK_STR(mime_of(STR("x.txt"), STR("\x7f"
                                        "ELF")),
              "text/plain");
    char tar[400] = "name";
    memcpy(tar + 257, "ustar", 5);
    CHECK_STR(mime_of(STR("x"), str_n(tar, sizeof(tar))), "application/x-tar");
    CHECK_STR(mime_of(STR("x"), str_n(tar, 261)), "application/octet-stream");
}

TEST(text_is_utf_8_without_control_characters)
{
    CHECK_STR(mime_of(STR("x"), STR("")), "text/plain");
    CHECK_STR(mime_of(STR("x"), STR("gr\xc3\xbc\xc3\x9f\n\t")), "text/plain");
    CHECK_STR(mime_of(STR("x"), STR("cut \xe2\x82")), "text/plain");
    CHECK_STR(mime_of(STR("x"), STR("bad \xe2 x")), "application/octet-stream");
    CHECK_STR(mime_of(STR("x"), STR("bad \x80")), "application/octet-stream");
    CHECK_STR(mime_of(STR("x"), STR("a\0b")), "application/octet-stream");
    CHECK_STR(mime_of(STR("x"), STR("a\x7f")), "application/octet-stream");
}

TEST(what_is_compressed_already)
{
    static const char *const yes[] = {"x.png", "x.zip",  "x.docx", "x.odt",   "x.epub",
                                      "x.mp3", "x.webm", "x.gz",   "x.woff2", "x.whl"};
    static const char *const no[] = {"x.svg", "x.bmp", "x.wav",  "x.tar", "x.json",
                                     "x.bin", "x.ttf", "x.wasm", "x.ico"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
        if (!mime_is_packed(mime_of_name(str_of(yes[i]))))
            T_FAIL("%s is not packed", yes[i]);
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
        if (mime_is_packed(mime_of_name(str_of(no[i]))))
            T_FAIL("%s is packed", no[i]);
}

T_MAIN
