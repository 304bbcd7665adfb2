// The client: what a small event costs, beside a client by hand and the published ones; what a burst of 100,000 needs; and how fast events
// go to a receiver that takes its time. It takes some minutes.
import { fork } from 'node:child_process'
import { answerOf, compared, here, median, withReceiver } from './measure.js'
import { inBursts, senders } from './senders.js'

const LIMIT = 'by hand'
const OURS = 'headrace'
const POSTHOG = 'posthog-node'
const SEGMENT = '@segment/analytics-node'
const RUDDER = '@rudderstack/rudder-sdk-node'

/** Calls that are outstanding at most: five batches, or 2,000. Rudder's cost grows with its queue, so it gets its best case. */
const paceOf = (name, size) => (name === RUDDER ? 5 * size : Math.max(2_000, 5 * size))
const paced = (name) => async (given) => inBursts(await senders[name](given), paceOf(name, given.size))
export const cases = Object.fromEntries(Object.keys(senders).map((name) => [name, paced(name)]))

const againstLimit = (size, most) => ({
  what: `${size} a batch: `,
  ...{ cases: [LIMIT, OURS], given: { size }, ports: 1, requests: 1 / size, units: 2 * paceOf(OURS, size) },
  ...{ rounds: 60, warmUp: 60, limits: { [OURS]: most } },
})

/**
 * How many times more an event costs a peer than us. Each has a process of its own: a peer leaves its neighbours a large heap. A young
 * process pays three times as much for a request as one that has been running for a while.
 */
const againstPeer = (name, size, least) => ({
  ...againstLimit(size),
  cases: [OURS, name],
  units: { [OURS]: 2 * paceOf(OURS, size), [name]: name === RUDDER ? 500 : paceOf(name, size) },
  ...{ rounds: 15, warmUp: 10 },
  apart: true,
  atLeast: true,
  limits: { [name]: least },
})

export const plans = [
  againstLimit(20, 1.05),
  againstLimit(1_000, 0.95),
  againstPeer(POSTHOG, 20, 6),
  againstPeer(SEGMENT, 20, 13),
  againstPeer(RUDDER, 20),
  againstPeer(POSTHOG, 1_000),
  againstPeer(SEGMENT, 1_000),
]

/** Bursts of `count` calls, and what is read from them: `max` of our figure, `maxRatio` of it to that of the other sender. */
const BURSTS = [
  {
    ...{ what: '10,000 one after the other', names: [POSTHOG, OURS] },
    ...{ count: 10_000, connections: 1, delay: 0 },
    figures: [{ key: 'seconds', unit: 's', maxRatio: 1.1 }],
  },
  {
    ...{ what: 'a burst of 100,000', names: [LIMIT, OURS] },
    ...{ count: 100_000, connections: 4, delay: 0 },
    figures: [
      { key: 'megabytes', unit: 'MB at most', maxRatio: 1.2 },
      { key: 'stall', unit: 'ms longest stall', max: 50 },
      { key: 'calls', unit: 'ms for all calls' },
      { key: 'sockets', unit: 'sockets', max: 4 },
    ],
  },
  ...[SEGMENT, LIMIT].map((name) => ({
    ...{ what: '20,000 at 50 ms an answer', names: [name, OURS] },
    ...{ count: 20_000, connections: 32, delay: 50 },
    figures: [
      { key: 'seconds', unit: 's', ...(name === SEGMENT && { maxRatio: 1 / 1.4 }) },
      { key: 'sockets', unit: 'sockets', max: 32 },
    ],
  })),
]

/** One burst in a fresh process, with what the receiver saw of it. */
const burstOf = (name, { count, connections, delay }) =>
  withReceiver({ delay }, async ({ url, counts }) => {
    const given = { url, size: 20, connections, most: 2 * count }
    const child = fork(here('./burstProcess.js'), [name, JSON.stringify(given), String(count)])
    return { ...(await answerOf(child)), ...(await counts()) }
  })

/** Bursts in turns, and the rows of what is read from them. */
const bursts = async (burst, rounds) => {
  const all = burst.names.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [at, name] of burst.names.entries()) all[at].push(await burstOf(name, burst))
  return burst.figures.flatMap(({ key, unit, max, maxRatio }) => {
    const [base, own] = all.map((found) => found.map((each) => each[key]))
    const { figure, ...ratios } = compared(own, base)
    const rowOf = (name, figure) => ({ what: `${name}, ${burst.what}`, figure, unit })
    return [
      rowOf(burst.names[0], median(base)),
      {
        ...rowOf(OURS, figure),
        ...ratios,
        ...(max === undefined ? {} : { target: `<= ${max}`, met: figure <= max }),
        ...(maxRatio === undefined
          ? {}
          : { target: `<= ${maxRatio.toFixed(2)}x`, met: ratios.ratio <= maxRatio }),
      },
    ]
  })
}

export const run = async ({ rounds = 60 }) => {
  const rows = []
  for (const burst of BURSTS) rows.push(...(await bursts(burst, Math.max(1, Math.ceil(rounds / 12)))))
  return rows
}
