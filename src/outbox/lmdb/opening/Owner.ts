/**
 * Who has a store open: one thread of one process.
 *
 * @module
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { threadId } from 'node:worker_threads'

/** A thread, told apart from a later one with the same numbers. */
export interface Owner {
  readonly pid: number
  /** Node's number of the thread; undefined where it is not told. */
  readonly thread: number | undefined
  /** When it opened the store, as an ISO text; undefined where it is not told. */
  readonly firstAttemptAt: string | undefined
  /** This start of the machine; undefined where the system does not say. */
  readonly boot: string | undefined
  /** The system's number of the thread; undefined where the system does not say. */
  readonly task: number | undefined
  /** When the thread started, in the system's own measure. */
  readonly started: string | undefined
}

const told = (read: () => string): string | undefined => {
  try {
    return read().trim()
  } catch {
    return undefined
  }
}

const bootId = (): string | undefined => told(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))

/** What the system says of a thread. Its name may hold blanks and brackets, so the fields are counted from the last bracket. */
const statOf = (pid: number, task: number): ReadonlyArray<string> =>
  told(() => readFileSync(`/proc/${String(pid)}/task/${String(task)}/stat`, 'utf8'))
    ?.replace(/^.*\)/s, '')
    .trim()
    .split(' ') ?? []

const startOf = (pid: number, task: number): string | undefined => statOf(pid, task)[19]

/** It has ended, and only whoever started it has not asked how. */
const isZombie = (pid: number): boolean => /^[ZX]$/.test(statOf(pid, pid)[0] ?? '')

/** A system that shows nothing of the process shows nothing of its threads either. */
const hasEnded = (pid: number, task: number): boolean =>
  statOf(pid, pid).length > 0 && statOf(pid, task).length === 0

const thisTask = (): number | undefined => {
  const [pid, task] = told(() => readlinkSync('/proc/thread-self'))?.split('/task/') ?? []
  return Number(pid) === process.pid ? Number(task) : undefined
}

/** This thread. `at`: milliseconds since 1970. */
export const thisThread = (at: number): Owner => {
  const { pid } = process
  const task = thisTask()
  const started = startOf(pid, task ?? pid)
  return { pid, thread: threadId, firstAttemptAt: new Date(at).toISOString(), boot: bootId(), task, started }
}

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

/** Whether it may still have the store open. */
export const isAlive = ({ pid, task = pid, boot, started }: Owner): boolean =>
  !differs(boot, bootId()) &&
  isThere(pid) &&
  !isZombie(pid) &&
  !hasEnded(pid, task) &&
  !differs(started, startOf(pid, task))

/** As it is written. */
export const ownerToText = (owner: Owner): string => JSON.stringify(owner)

/** As little as tells it apart: a text so short lies in the name that points to it, and takes no room of the disk. */
export const ownerToShortText = ({ pid, task, started }: Owner): string =>
  JSON.stringify({ pid, task, started })

const isNumber = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least

/** The owner in a text; undefined if it names none. */
export const ownerFromText = (text: string): Owner | undefined => {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found !== 'object' || found === null) return undefined
    const fields = new Map<string, unknown>(Object.entries(found))
    const word = (name: string): string | undefined => {
      const value = fields.get(name)
      return typeof value === 'string' ? value : undefined
    }
    const number = (name: string, least: number): number | undefined => {
      const value = fields.get(name)
      return isNumber(value, least) ? value : undefined
    }
    const pid = number('pid', 1)
    if (pid === undefined) return undefined
    return {
      pid,
      thread: number('thread', 0),
      firstAttemptAt: word('since'),
      boot: word('boot'),
      task: number('task', 1),
      started: word('started'),
    }
  } catch {
    return undefined
  }
}

/** Who it is and what to do about it, for people. */
export const sayOwner = ({ pid, thread, firstAttemptAt = 'an unknown moment', task }: Owner): string => {
  if (pid !== process.pid)
    return `by process ${String(pid)}, since ${firstAttemptAt}: end that process, or give this one a folder of its own`
  if (thread === undefined || thread === threadId)
    return `by this process, since ${firstAttemptAt}: close it first, or share it`
  const freed = task === undefined ? 'it is free when this process ends' : 'it is free when that thread ends'
  return `by another thread of this process, since ${firstAttemptAt}: close it there; else ${freed}`
}
