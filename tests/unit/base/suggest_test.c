/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <criterion/criterion.h>

static const char *const names[] = {"workflow", "order", "topics.prefix", "", "ship"};
static const struct text texts[] = {TEXT_CONST("workflow"), TEXT_CONST("order"),
                                    TEXT_CONST("topics.prefix"), TEXT_CONST(""),
                                    TEXT_CONST("ship")};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

Test(suggest, finds_the_nearest_name)
{
    static const struct {
        const char *wrong;
        const char *nearest; /* NULL: none is near */
    } rows[] = {
        {"worfklow", "workflow"},
        {"Workflows", "workflow"},
        {"ordre", "order"},
        {"ORDER", "order"},
        {"topic-prefix", "topics.prefix"},
        {"prefix", "topics.prefix"},
        {"work", "workflow"},
        {"wor", NULL},
        {"pay", NULL},
        {"shop", "ship"},
        {"stop", NULL},
        {"", NULL},
        {"a name of more than sixty-four bytes, which is compared with none of them", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *string = suggest_string(rows[i].wrong, names, NAMES);
        const struct text *text = suggest_text(text_of(rows[i].wrong), texts, NAMES);
        cr_expect_eq(string != NULL, rows[i].nearest != NULL, "%s", rows[i].wrong);
        cr_expect_eq(text != NULL, rows[i].nearest != NULL, "%s", rows[i].wrong);
        if (string != NULL && text != NULL && rows[i].nearest != NULL) {
            cr_expect_str_eq(string, rows[i].nearest);
            cr_expect(text_equal(*text, text_of(rows[i].nearest)), "%s", rows[i].wrong);
        }
    }
}

Test(suggest, stays_within_the_distance_that_its_caller_allows)
{
    cr_expect_null(suggest_within(TEXT("wrokflwo"), texts, NAMES, 1));
    cr_expect_eq(suggest_within(TEXT("wrokflwo"), texts, NAMES, 2), &texts[0]);
    cr_expect_eq(suggest_within(TEXT("SHIP"), texts, NAMES, 0), &texts[4]);
    cr_expect_null(suggest_within(TEXT("work"), texts, NAMES, 3));
}

Test(suggest, prefers_the_nearer_of_two)
{
    static const struct text two[] = {TEXT_CONST("Release"), TEXT_CONST("Released")};
    cr_expect_eq(suggest_text(TEXT("Relese"), two, 2), &two[0]);
}
