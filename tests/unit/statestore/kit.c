/* SPDX-License-Identifier: Apache-2.0 */
/* See kit.h. */
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* References to all allocations, so that the leak checker does not report them. */
static struct kit_block {
    struct kit_block *next;
    max_align_t memory[];
} * kit_blocks;

void *kit_memory(size_t size)
{
    struct kit_block *block = calloc(1, sizeof(*block) + size);
    cr_assert(block != NULL);
    block->next = kit_blocks;
    kit_blocks = block;
    return block->memory;
}

const char *kit_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path = kit_memory(KIT_PATH_SIZE);
    snprintf(path, KIT_PATH_SIZE, "%s/reeve-store-XXXXXX", base != NULL ? base : "/tmp");
    cr_assert(mkdtemp(path) != NULL);
    return path;
}

const char *kit_path(const char *folder, const char *name)
{
    char *path = kit_memory(KIT_PATH_SIZE);
    snprintf(path, KIT_PATH_SIZE, "%s/%s", folder, name);
    return path;
}

void kit_limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

struct store_env *kit_env(void)
{
    return store_env_new(
        &(struct store_options){.cache_bytes = 8 << 20, .write_buffer_bytes = 8 << 20});
}

struct store *kit_open(struct store_env *env, const char *path)
{
    struct store *store = NULL;
    struct error error = {0};
    cr_assert(store_open(env, path, &store, &error) == ERROR_OK, "%s", error.message);
    return store;
}

struct checkpoint kit_checkpoint(int64_t next_event_offset)
{
    return (struct checkpoint){
        .cluster_id = "kit",
        .has_claim = true,
        .claim_id = {{7}},
        .next_event_offset = next_event_offset,
        .last_record_hash = (uint64_t)next_event_offset * 31,
        .last_command_offset = -1,
        .guarded_offset = -1,
        .emitted_through = next_event_offset - 1,
    };
}

/* ---- the small partition ---- */

struct kit_order {
    char id[32];
    bool exists;
    int64_t record; /* the newest of it */
    char row[KIT_ROW_BYTES];
    struct deadline deadline;
};

/* The order `slot` after the first `records` records. */
static struct kit_order order_after(int64_t records, int slot)
{
    struct kit_order order = {0};
    snprintf(order.id, sizeof(order.id), "order-%03d", slot);
    if (records <= slot)
        return order;
    int64_t turn = (records - 1 - slot) / KIT_ORDERS;
    order.record = slot + turn * KIT_ORDERS;
    order.exists = turn % 7 != 6;
    uint64_t random = (uint64_t)order.record * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int i = 0; i < KIT_ROW_BYTES; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.row[i] = (char)random;
    }
    order.deadline = (struct deadline){
        .kind = (enum deadline_kind)(turn % DEADLINE_KIND_COUNT),
        .due_at = INT64_C(1700000000000) + order.record * 1000,
        .step = turn % 5 == 4 ? UINT32_MAX : (uint32_t)(turn % 5),
    };
    return order;
}

void kit_put_record(struct store_batch *batch, int64_t n)
{
    int slot = (int)(n % KIT_ORDERS);
    struct kit_order before = order_after(n, slot);
    struct kit_order after = order_after(n + 1, slot);
    cr_assert(after.record == n);
    struct text id = text_of(after.id);
    if (before.exists)
        store_batch_delete_deadline(batch, id, &before.deadline);
    if (after.exists) {
        store_batch_put_order(batch, id, (struct text){after.row, KIT_ROW_BYTES});
        store_batch_put_deadline(batch, id, &after.deadline);
    } else {
        store_batch_delete_order(batch, id);
    }
}

void kit_fold(struct store *store, int64_t from, int64_t until, int per_commit)
{
    struct store_batch *batch = store_batch_new(store);
    struct error error = {0};
    for (int64_t n = from; n < until;) {
        for (int i = 0; i < per_commit && n < until; i++)
            kit_put_record(batch, n++);
        struct checkpoint checkpoint = kit_checkpoint(n);
        cr_assert(store_commit(store, batch, &checkpoint, &error) == ERROR_OK, "%s", error.message);
    }
    store_batch_free(batch);
}

static int slot_of(struct text order_id)
{
    cr_assert(order_id.size == sizeof("order-000") - 1);
    return (order_id.data[6] - '0') * 100 + (order_id.data[7] - '0') * 10 + order_id.data[8] - '0';
}

struct verify {
    int64_t records;
    int orders;
    int deadlines;
    int64_t due_at;
};

static bool verify_order(void *ctx, struct text order_id, struct text row)
{
    struct verify *verify = ctx;
    verify->orders++;
    int slot = slot_of(order_id);
    struct kit_order order = order_after(verify->records, slot);
    cr_assert(order.exists, "order %.*s is there after %lld records", TEXT_ARG(order_id),
              (long long)verify->records);
    cr_assert(text_equal(row, (struct text){order.row, KIT_ROW_BYTES}),
              "order %.*s is not that of %lld records", TEXT_ARG(order_id),
              (long long)verify->records);
    return true;
}

static bool verify_deadline(void *ctx, struct text order_id, const struct deadline *deadline)
{
    struct verify *verify = ctx;
    verify->deadlines++;
    cr_assert(deadline->due_at >= verify->due_at);
    verify->due_at = deadline->due_at;
    struct kit_order order = order_after(verify->records, slot_of(order_id));
    cr_assert(order.exists);
    cr_assert(deadline->due_at == order.deadline.due_at);
    cr_assert(deadline->kind == order.deadline.kind);
    cr_assert(deadline->step == order.deadline.step);
    return true;
}

static bool damaged(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return false;
    cr_assert(class == ERROR_FATAL);
    cr_assert(error->code == CODE_STORE_CORRUPT || error->code == CODE_STORE_IO, "%s: %s",
              error_name_of(error), error->message);
    return true;
}

int64_t kit_verify(struct store *store)
{
    struct checkpoint checkpoint;
    struct error error = {0};
    if (damaged(store_checkpoint(store, &checkpoint, &error), &error))
        return -1;
    struct verify verify = {.records = checkpoint.next_event_offset};
    struct checkpoint expected = kit_checkpoint(verify.records);
    uint8_t expected_bytes[CHECKPOINT_BYTES], bytes[CHECKPOINT_BYTES];
    checkpoint_encode(&expected, expected_bytes);
    checkpoint_encode(&checkpoint, bytes);
    if (verify.records > 0)
        cr_assert(memcmp(expected_bytes, bytes, CHECKPOINT_BYTES) == 0);
    int orders = 0;
    for (int slot = 0; slot < KIT_ORDERS; slot++) {
        struct kit_order order = order_after(verify.records, slot);
        struct text row = {0};
        if (damaged(store_get_order(store, text_of(order.id), &row, &error), &error))
            return -1;
        cr_assert((row.data != NULL) == order.exists, "%s after %lld records", order.id,
                  (long long)verify.records);
        store_row_free(row);
        orders += order.exists;
    }
    if (damaged(store_scan_orders(store, TEXT(""), verify_order, &verify, &error), &error) ||
        damaged(
            store_scan_deadlines(store, 0, TEXT(""), INT64_MAX, verify_deadline, &verify, &error),
            &error))
        return -1;
    cr_assert(verify.orders == orders && verify.deadlines == orders);
    return verify.records;
}
