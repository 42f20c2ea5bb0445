/* SPDX-License-Identifier: Apache-2.0 */
/* When a step was done, as far as its events say: the latest one is undone first. For the rules of
 * `reeve verify`; written apart from the engine. */
#ifndef CLI_VERIFY_UNDO_RANK_H
#define CLI_VERIFY_UNDO_RANK_H

#include "engine/event.h"

struct undo_rank {
    enum effect effect; /* of the forward direction */
    uint32_t generation;
    uint64_t started_version;   /* of the order, at the latest forward start */
    uint64_t completed_version; /* of the order, when the step was known to be applied */
};

struct undo_rank undo_rank_of(const struct step *step);
/* An event of the step, in the Decision that makes `version` of its order. */
void undo_rank_follow(struct undo_rank *rank, const struct event *event, uint64_t version);
/* The step's forward attempts have this generation from now on. */
void undo_rank_note_generation(struct undo_rank *rank, uint32_t generation);
bool undo_rank_is_later(const struct undo_rank *rank, const struct undo_rank *other);

#endif
