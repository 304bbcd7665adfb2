/** What the laws of batching are made of. */
import * as fc from 'fast-check'
import { frameBytes } from '../../src/event/payload.ts'
import { play } from './batchPlay.ts'
import type { BatchUnderTest, Item, Trace } from './batchPlay.ts'
import { frameOf, world } from './batchWorld.ts'
import type { Settings, World, WorldOptions } from './batchWorld.ts'
import { law } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'

export const numbers = (items: ReadonlyArray<Item>): ReadonlyArray<number> => items.map((item) => item.n)

export const bytesOf = (items: ReadonlyArray<Item>, settings: Settings): number =>
  frameBytes(frameOf(settings)) + items.reduce((sum, item) => sum + item.size, 0) + items.length - 1

/** A law of the trace of every world. */
export const always = (
  make: BatchUnderTest,
  id: string,
  options: WorldOptions,
  check: (trace: Trace, settings: Settings, asked: World) => void,
): Law =>
  law(
    id,
    fc.property(world(options), (asked) => {
      check(play(make, asked), asked.settings, asked)
    }),
  )
