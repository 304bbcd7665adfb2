import { isDead } from '../../../core/outcome.ts'
import type { Outcome } from '../../../core/outcome.ts'
import type { Entry } from '../../oldOutbox.ts'
import type { Commits, Write, WriteKind } from '../commits.ts'
import type { DueEntries, Place } from '../dueEntries.ts'
import type { OldLmdbOutbox } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import { triedToText } from '../records/Known.ts'
import { parkedKey } from '../records/parkedKey.ts'
import type { StoreTime } from '../records/storeTime.ts'
import { withAbout } from '../records/StoredRecord.ts'
import { leaves } from '../records/StoredTotals.ts'
import type { ParkedKey } from '../oldStore.ts'
import type { StoredLetters } from './storedLetters.ts'

/** What putting back and ending works with. */
export interface ConcludingOptions<A> {
  readonly mapping: Pick<Mapping, 'store'>
  readonly commits: Commits
  readonly letters: Pick<StoredLetters<A>, 'lay'>
  readonly due: Pick<DueEntries<A>, 'placeOf' | 'left'>
  readonly time: StoreTime
  /** Within a transaction: the record at a place, and how it is removed. */
  readonly recordAt: (place: Place) => Buffer | undefined
  readonly remove: (place: Place) => void
}

/** What of an outbox concludes the work on an entry that was taken. */
export type Concluding<A> = Pick<OldLmdbOutbox<A>, 'park' | 'end'>

/** An entry on its way out of the hands of the relay. */
interface Leaving<A> {
  readonly entry: Entry<A>
  readonly place: Place
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

interface Parking<A> extends Leaving<A>, Write<Parking<A>> {
  readonly key: ParkedKey
}

interface Ending<A> extends Leaving<A>, Write<Ending<A>> {
  readonly outcome: Outcome<A>
}

const done: Promise<void> = Promise.resolve()

/** The ways back from the hands of the relay: to wait again, or to end. */
export const concluding = <A>(options: ConcludingOptions<A>): Concluding<A> => {
  const { mapping, commits, letters, due, time, recordAt, remove } = options
  const { store } = mapping

  const fail = ({ place, reject }: Leaving<A>, error: Error): void => {
    place.leaving = false
    reject(error)
  }

  const parking: WriteKind<Parking<A>> = {
    grows: false,
    apply: ({ entry, place, key }, draft) => {
      const record = recordAt(place)
      if (record === undefined) return
      const tried = withAbout(record, triedToText(time.stored(entry)))
      remove(place)
      store.parked.putSync(key, tried)
      draft.latest = Math.max(draft.latest, time.now())
    },
    done: ({ place, key, resolve }) => {
      due.left(place, key)
      resolve()
    },
    fail,
  }

  const ending: WriteKind<Ending<A>> = {
    grows: false,
    apply: ({ entry, place, outcome }, draft) => {
      const record = isDead(outcome) ? recordAt(place) : undefined
      if (record !== undefined) letters.lay(entry, outcome, record, draft)
      remove(place)
      leaves(draft, place)
    },
    done: ({ place, resolve }) => {
      due.left(place)
      resolve()
    },
    fail,
  }

  return {
    park: (entry, at) => {
      const place = due.placeOf(entry.id)
      // It was ended or put back already: a late word changes nothing.
      if (place === undefined) return done
      place.leaving = true
      const key = parkedKey(time.inStore(at), place.number)
      return new Promise((resolve, reject) => {
        commits.put({ kind: parking, entry, place, key, resolve, reject })
      })
    },
    end: (entry, outcome) => {
      const place = due.placeOf(entry.id)
      if (place === undefined) return done
      place.leaving = true
      return new Promise((resolve, reject) => {
        commits.put({ kind: ending, entry, place, outcome, resolve, reject })
      })
    },
  }
}
