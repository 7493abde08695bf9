/* SPDX-License-Identifier: MIT */
/* Members of the observations of kernel.c and the events of cell.c, for schemas. */
#include "action/kernel_gives.h"

#include "kernel/cell_rich.h"
#include "kernel/kernel.h"

static const struct member extras_cell[] = {
    {.name = "end",
     .type = MEMBER_STRING,
     .choices = "ok error timeout died failed",
     .about = "How it ended"},
    {.name = "kernel", .type = MEMBER_STRING, .about = "The kernel's name"},
    {.name = "count",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The number that the kernel gave it"},
    {.name = "duration_ms", .type = MEMBER_INT, .about = "How long it ran"},
    {.name = "why", .type = MEMBER_STRING, .optional = true, .about = "The error"},
    {.name = "ename",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The class of the error that the cell raised"},
    {.name = "evalue",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The message of that error"},
    {.name = "leaves",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "Whether the kernel ended with it: " KERNEL_LEFT},
    {.name = "renewed",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "Whether it ran in " KERNEL_NEW},
    {.name = "lost",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Bytes of its text that content lacks"},
    {.name = "images",
     .type = MEMBER_STRINGS,
     .about = "Pictures as data URLs; empty with rich, because outputs has them"},
    {.name = "images_lost",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Pictures that there was no room for"},
    {.name = "outputs",
     .type = MEMBER_OBJECTS,
     .optional = true,
     .members = cell_rich_members,
     .about = "With rich: each output of the cell in all its types, 640 KiB of JSON at "
              "most. The text of a stream ends after 128 KiB. An output that has no room "
              "is listed without data"},
    {.name = "outputs_lost",
     .type = MEMBER_INT,
     .optional = true,
     .about = "How many outputs are missing: all after the first 500, and those that "
              "had no room"},
    {0}};

static const struct member extras_output[] = {
    {.name = "id", .type = MEMBER_INT, .about = "The id of the action"},
    {.name = "from", .type = MEMBER_INT, .about = "Where it begins in the cell's text"},
    {.name = "to", .type = MEMBER_INT, .about = "Where it ends there"},
    {.name = "mime",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Of a picture, which has no text: its type"},
    {.name = "data",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Its bytes as base64"},
    {0}};

static const struct member extras_input[] = {
    {.name = "id", .type = MEMBER_INT, .about = "The id of the action"},
    {.name = "password",
     .type = MEMBER_BOOL,
     .about = "Whether the answer is to be hidden"},
    {0}};

const struct observation kernel_gives_cell[] = {
    {.name = "cell", .extras = extras_cell},
    {.name = "cell_output",
     .notice = true,
     .causeless = true,
     .extras = extras_output,
     .about = "What a cell or run_ipython prints, while it runs"},
    {.name = "cell_input",
     .notice = true,
     .causeless = true,
     .extras = extras_input,
     .about = "A question of the cell, which the action input answers"},
    {0}};

/* Replies of Jupyter messaging; kernels add members of their own. */
#define REPLY \
    { \
        .name = "status", .type = MEMBER_STRING, .choices = "ok", \
        .about = "Always ok; an error has the observation error" \
    }

static const struct member extras_complete[] = {
    REPLY,
    {.name = "matches", .type = MEMBER_STRINGS, .about = "The possible completions"},
    {.name = "cursor_start",
     .type = MEMBER_INT,
     .about = "The first character that a match replaces"},
    {.name = "cursor_end", .type = MEMBER_INT, .about = "The character after the last"},
    {.name = "metadata",
     .type = MEMBER_OBJECT,
     .optional = true,
     .about = "The kernel's own"},
    {0}};

static const struct member extras_inspect[] = {
    REPLY,
    {.name = "found", .type = MEMBER_BOOL, .about = "Whether the name is known"},
    {.name = "data", .type = MEMBER_OBJECT, .about = "Texts by their media types"},
    {.name = "metadata",
     .type = MEMBER_OBJECT,
     .optional = true,
     .about = "The kernel's own"},
    {0}};

const struct observation kernel_gives_complete[] = {
    {.name = "complete", .extras = extras_complete}, {0}};
const struct observation kernel_gives_inspect[] = {
    {.name = "inspect", .extras = extras_inspect}, {0}};
const struct observation kernel_gives_kernels[] = {
    {.name = "kernels", .extras = kernel_overview_members}, {0}};
