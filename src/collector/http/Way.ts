import type { Kind } from '../../event/Kinds.ts'

/** What a path stands for (CO4). */
export type Way =
  | { readonly _tag: 'Batch' }
  /** One message, whose kind the path says. */
  | { readonly _tag: 'Single'; readonly type: Exclude<Kind, 'delete'> }
  | { readonly _tag: 'Delete' }

const SINGLES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

const ways: ReadonlyMap<string, Way> = new Map<string, Way>([
  ['batch', { _tag: 'Batch' }],
  ['import', { _tag: 'Batch' }],
  ['delete', { _tag: 'Delete' }],
  ...SINGLES.map((type): [string, Way] => [type, { _tag: 'Single', type }]),
])

/** As it comes most often, so that most requests are spared the search. */
const whole: ReadonlyMap<string, Way> = new Map([...ways].map(([name, way]) => [`/v1/${name}`, way]))

const PATH = /\/v1\/([a-z]+)\/*$/

/**
 * What a target leads to: a path that ends in `/v1/` and a name, with or without slashes at its end, whatever prefix it is mounted behind.
 * A query says nothing.
 */
export const wayOf = (target: string): Way | undefined => {
  const known = whole.get(target)
  if (known !== undefined) return known
  const [path = ''] = target.split(/[?#]/, 1)
  const [, name = ''] = PATH.exec(path) ?? []
  return ways.get(name)
}
