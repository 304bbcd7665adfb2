/** What a collector should do with a world, worked out from the words of CO1, CO2 and CO4 alone. */
import type { Act, Message, Place, World } from './world.ts'

/** What is expected of one act. */
export interface Expected {
  /** Messages received and accepted, the latter by their places. */
  readonly received: number
  readonly accepted: ReadonlySet<number>
  readonly unrouted: number
  readonly status: number | undefined
  readonly notifications: number | undefined
  /** Where each accepted message goes, and what becomes of it there: kept or buried, by the place of the message. */
  readonly shares: ReadonlyArray<{ readonly index: number; readonly name: string; readonly buried: boolean }>
}

interface State {
  readonly enabled: Map<string, boolean>
  /** How many wait at each destination. */
  readonly waiting: Map<string, number>
}

type Switches = Readonly<Record<string, unknown>>

const wants = (name: string, switches: Switches): boolean => {
  if (name in switches) return switches[name] !== false
  return switches['All'] !== false
}

const connectedTo = ({ places }: World, source: string): ReadonlyArray<Place> =>
  places.filter(({ sources }) => sources.includes(source))

const nothing: Expected = {
  received: 0,
  accepted: new Set(),
  unrouted: 0,
  status: undefined,
  notifications: undefined,
  shares: [],
}

type Target = readonly [index: number, place: Place]

/** Gives each target its share, or says that there is no room for all and they are to be refused. */
const stored = (
  targets: ReadonlyArray<Target>,
  world: World,
  { waiting }: State,
): Expected['shares'] | undefined => {
  const needs = (name: string): number => targets.filter(([, place]) => place.name === name).length
  const lacks = world.places.some(({ name }) => (waiting.get(name) ?? 0) + needs(name) > world.maxCount)
  if (world.whenFull === 'refuse' && lacks) return undefined
  return targets.map(([index, { name, takes }]) => {
    const count = waiting.get(name) ?? 0
    if (takes) return { index, name, buried: false }
    if (count < world.maxCount) waiting.set(name, count + 1)
    return { index, name, buried: count >= world.maxCount }
  })
}

const posted = (
  messages: ReadonlyArray<Message>,
  ofAll: Switches,
  source: string,
  world: World,
  state: State,
): Expected => {
  if (world.off.includes(source)) return { ...nothing, status: 404 }
  const good = [...messages.entries()].filter(([, { is }]) => is === 'good')
  const targets = good.flatMap(([index, { integrations }]) =>
    connectedTo(world, source)
      .filter(({ name }) => state.enabled.get(name) === true && wants(name, { ...ofAll, ...integrations }))
      .map((place): Target => [index, place]),
  )
  const received = messages.length
  const shares = stored(targets, world, state)
  if (shares === undefined) return { ...nothing, received, status: 503 }
  const routed = new Set(targets.map(([index]) => index))
  return {
    received,
    accepted: new Set(good.map(([index]) => index)),
    unrouted: good.length - routed.size,
    status: good.length === 0 ? 400 : 200,
    notifications: undefined,
    shares,
  }
}

const evictedDeadLetters = (sources: ReadonlyArray<string>, world: World, state: State): Expected => {
  const targets = sources.flatMap((source, index) =>
    connectedTo(world, source)
      .filter(({ name }) => state.enabled.get(name) === true)
      .map((place): Target => [index, place]),
  )
  const shares = stored(targets, world, state)
  return shares === undefined ? nothing : { ...nothing, notifications: targets.length, shares }
}

const together = (all: ReadonlyArray<Expected>): Expected => ({
  ...nothing,
  received: all.reduce((sum, { received }) => sum + received, 0),
  accepted: new Set(all.flatMap(({ accepted }, index) => (accepted.size > 0 ? [index] : []))),
  unrouted: all.reduce((sum, { unrouted }) => sum + unrouted, 0),
  shares: all.flatMap(({ shares }, index) => shares.map((share) => ({ ...share, index }))),
})

const expectedOf = (act: Act, world: World, state: State): Expected => {
  switch (act.do) {
    case 'enable':
    case 'disable':
      if (world.places.some(({ name }) => name === act.name)) state.enabled.set(act.name, act.do === 'enable')
      return nothing
    case 'forget':
      return evictedDeadLetters(act.sources ?? ['web', 'app'], world, state)
    case 'post':
      return posted(act.messages, act.integrations ?? {}, act.source, world, state)
    case 'accept':
      return together(act.messages.map((each) => posted([each], {}, act.source, world, state)))
  }
}

/** What is expected of each act of a world. */
export const model = (world: World): ReadonlyArray<Expected> => {
  const state: State = {
    enabled: new Map(world.places.map(({ name, enabled }) => [name, enabled])),
    waiting: new Map(),
  }
  return world.acts.map((act) => expectedOf(act, world, state))
}
