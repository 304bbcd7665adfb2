/**
 * One process at a time: the file `headrace.lock` in the folder names the process that has the outbox open.
 *
 * @module
 */
import { join } from 'node:path'
import { left, right, valueOr, type Either } from '../../core/either.ts'
import { codeOf } from '../../core/failure.ts'
import { isRecord } from '../../core/json.ts'
import { nodeFs } from './fileCheck.ts'

/**
 * A lock file without content is being written, unless its time is further away: a power failure may leave
 * one, and a wrong clock a time to come.
 */
const WRITING_MS = 10_000

const starting = (file: string): string =>
  `by a process that is starting: try again (if there is none, delete ${file})`

interface LockHolder {
  readonly pid: number
  /** When the process started, in the units of the system; undefined where the system does not say. */
  readonly started?: string | undefined
  /** When it opened the outbox, as an ISO text. */
  readonly since: string
}

export const LOCK_FILE = 'headrace.lock'

/** The state and start time of a process; undefined where the system does not say. */
const statOf = (pid: number): ReadonlyArray<string> | undefined =>
  valueOr(undefined, () => {
    // The name of the process may hold blanks and brackets, so fields are counted from the last bracket.
    const text = nodeFs().readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return [fields[0] ?? '', fields[19] ?? '']
  })

const isRunning = ({ pid, started }: LockHolder): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    if (codeOf(error) !== 'EPERM') return false
  }
  const [state, since] = statOf(pid) ?? []
  return state !== 'Z' && (started === undefined || since === undefined || since === started)
}

/** The text of a lock file, and its process, if it is one that may be running. */
const readLock = (file: string): { readonly text: string; readonly holder: LockHolder | undefined } => {
  const text = nodeFs().readFileSync(file, 'utf8')
  // Written by `lock`; a missing time is only missing in a message.
  const found = valueOr(undefined, () => JSON.parse(text) as LockHolder | null)
  return { text, holder: Number(found?.pid) > 0 ? (found ?? undefined) : undefined }
}

const holderText = ({ pid, since }: LockHolder, file: string): string => {
  const thread = '(a worker thread that ended without a close keeps it until the process ends)'
  if (pid === process.pid) return `by this process, since ${since}: close it first, or share it ${thread}`
  const stale = `(if it is no process of headrace, delete ${file})`
  return `by process ${String(pid)}, since ${since}: end that process, or use another folder ${stale}`
}

/** Removes a stale lock file, unless another process has replaced it meanwhile. */
const removeStale = (file: string, stale: string): void => {
  const aside = `${file}.${String(process.pid)}`
  nodeFs().renameSync(file, aside)
  if (nodeFs().readFileSync(aside, 'utf8') === stale) nodeFs().rmSync(aside, { force: true })
  else nodeFs().renameSync(aside, file)
}

/** Locks, or names the process that uses the folder; undefined after the removal of a stale lock file. */
const tryLock = (file: string, text: string, now: number): Either<string, () => void> | undefined => {
  try {
    nodeFs().writeFileSync(file, text, { flag: 'wx', flush: true, mode: 0o600 })
    return right(() => {
      if (nodeFs().existsSync(file) && readLock(file).text === text) nodeFs().rmSync(file, { force: true })
    })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      const found = readLock(file)
      if (found.holder !== undefined && isRunning(found.holder)) return left(holderText(found.holder, file))
      // lmdb does not see one of this process id in another container before its first read.
      const startingMs = found.holder === undefined ? WRITING_MS : found.holder.pid === process.pid ? 500 : 0
      if (Math.abs(now - nodeFs().statSync(file).mtimeMs) < startingMs) return left(starting(file))
      removeStale(file, found.text)
      return undefined
    }
    // A full disk may leave a file without content. One that was not opened may be another process's.
    if (isRecord(error) && error['syscall'] !== 'open') nodeFs().rmSync(file, { force: true })
    throw error
  }
}

/**
 * Locks a folder for this process. Answers how to release it, or by which process it is in use.
 *
 * @throws Error of the system when the file cannot be read or written.
 */
export const lock = (path: string, now: number): Either<string, () => void> => {
  const file = join(path, LOCK_FILE)
  const since = new Date(now).toISOString()
  const text = JSON.stringify({ pid: process.pid, started: statOf(process.pid)?.[1], since })
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const locked = tryLock(file, text, now)
      if (locked !== undefined) return locked
    } catch (error) {
      // Another process removed the file meanwhile.
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  return left(starting(file))
}
