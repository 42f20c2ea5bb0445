// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses every function and every type of the public headers. test_install.py
// builds it against the installed tree and runs its --help.
#include <reeve/leader.h>

#include <cstring>

namespace
{

struct Nightly {
    int64_t token = -1;
    int lines = 0;
};

void task(void *ctx, reeve_leader *leader)
{
    auto *nightly = static_cast<Nightly *>(ctx);
    nightly->token = reeve_leader_token(leader);
    while (reeve_leader_wait(leader, 1000) && reeve_leader_leads(leader)) {
        nightly->lines++;
        reeve_leader_progress(leader);
    }
}

int run_leader(int argc, char *argv[])
{
    Nightly nightly;
    reeve_leader_options options{};
    options.role = "nightly";
    options.strategy = REEVE_LEADER_RANKED;
    options.rank = 1;
    options.lease_ms = 10000;
    options.renew_ms = 2500;
    options.progress_ms = 30000;
    const reeve_leader_task run = task;
    return reeve_leader_run(&options, run, &nightly, argc, argv);
}

} // namespace

int main(int argc, char *argv[])
{
    if (argc > 1 && std::strcmp(argv[1], "leader") == 0)
        return run_leader(argc - 2, argv + 2);
    return 64;
}
