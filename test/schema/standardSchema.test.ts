import { type } from 'arktype'
import { left } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { lastValueFrom, of, toArray } from 'rxjs'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Event, faultsOf } from '../../src/event/index.ts'
import { validate } from '../../src/index.ts'
import { fromStandard, openApiOf, toStandard, type StandardSchema } from '../../src/schema/index.ts'

const schemas = {
  zod: z.object({ id: z.string(), lines: z.array(z.object({ sku: z.string(), count: z.number() })) }),
  valibot: v.object({ id: v.string(), lines: v.array(v.object({ sku: v.string(), count: v.number() })) }),
  arktype: type({ id: 'string', lines: type({ sku: 'string', count: 'number' }).array() }),
}
const right = { id: 'a', lines: [{ sku: 'x', count: 1 }] }
const wrong = { id: 'a', lines: [...right.lines, { sku: 'hunter2', count: 'hunter2' }] }

const run = <A>(codec: t.Type<A, unknown>, input: unknown) =>
  lastValueFrom(of(input).pipe(validate(codec), toArray()), { defaultValue: [] }).then(([one]) => one)

describe('fromStandard in validate', () => {
  it.each(Object.entries(schemas))('%s takes and refuses, with the path, no value', async (_, schema) => {
    expect(await run(fromStandard(schema), right)).toEqual({ _tag: 'Right', right })
    const refused = await run(fromStandard(schema), wrong)
    const faults = [{ path: 'lines[1].count', message: 'is not what the schema wants' }]
    expect(refused).toMatchObject({ left: { _tag: 'Invalid', faults } })
  })

  it('passes messages on if asked to, and refuses other options', () => {
    for (const no of [{}, { '~standard': { version: 2, validate: String } }])
      expect(() => fromStandard(no as never)).toThrow('Standard Schema, version 1')
    expect(() => openApiOf({ titel: 'x' } as never)).toThrow('unknown option "titel"')
    const decoded = fromStandard(schemas.valibot, { messages: true }).decode(wrong)
    expect(decoded._tag === 'Left' && faultsOf(decoded.left)[0]?.message).toContain('hunter2')
  })

  it('has no value that its schema would change again', () => {
    const twice = fromStandard(z.string().transform((text) => `${text}!`))
    expect([twice.is('a'), fromStandard(z.string().trim()).is('a')]).toEqual([false, true])
  })

  it('has the types of the schema', () => {
    type Order = typeof right
    expectTypeOf(fromStandard(schemas.zod)).toEqualTypeOf<t.Type<Order, unknown>>()
    expectTypeOf<t.TypeOf<ReturnType<typeof fromStandard<typeof schemas.valibot>>>>().toEqualTypeOf<Order>()
    expectTypeOf<t.TypeOf<ReturnType<typeof fromStandard<typeof schemas.arktype>>>>().toEqualTypeOf<Order>()
    const changed = fromStandard(z.string().transform((text) => text.length))
    expectTypeOf(changed).toEqualTypeOf<t.Type<number, unknown>>()
    expect(changed.decode('four')).toEqual({ _tag: 'Right', right: 4 })
  })

  it('names the way out for a schema that answers later, also with another kind of promise', () => {
    const later = z.string().refine(() => Promise.resolve(true))
    const validate = () => ({ then: () => undefined }) as never
    for (const schema of [later, { '~standard': { version: 1, vendor: 'other', validate } } as const]) {
      const decoded = fromStandard<StandardSchema>(schema).decode('a')
      expect(decoded._tag === 'Left' && faultsOf(decoded.left)[0]?.message).toContain('later: use enrich')
    }
  })

  it('keeps a path below another codec and inside a pipe, and keys that look like an index', () => {
    const order = fromStandard(z.object({ '0': z.string(), 'a b': z.array(z.string()) }))
    const codec = t.type({ order, piped: t.unknown.pipe(t.intersection([order, t.UnknownRecord])) })
    const decoded = codec.decode({ order: { '0': 1, 'a b': [1] }, piped: { '0': 1, 'a b': [1] } })
    const paths = decoded._tag === 'Left' ? faultsOf(decoded.left).map(({ path }) => path) : []
    expect(paths.sort()).toEqual(['order.0', 'order.a b[0]', 'piped.0', 'piped.a b[0]'])
  })
})

describe('toStandard', () => {
  it('answers the value, or issues with their steps and no value', async () => {
    const { validate: judge } = toStandard(t.type({ 'a b': t.array(t.type({ c: t.number })) }))['~standard']
    expect(await judge({ 'a b': [{ c: 1 }] })).toEqual({ value: { 'a b': [{ c: 1 }] } })
    const issues = [{ message: 'must be a number, not a string', path: ['a b', 1, 'c'] }]
    expect(await judge({ 'a b': [{ c: 1 }, { c: 'hunter2' }] })).toEqual({ issues })
    expect(await judge({})).toMatchObject({ issues: [{ path: ['a b'] }] })
    const names = Array.from({ length: 14 }, (_, at) => String(at).repeat(70))
    const far = names.reduceRight<t.Mixed>((inner, name) => t.type({ [name]: inner }), t.number)
    const value = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 'x')
    expect(await toStandard(far)['~standard'].validate(value)).toMatchObject({ issues: [{ path: names }] })
    const throws = new t.Type('T', t.unknown.is, () => expect.fail('hunter2'), t.identity)
    expect(await toStandard(throws)['~standard'].validate(1)).toEqual({
      issues: [{ message: 'could not be read: looking at it throws an error' }],
    })
  })

  it('and back decodes the same, with its types', () => {
    const codec = fromStandard(toStandard(Event), { messages: true })
    expectTypeOf(codec).toEqualTypeOf<t.Type<Event, unknown>>()
    const call = { type: 'delete', userId: 'u1', messageId: 'm1', timestamp: '2024-02-29T12:00:00.000Z' }
    expect(codec.decode(call)).toEqual(Event.decode(call))
    const [one, two] = [codec, Event].map((each) => each.decode({ type: 'track', userId: 'u1' }))
    if (one?._tag !== 'Left' || two?._tag !== 'Left') expect.fail('decoded')
    expect(left(faultsOf(one.left))).toEqual(left(faultsOf(two.left)))
  })
})
