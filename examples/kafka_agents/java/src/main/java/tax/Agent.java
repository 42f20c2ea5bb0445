// SPDX-License-Identifier: Apache-2.0
package tax;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An agent without reeve's libraries: Apache's clients for Kafka and Avro, and three .avsc files. It
 * performs every step that it is asked for at once; put your own work into perform(). Stop it with
 * SIGTERM or Ctrl-C.
 *
 * <pre>Agent SCHEMAS BOOTSTRAP-SERVERS PREFIX AGENT</pre>
 */
public final class Agent {
  private static final Duration HEARTBEAT = Duration.ofSeconds(2);

  private final String name;
  private final String instance = "java-" + ManagementFactory.getRuntimeMXBean().getName();
  private final String prefix;
  private final Schema report;
  private final Schema health;
  private final BinaryMessageDecoder<GenericRecord> requests;
  private final KafkaProducer<String, byte[]> producer;
  private final KafkaConsumer<String, byte[]> consumer;

  private Agent(File schemas, String servers, String prefix, String name) throws IOException {
    this.prefix = prefix;
    this.name = name;
    report = schema(schemas, "ReportStep");
    health = schema(schemas, "AgentHealth");
    requests =
        new BinaryMessageDecoder<>(GenericData.get(), schema(schemas, "StepRequest"));
    // Java's partitioner hashes keys as reeve does.
    producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", servers, "acks", "all", "enable.idempotence", true),
            new StringSerializer(),
            new ByteArraySerializer());
    consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers", servers,
                "group.id", prefix + ".agent." + name,
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest"),
            new StringDeserializer(),
            new ByteArrayDeserializer());
  }

  private static Schema schema(File folder, String name) throws IOException {
    return new Schema.Parser().parse(new File(folder, name + ".avsc"));
  }

  /** Avro's single-object encoding. */
  private static byte[] encode(GenericRecord record) throws IOException {
    ByteBuffer bytes =
        new BinaryMessageEncoder<GenericRecord>(GenericData.get(), record.getSchema())
            .encode(record);
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return copy;
  }

  /** Not after its deadline, and not for more time, which is for an operation that is running. */
  private static boolean mayBegin(GenericRecord request) {
    return !(boolean) request.get("extension")
        && System.currentTimeMillis() < (long) request.get("complete_by");
  }

  /**
   * One operation, named by the request's idempotency_key: perform it once, however often it comes.
   * An undo takes back what was done under its do_key. Returns the output, which is JSON.
   */
  private static String perform(GenericRecord request) {
    return "{\"tax\": \"4.20\"}";
  }

  private GenericRecord reportOf(GenericRecord request, String output) {
    Object direction =
        new GenericData.EnumSymbol(
            report.getField("direction").schema(), request.get("direction").toString());
    return new GenericRecordBuilder(report)
        .set("order_id", request.get("order_id"))
        .set("step", request.get("step"))
        .set("direction", direction)
        .set("attempt", request.get("attempt"))
        .set("succeeded", true)
        .set("output", output)
        .set("agent", name)
        .set("instance", instance)
        .build();
  }

  private void reportHealth() throws IOException {
    GenericRecord record =
        new GenericRecordBuilder(health)
            .set("agent", name)
            .set("instance", instance)
            .set("capacity", 10)
            .set("partitions", consumer.assignment().size())
            .set("heartbeat_ms", HEARTBEAT.toMillis())
            .set("reported_at", System.currentTimeMillis())
            .build();
    producer.send(new ProducerRecord<>(prefix + ".agents", instance + "/" + name, encode(record)));
  }

  private void run() throws Exception {
    consumer.subscribe(List.of(prefix + ".requests." + name));
    while (true) {
      ConsumerRecords<String, byte[]> records = consumer.poll(HEARTBEAT.dividedBy(2));
      List<Future<?>> sent = new ArrayList<>();
      for (ConsumerRecord<String, byte[]> record : records) {
        GenericRecord request = requests.decode(record.value());
        if (mayBegin(request)) {
          byte[] bytes = encode(reportOf(request, perform(request)));
          sent.add(
              producer.send(
                  new ProducerRecord<>(
                      prefix + ".commands", request.get("order_id").toString(), bytes)));
        }
      }
      reportHealth();
      for (Future<?> report : sent) {
        report.get(); // or it fails, and the requests come again
      }
      consumer.commitSync(); // only now: a crash before this repeats the requests
    }
  }

  private void close() throws Exception {
    // Without a value: this instance is gone.
    producer.send(new ProducerRecord<>(prefix + ".agents", instance + "/" + name, null)).get();
    producer.close();
    consumer.close();
  }

  public static void main(String[] args) throws Exception {
    Agent agent = new Agent(new File(args[0]), args[1], args[2], args[3]);
    Thread main = Thread.currentThread();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  agent.consumer.wakeup();
                  try {
                    main.join(10000);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
    try {
      agent.run();
    } catch (WakeupException e) {
      agent.close();
    }
  }
}
