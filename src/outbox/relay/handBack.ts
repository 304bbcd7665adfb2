import { whenAnswered } from '../../internal/Awaitable.ts'
import type { Entry, Outbox } from '../../sink/Outbox.ts'
import { abandonedOf } from './abandonedOf.ts'
import type { Reporting } from './reporting.ts'
import type { Writes } from './writes.ts'

/** What handing back works with. */
export interface HandBackOptions<A> {
  readonly outbox: Outbox<A>
  readonly store: Writes
  readonly say: Pick<Reporting<A>, 'defect' | 'ended' | 'afterwards'>
}

const ignore = (): void => undefined

/**
 * Ends as abandoned what was cut off, and what still waits in the outbox; `then` gets their items when all have been told. A
 * durable outbox keeps everything, so nothing ends and nothing is handed back (DE15).
 */
export const handBack = <A>(
  { outbox, store, say }: HandBackOptions<A>,
  cut: ReadonlyArray<Entry<A>>,
  then: (items: ReadonlyArray<A>) => void,
): void => {
  const give = (entries: ReadonlyArray<Entry<A>>): void => {
    for (const entry of entries) say.ended(abandonedOf(entry))
    say.afterwards(() => {
      then(entries.map(({ item }) => item))
    })
  }
  if (outbox.durable) {
    give([])
    return
  }
  for (const entry of cut) {
    store.commit({ make: () => outbox.end(entry, abandonedOf(entry)), then: ignore, otherwise: ignore })
  }
  whenAnswered(
    () => outbox.abandon(),
    (waiting) => {
      give([...cut, ...waiting])
    },
    (error) => {
      say.defect('outbox', error)
      give(cut)
    },
  )
}
