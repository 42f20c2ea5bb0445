/* SPDX-License-Identifier: Apache-2.0 */
/* When a view has on the disk what it has committed: what a crash does not make it fold again. */
#include "replica/fold/view.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>

static struct store_env *env;
static struct codec *codec;
static struct view *view;

static void fold(struct text value)
{
    view_kit_fold(view, view_checkpoint(view)->next_event_offset, value, NULL);
}

static void fold_claim(void)
{
    struct claim claim = {.instance = TEXT("s-1"), .claimed_at = 1, .partition_count = 1};
    struct buffer value = {0};
    claim.claim_id.bytes[0] = 7;
    codec_encode(codec, RECORD_CLAIM, &claim, &value);
    fold((struct text){(const char *)value.data, (uint32_t)value.size});
    buffer_deinit(&value);
}

static void set_up(void)
{
    env = kit_env();
    codec = codec_new();
    struct view_options options = {.env = env,
                                   .codec = codec,
                                   .path = kit_path(kit_folder(), "view"),
                                   .cache_bytes = 10 * 2048};
    view = view_kit_open(&options);
}

static void tear_down(void)
{
    view_close(view);
    codec_free(codec);
    store_env_free(env);
}

TestSuite(view_flush, .init = set_up, .fini = tear_down);

static int64_t flushed(void)
{
    int64_t next = -1;
    struct error error = {0};
    cr_assert(view_flushed(view, &next, &error) == ERROR_OK, "%s", error.message);
    return next;
}

static void fold_more(int records)
{
    for (int i = 0; i < records; i++)
        fold(TEXT("third party"));
    view_kit_commit(view);
}

Test(view_flush, tells_how_far_the_store_survives_a_crash)
{
    struct error error = {0};
    cr_assert_eq(flushed(), 0);
    fold_claim();
    view_kit_commit(view);
    fold_more(1);
    cr_assert_eq(flushed(), 1);
    cr_assert(!view_is_flushed(view));
    cr_assert(view_flush(view, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(flushed(), 2);
    cr_assert(view_is_flushed(view));
    fold(TEXT("third party"));
    cr_assert_eq(flushed(), 2);
}

Test(view_flush, has_at_once_on_the_disk_whose_log_it_is)
{
    fold_more(1);
    cr_assert_eq(flushed(), 0);
    fold_claim();
    view_kit_commit(view);
    cr_assert_eq(flushed(), 2);
}

Test(view_flush, leaves_few_records_to_be_folded_again)
{
    fold_claim();
    view_kit_commit(view);
    fold_more(19000);
    cr_assert_eq(flushed(), 1);
    fold_more(1000);
    cr_assert_eq(flushed(), 20001);
    fold_more(19000);
    cr_assert_eq(flushed(), 20001);
}

/* RocksDB flushes when its memory is full. */
Test(view_flush, flushes_nothing_itself_while_it_expects_much)
{
    fold_claim();
    view_kit_commit(view);
    view_expect_much(view, true);
    fold_more(50000);
    cr_assert_eq(flushed(), 1);
    view_expect_much(view, false);
    fold_more(1);
    cr_assert_eq(flushed(), 50002);
}
