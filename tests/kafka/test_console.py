# SPDX-License-Identifier: Apache-2.0
"""The console: its data agrees with the log, the operators' commands work, and its stores can be
deleted."""

import json
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from lib import millis, paths, wait_for
from lib.stage import StageTest

STEPS = [{"Name": "ReserveStock", "Agent": "stock", "Compensate": {"Action": "ReleaseStock"}},
         {"Name": "TakePayment", "Agent": "payment", "Compensate": {"Action": "RefundPayment"}}]


def workflow(name, **defaults):
    return {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": 10, **defaults},
            "Steps": STEPS}


class ConsoleTest(StageTest):
    workflows = [workflow("compensated"), workflow("alerted", OnExhausted="error")]
    options = {"http_agents": ["stock", "payment"], "schedulers": 2, "console": True}

    # ---- asking ----

    @property
    def console(self):
        return self.stage.cluster["console"]

    def api(self, path, status=200, body=None, console=None):
        url = f"http://127.0.0.1:{(console or self.console).http_port()}{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                found, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            found, text = error.code, error.read()
        self.assertEqual(found, status, text)
        return json.loads(text)

    def order(self, order_id, status=200):
        return self.api(f"/api/orders/{urllib.parse.quote(order_id, safe='')}", status)

    def pages(self, path, name="orders"):
        """All rows of a paged list."""
        rows, cursor = [], ""
        while cursor is not None:
            page = self.api(f"{path}{'&' if '?' in path else '?'}limit=7&cursor={cursor}")
            self.assertLessEqual(len(page[name]), 7)
            self.assertNotIn("incomplete", page)
            rows, cursor = rows + page[name], page["next"]
        return rows

    def wait_folded(self, console=None):
        """Waits until the console has folded the current log."""
        ends = {record.partition: record.offset + 1 for record in self.stage.tail("events")}
        wait_for(f"the console has folded {ends}", lambda: all(
            owner["next_event"] >= ends.get(owner["partition"], 0)
            for owner in self.api("/api/owners", console=console)["owners"]), 20)

    def cli(self, *arguments, check=True):
        url = f"http://127.0.0.1:{self.console.http_port()}"
        return self.stage.cluster.reeve(*arguments, "--console", url, check=check)

    def decline(self, order_id, workflow_name):
        """An order whose payment is declined."""
        self.shop.fault("payment", "decline", order_id)
        self.stage.submit(order_id, workflow_name)

    # ---- orders ----

    def test_shows_an_order_from_its_beginning_to_its_end(self):
        self.stage.submit("orders-1", "alerted")
        self.stage.wait_for_end("orders-1", "Processed")
        self.wait_folded()
        order = self.order("orders-1")
        self.assertEqual((order["state"], order["workflow"], order["workflow_version"]),
                         ("Processed", "alerted", 1))
        self.assertEqual(order["customer"], "17850")
        self.assertEqual(order["lines"][0], {"sku": "85123A", "description": "WHITE HANGING HEART",
                                             "quantity": 2, "unit_price": "12.5"})
        self.assertEqual([(step["step"], step["state"], step["attempt"], step["effect"])
                          for step in order["steps"]],
                         [("ReserveStock", "Processed", 1, "applied"),
                          ("TakePayment", "Processed", 1, "applied")])
        self.assertIsInstance(order["steps"][0]["output"], dict)
        history = self.api("/api/orders/orders-1/history")["entries"]
        seen = self.stage.events("orders-1")
        self.assertEqual(
            [(entry["offset"], event["kind"]) for entry in history for event in entry["events"]],
            [(event.offset, event.type) for event in seen])
        times = {event.offset: event.decision["decided_at"] for event in seen}
        self.assertEqual({entry["offset"]: millis(entry["time"]) for entry in history}, times)
        self.assertEqual([entry["command"]["kind"] for entry in history],
                         ["SubmitOrder", "ReportStep", "ReportStep"])
        lines = self.cli("orders", "history", "orders-1").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["PARTITION/OFFSET", "TIME", "(UTC)", "EVENT"])
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         [f"{order['partition']}/{event.offset}" for event in seen])
        self.assertIn("order accepted: 1 line, workflow alerted version 1, 2 steps", lines[1])
        self.assertIn("ReserveStock  stock", self.cli("orders", "get", "orders-1").stdout)

    def test_lists_and_counts_agree_with_the_log(self):
        for number in range(30):
            order_id = f"list-{number}"
            if number % 5 == 0:
                self.decline(order_id, "alerted" if number % 10 else "compensated")
            else:
                self.stage.submit(order_id, "alerted")
        for number in range(30):
            self.stage.wait_for_end(f"list-{number}", "Processed" if number % 5 else (
                "Error" if number % 10 else "Compensated"))
        self.wait_folded()
        states = {order_id: events[-1].decision["order_state"]
                  for order_id, events in self.stage.orders().items()}
        rows = self.pages("/api/orders")
        self.assertEqual({row["order_id"]: row["state"] for row in rows}, states)
        self.assertEqual(len(rows), len(states))
        self.assertEqual(rows, sorted(rows, key=lambda row: row["updated_at"], reverse=True))
        for state in ("Processed", "Compensated", "Error"):
            self.assertEqual({row["order_id"] for row in self.pages(f"/api/orders?state={state}")},
                             {order_id for order_id in states if states[order_id] == state})
        in_error = self.pages("/api/orders?error=PaymentDeclined&state=Error&workflow=alerted"
                              "&alert=open&step=TakePayment")
        self.assertEqual({row["order_id"] for row in in_error} & {f"list-{n}" for n in range(30)},
                         {"list-5", "list-15", "list-25"})
        counts = self.api("/api/counts")
        self.assertEqual({state: count for state, count in counts["by_state"].items() if count},
                         {state: list(states.values()).count(state)
                          for state in set(states.values())})
        self.assertEqual(counts["orders"], len(states))
        alerts = self.pages("/api/alerts?open=1")
        self.assertEqual({row["order_id"] for row in alerts},
                         {order_id for order_id in states if states[order_id] == "Error"})
        listed = [json.loads(line) for line in self.cli(
            "orders", "list", "--limit", "0", "--output", "jsonl").stdout.splitlines()]
        self.assertEqual({row["order_id"] for row in listed}, set(states))
        self.assertIn("list-5", self.cli("alerts").stdout)

    def test_shows_ids_that_need_escaping_in_urls_and_tables(self):
        order_id = "a&b ?#%\"<é>'+;=🚀"
        self.stage.submit(order_id, "alerted")
        self.stage.wait_for_end(order_id, "Processed")
        self.wait_folded()
        self.assertEqual(self.order(order_id)["order_id"], order_id)
        self.assertIn(order_id, self.cli("orders", "get", order_id).stdout)

    # ---- operators ----

    def test_resubmit_runs_an_order_in_error_to_its_end(self):
        self.decline("operator-1", "alerted")
        self.stage.wait_for_end("operator-1", "Error")
        self.shop.heal("operator-1")
        answer = self.api("/api/orders/operator-1/resubmit",
                          body={"by": "ann", "reason": "the bank is back"})
        self.assertEqual(answer["state"], "Processing")
        self.assertEqual([event["kind"] for event in answer["events"]],
                         ["StepResubmitted", "OrderResumed", "AlertClosed", "StepStarted"])
        # The state is visible once the answer has arrived.
        self.assertFalse(self.order("operator-1")["alert_open"])
        self.stage.wait_for_end("operator-1", "Processed")
        closed = self.stage.wait_for_alert("operator-1", raised=False)
        self.assertEqual(closed["by"], "ann")

    def test_compensate_undoes_an_order_in_error(self):
        self.decline("operator-2", "alerted")
        self.stage.wait_for_end("operator-2", "Error")
        done = self.stage.ask_console("compensate", "operator-2", "--by", "ann", "--reason", "no")
        self.assertEqual(done[0]["state"], "Compensating")
        self.stage.wait_for_end("operator-2", "Compensated")
        self.assertIn("ReleaseStock", self.shop.actions("operator-2")[-1])

    def test_reports_refusals_of_the_scheduler(self):
        self.stage.submit("operator-3", "alerted")
        self.stage.wait_for_end("operator-3", "Processed")
        refusal = self.api("/api/orders/operator-3/cancel", 409, {"by": "ann", "reason": "late"})
        self.assertEqual(refusal["code"], "AlreadyEnded")
        self.assertIn("the order is Processed", refusal["detail"])
        refusal = self.api("/api/orders/unknown-1/resubmit", 409, {"by": "ann", "reason": "x"})
        self.assertEqual(refusal["code"], "UnknownOrder")
        self.api("/api/orders/operator-3/cancel", 400, {"reason": "anonymous"})
        done = self.cli("resubmit", "operator-3", "unknown-2", "--by", "ann", "--reason", "x",
                        check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("operator-3: the order is Processed (NotInError)", done.stderr)
        self.assertIn("unknown-2: there is no order unknown-2 (UnknownOrder)", done.stderr)
        # The history shows who sent the refused command.
        entries = self.api("/api/orders/operator-3/history")["entries"]
        self.assertEqual(entries[-1]["events"][0]["data"]["by"], "ann")
        self.assertFalse(entries[-1]["changed"])

    # ---- watching ----

    def test_watch_shows_an_order_until_it_has_ended(self):
        url = f"http://127.0.0.1:{self.console.http_port()}"
        watchers = self.console.metric("reeve_console_watchers")
        command = [str(paths.reeve_binary()), "orders", "watch", "watched-1", "--until-ended",
                   "--console", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as watch:
            wait_for("it watches", lambda: self.console.metric("reeve_console_watchers")
                     > watchers, 20)
            self.stage.submit("watched-1", "alerted")
            out, err = watch.communicate(timeout=30)
        self.assertEqual(watch.returncode, 0, out)
        self.assertEqual(err.splitlines(), [
            "reeve: warning: there is no order watched-1 yet: waiting for it"])
        self.assertEqual(len(out.splitlines()), 1 + len(self.stage.events("watched-1")), out)
        self.assertIn("order processed", out.splitlines()[-1])
        # For an order that has ended, the exit code shows the outcome immediately.
        self.decline("watched-2", "compensated")
        self.stage.wait_for_end("watched-2", "Compensated")
        self.wait_folded()
        done = self.cli("orders", "watch", "watched-2", "--until-ended", check=False)
        self.assertEqual(done.returncode, 1)

    # ---- owners, restarts, loss ----

    def test_owners_follow_the_log(self):
        owners = self.api("/api/owners")["owners"]
        names = {owner["claim"]["instance"] for owner in owners}
        self.assertLessEqual(names, {"scheduler-0", "scheduler-1"})
        schedulers = {f"scheduler-{n}": self.stage.cluster[f"scheduler-{n + 1}"] for n in (0, 1)}
        victim = sorted(names)[0]
        schedulers[victim].sigkill()
        survivor = {"scheduler-0": "scheduler-1", "scheduler-1": "scheduler-0"}[victim]
        wait_for("the other one has all partitions", lambda: {
            owner["claim"]["instance"] for owner in self.api("/api/owners")["owners"]}
            == {survivor}, 40)
        self.stage.submit("owners-1", "alerted")
        self.stage.wait_for_end("owners-1", "Processed")
        schedulers[victim].start()
        self.assertEqual({row["status"] for row in [
            {"status": line.split()[-1]} for line in self.cli("owners").stdout.splitlines()[1:]]},
            {"OK"})

    def everything(self, console=None):
        """The parts of the API's answers that follow from the log alone."""
        answers = {path: self.api(path, console=console)
                   for path in ("/api/orders?limit=1000", "/api/counts", "/api/workflows",
                                "/api/alerts?open=1&limit=1000")}
        answers["owners"] = [{name: owner[name] for name in (
            "claim", "next_command", "next_event", "skipped", "last_decided_at")}
            for owner in self.api("/api/owners", console=console)["owners"]]
        for row in answers["/api/orders?limit=1000"]["orders"]:
            path = "/api/orders/" + urllib.parse.quote(row["order_id"], safe="")
            answers[path] = self.api(path, console=console)
            answers[path + "/history"] = self.api(path + "/history", console=console)
            last = answers[path + "/history"]["entries"][-1]["offset"]
            then = self.api(f"{path}/at/{last}", console=console)
            self.assertEqual({**then, "data_age_ms": 0},
                             {**answers[path], "at_offset": last, "data_age_ms": 0})
        overview = self.api("/api/overview", console=console)
        answers["overview"] = {name: overview[name]
                               for name in ("oldest", "unfinished", "by_state")}
        answers["causes"] = {(row["workflow"], row["step"], row["error_name"], row["message"]):
                             row["orders"] for row in overview["errors"]}
        for answer in answers.values():
            if isinstance(answer, dict):
                answer.pop("data_age_ms", None)  # of the brokers' latest answer
        answers["stores"] = self.api("/stores", console=console)
        del answers["stores"]["instance"]
        return answers

    def test_its_stores_can_be_deleted(self):
        self.decline("deleted-1", "alerted")
        self.stage.submit("deleted-2", "compensated")
        self.stage.wait_for_end("deleted-1", "Error")
        self.stage.wait_for_end("deleted-2", "Processed")
        wait_for("every command is decided", self.stage.settled, 20)
        self.wait_folded()
        before = self.everything()
        self.assertIn("/api/orders/deleted-1/history", before)
        self.console.sigkill()
        self.console.start()
        self.assertEqual(self.everything(), before, "after a crash")
        self.console.terminate()
        self.console.drop_data()
        self.console.start()
        self.assertEqual(self.everything(), before, "folded again")
        # Consoles join no group: each has every partition.
        second = self.stage.cluster.add("console", name="console-again")
        self.wait_folded(second)
        self.assertEqual(self.everything(second), before, "of another console")
        second.terminate()

    # ---- the command line ----

    def test_exit_codes_show_the_outcome(self):
        self.assertEqual(self.cli("orders", "get", "unknown", check=False).returncode, 1)
        self.assertEqual(self.cli("orders", "history", "unknown", check=False).returncode, 1)
        self.assertEqual(self.cli("orders", "list", "--state", "Wrong", check=False).returncode, 64)
        self.assertEqual(self.cli("orders", "list", "--limit", "x", check=False).returncode, 64)
        self.assertEqual(self.cli("compensate", "x", "--by", "ann", check=False).returncode, 64)
        nowhere = self.stage.cluster.reeve("orders", "count", "--console", "http://127.0.0.1:9",
                                           check=False)
        self.assertEqual(nowhere.returncode, 69)
        self.assertIn("no console answers at http://127.0.0.1:9", nowhere.stderr)
        other = self.stage.cluster["submission-1"].http_port()
        strange = self.stage.cluster.reeve("orders", "count", "--console",
                                           f"http://127.0.0.1:{other}", check=False)
        self.assertNotEqual(strange.returncode, 0)

    def test_the_cli_finds_the_console_by_its_data_directory(self):
        done = self.stage.cluster.reeve("orders", "count", "--output", "json",
                                        "--data-dir", self.console.data)
        self.assertIn("by_state", json.loads(done.stdout))


if __name__ == "__main__":
    unittest.main()
