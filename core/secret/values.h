/* SPDX-License-Identifier: MIT */
/*
 * The secrets of a fence (fence/rules.h), before there is a keeper: their values are
 * read, and programs get placeholders instead.
 */
#ifndef OD_SECRET_VALUES_H
#define OD_SECRET_VALUES_H

#include "base/err.h"
#include "base/json.h"

/*
 * Takes the secrets that rules, an array that fence_parse made, name. For each it reads
 * the value, of the file or of the variable in our environment, and sets the variable to
 * a placeholder. Makes an authority, whose certificate goes with those that are trusted
 * here into folder/bundle.pem (for Java bundle.jks), and sets the variables by which
 * programs find that; folder exists. OD_FENCE_AUTHORITY gets the hash of its key, which a
 * Chromium takes (issuer_key_hash). Adds a rule "hide" for each file that has a value.
 *
 * config gets what the proxy needs (secret/proxy.h), which no program may see:
 *
 *   secrets  [{"name", "value", "placeholder": strings, "bodies": bool}]
 *   ca       {"cert", "key": PEM}
 *   trust    {"SSL_CERT_FILE", "SSL_CERT_DIR": as they were}
 *
 * Returns 0, also without secrets, which changes nothing; or -1 and sets *e, which names
 * the rule: NOTFOUND, there is no value; INVALID, it cannot be one; or the system's.
 */
int secret_values(struct json *rules, const char *folder, struct json *config,
                  struct err *e);

#endif
