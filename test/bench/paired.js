// Compares the same bench in two checkouts, both built: `node test/bench/paired.js OTHER BENCH [--rounds N] [--processes N] [--case TEXT]`.
// Each plays its own cases, found by name or else by place; the plan is that of this checkout. Rounds alternate, in three pairs of processes
// after each other. The ratios are this checkout's CPU time to the other's, and user CPU time alone; below 1 this one is faster.
import { mkdtemp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compared, here, playRounds, startCases, unitsOf, withFolder, withReceiver } from './measure.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    processes: { type: 'string', default: '3' },
    case: { type: 'string', default: '' },
  },
})
const [other, bench] = positionals
const OURS = /headrace|destination|collector/
const folders = [here('.'), join(resolve(other), 'test/bench')]
const benches = await Promise.all(folders.map((folder) => import(join(folder, `${bench}.js`))))
const [names, otherNames] = benches.map(({ cases }) => Object.keys(cases ?? {}))
const otherName = (name) => (otherNames.includes(name) ? name : otherNames[names.indexOf(name)])

/** One pair of processes: the figures of each case, round by round, this checkout's and the other's. */
const playPair = async (plan, cases, rounds, given) => {
  const figures = Object.fromEntries(cases.map((name) => [name, [[], []]]))
  const players = await Promise.all(
    folders.map((folder, side) => {
      const own = { ...plan.given, ...given, folder: join(given.folder, `${side}`) }
      return startCases(folder, bench, side === 0 ? cases : cases.map(otherName), own)
    }),
  )
  try {
    const tracks = cases.flatMap((name) =>
      players.map((player, side) => {
        const own = side === 0 ? name : otherName(name)
        return { player, name: own, units: unitsOf(plan, name), figures: figures[name][side] }
      }),
    )
    await playRounds(plan, rounds, tracks)
  } finally {
    for (const player of players) player.stop()
  }
  return figures
}

const ratioText = ({ ratio, low, high }) => `${ratio.toFixed(3)}x (${low.toFixed(2)}-${high.toFixed(2)})`

const inPairs = async (plan, cases, rounds) => {
  const pairs = []
  for (let count = 0; count < Number(values.processes); count++) {
    const play = (given) => withFolder((folder) => playPair(plan, cases, rounds, { ...given, folder }))
    const isAlone = plan.ports === undefined
    pairs.push(await (isAlone ? play({}) : withReceiver(plan, ({ url, urls }) => play({ url, urls }))))
  }
  for (const name of cases) {
    const by = (what) => {
      const of = (side) => pairs.map((figures) => figures[name][side].map((each) => each[what]))
      const sides = [of(0), of(1)]
      const each = sides[0].map((own, at) => compared(own, sides[1][at]).ratio.toFixed(2))
      const [own, others] = sides.map((all) => all.flat())
      return { ...compared(own, others), before: compared(others, own).figure, each: each.join(' ') }
    }
    const { before, figure, each, ...cpu } = by('cpu')
    const times = `${before.toFixed(2)} -> ${figure.toFixed(2)} µs CPU`
    const user = `user ${ratioText(by('user'))}  [${by('user').each}]`
    const what = `${plan.what ?? ''}${name}`
    console.log(`  ${what.padEnd(42)} ${times.padEnd(24)} ${ratioText(cpu)}  [${each}]  ${user}`)
  }
}

console.log(`${bench}: ${resolve(other)} -> this checkout`)
const done = new Set()
for (const plan of benches[0].plans ?? []) {
  const key = (name) => `${plan.what} ${name}`
  const isChosen = (name) => OURS.test(name) && name.includes(values.case) && !done.has(key(name))
  const cases = plan.cases.filter(isChosen)
  for (const name of cases) done.add(key(name))
  const known = cases.filter((name) => otherName(name) !== undefined)
  for (const name of cases) if (!known.includes(name)) console.log(`  the other checkout has no case ${name}`)
  if (known.length > 0) await inPairs(plan, known, Number(values.rounds ?? Math.ceil(plan.rounds / 2)))
}
process.exit()
