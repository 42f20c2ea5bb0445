/* SPDX-License-Identifier: Apache-2.0 */
/* Logins of browsers. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(http_session, .init = access_kit_open, .fini = access_kit_close);

Test(http_session, logs_browsers_in_and_out)
{
    char cookie[ACCESS_KIT_REQUEST_SIZE / 4];
    access_kit_log_in(access_kit_tokens[HTTP_ROLE_OPERATOR], "Origin: http://localhost\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    snprintf(cookie, sizeof(cookie),
             "\r\nSet-Cookie: reeve_token=%s; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict\r\n",
             access_kit_tokens[HTTP_ROLE_OPERATOR]);
    cr_assert(strstr(http_kit_answer, cookie) != NULL, "%s", http_kit_answer);
    cr_assert(strstr(http_kit_body(http_kit_answer), access_kit_tokens[HTTP_ROLE_OPERATOR]) ==
              NULL);
    snprintf(cookie, sizeof(cookie), "Cookie: theme=dark; reeve_token=%s\r\n",
             access_kit_tokens[HTTP_ROLE_OPERATOR]);
    cr_assert_eq(access_kit_ask("GET", "/view", cookie), 200);
    cr_assert_eq(access_kit_ask("POST", "/operate", cookie), 403, "a form could send the cookie");
    cr_assert(strstr(http_kit_answer, "HeaderMissing") != NULL, "%s", http_kit_answer);
    snprintf(cookie, sizeof(cookie), "X-Reeve-Request: 1\r\nCookie: reeve_token=%s\r\n",
             access_kit_tokens[HTTP_ROLE_OPERATOR]);
    cr_assert_eq(access_kit_ask("POST", "/operate", cookie), 200);
    snprintf(cookie, sizeof(cookie), "Cookie: theme=dark\r\nCookie: reeve_token=%s; a=b\r\n",
             access_kit_tokens[HTTP_ROLE_VIEWER]);
    cr_assert_eq(access_kit_ask("GET", "/view", cookie), 200, "as some proxies send cookies");
    snprintf(cookie, sizeof(cookie), "X-Reeve-Request: 1\r\nCookie: xreeve_token=%s\r\n",
             access_kit_tokens[HTTP_ROLE_VIEWER]);
    cr_assert_eq(access_kit_ask("GET", "/view", cookie), 401, "another cookie");
    cr_assert_eq(access_kit_ask("DELETE", "/api/session", cookie), 204);
    cr_assert(strstr(http_kit_answer, "\r\nSet-Cookie: reeve_token=; Path=/; Max-Age=0;") != NULL,
              "%s", http_kit_answer);
    access_kit_log_in("wrong", "");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 401"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "Set-Cookie") == NULL);
}

Test(http_session, slows_down_who_asks_the_session_about_tokens)
{
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", access_kit_tokens[HTTP_ROLE_VIEWER]),
                 200);
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(access_kit_ask_as("GET", "/api/session", "wrong"), 200);
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", "wrong"), 429);
    cr_assert(strstr(http_kit_answer, "\r\nRetry-After: ") != NULL, "%s", http_kit_answer);
    cr_assert_eq(access_kit_ask("GET", "/api/session", ""), 200);
    cr_assert_eq(access_kit_ask_as("GET", "/livez", "wrong"), 200);
}
