/* SPDX-License-Identifier: Apache-2.0 */
/* Every configuration key of reeve: the one place to add one. Help, documentation and checks are
 * made from this table. Keys are grouped by the programs that read them; within a group the ones
 * that users set most come first. */
#include "replica/settings.h"

#include "kafka/settings.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { HOST_SIZE = 48 };

#define NO_BOUNDS 0, 0
#define TEXT_UP_TO(length) 0, (length)
#define NO_UNIT NULL
#define NO_CHOICES NULL
#define DAY_MS 86400000.0

static const struct config_key keys[] = {
    /* ---- everybody ---- */
    {"kafka.bootstrap.servers", CONFIG_STRING, "127.0.0.1:9092", 1, 4096, NO_UNIT, NO_CHOICES,
     SETTINGS_ALL,
     "Brokers to ask first, as host:port, separated by commas. Every other kafka.* key goes to "
     "librdkafka as it is."},
    {"embedded", CONFIG_BOOL, "false", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_ALL,
     "The brokers are the embedded ones of `reeve dev`: no disk, no append times, for trying out "
     "and for tests."},
    {"topics.prefix", CONFIG_NAME, "orders", 1, 100, NO_UNIT, NO_CHOICES, SETTINGS_ALL,
     "What the names of all topics begin with: <prefix>.events and so on. Two prefixes are two "
     "separate installations on one cluster."},
    {"log.level", CONFIG_ENUM, "info", NO_BOUNDS, NO_UNIT, "debug|info|warning|error", SETTINGS_ALL,
     "Lines below this level are not written."},
    {"log.format", CONFIG_ENUM, "auto", NO_BOUNDS, NO_UNIT, "auto|logfmt|json", SETTINGS_ALL,
     "auto: logfmt on a terminal, one JSON object a line otherwise."},

    /* ---- every service ---- */
    {"data.dir", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Directory of this instance's stores, one process at a time. May be deleted while the service "
     "is down: it is built again from the log; only what an agent remembers is not. Empty: "
     "reeve-data/<service>."},
    {"instance.id", CONFIG_NAME, "", TEXT_UP_TO(100), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Name of this instance in claims, logs and owner lists. Empty: host-pid-random, new at each "
     "start."},
    {"http.host", CONFIG_STRING, "127.0.0.1", TEXT_UP_TO(64), NO_UNIT, NO_CHOICES,
     SETTINGS_SERVICES,
     "Address of the HTTP port. There is no authentication: bind others than loopback only in a "
     "network you trust."},
    {"http.port", CONFIG_INT, "0", 0, 65535, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Port of /livez, /readyz, /metrics and the service's API. 0: the system chooses; the chosen "
     "one is written to <data.dir>/http.port."},
    {"clock.skew.max.ms", CONFIG_DURATION_MS, "1000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "How far any clock may be wrong. Steps are timed out this much after their deadline; an "
     "instance whose clock is off by more than half of it stops working. The same everywhere."},
    {"session.timeout.ms", CONFIG_DURATION_MS, "6000", 1000, 3600000, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "After this silence the group gives an instance's partitions to others. Brokers refuse less "
     "than their group.min.session.timeout.ms (6000)."},
    {"group.static", CONFIG_BOOL, "false", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Whether the instance is a static member of its groups, known by instance.id: who is back "
     "within session.timeout.ms keeps its partitions and nobody else notices. The price: a clean "
     "stop gives nothing back before that time is over either."},
    {"start.timeout.ms", CONFIG_DURATION_MS, "30000", 1, DAY_MS, "ms", NO_CHOICES, SETTINGS_ALL,
     "How long to wait at the start for the brokers to answer."},
    {"drain.timeout.ms", CONFIG_DURATION_MS, "10000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "After SIGTERM the service finishes what is in flight; after this time it leaves anyway."},
    {"disk.free.min.mb", CONFIG_INT, "512", 0, 1e9, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE,
     "Below this free space on the disk of data.dir the service decides and folds nothing more, "
     "an agent begins no calls; it says so, and goes on by itself when there is room again."},
    {"priority.share.high", CONFIG_INT, "16", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT,
     "Share of the service that orders of high priority get while others wait too. The lower ones "
     "get theirs: nobody starves."},
    {"priority.share.normal", CONFIG_INT, "4", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT, "The same for orders of normal priority."},
    {"priority.share.low", CONFIG_INT, "1", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT, "The same for orders of low priority."},
    {"rocksdb.cache.mb", CONFIG_INT, "32", 1, 1e6, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Block cache, shared by all partitions of the process."},
    {"rocksdb.write.buffer.mb", CONFIG_INT, "8", 1, 4096, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Write buffers of all partitions of the process together; each has 2 MB at least."},

    /* ---- elections: the auditor among supervisors, programs of your own ---- */
    {"leader.lease.ms", CONFIG_DURATION_MS, "10000", 100, 3600000, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "After this silence of an elected leader another one takes over: what a leader's death costs. "
     "The same for all candidates of a role, or at least known to all."},
    {"leader.renew.ms", CONFIG_DURATION_MS, "2500", 10, 1200000, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "How often a leader renews its lease, one record each time; a third of leader.lease.ms at "
     "most."},
    {"leader.progress.ms", CONFIG_DURATION_MS, "30000", 10, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "A leader whose task reports no progress for so long is hung and gives the lead up, though "
     "it renews; at least leader.renew.ms."},
    {"leader.strategy", CONFIG_ENUM, "race", NO_BOUNDS, NO_UNIT, "race|ranked", SETTINGS_SUPERVISOR,
     "race: the first to claim leads until it ends; ranked: the lowest live leader.rank leads, and "
     "a lower one that comes takes over. The same for all candidates of a role."},
    {"leader.rank", CONFIG_INT, "0", 0, 1e6, NO_UNIT, NO_CHOICES, SETTINGS_SUPERVISOR,
     "This candidate's rank in ranked elections; equal ranks race."},

    /* ---- topics apply, topics check ---- */
    {"partitions", CONFIG_INT, "8", 1, 1024, NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Partitions of the keyed topics, for `reeve topics apply` only. Fixed for good once the "
     "topics exist."},
    {"replication.factor", CONFIG_INT, "1", 1, 9, NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Replicas of each partition, for `reeve topics apply` only: 3 on a real cluster."},

    /* ---- submission ---- */
    {"submission.http", CONFIG_BOOL, "true", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SUBMISSION,
     "Whether orders are taken by POST /orders too, not only from the topic."},

    /* ---- scheduler ---- */
    {"scheduler.batch.max", CONFIG_INT, "512", 1, 100000, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Commands decided in one cycle of a partition at most."},
    {"scheduler.cache.orders", CONFIG_INT, "20000", 1, 1e8, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Hot orders kept in memory, over all partitions of the process."},

    {"scheduler.standby", CONFIG_INT, "0", 0, 100, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "So many other schedulers fold each partition into a store of their own while it is somebody "
     "else's; one of them takes it over with hardly anything left to fold. 0: none, a takeover "
     "folds what is not on the disk."},

    {"routing.enabled", CONFIG_BOOL, "true", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Whether steps are started only at agents that say of themselves that they are well and have "
     "room. false: at once, at the first agent that the step names; for agents that do not say."},
    {"routing.factor", CONFIG_DOUBLE, "2", 1, 1000, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Steps that are started per call that an agent's well instances take: at 2 one runs and one "
     "waits at the agent, so that it never idles. The rest waits here, by priority."},
    {"routing.retry.ms", CONFIG_DURATION_MS, "5000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER,
     "A step none of whose agents is well is looked at again by its supervisor after so long, then "
     "less and less often; the scheduler starts it as soon as one is well."},
    {"routing.retry.max.ms", CONFIG_DURATION_MS, "10m", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER, "The longest time between two such looks; at least routing.retry.ms."},
    {"routing.alert.ms", CONFIG_DURATION_MS, "60000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER,
     "When steps have waited for so long because none of their agents is well, the alert "
     "AgentUnavailable is raised, one per agent; it is closed when one is well."},

    /* ---- supervisor: of them all, one is the auditor ---- */
    {"orders.retention.ms", CONFIG_DURATION_MS, "8d", 0, 3650 * DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "Orders that ended so long ago leave the stores; their history stays in the log. Longer than "
     "submissions and commands are kept (7 days), else an order submitted again after it has "
     "expired is a new one. 0: never."},
    {"auditor.interval.ms", CONFIG_DURATION_MS, "60000", 100, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR, "The auditor begins to look at all orders so often at most."},
    {"auditor.grace.ms", CONFIG_DURATION_MS, "120000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "An order whose deadline passed so long ago, and nobody acted, is stuck: the auditor raises "
     "an alert."},
    {"auditor.expire.per.second", CONFIG_INT, "500", 1, 100000, NO_UNIT, NO_CHOICES,
     SETTINGS_SUPERVISOR, "Finished orders that the auditor asks to expire in a second at most."},

    /* ---- agent ---- */
    {"agent.name", CONFIG_NAME, "", TEXT_UP_TO(64), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "The agent's name in workflows; it reads <prefix>.requests.<name>."},
    {"agent.names", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Several agents in this process, such as stock,payment, in place of agent.name. Each has a "
     "queue, a capacity, a group and a remote service of its own. agent.NAME.http.url stands for "
     "agent.http.url for that agent alone, and so on."},
    {"agent.kind", CONFIG_ENUM, "http", NO_BOUNDS, NO_UNIT, "http|exec|sim", SETTINGS_AGENT,
     "http: calls a URL; exec: runs a program; sim: simulates a service."},
    {"agent.in.flight.max", CONFIG_INT, "1000", 1, 100000, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Calls at the same time; more requests wait."},
    {"agent.queue.max", CONFIG_INT, "20000", 1, 1e7, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Requests read ahead that wait in memory, served by priority; still more wait in their topic, "
     "whatever their priority. At most 64 MB of requests in all."},
    {"agent.retry.backoff.ms", CONFIG_DURATION_MS, "200", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Wait before the second try of a call; doubles from try to try."},
    {"agent.retry.backoff.max.ms", CONFIG_DURATION_MS, "10000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "The longest wait between two tries."},
    {"agent.memory.ms", CONFIG_DURATION_MS, "25h", 1000, 366 * DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "How long answers are remembered, so that a request that comes again is answered without a "
     "second call. The default is an hour more than requests stay in their topic."},
    {"agent.memory.mb", CONFIG_INT, "256", 0, 1e6, "MB", NO_CHOICES, SETTINGS_AGENT,
     "Most that the remembered answers of an agent may take below data.dir; beyond it the oldest "
     "are forgotten early. 0: answers are not remembered over a restart."},
    {"agent.callback.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Where remote services call back: what the URLs that are handed out begin with, such as a "
     "load balancer's before all instances. Empty: this instance's own address."},
    {"agent.callback.secret", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "Shared by all instances of an agent: callbacks carry a token made with it. Best given as "
     "agent.callback.secret.file. Empty: callbacks are taken on a loopback address only."},
    {"agent.heartbeat.ms", CONFIG_DURATION_MS, "2000", 100, 60000, "ms", NO_CHOICES, SETTINGS_AGENT,
     "How often an agent says how it is doing, at least; one that is silent for three times as "
     "long is taken for gone."},
    {"agent.circuit.errors.min", CONFIG_INT, "20", 0, 1e9, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "So many calls must have ended within the window before the circuit to the remote service may "
     "open. 0: there is no circuit breaker."},
    {"agent.circuit.errors.percent", CONFIG_INT, "50", 1, 100, "%", NO_CHOICES, SETTINGS_AGENT,
     "Share of them at which it opens: calls that were refused, reset, not answered in time or "
     "answered with 5xx. Business errors do not count."},
    {"agent.circuit.window.ms", CONFIG_DURATION_MS, "10000", 10, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "How long calls count for it."},
    {"agent.circuit.open.ms", CONFIG_DURATION_MS, "5000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "How long the circuit stays open before the service is tried again; doubles with each time "
     "that it is still ill."},
    {"agent.circuit.open.max.ms", CONFIG_DURATION_MS, "60000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "The longest such time."},
    {"agent.circuit.successes", CONFIG_INT, "3", 1, 1e6, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Calls in a row that must end well before a circuit that is tried again is closed."},
    {"agent.http.probe.url", CONFIG_STRING, "", TEXT_UP_TO(2048), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "What is asked with GET whether the service is well again; any answer but 5xx says yes. "
     "Empty: agent.http.url."},
    {"agent.http.url", CONFIG_STRING, "", TEXT_UP_TO(2048), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Base URL of the remote service."},
    {"agent.http.connect.timeout.ms", CONFIG_DURATION_MS, "2000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Time to connect; what was not connected was not sent."},
    {"agent.http.try.timeout.ms", CONFIG_DURATION_MS, "10000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "Time of one try, connecting included. Nothing is sent after the step's deadline; an answer "
     "is "
     "waited for at most clock.skew.max.ms beyond it."},
    {"agent.exec.command", CONFIG_STRING, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Program to run for each call, with its arguments, separated by blanks; no shell. At most "
     "agent.in.flight.max at the same time, 16 where that is not set."},
    {"agent.exec.env", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Names of variables that programs get from this process's environment, beside PATH, LANG and "
     "REEVE_*."},
    {"agent.exec.grace.ms", CONFIG_DURATION_MS, "2000", 0, DAY_MS, "ms", NO_CHOICES, SETTINGS_AGENT,
     "From SIGTERM, at the step's deadline, to SIGKILL."},
    {"agent.sim.latency.ms", CONFIG_STRING, "5", 1, 64, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Time a simulated call takes: 5, normal:20:5 (mean, deviation) or exp:10 (mean)."},
    {"agent.sim.fail.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that fail with a business error and no effect."},
    {"agent.sim.silent.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that are never answered."},
    {"agent.sim.unknown.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that fail without telling whether they were applied."},
    {"agent.sim.seed", CONFIG_INT, "1", -9e15, 9e15, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Seed of the simulated agent: the same seed and calls give the same results."},
    {"agent.sim.ledger", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "File to which the simulated agent appends what it did, synced before it answers. Empty: "
     "none."},

    /* ---- console ---- */
    {"console.history.max", CONFIG_INT, "10000", 1, 1e7, NO_UNIT, NO_CHOICES, SETTINGS_CONSOLE,
     "Entries of an order's history in one answer at most; the rest comes page by page."},
    {"console.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Where the CLI asks the console. Empty: the port that a console wrote below data.dir (or "
     "reeve-data), else http://127.0.0.1:8080."},
};

static const struct config_reader readers[] = {
    {"all", SETTINGS_ALL},
    {"all services", SETTINGS_SERVICES},
    {"submission", SETTINGS_SUBMISSION},
    {"scheduler", SETTINGS_SCHEDULER},
    {"agent", SETTINGS_AGENT},
    {"supervisor", SETTINGS_SUPERVISOR},
    {"console", SETTINGS_CONSOLE},
    {"CLI", SETTINGS_CLI},
};

/* Variables of the scripts and the tests. */
static const char *const environment_ignored[] = {
    "REEVE_BOOTSTRAP",
    "REEVE_BUILD_DIR",
    "REEVE_CACHE",
    "REEVE_CLOCK_OFFSET_MS",
    "REEVE_FAILPOINT",
    "REEVE_KAFKA_DIR",
    "REEVE_KAFKA_JVM_OPTS",
    "REEVE_PROPERTY_CASES",
    "REEVE_PYTHON",
    "REEVE_ROOT",
    "REEVE_SEED",
    "REEVE_SOURCE_DIR",
    "REEVE_TAKEOVER_",
    "REEVE_TEST_",
    NULL,
};

/* instance.id, unless it is set: host-pid-random is readable, and new at each start. */
static void complete(struct config *config)
{
    char host[HOST_SIZE] = "";
    char id[HOST_SIZE + 48];
    uint32_t random = 0;
    if (config_string(config, "instance.id")[0] != '\0')
        return;
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        snprintf(host, sizeof(host), "host");
    host[strcspn(host, ".")] = '\0';
    for (char *at = host; *at != '\0'; at++)
        *at = isalnum((unsigned char)*at) || *at == '-' ? *at : '-';
    ssize_t size = getrandom(&random, sizeof(random), 0);
    assert(size == (ssize_t)sizeof(random));
    (void)size;
    snprintf(id, sizeof(id), "%s-%ld-%08x", host, (long)getpid(), (unsigned)random);
    config_set_default(config, "instance.id", id);
}

const struct config_schema settings_schema = {
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
    .readers = readers,
    .reader_count = sizeof(readers) / sizeof(readers[0]),
    .passthrough = &kafka_settings,
    .scope = {.prefix = "agent.", .name_key = "agent.name", .names_key = "agent.names"},
    .environment_prefix = "REEVE_",
    .environment_ignored = environment_ignored,
    .complete = complete,
};
