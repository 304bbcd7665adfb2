/**
 * Parses the values of flags. Faults are sentences for people, and all of them are told at once.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import { toTimestamp } from '../event/timestamp.ts'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'

/** A value, or sentences that name the flag and the way out. No sentence holds a secret, a header's value or a URL's query. */
export type Checked<A> = Either<ReadonlyArray<string>, A>

type Values<T> = { readonly [K in keyof T]: T[K] extends Checked<infer A> ? A : never }

/** Ends a command with exit code 2: nothing was sent. */
export class UsageError extends Error {
  readonly sentences: ReadonlyArray<string>
  constructor(sentences: ReadonlyArray<string>) {
    super(sentences.join('; '))
    this.sentences = sentences
  }
}

/** The value. @throws UsageError with every fault. */
export const orUsage = <A>(checked: Checked<A>): A => {
  if (checked._tag === 'Left') throw new UsageError(checked.left)
  return checked.right
}

export const wrong = (sentence: string): Checked<never> => left([sentence])

/** All values, or all faults. */
export const all = <T extends Readonly<Record<string, Checked<unknown>>>>(checked: T): Checked<Values<T>> => {
  const faults = Object.values(checked).flatMap((each) => (each._tag === 'Left' ? each.left : []))
  if (faults.length > 0) return left(faults)
  const values = Object.entries(checked).flatMap(([key, each]) =>
    each._tag === 'Right' ? [[key, each.right] as const] : [],
  )
  // Each key of `checked` has its value here: a Left would have returned above.
  return right(Object.fromEntries(values) as Values<T>)
}

/** One of a few words. */
export const parseChoice = <const Word extends string>(
  flag: string,
  text: string,
  words: ReadonlyArray<Word>,
): Checked<Word> => {
  const word = words.find((each) => each === text)
  const [last, ...others] = [...words].reverse()
  return word === undefined
    ? wrong(`${flag} must be ${[...others].reverse().join(', ')} or ${String(last)}`)
    : right(word)
}

/** A whole number within bounds, both included. */
export const parseCount = (flag: string, text: string, least: number, most: number): Checked<number> => {
  const count = /^\d+$/.test(text) ? Number(text) : NaN
  return count >= least && count <= most
    ? right(count)
    : wrong(`${flag} must be a whole number from ${String(least)} to ${String(most)}`)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/
/** One year. */
const LONGEST = 31_536_000_000

/**
 * A duration as people write it (`250ms`, `5s`, `1.5m`, `4h`), in whole milliseconds, from `least` to a year.
 */
export const parseDuration = (flag: string, text: string, least: 0 | 1 = 1): Checked<number> => {
  const [, amount, unit = ''] = FORM.exec(text) ?? []
  const millis = Math.round(Number(amount) * (UNITS[unit] ?? NaN))
  if (Number.isNaN(millis)) return wrong(`${flag} must be a number with a unit, such as 250ms, 5s, 10m or 4h`)
  if (millis < least) return wrong(`${flag} must be at least 1ms`)
  return millis > LONGEST ? wrong(`${flag} must be at most 8760h, which is a year`) : right(millis)
}

/** The name of a file. */
export const parseFile = (flag: string, path: string): Checked<string> =>
  path === '' ? wrong(`${flag} must be the name of a file`) : right(path)

/**
 * Headers as curl takes them, `Name: value`. The settings check names and values later. A fault names the position of the header
 * and not its text, which may be a credential.
 */
export const parseHeaders = (
  flag: string,
  texts: ReadonlyArray<string>,
): Checked<Readonly<Record<string, string>>> => {
  const entries: Array<readonly [string, string]> = []
  const seen = new Set<string>()
  for (const [at, text] of texts.entries()) {
    const place = texts.length === 1 ? flag : `${flag} number ${String(at + 1)}`
    const colon = text.indexOf(':')
    const name = text.slice(0, Math.max(0, colon)).trim()
    if (name === '') return wrong(`${place} must be a name, a colon and a value, such as 'X-Team: blue'`)
    if (seen.has(name.toLowerCase()))
      return wrong(`${place} has a name that was given before: give each header once`)
    seen.add(name.toLowerCase())
    entries.push([name, text.slice(colon + 1).trim()])
  }
  return right(Object.fromEntries(entries))
}

const RATE_FORM = /^(\d+(?:\.\d+)?)(%?)$/

/** A moment, milliseconds since 1970: `2h` for two hours ago, or a timestamp. */
export const parseMoment = (flag: string, text: string): Checked<number> => {
  const timestamp = toTimestamp(text)
  if (timestamp !== undefined) return right(Date.parse(timestamp))
  const ago = parseDuration(flag, text)
  return ago._tag === 'Right'
    ? right(systemClock.now() - ago.right)
    : wrong(`${flag} must be a time such as 2024-02-29T12:00:00Z, or how long ago, such as 2h`)
}

/** A share from 0 to 1, written `0.3` or `30%`. */
export const parseRate = (flag: string, text: string): Checked<number> => {
  const [, amount, percent] = RATE_FORM.exec(text) ?? []
  const rate = Number(amount) / (percent === '%' ? 100 : 1)
  return rate <= 1 ? right(rate) : wrong(`${flag} must be a share such as 0.3 or 30%, from 0 to 1`)
}

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The text in a variable of the environment: an argument could be read by every user of the machine. The sentence does not repeat the
 * name, which may be the secret itself, given by mistake.
 *
 * @param what what the variable holds, such as `the secret`
 * @param orElse what else may be done
 */
export const readVariable = (
  flag: string,
  name: string,
  env: Environment,
  what: string,
  orElse = '',
): Checked<string> => {
  const text = Object.hasOwn(env, name) ? env[name] : undefined
  if (text !== undefined && text !== '') return right(text)
  const found = text === '' ? 'empty' : 'not set'
  return wrong(
    `${flag} must name a variable of the environment that holds ${what}, and the one it names is ${found}: set it with export${orElse}`,
  )
}

/** The secret in a variable of the environment. A missing secret is a fault: nothing is sent unsigned by mistake. */
export const readSecret = (flag: string, name: string, env: Environment): Checked<Secret> => {
  const text = readVariable(flag, name, env, 'the secret', `, or leave ${flag} out`)
  if (text._tag === 'Left') return text
  const secret = secretFrom(text.right)
  return secret._tag === 'Right'
    ? right(secret.right)
    : wrong(`${flag} names a variable whose value cannot be a secret: it ${secret.left.message}`)
}

/** Lines for people, NDJSON for programs, or only errors and the summary. */
export type Output = 'lines' | 'json' | 'quiet'

export const OUTPUTS: ReadonlyArray<Output> = ['lines', 'json', 'quiet']
