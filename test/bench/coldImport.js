// What it costs to import headrace for the first time in a process, against importing rxjs, which it stands on.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { here, median } from './measure.js'

const MORE_THAN_RXJS = 30
const inAProcess = promisify(execFile)

/** Milliseconds that one import takes in a fresh process: by the clock, and CPU time. */
const importOnce = async (names) => {
  const imports = names.split(' + ').map((name) => `await import('${name}')`)
  const script = `
    const cpu = process.cpuUsage(), start = performance.now()
    ${imports.join('\n')}
    const wall = performance.now() - start, { user, system } = process.cpuUsage(cpu)
    console.log(JSON.stringify({ wall, cpu: (user + system) / 1000 }))`
  const { stdout } = await inAProcess(process.execPath, ['--input-type=module', '-e', script], {
    cwd: here('.'),
  })
  return JSON.parse(stdout)
}

/** The peers that headrace stands on come into every program that uses it. */
const PEERS = 'rxjs + io-ts + fp-ts/lib/Either.js'

const NAMES = [
  'rxjs',
  PEERS,
  'headrace',
  'headrace/signing',
  'headrace/sinks/webhook',
  'headrace/destination',
]

export const run = async ({ rounds = 15 }) => {
  const figures = new Map(NAMES.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const name of NAMES) {
      const figure = await importOnce(name)
      if (round >= 0) figures.get(name).push(figure)
    }
  }
  return ['cpu', 'wall'].flatMap((kind) => {
    const rxjs = median(figures.get('rxjs').map((each) => each[kind]))
    return NAMES.map((name) => {
      const figure = median(figures.get(name).map((each) => each[kind]))
      return {
        what: `import ${name}`,
        figure,
        unit: kind === 'cpu' ? 'ms CPU' : 'ms by the clock',
        ratio: figure / rxjs,
        ...(name === 'headrace'
          ? { target: `<= rxjs + ${MORE_THAN_RXJS}`, met: figure <= rxjs + MORE_THAN_RXJS }
          : {}),
      }
    })
  })
}
