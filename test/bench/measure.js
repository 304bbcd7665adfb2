/**
 * How the benches measure. The machine may be shared, so what counts is CPU time and how it compares with hand-written code
 * measured beside it: the cases take turns, round after round.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const here = (file) => fileURLToPath(new URL(file, import.meta.url))

export const quantile = (share, figures) => {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]
  return below + (sorted[Math.ceil(at)] - below) * (at % 1)
}

export const median = (figures) => quantile(0.5, figures)

/** CPU microseconds of this process so far, system and garbage collector included. */
export const cpuNow = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** The next message of a child; rejects if it ends instead. */
const answerOf = (child) =>
  new Promise((resolve, reject) => {
    const gone = (code) => reject(new Error(`a child process of the bench ended with ${code}`))
    child.once('exit', gone)
    child.once('message', (value) => {
      child.off('exit', gone)
      resolve(value)
    })
  })

const ask = (child, message) => {
  child.send(message)
  return answerOf(child)
}

/**
 * Starts a receiver in a process of its own.
 * @param {{ ports?: number, status?: number, delay?: number }} [options]
 */
export const startReceiver = async ({ ports = 1, status = 200, delay = 0 } = {}) => {
  const child = fork(here('./receiver.js'), [ports, status, delay].map(String))
  const numbers = await answerOf(child)
  return {
    urls: numbers.map((port) => `http://127.0.0.1:${port}/hook`),
    /** What has come so far: `{ requests, bytes, sockets }`. */
    counts: () => ask(child, 'count'),
    stop: () => child.kill(),
  }
}

/** Starts `cases[name](given)` of a bench file, several of them in one process. */
const startCases = async (file, names, given) => {
  const child = fork(here('./caseProcess.js'), [file, JSON.stringify(given), ...names])
  await answerOf(child)
  return { round: (name, units) => ask(child, { name, units }), stop: () => child.kill() }
}

/** The median of figures, that of their ratios to those of the base, and how far these lie apart (quartiles). */
export const compared = (figures, base) => {
  const ratios = figures.map((figure, at) => figure / base[at])
  return {
    figure: median(figures),
    ratio: median(ratios),
    low: quantile(0.25, ratios),
    high: quantile(0.75, ratios),
  }
}

/**
 * Plays the cases of a bench file in turns. The first one is what the others are compared with, round by round.
 * Answers for each case the CPU microseconds a unit, the ratio to the first, and how far the ratios lie apart (quartiles), and the figures
 * of each round: CPU microseconds a unit, and units a second.
 *
 * They share one process, so that whatever disturbs the machine meets neighbours alike; rounds are short for the same reason.
 * With `apart` each has a process of its own: for cases that leave something behind, such as a large heap.
 *
 * @param {string} file `import.meta.url` of the bench
 * @param {{ cases: string[], given?: unknown, units: number | Record<string, number>, rounds: number, warmUp?: number,
 *   apart?: boolean, forth?: boolean }} plan
 */
export const takeTurns = async (
  file,
  { cases, given = {}, units, rounds, warmUp = 2, apart = false, forth = false },
) => {
  const unitsOf = (name) => (typeof units === 'number' ? units : (units[name] ?? units.default))
  const groups = apart ? cases.map((name) => [name]) : [cases]
  const running = await Promise.all(groups.map((names) => startCases(file, names, given)))
  const playerOf = (name) => running[apart ? cases.indexOf(name) : 0]
  const figures = new Map(cases.map((name) => [name, []]))
  try {
    for (let round = -warmUp; round < rounds; round++) {
      // Back and forth, so that no case always follows the same one; with `forth` always in the given order.
      for (const name of forth || round % 2 === 0 ? cases : [...cases].reverse()) {
        const { cpu, rate } = await playerOf(name).round(name, unitsOf(name))
        if (round >= 0) figures.get(name).push({ cpu: cpu / unitsOf(name), rate })
      }
    }
  } finally {
    for (const each of running) each.stop()
  }
  const of = (name, what) => figures.get(name).map((figure) => figure[what])
  return cases.map((name) => {
    const { figure, ...ratios } = compared(of(name, 'cpu'), of(cases[0], 'cpu'))
    const units = (rounds + warmUp) * unitsOf(name)
    return { name, units, cpu: figure, ...ratios, cpus: of(name, 'cpu'), rates: of(name, 'rate') }
  })
}

/** A case that loses requests would be fast: every unit must have arrived as `requestsAUnit` requests. */
export const checkArrived = async (receiver, results, requestsAUnit = 1) => {
  const expected = results.reduce((sum, { units }) => sum + units, 0) * requestsAUnit
  const { requests } = await receiver.counts()
  if (requests !== expected) throw new Error(`${requests} requests arrived, and not ${expected}`)
}

/**
 * One line of the table.
 * @typedef {{ what: string, figure: number, unit: string, ratio?: number, low?: number, high?: number, target?: string,
 *   met?: boolean }} Row
 */

/**
 * The lines of a comparison; `targets` holds the greatest ratio that a case may have.
 * @returns {Row[]}
 */
export const rowsOf = (results, unit, targets = {}, scale = 1) =>
  results.map(({ name, cpu, ratio, low, high }) => ({
    what: name,
    figure: cpu / scale,
    unit,
    ratio,
    low,
    high,
    ...(targets[name] === undefined ? {} : { target: `<= ${targets[name]}x`, met: ratio <= targets[name] }),
  }))

/**
 * One case as units a second beside another one's; `least` is the smallest ratio that it may have.
 * @returns {Row}
 */
export const rateRow = (what, { cpu, rates }, base, least) => {
  const { figure, ratio, low, high } = compared(rates, base.rates)
  const target = least === undefined ? {} : { target: `>= ${least}x`, met: ratio >= least }
  return { what: `${what}, ${cpu.toFixed(1)} µs CPU`, figure, unit: 'a second', ratio, low, high, ...target }
}
