/* SPDX-License-Identifier: Apache-2.0 */
/* Every configuration key of reeve: the one place to add one. Help, documentation and checks are
 * made from this table. Keys are grouped by the programs that read them; within a group the ones
 * that users set most come first. */
#include "replica/service/settings.h"

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
    /* ---- all programs ---- */
    {"kafka.bootstrap.servers", CONFIG_STRING, "127.0.0.1:9092", 1, 4096, NO_UNIT, NO_CHOICES,
     SETTINGS_ALL,
     "Brokers to connect to first: host:port, separated by commas. Every other kafka.* key is "
     "a setting of librdkafka and is passed on as it is, except the next four."},
    {"kafka.sasl.oauthbearer.token.file", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_ALL,
     "File with a token, for kafka.sasl.mechanism = OAUTHBEARER. Read again before the token "
     "expires, so another program can renew it."},
    {"kafka.sasl.oauthbearer.token.command", CONFIG_STRING, "", TEXT_UP_TO(4096), NO_UNIT,
     NO_CHOICES, SETTINGS_ALL,
     "Program that prints a token and nothing else, with its arguments, separated by blanks; no "
     "shell. Runs again before the token expires. Other users of the machine can see the "
     "arguments."},
    {"kafka.sasl.oauthbearer.token.lifetime.ms", CONFIG_DURATION_MS, "5m", 1000, DAY_MS, "ms",
     NO_CHOICES, SETTINGS_ALL,
     "How long a token is valid that does not say it: one that is not a JSON web token with the "
     "claim exp."},
    {"kafka.sasl.oauthbearer.token.timeout.ms", CONFIG_DURATION_MS, "10s", 100, 60000, "ms",
     NO_CHOICES, SETTINGS_ALL, "When a token command that has not ended is killed."},
    {"topics.prefix", CONFIG_NAME, "orders", 1, 100, NO_UNIT, NO_CHOICES, SETTINGS_ALL,
     "Prefix of all topic names: <prefix>.events and so on. Two prefixes are two separate "
     "installations on one cluster."},
    {"log.level", CONFIG_ENUM, "info", NO_BOUNDS, NO_UNIT, "debug|info|warning|error", SETTINGS_ALL,
     "The lowest level that is logged."},
    {"log.format", CONFIG_ENUM, "auto", NO_BOUNDS, NO_UNIT, "auto|logfmt|json", SETTINGS_ALL,
     "auto: logfmt on a terminal, else one JSON object per line."},

    /* ---- every service ---- */
    {"data.dir", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Directory of this instance's stores; only one process can use it at a time. You may "
     "delete it while the service is down: the service rebuilds it from the log, except for "
     "the answers that an agent remembers. Empty: reeve-data/<service>."},
    {"instance.id", CONFIG_NAME, "", TEXT_UP_TO(100), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Name of this instance in claims, logs and lists of owners. Empty: host-pid-random, new "
     "at each start."},
    {"http.host", CONFIG_STRING, "127.0.0.1", TEXT_UP_TO(64), NO_UNIT, NO_CHOICES,
     SETTINGS_SERVICES, "Address of the HTTP server."},
    {"http.auth", CONFIG_ENUM, "tokens", NO_BOUNDS, NO_UNIT, "tokens|none", SETTINGS_SERVICES,
     "tokens: every request needs a token of http.tokens.file, except for /livez, /readyz and the "
     "console's pages, which hold no data. none: everyone who reaches the server may do "
     "everything; if http.host is not a loopback address, http.proxy.trusted must be set."},
    {"http.tokens.file", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_ALL,
     "Path of the file with the hashes of tokens, which reeve token add writes. The service reads "
     "it again when it changes and on SIGHUP. Empty: no token is accepted."},
    {"http.groups.file", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SERVICES,
     "Path of the file that says which users are in which groups: a line for each group, with its "
     "name and the names of tokens, or of users whom a trusted proxy passes on. Steps that wait "
     "for people name groups. The service reads it again when it changes and on SIGHUP. Empty: no "
     "user is in a group."},
    {"http.read.only", CONFIG_BOOL, "false", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "true: the HTTP server answers only requests that change nothing."},
    {"http.proxy.trusted", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Addresses and networks (10.0.0.0/8) of proxies in front of the HTTP server, separated by "
     "commas. With http.auth = none, requests of other machines must come through one of them."},
    {"http.proxy.user.header", CONFIG_STRING, "X-Forwarded-User", 1, 64, NO_UNIT, NO_CHOICES,
     SETTINGS_SERVICES,
     "Header in which a trusted proxy passes on the user's name. With http.auth = none it becomes "
     "the name of who acted, and requests of the proxy without it are refused."},
    {"http.tls.cert", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Path of a PEM file with the certificate of the HTTP server, and its chain. The service reads "
     "it again when it changes and on SIGHUP. Empty: the server speaks HTTP, not HTTPS."},
    {"http.tls.key", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Path of a PEM file with the unencrypted private key of http.tls.cert."},
    {"http.tls.client.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SERVICES,
     "Path of a PEM file with the certificate authorities that may sign certificates of clients. "
     "Every client needs one then, in addition to its token. Empty: clients need none."},
    {"http.allowed.hosts", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Host names by which clients reach the HTTP server, such as that of a proxy, separated by "
     "commas. localhost, http.host and, if that is not a loopback address, every IP address "
     "count as well. The server refuses requests to other names (403), so that web pages cannot "
     "reach it under a name of their own."},
    {"http.port", CONFIG_INT, "0", 0, 65535, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "Port of /livez, /readyz, /metrics and the service's API. 0: the system chooses a port. "
     "The service writes its port to <data.dir>/http.port, and the URL by which programs on this "
     "machine reach it to <data.dir>/http.url."},
    {"http.port.fallback", CONFIG_BOOL, "false", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "true: where http.port is taken, the system chooses a port."},
    {"traces.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT | SETTINGS_SUPERVISOR,
     "URL at which an OpenTelemetry collector takes traces as OTLP over HTTP, such as "
     "http://127.0.0.1:4318/v1/traces. Supervisors send the spans of orders, steps and attempts, "
     "agents those of their calls. Empty: none are made."},
    {"traces.headers", CONFIG_SECRET, "", TEXT_UP_TO(16384), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT | SETTINGS_SUPERVISOR,
     "Headers for the collector, such as credentials; one NAME: VALUE per line. Set it with "
     "traces.headers.file."},
    {"traces.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT | SETTINGS_SUPERVISOR,
     "Path of a PEM file with the certificate authorities that may sign the collector's "
     "certificate. Empty: those of the system."},
    {"clock.skew.max.ms", CONFIG_DURATION_MS, "1000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "Largest error of any clock in the installation. A step times out this long after its "
     "deadline; an instance whose clock is off by more than half of it stops working. Must be "
     "the same for all services."},
    {"session.timeout.ms", CONFIG_DURATION_MS, "6000", 1000, 3600000, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "How long an instance may be silent before its consumer group gives its partitions to "
     "other instances. Brokers reject less than their group.min.session.timeout.ms (6000)."},
    {"group.static", CONFIG_BOOL, "false", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SERVICES,
     "true: the instance is a static member of its consumer groups, known by instance.id. If "
     "it restarts within session.timeout.ms it keeps its partitions and the group does not "
     "rebalance, but even a clean stop releases them only after that time. Needs instance.id."},
    {"start.timeout.ms", CONFIG_DURATION_MS, "30000", 1, DAY_MS, "ms", NO_CHOICES, SETTINGS_ALL,
     "How long a starting process waits for the brokers to answer."},
    {"drain.timeout.ms", CONFIG_DURATION_MS, "10000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SERVICES,
     "How long a service may take after SIGTERM to finish what is in flight; then it stops "
     "anyway."},
    {"disk.free.min.mb", CONFIG_INT, "512", 0, 1e9, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE,
     "Least free space on the disk of data.dir. Below it the service pauses: schedulers decide "
     "nothing and agents begin no calls. It logs the pause and resumes once there is space."},
    {"priority.share.high", CONFIG_INT, "16", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT,
     "Share of capacity that orders of high priority get while orders of other priorities also "
     "wait. Each priority gets its share, so none starves."},
    {"priority.share.normal", CONFIG_INT, "4", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT, "Share of capacity that orders of normal priority get."},
    {"priority.share.low", CONFIG_INT, "1", 1, 1000, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_AGENT, "Share of capacity that orders of low priority get."},
    {"rocksdb.cache.mb", CONFIG_INT, "32", 1, 1e6, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Block cache of RocksDB, shared by all partitions of the process."},
    {"rocksdb.write.buffer.mb", CONFIG_INT, "8", 1, 4096, "MB", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUPERVISOR | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Write buffers of RocksDB for all partitions of the process together; each partition has "
     "at least 2 MB."},

    /* ---- elections: the auditor among supervisors, programs of your own ---- */
    {"leader.lease.ms", CONFIG_DURATION_MS, "10000", 100, 3600000, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "How long an elected leader may be silent before another candidate takes over. Shorter: "
     "faster takeovers after a crash; longer: fewer false ones. Use the same value for all "
     "candidates of a role."},
    {"leader.renew.ms", CONFIG_DURATION_MS, "2500", 10, 1200000, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "How often a leader renews its lease, with one record each time; at most a third of "
     "leader.lease.ms."},
    {"leader.progress.ms", CONFIG_DURATION_MS, "30000", 10, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "How long a leader's task may report no progress before the leader counts as hung and "
     "resigns, although it renews; at least leader.renew.ms."},
    {"leader.strategy", CONFIG_ENUM, "race", NO_BOUNDS, NO_UNIT, "race|ranked", SETTINGS_SUPERVISOR,
     "race: the first candidate to claim leads until it stops. ranked: the running candidate "
     "with the lowest leader.rank leads; one with a lower rank takes over when it starts. Must "
     "be the same for all candidates of a role."},
    {"leader.rank", CONFIG_INT, "0", 0, 1e6, NO_UNIT, NO_CHOICES, SETTINGS_SUPERVISOR,
     "Rank of this candidate in ranked elections; candidates of equal rank race."},

    /* ---- topics apply, topics check ---- */
    {"partitions", CONFIG_INT, "8", 1, 1024, NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Number of partitions of the keyed topics, for `reeve topics apply`. It cannot be changed "
     "once the topics exist."},
    {"replication.factor", CONFIG_INT, "0", 0, 9, NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Replicas of each partition, for `reeve topics apply`. Use 3 on a real cluster. 0: as many as "
     "the topic commands has; 1 for the first topics."},

    /* ---- submission ---- */
    {"submission.http", CONFIG_BOOL, "true", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SUBMISSION,
     "true: the service also takes orders by POST /orders. false: only from the topic."},
    {"submission.console.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION,
     "URL of a console, or its data.dir on this machine. The console knows what became of orders: "
     "for GET /orders/{id}, and to refuse an order at once that was submitted before with other "
     "content. Empty: neither."},
    {"submission.console.token", CONFIG_SECRET, "", TEXT_UP_TO(256), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION,
     "Token for that console, of the role viewer. Set it with submission.console.token.file."},
    {"submission.console.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION,
     "Path of a PEM file with the certificate authorities that may sign that console's "
     "certificate. Empty: those of the system."},
    {"submission.console.tls.cert", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION,
     "Path of a PEM file with the client certificate that the submission service shows that "
     "console, and its chain."},
    {"submission.console.tls.key", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION,
     "Path of a PEM file with the unencrypted private key of submission.console.tls.cert."},

    /* ---- scheduler ---- */
    {"scheduler.batch.max", CONFIG_INT, "512", 1, 100000, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Most commands that one cycle of a partition decides."},
    {"scheduler.cache.mb", CONFIG_INT, "6", 1, 1e6, "MB", NO_CHOICES, SETTINGS_SCHEDULER,
     "Memory for recently used orders, for all partitions of the process together. The orders that "
     "changed since the store was last written are in memory as well, whatever this is."},

    {"scheduler.standby", CONFIG_INT, "0", 0, 100, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Number of other schedulers that keep a copy of each partition up to date. One of them "
     "takes the partition over with little left to replay. 0: none; a takeover replays what is "
     "not on its disk."},

    {"routing.enabled", CONFIG_BOOL, "true", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "true: a step starts only at an agent that reports itself healthy and has free capacity. "
     "false: a step starts at once at the first agent that it names; for agents that do not "
     "report their health."},
    {"routing.factor", CONFIG_DOUBLE, "2", 1, 1000, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Steps started per call that an agent's healthy instances can run at once. At 2, one step "
     "runs and one waits at the agent, which keeps it busy. Steps beyond that and routing.wait.ms "
     "wait in the scheduler, by priority."},
    {"routing.wait.ms", CONFIG_DURATION_MS, "500", 0, DAY_MS, "ms", NO_CHOICES, SETTINGS_SCHEDULER,
     "More steps than by routing.factor start at an agent that completes as many within this "
     "time: they wait at the agent, but only briefly. Steps that wait in the scheduler cost it a "
     "command and a Decision each. 0: only routing.factor counts."},
    {"routing.retry.ms", CONFIG_DURATION_MS, "5000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER,
     "How long until the supervisor first checks a step again when none of its agents is "
     "healthy; later checks are less and less frequent. The scheduler starts the step as soon "
     "as an agent is healthy."},
    {"routing.retry.max.ms", CONFIG_DURATION_MS, "10m", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER, "Longest time between two such checks; at least routing.retry.ms."},
    {"routing.alert.ms", CONFIG_DURATION_MS, "60000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER,
     "How long steps wait for a healthy agent before the alert AgentUnavailable is raised, one "
     "per agent. It closes when an instance is healthy again."},

    {"orders.retention.ms", CONFIG_DURATION_MS, "8d", 0, 3650 * DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUPERVISOR,
     "How long a finished order stays in the stores; its history stays in the log. Keep it longer "
     "than the 7 days that submissions and commands are kept, or an order submitted again after it "
     "expired counts as new. Supervisors make up no tick of a schedule that is as old. 0: for "
     "ever."},

    {"events.keep.ms", CONFIG_DURATION_MS, "0", 0, 3650 * DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SCHEDULER,
     "How long the log keeps its records: the scheduler restates orders that it still needs and "
     "deletes what is older. At least orders.retention.ms; a day more spares restating orders that "
     "are about to expire. All instances must be of a version that reads Statements. 0: the log is "
     "kept for ever."},
    {"replies.json", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES,
     SETTINGS_SCHEDULER | SETTINGS_SUBMISSION,
     "Applications, separated by commas, that get their StatusUpdates as JSON and not as Avro, on "
     "<prefix>.replies.<application>. The same on all instances."},
    {"schema.registry.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION | SETTINGS_SCHEDULER | SETTINGS_CONSOLE | SETTINGS_CLI,
     "URL of a schema registry that has the interface of Confluent's, such as "
     "http://127.0.0.1:8081. Where it is set, StatusUpdates carry Confluent's framing, and "
     "submissions may. The same on all instances. Empty: neither."},
    {"schema.registry.user", CONFIG_STRING, "", TEXT_UP_TO(256), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION | SETTINGS_SCHEDULER | SETTINGS_CONSOLE | SETTINGS_CLI,
     "User, or API key, for that registry. Empty: none."},
    {"schema.registry.password", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION | SETTINGS_SCHEDULER | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Password, or API secret, of that user. Set it with schema.registry.password.file."},
    {"schema.registry.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_SUBMISSION | SETTINGS_SCHEDULER | SETTINGS_CONSOLE | SETTINGS_CLI,
     "Path of a PEM file with the certificate authorities that may sign the registry's "
     "certificate. Empty: those of the system."},
    {"events.trim.groups", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SCHEDULER,
     "Consumer groups of the log, separated by commas, such as that of `reeve export events "
     "--group`. The scheduler deletes only what all of them have read; while one has no committed "
     "offset in a partition, nothing of it is deleted."},

    /* ---- supervisor: one of the supervisors is the auditor ---- */
    {"auditor.interval.ms", CONFIG_DURATION_MS, "60000", 100, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR, "Shortest time between two audits of all orders."},
    {"auditor.grace.ms", CONFIG_DURATION_MS, "120000", 0, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_SUPERVISOR,
     "How long after its deadline an order may stay without action before the auditor raises "
     "an alert for it as stuck."},
    {"schedules.enabled", CONFIG_BOOL, "true", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_SUPERVISOR,
     "Whether this supervisor is a candidate for submitting the orders of schedules; one of all "
     "does. Where none is, schedules stand still."},

    /* ---- agent ---- */
    {"agent.name", CONFIG_NAME, "", TEXT_UP_TO(64), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Name of the agent in workflows; it reads <prefix>.requests.<name>."},
    {"agent.names", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Names of several agents in this process, such as stock,payment, instead of agent.name. "
     "Each has its own queue, capacity, consumer group and remote service. agent.NAME.http.url "
     "sets agent.http.url for the agent NAME only; so does every agent.* key."},
    {"agent.kind", CONFIG_ENUM, "http", NO_BOUNDS, NO_UNIT, "http|exec|sim", SETTINGS_AGENT,
     "http: calls a URL. exec: runs a program. sim: simulates a service."},
    {"agent.in.flight.max", CONFIG_INT, "1000", 1, 100000, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Most calls at the same time; further requests wait."},
    {"agent.queue.max", CONFIG_INT, "20000", 1, 1e7, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Most requests that wait in memory, where they are served by priority; further requests "
     "wait in their topic, in its order. Requests in memory take at most 64 MB."},
    {"agent.retry.backoff.ms", CONFIG_DURATION_MS, "200", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Wait before the second try of a call; it doubles with each further try."},
    {"agent.retry.backoff.max.ms", CONFIG_DURATION_MS, "10000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Longest wait between two tries."},
    {"agent.memory.ms", CONFIG_DURATION_MS, "25h", 1000, 366 * DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "How long an agent remembers its answers, so that it answers a repeated request without a "
     "second call. The default is one hour more than requests stay in their topic."},
    {"agent.memory.mb", CONFIG_INT, "256", 0, 1e6, "MB", NO_CHOICES, SETTINGS_AGENT,
     "Most space that an agent's remembered answers take below data.dir; beyond it the agent "
     "forgets the oldest early. 0: a restart forgets all answers."},
    {"agent.callback.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Base of the URLs that remote services call back, such as that of a load balancer in "
     "front of all instances. Empty: the address of this instance."},
    {"agent.callback.secret", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "Secret shared by all instances of an agent: callbacks carry a token made with it. Set it "
     "with agent.callback.secret.file. Empty: callbacks are accepted on a loopback address "
     "only."},
    {"agent.heartbeat.ms", CONFIG_DURATION_MS, "2000", 100, 60000, "ms", NO_CHOICES, SETTINGS_AGENT,
     "Longest time between two health reports of an agent instance; an instance that is silent "
     "for three times as long counts as gone."},
    {"agent.circuit.errors.min", CONFIG_INT, "10", 0, 1e9, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Orders that must be called within the window before the circuit to the remote service may "
     "open. 0: no circuit breaker."},
    {"agent.circuit.errors.percent", CONFIG_INT, "50", 1, 100, "%", NO_CHOICES, SETTINGS_AGENT,
     "Share of failed orders in the window at which the circuit opens. An order fails, once, when "
     "its calls are refused, reset, not answered in time, or answered with 5xx, and none succeeds; "
     "business errors do not count."},
    {"agent.circuit.window.ms", CONFIG_DURATION_MS, "10000", 10, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Length of the window in which orders count."},
    {"agent.circuit.open.ms", CONFIG_DURATION_MS, "5000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "How long the circuit stays open before the agent probes the remote service; doubles with "
     "each probe that fails."},
    {"agent.circuit.open.max.ms", CONFIG_DURATION_MS, "60000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Longest time that the circuit stays open before a probe."},
    {"agent.circuit.successes", CONFIG_INT, "3", 1, 1e6, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Successful calls in a row after which a circuit that is being probed closes."},
    {"agent.http.probe.url", CONFIG_STRING, "", TEXT_UP_TO(2048), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "URL that the agent probes with GET while the circuit is open; any answer but 5xx counts "
     "as healthy. Empty: agent.http.url."},
    {"agent.http.url", CONFIG_STRING, "", TEXT_UP_TO(2048), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Base URL of the remote service. Credentials belong into agent.http.headers."},
    {"agent.http.headers", CONFIG_SECRET, "", TEXT_UP_TO(16384), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "Headers of each call and probe, one NAME: VALUE per line, such as Authorization: Bearer "
     "TOKEN. Set them with agent.http.headers.file."},
    {"agent.http.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Path of a PEM file with the certificate authorities that may sign the certificate of the "
     "remote service. Empty: those of the system."},
    {"agent.http.tls.cert", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_AGENT,
     "Path of a PEM file with the client certificate that the agent shows the remote service, and "
     "its chain. It is read again for each connection."},
    {"agent.http.tls.key", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Path of a PEM file with the unencrypted private key of agent.http.tls.cert."},
    {"agent.http.connect.timeout.ms", CONFIG_DURATION_MS, "2000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT, "Time limit for connecting; without a connection nothing is sent."},
    {"agent.http.try.timeout.ms", CONFIG_DURATION_MS, "10000", 1, DAY_MS, "ms", NO_CHOICES,
     SETTINGS_AGENT,
     "Time limit of one try, connecting included. The agent sends nothing after the step's "
     "deadline and waits for an answer at most clock.skew.max.ms beyond it."},
    {"agent.exec.command", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Program to run for each call, with its arguments, separated by blanks; no shell. At most "
     "agent.in.flight.max programs run at once, or 16 if that is not set."},
    {"agent.exec.env", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Names of variables of this process's environment that programs inherit, in addition to "
     "PATH, LANG and REEVE_*."},
    {"agent.exec.grace.ms", CONFIG_DURATION_MS, "2000", 0, DAY_MS, "ms", NO_CHOICES, SETTINGS_AGENT,
     "Time between SIGTERM, sent at the step's deadline, and SIGKILL."},
    {"agent.sim.latency.ms", CONFIG_STRING, "5", 1, 64, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Duration of a simulated call: 5, normal:20:5 (mean, deviation) or exp:10 (mean)."},
    {"agent.sim.fail.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that fail with a business error and have no effect."},
    {"agent.sim.silent.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that never get an answer."},
    {"agent.sim.unknown.share", CONFIG_DOUBLE, "0", 0, 1, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Share of simulated calls that fail and leave open whether they took effect."},
    {"agent.sim.seed", CONFIG_INT, "1", -9e15, 9e15, NO_UNIT, NO_CHOICES, SETTINGS_AGENT,
     "Seed of the simulated agent: the same seed and the same calls give the same results."},

    /* ---- console ---- */
    {"console.history.max", CONFIG_INT, "10000", 1, 1e7, NO_UNIT, NO_CHOICES, SETTINGS_CONSOLE,
     "Most entries of an order's history in one answer; the rest follows on further pages."},
    {"console.services", CONFIG_LIST, "", NO_BOUNDS, NO_UNIT, NO_CHOICES, SETTINGS_CONSOLE,
     "The services that the console shows on its page Health and in `reeve services`, separated by "
     "commas: HOST:PORT or the base URL of each, or the absolute path of its data.dir on this "
     "machine. `dns:HOST:PORT` stands for all addresses of the name, as replicas have them, and "
     "`file:PATH` for the lines of a file, an address each, which is read each time; its path is "
     "absolute. The console asks each at GET /about."},
    {"console.services.token", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES,
     SETTINGS_CONSOLE,
     "Token for those services, of the role viewer. Set it with console.services.token.file."},
    {"console.services.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_CONSOLE,
     "Path of a PEM file with the certificate authorities that may sign the certificates of those "
     "services. Empty: those of the system."},
    {"console.services.tls.cert", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_CONSOLE,
     "Path of a PEM file with the client certificate that the console shows those services, and "
     "its chain."},
    {"console.services.tls.key", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES,
     SETTINGS_CONSOLE,
     "Path of a PEM file with the unencrypted private key of console.services.tls.cert."},
    {"context", CONFIG_NAME, "", TEXT_UP_TO(64), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "The context of `reeve context` whose settings the command reads, unless --config names a "
     "file. Empty: the one that `reeve context use` has chosen."},
    {"console.url", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Base URL at which the CLI calls the console. Empty: the URL that a console of this user or "
     "root wrote to http.url below data.dir (or reeve-data), else http://127.0.0.1:8080."},
    {"console.token", CONFIG_SECRET, "", TEXT_UP_TO(4096), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Token with which the CLI calls the console, and services for verify --live. Set it with "
     "console.token.file. It is not sent to http://127.0.0.1:8080 unless console.url names that."},
    {"console.tls.ca", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Path of a PEM file with the certificate authorities that may sign the certificate of the "
     "console. Empty: those of the system."},
    {"console.tls.cert", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Path of a PEM file with the client certificate that the CLI shows the console, and its "
     "chain."},
    {"console.tls.key", CONFIG_STRING, "", TEXT_UP_TO(1024), NO_UNIT, NO_CHOICES, SETTINGS_CLI,
     "Path of a PEM file with the unencrypted private key of console.tls.cert."},
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
    .complete = complete,
};
