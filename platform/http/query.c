/* SPDX-License-Identifier: Apache-2.0 */
/* See query.h. */
#include "platform/http/query.h"

#include "base/numbers.h"
#include "base/rfc3339.h"
#include "platform/http/server.h"

#include <strings.h>

bool http_query_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                    int64_t max, int64_t *ret_value)
{
    int64_t value = fallback;
    const char *text = http_query(exchange, name);
    if (text != NULL && !number_parse(text_of(text), min, max, &value)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "%s: expected an integer from %lld to %lld", name, (long long)min,
                           (long long)max);
        return false;
    }
    *ret_value = value;
    return true;
}

bool http_query_time(struct http_exchange *exchange, const char *name, bool *ret_given,
                     int64_t *ret_time)
{
    int64_t time = 0;
    struct text text = text_of(http_query(exchange, name));
    if (!text_empty(text) && (!rfc3339_parse(text, &time) || time < 0)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "%s: expected a time from 1970 on, as 2010-12-01T08:26:00Z", name);
        return false;
    }
    *ret_given = !text_empty(text);
    *ret_time = time;
    return true;
}

bool http_query_text(struct http_exchange *exchange, const char *name, uint32_t max,
                     struct text *ret_text)
{
    struct text text = text_of(http_query(exchange, name));
    if (text.size > max) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s is %u bytes; the limit is %u", name,
                           text.size, max);
        return false;
    }
    *ret_text = text;
    return true;
}

bool http_query_enum(struct http_exchange *exchange, const char *name,
                     const struct enum_names *names, bool *ret_given, uint32_t *ret_value)
{
    char list[128];
    const char *text = http_query(exchange, name);
    *ret_given = text != NULL && text[0] != '\0';
    if (!*ret_given)
        return true;
    for (uint32_t value = 0; value < names->count; value++) {
        if (names->names[value] != NULL && strcasecmp(names->names[value], text) == 0) {
            *ret_value = value;
            return true;
        }
    }
    enum_names_list(names, list, sizeof(list));
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s: expected %s", name, list);
    return false;
}

bool http_query_wait(struct http_exchange *exchange, int64_t max_ms, int64_t *ret_wait_ms)
{
    int64_t wait_ms = 0;
    const char *text = http_query(exchange, "wait");
    if (text != NULL &&
        (!number_parse_duration(text_of(text), &wait_ms) || wait_ms < 0 || wait_ms > max_ms)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "wait: expected a time of up to %llds, as in 30s",
                           (long long)(max_ms / 1000));
        return false;
    }
    *ret_wait_ms = wait_ms;
    return true;
}
