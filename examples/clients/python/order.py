#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Submits an order with the client that is generated from submission.yaml, waits for its end, and
has the console list the orders of its workflow. README.md says how the clients are made.

    order.py SUBMISSION-URL CONSOLE-URL WORKFLOW ORDER-ID
"""

import os
import sys
import time

import reeve_console
import reeve_submission
from reeve_console.api.orders import list_orders
from reeve_submission.api.orders import get_order, submit_order
from reeve_submission.models import Accepted, NewOrder, Order, UnavailableProblem

ENDED = ("Processed", "Compensated", "Error")


def client_of(package, url, role):
    token = os.environ.get(f"REEVE_{role}_TOKEN")
    if token:
        return package.AuthenticatedClient(base_url=url, token=token, timeout=70)
    return package.Client(base_url=url, timeout=70)


def submit(client, order):
    """Until it is accepted: the same order submitted twice counts once."""
    while isinstance(answer := submit_order.sync(client=client, body=order), UnavailableProblem):
        time.sleep(1)
    if not isinstance(answer, Accepted):
        sys.exit(f"{order.order_id} is refused: {answer.code}: {answer.detail}")


def wait(client, order_id):
    while True:
        order = get_order.sync(order_id, client=client, wait="60s")
        if isinstance(order, Order) and order.state.value in ENDED:
            return order


def main():
    submission, console, workflow, order_id = sys.argv[1:]
    client = client_of(reeve_submission, submission, "SUBMITTER")
    submit(client, NewOrder(order_id=order_id, workflow=workflow, input_={"gift": True}))
    order = wait(client, order_id)
    print(order.order_id, order.state.value, *(step.step for step in order.steps))
    operators = client_of(reeve_console, console, "VIEWER")
    orders = list_orders.sync(client=operators, workflow=workflow)
    print(len(orders.orders), "orders of", workflow)


main()
