/** The file of `collect`: JSON with secrets from the environment. `check` prints its faults. */
import { readFileSync } from 'node:fs'
import { isLeft, left } from '../core/either.ts'
import { decodeCollectorSettings, type CollectorSettings } from '../collector/settings.ts'
import { isRecord, jsonFault } from '../core/json.ts'
import { faultText, type Fault } from '../core/refusal.ts'
import type { WebhookSettings } from '../destination/settings.ts'
import { counted } from '../log/debug.ts'
import type { OptionsOf } from './flags.ts'
import { UsageError, variable, type Environment } from './options.ts'
import { toJson, whyNot } from './report.ts'
import { FINE, USAGE, plain, type Terminal } from './terminal.ts'

const parsedFile = (file: string): unknown => {
  let text = ''
  try {
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new UsageError(`${file} cannot be read: ${whyNot(error)}`)
    const before = text.slice(0, jsonFault(text)).split('\n')
    const place = `line ${String(before.length)}, column ${String((before.at(-1) ?? '').length + 1)}`
    throw new UsageError(`${file} is not JSON at ${place}`)
  }
}

/** Replaces each `{"env":"NAME"}` by that variable; a missing one by a text, to check the rest too. */
const withSecrets = (value: unknown, env: Environment, path: string, faults: Fault[]): unknown => {
  if (Array.isArray(value))
    return value.map((each: unknown, at) => withSecrets(each, env, `${path}[${String(at)}]`, faults))
  if (!isRecord(value)) return value
  const all = Object.entries(value)
  if (all.length !== 1 || !('env' in value)) {
    const pathOf = (part: string): string => (path === '' ? part : `${path}.${part}`)
    return Object.fromEntries(all.map(([part, each]) => [part, withSecrets(each, env, pathOf(part), faults)]))
  }
  const read =
    typeof value['env'] === 'string'
      ? variable(value['env'], env)
      : left('must be {"env": "NAME"}, with the name of a variable of the environment')
  if (!isLeft(read)) return read.right
  faults.push({ path, message: read.left })
  return `missing-${String(faults.length)}`
}

/** The settings in a file, with their secrets, and as they are written there. */
export type Config = Readonly<Record<'settings' | 'written', CollectorSettings>>

/** @throws UsageError with all faults */
export const readConfig = (file: string, env: Environment): Config => {
  const missing: Fault[] = []
  const written = withSecrets(parsedFile(file), env, '', missing)
  const decoded = decodeCollectorSettings(written)
  const faults = [...missing, ...(isLeft(decoded) ? decoded.left : [])]
  if (isLeft(decoded) || faults.length > 0)
    throw new UsageError(...faults.map((fault) => `${file}: ${faultText(fault)}`))
  // Decoding succeeded, so the value has this form.
  return { settings: decoded.right, written: written as CollectorSettings }
}

/** Sources and destinations by their names, with all that is written of them. */
const entriesOf = ({ sources, destinations }: CollectorSettings) =>
  new Map([
    ...sources.map((each) => [`source ${plain(each.id)}`, JSON.stringify(each)] as const),
    ...destinations.map((each) => [`destination ${plain(each.name)}`, JSON.stringify(each)] as const),
  ])

/** How a file differs from the one before, without its values: `destination b added`. */
export const changesOf = (before: Config, next: Config): ReadonlyArray<string> => {
  const old = entriesOf(before.written)
  const now = entriesOf(next.written)
  const others = [...now.keys()].filter((name) => old.get(name) !== now.get(name))
  const changed = others.map((name) => `${name} ${old.has(name) ? 'changed' : 'added'}`)
  const removed = [...old.keys()].filter((name) => !now.has(name)).map((name) => `${name} removed`)
  return [...changed, ...removed]
}

const isLocalUrl = (url: URL): boolean => /^(localhost|127\.|\[::1\])/.test(url.host)

/** Sentences about settings that are allowed but mostly a mistake. */
const notesOf = ({ sources, destinations }: CollectorSettings): ReadonlyArray<string> => {
  const notes: string[] = []
  for (const { id } of sources)
    if (!destinations.some((destination) => destination.sources.includes(id)))
      notes.push(`no destination is connected to the source ${plain(id)}: its events go nowhere`)
  for (const { name, sharedSecret, standardSecret, webhooks = [] } of destinations) {
    const destination = `the destination ${plain(name)}`
    const isSigned = (each: WebhookSettings): boolean =>
      (each.secret ?? each.standardSecret ?? sharedSecret ?? standardSecret) !== undefined
    if (!webhooks.every(isSigned))
      notes.push(`${destination} has no sharedSecret: its receivers cannot tell who posts to them`)
    for (const url of webhooks.map((webhook) => new URL(webhook.url)))
      // Only the origin: a path or a query may be a credential.
      if (url.protocol === 'http:' && !isLocalUrl(url))
        notes.push(`${destination} posts to ${url.origin} without TLS: anyone on the way can read it`)
  }
  return notes
}

export const checkCommand = ({ output }: OptionsOf<'check'>, { out, err, host }: Terminal, file: string) => {
  try {
    const { settings } = readConfig(file, host.env)
    const notes = notesOf(settings)
    const sources = settings.sources.length
    const destinations = settings.destinations.length
    if (output === 'json') out.line(toJson({ t: 'checked', file, sources, destinations, notes, faults: [] }))
    else for (const note of notes) err.line(`headrace check: ${note}`)
    if (output === 'lines')
      out.line(`${file} is valid: ${counted(sources, 'source')}, ${counted(destinations, 'destination')}`)
    return FINE
  } catch (error) {
    if (output !== 'json' || !(error instanceof UsageError)) throw error
    out.line(toJson({ t: 'checked', file, faults: error.sentences }))
    return USAGE
  }
}
