# SPDX-License-Identifier: Apache-2.0
"""Services on machines whose clocks are wrong: a scheduler decides nothing and leaves its group
until its clock is right; a supervisor asks for timeouts at the right time all the same."""

from lib import wait_for
from lib.stage import MARGIN_MS, StageTest

HOUR_MS = 3600 * 1000
YEAR_MS = 365 * 24 * HOUR_MS


class HostClock:
    """What the services that get its environment add to their wall clock."""

    def __init__(self, path, offset_ms):
        self._file = open(path, "w+b", buffering=0)
        self.set(offset_ms)
        self.env = {"REEVE_CLOCK_OFFSET_FILE": str(path)}

    def close(self):
        self._file.close()

    def set(self, offset_ms):
        self._file.seek(0)
        self._file.write(f"{offset_ms:<24}".encode())


class ClockTest(StageTest):
    workflows = [
        {"Name": "quick", "Version": 1, "Steps": [{"Name": "ReserveStock", "Agent": "stock"}]},
        {"Name": "silent", "Version": 1, "Defaults": {"TimeoutSeconds": 1},
         "Steps": [{"Name": "Wait", "Agent": "silent", "OnExhausted": "error"}]},
    ]
    options = {"http_agents": ["stock"], "schedulers": 0, "supervisors": 0,
               "sim_agents": {"silent": {"agent.sim.silent.share": "1"}}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stage.cluster.expect_alerts("ClockSkew")  # and no OrderStuck of an auditor's clock

    def add(self, role, offset_ms):
        name = f"{role}-{self.id().rsplit('.', 1)[1]}"
        clock = HostClock(self.stage.cluster.folder / f"{name}.clock", offset_ms)
        self.addCleanup(clock.close)
        service = self.stage.cluster.add(role, name, ready=False, env=clock.env,
                                         properties={"instance.id": name})
        self.addCleanup(service.terminate)
        return service, clock

    def decided_at(self):
        return [record.value["decided_at"] for record in self.stage.tail("events")
                if record.type == "Decision"]

    def clock_alerts(self):
        return [record.value["raised"] for record in self.stage.tail("alerts")
                if record.value["code"] == "ClockSkew"]

    def check_times(self):
        """No Decision says another time than the broker's, within the margin."""
        for record in self.stage.tail("events"):
            if record.type == "Decision":
                off = record.value["decided_at"] - record.timestamp_ms
                self.assertLessEqual(off, MARGIN_MS, record)

    def test_a_scheduler_a_year_ahead_decides_nothing_until_its_clock_is_right(self):
        for number in range(20):
            self.stage.submit(f"backlog-{number}", "quick")
        scheduler, clock = self.add("scheduler", YEAR_MS)
        wait_for("it leaves its group", lambda: self.clock_alerts()[-1:] == [True], 60)
        self.assertEqual(self.decided_at(), [])
        self.assertIn("clock", scheduler.get("/readyz")[1])
        clock.set(0)
        for number in range(20):
            self.stage.wait_for_end(f"backlog-{number}", "Processed")
        wait_for("the alert is closed", lambda: self.clock_alerts()[-1:] == [False], 60)
        self.check_times()

    def test_a_scheduler_whose_clock_jumps_goes_on_when_it_is_right_again(self):
        _, clock = self.add("scheduler", 0)
        self.stage.submit("before", "quick")
        self.stage.wait_for_end("before", "Processed")
        clock.set(-YEAR_MS)
        for number in range(20):
            self.stage.submit(f"jump-{number}", "quick")
        clock.set(0)
        for number in range(20):
            self.stage.wait_for_end(f"jump-{number}", "Processed")
        self.check_times()

    def check_timeout(self, offset_ms, order):
        self.add("scheduler", 0)
        self.add("supervisor", offset_ms)
        self.stage.submit(order, "silent")
        self.stage.wait_for_end(order, "Error")
        started = self.stage.find(order, "StepStarted")[0]
        timed_out = self.stage.find(order, "StepTimedOut")[0]
        self.assertGreaterEqual(timed_out.decision["decided_at"],
                                started.event["complete_by"] + MARGIN_MS)

    def test_a_supervisor_an_hour_ahead_times_no_step_out_early(self):
        self.check_timeout(HOUR_MS, "ahead")

    def test_a_supervisor_an_hour_behind_times_steps_out_when_they_are_due(self):
        self.check_timeout(-HOUR_MS, "behind")
