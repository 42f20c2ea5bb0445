# SPDX-License-Identifier: Apache-2.0
"""Temporal's part of scripts/bench-peers, with the Python of an environment that has its SDK.

    temporal.py ADDRESS work POLLERS    the worker; 0: as many pollers as the SDK has by default
    temporal.py ADDRESS load N          keeps N runs in flight until standard input ends, and prints
                                        a line for each (tools/peers/load.py describes the lines)
"""

import asyncio
import collections
import datetime
import sys
import time
import uuid

from temporalio import activity, client, common, service, worker, workflow

QUEUE = "three-steps"
RETRY_SECONDS = 0.02
DRAIN_SECONDS = 30
CALL_TIMEOUT = datetime.timedelta(seconds=20)


@activity.defn
async def nothing():
    return ""


@workflow.defn
class ThreeSteps:
    @workflow.run
    async def run(self):
        for _ in range(3):
            await workflow.execute_activity(
                nothing, start_to_close_timeout=datetime.timedelta(seconds=10))


def micros():
    return time.time_ns() // 1000


async def work(connected, pollers):
    more = {"max_concurrent_workflow_task_polls": pollers,
            "max_concurrent_activity_task_polls": pollers} if pollers else {}
    await worker.Worker(connected, task_queue=QUEUE, workflows=[ThreeSteps], activities=[nothing],
                        **more).run()


class Load:
    def __init__(self, connected):
        self.client, self.ends = connected, False
        self.open, self.failures = {}, collections.Counter()

    async def until_it_succeeds(self, call):
        while True:
            try:
                return await call()
            except service.RPCError as error:
                self.failures[error.status.name] += 1
                await asyncio.sleep(RETRY_SECONDS)

    async def run_one(self):
        name = str(uuid.uuid4())
        self.open[name] = micros()

        async def start():
            # A start whose answer was lost finds the run that it has made.
            return await self.client.start_workflow(
                ThreeSteps.run, id=name, task_queue=QUEUE, rpc_timeout=CALL_TIMEOUT,
                id_conflict_policy=common.WorkflowIDConflictPolicy.USE_EXISTING)

        handle = await self.until_it_succeeds(start)
        await self.until_it_succeeds(handle.result)
        print(self.open.pop(name), micros(), flush=True)

    async def keep_running(self):
        while not self.ends:
            await self.run_one()

    async def run(self, in_flight):
        tasks = [asyncio.create_task(self.keep_running()) for _ in range(in_flight)]
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        self.ends = True
        await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        for begun in self.open.values():
            print(begun, "-")
        for kind, count in self.failures.items():
            print("!", kind, count)


async def main():
    address, what, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    connected = await client.Client.connect(address)
    await (work(connected, number) if what == "work" else Load(connected).run(number))


if __name__ == "__main__":
    asyncio.run(main())
