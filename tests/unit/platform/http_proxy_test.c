/* SPDX-License-Identifier: Apache-2.0 */
/* Trusted proxies: whose address counts, and who the user is. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(http_proxy, .init = access_kit_open, .fini = access_kit_close);

/* Proxies add the client's address at the end or in a header of its own. */
Test(http_proxy, counts_by_the_address_that_the_proxy_adds)
{
    static const char *const forms[] = {"X-Forwarded-For: 10.0.%d.%d, 192.0.2.7\r\n",
                                        "X-Forwarded-For: 10.0.%d.%d\r\n"
                                        "X-Forwarded-For: 192.0.2.7\r\n"};
    char head[ACCESS_KIT_REQUEST_SIZE / 2];
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        access_kit_listen(
            (struct http_access_options){.authenticates = true,
                                         .proxies = (const char *const[]){"127.0.0.1"},
                                         .proxy_count = 1});
        for (int i = 0; i <= HTTP_FAILURES_MAX; i++) {
            int size = snprintf(head, sizeof(head), "Authorization: Bearer wrong\r\n");
            snprintf(head + size, sizeof(head) - (size_t)size, forms[f], i, i);
            cr_expect_eq(access_kit_ask("GET", "/view", head), i < HTTP_FAILURES_MAX ? 401 : 429,
                         "%s", head);
        }
        cr_expect_eq(access_kit_ask_as("GET", "/view", "wrong"), 401, "the proxy itself");
    }
}

/* ---- without authentication ---- */

Test(http_proxy, takes_the_user_from_a_trusted_proxy)
{
    access_kit_listen((struct http_access_options){.proxies = (const char *const[]){"127.0.0.0/30"},
                                                   .proxy_count = 1});
    cr_assert_eq(access_kit_ask("GET", "/view", "X-Forwarded-User: ann@shop\r\n"), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello ann@shop, call back");
    cr_assert_eq(access_kit_ask("GET", "/view", "X-Forwarded-User: a\tb\r\n"), 400);
    cr_assert_eq(access_kit_ask("GET", "/view", "X-Forwarded-User: \xff\r\n"), 400);
    cr_assert_eq(
        access_kit_ask("GET", "/view", "X-Forwarded-User: eve\r\nX-Forwarded-User: ann\r\n"), 400,
        "the client's, and the proxy's");
    cr_assert_eq(access_kit_ask("GET", "/api/session", "X-Forwarded-User: ann\r\n"), 200);
    cr_assert(strstr(http_kit_answer, "\"permissions\":[\"view\",\"operate\",") != NULL, "%s",
              http_kit_answer);
    access_kit_listen((struct http_access_options){.proxies = (const char *const[]){"10.0.0.0/8"},
                                                   .proxy_count = 1});
    cr_assert_eq(access_kit_ask("GET", "/view", "X-Forwarded-User: ann\r\n"), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello , call back", "not from a proxy");
}

/* A proxy that let a client through without a login. */
Test(http_proxy, refuses_requests_of_a_trusted_proxy_without_a_user)
{
    static const char *const heads[] = {"", "X-Forwarded-User:\r\n", "X-Forwarded-User:  \r\n"};
    access_kit_listen((struct http_access_options){.proxies = (const char *const[]){"127.0.0.1"},
                                                   .proxy_count = 1});
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        char head[ACCESS_KIT_REQUEST_SIZE / 4];
        cr_expect_eq(access_kit_ask("GET", "/view", heads[i]), 401, "%zu: %s", i, http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\"NoUser\"") != NULL, "%s", http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\r\nWWW-Authenticate: ") != NULL);
        cr_expect_eq(access_kit_ask("POST", "/operate", heads[i]), 401, "%zu", i);
        cr_expect_eq(access_kit_ask("GET", "/open", heads[i]), 200, "%zu", i);
        cr_expect_str_eq(http_kit_body(http_kit_answer), "hello ", "may do nothing else");
        snprintf(head, sizeof(head), "%sAuthorization: Bearer x\r\n", heads[i]);
        cr_expect_eq(access_kit_ask("GET", "/view", head), 401, "%zu", i);
        cr_expect_eq(access_kit_ask("GET", "/api/session", heads[i]), 200);
        cr_expect(strstr(http_kit_answer, "\"permissions\":[]") != NULL, "%s", http_kit_answer);
    }
    cr_expect_eq(access_kit_ask("GET", "/livez", ""), 200);
}

Test(http_proxy, knows_networks)
{
    static const char *const proxies[] = {"10.1.2.3", "192.168.0.0/22", "fd00::/8", "::1"};
    static const struct {
        const char *address;
        bool trusted;
        bool loopback;
    } cases[] = {{"10.1.2.3", true, false},
                 {"10.1.2.4", false, false},
                 {"192.168.3.255", true, false},
                 {"192.168.4.0", false, false},
                 {"fd12::9", true, false},
                 {"fe80::1", false, false},
                 {"::1", true, true},
                 {"127.9.9.9", false, true},
                 {"::ffff:10.1.2.3", true, false}};
    access_kit_listen((struct http_access_options){
        .proxies = proxies, .proxy_count = sizeof(proxies) / sizeof(proxies[0])});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t address[HTTP_ADDRESS_SIZE];
        bool ipv4 = false;
        cr_assert(http_address_parse(cases[i].address, address, &ipv4));
        cr_expect_eq(http_access_trusts(access_kit_access, address), cases[i].trusted, "%s",
                     cases[i].address);
        cr_expect_eq(http_address_is_loopback(address), cases[i].loopback, "%s", cases[i].address);
    }
}

Test(http_proxy, rejects_malformed_networks)
{
    static const char *const bad[] = {"",       "proxy",    "10.0.0.0/33", "10.0.0.0/",
                                      "::/129", "10.0.0/8", "10.0.0.0/8x", "0.0.0.0/0",
                                      "::/0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct http_access *access = NULL;
        struct error error = {0};
        const struct http_access_options options = {
            .proxies = &bad[i], .proxy_count = 1, .token_file = "", .user_header = "X-User"};
        cr_expect(http_access_new(http_kit_loop, NULL, &options, &access, &error) == ERROR_REJECT,
                  "%s", bad[i]);
        cr_expect_eq(error.code, CODE_CONFIG);
        cr_expect_null(access);
    }
}
