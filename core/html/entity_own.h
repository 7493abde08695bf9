/* SPDX-License-Identifier: MIT */
/* The names of entity.c, which alone includes this: entity_tables.c has them. */
#ifndef OD_HTML_ENTITY_OWN_H
#define OD_HTML_ENTITY_OWN_H

/*
 * The named character references of HTML (HTML standard, 13.5), by their first letter,
 * A to Z and a to z, each letter's with a 0 at the end: the rest of the name, `!` if the
 * semicolon after it may be missing, else a blank, the text, and a byte of 1.
 */
extern const char html_entity_names[];

#endif
