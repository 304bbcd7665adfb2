import { readFileSync } from 'node:fs'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { decodeCollectorSettings } from '../../collector/CollectorSettings.ts'
import type { CollectorSettings } from '../../collector/CollectorSettings.ts'
import { jsonFault } from '../../internal/jsonFault.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { whyNot } from '../output/whyNot.ts'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { withSecrets } from './withSecrets.ts'
import type { Environment } from './withSecrets.ts'

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
