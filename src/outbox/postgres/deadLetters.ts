import { type ItemCodec, DEAD_PAGE, type DeadLetter, type DeadLetters, type Entry } from '../outbox.ts'
import { DEAD_CHUNK, deadLetterIn, entryIn } from '../stored.ts'
import type { AskServer, DeadRow, LeasedRow } from './statements.ts'
import type { Worker } from './worker.ts'

const storedRow = ({ id, about, item: text }: LeasedRow | DeadRow, me: Worker) => {
  return { id, about, text, ahead: me.ahead() }
}

/** The entry of a row; undefined if the codec cannot read it. */
export const entryOf = <A>(codec: ItemCodec<A>, me: Worker, row: LeasedRow): Entry<A> | undefined =>
  entryIn(codec, storedRow(row, me))

const deadLetterOf = <A>(codec: ItemCodec<A>, me: Worker, row: DeadRow): DeadLetter<A> => {
  return { ...deadLetterIn(codec, storedRow(row, me)), at: Number(row.at) - me.ahead() }
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
  type Choose = (rows: ReadonlyArray<DeadRow>) => ReadonlyArray<DeadRow>
  const change = async (name: 'redrive' | 'purge', choose: Choose) => {
    const ids: string[] = []
    // Those that die again meanwhile have greater ids.
    const [newest] = await ask('newestDead', [queue])
    for (let after: string | undefined = '0'; after !== undefined;) {
      const found: ReadonlyArray<DeadRow> = await ask('listDead', [queue, after, DEAD_CHUNK])
      const page = found.filter(({ id }) => Number(id) <= Number(newest?.id))
      after = page.length < DEAD_CHUNK ? undefined : page.at(-1)?.id
      const chosen = choose(page).map(({ id }) => id)
      if (chosen.length === 0) continue
      const gone = new Set((await ask(name, [queue, chosen])).map(({ id }) => id))
      ids.push(...gone)
      const changedRows = page.filter(({ id }) => gone.has(id))
      changed(changedRows, name === 'redrive')
    }
    return ids
  }
  return {
    list: async ({ after = '0', limit = DEAD_PAGE } = {}) => {
      // PostgreSQL knows no whole number without end.
      const rows = await ask('listDead', [queue, after, Math.min(limit, Number.MAX_SAFE_INTEGER)])
      return rows.map((row) => deadLetterOf(codec, me, row))
    },
    redrive: (matches) =>
      change('redrive', (rows) => {
        const refusalOf = room()
        return rows.filter((row) => {
          const letter = deadLetterOf(codec, me, row)
          return letter.reason === 'ended' && matches(letter) && refusalOf(row, row.size) === undefined
        })
      }),
    purge: async (matches) =>
      (await change('purge', (rows) => rows.filter((row) => matches(deadLetterOf(codec, me, row))))).length,
  }
}
