/** What a client owes to its batches and to the order of its messages. */
import { frameBytes } from '../../src/event/payload.ts'
import { trackingFrame } from '../../src/event/trackingMessage.ts'
import type { MessageBatch } from '../../src/client/Message.ts'
import type { Trace, World } from '../client/world.ts'
import type { ClientLaw } from './client.ts'

/** Batches as they closed, where that can be seen, in their order. */
const closedBatches = ({ appended }: Trace): ReadonlyArray<MessageBatch> => appended.map(({ batch }) => batch)

/** The first request of each batch, which is the batch in whole. */
const firstRequests = ({ calls }: Trace): Trace['calls'] => {
  const seen = new Set<string>()
  return calls.filter(({ item }) => {
    const isFirst = !seen.has(item.id)
    seen.add(item.id)
    return isFirst
  })
}

const placesOf = ({ accepted }: Trace): ReadonlyMap<string, number> =>
  new Map(accepted.map((id, place) => [id, place]))

const isRising = (numbers: ReadonlyArray<number>): boolean =>
  numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? -1))

const usersOf = ({ sent }: Trace): ReadonlyMap<string, string> =>
  new Map(sent.map(({ id, user }) => [id, user]))

export const batchLaws: ReadonlyArray<ClientLaw> = [
  {
    id: 'P2: batches hold the messages in the order of their acceptance',
    broken: (trace, { concurrency, keyed }) => {
      const places = placesOf(trace)
      const users = usersOf(trace)
      const batches =
        trace.appended.length > 0 ? closedBatches(trace) : firstRequests(trace).map(({ item }) => item)
      const rises = (of: (id: string) => boolean): boolean =>
        isRising(
          batches
            .flatMap(({ members }) => members)
            .filter(({ id }) => of(id))
            .map(({ id }) => places.get(id) ?? -1),
        )
      if (batches.some(({ members }) => !isRising(members.map(({ id }) => places.get(id) ?? -1))))
        return 'a batch that is not in order'
      const orderly =
        concurrency === 1
          ? rises(() => true)
          : !keyed || [...new Set(users.values())].every((user) => rises((id) => users.get(id) === user))
      return orderly ? undefined : 'a message before an older one'
    },
  },
  {
    id: 'P3: every body keeps its limits, and none is empty',
    broken: ({ calls }, { size, maxBatch }) => {
      if (calls.some(({ item }) => item.members.length === 0)) return 'an empty one'
      if (calls.some(({ item }) => item.members.length > size)) return 'too many messages'
      return calls.some(({ item }) => item.byteLength > maxBatch) ? 'too many bytes' : undefined
    },
  },
  {
    id: 'P4: a batch is as large as it can be, unless time, a flush or the end closed it',
    broken: (trace, { size, maxBatch, concurrency, keyed }) => {
      const batches = closedBatches(trace)
      for (const [at, { closedBy, members, byteLength }] of batches.entries()) {
        if (closedBy === 'count' && members.length !== size) return 'closed by a count that was not reached'
        if (closedBy !== 'bytes' || (keyed && concurrency > 1)) continue
        const next = batches[at + 1]?.members[0]
        if (next !== undefined && byteLength + 1 + next.byteLength <= maxBatch)
          return 'closed by bytes that fit'
        if (byteLength <= frameBytes(trackingFrame)) return 'closed by nothing'
      }
      return undefined
    },
  },
  {
    id: 'P5: no message waits longer than the delay before its batch is closed',
    broken: ({ appended, sent }, { flushAfter, outbox }) => {
      // Of a slow store the moment of the closing is not seen.
      if (outbox !== 'memory') return undefined
      const sentAt = new Map(sent.map(({ id, at }) => [id, at]))
      const late = appended.some(({ at, batch }) =>
        batch.members.some(({ id }) => at - (sentAt.get(id) ?? 0) > flushAfter),
      )
      return late ? 'a message that waited' : undefined
    },
  },
  {
    id: 'in order: nothing of a batch is sent before the batches before it have ended, retries included',
    broken: (trace, { concurrency, keyed }: World) => {
      if (concurrency > 1 && !keyed) return undefined
      const endedAt = new Map(trace.told.map(({ at, outcome }, turn) => [outcome.item.id, { at, turn }]))
      const users = usersOf(trace)
      const requests = firstRequests(trace)
      for (const [at, { item, startedAt }] of requests.entries()) {
        const mine = new Set(item.members.map(({ id }) => users.get(id)))
        const before = requests
          .slice(0, at)
          .flatMap((each) => each.item.members)
          .filter(({ id }) => concurrency === 1 || mine.has(users.get(id)))
        if (before.some(({ id }) => (endedAt.get(id)?.at ?? Infinity) > startedAt))
          return 'one overtook another'
      }
      return undefined
    },
  },
]
