/** Values that do not want to be looked at. A generator looks at what it makes, so each is made by a function. */
import * as fc from 'fast-check'
import { trackingCallOf } from '../../src/testing/laws/index.ts'
import { utf16Text } from '../../src/testing/laws/texts.ts'

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
  const get = () => (times++ === 0 ? 'track' : bomb())
  return Object.defineProperty({ userId: 'u', event: 'e' }, 'type', { enumerable: true, get })
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

const PLACES = [
  ...['type', 'userId', 'anonymousId', 'previousId', 'groupId', 'event', 'messageId', 'timestamp'],
  ...['properties', 'properties.inside', 'traits', 'traits.inside', 'context', 'context.device'],
  ...['integrations', 'integrations.All'],
]

const withAt = (call: object, place: string, value: unknown): unknown => {
  const [name = '', inside] = place.split('.')
  return { ...call, [name]: inside === undefined ? value : { [inside]: value } }
}

const unreadable = fc.constantFrom(...makers)

/** Makes anything at all, often a call with something unreadable in it. */
export const anyInput: fc.Arbitrary<() => unknown> = fc.oneof(
  unreadable,
  {
    weight: 3,
    arbitrary: fc.tuple(trackingCallOf(), fc.constantFrom(...PLACES), unreadable).map(
      ([{ call }, place, make]) =>
        () =>
          withAt(call, place, make()),
    ),
  },
  fc
    .anything({
      ...{ withBigInt: true, withMap: true, withSet: true, withTypedArray: true, withSparseArray: true },
      ...{ withDate: true, withBoxedValues: true, withNullPrototype: true },
      values: [utf16Text, fc.integer(), fc.double(), fc.bigInt()],
    })
    .map((value) => () => value),
)
