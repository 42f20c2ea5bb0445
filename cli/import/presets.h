/* SPDX-License-Identifier: Apache-2.0 */
/* `--preset NAME`: the columns of a known file format, and the rules of the shop that wrote it. */
#ifndef CLI_IMPORT_PRESETS_H
#define CLI_IMPORT_PRESETS_H

#include "cli/import/csv_map.h"

struct csv_preset {
    const char *name;
    const char *columns; /* as --map takes them */
    /* Corrects the texts of a row before they are parsed. */
    void (*correct)(struct csv_order_row *row);
    /* Why a row, whose line is parsed, is not part of an order; NULL = it may be. */
    const char *(*refuse)(const struct csv_order_row *row);
};

/* NULL: unknown. */
const struct csv_preset *csv_preset_find(const char *name);

#endif
