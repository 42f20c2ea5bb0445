/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a fraction, and durations, as people write them: see numbers.h. libc reads them, so
 * the engine does not. */
#include "base/numbers.h"

#include <stdlib.h>
#include <strings.h>

enum { REAL_CHARACTERS_MAX = 63 };

/* Every integer below is exact in a double. */
static const double scaled_max = 9e15;

struct unit {
    struct text name;
    double factor;
};

static const struct unit duration_units[] = {{TEXT_CONST(""), 1},        {TEXT_CONST("ms"), 1},
                                             {TEXT_CONST("s"), 1000},    {TEXT_CONST("m"), 60000},
                                             {TEXT_CONST("min"), 60000}, {TEXT_CONST("h"), 3600000},
                                             {TEXT_CONST("d"), 86400000}};

bool number_take_real(struct text *text, double *ret_real)
{
    char copy[REAL_CHARACTERS_MAX + 1];
    uint32_t size = 0;
    while (size < text->size && size < REAL_CHARACTERS_MAX &&
           (number_is_digit(text->data[size]) || number_is_sign(text->data[size]) ||
            memchr(".eE", text->data[size], 3) != NULL)) {
        copy[size] = text->data[size];
        size++;
    }
    copy[size] = '\0';
    char *end;
    double real = strtod(copy, &end);
    if (end == copy || real - real != 0) /* infinite */
        return false;
    *text = text_from(*text, (uint32_t)(end - copy));
    *ret_real = real;
    return true;
}

bool number_parse_duration(struct text text, int64_t *ret_ms)
{
    double real;
    if (!number_take_real(&text, &real))
        return false;
    while (text.size > 0 && text.data[0] == ' ')
        text = text_from(text, 1);
    for (size_t i = 0; i < sizeof(duration_units) / sizeof(duration_units[0]); i++) {
        double number = real * duration_units[i].factor;
        if (text.size != duration_units[i].name.size || number >= scaled_max ||
            number <= -scaled_max ||
            (text.size > 0 && strncasecmp(text.data, duration_units[i].name.data, text.size) != 0))
            continue;
        *ret_ms = (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
        return true;
    }
    return false;
}
