/* SPDX-License-Identifier: Apache-2.0 */
/* The switchboard of the failpoints. See failpoint.h. Empty in release builds. */
#include "platform/failpoint.h"

#include "base/numbers.h"

#ifdef REEVE_FAILPOINTS

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS_MAX = 16, NAME_SIZE = 64, SPECIFICATION_MAX = 1024 };

enum action { ACTION_KILL, ACTION_STOP, ACTION_ERROR };

struct point {
    char name[NAME_SIZE];
    enum action action;
    uint64_t at;
    bool onwards; /* from the pass `at` on */
    uint64_t passes;
};

struct switchboard {
    struct point points[POINTS_MAX];
    size_t count;
};

static struct switchboard board;
static bool environment_read;
static bool (*pass_hook)(const char *name, void *ctx);
static void *pass_hook_ctx;

static bool parse_action(const char *text, size_t size, enum action *ret_action)
{
    static const struct {
        const char *name;
        enum action action;
    } actions[] = {{"kill", ACTION_KILL}, {"stop", ACTION_STOP}, {"error", ACTION_ERROR}};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strlen(actions[i].name) == size && memcmp(actions[i].name, text, size) == 0) {
            *ret_action = actions[i].action;
            return true;
        }
    }
    return false;
}

/* `item`: name=action[@N[+]] */
static bool parse_point(const char *item, struct point *ret_point)
{
    struct point point = {.at = 1};
    const char *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals - item >= NAME_SIZE)
        return false;
    memcpy(point.name, item, (size_t)(equals - item));
    const char *action = equals + 1;
    const char *at = strchr(action, '@');
    size_t action_size = at != NULL ? (size_t)(at - action) : strlen(action);
    if (!parse_action(action, action_size, &point.action))
        return false;
    if (at != NULL) {
        struct text rest = text_of(at + 1);
        if (!number_take(&rest, UINT64_MAX, &point.at) || point.at == 0)
            return false;
        point.onwards = text_equal(rest, TEXT("+"));
        if (rest.size > 0 && !point.onwards)
            return false;
    }
    *ret_point = point;
    return true;
}

bool failpoint_configure(const char *specification)
{
    struct switchboard parsed = {.count = 0};
    char copy[SPECIFICATION_MAX];
    if (specification == NULL)
        specification = "";
    size_t size = strlen(specification);
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, specification, size + 1);
    char *rest = copy;
    for (char *item = strsep(&rest, ","); item != NULL; item = strsep(&rest, ",")) {
        if (*item == '\0')
            continue;
        if (parsed.count == POINTS_MAX || !parse_point(item, &parsed.points[parsed.count]))
            return false;
        parsed.count++;
    }
    board = parsed;
    environment_read = true;
    return true;
}

static void read_environment(void)
{
    const char *specification = getenv("REEVE_FAILPOINT");
    if (!failpoint_configure(specification)) {
        fprintf(stderr, "REEVE_FAILPOINT is malformed: %s; expected NAME=ACTION[@N[+]]\n",
                specification);
        _exit(64);
    }
}

static struct point *find_point(const char *name)
{
    for (size_t i = 0; i < board.count; i++) {
        if (strcmp(board.points[i].name, name) == 0)
            return &board.points[i];
    }
    return NULL;
}

static bool act(const struct point *point)
{
    switch (point->action) {
    case ACTION_KILL:
        fprintf(stderr, "failpoint %s: SIGKILL\n", point->name);
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    case ACTION_STOP:
        fprintf(stderr, "failpoint %s: SIGSTOP\n", point->name);
        kill(getpid(), SIGSTOP);
        return false;
    case ACTION_ERROR:
        return true;
    }
    assert(point->action == ACTION_ERROR);
    return false;
}

bool failpoint_pass(const char *name)
{
    if (!environment_read)
        read_environment();
    bool planted = pass_hook != NULL && pass_hook(name, pass_hook_ctx);
    struct point *point = board.count > 0 ? find_point(name) : NULL;
    if (point == NULL)
        return planted;
    point->passes++;
    bool due = point->onwards ? point->passes >= point->at : point->passes == point->at;
    return (due && act(point)) || planted;
}

bool failpoint_pass_of(const char *name, const char *detail, size_t size)
{
    char full[NAME_SIZE];
    if (!environment_read)
        read_environment();
    if (board.count == 0 || strlen(name) + 1 + size >= sizeof(full))
        return false;
    snprintf(full, sizeof(full), "%s/%.*s", name, (int)size, detail);
    return find_point(full) != NULL && failpoint_pass(full);
}

uint64_t failpoint_passes(const char *name)
{
    const struct point *point = find_point(name);
    return point != NULL ? point->passes : 0;
}

void failpoint_on_pass(bool (*hook)(const char *name, void *ctx), void *ctx)
{
    pass_hook = hook;
    pass_hook_ctx = ctx;
}

#else

/* ISO C wants a declaration in every translation unit. */
typedef int failpoints_are_compiled_out;

#endif
