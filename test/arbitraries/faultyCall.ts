/** Calls with things wrong on purpose. */
import * as fc from 'fast-check'

/** A call with things wrong on purpose: where, and what must not be said. */
export interface FaultyCall {
  readonly call: unknown
  readonly paths: ReadonlyArray<string>
  readonly secrets: ReadonlyArray<string>
}

const SECRET = 's3cr3t-value'

interface Wrong {
  readonly path: string
  readonly put: (call: Record<string, unknown>) => void
}

const set = (name: string, value: unknown, path = name): Wrong => ({
  path,
  put: (call) => {
    call[name] = value
  },
})

const inData = (name: string, inside: string, value: () => unknown, path = `${name}.${inside}`): Wrong => ({
  path,
  put: (call) => {
    const found = call[name]
    call[name] = { ...(typeof found === 'object' ? found : {}), [inside]: value() }
  },
})

const cycle = (): unknown => {
  const self: Record<string, unknown> = { SECRET }
  self['again'] = self
  return self
}

const throwing = {
  toJSON: () => {
    throw new Error(SECRET)
  },
}

/** Groups of wrong things; of each group at most one is done, so that they do not hide each other. */
const WRONGS: ReadonlyArray<ReadonlyArray<Wrong>> = [
  [set('userId', 4_217_001), set('userId', { SECRET }), set('userId', [SECRET]), set('userId', null)],
  [set('anonymousId', 4_217_001), set('anonymousId', true)],
  [set('messageId', 4_217_001), set('messageId', SECRET.repeat(40))],
  [
    set('timestamp', 4_217_001),
    set('timestamp', SECRET),
    set('timestamp', new Date(Number.NaN)),
    set('timestamp', new Date(Date.UTC(12_345, 0))),
    set('timestamp', '2023-02-29T00:00:00Z'),
    set('timestamp', '2024-01-01T00:00:00'),
    set('timestamp', '2024-13-01T00:00:00Z'),
    set('timestamp', '2024-01-01T24:00:00Z'),
    set('timestamp', '2024-01-01T00:00:60Z'),
    set('timestamp', '2024-01-01'),
    set('timestamp', '12024-01-01T00:00:00Z'),
    set('timestamp', '0000-01-01T00:00:00+00:01'),
    set('timestamp', '9999-12-31T23:59:59-00:01'),
    set('timestamp', null),
  ],
  [set('event', 4_217_001), set('event', ''), set('event', undefined), set('event', [SECRET])],
  [
    set('properties', SECRET),
    set('properties', [SECRET]),
    set('properties', null),
    set('properties', new Map([[SECRET, SECRET]])),
  ],
  [
    inData('context', 'big', () => 4_217_001n),
    inData('context', 'list', () => [0, { at: Number.NaN }], 'context.list[1].at'),
    inData('context', 'set', () => new Set([SECRET])),
    inData('context', 'raw', () => Buffer.from(SECRET)),
    inData('context', 'when', () => new Date(Number.NaN)),
    inData('context', 'loop', cycle, 'context.loop.again'),
    inData('context', 'thrower', () => throwing),
    inData('context', 'half', () => JSON.parse(`{"__proto__":"${SECRET}"}`), 'context.half.__proto__'),
  ],
  [
    set('integrations', SECRET),
    inData('integrations', 'Some Place', () => SECRET),
    inData('integrations', 'X', () => null),
  ],
]

/** A track with some things wrong. */
const faultyTrack: fc.Arbitrary<FaultyCall> = fc
  .tuple(...WRONGS.map((group) => fc.option(fc.constantFrom(...group), { nil: undefined, freq: 2 })))
  .map((chosen) => {
    const wrongs = chosen.flatMap((each) => each ?? [])
    const call: Record<string, unknown> = { type: 'track', userId: 'u', event: 'e' }
    for (const { put } of wrongs) put(call)
    return { call, paths: wrongs.map(({ path }) => path), secrets: [SECRET, '4217001'] }
  })
  .filter(({ paths }) => paths.length > 0)

const fixed = (call: unknown, ...paths: ReadonlyArray<string>): FaultyCall => ({
  call,
  paths,
  secrets: [SECRET],
})

const faultyOthers: fc.Arbitrary<FaultyCall> = fc.constantFrom(
  fixed(undefined, ''),
  fixed(SECRET, ''),
  fixed([SECRET], ''),
  fixed(new Map([['type', SECRET]]), ''),
  fixed({ type: SECRET, userId: 1 }, 'type'),
  fixed({ userId: 'u' }, 'type'),
  fixed({ type: 'identify' }, 'userId'),
  fixed({ type: 'identify', userId: '', anonymousId: '' }, 'userId'),
  fixed({ type: 'group', userId: 'u', traits: 1 }, 'groupId', 'traits'),
  fixed({ type: 'alias', previousId: '' }, 'previousId', 'userId'),
  fixed({ type: 'alias', previousId: 5, userId: 'u' }, 'previousId'),
  fixed({ type: 'delete', timestamp: 5 }, 'userId', 'timestamp'),
  fixed({ type: 'page', userId: 'u', name: 1, category: 2 }, 'name', 'category'),
  fixed(
    { type: 'page', userId: 'u', properties: { url: 1, title: null }, traits: { url: 2, path: [] } },
    'properties.url',
    'properties.title',
    'traits.path',
    'traits.url',
  ),
  fixed(
    {
      type: 'screen',
      userId: 'u',
      name: {},
      context: { device: { model: 1 }, os: 'ios', app: { build: 7 } },
    },
    'name',
    'context.device.model',
    'context.os',
    'context.app.build',
  ),
)

/** A call that is wrong. */
export const faulty: fc.Arbitrary<FaultyCall> = fc.oneof(
  { weight: 4, arbitrary: faultyTrack },
  { weight: 1, arbitrary: faultyOthers },
)
