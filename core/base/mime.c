/* SPDX-License-Identifier: MIT */
/*
 * Two tables: extensions in alphabetical order, for a binary search, and beginnings of
 * files. The types are those of IANA's registry if it has one.
 */
#include "base/mime.h"

#include "base/utf8.h"

#include <stdlib.h>

enum { EXTENSION_MAX = 7 };

struct extension {
    char name[EXTENSION_MAX + 1];
    const char *type;
};

static const struct extension extensions[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"apk", "application/vnd.android.package-archive"},
    {"avif", "image/avif"},
    {"bash", "text/x-shellscript"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"br", "application/x-brotli"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cc", "text/x-c++"},
    {"conf", "text/plain"},
    {"cpp", "text/x-c++"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"deb", "application/vnd.debian.binary-package"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"go", "text/x-go"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ini", "text/plain"},
    {"ipynb", "application/x-ipynb+json"},
    {"jar", "application/java-archive"},
    {"java", "text/x-java"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"jxl", "image/jxl"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mkv", "video/matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"py", "text/x-python"},
    {"rar", "application/vnd.rar"},
    {"rpm", "application/x-rpm"},
    {"rs", "text/x-rust"},
    {"rtf", "application/rtf"},
    {"sh", "text/x-shellscript"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tex", "text/x-tex"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "text/x-typescript"},
    {"tsv", "text/tab-separated-values"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"whl", "application/zip"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

struct beginning {
    size_t at;
    struct str bytes;
    const char *type;
};

/* The most specific first: several types begin with RIFF or ftyp. */
static const struct beginning beginnings[] = {
    {0, {"\x89PNG\r\n\x1a\n", 8}, "image/png"},
    {0, {"\xff\xd8\xff", 3}, "image/jpeg"},
    {0, {"GIF87a", 6}, "image/gif"},
    {0, {"GIF89a", 6}, "image/gif"},
    {8, {"WEBPVP8", 7}, "image/webp"},
    {8, {"WAVEfmt ", 8}, "audio/wav"},
    {4, {"ftypavif", 8}, "image/avif"},
    {4, {"ftypqt  ", 8}, "video/quicktime"},
    {4, {"ftyp", 4}, "video/mp4"},
    {0, {"%PDF-", 5}, "application/pdf"},
    {0, {"PK\3\4", 4}, "application/zip"},
    {0, {"PK\5\6", 4}, "application/zip"},
    {0, {"\x1f\x8b\x08", 3}, "application/gzip"},
    {0, {"BZh", 3}, "application/x-bzip2"},
    {0,
     {"\xfd"
      "7zXZ\0",
      6},
     "application/x-xz"},
    {0, {"\x28\xb5\x2f\xfd", 4}, "application/zstd"},
    {0, {"7z\xbc\xaf\x27\x1c", 6}, "application/x-7z-compressed"},
    {0, {"Rar!\x1a\x07", 6}, "application/vnd.rar"},
    {257, {"ustar", 5}, "application/x-tar"},
    {0,
     {"\x7f"
      "ELF",
      4},
     "application/x-elf"},
    {0, {"\0asm", 4}, "application/wasm"},
    {0, {"OggS", 4}, "audio/ogg"},
    {0, {"fLaC", 4}, "audio/flac"},
    {0, {"ID3", 3}, "audio/mpeg"},
    {0, {"\x1a\x45\xdf\xa3", 4}, "video/matroska"},
    {0, {"SQLite format 3\0", 16}, "application/vnd.sqlite3"},
    {0, {"wOFF", 4}, "font/woff"},
    {0, {"wOF2", 4}, "font/woff2"},
    {0, {"<!DOCTYPE html", 14}, "text/html"},
    {0, {"<!doctype html", 14}, "text/html"},
    {0, {"<html", 5}, "text/html"},
    {0, {"<?xml", 5}, "application/xml"},
    {0, {"#!/", 3}, "text/x-shellscript"},
};

/* Compressed types, except those that begin with image/, audio/ or video/. */
static const char *const packed[] = {
    "application/gzip",
    "application/java-archive",
    "application/pdf",
    "application/vnd.android.package-archive",
    "application/vnd.apache.parquet",
    "application/vnd.debian.binary-package",
    "application/vnd.rar",
    "application/x-7z-compressed",
    "application/x-brotli",
    "application/x-bzip2",
    "application/x-rpm",
    "application/x-xz",
    "application/zip",
    "application/zstd",
    "font/woff",
    "font/woff2",
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct extension *)row)->name);
}

const char *mime_of_name(struct str name)
{
    size_t n = 0;
    while (n < name.n && n <= EXTENSION_MAX && name.p[name.n - 1 - n] != '.')
        n++;
    /* ".gz" alone is a hidden file's name. */
    if (n == 0 || n > EXTENSION_MAX || n + 1 >= name.n || name.p[name.n - n - 2] == '/')
        return NULL;
    char key[EXTENSION_MAX + 1] = "";
    for (size_t i = 0; i < n; i++) {
        char c = name.p[name.n - n + i];
        if (!c)
            return NULL;
        key[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    const struct extension *e = bsearch(key, extensions,
                                        sizeof(extensions) / sizeof(*extensions),
                                        sizeof(*extensions), by_name);
    return e ? e->type : NULL;
}

static bool is_text(struct str head)
{
    for (size_t i = 0; i < head.n; i++) {
        unsigned char c = (unsigned char)head.p[i];
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b) ||
            c == 0x7f)
            return false;
    }
    /* The end of the head may cut a character: that does not count as invalid. */
    return utf8_valid(str_sub(head, 0, utf8_cut(head, head.n)));
}

const char *mime_of(struct str name, struct str head)
{
    const char *type = mime_of_name(name);
    if (type)
        return type;
    head = str_sub(head, 0, MIME_HEAD);
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        const struct beginning *b = &beginnings[i];
        if (str_eq(str_sub(head, b->at, b->bytes.n), b->bytes))
            return b->type;
    }
    return is_text(head) ? "text/plain" : "application/octet-stream";
}

static bool is_image_that_is_plain(const char *type)
{
    return strcmp(type, "image/svg+xml") == 0 || strcmp(type, "image/bmp") == 0 ||
           strcmp(type, "image/tiff") == 0 ||
           strcmp(type, "image/vnd.microsoft.icon") == 0 ||
           strcmp(type, "audio/wav") == 0;
}

bool mime_is_packed(const char *type)
{
    struct str t = str_of(type);
    if (str_starts(t, STR("image/")) || str_starts(t, STR("audio/")) ||
        str_starts(t, STR("video/")))
        return !is_image_that_is_plain(type);
    /* Zip files with media types of their own: office documents, books. */
    if (str_starts(t, STR("application/vnd.openxmlformats-")) ||
        str_starts(t, STR("application/vnd.oasis.")) || str_ends(t, STR("+zip")))
        return true;
    for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++) {
        if (strcmp(type, packed[i]) == 0)
            return true;
    }
    return false;
}
