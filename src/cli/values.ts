/**
 * What a person typed, read into a value; or what is wrong with it, in plain sentences, all at once.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'

/** A value, or sentences that each name a flag and the way out. None holds a secret, a header's value or a URL's query. */
export type Checked<A> = Either<ReadonlyArray<string>, A>

type Values<T> = { readonly [K in keyof T]: T[K] extends Checked<infer A> ? A : never }

/** One thing is wrong. */
export const wrong = (sentence: string): Checked<never> => left([sentence])

/** A flag that was not given has the value undefined. */
export const ifGiven = <A>(
  text: string | undefined,
  parse: (text: string) => Checked<A>,
): Checked<A | undefined> => (text === undefined ? right(undefined) : parse(text))

/** All values, or everything that is wrong with any of them. */
export const all = <T extends Readonly<Record<string, Checked<unknown>>>>(checked: T): Checked<Values<T>> => {
  const faults = Object.values(checked).flatMap((each) => (each._tag === 'Left' ? each.left : []))
  if (faults.length > 0) return left(faults)
  const values = Object.entries(checked).flatMap(([key, each]) =>
    each._tag === 'Right' ? [[key, each.right] as const] : [],
  )
  // Each key has its value, for none was left out.
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
/** A year: a longer wait is a slip of the finger. */
const LONGEST = 31_536_000_000

/**
 * A duration as people write it (`250ms`, `5s`, `1.5m`, `4h`), in whole milliseconds, from `least` to a year.
 *
 * @param flag its name, for the sentence
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
 * Headers as curl has them, `Name: value`. What a name and a value may be is for the settings to say; here only the form is
 * looked at, and that no name is there twice. What is wrong is named by its place: the text may be a credential.
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

/** A share, from 0 to 1; `30%` is another way to write `0.3`. */
export const parseRate = (flag: string, text: string): Checked<number> => {
  const [, amount, percent] = RATE_FORM.exec(text) ?? []
  const rate = Number(amount) / (percent === '%' ? 100 : 1)
  return rate <= 1 ? right(rate) : wrong(`${flag} must be a share such as 0.3 or 30%, from 0 to 1`)
}

/**
 * The text in a variable of the environment, so that a secret is never in an argument, where every user of the machine can read it. A
 * variable that is not set or is empty is an error. The variable's name is not repeated either: it may be the secret itself,
 * given by mistake.
 *
 * @param what what it holds, such as `the secret`
 * @param orElse what else may be done about it
 */
export const readVariable = (
  flag: string,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
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

/** The secret that stands in a variable of the environment. One that is missing is never a reason to send unsigned (DE10). */
export const readSecret = (
  flag: string,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Checked<Secret> => {
  const text = readVariable(flag, name, env, 'the secret', `, or leave ${flag} out`)
  if (text._tag === 'Left') return text
  const secret = secretFrom(text.right)
  return secret._tag === 'Right'
    ? right(secret.right)
    : wrong(`${flag} names a variable whose value cannot be a secret: it ${secret.left.message}`)
}

/** A time as a reader wants it: `12ms`, `1.2s`, `3m 20s`, `3h 59m`. */
export const showMillis = (millis: number): string => {
  if (millis < 999.5) return `${String(Math.round(millis))}ms`
  const tenths = Math.round(millis / 100)
  if (tenths < 600) return `${String(tenths / 10)}s`
  const seconds = Math.round(millis / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${String(minutes)}m ${String(seconds % 60)}s`
  return `${String(Math.floor(minutes / 60))}h ${String(minutes % 60)}m`
}

/** Lines for people, NDJSON for programs, or nothing but complaints and the account. */
export type Output = 'lines' | 'json' | 'quiet'

/** All of them. */
export const OUTPUTS: ReadonlyArray<Output> = ['lines', 'json', 'quiet']
