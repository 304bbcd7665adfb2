import { right } from 'fp-ts/lib/Either.js'
import { NEVER, of } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { type Payload, bodyOf } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import { sign } from '../../src/operators/sign.ts'
import type { ObservableEither } from '../../src/core/outcome.ts'
import { secretFrom } from '../../src/signing/secret.ts'
import { verifyRaw } from '../../src/signing/verify.ts'

const payload: Payload<string> = { id: 'm1', items: ['one'], text: '{"a":1}', byteLength: 7 }

const valuesOf = <T>(rail: ObservableEither<unknown, T>): ReadonlyArray<T> => {
  const values: T[] = []
  rail.subscribe((each) => each._tag === 'Right' && values.push(each.right))
  return values
}

describe('sign', () => {
  it('gives each payload a signer and changes nothing else', () => {
    const [signed] = valuesOf(of(right(payload)).pipe(sign('s')))
    expect(signed).toMatchObject(payload)
    expect(verifyRaw('s', bodyOf(payload, 0), signed?.signer?.(bodyOf(payload, 0)))._tag).toBe('Right')
    expect(payload.signer).toBeUndefined()
  })

  it('signs a batch as it goes out, envelope included', () => {
    const [signed] = valuesOf(of(right(payload), right(payload)).pipe(batch(), sign('s')))
    if (signed === undefined) throw new Error('nothing came out')
    expect(bodyOf(signed, 0)).toBe('[{"a":1},{"a":1}]')
    expect(verifyRaw('s', '[{"a":1},{"a":1}]', signed.signer?.(bodyOf(signed, 0)))._tag).toBe('Right')
  })

  it('gives one secret one signer, whatever the pipeline', () => {
    const secret = secretFrom('s')
    if (secret._tag === 'Left') throw new Error(secret.left.message)
    const signers = [sign(secret.right), sign(secret.right)].flatMap((each) =>
      valuesOf(of(right(payload)).pipe(each)),
    )
    expect(signers[0]?.signer).toBe(signers[1]?.signer)
  })

  it.each(['', ' s', 's\n'])('throws for the secret %j when the pipeline is put together', (secret) =>
    expect(() => sign(secret)).toThrow(TypeError),
  )

  it('keeps both types', () => {
    const source: ObservableEither<'ended', Payload<{ readonly n: number }>> = NEVER
    expectTypeOf(source.pipe(sign('s'))).toEqualTypeOf<
      ObservableEither<'ended', Payload<{ readonly n: number }>>
    >()
  })
})
