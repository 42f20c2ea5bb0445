#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Submits an order, waits for its end and prints what became of it, with nothing but curl.
#
#   REEVE_TOKEN=reeve_... examples/curl/order.sh URL ORDER_ID FILE
#
#   URL       the submission service, such as http://127.0.0.1:8080
#   ORDER_ID  the order's id, which is also in the file
#   FILE      the order as JSON
#
# REEVE_TOKEN is a token of the role submitter; leave it out where none are asked for. Exit code: 0
# the order was processed, 1 it was refused or compensated, 2 it is not known yet.

set -eu

url=$1 id=$2 file=$3

# The token is read from the environment: other users see the arguments of a process.
call() {
    printf 'header = "Authorization: Bearer %s"\n' "${REEVE_TOKEN:-}" |
        curl --config - --silent --show-error --fail-with-body "$@"
}

# Repeat it until it is accepted: an order with the same id and content counts once.
answer=$(call --retry 5 --header 'Content-Type: application/json' --data-binary "@$file" \
    "$url/orders") || { echo "$answer" >&2 && exit 1; }

for try in 1 2 3 4 5; do
    order=$(call --max-time 70 "$url/orders/$id?wait=60s") || continue
    # The order's own state comes before those of its steps.
    state=$(printf '%s' "$order" | grep -o '"state":"[A-Za-z]*"' | head -n 1 | cut -d '"' -f 4)
    case $state in
    Processed) echo "$id: $state" && exit 0 ;;
    Compensated) echo "$id: $state" && exit 1 ;;
    esac
done
echo "$id: ${state:-unknown}"
exit 2
