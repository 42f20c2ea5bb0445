/* SPDX-License-Identifier: Apache-2.0 */
/* An owner that has worked for 200 times its window: log, store, memory, and what a new store folds
 * depend on the window and the open orders, not on how long it has worked. */
#include "services/scheduler/owner/internal.h"
#include "tests/unit/scheduler/owner_kit.h"

#include "platform/files.h"
#include "platform/logger.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    DAYS = 200,
    DAY_MS = OWNER_KIT_RETENTION_MS + 4000, /* and the window */
    ORDERS_PER_DAY = 40,
    STEP_MS = DAY_MS / ORDERS_PER_DAY,
    OPEN_ORDERS = 30, /* for all the time */
    SLOW_EVERY = 10,  /* of these, one takes three days */
    FIRST_DAYS = 20,  /* until it is flat */
    ORDERS = DAYS * ORDERS_PER_DAY
};

static struct owner_kit kit;
static struct owner_kit_process *process;
static struct owner_kit_process *other; /* with a new store now and then */
static struct owner *owner;

/* What must not grow. */
struct size {
    int64_t records;
    int64_t bytes;
    uint64_t orders;
    size_t cached;
    int64_t disk;
    uint64_t folded; /* by a new store */
};

static const char *name_of(uint32_t number)
{
    static char names[8][16];
    static uint32_t next;
    char *name = names[next++ % 8];
    snprintf(name, sizeof(names[0]), "order-%u", number);
    return name;
}

static int64_t disk_of(const char *folder)
{
    int64_t bytes = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        char path[1024];
        struct stat status;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        bytes += stat(path, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
    }
    closedir(directory);
    return bytes;
}

static void measure_log(struct size *size)
{
    int64_t low;
    int64_t high;
    broker_memory_bounds(kit.kafka, "p.events", 0, &low, &high);
    size->records = high - low;
    for (int64_t at = low; at < high; at++) {
        struct broker_record record;
        cr_assert(broker_memory_record(kit.kafka, "p.events", 0, at, &record));
        size->bytes += record.value.size;
    }
}

/* Another process folds what is left, and has the same orders. */
static void measure_new_store(struct size *size)
{
    struct error error;
    struct content_hash here;
    struct content_hash there;
    uint64_t orders;
    files_remove_tree(kit_path(other->folder, "p-0"), NULL);
    struct owner *standby = owner_kit_stand_by(other, 0);
    owner_kit_run(&kit, 500);
    cr_assert(owner_is_warm(standby));
    owner_flush(standby);
    owner_flush(owner);
    size->folded = standby->claim.folded;
    cr_assert_eq(store_digest(view_store(owner_view(owner)), &here, &size->orders, &error),
                 ERROR_OK);
    cr_assert_eq(store_digest(view_store(owner_view(standby)), &there, &orders, &error), ERROR_OK);
    cr_assert_eq(memcmp(&here, &there, sizeof(here)), 0);
    size->disk = disk_of(kit_path(other->folder, "p-0"));
    owner_kit_release(other, 0);
}

static void take_largest(struct size *largest, const struct size *size)
{
    largest->records = size->records > largest->records ? size->records : largest->records;
    largest->bytes = size->bytes > largest->bytes ? size->bytes : largest->bytes;
    largest->orders = size->orders > largest->orders ? size->orders : largest->orders;
    largest->cached = size->cached > largest->cached ? size->cached : largest->cached;
    largest->disk = size->disk > largest->disk ? size->disk : largest->disk;
    largest->folded = size->folded > largest->folded ? size->folded : largest->folded;
}

/* ---- what happens ---- */

/* NULL: not decided yet. */
static const struct order *order_of(uint32_t number)
{
    const struct order *order = NULL;
    struct error error;
    cr_assert_eq(view_order(owner_view(owner), text_of(name_of(number)), &order, &error), ERROR_OK);
    return order;
}

static void run_until(uint32_t number, enum order_state state)
{
    for (int tick = 0; tick < 50; tick++) {
        const struct order *order = order_of(number);
        if (order != NULL && order->state == state)
            return;
        owner_kit_run(&kit, 10);
    }
    cr_assert(false, "%s is not decided: %s", name_of(number), owner_kit_trouble(owner));
}

static void finish(uint32_t number)
{
    owner_kit_report(&kit, name_of(number));
    run_until(number, ORDER_PROCESSED);
}

static void pass(int64_t ms)
{
    clock_manual_advance(&kit.clock, ms);
    for (uint32_t i = 0; i < kit.process_count; i++)
        clock_manual_advance(&kit.processes[i].clock, ms);
    owner_kit_run(&kit, 30);
}

static void live_a_day(uint32_t day)
{
    for (uint32_t i = 0; i < ORDERS_PER_DAY; i++) {
        uint32_t number = day * ORDERS_PER_DAY + i;
        uint32_t earlier = number - 3 * ORDERS_PER_DAY;
        owner_kit_submit(&kit, name_of(number));
        run_until(number, ORDER_PROCESSING);
        if (number % SLOW_EVERY != 0)
            finish(number);
        if (day >= 3 && earlier % SLOW_EVERY == 0)
            finish(earlier);
        for (int part = 0; part < 4; part++)
            pass(STEP_MS / 4);
    }
}

static void begin(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    owner_kit_begin(&kit, 1);
    kit.keep_ms = DAY_MS;
    process = owner_kit_boot(&kit, "s-1", 0);
    other = owner_kit_boot(&kit, "s-2", 0);
    owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    for (uint32_t i = 0; i < OPEN_ORDERS; i++)
        owner_kit_submit(&kit, name_of(ORDERS + i));
    owner_kit_run(&kit, 1000);
}

#define FLAT(early, late, field, permitted)                                        \
    cr_assert_leq((late).field, (early).field + (early).field * (permitted) / 100, \
                  #field ": %lld, then %lld", (long long)(early).field, (long long)(late).field)

Test(owner_days, depends_on_the_window_and_not_on_the_age, .timeout = 240)
{
    struct size early = {0};
    struct size late = {0};
    begin();
    for (uint32_t day = 0; day < DAYS; day++) {
        struct size size = {0};
        live_a_day(day);
        if (day < 4)
            continue;
        measure_log(&size);
        size.cached = view_cached_bytes(owner_view(owner));
        if (day % 5 == 0)
            measure_new_store(&size);
        take_largest(day < FIRST_DAYS ? &early : &late, &size);
    }
    fprintf(stderr, "%lld records, %lld bytes, %llu orders, %zu cached, %lld disk, %llu folded\n",
            (long long)late.records, (long long)late.bytes, (unsigned long long)late.orders,
            late.cached, (long long)late.disk, (unsigned long long)late.folded);
    FLAT(early, late, records, 20);
    FLAT(early, late, bytes, 20);
    FLAT(early, late, orders, 20);
    FLAT(early, late, cached, 20);
    FLAT(early, late, disk, 20);
    FLAT(early, late, folded, 20);
    cr_assert_gt(process->metrics->trimmed->value, 20000U);
    cr_assert_eq(owner_kit_requests(&kit, name_of(ORDERS)), 1, "an open order is not lost");
    owner_kit_report(&kit, name_of(ORDERS));
    owner_kit_run(&kit, 100);
    cr_assert_eq(owner_kit_decision(&kit, 0, name_of(ORDERS))->order_state, ORDER_PROCESSED);
}
