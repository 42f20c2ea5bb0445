/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_tail.h"

#include "replica/fold/admission.h"
#include "replica/fold/view.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_trim.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LOSSES_MAX = 3,
    LOST_MAX = 12,
    DECISIONS_MAX = LOSSES_MAX * LOST_MAX,
    READERS = INSTANCES + 1,
    UNKNOWN_ORDER = 1000
};

/* A Decision that counted, and what it led to. */
struct lost_decision {
    int32_t partition;
    int64_t command_offset;
    struct uuid claim_id;
    struct model_outcome outcome;
};

struct tail {
    uint32_t losses;
    struct lost_decision decisions[DECISIONS_MAX];
    uint32_t decision_count;
    bool excused[READERS][PARTITIONS_MAX];
};

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.own[CHAOS_TAIL], n);
}

/* ---- a loss ---- */

/* Without it, the log would be another one. The log's end if there is none. */
static int64_t first_claim(struct world *world, int32_t partition)
{
    int64_t end = log_end(world, "p.events", partition);
    int64_t at = 0;
    for (; at < end; at++) {
        struct record record;
        heap_arena_reset(&world->scratch);
        if (!is_foreign(world, "p.events", partition, at) &&
            read_log(world, "p.events", partition, at, &record) == NULL &&
            record.kind == RECORD_CLAIM)
            break;
    }
    return at;
}

static void keep(struct world *world, int32_t partition, int64_t command_offset,
                 const struct model_outcome *outcome)
{
    struct tail *tail = world->tail;
    struct record record;
    const char *failed = read_log(world, "p.events", partition, outcome->decision_offset, &record);
    assert(failed == NULL && record.kind == RECORD_DECISION);
    assert(tail->decision_count < DECISIONS_MAX);
    struct lost_decision *lost = &tail->decisions[tail->decision_count++];
    *lost = (struct lost_decision){partition, command_offset, record.decision.claim_id, *outcome};
    lost->outcome.order_id = arena_text(&world->arena.arena, outcome->order_id);
    lost->outcome.alert_code = arena_text(&world->arena.arena, outcome->alert_code);
}

/* False: the log breaks a rule, which is reported elsewhere. */
static bool keep_outcomes(struct world *world, int32_t partition, int64_t end)
{
    struct model model;
    bool sound = model_walk(world, partition, NULL, &model) == NULL;
    for (int64_t i = 0; i < model.outcome_count && sound; i++)
        if (model.outcomes[i].decision_offset >= end)
            keep(world, partition, i, &model.outcomes[i]);
    model_free(&model);
    return sound;
}

static void lose(struct world *world, int32_t partition, int64_t end)
{
    if (!keep_outcomes(world, partition, end))
        return;
    if (trim_has_begun(world, partition))
        world_count(world, SOMETIMES_TRIMMED_TAIL);
    broker_memory_truncate(world->kafka, "p.events", partition, end);
    for (uint32_t i = 0; i < READERS; i++)
        world->tail->excused[i][partition] = true;
    for (uint32_t i = 0; i < INSTANCES; i++)
        world->instances[i].partitions[partition].compared = -1;
    world->tail->losses++;
    world_count(world, SOMETIMES_TAIL_LOST);
}

/* A reader that is stopped looks for a Reset behind the record that stops it, and does not look
 * again at what it has read: if the log loses a Reset in that time, an operator has to restart the
 * reader. */
static bool may_stop_readers(const struct world *world, int32_t partition)
{
    bool garbage = false;
    for (uint32_t i = 0; i < world->garbage_count; i++)
        garbage = garbage || world->garbage[i].partition == partition;
    return garbage || chaos_has(world, CHAOS_UPGRADE);
}

/* How many of these records. What says that the rest of a trimmed log is enough stays: a log that
 * loses that has to be restored (docs/design/decisions/0009-trimming-the-log.md, point 4). */
static int64_t may_be_lost(struct world *world, int32_t partition, int64_t end, int64_t most)
{
    int64_t count = 0;
    while (count < most && trim_has_what_it_needs(world, partition, end - 1 - count))
        count++;
    return count;
}

void tail_act(struct world *world)
{
    int32_t partition = (int32_t)roll(world, (uint32_t)world->partitions);
    int64_t least = first_claim(world, partition) + 1;
    int64_t end = log_end(world, "p.events", partition);
    if (world->tail == NULL)
        world->tail = calloc(1, sizeof(*world->tail));
    assert(world->tail != NULL);
    if (end <= least || world->tail->losses == LOSSES_MAX || may_stop_readers(world, partition))
        return;
    int64_t most = end - least < LOST_MAX ? end - least : LOST_MAX;
    most = may_be_lost(world, partition, end, most);
    if (most > 0)
        lose(world, partition, end - 1 - roll(world, (uint32_t)most));
}

/* A cancellation of an order that does not exist. */
static void send_something(struct world *world, int32_t partition)
{
    uint32_t number = UNKNOWN_ORDER;
    while (partition_of(world, order_name(world, number)) != partition)
        number++;
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = order_name(world, number)};
    cmd.cancel_order = (struct cancel_order){
        .order_id = cmd.order_id, .by = TEXT("app"), .reason = TEXT("so that the owner appends")};
    send_command(world, &cmd);
}

void tail_end(struct world *world)
{
    for (int32_t p = 0; p < world->partitions && world->tail != NULL; p++)
        send_something(world, p);
}

void tail_free(struct world *world)
{
    free(world->tail);
    world->tail = NULL;
}

/* ---- readers ---- */

static bool agrees(struct world *world, int32_t partition, const struct view *view)
{
    static struct fold fold;
    const struct checkpoint *has = view_checkpoint(view);
    const struct checkpoint *folded = &fold.checkpoint;
    if (has->next_event_offset > log_end(world, "p.events", partition) ||
        fold_log(world, partition, has->next_event_offset, NULL, &fold) != NULL)
        return false;
    return has->has_claim == folded->has_claim &&
           (!has->has_claim || uuid_equal(&has->claim_id, &folded->claim_id)) &&
           has->next_sequence == folded->next_sequence &&
           has->next_command_offset == folded->next_command_offset &&
           has->newest_decided_at == folded->newest_decided_at;
}

bool tail_excuses(struct world *world, uint32_t reader, int32_t partition, struct view *view)
{
    if (world->tail == NULL || !world->tail->excused[reader][partition])
        return false;
    if (view_store(view) != NULL && agrees(world, partition, view))
        world->tail->excused[reader][partition] = false;
    return world->tail->excused[reader][partition];
}

const char *tail_check(struct world *world)
{
    const struct process *watcher = world->watcher != NULL ? supervisor_process(world) : NULL;
    for (int32_t p = 0; p < world->partitions; p++) {
        struct owner *owner = world->instances[0].partitions[p].owner;
        if (owner != NULL && tail_excuses(world, 0, p, owner_view(owner)))
            return wrong("%s has not noticed that events[%d] has lost its tail",
                         world->instances[0].name, p);
        if (watcher != NULL && watcher->cluster != NULL &&
            tail_excuses(world, TAIL_SUPERVISOR, p, supervisor_view(world, p)))
            return wrong("the supervisor has not noticed that events[%d] has lost its tail", p);
    }
    return NULL;
}

/* ---- effects ---- */

/* NULL: no such Decision is lost. A log that has lost its tail more than once may have lost several
 * at one offset. */
static const struct lost_decision *find(const struct world *world, int32_t partition,
                                        int64_t command_offset, int64_t decision_offset,
                                        int64_t decided_at)
{
    for (uint32_t i = 0; world->tail != NULL && i < world->tail->decision_count; i++) {
        const struct lost_decision *lost = &world->tail->decisions[i];
        if (lost->partition == partition && lost->command_offset == command_offset &&
            lost->outcome.decision_offset == decision_offset &&
            lost->outcome.decided_at == decided_at)
            return lost;
    }
    return NULL;
}

bool tail_explains_status(const struct world *world, int32_t partition,
                          const struct status_update *status)
{
    const struct lost_decision *lost =
        find(world, partition, status->command_offset, status->decision_offset, status->decided_at);
    return lost != NULL && lost->outcome.status == status->kind &&
           lost->outcome.order_version == status->order_version &&
           lost->outcome.order_state == status->order_state &&
           text_equal(lost->outcome.order_id, status->order_id);
}

bool tail_explains_alert(const struct world *world, int32_t partition,
                         const struct operator_alert *alert)
{
    const struct lost_decision *lost =
        find(world, partition, alert->command_offset, alert->decision_offset, alert->decided_at);
    return lost != NULL && lost->outcome.alert != MODEL_NO_ALERT &&
           alert->raised == (lost->outcome.alert != MODEL_CLOSED) &&
           (lost->outcome.alert != MODEL_RAISED ||
            text_equal(alert->code, lost->outcome.alert_code));
}

bool tail_explains_letter(const struct world *world, int32_t partition, int64_t command_offset)
{
    bool explained = false;
    for (uint32_t i = 0; world->tail != NULL && i < world->tail->decision_count; i++) {
        const struct lost_decision *lost = &world->tail->decisions[i];
        explained = explained || (lost->partition == partition && lost->outcome.dead &&
                                  lost->command_offset == command_offset);
    }
    return explained;
}

/* Of the request itself only its place is compared. */
bool tail_explains_request(const struct world *world, int32_t partition,
                           const struct step_request *request)
{
    bool explained = false;
    for (uint32_t i = 0; world->tail != NULL && i < world->tail->decision_count; i++) {
        const struct lost_decision *lost = &world->tail->decisions[i];
        explained = explained || (lost->partition == partition &&
                                  lost->outcome.decision_offset == request->decision_offset &&
                                  uuid_equal(&lost->claim_id, &request->claim_id) &&
                                  text_equal(lost->outcome.order_id, request->order_id));
    }
    return explained;
}
