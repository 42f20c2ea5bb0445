/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's multi interface driven by the loop: it reports which sockets to watch and when to wake
 * it. See client.h. */
#include "platform/http/client.h"

#include <assert.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECTIONS_DEFAULT = 1000,
    CONNECT_TIMEOUT_DEFAULT_MS = 3000,
    RESPONSE_DEFAULT = 256 * 1024,
    BODY_FIRST = 1024,
    BODY_KEPT_MAX = 16 * 1024 /* a bigger buffer is not kept for the next call */
};

struct http_call {
    struct http_client *client;
    struct http_call *prev, *next; /* of client->calls; `next` also of client->idle */
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to; /* NULL: what the URL says */
    http_client_callback callback;
    void *userdata;
    int64_t started_us;
    int64_t send_until_us; /* INT64_MAX = no limit */
    char *body;
    size_t body_size;
    size_t body_capacity;
    bool body_cut;
    bool maybe_sent;
    char message[CURL_ERROR_SIZE];
};

struct http_client {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer timer;
    struct loop_deferred deferred;
    struct http_call *calls;
    struct http_call *idle; /* with their handles and buffers, for the next calls */
    size_t in_flight;
    size_t idle_count;
    size_t connections_max;
    int64_t connect_timeout_ms;
    size_t response_max;
    char *ca_file;
    char *cert_file;
    char *key_file;
    char *user;
    char *password;
    bool close_idle;
};

/* ---- one call ---- */

/* Called when a connection stands and the request goes out next: before that nothing was sent for
 * certain, on whatever connection libcurl tried. Also when libcurl tries another connection because
 * the one that it kept turned out to be closed. */
static int on_before_request(void *userdata, char *primary_ip, char *local_ip, int primary_port,
                             int local_port)
{
    struct http_call *call = userdata;
    (void)primary_ip;
    (void)local_ip;
    (void)primary_port;
    (void)local_port;
    if (clock_mono_us(loop_clock(call->client->loop)) > call->send_until_us)
        return CURL_PREREQFUNC_ABORT;
    call->maybe_sent = true;
    return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *data, size_t size, size_t count, void *userdata)
{
    struct http_call *call = userdata;
    size_t room = call->client->response_max - call->body_size;
    size_t bytes = size * count;
    size_t taken = bytes < room ? bytes : room;
    if (call->body_size + taken > call->body_capacity) {
        size_t capacity = call->body_capacity > 0 ? call->body_capacity : BODY_FIRST;
        while (capacity < call->body_size + taken)
            capacity *= 2;
        call->body = realloc(call->body, capacity);
        assert(call->body != NULL);
        call->body_capacity = capacity;
    }
    if (taken > 0)
        memcpy(call->body + call->body_size, data, taken);
    call->body_size += taken;
    call->body_cut = taken < bytes;
    return taken; /* less than offered ends the transfer */
}

static void free_call(struct http_call *call)
{
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    curl_easy_cleanup(call->easy);
    free(call->body);
    free(call);
}

static struct http_call *take_call(struct http_client *client)
{
    struct http_call *call = client->idle;
    if (call != NULL) {
        client->idle = call->next;
        client->idle_count--;
    } else {
        call = calloc(1, sizeof(*call));
        assert(call != NULL);
        call->client = client;
        call->easy = curl_easy_init();
        assert(call->easy != NULL);
    }
    call->prev = NULL;
    call->next = client->calls;
    if (call->next != NULL)
        call->next->prev = call;
    client->calls = call;
    client->in_flight++;
    return call;
}

/* Removes the call from its lists; the caller owns it then. */
static void unlink_call(struct http_call *call)
{
    struct http_client *client = call->client;
    curl_multi_remove_handle(client->multi, call->easy);
    if (call->next != NULL)
        call->next->prev = call->prev;
    *(call->prev != NULL ? &call->prev->next : &client->calls) = call->next;
    client->in_flight--;
}

static void put_back(struct http_call *call)
{
    struct http_client *client = call->client;
    if (client->idle_count >= client->connections_max) {
        free_call(call);
        return;
    }
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    curl_easy_reset(call->easy);
    if (call->body_capacity > BODY_KEPT_MAX) {
        free(call->body);
        call->body = NULL;
        call->body_capacity = 0;
    }
    call->headers = NULL;
    call->connect_to = NULL;
    call->body_size = 0;
    call->body_cut = false;
    call->maybe_sent = false;
    call->message[0] = '\0';
    call->next = client->idle;
    client->idle = call;
    client->idle_count++;
}

/* ---- results ---- */

static enum http_outcome outcome_of(const struct http_call *call, CURLcode code)
{
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && call->body_cut))
        return HTTP_ANSWERED;
    return call->maybe_sent ? HTTP_MAYBE_SENT : HTTP_NOT_SENT;
}

static void finish(struct http_call *call, CURLcode code)
{
    long status = 0;
    char *content_type = NULL;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
    enum http_outcome outcome = outcome_of(call, code);
    const char *message = call->message[0] != '\0' ? call->message : curl_easy_strerror(code);
    if (code == CURLE_ABORTED_BY_CALLBACK) /* on_before_request is the only one that does */
        message = "too late to send it";
    struct http_result result = {
        .outcome = outcome,
        .timed_out = code == CURLE_OPERATION_TIMEDOUT,
        .body_cut = call->body_cut,
        .status = (int)status,
        .body = {call->body_size > 0 ? call->body : "", (uint32_t)call->body_size},
        .content_type = content_type != NULL ? content_type : "",
        .retry_after_ms = retry_after > 0 && retry_after < INT32_MAX ? retry_after * 1000 : -1,
        .elapsed_us = clock_mono_us(loop_clock(call->client->loop)) - call->started_us,
        .message = outcome == HTTP_ANSWERED ? "" : message,
    };
    unlink_call(call);
    call->callback(&result, call->userdata);
    put_back(call);
}

static void finish_done(struct http_client *client)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left)) != NULL;) {
        struct http_call *call = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(call, code);
    }
}

/* ---- the loop's side ---- */

static void act(struct http_client *client, curl_socket_t socket, int events)
{
    int running;
    CURLMcode code = curl_multi_socket_action(client->multi, socket, events, &running);
    assert(code == CURLM_OK);
    finish_done(client);
}

static void on_socket_ready(struct loop *loop, int fd, unsigned events, void *userdata)
{
    (void)loop;
    act(userdata, fd,
        (events & LOOP_READ ? CURL_CSELECT_IN : 0) | (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0) |
            (events & LOOP_ERROR ? CURL_CSELECT_ERR : 0));
}

static void on_timeout(void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl: watch this socket for that. `known` is what we assigned to the socket. */
static int on_watch(CURL *easy, curl_socket_t socket, int what, void *userdata, void *known)
{
    struct http_client *client = userdata;
    unsigned events =
        (what & CURL_POLL_IN ? LOOP_READ : 0u) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        loop_fd_remove(client->loop, socket);
        curl_multi_assign(client->multi, socket, NULL);
    } else if (known != NULL) {
        loop_fd_modify(client->loop, socket, events);
    } else {
        loop_fd_remove(client->loop, socket);
        if (loop_fd_add(client->loop, socket, events, on_socket_ready, client, NULL) != ERROR_OK)
            return -1;
        curl_multi_assign(client->multi, socket, client);
    }
    return 0;
}

/* libcurl: wake me then. Not from in here: it is not reentrant. */
static int on_wake_me(CURLM *multi, long timeout_ms, void *userdata)
{
    struct http_client *client = userdata;
    (void)multi;
    loop_timer_cancel(client->loop, &client->timer);
    loop_defer_cancel(client->loop, &client->deferred);
    if (timeout_ms == 0)
        loop_defer(client->loop, &client->deferred);
    else if (timeout_ms > 0)
        loop_timer_after(client->loop, &client->timer, timeout_ms);
    return 0;
}

/* ---- life ---- */

static void init_curl(void)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    assert(code == CURLE_OK);
}

static char *copy_of(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

enum error_class http_client_new(struct loop *loop, const struct http_client_options *options,
                                 struct http_client **ret_client, struct error *ret_error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct http_client *client = calloc(1, sizeof(*client));
    assert(client != NULL);
    client->loop = loop;
    client->connections_max =
        options->connections_max > 0 ? options->connections_max : CONNECTIONS_DEFAULT;
    client->connect_timeout_ms =
        options->connect_timeout_ms > 0 ? options->connect_timeout_ms : CONNECT_TIMEOUT_DEFAULT_MS;
    client->response_max = options->response_max > 0 ? options->response_max : RESPONSE_DEFAULT;
    client->close_idle = options->close_idle;
    client->ca_file = copy_of(options->ca_file);
    client->cert_file = copy_of(options->cert_file);
    client->key_file = copy_of(options->key_file);
    client->user = copy_of(options->user);
    client->password = copy_of(options->password);
    loop_timer_init(&client->timer, on_timeout, client);
    loop_deferred_init(&client->deferred, on_timeout, client);
    client->multi = curl_multi_init();
    if (client->multi == NULL) {
        http_client_free(client);
        return error_set(ret_error, CODE_HTTP_CLIENT, "cannot initialize libcurl");
    }
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_watch);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_wake_me);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)client->connections_max);
    *ret_client = client;
    return ERROR_OK;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    while (client->calls != NULL) {
        struct http_call *call = client->calls;
        unlink_call(call);
        free_call(call);
    }
    while (client->idle != NULL) {
        struct http_call *call = client->idle;
        client->idle = call->next;
        free_call(call);
    }
    if (client->multi != NULL)
        curl_multi_cleanup(client->multi);
    loop_timer_cancel(client->loop, &client->timer);
    loop_defer_cancel(client->loop, &client->deferred);
    free(client->ca_file);
    free(client->cert_file);
    free(client->key_file);
    free(client->user);
    if (client->password != NULL)
        explicit_bzero(client->password, strlen(client->password));
    free(client->password);
    free(client);
}

void http_client_cancel(struct http_client *client, const void *userdata)
{
    struct http_call *next;
    for (struct http_call *call = client->calls; call != NULL; call = next) {
        next = call->next;
        if (call->userdata != userdata)
            continue;
        unlink_call(call);
        free_call(call);
    }
}

size_t http_client_in_flight(const struct http_client *client)
{
    return client->in_flight;
}

/* ---- sending ---- */

static void add_header(struct http_call *call, const char *line)
{
    struct curl_slist *grown = curl_slist_append(call->headers, line);
    assert(grown != NULL);
    call->headers = grown;
}

static void set_headers(struct http_call *call, const struct http_request *request)
{
    bool has_type = false;
    for (const char *const *line = request->headers; line != NULL && *line != NULL; line++) {
        has_type |= strncasecmp(*line, "Content-Type:", strlen("Content-Type:")) == 0;
        add_header(call, *line);
    }
    if (!has_type)
        add_header(call, request->body.size > 0 ? "Content-Type: application/json"
                                                : "Content-Type:"); /* none */
    add_header(call, "Expect:"); /* no waiting for 100-continue */
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_method(struct http_call *call, const struct http_request *request)
{
    const char *method = request->method != NULL ? request->method : "POST";
    bool is_get = strcmp(method, "GET") == 0;
    bool is_head = strcmp(method, "HEAD") == 0;
    assert(request->body.size == 0 || (!is_get && !is_head));
    if (is_get) {
        curl_easy_setopt(call->easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    if (is_head) {
        curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    curl_easy_setopt(call->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    curl_easy_setopt(call->easy, CURLOPT_COPYPOSTFIELDS,
                     request->body.size > 0 ? request->body.data : "");
    if (strcmp(method, "POST") != 0)
        curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method);
}

/* For whatever host and port the URL has, the same port of this address. */
static void set_address(struct http_call *call, const char *address)
{
    char entry[sizeof("::[]:") + INET6_ADDRSTRLEN];
    int size =
        snprintf(entry, sizeof(entry), strchr(address, ':') != NULL ? "::[%s]:" : "::%s:", address);
    assert(size > 0 && (size_t)size < sizeof(entry));
    call->connect_to = curl_slist_append(NULL, entry);
    assert(call->connect_to != NULL);
    curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to);
}

static void set_options(struct http_call *call, const struct http_request *request)
{
    const struct http_client *client = call->client;
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* ".." may be an id, and is sent as given */
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->message);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_before_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "reeve");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_timeout_ms);
    if (client->ca_file != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file);
    if (client->cert_file != NULL) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, client->cert_file);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, client->key_file);
    }
    if (client->user != NULL) {
        curl_easy_setopt(easy, CURLOPT_USERNAME, client->user);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, client->password != NULL ? client->password : "");
    }
    if (client->close_idle) {
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    }
    if (request->address != NULL)
        set_address(call, request->address);
    set_method(call, request);
    set_headers(call, request);
}

enum error_class http_client_send(struct http_client *client, const struct http_request *request,
                                  http_client_callback callback, void *userdata,
                                  struct error *ret_error)
{
    assert(request->timeout_ms > 0 && callback != NULL);
    if (strncasecmp(request->url, "http://", 7) != 0 &&
        strncasecmp(request->url, "https://", 8) != 0)
        return error_set(ret_error, CODE_INVALID_URL, "%.200s is not an http or https URL",
                         request->url);
    struct http_call *call = take_call(client);
    call->callback = callback;
    call->userdata = userdata;
    call->started_us = clock_mono_us(loop_clock(client->loop));
    call->send_until_us =
        request->send_within_ms > 0 ? call->started_us + request->send_within_ms * 1000 : INT64_MAX;
    set_options(call, request);
    CURLMcode code = curl_multi_add_handle(client->multi, call->easy);
    assert(code == CURLM_OK);
    return ERROR_OK;
}
