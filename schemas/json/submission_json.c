/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions from JSON. See submission_json.h. */
#include "schemas/json/submission_json.h"

#include "schemas/json/json_codec.h"

enum error_class submission_json_read_value(const json_t *value, struct arena *arena,
                                            struct order_details *ret_details,
                                            struct error *ret_error)
{
    /* Not content_hash, which is computed, and submitted_by, which the front door sets. */
    static const char *const fields[] = {
        "order_id", "customer", "currency",         "lines",       "attributes", "priority",
        "reply_to", "workflow", "workflow_version", "traceparent", NULL,
    };
    return json_codec_decode(&binding_order_details, fields, JSON_CODEC_ANY_SIZE, value, arena,
                             ret_details, ret_error);
}

enum error_class submission_json_read(struct text json, struct arena *arena,
                                      struct order_details *ret_details, struct error *ret_error)
{
    json_t *object = NULL;
    enum error_class class = json_codec_parse(json, &object, ret_error);
    if (class == ERROR_OK)
        class = submission_json_read_value(object, arena, ret_details, ret_error);
    json_decref(object);
    return class;
}
