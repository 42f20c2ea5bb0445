// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses every function and every type of the public headers. test_install.py
// builds it against the installed tree and runs its --help.
#include <reeve/agent.h>
#include <reeve/leader.h>

#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace
{

// ---- an agent whose calls are worked on by threads ----

struct Agent;

struct Work {
    reeve_agent_call *call;
    Agent *agent;
    std::string result;
    std::thread thread;
};

struct Agent {
    reeve_wakeup *wakeup = nullptr;
    std::mutex mutex;
    std::deque<Work *> done; // under the mutex
    std::string name, folder, url;
};

std::string string_of(reeve_text text)
{
    return std::string(text.data != nullptr ? std::string_view(text.data, text.size) : "");
}

// Everything that a call asks for, in one line.
std::string describe(const reeve_agent_call *call)
{
    char price[REEVE_PRICE_SIZE];
    std::string line;
    for (const reeve_text text :
         {reeve_agent_call_order_id(call), reeve_agent_call_step(call),
          reeve_agent_call_action(call), reeve_agent_call_idempotency_key(call),
          reeve_agent_call_do_key(call), reeve_agent_call_workflow(call),
          reeve_agent_call_customer(call), reeve_agent_call_currency(call),
          reeve_agent_call_traceparent(call), reeve_agent_call_attribute(call, "country"),
          reeve_agent_call_output(call, "reserve"), reeve_agent_call_input(call),
          reeve_agent_call_order_input(call)})
        line += string_of(text) + " ";
    for (const int64_t number :
         {int64_t{reeve_agent_call_attempt(call)}, int64_t{reeve_agent_call_try_number(call)},
          reeve_agent_call_complete_by(call), reeve_agent_call_time_left_ms(call)})
        line += std::to_string(number) + " ";
    for (uint32_t i = 0; i < reeve_agent_call_line_count(call); i++) {
        const reeve_order_line item = reeve_agent_call_line(call, i);
        const size_t size = reeve_price_format(item.unit_price % REEVE_PRICE_UNITS, price);
        line += string_of(item.sku) + string_of(item.description) + std::to_string(item.quantity) +
                std::string(price, size);
    }
    for (uint32_t i = 0; i < reeve_agent_call_attribute_count(call); i++) {
        const reeve_named_text attribute = reeve_agent_call_attribute_at(call, i);
        line += string_of(attribute.name) + string_of(attribute.value);
    }
    for (uint32_t i = 0; i < reeve_agent_call_output_count(call); i++) {
        const reeve_named_text output = reeve_agent_call_output_at(call, i);
        line += string_of(output.name) + string_of(output.value);
    }
    return line;
}

// On a thread: no function of reeve but reeve_wakeup_send().
void work(Work *work)
{
    work->result = std::to_string(work->result.size());
    const std::lock_guard<std::mutex> lock(work->agent->mutex);
    work->agent->done.push_back(work);
    reeve_wakeup_send(work->agent->wakeup);
}

void on_wakeup(void *ctx)
{
    auto *agent = static_cast<Agent *>(ctx);
    std::deque<Work *> done;
    {
        const std::lock_guard<std::mutex> lock(agent->mutex);
        done.swap(agent->done);
    }
    for (Work *each : done) {
        const std::unique_ptr<Work> owned(each);
        owned->thread.join();
        reeve_agent_call_succeed(owned->call, owned->result.c_str());
    }
}

bool start(reeve_agent *agent, void **ret_ctx)
{
    auto state = std::make_unique<Agent>();
    const char *url = reeve_agent_config(agent, "every.url");
    if (url == nullptr) {
        reeve_agent_fail(agent, REEVE_AGENT_CONFIG, "every.url is not a key");
        return false;
    }
    state->url = url;
    state->name = reeve_agent_name(agent);
    state->folder = reeve_agent_data_dir(agent);
    state->wakeup = reeve_wakeup_new(agent, on_wakeup, state.get());
    if (state->wakeup == nullptr) {
        reeve_agent_fail(agent, REEVE_AGENT_UNAVAILABLE, "no wakeup");
        return false;
    }
    *ret_ctx = state.release();
    return true;
}

void execute(void *ctx, reeve_agent_call *call)
{
    auto owned = std::make_unique<Work>();
    owned->call = call;
    owned->agent = static_cast<Agent *>(ctx);
    owned->result = describe(call);
    Work *each = owned.release();
    reeve_agent_call_set_userdata(call, each);
    reeve_agent_call_extend(call, 1000, "half of it");
    each->thread = std::thread(work, each);
}

void compensate(void *, reeve_agent_call *call)
{
    char url[512];
    if (reeve_agent_call_userdata(call) == nullptr &&
        reeve_agent_call_callback_url(call, url, sizeof(url)) > 0) {
        reeve_agent_call_accept(call);
        return;
    }
    reeve_agent_failure failure{};
    failure.name = "NotReachable";
    failure.message = "the service does not answer";
    failure.effect =
        reeve_text_is(reeve_text_of(url), "") ? REEVE_EFFECT_NONE : REEVE_EFFECT_UNKNOWN;
    failure.retriable = true;
    failure.service_unhealthy = true;
    failure.retry_after_ms = 100;
    reeve_agent_call_fail(call, &failure);
}

void extended(void *, reeve_agent_call *)
{
}

void probe(void *, reeve_agent_probe *probe)
{
    reeve_agent_probe_end(probe, false, "not checked");
}

void stop(void *ctx)
{
    const std::unique_ptr<Agent> agent(static_cast<Agent *>(ctx));
    reeve_wakeup_free(agent->wakeup);
}

int run_agent(int argc, char *argv[])
{
    static const reeve_agent_key keys[] = {
        {"every.url", "http://localhost", "The service.", false}};
    static reeve_agent_ops ops{};
    ops.keys = keys;
    ops.key_count = 1;
    ops.name = "every";
    ops.capacity = 4;
    ops.start = start;
    ops.execute = execute;
    ops.compensate = compensate;
    ops.extended = extended;
    ops.probe = probe;
    ops.stop = stop;
    return reeve_agent_run(&ops, argc, argv);
}

// ---- a candidate ----

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
    if (argc > 1 && std::strcmp(argv[1], "agent") == 0)
        return run_agent(argc - 2, argv + 2);
    return 64;
}
