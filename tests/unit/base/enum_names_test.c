/* SPDX-License-Identifier: Apache-2.0 */
#include "base/enum_names.h"

#include <criterion/criterion.h>

static const char *const colours[] = {"red", NULL, "green", "blue"};
static const struct enum_names colour_names = ENUM_NAMES(colours);

Test(enum_names, finds_a_value_by_its_name_and_back)
{
    uint32_t value = 99;
    cr_assert(enum_names_find(&colour_names, TEXT("green"), &value));
    cr_assert_eq(value, 2);
    cr_assert_str_eq(enum_name(&colour_names, 2), "green");
    cr_assert_not(enum_names_find(&colour_names, TEXT("Green"), &value));
    cr_assert_not(enum_names_find(&colour_names, TEXT(""), &value));
    cr_assert_not(enum_names_find(&colour_names, TEXT("gree"), &value));
    cr_assert_eq(value, 2, "untouched");
    cr_assert_str_eq(enum_name(&colour_names, 1), "?");
    cr_assert_str_eq(enum_name(&colour_names, 4), "?");
}

Test(enum_names, lists_the_names_within_the_buffer)
{
    char list[64];
    char small[12];
    enum_names_list(&colour_names, list, sizeof(list));
    cr_assert_str_eq(list, "\"red\", \"green\" or \"blue\"");
    enum_names_list(&colour_names, small, sizeof(small));
    cr_assert_str_eq(small, "\"red\", \"gre");
}
