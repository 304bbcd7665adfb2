/**
 * What `dead` was told, read into values.
 *
 * @module
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { right } from 'fp-ts/lib/Either.js'
import type { Event } from '../../event/Event.ts'
import { toTimestamp } from '../../event/Timestamp.ts'
import { isStoreIn } from '../../outbox/lmdb/Store.ts'
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { whyNot } from '../output/whyNot.ts'
import { all, ifGiven, wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { parseCount } from '../values/parseCount.ts'
import { parseDuration } from '../values/parseDuration.ts'
import type { Filter } from './Filter.ts'

/** Flags as commander hands them over. */
export interface DeadFlags {
  readonly outbox?: string
  readonly reason?: string
  readonly status?: string
  readonly kind?: string
  readonly since?: string
  readonly unreadable?: boolean
  readonly yes?: boolean
  readonly output: string
}

/** What `dead` works with. */
export interface DeadOptions {
  readonly outbox: string
  readonly filter: Filter
  /** Not dead letters are meant, but what could not be read. */
  readonly unreadable: boolean
  readonly yes: boolean
  readonly output: Output
}

const KINDS: ReadonlyArray<Event['type']> = [
  'page',
  'screen',
  'identify',
  'track',
  'alias',
  'group',
  'delete',
]

const folder = (path: string | undefined): Checked<string> => {
  if (path === undefined || path === '')
    return wrong('--outbox is missing: give the folder in which events wait')
  if (!existsSync(path)) return wrong(`--outbox '${path}': there is no such folder`)
  try {
    // Who may not look into a folder sees nothing in it.
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return wrong(`--outbox '${path}' cannot be opened: ${whyNot(error)}`)
  }
  return isStoreIn(path) ? right(path) : wrong(`--outbox '${path}': no events wait in this folder`)
}

/** A moment: `2h` for two hours ago, or a timestamp. */
const moment = (text: string, now: number): Checked<number> => {
  const timestamp = toTimestamp(text)
  if (timestamp !== undefined) return right(Date.parse(timestamp))
  const ago = parseDuration('--since', text)
  return ago._tag === 'Right'
    ? right(now - ago.right)
    : wrong('--since must be a time such as 2024-02-29T12:00:00Z, or how long ago, such as 2h')
}

/** Reads the flags of `dead`; everything that is wrong is told at once. `now` is milliseconds since 1970. */
export const deadOptions = (flags: DeadFlags, now: number): Checked<DeadOptions> => {
  const read = all({
    outbox: folder(flags.outbox),
    reason: ifGiven(flags.reason, (text) => right(text)),
    status: ifGiven(flags.status, (text) => parseCount('--status', text, 100, 599)),
    kind: ifGiven(flags.kind, (text) => parseChoice('--kind', text, KINDS)),
    since: ifGiven(flags.since, (text) => moment(text, now)),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })
  if (read._tag === 'Left') return read
  const { outbox, output, ...filter } = read.right
  if (flags.unreadable === true && Object.values(filter).some((value) => value !== undefined))
    return wrong(
      '--unreadable means all that cannot be read, of which nothing else is known: leave the filters out',
    )
  return right({ outbox, output, filter, unreadable: flags.unreadable === true, yes: flags.yes === true })
}
