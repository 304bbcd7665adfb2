/**
 * Who has a store open: one process at a time. It says so in a file of the folder, which is there with its content or not at all.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'
import { systemFault } from './systemFault.ts'

/** The name of the file in the folder of an outbox. */
export const OWNER_FILE = 'owner.json'

/** A process, told apart from a later one with the same number. */
export interface Owner {
  readonly pid: number
  /** When it opened the store, as an ISO text. */
  readonly since: string
  /** This start of the machine; undefined where the system does not say. */
  readonly boot: string | undefined
  /** When the process started, in the system's own measure. */
  readonly started: string | undefined
}

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

const bootId = (): string | undefined => read('/proc/sys/kernel/random/boot_id')

/** What the system says of a process. Its name may hold blanks and brackets, so the fields are counted from the last bracket. */
const statOf = (pid: number): ReadonlyArray<string> =>
  read(`/proc/${String(pid)}/stat`)
    ?.replace(/^.*\)/s, '')
    .trim()
    .split(' ') ?? []

const startOf = (pid: number): string | undefined => statOf(pid)[19]

/** It has ended, and only whoever started it has not asked how. */
const isZombie = (pid: number): boolean => /^[ZX]$/.test(statOf(pid)[0] ?? '')

/** This process. `at`: milliseconds since 1970. */
export const thisProcess = (at: number): Owner => ({
  pid: process.pid,
  since: new Date(at).toISOString(),
  boot: bootId(),
  started: startOf(process.pid),
})

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, but belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const differs = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other

const isAlive = ({ pid, boot, started }: Owner): boolean =>
  !differs(boot, bootId()) && isThere(pid) && !isZombie(pid) && !differs(started, startOf(pid))

const ownerIn = (text: string): Owner | undefined => {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found !== 'object' || found === null) return undefined
    const fields = new Map<string, unknown>(Object.entries(found))
    const word = (name: string): string | undefined => {
      const value = fields.get(name)
      return typeof value === 'string' ? value : undefined
    }
    const pid = fields.get('pid')
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined
    return { pid, since: word('since') ?? 'an unknown moment', boot: word('boot'), started: word('started') }
  } catch {
    return undefined
  }
}

const inUse = (path: string, by: string): OutboxFault =>
  outboxFault('inUse', path, `the outbox in ${path} is in use ${by}`)

const byOwner = ({ pid, since }: Owner): string =>
  pid === process.pid
    ? `by this process, since ${since}: close it first, or share it`
    : `by process ${String(pid)}, since ${since}: end that process, or give this one a folder of its own`

/** Puts a file in its place, if none is there. A link, because it appears with all its content. */
const place = (from: string, to: string): 'placed' | 'taken' => {
  try {
    linkSync(from, to)
    return 'placed'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return 'taken'
    throw error
  }
}

/** Two that start at once may find each other's file a few times, never often. */
const TRIES = 5

const claimWith = (own: string, file: string, path: string): Either<OutboxFault, void> => {
  for (let again = 0; again < TRIES; again++) {
    if (place(own, file) === 'placed') return right(undefined)
    const text = read(file)
    // Released in this moment.
    if (text === undefined) continue
    const owner = ownerIn(text)
    if (owner === undefined)
      return left(inUse(path, `by an unknown process: if none has it open, delete ${file}`))
    if (isAlive(owner)) return left(inUse(path, byOwner(owner)))
    // It died. Only who holds the second file may take its place, and only if it is still that one's.
    const turn = `${file}.next`
    if (place(own, turn) === 'taken') {
      const other = ownerIn(read(turn) ?? '')
      if (other === undefined || !isAlive(other)) rmSync(turn, { force: true })
      continue
    }
    try {
      if (read(file) !== text) continue
      renameSync(own, file)
      return right(undefined)
    } finally {
      rmSync(turn, { force: true })
    }
  }
  return left(inUse(path, 'by a process that is starting: try again'))
}

/** Makes the folder this process's own, or says who has it. Answers how to give it back. */
export const claim = (path: string, owner: Owner): Either<OutboxFault, () => void> => {
  const file = join(path, OWNER_FILE)
  const own = `${file}.${String(owner.pid)}`
  try {
    // One with the same number may have been killed here: then its file may also stand under another name, and would change there too.
    rmSync(own, { force: true })
    writeFileSync(own, JSON.stringify(owner))
    const claimed = claimWith(own, file, path)
    if (claimed._tag === 'Left') return claimed
    return right(() => {
      rmSync(file, { force: true })
    })
  } catch (error) {
    return left(systemFault(path, error))
  } finally {
    rmSync(own, { force: true })
  }
}
