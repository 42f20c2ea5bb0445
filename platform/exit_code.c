/* SPDX-License-Identifier: Apache-2.0 */
/* From errors to exit codes. See exit_code.h. */
#include "platform/exit_code.h"

#include <assert.h>
#include <string.h>

int exit_code_of(const struct error *error)
{
    switch (error->class) {
    case ERROR_OK:
        return EXIT_CODE_OK;
    case ERROR_RETRY:
    case ERROR_FENCED:
        return EXIT_CODE_UNAVAILABLE;
    case ERROR_REJECT:
        if (strcmp(error->code, "Usage") == 0)
            return EXIT_CODE_USAGE;
        if (strcmp(error->code, "NotPermitted") == 0)
            return EXIT_CODE_NOT_PERMITTED;
        return strcmp(error->code, "Config") == 0 ? EXIT_CODE_CONFIG : EXIT_CODE_DATA;
    case ERROR_FATAL:
    case ERROR_CLASS_COUNT:
        break;
    }
    assert(error->class == ERROR_FATAL);
    return EXIT_CODE_INTERNAL;
}
