// SPDX-License-Identifier: Apache-2.0
// A remote service that keeps the promises of docs/use/remote-services.md with Express.
//
//     node payment.js PORT JOURNAL
'use strict';

const express = require('express');
const fs = require('node:fs');

const LIMIT = 100_0000n; // ten-thousandths

// "4.5" -> 45000n: prices never become floating-point numbers.
function tenThousandths(price) {
  const match = /^(-?\d+)(?:\.(\d{1,4}))?$/.exec(price);
  if (!match) throw new RangeError(`${price} is not a price`);
  return BigInt(match[1] + (match[2] ?? '').padEnd(4, '0'));
}

const text = (amount) => `${amount / 10000n}.${String(amount % 10000n).padStart(4, '0')}`;

function take({ order }) {
  const amount = order.lines.reduce(
    (sum, line) => sum + BigInt(line.quantity) * tenThousandths(line.unit_price), 0n);
  return amount > LIMIT
    ? [422, { error: 'PaymentDeclined', message: `${text(amount)} is more than 100` }]
    : [200, { paid: text(amount) }];
}

// The answer to each do and to each undo, by the key of the do.
class Ledger {
  constructor(path) {
    this.answers = new Map();
    this.file = fs.openSync(path, 'a+', 0o640);
    const content = fs.readFileSync(path);
    const whole = content.lastIndexOf('\n') + 1;
    fs.ftruncateSync(this.file, whole); // a line that was not answered yet
    for (const line of content.subarray(0, whole).toString().split('\n').filter(Boolean)) {
      const { name, answer } = JSON.parse(line);
      this.answers.set(name, answer);
    }
  }

  // Done before the answer is sent; nothing else runs meanwhile.
  keep(name, answer) {
    fs.writeSync(this.file, `${JSON.stringify({ name, answer })}\n`);
    fs.fsyncSync(this.file);
    this.answers.set(name, answer);
    return answer;
  }

  perform(call) {
    const key = call.do_key;
    const name = `${call.direction} ${key}`;
    if (this.answers.has(name)) return this.answers.get(name);
    const done = this.answers.get(`do ${key}`);
    if (call.direction === 'undo') return this.keep(name, [200, { refunded: done?.[0] === 200 }]);
    if (this.answers.has(`undo ${key}`))
      return [422, { error: 'AlreadyUndone', message: `${key} was undone` }];
    return this.keep(name, take(call));
  }
}

const [port, path] = process.argv.slice(2);
const ledger = new Ledger(path);
const app = express();
app.use(express.json({ limit: '8mb' }));
app.get('*', (request, response) => response.json({})); // whether the service is healthy
app.post('*', (request, response) => {
  if (typeof request.body?.do_key !== 'string')
    return response.status(400).json({ error: 'InvalidCall' });
  const [status, body] = ledger.perform(request.body);
  return response.status(status).json(body);
});
app.listen(Number(port), '127.0.0.1');
