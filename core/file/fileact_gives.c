/* SPDX-License-Identifier: MIT */
/* The members of each verb's result, as data for schemas (fileact.h). */
#include "file/fileact.h"

#define WARNINGS \
    { \
        .name = "warnings", .type = MEMBER_STRINGS, .optional = true, \
        .about = "Omitted entries, and other remarks" \
    }
#define PATH(sentence) \
    { \
        .name = "path", .type = MEMBER_PATH, .about = sentence \
    }
#define COUNT(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_INT, .about = sentence \
    }
#define MODE \
    { \
        .name = "mode", .type = MEMBER_STRING, .about = "Four octal digits" \
    }
#define FACTS \
    {.name = "type", \
     .type = MEMBER_STRING, \
     .choices = "file folder link pipe socket device", \
     .about = "Its kind"}, \
        COUNT("size", "Bytes"), MODE, \
        {.name = "mtime", \
         .type = MEMBER_NUMBER, \
         .about = "When it was changed, in seconds since 1970"}, \
    { \
        .name = "target", .type = MEMBER_PATH, .optional = true, \
        .about = "Of a link: where it leads" \
    }

const struct member fileact_gives_stat[] = {
    PATH("The absolute path"),
    FACTS,
    COUNT("uid", "The owner"),
    COUNT("gid", "The group"),
    {.name = "owner",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The owner's name"},
    {.name = "group",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The group's name"},
    {.name = "ctime",
     .type = MEMBER_NUMBER,
     .about = "When its mode, owner or content was changed, in seconds since 1970"},
    COUNT("links", "Names that the file has"),
    WARNINGS,
    {0}};

static const struct member entry[] = {PATH("Relative to the folder"), FACTS, {0}};

const struct member fileact_gives_list[] = {
    PATH("The folder, absolute"),
    {.name = "entries",
     .type = MEMBER_OBJECTS,
     .members = entry,
     .about = "Its entries, sorted by bytes"},
    {.name = "cursor",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "There is more: the argument of the next page"},
    WARNINGS,
    {0}};

const struct member fileact_gives_mkdir[] = {
    PATH("The folder, absolute"),
    {.name = "created", .type = MEMBER_BOOL, .about = "false: it was there"},
    WARNINGS,
    {0}};

#define FROM_TO \
    {.name = "from", .type = MEMBER_PATH, .about = "The former name, absolute"}, \
    { \
        .name = "to", .type = MEMBER_PATH, .about = "The new name, absolute" \
    }

const struct member fileact_gives_move[] = {FROM_TO, WARNINGS, {0}};

const struct member fileact_gives_copy[] = {FROM_TO,
                                            COUNT("copied", "Files, folders and links"),
                                            COUNT("bytes", "Bytes of files"),
                                            WARNINGS,
                                            {0}};

const struct member fileact_gives_remove[] = {PATH("The absolute path"),
                                              COUNT("removed",
                                                    "Files, folders and links"),
                                              WARNINGS,
                                              {0}};

const struct member fileact_gives_replace[] = {PATH("The absolute path"),
                                               COUNT("replaced", "How often the text "
                                                                 "was there"),
                                               WARNINGS,
                                               {0}};

const struct member fileact_gives_join[] = {
    {.name = "to", .type = MEMBER_PATH, .about = "The new file, absolute"},
    COUNT("size", "Its bytes"),
    COUNT("joined", "How many files it was made of"),
    WARNINGS,
    {0}};

const struct member fileact_gives_chmod[] = {PATH("The absolute path"),
                                             MODE,
                                             COUNT("changed", "Files and folders"),
                                             WARNINGS,
                                             {0}};

#define TO(sentence) \
    { \
        .name = "to", .type = MEMBER_PATH, .about = sentence \
    }

const struct member fileact_gives_archive[] = {
    TO("The archive, absolute"), COUNT("size", "Its bytes"), WARNINGS, {0}};

const struct member fileact_gives_extract[] = {TO("The folder, absolute"),
                                               COUNT("files", "Files and links"),
                                               COUNT("bytes", "Bytes of files"),
                                               WARNINGS,
                                               {0}};

const struct member fileact_gives_watch[] = {PATH("The absolute path"),
                                             {.name = "ended",
                                              .type = MEMBER_STRING,
                                              .choices = "removed moved",
                                              .about = "What became of it"},
                                             WARNINGS,
                                             {0}};

const struct member fileact_gives_change[] = {
    COUNT("watch", "The id of the action"),
    {.name = "kind",
     .type = MEMBER_STRING,
     .choices = "watching created removed modified written attributes moved_from "
                "moved_to overflow unwatched restarted",
     .about = "What changed"},
    PATH("Relative to the watched folder"),
    {.name = "folder", .type = MEMBER_BOOL, .optional = true, .about = "It is a folder"},
    {.name = "cookie",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The same in both events of one move"},
    {0}};

const struct member fileact_gives_receive[] = {
    PATH("The file, absolute"), COUNT("size", "Its bytes"), MODE, WARNINGS, {0}};

const struct member fileact_gives_received[] = {
    COUNT("size", "Bytes that have come, 0 if there are none"), WARNINGS, {0}};
