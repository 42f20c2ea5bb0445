/* SPDX-License-Identifier: Apache-2.0 */
/* The pauses of agent_table.h. A text that cannot be shown never voids a pause: it is shown as
 * "?". */
#include "base/names.h"
#include "base/utf8.h"
#include "replica/agents/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

static const char prefix[] = "pause:";
enum { PREFIX_SIZE = sizeof(prefix) - 1 };
_Static_assert(AGENT_PAUSE_KEY_SIZE == PREFIX_SIZE + NAME_BYTES_MAX + 1, "the longest key fits");

struct text agent_pause_key(struct text agent, char key[AGENT_PAUSE_KEY_SIZE])
{
    assert(name_valid(agent));
    int size = snprintf(key, AGENT_PAUSE_KEY_SIZE, "%s%.*s", prefix, TEXT_ARG(agent));
    assert(size > PREFIX_SIZE && size < AGENT_PAUSE_KEY_SIZE);
    return (struct text){key, (uint32_t)size};
}

/* The agent of the key, or empty: it is not the key of a pause. */
static struct text agent_of_key(struct text key)
{
    if (key.size <= PREFIX_SIZE || memcmp(key.data, prefix, PREFIX_SIZE) != 0)
        return (struct text){0};
    struct text agent = {key.data + PREFIX_SIZE, key.size - PREFIX_SIZE};
    return name_valid(agent) ? agent : (struct text){0};
}

static struct pause_slot *find_pause(const struct agent_table *table, struct text agent)
{
    struct pause_slot *slot = NULL;
    if (!text_empty(agent))
        HASH_FIND(hh, table->pauses_by_agent, agent.data, agent.size, slot);
    return slot;
}

static int compare_pauses(const struct agent_pause_entry *a, const struct agent_pause_entry *b)
{
    return strcmp(a->agent, b->agent);
}

static struct pause_slot *add_pause(struct agent_table *table, struct text agent)
{
    struct pause_slot *slot = calloc(1, sizeof(*slot));
    assert(slot != NULL && agent.size <= NAME_BYTES_MAX);
    memcpy(slot->entry.agent, agent.data, agent.size);
    HASH_ADD_KEYPTR(hh, table->pauses_by_agent, slot->entry.agent, agent.size, slot);
    DL_INSERT_INORDER(table->pauses, &slot->entry, compare_pauses);
    return slot;
}

static void drop_pause(struct agent_table *table, struct pause_slot *slot)
{
    HASH_DELETE(hh, table->pauses_by_agent, slot);
    DL_DELETE(table->pauses, &slot->entry);
    free(slot);
}

static void report(struct agent_table *table, struct text agent)
{
    if (table->complete && table->ops.paused != NULL)
        table->ops.paused(table->ctx, agent, agent_table_pause(table, agent));
}

static void keep_text(char *ret_text, size_t size, struct text text)
{
    if (!utf8_printable(text))
        text = TEXT("?");
    utf8_copy(ret_text, size, text);
}

static void resume(struct agent_table *table, struct text agent)
{
    struct pause_slot *slot = find_pause(table, agent);
    if (slot != NULL)
        drop_pause(table, slot);
    report(table, agent);
}

enum error_class agent_table_put_pause(struct agent_table *table, struct text key,
                                       const struct agent_pause *pause, struct error *ret_error)
{
    struct text agent = agent_of_key(key);
    if (text_empty(agent) || !text_equal(agent, pause->agent))
        return error_set(ret_error, CODE_BAD_PAUSE,
                         "the key is not \"pause:\" and the agent's name");
    if (!pause->paused) {
        resume(table, agent);
        return ERROR_OK;
    }
    struct pause_slot *slot = find_pause(table, agent);
    if (slot == NULL && HASH_COUNT(table->pauses_by_agent) >= AGENT_PAUSES_MAX)
        return error_set(ret_error, CODE_BAD_PAUSE, "%d agents are paused already",
                         AGENT_PAUSES_MAX);
    if (slot == NULL)
        slot = add_pause(table, agent);
    keep_text(slot->entry.by, sizeof(slot->entry.by), pause->by);
    keep_text(slot->entry.reason, sizeof(slot->entry.reason), pause->reason);
    slot->entry.at = pause->at > 0 ? pause->at : 0;
    report(table, agent);
    return ERROR_OK;
}

bool agent_table_remove_pause(struct agent_table *table, struct text key)
{
    struct text agent = agent_of_key(key);
    if (text_empty(agent))
        return false;
    resume(table, agent);
    return true;
}

const struct agent_pause_entry *agent_table_pause(const struct agent_table *table,
                                                  struct text agent)
{
    const struct pause_slot *slot = find_pause(table, agent);
    return slot != NULL ? &slot->entry : NULL;
}

const struct agent_pause_entry *agent_table_pauses(const struct agent_table *table)
{
    return table->pauses;
}

uint32_t agent_table_pause_count(const struct agent_table *table)
{
    return HASH_COUNT(table->pauses_by_agent);
}

void agent_table_report_pauses(struct agent_table *table)
{
    const struct agent_pause_entry *pause;
    for (pause = table->pauses; pause != NULL; pause = pause->next)
        report(table, text_of(pause->agent));
}

void agent_table_free_pauses(struct agent_table *table)
{
    struct pause_slot *slot, *next;
    HASH_ITER(hh, table->pauses_by_agent, slot, next)
        drop_pause(table, slot);
    assert(table->pauses == NULL);
}
