import * as fc from 'fast-check'
import type { Entry } from '../../src/outbox/outbox.ts'
import { hold } from './outboxLaw.ts'
import { play } from './outboxPlay.ts'
import type { Play } from './outboxPlay.ts'
import { world } from './outboxWorld.ts'
import type { Command, Item, MakeGround, World } from './outboxWorld.ts'

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  commands: number
  refusedByCount: number
  refusedByBytes: number
  tookParked: number
  heldOut: number
  crashedWhileOut: number
  crashedWithParked: number
  reopenedWithLetters: number
  redriven: number
  redriveRefused: number
  purged: number
  evictedDeadLetters: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  commands: 0,
  refusedByCount: 0,
  refusedByBytes: 0,
  tookParked: 0,
  heldOut: 0,
  crashedWhileOut: 0,
  crashedWithParked: 0,
  reopenedWithLetters: 0,
  redriven: 0,
  redriveRefused: 0,
  purged: 0,
  evictedDeadLetters: 0,
})

/** Those of the entries that are out, by position, none twice. */
const chosen = (out: ReadonlyArray<Entry<Item>>, which: ReadonlyArray<number>): ReadonlyArray<Entry<Item>> =>
  out.length === 0 ? [] : [...new Set(which.map((each) => each % out.length))].flatMap((at) => out[at] ?? [])

/** One life after the other of one outbox. */
const run = async (on: Play, { commands, bounds }: World, reached: Reached): Promise<void> => {
  const { model } = on
  let out: ReadonlyArray<Entry<Item>> = []
  let given = 0
  const without = (gone: ReadonlyArray<Entry<Item>>): void => {
    out = out.filter((entry) => !gone.includes(entry))
  }
  const step = async (command: Command): Promise<void> => {
    switch (command.do) {
      case 'append': {
        const before = model.waiting.length
        await on.append(command.items.map((item) => ({ ...item, n: given++ })))
        const refused = command.items.length - (model.waiting.length - before)
        if (refused > 0 && model.waiting.length === bounds.maxCount) reached.refusedByCount++
        else if (refused > 0) reached.refusedByBytes++
        return
      }
      case 'take': {
        if (out.length > 0) reached.heldOut++
        const taken = await on.take(command.limit, command.parked)
        if (taken.some(({ progress }) => progress !== undefined)) reached.tookParked++
        out = [...out, ...taken]
        return
      }
      case 'park': {
        const entries = chosen(out, command.which)
        without(entries)
        return on.park(entries, command.delay, command.tried)
      }
      case 'end': {
        const entries = chosen(out, command.which)
        const letters = model.dead.length
        without(entries)
        await on.end(entries, command.how)
        if (letters === bounds.keepDead && entries.length > 0 && command.how === 'rejected')
          reached.evictedDeadLetters++
        return
      }
      case 'bury':
        return on.bury({ ...command.item, n: given++ })
      case 'pass':
        on.pass(command.ms)
        return
      case 'redrive': {
        const { rest, by } = command.share
        const matches = ({ n }: Item): boolean => n % by === rest
        const wanted = model.dead.filter(({ entry }) => matches(entry.item)).length
        const before = model.dead.length
        await on.redrive(matches)
        if (model.dead.length < before) reached.redriven++
        if (before - model.dead.length < wanted) reached.redriveRefused++
        return
      }
      case 'purge': {
        const before = model.dead.length
        await on.purge(({ n }) => n % command.share.by === command.share.rest)
        if (model.dead.length < before) reached.purged++
        return
      }
      case 'list':
        return on.list(command.limit)
      case 'abandon':
        return on.abandon()
      case 'crash':
        if (out.length > 0) reached.crashedWhileOut++
        if (model.waiting.some(({ due }) => due !== undefined)) reached.crashedWithParked++
        out = []
        return on.crash()
      case 'reopen':
        if (model.dead.length > 0) reached.reopenedWithLetters++
        out = []
        for (let again = 0; again < command.times; again++) await on.reopen()
    }
  }
  for (const command of commands) {
    await step(command)
    on.check()
    reached.commands++
  }
  await on.reopen()
  await on.list(100)
  on.pass(1_000)
  const waiting = model.waiting.length
  const rest = await on.take(waiting + 1, waiting + 1)
  hold('kept', rest.length === waiting, `${rest.length} of ${waiting} were there at the end`)
  await on.close()
}

/** Plays one world; throws what names the law that was broken. */
export const keepLaws = async (make: MakeGround, each: World, reached: Reached): Promise<void> => {
  const ground = make()
  try {
    await run(play(ground, each.bounds), each, reached)
    reached.worlds++
  } finally {
    await ground.leave()
  }
}

/** All laws on one world; a violation names its law. */
export const outboxLaws = (
  make: MakeGround,
  reached: Reached = nothingReached(),
): fc.IAsyncProperty<[World]> => fc.asyncProperty(world, (each) => keepLaws(make, each, reached))

/** One law: what breaks another one only goes unseen. */
export const outboxLaw = (law: string, make: MakeGround): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (each) => {
    try {
      await keepLaws(make, each, nothingReached())
    } catch (error) {
      if (String(error).includes(law)) throw error
    }
  })
