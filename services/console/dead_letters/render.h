/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters as JSON. Everything in them may be hostile: what is not UTF-8 is shown in hex. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_RENDER_H
#define SERVICES_CONSOLE_DEAD_LETTERS_RENDER_H

#include "replica/cluster/schema_registry.h"
#include "services/console/dead_letters/index.h"
#include "services/console/dead_letters/states.h"

#include <jansson.h>

enum { DEAD_LETTER_HEX_BYTES = 4096 /* of a value that are shown */ };

/* An entry of a list. New. */
json_t *render_dead_letter_entry(const struct dead_letter_entry *entry,
                                 enum dead_letter_state state);
/* null: it is open. New. */
json_t *render_dead_letter_resolution(const struct dead_letter_resolution *resolution);

struct dead_letter_whole {
    const struct broker_record *record;
    const struct dead_letter_reading *reading;
    const struct dead_letter_entry *entry; /* NULL: not among the newest */
    enum dead_letter_state state;
    const char *refusal; /* why it cannot be replayed as it is; NULL: it can */
    bool bytes;          /* with value.bytes: all that is kept */
    bool of_application; /* from a topic on which Confluent's framing may be */
};
/* All of a dead letter, its value decoded as far as possible. The arena is for that. `registry` may
 * be NULL. New. */
json_t *render_dead_letter(const struct dead_letter_whole *letter, struct schema_registry *registry,
                           struct codec *codec, struct arena *arena);

#endif
