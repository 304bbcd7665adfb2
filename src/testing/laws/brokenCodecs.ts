import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import type { Broken } from './law.ts'

/** Makes a codec of a sound one. */
export type ChangeCodec = <A, O>(codec: t.Type<A, O>) => t.Type<A, O>

const changed =
  (
    change: <A, O>(codec: t.Type<A, O>) => Partial<Pick<t.Type<A, O>, 'is' | 'validate' | 'encode'>>,
  ): ChangeCodec =>
  (codec) => {
    const { is = codec.is, validate = codec.validate, encode = codec.encode } = change(codec)
    return new t.Type(codec.name, is, validate, encode)
  }

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
    make: changed(() => ({ is: (_): _ is never => true })),
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
