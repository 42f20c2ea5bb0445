/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/undo_rank.h"

#include <assert.h>

struct undo_rank undo_rank_of(const struct step *step)
{
    return (struct undo_rank){.effect = step->effect,
                              .generation = step->generation[DIRECTION_DO],
                              .started_version = step->started_version,
                              .completed_version = step->completed_version};
}

static void note_effect(struct undo_rank *rank, enum effect effect, uint64_t version)
{
    if (effect == EFFECT_APPLIED && rank->effect != EFFECT_APPLIED)
        rank->completed_version = version;
    rank->effect = effect;
}

void undo_rank_note_generation(struct undo_rank *rank, uint32_t generation)
{
    if (generation != rank->generation) /* a new key: nothing was applied under it */
        rank->effect = EFFECT_NONE;
    rank->generation = generation;
}

void undo_rank_follow(struct undo_rank *rank, const struct event *event, uint64_t version)
{
    assert(event_is_of_step(event->kind));
    if (event_ref(event)->direction != DIRECTION_DO)
        return;
    if (event->kind == EVENT_STEP_STARTED) {
        rank->started_version = version;
    } else if (event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_COMPLETED_BY_HAND) {
        rank->effect = EFFECT_APPLIED;
        rank->completed_version = version;
    } else if (event->kind == EVENT_STEP_FAILED) {
        note_effect(rank, event->step_failed.effect, version);
        rank->generation += event->step_failed.not_yet; /* it is asked again under a new key */
    } else if (event->kind == EVENT_STEP_TIMED_OUT) {
        note_effect(rank, event->step_timed_out.effect, version);
    } else if (event->kind == EVENT_STEP_SKIPPED_BY_HAND) {
        rank->effect = EFFECT_NONE;
    } else if (event->kind == EVENT_STEP_RESUBMITTED) {
        undo_rank_note_generation(rank, event->step_resubmitted.generation);
    }
}

/* In one Decision a start follows the completion that allows it. */
bool undo_rank_is_later(const struct undo_rank *rank, const struct undo_rank *other)
{
    bool applied = rank->effect == EFFECT_APPLIED;
    bool other_applied = other->effect == EFFECT_APPLIED;
    uint64_t version = applied ? rank->completed_version : rank->started_version;
    uint64_t other_version = other_applied ? other->completed_version : other->started_version;
    return version != other_version ? version > other_version : !applied && other_applied;
}
