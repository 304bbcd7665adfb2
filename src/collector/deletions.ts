import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closed, invalid } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import type { Deletion, DeletionOptions, Source } from './collector.ts'
import type { EncodeMessage } from './ingest.ts'
import { route } from './route.ts'
import type { Share, Storage } from './storage.ts'

/** How a user is forgotten. */
export interface Forgetting {
  /** By one source: what it posted, as it posted it. */
  readonly bySource: (source: Source, call: unknown) => Promise<Either<Refusal, Deletion>>
  /** By the host. */
  readonly byHost: (userId: string, options: DeletionOptions) => Promise<Either<Refusal, Deletion>>
}

/** What forgetting works with. */
export interface ForgettingOptions {
  readonly sources: ReadonlyArray<Source>
  readonly encode: EncodeMessage
  readonly storage: Storage
  readonly isClosing: () => boolean
  readonly onNotified: (count: number) => void
  /** Is told why a source's request was refused: over HTTP it is not told all. */
  readonly onRefused: (refusal: Refusal) => void
}

/** They come from code, which may not be typed. */
const unknownSources = (ids: unknown, sources: ReadonlyArray<Source>): ReadonlyArray<Fault> => {
  if (!Array.isArray(ids)) return [{ path: 'sources', message: 'must be an array of ids' }]
  return ids.flatMap((id: unknown, index) =>
    sources.some((source) => source.id === id)
      ? []
      : [{ path: `sources[${String(index)}]`, message: 'is no id of a source' }],
  )
}

/** Deletion requests of a collector (CO2): one notification for each affected source and each enabled destination connected to it. */
export const forgetting = ({
  sources,
  encode,
  storage,
  isClosing,
  onNotified,
  onRefused,
}: ForgettingOptions): Forgetting => {
  const parcel = { defaults: { type: 'delete' }, owned: false, size: Infinity } as const

  const forget = async (
    affected: ReadonlyArray<Source>,
    call: unknown,
  ): Promise<Either<Refusal, Deletion>> => {
    // Each source has a notification, and a message id, of its own.
    const encoded = affected.map((source) => ({ source, payload: encode(call, parcel) }))
    const first = encoded.find(({ payload }) => isLeft(payload))
    if (first !== undefined && isLeft(first.payload)) return first.payload
    if (isClosing()) return left(closed(call))
    const shares = encoded.flatMap(({ source, payload }): ReadonlyArray<Share> =>
      isLeft(payload)
        ? []
        : [{ payload: payload.right, places: route(source.places, payload.right.items[0]) }],
    )
    const lacking = storage.lacksRoom(shares)
    if (lacking !== undefined) return left({ ...lacking, input: call })
    const answers = await Promise.all(shares.map(async (share) => storage.store(share)))
    const failure = answers.find((answer) => answer !== undefined)
    if (failure !== undefined) return left({ ...failure, input: call })
    const notifications = shares.reduce((sum, { places }) => sum + places.length, 0)
    onNotified(notifications)
    return right({ notifications })
  }

  return {
    bySource: async (source, call) => {
      const answer = await forget([source], call)
      if (isLeft(answer)) onRefused(answer.left)
      return answer
    },
    byHost: async (userId, { sources: ids }) => {
      const faults = ids === undefined ? [] : unknownSources(ids, sources)
      if (faults.length > 0) return left(invalid(userId, faults))
      return forget(
        sources.filter(({ id }) => ids?.includes(id) ?? true),
        { userId },
      )
    },
  }
}
