/**
 * The file that keeps what was not delivered, in the form in which it was read, so that it can be sent again.
 *
 * @module
 */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { right } from 'fp-ts/lib/Either.js'
import { lineFile } from '../../sinks/LineFile.ts'
import { whyNot } from '../output/whyNot.ts'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import type { Input } from './Input.ts'

/** Keeps events. Nothing is written before the first of them. */
export interface DeadFile {
  /** In the form in which it was read. */
  readonly keep: (call: object, reason: string) => void
  /** How many are in the file. */
  readonly kept: () => number
  /** Why some are not, if some are not. */
  readonly failure: () => string | undefined
  /** Writes what is left and lets go. */
  readonly close: () => Promise<void>
}

const existing = (path: string): { readonly dev: bigint; readonly ino: bigint } | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })

/** Opens the file for appending. What is in it already stays: it was not delivered either. */
export const openDeadFile = (path: string, input: Input): Checked<DeadFile> => {
  try {
    const before = existing(path)
    if (before !== undefined && input.is(before))
      return wrong('--dead is the file that is read: give another one, or it would be sent again and again')
    accessSync(before === undefined ? dirname(path) : path, constants.W_OK)
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      return wrong(`--dead '${path}' is a folder: give the name of a file`)
  } catch (error) {
    return wrong(`--dead '${path}' cannot be written: ${whyNot(error)}; give another place`)
  }
  return right(deadFile(path))
}

const deadFile = (path: string): DeadFile => {
  const file = lineFile(path)
  let kept = 0
  let failure: string | undefined
  return {
    keep: (call, reason) => {
      file.write(JSON.stringify({ ...call, reason }), (error) => {
        if (error instanceof Error) failure ??= whyNot(error)
        else kept++
      })
    },
    kept: () => kept,
    failure: () => failure,
    close: () =>
      new Promise((resolve) => {
        file.end(resolve)
      }),
  }
}
