import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closed } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import type { Deletion } from './collector.ts'
import type { EncodeMessage } from './ingest.ts'
import { route, store } from './route.ts'
import type { Routed, Source, WhenFull } from './route.ts'

/** Deletes the user of `call` at every target of the affected sources. */
export type Delete = (affected: ReadonlyArray<Source>, call: unknown) => Promise<Either<Refusal, Deletion>>

/** `onDeleted` is given the number of notifications of a deletion that was stored everywhere. */
export const deleter =
  (
    encode: EncodeMessage,
    whenFull: WhenFull,
    isClosing: () => boolean,
    onDeleted: (notifications: number) => void,
  ): Delete =>
  async (affected, call) => {
    const routed: Routed[] = []
    for (const source of affected) {
      // Each source has its own notification, with a message id of its own.
      const encoded = encode(call, { type: 'delete', owned: false, size: Infinity })
      if (isLeft(encoded)) return encoded
      routed.push({ payload: encoded.right, targets: route(source.targets, encoded.right.items[0]) })
    }
    if (isClosing()) return left(closed(call))
    const failure = (await store(routed, whenFull)).find((each) => each !== undefined)
    if (failure !== undefined) return left({ ...failure, input: call })
    const notifications = routed.reduce((sum, { targets }) => sum + targets.length, 0)
    onDeleted(notifications)
    return right({ notifications })
  }

/** The sources with these ids; undefined means all. Callers without types may pass anything. */
export const sourcesById = (
  ids: unknown,
  sources: ReadonlyArray<Source>,
): Either<ReadonlyArray<Fault>, ReadonlyArray<Source>> => {
  if (ids === undefined) return right(sources)
  if (!Array.isArray(ids)) return left([{ path: 'sources', message: 'must be an array of ids' }])
  const faults = ids.flatMap((id: unknown, index) =>
    sources.some((source) => source.id === id)
      ? []
      : [{ path: `sources[${String(index)}]`, message: 'is not the id of a source' }],
  )
  return faults.length > 0 ? left(faults) : right(sources.filter(({ id }) => ids.includes(id)))
}
