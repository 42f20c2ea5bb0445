/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/schemas/fixture.h"

struct kit kit;

void open_kit(void)
{
    kit_init(&kit);
}

void close_kit(void)
{
    kit_deinit(&kit);
}
