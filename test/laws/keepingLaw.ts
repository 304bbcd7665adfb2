import { isDeepStrictEqual } from 'node:util'
import { text } from './outboxLaw.ts'

/** What keeping must do, each in one sentence. A violation names its law. */
export const LAWS = {
  kept: 'what was said to be kept is on the disk, or has ended',
  stays: 'what is on the disk stays there until it ends, through crash and close',
  once: 'a message is on the disk once: in a part, or in its batch',
  ends: 'what ended is gone, and what was never accepted is not there',
  identical: 'a message comes back as it was accepted',
  whole: 'a batch is on the disk as it was closed',
  order: 'batches lie in the order of their closing',
  stats: 'the counters agree with what is there',
  notPersisted: 'what a crash would take is counted',
  answers: 'whoever asks is answered when all is on the disk or has ended, and is told no only at a close',
  takes: 'a closed batch is handed out after the transaction that brings it, and not much later',
  moves: 'while the disk takes nothing, what is closed is handed out all the same',
  handsOnce: 'a batch is handed out to one at a time, and not after its end',
  line: 'new batches are handed out in the order of their closing',
  remembers: 'a retry comes when it is due, under its id, and with all that is known of it',
  letters: 'what died is a dead letter, once, as soon as the disk takes it',
  restores: 'what was open at a crash is a closed batch afterwards, lane by lane',
  handsBack: 'a close hands back what is not on the disk, and nothing else',
  drains: 'in the end all of it is handed out',
} as const

export type Law = keyof typeof LAWS

/** It must be so. */
export const hold = (law: Law, isHeld: boolean, detail: string): void => {
  if (!isHeld) throw new Error(`${LAWS[law]}: ${detail}`)
}

/** Both must be equal, field by field. */
export const same = (law: Law, found: unknown, expected: unknown): void => {
  hold(law, isDeepStrictEqual(found, expected), `${text(found)} instead of ${text(expected)}`)
}
