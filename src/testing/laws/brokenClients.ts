import { filter } from 'rxjs'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/createClient.ts'
import type { SentBatch } from '../../client/message.ts'
import type { ClientOptions } from '../../client/options.ts'
import { contramap } from '../../sink/layer.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import type { OpenClient } from './clientLaws.ts'
import { brokenVersions } from './law.ts'

const open: OpenClient = (options) => createClient('a key', options)

const changed =
  (change: (client: Client) => Partial<Client>): OpenClient =>
  (options) => {
    const client = open(options)
    return { ...client, ...change(client) }
  }

const sending =
  (change: (batch: SentBatch, options: ClientOptions) => SentBatch): OpenClient =>
  (options) => {
    const { sink } = options
    return open({
      ...options,
      ...(sink && { sink: contramap((batch: SentBatch) => change(batch, options))(sink) }),
    })
  }

/** Clients with one fault each, to see a law find it. */
export const brokenClients = brokenVersions<OpenClient>()({
  'keeps a rejection to itself': {
    breaks: 'client/ends-once',
    make: changed(({ outcomes$ }) => ({
      outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Rejected')),
    })),
  },
  'counts what it refuses as accepted': {
    breaks: 'client/adds-up',
    make: changed(({ stats }) => ({
      stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
    })),
  },
  'puts too many messages into a batch': {
    breaks: 'client/keeps-limits',
    make: ({ size = 20, ...options }) => open({ ...options, size: size + 1 }),
  },
  'reverses its batches': {
    breaks: 'client/keeps-order',
    make: sending((batch) => ({ ...batch, members: batch.members.toReversed() })),
  },
  'sends each batch once more at its end': {
    breaks: 'client/ends-once',
    make: sending((batch, { sink, clock }) => {
      // When its outcomes were told.
      clock?.schedule(10_000, () => sink?.deliver(batch, onlyAttempt).subscribe())
      return batch
    }),
  },
  'hands nothing back': {
    breaks: 'client/closes',
    make: changed(({ close }) => ({
      close: async (options) => ({ ...(await close(options)), abandoned: [] }),
    })),
  },
  'flushes nothing': {
    breaks: 'client/flushes',
    make: changed(({ stats }) => ({ flush: () => Promise.resolve(stats()) })),
  },
  'leaves a timer': {
    breaks: 'client/closes',
    make: (options) => {
      options.clock?.schedule(1e9, () => undefined)
      return open(options)
    },
  },
})
