/* SPDX-License-Identifier: MIT */
/* UUIDs (RFC 9562 4) and times (RFC 3339 5.6) as text. */
#include "front/model/own.h"

#include <string.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool model_uuid(struct str s, char hex[33])
{
    size_t n = 0;
    if (str_starts(s, STR("urn:uuid:")))
        s = str_sub(s, 9, s.n);
    else if (s.n == 38 && s.p[0] == '{' && s.p[37] == '}')
        s = str_sub(s, 1, 36);
    bool hyphens = s.n == 36;
    if (s.n != 32 && !hyphens)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (hyphens && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (s.p[i] != '-')
                return false;
            continue;
        }
        int d = hex_digit(s.p[i]);
        if (d < 0)
            return false;
        hex[n++] = "0123456789abcdef"[d];
    }
    hex[n] = 0;
    return true;
}

/* Cuts n digits off. Returns -1 if there are fewer. */
static int digits(struct str *s, size_t n)
{
    int v = 0;
    if (s->n < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return -1;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_sub(*s, n, s->n);
    return v;
}

static bool cut_char(struct str *s, const char *any)
{
    if (s->n == 0 || s->p[0] == 0 || !strchr(any, s->p[0]))
        return false;
    *s = str_sub(*s, 1, s->n);
    return true;
}

/* Returns the days from 1970-01-01 to the date, in the Gregorian calendar. */
static int64_t days_of(int y, int m, int d)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t year = y - (m <= 2);
    int64_t leaps = year / 4 - year / 100 + year / 400;
    return (int64_t)(y - 1970) * 365 + before[m - 1] + d - 1 + leaps - 477;
}

static int days_in(int y, int m)
{
    static const int n[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return n[m - 1] + (m == 2 && leap);
}

/*
 * Cuts .ffffff off and returns the microseconds; more digits are dropped. Returns -1 if
 * there are no digits.
 */
static int64_t fraction(struct str *s)
{
    int64_t us = 0, unit = 100000;
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
        us += unit * (s->p[n] - '0');
        unit /= 10;
        n++;
    }
    *s = str_sub(*s, n, s->n);
    return n > 0 ? us : -1;
}

static const char *read_zone(struct str *s, int64_t *us)
{
    if (s->n == 0 || cut_char(s, "Zz"))
        return s->n == 0 ? NULL : "unexpected extra characters at the end of the input";
    int sign = s->p[0] == '-' ? -1 : 1;
    if (!cut_char(s, "+-"))
        return "invalid timezone sign";
    int h = digits(s, 2);
    cut_char(s, ":");
    int m = digits(s, 2);
    if (h < 0 || m < 0 || m > 59 || h > 23)
        return "invalid timezone offset";
    *us -= (int64_t)sign * (h * 60 + m) * 60 * 1000000;
    return s->n == 0 ? NULL : "unexpected extra characters at the end of the input";
}

static const char *read_clock(struct str *s, int64_t *us)
{
    int h = digits(s, 2);
    if (h < 0 || h > 23)
        return "hour value is outside expected range of 0-23";
    if (!cut_char(s, ":"))
        return "invalid time separator, expected `:`";
    int m = digits(s, 2), sec = 0;
    if (m < 0 || m > 59)
        return "minute value is outside expected range of 0-59";
    int64_t part = 0;
    if (cut_char(s, ":")) {
        sec = digits(s, 2);
        if (sec < 0 || sec > 59)
            return "second value is outside expected range of 0-59";
        if (cut_char(s, ".,") && (part = fraction(s)) < 0)
            return "second fraction is missing";
    }
    *us += ((int64_t)(h * 60 + m) * 60 + sec) * 1000000 + part;
    return read_zone(s, us);
}

const char *model_time(struct str s, int64_t *us)
{
    if (s.n < 10)
        return "input is too short";
    int y = digits(&s, 4), m = -1, d = -1;
    if (y >= 0 && cut_char(&s, "-"))
        m = digits(&s, 2);
    if (m >= 0 && cut_char(&s, "-"))
        d = digits(&s, 2);
    if (d < 0)
        return "invalid character in year, month or day";
    if (y < 1 || m < 1 || m > 12)
        return "month value is outside expected range of 1-12";
    if (d < 1 || d > days_in(y, m))
        return "day value is outside expected range";
    *us = days_of(y, m, d) * 86400 * 1000000;
    if (s.n == 0)
        return NULL;
    if (!cut_char(&s, "Tt _"))
        return "invalid datetime separator, expected `T`, `t`, `_` or space";
    return read_clock(&s, us);
}
