import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { right } from 'fp-ts/lib/Either.js'
import { lineFile } from '../sink/ndjson.ts'
import type { Input } from './input.ts'
import { wrong } from './options.ts'
import type { Checked } from './options.ts'
import { whyNot } from './report.ts'

/** The file of `--dead`: events that were not delivered, in the form in which they can be sent again. It is made for the first of them. */
export interface DeadFile {
  readonly add: (call: object, reason: string) => void
  /** Events written. */
  readonly count: () => number
  /** Why a write failed. */
  readonly failure: () => string | undefined
  readonly close: () => Promise<void>
}

const deadFile = (path: string): DeadFile => {
  const file = lineFile(path)
  let count = 0
  let failure: string | undefined
  return {
    add: (call, reason) =>
      file.write(JSON.stringify({ ...call, reason }), (error) => {
        if (error instanceof Error) failure ??= whyNot(error)
        else count++
      }),
    count: () => count,
    failure: () => failure,
    close: () => new Promise((resolve) => file.end(resolve)),
  }
}

/** Opens the file for appending. */
export const openDeadFile = (path: string, input: Input): Checked<DeadFile> => {
  try {
    const existing = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (existing?.isDirectory() === true)
      return wrong(`--dead '${path}' is a folder: give the name of a file`)
    if (existing !== undefined && input.is(existing))
      return wrong('--dead is the input file: give another one, or events would be sent again and again')
    accessSync(existing === undefined ? dirname(path) : path, constants.W_OK)
    return right(deadFile(path))
  } catch (error) {
    return wrong(`--dead '${path}' cannot be written: ${whyNot(error)}; give another file`)
  }
}
