/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"
#include "engine/output.h"

#include <criterion/criterion.h>

enum { BYTES_MAX = 64 };

static struct arena *scratch(void)
{
    static char memory[256 * 1024];
    static struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

static void expect(const char *json, const char *expected)
{
    struct text output = output_canonical(text_of(json), BYTES_MAX, scratch());
    cr_expect(text_equal(output, text_of(expected)), "%s gave %.*s", json, TEXT_ARG(output));
}

Test(engine_output, is_canonical_and_its_numbers_exact)
{
    expect(" { \"a\" : [ 1 , 2.50 ] ,\n\t\"b c\" : \" x \\\" y \" }\r\n",
           "{\"a\":[1,2.5],\"b c\":\" x \\\" y \"}");
    expect("19.99", "19.99");
    expect("\"text\\\\\" ", "\"text\\\\\"");
    expect("123456789012345678901234567890", "123456789012345678901234567890");
    expect("{\"b\":100.10,\"a\":1e2}", "{\"a\":100,\"b\":100.1}");
    expect("true", "true");
}

Test(engine_output, is_empty_where_it_is_not_json)
{
    static const char *const rows[] = {"",
                                       "null",
                                       "OK",
                                       "{\"a\":1} trailing",
                                       "<html></html>",
                                       "\"\xff\"",
                                       "{\"a\": \"b",
                                       "{\"a\":1,\"a\":2}",
                                       "1e300"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect(rows[i], "");
}

Test(engine_output, is_replaced_by_its_size_where_it_is_too_long)
{
    char json[BYTES_MAX + 100];
    memset(json, 'x', sizeof(json));
    json[0] = json[BYTES_MAX - 1] = '"';
    struct text fits = output_canonical((struct text){json, BYTES_MAX}, BYTES_MAX, scratch());
    cr_expect_eq(fits.size, BYTES_MAX);
    json[BYTES_MAX - 1] = 'x';
    json[BYTES_MAX] = '"';
    struct text cut = output_canonical((struct text){json, BYTES_MAX + 1}, BYTES_MAX, scratch());
    cr_expect(text_equal(cut, TEXT("{\"bytes\":65,\"truncated\":true}")));
    /* What is too long and not JSON is left out as well. */
    cut = output_canonical((struct text){json, BYTES_MAX + 9}, BYTES_MAX, scratch());
    cr_expect_eq(cut.size, 0);
    /* Blanks do not count. */
    memset(json, ' ', sizeof(json));
    json[0] = '1';
    cut = output_canonical((struct text){json, sizeof(json)}, BYTES_MAX, scratch());
    cr_expect(text_equal(cut, TEXT("1")));
}

Test(engine_output, of_commands_is_made_canonical)
{
    struct command report = {.kind = COMMAND_REPORT_STEP};
    struct command complete = {.kind = COMMAND_COMPLETE_STEP};
    struct command other = {.kind = COMMAND_SKIP_STEP, .skip_step = {.step = TEXT("A")}};
    report.report_step.output = TEXT("{\"b\": 1.0, \"a\": []}");
    complete.complete_step.output = TEXT("{\"a\": \"b");
    command_make_canonical(&report, scratch());
    cr_expect(text_equal(report.report_step.output, TEXT("{\"a\":[],\"b\":1}")));
    command_make_canonical(&complete, scratch());
    cr_expect_eq(complete.complete_step.output.size, 0);
    report.report_step.error_name = (struct text){"a\0b", 3};
    report.report_step.error_message = (struct text){"no\0funds", 8};
    command_make_canonical(&report, scratch());
    cr_expect(text_equal(report.report_step.error_name, TEXT("a?b")));
    cr_expect(text_equal(report.report_step.error_message, TEXT("no?funds")));
    struct command by_hand = {.kind = COMMAND_FAIL_STEP};
    by_hand.fail_step.reason = (struct text){"no\0funds", 8};
    command_make_canonical(&by_hand, scratch());
    cr_expect(text_equal(by_hand.fail_step.reason, TEXT("no?funds")));
    command_make_canonical(&other, scratch());
    cr_expect(text_equal(other.skip_step.step, TEXT("A")));
}
