/* SPDX-License-Identifier: Apache-2.0 */
/* The fold of agent_table.h: entries by key and, for routing, by agent. The topic is read in
 * follow.c. */
#include "base/names.h"
#include "base/utf8.h"
#include "replica/agents/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

static const char *const circuits[] = {"", "closed", "open", "half-open"};
_Static_assert(sizeof(circuits) / sizeof(circuits[0]) == AGENT_CIRCUIT_COUNT, "all circuits");

const char *agent_circuit_name(enum agent_circuit circuit)
{
    return (unsigned)circuit < AGENT_CIRCUIT_COUNT ? circuits[circuit] : "?";
}

static bool circuit_of(struct text name, enum agent_circuit *ret_circuit)
{
    for (int circuit = 0; circuit < AGENT_CIRCUIT_COUNT; circuit++) {
        if (text_equal(name, text_of(circuits[circuit]))) {
            *ret_circuit = (enum agent_circuit)circuit;
            return true;
        }
    }
    return false;
}

struct agent_table *agent_table_new(const struct agent_table_ops *ops, void *ctx)
{
    struct agent_table *table = calloc(1, sizeof(*table));
    assert(table != NULL);
    table->ops = ops != NULL ? *ops : (struct agent_table_ops){.changed = NULL};
    table->ctx = ctx;
    table->complete = true;
    table->offset = -1;
    return table;
}

/* ---- groups ---- */

static struct group_slot *find_group(const struct agent_table *table, struct text agent)
{
    struct group_slot *slot = NULL;
    if (!text_empty(agent))
        HASH_FIND(hh, table->groups_by_name, agent.data, agent.size, slot);
    return slot;
}

static int compare_groups(const struct agent_group *a, const struct agent_group *b)
{
    return strcmp(a->agent, b->agent);
}

static int compare_entries(const struct agent_entry *a, const struct agent_entry *b)
{
    return strcmp(a->instance, b->instance);
}

static void join_group(struct agent_table *table, struct agent_entry *entry)
{
    struct group_slot *slot = find_group(table, text_of(entry->agent));
    if (slot == NULL) {
        slot = calloc(1, sizeof(*slot));
        assert(slot != NULL);
        snprintf(slot->group.agent, sizeof(slot->group.agent), "%s", entry->agent);
        HASH_ADD_KEYPTR(hh, table->groups_by_name, slot->group.agent, strlen(slot->group.agent),
                        slot);
        DL_INSERT_INORDER(table->groups, &slot->group, compare_groups);
    }
    DL_INSERT_INORDER(slot->group.entries, entry, compare_entries);
    slot->group.count++;
}

static void leave_group(struct agent_table *table, struct agent_entry *entry)
{
    struct group_slot *slot = find_group(table, text_of(entry->agent));
    assert(slot != NULL && slot->group.count > 0);
    DL_DELETE(slot->group.entries, entry);
    if (--slot->group.count > 0)
        return;
    HASH_DELETE(hh, table->groups_by_name, slot);
    DL_DELETE(table->groups, &slot->group);
    free(slot);
}

/* ---- entries ---- */

static struct entry_slot *find_entry(const struct agent_table *table, struct text key)
{
    struct entry_slot *slot = NULL;
    if (!text_empty(key))
        HASH_FIND(hh, table->entries, key.data, key.size, slot);
    return slot;
}

const struct agent_entry *agent_table_entry(const struct agent_table *table, struct text key)
{
    const struct entry_slot *slot = find_entry(table, key);
    return slot != NULL ? &slot->entry : NULL;
}

static struct entry_slot *add_entry(struct agent_table *table, struct text key,
                                    const struct agent_health *health)
{
    struct entry_slot *slot = calloc(1, sizeof(*slot));
    assert(slot != NULL && key.size < sizeof(slot->key));
    memcpy(slot->key, key.data, key.size);
    snprintf(slot->entry.agent, sizeof(slot->entry.agent), "%.*s", TEXT_ARG(health->agent));
    snprintf(slot->entry.instance, sizeof(slot->entry.instance), "%.*s",
             TEXT_ARG(health->instance));
    HASH_ADD_KEYPTR(hh, table->entries, slot->key, key.size, slot);
    join_group(table, &slot->entry);
    return slot;
}

static void drop_entry(struct agent_table *table, struct entry_slot *slot)
{
    HASH_DELETE(hh, table->entries, slot);
    leave_group(table, &slot->entry);
    free(slot);
}

/* ---- records of instances that vanished before they were read ---- */

static void add_outdated(struct agent_table *table, struct text key)
{
    struct outdated_slot *slot = NULL;
    if (table->ops.outdated == NULL || HASH_COUNT(table->outdated) >= AGENT_TABLE_MAX)
        return;
    HASH_FIND(hh, table->outdated, key.data, key.size, slot);
    if (slot != NULL)
        return;
    slot = calloc(1, sizeof(*slot));
    assert(slot != NULL && key.size < sizeof(slot->key));
    memcpy(slot->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, table->outdated, slot->key, key.size, slot);
}

static void drop_outdated(struct agent_table *table, struct outdated_slot *slot)
{
    HASH_DELETE(hh, table->outdated, slot);
    free(slot);
}

/* A later record under the same key. */
static void not_outdated(struct agent_table *table, struct text key)
{
    struct outdated_slot *slot = NULL;
    if (!text_empty(key))
        HASH_FIND(hh, table->outdated, key.data, key.size, slot);
    if (slot != NULL)
        drop_outdated(table, slot);
}

static void report_outdated(struct agent_table *table)
{
    struct outdated_slot *slot;
    struct outdated_slot *next;
    if (!table->complete)
        return;
    HASH_ITER(hh, table->outdated, slot, next) {
        table->ops.outdated(table->ctx, text_of(slot->key));
        drop_outdated(table, slot);
    }
}

static void entry_gone(struct agent_table *table, struct entry_slot *slot, bool lapsed)
{
    struct agent_entry copy = slot->entry;
    drop_entry(table, slot);
    copy.prev = copy.next = NULL;
    /* Before that, the owner of the table has not heard of it. */
    if (table->complete && table->ops.gone != NULL)
        table->ops.gone(table->ctx, &copy, lapsed);
}

/* ---- what a record says ---- */

static bool key_fits(struct text key, const struct agent_health *health)
{
    struct text agent = health->agent;
    struct text instance = health->instance;
    return key.size == instance.size + 1 + agent.size &&
           memcmp(key.data, instance.data, instance.size) == 0 && key.data[instance.size] == '/' &&
           memcmp(key.data + instance.size + 1, agent.data, agent.size) == 0;
}

static enum error_class check(struct text key, const struct agent_health *health,
                              struct error *ret_error)
{
    enum agent_circuit circuit;
    if (!name_valid(health->agent))
        return error_set(ret_error, CODE_BAD_HEALTH, "the agent's name is none");
    if (text_empty(health->instance) || health->instance.size > WHO_BYTES_MAX ||
        memchr(health->instance.data, '\0', health->instance.size) != NULL)
        return error_set(ret_error, CODE_BAD_HEALTH, "the instance's name is none");
    if (!key_fits(key, health))
        return error_set(ret_error, CODE_BAD_HEALTH, "the key is another one than instance/agent");
    if (health->capacity > AGENT_TABLE_CAPACITY_MAX)
        return error_set(ret_error, CODE_BAD_HEALTH, "the capacity is absurd");
    if (!circuit_of(health->circuit, &circuit))
        return error_set(ret_error, CODE_BAD_HEALTH, "no such state of a circuit");
    if (health->errors_permille > 1000 || health->latency_p50_ms < 0 ||
        health->latency_p95_ms < health->latency_p50_ms || health->heartbeat_ms < 0)
        return error_set(ret_error, CODE_BAD_HEALTH, "its figures contradict each other");
    return ERROR_OK;
}

static int64_t beat_of(const struct agent_health *health)
{
    int64_t beat = health->heartbeat_ms > 0 ? health->heartbeat_ms : AGENT_TABLE_BEAT_MS;
    if (beat < AGENT_TABLE_BEAT_MS_MIN)
        return AGENT_TABLE_BEAT_MS_MIN;
    return beat > AGENT_TABLE_BEAT_MS_MAX ? AGENT_TABLE_BEAT_MS_MAX : beat;
}

/* Whether that may matter to routing. */
static bool update(struct agent_entry *entry, const struct agent_health *health)
{
    enum agent_circuit circuit = AGENT_CIRCUIT_NONE;
    circuit_of(health->circuit, &circuit);
    bool same = entry->capacity == health->capacity && entry->in_flight == health->in_flight &&
                entry->queued == health->queued && entry->partitions == health->partitions &&
                entry->latency_p95_ms == health->latency_p95_ms &&
                entry->errors_permille == health->errors_permille && entry->circuit == circuit;
    entry->capacity = health->capacity;
    entry->in_flight = health->in_flight;
    entry->queued = health->queued;
    entry->partitions = health->partitions;
    entry->latency_p50_ms = health->latency_p50_ms;
    entry->latency_p95_ms = health->latency_p95_ms;
    entry->errors_permille = health->errors_permille;
    entry->circuit = circuit;
    utf8_copy(entry->version, sizeof(entry->version), health->version);
    utf8_copy(entry->last_error, sizeof(entry->last_error), health->last_error);
    entry->heartbeat_ms = beat_of(health);
    entry->reported_at = health->reported_at;
    return !same;
}

enum error_class agent_table_put(struct agent_table *table, struct text key,
                                 const struct agent_health *health, int64_t appended_at,
                                 int64_t now_ms, int64_t mono_ms, struct error *ret_error)
{
    enum error_class class = check(key, health, ret_error);
    if (class != ERROR_OK)
        return class;
    struct entry_slot *slot = find_entry(table, key);
    bool fresh = slot == NULL;
    /* A time in the future is the fault of one of the two clocks: it counts as now. */
    int64_t since = appended_at > 0 ? appended_at : 0;
    int64_t age = now_ms > since ? now_ms - since : 0;
    if (fresh && age >= AGENT_TABLE_BEATS * beat_of(health)) {
        add_outdated(table, key);
        return ERROR_OK;
    }
    not_outdated(table, key);
    if (fresh && HASH_COUNT(table->entries) >= AGENT_TABLE_MAX)
        agent_table_sweep(table, mono_ms);
    if (fresh && HASH_COUNT(table->entries) >= AGENT_TABLE_MAX)
        return error_set(ret_error, CODE_BAD_HEALTH, "there are too many agents already");
    if (fresh)
        slot = add_entry(table, key, health);
    struct agent_entry *entry = &slot->entry;
    bool changed = update(entry, health);
    entry->appended_at = appended_at;
    entry->lapses_ms = mono_ms + AGENT_TABLE_BEATS * entry->heartbeat_ms - age;
    if ((fresh || changed) && table->complete && table->ops.changed != NULL)
        table->ops.changed(table->ctx, entry);
    return ERROR_OK;
}

bool agent_table_clock_is_ahead(const struct agent_health *health, int64_t appended_at,
                                int64_t margin_ms)
{
    int64_t off;
    return __builtin_sub_overflow(health->reported_at, appended_at, &off)
               ? health->reported_at > appended_at
               : off > margin_ms;
}

void agent_table_remove(struct agent_table *table, struct text key)
{
    struct entry_slot *slot = find_entry(table, key);
    not_outdated(table, key);
    if (slot != NULL)
        entry_gone(table, slot, false);
    else
        agent_table_remove_pause(table, key);
}

static bool is_silent(const struct agent_table *table, const struct agent_entry *entry)
{
    return table->ops.silence_ms == NULL || table->ops.silence_ms(table->ctx, entry->appended_at) >=
                                                AGENT_TABLE_BEATS * entry->heartbeat_ms;
}

int64_t agent_table_sweep(struct agent_table *table, int64_t mono_ms)
{
    int64_t next_ms = INT64_MAX;
    struct entry_slot *slot;
    struct entry_slot *next;
    HASH_ITER(hh, table->entries, slot, next) {
        bool lapsed = slot->entry.lapses_ms <= mono_ms;
        int64_t look_ms = lapsed ? mono_ms + slot->entry.heartbeat_ms : slot->entry.lapses_ms;
        if (lapsed && is_silent(table, &slot->entry))
            entry_gone(table, slot, true);
        else if (look_ms < next_ms)
            next_ms = look_ms;
    }
    report_outdated(table);
    return next_ms;
}

/* ---- reading ---- */

bool agent_table_is_complete(const struct agent_table *table)
{
    return table->complete;
}

const struct agent_group *agent_table_find(const struct agent_table *table, struct text agent)
{
    const struct group_slot *slot = find_group(table, agent);
    return slot != NULL ? &slot->group : NULL;
}

const struct agent_group *agent_table_groups(const struct agent_table *table)
{
    return table->groups;
}

int64_t agent_table_offset(const struct agent_table *table)
{
    return table->offset;
}

uint32_t agent_table_count(const struct agent_table *table)
{
    return HASH_COUNT(table->entries);
}

void agent_table_free(struct agent_table *table)
{
    struct entry_slot *slot;
    struct entry_slot *next;
    struct outdated_slot *outdated;
    struct outdated_slot *next_outdated;
    if (table == NULL)
        return;
    agent_table_unfollow(table);
    HASH_ITER(hh, table->entries, slot, next)
        drop_entry(table, slot);
    HASH_ITER(hh, table->outdated, outdated, next_outdated)
        drop_outdated(table, outdated);
    assert(table->groups == NULL);
    agent_table_free_pauses(table);
    free(table);
}
