/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: stories of cases that fail, and what differs. JSON: all of every case. */
#include "cli/test/test_run.h"
#include "cli/workflow/verbs.h"
#include "replica/cluster/workflow_entry_json.h"
#include "schemas/json/json_codec.h"

#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static json_t *differences_json(const struct test_result *result)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < result->difference_count; i++) {
        const struct rehearsal_difference *difference = &result->differences[i];
        json_t *object = json_object();
        json_codec_put(object, "what", json_codec_text(difference->what));
        json_codec_put(object, "expected", json_codec_text(difference->expected));
        json_codec_put(object, "actual", json_codec_text(difference->actual));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *story_json(const struct rehearsal *rehearsal)
{
    json_t *list = json_array();
    for (const struct rehearsal_entry *entry = rehearsal->story; entry != NULL;
         entry = entry->next) {
        json_t *object = json_object();
        json_codec_put(object, "time", json_codec_time(entry->at));
        json_codec_put(object, "order_id", json_codec_text(entry->order_id));
        json_codec_put(object, "kind", json_string(event_kind_name(entry->kind)));
        json_codec_put(object, "words", json_codec_text(entry->words));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *case_json(const struct test_result *result)
{
    const struct rehearsal *rehearsal = result->rehearsal;
    const struct order *order = rehearsal_order(rehearsal);
    json_t *row = json_object();
    json_codec_put(row, "file", json_codec_text(text_of(result->path)));
    json_codec_put(row, "line", json_integer(result->test->mark.line));
    json_codec_put(row, "case", json_codec_text(result->test->name));
    json_codec_put(row, "passed", json_boolean(result->difference_count == 0));
    json_codec_put(row, "state",
                   order != NULL ? json_string(order_state_name(order->state)) : json_null());
    json_codec_put(row, "differences", differences_json(result));
    json_codec_put(row, "story", story_json(rehearsal));
    return row;
}

static json_t *problems_json(const char *path, const struct workflow_problems *problems)
{
    json_t *row = json_object();
    json_codec_put(row, "file", json_codec_text(text_of(path)));
    json_codec_put(row, "passed", json_false());
    json_codec_put(row, "problems", workflow_problems_json(problems->items, problems->count));
    return row;
}

/* ---- text ---- */

static void print_text(FILE *out, struct text text)
{
    char *string = strndup(text.data, text.size);
    output_text(out, string, 0);
    free(string);
}

/* As wide as the longest id; 0: there are no sub-orders, and so no such column. */
static int order_width(const struct rehearsal *rehearsal)
{
    uint32_t width = 5; /* of its title */
    bool several = false;
    for (const struct rehearsal_entry *entry = rehearsal->story; entry != NULL;
         entry = entry->next) {
        several |= !text_equal(entry->order_id, rehearsal->story->order_id);
        width = entry->order_id.size > width ? entry->order_id.size : width;
    }
    return several ? (int)width : 0;
}

static void print_order_id(FILE *out, struct text order_id, int width)
{
    if (width == 0)
        return;
    print_text(out, order_id);
    fprintf(out, "%*s  ", width - (int)order_id.size, "");
}

static void print_story(FILE *out, const struct rehearsal *rehearsal)
{
    int width = order_width(rehearsal);
    fprintf(out, "  %-23s  ", "TIME (UTC)");
    print_order_id(out, TEXT("ORDER"), width);
    fputs("EVENT\n", out);
    for (const struct rehearsal_entry *entry = rehearsal->story; entry != NULL;
         entry = entry->next) {
        json_t *rfc3339 = json_codec_time(entry->at);
        json_t *time = output_time_ms(rfc3339);
        fprintf(out, "  %-23s  ", json_string_value(time));
        print_order_id(out, entry->order_id, width);
        print_text(out, entry->words);
        fputc('\n', out);
        json_decref(time);
        json_decref(rfc3339);
    }
}

static void print_difference(FILE *out, const struct rehearsal_difference *difference)
{
    fputs("  ", out);
    print_text(out, difference->what);
    fputs("\n    expected  ", out);
    print_text(out, difference->expected);
    fputs("\n    actual    ", out);
    print_text(out, difference->actual);
    fputc('\n', out);
}

static void print_case(const struct test_report *report, const struct test_result *result)
{
    FILE *out = report->cli->out;
    bool passed = result->difference_count == 0;
    if (passed && !report->verbose)
        return;
    fprintf(out, "%s %s:%u: ", passed ? "PASS" : "FAIL", result->path, result->test->mark.line);
    print_text(out, result->test->name);
    fputc('\n', out);
    print_story(out, result->rehearsal);
    for (uint32_t i = 0; i < result->difference_count; i++)
        print_difference(out, &result->differences[i]);
    fputc('\n', out);
}

/* ---- either ---- */

void test_report_case(struct test_report *report, const struct test_result *result)
{
    if (result->difference_count == 0)
        report->passed++;
    else
        report->failed++;
    test_junit_case(&report->junit, result);
    if (report->output != NULL)
        output_row(report->output, case_json(result));
    else
        print_case(report, result);
}

void test_report_problems(struct test_report *report, const char *path,
                          const struct workflow_problems *problems)
{
    const struct workflow_problem *first = problems_first_error(problems);
    report->failed++;
    test_junit_error(&report->junit, path, first != NULL ? first->text : "too many warnings");
    if (report->output != NULL)
        output_row(report->output, problems_json(path, problems));
    else
        workflow_print_problems(report->cli, NULL, path, problems);
}
