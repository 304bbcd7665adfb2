import { expectTypeOf, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'

interface Events {
  readonly 'Signed Up': { readonly plan: string }
  readonly Seen: { readonly page?: number }
}
interface User {
  readonly email: string
  readonly plan: string
}

type TrackInput<E extends object = object> = Parameters<Client<E>['track']>[0]
type IdentifyInput<T extends object = object> = Parameters<Client<object, T>['identify']>[0]
type PageInput = Parameters<Client['page']>[0]

const user = { userId: 'u' }

it('a call is typed by its event', () => {
  type Call = TrackInput<Events>
  type SignedUp = Extract<Call, { readonly event: 'Signed Up' }>
  expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 'pro' } }).toExtend<Call>()
  expectTypeOf({ ...user, event: 'Seen' as const }).toExtend<Call>()
  expectTypeOf({ ...user, event: 'Sold' as const }).not.toExtend<Call>()
  expectTypeOf({ ...user, event: 'Signed Up' as const }).not.toExtend<SignedUp>()
  expectTypeOf({ ...user, event: 'Signed Up' as const, properties: { plan: 5 } }).not.toExtend<SignedUp>()
  const any = { ...user, event: 'anything' }
  expectTypeOf({ ...any, properties: { at: 'all' } }).toExtend<TrackInput>()
  // An interface has no index signature.
  expectTypeOf({ ...any, properties: {} as User }).toExtend<TrackInput>()
  expectTypeOf({ ...any, properties: new Map() }).not.toExtend<TrackInput>()
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
