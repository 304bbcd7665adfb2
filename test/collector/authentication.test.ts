import { expect, it } from 'vitest'
import { secretFrom } from '../../src/signing/secret.ts'
import { ask, basic, open } from './kit.ts'

const MAX_BATCH = 512_000

/** A body of the largest size: a piece as often as it fits. */
const filled = (piece: string, prefix = '{"batch":[', suffix = ']}'): string => {
  const count = Math.floor((MAX_BATCH - prefix.length - suffix.length + 1) / (piece.length + 1))
  return prefix + Array.from({ length: count }, () => piece).join() + suffix
}

const PAGE = '{"type":"page","userId":"u"}'

it('H13 a write key with a NUL behind it is another key, and none at all', async () => {
  const { collector } = open()
  for (const key of ['wk\0', 'wk\0\0', 'wk\u0001']) {
    const byHeader = await ask(collector, '/v1/batch', filled(PAGE), { Authorization: basic(`${key}:`) })
    expect(byHeader.status).toBe(401)
    expect((await ask(collector, '/v1/batch', { writeKey: key, batch: [] }, {})).status).toBe(401)
    expect(secretFrom(key)).toMatchObject({ left: { message: 'must not have a control character' } })
  }
})
