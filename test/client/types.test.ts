import { expectTypeOf, it } from 'vitest'
import type { createClient } from '../../src/client/createClient.ts'
import type { Client, IdentifyInput, PageInput, TrackInput } from '../../src/client/client.ts'

interface Events {
  readonly 'Signed Up': { readonly plan: string }
  readonly Seen: { readonly page?: number }
}
interface User {
  readonly email: string
  readonly plan: string
}

const user = { userId: 'u' }

it('a call is typed by its event', () => {
  type Call = Parameters<Client<Events, User>['track']>[0]
  expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 'pro' } }).toExtend<Call>()
  expectTypeOf({ ...user, event: 'Seen' as const }).toExtend<Call>()
  expectTypeOf({ ...user, event: 'Sold' as const }).not.toExtend<Call>()
  expectTypeOf({ ...user, event: 'Signed Up' as const }).not.toExtend<TrackInput<Events, 'Signed Up'>>()
  expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 5 } }).not.toExtend<
    TrackInput<Events, 'Signed Up'>
  >()
  const any = { ...user, event: 'anything' }
  expectTypeOf({ ...any, properties: { at: 'all' } }).toExtend<TrackInput>()
  // An interface has no index signature.
  expectTypeOf({ ...any, properties: {} as User }).toExtend<TrackInput>()
  expectTypeOf({ ...any, properties: new Map() }).not.toExtend<TrackInput>()
})

it('a client without types of events takes any, also as the answer of createClient', () => {
  type Call = Parameters<ReturnType<typeof createClient>['track']>[0]
  expectTypeOf<Call>().toEqualTypeOf<TrackInput>()
})

it('a call needs one of the two ids, a page the userId', () => {
  expectTypeOf({ event: 'e' }).not.toExtend<TrackInput>()
  expectTypeOf({ event: 'e', anonymousId: 'a' }).toExtend<TrackInput>()
  expectTypeOf({ anonymousId: 'a' }).not.toExtend<PageInput>()
  expectTypeOf({ userId: 'u', anonymousId: 'a' }).toExtend<PageInput>()
})

it('identify takes a part of the traits, and none of another type', () => {
  expectTypeOf({ ...user, traits: { plan: 'pro' } }).toExtend<IdentifyInput<User>>()
  expectTypeOf({ ...user, traits: { plan: 5 } }).not.toExtend<IdentifyInput<User>>()
  expectTypeOf({ ...user, traits: {} as User | { any: 5 } }).toExtend<IdentifyInput>()
  expectTypeOf({ ...user, traits: ['a'] }).not.toExtend<IdentifyInput>()
})

it('a method takes no call of another type', () => {
  expectTypeOf({ ...user, type: 'page' as const, event: 'e' }).not.toExtend<TrackInput>()
  expectTypeOf({ ...user, type: 'track' as const, event: 'e' }).toExtend<TrackInput>()
})
