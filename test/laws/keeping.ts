import * as fc from 'fast-check'
import { folders } from '../client/keeping/grounds.ts'
import { nothingReached } from './keepingReached.ts'
import type { Reached } from './keepingReached.ts'
import { run } from './keepingRun.ts'
import type { MakeKeeping } from './keepingPlay.ts'
import { world } from './keepingWorld.ts'
import type { World } from './keepingWorld.ts'

const keepLaws = async (make: MakeKeeping | undefined, commands: World, reached: Reached): Promise<void> => {
  const on = folders()
  try {
    await run(on, commands, make, reached)
    reached.worlds++
  } finally {
    await on.leave()
  }
}

/** All laws on one world; a violation names its law. */
export const keepingLaws = (
  make?: MakeKeeping,
  reached: Reached = nothingReached(),
): fc.IAsyncProperty<[World]> => fc.asyncProperty(world, (commands) => keepLaws(make, commands, reached))

/** One law: what breaks another one only goes unseen. */
export const keepingLaw = (law: string, make: MakeKeeping): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (commands) => {
    try {
      await keepLaws(make, commands, nothingReached())
    } catch (error) {
      if (String(error).includes(law)) throw error
    }
  })
