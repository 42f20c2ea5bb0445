/* SPDX-License-Identifier: Apache-2.0 */
/* Host names of the test's own: getaddrinfo() of the whole program. */
#ifndef TESTS_UNIT_PLATFORM_NAMES_KIT_H
#define TESTS_UNIT_PLATFORM_NAMES_KIT_H

/* The name has these addresses, in this order; none: it has no address. Literals. */
#define NAMES_KIT_SET(name, ...) names_kit_set(name, (const char *const[]){__VA_ARGS__ NULL})
void names_kit_set(const char *name, const char *const addresses[]);
/* Lookups of that name wait until it is released. */
void names_kit_hold(void);
void names_kit_release(void);

#endif
