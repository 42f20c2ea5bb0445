/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses heads that are too large, and those that a proxy in front of the server could read in
 * another way than the server does. If the two disagree about where a request ends, a client can
 * hide a second request in the first (request smuggling); if they disagree about which of two
 * headers counts, it can pass for another user. libmicrohttpd takes the first of two headers,
 * ignores one whose name ends with a blank, and takes Transfer-Encoding before Content-Length.
 *
 * libmicrohttpd 1.0 refuses folded lines and NULs itself. 0.9 does not, and gives no access to the
 * head as it was sent: it appends what a folded line holds to the name of the header before, cuts a
 * line at a NUL, and takes a line that begins with one for the end of the head. What follows is
 * refused where it shows (check_header), and cannot reach a second request where the body has
 * chunks (http_framing_closes). */
#include "platform/http/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static void refuse(struct http_exchange *exchange, int status, enum error_code code,
                   const char *message)
{
    exchange->refusal = (struct http_refusal){status, code, message};
    exchange->closes = true;
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (!isalnum(byte) && strchr("!#$%&'*+-.^_`|~", byte) == NULL)
            return false;
    }
    return size > 0;
}

static bool is_value(const char *text)
{
    for (; *text != '\0'; text++) {
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return false;
    }
    return true;
}

/* As of "Transfer-Encoding:" and a folded line "chunked". */
static bool is_folded_length(const char *name)
{
    static const char *const names[] = {"Content-Length", "Transfer-Encoding"};
    bool folded = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !folded; i++)
        folded =
            strncasecmp(name, names[i], strlen(names[i])) == 0 && strlen(name) > strlen(names[i]);
    return folded;
}

static bool may_repeat(const struct http_exchange *exchange, const char *name)
{
    static const char *const single[] = {"Host",   "Content-Length",    "Transfer-Encoding",
                                         "Origin", "Content-Type",      "Authorization",
                                         "Expect", "X-Forwarded-Proto", "Sec-Fetch-Site"};
    const struct http_access *access = exchange->server->access;
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        if (strcasecmp(name, single[i]) == 0)
            return false;
    }
    return access == NULL || strcasecmp(name, access->options.user_header) != 0;
}

/* Of the headers before number `end`. */
static bool was_sent(const struct http_exchange *exchange, size_t end, const char *name)
{
    for (size_t i = 0; i < end; i++) {
        const struct http_pair *pair = &exchange->pairs[i];
        if (pair->kind == MHD_HEADER_KIND && strcasecmp(pair->name, name) == 0)
            return true;
    }
    return false;
}

static void check_header(struct http_exchange *exchange, size_t number)
{
    const struct http_pair *pair = &exchange->pairs[number];
    if (!is_name(pair->name) || !is_value(pair->value) || is_folded_length(pair->name))
        refuse(exchange, 400, CODE_BAD_HEADER, "a header has a malformed name or value");
    else if (!may_repeat(exchange, pair->name) && was_sent(exchange, number, pair->name))
        refuse(exchange, 400, CODE_REPEATED_HEADER,
               "a header about who asks, or about the body, was sent more than once");
}

static void check_size(struct http_exchange *exchange)
{
    size_t target = strlen(exchange->raw_path);
    size_t fields = 0;
    size_t count = 0;
    for (size_t i = 0; i < exchange->pair_count; i++) {
        const struct http_pair *pair = &exchange->pairs[i];
        if (pair->kind == MHD_HEADER_KIND) {
            fields += strlen(pair->name) + strlen(": \r\n") + strlen(pair->value);
            count++;
        }
    }
    target += exchange->query_size;
    if (target > HTTP_TARGET_MAX)
        refuse(exchange, 414, CODE_TOO_LONG, "path and query are longer than 12288 bytes");
    else if (fields > HTTP_FIELDS_SIZE_MAX || count > HTTP_FIELDS_MAX)
        refuse(exchange, 431, CODE_HEADERS_TOO_LARGE,
               "there are more than 100 headers, or more than 12288 bytes of them");
}
_Static_assert(HTTP_TARGET_MAX == 12288 && HTTP_FIELDS_SIZE_MAX == 12288 && HTTP_FIELDS_MAX == 100,
               "as in the messages");

static void check_body(struct http_exchange *exchange)
{
    const char *coding = http_header(exchange, "Transfer-Encoding");
    if (coding == NULL)
        return;
    if (http_header(exchange, "Content-Length") != NULL)
        refuse(exchange, 400, CODE_AMBIGUOUS_BODY,
               "Content-Length and Transfer-Encoding exclude each other");
    else if (strcasecmp(coding, "chunked") != 0)
        refuse(exchange, 501, CODE_NOT_IMPLEMENTED, "the only Transfer-Encoding is chunked");
}

bool http_framing_closes(const struct http_exchange *exchange)
{
    return exchange->closes || http_header(exchange, "Transfer-Encoding") != NULL;
}

void http_framing_check(struct http_exchange *exchange)
{
    check_size(exchange);
    for (size_t i = 0; i < exchange->pair_count && !exchange->closes; i++) {
        if (exchange->pairs[i].kind == MHD_HEADER_KIND)
            check_header(exchange, i);
    }
    if (!exchange->closes)
        check_body(exchange);
}
