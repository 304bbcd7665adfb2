import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import type { Broken } from './law.ts'

/** Makes a codec of a sound one. */
export type ChangeCodec = <A, O>(codec: t.Type<A, O>) => t.Type<A, O>

type Change = <A, O>(codec: t.Type<A, O>) => Partial<Pick<t.Type<A, O>, 'is' | 'validate' | 'encode'>>

const breaking = (breaks: string, change: Change): Broken<ChangeCodec> => ({
  breaks,
  make: (codec) => {
    const { is = codec.is, validate = codec.validate, encode = codec.encode } = change(codec)
    return new t.Type(codec.name, is, validate, encode)
  },
})

let seen = 0

/** Makes codecs with one fault each of sound ones, whose values are objects. */
export const brokenCodecs: Readonly<Record<string, Broken<ChangeCodec>>> = {
  'loses a member': breaking('codec/round-trip', (codec) => ({
    // The fault: what comes out is not what the type says.
    encode: (value) => Object.fromEntries(Object.entries(codec.encode(value) as object).slice(1)) as never,
  })),
  'writes another text each time': breaking('codec/encoding-is-stable', (codec) => ({
    encode: (value) => ({ ...codec.encode(value), seen: seen++ }),
  })),
  'says yes to anything': breaking('codec/is-agrees-with-decode', () => ({ is: (_): _ is never => true })),
  'marks its input': breaking('codec/input-stays', (codec) => ({
    validate: (input, context) => {
      if (isRecord(input)) Object.assign(input, { seen: true })
      return codec.validate(input, context)
    },
  })),
  'names no place': breaking('codec/faults-name-their-place', (codec) => ({
    validate: (input, context) => {
      const read = codec.validate(input, context)
      return isLeft(read) ? t.failure(input, context, 'wrong') : read
    },
  })),
  'throws for what is no object': breaking('codec/never-throws', (codec) => ({
    validate: (input, context) => {
      Object.keys(input as object)
      return codec.validate(input, context)
    },
  })),
}
