/* SPDX-License-Identifier: MIT */
/*
 * Chromium's names of failures, put before our sentence, so that programs which read the
 * errors of a browser can read those of text mode.
 */
#include "webpage/webtext_own.h"

#include <errno.h>
#include <stdio.h>

enum { URL_SHOWN = 150, WHY_SHOWN = 280 };

int webtext_net_error(struct err *out, const char *name, const struct err *why,
                      const char *url)
{
    enum err_code code = why->code;
    char text[WHY_SHOWN + 1];
    snprintf(text, sizeof(text), "%.*s", WHY_SHOWN, why->text);
    return err_set(out, code, "Error: Page.goto: net::%s at %.*s: %s", name, URL_SHOWN,
                   url, text);
}

static const char *connect_name(int errnum, const struct err *e)
{
    switch (errnum) {
    case ECONNREFUSED:
        return "ERR_CONNECTION_REFUSED";
    case ECONNRESET:
        return "ERR_CONNECTION_RESET";
    case ETIMEDOUT:
        return "ERR_CONNECTION_TIMED_OUT";
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
        return "ERR_ADDRESS_UNREACHABLE";
    case ENETUNREACH:
    case ENETDOWN:
        return "ERR_INTERNET_DISCONNECTED";
    case EACCES:
    case EPERM:
        return "ERR_NETWORK_ACCESS_DENIED";
    default:
        return e->code == ERR_GONE ? "ERR_CONNECTION_REFUSED" : "ERR_CONNECTION_FAILED";
    }
}

static const char *greet_name(const struct dial *d, const struct err *e)
{
    switch (dial_fault(d)) {
    case TLS_FAULT_DATE:
        return "ERR_CERT_DATE_INVALID";
    case TLS_FAULT_AUTHORITY:
        return "ERR_CERT_AUTHORITY_INVALID";
    case TLS_FAULT_NAME:
        return "ERR_CERT_COMMON_NAME_INVALID";
    default:
        return e->code == ERR_IO ? "ERR_CONNECTION_CLOSED" : "ERR_SSL_PROTOCOL_ERROR";
    }
}

const char *webtext_dial_name(const struct dial *d, bool proxy, const struct err *e)
{
    if (e->code == ERR_TIMEOUT)
        return "ERR_CONNECTION_TIMED_OUT";
    switch (dial_step(d)) {
    case DIAL_RESOLVE:
        return e->code == ERR_DENIED ? "ERR_BLOCKED_BY_ADMINISTRATOR"
               : proxy               ? "ERR_PROXY_CONNECTION_FAILED"
                                     : "ERR_NAME_NOT_RESOLVED";
    case DIAL_CONNECT:
        return e->code == ERR_DENIED && !dial_errno(d) ? "ERR_BLOCKED_BY_ADMINISTRATOR"
               : proxy                                 ? "ERR_PROXY_CONNECTION_FAILED"
                                                       : connect_name(dial_errno(d), e);
    case DIAL_TUNNEL:
        return "ERR_TUNNEL_CONNECTION_FAILED";
    default:
        return greet_name(d, e);
    }
}

const char *webtext_answer_name(const struct err *e)
{
    switch (e->code) {
    case ERR_GONE:
        return "ERR_EMPTY_RESPONSE";
    case ERR_INVALID:
        return "ERR_INVALID_HTTP_RESPONSE";
    case ERR_TIMEOUT:
        return "ERR_TIMED_OUT";
    default:
        return "ERR_CONNECTION_CLOSED";
    }
}

const char *webtext_file_name(enum err_code code)
{
    return code == ERR_NOTFOUND ? "ERR_FILE_NOT_FOUND"
           : code == ERR_DENIED ? "ERR_ACCESS_DENIED"
                                : "ERR_FAILED";
}
