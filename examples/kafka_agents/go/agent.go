// SPDX-License-Identifier: Apache-2.0

// An agent without reeve's libraries: clients for Kafka and Avro, and three .avsc files. It performs
// every step that it is asked for at once; put your own work into perform. Stop it with SIGTERM or
// Ctrl-C.
//
//	agent SCHEMAS BOOTSTRAP-SERVERS PREFIX AGENT
package main

import (
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"
)

const heartbeat = 2 * time.Second

type record = map[string]interface{}

type agent struct {
	name, instance             string
	requests, commands, agents string // topics
	request, report, health    *schema
	consumer                   *kafka.Consumer
	producer                   *kafka.Producer
	partitions                 int
	delivered                  chan kafka.Event
}

func must(folder, name string) *schema {
	schema, err := readSchema(folder, name)
	if err != nil {
		log.Fatal(err)
	}
	return schema
}

// mayBegin: not after its deadline, and not for more time, which is for an operation that is running.
func mayBegin(request record) bool {
	return !request["extension"].(bool) && time.Now().Before(request["complete_by"].(time.Time))
}

// perform does one operation, named by request["idempotency_key"]: once, however often it comes. An
// undo takes back what was done under request["do_key"]. The output is JSON.
func perform(request record) string {
	return `{"tax": "4.20"}`
}

func (a *agent) reportOf(request record, output string) record {
	return record{
		"order_id": request["order_id"], "step": request["step"],
		"direction": request["direction"], "attempt": request["attempt"],
		"succeeded": true, "output": output, "agent": a.name, "instance": a.instance,
	}
}

// send queues a record; flush waits for it.
func (a *agent) send(topic, key string, schema *schema, value record) {
	bytes, err := schema.encode(value)
	if err != nil {
		log.Fatal(err)
	}
	a.produce(topic, key, bytes)
}

func (a *agent) produce(topic, key string, value []byte) {
	err := a.producer.Produce(&kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
		Key:            []byte(key), Value: value}, a.delivered)
	if err != nil {
		log.Fatal(err)
	}
}

// flush waits until everything is acknowledged.
func (a *agent) flush(count int) {
	for ; count > 0; count-- {
		select {
		case event := <-a.delivered:
			if err := event.(*kafka.Message).TopicPartition.Error; err != nil {
				log.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			log.Fatal("the reports were not acknowledged")
		}
	}
}

func (a *agent) reportHealth() {
	a.send(a.agents, a.instance+"/"+a.name, a.health, record{
		"agent": a.name, "instance": a.instance, "capacity": 10, "partitions": a.partitions,
		"heartbeat_ms": heartbeat.Milliseconds(), "reported_at": time.Now(),
	})
}

// take reports what the message asks for, and returns how many records it has sent.
func (a *agent) take(message *kafka.Message) int {
	request, err := a.request.decode(message.Value)
	if err != nil {
		log.Fatal(err)
	}
	if !mayBegin(request) {
		return 0
	}
	result := a.reportOf(request, perform(request))
	a.send(a.commands, request["order_id"].(string), a.report, result)
	return 1
}

func (a *agent) turn() {
	count := 1
	messages := 0
	for end := time.Now().Add(heartbeat / 2); time.Now().Before(end) && messages < 100; {
		switch event := a.consumer.Poll(100).(type) {
		case *kafka.Message:
			messages++
			count += a.take(event)
		case kafka.AssignedPartitions:
			a.partitions = len(event.Partitions)
			a.consumer.Assign(event.Partitions)
		case kafka.RevokedPartitions:
			a.partitions = 0
			a.consumer.Unassign()
		case kafka.Error:
			log.Print(event)
		case nil:
			if messages > 0 {
				end = time.Now()
			}
		}
	}
	a.reportHealth()
	a.flush(count)
	if messages > 0 { // only now: a crash before this repeats the requests
		if _, err := a.consumer.Commit(); err != nil {
			log.Fatal(err)
		}
	}
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: agent SCHEMAS BOOTSTRAP-SERVERS PREFIX AGENT")
	}
	schemas, servers, prefix, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	host, _ := os.Hostname()
	a := &agent{
		name: name, instance: fmt.Sprintf("go-%s-%d", host, os.Getpid()),
		requests: prefix + ".requests." + name, commands: prefix + ".commands",
		agents: prefix + ".agents", request: must(schemas, "StepRequest"),
		report: must(schemas, "ReportStep"), health: must(schemas, "AgentHealth"),
		delivered: make(chan kafka.Event, 1000),
	}
	var err error
	// The partitioner is that of Java's clients, which reeve has as well.
	if a.producer, err = kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": servers,
		"acks": "all", "enable.idempotence": true, "partitioner": "murmur2_random"}); err != nil {
		log.Fatal(err)
	}
	if a.consumer, err = kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": servers,
		"group.id": prefix + ".agent." + name, "enable.auto.commit": false,
		"auto.offset.reset": "earliest", "go.application.rebalance.enable": true}); err != nil {
		log.Fatal(err)
	}
	if err = a.consumer.Subscribe(a.requests, nil); err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	for {
		select {
		case <-stop:
			a.produce(a.agents, a.instance+"/"+a.name, nil) // this instance is gone
			a.flush(1)
			a.consumer.Close()
			return
		default:
			a.turn()
		}
	}
}
