// Memory over a million renders, and over templates that come and go.

import { Template } from 'quillet';

const MIB = 1 << 20;
const settled = async () => {
  for (let turn = 0; turn < 5; turn++) {
    global.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().rss / MIB;
};

const chat = new Template(
  '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ n }}',
);
const messages = Array.from({ length: 20 }, (_, index) => ({
  role: 'user',
  content: `message ${index}`,
}));
const render = (n) => {
  messages[n % 20].content = `é ${n}`;
  chat.render({ messages, n, [`v${n % 5000}`]: n });
};
for (let n = 0; n < 100_000; n++) render(n);
const before = await settled();
for (let n = 0; n < 1_000_000; n++) render(n);
console.log(
  `1,000,000 renders: ${before.toFixed(1)} MiB before, ${(await settled()).toFixed(1)} MiB after`,
);

const make = async (count) => {
  for (let n = 0; n < count; n++) {
    new Template(`{{ a${n} }} {% if b %}{{ c }}{% endif %}`).render({ b: 1, c: n });
    // What was let go is told to the engine between turns of the event loop.
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
};
const rounds = [];
for (let round = 0; round < 5; round++) {
  await make(50_000);
  rounds.push(await settled());
}
const shown = rounds.map((size) => size.toFixed(0)).join(', ');
console.log(`five times 50,000 templates: ${shown} MiB after each`);
