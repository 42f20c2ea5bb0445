/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/params.h"

#include "base/numbers.h"
#include "schemas/codec.h"

#include <stdio.h>
#include <strings.h>

static void refuse(struct http_exchange *exchange, const char *message)
{
    http_respond_error(exchange, 400, "BadRequest", "%s", message);
}

bool params_state(struct http_exchange *exchange, const char *text, enum order_state *ret_state)
{
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        if (strcasecmp(order_state_name((enum order_state)state), text) == 0) {
            *ret_state = (enum order_state)state;
            return true;
        }
    }
    refuse(exchange, "state: Pending, Processing, Processed, Compensating, Compensated and Error "
                     "are known");
    return false;
}

bool params_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                int64_t max, int64_t *ret_value)
{
    char message[128];
    const char *text = http_query(exchange, name);
    if (text == NULL)
        *ret_value = fallback;
    if (text == NULL || number_parse(text_of(text), min, max, ret_value))
        return true;
    snprintf(message, sizeof(message), "%s: expected a whole number from %lld to %lld", name,
             (long long)min, (long long)max);
    refuse(exchange, message);
    return false;
}

bool params_text(struct http_exchange *exchange, const char *name, uint32_t max,
                 struct text *ret_text)
{
    char message[128];
    *ret_text = text_of(http_query(exchange, name));
    if (ret_text->size <= max)
        return true;
    snprintf(message, sizeof(message), "%s: at most %u bytes", name, (unsigned)max);
    refuse(exchange, message);
    return false;
}

bool params_order_id(struct http_exchange *exchange, struct text *ret_order_id)
{
    struct error error;
    *ret_order_id = text_of(http_param(exchange, "id"));
    if (order_id_validate(*ret_order_id, &error) == ERROR_OK)
        return true;
    refuse(exchange, error.message);
    return false;
}
