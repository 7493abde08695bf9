/* SPDX-License-Identifier: MIT */
/* Parameters and results of the verbs, for checks, schemas and help. */
#include "checkpoint/own.h"

#define FROM \
    { \
        .name = "from_dir", .type = PARAM_STRING, \
        .about = "An absolute path that takes the place of the session's directory" \
    }

static const struct param checkpoint_params[] = {
    {.name = "dir",
     .type = PARAM_PATH,
     .about = "The folder; if it is not given, those of --checkpoint-dir, or the "
              "session's directory"},
    {.name = "label", .type = PARAM_STRING, .about = "A text to find it by"},
    {.name = "pin",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether it stays when the store is over its budget"},
    FROM,
    {.name = "id",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "A checkpoint that gets this label or pin, instead of a new one"},
    {0}};

const struct param_list checkpoint_takes_checkpoint = {
    .about = "Keeps what all files of a folder are, so that they can be taken back",
    .params = checkpoint_params,
    .example = "{\"label\": \"before the upgrade\"}"};

static const struct param checkpoints_params[] = {
    {.name = "limit",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .max = 1000,
     .dflt = "100",
     .about = "How many, the newest first"},
    {.name = "id",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "Only this one, and the files that are not whole in it"},
    {0}};

const struct param_list checkpoint_takes_checkpoints = {
    .about = "Lists the checkpoints", .params = checkpoints_params, .example = "{}"};

#define PATHS \
    {.name = "paths", \
     .type = PARAM_STRINGS, \
     .about = "Only these files and folders; if it is not given, everything"}, \
    { \
        .name = "paths_base64", .type = PARAM_STRINGS, \
        .about = "The same for names that are not text: their bytes as base64" \
    }
#define LINES \
    { \
        .name = "limit", .type = PARAM_INT, .ranged = true, .min = 1, \
        .max = CHECKPOINT_LINES_MAX, .dflt = "200", \
        .about = "Changes in the answer; `more` is how many there are beyond it" \
    }
#define DIFF \
    { \
        .name = "diff", .type = PARAM_BOOL, .dflt = "false", \
        .about = "Whether to give the changes of texts, line by line" \
    }

static const struct param changes_params[] = {
    {.name = "from",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "The checkpoint; if it is not given, the newest one of the folder"},
    {.name = "to",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "A later checkpoint; if it is not given, the files as they are"},
    {.name = "dir",
     .type = PARAM_PATH,
     .about = "Without from: the folder, as for checkpoint"},
    PATHS,
    DIFF,
    {.name = "each",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether to list what is in added and removed folders, too"},
    LINES,
    FROM,
    {0}};

const struct param_list checkpoint_takes_changes = {
    .about = "Lists what differs from a checkpoint",
    .params = changes_params,
    .example = "{\"from\": 3, \"diff\": true}"};

static const struct param rollback_params[] = {
    {.name = "to",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "The checkpoint"},
    PATHS,
    {.name = "dry_run",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether to say only what would change"},
    DIFF,
    LINES,
    {.name = "unfinished",
     .type = PARAM_STRING,
     .choices = "finish back",
     .about = "Instead of to: does the rest of a rollback that was killed, or takes back "
              "what it did"},
    FROM,
    {0}};

const struct param_list checkpoint_takes_rollback = {
    .about = "Makes files what they were in a checkpoint. A checkpoint of what they are "
             "is made first, so that this can be taken back, too",
    .params = rollback_params,
    .rule = "{\"oneOf\":[{\"required\":[\"to\"],"
            "\"properties\":{\"to\":{\"type\":\"integer\"}}},"
            "{\"required\":[\"unfinished\"],"
            "\"properties\":{\"unfinished\":{\"type\":\"string\"}}}]}",
    .example = "{\"to\": 3, \"dry_run\": true}"};

static const struct param drop_params[] = {
    {.name = "ids", .type = PARAM_INTS, .required = true, .about = "The checkpoints"},
    {0}};

const struct param_list checkpoint_takes_checkpoint_drop = {
    .about = "Removes checkpoints, and what only they kept",
    .params = drop_params,
    .example = "{\"ids\": [1]}"};

static const struct param import_params[] = {
    {.name = "tree",
     .type = PARAM_STRING,
     .required = true,
     .about = "The name of its tree, whose contents have been sent"},
    {.name = "dirs_base64",
     .type = PARAM_STRINGS,
     .required = true,
     .about = "Its folders: the bytes of absolute paths, as base64"},
    {.name = "label", .type = PARAM_STRING, .about = "A text to find it by"},
    {.name = "pin",
     .type = PARAM_BOOL,
     .dflt = "false",
     .about = "Whether it stays when the store is over its budget"},
    {0}};

const struct param_list checkpoint_takes_checkpoint_import = {
    .about = "Makes a checkpoint of contents that another server has sent, all of which "
             "must be there",
    .params = import_params,
    .example = "{\"tree\": \"1…\", \"dirs_base64\": [\"L3dvcms=\"]}"};

/* ---- what they give ---- */

static const struct member gap_members[] = {
    {.name = "path", .type = MEMBER_PATH, .about = "The file"},
    {.name = "why", .type = MEMBER_STRING, .about = "Why it is not kept, or not whole"},
    {0}};

#define GAPS(member) \
    { \
        .name = member, .type = MEMBER_OBJECTS, .optional = true, \
        .members = gap_members, \
        .about = "Files that are not kept, or not whole; the first 100" \
    }

#define RECORD \
    {.name = "id", .type = MEMBER_INT, .about = "Its number"}, \
        {.name = "time", .type = MEMBER_STRING, .about = "When it was made"}, \
        {.name = "dirs", .type = MEMBER_STRINGS, .about = "The folders"}, \
        {.name = "label", .type = MEMBER_STRING, .about = "A text to find it by"}, \
        {.name = "pinned", \
         .type = MEMBER_BOOL, \
         .about = "Whether it stays when the store is over its budget"}, \
        {.name = "why", \
         .type = MEMBER_STRING, \
         .choices = "request turn each risky rollback import", \
         .about = "What it was made for"}, \
        {.name = "action", \
         .type = MEMBER_INT, \
         .about = "The action that it was made before; 0: none"}, \
        {.name = "uid", .type = MEMBER_INT, .about = "The user who may use it"}, \
        {.name = "files", .type = MEMBER_INT, .about = "Files in it"}, \
        {.name = "folders", .type = MEMBER_INT, .about = "Folders in it"}, \
        {.name = "others", .type = MEMBER_INT, .about = "Links, FIFOs and the like"}, \
        {.name = "bytes", .type = MEMBER_INT, .about = "Bytes of its files"}, \
        {.name = "read", .type = MEMBER_INT, .about = "Files that had to be read"}, \
        {.name = "added", .type = MEMBER_INT, .about = "Bytes that the store grew by"}, \
        {.name = "gaps", \
         .type = MEMBER_INT, \
         .about = "Files that are not kept, or not whole"}, \
    { \
        .name = "exclude", .type = MEMBER_STRINGS, .optional = true, \
        .about = "Patterns of files that were left out" \
    }

static const struct member record_members[] = {RECORD, {0}};

const struct member checkpoint_gives_checkpoint[] = {
    RECORD,
    {.name = "same",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "Nothing has changed since this one, and no other was made"},
    {.name = "store",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Bytes of all checkpoints together"},
    GAPS("gap_list"),
    {.name = "dropped",
     .type = MEMBER_ANY,
     .optional = true,
     .about = "Checkpoints that were removed to keep the budget"},
    {.name = "trouble",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Why no room could be made"},
    {.name = "ms",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Milliseconds that it took"},
    {0}};

const struct member checkpoint_gives_checkpoints[] = {
    {.name = "checkpoints",
     .type = MEMBER_OBJECTS,
     .members = record_members,
     .about = "The newest first"},
    {.name = "store", .type = MEMBER_INT, .about = "Bytes of all of them together"},
    GAPS("gap_list"),
    {.name = "unfinished",
     .type = MEMBER_OBJECT,
     .optional = true,
     .about = "A rollback that was killed"},
    {0}};

static const struct member change_members[] = {
    {.name = "path", .type = MEMBER_PATH, .about = "Where"},
    {.name = "change",
     .type = MEMBER_STRING,
     .choices = "added removed changed",
     .about = "What happened"},
    {.name = "kind", .type = MEMBER_STRING, .about = "file, folder, link …"},
    {.name = "what",
     .type = MEMBER_STRINGS,
     .optional = true,
     .about = "Of changed: type, content, mode, owner, time, attributes, links"},
    {.name = "files",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Of a folder: all files in it, which are not listed"},
    {.name = "size_before",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Bytes before"},
    {.name = "size", .type = MEMBER_INT, .optional = true, .about = "Bytes after"},
    {.name = "diff", .type = MEMBER_STRING, .optional = true, .about = "The lines"},
    {.name = "gap",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Why it is not kept, or not whole"},
    {0}};

#define CHANGES(about_to) \
    {.name = "to", .type = MEMBER_INT, .optional = true, .about = about_to}, \
        {.name = "changes", \
         .type = MEMBER_OBJECTS, \
         .members = change_members, \
         .about = "In the order of their paths"}, \
        {.name = "added", .type = MEMBER_INT, .about = "How many were added"}, \
        {.name = "removed", .type = MEMBER_INT, .about = "How many were removed"}, \
        {.name = "changed", .type = MEMBER_INT, .about = "How many were changed"}, \
    { \
        .name = "more", .type = MEMBER_INT, .about = "Changes beyond the limit" \
    }

const struct member checkpoint_gives_changes[] = {
    {.name = "from", .type = MEMBER_INT, .about = "The checkpoint"},
    CHANGES("The later one; missing: the files as they are"),
    GAPS("gaps"),
    {0}};

static const struct member held_members[] = {
    {.name = "pid", .type = MEMBER_INT, .about = "The process"},
    {.name = "program", .type = MEMBER_STRING, .about = "Its name"},
    {.name = "path", .type = MEMBER_PATH, .about = "The file, or the folder it is in"},
    {0}};

const struct member checkpoint_gives_rollback[] = {
    CHANGES("The checkpoint"),
    {.name = "dry_run", .type = MEMBER_BOOL, .about = "Nothing was done"},
    {.name = "safety",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The checkpoint of the files as they were before"},
    {.name = "failed",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Files that could not be made what they were, or were left alone"},
    {.name = "problems",
     .type = MEMBER_OBJECTS,
     .members = gap_members,
     .about = "The first 100 of them"},
    {.name = "held",
     .type = MEMBER_OBJECTS,
     .optional = true,
     .members = held_members,
     .about =
         "Programs that still have a replaced file open, or are in a removed folder"},
    GAPS("gaps"),
    {0}};

const struct member checkpoint_gives_checkpoint_drop[] = {
    {.name = "dropped", .type = MEMBER_ANY, .about = "Their numbers"},
    {.name = "store",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Bytes that are left"},
    {.name = "trouble",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Why no room could be made"},
    {0}};
