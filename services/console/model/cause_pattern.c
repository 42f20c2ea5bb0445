/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/cause_pattern.h"

#include <ctype.h>
#include <string.h>

enum { DIGITS_OF_AN_ID = 3, ORDER_ID_MIN = 3 }; /* shorter ones are part of many words */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool names_order(struct text word, struct text order_id)
{
    return order_id.size >= ORDER_ID_MIN && word.size >= order_id.size &&
           memmem(word.data, word.size, order_id.data, order_id.size) != NULL;
}

/* "#1234", "41,", "3f2a-77c1-...", "order-2041:": but not "S3" or "v2". */
static bool varies(struct text word, struct text order_id)
{
    uint32_t digits = 0;
    uint32_t letters = 0;
    for (uint32_t i = 0; i < word.size; i++) {
        unsigned char c = (unsigned char)word.data[i];
        digits += isdigit(c) != 0;
        letters += isalpha(c) != 0 || c >= 0x80;
    }
    return digits >= DIGITS_OF_AN_ID || (digits > 0 && letters == 0) || names_order(word, order_id);
}

struct text cause_pattern(struct text message, struct text order_id, char *buffer, uint32_t size)
{
    uint32_t used = 0;
    for (uint32_t at = 0; at < message.size && used < size;) {
        uint32_t end = at;
        bool blank = is_blank(message.data[at]);
        while (end < message.size && is_blank(message.data[end]) == blank)
            end++;
        struct text word = {message.data + at, end - at};
        if (blank)
            word = TEXT(" ");
        else if (varies(word, order_id))
            word = TEXT("#");
        uint32_t more = word.size < size - used ? word.size : size - used;
        memcpy(buffer + used, word.data, more);
        used += more;
        at = end;
    }
    return (struct text){buffer, used};
}
