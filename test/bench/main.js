// `npm run bench -- [NAME ...] [--json FILE] [--rounds N]`: runs the benches and prints what they found.
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { measure } from './measure.js'

/** In the order of docs/performance.md. */
const benches = [
  'forwarding',
  'fiveUrls',
  'batchBuilding',
  'deliverDepth',
  'heldBytes',
  'coldImport',
  'lmdbOutbox',
  'durableForwarding',
  'client',
  'collector',
  'inspector',
  'virtualHours',
  'telemetry',
  'postgres',
]
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    rounds: { type: 'string' },
  },
})

const number = (value) =>
  value === undefined ? '' : value.toLocaleString('en', { maximumSignificantDigits: value < 1 ? 2 : 4 })

const lineOf = ({ what, figure, unit, ratio, low, high, target, met }) => {
  const spread = low === undefined ? '' : ` (${low.toFixed(2)}-${high.toFixed(2)})`
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x${spread}`
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED'
  return [
    what.padEnd(54),
    number(figure).padStart(9),
    unit.padEnd(22),
    times.padEnd(20),
    (target ?? '').padEnd(14),
    verdict,
  ]
    .join(' ')
    .trimEnd()
}

const unknown = positionals.filter((name) => !benches.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${benches.join(', ')}`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals : benches

const asked = values.rounds && Number(values.rounds)

/** The rows of one bench. `--rounds` is for its first plan; the others keep their share. */
const rowsOf = async (name) => {
  const { plans = [], run } = await import(`./${name}.js`)
  const rows = []
  for (const plan of plans) {
    const rounds = asked && Math.ceil((plan.rounds * asked) / plans[0].rounds)
    rows.push(...(await measure(name, plan, rounds)))
  }
  return run === undefined ? rows : [...rows, ...(await run({ rounds: asked }))]
}

const found = {}
for (const name of chosen) {
  console.log(`\n${name}`)
  found[name] = await rowsOf(name)
  for (const row of found[name]) console.log(`  ${lineOf(row)}`)
}

if (values.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
  await writeFile(values.json, `${JSON.stringify({ machine, found }, null, 2)}\n`)
}
