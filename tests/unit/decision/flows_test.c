/* SPDX-License-Identifier: Apache-2.0 */
/* Whole workflows. */
#include "kit.h"

#include <criterion/criterion.h>

#define TRIP(nights)                        \
    "{\"from\":\"GRZ\",\"nights\":" #nights \
    ",\"to\":\"LIS\",\"traveller\":{\"email\":\"a@example.org\",\"name\":\"Anna\"}}"

Test(decision_flows, travel_books_what_is_wanted_and_adds_it_up)
{
    kit_tell(kit_cookbook("travel"), NULL,
             "submit with " TRIP(
                 2) " => OrderAccepted OrderStarted"
                    " StepStarted(BookFlight do 1 @flight) StepStarted(BookHotel do 1 @hotel)"
                    " StepSkipped(Car do 0)\n"
                    "ok BookHotel 1 with {\"price\":200.05} => StepSucceeded(BookHotel do 1)\n"
                    "ok BookFlight 1 with {\"id\":\"f-1\",\"price\":100.1} => "
                    "StepSucceeded(BookFlight do 1)"
                    " StepPassed(Price do 0 {\"total\":300.15})"
                    " StepStarted(Pay do 1 @payment with "
                    "{\"amount\":300.15,\"email\":\"a@example.org\"})\n"
                    "ok Pay 1 => StepSucceeded(Pay do 1) StepStarted(SendTickets do 1 @mail)\n"
                    "ok SendTickets 1 => StepSucceeded(SendTickets do 1)"
                    " OrderProcessed {\"flight\":\"f-1\",\"paid\":300.15}\n");
    kit_tell(
        kit_cookbook("travel"), NULL,
        "submit with " TRIP(
            0) " => OrderAccepted OrderStarted"
               " StepStarted(BookFlight do 1 @flight) StepSkipped(BookHotel do 0)"
               " StepSkipped(Car do 0)\n"
               "said When: input.nights > 0\n"
               "ok BookFlight 1 with {\"id\":\"f-1\",\"price\":100} => StepSucceeded(BookFlight do "
               "1)"
               " StepPassed(Price do 0 {\"total\":100})"
               " StepStarted(Pay do 1 @payment with {\"amount\":100,\"email\":\"a@example.org\"})\n"
               "fail Pay 1 CardDeclined => StepFailed(Pay do 1 CardDeclined none x1)"
               " StepExhausted(Pay do 1) CompensationStarted(CardDeclined)"
               " StepSkipped(SendTickets do 0) StepStarted(BookFlight undo 1 @flight)\n"
               "ok BookFlight 1 undo => StepSucceeded(BookFlight undo 1)"
               " StepCompensated(BookFlight undo 1) OrderCompensated(CardDeclined)\n");
}

Test(decision_flows, travel_fails_where_a_service_leaves_out_the_price)
{
    kit_tell(kit_cookbook("travel"), NULL,
             "submit with " TRIP(
                 0) " => OrderAccepted OrderStarted"
                    " StepStarted(BookFlight do 1 @flight) StepSkipped(BookHotel do 0)"
                    " StepSkipped(Car do 0)\n"
                    "ok BookFlight 1 with nothing => StepSucceeded(BookFlight do 1)"
                    " StepFailedUnstarted(Price do 0 States.QueryEvaluationError x1)"
                    " StepExhausted(Price do 0) CompensationStarted(States.QueryEvaluationError)"
                    " StepSkipped(Pay do 0) StepSkipped(SendTickets do 0)"
                    " StepStarted(BookFlight undo 1 @flight)\n");
}

Test(decision_flows, loan_declines_on_purpose)
{
    kit_tell(kit_flow("small-loan"), NULL,
             "submit with {\"amount\":9000,\"applicant\":\"Anna\"} => OrderAccepted OrderStarted"
             " StepStarted(Score do 1 @scoring)\n"
             "ok Score 1 with {\"value\":0.9} => StepSucceeded(Score do 1)"
             " StepStarted(ReserveCapital do 1 @treasury)\n"
             "ok ReserveCapital 1 => StepSucceeded(ReserveCapital do 1)"
             " StepPassed(Verdict do 0 \"refuse\") StepFailedUnstarted(Refuse do 0 LoanDeclined x1)"
             " StepExhausted(Refuse do 0) CompensationStarted(LoanDeclined)"
             " StepSkipped(PayOut do 0) StepSkipped(Bonus do 0) StepSkipped(Sorry do 0)"
             " StepStarted(ReserveCapital undo 1 @treasury)\n"
             "error Refuse LoanDeclined no 9000 for Anna\n");
}

Test(decision_flows, loan_goes_on_without_what_is_nice_to_have)
{
    kit_tell(kit_flow("small-loan"), NULL,
             "submit with {\"amount\":5000,\"applicant\":\"Anna\"} => OrderAccepted OrderStarted"
             " StepStarted(Score do 1 @scoring)\n"
             "ok Score 1 with {\"value\":0.9} => StepSucceeded(Score do 1)"
             " StepStarted(ReserveCapital do 1 @treasury)\n"
             "ok ReserveCapital 1 => StepSucceeded(ReserveCapital do 1)"
             " StepPassed(Verdict do 0 \"pay\") StepSkipped(Refuse do 0)"
             " StepStarted(PayOut do 1 @bank with {\"amount\":5000,\"verdict\":\"pay\"})\n"
             "ok PayOut 1 => StepSucceeded(PayOut do 1) StepStarted(Bonus do 1 @marketing)\n"
             "fail Bonus 1 Down unknown => StepFailed(Bonus do 1 Down unknown x1)"
             " StepCaught(Bonus do 1)"
             " StepStarted(Sorry do 1 @mail with {\"why\":\"Down: said the service\"})\n"
             "ok Sorry 1 => StepSucceeded(Sorry do 1)"
             " OrderProcessed {\"bonus\":false,\"verdict\":\"pay\"}\n");
}

Test(decision_flows, the_example_inspects_large_refunds_and_goes_on_without_the_mail)
{
    kit_tell(kit_example("refund"), NULL,
             "submit with {\"cents\":20000,\"days\":15,\"email\":\"a@b.example\","
             "\"sale\":\"s-7\"} => OrderAccepted OrderStarted StepSkipped(Refuse do 0)"
             " StepPassed(Terms do 0 {\"cents\":16000})"
             " StepStarted(Inspect do 1 @warehouse with {\"sale\":\"s-7\"})\n"
             "ok Inspect 1 => StepSucceeded(Inspect do 1)"
             " StepStarted(Pay do 1 @payment with {\"cents\":16000,\"sale\":\"s-7\"})\n"
             "ok Pay 1 => StepSucceeded(Pay do 1) StepStarted(Tell do 1 @mail with {\"text\":"
             "\"Your refund for sale s-7 is on its way.\",\"to\":\"a@b.example\"})\n"
             "fail Tell 1 Down unknown => StepFailed(Tell do 1 Down unknown x1)"
             " StepCaught(Tell do 1) OrderProcessed {\"cents\":16000,\"inspected\":true}\n");
}

Test(decision_flows, the_example_pays_small_refunds_and_declines_late_ones)
{
    kit_tell(kit_example("refund"), NULL,
             "submit with {\"cents\":10000,\"days\":14,\"sale\":\"s-7\"} => OrderAccepted"
             " OrderStarted StepSkipped(Refuse do 0) StepPassed(Terms do 0 {\"cents\":10000})"
             " StepSkipped(Inspect do 0)"
             " StepStarted(Pay do 1 @payment with {\"cents\":10000,\"sale\":\"s-7\"})\n"
             "ok Pay 1 => StepSucceeded(Pay do 1) StepSkipped(Tell do 0)"
             " OrderProcessed {\"cents\":10000,\"inspected\":false}\n");
    kit_tell(kit_example("refund"), NULL,
             "submit with {\"cents\":1999,\"days\":61,\"sale\":\"s-7\"} => OrderAccepted"
             " OrderStarted StepFailedUnstarted(Refuse do 0 TooLate x1) StepExhausted(Refuse do 0)"
             " CompensationStarted(TooLate) StepSkipped(Terms do 0) StepSkipped(Inspect do 0)"
             " StepSkipped(Pay do 0) StepSkipped(Tell do 0) OrderCompensated(TooLate)\n"
             "error Refuse TooLate sale s-7 was 61 days ago, more than 60\n");
}

/* Without anything new: as ever. */
Test(decision_flows, order_fulfilment_is_as_it_was)
{
    kit_tell(kit_cookbook("order-fulfilment"), NULL,
             "submit => OrderAccepted OrderStarted StepStarted(ReserveStock do 1 @stock)"
             " StepStarted(CheckFraud do 1 @payment)\n"
             "ok ReserveStock 1 => StepSucceeded(ReserveStock do 1)\n"
             "ok CheckFraud 1 => StepSucceeded(CheckFraud do 1)"
             " StepStarted(TakePayment do 1 @payment)\n"
             "ok TakePayment 1 => StepSucceeded(TakePayment do 1)"
             " StepStarted(ShipOrder do 1 @carrier)\n"
             "ok ShipOrder 1 => StepSucceeded(ShipOrder do 1) OrderProcessed\n");
}
