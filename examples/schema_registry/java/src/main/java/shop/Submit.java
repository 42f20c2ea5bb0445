// SPDX-License-Identifier: Apache-2.0

package shop;

import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Submits an order with Apicurio's serializer, which writes Confluent's framing, and follows it.
 *
 * <pre>Submit SCHEMAS BOOTSTRAP REGISTRY ORDER_ID [WORKFLOW]</pre>
 *
 * <p>With Confluent's own KafkaAvroSerializer and KafkaAvroDeserializer, the settings are
 * schema.registry.url and value.subject.name.strategy = RecordNameStrategy.
 */
public final class Submit {
  private static final String SUBMISSIONS = "orders.submissions";
  private static final String REPLIES = "orders.replies.web";

  private static Properties settings(String bootstrap, String registry) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("apicurio.registry.url", registry);
    settings.put("apicurio.registry.as-confluent", true);
    settings.put("apicurio.registry.use-id", "contentId");
    settings.put("apicurio.registry.headers.enabled", false);
    settings.put("apicurio.registry.auto-register", true);
    settings.put(
        "apicurio.registry.artifact-resolver-strategy",
        "io.apicurio.registry.serde.avro.strategy.RecordIdStrategy");
    return settings;
  }

  private static GenericRecord order(Schema schema, String id, String workflow) {
    Schema line = schema.getField("lines").schema().getElementType();
    ByteBuffer price =
        ByteBuffer.wrap(new BigDecimal("2.5500").unscaledValue().toByteArray());
    GenericRecord one =
        new GenericRecordBuilder(line)
            .set("sku", "85123A")
            .set("quantity", 6L)
            .set("unit_price", price)
            .build();
    return new GenericRecordBuilder(schema)
        .set("order_id", id)
        .set("currency", "GBP")
        .set("lines", List.of(one))
        .set("attributes", Map.of("note", "from Java"))
        .set("workflow", workflow)
        .set("reply_to", REPLIES)
        .build();
  }

  private static boolean follow(Properties settings, String id) {
    settings.put("group.id", "web-" + UUID.randomUUID());
    settings.put("auto.offset.reset", "earliest");
    settings.put("key.deserializer", StringDeserializer.class.getName());
    settings.put("value.deserializer", AvroKafkaDeserializer.class.getName());
    try (KafkaConsumer<String, GenericData.Record> consumer = new KafkaConsumer<>(settings)) {
      consumer.subscribe(List.of(REPLIES));
      while (true) {
        for (ConsumerRecord<String, GenericData.Record> each :
            consumer.poll(Duration.ofSeconds(1))) {
          if (!id.equals(each.key())) {
            continue;
          }
          String kind = each.value().get("kind").toString();
          String state = each.value().get("order_state").toString();
          System.out.println(kind + " " + state + " " + each.value().get("message"));
          if (state.equals("Processed") || state.equals("Compensated") || state.equals("Error")
              || kind.equals("Rejected")) {
            return state.equals("Processed");
          }
        }
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    Schema schema =
        new Schema.Parser().parse(Path.of(arguments[0], "SubmitOrder.avsc").toFile());
    String id = arguments[3];
    Properties producing = settings(arguments[1], arguments[2]);
    producing.put("acks", "all");
    producing.put("enable.idempotence", true);
    producing.put("key.serializer", StringSerializer.class.getName());
    producing.put("value.serializer", AvroKafkaSerializer.class.getName());
    String workflow = arguments.length > 4 ? arguments[4] : "three-steps";
    try (KafkaProducer<String, GenericRecord> producer = new KafkaProducer<>(producing)) {
      producer.send(new ProducerRecord<>(SUBMISSIONS, id, order(schema, id, workflow))).get();
    }
    System.exit(follow(settings(arguments[1], arguments[2]), id) ? 0 : 1);
  }
}
