// The client: what a small event costs, beside a client by hand and the published ones; what a burst of 100,000 needs; and how fast events
// go to a receiver that takes its time. It takes some minutes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { checkArrived, median, quantile, rowsOf, startReceiver, takeTurns } from './measure.js'
import { hostCalls, senders } from './senders.js'

const LIMIT = 'by hand'
const OURS = 'headrace'
const POSTHOG = 'posthog-node'
const SEGMENT = '@segment/analytics-node'
const RUDDER = '@rudderstack/rudder-sdk-node'

/** Calls that are outstanding at most: five batches, or 2,000. Rudder's cost grows with its queue, so it gets its best case. */
const paceOf = (name, size) => (name === RUDDER ? 5 * size : Math.max(2_000, 5 * size))

/** A case for `takeTurns`: calls in bursts, each after the last one was answered. */
const paced = (name) => async (given) => {
  const { track, ended } = await senders[name](given)
  const inputs = hostCalls()
  const pace = paceOf(name, given.size)
  return async (units) => {
    for (let sent = 0; sent < units;) {
      const until = Math.min(units, sent + pace)
      while (sent < until) track(inputs[sent++ % inputs.length])
      await ended()
    }
  }
}

export const cases = Object.fromEntries(Object.keys(senders).map((name) => [name, paced(name)]))

const withReceiver = async (options, use) => {
  const receiver = await startReceiver(options)
  try {
    return await use(receiver)
  } finally {
    receiver.stop()
  }
}

/** What an event costs us, against the limit. */
const againstLimit = (size, most, rounds) =>
  withReceiver({}, async (receiver) => {
    const given = { url: receiver.urls[0], size }
    const units = 2 * paceOf(OURS, size)
    const results = await takeTurns(import.meta.url, {
      cases: [LIMIT, OURS],
      given,
      units,
      rounds,
      warmUp: 10,
    })
    await checkArrived(receiver, results, 1 / size)
    return rowsOf(results, 'µs CPU an event', { [OURS]: most }).map((row) => ({
      ...row,
      what: `${row.what}, ${size} a batch`,
    }))
  })

/** How many times more an event costs a peer than us. Each has a process of its own: a peer leaves its neighbours a large heap. */
const againstPeer = (name, size, least, rounds) =>
  withReceiver({}, async (receiver) => {
    const given = { url: receiver.urls[0], size }
    const units = { [OURS]: 2 * paceOf(OURS, size), [name]: name === RUDDER ? 500 : paceOf(name, size) }
    // A young process pays three times as much for a request as one that has been running for a while.
    const plan = { cases: [OURS, name], given, units, rounds, warmUp: 10, apart: true }
    const [, { cpu, ratio, low, high }] = await takeTurns(import.meta.url, plan)
    const target = least === undefined ? {} : { target: `>= ${least}x ours`, met: ratio >= least }
    return {
      what: `${name}, ${size} a batch`,
      figure: cpu,
      unit: 'µs CPU an event',
      ratio,
      low,
      high,
      ...target,
    }
  })

const BURST = fileURLToPath(new URL('./burstProcess.js', import.meta.url))

/** One burst in a fresh process, with what the receiver saw of it. */
const burstOf = (name, given, count, delay) =>
  withReceiver({ delay }, async (receiver) => {
    const child = fork(BURST, [name, JSON.stringify({ ...given, url: receiver.urls[0] }), String(count)])
    const gone = once(child, 'exit').then(([code]) => {
      throw new Error(`the burst of ${name} ended with ${code}`)
    })
    const [found] = await Promise.race([once(child, 'message'), gone])
    gone.catch(() => undefined)
    return { ...found, ...(await receiver.counts()) }
  })

const mediansOf = (figures) =>
  Object.fromEntries(Object.keys(figures[0]).map((key) => [key, median(figures.map((each) => each[key]))]))

/** Bursts in turns; answers the medians of each, and all figures in the order of the rounds. */
const bursts = async (names, given, count, delay, rounds) => {
  const all = new Map(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) all.get(name).push(await burstOf(name, given, count, delay))
  }
  return { all, middle: (name) => mediansOf(all.get(name)) }
}

const MANY = 100_000

const burst = async (rounds) => {
  const given = { size: 20, connections: 4, most: 2 * MANY }
  const { all, middle } = await bursts([LIMIT, OURS], given, MANY, 0, rounds)
  const ratios = all.get(OURS).map(({ megabytes }, at) => megabytes / all.get(LIMIT)[at].megabytes)
  const ratio = median(ratios)
  const spread = { low: quantile(0.25, ratios), high: quantile(0.75, ratios) }
  const [limit, ours] = [middle(LIMIT), middle(OURS)]
  const what = `a burst of ${MANY.toLocaleString('en')}`
  const rowOf = (name, found, figure, unit) => ({ what: `${name}, ${what}`, figure: found[figure], unit })
  return [
    rowOf(LIMIT, limit, 'megabytes', 'MB at most'),
    {
      ...rowOf(OURS, ours, 'megabytes', 'MB at most'),
      ratio,
      ...spread,
      target: '<= 1.2x',
      met: ratio <= 1.2,
    },
    rowOf(LIMIT, limit, 'stall', 'ms longest stall'),
    { ...rowOf(OURS, ours, 'stall', 'ms longest stall'), target: '<= 50', met: ours.stall <= 50 },
    rowOf(LIMIT, limit, 'calls', 'ms for all calls'),
    rowOf(OURS, ours, 'calls', 'ms for all calls'),
    { ...rowOf(OURS, ours, 'sockets', 'sockets'), target: '<= 4', met: ours.sockets <= 4 },
  ]
}

const SLOW = 50
const FEWER = 20_000

const slow = async (rounds) => {
  const given = { size: 20, connections: 16, most: 2 * FEWER }
  const { all, middle } = await bursts([SEGMENT, OURS], given, FEWER, SLOW, rounds)
  const ratios = all.get(OURS).map(({ seconds }, at) => all.get(SEGMENT)[at].seconds / seconds)
  const ratio = median(ratios)
  const rateOf = (name) => ({
    what: `${name}, ${SLOW} ms an answer`,
    figure: FEWER / middle(name).seconds,
    unit: 'events a second',
  })
  const socketsOf = (name) => ({
    what: `${name}, ${SLOW} ms an answer`,
    figure: middle(name).sockets,
    unit: 'sockets',
  })
  return [
    rateOf(SEGMENT),
    {
      ...rateOf(OURS),
      ratio,
      low: quantile(0.25, ratios),
      high: quantile(0.75, ratios),
      target: '>= 1x',
      met: ratio >= 1,
    },
    socketsOf(SEGMENT),
    { ...socketsOf(OURS), target: '<= 32', met: middle(OURS).sockets <= 32 },
  ]
}

export const run = async ({ rounds = 60 }) => {
  const few = Math.max(1, Math.ceil(rounds / 4))
  const fewest = Math.max(1, Math.ceil(rounds / 12))
  return [
    ...(await againstLimit(20, 1.15, rounds)),
    ...(await againstLimit(1_000, 1.35, rounds)),
    await againstPeer(POSTHOG, 20, 6, few),
    await againstPeer(SEGMENT, 20, 13, few),
    await againstPeer(RUDDER, 20, undefined, few),
    await againstPeer(POSTHOG, 1_000, undefined, few),
    await againstPeer(SEGMENT, 1_000, undefined, few),
    ...(await burst(fewest)),
    ...(await slow(fewest)),
  ]
}
