/** The file of `collect`, JSON whose secrets come from the environment; and `check`, which says what is wrong with it. */
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { decodeCollectorSettings } from '../collector/settings.ts'
import type { CollectorSettings, DestinationSettings } from '../collector/settings.ts'
import { isRecord, jsonFault } from '../core/json.ts'
import { faultText } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import type { OutputOptions } from './flags.ts'
import { UsageError } from './options.ts'
import type { Environment } from './options.ts'
import { plain, toJson, whyNot } from './report.ts'
import { FINE, USAGE } from './terminal.ts'
import type { Terminal } from './terminal.ts'

const parsed = (file: string): unknown => {
  let text = ''
  try {
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new UsageError(`${file} cannot be read: ${whyNot(error)}`)
    const { at, expected } = jsonFault(text) ?? { at: 0, expected: 'a value' }
    const before = text.slice(0, at).split('\n')
    const place = `line ${String(before.length)}, column ${String((before.at(-1) ?? '').length + 1)}`
    throw new UsageError(`${file} is not JSON: at ${place} there should be ${expected}`)
  }
}

/**
 * Replaces each `{"env":"NAME"}` by the variable's value. A missing variable is a fault, and a text stands in its place so that the rest
 * can be checked, too. Faults repeat neither name nor value: the name may be the secret itself, given by mistake.
 */
const withSecrets = (config: unknown, env: Environment, faults: Fault[]): unknown => {
  const valueOf = (name: unknown, path: string): string => {
    const value = typeof name === 'string' && Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && value !== '') return value
    const found = value === '' ? 'is empty' : 'is not set'
    const message =
      typeof name === 'string'
        ? `names a variable of the environment that ${found}: set it with export`
        : 'must be {"env": "NAME"}, with the name of a variable of the environment'
    faults.push({ path, message })
    return `missing-${String(faults.length)}`
  }

  const resolved = (value: unknown, path: string): unknown => {
    if (Array.isArray(value))
      return value.map((each: unknown, at) => resolved(each, `${path}[${String(at)}]`))
    if (!isRecord(value)) return value
    const entries = Object.entries(value)
    if (entries.length === 1 && 'env' in value) return valueOf(value['env'], path)
    return Object.fromEntries(
      entries.map(([key, each]) => [key, resolved(each, path === '' ? key : `${path}.${key}`)]),
    )
  }
  return resolved(config, '')
}

/** The settings in a file, with their secrets. @throws UsageError with all faults */
export const readConfig = (file: string, env: Environment): CollectorSettings => {
  const missing: Fault[] = []
  const decoded = decodeCollectorSettings(withSecrets(parsed(file), env, missing))
  const faults = [...missing, ...(isLeft(decoded) ? decoded.left : [])]
  if (isLeft(decoded) || faults.length > 0)
    throw new UsageError(...faults.map((fault) => `${file}: ${faultText(fault)}`))
  return decoded.right
}

const isLocal = (url: URL): boolean => /^(localhost|127\.|\[::1\])/.test(url.host)

const notesOfDestination = (settings: DestinationSettings): ReadonlyArray<string> => {
  const { name, enabled, sharedSecret, webhooks = [] } = settings
  const destination = `the destination ${plain(name)}`
  const isUnsigned = sharedSecret === undefined && webhooks.some(({ secret }) => secret === undefined)
  const unsafe = webhooks
    .map(({ url }) => new URL(url))
    .filter((url) => url.protocol === 'http:' && !isLocal(url))
  return [
    enabled === false ? `${destination} is off: it gets nothing` : '',
    isUnsigned ? `${destination} has no sharedSecret: its receivers cannot tell who posts to them` : '',
    // Only the origin: a path or a query may be a credential.
    ...unsafe.map(
      (url) => `${destination} posts to ${url.origin} without TLS: anyone on the way can read it`,
    ),
  ].filter(Boolean)
}

/** What is allowed in a configuration but is mostly a mistake, in sentences. */
const notesOf = (settings: CollectorSettings): ReadonlyArray<string> => {
  const { sources, destinations } = settings
  const notesOfSource = ({ id, enabled }: CollectorSettings['sources'][number]): ReadonlyArray<string> => {
    const isConnected = destinations.some((destination) => destination.sources.includes(id))
    const unconnected = `no destination is connected to the source ${plain(id)}: its events are accepted and go nowhere`
    const off = `the source ${plain(id)} is off: its requests are answered 404`
    return [...(isConnected ? [] : [unconnected]), ...(enabled === false ? [off] : [])]
  }
  return [...sources.flatMap(notesOfSource), ...destinations.flatMap(notesOfDestination)]
}

const linesOf = ({ sources, destinations }: CollectorSettings): ReadonlyArray<string> => [
  ...sources.map(({ id, enabled }) => `source ${plain(id)}: ${enabled === false ? 'off' : 'on'}`),
  ...destinations.map(({ name, enabled, sources: ids, sharedSecret, webhooks = [] }) => {
    const from = ids.map((id) => plain(id)).join(', ')
    const urls = webhooks.length === 1 ? '1 URL' : `${String(webhooks.length)} URLs`
    const signed = sharedSecret === undefined ? 'not signed by a shared secret' : 'signed'
    return `destination ${plain(name)}: ${enabled === false ? 'off' : 'on'}, from ${from}, to ${urls}, ${signed}`
  }),
]

/** `headrace check`: says what is wrong with a file for `collect`. */
export const checkCommand = (
  { output }: OutputOptions,
  { out, err, host }: Terminal,
  file: string,
): number => {
  try {
    const settings = readConfig(file, host.env)
    const notes = notesOf(settings)
    const [sources, destinations] = [settings.sources.length, settings.destinations.length]
    if (output === 'json') out.line(toJson({ t: 'checked', file, sources, destinations, notes, faults: [] }))
    else for (const note of notes) err.line(`headrace check: ${note}`)
    if (output === 'lines') for (const line of [...linesOf(settings), `${file} is valid`]) out.line(line)
    return FINE
  } catch (error) {
    if (output !== 'json' || !(error instanceof UsageError)) throw error
    out.line(toJson({ t: 'checked', file, faults: error.sentences }))
    return USAGE
  }
}
