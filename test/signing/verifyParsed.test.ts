import { describe, expect, it } from 'vitest'
import { sign } from '../../src/signing/sign.ts'
import { verifyParsed } from '../../src/signing/verify.ts'

const text = '{"type":"track","userId":"u1"}'

describe('verifyParsed', () => {
  it('verifies what a JSON parser made', () => {
    expect(verifyParsed('s', JSON.parse(text), sign('s', text))).toMatchObject({ right: { secret: 0 } })
    expect(verifyParsed(['new', 's'], JSON.parse(text), sign('s', text))).toMatchObject({
      right: { secret: 1 },
    })
  })

  it('notices one field more', () => {
    const changed = { ...(JSON.parse(text) as object), receivedAt: 1 }
    expect(verifyParsed('s', changed, sign('s', text))).toMatchObject({ left: { reason: 'mismatch' } })
  })

  it('says so when it gets what is not parsed', () => {
    for (const raw of [text, Buffer.from(text)])
      expect(verifyParsed('s', raw, sign('s', text))).toMatchObject({
        left: { reason: 'mismatch', explanation: expect.stringMatching(/use verifyRaw/) as string },
      })
    expect(verifyParsed('s', undefined, sign('s', text))).toMatchObject({
      left: { reason: 'badBody', explanation: expect.stringMatching(/body parser/) as string },
    })
  })

  it('does not throw where JSON.stringify does', () => {
    const throwing = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    for (const body of [{ n: 1n }, throwing])
      expect(verifyParsed('s', body, sign('s', text))._tag).toBe('Left')
  })
})
