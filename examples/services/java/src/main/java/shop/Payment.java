// SPDX-License-Identifier: Apache-2.0
package shop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** A remote service that keeps the promises of docs/use/remote-services.md with Spring. */
@SpringBootApplication
@RestController
public class Payment {
    private static final BigDecimal LIMIT = new BigDecimal(100);

    record Answer(String key, String direction, int status, Map<String, Object> body) {}

    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, Answer> answers = new HashMap<>(); // by direction and key of the do
    private final FileChannel journal;

    Payment(@Value("${journal}") Path path) throws IOException {
        String content = Files.exists(path) ? Files.readString(path) : "";
        String whole = content.substring(0, content.lastIndexOf('\n') + 1);
        for (String line : whole.lines().toList()) {
            Answer known = json.readValue(line, Answer.class);
            answers.put(known.direction() + " " + known.key(), known);
        }
        journal = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        journal.truncate(whole.getBytes(StandardCharsets.UTF_8).length); // the rest had no answer
        journal.position(journal.size());
    }

    /** Done before the answer is sent. */
    private Answer keep(Answer answer) throws IOException {
        byte[] line = (json.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8);
        journal.write(ByteBuffer.wrap(line));
        journal.force(false);
        answers.put(answer.direction() + " " + answer.key(), answer);
        return answer;
    }

    private static Answer take(String key, JsonNode call) {
        BigDecimal amount = BigDecimal.ZERO;
        for (JsonNode line : call.path("order").path("lines")) {
            BigDecimal price = new BigDecimal(line.get("unit_price").asText());
            amount = amount.add(price.multiply(new BigDecimal(line.get("quantity").asText())));
        }
        if (amount.compareTo(LIMIT) > 0) {
            return new Answer(key, "do", 422, Map.of("error", "PaymentDeclined",
                    "message", amount + " is more than " + LIMIT));
        }
        return new Answer(key, "do", 200, Map.of("paid", amount.toPlainString()));
    }

    private synchronized Answer perform(String key, String direction, JsonNode call)
            throws IOException {
        Answer known = answers.get(direction + " " + key);
        if (known != null) {
            return known;
        }
        Answer done = answers.get("do " + key);
        if (direction.equals("undo")) {
            boolean refunded = done != null && done.status() == 200;
            return keep(new Answer(key, direction, 200, Map.of("refunded", refunded)));
        }
        if (answers.containsKey("undo " + key)) {
            return new Answer(key, direction, 422,
                    Map.of("error", "AlreadyUndone", "message", key + " was undone"));
        }
        return keep(take(key, call));
    }

    /** The agent asks whether the service is healthy. */
    @GetMapping("/**")
    Map<String, Object> healthy() {
        return Map.of();
    }

    @PostMapping("/**")
    ResponseEntity<Map<String, Object>> call(@RequestBody JsonNode call) throws IOException {
        if (!call.path("do_key").isTextual()) {
            return ResponseEntity.badRequest().body(Map.of("error", "InvalidCall"));
        }
        Answer answer = perform(call.get("do_key").asText(), call.path("direction").asText(), call);
        return ResponseEntity.status(answer.status()).body(answer.body());
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Payment.class, arguments);
    }
}
