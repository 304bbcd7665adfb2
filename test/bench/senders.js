// What the client bench compares: a batching client as a person would write it by hand, ours, and the published ones. Each takes the same
// calls and posts to the same receiver; a peer is loaded only where it is measured.
import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { calls } from './events.js'

/** What a host would write at the call: no id and no time, those are the client's business. About 150 bytes of JSON. */
export const hostCalls = () =>
  calls('small').map(({ userId, event, properties }) => ({ userId, event, properties }))

/**
 * What a sender is given, and what it is: `track` takes a call; `ended` resolves when all that was taken has been answered.
 * @typedef {{ url: string, size: number, connections?: number, most?: number, outbox?: object,
 *   watch?: (client: object) => void }} Given `outbox` and `watch` are for ours
 * @typedef {{ track: (call: object) => void, ended: () => Promise<unknown> }} Sender
 */

const LIBRARY = { name: 'by-hand', version: '1.0.0' }

/** The limit: an array, one `JSON.stringify` an event, a pool. It bounds, retries and accounts for nothing. */
const byHand = async ({ url, size, connections = 4 }) => {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const headers = {
    authorization: `Basic ${Buffer.from('wk:').toString('base64')}`,
    'content-type': 'application/json',
    'user-agent': 'by-hand/1.0.0',
  }
  let texts = []
  let posts = []
  const post = async () => {
    const body = `{"batch":[${texts.join(',')}],"sentAt":"${new Date().toISOString()}"}`
    texts = []
    await (await pool.request({ path, method: 'POST', headers, body })).body.dump()
  }
  return {
    track: (call) => {
      const messageId = randomUUID()
      const timestamp = new Date().toISOString()
      const context = { library: LIBRARY }
      texts.push(JSON.stringify({ type: 'track', messageId, timestamp, ...call, context }))
      if (texts.length === size) posts.push(post())
    },
    ended: async () => {
      if (texts.length > 0) posts.push(post())
      const all = posts
      posts = []
      await Promise.all(all)
    },
  }
}

const headrace = async ({ url, size, connections = 4, most, outbox, watch }) => {
  const { createClient } = await import('headrace/client')
  const bounds = most === undefined ? {} : { maxCount: most, maxBytes: most * 1_000 }
  const more = { ...bounds, ...(outbox && { outbox }) }
  const client = createClient('wk', { endpoint: url, size, concurrency: connections, ...more })
  watch?.(client)
  return {
    track: (call) => {
      const answer = client.track(call)
      if (answer._tag === 'Left') throw new Error(`a call of the bench was refused: ${answer.left._tag}`)
    },
    ended: async () => {
      const { accepted, delivered } = await client.flush()
      if (accepted !== delivered) throw new Error(`${accepted} accepted, and ${delivered} delivered`)
    },
  }
}

const counting = (track) => {
  let waiting = 0
  let resolve
  const done = (error) => {
    if (error) throw error
    if (--waiting === 0) resolve?.()
  }
  return {
    track: (call) => {
      waiting++
      track(call, done)
    },
    ended: () => new Promise((settle) => (waiting === 0 ? settle() : (resolve = settle))),
  }
}

const segment = async ({ url, size }) => {
  const { Analytics } = await import('@segment/analytics-node')
  const { origin: host, pathname: path } = new URL(url)
  const client = new Analytics({ writeKey: 'wk', host, path, flushAt: size })
  return counting((call, done) => client.track(call, done))
}

const rudder = async ({ url, size }) => {
  const { default: Analytics } = await import('@rudderstack/rudder-sdk-node')
  const { origin: dataPlaneUrl, pathname: path } = new URL(url)
  const client = new Analytics('wk', { dataPlaneUrl, path, flushAt: size, gzip: false, logLevel: 'error' })
  // It sends its very first event alone; in the long run that is nothing.
  const sender = counting((call, done) => client.track(call, done))
  return {
    ...sender,
    ended: async () => {
      const all = sender.ended()
      void client.flush()
      await all
    },
  }
}

const posthog = async ({ url, size, most = 10_000 }) => {
  const { PostHog } = await import('posthog-node')
  const { origin: host } = new URL(url)
  const settings = { flushAt: size, maxBatchSize: size, maxQueueSize: most, disableCompression: true }
  const client = new PostHog('wk', { host, ...settings })
  return {
    track: ({ userId: distinctId, event, properties }) => client.capture({ distinctId, event, properties }),
    ended: () => client.flush(),
  }
}

/** A case of a bench: calls in bursts of `pace`, each after the last one was answered. */
export const inBursts = ({ track, ended }, pace) => {
  const inputs = hostCalls()
  return async (units) => {
    for (let sent = 0; sent < units;) {
      const until = Math.min(units, sent + pace)
      while (sent < until) track(inputs[sent++ % inputs.length])
      await ended()
    }
  }
}

/** @type {Record<string, (given: Given) => Promise<Sender>>} */
export const senders = {
  'by hand': byHand,
  headrace,
  'posthog-node': posthog,
  '@segment/analytics-node': segment,
  '@rudderstack/rudder-sdk-node': rudder,
}
