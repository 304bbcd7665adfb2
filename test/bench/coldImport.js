// What it costs to import an entry for the first time in a process, more than what its users load anyway.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { here, median } from './measure.js'

const inAProcess = promisify(execFile)

const importOnce = async (names) => {
  const known = names.split(' + ').filter(Boolean)
  const imports = known.map((name) => `await import('${name}')`)
  const script = `
    const cpu = process.cpuUsage(), start = performance.now()
    ${imports.join('\n')}
    const wall = performance.now() - start, { user, system } = process.cpuUsage(cpu)
    console.log(JSON.stringify({ wall, cpu: (user + system) / 1000 }))`
  const args = ['--input-type=module', '-e', script]
  const { stdout } = await inAProcess(process.execPath, args, { cwd: here('.') })
  return JSON.parse(stdout)
}

/** The peers that headrace stands on come into every program that uses it. */
const PEERS = 'rxjs + io-ts + fp-ts/lib/Either.js'

/** An entry, what its process has loaded anyway, and how many milliseconds of CPU it may take beside that. */
const TARGETS = [
  ['headrace', PEERS, 70],
  ['headrace/destination', 'rxjs', 110],
  ['headrace/client', 'rxjs', 110],
  ['headrace/signing', '', 10],
]
const NAMES = ['', 'rxjs', PEERS, 'headrace/sinks/webhook', ...TARGETS.map(([name]) => name)]

export const run = async ({ rounds = 15 }) => {
  const figures = new Map(NAMES.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++)
    for (const name of NAMES) {
      const figure = await importOnce(name)
      if (round >= 0) figures.get(name).push(figure)
    }
  return ['cpu', 'wall'].flatMap((kind) => {
    const of = (name) => median(figures.get(name).map((each) => each[kind]))
    return NAMES.filter(Boolean).map((name) => {
      const [, base, most] = TARGETS.find(([entry]) => entry === name) ?? []
      const isTarget = kind === 'cpu' && most !== undefined
      const figure = of(name)
      return {
        what: `import ${name}`,
        figure,
        unit: kind === 'cpu' ? 'ms CPU' : 'ms by the clock',
        ratio: figure / of('rxjs'),
        ...(isTarget && { target: `<= ${base || 'nothing'} + ${most}`, met: figure <= of(base) + most }),
      }
    })
  })
}
