// The clock and the random numbers of a durable run, which repeat on a replay.
(began, low, high) => {
  'use strict';
  const Real = Date;
  let time = began;
  const now = () => time++;
  const Fixed = new Proxy(Real, {
    apply: () => new Real(now()).toString(),
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, made === Fixed ? target : made),
    get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
  });
  Object.defineProperty(Real.prototype, 'constructor', { value: Fixed, writable: true, configurable: true });
  globalThis.Date = Fixed;
  // Two 32-bit generators (splitmix32), which together provide the 53 bits of a fraction.
  const generator = (state) => () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const [first, second] = [generator(low), generator(high)];
  Math.random = () => (first() * 2097152 + (second() >>> 11)) / 9007199254740992;
}
