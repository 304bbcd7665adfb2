/**
 * Runs examples one after the other in a process of its own: `node child.js a.js b.js …`. An example has ended when nothing
 * is left that could still run. What happens is written to file descriptor 3, one JSON text a line.
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

/** What a child says about the example that runs. */
export type Report =
  | { readonly _tag: 'Started'; readonly path: string }
  /** Every way in which what was printed may be written: a text alone may stand with or without quotes. */
  | { readonly _tag: 'Printed'; readonly forms: ReadonlyArray<string> }
  | { readonly _tag: 'Threw'; readonly message: string }
  | { readonly _tag: 'Ended' }

const paths = process.argv.slice(2)
let settled = true
let printed = 0
let mark = 0

const report = (message: Report): void => {
  writeSync(3, `${JSON.stringify(message)}\n`)
}

const write = (value: unknown): string =>
  inspect(value, {
    depth: Infinity,
    breakLength: Infinity,
    compact: true,
    maxArrayLength: 200,
    sorted: false,
  })

const print = (...values: ReadonlyArray<unknown>): void => {
  printed++
  const raw = values.map((value) => (typeof value === 'string' ? value : write(value))).join(' ')
  report({ _tag: 'Printed', forms: [...new Set([raw, values.map(write).join(' ')])] })
}

const threw = (error: unknown): void => {
  report({ _tag: 'Threw', message: error instanceof Error ? (error.stack ?? error.message) : write(error) })
}

const next = (): void => {
  if (!settled) threw('it waits at its top level for something that will never come')
  if (process.exitCode !== undefined && process.exitCode !== 0)
    threw(`it set the exit code ${process.exitCode}`)
  process.exitCode = 0
  const path = paths.shift()
  if (path === undefined) return
  report({ _tag: 'Started', path })
  settled = false
  import(pathToFileURL(path).href).catch(threw).finally(() => {
    settled = true
  })
}

console.log = print
Object.assign(globalThis, {
  __mark: () => (mark = printed),
  __show: (value: unknown) => {
    if (printed === mark) print(value)
  },
})
process.on('uncaughtException', threw)
process.on('unhandledRejection', threw)
// The loop has run dry: the example has ended. Starting the next one keeps the process alive.
process.on('beforeExit', () => {
  report({ _tag: 'Ended' })
  next()
})
next()
