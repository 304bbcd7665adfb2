import { readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { decodeCollectorSettings } from '../collector/settings.ts'
import type { CollectorSettings } from '../collector/settings.ts'
import { jsonFault } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import { isStoreIn } from '../outbox/lmdb/store.ts'
import { whyNot, plain } from './report.ts'
import { wrong } from './values.ts'
import type { Checked } from './values.ts'

const sentenceOf =
  (file: string) =>
  ({ path, message }: Fault): string =>
    path === '' ? `${file}: ${message}` : `${file}: ${path} ${message}`

/** `line 3, column 7`, both from 1. */
const placeIn = (text: string, at: number): string => {
  const before = text.slice(0, at).split('\n')
  return `line ${String(before.length)}, column ${String((before.at(-1) ?? '').length + 1)}`
}

const parsed = (file: string, text: string): Checked<unknown> => {
  try {
    const value: unknown = JSON.parse(text)
    return right(value)
  } catch {
    const { at, expected } = jsonFault(text) ?? { at: 0, expected: 'a value' }
    return wrong(`${file} is not JSON: at ${placeIn(text, at)} there should be ${expected}`)
  }
}

const textOf = (file: string): Checked<string> => {
  try {
    return right(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    return wrong(`${file} cannot be read: ${whyNot(error)}`)
  }
}

/** The settings of a collector in a JSON file, with their secrets from the environment; or all that is wrong with them. */
export const readConfig = (file: string, env: Environment): Checked<CollectorSettings> => {
  const text = textOf(file)
  if (text._tag === 'Left') return text
  const config = parsed(file, text.right)
  if (config._tag === 'Left') return config
  const secrets = withSecrets(config.right, env)
  const decoded = decodeCollectorSettings(secrets.config)
  const faults = [...secrets.faults, ...(isLeft(decoded) ? decoded.left : [])]
  if (isLeft(decoded) || faults.length > 0) return left(faults.map(sentenceOf(file)))
  return decoded
}

const real = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

const foldersIn = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => join(path, name))
  } catch {
    return []
  }
}

/**
 * Outboxes that lie beside those of a configuration, and that none of its destinations has: a destination that was taken out leaves its events
 * behind. In whole sentences.
 */
export const strayOutboxes = ({ destinations }: CollectorSettings): ReadonlyArray<string> => {
  const own = new Set(destinations.flatMap(({ outbox }) => (outbox === undefined ? [] : [real(outbox.path)])))
  return [...new Set([...own].map((path) => dirname(path)))]
    .flatMap(foldersIn)
    .filter((folder) => !own.has(real(folder)) && isStoreIn(folder))
    .map(
      (folder) =>
        `the outbox in ${plain(folder)} belongs to no destination of this file, so what waits there may be sent by nobody: see headrace dead ls --outbox ${plain(folder)}`,
    )
}

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>

const isReference = (value: object): value is { readonly env: unknown } =>
  'env' in value && Object.keys(value).length === 1

const stepTo = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** A configuration whose secrets have been looked up. */
export interface Resolved {
  /** With a text of its own in place of each secret that is missing, so that the rest can be checked all the same. */
  readonly config: unknown
  readonly faults: ReadonlyArray<Fault>
}

/**
 * A configuration with what the environment holds in place of each `{"env":"NAME"}`, so that no secret need stand in the file. Every
 * variable that is missing is a fault. Neither its name nor a value is repeated: the name may be the secret itself, given by
 * mistake.
 */
export const withSecrets = (config: unknown, env: Environment): Resolved => {
  const faults: Fault[] = []

  const valueOf = (name: unknown, path: string): unknown => {
    const value = typeof name === 'string' && Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && value !== '') return value
    const found = value === '' ? 'is empty' : 'is not set'
    faults.push({
      path,
      message:
        typeof name === 'string'
          ? `names a variable of the environment that ${found}: set it with export`
          : 'must be {"env": "NAME"}, with the name of a variable of the environment',
    })
    return `missing-${String(faults.length)}`
  }

  const resolved = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) {
      const entries: ReadonlyArray<unknown> = value
      return entries.map((entry, index) => resolved(entry, `${path}[${String(index)}]`))
    }
    if (typeof value !== 'object' || value === null) return value
    if (isReference(value)) return valueOf(value.env, path)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, resolved(each, stepTo(path, key))]),
    )
  }

  return { config: resolved(config, ''), faults }
}
