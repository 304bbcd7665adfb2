import { createRequire } from 'node:module'
import type * as RxJS from 'rxjs'
import { firstValueFrom, map, Subject } from 'rxjs'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/index.ts'
import { guardedStream, lifecycle, safeSubject } from '../../src/log/lifecycle.ts'
import { throwing } from '../support/check.ts'

it('reports what subscribers throw or reject with, behind operators too, and gives the others every value', async () => {
  const reports: unknown[] = []
  const subject = new Subject<number>()
  const values$ = guardedStream(subject, (error) => reports.push((error as Error).message))
  const seen: number[] = []
  const throws = throwing('thrown')
  values$.subscribe({ next: throws, complete: throws })
  values$.pipe(map((value) => value + 1)).subscribe(throws)
  const rejects: () => unknown = () => Promise.reject(new Error('rejected'))
  values$.subscribe(rejects)
  values$.subscribe((value) => seen.push(value))
  const first = firstValueFrom(values$, { defaultValue: 0 })
  subject.next(1)
  subject.next(2)
  subject.complete()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect([await first, seen]).toEqual([1, [1, 2]])
  expect(reports.filter((each) => each === 'thrown')).toHaveLength(5)
  expect(reports.filter((each) => each === 'rejected')).toHaveLength(2)
})

it('lets go of a subscriber of another copy of RxJS', async () => {
  const subject = new Subject<number>()
  const path = '../../node_modules/rxjs/dist/bundles/rxjs.umd.js'
  const copy = createRequire(import.meta.url)(path) as typeof RxJS
  const first = copy.firstValueFrom(
    guardedStream(subject, () => undefined),
    { defaultValue: 0 },
  )
  subject.next(1)
  expect([await first, subject.observed]).toEqual([1, false])
})

it('reports the error of an operator that nothing handles', () => {
  const reports: unknown[] = []
  const subject = new Subject<number>()
  const broken = guardedStream(subject, (error) => reports.push(error)).pipe(map(throwing('in map')))
  broken.subscribe()
  subject.next(1)
  expect(reports).toEqual([new Error('in map')])
})

it('gives all subscribers the same order, also of values that a subscriber causes', () => {
  const stream = safeSubject<number>(() => undefined)
  const seen: string[] = []
  stream.next(0)
  stream.values$.subscribe((value) => {
    seen.push(`a${value}`)
    if (value === 1) stream.next(2)
  })
  stream.values$.subscribe((value) => seen.push(`b${value}`))
  stream.next(1)
  stream.complete()
  expect(seen).toEqual(['a1', 'b1', 'a2', 'b2'])
})

it('tells events$ all but the errors of its own subscribers, which are Defects, and completes it', async () => {
  const [heard, seen] = [new Array<string>(), new Array<string>()]
  const { close, hosted, onEvent } = lifecycle(systemClock, 'o', { onEvent: ({ _tag }) => heard.push(_tag) })
  hosted.events$.subscribe(throwing('of the host'))
  hosted.events$.subscribe({ next: ({ _tag }) => seen.push(_tag), complete: () => seen.push('|') })
  onEvent({ _tag: 'Accepted', at: 0, from: 'orders', item: 'a' })
  onEvent({ _tag: 'Defect', at: 0, from: 'orders', where: 'mine', error: 1 })
  await close(async () => undefined)
  expect([heard.length, seen]).toEqual([4, ['Accepted', 'Defect', '|']])
})
