/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at any moment: every acknowledged commit is there, and no commit is there in part.
 *
 * RocksDB's threads do not survive a fork, so only child processes open stores here, never the
 * process of the test. */
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct plan {
    const char *path;
    bool bulk;
    int per_commit;
    int64_t end_bulk_at; /* a commit count; -1: never */
    int acknowledged;    /* pipe: the checkpoint after each commit */
};

/* Folds until it is killed. */
static void fold_for_ever(const struct plan *plan)
{
    struct store_env *env = kit_env();
    struct store *store = kit_open(env, plan->path);
    struct checkpoint checkpoint;
    cr_assert(store_checkpoint(store, &checkpoint, NULL) == ERROR_OK);
    int64_t n = checkpoint.next_event_offset;
    for (int64_t commits = 0;; commits++) {
        kit_fold(store, n, n + plan->per_commit, plan->per_commit, plan->bulk);
        n += plan->per_commit;
        if (commits == plan->end_bulk_at)
            cr_assert(store_end_bulk(store, NULL, NULL) == ERROR_OK);
        cr_assert(write(plan->acknowledged, &n, sizeof(n)) == (ssize_t)sizeof(n));
    }
}

/* Kills the child after `commits` acknowledged commits; returns the last checkpoint. */
static int64_t fold_and_kill(struct plan plan, int commits)
{
    int ends[2];
    cr_assert(pipe(ends) == 0);
    plan.acknowledged = ends[1];
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        fold_for_ever(&plan);
        _exit(1);
    }
    close(ends[1]);
    int64_t n = -1, last = -1;
    for (int i = 0; i < commits; i++)
        cr_assert(read(ends[0], &n, sizeof(n)) == (ssize_t)sizeof(n));
    cr_assert(kill(pid, SIGKILL) == 0);
    for (last = n; read(ends[0], &n, sizeof(n)) == (ssize_t)sizeof(n);)
        last = n; /* acknowledged before it died */
    close(ends[0]);
    int status = 0;
    cr_assert(waitpid(pid, &status, 0) == pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return last;
}

/* Compares all rows; returns the checkpoint of the store. */
static int64_t verify_in_child(const char *path)
{
    int ends[2];
    cr_assert(pipe(ends) == 0);
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        struct store_env *env = kit_env();
        struct store *store = kit_open(env, path);
        int64_t records = kit_verify(store);
        store_close(store);
        store_env_free(env);
        _exit(write(ends[1], &records, sizeof(records)) == (ssize_t)sizeof(records) ? 0 : 1);
    }
    close(ends[1]);
    int64_t records = -2;
    cr_assert(read(ends[0], &records, sizeof(records)) == (ssize_t)sizeof(records));
    close(ends[0]);
    int status = 0;
    cr_assert(waitpid(pid, &status, 0) == pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return records;
}

Test(statestore_crash, loses_no_acknowledged_commit)
{
    struct plan plan = {.path = kit_path(kit_folder(), "s"), .per_commit = 1, .end_bulk_at = -1};
    for (int round = 0; round < 12; round++) {
        plan.per_commit = 1 + round * 10;
        int64_t acknowledged = fold_and_kill(plan, 1 + round * 17);
        int64_t found = verify_in_child(plan.path);
        cr_assert(found >= acknowledged, "%lld acknowledged, %lld found", (long long)acknowledged,
                  (long long)found);
        cr_assert(found - acknowledged <= plan.per_commit);
    }
}

Test(statestore_crash, keeps_the_earlier_store_when_killed_during_a_bulk_fold)
{
    const char *folder = kit_folder();
    char name[] = "s-a";
    int64_t most = 0;
    for (int round = 0; round < 8; round++, name[2]++) {
        struct plan plan = {
            .path = kit_path(folder, name), .bulk = true, .per_commit = 100, .end_bulk_at = -1};
        int64_t acknowledged = fold_and_kill(plan, 1 + round * 60);
        int64_t found = verify_in_child(plan.path);
        cr_assert(found >= 0 && found <= acknowledged + plan.per_commit);
        most = found > most ? found : most;
    }
    cr_assert(most > 0, "no fold was long enough for a flush");
}

Test(statestore_crash, keeps_a_bulk_fold_that_was_ended)
{
    struct plan plan = {
        .path = kit_path(kit_folder(), "s"), .bulk = true, .per_commit = 100, .end_bulk_at = 5};
    fold_and_kill(plan, 6);
    cr_assert(verify_in_child(plan.path) >= 600);
}

Test(statestore_crash, keeps_logged_commits_after_a_bulk_fold)
{
    struct plan plan = {
        .path = kit_path(kit_folder(), "s"), .bulk = true, .per_commit = 100, .end_bulk_at = 2};
    fold_and_kill(plan, 3);
    plan.bulk = false;
    plan.end_bulk_at = -1;
    int64_t acknowledged = fold_and_kill(plan, 10);
    cr_assert(verify_in_child(plan.path) >= acknowledged);
}
