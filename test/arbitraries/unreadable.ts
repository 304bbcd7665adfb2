/**
 * Values that do not want to be looked at. A generator cannot hold them, because it looks at what it makes; so it makes marks, and
 * `alive` puts the hostile values in their place.
 */
import * as fc from 'fast-check'

/** What every hostile getter throws with; no message may repeat it. */
export const SECRET = 'hunter2'

const bomb = (): never => {
  throw new Error(SECRET)
}

const TRAPS = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'] as const

const trapped = (target: object, traps: ReadonlyArray<string>): unknown =>
  new Proxy(target, Object.fromEntries(traps.map((trap) => [trap, bomb])))

const throwing = (key: string): unknown =>
  Object.defineProperty({ type: 'track' }, key, { enumerable: true, get: bomb })

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** Has two members, each of which has two members, and so on for ever, all of them made when looked at. */
const endless = (): object =>
  new Proxy(
    {},
    {
      ownKeys: () => ['a', 'b'],
      get: (_, key) => (key === 'a' || key === 'b' ? endless() : undefined),
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
    },
  )

/** Answers once, and throws when asked again. */
const once = (): unknown => {
  let times = 0
  return {
    get type() {
      return times++ === 0 ? 'track' : bomb()
    },
    userId: 'u',
    event: 'e',
  }
}

const makers: ReadonlyArray<() => unknown> = [
  ...TRAPS.map((trap) => () => trapped({ a: 1 }, [trap])),
  ...TRAPS.map((trap) => () => trapped([1, 2], [trap])),
  () => trapped({}, TRAPS),
  ...['type', 'userId', 'toJSON', 'a'].map((key) => () => throwing(key)),
  revoked,
  endless,
  once,
  () => ({ toJSON: bomb }),
  () => ({ toJSON: () => ({ toJSON: bomb, again: { toJSON: bomb } }) }),
  () => ({ toJSON: () => 1n }),
  (): unknown => Object.create(Date.prototype),
  () => Symbol(SECRET),
]

/** Stands for a hostile value. */
interface Mark {
  readonly mark: number
}

const marks = new WeakSet()

const isMark = (value: unknown): value is Mark =>
  typeof value === 'object' && value !== null && marks.has(value)

/** A mark for some hostile value. */
export const unreadable: fc.Arbitrary<unknown> = fc.nat({ max: makers.length - 1 }).map((mark): Mark => {
  const made = { mark }
  marks.add(made)
  return made
})

/** The value with hostile values in the place of their marks. */
export const alive = (value: unknown): unknown => {
  if (isMark(value)) return makers[value.mark]?.()
  if (Array.isArray(value)) return value.map(alive)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, alive(member)]))
}

const leaf = fc.oneof({ weight: 3, arbitrary: unreadable }, { weight: 1, arbitrary: fc.anything() })

const or = (value: unknown): fc.Arbitrary<unknown> => fc.oneof(fc.constant(value), leaf)

/** Anything at all, often something like an event; with marks. */
export const anyInput: fc.Arbitrary<unknown> = fc.oneof(
  leaf,
  fc.anything({
    withBigInt: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withDate: true,
  }),
  fc.record(
    {
      type: fc.oneof(
        {
          weight: 5,
          arbitrary: fc.constantFrom('page', 'screen', 'identify', 'track', 'alias', 'group', 'delete'),
        },
        { weight: 1, arbitrary: leaf },
      ),
      userId: or('u'),
      anonymousId: leaf,
      previousId: or('p'),
      groupId: or('g'),
      event: or('e'),
      properties: fc.oneof(fc.constant({}), leaf, fc.record({ inside: leaf }, { noNullPrototype: true })),
      traits: fc.oneof(leaf, fc.array(leaf)),
      context: fc.oneof(leaf, fc.record({ device: leaf }, { noNullPrototype: true })),
      timestamp: leaf,
      messageId: leaf,
      integrations: fc.oneof(leaf, fc.record({ All: leaf }, { noNullPrototype: true })),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
)
