import { describe, expect, test } from 'vitest'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import type { BatchPayload, EventPayload } from '../../src/event/payload.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { webhook } from '../../src/http/webhook.ts'

const broken = (): never => {
  throw new Error('broken')
}
const payload: EventPayload<string> = { id: 'm1', items: ['a'], text: '{}', byteLength: 2 }
const framed: BatchPayload<string> = {
  id: 'b1',
  items: ['a'],
  members: [payload],
  byteLength: 4,
  get frame() {
    return broken()
  },
  closedBy: 'count',
}

describe('a payload that cannot be written', () => {
  test.each([
    ['its signer throws', { ...payload, signer: broken }],
    ['its frame throws', framed],
  ])('is a defect of that delivery when %s, and leaves no sibling running', (_, item) => {
    const told: unknown[] = []
    const [a, b] = [webhook('http://127.0.0.1:9/a'), webhook('http://127.0.0.1:9/b')]
    firstSuccess([a, b])
      .deliver(item, onlyAttempt)
      .subscribe({ next: (verdict) => told.push(verdict), complete: () => told.push('complete') })
    const failure = { _tag: 'Retryable', reason: 'defect', detail: 'broken' }
    expect(told).toMatchObject([{ left: { causes: [{ failure }, { failure }] } }, 'complete'])
  })
})
