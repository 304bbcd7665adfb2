import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import {
  linkSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'
import { isAlive, ownerFromText, ownerToShortText, ownerToText, sayOwner } from './Owner.ts'
import type { Owner } from './Owner.ts'
import { codeOf, isFull } from './SystemError.ts'
import { systemFault } from './systemFault.ts'

/** The name of the file in the folder of an outbox that says who has it open. */
const OWNER_FILE = 'owner.json'

/** A folder that is this thread's own. */
export interface Claim {
  /** Whether it still is: the folder may have been moved away, and another one be in its place. */
  readonly isHeld: () => boolean
  /** Gives it back, if it still is. */
  readonly release: () => void
}

/** What an owner's file says; undefined if there is none. */
const read = (file: string): string | undefined => {
  try {
    return lstatSync(file).isSymbolicLink() ? readlinkSync(file) : readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Puts this thread's text in a place, whole or not at all. */
type Put = (to: string) => void

/** Has it written and synced before it is put anywhere: what is found empty was not written by somebody who lives. */
const putting = (draft: string, owner: Owner): { readonly text: string; readonly put: Put } => {
  const text = ownerToText(owner)
  try {
    // One with the same number may have been killed here: then its file may also stand under another name, and would change there too.
    rmSync(draft, { force: true })
    // For all to read: whoever comes next must be able to tell, and it holds nothing of anybody's.
    writeFileSync(draft, text, { flush: true, mode: 0o644 })
    const put = (to: string): void => {
      linkSync(draft, to)
    }
    return { text, put }
  } catch (error) {
    if (!isFull(error)) throw error
    // What waits must be able to leave although the disk is full, for that makes room.
    const short = ownerToShortText(owner)
    const put = (to: string): void => {
      try {
        symlinkSync(short, to)
      } catch (refused) {
        throw codeOf(refused) === 'EEXIST' ? refused : error
      }
    }
    return { text: short, put }
  }
}

const isPlaced = (put: Put, to: string): boolean => {
  try {
    put(to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Two that start at once may find each other's file a few times, never often. */
const TRIES = 5

const STARTING = 'by a process that is starting: try again'

/** Takes a place that is free, or whose owner has died; else answers by whom it is in use. */
const seize = (put: Put, file: string, say: (owner: Owner) => string): Either<string, void> => {
  for (let again = 0; again < TRIES; again++) {
    if (isPlaced(put, file)) return right(undefined)
    const text = read(file)
    // Released in this moment.
    if (text === undefined) continue
    const owner = ownerFromText(text)
    if (owner !== undefined && isAlive(owner)) return left(say(owner))
    // Nobody writes an empty one, but a disk may leave it so when the power goes.
    if (owner === undefined && /[^\0\s]/.test(text))
      return left(`by an unknown process: if none has it open, delete ${file}`)
    // It died. Only who holds the second place may take the first, and only if it is still that one's.
    const turn = `${file}.next`
    const seized = seize(put, turn, () => STARTING)
    if (isLeft(seized)) return seized
    if (read(file) === text) {
      renameSync(turn, file)
      return right(undefined)
    }
    rmSync(turn, { force: true })
  }
  return left(STARTING)
}

/**
 * Makes a folder this thread's own, or says who has it. The word of who has it lies in a file of the folder, which is there with its content
 * or not at all.
 */
export const claim = (path: string, owner: Owner): Either<OutboxFault, Claim> => {
  const file = join(path, OWNER_FILE)
  const draft = `${file}.${String(owner.pid)}.${String(owner.thread)}`
  try {
    const { text, put } = putting(draft, owner)
    const seized = seize(put, file, sayOwner)
    if (isLeft(seized))
      return left(outboxFault('inUse', path, `the outbox in ${path} is in use ${seized.left}`))
    const isHeld = (): boolean => {
      try {
        return read(file) === text
      } catch {
        return false
      }
    }
    return right({
      isHeld,
      release: () => {
        if (isHeld()) rmSync(file, { force: true })
      },
    })
  } catch (error) {
    return left(systemFault(path, error))
  } finally {
    rmSync(draft, { force: true })
  }
}
