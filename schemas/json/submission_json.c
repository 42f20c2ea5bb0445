/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions from JSON. See submission_json.h. */
#include "schemas/json/submission_json.h"

#include "schemas/json/json_codec.h"

enum error_class submission_json_read(struct text json, struct arena *arena,
                                      struct order_details *ret_details, struct error *ret_error)
{
    /* Not content_hash, which is computed, and submitted_by, which the front door sets. */
    static const char *const fields[] = {
        "order_id", "customer", "currency",         "lines",       "attributes", "priority",
        "reply_to", "workflow", "workflow_version", "traceparent", "input",      NULL,
    };
    struct json_value order;
    enum error_class class = json_codec_parse(json, "order", arena, &order, ret_error);
    return class != ERROR_OK
               ? class
               : json_codec_decode(&binding_order_details, fields, JSON_CODEC_ANY_SIZE, order,
                                   arena, ret_details, ret_error);
}
