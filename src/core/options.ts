/**
 * Options and settings as io-ts decoders. Every fault is named at once, with its path. A message shows no
 * value of a `text`, and no URL: they may be secrets.
 *
 * ```ts
 * const relayOptions = strict({
 *   maxCount: withDefault(wholeNumber('items', 1), 100_000),
 *   overflow: optional(oneOf('error', 'dropOldest')),
 *   webhooks: list('with a url', 1, 5, strict({ url: text, statuses: optional(statuses) })),
 * })
 * const { maxCount } = checkOptions('relay options', relayOptions, input) // throws ConfigError
 * const decoded = decodeOptions(relayOptions, input) // Either<faults, value>
 * ```
 *
 * @module
 */

import * as t from 'io-ts'
import { isLeft, isRight, left, right, type Either } from './either.ts'
import type { Clock } from './clock.ts'
import { hasFunctions, isRecord, kindOf } from './json.ts'
import { ConfigError, unknownOption, type Fault } from './refusal.ts'

export type Faults = ReadonlyArray<Fault>

/** Decodes one option from a value that may be anything. */
export type Option<A> = t.Decoder<unknown, A>

/** An option whose key may be missing: then it has this value. Undefined: the record has no such key. */
export interface Keyed<A, Missing> extends Option<A> {
  readonly ifMissing: Missing
}

type Value<O> = O extends Option<infer A> ? A : never
/** Options by their keys. */
export type OptionShape = Readonly<Record<string, Option<unknown>>>
type MissingKeys<S> = { [K in keyof S]: S[K] extends Keyed<unknown, undefined> ? K : never }[keyof S]

/** The decoded value of `strict` of a shape. */
export type Decoded<S> = { readonly [K in Exclude<keyof S, MissingKeys<S>>]: Value<S[K]> } & {
  readonly [K in MissingKeys<S>]?: Exclude<Value<S[K]>, undefined>
}

const decoder = <A>(name: string, validate: t.Validate<unknown, A>): Option<A> => {
  return { name, validate, decode: (value) => validate(value, [{ key: '', type: t.unknown }]) }
}

const below = (context: t.Context, key: string): t.Context => [...context, { key, type: t.unknown }]

/** One step down into an array, in the form of io-ts, so that `faultsOf` knows the key for an index. */
const belowArray = (context: t.Context, index: number): t.Context => [
  ...context.slice(0, -1),
  { key: context.at(-1)?.key ?? '', type: t.UnknownArray },
  { key: String(index), type: t.unknown },
]

const errorAt = (context: t.Context, message: string): t.ValidationError => {
  return { value: undefined, context, message }
}

/**
 * An option with a check of its own: `read` answers the value (which may be another one, such as a Secret for
 * a text), one message, or faults with paths below the option. A message continues the path: `must be …`.
 */
export const option = <A>(name: string, read: (value: unknown) => Either<string | Faults, A>): Option<A> =>
  decoder(name, (value, context) => {
    const result = read(value)
    if (!isLeft(result)) return result
    const faults = typeof result.left === 'string' ? [{ path: '', message: result.left }] : result.left
    const at = (path: string) => (path === '' ? context : below(context, path))
    return t.failures(faults.map(({ path, message }) => errorAt(at(path), message)))
  })

/** An option whose faults a function finds. Without one the value is an `A`, as the caller's type says. */
export const checked = <A>(faultsOf: (value: unknown) => Faults): Option<A> =>
  option('checked', (value) => {
    const faults = faultsOf(value)
    return faults.length > 0 ? left(faults) : right(value as A) // The function has looked at every part.
  })

const shownValue = (value: unknown): string => {
  // A URL in the wrong option may hold a password.
  if (typeof value === 'string' && !value.includes('://'))
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

const mustBe = (what: string, it: unknown, shown: string): string =>
  it === undefined ? `is missing: it must be ${what}` : `must be ${what}, not ${shown}`

/** An option known by a type guard. `what` is for the message: `a function`. */
export const guarded = <A>(
  what: string,
  is: (value: unknown) => value is A,
  show: (value: unknown) => string = kindOf,
): Option<A> => option(what, (it) => (is(it) ? right(it) : left(mustBe(what, it, show(it)))))

const MAX = Number.MAX_SAFE_INTEGER

/** A whole number of a unit, which may be empty. */
export const wholeNumber = (unit: string, min: number, max: number = MAX): Option<number> => {
  const what = unit === '' ? 'a whole number' : `a whole number of ${unit}`
  const range = max === MAX ? `from ${String(min)}` : `from ${String(min)} to ${String(max)}`
  const is = (value: unknown): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
  return guarded(`${what} ${range}`, is, shownValue)
}

/** How many of something there may be: a whole number from 1, or Infinity. */
export const limit = (unit: string): Option<number> =>
  guarded(
    `a whole number of ${unit} from 1, or Infinity`,
    (value): value is number => value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 1),
    shownValue,
  )

/** Milliseconds for something that may take for ever: a number above 0, or Infinity for no limit. */
export const timeLimit: Option<number> = guarded(
  'a number of milliseconds above 0, or Infinity',
  (value): value is number => typeof value === 'number' && value > 0,
  shownValue,
)

/** A string that is not empty. */
export const text: Option<string> = guarded(
  'a string that is not empty',
  (value): value is string => typeof value === 'string' && value !== '',
  (value) => (value === '' ? 'an empty one' : kindOf(value)),
)

export const flag: Option<boolean> = guarded('true or false', (it): it is boolean => typeof it === 'boolean')

/** A function. Its type is the caller's word: parameters cannot be checked. */
export const func = <F extends (...given: never[]) => unknown>(): Option<F> =>
  guarded('a function', (value): value is F => typeof value === 'function')

export const oneOf = <A extends string | number | boolean>(...values: ReadonlyArray<A>): Option<A> => {
  const what = values.length === 1 ? values.join() : `one of ${values.join(', ')}`
  return guarded(what, (value): value is A => values.some((each) => each === value), shownValue)
}

/** An object of the host, known by its methods. `what` is for the message: `a Clock`. */
export const methods = <A extends object>(what: string, ...all: ReadonlyArray<keyof A & string>): Option<A> =>
  guarded(`${what}, an object with ${all.join(', ')}`, (value): value is A => hasFunctions(value, all))

/** The clock of the host, or a virtual one. */
export const clockOption: Option<Clock> = methods<Clock>('a Clock', 'now', 'monotonic', 'schedule')

/** The first of several options that takes the value. If none does, the only fault is `message`. */
export const anyOf = <A>(message: string, ...options: ReadonlyArray<Option<A>>): Option<A> =>
  option(message, (value) => options.map((each) => each.decode(value)).find(isRight) ?? left(message))

/** Its key may be missing or undefined: then it has the default. */
export const withDefault = <A, Default extends A>(of: Option<A>, value: Default): Keyed<A, Default> => ({
  ...decoder<A>(of.name, (given, at) => (given === undefined ? t.success(value) : of.validate(given, at))),
  ifMissing: value,
})

/** Its key may be missing or undefined. The decoded record then has no such key. */
export const optional = <A>(of: Option<A>): Keyed<A | undefined, undefined> =>
  withDefault<A | undefined, undefined>(of, undefined)

/** Its key may be missing, but not undefined: an environment may lack the variable of a secret. */
export const optionalKey = <A>(of: Option<A>): Keyed<A, undefined> => ({
  ...decoder<A>(of.name, (value, context) =>
    value === undefined
      ? t.failure(value, context, 'is undefined: set it, or leave the key out')
      : of.validate(value, context),
  ),
  ifMissing: undefined,
})

/** The paths of `rule` begin at this option. */
const withRule = <A>(errors: t.Errors, value: A, at: t.Context, rule: (it: A) => Faults): t.Validation<A> => {
  const ruled = checked<A>(() => rule(value)).validate(value, at)
  return errors.length === 0 ? ruled : t.failures([...errors, ...(isLeft(ruled) ? ruled.left : [])])
}

/**
 * A record with these options and no others. The decoded record is a copy. `rule` sees its values only if
 * each of them is right by itself. `what` is for the message.
 */
export const strict = <S extends OptionShape>(
  shape: S,
  rule: (value: Decoded<S>) => Faults = () => [],
  what = 'an object',
): Option<Decoded<S>> =>
  decoder('options', (it, at) => {
    if (!isRecord(it)) return t.failure(it, at, `must be ${what}, not ${kindOf(it)}`)
    const errors: t.ValidationError[] = []
    const decoded: Record<string, unknown> = {}
    for (const [key, of] of Object.entries(shape)) {
      const member =
        key in it || !('ifMissing' in of) ? of.validate(it[key], below(at, key)) : t.success(of.ifMissing)
      if (isLeft(member)) errors.push(...member.left)
      else if (member.right !== undefined) decoded[key] = member.right
    }
    const unknown = Object.keys(it).filter((key) => !Object.hasOwn(shape, key))
    for (const [n, key] of unknown.entries())
      errors.push(errorAt(below(at, key), unknownOption(n === 0 ? Object.keys(shape) : [])))
    // Each key of the shape was decoded by its own option.
    return errors.length > 0 ? t.failures(errors) : withRule(errors, decoded as Decoded<S>, at, rule)
  })

/** An array of `min` to `max` members. `what` names them: `entries with a url`. `rule` sees right ones. */
export const list = <A>(
  what: string,
  min: number,
  max: number,
  of: Option<A>,
  rule: (value: ReadonlyArray<A>) => Faults = () => [],
): Option<ReadonlyArray<A>> =>
  decoder(what, (input, context) => {
    const range = max === Infinity ? `${String(min)} or more` : `${String(min)} to ${String(max)}`
    const wanted = min === 0 ? `an array of ${what}` : `an array of ${range} ${what}`
    if (!Array.isArray(input)) return t.failure(input, context, mustBe(wanted, input, kindOf(input)))
    const errors: t.ValidationError[] = []
    const decoded: A[] = []
    if (input.length < min || input.length > max)
      errors.push(errorAt(context, `must have ${range} ${what}, not ${String(input.length)}`))
    Array.from<unknown>(input).forEach((each, index) => {
      const member = of.validate(each, belowArray(context, index))
      if (isLeft(member)) errors.push(...member.left)
      else decoded[index] = member.right
    })
    // A rule compares members with one another.
    return withRule(errors, decoded, context, input.length > max ? () => [] : rule)
  })

const pathOf = (context: t.Context): string =>
  context
    .map(({ key }, index) => {
      if (context[index - 1]?.type === t.UnknownArray) return `[${key}]`
      return index < 2 || key.startsWith('[') ? key : `.${key}`
    })
    .join('')

/** The value, or every fault of the input, none of which holds a secret. Never throws. */
export const decodeOptions = <A>(of: Option<A>, input: unknown): Either<Faults, A> => {
  try {
    const decoded = of.decode(input)
    if (!isLeft(decoded)) return decoded
    return left(decoded.left.map(({ context, message = 'is wrong' }) => ({ path: pathOf(context), message })))
  } catch {
    return left([{ path: '', message: 'could not be read: give plain data' }])
  }
}

/** For constructors: the value, or a ConfigError with every fault. `where` names it: `client options`. */
export const checkOptions = <A>(where: string, of: Option<A>, input: unknown): A => {
  const decoded = decodeOptions(of, input)
  if (!isLeft(decoded)) return decoded.right
  throw new ConfigError(`Invalid ${where}`, decoded.left)
}

/**
 * How long a close or a flush may take. A wrong timeout is a `Defect` for the listener, if there is one,
 * and the default is used.
 */
export interface WaitOptions {
  /**
   * Milliseconds to wait for the work: a `close` with 0 starts no more of it, `Infinity` waits for all of it.
   * Default 30,000 for `close`, no limit for `flush` and `persisted`.
   */
  readonly timeout?: number
}

/** Milliseconds of a close without a timeout. */
export const CLOSE_TIMEOUT = 30_000

/**
 * The `timeout` of a flush or a close: milliseconds from 0, or `Infinity`. Less than 0 is time that is used
 * up, so it is 0. A wrong value goes to `onWrong`, and the default is taken.
 */
export const timeoutOf = (options: unknown, byDefault: number, onWrong: (error: unknown) => void): number => {
  if (options === undefined || options === null) return byDefault
  const timeout = isRecord(options) ? (options['timeout'] ?? byDefault) : options
  if (isRecord(options) && typeof timeout === 'number' && !Number.isNaN(timeout)) return Math.max(0, timeout)
  onWrong(new TypeError(`give { timeout }: milliseconds from 0, or Infinity, not ${shownValue(timeout)}`))
  return byDefault
}
