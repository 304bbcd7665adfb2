/** `dead`: dead letters in an outbox on the disk or in PostgreSQL. */
import { accessSync, constants } from 'node:fs'
import { storedMessages } from '../client/message.ts'
import { recordToEvent } from '../destination/record.ts'
import { counted } from '../log/debug.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import { isStoreIn } from '../outbox/lmdb/store.ts'
import { DEAD_PAGE, type DeadLetter, type ItemCodec, type Outbox } from '../outbox/outbox.ts'
import { placeOf, type OptionsOf, type Place } from './flags.ts'
import { callIn, typeOf, type Stored } from './forward.ts'
import { openPostgres } from './server.ts'
import { UsageError } from './options.ts'
import { endingOf, madeRoom, showCauses, toJson, whyNot } from './report.ts'
import { FAULT, FINE, escapedJson, plain, type Paint, type Terminal } from './terminal.ts'

type Letter = DeadLetter<Stored>
type DeadStore = Pick<Outbox<Stored>, 'dead' | 'stats' | 'close'>

/** Records are only read and moved. */
const codecOf = (kind: string, fromText: (text: string) => Stored): ItemCodec<Stored> => {
  return { kind, fromText, toText: ({ text }) => text, sizeOf: ({ byteLength }) => byteLength }
}
const events = codecOf('events', recordToEvent)
const messages = codecOf('messages', storedMessages.fromText)
const OF_PIPELINE = 'holds neither events nor messages: list its dead letters in its program, by outbox.dead'

/** Opens a stored outbox. A folder without one stays as it is. */
const openDeadStore = (path: string): DeadStore => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new UsageError(`--outbox '${path}' cannot be opened: ${whyNot(error)}`)
  }
  if (!isStoreIn(path)) throw new UsageError(`--outbox '${path}': this folder is not an outbox`)
  for (const codec of [events, messages])
    try {
      return lmdbOutbox<Stored>({ path, codec })
    } catch (error) {
      if (!(error instanceof OutboxError) || error.reason !== 'otherKind') throw error
    }
  throw new UsageError(`--outbox '${path}' ${OF_PIPELINE}`)
}

/** Opens a queue that is there. */
const openDeadQueue = async (server: NonNullable<Place['server']>): Promise<DeadStore> => {
  const { pool, outboxOf, opened } = await openPostgres(server)
  const sql = `select kind from ${server.schema}.queue where queue = $1`
  const ask = async () => pool.query<{ kind: string }>(sql, [server.queue])
  // If this fails, the opening says why.
  const found = await ask().catch(() => undefined)
  if (found?.rowCount === 0)
    throw new UsageError(`--queue: there is no queue ${server.queue} in the schema ${server.schema}`)
  const codec = [events, messages].find(({ kind }) => kind === (found?.rows[0]?.kind ?? 'events'))
  if (codec === undefined) throw new UsageError(`--queue ${server.queue} ${OF_PIPELINE}`)
  // A look deletes nothing, also where an application keeps more than the default.
  const store = outboxOf(server.queue, Number.MAX_SAFE_INTEGER)({ codec })
  await opened()
  return store
}

const causesIn = (letter: Letter) => (letter.reason === 'ended' ? endingOf(letter.outcome).causes : [])

const endIn = (dead: Letter) => (dead.reason === 'corrupt' ? 'corrupt' : dead.outcome._tag.toLowerCase())

const matching =
  ({ reason, status, kind, since }: OptionsOf<'ls'>, id: string) =>
  (letter: Letter): boolean => {
    const causes = causesIn(letter)
    return (
      (id === '' || letter.id === id) &&
      (reason === undefined || endIn(letter) === reason || causes.some((cause) => cause.reason === reason)) &&
      (status === undefined || causes.some((cause) => cause.status === status)) &&
      (kind === undefined || (letter.reason !== 'corrupt' && typeOf(letter.entry.item) === kind)) &&
      (since === undefined || letter.at >= since)
    )
  }

/** Matching dead letters page by page: there may be more than memory holds. */
async function* lettersIn({ dead }: DeadStore, options: OptionsOf<'ls'>, id = ''): AsyncGenerator<Letter> {
  let page: ReadonlyArray<Letter> = []
  do {
    const after = page.at(-1)?.id
    page = await dead.list({ limit: DEAD_PAGE, ...(after === undefined ? {} : { after }) })
    yield* page.filter(matching(options, id))
  } while (page.length === DEAD_PAGE)
}

const recordOf = (letter: Letter): object => {
  const head = { t: 'dead', id: letter.id, at: new Date(letter.at).toISOString(), outcome: endIn(letter) }
  if (letter.reason === 'corrupt') return { ...head, raw: letter.raw }
  const { outcome, entry } = letter
  return { ...head, n: outcome.attempts, causes: causesIn(letter), call: callIn(entry.item) }
}

const deadLine = (letter: Letter, paint: Paint): string => {
  const end = paint('red', endIn(letter).padEnd(9))
  const head = `${letter.id.padEnd(8)} ${end} ${new Date(letter.at).toISOString()}`
  if (letter.reason === 'corrupt') return `${head}  ${plain(letter.raw)}`
  const { item } = letter.entry
  const why = `${showCauses(causesIn(letter))}, after ${counted(letter.outcome.attempts, 'attempt')}`
  return `${head}  ${typeOf(item).padEnd(8)} ${plain(item.id)}  ${why}`
}

const REASONS = `rejected, expired, corrupt, status, timeout, network, redirect, certificate, blockedAddress,
badRequest, noRoom, format, closed, noRoute, notAPayload, changedAfterSign, queueFull, late, held, halved,
threw, defect, cut, io`

/** Says what may be wrong if nothing was found. Answers the exit code. */
const endOf = (count: number, action: string, err: Terminal['err'], reason?: string, id = ''): number => {
  if (count > 0) return FINE
  const say = (text: string): void => err.line(`headrace dead ${action}: ${plain(text, 1_000)}`)
  if (reason !== undefined && !REASONS.split(/,\s/).includes(reason))
    say(`--reason ${reason} is none of headrace's own words: ${REASONS.replaceAll('\n', ' ')}`)
  if (id === '') return FINE
  say(`there is no dead letter ${id} to ${action}: its number is in the first column of headrace dead ls`)
  return FAULT
}

type Use = (store: DeadStore, place: Place) => Promise<number>

const withStore = async (options: OptionsOf<'ls'>, use: Use): Promise<number> => {
  const place = placeOf(options)
  if (place === undefined) throw new UsageError('--outbox is missing: give the place where events wait')
  const store = place.server ? await openDeadQueue(place.server) : openDeadStore(place.name)
  return use(store, place).finally(store.close)
}

export const listCommand = (options: OptionsOf<'ls'>, { out, err }: Terminal): Promise<number> =>
  withStore(options, async (store) => {
    const { output, reason } = options
    let count = 0
    for await (const each of lettersIn(store, options)) {
      count++
      await out.caughtUp()
      if (out.gone.aborted) return FINE
      if (output !== 'quiet') out.line(output === 'json' ? toJson(recordOf(each)) : deadLine(each, out.paint))
    }
    const { dead, waiting, evictedDeadLetters } = store.stats()
    const all = `${String(count)} of ${String(dead)} dead letters${madeRoom(' · ', evictedDeadLetters)}`
    if (output !== 'json') err.line(`headrace: ${all} · ${String(waiting)} events wait`)
    return endOf(count, 'ls', err, reason)
  })

export const showCommand = (given: OptionsOf<'show'>, { out, err }: Terminal, id: string): Promise<number> =>
  withStore(given, async (store) => {
    for await (const letter of lettersIn(store, given, id)) {
      const record = recordOf(letter)
      out.line(given.output === 'json' ? toJson(record) : escapedJson(record, 2))
      return FINE
    }
    return endOf(0, 'show', err, given.reason, id)
  })

/** Counts the matching dead letters without `--yes`; with it, changes them. */
const change =
  (action: 'redrive' | 'purge', done: string) =>
  async (given: OptionsOf<'redrive'> & Partial<OptionsOf<'purge'>>, { out, err }: Terminal, id: string) => {
    const { output, yes, all, unreadable = false } = given
    const options = unreadable ? { ...given, reason: 'corrupt' } : given
    const { reason, status, kind, since } = options
    // Only `purge` has the flag: a redriven event is not lost.
    const needsAll = all === false && (reason ?? status ?? kind ?? since ?? id) === ''
    if (needsAll && yes)
      throw new UsageError('this deletes all: name an ID, --reason, --status, --kind, --since, or give --all')
    const isRedrive = action === 'redrive'
    return withStore(options, async (store, { server, flags }) => {
      let count = 0
      if (yes && isRedrive) count = (await store.dead.redrive(matching(options, id))).length
      else if (yes) count = await store.dead.purge(matching(options, id))
      else
        for await (const letter of lettersIn(store, options, id))
          if (!isRedrive || letter.reason !== 'corrupt') count++
      const meant = yes ? undefined : `${String(count)} of ${String(store.stats().dead)} dead letters`
      const corrupt = unreadable ? count : undefined
      const was = `${counted(count, 'dead letter')} ${count === 1 ? 'was' : 'were'} ${done}`
      if (output === 'json') out.line(toJson({ t: action, done: yes, count, meant, unreadable: corrupt }))
      const flag = needsAll ? '--all --yes' : '--yes'
      if (output === 'lines') out.line(yes ? was : `${String(meant)} would be ${done}; do it with ${flag}`)
      if (yes && isRedrive && output !== 'json' && count > 0) {
        const place = server ? 'queue' : 'folder'
        const command = `headrace send ${flags} --to URL < /dev/null`
        err.line(`headrace: start the process that has this ${place}, or: ${command}`)
      }
      return endOf(count, action, err, reason, id)
    })
  }

export const redriveCommand = change('redrive', 'put back to wait')

export const purgeCommand = change('purge', 'deleted')
