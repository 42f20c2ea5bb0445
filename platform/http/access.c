/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. The tokens and who is trusted; access_check.c decides about requests by them. */
#include "platform/http/access_internal.h"

#include "base/numbers.h"
#include "platform/logger.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BITS = 128, MAPPED_BITS = 96, NETWORK_SIZE = 64 };

bool http_role_permits(enum http_role role, enum http_permission permission)
{
    static const bool permits[HTTP_ROLE_COUNT][HTTP_PERMISSION_COUNT] = {
        [HTTP_ROLE_VIEWER] = {[HTTP_OPEN] = true, [HTTP_VIEW] = true},
        [HTTP_ROLE_OPERATOR] = {[HTTP_OPEN] = true, [HTTP_VIEW] = true, [HTTP_OPERATE] = true},
        [HTTP_ROLE_SUBMITTER] = {[HTTP_OPEN] = true, [HTTP_SUBMIT] = true},
        [HTTP_ROLE_AGENT] = {[HTTP_OPEN] = true, [HTTP_CALL_BACK] = true},
    };
    assert((unsigned)role < HTTP_ROLE_COUNT && (unsigned)permission < HTTP_PERMISSION_COUNT);
    return permits[role][permission];
}

/* ---- addresses ---- */

bool http_address_parse(const char *text, uint8_t ret_address[HTTP_ADDRESS_SIZE], bool *ret_ipv4)
{
    uint8_t mapped[HTTP_ADDRESS_SIZE] = {[10] = 0xff, [11] = 0xff};
    bool ipv4 = inet_pton(AF_INET, text, mapped + 12) == 1;
    if (!ipv4 && inet_pton(AF_INET6, text, mapped) != 1)
        return false;
    memcpy(ret_address, mapped, sizeof(mapped));
    *ret_ipv4 = ipv4;
    return true;
}

/* "10.0.0.0/8", "10.1.2.3", "fd00::/8". */
static bool parse_network(const char *text, struct http_network *ret_network)
{
    char address[NETWORK_SIZE];
    size_t size = strcspn(text, "/");
    uint64_t bits = ADDRESS_BITS;
    bool ipv4 = false;
    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    if (!http_address_parse(address, ret_network->address, &ipv4))
        return false;
    if (text[size] == '/') {
        struct text rest = text_of(text + size + 1);
        uint64_t most = ipv4 ? ADDRESS_BITS - MAPPED_BITS : ADDRESS_BITS;
        if (!number_take(&rest, most, &bits) || rest.size > 0)
            return false;
        bits += ipv4 ? MAPPED_BITS : 0;
    }
    ret_network->bits = (uint32_t)bits;
    return bits > (ipv4 ? MAPPED_BITS : 0); /* every address is not a proxy */
}

static bool in_network(const struct http_network *network, const uint8_t *address)
{
    uint32_t whole = network->bits / 8;
    uint32_t rest = network->bits % 8;
    uint8_t mask = (uint8_t)(0xff00u >> rest);
    return memcmp(network->address, address, whole) == 0 &&
           (rest == 0 || ((network->address[whole] ^ address[whole]) & mask) == 0);
}

bool http_access_trusts(const struct http_access *access, const uint8_t *address)
{
    bool trusts = false;
    for (size_t i = 0; i < access->network_count && !trusts; i++)
        trusts = in_network(&access->networks[i], address);
    return trusts;
}

bool http_address_is_loopback(const uint8_t *address)
{
    static const struct http_network loopback[] = {
        {.address = {[10] = 0xff, [11] = 0xff, [12] = 127}, .bits = MAPPED_BITS + 8},
        {.address = {[15] = 1}, .bits = ADDRESS_BITS}};
    return in_network(&loopback[0], address) || in_network(&loopback[1], address);
}

static enum error_class read_networks(struct http_access *access, struct error *ret_error)
{
    if (access->options.proxy_count > HTTP_PROXIES_MAX)
        return error_set(ret_error, CODE_CONFIG,
                         "http.proxy.trusted has %zu entries: the limit is %d",
                         access->options.proxy_count, HTTP_PROXIES_MAX);
    for (size_t i = 0; i < access->options.proxy_count; i++) {
        const char *text = access->options.proxies[i];
        if (!parse_network(text, &access->networks[access->network_count++]))
            return error_set(ret_error, CODE_CONFIG,
                             "http.proxy.trusted: %.64s is not an address or a network such as "
                             "10.0.0.0/8",
                             text);
    }
    return ERROR_OK;
}

/* ---- the files ---- */

struct http_access_file_kind {
    const char *gauge;
    const char *help;
    const char *degraded; /* of /readyz */
    const char *stays;    /* for the log, when it cannot be read again */
    const char *read_again;
    /* *ret_count: of what was read. */
    enum error_class (*read)(struct http_access *access, const char *path, size_t *ret_count,
                             struct error *ret_error);
};

static enum error_class read_tokens(struct http_access *access, const char *path, size_t *ret_count,
                                    struct error *ret_error)
{
    struct http_tokens tokens = {0};
    enum error_class class = http_tokens_read(path, &tokens, ret_error);
    if (class != ERROR_OK)
        return class;
    http_sessions_follow(&access->sessions, &access->tokens, &tokens);
    http_tokens_deinit(&access->tokens);
    access->tokens = tokens;
    *ret_count = tokens.count;
    return ERROR_OK;
}

static enum error_class read_groups(struct http_access *access, const char *path, size_t *ret_count,
                                    struct error *ret_error)
{
    struct http_groups groups = {0};
    enum error_class class = http_groups_read(path, &groups, ret_error);
    if (class != ERROR_OK)
        return class;
    http_groups_deinit(&access->groups);
    access->groups = groups;
    *ret_count = groups.count;
    return ERROR_OK;
}

static const struct http_access_file_kind file_kinds[HTTP_ACCESS_FILE_COUNT] = {
    [HTTP_TOKEN_FILE] = {.gauge = "reeve_http_tokens_outdated",
                         .help =
                             "1: http.tokens.file cannot be read again, so that tokens that were "
                             "revoked since are still accepted.",
                         .degraded =
                             "http.tokens.file cannot be read again: tokens that were revoked "
                             "since are still accepted; see the log",
                         .stays = "cannot read the tokens again; those that were read before stay, "
                                  "also what was revoked since",
                         .read_again = "read the tokens again",
                         .read = read_tokens},
    [HTTP_GROUP_FILE] = {.gauge = "reeve_http_groups_outdated",
                         .help = "1: http.groups.file cannot be read again, so that users who were "
                                 "taken out of a group since are still in it.",
                         .degraded = "http.groups.file cannot be read again: users who were taken "
                                     "out of a group since are still in it; see the log",
                         .stays = "cannot read the groups again; those that were read before stay, "
                                  "with users who were taken out since",
                         .read_again = "read the groups again",
                         .read = read_groups},
};

static enum error_class read_again(struct http_access *access, struct http_access_file *file,
                                   struct error *ret_error)
{
    size_t count = 0;
    enum error_class class = file->kind->read(access, file->path, &count, ret_error);
    file->outdated = class != ERROR_OK;
    if (file->gauge != NULL)
        metrics_set(file->gauge, file->outdated);
    if (class == ERROR_OK)
        log_info(file->kind->read_again, LOG_STR("file", file->path), LOG_U64("entries", count));
    return class;
}

static void reload(struct http_access *access, struct http_access_file *file)
{
    struct error error;
    files_changed(file->path, &file->seen);
    if (read_again(access, file, &error) != ERROR_OK)
        log_error(file->kind->stays, LOG_ERR(&error));
}

void http_access_reload(struct http_access *access)
{
    for (int i = 0; i < HTTP_ACCESS_FILE_COUNT; i++) {
        if (access->files[i].path[0] != '\0')
            reload(access, &access->files[i]);
    }
}

const char *http_access_degraded(const struct http_access *access, int file)
{
    return access->files[file].outdated ? access->files[file].kind->degraded : NULL;
}

/* A file that could not be read is tried each time: not every reason changes it. */
static void on_check(void *ctx)
{
    struct http_access *access = ctx;
    struct error error;
    for (int i = 0; i < HTTP_ACCESS_FILE_COUNT; i++) {
        struct http_access_file *file = &access->files[i];
        if (file->path[0] != '\0' && files_changed(file->path, &file->seen))
            reload(access, file);
        else if (file->outdated)
            read_again(access, file, &error);
    }
    if (access->check != NULL)
        access->check(access->check_ctx);
    loop_timer_after(access->loop, &access->timer, HTTP_ACCESS_CHECK_MS);
}

static enum error_class begin_file(struct http_access *access, int which, const char *path,
                                   struct metrics *metrics, struct error *ret_error)
{
    const struct http_access_file_kind *kind = &file_kinds[which];
    struct http_access_file *file = &access->files[which];
    size_t count = 0;
    *file = (struct http_access_file){.kind = kind, .path = path};
    if (path[0] == '\0')
        return ERROR_OK;
    files_changed(path, &file->seen);
    enum error_class class = kind->read(access, path, &count, ret_error);
    if (class != ERROR_OK || metrics == NULL)
        return class;
    file->gauge = metrics_gauge(metrics, kind->gauge, kind->help, METRICS_NO_LABELS);
    metrics_set(file->gauge, 0);
    return ERROR_OK;
}

/* ---- life ---- */

/* Without authentication, no token counts. */
static enum error_class begin(struct http_access *access, struct metrics *metrics,
                              struct error *ret_error)
{
    const struct http_access_options *options = &access->options;
    const char *token_file = options->authenticates ? options->token_file : "";
    const char *group_file = options->group_file != NULL ? options->group_file : "";
    enum error_class class = read_networks(access, ret_error);
    if (class == ERROR_OK)
        class = begin_file(access, HTTP_TOKEN_FILE, token_file, metrics, ret_error);
    if (class == ERROR_OK)
        class = begin_file(access, HTTP_GROUP_FILE, group_file, metrics, ret_error);
    return class;
}

enum error_class http_access_new(struct loop *loop, struct metrics *metrics,
                                 const struct http_access_options *options,
                                 struct http_access **ret_access, struct error *ret_error)
{
    struct http_access *access = calloc(1, sizeof(*access));
    assert(access != NULL && options->token_file != NULL && options->user_header != NULL);
    access->loop = loop;
    access->options = *options;
    loop_timer_init(&access->timer, on_check, access);
    if (begin(access, metrics, ret_error) != ERROR_OK) {
        http_access_free(access);
        return ERROR_REJECT;
    }
    if (metrics != NULL)
        access->failures_total =
            metrics_counter(metrics, "reeve_http_authentication_failures_total",
                            "Requests with a token that is not right.", METRICS_NO_LABELS);
    if (options->authenticates || access->files[HTTP_GROUP_FILE].path[0] != '\0')
        loop_timer_after(loop, &access->timer, HTTP_ACCESS_CHECK_MS);
    *ret_access = access;
    return ERROR_OK;
}

void http_access_free(struct http_access *access)
{
    if (access == NULL)
        return;
    assert(access->check == NULL);
    loop_timer_cancel(access->loop, &access->timer);
    http_tokens_deinit(&access->tokens);
    http_groups_deinit(&access->groups);
    free(access);
}

void http_access_on_check(struct http_access *access, void (*check)(void *ctx), void *ctx)
{
    access->check = check;
    access->check_ctx = ctx;
}

/* ---- failures ---- */

/* Addresses share slots: then they share a count. */
static struct http_failures *slot_of(struct http_access *access, const uint8_t *address)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (int i = 0; i < HTTP_ADDRESS_SIZE; i++)
        hash = (hash ^ address[i]) * 16777619u;
    return &access->failures[hash % HTTP_FAILURE_SLOTS];
}

static bool is_known(const struct http_failures *slot, const uint8_t *hash)
{
    for (int i = 0; i < HTTP_KNOWN_MAX; i++)
        if (memcmp(slot->known[i], hash, HTTP_TOKEN_HASH_SIZE) == 0)
            return true;
    return false;
}

int64_t http_access_wait_s(struct http_access *access, const uint8_t *address,
                           const uint8_t hash[HTTP_TOKEN_HASH_SIZE])
{
    const struct http_failures *slot = slot_of(access, address);
    int64_t since_ms = clock_mono_ms(loop_clock(access->loop)) - slot->since_ms;
    if (slot->count < HTTP_FAILURES_MAX || since_ms >= HTTP_FAILURES_SECONDS * 1000 ||
        is_known(slot, hash))
        return 0;
    return (HTTP_FAILURES_SECONDS * 1000 - since_ms + 999) / 1000;
}

void http_access_note(struct http_access *access, const uint8_t *address,
                      const uint8_t hash[HTTP_TOKEN_HASH_SIZE], bool right)
{
    struct http_failures *slot = slot_of(access, address);
    if (right) {
        if (!is_known(slot, hash))
            memcpy(slot->known[slot->next_known++ % HTTP_KNOWN_MAX], hash, HTTP_TOKEN_HASH_SIZE);
        return;
    }
    int64_t now_ms = clock_mono_ms(loop_clock(access->loop));
    if (slot->count == 0 || now_ms - slot->since_ms >= HTTP_FAILURES_SECONDS * 1000) {
        slot->since_ms = now_ms;
        slot->count = 0;
    }
    slot->count++;
    if (access->failures_total != NULL)
        metrics_add(access->failures_total, 1);
}
