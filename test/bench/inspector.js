// What an inspector costs for an event: nothing listens, a listener that does nothing, and the recorder of an inspector. Each case has a
// process of its own; rounds alternate.
import { inspector } from 'headrace/inspector'
import { byDestination } from './flows.js'
import { inBursts, senders } from './senders.js'

const NONE = 'nothing listens'
const EMPTY = 'an empty listener'
const RECORDER = 'an inspector'

const watchers = {
  [NONE]: () => undefined,
  [EMPTY]: ({ events$ }) => events$.subscribe(() => undefined),
  [RECORDER]: (part) => inspector(part),
}

const destination = (watch) => (given) => byDestination(given.url, 32, {}, watch)
const client = (watch) => async (given) => inBursts(await senders.headrace({ ...given, watch }), 2_000)
const ofParts = { 'a destination: ': destination, 'a client, 20 a batch: ': client }
export const cases = Object.fromEntries(
  Object.entries(ofParts).flatMap(([part, make]) =>
    Object.entries(watchers).map(([name, watch]) => [part + name, make(watch)]),
  ),
)

const planOf = (part, more) => ({
  cases: Object.keys(watchers).map((name) => part + name),
  given: { size: 20 },
  ports: 1,
  rounds: 25,
  warmUp: 60,
  apart: true,
  limits: { [part + RECORDER]: 1.08 },
  ...more,
})
export const plans = [
  planOf('a destination: ', { requests: 1, units: 2_000 }),
  planOf('a client, 20 a batch: ', { requests: 1 / 20, units: 10_000 }),
]
