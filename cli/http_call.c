/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http_call.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_SECONDS = 5 };

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* ---- the call ---- */

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

static void set_credentials(CURL *curl, const struct service_credentials *credentials)
{
    if (credentials->ca_file != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, credentials->ca_file);
    if (credentials->cert_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, credentials->cert_file);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, credentials->key_file);
    }
    if (is_set(credentials->token)) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, credentials->token);
    }
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

/* Trying again does not help. */
static bool is_certificate_problem(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR;
}

enum error_class http_call(const struct service_credentials *credentials, const char *url,
                           const char *json, long seconds, struct http_reply *ret_reply,
                           struct error *ret_error)
{
    char detail[CURL_ERROR_SIZE] = "";
    struct http_reply reply = {.body = calloc(1, 1)};
    CURL *curl = curl_easy_init();
    assert(curl != NULL && reply.body != NULL && seconds > 0);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    set_credentials(curl, credentials);
    CURLcode code = perform(curl, url, json, seconds, &reply);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK) {
        http_reply_deinit(&reply);
        if (is_certificate_problem(code))
            return error_set(ret_error, CODE_CONFIG, "%s",
                             detail[0] != '\0' ? detail : curl_easy_strerror(code));
        return error_set(ret_error, CODE_NO_ANSWER, "%s", curl_easy_strerror(code));
    }
    *ret_reply = reply;
    return ERROR_OK;
}

void http_reply_deinit(struct http_reply *reply)
{
    free(reply->body);
    *reply = (struct http_reply){0};
}
