/* SPDX-License-Identifier: Apache-2.0 */
/* See name_lookup.h. The loop and the thread each own the lookup; the second one to let go frees
 * it. The wakeup is the loop's: the thread uses it under the lock, and only if it is still open. */
#include "platform/name_lookup.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name_lookup {
    name_lookup_done done;
    void *userdata;
    struct loop_wakeup wakeup;
    pthread_mutex_t lock;
    bool is_cancelled;           /* under the lock: the wakeup is closed */
    bool is_ended;               /* under the lock: the thread is through */
    struct name_addresses found; /* the thread's, until it is through */
    char name[];
};

static void lookup_free(struct name_lookup *lookup)
{
    pthread_mutex_destroy(&lookup->lock);
    free(lookup);
}

/* ---- the thread ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The addresses without those that cannot be written as text, sorted, each once. */
static void keep_addresses(struct name_addresses *found, const struct addrinfo *list)
{
    size_t count = 0;
    for (const struct addrinfo *info = list; info != NULL && count < NAME_ADDRESSES_MAX;
         info = info->ai_next) {
        if (getnameinfo(info->ai_addr, info->ai_addrlen, found->texts[count],
                        sizeof(found->texts[count]), NULL, 0, NI_NUMERICHOST) == 0)
            count++;
    }
    qsort(found->texts, count, sizeof(found->texts[0]), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (found->count > 0 && strcmp(found->texts[found->count - 1], found->texts[i]) == 0)
            continue;
        if (found->count != i)
            memcpy(found->texts[found->count], found->texts[i], sizeof(found->texts[i]));
        found->count++;
    }
}

static void *resolve(void *arg)
{
    struct name_lookup *lookup = arg;
    struct addrinfo *list = NULL;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int rc = getaddrinfo(lookup->name, NULL, &hints, &list);
    if (rc == 0) {
        keep_addresses(&lookup->found, list);
        freeaddrinfo(list);
    }
    if (lookup->found.count == 0)
        snprintf(lookup->found.problem, sizeof(lookup->found.problem), "%s",
                 gai_strerror(rc != 0 ? rc : EAI_NONAME));
    pthread_mutex_lock(&lookup->lock);
    bool is_cancelled = lookup->is_cancelled;
    lookup->is_ended = true;
    if (!is_cancelled)
        loop_wakeup_send(&lookup->wakeup);
    pthread_mutex_unlock(&lookup->lock);
    if (is_cancelled)
        lookup_free(lookup);
    return NULL;
}

/* ---- the loop ---- */

static void on_wakeup(void *ctx)
{
    struct name_lookup *lookup = ctx;
    loop_wakeup_close(&lookup->wakeup);
    /* The thread may still hold the lock with which it sent the wakeup. */
    pthread_mutex_lock(&lookup->lock);
    assert(lookup->is_ended && !lookup->is_cancelled);
    pthread_mutex_unlock(&lookup->lock);
    lookup->done(&lookup->found, lookup->userdata);
    lookup_free(lookup);
}

enum error_class name_lookup_new(struct loop *loop, const char *name, name_lookup_done done,
                                 void *userdata, struct name_lookup **ret_lookup,
                                 struct error *ret_error)
{
    size_t size = strlen(name) + 1;
    struct name_lookup *lookup = calloc(1, sizeof(*lookup) + size);
    assert(lookup != NULL && done != NULL);
    lookup->done = done;
    lookup->userdata = userdata;
    memcpy(lookup->name, name, size);
    int rc = pthread_mutex_init(&lookup->lock, NULL);
    assert(rc == 0);
    enum error_class class = loop_wakeup_open(loop, &lookup->wakeup, on_wakeup, lookup, ret_error);
    if (class != ERROR_OK) {
        lookup_free(lookup);
        return class;
    }
    pthread_t thread;
    rc = pthread_create(&thread, NULL, resolve, lookup);
    if (rc != 0) {
        loop_wakeup_close(&lookup->wakeup);
        lookup_free(lookup);
        return error_set_as(ret_error, ERROR_RETRY, CODE_NO_THREAD,
                            "no thread to resolve %.200s: %s", name, strerror(rc));
    }
    pthread_detach(thread);
    *ret_lookup = lookup;
    return ERROR_OK;
}

void name_lookup_cancel(struct name_lookup *lookup)
{
    if (lookup == NULL)
        return;
    pthread_mutex_lock(&lookup->lock);
    bool is_ended = lookup->is_ended;
    lookup->is_cancelled = true;
    loop_wakeup_close(&lookup->wakeup);
    pthread_mutex_unlock(&lookup->lock);
    if (is_ended)
        lookup_free(lookup);
}
