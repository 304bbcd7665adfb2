// `npm run bench -- [NAME ... | all | release] [--json FILE] [--rounds N] [--processes N]`: runs the benches and prints what they found.
// `all` takes five rounds of each in one process, unless told more; `release` eleven rounds in five processes after each other.
// `node test/bench/page.js FILE` compares a FILE with the tables of docs/performance.md, and `--write` writes them.
import { writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { measure } from './measure.js'

/** In the order of docs/performance.md. */
const benches = [
  ...['forwarding', 'fiveUrls', 'batchBuilding', 'heldBytes', 'coldImport', 'lmdbOutbox'],
  ...['durableForwarding', 'client', 'collector', 'inspector', 'telemetry', 'postgres'],
]
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, rounds: { type: 'string' }, processes: { type: 'string' } },
})

const number = (value) =>
  value === undefined ? '' : value.toLocaleString('en', { maximumSignificantDigits: value < 1 ? 2 : 4 })

const lineOf = ({ what, figure, unit, ratio, low, high, user, target, met }) => {
  const spread = low === undefined ? '' : ` (${low.toFixed(2)}-${high.toFixed(2)})`
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x${spread}`
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED'
  return [
    what.padEnd(54),
    number(figure).padStart(9),
    unit.padEnd(22),
    times.padEnd(20),
    (user === undefined ? '' : `user ${user.toFixed(2)}x`).padEnd(11),
    (target ?? '').padEnd(14),
    verdict,
  ]
    .join(' ')
    .trimEnd()
}

const wholes = { all: { rounds: 5, processes: 1 }, release: { rounds: 11, processes: 5 } }
const [whole, ...more] = positionals.map((name) => wholes[name])
const unknown = positionals.filter((name) => !benches.includes(name) && !(whole && more.length === 0))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${benches.join(', ')}, all and release`)
  process.exit(2)
}
// The figures of PostgreSQL are in docs/scale.md.
const ours = benches.filter((name) => name !== 'postgres')
const chosen = whole || positionals.length === 0 ? ours : positionals
const asked = values.rounds ? Number(values.rounds) : whole?.rounds
const processes = Number(values.processes ?? whole?.processes ?? 1)

/** The rows of one bench. `--rounds` is for its first plan; the others keep their share. */
const rowsOf = async (name) => {
  const { plans = [], run } = await import(`./${name}.js`)
  const rows = []
  for (const plan of plans) {
    const rounds = asked && Math.ceil((plan.rounds * asked) / plans[0].rounds)
    rows.push(...(await measure(name, plan, rounds, processes)))
  }
  return run === undefined ? rows : [...rows, ...(await run({ rounds: asked, processes }))]
}

const load = () => loadavg()[0].toFixed(1)
const found = {}
const start = performance.now()
for (const name of chosen) {
  const [before, began] = [load(), performance.now()]
  const rows = await rowsOf(name)
  found[name] = { rows, load: `${before} to ${load()}` }
  console.log(`\n${name} (load ${found[name].load}, ${((performance.now() - began) / 1_000).toFixed(0)} s)`)
  for (const row of rows) console.log(`  ${lineOf(row)}`)
}
console.log(`\n${((performance.now() - start) / 60_000).toFixed(1)} minutes`)

if (values.json !== undefined) {
  const date = new Date().toISOString().slice(0, 10)
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, date }
  await writeFile(values.json, `${JSON.stringify({ machine, found }, null, 2)}\n`)
}
