import type { CollectorSettings, DestinationSettings, SourceSettings } from '../collector/settings.ts'
import { readConfig, strayOutboxes } from './config.ts'
import { plain, toJson } from './report.ts'
import { FINE, USAGE } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import { OUTPUTS, all, parseChoice } from './values.ts'

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

/** Flags as commander hands them over. */
export interface CheckFlags {
  readonly output: string
}

const list = (names: ReadonlyArray<string>): string => names.map((name) => plain(name)).join(', ')

const sourceLine = ({ id, enabled = true, deletions = false }: SourceSettings): string =>
  `source ${plain(id)}: ${enabled ? 'on' : 'off'}${deletions ? ', may ask for deletions' : ''}`

const urlsOf = ({ webhooks = [] }: DestinationSettings): string =>
  webhooks.length === 1 ? '1 URL' : `${String(webhooks.length)} URLs`

const destinationLine = (destination: DestinationSettings): string => {
  const { name, sources, sharedSecret, enabled = true } = destination
  const signed = sharedSecret === undefined ? 'not signed by a shared secret' : 'signed'
  return `destination ${plain(name)}: ${enabled ? 'on' : 'off'}, from ${list(sources)}, to ${urlsOf(destination)}, ${signed}`
}

const onEvent = (
  file: string,
  settings: CollectorSettings,
  output: 'lines' | 'json' | 'quiet',
  { out, err }: Terminal,
): void => {
  const { sources, destinations } = settings
  const notes = [...oversights(settings), ...strayOutboxes(settings)]
  if (output === 'json')
    out.line(
      toJson({
        t: 'checked',
        file,
        sources: sources.length,
        destinations: destinations.length,
        notes,
        faults: [],
      }),
    )
  if (output === 'lines')
    for (const line of [...sources.map(sourceLine), ...destinations.map(destinationLine)]) out.line(line)
  if (output !== 'json') for (const note of notes) err.line(`headrace check: ${note}`)
  if (output === 'lines') out.line(`${file} is right`)
}

/** `headrace check`: says what is wrong with a file for `collect`. Answers the exit code. */
export const checkCommand = (file: string, flags: CheckFlags, terminal: Terminal): number => {
  const checked = all({
    output: parseChoice('--output', flags.output, OUTPUTS),
    settings: readConfig(file, process.env),
  })
  if (checked._tag === 'Right') {
    onEvent(file, checked.right.settings, checked.right.output, terminal)
    return FINE
  }
  if (flags.output === 'json') terminal.out.line(toJson({ t: 'checked', file, faults: checked.left }))
  else for (const sentence of checked.left) terminal.err.line(`headrace check: ${sentence}`)
  return USAGE
}
