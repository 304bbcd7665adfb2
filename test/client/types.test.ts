import { describe, expectTypeOf, it } from 'vitest'
import type { Client, Identify, Page, Track } from '../../src/client/client.ts'

interface Events {
  readonly 'Signed Up': { readonly plan: string }
  readonly Seen: { readonly page?: number }
}
interface User {
  readonly email: string
  readonly plan: string
}

const user = { userId: 'u' }

describe('the types of a client', () => {
  it('hold a call to its event', () => {
    type Call = Parameters<Client<Events, User>['track']>[0]
    expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 'pro' } }).toExtend<Call>()
    expectTypeOf({ ...user, event: 'Seen' as const }).toExtend<Call>()
    expectTypeOf({ ...user, event: 'Sold' as const }).not.toExtend<Call>()
    expectTypeOf({ ...user, event: 'Signed Up' as const }).not.toExtend<Track<Events, 'Signed Up'>>()
    expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 5 } }).not.toExtend<
      Track<Events, 'Signed Up'>
    >()
    expectTypeOf({ ...user, event: 'anything', properties: { at: 'all' } }).toExtend<Track>()
  })

  it('want one of the two ids, and of a page the userId', () => {
    expectTypeOf({ event: 'e' }).not.toExtend<Track>()
    expectTypeOf({ event: 'e', anonymousId: 'a' }).toExtend<Track>()
    expectTypeOf({ anonymousId: 'a' }).not.toExtend<Page>()
    expectTypeOf({ userId: 'u', anonymousId: 'a' }).toExtend<Page>()
  })

  it('take a part of the traits, and none of another type', () => {
    expectTypeOf({ ...user, traits: { plan: 'pro' } }).toExtend<Identify<User>>()
    expectTypeOf({ ...user, traits: { plan: 5 } }).not.toExtend<Identify<User>>()
    expectTypeOf({ ...user, traits: { any: 5 } }).toExtend<Identify>()
  })

  it('know no type that is not the method’s', () => {
    expectTypeOf({ ...user, type: 'page' as const, event: 'e' }).not.toExtend<Track>()
    expectTypeOf({ ...user, type: 'track' as const, event: 'e' }).toExtend<Track>()
  })
})
