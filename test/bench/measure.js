/**
 * How the benches measure. The machine may be shared, so what counts is CPU time and how it compares with hand-written code
 * measured beside it: every case runs in a process of its own, and the cases take turns, round after round.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
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

const ask = async (child, message) => {
  const answer = once(child, 'message')
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`a child process of the bench ended with ${code}`)
  })
  child.send(message)
  const [value] = await Promise.race([answer, gone])
  return value
}

/**
 * Starts a receiver in a process of its own.
 * @param {{ ports?: number, status?: number, delay?: number }} [options]
 */
export const startReceiver = async ({ ports = 1, status = 200, delay = 0 } = {}) => {
  const child = fork(here('./receiver.js'), [ports, status, delay].map(String))
  const [numbers] = await once(child, 'message')
  return {
    urls: numbers.map((port) => `http://127.0.0.1:${port}/hook`),
    /** What has come so far: `{ requests, bytes }`. */
    counts: () => ask(child, 'count'),
    stop: () => child.kill(),
  }
}

/** Starts a case: `cases[name](given)` of a bench file, alone in a process. */
const startCase = async (file, name, given) => {
  const child = fork(here('./caseProcess.js'), [file, name, JSON.stringify(given)], {
    execArgv: ['--expose-gc'],
  })
  await once(child, 'message')
  return { name, round: (units) => ask(child, units), stop: () => child.kill() }
}

/**
 * Plays the cases of a bench file in turns. The first one is what the others are compared with, round by round.
 * Answers for each case the CPU microseconds a unit, the ratio to the first, and how far the ratios lie apart (quartiles).
 *
 * @param {string} file `import.meta.url` of the bench
 * @param {{ cases: string[], given?: unknown, units: number | Record<string, number>, rounds?: number, warmUp?: number }} plan
 */
export const takeTurns = async (file, { cases, given = {}, units, rounds = 9, warmUp = 2 }) => {
  const unitsOf = (name) => (typeof units === 'number' ? units : (units[name] ?? units.default))
  const running = await Promise.all(cases.map((name) => startCase(file, name, given)))
  const figures = new Map(cases.map((name) => [name, []]))
  try {
    for (let round = -warmUp; round < rounds; round++) {
      // Back and forth, so that nobody always comes after the same neighbour.
      for (const each of round % 2 === 0 ? running : [...running].reverse()) {
        const { cpu, wall } = await each.round(unitsOf(each.name))
        if (round >= 0)
          figures.get(each.name).push({ cpu: cpu / unitsOf(each.name), wall: wall / unitsOf(each.name) })
      }
    }
  } finally {
    for (const each of running) each.stop()
  }
  const base = figures.get(cases[0])
  return cases.map((name) => {
    const own = figures.get(name)
    const ratios = own.map(({ cpu }, at) => cpu / base[at].cpu)
    return {
      name,
      cpu: median(own.map(({ cpu }) => cpu)),
      wall: median(own.map(({ wall }) => wall)),
      ratio: median(ratios),
      low: quantile(0.25, ratios),
      high: quantile(0.75, ratios),
    }
  })
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
