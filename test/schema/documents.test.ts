import { validate } from '@readme/openapi-parser'
import type { Either } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/core/json.ts'
import { openApiOf, webhookBodies, type JsonSchema } from '../../src/schema/index.ts'
import { standardHeadersOf, signatureOf } from '../../src/signing/index.ts'

interface Document extends JsonSchema {
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}
const made = (document: Either<unknown, JsonSchema>): Document => {
  if (document._tag === 'Left') throw new Error(JSON.stringify(document.left))
  // Each test looks at what it needs of it.
  return JSON.parse(JSON.stringify(document.right)) as Document
}

type Tree = Readonly<{ children: Tree[] }>
const Tree = t.recursion<Tree>('Tree', (self) => t.type({ children: t.array(self) }))
const pair = t.tuple([t.string, Tree])
const bodies = { ...webhookBodies, 'order.paid': t.type({ total: t.number, pair }) }
const isValid = async (document: object): Promise<boolean> => {
  // It takes its own type of a document, and a copy, which it changes.
  const given = structuredClone(document) as Parameters<typeof validate>[0]
  return (await validate(given)).valid
}

describe('openApiOf', () => {
  it('makes a document that a parser takes, and refuses when bent', async () => {
    for (const options of [{}, { bodies, title: 'Mine', version: '2.0.0' }]) {
      const document = made(openApiOf(options))
      expect(await isValid(document)).toBe(true)
      const text = JSON.stringify(document).replace('"in":"header"', '"in":"nowhere"')
      expect(await isValid(JSON.parse(text) as object)).toBe(false)
    }
    expect(Object.keys(made(openApiOf({ bodies }))['webhooks'] as object)).toEqual(Object.keys(bodies))
  })

  it('gives codecs of one name, and one with the name of a body, schemas of their own', () => {
    const recursive = (name: string, key: string): t.Mixed =>
      t.recursion<Fields>(name, (self) => t.record(t.literal(key), t.array(self)) as t.Type<Fields>)
    const [a, b, page] = [recursive('Node', 'a'), recursive('Node', 'b'), recursive('page', 'c')]
    const document = made(openApiOf({ bodies: { page: t.type({ a, b, page }), screen: b } }))
    const { schemas } = document.components as { readonly schemas: object }
    expect(Object.keys(schemas).sort()).toEqual(['Node', 'Node_2', 'page', 'page_2', 'screen'])
    const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const properties = { page: refTo('page_2') }
    expect(schemas).toMatchObject({ page: { properties }, screen: refTo('Node_2') })
  })

  it('describes headers as they are sent', () => {
    const text = JSON.stringify(made(openApiOf()))
    const secret = [1, 2].map((byte) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`)
    const headers = { 'X-Signature': signatureOf('s', ''), ...standardHeadersOf(secret, 'm1', '{}', 1_000) }
    for (const [name, value] of Object.entries(headers)) {
      const [, pattern = '""'] = new RegExp(`"name":"${name}".*?"pattern":("[^"]+")`).exec(text) ?? []
      expect(value).toMatch(new RegExp(JSON.parse(pattern) as string))
    }
  })

  it('is refused with the path of each part that says nothing, and for a name that is none', () => {
    const { track } = webhookBodies
    const wrong = { track, 'a b': track, mine: t.type({ f: t.Function }), other: t.Function }
    const faults = [{ path: 'a b' }, { path: 'mine.f' }, { path: 'other' }]
    expect(openApiOf({ bodies: wrong })).toMatchObject({ left: faults })
  })
})
