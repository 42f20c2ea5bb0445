/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions of the engine. They stay on in release: what the design proves is checked before a
 * wrong record can be written. The hook is <assert.h>'s own, so the engine needs nothing but
 * libc. */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include <assert.h>

#define ENGINE_ASSERT(condition) assert(condition)

#endif
