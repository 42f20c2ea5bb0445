/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev --kafka`: a real Kafka of one node, without ZooKeeper, as a child process. The user
 * has unpacked it: only its jars are used, and nothing is written there.
 *
 *     kafka/server.properties   written at each start
 *     kafka/log4j*.properties   likewise: what Kafka 4 and Kafka 3 log
 *     kafka/data/               topics and records
 *     kafka/cluster.id          data/ is complete, and of this cluster
 *
 * It starts while the loop runs, since Java takes seconds: ports, format (once), the broker, and
 * then whether it answers; dev_await_kafka() goes one step at a time. */
#include "base/base64.h"
#include "cli/dev/dev_internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define DOWNLOADS "https://kafka.apache.org/downloads"

enum {
    CLUSTER_ID_BYTES = 16,
    CLUSTER_ID_SIZE = BASE64_SIZE(CLUSTER_ID_BYTES) + 1,
    PORTS_TRIED = 1000,
    MOVES_MAX = 3,           /* to other ports */
    PORT_WAIT_MS = 3000,     /* for the broker of a `reeve dev` that was killed a moment ago */
    ANSWER_WAIT_MS = 120000, /* a slow machine needs a minute */
    PROBE_MS = 300,
    PATH_SIZE = PATH_MAX + 64
};

struct dev_kafka {
    char java[PATH_MAX]; /* the program */
    const char *home;    /* borrowed from the command line or the environment */
    char directory[PATH_SIZE];
    char class_path[2 * PATH_SIZE];
    char bootstrap[32];
    int port, controller_port;
    int moves;
    char cluster_id[CLUSTER_ID_SIZE]; /* another broker may answer at that port */
    struct child *format;             /* borrowed; NULL: not begun, or not needed */
    struct child *broker;             /* likewise */
    int64_t began_ms;                 /* the wait for a port, then the broker */
};

/* ---- what the user has ---- */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static enum error_class find_java(struct dev_kafka *kafka, struct error *ret_error)
{
    const char *home = getenv("JAVA_HOME"), *path = getenv("PATH");
    if (home != NULL && *home != '\0') {
        int size = snprintf(kafka->java, sizeof(kafka->java), "%s/bin/java", home);
        if (size < (int)sizeof(kafka->java) && is_program(kafka->java))
            return ERROR_OK;
        return error_set(ret_error, CODE_CONFIG,
                         "JAVA_HOME is %.200s, which has no bin/java: correct it, or unset it if "
                         "java is in PATH",
                         home);
    }
    for (size_t size; path != NULL && *path != '\0'; path += size + (path[size] == ':')) {
        size = strcspn(path, ":");
        int written = snprintf(kafka->java, sizeof(kafka->java), "%.*s/java", (int)size, path);
        if (size > 0 && written < (int)sizeof(kafka->java) && is_program(kafka->java))
            return ERROR_OK;
    }
    return error_set(ret_error, CODE_CONFIG,
                     "--kafka needs Java (Kafka 4 needs version 17 or later): install it, or set "
                     "JAVA_HOME");
}

static bool has_broker_jar(const char *home)
{
    char path[PATH_SIZE];
    bool found = false;
    const struct dirent *entry;
    snprintf(path, sizeof(path), "%.*s/libs", PATH_MAX, home);
    DIR *dir = opendir(path);
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL)
        found =
            string_starts_with(entry->d_name, "kafka_") && string_ends_with(entry->d_name, ".jar");
    if (dir != NULL)
        closedir(dir);
    return found;
}

static enum error_class find_kafka(struct dev *dev, struct error *ret_error)
{
    const char *home = cli_flag_value(dev->cli, "kafka-home");
    bool from_flag = home != NULL;
    if (!from_flag)
        home = getenv("KAFKA_HOME");
    if (home == NULL || *home == '\0')
        return error_set(ret_error, CODE_CONFIG,
                         "--kafka needs a Kafka (" DOWNLOADS "): unpack one and name its folder "
                         "with --kafka-home or KAFKA_HOME");
    if (!has_broker_jar(home))
        return error_set(ret_error, CODE_CONFIG,
                         "%s: %.200s has no libs/kafka_*.jar: name the folder of an unpacked Kafka "
                         "(" DOWNLOADS ")",
                         from_flag ? "--kafka-home" : "KAFKA_HOME", home);
    if (strchr(home, ':') != NULL)
        return error_set(ret_error, CODE_CONFIG,
                         "%.200s: Java cannot read jars of a folder with ':' in its path: move "
                         "that Kafka",
                         home);
    dev->kafka->home = home;
    return ERROR_OK;
}

enum error_class dev_take_kafka(struct dev *dev, struct error *ret_error)
{
    const struct cli *cli = dev->cli;
    if (!cli_flag_given(cli, "kafka"))
        return cli_flag_given(cli, "kafka-home")
                   ? error_set(ret_error, CODE_USAGE, "--kafka-home is for --kafka: add it")
                   : ERROR_OK;
    if (cli_flag_given(cli, "in-memory"))
        return error_set(ret_error, CODE_USAGE,
                         "--kafka keeps its records in a folder: leave out --in-memory");
    if (config_is_set(cli->config, "kafka.bootstrap.servers"))
        return error_set(ret_error, CODE_USAGE,
                         "--kafka starts a broker of its own: leave out kafka.bootstrap.servers "
                         "(%.100s)",
                         config_origin(cli->config, "kafka.bootstrap.servers"));
    dev->kafka = calloc(1, sizeof(*dev->kafka));
    assert(dev->kafka != NULL);
    enum error_class class = find_java(dev->kafka, ret_error);
    return class == ERROR_OK ? find_kafka(dev, ret_error) : class;
}

pid_t dev_kafka_pid(const struct dev *dev)
{
    return child_pid(dev->kafka->broker);
}

const char *dev_kafka_home(const struct dev *dev)
{
    return dev->kafka->home;
}

void dev_free_kafka(struct dev *dev)
{
    free(dev->kafka);
    dev->kafka = NULL;
}

/* ---- ports ---- */

static bool is_free(int port)
{
    int yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); /* as Java does */
    bool is = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return is;
}

/* The next free one from `port` on; 0: there is none. */
static int free_from(int port)
{
    for (int end = port + PORTS_TRIED; port < end && port <= UINT16_MAX; port++)
        if (is_free(port))
            return port;
    return 0;
}

/* ---- files ---- */

static enum error_class write_file(const struct dev_kafka *kafka, const char *name,
                                   const char *content, struct error *ret_error)
{
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof(path), "%s/%s", kafka->directory, name);
    return files_write_atomic(path, text_of(content), ret_error);
}

/* Java finds them by their names in its class path. */
static enum error_class write_logging(const struct dev_kafka *kafka, struct error *ret_error)
{
    static const char of_kafka_4[] = "status=error\n"
                                     "appender.out.type=Console\n"
                                     "appender.out.name=out\n"
                                     "appender.out.layout.type=PatternLayout\n"
                                     "appender.out.layout.pattern=%d{ISO8601} %p %c{1}: %m%n\n"
                                     "rootLogger.level=warn\n"
                                     "rootLogger.appenderRef.out.ref=out\n";
    static const char of_kafka_3[] =
        "log4j.rootLogger=WARN, out\n"
        "log4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n\n";
    enum error_class class = write_file(kafka, "log4j2.properties", of_kafka_4, ret_error);
    return class == ERROR_OK ? write_file(kafka, "log4j.properties", of_kafka_3, ret_error) : class;
}

/* Topics have what they need in their own settings (kafka/topics/). A node that was killed waits
 * for the end of its session when it starts again, so sessions are short. */
static enum error_class write_properties(const struct dev_kafka *kafka, struct error *ret_error)
{
    char content[PATH_SIZE + 2048];
    int size = snprintf(content, sizeof(content),
                        "process.roles=broker,controller\n"
                        "node.id=1\n"
                        "controller.quorum.voters=1@127.0.0.1:%d\n"
                        "listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d\n"
                        "advertised.listeners=PLAINTEXT://127.0.0.1:%d\n"
                        "inter.broker.listener.name=PLAINTEXT\n"
                        "controller.listener.names=CONTROLLER\n"
                        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
                        "log.dirs=%s/data\n"
                        "auto.create.topics.enable=false\n"
                        "offsets.topic.replication.factor=1\n"
                        "offsets.topic.num.partitions=4\n"
                        "transaction.state.log.replication.factor=1\n"
                        "transaction.state.log.min.isr=1\n"
                        "share.coordinator.state.topic.replication.factor=1\n"
                        "share.coordinator.state.topic.min.isr=1\n"
                        "message.max.bytes=8388608\n"
                        "replica.fetch.max.bytes=8388608\n"
                        "group.min.session.timeout.ms=1000\n"
                        "group.initial.rebalance.delay.ms=0\n"
                        "log.cleaner.dedupe.buffer.size=16777216\n"
                        "broker.session.timeout.ms=3000\n"
                        "broker.heartbeat.interval.ms=500\n",
                        kafka->controller_port, kafka->port, kafka->controller_port, kafka->port,
                        kafka->directory);
    assert(size > 0 && size < (int)sizeof(content));
    return write_file(kafka, "server.properties", content, ret_error);
}

/* Its path stands in a list, in a file of Latin-1, and in a class path. */
static enum error_class check_directory(const char *directory, struct error *ret_error)
{
    for (const char *at = directory; *at != '\0'; at++)
        if (*at < ' ' || *at > '~' || strchr(",:\\", *at) != NULL)
            return error_set(ret_error, CODE_CONFIG,
                             "%.200s: Kafka's folder must have a path of ASCII characters without "
                             "',', ':' and '\\': name another one with --data-dir",
                             directory);
    return ERROR_OK;
}

/* ---- the start ---- */

static enum error_class start_java(struct dev *dev, const char *name, enum child_kind kind,
                                   char *const arguments[], struct child **ret_child,
                                   struct error *ret_error)
{
    char directory[PATH_SIZE];
    struct child_options options = {.name = name,
                                    .directory = directory,
                                    .kind = kind,
                                    .program = dev->kafka->java,
                                    .arguments = arguments,
                                    .to_stderr = cli_flag_given(dev->cli, "logs")};
    snprintf(directory, sizeof(directory), "%s/%s", dev->directory, name);
    enum error_class class = files_make_dirs(directory, ret_error);
    return class == ERROR_OK ? children_start(dev->children, &options, ret_child, ret_error)
                             : class;
}

/* What an interrupted one has left is incomplete. */
static enum error_class format(struct dev *dev, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    char data[PATH_SIZE + 32], properties[PATH_SIZE + 32], bytes[CLUSTER_ID_BYTES];
    ssize_t random = getrandom(bytes, sizeof(bytes), 0);
    assert(random == sizeof(bytes));
    bytes[0] &= 0x7f; /* an id must not begin with '-' */
    base64_encode((struct text){bytes, sizeof(bytes)}, kafka->cluster_id);
    snprintf(data, sizeof(data), "%s/data", kafka->directory);
    snprintf(properties, sizeof(properties), "%s/server.properties", kafka->directory);
    char cp[] = "-cp", class[] = "kafka.tools.StorageTool", verb[] = "format", t[] = "-t",
         c[] = "-c";
    char *arguments[] = {cp, kafka->class_path, class, verb, t, kafka->cluster_id,
                         c,  properties,        NULL};
    if (files_exists(data) && files_remove_tree(data, ret_error) != ERROR_OK)
        return ret_error->class;
    return start_java(dev, "kafka-format", CHILD_TASK, arguments, &kafka->format, ret_error);
}

static enum error_class start_broker(struct dev *dev, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    char properties[PATH_SIZE + 32];
    char memory[] = "-Xmx512m", cp[] = "-cp", class[] = "kafka.Kafka";
    char *arguments[] = {memory, cp, kafka->class_path, class, properties, NULL};
    snprintf(properties, sizeof(properties), "%s/server.properties", kafka->directory);
    kafka->began_ms = clock_mono_ms(clock_real());
    if (kafka->broker == NULL)
        return start_java(dev, "kafka", CHILD_BROKER, arguments, &kafka->broker, ret_error);
    child_replace(kafka->broker, arguments);
    return ERROR_OK;
}

enum error_class dev_start_kafka(struct dev *dev, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    kafka->began_ms = clock_mono_ms(clock_real());
    snprintf(kafka->directory, sizeof(kafka->directory), "%s/kafka", dev->directory);
    snprintf(kafka->class_path, sizeof(kafka->class_path), "%s:%.*s/libs/*", kafka->directory,
             PATH_MAX, kafka->home);
    enum error_class class = check_directory(kafka->directory, ret_error);
    if (class == ERROR_OK)
        class = files_make_dirs(kafka->directory, ret_error);
    return class == ERROR_OK ? write_logging(kafka, ret_error) : class;
}

/* That at which clients found it last, if it is free. */
static enum error_class take_ports(struct dev *dev, int64_t waited_ms, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    int last = dev->last_broker_port;
    if (last != 0 && !is_free(last) && waited_ms < PORT_WAIT_MS)
        return ERROR_OK;
    kafka->port = free_from(last != 0 ? last : EMBEDDED_PORT);
    kafka->controller_port = kafka->port != 0 ? free_from(kafka->port + 1) : 0;
    if (kafka->controller_port == 0)
        return error_set(ret_error, CODE_NO_PROCESS, "Kafka finds no free ports from %d on",
                         last != 0 ? last : EMBEDDED_PORT);
    snprintf(kafka->bootstrap, sizeof(kafka->bootstrap), "127.0.0.1:%d", kafka->port);
    dev->bootstrap = kafka->bootstrap;
    return write_properties(kafka, ret_error);
}

bool dev_kafka_moves(struct dev *dev, const struct child *child)
{
    struct dev_kafka *kafka = dev->kafka;
    if (kafka == NULL || child != kafka->broker || kafka->moves == MOVES_MAX ||
        (is_free(kafka->port) && is_free(kafka->controller_port)))
        return false;
    kafka->moves++;
    dev->bootstrap = NULL;
    return true;
}

static bool is_formatted(struct dev_kafka *kafka)
{
    char path[PATH_SIZE + 32];
    char *content = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/cluster.id", kafka->directory);
    if (files_read(path, CLUSTER_ID_SIZE, &content, &size, NULL) != ERROR_OK)
        return false;
    snprintf(kafka->cluster_id, sizeof(kafka->cluster_id), "%s", content);
    free(content);
    return size == CLUSTER_ID_SIZE - 1;
}

static enum error_class prepare(struct dev *dev, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    if (kafka->format == NULL)
        return is_formatted(kafka) ? start_broker(dev, ret_error) : format(dev, ret_error);
    if (!child_is_ready(kafka->format))
        return ERROR_OK;
    enum error_class class = write_file(kafka, "cluster.id", kafka->cluster_id, ret_error);
    return class == ERROR_OK ? start_broker(dev, ret_error) : class;
}

static enum error_class ask(struct dev *dev, bool *ret_answers, struct error *ret_error)
{
    struct cluster_kafka_options kafka;
    enum error_class class = dev_broker_options(dev, &kafka, ret_error);
    return class == ERROR_OK ? topics_ask_broker(&kafka.options, dev->kafka->cluster_id, PROBE_MS,
                                                 ret_answers, ret_error)
                             : class;
}

enum error_class dev_await_kafka(struct dev *dev, bool *ret_answers, struct error *ret_error)
{
    struct dev_kafka *kafka = dev->kafka;
    int64_t waited_ms = clock_mono_ms(clock_real()) - kafka->began_ms;
    enum error_class class = ERROR_OK;
    if (kafka->broker != NULL && waited_ms > ANSWER_WAIT_MS)
        return error_set(ret_error, CODE_BROKER_UNAVAILABLE,
                         "Kafka does not answer after %d s; see %.200s/log", ANSWER_WAIT_MS / 1000,
                         kafka->directory);
    if (dev->bootstrap == NULL)
        class = take_ports(dev, waited_ms, ret_error);
    if (class != ERROR_OK || dev->bootstrap == NULL)
        return class;
    if (kafka->broker == NULL)
        return prepare(dev, ret_error);
    return child_is_running(kafka->broker) ? ask(dev, ret_answers, ret_error)
                                           : start_broker(dev, ret_error);
}
