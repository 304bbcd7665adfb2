const self: { self?: unknown } = {}
self.self = self

const throwing = (): never => {
  throw new Error('planted')
}

/** Values that code without types may give, by names, so that an input stays plain data. */
export const odd: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => NaN,
  'a bigint': () => 1n,
  'a symbol': () => Symbol('odd'),
  'a function': () => () => 'x',
  'an object without a prototype': (): unknown => Object.create(null),
  'an invalid date': () => new Date(NaN),
  'a Map': () => new Map([['a', 1]]),
  'a list of anything': () => [undefined, 7, { a: 1 }],
  'an object that contains itself': () => self,
  'one whose members throw': () => Object.defineProperty({ toJSON: throwing }, 'length', { get: throwing }),
  'half a surrogate pair': () => '\ud800',
  'forty digits, as a signature has them': () => 'a'.repeat(40),
  'plain text, such as a good secret': () => 'secret',
}
