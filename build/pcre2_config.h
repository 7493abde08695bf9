/* SPDX-License-Identifier: MIT */
/*
 * What we compile of pcre2: bytes and UTF-8, no just-in-time compiler. That is as
 * large as all the rest and wants memory that is writable and executable, and
 * most lines never come here: text/automaton.h has looked at them before.
 */
#define SUPPORT_UNICODE 1
#define PCRE2_CODE_UNIT_WIDTH 8
#define PCRE2_EXPORT
#define PCRE2_STATIC 1
#define HAVE_ATTRIBUTE_UNINITIALIZED 1
#define HAVE_BUILTIN_ASSUME 0
#define HAVE_BUILTIN_MUL_OVERFLOW 1
#define HAVE_BUILTIN_UNREACHABLE 1
#define HAVE_INTTYPES_H 1
#define HAVE_MEMMOVE 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRERROR 1
#define HAVE_STRING_H 1
#define LINK_SIZE 2
#define MATCH_LIMIT 10000000
#define MATCH_LIMIT_DEPTH MATCH_LIMIT
#define HEAP_LIMIT 20000000
#define MAX_NAME_COUNT 10000
#define MAX_NAME_SIZE 128
#define MAX_VARLOOKBEHIND 255
#define NEWLINE_DEFAULT 2
#define PARENS_NEST_LIMIT 100
