/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded broker remembers of topics and offsets. */
#include "kafka/embedded/catalogue.h"
#include "platform/files.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_MAX (UINT64_C(1) << 20)

static char folder[PATH_MAX];
static struct catalogue *catalogue;

static enum error_class open_it(struct error *ret_error)
{
    catalogue_close(catalogue);
    catalogue = NULL;
    return catalogue_open(folder, BYTES_MAX, &catalogue, ret_error);
}

static void reopen(void)
{
    struct error error = {0};
    cr_assert_eq(open_it(&error), ERROR_OK, "%s", error.message);
}

static void set_up(void)
{
    snprintf(folder, sizeof(folder), "/tmp/embedded-catalogue-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    reopen();
}

static void tear_down(void)
{
    catalogue_close(catalogue);
    files_remove_tree(folder, NULL);
}

TestSuite(embedded_catalogue, .init = set_up, .fini = tear_down);

static struct topic *create(const char *name, int32_t partitions)
{
    cr_assert_eq(catalogue_check_new(catalogue, text_of(name), partitions),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(catalogue_create(catalogue, text_of(name), partitions),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    return catalogue_topic(catalogue, text_of(name));
}

Test(embedded_catalogue, keeps_topics_with_their_settings)
{
    char id[32];
    snprintf(id, sizeof(id), "%s", catalogue_cluster_id(catalogue));
    cr_assert_eq(strlen(id), 22);
    struct topic *topic = create("orders.events", 3);
    cr_assert_eq(
        catalogue_set(catalogue, topic, TEXT("message.timestamp.type"), TEXT("LogAppendTime")),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(catalogue_set(catalogue, topic, TEXT("retention.ms"), TEXT("5")),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(catalogue_set(catalogue, topic, TEXT("retention.ms"), (struct text){0}),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(catalogue_grow(catalogue, topic, 4), RD_KAFKA_RESP_ERR_NO_ERROR);
    for (int times = 0; times < 2; times++) { /* the journal, and the journal as rewritten */
        reopen();
        topic = catalogue_topic(catalogue, TEXT("orders.events"));
        cr_assert_not_null(topic);
        cr_assert_eq(topic->partition_count, 4);
        cr_assert(topic_has_append_time(topic));
        cr_assert_null(topic_setting(topic, "retention.ms"));
        cr_assert_str_eq(catalogue_cluster_id(catalogue), id);
        cr_assert_not_null(catalogue_partition(catalogue, TEXT("orders.events"), 3));
        cr_assert_null(catalogue_partition(catalogue, TEXT("orders.events"), 4));
    }
}

Test(embedded_catalogue, refuses_names_that_kafka_refuses)
{
    char longer[CATALOGUE_TOPIC_NAME_MAX + 2];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *const names[] = {"", ".", "..", "a/b", "a b", "../x", longer};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cr_assert_eq(catalogue_check_new(catalogue, text_of(names[i]), 1),
                     RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
    create("a", 1);
    cr_assert_eq(catalogue_check_new(catalogue, TEXT("a"), 1),
                 RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS);
    cr_assert_eq(catalogue_check_new(catalogue, TEXT("b"), 0),
                 RD_KAFKA_RESP_ERR_INVALID_PARTITIONS);
    cr_assert_eq(catalogue_check_new(catalogue, TEXT("b"), INT32_MAX),
                 RD_KAFKA_RESP_ERR_INVALID_PARTITIONS);
}

static void commit(const char *group, const char *topic, int64_t offset)
{
    cr_assert_eq(
        catalogue_commit(catalogue, text_of(group), text_of(topic), 0, offset, TEXT("a \"note\"")),
        RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(embedded_catalogue, keeps_offsets)
{
    create("a", 1);
    commit("one", "a", 5);
    commit("one", "a", 6);
    commit("two", "a", 7);
    cr_assert_eq(catalogue_forget_group(catalogue, TEXT("two")), RD_KAFKA_RESP_ERR_NO_ERROR);
    reopen();
    const struct offsets *offsets = catalogue_offsets(catalogue);
    const struct offset_row *row = offsets_find(offsets, TEXT("one"), TEXT("a"), 0);
    cr_assert_not_null(row);
    cr_assert_eq(row->offset, 6);
    cr_assert_str_eq(row->metadata, "a \"note\"");
    cr_assert_null(offsets_find(offsets, TEXT("two"), TEXT("a"), 0));
    cr_assert_null(offsets_find(offsets, TEXT("one"), TEXT("a"), 1));
}

Test(embedded_catalogue, forgets_what_belongs_to_a_deleted_topic)
{
    create("a", 2);
    commit("one", "a", 5);
    cr_assert_eq(catalogue_delete(catalogue, catalogue_topic(catalogue, TEXT("a"))),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    create("b", 1);
    reopen();
    cr_assert_null(catalogue_topic(catalogue, TEXT("a")));
    cr_assert_not_null(catalogue_topic(catalogue, TEXT("b")));
    cr_assert_null(offsets_find(catalogue_offsets(catalogue), TEXT("one"), TEXT("a"), 0));
}

static void append_to_journal(const char *text)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/journal", folder);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

Test(embedded_catalogue, ignores_a_line_that_was_not_written_to_its_end)
{
    create("a", 1);
    append_to_journal("{\"topic\":\"b\",\"part");
    reopen();
    create("c", 1);
    reopen();
    cr_assert_not_null(catalogue_topic(catalogue, TEXT("a")));
    cr_assert_null(catalogue_topic(catalogue, TEXT("b")));
    cr_assert_not_null(catalogue_topic(catalogue, TEXT("c")));
}

Test(embedded_catalogue, reports_a_damaged_journal)
{
    struct error error = {0};
    append_to_journal("{\"topic\":\n");
    cr_assert_eq(open_it(&error), ERROR_FATAL);
    cr_assert_not_null(strstr(error.message, "is damaged at line 2"), "%s", error.message);
}

Test(embedded_catalogue, survives_a_journal_that_makes_no_sense)
{
    append_to_journal("{\"topic\":\"a\",\"partitions\":-5}\n{\"topic\":\"\",\"partitions\":1}\n"
                      "{\"topic\":\"b\",\"partitions\":1}\n"
                      "{\"topic\":\"b\",\"partition\":7,\"start\":1,\"position\":1}\n"
                      "{\"topic\":\"c\",\"setting\":\"x\",\"value\":5}\n{\"group\":5}\n{}\n");
    reopen();
    cr_assert_null(catalogue_topic(catalogue, TEXT("a")));
    cr_assert_not_null(catalogue_topic(catalogue, TEXT("b")));
}
