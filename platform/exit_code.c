/* SPDX-License-Identifier: Apache-2.0 */
/* From errors to exit codes. See exit_code.h. */
#include "platform/exit_code.h"

#include <assert.h>

int exit_code_of(const struct error *error)
{
    switch (error->class) {
    case ERROR_OK:
        return EXIT_CODE_OK;
    case ERROR_RETRY:
    case ERROR_FENCED:
        return EXIT_CODE_UNAVAILABLE;
    case ERROR_REJECT:
        if (error->code == CODE_USAGE)
            return EXIT_CODE_USAGE;
        if (error->code == CODE_NOT_PERMITTED)
            return EXIT_CODE_NOT_PERMITTED;
        return error->code == CODE_CONFIG ? EXIT_CODE_CONFIG : EXIT_CODE_DATA;
    case ERROR_FATAL:
    case ERROR_CLASS_COUNT:
        break;
    }
    assert(error->class == ERROR_FATAL);
    return EXIT_CODE_INTERNAL;
}
