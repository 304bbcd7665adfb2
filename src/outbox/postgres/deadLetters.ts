import { valueOr } from '../../core/either.ts'
import type { Outcome } from '../../core/outcome.ts'
import { type ItemCodec, DEAD_PAGE, type DeadLetter, type DeadLetters, type Entry } from '../outbox.ts'
import { DEAD_CHUNK, type About } from '../stored.ts'
import type { AskServer, DeadRow } from './statements.ts'
import type { Worker } from './worker.ts'

/** What was stored beside an item. Only headrace writes it. */
const aboutIn = (text: string | null): About => (text === null ? {} : (JSON.parse(text) as About))

/** The entry of a row; undefined if the codec cannot read it. */
export const entryIn = <A>(
  codec: ItemCodec<A>,
  { fromServer }: Worker,
  id: string,
  item: string,
  about: string | null,
): Entry<A> | undefined =>
  valueOr(undefined, () => {
    const { firstAttemptAt, progress } = aboutIn(about)
    const firstAt = firstAttemptAt === undefined ? undefined : fromServer(firstAttemptAt)
    return { id, item: codec.fromText(item), firstAttemptAt: firstAt, progress }
  })

const deadLetterIn = <A>(codec: ItemCodec<A>, me: Worker, row: DeadRow): DeadLetter<A> => {
  const { id, about, item: text } = row
  const at = me.fromServer(Number(row.at))
  const { id: entryId = id, outcome } = aboutIn(about)
  const entry = about === null ? undefined : entryIn(codec, me, entryId, text, about)
  if (entry === undefined) return { id, at, reason: 'corrupt', raw: text }
  // With its item it is the outcome that was stored.
  return { id, at, reason: 'ended', entry, outcome: { ...outcome, item: entry.item } as Outcome<A> }
}

/**
 * The dead letters of a queue. `room` answers a function that counts one after the other, and refuses those
 * beyond the bounds; `changed` receives the rows that are gone, and whether they wait again.
 */
export const deadLettersOf = <A>(
  ask: AskServer,
  queue: string,
  codec: ItemCodec<A>,
  me: Worker,
  room: () => (item: unknown, size: number) => unknown,
  changed: (gone: ReadonlyArray<DeadRow>, isMoved: boolean) => void,
): DeadLetters<A> => {
  const change = async (
    name: 'redrive' | 'purge',
    choose: (rows: ReadonlyArray<DeadRow>) => ReadonlyArray<DeadRow>,
  ): Promise<ReadonlyArray<string>> => {
    const ids: string[] = []
    for (let after: string | undefined = '0'; after !== undefined;) {
      const page: ReadonlyArray<DeadRow> = await ask('listDead', [queue, after, DEAD_CHUNK])
      after = page.length < DEAD_CHUNK ? undefined : page.at(-1)?.id
      const chosen = choose(page).map(({ id }) => id)
      if (chosen.length === 0) continue
      const moved: ReadonlyArray<{ readonly id: string }> = await ask(name, [queue, chosen])
      const gone = new Set(moved.map(({ id }) => id))
      ids.push(...gone)
      const changedRows = page.filter(({ id }) => gone.has(id))
      changed(changedRows, name === 'redrive')
    }
    return ids
  }
  return {
    list: async ({ after = '0', limit = DEAD_PAGE } = {}) =>
      (await ask('listDead', [queue, after, limit])).map((row) => deadLetterIn(codec, me, row)),
    redrive: (matches) =>
      change('redrive', (rows) => {
        const refusalOf = room()
        return rows.filter((row) => {
          const letter = deadLetterIn(codec, me, row)
          return letter.reason === 'ended' && matches(letter) && refusalOf(row, row.size) === undefined
        })
      }),
    purge: async (matches) =>
      (await change('purge', (rows) => rows.filter((row) => matches(deadLetterIn(codec, me, row))))).length,
  }
}
