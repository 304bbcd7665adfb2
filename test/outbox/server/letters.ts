/** Dead letters of a server: they come in pages, the host's predicate runs here, and what it chose is changed there by id. */
import type { DeadLetter, DeadLetters } from '../../../src/outbox/outbox.ts'
import { DEAD_PAGE } from '../../../src/outbox/outbox.ts'
import type { Server } from './Server.ts'

type Ask = <T>(task: () => T) => Promise<T>

/** So many letters are looked at in one go. */
const PAGE = 3

export const letters = <A>(
  on: Server<A>,
  ask: Ask,
  owner: string,
  redriven: (ids: ReadonlyArray<string>) => void,
): DeadLetters<A> => {
  const list = (after: string | undefined, limit: number): Promise<ReadonlyArray<DeadLetter<A>>> =>
    ask(() => on.letters(Number(after ?? 0), limit))

  const each = async (
    matches: (letter: DeadLetter<A>) => boolean,
    change: (ids: ReadonlyArray<string>) => Promise<number>,
  ): Promise<number> => {
    let count = 0
    for (let after: string | undefined; ;) {
      const page = await list(after, PAGE)
      count += await change(page.filter(matches).map(({ id }) => id))
      if (page.length < PAGE) return count
      after = page.at(-1)?.id
    }
  }

  return {
    list: ({ after, limit = DEAD_PAGE } = {}) => list(after, limit),
    redrive: (matches) =>
      each(matches, async (ids) => {
        const back = await ask(() => on.redrive(ids, owner))
        redriven(back)
        return back.length
      }),
    purge: (matches) => each(matches, (ids) => ask(() => on.purge(ids))),
  }
}
