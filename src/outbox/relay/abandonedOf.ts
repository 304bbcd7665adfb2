import * as Outcome from '../../outcome/Outcome.ts'
import type { Entry } from '../../sink/Outbox.ts'

/** The outcome of an entry that nobody here will deliver any more. */
export const abandonedOf = <A>({ item, progress }: Entry<A>): Outcome.Outcome<A> =>
  Outcome.abandoned(item, progress?.attempts ?? 0, progress?.last)
