/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service over librdkafka and its mock cluster: valid and invalid records
 * together. */
#include "base/goods.h"
#include "replica/service/settings.h"
#include "services/submission/submission.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { NOTES_MAX = 64 };

/* What a reader has seen on a topic. */
struct notes {
    struct broker_reader *readers[LAB_PARTITIONS];
    uint32_t count;
    struct note {
        char key[32];
        char code[ERROR_CODE_SIZE]; /* of a dead letter */
        char offset[24];
        uint32_t value_size;
        int32_t partition;
    } records[NOTES_MAX];
};

static struct lab lab;
static struct service_context context;
static struct submission *submission;
static struct codec *codec;
static struct lab_appends appends;
static struct notes commands;
static struct notes letters;

/* ---- notes ---- */

static void copy(char *to, size_t size, struct text text)
{
    snprintf(to, size, "%.*s", TEXT_ARG(text));
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct notes *notes = ctx;
    cr_assert(notes->count < NOTES_MAX);
    struct note *note = &notes->records[notes->count++];
    *note = (struct note){.value_size = record->value.size, .partition = record->partition};
    copy(note->key, sizeof(note->key), record->key);
    for (uint32_t i = 0; i < record->header_count; i++) {
        if (text_equal(record->headers[i].name, TEXT("__streams.errors.exception")))
            copy(note->code, sizeof(note->code), record->headers[i].value);
        if (text_equal(record->headers[i].name, TEXT("__streams.errors.offset")))
            copy(note->offset, sizeof(note->offset), record->headers[i].value);
    }
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    (void)ctx;
    cr_assert(error->class == ERROR_RETRY, "%s", error->message);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void take_notes(struct notes *notes, const char *topic)
{
    for (int32_t p = 0; p < LAB_PARTITIONS; p++)
        notes->readers[p] = broker_read(lab.broker, topic, p, BROKER_EARLIEST, &reader_ops, notes);
}

static void end_notes(struct notes *notes)
{
    for (int32_t p = 0; p < LAB_PARTITIONS; p++)
        broker_reader_close(notes->readers[p]);
}

/* ---- the stage ---- */

static bool is_assigned(void *ctx)
{
    (void)ctx;
    return submission->assigned;
}

static void set(const char *name, const char *value)
{
    struct error error = {0};
    cr_assert(config_set(context.config, name, value, &error) == ERROR_OK, "%s", error.message);
}

static void append(const char *topic, int32_t partition, struct text key, struct text value)
{
    struct broker_append record = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = topic,
                                   .partition = partition,
                                   .key = key,
                                   .value = value,
                                   .done = lab_appended,
                                   .ctx = &appends,
                                   .token = appends.sent++};
    struct error error;
    cr_assert(broker_append(lab.broker, &record, &error) == ERROR_OK);
}

static void deploy(void)
{
    static const char source[] = "Name: w\nVersion: 1\nSteps:\n  - Name: s\n    Agent: a\n";
    struct workflow_definition definition = {
        .name = TEXT("w"), .version = 1, .text = TEXT(source), .format = TEXT("yaml")};
    struct buffer bytes = {0};
    codec_encode(codec, RECORD_WORKFLOW_DEFINITION, &definition, &bytes);
    append(lab.topics.workflows, 0, TEXT("w:1"),
           (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
    cr_assert(lab_wait(&lab, &appends.acked, 1));
}

static void set_up(void)
{
    struct error error = {0};
    lab_open(&lab);
    lab_appends_init(&appends, NOTES_MAX);
    codec = codec_new();
    context = (struct service_context){.name = "submission",
                                       .instance_id = "one",
                                       .clock = clock_real(),
                                       .config = config_new(&settings_schema),
                                       .loop = lab.loop,
                                       .metrics = metrics_new()};
    set("kafka.bootstrap.servers", lab.bootstrap);
    set("session.timeout.ms", "3500");
    set("topics.prefix", lab.topics.prefix);
    set("submission.http", "false");
    cr_assert(config_finish(context.config, &error) == ERROR_OK, "%s", error.message);
    deploy();
    take_notes(&commands, lab.topics.commands);
    take_notes(&letters, lab.topics.dead_letters);
    cr_assert(submission_open(&context, NULL, &submission, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert(lab_wait_until(&lab, is_assigned, NULL));
}

static void tear_down(void)
{
    end_notes(&commands);
    end_notes(&letters);
    submission_close(submission);
    lab_close(&lab);
    metrics_free(context.metrics);
    config_free(context.config);
    codec_free(codec);
    lab_appends_deinit(&appends);
}

TestSuite(submission_embedded, .init = set_up, .fini = tear_down);

/* ---- inputs ---- */

static struct text order(const char *order_id, const char *workflow)
{
    static struct buffer kept[NOTES_MAX];
    static unsigned next;
    struct buffer *bytes = &kept[next++ % NOTES_MAX];
    struct order_line line = {TEXT("sku"), TEXT(""), 1, {10000}};
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER,
        .order_id = text_of(order_id),
        .submit_order = {.order_id = text_of(order_id),
                         .goods = &(struct goods){TEXT("EUR"), &line, 1},
                         .priority = PRIORITY_NORMAL,
                         .workflow = text_of(workflow)},
    };
    bytes->size = 0;
    codec_encode(codec, RECORD_SUBMIT_ORDER, &cmd, bytes);
    return (struct text){(const char *)bytes->data, (uint32_t)bytes->size};
}

static void submit(const char *key, struct text value)
{
    append(lab.topics.submissions, 0, text_of(key), value);
}

static uint32_t count_of(const struct notes *notes, const char *key)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < notes->count; i++)
        count += strcmp(notes->records[i].key, key) == 0;
    return count;
}

Test(submission_embedded, dead_letters_unsound_records_and_processes_their_neighbours)
{
    static char oversized[INPUT_BYTES_MAX + 1];
    struct text good = order("x", "w");
    struct text unknown = order("x", "w");
    ((char *)(uintptr_t)unknown.data)[4] ^= 0x11;
    const struct {
        const char *key;
        struct text value;
        const char *code;
    } poison[] = {
        {"garbage", TEXT("garbage"), "NotAvro"},
        {"truncated", {good.data, good.size - 2}, "Truncated"},
        {"oversized", {oversized, sizeof(oversized)}, "TooLong"},
        {"unknown", unknown, "UnknownSchema"},
        {"wrong-key", good, "WrongKey"},
        {"tombstone", {NULL, 0}, "Empty"},
        {"nowhere", order("nowhere", "none"), "UnknownWorkflow"},
    };
    uint32_t count = sizeof(poison) / sizeof(poison[0]);
    for (uint32_t i = 0; i < count; i++) {
        char before[32], after[32];
        snprintf(before, sizeof(before), "before-%u", i);
        snprintf(after, sizeof(after), "after-%u", i);
        submit(before, order(before, "w"));
        submit(poison[i].key, poison[i].value);
        submit(after, order(after, "w"));
    }
    cr_assert(lab_wait(&lab, &commands.count, 2 * count), "%u commands", commands.count);
    cr_assert(lab_wait(&lab, &letters.count, count), "%u dead letters", letters.count);
    for (uint32_t i = 0; i < count; i++) {
        const struct note *letter = NULL;
        for (uint32_t at = 0; at < letters.count; at++) {
            if (strcmp(letters.records[at].key, poison[i].key) == 0)
                letter = &letters.records[at];
        }
        char offset[24];
        snprintf(offset, sizeof(offset), "%u", 3 * i + 1);
        cr_assert(letter != NULL, "%s", poison[i].key);
        cr_assert_str_eq(letter->code, poison[i].code);
        cr_assert_str_eq(letter->offset, offset);
        uint32_t size = poison[i].value.size;
        cr_assert(letter->value_size ==
                  (size > DEAD_LETTER_WHOLE_MAX ? DEAD_LETTER_CUT_BYTES : size));
        cr_assert(count_of(&commands, poison[i].key) == 0);
    }
    cr_assert(commands.count == 2 * count && letters.count == count);
}

Test(submission_embedded, puts_commands_on_the_partition_of_their_order)
{
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof(id), "o%d", i);
        submit(id, order(id, "w"));
        submit(id, order(id, "w"));
    }
    cr_assert(lab_wait(&lab, &commands.count, 40));
    for (uint32_t i = 0; i < commands.count; i++) {
        const struct note *note = &commands.records[i];
        cr_assert(count_of(&commands, note->key) == 2, "%s", note->key);
        cr_assert(note->partition == broker_partition_of(text_of(note->key), LAB_PARTITIONS));
    }
}
