/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "platform/failpoint.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef REEVE_FAILPOINTS

Test(failpoint, does_nothing_unless_configured)
{
    cr_assert(failpoint_configure(NULL));
    FAILPOINT("a");
    cr_assert(!FAILPOINT_ERROR("a"));
    cr_assert(failpoint_passes("a") == 0);
}

Test(failpoint, injects_an_error_at_one_pass_or_from_it_on)
{
    cr_assert(failpoint_configure("a=error@2,b=error@2+,c=error"));
    for (int pass = 1; pass <= 4; pass++) {
        cr_assert(FAILPOINT_ERROR("a") == (pass == 2));
        cr_assert(FAILPOINT_ERROR("b") == (pass >= 2));
        cr_assert(FAILPOINT_ERROR("c") == (pass == 1));
        cr_assert(!FAILPOINT_ERROR("d"));
    }
    cr_assert(failpoint_passes("a") == 4);
}

Test(failpoint, ignores_malformed_specifications)
{
    static const char *const wrong[] = {
        "a", "a=", "=kill", "a=die", "a=kill@0", "a=kill@", "a=kill@-1", "a=kill@1x", "a=kill@1++"};
    cr_assert(failpoint_configure("a=error@1+"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_assert(!failpoint_configure(wrong[i]), "%s", wrong[i]);
    cr_assert(FAILPOINT_ERROR("a"));
}

static int run_child(const char *specification)
{
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        setenv("REEVE_FAILPOINT", specification, 1);
        for (int pass = 0; pass < 3; pass++)
            FAILPOINT("step");
        _exit(0);
    }
    int status = 0;
    cr_assert(waitpid(child, &status, WUNTRACED) == child);
    if (WIFSTOPPED(status)) {
        int stopped = status;
        cr_assert(kill(child, SIGCONT) == 0);
        cr_assert(waitpid(child, &status, 0) == child);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return stopped;
    }
    return status;
}

Test(failpoint, kills_and_stops_the_process)
{
    int status = run_child("step=kill@3");
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    status = run_child("step=kill@4");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = run_child("step=stop@2");
    cr_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    status = run_child("step=explode");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 64);
}

static bool count_passes(const char *name, void *ctx)
{
    (*(int *)ctx)++;
    return strcmp(name, "crash") == 0;
}

Test(failpoint, calls_the_hook_on_every_pass)
{
    int passes = 0;
    failpoint_on_pass(count_passes, &passes);
    FAILPOINT("one");
    cr_assert(!FAILPOINT_ERROR("two"));
    cr_assert(FAILPOINT_ERROR("crash"));
    cr_assert(passes == 3);
    failpoint_on_pass(NULL, NULL);
    FAILPOINT("one");
    cr_assert(passes == 3);
}

Test(failpoint, applies_only_to_its_detail)
{
    cr_assert(failpoint_configure("step/order-1=error@1+"));
    FAILPOINT_OF("step", TEXT("order-1"));
    FAILPOINT_OF("step", TEXT("order-12"));
    FAILPOINT_OF("stop", TEXT("order-1"));
    FAILPOINT("step");
    cr_assert(failpoint_passes("step/order-1") == 1);
}

#else

Test(failpoint, is_compiled_out_of_release_builds)
{
    FAILPOINT("a");
    FAILPOINT_OF("a", TEXT("b"));
    cr_assert(!FAILPOINT_ERROR("a"));
}

#endif
