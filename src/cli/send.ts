import { isLeft } from 'fp-ts/lib/Either.js'
import { faultText } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import { webhookDestination } from '../destination/createDestination.ts'
import type { DestinationOptions } from '../destination/destination.ts'
import { payloadCodec } from '../destination/record.ts'
import { decodeSettings } from '../destination/settings.ts'
import type { Settings } from '../destination/settings.ts'
import type { Call } from '../event/model.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { SendOptions } from './flags.ts'
import { MAX_BYTES, forward, retryFor } from './forward.ts'
import type { OpenTarget, Reading, Stored } from './forward.ts'
import { markToText, openInput } from './input.ts'
import { UsageError } from './options.ts'
import type { Terminal } from './terminal.ts'

/** A fault of the settings in the words of the flags. */
const sentenceOf = ({ path, message }: Fault, urls: number): string => {
  if (path === 'webhooks')
    return `--to may be given one to five times, not ${String(urls)} times: leave some URLs out`
  const [, at = '0', part, header = ''] = /^webhooks\[(\d+)\](?:\.(\w+)(?:\.(.+))?)?$/.exec(path) ?? []
  if (part === 'headers') return `--header ${header} ${message}`
  if (part !== 'url') return faultText({ path, message })
  const nameOf = (index: string): string => (urls === 1 ? '--to' : `--to number ${String(Number(index) + 1)}`)
  return `${nameOf(at)} ${message.replace(/webhooks\[(\d+)\]\.url/, (_, other: string) => nameOf(other))}`
}

const settingsOf = ({ urls, headers, secret, egress }: SendOptions): Settings => {
  const webhooks = urls.map((url) => ({ url, headers }))
  const settings = decodeSettings(
    secret === undefined ? { webhooks } : { sharedSecret: secret, webhooks },
    egress,
  )
  if (isLeft(settings)) {
    const sentences = settings.left.map((fault) => sentenceOf(fault, urls.length))
    // All URLs have the same headers.
    throw new UsageError(...new Set(sentences))
  }
  return settings.right
}

/** Room beyond what the destination is told, for offers that are being stored: so the store never answers `Full`. */
const SLACK = { count: 1_000, bytes: 67_108_864 }

/**
 * An outbox in a folder. Each event is stored in one transaction with the place behind its line, so that a run that was killed goes on
 * behind the last event that was stored.
 */
const storeIn = (
  path: string,
  maxCount: number,
  reading: Reading,
): Stored & { readonly outbox: Outbox<Payload<Event>> } => {
  let corrupt = 0
  const store = lmdbOutbox<Payload<Event>>({
    path,
    codec: payloadCodec,
    maxCount: maxCount + SLACK.count,
    maxBytes: MAX_BYTES + SLACK.bytes,
    onCorrupt: () => corrupt++,
  })
  const before = store.stats().evictedDeadLetters
  return {
    outbox: {
      ...store,
      enqueue: (items) => {
        for (const item of items) reading.offered(item)
        const mark = reading.mark()
        if (reading.input === undefined || mark === undefined) return store.enqueue(items)
        return store.enqueue(items, { bookmark: { name: reading.input, value: markToText(mark) } })
      },
      stats: () => ({ ...store.stats(), maxCount, maxBytes: MAX_BYTES }),
    },
    bookmark: store.bookmark,
    finish: (name, mark) => store.remember({ name, value: markToText({ ...mark, isEnd: true }) }),
    evicted: () => store.stats().evictedDeadLetters - before,
    corrupt: () => corrupt,
  }
}

/** Delivers to webhooks; events wait in memory or, if it is given, in a folder. @throws OutboxError */
export const toWebhooks =
  (
    settings: Settings,
    options: Omit<DestinationOptions, 'outbox' | 'onEvent'>,
    maxCount: number,
    folder?: string,
  ): OpenTarget =>
  (onEvent, reading) => {
    const stored = folder === undefined ? undefined : storeIn(folder, maxCount, reading)
    const outbox = stored === undefined ? {} : { outbox: stored.outbox }
    const destination = webhookDestination(settings, {
      maxBytes: MAX_BYTES,
      ...options,
      ...outbox,
      maxCount,
      logger: false,
      onEvent,
    })
    // `send` checks whatever it gets, and answers `Invalid` for what is no call.
    return { ...destination, offer: (value) => destination.send(value as Call), stored }
  }

/** `headrace send`: sends NDJSON events to one to five URLs. */
export const sendCommand = async (
  options: SendOptions,
  terminal: Terminal,
  file: string,
): Promise<number> => {
  const settings = settingsOf(options)
  const { timeout, concurrency, egress, maxWaiting, outbox, fromStart } = options
  if (fromStart && outbox === undefined)
    throw new UsageError('--from-start needs --outbox: without it every input is read from its first line')
  const retry = retryFor(options.retryFor)
  const open = toWebhooks(settings, { retry, timeout, concurrency, egress }, maxWaiting, outbox)
  try {
    const input = await openInput(file, terminal.host)
    const { code } = await forward({ ...options, command: 'send', input, open }, terminal)
    return code
  } catch (error) {
    if (error instanceof OutboxError) throw new UsageError(`--outbox: ${error.message}`)
    throw error
  }
}
