/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/render/request_body.h"

#include "schemas/json/json_codec.h"

#include <assert.h>

enum error_class request_body_read(const struct http_exchange *exchange, json_t **ret_body,
                                   struct error *ret_error)
{
    const char *user = http_user(exchange);
    enum error_class class = json_codec_parse(http_body(exchange), ret_body, ret_error);
    if (class != ERROR_OK || user[0] == '\0')
        return class;
    int failed = json_object_set_new(*ret_body, "by", json_codec_text(text_of(user)));
    assert(!failed);
    return ERROR_OK;
}
