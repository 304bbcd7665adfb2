/**
 * One process at a time: the file `headrace.lock` in the folder names the process that has the outbox open.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A lock file without content is being written, unless it is older than this. A power failure may leave one. */
const WRITING_MS = 10_000

interface Holder {
  readonly pid: number
  /** When the process started, in the units of the system; undefined where the system does not say. */
  readonly started?: string | undefined
  /** When it opened the outbox, as an ISO text. */
  readonly since: string
}

/** The code of a system error; empty if it is none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Undefined if the system answers with this code. */
const unless = <T>(code: string, call: () => T): T | undefined => {
  try {
    return call()
  } catch (error) {
    if (codeOf(error) === code) return undefined
    throw error
  }
}

/** The state and start time of a process; undefined where the system does not say. */
const statOf = (pid: number): { readonly state: string; readonly started: string } | undefined => {
  try {
    // The name of the process may hold blanks and brackets, so fields are counted from the last bracket.
    const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', started: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

const isRunning = ({ pid, started }: Holder): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    if (codeOf(error) !== 'EPERM') return false
  }
  const stat = statOf(pid)
  return stat === undefined || (stat.state !== 'Z' && (started === undefined || stat.started === started))
}

const holderIn = (text: string): Holder | undefined => {
  try {
    // Written by `lock`; a missing time is only missing in a message.
    const found = JSON.parse(text) as Holder | null
    return Number(found?.pid) > 0 ? (found ?? undefined) : undefined
  } catch {
    return undefined
  }
}

const show = ({ pid, since }: Holder, file: string): string =>
  pid === process.pid
    ? `by this process, since ${since}: close it first, or share it`
    : `by process ${String(pid)}, since ${since}: end that process, or use another folder (if it is no process of headrace, delete ${file})`

/** Writes the lock file; undefined if there is one. */
const create = (file: string, text: string): true | undefined =>
  unless('EEXIST', () => {
    try {
      writeFileSync(file, text, { flag: 'wx', flush: true, mode: 0o600 })
      return true
    } catch (error) {
      // A full disk may leave a file without content.
      if (codeOf(error) !== 'EEXIST') rmSync(file, { force: true })
      throw error
    }
  })

const read = (file: string): string | undefined => unless('ENOENT', () => readFileSync(file, 'utf8'))

/** Removes a stale lock file, unless another process has replaced it meanwhile. */
const removeStale = (file: string, stale: string): void => {
  const aside = `${file}.${String(process.pid)}`
  unless('ENOENT', () => {
    renameSync(file, aside)
    if (readFileSync(aside, 'utf8') === stale) rmSync(aside, { force: true })
    else renameSync(aside, file)
  })
}

/**
 * Locks a folder for this process. Answers how to release it, or by which process it is in use.
 *
 * @throws Error of the system when the file cannot be read or written.
 */
export const lock = (path: string, now: number): Either<string, () => void> => {
  const file = join(path, 'headrace.lock')
  const since = new Date(now).toISOString()
  const text = JSON.stringify({ pid: process.pid, started: statOf(process.pid)?.started, since })
  for (let attempt = 0; attempt < 3; attempt++) {
    if (create(file, text) === true) {
      return right(() => {
        if (read(file) === text) rmSync(file, { force: true })
      })
    }
    const found = read(file)
    if (found === undefined) continue
    const holder = holderIn(found)
    if (holder !== undefined && isRunning(holder)) return left(show(holder, file))
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (holder === undefined && now < changedAt + WRITING_MS) break
    removeStale(file, found)
  }
  return left('by a process that is starting: try again')
}
