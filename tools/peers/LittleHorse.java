// SPDX-License-Identifier: Apache-2.0
//
// LittleHorse's part of scripts/bench-peers: `deploy` registers the workflow, `work` is the worker of
// its three steps, `load N` keeps N runs in flight until standard input ends and prints a line for
// each (tools/peers/load.py describes the lines). LHC_API_HOST and LHC_API_PORT name the server.

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.littlehorse.sdk.common.config.LHConfig;
import io.littlehorse.sdk.common.proto.AwaitWorkflowEventRequest;
import io.littlehorse.sdk.common.proto.LittleHorseGrpc;
import io.littlehorse.sdk.common.proto.RunWfRequest;
import io.littlehorse.sdk.common.proto.WfRunId;
import io.littlehorse.sdk.common.proto.WorkflowEventDefId;
import io.littlehorse.sdk.wfsdk.Workflow;
import io.littlehorse.sdk.worker.LHTaskMethod;
import io.littlehorse.sdk.worker.LHTaskWorker;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

public class LittleHorse {
    static final String WORKFLOW = "three-steps";
    static final String TASK = "nothing";
    // The server has no call that waits for the end of a run. This event is thrown after the third
    // step, by the command that also completes the run.
    static final String FINISHED = "three-steps-finished";
    static final int DEPLOY_TRIES = 120;
    static final int RETRY_MS = 20;
    static final int CALL_SECONDS = 20;
    static final int DRAIN_SECONDS = 30;

    public static class Steps {
        @LHTaskMethod(TASK)
        public String nothing() {
            return "";
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "deploy" -> deploy();
            case "work" -> work();
            case "load" -> new Load().run(Integer.parseInt(arguments[1]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.exit(0); // the clients' threads go on otherwise
    }

    /** The port is open before the server takes requests. */
    static void deploy() throws Exception {
        LHConfig config = new LHConfig();
        Workflow workflow = Workflow.newWorkflow(WORKFLOW, thread -> {
            thread.execute(TASK);
            thread.execute(TASK);
            thread.execute(TASK);
            thread.throwEvent(FINISHED, "").registeredAs(String.class);
        });
        for (int tries = 1; ; tries++) {
            try (LHTaskWorker worker = new LHTaskWorker(new Steps(), TASK, config)) {
                worker.registerTaskDef();
                workflow.registerWfSpec(config.getBlockingStub());
                return;
            } catch (StatusRuntimeException e) {
                if (tries == DEPLOY_TRIES) {
                    throw e;
                }
                Thread.sleep(500);
            }
        }
    }

    static void work() throws Exception {
        new LHTaskWorker(new Steps(), TASK, new LHConfig()).start();
        new CountDownLatch(1).await();
    }

    static class Load {
        final ManagedChannel channel = ManagedChannelBuilder.forAddress(
                        System.getenv("LHC_API_HOST"), Integer.parseInt(System.getenv("LHC_API_PORT")))
                .usePlaintext()
                .build();
        final Map<String, Long> open = new ConcurrentHashMap<>();
        final Map<String, AtomicLong> failures = new ConcurrentHashMap<>();
        volatile boolean ends;

        interface Call {
            void make(LittleHorseGrpc.LittleHorseBlockingStub stub);
        }

        void run(int inFlight) throws Exception {
            CountDownLatch ended = new CountDownLatch(inFlight);
            for (int i = 0; i < inFlight; i++) {
                Thread.ofVirtual().start(() -> {
                    while (!ends) {
                        runOne();
                    }
                    ended.countDown();
                });
            }
            while (System.in.read() >= 0) {
                // until its end
            }
            ends = true;
            ended.await(DRAIN_SECONDS, TimeUnit.SECONDS);
            open.values().forEach(begun -> System.out.println(begun + " -"));
            failures.forEach((kind, count) -> System.out.println("! " + kind + " " + count));
            System.out.flush();
        }

        void runOne() {
            String id = UUID.randomUUID().toString().replace("-", "");
            long begun = micros();
            open.put(id, begun);
            RunWfRequest start =
                    RunWfRequest.newBuilder().setWfSpecName(WORKFLOW).setId(id).build();
            AwaitWorkflowEventRequest wait = AwaitWorkflowEventRequest.newBuilder()
                    .setWfRunId(WfRunId.newBuilder().setId(id))
                    .addEventDefIds(WorkflowEventDefId.newBuilder().setName(FINISHED))
                    .build();
            untilItSucceeds(stub -> stub.runWf(start));
            untilItSucceeds(stub -> stub.awaitWorkflowEvent(wait));
            System.out.println(begun + " " + micros());
            open.remove(id);
        }

        /** A start whose answer was lost finds the run that it has made. */
        void untilItSucceeds(Call call) {
            while (true) {
                try {
                    call.make(LittleHorseGrpc.newBlockingStub(channel)
                            .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS));
                    return;
                } catch (StatusRuntimeException e) {
                    Status.Code code = e.getStatus().getCode();
                    if (code == Status.Code.ALREADY_EXISTS) {
                        return;
                    }
                    failures.computeIfAbsent(code.toString(), kind -> new AtomicLong())
                            .incrementAndGet();
                    channel.resetConnectBackoff(); // up to 2 minutes otherwise
                    pause();
                }
            }
        }

        static void pause() {
            try {
                Thread.sleep(RETRY_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        static long micros() {
            return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        }
    }
}
