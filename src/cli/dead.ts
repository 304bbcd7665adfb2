/** Shows, redrives and purges the dead letters in a folder. */

import { accessSync, constants, existsSync } from 'node:fs'
import { right } from 'fp-ts/lib/Either.js'
import { batchFromText } from '../client/keeping/BatchRecord.ts'
import { batchCodec } from '../client/keeping/batchCodec.ts'
import { systemClock, nextTurn } from '../core/clock.ts'
import { isDead } from '../core/outcome.ts'
import { fromText, payloadCodec } from '../destination/record.ts'
import { callOf } from '../event/call.ts'
import type { Event } from '../event/event.ts'
import { toTimestamp } from '../event/timestamp.ts'
import type { ItemCodec, LmdbOutbox } from '../outbox/lmdb/contract.ts'
import { isStoreIn } from '../outbox/lmdb/store.ts'
import { openLmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import type { DeadLetter, EndedDeadLetter } from '../outbox/outbox.ts'
import { whyNot, causesOf, plain, toJson, showCauses } from './report.ts'
import type { Cause } from './report.ts'
import { FAULT, FINE, USAGE } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import { OUTPUTS, all, ifGiven, wrong, parseChoice, parseCount, parseDuration } from './values.ts'
import type { Output, Checked } from './values.ts'

/** Something that died. */
export interface Dead {
  /** The message id. */
  readonly id: string
  readonly type: Event['type']
  /** The event as somebody would send it again. */
  readonly call: () => object
  /** As it lies in the store. */
  readonly record: string
}

/** Records are shown and moved as they are, and never written anew. They count for what they count for where they lie. */
const codecOf = (
  kind: string | undefined,
  read: (record: string) => Omit<Dead, 'record'>,
): ItemCodec<Dead> => ({
  ...(kind === undefined ? {} : { kind }),
  fromText: (record) => ({ ...read(record), record }),
  toText: ({ record }) => record,
  sizeOf: ({ record }) => Buffer.byteLength(record),
})

/** In the folder of a destination. */
const events = codecOf(payloadCodec.kind, (record) => {
  const {
    id,
    items: [event],
  } = fromText(record)
  return { id, type: event.type, call: () => callOf(event) }
})

/** In the folder of a client: each letter is a batch of one message. What waits there are whole batches. */
const messages = codecOf(batchCodec.kind, (record) => {
  const [first] = batchFromText(record).members
  if (first === undefined) throw new Error('it holds no message')
  // Its text was written from an object.
  return { id: first.id, type: first.items[0], call: () => JSON.parse(first.text) as object }
})

/** What lies in a folder: events of a destination, or messages of a client. */
export type Kind = 'events' | 'messages'

/** All that may lie in a folder that the command knows. */
export const codecs: ReadonlyArray<readonly [Kind, ItemCodec<Dead>]> = [
  ['events', events],
  ['messages', messages],
]

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

/** A dead letter. */
export type Letter = EndedDeadLetter<Dead>

/** What a letter must be to be meant; what is undefined is not asked. */
export interface Filter {
  /** How it ended, or a reason of one of its causes: `expired`, `status`, `certificate`. */
  readonly reason: string | undefined
  /** The HTTP status of one of its causes. */
  readonly status: number | undefined
  /** The kind of the event. */
  readonly kind: Event['type'] | undefined
  /** Milliseconds since 1970: it died then or later. */
  readonly since: number | undefined
}

/** Why it was not delivered, receiver by receiver. */
export const causesIn = ({ outcome }: Letter): ReadonlyArray<Cause> =>
  isDead(outcome) ? causesOf(outcome.failure) : []

/** How it ended, in a word. */
export const endOf = ({ outcome }: Letter): string => outcome._tag.toLowerCase()

/** Whether a letter is meant. */
export const matching =
  ({ reason, status, kind, since }: Filter) =>
  (letter: DeadLetter<Dead>): letter is Letter => {
    if (letter.reason === 'corrupt') return false
    const causes = causesIn(letter)
    return (
      (reason === undefined || endOf(letter) === reason || causes.some((cause) => cause.reason === reason)) &&
      (status === undefined || causes.some((cause) => cause.status === status)) &&
      (kind === undefined || letter.entry.item.type === kind) &&
      (since === undefined || letter.at >= since)
    )
  }

const PAGE = 1_000

/** The dead letters that are meant, page by page: there may be more of them than memory holds. */
export async function* letters({ dead }: StoredDead, filter: Filter): AsyncGenerator<Letter> {
  const isMeant = matching(filter)
  let after: string | undefined
  for (;;) {
    const page = await dead.list({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const letter of page) if (isMeant(letter)) yield letter
    if (page.length < PAGE) return
    after = page.at(-1)?.id
  }
}

/** How many records could not be read. */
const countCorrupt = async ({ dead }: StoredDead): Promise<number> =>
  (await dead.list({ limit: 1_000_000 })).filter(({ reason }) => reason === 'corrupt').length

/** An outbox as it lies on the disk. Nothing is sent from here. */
export type StoredDead = LmdbOutbox<Dead>

const open = (path: string): Checked<readonly [StoredDead, Kind]> => {
  let why = 'there is nothing that can be read'
  for (const [kind, codec] of codecs) {
    const opened = openLmdbOutbox({ path, codec })
    if (opened._tag === 'Right') return right([opened.right, kind])
    why = opened.left.message
    if (opened.left.reason !== 'otherKind') break
  }
  return wrong(`--outbox: ${why}`)
}

/** Opens the outbox in a folder for as long as `use` takes. */
export const withOutbox = async <A>(
  path: string,
  use: (outbox: StoredDead, kind: Kind) => Promise<A>,
): Promise<Checked<A>> => {
  const opened = open(path)
  if (opened._tag === 'Left') return opened
  const [outbox, kind] = opened.right
  try {
    return right(await use(outbox, kind))
  } finally {
    await outbox.close()
  }
}

/** What is to be done with dead letters. */
export type DeadAction = 'ls' | 'show' | 'redrive' | 'purge'

interface Task {
  readonly action: DeadAction
  /** Of one letter, for `show`. */
  readonly id: string | undefined
  readonly options: DeadOptions
  /** What lies in the folder. */
  readonly kind: Kind
  readonly terminal: Terminal
}

const turn = (): Promise<void> => new Promise(nextTurn)
const whole = (letter: Letter): object => {
  const { id, at, entry, outcome } = letter
  return {
    t: 'dead',
    id,
    at: new Date(at).toISOString(),
    outcome: endOf(letter),
    n: outcome.attempts,
    causes: causesIn(letter),
    call: entry.item.call(),
  }
}

const lineOf = (letter: Letter, { paint }: Terminal['out']): string => {
  const { id, at, entry, outcome } = letter
  const { type, id: messageId } = entry.item
  const what = `${new Date(at).toISOString()}  ${type.padEnd(8)} ${plain(messageId)}`
  const why = `${showCauses(causesIn(letter))}, after ${String(outcome.attempts)} attempts`
  return `${id.padEnd(8)} ${paint('red', endOf(letter).padEnd(9))} ${what}  ${why}`
}

const list = async (outbox: StoredDead, { options, terminal }: Task): Promise<number> => {
  const { output, filter } = options
  let count = 0
  for await (const letter of letters(outbox, filter)) {
    count++
    await terminal.out.caughtUp()
    // What was written last fails a turn later.
    if (count % 100 === 0) await turn()
    if (terminal.out.gone.aborted) return FINE
    if (output === 'json') terminal.out.line(toJson(whole(letter)))
    else if (output === 'lines') terminal.out.line(lineOf(letter, terminal.out))
  }
  const { dead, waiting, evictedDeadLetters: forgotten } = outbox.stats()
  const quarantined = await countCorrupt(outbox)
  const parts = [
    `${String(count)} of ${String(dead)} dead letters`,
    `${String(waiting)} events wait`,
    ...(forgotten === 0 ? [] : [`${String(forgotten)} older letters made room for these, and are gone`]),
    ...(quarantined === 0
      ? []
      : [`${String(quarantined)} records could not be read: see headrace dead purge --unreadable`]),
  ]
  if (output !== 'json') terminal.err.line(`headrace: ${parts.join('; ')}`)
  return FINE
}

const show = async (outbox: StoredDead, { id, options, terminal }: Task): Promise<number> => {
  for await (const letter of letters(outbox, options.filter)) {
    if (letter.id !== id) continue
    terminal.out.line(
      options.output === 'json' ? toJson(whole(letter)) : JSON.stringify(whole(letter), null, 2),
    )
    return FINE
  }
  terminal.err.line(`headrace dead show: there is no dead letter ${plain(String(id))}: see headrace dead ls`)
  return FAULT
}

interface Preview {
  readonly count: number
  /** `2 of 5 dead letters: 1 rejected, 1 expired`. */
  readonly meant: string
}

const preview = async (outbox: StoredDead, { filter }: DeadOptions): Promise<Preview> => {
  const ends = new Map<string, number>()
  let count = 0
  for await (const letter of letters(outbox, filter)) {
    count++
    ends.set(endOf(letter), (ends.get(endOf(letter)) ?? 0) + 1)
  }
  const parts = [...ends].map(([end, of]) => `${String(of)} ${end}`)
  const of = `${String(count)} of ${String(outbox.stats().dead)} dead letters`
  return { count, meant: count === 0 ? of : `${of}: ${parts.join(', ')}` }
}

const discard = async (outbox: StoredDead, { options, terminal }: Task): Promise<number> => {
  const { output, yes } = options
  const count = await (yes ? outbox.dead.purge(({ reason }) => reason === 'corrupt') : countCorrupt(outbox))
  if (output === 'json') terminal.out.line(toJson({ t: 'purge', done: yes, unreadable: count }))
  else if (output === 'lines')
    terminal.out.line(
      yes
        ? `${String(count)} records that could not be read were forgotten for good`
        : `${String(count)} records that could not be read would be forgotten for good; do it with --yes`,
    )
  return FINE
}

/** How what was put back to wait is sent. */
const adviceFor = ({ options: { outbox }, kind }: Task): string =>
  kind === 'messages'
    ? `the client whose folder this is sends them when it is started again`
    : `send them with: headrace send --outbox ${outbox} --to URL; or start again whoever has this folder, which sends them, too`

const change = async (outbox: StoredDead, task: Task): Promise<number> => {
  const { action, options, terminal } = task
  const { filter, output, unreadable, yes } = options
  if (unreadable) return discard(outbox, task)
  const verb = action === 'redrive' ? 'put back to wait' : 'forgotten for good'
  if (!yes) {
    const { count, meant } = await preview(outbox, options)
    if (output === 'json') terminal.out.line(toJson({ t: action, done: false, count, meant }))
    else if (output === 'lines') terminal.out.line(`${meant} would be ${verb}; do it with --yes`)
    return FINE
  }
  const { dead } = outbox
  const isMeant = matching(filter)
  const count = await (action === 'redrive' ? dead.redrive(isMeant) : dead.purge(isMeant))
  if (output === 'json') terminal.out.line(toJson({ t: action, done: true, count }))
  else if (output === 'lines') terminal.out.line(`${String(count)} dead letters were ${verb}`)
  if (action === 'redrive' && output !== 'json' && count > 0)
    terminal.err.line(`headrace: ${adviceFor(task)}`)
  return FINE
}

const act = (outbox: StoredDead, task: Task): Promise<number> => {
  switch (task.action) {
    case 'ls':
      return list(outbox, task)
    case 'show':
      return show(outbox, task)
    case 'redrive':
    case 'purge':
      return change(outbox, task)
  }
}

/** `headrace dead`: what died in an outbox on the disk. Answers the exit code. */
export const deadCommand = async (
  action: DeadAction,
  id: string | undefined,
  flags: DeadFlags,
  terminal: Terminal,
): Promise<number> => {
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace dead ${action}: ${sentence}`)
    return USAGE
  }
  const options = deadOptions(flags, systemClock.now())
  if (options._tag === 'Left') return complain(options.left)
  const task = { action, id, options: options.right, terminal }
  const code = await withOutbox(options.right.outbox, (outbox, kind) => act(outbox, { ...task, kind }))
  if (code._tag === 'Left') return complain(code.left)
  // What was written last fails a turn later.
  await turn()
  const failure = terminal.out.failure()
  if (failure === undefined) return code.right
  terminal.err.line(`headrace dead ${action}: the output could not be written: ${failure}`)
  return FAULT
}
