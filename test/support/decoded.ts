import { isLeft } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { faultsOf } from '../../src/event/index.ts'
import type { Fault } from '../../src/index.ts'

export const faultsIn = (codec: t.Mixed, input: unknown): ReadonlyArray<Fault> => {
  const read = codec.decode(input)
  return isLeft(read) ? faultsOf(read.left) : []
}

export const pathsIn = (codec: t.Mixed, input: unknown) => faultsIn(codec, input).map(({ path }) => path)

export const textsIn = (codec: t.Mixed, input: unknown): ReadonlyArray<string> =>
  faultsIn(codec, input).map(({ path, message }) => `${path}: ${message}`)

export const decoded = <A>(codec: t.Type<A, unknown>, input: unknown): A => {
  const read = codec.decode(input)
  if (read._tag === 'Right') return read.right
  throw new Error(textsIn(codec, input).join('; '))
}
