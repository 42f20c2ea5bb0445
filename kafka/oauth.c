/* SPDX-License-Identifier: Apache-2.0 */
/* See oauth.h. `lock` guards everything that is not fixed by kafka_oauth_new(). One thread reads at
 * a time, without the lock; those that ask meanwhile take its result. */
#include "kafka/oauth.h"

#include "kafka/oauth_token.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/program_run.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    /* librdkafka asks again after 80 percent of the life that a token had when it got it. */
    RENEW_PERCENT = 75,
    FAILURE_KEPT_MS = 3000, /* less than the 10 s after which librdkafka tries again */
    REASON_SIZE = 256
};

struct kafka_oauth {
    char *file;    /* NULL: a command */
    char *command; /* split at blanks; argv points into it */
    char **argv;
    char *extensions; /* split; pairs of names and values point into it */
    const char **pairs;
    size_t pair_count; /* twice the number of pairs */
    int64_t lifetime_ms;
    int64_t timeout_ms;
    int stop_fd; /* readable: stop */

    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool reading;
    uint64_t reads; /* that have ended */
    struct kafka_token token;
    int64_t renew_ms;                     /* wall clock */
    struct error failure;                 /* of the last read; class OK: it succeeded */
    int64_t failed_ms;                    /* monotonic */
    bool unreported;                      /* the failure, or its end */
    char reported[KAFKA_OAUTH_TEXT_SIZE]; /* "" = none */
};

/* ---- new and free ---- */

/* New array of the words in `text`, which it cuts; ends with NULL. */
static char **split(char *text, const char *between, size_t *ret_count)
{
    size_t count = 0;
    char **words = calloc(strlen(text) + 2, sizeof(*words));
    assert(words != NULL);
    for (char *word; (word = strsep(&text, between)) != NULL;) {
        if (*word != '\0')
            words[count++] = word;
    }
    *ret_count = count;
    return words;
}

static char *copy(const char *text)
{
    char *copied = strdup(text != NULL ? text : "");
    assert(copied != NULL);
    return copied;
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static void split_extensions(struct kafka_oauth *oauth)
{
    size_t count;
    char **words = split(oauth->extensions, ",", &count);
    oauth->pairs = calloc(2 * count + 1, sizeof(*oauth->pairs));
    assert(oauth->pairs != NULL);
    for (size_t i = 0; i < count; i++) {
        char *value = words[i];
        oauth->pairs[oauth->pair_count++] = strsep(&value, "=");
        oauth->pairs[oauth->pair_count++] = value != NULL ? value : "";
    }
    free(words);
}

struct kafka_oauth *kafka_oauth_new(const struct kafka_token_options *options)
{
    size_t count;
    if (!is_set(options->file) && !is_set(options->command))
        return NULL;
    struct kafka_oauth *oauth = calloc(1, sizeof(*oauth));
    assert(oauth != NULL && options->lifetime_ms > 0 && options->timeout_ms > 0);
    oauth->file = is_set(options->file) ? copy(options->file) : NULL;
    oauth->command = copy(options->command);
    oauth->argv = split(oauth->command, " ", &count);
    oauth->extensions = copy(options->extensions);
    split_extensions(oauth);
    oauth->lifetime_ms = options->lifetime_ms;
    oauth->timeout_ms = options->timeout_ms;
    oauth->stop_fd = eventfd(0, EFD_CLOEXEC);
    int rc = pthread_mutex_init(&oauth->lock, NULL);
    assert(rc == 0 && oauth->stop_fd >= 0);
    rc = pthread_cond_init(&oauth->finished, NULL);
    assert(rc == 0);
    return oauth;
}

void kafka_oauth_stop(struct kafka_oauth *oauth)
{
    if (oauth == NULL)
        return;
    int rc = eventfd_write(oauth->stop_fd, 1);
    assert(rc == 0);
}

void kafka_oauth_free(struct kafka_oauth *oauth)
{
    if (oauth == NULL)
        return;
    assert(!oauth->reading);
    kafka_token_deinit(&oauth->token);
    close(oauth->stop_fd);
    pthread_cond_destroy(&oauth->finished);
    pthread_mutex_destroy(&oauth->lock);
    free(oauth->file);
    free(oauth->command);
    free(oauth->argv);
    free(oauth->extensions);
    free(oauth->pairs);
    free(oauth);
}

/* ---- reading ---- */

static enum error_class read_content(const struct kafka_oauth *oauth, char **ret_content,
                                     size_t *ret_size, struct error *ret_error)
{
    if (oauth->file != NULL)
        return files_read(oauth->file, KAFKA_TOKEN_BYTES_MAX, ret_content, ret_size, ret_error);
    const struct program_run options = {.argv = oauth->argv,
                                        .timeout_ms = oauth->timeout_ms,
                                        .output_max = KAFKA_TOKEN_BYTES_MAX,
                                        .cancel_fd = oauth->stop_fd};
    if (oauth->argv[0] == NULL)
        return error_set(ret_error, CODE_CONFIG, "the command is empty");
    return program_run(&options, ret_content, ret_size, ret_error);
}

static enum error_class read_token(const struct kafka_oauth *oauth, struct kafka_token *ret_token,
                                   struct error *ret_error)
{
    char *content;
    size_t size;
    struct error error;
    enum error_class class = read_content(oauth, &content, &size, ret_error);
    if (class != ERROR_OK)
        return class;
    class = kafka_token_parse((struct text){content, (uint32_t)size}, clock_wall_ms(clock_real()),
                              oauth->lifetime_ms, ret_token, &error);
    explicit_bzero(content, size);
    free(content);
    if (class == ERROR_OK)
        return ERROR_OK;
    return error_wrap(ret_error, &error, "%.200s %s",
                      oauth->file != NULL ? oauth->file : oauth->argv[0], error.message);
}

/* The result of a read. Called with the lock. */
static void keep(struct kafka_oauth *oauth, struct kafka_token *token, const struct error *failure)
{
    bool failed_before = oauth->failure.class != ERROR_OK;
    oauth->reads++;
    oauth->failure = *failure;
    if (failure->class != ERROR_OK) {
        oauth->failed_ms = clock_mono_ms(clock_real());
        oauth->unreported =
            strncmp(oauth->reported, failure->message, sizeof(oauth->reported) - 1) != 0;
        return;
    }
    int64_t now_ms = clock_wall_ms(clock_real());
    oauth->renew_ms = now_ms + (token->expires_ms - now_ms) * RENEW_PERCENT / 100;
    oauth->unreported = failed_before && oauth->reported[0] != '\0';
    kafka_token_deinit(&oauth->token);
    oauth->token = *token;
}

/* Whether the last read still counts. Called with the lock. */
static bool is_fresh(const struct kafka_oauth *oauth)
{
    if (oauth->failure.class != ERROR_OK)
        return clock_mono_ms(clock_real()) < oauth->failed_ms + FAILURE_KEPT_MS;
    return oauth->token.value != NULL && clock_wall_ms(clock_real()) < oauth->renew_ms;
}

/* The latest token (new; .value NULL: none), and why there is no newer one. */
static void take(struct kafka_oauth *oauth, struct kafka_token *ret_token,
                 struct error *ret_failure)
{
    pthread_mutex_lock(&oauth->lock);
    uint64_t reads = oauth->reads;
    while (oauth->reading)
        pthread_cond_wait(&oauth->finished, &oauth->lock);
    if (oauth->reads == reads && !is_fresh(oauth)) {
        struct kafka_token token = {.value = NULL};
        struct error failure = {.class = ERROR_OK};
        oauth->reading = true;
        pthread_mutex_unlock(&oauth->lock);
        read_token(oauth, &token, &failure);
        pthread_mutex_lock(&oauth->lock);
        oauth->reading = false;
        keep(oauth, &token, &failure);
        pthread_cond_broadcast(&oauth->finished);
    }
    kafka_token_copy(&oauth->token, ret_token);
    *ret_failure = oauth->failure;
    pthread_mutex_unlock(&oauth->lock);
}

/* On the handle's background thread. */
static void on_refresh(rd_kafka_t *rk, const char *unused, void *opaque)
{
    struct kafka_oauth *oauth = opaque;
    struct kafka_token token;
    struct error failure;
    char reason[REASON_SIZE] = "";
    (void)unused;
    take(oauth, &token, &failure);
    /* A new handle gets the last token also when there is no newer one. */
    bool usable = token.value != NULL && token.expires_ms > clock_wall_ms(clock_real());
    if (usable &&
        rd_kafka_oauthbearer_set_token(rk, token.value, token.expires_ms, token.principal,
                                       oauth->pairs, oauth->pair_count, reason,
                                       sizeof(reason)) != 0 &&
        failure.class == ERROR_OK)
        error_set(&failure, CODE_TOKEN, "librdkafka refuses the token: %s", reason);
    if (failure.class != ERROR_OK)
        rd_kafka_oauthbearer_set_token_failure(rk, failure.message);
    kafka_token_deinit(&token);
}

/* ---- handles ---- */

void kafka_oauth_attach(struct kafka_oauth *oauth, rd_kafka_conf_t *conf)
{
    /* Also for librdkafka's own ways to get a token: nothing polls an admin client. */
    rd_kafka_conf_enable_sasl_queue(conf, 1);
    if (oauth == NULL)
        return;
    rd_kafka_conf_set_opaque(conf, oauth);
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_refresh);
}

void kafka_oauth_begin(rd_kafka_t *rk)
{
    /* The error: the mechanism needs no callbacks. */
    rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(rk));
}

enum kafka_oauth_news kafka_oauth_take_news(struct kafka_oauth *oauth, bool *ret_fails,
                                            char ret_reason[KAFKA_OAUTH_TEXT_SIZE])
{
    enum kafka_oauth_news news = KAFKA_OAUTH_NO_NEWS;
    if (oauth == NULL)
        return news;
    pthread_mutex_lock(&oauth->lock);
    if (oauth->unreported && oauth->failure.class != ERROR_OK) {
        snprintf(oauth->reported, sizeof(oauth->reported), "%s", oauth->failure.message);
        memcpy(ret_reason, oauth->reported, sizeof(oauth->reported));
        news = KAFKA_OAUTH_FAILS;
    } else if (oauth->unreported) {
        oauth->reported[0] = '\0';
        news = KAFKA_OAUTH_WORKS_AGAIN;
    }
    oauth->unreported = false;
    *ret_fails = oauth->failure.class != ERROR_OK;
    pthread_mutex_unlock(&oauth->lock);
    return news;
}
