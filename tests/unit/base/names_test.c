/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/names.h"

#include <criterion/criterion.h>

Test(names, accepts_letters_digits_dots_underscores_and_hyphens)
{
    static const char *const valid[] = {"a", "Reserve-Stock_2.0", ".", "-", "Z9"};
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        cr_expect(name_valid(text_of(valid[i])), "%s", valid[i]);
}

Test(names, rejects_every_other_byte)
{
    for (int c = 0; c < 256; c++) {
        char name[] = {'a', (char)c};
        bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        cr_expect_eq(name_valid((struct text){name, 2}), valid, "byte %d", c);
    }
}

Test(names, takes_no_step_of_a_path_for_a_new_name)
{
    static const char *const valid[] = {"a", "-", "...", ".a", "a.", "..a"};
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        cr_expect(name_valid_new(text_of(valid[i])), "%s", valid[i]);
    cr_expect_not(name_valid_new(TEXT(".")));
    cr_expect_not(name_valid_new(TEXT("..")));
    cr_expect_not(name_valid_new(TEXT("")));
    cr_expect_not(name_valid_new(TEXT("a/b")));
    cr_expect(name_valid(TEXT("..")), "names that were given before stay valid");
}

Test(names, limits_the_length_of_names)
{
    char name[NAME_BYTES_MAX + 1];
    memset(name, 'n', sizeof(name));
    cr_expect_not(name_valid((struct text){name, 0}));
    cr_expect(name_valid((struct text){name, NAME_BYTES_MAX}));
    cr_expect_not(name_valid((struct text){name, NAME_BYTES_MAX + 1}));
    cr_expect(name_characters_valid((struct text){name, NAME_BYTES_MAX + 1}));
    cr_expect(name_characters_valid((struct text){name, 0}));
}

Test(names, of_workflows_are_names_with_slashes_between_them)
{
    static const char *const valid[] = {"import", "import/Waves", "import/Waves/Update"};
    static const char *const wrong[] = {"",          "/", "/Waves", "import/", "import//Waves",
                                        "import/W w"};
    char large[NAME_BYTES_MAX + 3];
    memset(large, 'n', sizeof(large));
    memcpy(large, "w/", 2);
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
        cr_expect(workflow_name_valid(text_of(valid[i])), "%s", valid[i]);
        cr_expect_eq(workflow_name_is_body(text_of(valid[i])), i > 0, "%s", valid[i]);
        cr_expect(text_equal(workflow_name_file(text_of(valid[i])), TEXT("import")), "%s",
                  valid[i]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_not(workflow_name_valid(text_of(wrong[i])), "%s", wrong[i]);
    cr_expect(workflow_name_valid((struct text){large, NAME_BYTES_MAX + 2}));
    cr_expect_not(workflow_name_valid((struct text){large, NAME_BYTES_MAX + 3}));
}
