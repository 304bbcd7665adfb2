import { isPromiseLike } from '../../src/internal/Awaitable.ts'
import { refused, retryable } from '../../src/outcome/Failure.ts'
import { delivered, rejected } from '../../src/outcome/Outcome.ts'
import type { Entry } from '../../src/sink/Outbox.ts'
import type { MessageBatch } from '../../src/client/Message.ts'
import { messageOf } from '../client/keeping/grounds.ts'
import type { Folders } from '../client/keeping/grounds.ts'
import { books, idsIn, idsOf, look, missingIn } from './keepingBooks.ts'
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
  let [life, accepted, asking] = [0, 0, 0]
  let isTaking = false

  const begin = (): void => {
    now = working(on.open(), make)
    life++
    asking = 0
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
    asking++
    const heard = (isKept: boolean): void => {
      if (mine !== life) return
      asking--
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
    const out = new Set(now.out.map(({ item }) => item.id))
    return now.found().batches.some(({ id }) => !out.has(id))
  }
  const took = (entries: ReadonlyArray<Entry<MessageBatch>>): void => {
    isTaking = false
    if (entries.some(({ progress }) => progress !== undefined)) reached.tookRetries++
    now.out = [...now.out, ...entries]
    if (entries.length > 0) return
    hold('takes', !isThereFresh(), 'nothing, though a batch is there')
    const isWriting = now.disk.isAsked() && now.kept.isAnyLeaving()
    hold('takes', !isWriting, 'nothing, though a batch is being written')
  }
  const take = (limit: number, parked: number): void => {
    if (isTaking) return
    isTaking = true
    const mine = life
    const answer = now.kept.outbox.take(now.clock.now(), limit, parked)
    if (!isPromiseLike(answer)) return took(answer)
    reached.waitedToTake++
    answer
      .then((entries) => {
        if (mine === life) took(entries)
      })
      .then(undefined, caught)
  }

  const tell = async (): Promise<void> => {
    const wasAsked = now.disk.isAsked()
    await now.disk.tell()
    if (!wasAsked) return
    if (now.disk.isDown()) reached.failed++
    if (isTaking) hold('takes', !isThereFresh(), 'a batch is there, and is not handed out')
  }
  const rest = async (): Promise<void> => {
    now.disk.set('fine')
    for (let idle = 0; idle < 2; idle = now.disk.isAsked() ? 0 : idle + 1) {
      await tell()
      now.clock.tick(1_000)
      await nextTurn()
    }
    listen()
    const there = look(of, now)
    same('unkept', [now.kept.unkept(), missingIn(of.waiting, there)], [0, []])
    hold('takes', !now.kept.isAnyLeaving(), 'something is still leaving')
    hold('answers', asking === 0, `${String(asking)} were never answered`)
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
    same('stays', [...look(of, now)].sort(), [...of.waiting].sort())
  }
  /** The disk answers until all is closed: a writer that needs more than one transaction for a change is waited for. */
  const closing = async (closed: PromiseLike<void>): Promise<void> => {
    let isOpen = true
    const end = closed.then(() => {
      isOpen = false
    })
    for (let told = 0; isOpen;) {
      if (await now.disk.tell()) told++
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
    same('handsBack', [...back].sort(), missingIn(of.waiting, there).toSorted())
    if (back.length > 0) reached.handedBack++
    if (of.closings.some((ids) => ids.some((id) => back.includes(id)) && ids.some((id) => there.has(id))))
      reached.handedBackARest++
    forgetLost(there)
    look(of, now)
  }
  const one = (which: number): Entry<MessageBatch> | undefined => {
    const entry = now.out[which % Math.max(1, now.out.length)]
    now.out = now.out.filter((each) => each !== entry)
    return entry
  }
  const end = async (entry: Entry<MessageBatch>, isDead: boolean): Promise<void> => {
    const { item } = entry
    const outcome = isDead ? rejected(item, 1, refused('status')) : delivered(item, 1, { sink: 's' })
    await now.kept.outbox.end(entry, outcome)
    for (const { id } of item.members) {
      of.ended.add(id)
      of.waiting.delete(id)
    }
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
      case 'tell':
        return tell()
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
      case 'park': {
        const entry = one(command.which)
        if (entry === undefined) return
        const progress = { attempts: 1, last: retryable('busy') }
        return now.kept.outbox.park({ ...entry, since: 0, progress }, now.clock.now() + command.delay)
      }
      case 'end': {
        const entry = one(command.which)
        if (entry === undefined) return
        return end(entry, command.isDead)
      }
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
    for (const entry of await now.kept.outbox.take(Infinity, 1_000, 1_000)) await end(entry, false)
    same('drains', [...of.waiting], [])
    same('drains', look(of, now).size, 0)
  }

  for (const command of commands) {
    await step(command)
    listen()
    look(of, now)
  }
  await drain()
  listen()
}
