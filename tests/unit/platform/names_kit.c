/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/platform/names_kit.h"

#include <assert.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES_MAX = 8 };

static struct {
    const char *name; /* NULL: the kit is not in use */
    const char *addresses[ADDRESSES_MAX + 1];
    pthread_mutex_t lock;
    pthread_cond_t released;
    bool held; /* under the lock */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

void names_kit_set(const char *name, const char *const addresses[])
{
    size_t count = 0;
    for (; addresses[count] != NULL; count++) {
        assert(count < ADDRESSES_MAX);
        names.addresses[count] = addresses[count];
    }
    names.addresses[count] = NULL;
    names.name = name;
}

void names_kit_hold(void)
{
    pthread_mutex_lock(&names.lock);
    names.held = true;
    pthread_mutex_unlock(&names.lock);
}

void names_kit_release(void)
{
    pthread_mutex_lock(&names.lock);
    names.held = false;
    pthread_cond_broadcast(&names.released);
    pthread_mutex_unlock(&names.lock);
}

/* The program's own comes before the C library's. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_list)
{
    resolver real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo"); /* as POSIX has it */
    if (names.name == NULL || name == NULL || strcmp(name, names.name) != 0)
        return real(name, service, hints, ret_list);
    pthread_mutex_lock(&names.lock);
    while (names.held)
        pthread_cond_wait(&names.released, &names.lock);
    pthread_mutex_unlock(&names.lock);
    struct addrinfo *list = NULL;
    struct addrinfo **link = &list;
    for (size_t i = 0; names.addresses[i] != NULL; i++) {
        int rc = real(names.addresses[i], service, hints, link);
        assert(rc == 0 && (*link)->ai_next == NULL);
        link = &(*link)->ai_next;
    }
    *ret_list = list;
    return list != NULL ? 0 : EAI_NONAME;
}
