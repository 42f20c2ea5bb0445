/* SPDX-License-Identifier: Apache-2.0 */
/* Validates one submission, whether it came by Kafka or HTTP. No I/O: the outcome names what is not
 * known yet, and the caller validates again once it is.
 *
 * An accepted order leaves with its identity (the hash of the content as submitted) and its pinned
 * workflow version. A `Rejected` status may go to the reply topic of a refused one only if that is
 * trustworthy: it has our prefix and exists. */
#ifndef SERVICES_SUBMISSION_VALIDATE_H
#define SERVICES_SUBMISSION_VALIDATE_H

#include "kafka/topics/topics.h"
#include "replica/cluster/schema_registry.h"
#include "workflow/registry.h"

enum validation_outcome {
    VALIDATION_ACCEPT,
    VALIDATION_REFUSE,
    VALIDATION_WAIT_SCHEMAS,   /* an unknown fingerprint: read the schemas topic to its end */
    VALIDATION_WAIT_REGISTRY,  /* an unknown id of the schema registry, which is asked */
    VALIDATION_WAIT_WORKFLOWS, /* an unknown workflow: likewise */
    VALIDATION_WAIT_REPLY,     /* an unknown reply topic: read the list of topics */
    VALIDATION_OUTCOME_COUNT
};

/* What was read to its end since the submission came in. */
enum { FRESH_SCHEMAS = 1, FRESH_WORKFLOWS = 2, FRESH_TOPICS = 4 };

struct validator {
    struct codec *codec;
    struct schema_registry *registry; /* NULL: there is none */
    const struct topics *topics;
    const struct workflow_registry *workflows;
    bool (*topic_exists)(void *ctx, struct text topic); /* as of the last look */
    void *ctx;
};

/* A record of the submissions topic, or what was kept of a large one. */
struct submitted_record {
    struct text key;
    struct text value;       /* .data NULL: a tombstone */
    bool is_json;            /* by its headers (schemas/json/kafka_json.h) */
    struct text name;        /* of JSON: which record it is; empty: an order */
    struct text traceparent; /* of its headers; empty: none */
    uint32_t value_bytes;    /* before it was cut */
    uint32_t meta_bytes;     /* of the key and the headers, likewise */
    int64_t appended_at;     /* 0: unknown */
    /* Of a value that was cut: read from it before, not validated. */
    struct text order_id;
    struct text reply_to;
};

/* Texts borrow from the input or live in the arena. */
struct validation {
    enum validation_outcome outcome;
    struct command command; /* ACCEPT: what to append. REFUSE: as far as it could be read */
    struct error error;     /* REFUSE: why */
    struct text order_id;   /* empty: could not be read */
    struct text reply_to;   /* where a refusal may be reported; empty: nowhere */
};

void validate_record(const struct validator *validator, const struct submitted_record *record,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation);
/* An order or a cancellation that came by HTTP. */
void validate_order(const struct validator *validator, const struct order_details *details,
                    unsigned fresh, struct arena *arena, struct validation *ret_validation);
void validate_cancel(const struct validator *validator, const struct cancel_order *cancel,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation);
/* The same of a signal; for tests, as long as none comes by HTTP. */
void validate_signal(const struct validator *validator, const struct signal_order *signal,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation);

#endif
