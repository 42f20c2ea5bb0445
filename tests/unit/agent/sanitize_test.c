/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of remote services, sanitized for reports. */
#include "services/agent/core/sanitize.h"

#include "base/utf8.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define assert_text(actual, expected)                                                          \
    do {                                                                                       \
        struct text actual_ = (actual);                                                        \
        cr_assert(text_equal(actual_, text_of(expected)), "%.*s is not %s", TEXT_ARG(actual_), \
                  (expected));                                                                 \
    } while (0)

/* Empty at each call: earlier results are not used any more. */
static struct arena *arena(void)
{
    static uint8_t memory[1 << 16];
    static struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

Test(sanitize, cleans_messages)
{
    assert_text(agent_message(TEXT(""), arena()), "");
    assert_text(agent_message(TEXT("declined: caf\xc3\xa9"), arena()), "declined: caf\xc3\xa9");
    assert_text(agent_message(TEXT("two\nlines\x7f"), arena()), "two lines ");
    assert_text(agent_message(TEXT("bad \xff byte"), arena()), "bad ? byte");
    /* Cut between characters, whatever the place. */
    for (uint32_t before = 0; before < 4; before++) {
        char text[2 * MESSAGE_BYTES_MAX];
        uint32_t size = before;
        memset(text, 'x', before);
        while (size + 3 <= sizeof(text)) {
            memcpy(text + size, "\xe2\x82\xac", 3);
            size += 3;
        }
        struct text cut = agent_message((struct text){text, size}, arena());
        cr_assert(cut.size <= MESSAGE_BYTES_MAX && cut.size > MESSAGE_BYTES_MAX - 3);
        cr_assert(utf8_valid(cut));
    }
}

Test(sanitize, escapes_keys_for_headers)
{
    assert_text(agent_header_text(TEXT("536365/ReserveStock/do/0"), arena()),
                "536365/ReserveStock/do/0");
    assert_text(agent_header_text(TEXT("caf\xc3\xa9 1%/s/do/0"), arena()),
                "caf%C3%A9%201%25/s/do/0");
    assert_text(agent_header_text(TEXT("a\r\nb: c\x7f"), arena()), "a%0D%0Ab:%20c%7F");
}
