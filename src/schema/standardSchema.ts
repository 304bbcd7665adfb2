/** Standard Schema (standardschema.dev), both ways. Its types are copied, as the specification asks. */
import { isDeepStrictEqual } from 'node:util'
import * as t from 'io-ts'
import { ignoreRejection, isPromiseLike } from '../core/awaitable.ts'
import { constVoid, valueOr } from '../core/either.ts'
import { hasFunctions, isRecord, type Fields } from '../core/json.ts'
import { checkOptions, flag, guarded, strict, withDefault } from '../core/options.ts'
import { isEither } from '../core/outcome.ts'
import { findingsOf } from '../event/codecFaults.ts'
import { UNREADABLE, toErrors, type Finding } from '../event/json.ts'

/** One finding of a Standard Schema. @inline */
interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** What a Standard Schema answers. @inline */
type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: ReadonlyArray<StandardIssue> }

/** A schema of zod, valibot, arktype and others: version 1 of Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    /** The library. */
    readonly vendor: string
    /** Answers the value, or what is wrong with it. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Exists in types only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

const LATER = 'is not judged: the schema answers later: use enrich'

const standardOptions = strict({ messages: withDefault(flag, false) })
const aSchema = guarded('a Standard Schema, version 1', (it): it is StandardSchema => {
  // Any value can be asked for a key that it lacks.
  const standard = (Object(it) as Fields)['~standard']
  return hasFunctions(standard, ['validate']) && isRecord(standard) && standard['version'] === 1
})

type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/**
 * A Standard Schema as a codec, for `validate`. Its faults have the paths of the schema. Its messages may
 * quote the input, so they are used only with `messages: true`; else a fault says `is not what the schema
 * wants`. A schema that answers later refuses each value: use `enrich`.
 *
 * @throws ConfigError for what is no Standard Schema, and for unknown options.
 *
 * @example
 * import { faultsOf } from 'headrace/events'
 * import { fromStandard, toStandard } from 'headrace/schema'
 * import * as t from 'io-ts'
 *
 * const Order = fromStandard(toStandard(t.type({ lines: t.array(t.type({ sku: t.string })) })))
 * const decoded = Order.decode({ lines: [{ sku: 7 }] })
 * if (decoded._tag === 'Left') console.log(faultsOf(decoded.left))
 * // => [ { path: 'lines[0].sku', message: 'is not what the schema wants' } ]
 */
export const fromStandard = <S extends StandardSchema>(
  schema: S,
  options: { readonly messages?: boolean } = {},
): t.Type<OutputOf<S>, unknown> => {
  const { messages } = checkOptions('options of fromStandard', standardOptions, options)
  const { vendor, validate } = checkOptions('argument of fromStandard', aSchema, schema)['~standard']
  const run = (input: unknown): StandardResult<OutputOf<S>> => {
    const result = validate(input)
    if (!isPromiseLike(result)) return result
    result.then(constVoid, constVoid)
    return { issues: [{ message: LATER }] }
  }
  return new t.Type<OutputOf<S>, unknown>(
    `${vendor} schema`,
    (value): value is OutputOf<S> => {
      const result = run(value)
      // One that changes its own output would change it again at each read of a store.
      return result.issues === undefined && isDeepStrictEqual(result.value, value)
    },
    (input, context) => {
      const result = run(input)
      if (result.issues === undefined) return t.success(result.value)
      const findings = result.issues.map(({ message, path = [] }): Finding => {
        const keys = path.map((each) => (typeof each === 'object' ? each.key : each))
        const steps = keys.map((key) => (typeof key === 'number' ? key : String(key)))
        return { steps, message: messages || message === LATER ? message : 'is not what the schema wants' }
      })
      return t.failures(toErrors(findings, context))
    },
    t.identity,
  )
}

/**
 * A codec as a Standard Schema, for tRPC, Hono, TanStack Form and others. Its messages hold no value.
 *
 * @example
 * import { Event } from 'headrace/events'
 * import { toStandard } from 'headrace/schema'
 *
 * const result = await toStandard(Event)['~standard'].validate({ type: 'track', userId: 'u1' })
 * console.log(result.issues)
 * // => [ { message: 'is missing: it must be a string that is not empty', path: [ 'event' ] } ]
 */
export const toStandard = <A, O>(codec: t.Type<A, O>): StandardSchema<O, A> => ({
  '~standard': {
    version: 1,
    vendor: 'headrace',
    validate: (value) => {
      const decoded = valueOr(undefined, () => codec.decode(value))
      ignoreRejection(decoded)
      if (!isEither(decoded)) return { issues: [{ message: UNREADABLE }] }
      if (decoded._tag === 'Right') return { value: decoded.right }
      return { issues: findingsOf(decoded.left).map(({ steps: path, message }) => ({ message, path })) }
    },
  },
})
