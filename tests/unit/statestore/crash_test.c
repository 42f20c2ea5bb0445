/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at any moment: all that was flushed is there, no commit is there in part, and no family
 * is ahead of another.
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
    int per_commit;
    int flush_every;  /* commits; 0: only RocksDB flushes, when its memtables are full */
    int acknowledged; /* pipe: the checkpoint as of the last flush, after each commit */
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
        kit_fold(store, n, n + plan->per_commit, plan->per_commit);
        n += plan->per_commit;
        if (plan->flush_every > 0 && commits % plan->flush_every == 0)
            cr_assert(store_flush(store, NULL) == ERROR_OK);
        cr_assert(store_flushed(store, &checkpoint, NULL) == ERROR_OK);
        int64_t flushed = checkpoint.next_event_offset;
        cr_assert(write(plan->acknowledged, &flushed, sizeof(flushed)) == (ssize_t)sizeof(flushed));
    }
}

/* Kills the child after that number of commits; returns how far they were flushed. */
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

/* Every round goes on with the store that the one before has left. */
static void kill_again_and_again(struct plan plan)
{
    int64_t before = 0;
    int64_t most = 0;
    for (int round = 0; round < 12; round++) {
        plan.per_commit = 1 + round * 10;
        int64_t flushed = fold_and_kill(plan, 100 + round * 40);
        int64_t found = verify_in_child(plan.path);
        cr_assert(found >= flushed, "%lld flushed, %lld found", (long long)flushed,
                  (long long)found);
        cr_assert_geq(found, before);
        before = found;
        most = flushed > most ? flushed : most;
    }
    cr_assert(most > 0, "nothing was ever flushed");
}

Test(statestore_crash, keeps_all_that_was_flushed)
{
    kill_again_and_again((struct plan){.path = kit_path(kit_folder(), "s"), .flush_every = 7});
}

Test(statestore_crash, keeps_what_rocksdb_flushed_when_its_memory_was_full)
{
    kill_again_and_again((struct plan){.path = kit_path(kit_folder(), "s")});
}
