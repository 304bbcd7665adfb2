import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import type { Broken } from './law.ts'

/** Makes a codec of a sound one. */
export type ChangeCodec = <A, O>(codec: t.Type<A, O>) => t.Type<A, O>

interface Parts<A, O> {
  readonly is?: t.Is<A>
  readonly validate?: t.Validate<unknown, A>
  readonly encode?: t.Encode<A, O>
}

const changed =
  (change: <A, O>(codec: t.Type<A, O>) => Parts<A, O>): ChangeCodec =>
  <A, O>(codec: t.Type<A, O>) => {
    const { is, validate, encode } = change(codec)
    return new t.Type<A, O>(
      codec.name,
      is ?? ((value): value is A => codec.is(value)),
      validate ?? ((input, context) => codec.validate(input, context)),
      encode ?? ((value) => codec.encode(value)),
    )
  }

const ABSENT = Symbol('absent')

/** The fault: it is never so, and it says that it is. */
const always = (value: unknown): value is never => value !== ABSENT

let seen = 0

/** Makes codecs with one fault each of sound ones, whose values are objects. */
export const brokenCodecs: Readonly<Record<string, Broken<ChangeCodec>>> = {
  'loses a member': {
    breaks: 'codec/round-trip',
    make: changed((codec) => ({
      // The fault: what comes out is not what the type says.
      encode: (value) => Object.fromEntries(Object.entries(codec.encode(value) as object).slice(1)) as never,
    })),
  },
  'writes another text each time': {
    breaks: 'codec/encoding-is-stable',
    make: changed((codec) => ({ encode: (value) => ({ ...codec.encode(value), seen: seen++ }) })),
  },
  'says yes to anything': {
    breaks: 'codec/is-agrees-with-decode',
    make: changed(() => ({ is: always })),
  },
  'marks its input': {
    breaks: 'codec/input-stays',
    make: changed((codec) => ({
      validate: (input, context) => {
        if (isRecord(input)) Object.assign(input, { seen: true })
        return codec.validate(input, context)
      },
    })),
  },
  'names no place': {
    breaks: 'codec/faults-name-their-place',
    make: changed((codec) => ({
      validate: (input, context) =>
        isLeft(codec.validate(input, context))
          ? t.failure(input, context, 'wrong')
          : codec.validate(input, context),
    })),
  },
  'throws for what is no object': {
    breaks: 'codec/never-throws',
    make: changed((codec) => ({
      validate: (input, context) => {
        Object.keys(input as object)
        return codec.validate(input, context)
      },
    })),
  },
}
