/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_ledger.h. */
#include "tests/lib/sim_ledger.h"

#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

static const char *const outcome_names[] = {"done", "refused", "silent", "unknown"};
_Static_assert(sizeof(outcome_names) / sizeof(outcome_names[0]) == SIM_OUTCOME_COUNT,
               "every outcome has a name");

enum { KEYS_MIN = 1024, READ_BYTES = 64 * 1024 };

enum ledger_key_state { KEY_UNKNOWN, KEY_APPLIED, KEY_UNDONE };

struct ledger_key {
    XXH128_hash_t hash;
    enum ledger_key_state state; /* KEY_UNKNOWN = a free slot */
};

struct sim_ledger {
    int fd;
    int64_t position;        /* everything before it is known; the start of a line */
    struct buffer bytes;     /* read, or to be written */
    struct ledger_key *keys; /* open addressing, a power of two */
    size_t key_capacity;
    size_t key_count;
};

/* ---- keys ---- */

static struct ledger_key *find_key(const struct sim_ledger *ledger, struct text key)
{
    XXH128_hash_t hash = XXH3_128bits(key.data, key.size);
    size_t at = hash.low64 & (ledger->key_capacity - 1);
    while (ledger->keys[at].state != KEY_UNKNOWN && !XXH128_isEqual(ledger->keys[at].hash, hash))
        at = (at + 1) & (ledger->key_capacity - 1);
    ledger->keys[at].hash = hash;
    return &ledger->keys[at];
}

static void grow_if_full(struct sim_ledger *ledger)
{
    struct ledger_key *old = ledger->keys;
    size_t old_capacity = ledger->key_capacity;
    if (ledger->key_count * 2 < old_capacity)
        return;
    ledger->key_capacity = old_capacity > 0 ? 2 * old_capacity : KEYS_MIN;
    ledger->keys = calloc(ledger->key_capacity, sizeof(struct ledger_key));
    assert(ledger->keys != NULL);
    for (size_t i = 0; i < old_capacity; i++) {
        size_t at = old[i].hash.low64 & (ledger->key_capacity - 1);
        if (old[i].state == KEY_UNKNOWN)
            continue;
        while (ledger->keys[at].state != KEY_UNKNOWN)
            at = (at + 1) & (ledger->key_capacity - 1);
        ledger->keys[at] = old[i];
    }
    free(old);
}

static enum ledger_key_state state_of(const struct sim_ledger *ledger, struct text key)
{
    return find_key(ledger, key)->state;
}

static void set_state(struct sim_ledger *ledger, struct text key, enum ledger_key_state state)
{
    grow_if_full(ledger);
    struct ledger_key *slot = find_key(ledger, key);
    ledger->key_count += slot->state == KEY_UNKNOWN;
    slot->state = state;
}

/* ---- reading ---- */

static void read_line(struct sim_ledger *ledger, const char *line, size_t size)
{
    json_t *entry = json_loadb(line, size, 0, NULL);
    const char *key = json_string_value(json_object_get(entry, "key"));
    const char *direction = json_string_value(json_object_get(entry, "direction"));
    if (key != NULL && direction != NULL && json_is_true(json_object_get(entry, "applied")))
        set_state(ledger, text_of(key), strcmp(direction, "do") == 0 ? KEY_APPLIED : KEY_UNDONE);
    json_decref(entry); /* not an entry: the rest of a write that a crash cut off */
}

static void read_lines(struct sim_ledger *ledger)
{
    const char *bytes = (const char *)ledger->bytes.data;
    size_t begin = 0;
    for (size_t i = 0; i < ledger->bytes.size; i++) {
        if (bytes[i] != '\n')
            continue;
        read_line(ledger, bytes + begin, i - begin);
        begin = i + 1;
    }
    ledger->position += (int64_t)begin;
}

/* Reads what other processes wrote. True: the file does not end with a whole line. */
static bool catch_up(struct sim_ledger *ledger)
{
    ledger->bytes.size = 0;
    for (;;) {
        buffer_reserve(&ledger->bytes, READ_BYTES);
        ssize_t size = pread(ledger->fd, ledger->bytes.data + ledger->bytes.size, READ_BYTES,
                             ledger->position + (int64_t)ledger->bytes.size);
        assert(size >= 0);
        if (size == 0)
            break;
        ledger->bytes.size += (size_t)size;
    }
    bool torn = ledger->bytes.size > 0 && ledger->bytes.data[ledger->bytes.size - 1] != '\n';
    read_lines(ledger);
    return torn;
}

/* ---- deciding and writing ---- */

static bool decide_do(struct sim_ledger *ledger, struct sim_entry *entry)
{
    struct text key = entry->request->do_key;
    enum ledger_key_state state = state_of(ledger, key);
    entry->done_before = state == KEY_APPLIED;
    entry->undone_before = state == KEY_UNDONE;
    if (state != KEY_UNKNOWN || !entry->applies)
        return false;
    set_state(ledger, key, KEY_APPLIED);
    return true;
}

static bool decide_undo(struct sim_ledger *ledger, const struct sim_entry *entry)
{
    struct text key = entry->request->do_key;
    if (state_of(ledger, key) == KEY_UNDONE || !entry->applies)
        return false;
    set_state(ledger, key, KEY_UNDONE);
    return true;
}

static void add_line(struct sim_ledger *ledger, struct sim_entry *entry, int64_t now)
{
    const struct step_request *request = entry->request;
    const struct attempt_ref *ref = &request->ref;
    bool applied =
        ref->direction == DIRECTION_DO ? decide_do(ledger, entry) : decide_undo(ledger, entry);
    const char *direction = direction_name(ref->direction);
    char id[IDEMPOTENCY_KEY_BYTES_MAX + 1];
    snprintf(id, sizeof(id), "%.*s/%.*s/%s/%" PRIu32, TEXT_ARG(request->order_id),
             TEXT_ARG(ref->step), direction, ref->attempt);
    json_t *line = json_pack(
        "{s:o, s:s, s:s, s:I, s:I, s:b, s:s, s:I}", "key",
        json_stringn(request->do_key.data, request->do_key.size), "request", id, "direction",
        direction, "sent", (json_int_t)entry->sent, "complete_by", (json_int_t)request->complete_by,
        "applied", (int)applied, "outcome", outcome_names[entry->outcome], "time", (json_int_t)now);
    assert(line != NULL);
    size_t size = json_dumpb(line, NULL, 0, JSON_COMPACT);
    buffer_reserve(&ledger->bytes, size + 1);
    json_dumpb(line, (char *)ledger->bytes.data + ledger->bytes.size, size, JSON_COMPACT);
    ledger->bytes.size += size;
    buffer_append(&ledger->bytes, "\n", 1);
    json_decref(line);
}

static void write_all(struct sim_ledger *ledger)
{
    for (size_t at = 0; at < ledger->bytes.size;) {
        ssize_t size = write(ledger->fd, ledger->bytes.data + at, ledger->bytes.size - at);
        assert(size > 0 || errno == EINTR);
        at += size > 0 ? (size_t)size : 0;
    }
    int code = fdatasync(ledger->fd);
    assert(code == 0);
}

static void lock(const struct sim_ledger *ledger)
{
    while (flock(ledger->fd, LOCK_EX) != 0)
        assert(errno == EINTR);
}

void sim_ledger_write(struct sim_ledger *ledger, struct sim_entry *const entries[], size_t count,
                      int64_t now)
{
    lock(ledger);
    bool torn = catch_up(ledger);
    ledger->bytes.size = 0;
    if (torn) {
        buffer_append(&ledger->bytes, "\n", 1);
        ledger->position = lseek(ledger->fd, 0, SEEK_END);
    }
    for (size_t i = 0; i < count; i++)
        add_line(ledger, entries[i], now);
    write_all(ledger);
    ledger->position += (int64_t)ledger->bytes.size;
    flock(ledger->fd, LOCK_UN);
}

/* ---- open and close ---- */

struct sim_ledger *sim_ledger_open(const char *path)
{
    struct sim_ledger *ledger = calloc(1, sizeof(*ledger));
    assert(ledger != NULL);
    ledger->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    assert(ledger->fd >= 0);
    grow_if_full(ledger);
    catch_up(ledger);
    return ledger;
}

void sim_ledger_close(struct sim_ledger *ledger)
{
    if (ledger == NULL)
        return;
    close(ledger->fd);
    buffer_deinit(&ledger->bytes);
    free(ledger->keys);
    free(ledger);
}
