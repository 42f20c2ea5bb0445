/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http_call.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_SECONDS = 5 };

static size_t collect(char *data, size_t one, size_t count, void *ctx)
{
    struct http_reply *reply = ctx;
    size_t size = one * count;
    if (size > HTTP_CALL_ANSWER_MAX - reply->size)
        return 0;
    reply->body = realloc(reply->body, reply->size + size + 1);
    assert(reply->body != NULL);
    memcpy(reply->body + reply->size, data, size);
    reply->size += size;
    reply->body[reply->size] = '\0';
    return size;
}

static CURLcode perform(CURL *curl, const char *url, const char *json, long seconds,
                        struct http_reply *reply)
{
    long status = 0;
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, seconds);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    if (json != NULL) {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json);
    }
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    reply->status = (int)status;
    curl_slist_free_all(headers);
    return code;
}

enum error_class http_call(const char *url, const char *json, long seconds,
                           struct http_reply *ret_reply, struct error *ret_error)
{
    struct http_reply reply = {.body = calloc(1, 1)};
    CURL *curl = curl_easy_init();
    assert(curl != NULL && reply.body != NULL && seconds > 0);
    CURLcode code = perform(curl, url, json, seconds, &reply);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK) {
        http_reply_deinit(&reply);
        return error_set(ret_error, ERROR_RETRY, "NoAnswer", "%s", curl_easy_strerror(code));
    }
    *ret_reply = reply;
    return ERROR_OK;
}

void http_reply_deinit(struct http_reply *reply)
{
    free(reply->body);
    *reply = (struct http_reply){0};
}
