-- SPDX-License-Identifier: Apache-2.0
-- Requests of wrk: each submits an order of its own, of two lines. REEVE_BENCH_RUN makes the ids of
-- one run differ from those of another.

local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end

local count = 0
local headers = {["Content-Type"] = "application/json"}
local body = [[{"order_id": "%s-%d-%d", "customer": "17850", "currency": "GBP", "workflow": "test",
"lines": [{"sku": "85123A", "description": "HANGING HEART T-LIGHT HOLDER", "quantity": 6,
"unit_price": "2.55"}, {"sku": "71053", "description": "METAL LANTERN", "quantity": 6,
"unit_price": "3.39"}], "attributes": {"country": "United Kingdom"}}]]

function request()
    count = count + 1
    local order = string.format(body, os.getenv("REEVE_BENCH_RUN"), number, count)
    return wrk.format("POST", "/orders", headers, order)
end
