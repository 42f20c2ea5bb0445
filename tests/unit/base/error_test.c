/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <criterion/criterion.h>
#include <ctype.h>

Test(errors, have_names_that_programs_can_tell_apart)
{
    cr_assert_str_eq(error_code_name(CODE_UNKNOWN_SCHEMA), "UnknownSchema");
    cr_assert(text_equal(error_code_text(CODE_NOT_A_COMMAND), TEXT("NotACommand")));
    for (int code = CODE_FOREIGN + 1; code < ERROR_CODE_COUNT; code++) {
        const char *name = error_code_name((enum error_code)code);
        cr_assert(strlen(name) > 0 && strlen(name) < ERROR_CODE_SIZE, "%s", name);
        cr_assert(isupper((unsigned char)name[0]), "%s", name);
        for (const char *at = name; *at != '\0'; at++)
            cr_assert(isalpha((unsigned char)*at), "%s", name);
        cr_assert_neq(error_set(NULL, (enum error_code)code, "x"), ERROR_OK, "%s", name);
        for (int other = 0; other < code; other++)
            cr_assert_str_neq(name, error_code_name((enum error_code)other));
    }
}

Test(errors, are_of_the_class_of_their_code)
{
    struct error error;
    cr_assert_eq(error_set(&error, CODE_QUEUE_FULL, "%d records", 7), ERROR_RETRY);
    cr_assert_eq(error.class, ERROR_RETRY);
    cr_assert_eq(error.code, CODE_QUEUE_FULL);
    cr_assert_str_eq(error_name_of(&error), "QueueFull");
    cr_assert_str_eq(error.message, "7 records");
    cr_assert_eq(error_set(NULL, CODE_LISTEN, "x"), ERROR_FATAL);
    cr_assert_eq(error_set_as(&error, ERROR_FATAL, CODE_UNREADABLE, "x"), ERROR_FATAL);
    cr_assert_eq(error.class, ERROR_FATAL);
}

Test(errors, of_libraries_keep_their_names)
{
    struct error error;
    struct error wrapped;
    cr_assert_eq(error_set_foreign(&error, ERROR_RETRY, "_TRANSPORT", "no route"), ERROR_RETRY);
    cr_assert_str_eq(error_name_of(&error), "_TRANSPORT");
    cr_assert_eq(error_wrap(&wrapped, &error, "topic t: %s", error.message), ERROR_RETRY);
    cr_assert_str_eq(error_name_of(&wrapped), "_TRANSPORT");
    cr_assert_str_eq(wrapped.message, "topic t: no route");
    cr_assert_eq(wrapped.class, ERROR_RETRY);
    cr_assert(error_has_code_of(&wrapped, &error));
    error_set_foreign(&error, ERROR_RETRY, "_FAIL", "x");
    cr_assert_not(error_has_code_of(&wrapped, &error));
    error_set(&error, CODE_QUEUE_FULL, "x");
    cr_assert_str_eq(error_name_of(&error), "QueueFull");
    cr_assert_str_eq(error_name_of(&(struct error){.class = ERROR_OK}), "");
}
