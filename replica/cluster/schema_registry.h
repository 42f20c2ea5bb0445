/* SPDX-License-Identifier: Apache-2.0 */
/* A schema registry (schema.registry.url), for records of applications in Confluent's framing
 * (schemas/avro/registered.h): it names the schemas of what they send, and gives ids to those of
 * what they get.
 *
 *     GET  URL/schemas/ids/ID                    {"schema": TEXT}
 *     POST URL/subjects/reeve.KIND/versions      {"schema": TEXT} -> {"id": ID}
 *
 * Nothing here blocks: what is not known is asked for, and the record that needs it waits. A
 * registry that does not answer, or answers something else, decides nothing: it is asked again, and
 * schema_registry_trouble() says why. At most SCHEMA_REGISTRY_CALLS_MAX calls are under way. */
#ifndef REPLICA_CLUSTER_SCHEMA_REGISTRY_H
#define REPLICA_CLUSTER_SCHEMA_REGISTRY_H

#include "platform/config/config.h"
#include "platform/loop.h"
#include "platform/metrics.h"
#include "schemas/avro/registered.h"

enum { SCHEMA_REGISTRY_CALLS_MAX = 4 };

struct schema_registry;

/* New; *ret_registry is NULL if schema.registry.url is empty. `codec` is borrowed: it learns the
 * schemas. REJECT "Config". */
enum error_class schema_registry_new(struct loop *loop, const struct config *config,
                                     struct codec *codec, struct metrics *metrics,
                                     struct schema_registry **ret_registry,
                                     struct error *ret_error);
/* NULL does nothing. */
void schema_registry_free(struct schema_registry *registry);
/* Calls `changed` from the loop after every answer, and when there was none: what waits may look
 * again. */
void schema_registry_on_change(struct schema_registry *registry, void (*changed)(void *ctx),
                               void *ctx);
/* True, with a reason for operators: records wait for a registry that does not answer. NULL:
 * false. */
bool schema_registry_trouble(const struct schema_registry *registry, char *ret_reason,
                             size_t reason_size);

/* ---- reading ---- */

/* codec_decode() of a record of an application, in either framing. Without a registry (NULL),
 * Confluent's is REJECT "UnknownSchema". RETRY "NoAnswer": the record has to wait while
 * schema_registry_waits(). */
enum error_class schema_registry_decode(struct schema_registry *registry, struct codec *codec,
                                        struct text bytes, bool borrow, struct arena *arena,
                                        struct record *ret_record, struct error *ret_error);
bool schema_registry_waits(const struct schema_registry *registry, struct text bytes);
/* codec_read_sender() in either framing, as far as the schema is known now. */
void schema_registry_read_sender(struct schema_registry *registry, struct codec *codec,
                                 struct text bytes, struct arena *arena, struct text *ret_order_id,
                                 struct text *ret_reply_to);

/* ---- writing ---- */

/* The id of this build's schema of the kind; once it is known, it stays. False: not yet, the
 * registry is asked. */
bool schema_registry_id(struct schema_registry *registry, enum record_kind kind, uint32_t *ret_id);

/* ---- for tests ---- */

/* What an answer to GET /schemas/ids/ID says: the codec has learned the schema. REJECT: records
 * with it cannot be read. RETRY: no registry answers so. */
enum error_class schema_registry_read_schema(struct codec *codec, uint32_t id, struct text json,
                                             uint64_t *ret_fingerprint, struct error *ret_error);

#endif
