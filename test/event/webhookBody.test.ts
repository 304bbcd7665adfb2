import { readFileSync } from 'node:fs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as t from 'io-ts'
import { eventCodec, type Event, type Delete, type Forwarded } from '../../src/event/index.ts'
import { WebhookBody, WireBody, eventInStored, toWebhookBody } from '../../src/event/webhookBody.ts'
import { decoded, pathsIn, textsIn } from '../support/decoded.ts'

type Golden = Readonly<{ about: string; call: { readonly type: string }; body: unknown }>

// The fixtures are ours, and a test below fails for what is not as it should be.
const file = readFileSync(new URL('../fixtures/wire.json', import.meta.url), 'utf8')
const goldens = JSON.parse(file) as ReadonlyArray<Golden>

const codec = eventCodec({ clock: { now: () => Date.UTC(2024, 5, 1) }, newId: () => 'new-id' })
const paths = (body: unknown) => pathsIn(WebhookBody, body)

describe('golden bodies', () => {
  it('are there for seven kinds', () => expect(new Set(goldens.map(({ call }) => call.type)).size).toBe(7))

  it.each(goldens)('$call.type: $about', ({ call, body }) => {
    // As text, so that the order of the keys is golden too.
    expect(JSON.stringify(toWebhookBody(decoded(codec, call)))).toBe(JSON.stringify(body))
    const read = decoded(WebhookBody, body)
    expect([WebhookBody.encode(read), eventInStored(body)]).toEqual([body, read])
  })
})

describe('a body that is wrong', () => {
  const track = { version: 1, type: 'track', userId: 'u', event: 'e', properties: {}, context: {} }
  const stamped = { timestamp: '2024-02-29T00:00:00.000Z', messageId: 'm' }

  it('names what is missing by its name on the wire', () => {
    expect(paths({ ...track, ...stamped })).toEqual([])
    expect(paths({ ...track, version: '1' })).toEqual(['version', 'messageId', 'timestamp'])
    const alias = { ...stamped, version: 1, type: 'alias', previousId: 'a', userId: 'u', context: {} }
    expect(paths(alias)).toEqual(['Previous ID', 'User ID'])
    expect(paths({ ...stamped, version: 1, type: 'identify', userId: 'u' })).toEqual(['context', 'traits'])
  })

  it.each([WebhookBody, WireBody])('of a type that is not known is told by its type: $name', (body) => {
    const types = 'must be one of "page", "screen", "identify", "track", "alias", "group", "delete"'
    expect(textsIn(body, { ...track, ...stamped, type: 'purchase' })).toEqual([`type: ${types}`])
    expect(textsIn(body, 5)).toEqual([': must be an object, not a number'])
    expect([eventInStored({ type: 'purchase' }), eventInStored(null)]).toEqual([undefined, undefined])
    expect(textsIn(t.type({ bodies: t.array(body) }), { bodies: [{}] })).toEqual([`bodies[0].type: ${types}`])
  })
})

it('knows the model of what a body carries', () => {
  expectTypeOf<t.TypeOf<typeof WebhookBody>>().toEqualTypeOf<Forwarded>()
  expectTypeOf<Event>().toExtend<Forwarded>()
  expect([WebhookBody, WireBody, ...WireBody.types].map(({ name }) => name).join(' ')).toBe(
    'WebhookBody WireBody PageBody ScreenBody IdentifyBody TrackBody AliasBody GroupBody DeleteBody',
  )
  expectTypeOf<Extract<Forwarded, { type: 'delete' }>>().not.toHaveProperty('messageId')
  expectTypeOf<Extract<Forwarded, { type: 'track' }>>().not.toHaveProperty('integrations')
  expectTypeOf<Delete>().toHaveProperty('messageId')
  const deletion = { type: 'delete', userId: 'u', timestamp: '2024-02-29T00:00:00.000Z' }
  expect([WebhookBody.is(deletion), WebhookBody.is(undefined)]).toEqual([true, false])
  expect(WebhookBody.is({ ...deletion, timestamp: '2024-02-29T00:00:00Z' })).toBe(false)
})
