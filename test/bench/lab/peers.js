// The published clients, and ours, behind one small face. Each is opened as its manual says, with its own defaults for what an experiment
// does not ask for; a peer is loaded only in the process that plays it.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * What an experiment may ask for. What is not given stays as the peer has it.
 * @typedef {{ url: string, flushAt?: number, flushEvery?: number, retries?: number, retryDelay?: number, timeout?: number,
 *   onAnswer?: () => void }} Ask
 *
 * What it gets. `track` may throw, and answers `refused` when the peer says at once that it does not take the event; `done` is called
 * with what the peer tells of it, or never. No `close`: the peer has none.
 * @typedef {{ track: (name: string, more?: { text?: string, done?: (told: string) => void }) => string | undefined,
 *   flush: () => Promise<unknown> | undefined, close?: (within: number) => Promise<string> }} Peer
 */

/** Without the keys that were not asked for: some peers take an undefined for a value. */
const given = (options) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

const propertiesOf = (text) => ({ plan: 'pro', ...(text === undefined ? {} : { text }) })
const toldBy = (error) => (error ? 'failed' : 'ok')

const segment = async ({ url, flushAt, flushEvery, retries, timeout }) => {
  const { Analytics } = await import('@segment/analytics-node')
  const settings = { flushAt, flushInterval: flushEvery, maxRetries: retries, httpRequestTimeout: timeout }
  const client = new Analytics({ writeKey: 'wk', host: url, ...given(settings) })
  client.on('error', () => undefined)
  return {
    track: (event, { text, done } = {}) => {
      const tell = done && ((error) => done(toldBy(error)))
      client.track({ userId: 'u1', event, properties: propertiesOf(text) }, tell)
      return undefined
    },
    flush: () => client.flush(),
    close: (timeout) => client.closeAndFlush({ timeout }).then(() => 'no error'),
  }
}

/** analytics-node, and what was made of it. */
const byCallback =
  (load) =>
  async ({ url, flushAt, flushEvery, retries, timeout }) => {
    const Analytics = await load()
    const settings = { flushAt, flushInterval: flushEvery, retryCount: retries, timeout }
    const client = new Analytics('wk', { host: url, dataPlaneUrl: url, ...given(settings) })
    return {
      track: (event, { text, done } = {}) => {
        const tell = done && ((error) => done(toldBy(error)))
        client.track({ userId: 'u1', event, properties: propertiesOf(text) }, tell)
        return undefined
      },
      flush: () => client.flush(),
    }
  }

const posthog = async ({ url, flushAt, flushEvery, retries, retryDelay, timeout }) => {
  const { PostHog } = await import('posthog-node')
  const settings = {
    flushAt,
    flushInterval: flushEvery,
    fetchRetryCount: retries,
    fetchRetryDelay: retryDelay,
    requestTimeout: timeout,
    // It counts when it sends, not what it sends; with this a batch has as many events as everywhere else.
    maxBatchSize: flushAt,
  }
  const client = new PostHog('wk', { host: url, ...given(settings) })
  return {
    track: (event, { text } = {}) => {
      client.capture({ distinctId: 'u1', event, properties: propertiesOf(text) })
      return undefined
    },
    flush: () => client.flush(),
    close: (within) => client.shutdown(within).then(() => 'no error'),
  }
}

const snowplow = async ({ url, flushAt, timeout, onAnswer }) => {
  const { buildStructEvent, newTracker } = await import('@snowplow/node-tracker')
  const { hostname, port } = new URL(url)
  const settings = { bufferSize: flushAt, connectionTimeout: timeout, onRequestSuccess: onAnswer }
  const emitter = { endpoint: hostname, port: Number(port), protocol: 'http', eventMethod: 'post' }
  const tracker = newTracker({ namespace: 'lab', appId: 'lab' }, { ...emitter, ...given(settings) })
  return {
    track: (action, { text } = {}) => {
      tracker.track(buildStructEvent({ category: 'lab', action, label: text ?? 'pro' }))
      return undefined
    },
    flush: () => tracker.flush(),
  }
}

const retryOf = async (retries) => {
  if (retries === undefined) return {}
  const { both, limitRetries, standard } = await import('headrace')
  return { retry: both(standard, limitRetries(retries)) }
}

const headrace = async ({ url, flushAt, flushEvery, retries, timeout }) => {
  const { createClient } = await import('headrace/client')
  const settings = { flushAt, flushAfter: flushEvery, timeout, ...(await retryOf(retries)) }
  const client = createClient('wk', { endpoint: `${url}/v1/batch`, logger: false, ...given(settings) })
  const waiting = new Map()
  let listens = false
  const listen = () => {
    listens = true
    client.outcomes$.subscribe(({ _tag, item }) => {
      const done = waiting.get(item.id)
      waiting.delete(item.id)
      done?.(_tag === 'Delivered' ? 'ok' : _tag)
    })
  }
  return {
    track: (event, { text, done } = {}) => {
      if (done !== undefined && !listens) listen()
      const answer = client.track({ userId: 'u1', event, properties: propertiesOf(text) })
      if (answer._tag === 'Left') return `refused: ${answer.left._tag}`
      if (done !== undefined) waiting.set(answer.right.id, done)
      return undefined
    },
    flush: () => client.flush(),
    close: async (timeout) => {
      const { abandoned } = await client.close({ timeout })
      return `hands back ${abandoned.length}`
    },
  }
}

/** How each is opened, in the order of the table; the name is what npm calls it. */
export const peers = {
  '@segment/analytics-node': segment,
  'analytics-node': byCallback(async () => (await import('analytics-node')).default),
  '@rudderstack/rudder-sdk-node': byCallback(
    async () => (await import('@rudderstack/rudder-sdk-node')).default,
  ),
  'posthog-node': posthog,
  '@snowplow/node-tracker': snowplow,
  headrace,
}

/** Name and version, as the table's head has it. */
export const labelOf = (name) => {
  const file = name === 'headrace' ? '../../../package.json' : `../../../node_modules/${name}/package.json`
  const { version } = JSON.parse(readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8'))
  return `${name} ${version}`
}
