/* SPDX-License-Identifier: Apache-2.0 */
/* An older version of reeve, which cannot read everything. The codec of an older process sees what
 * a newer one wrote with the fingerprint of a newer schema: of Decisions in which some events and
 * symbols have other names, and of records that do not exist here. The format in which it states
 * orders is one below ours. Whatever follows from that is the product's.
 * The linker puts this in front of the codec (--wrap). */
#ifndef TESTS_PROPERTY_OWNERSHIP_VERSIONS_H
#define TESTS_PROPERTY_OWNERSHIP_VERSIONS_H

#include "schemas/avro/codec.h"

/* The names of newer instances begin with it. */
#define VERSIONS_NEWER "newer-"

/* `codec` knows everything. Until versions_end(), for one world at a time. */
void versions_begin(const struct codec *codec);
void versions_end(void);
void versions_add_older(const struct codec *codec);
void versions_remove_older(const struct codec *codec);

bool versions_is_newer(const char *instance);
/* Of a Claim that was decoded before, by whichever process. */
bool versions_is_newer_claim(const struct uuid *claim_id);
/* The older version cannot read it, whether or not it knows the newer schemas. */
bool versions_is_unreadable(const struct record *record);
bool versions_is_later_command(struct codec *codec, struct text value, struct arena *arena);
/* The newer schemas, by number; false: there are no more. */
bool versions_schema(uint32_t number, struct text *ret_schema);

#endif
