// The lab matrix: published clients and headrace against the same scripted server, each experiment with each peer in a process of its own.
// `node test/bench/labMatrix.js [--only NAME,...] [--peer NAME,...] [--quick]`
// prints a table in markdown. It takes about two minutes and a half, `--quick` half of that: it cuts the outage to 10 s and gives up sooner.
// One run a cell, so times are orders of magnitude; what is compared is what happens.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { experiments } from './lab/experiments.js'
import { labelOf, peers } from './lab/peers.js'
import { scriptedServer } from './lab/scriptedServer.js'

const PLAYER = fileURLToPath(new URL('./lab/player.js', import.meta.url))
/** Waiting processes side by side; more would disturb each other while they start. */
const SIDE_BY_SIDE = 8
/** A port without a server. */
const CLOSED_URL = 'http://127.0.0.1:9'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    peer: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const { quick } = values

const choose = (all, asked, what) => {
  if (asked === undefined) return all
  const names = asked.split(',')
  const unknown = names.filter((name) => !all.includes(name))
  if (unknown.length === 0) return names
  console.error(`no such ${what}: ${unknown.join(', ')}; there are ${all.join(', ')}`)
  process.exit(2)
}

const ids = choose(
  experiments.map(({ id }) => id),
  values.only,
  'experiment',
)
const names = choose(Object.keys(peers), values.peer, 'peer')
const chosen = experiments.filter(({ id }) => ids.includes(id))

/** Plays one experiment with one peer, and answers its cell. */
const play = async ({ id, server: script, note = {}, cell, seconds = [60, 45], plainNode = false }, name) => {
  const server = script === undefined ? undefined : await scriptedServer(script(quick))
  const child = fork(PLAYER, [name, id, server?.url ?? CLOSED_URL, String(quick)], {
    // An unhandled rejection ends a Node process: in all experiments but one it is only a warning.
    execArgv: plainNode ? [] : ['--unhandled-rejections=warn'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const limit = seconds[quick ? 1 : 0]
  const end = setTimeout(() => child.kill('SIGKILL'), limit * 1_000)
  const found = {}
  const noted = {}
  const said = {}
  let complaint = ''
  child.stderr.on('data', (text) => (complaint = (complaint + text).slice(-2_000)))
  child.on('message', (message) => {
    for (const [key, value] of Object.entries(message)) {
      ;(found[key] ??= []).push(value)
      said[key] ??= performance.now()
      noted[key] ??= note[key]?.(server)
    }
  })
  const [exit] = await once(child, 'exit')
  clearTimeout(end)
  const life = Object.fromEntries(Object.entries(said).map(([key, at]) => [key, performance.now() - at]))
  // What is on its way to the server still counts.
  await new Promise((resolve) => setTimeout(resolve, 50))
  server?.stop()
  if (found.notOpened !== undefined) throw new Error(`${name} could not be opened: ${found.notOpened[0]}`)
  try {
    return { text: cell({ found, noted, server, exit, life, seconds: limit }), exit, complaint }
  } catch {
    return { text: exit === null ? `not done in ${limit} s` : `exit ${exit}`, exit, complaint }
  }
}

/** @type {Map<string, { text: string, exit: number | null, complaint: string }>} */
const cells = new Map()
const keyOf = (id, name) => `${id} ${name}`
const jobs = chosen.flatMap((experiment) => names.map((name) => ({ experiment, name })))

const run = async ({ experiment, name }) => {
  cells.set(keyOf(experiment.id, name), await play(experiment, name))
  if (process.stderr.isTTY) process.stderr.write(`\r${cells.size} of ${jobs.length} cells `)
}

const longestFirst = (a, b) => (b.experiment.seconds?.[0] ?? 0) - (a.experiment.seconds?.[0] ?? 0)
const waiting = jobs.filter(({ experiment }) => !experiment.alone).sort(longestFirst)
await Promise.all(
  Array.from({ length: SIDE_BY_SIDE }, async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(job)
  }),
)
for (const job of jobs.filter(({ experiment }) => experiment.alone)) await run(job)
if (process.stderr.isTTY) process.stderr.write('\n')

const line = (parts) => `| ${parts.join(' | ')} |`
console.log(line(['Experiment', ...names.map(labelOf)]))
console.log(line(['---', ...names.map(() => '---')]))
for (const { id, title } of chosen) {
  console.log(line([title, ...names.map((name) => cells.get(keyOf(id, name)).text)]))
}
