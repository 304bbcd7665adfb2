/** What `batch` says of foreign code and of values that cannot be joined, and what it hands back when it is cut in the middle. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { NEVER, Subject, firstValueFrom, lastValueFrom, materialize, of, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { EventPayload, Payload } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'

const payload = (text: string): EventPayload<string> => ({
  id: text,
  items: [text],
  text,
  byteLength: text.length,
})

/** The message that the stream fails with. */
const errorOf = async (given: Payload<string>): Promise<unknown> => {
  const ended = of(right(given)).pipe(batch(), toArray())
  return lastValueFrom(ended, { defaultValue: [] }).catch((error: unknown) => String(error))
}

describe('batch', () => {
  it('says what cannot be joined', async () => {
    // A text is no payload: code without types.
    expect(await errorOf('x' as never)).toBe(
      'TypeError: batch: expected a payload, got a string: put encode() before it, or give sizeOf',
    )
    expect(await errorOf({ ...payload('x'), contentType: 'text/csv' })).toBe(
      'TypeError: batch: joins JSON, and the payload is text/csv: give sizeOf',
    )
    expect(await errorOf({ ...payload('x'), signature: 'a'.repeat(40) })).toContain('put sign after batch')
  })

  it.each(['text', { prefix: 1, suffix: '' }, { prefix: '', suffix: 1 }, { prefix: '' }])(
    'refuses the frame %j',
    (frame) =>
      // Code without types.
      expect(() => batch({ frame } as never)).toThrow(
        /options of batch: frame must be a frame, \{ prefix, suffix \}/,
      ),
  )

  it.each([
    [-1, '-1'],
    [NaN, 'NaN'],
    ['5', 'a string'],
    [undefined, 'undefined'],
  ])('refuses an item for which sizeOf answers %s', async (size, shown) => {
    const told = of(right('item')).pipe(batch({ sizeOf: () => size as number }))
    expect(await firstValueFrom(told, { defaultValue: undefined })).toMatchObject({
      left: {
        _tag: 'Invalid',
        input: 'item',
        faults: [{ path: '', message: `sizeOf must answer a number of bytes from 0, got ${shown}` }],
      },
    })
  })

  it('names itself when sizeOf throws', async () => {
    const broken = of(right('item')).pipe(
      batch({
        sizeOf: () => {
          throw new Error('planted')
        },
      }),
    )
    expect(await firstValueFrom(broken, { defaultValue: undefined })).toMatchObject({
      left: { _tag: 'Threw', operator: 'batch', input: 'item' },
    })
  })

  it('fails with what newId throws', async () => {
    const error = new Error('planted')
    const newId = (): never => {
      throw error
    }
    const told = of(right(payload('x'))).pipe(batch({ newId, maxCount: 1 }), materialize(), toArray())
    expect(await lastValueFrom(told, { defaultValue: [] })).toMatchObject([{ kind: 'E', error }])
  })

  it('hands back batches and items, and nothing else, when it is cut within an emission', () => {
    const source = new Subject<Either<string, Payload<string>>>()
    const back: Array<ReadonlyArray<string>> = []
    const abandoned = (all: ReadonlyArray<Payload<unknown>>): void => {
      for (const { items } of all) back.push(items as ReadonlyArray<string>)
    }
    const told: string[] = []
    const subscription = source.pipe(batch({ maxCount: 2, abandoned })).subscribe({
      next: () => {
        told.push('a batch')
        // These wait for the end of this emission: a left, a full batch, and an open one.
        source.next(left('ended'))
        for (const text of ['c', 'd', 'e']) source.next(right(payload(text)))
        subscription.unsubscribe()
      },
      complete: () => told.push('complete'),
    })
    for (const text of ['a', 'b']) source.next(right(payload(text)))
    expect([told, back.flat().sort()]).toEqual([['a batch'], ['c', 'd', 'e']])
  })

  it('hands nothing back when nothing waits', () => {
    let calls = 0
    NEVER.pipe(batch({ abandoned: () => calls++ }))
      .subscribe()
      .unsubscribe()
    expect(calls).toBe(0)
  })
})
