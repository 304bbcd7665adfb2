import type { CollectorSettings } from '../../collector/CollectorSettings.ts'
import { plain } from '../output/plain.ts'

/** What is allowed in a configuration, and is mostly an oversight. In whole sentences. */
export const oversights = ({ sources, destinations }: CollectorSettings): ReadonlyArray<string> => {
  const connected = new Set(destinations.flatMap((destination) => destination.sources))
  return [
    ...sources.flatMap(({ id }) =>
      connected.has(id)
        ? []
        : [`no destination is connected to the source ${plain(id)}: its events are accepted and go nowhere`],
    ),
    ...sources.flatMap(({ id, enabled }) =>
      enabled === false ? [`the source ${plain(id)} is off: its requests are answered 404`] : [],
    ),
    ...destinations.flatMap(({ name, enabled }) =>
      enabled === false ? [`the destination ${plain(name)} is off: it gets nothing`] : [],
    ),
    ...destinations.flatMap(({ name, sharedSecret, webhooks = [] }) =>
      sharedSecret === undefined && webhooks.some(({ secret }) => secret === undefined)
        ? [`the destination ${plain(name)} has no sharedSecret: its receivers cannot tell who posts to them`]
        : [],
    ),
    ...destinations.flatMap(({ name, webhooks = [] }) =>
      webhooks.flatMap(({ url }) =>
        url.startsWith('http://') && !isLocal(url)
          ? [
              `the destination ${plain(name)} posts to ${originOf(url)} without TLS: everybody on the way can read it`,
            ]
          : [],
      ),
    ),
  ]
}

const isLocal = (url: string): boolean => /^(localhost|127\.|\[::1\])/.test(new URL(url).host)

/** A path or a query may be a credential. */
const originOf = (url: string): string => new URL(url).origin
