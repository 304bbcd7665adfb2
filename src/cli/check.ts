import type { CollectorSettings, DestinationSettings, SourceSettings } from '../collector/settings.ts'
import { readConfig, strayOutboxes } from './config.ts'
import type { OutputOptions } from './flags.ts'
import { UsageError } from './options.ts'
import { plain, toJson } from './report.ts'
import { FINE, USAGE } from './terminal.ts'
import type { Terminal } from './terminal.ts'

const isLocal = (url: URL): boolean => /^(localhost|127\.|\[::1\])/.test(url.host)

const notesOfDestination = ({
  name,
  enabled,
  sharedSecret,
  webhooks = [],
}: DestinationSettings): ReadonlyArray<string> => {
  const destination = `the destination ${plain(name)}`
  const isUnsigned = sharedSecret === undefined && webhooks.some(({ secret }) => secret === undefined)
  return [
    ...(enabled === false ? [`${destination} is off: it gets nothing`] : []),
    ...(isUnsigned
      ? [`${destination} has no sharedSecret: its receivers cannot tell who posts to them`]
      : []),
    // Only the origin: a path or a query may be a credential.
    ...webhooks
      .map(({ url }) => new URL(url))
      .filter((url) => url.protocol === 'http:' && !isLocal(url))
      .map((url) => `${destination} posts to ${url.origin} without TLS: anyone on the way can read it`),
  ]
}

/** What is allowed in a configuration but is mostly a mistake, in sentences. */
export const oversights = ({ sources, destinations }: CollectorSettings): ReadonlyArray<string> => {
  const connected = new Set(destinations.flatMap((destination) => destination.sources))
  return [
    ...sources
      .filter(({ id }) => !connected.has(id))
      .map(
        ({ id }) =>
          `no destination is connected to the source ${plain(id)}: its events are accepted and go nowhere`,
      ),
    ...sources
      .filter(({ enabled }) => enabled === false)
      .map(({ id }) => `the source ${plain(id)} is off: its requests are answered 404`),
    ...destinations.flatMap(notesOfDestination),
  ]
}

const sourceLine = ({ id, enabled = true, deletions = false }: SourceSettings): string =>
  `source ${plain(id)}: ${enabled ? 'on' : 'off'}${deletions ? ', may ask for deletions' : ''}`

const destinationLine = (destination: DestinationSettings): string => {
  const { name, sources, sharedSecret, webhooks = [], enabled = true } = destination
  const from = sources.map((source) => plain(source)).join(', ')
  const urls = webhooks.length === 1 ? '1 URL' : `${String(webhooks.length)} URLs`
  const signed = sharedSecret === undefined ? 'not signed by a shared secret' : 'signed'
  return `destination ${plain(name)}: ${enabled ? 'on' : 'off'}, from ${from}, to ${urls}, ${signed}`
}

/** `headrace check`: says what is wrong with a file for `collect`. */
export const checkCommand = (file = '', { output }: OutputOptions, { out, err, host }: Terminal): number => {
  const checked = readConfig(file, host.env)
  if (checked._tag === 'Left') {
    if (output !== 'json') throw new UsageError(checked.left)
    out.line(toJson({ t: 'checked', file, faults: checked.left }))
    return USAGE
  }
  const settings = checked.right
  const { sources, destinations } = settings
  const notes = [...oversights(settings), ...strayOutboxes(settings)]
  if (output === 'json') {
    const counts = { sources: sources.length, destinations: destinations.length }
    out.line(toJson({ t: 'checked', file, ...counts, notes, faults: [] }))
    return FINE
  }
  for (const note of notes) err.line(`headrace check: ${note}`)
  if (output === 'lines')
    for (const line of [...sources.map(sourceLine), ...destinations.map(destinationLine), `${file} is valid`])
      out.line(line)
  return FINE
}
