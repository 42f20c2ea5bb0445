# SPDX-License-Identifier: Apache-2.0
"""Orders of workflows that decide and wait, and what becomes of each: worked out here from its
input and the answers of the services, by another hand than the engine's.

    order = draw(random.Random(7), number)     # an order of one of the workflows in FILES
    case_of(order)                             # the same as a case of `reeve test`
"""

import dataclasses
import typing

from . import paths
from .remote import Answer

FLOWS = paths.ROOT / "tests" / "unit" / "decision" / "flows"
COOKBOOK = paths.ROOT / "examples" / "cookbook"
FILES = {"travel": COOKBOOK / "travel.yaml", "small-loan": FLOWS / "small-loan.yaml",
         "order-fulfilment": COOKBOOK / "order-fulfilment.yaml",
         "refund": paths.ROOT / "examples" / "workflows" / "refund.yaml",
         "parcel": FLOWS / "parcel.yaml"}
AGENTS = ("flight", "hotel", "car", "payment", "mail", "scoring", "treasury", "bank", "marketing",
          "stock", "carrier", "warehouse")


@dataclasses.dataclass
class Order:
    """`steps`: the state in which each one ends; `inputs`: what its `Input` makes of the data.
    `parallel`: of those, the ones that run in parallel with a step that fails. `wanted` tells what
    was drawn, and with which kind of end."""

    id: str
    workflow: str
    input: typing.Any
    answers: dict
    wanted: str
    state: str
    steps: dict
    output: typing.Any = None
    reason: str = ""
    inputs: dict = dataclasses.field(default_factory=dict)
    outputs: dict = dataclasses.field(default_factory=dict)
    parallel: tuple = ()


def states(names, **others):
    return {name: others.get(name, "Processed") for name in names}


def undone(names, done, **others):
    """The steps of an order that went back: those in `done` were undone, others never began."""
    return {name: others.get(name, "Compensated" if name in done else "Skipped") for name in names}


# ---- travel: without a car ----

TRAVEL = ("BookFlight", "BookHotel", "Car", "Price", "Pay", "SendTickets")


def travel(dice, name):
    nights = dice.choice((0, 0, 1, 3))
    flight, hotel = dice.randint(200, 4000) / 4, dice.randint(100, 2000) / 4
    mail = f"{name}@example.org"
    fault = dice.choice(("", "", "", "flight", "hotel", "price", "card", "bank", "mail"))
    answers = {"BookFlight": Answer({"id": f"f-{name}", "price": flight}),
               "BookHotel": Answer({"price": hotel}), "Pay": Answer({"receipt": 1})}
    total = flight + (hotel if nights else 0)
    parts = {"BookHotel": "Processed" if nights else "Skipped", "Car": "Skipped"}
    booked = {"BookFlight", "BookHotel"} if nights else {"BookFlight"}
    inputs = {"Pay": {"amount": total, "email": mail}}
    end = {"state": "Processed", "steps": states(TRAVEL, **parts), "inputs": inputs,
           "outputs": {"Price": {"total": total}},
           "output": {"flight": f"f-{name}", "paid": total}}
    if fault == "flight":
        answers["BookFlight"] = Answer(error="NoSeat")
        end = {"state": "Compensated", "reason": "NoSeat", "parallel": ("BookHotel",),
               "steps": undone(TRAVEL, booked - {"BookFlight"}, BookFlight="Error")}
    elif fault == "hotel" and nights:
        answers["BookHotel"] = Answer(error="NoRoom")
        end = {"state": "Compensated", "reason": "NoRoom", "parallel": ("BookFlight",),
               "steps": undone(TRAVEL, {"BookFlight"}, BookHotel="Error")}
    elif fault == "price":
        answers["BookFlight"] = Answer(dice.choice((None, {"id": "f"}, {"price": "100"}, [1])))
        end = {"state": "Compensated", "reason": "States.QueryEvaluationError",
               "steps": undone(TRAVEL, booked, Price="Error")}
    elif fault == "card":
        answers["Pay"] = Answer(error="CardDeclined")
        end = {"state": "Compensated", "reason": "CardDeclined", "inputs": inputs,
               "outputs": {"Price": {"total": total}},
               "steps": {**undone(TRAVEL, booked, Pay="Error"), "Price": "Processed"}}
    elif fault == "bank":
        answers["Pay"] = Answer(error="BankDown")
        end = {"state": "Error", "reason": "BankDown", "inputs": inputs,
               "steps": states(TRAVEL, **parts, Pay="Error", SendTickets="Pending")}
    elif fault == "mail":
        answers["SendTickets"] = Answer(error="NoMailbox")
        end = {"state": "Error", "reason": "NoMailbox", "inputs": inputs,
               "steps": states(TRAVEL, **parts, SendTickets="Error")}
    data = {"from": "GRZ", "to": "LIS", "nights": nights,
            "traveller": {"name": "Anna", "email": mail}}
    return data, answers, fault, end


# ---- small-loan ----

LOAN = ("Score", "ReserveCapital", "Verdict", "Refuse", "PayOut", "Bonus", "Sorry")


def loan(dice, name):
    amount, score = dice.choice((100, 5000, 5001)), dice.choice((0.8, 0.875, 1))
    pays = score > 0.8 and amount <= 5000
    fault = dice.choice(("", "", "scoring", "score", "bank", "bonus", "bonus"))
    answers = {"Score": Answer({"value": score})}
    if fault == "score":
        answers["Score"] = Answer(dice.choice((None, {"value": "high"}, {}, 1)))
        fault, pays = ("score", True) if amount <= 5000 else ("", False)  # then the amount decides
    sent = {"amount": amount, "verdict": "pay"}
    if fault == "scoring":
        answers["Score"] = Answer(error="NoFile")
        end = {"state": "Compensated", "reason": "NoFile", "steps": undone(LOAN, (), Score="Error")}
    elif fault == "score":
        end = {"state": "Compensated", "reason": "States.QueryEvaluationError",
               "steps": undone(LOAN, {"ReserveCapital"}, Score="Processed", Verdict="Error")}
    elif not pays:
        fault = "refused"
        end = {"state": "Compensated", "reason": "LoanDeclined", "outputs": {"Verdict": "refuse"},
               "steps": undone(LOAN, {"ReserveCapital"}, Score="Processed", Verdict="Processed",
                               Refuse="Error")}
    elif fault == "bank":
        answers["PayOut"] = Answer(error="BankDown")
        end = {"state": "Error", "reason": "BankDown", "inputs": {"PayOut": sent},
               "steps": states(LOAN, Refuse="Skipped", PayOut="Error", Bonus="Pending",
                               Sorry="Pending")}
    elif fault == "bonus":
        answers["Bonus"] = Answer(error="Down", message="said the service")
        end = {"state": "Processed", "steps": states(LOAN, Refuse="Skipped", Bonus="Caught"),
               "inputs": {"PayOut": sent, "Sorry": {"why": "Down: said the service"}},
               "output": {"verdict": "pay", "bonus": False}}
    else:
        end = {"state": "Processed", "steps": states(LOAN, Refuse="Skipped", Sorry="Skipped"),
               "inputs": {"PayOut": sent}, "output": {"verdict": "pay", "bonus": True}}
    if end["state"] == "Compensated" and fault != "scoring":
        end["steps"]["Score"] = "Processed"  # it cannot be undone
    return {"applicant": name, "amount": amount}, answers, fault, end


# ---- order-fulfilment: decides nothing ----

FULFILMENT = ("ReserveStock", "CheckFraud", "TakePayment", "ShipOrder")


def fulfilment(dice, name):
    fault = dice.choice(("", "stock", "payment", "carrier"))
    answers = {"ReserveStock": Answer({"for": name})}
    end = {"state": "Processed", "steps": states(FULFILMENT),
           "outputs": {"ReserveStock": {"for": name}}}
    if fault == "stock":
        answers["ReserveStock"] = Answer(error="SoldOut")
        end = {"state": "Compensated", "reason": "SoldOut", "parallel": ("CheckFraud",),
               "steps": undone(FULFILMENT, (), ReserveStock="Error", CheckFraud="Processed")}
    elif fault == "payment":
        answers["TakePayment"] = Answer(error="PaymentDeclined")
        end = {"state": "Compensated", "reason": "PaymentDeclined",
               "steps": undone(FULFILMENT, {"ReserveStock"}, CheckFraud="Processed",
                               TakePayment="Error")}
    elif fault == "carrier":
        answers["ShipOrder"] = Answer(error="NoDriver")
        end = {"state": "Error", "reason": "NoDriver",
               "steps": states(FULFILMENT, ShipOrder="Error")}
    return None, answers, fault, end


# ---- refund ----

REFUND = ("Refuse", "Terms", "Inspect", "Pay", "Tell")


def refund(dice, name):
    days, cents = dice.choice((3, 14, 15, 60, 61)), dice.choice((1, 10000, 12500, 12501, 20000))
    mail = dice.choice((None, f"{name}@example.org"))
    fault = dice.choice(("", "", "warehouse", "mail"))
    pays = cents if days <= 14 else int(cents * 0.8)
    inspects = pays > 10000
    answers, sent = {}, {"sale": name, "cents": pays}
    others = {"Refuse": "Skipped", "Inspect": "Processed" if inspects else "Skipped",
              "Tell": "Processed" if mail else "Skipped"}
    inputs = {"Pay": sent}
    if inspects:
        inputs["Inspect"] = {"sale": name}
    if mail:
        inputs["Tell"] = {"to": mail, "text": f"Your refund for sale {name} is on its way."}
    end = {"state": "Processed", "inputs": inputs, "outputs": {"Terms": {"cents": pays}},
           "output": {"cents": pays, "inspected": inspects}}
    if days > 60:
        fault = "refused"
        end = {"state": "Compensated", "reason": "TooLate"}
        others = {"Refuse": "Error", **dict.fromkeys(REFUND[1:], "Skipped")}
    elif fault == "warehouse" and inspects:
        answers["Inspect"] = Answer(error="Damaged")
        end = {"state": "Compensated", "reason": "Damaged",
               "inputs": {"Inspect": {"sale": name}}}
        others = {"Refuse": "Skipped", "Inspect": "Error", "Pay": "Skipped", "Tell": "Skipped"}
    elif fault == "mail" and mail:
        answers["Tell"] = Answer(error="NoMailbox")
        others["Tell"] = "Caught"
    end["steps"] = states(REFUND, **others)
    data = {"sale": name, "cents": cents, "days": days, **({"email": mail} if mail else {})}
    return data, answers, fault, end


# ---- parcel: waits, and asks ----

PARCEL = ("Reserve", "Hour", "Packed", "Tell")
ASKED = 4  # at most


def parcel(dice, name):
    fault = dice.choice(("", "", "late", "mail"))
    asked = ASKED if fault == "late" else dice.randrange(ASKED)
    answers = {"Packed": Answer({"packed": True, "box": name},
                                not_yet=[{"packed": False}] * asked)}
    box = {"inputs": {"Tell": {"box": name}}, "outputs": {"Packed": name}}
    if fault == "late":
        end = {"state": "Compensated", "reason": "States.NotYet",
               "steps": undone(PARCEL, {"Reserve"}, Hour="Processed", Packed="Error")}
    elif fault == "mail":
        answers["Tell"] = Answer(error="NoMailbox")
        end = {"state": "Error", "reason": "NoMailbox",
               "steps": states(PARCEL, Tell="Error"), **box}
    else:
        end = {"state": "Processed", "steps": states(PARCEL), "output": {"box": name}, **box}
    return {"seconds": dice.choice((0, 0.25, 2, 6))}, answers, fault, end


MAKERS = {"travel": travel, "small-loan": loan, "order-fulfilment": fulfilment,
          "refund": refund, "parcel": parcel}


def draw(dice, number):
    """The order with that number; all workflows get equally many."""
    workflow = list(MAKERS)[number % len(MAKERS)]
    name = f"{workflow}-{number}"
    data, answers, fault, end = MAKERS[workflow](dice, name)
    return Order(name, workflow, data, answers, f"{workflow} {fault or 'as usual'}: {end['state']}",
                 **end)


def case_of(order):
    """A case of `reeve test`: JSON is YAML."""
    answers = {}
    for step, answer in order.answers.items():
        last = {"Error": answer.error, "Message": answer.message or answer.error} \
            if answer.error else {} if answer.output is None else {"Output": answer.output}
        answers[step] = [{"Output": output} for output in answer.not_yet] + [last]
    expected = {"State": order.state, "Steps": order.steps, "Inputs": order.inputs,
                "Outputs": order.outputs}
    if order.output is not None:
        expected["Output"] = order.output
    if order.reason:
        expected["Reason"] = order.reason
    case = {"Name": f"ends as worked out: {order.id}, {order.wanted}", "Answers": answers,
            "Order": {"order_id": order.id}, "Expect": expected}
    return case if order.input is None else {**case, "Input": order.input}
