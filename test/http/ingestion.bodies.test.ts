import { describe, expect, it } from 'vitest'
import { batch, member, type Reply } from './batchServer.ts'
import { asking, KEY } from './asking.ts'

const { verdictOn, failureOn } = asking()

const json = (body: unknown): Reply => ({ body: JSON.stringify(body) })

describe('what a refusal says', () => {
  it('stands in the detail, on one line, cut, without the key', async () => {
    const credentials = Buffer.from(`${KEY}:`).toString('base64')
    const body = `bad\r\nkey ${KEY} or ${credentials} \u001b[31m${'x'.repeat(300)}`
    const failure = await failureOn({ status: 400, body })
    const clean = 'bad??key [write key] or [write key] ?[31m'
    expect(failure).toEqual({
      _tag: 'Refused',
      reason: 'status',
      status: 400,
      detail: `${clean}${'x'.repeat(200 - clean.length)}…`,
    })
  })

  it('shows no piece of a key that the cut goes through', async () => {
    const failure = await failureOn({ status: 400, body: `${'x'.repeat(197)}${KEY}` })
    expect(JSON.stringify(failure)).not.toContain('hun')
  })

  it.each([
    ['no body', ''],
    ['white space', ' \n '],
    ['more than anybody reads', 'x'.repeat(1_000_001)],
  ])('is nothing: %s', async (_what, body) => {
    const failure = await failureOn({ status: 413, body })
    expect(failure).toEqual({ _tag: 'Refused', reason: 'status', status: 413 })
  })
})

describe('clients/25: a 200 that says ok:false', () => {
  const no = (detail: string): object => ({
    left: { _tag: 'Refused', reason: 'rejected', status: 200, detail },
  })
  const yes = { right: { status: 200 } }

  it.each<[string, unknown]>([
    ['by index', [{ index: 1, messageId: 'b', reason: 'bad' }]],
    ['by message id', [{ messageId: 'b', reason: 'bad' }]],
    ['by message_id, with an error', [{ message_id: 'b', error: 'bad' }]],
    ['by an index beyond the batch, so by message id', [{ index: 9, messageId: 'b', message: 'bad' }]],
    ['by an index in digits', [{ index: '1', reason: 'bad' }]],
    ['by place as a key', { 1: 'bad' }],
    ['by message id as a key', { b: 'bad' }],
    ['by message id as a key, with an object', { b: { reason: 'bad' } }],
    [
      'among names that nobody has',
      [{ messageId: 'z' }, null, 7, 'what', { index: 1, reason: 'bad' }, { index: -1 }],
    ],
  ])('fails the messages that it names: %s', async (_how, errors) => {
    expect(await verdictOn(json({ ok: false, receivedEvents: 3, okEvents: 2, errors }))).toMatchObject({
      left: { _tag: 'PartlyFailed', members: [yes, no('bad'), yes] },
    })
  })

  it('takes digits for an id where a message has it', async () => {
    const errors = { 1: 'bad' }
    const body = json({ ok: false, okEvents: 2, errors })
    expect(await verdictOn(body, batch('1', 'b', 'c'))).toMatchObject({
      left: { members: [no('bad'), yes, yes] },
    })
  })

  it('says so where it took another number than it names, and refuses all where it took none', async () => {
    const errors = [{ index: 0, reason: 'bad' }, { messageId: 'zzz' }]
    const doubt = '; the receiver says that it took 1 of 3, and names 1 that it did not'
    expect(await verdictOn(json({ ok: false, okEvents: 1, errors }))).toMatchObject({
      left: { members: [no(`bad${doubt}`), yes, yes] },
    })
    const none = '; the receiver says that it took 0 of 3, and names 1 that it did not'
    const other = no(`quota${none}`)
    expect(await verdictOn(json({ ok: false, okEvents: 0, reason: 'quota', errors }))).toMatchObject({
      left: { members: [no(`bad${none}`), other, other] },
    })
    for (const okEvents of [-1, 4, 1.5, '1', null])
      expect(await verdictOn(json({ ok: false, okEvents, errors }))).toMatchObject({
        left: { members: [no('bad'), yes, yes] },
      })
  })

  it('fails every message with that id', async () => {
    const verdict = await verdictOn(json({ ok: false, errors: [{ messageId: 'a' }] }), batch('a', 'b', 'a'))
    const unknown = no('the receiver says that it did not take it')
    expect(verdict).toMatchObject({ left: { members: [unknown, yes, unknown] } })
  })

  it.each<[string, unknown]>([
    ['no errors', { ok: false }],
    ['an empty list', { ok: false, errors: [] }],
    ['errors that are none', { ok: false, errors: 'yes' }],
    ['names of others', { ok: false, errors: [{ index: 3 }, { messageId: 'z' }] }],
  ])('fails all when it names none: %s', async (_how, body) => {
    expect(await verdictOn(json(body))).toMatchObject(no('the receiver says that it did not take it'))
    expect(await verdictOn(json({ ...Object(body), reason: 'quota' }))).toMatchObject(no('quota'))
  })

  it('fails a message that was sent alone, in a batch or not', async () => {
    const reply = json({ ok: false, errors: [{ index: 0, reason: `key ${KEY}\n` }] })
    expect(await verdictOn(reply, batch('a'))).toMatchObject(no('key [write key]'))
    expect(await verdictOn(reply, member('a'))).toMatchObject(no('key [write key]'))
  })

  it.each<[string, Reply]>([
    ['ok:true with errors', json({ ok: true, errors: [{ index: 0 }], x: false })],
    ['ok missing', json({ success: false })],
    ['ok that is no boolean', json({ ok: 'false' })],
    ['no JSON', { body: '{"ok":false' }],
    ['a page', { body: '<html>false</html>' }],
    ['a list', json([{ ok: false }])],
    ['null', { body: 'null' }],
    ['nothing', { status: 204 }],
    ['too much', json({ ok: false, errors: 'x'.repeat(1_000_000) })],
  ])('but nothing else takes a 2xx back: %s', async (_what, reply) => {
    expect(await verdictOn(reply)).toMatchObject({ _tag: 'Right', right: { status: reply.status ?? 200 } })
  })
})
