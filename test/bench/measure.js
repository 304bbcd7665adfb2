/**
 * How the benches measure. The machine may be shared, so what counts is CPU time and how it compares with hand-written code measured
 * beside it: the cases take turns, round after round.
 *
 * A bench file exports `cases`, a function by name that is given what its plan says and answers a function of a number of units; `plans`,
 * what is measured with them; or `run`, for what is no comparison of cases.
 *
 * @typedef {object} Plan
 * @property {string[]} cases the first one is what the others are compared with
 * @property {string} [what] stands before the names of the cases
 * @property {number | Record<string, number>} units of one round, or by case, with `default`
 * @property {string} [unit] of the figures
 * @property {number} rounds
 * @property {number} warmUp rounds before those that count
 * @property {object} [given] what the cases are given beside `url`, `urls` and `folder`
 * @property {number} [ports] of a receiver; none without it
 * @property {number} [requests] that the receiver must count for each unit: a case that loses some would be fast
 * @property {boolean} [apart] each case in a process of its own: for those that leave something behind, such as a large heap
 * @property {boolean} [inOrder] always in the given order; otherwise back and forth, so that no case always follows the same one
 * @property {boolean} [rates] compares units a second, and not CPU time
 * @property {Record<string, number>} [limits] the largest ratio that a case may have, or with `atLeast` the smallest
 * @property {boolean} [atLeast]
 * @property {Record<string, string>} [bases] what a case is compared with, if not with the first one
 *
 * @typedef {{ what: string, figure: number, unit: string, ratio?: number, low?: number, high?: number, target?: string,
 *   met?: boolean, user?: number }} Row one line of the table; `user`: the ratio of user CPU time alone
 */
import { fork } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const here = (file) => fileURLToPath(new URL(file, import.meta.url))

export const quantile = (share, figures) => {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]
  return below + (sorted[Math.ceil(at)] - below) * (at % 1)
}

export const median = (figures) => quantile(0.5, figures)

/** The median of figures, that of their ratios to those of the base, and how far these lie apart (quartiles). */
export const compared = (figures, base) => {
  const ratios = figures.map((figure, at) => figure / base[at])
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((share) => quantile(share, ratios))
  return { figure: median(figures), ratio, low, high }
}

export const cpuNow = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** The next message of a child; rejects if it ends instead. */
export const answerOf = (child) =>
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
 * Uses a receiver in a process of its own.
 * @param {{ ports?: number, delay?: number }} options
 */
export const withReceiver = async ({ ports = 1, delay = 0 }, use) => {
  const child = fork(here('./receiver.js'), [ports, delay].map(String))
  try {
    const numbers = await answerOf(child)
    const urls = numbers.map((port) => `http://127.0.0.1:${port}/hook`)
    /** `counts`: what has come so far, `{ requests, sockets }`. */
    return await use({ urls, url: urls[0], counts: () => ask(child, 'count') })
  } finally {
    child.kill()
  }
}

export const withFolder = async (use) => {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-bench-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts `cases[name](given)` of a bench file, several of them in one process; `folder` is where that file stands. */
export const startCases = async (folder, bench, names, given) => {
  const child = fork(join(folder, 'caseProcess.js'), [`./${bench}.js`, JSON.stringify(given), ...names])
  await answerOf(child)
  /** CPU microseconds a unit, and units a second. */
  const play = async (name, units) => {
    const { cpu, user, rate } = await ask(child, { name, units })
    return { cpu: cpu / units, user: user / units, rate }
  }
  return { play, stop: () => child.kill() }
}

export const unitsOf = ({ units: all }, name) => (typeof all === 'number' ? all : (all[name] ?? all.default))

/** Plays each track, round after round, back and forth: a player, its case, the units, and where its figures go. */
export const playRounds = async (plan, rounds, tracks) => {
  for (let round = -plan.warmUp; round < rounds; round++) {
    const ordered = plan.inOrder || round % 2 === 0 ? tracks : [...tracks].reverse()
    for (const { player, name, units, figures } of ordered) {
      const figure = await player.play(name, units)
      if (round >= 0) figures.push(figure)
    }
  }
}

const takeTurns = async (bench, plan, rounds, given) => {
  const { cases, apart = false } = plan
  const groups = apart ? cases.map((name) => [name]) : [cases]
  const running = await Promise.all(groups.map((names) => startCases(here('.'), bench, names, given)))
  const figures = Object.fromEntries(cases.map((name) => [name, []]))
  try {
    const trackOf = (name, at) => {
      return { player: running[apart ? at : 0], name, units: unitsOf(plan, name), figures: figures[name] }
    }
    await playRounds(plan, rounds, cases.map(trackOf))
    // The siblings of a first success may still be under way, and the receiver counts them.
    await setTimeout(100)
  } finally {
    for (const each of running) each.stop()
  }
  return figures
}

/** @returns {Row} */
const rowOf = (plan, figures, name) => {
  const { cases, what = '', unit = 'µs CPU an event', rates, atLeast, limits = {}, bases = {} } = plan
  const base = figures[bases[name] ?? cases[0]]
  const valuesOf = (all, key) => all.map((each) => each[key])
  const comparedBy = (key) => compared(valuesOf(figures[name], key), valuesOf(base, key))
  const found = { ...comparedBy(rates ? 'rate' : 'cpu'), ...(!rates && { user: comparedBy('user').ratio }) }
  const cpu = median(figures[name].map((each) => each.cpu)).toFixed(1)
  const row = { what: `${what}${name}`, unit: rates ? `a second, ${cpu} µs CPU` : unit, ...found }
  const limit = limits[name]
  if (limit === undefined) return row
  return atLeast
    ? { ...row, target: `>= ${limit}x`, met: found.ratio >= limit }
    : { ...row, target: `<= ${limit}x`, met: found.ratio <= limit }
}

/**
 * Plays the cases of a plan in turns, and answers a line for each. They share one process unless `apart`, so that whatever disturbs the
 * machine meets neighbours alike; rounds are short for the same reason.
 */
export const measure = (bench, plan, rounds = plan.rounds, processes = 1) =>
  withFolder(async (folder) => {
    const play = async (given) => {
      const all = Object.fromEntries(plan.cases.map((name) => [name, []]))
      for (let count = 0; count < processes; count++) {
        const own = { ...plan.given, ...given, folder: join(folder, `${count}`) }
        await mkdir(own.folder)
        const figures = await takeTurns(bench, plan, rounds, own)
        for (const name of plan.cases) all[name].push(...figures[name])
      }
      return all
    }
    const rows = (figures) => plan.cases.map((name) => rowOf(plan, figures, name))
    if (plan.ports === undefined) return play({}).then(rows)
    return withReceiver(plan, async ({ url, urls, counts }) => {
      const figures = await play({ url, urls })
      const units = plan.cases.reduce((sum, name) => sum + unitsOf(plan, name), 0)
      const { requests } = await counts()
      const expected = units * (rounds + plan.warmUp) * processes * plan.requests
      // More may come: a peer sends a batch that is not full now and then.
      if (requests < expected) throw new Error(`${requests} requests arrived, and not ${expected}`)
      return rows(figures)
    })
  })
