/**
 * The file of `collect`: JSON whose secrets come from the environment.
 *
 * @module
 */

import { readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { decodeCollectorSettings } from '../collector/settings.ts'
import type { CollectorSettings } from '../collector/settings.ts'
import { jsonFault } from '../core/json.ts'
import { faultText } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import { isStoreIn } from '../outbox/lmdb/store.ts'
import { wrong } from './options.ts'
import type { Checked, Environment } from './options.ts'
import { plain, whyNot } from './report.ts'

const textOf = (file: string): Checked<string> => {
  try {
    return right(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    return wrong(`${file} cannot be read: ${whyNot(error)}`)
  }
}

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

const isReference = (value: object): value is { readonly env: unknown } =>
  'env' in value && Object.keys(value).length === 1

/**
 * Replaces each `{"env":"NAME"}` by the variable's value. A missing variable is a fault, and a text stands in its place so that the rest
 * can be checked, too. Faults repeat neither name nor value: the name may be the secret itself, given by mistake.
 */
export const withSecrets = (
  config: unknown,
  env: Environment,
): { readonly config: unknown; readonly faults: ReadonlyArray<Fault> } => {
  const faults: Fault[] = []

  const valueOf = (name: unknown, path: string): unknown => {
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
      return value.map((entry: unknown, index) => resolved(entry, `${path}[${String(index)}]`))
    if (typeof value !== 'object' || value === null) return value
    if (isReference(value)) return valueOf(value.env, path)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, resolved(each, path === '' ? key : `${path}.${key}`)]),
    )
  }

  return { config: resolved(config, ''), faults }
}

/** The settings in a file, with their secrets; or all faults. */
export const readConfig = (file: string, env: Environment): Checked<CollectorSettings> => {
  const text = textOf(file)
  if (text._tag === 'Left') return text
  const config = parsed(file, text.right)
  if (config._tag === 'Left') return config
  const secrets = withSecrets(config.right, env)
  const decoded = decodeCollectorSettings(secrets.config)
  const faults = [...secrets.faults, ...(isLeft(decoded) ? decoded.left : [])]
  if (isLeft(decoded) || faults.length > 0) return left(faults.map((fault) => `${file}: ${faultText(fault)}`))
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

/** Outboxes beside those of a configuration that none of its destinations uses, in sentences: a removed destination leaves its events. */
export const strayOutboxes = ({ destinations }: CollectorSettings): ReadonlyArray<string> => {
  const own = new Set(destinations.flatMap(({ outbox }) => (outbox === undefined ? [] : [real(outbox.path)])))
  return [...new Set([...own].map((path) => dirname(path)))]
    .flatMap(foldersIn)
    .filter((folder) => !own.has(real(folder)) && isStoreIn(folder))
    .map(
      (folder) =>
        `the outbox in ${plain(folder)} belongs to no destination of this file, so its events are not sent: see headrace dead ls --outbox ${plain(folder)}`,
    )
}
