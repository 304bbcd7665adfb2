import { isPromiseLike } from '../../src/core/awaitable.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import type { MessageBatch } from '../../src/client/Message.ts'
import { messageOf } from '../client/keeping/grounds.ts'
import type { Folders } from '../client/keeping/grounds.ts'
import { books, idsIn, idsOf, look, missingIn } from './keepingBooks.ts'
import { end, forgetOwed, handedOut, movesOn, park } from './keepingHandedOut.ts'
import { hold, same } from './keepingLaw.ts'
import { nextTurn, working } from './keepingPlay.ts'
import type { MakeKeeping } from './keepingPlay.ts'
import type { Reached } from './keepingReached.ts'
import type { Command, World } from './keepingWorld.ts'

/** Plays one world; throws what names the law that was broken. */
export const run = async (
  on: Folders,
  commands: World,
  make: MakeKeeping | undefined,
  reached: Reached,
): Promise<void> => {
  const of = books()
  let now = working(on.open(), make)
  let [life, accepted] = [0, 0]
  /** What each who was not answered yet waits for. */
  const asking = new Set<ReadonlyArray<string>>()
  let isTaking = false
  /** Is being parked or ended. */
  let leaving: Entry<MessageBatch> | undefined

  const begin = (): void => {
    now = working(on.open(), make)
    life++
    asking.clear()
    isTaking = false
    const { restored } = now.kept
    const { parts } = now.found()
    const lanes = [...new Set(parts.map(({ lane }) => lane))]
    same(
      'restores',
      restored.map(({ members }) => idsOf(members)),
      lanes.map((lane) =>
        idsOf(parts.filter((part) => part.lane === lane).flatMap(({ messages }) => messages)),
      ),
    )
    for (const { members } of restored)
      same('restores', new Set(members.map(({ id }) => of.lanes.get(id))).size, 1)
    if (restored.length > 0) reached.restored++
    if (restored.length > 1) reached.restoredSeveralLanes++
    if (parts.length > lanes.length) reached.restoredOfSeveralParts++
    of.closings.push(...restored.map(({ members }) => idsOf(members)))
  }

  const ask = (): void => {
    const mine = life
    const before = [...of.waiting]
    const { failed } = reached
    asking.add(before)
    const heard = (isKept: boolean): void => {
      if (mine !== life) return
      asking.delete(before)
      if (before.length > 0 && before.every((id) => of.ended.has(id)) && now.disk.isDown())
        reached.saidKeptWithoutDisk++
      hold('answers', isKept, 'no, though it is open')
      const missing = missingIn(before, idsIn(now.found())).filter((id) => !of.ended.has(id))
      hold('kept', missing.length === 0, `${missing.join()} is not there`)
      for (const id of before) of.promised.add(id)
      if (before.length > 0) reached.saidKept++
      if (reached.failed > failed) reached.saidKeptAfterFailures++
    }
    now.kept.whenKept().then(heard).then(undefined, caught)
  }

  let broken: Error | undefined
  const caught = (error: unknown): void => {
    broken ??= error instanceof Error ? error : new Error(String(error))
  }
  /** What was broken while nobody waited for it. */
  const listen = (): void => {
    if (broken !== undefined) throw broken
  }

  const isThereFresh = (): boolean => {
    const out = new Set([...now.out, ...(leaving === undefined ? [] : [leaving])].map(({ item }) => item.id))
    return now.found().batches.some(({ id }) => !out.has(id))
  }
  const took = (entries: ReadonlyArray<Entry<MessageBatch>>, limit: number): void => {
    isTaking = false
    handedOut(of, now, entries, limit, reached)
    if (entries.length > 0) return
    hold('takes', !isThereFresh(), 'nothing, though a batch is there')
    const isWriting = now.disk.isAsked() && now.fresh.size > 0
    hold('takes', !isWriting, 'nothing, though a batch is being written')
  }
  const take = (limit: number, parked: number): void => {
    if (isTaking) return
    isTaking = true
    const mine = life
    const answer = now.kept.outbox.take(now.clock.now(), limit, parked)
    if (!isPromiseLike(answer)) return took(answer, limit)
    reached.waitedToTake++
    answer
      .then((entries) => {
        if (mine === life) took(entries, limit)
      })
      .then(undefined, caught)
  }

  const onEvent = async (): Promise<void> => {
    const wasAsked = now.disk.isAsked()
    await now.disk.onEvent()
    if (!wasAsked) return
    if (now.disk.isDown()) reached.failed++
    listen()
    if (!isTaking) return
    hold('takes', !isThereFresh(), 'a batch is there, and is not handed out')
    movesOn(now)
  }
  const rest = async (): Promise<void> => {
    now.disk.set('fine')
    for (let idle = 0; idle < 2; idle = now.disk.isAsked() ? 0 : idle + 1) {
      await onEvent()
      now.clock.tick(1_000)
      await now.disk.rested()
    }
    listen()
    // All that was owed is settled.
    of.owed.clear()
    same('letters', [...(await now.dead())].sort(), [...of.died].sort())
    const there = look(of, now)
    same('notPersisted', [now.kept.notPersisted(), missingIn(of.waiting, there)], [0, []])
    hold('takes', !now.kept.isAnyLeaving(), 'something is still leaving')
    hold('answers', asking.size === 0, `${String(asking.size)} were never answered`)
  }
  const closeLane = (lane: number): void => {
    const isUntold = now.disk.isUntold()
    const batch = now.close(lane)
    if (batch === undefined) return
    if (isUntold) reached.closedWhileUntold++
    of.closings.push(idsOf(batch.members))
  }
  const forgetLost = (there: ReadonlySet<string>): void => {
    missingIn(of.waiting, there).forEach((id) => of.waiting.delete(id))
  }
  const crash = async (spoils: number | undefined): Promise<void> => {
    if (now.disk.isUntold()) reached.crashedUntold++
    else if (now.disk.isAsked()) reached.crashedWhileWriting++
    const there = look(of, now)
    const part = spoils === undefined ? undefined : now.found().parts[spoils]
    if (part !== undefined) reached.spoilt++
    forgetLost(there)
    for (const { id } of part?.messages ?? []) {
      of.spoilt.add(id)
      of.waiting.delete(id)
    }
    await on.crash(part?.number)
    begin()
    await forgetOwed(of, now, there)
    same('stays', [...look(of, now)].sort(), [...of.waiting].sort())
  }
  /** The disk answers until all is closed: a writer that needs more than one transaction for a change is waited for. */
  const closing = async (closed: PromiseLike<void>): Promise<void> => {
    const state = { isOpen: true }
    const end = closed.then(() => {
      state.isOpen = false
    })
    for (let told = 0; state.isOpen;) {
      if (await now.disk.onEvent()) told++
      else await nextTurn()
      hold('answers', told < 8, 'it is being closed, and goes on writing')
    }
    await end
  }
  const reopen = async (): Promise<void> => {
    for (const lane of now.open.keys()) closeLane(lane)
    life++
    await closing(now.kept.outbox.close())
    const back = now.kept.giveUp().flatMap(({ members }) => idsOf(members))
    await on.crash()
    begin()
    const there = idsIn(now.found())
    await forgetOwed(of, now, there)
    same('handsBack', [...back].sort(), missingIn(of.waiting, there).toSorted())
    if (back.length > 0) reached.handedBack++
    if (of.closings.some((ids) => ids.some((id) => back.includes(id)) && ids.some((id) => there.has(id))))
      reached.handedBackARest++
    forgetLost(there)
    look(of, now)
  }
  const withOne = async (
    which: number,
    use: (entry: Entry<MessageBatch>) => Promise<void>,
  ): Promise<void> => {
    const entry = now.out[which % Math.max(1, now.out.length)]
    if (entry === undefined) return
    now.out = now.out.filter((each) => each !== entry)
    leaving = entry
    await use(entry)
    leaving = undefined
  }
  const step = async (command: Command): Promise<void> => {
    switch (command.do) {
      case 'accept': {
        const messages = command.texts.map((text) => messageOf(`m${String(++accepted)}`, text))
        for (const { id, text } of messages) {
          of.texts.set(id, text)
          of.lanes.set(id, command.lane)
          of.waiting.add(id)
        }
        now.accept(command.lane, messages)
        return nextTurn()
      }
      case 'close':
        closeLane(command.lane)
        return nextTurn()
      case 'commit':
        return now.disk.commit()
      case 'onEvent':
        return onEvent()
      case 'disk': {
        now.disk.set(command.does)
        return
      }
      case 'ask':
        ask()
        return nextTurn()
      case 'take': {
        take(command.limit, command.parked)
        return
      }
      case 'park':
        return withOne(command.which, (entry) => park(now, entry, command.delay, reached))
      case 'end':
        return withOne(command.which, (entry) => end(of, now, entry, command.isDead, reached))
      case 'pass':
        now.clock.tick(command.ms)
        return nextTurn()
      case 'rest':
        return rest()
      case 'crash':
        return crash(command.spoils)
      case 'reopen':
        return reopen()
    }
  }

  /** Nothing of it was forgotten on the way. */
  const drain = async (): Promise<void> => {
    await rest()
    await crash(undefined)
    await rest()
    for (const entry of await now.kept.outbox.take(Infinity, 1_000, 1_000))
      await end(of, now, entry, false, reached)
    same('drains', [...of.waiting], [])
    same('drains', look(of, now).size, 0)
  }

  for (const command of commands) {
    await step(command)
    await now.disk.rested()
    listen()
    const unanswered = [...asking].some((before) => before.every((id) => of.ended.has(id)))
    hold('answers', !unanswered, 'all of it has ended, and nobody says so')
    look(of, now)
  }
  await drain()
  listen()
}
