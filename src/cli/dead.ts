/** `dead`: dead letters in an outbox on the disk. */
import { accessSync, constants, existsSync } from 'node:fs'
import { right } from 'fp-ts/lib/Either.js'
import { messageCodec } from '../client/message.ts'
import { nextTurn } from '../core/clock.ts'
import { isDead } from '../core/outcome.ts'
import { payloadCodec } from '../destination/record.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { isStoreIn } from '../outbox/lmdb/store.ts'
import { openLmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import type { ItemCodec, LmdbOutbox } from '../outbox/lmdb/contract.ts'
import type { DeadLetter } from '../outbox/outbox.ts'
import { callsIn } from './forward.ts'
import type { DeadOptions, PurgeOptions, RedriveOptions } from './flags.ts'
import { UsageError, orUsage, wrong } from './options.ts'
import type { Checked } from './options.ts'
import { causesOf, plain, showCauses, toJson, whyNot } from './report.ts'
import type { Cause } from './report.ts'
import { FAULT, FINE } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** A destination keeps events, a client messages; of a message only the kind is known beside its text. */
type Item = Payload<Event | Event['type']>
type Letter = DeadLetter<Item>
type Store = LmdbOutbox<Item>

type Filter = Pick<DeadOptions, 'reason' | 'status' | 'kind' | 'since'>

const folderOf = (path: string): Checked<string> => {
  if (!existsSync(path)) return wrong(`--outbox '${path}': there is no such folder`)
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return wrong(`--outbox '${path}' cannot be opened: ${whyNot(error)}`)
  }
  return isStoreIn(path) ? right(path) : wrong(`--outbox '${path}': this folder is not an outbox`)
}

const causesIn = (letter: Letter): ReadonlyArray<Cause> =>
  letter.reason === 'ended' && isDead(letter.outcome) ? causesOf(letter.outcome.failure) : []

/** How it ended, in a word. */
const endOf = (letter: Letter): string =>
  letter.reason === 'corrupt' ? 'corrupt' : letter.outcome._tag.toLowerCase()

export const matching =
  ({ reason, status, kind, since }: Filter) =>
  (letter: Letter): boolean => {
    const causes = causesIn(letter)
    const type = letter.reason === 'corrupt' ? undefined : typeOf(letter.entry.item)
    return (
      (reason === undefined || endOf(letter) === reason || causes.some((cause) => cause.reason === reason)) &&
      (status === undefined || causes.some((cause) => cause.status === status)) &&
      (kind === undefined || type === kind) &&
      (since === undefined || letter.at >= since)
    )
  }

const typeOf = ({ items: [carried] }: Item): Event['type'] | undefined =>
  typeof carried === 'object' ? carried.type : carried

const PAGE = 1_000

/** Matching dead letters page by page: there may be more than memory holds. */
async function* lettersIn({ dead }: Store, filter: Filter): AsyncGenerator<Letter> {
  const isMeant = matching(filter)
  let after: string | undefined
  for (;;) {
    const page = await dead.list({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const letter of page) if (isMeant(letter)) yield letter
    if (page.length < PAGE) return
    after = page.at(-1)?.id
  }
}

/** Records are only read and moved here. */
const readOnly = <A extends Item>({ kind = '', fromText }: ItemCodec<A>): ItemCodec<Item> => ({
  kind,
  fromText,
  toText: () => {
    throw new Error('dead letters are not written')
  },
  sizeOf: ({ byteLength }) => byteLength,
})

/** Opens the outbox of a destination or of a client. */
const openStore = (path: string): Checked<{ readonly store: Store; readonly isClient: boolean }> => {
  const events = openLmdbOutbox({ path, codec: readOnly(payloadCodec) })
  if (events._tag === 'Right') return right({ store: events.right, isClient: false })
  if (events.left.reason !== 'otherKind') return wrong(`--outbox: ${events.left.message}`)
  const messages = openLmdbOutbox({ path, codec: readOnly(messageCodec) })
  return messages._tag === 'Right'
    ? right({ store: messages.right, isClient: true })
    : wrong(`--outbox: ${messages.left.message}`)
}

const whole = (letter: Letter): object => {
  const { id, at } = letter
  const head = { t: 'dead', id, at: new Date(at).toISOString(), outcome: endOf(letter) }
  if (letter.reason === 'corrupt') return { ...head, raw: letter.raw }
  return {
    ...head,
    n: letter.outcome.attempts,
    causes: causesIn(letter),
    call: callsIn(letter.entry.item)[0],
  }
}

const lineOf = (letter: Letter, { paint }: Terminal['out']): string => {
  const head = `${letter.id.padEnd(8)} ${paint('red', endOf(letter).padEnd(9))} ${new Date(letter.at).toISOString()} `
  if (letter.reason === 'corrupt') return `${head} ${plain(letter.raw)}`
  const { item } = letter.entry
  const why = `${showCauses(causesIn(letter))}, after ${String(letter.outcome.attempts)} attempts`
  return `${head} ${(typeOf(item) ?? '').padEnd(8)} ${plain(item.id)}  ${why}`
}

const turn = (): Promise<void> => new Promise(nextTurn)

/** Opens the outbox for as long as `use` takes. Resolves with the exit code. */
const withStore = async (
  path: string,
  { out, err }: Terminal,
  use: (store: Store, isClient: boolean) => Promise<number>,
): Promise<number> => {
  const { store, isClient } = orUsage(openStore(orUsage(folderOf(path))))
  try {
    const code = await use(store, isClient)
    // A failed write is told a turn later.
    await turn()
    const failure = out.failure()
    if (failure === undefined) return code
    err.line(`headrace dead: the output could not be written: ${failure}`)
    return FAULT
  } finally {
    await store.close()
  }
}

/** `headrace dead ls` */
export const listCommand = (
  { outbox, output, ...filter }: DeadOptions,
  terminal: Terminal,
): Promise<number> =>
  withStore(outbox, terminal, async (store) => {
    const { out, err } = terminal
    let count = 0
    for await (const letter of lettersIn(store, filter)) {
      count++
      await out.caughtUp()
      // A failed write is told a turn later.
      if (count % 100 === 0) await turn()
      if (out.gone.aborted) return FINE
      if (output === 'json') out.line(toJson(whole(letter)))
      else if (output === 'lines') out.line(lineOf(letter, out))
    }
    const { dead, waiting, evictedDeadLetters: evicted } = store.stats()
    const removed = evicted === 0 ? '' : ` · ${String(evicted)} older ones were removed to make room`
    if (output !== 'json')
      err.line(
        `headrace: ${String(count)} of ${String(dead)} dead letters${removed} · ${String(waiting)} events wait`,
      )
    return FINE
  })

/** `headrace dead show` */
export const showCommand = (
  id: string | undefined,
  { outbox, output, ...filter }: DeadOptions,
  terminal: Terminal,
): Promise<number> =>
  withStore(outbox, terminal, async (store) => {
    for await (const letter of lettersIn(store, filter)) {
      if (letter.id !== id) continue
      terminal.out.line(output === 'json' ? toJson(whole(letter)) : JSON.stringify(whole(letter), null, 2))
      return FINE
    }
    terminal.err.line(`headrace dead show: there is no dead letter ${plain(id ?? '')}: see headrace dead ls`)
    return FAULT
  })

/** How many dead letters are meant, and in words: `2 of 5 dead letters: 1 rejected, 1 expired`. */
const preview = async (
  store: Store,
  filter: Filter,
  isRedrive: boolean,
): Promise<readonly [number, string]> => {
  const counts = new Map<string, number>()
  for await (const letter of lettersIn(store, filter)) {
    if (isRedrive && letter.reason === 'corrupt') continue
    counts.set(endOf(letter), (counts.get(endOf(letter)) ?? 0) + 1)
  }
  const count = [...counts.values()].reduce((sum, each) => sum + each, 0)
  const meant = `${String(count)} of ${String(store.stats().dead)} dead letters`
  const parts = [...counts].map(([end, each]) => `${String(each)} ${end}`)
  return [count, count === 0 ? meant : `${meant}: ${parts.join(', ')}`]
}

/** `headrace dead redrive` and `headrace dead purge` */
export const changeCommand = (
  action: 'redrive' | 'purge',
  options: RedriveOptions & Partial<PurgeOptions>,
  terminal: Terminal,
): Promise<number> => {
  const { outbox, output, yes, unreadable = false, ...given } = options
  if (unreadable && (given.reason ?? 'corrupt') !== 'corrupt')
    throw new UsageError(['--unreadable is another name for --reason corrupt: leave one of them out'])
  const filter = unreadable ? { ...given, reason: 'corrupt' } : given
  return withStore(outbox, terminal, async (store, isClient) => {
    const { out, err } = terminal
    const isMeant = matching(filter)
    const [count, meant] = yes
      ? ([await store.dead[action](isMeant), undefined] as const)
      : await preview(store, filter, action === 'redrive')
    const verb = action === 'redrive' ? 'put back to wait' : 'deleted'
    if (output === 'json')
      out.line(toJson({ t: action, done: yes, count, meant, ...(unreadable ? { unreadable: count } : {}) }))
    if (output === 'lines')
      out.line(
        meant === undefined
          ? `${String(count)} dead letters were ${verb}`
          : `${meant} would be ${verb}; do it with --yes`,
      )
    if (yes && action === 'redrive' && output !== 'json' && count > 0)
      err.line(
        isClient
          ? 'headrace: the client of this folder sends them when it is started again'
          : `headrace: send them with: headrace send --outbox ${outbox} --to URL; or start the process that has this folder`,
      )
    return FINE
  })
}
