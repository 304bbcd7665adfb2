/** How flags stand in the help, and how their texts become values. */
import { Option } from 'commander'
import * as E from 'fp-ts/lib/Either.js'
import { flow, pipe } from 'fp-ts/lib/function.js'
import { lefts, type Either } from '../core/either.ts'
import { systemClock } from '../core/clock.ts'
import { messageOf } from '../core/failure.ts'
import { toTimestamp } from '../event/timestamp.ts'
import { secretFrom, type Secret } from '../signing/secret.ts'

/** Ends a command with exit code 2; nothing was sent. It holds no secret, header value or URL query. */
export class UsageError extends Error {
  readonly sentences: ReadonlyArray<string>
  constructor(...sentences: ReadonlyArray<string>) {
    super(sentences.join('; '))
    this.sentences = sentences
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a text, or a fault: a sentence that follows the flag's name and does not repeat the text. */
type Parse<A> = (text: string, env: Environment) => Either<string, A>

/** A flag is read from all texts that were given for it. */
export interface Flag<A> {
  readonly option: Option
  readonly read: (texts: ReadonlyArray<string>, env: Environment) => Either<string, A>
}

export type ValuesOf<F> = { readonly [K in keyof F]: F[K] extends Flag<infer A> ? A : never }

const flag = <A, B>(form: string, help: string, parse: Parse<A>, absent: Either<string, B>): Flag<A | B> => ({
  option: new Option(form, help),
  read: ([text], env): Either<string, A | B> => (text === undefined ? absent : parse(text, env)),
})

export const optional = <A>(form: string, help: string, parse: Parse<A>): Flag<A | undefined> =>
  flag(form, help, parse, E.right(undefined))

export const required = <A>(form: string, help: string, parse: Parse<A>): Flag<A> =>
  flag(form, help, parse, E.left(`is missing: give ${help}`))

export const withDefault = <A>(form: string, help: string, preset: string, parse: Parse<A>): Flag<A> => ({
  option: new Option(form, help).default(preset),
  read: ([text = preset], env) => parse(text, env),
})

export const repeated = <A>(form: string, help: string, read: Flag<A>['read']): Flag<A> => ({
  option: new Option(form, help).argParser((text, all?: ReadonlyArray<string>) => [...(all ?? []), text]),
  read,
})

export const toggle = (form: string, help: string): Flag<boolean> => ({
  option: new Option(form, help),
  read: ({ length }) => E.right(length > 0),
})

/** Commander gives a text, texts, `true` for a toggle, or nothing. */
type Given = Readonly<Record<string, string | ReadonlyArray<string> | true | undefined>>

/** The values of all flags. @throws UsageError with every fault */
export const valuesOf = <F extends Readonly<Record<string, Flag<unknown>>>>(
  flags: F,
  given: Given,
  env: Environment,
): ValuesOf<F> => {
  const all = Object.entries(flags).map(([key, { option, read }]) => {
    const texts = [given[option.attributeName()] ?? []].flat().map(String)
    const named = (fault: string) => `${String(option.long)} ${fault}`
    return E.bimap(named, (value) => [key, value] as const)(read(texts, env))
  })
  const faults = lefts(all)
  if (faults.length > 0) throw new UsageError(...faults)
  // Each key has the value that its own flag has read.
  return Object.fromEntries(all.flatMap((each) => (E.isRight(each) ? [each.right] : []))) as ValuesOf<F>
}

/** The value of an argument. @throws UsageError */
export const valueOf = <A>(name: string, read: Either<string, A>): A => {
  if (E.isLeft(read)) throw new UsageError(`${name} ${read.left}`)
  return read.right
}

/** A package that is an optional peer. @throws UsageError if it is not installed */
export const peer = async <M>(name: string, module: Promise<M>, flag = ''): Promise<M> =>
  module.catch((error: unknown) => {
    if (!messageOf(error).includes(`'${name}'`)) throw error
    throw new UsageError(
      `${flag}needs the package ${name}, which is not installed: run "npm install ${name}"`,
    )
  })

export const text: Parse<string> = (given) => (given === '' ? E.left('must not be empty') : E.right(given))

export const isPostgres = (given: string): boolean => /^postgres(ql)?:\/\//.test(given)

/** A folder, or a URL without a password, which would be before the @ or a parameter. */
export const place: Parse<string> = (given) => {
  if (/^\w+:\/*[^@]*:[^]*@|[?&]password=/i.test(given))
    return E.left('must have no password: others can read it; use --outbox-env, PGPASSWORD or a .pgpass file')
  const isOther = /^(\w+:\/\/|postgres(ql)?:)/i.test(given) && !isPostgres(given)
  return isOther ? E.left('must be a folder, or a URL such as postgres://user@host/db') : text(given, {})
}

export const placeVariable: Parse<string> = (name, env) =>
  E.filterOrElse(isPostgres, () => 'names a variable without a postgres:// URL')(variable(name, env))

export const choice = <const Word extends string>(...words: ReadonlyArray<Word>): Parse<Word> => {
  const fault = `must be ${words.slice(0, -1).join(', ')} or ${words.slice(-1).join('')}`
  return (given) => E.fromNullable(fault)(words.find((each) => each === given))
}

/** A whole number within bounds, both included. */
export const count = (min: number, max: number) => (given: string) => {
  const number = /^\d+$/.test(given) ? Number(given) : NaN
  if (number >= min && number <= max) return E.right(number)
  return E.left(`must be a whole number from ${String(min)} to ${String(max)}`)
}

const MILLIS_OF_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const YEAR_MS = 31_536_000_000

/** A duration (`250ms`, `5s`, `1.5m`, `4h`) in whole milliseconds, from `min` to a year. */
export const duration = (min: 0 | 1) => (given: string) => {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(given) ?? []
  const millis = Math.round(Number(amount) * (MILLIS_OF_UNIT[unit] ?? NaN))
  if (Number.isNaN(millis)) return E.left('must be a number with a unit, such as 250ms, 5s, 10m or 4h')
  if (millis < min) return E.left('must be at least 1ms')
  return millis > YEAR_MS ? E.left('must be at most 8760h, which is a year') : E.right(millis)
}

/** A moment, milliseconds since 1970: `2h` for two hours ago, or a timestamp. */
export const moment: Parse<number> = (given) => {
  const timestamp = toTimestamp(given)
  const ago = duration(1)(given)
  if (timestamp !== undefined) return E.right(Date.parse(timestamp))
  if (E.isRight(ago)) return E.right(systemClock.now() - ago.right)
  return E.left('must be a time such as 2024-02-29T12:00:00Z, or how long ago, such as 2h')
}

/** A share from 0 to 1, written `0.3` or `30%`. */
export const rate: Parse<number> = (given) => {
  const [, amount, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(given) ?? []
  const share = Number(amount) / (percent === '%' ? 100 : 1)
  return share <= 1 ? E.right(share) : E.left('must be a share such as 0.3 or 30%, from 0 to 1')
}

/** Headers as curl takes them, `Name: value`. A fault names the position: the text may be a credential. */
export const headers: Flag<Readonly<Record<string, string>>>['read'] = (texts) => {
  const entries = texts.map((each) => {
    const colon = each.indexOf(':')
    return [each.slice(0, Math.max(0, colon)).trim(), each.slice(colon + 1).trim()] as const
  })
  const names = entries.map(([name]) => name.toLowerCase())
  const at = names.findIndex((name, index) => name === '' || names.indexOf(name) < index)
  if (at === -1) return E.right(Object.fromEntries(entries))
  const fault =
    names[at] === ''
      ? "must be a name, a colon and a value, such as 'X-Team: blue'"
      : 'has a name that was given before: give each header once'
  return E.left(texts.length === 1 ? fault : `number ${String(at + 1)} ${fault}`)
}

/** The text in a variable of the environment: an argument could be read by every user of the machine. */
export const variable: Parse<string> = (name, env) => {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (value !== undefined && value !== '') return E.right(value)
  // The name may be the secret itself, given by mistake.
  const found = value === '' ? 'empty' : 'not set'
  return E.left(`names a variable of the environment that is ${found}: set it with export`)
}

/** Headers whose values are in variables, `Name=VARIABLE`. */
export const headerVariables: Flag<Readonly<Record<string, string>>>['read'] = (texts, env) => {
  const lines: string[] = []
  for (const [at, each] of texts.entries()) {
    const [, name = '', from = ''] = /^([^=:]+)=(.+)$/.exec(each) ?? []
    const value = name === '' ? E.left('must be NAME=VARIABLE') : variable(from, env)
    if (E.isLeft(value)) return E.left(`number ${String(at + 1)} ${value.left}`)
    lines.push(`${name}: ${value.right}`)
  }
  return headers(lines, env)
}

export const httpUrl: Parse<URL> = (given) =>
  /^https?:\/\/[^/?#@]+([/?#]|$)/.test(given) && URL.canParse(given)
    ? E.right(new URL(given))
    : E.left('must be a URL without a user, such as http://127.0.0.1:8080/hook')

export const linkVariable: Parse<URL> = (name, env) => {
  const link = variable(name, env)
  if (E.isLeft(link)) return link
  const isLink = /^https?:\/\/\S+\/#t=/.test(link.right) && URL.canParse(link.right)
  if (isLink) return E.right(new URL(link.right))
  return E.left('names a variable without a link as --inspect prints it, such as http://127.0.0.1:49152/#t=…')
}

const toSecret = flow(
  secretFrom,
  E.mapLeft(({ message }) => `names a variable whose value cannot be a secret: it ${message}`),
)

/** The secret in a variable. A missing one is a fault: nothing is sent unsigned by mistake. */
export const secret: Parse<Secret> = (name, env) => pipe(variable(name, env), E.chain(toSecret))

/** Lines for people, NDJSON for programs, or only errors and the summary. */
export const OUTPUTS = ['lines', 'json', 'quiet'] as const
/** The same, or a view that is redrawn; `auto`: the view on a terminal, else lines. */
export const FORMS = ['auto', 'live', ...OUTPUTS] as const
export type OutputForm = (typeof FORMS)[number]
export type Output = Exclude<OutputForm, 'auto'>
