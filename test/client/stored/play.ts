/** Plays a world to clients with a folder, one life after the other, and holds them to what they promise. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../../src/client/Client.ts'
import type { Message, MessageBatch } from '../../../src/client/Message.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import { copyStore, readFolder } from '../keeping/grounds.ts'
import { newFolder } from '../../outbox/lmdb/grounds.ts'
import { openLife } from './life.ts'
import type { Life } from './life.ts'
import type { Command, World } from './worlds.ts'

/** Situations that the worlds must reach, or the laws test little. */
export const nothingReached = () => ({
  worlds: 0,
  persisted: 0,
  keptTooLate: 0,
  fullInFolder: 0,
  fullInMemory: 0,
  dropped: 0,
  rejected: 0,
  restored: 0,
  lost: 0,
  crashedInRequest: 0,
  handedBack: 0,
  leftAtClose: 0,
  deliveredWithoutDisk: 0,
})

export type Reached = ReturnType<typeof nothingReached>

interface Sent {
  readonly life: number
  readonly n: number
  readonly user: string
}

const must = (isSo: boolean, what: string): void => {
  if (!isSo) throw new Error(what)
}

/** What is done to the client of each life, so that it breaks a promise. */
export type Spoil = (client: Client) => Client

/** So long all is over at the latest. */
const LONG = 60_000

export const play = async (
  given: World,
  reached: Reached,
  spoil: Spoil = (client) => client,
): Promise<void> => {
  const root = newFolder(true)
  const sent = new Map<string, Sent>()
  /** Accepted and neither ended nor lost. */
  const waiting = new Set<string>()
  const promised = new Set<string>()
  const ended = new Map<string, Outcome<Message>['_tag']>()
  /** Ended while the disk let go of nothing: it may come again. */
  const endedWithoutDisk = new Set<string>()
  let life = 0
  let requests = 0
  let isClosing = false
  let asking = 0
  /** The newest of each line that has ended, and that was sent. */
  let last: Readonly<Record<string, number>> = {}
  let newest: Readonly<Record<string, number>> = {}
  const everSent = new Set<string>()
  let wasDown = false
  let broken: Error | undefined

  const path = (): string => join(root, String(life))
  const check = (isSo: boolean, what: string): void => {
    if (!isSo) broken ??= new Error(what)
  }

  /** Those of one life that must keep their order: all, or those of one user. */
  const lineOf = ({ n, user }: Sent): string => {
    if (given.concurrency === 1) return 'all'
    return given.isKeyed ? user : String(n)
  }

  const hear = (outcome: Outcome<Message>): void => {
    const { id } = outcome.item
    check(!ended.has(id), `${id} ended twice: ${String(ended.get(id))}, then ${outcome._tag}`)
    ended.set(id, outcome._tag)
    if (now.disk.isDown) {
      endedWithoutDisk.add(id)
      if (outcome._tag === 'Delivered') reached.deliveredWithoutDisk++
    }
    if (outcome._tag === 'Rejected') reached.rejected++
    const one = sent.get(id)
    if (one?.life !== life || outcome._tag === 'Dropped' || outcome._tag === 'Abandoned') return
    // What a disk that failed has not noted is told later.
    check(wasDown || (last[lineOf(one)] ?? -1) < one.n, `${id} ended before one that came before it`)
    last = { ...last, [lineOf(one)]: one.n }
  }

  const request = ({ members }: MessageBatch): number => {
    for (const { id } of members) {
      const one = sent.get(id)
      if (one?.life !== life || everSent.has(id)) continue
      everSent.add(id)
      check((newest[lineOf(one)] ?? -1) < one.n, `${id} was sent after one that came after it`)
      newest = { ...newest, [lineOf(one)]: one.n }
    }
    return requests++
  }

  const open = (start: number): Life => {
    last = {}
    newest = {}
    wasDown = false
    isClosing = false
    asking = 0
    const mine = life
    // What a killed process would have said later is not heard.
    const heard = (outcome: Outcome<Message>): void => {
      if (mine === life) hear(outcome)
    }
    const opened = openLife({ path: path(), start, given, asked: request, ended: heard })
    return { ...opened, client: spoil(opened.client) }
  }
  let now = open(1_800_000_000_000)

  /** What holds at every moment. */
  const sample = (): void => {
    const { accepted, delivered, rejected, expired, dropped, abandoned, ...stats } = now.client.stats()
    const sum = delivered + rejected + expired + dropped + abandoned + stats.waiting
    must(accepted === sum, `${accepted} were accepted, and the sum is ${sum}`)
    const still = [...waiting].filter((id) => !ended.has(id)).length
    must(stats.waiting === still, `${stats.waiting} are said to wait, and ${still} do`)
    must(
      stats.notPersisted >= 0 && stats.notPersisted <= Math.min(stats.waiting, given.maxCount),
      `${stats.notPersisted} notPersisted`,
    )
    must(stats.waiting <= given.folderCount, `${stats.waiting} wait`)
    must(stats.bytes <= given.folderBytes && stats.bytes > 0 === stats.waiting > 0, `${stats.bytes} bytes`)
    if (broken !== undefined) throw broken
  }

  const send = (user: string): void => {
    const id = `m${String(sent.size)}`
    sent.set(id, { life, n: sent.size, user })
    const before = now.client.stats()
    waiting.add(id)
    const answer = now.client.track({ userId: user, event: 'Seen', messageId: id })
    if (ended.get(id) === 'Dropped') reached.dropped++
    if (answer._tag === 'Right') return
    waiting.delete(id)
    must(answer.left._tag === 'Full', `it was ${answer.left._tag}`)
    const room = Math.min(given.folderCount, given.maxCount)
    must(before.waiting >= room || before.bytes > given.folderBytes - 1_000, 'full, and there is room')
    if (before.waiting >= given.folderCount) reached.fullInFolder++
    else if (now.disk.isDown) reached.fullInMemory++
  }

  const ask = (timeout: number | undefined): void => {
    const mine = life
    const asked = [...waiting]
    asking++
    void now.client.persisted(timeout === undefined ? {} : { timeout }).then((isKept) => {
      if (mine !== life) return
      asking--
      if (isKept) for (const id of asked) promised.add(id)
      if (isKept && asked.length > 0) reached.persisted++
      if (!isKept) reached.keptTooLate++
      check(isKept || timeout !== undefined || isClosing, 'not kept, and it is open')
    })
  }

  /** The next life finds what is on the disk, and forgets the others. Answers how many messages that are, and how many of them had ended. */
  const begin = async (): Promise<{ readonly restored: number; readonly again: number }> => {
    const before = path()
    const [start, { store }] = [now.now(), now]
    life++
    mkdirSync(path())
    copyStore(before, path())
    await store.close()
    rmSync(before, { recursive: true })
    const { batches, parked, parts } = await readFolder(path())
    const ids = [...batches, ...parked, ...parts].flatMap(({ messages }) => messages.map(({ id }) => id))
    const there = new Set(ids)
    must(there.size === ids.length, 'something is there twice')
    for (const id of ended.keys()) waiting.delete(id)
    let again = 0
    for (const id of there) {
      if (!endedWithoutDisk.has(id)) continue
      ended.delete(id)
      waiting.add(id)
      again++
    }
    endedWithoutDisk.clear()
    for (const id of there) must(waiting.has(id), `${id} is there`)
    for (const id of promised) must(ended.has(id) || there.has(id), `${id} was said to be kept, and is lost`)
    for (const id of waiting) if (!there.has(id)) waiting.delete(id)
    now = open(start)
    const { waiting: restored, accepted } = now.client.stats()
    must(restored === there.size && accepted === restored, `${restored} of ${there.size} are counted`)
    if (restored > 0) reached.restored++
    return { restored, again }
  }

  const crash = async (): Promise<void> => {
    // What has ended is told some promises after it was noted.
    await new Promise((resolve) => setImmediate(resolve))
    const { notPersisted, waiting: before } = now.client.stats()
    if (now.running() > 0) reached.crashedInRequest++
    const { restored } = await begin()
    // What was on its way to the disk may have come there.
    must(
      restored >= before - notPersisted,
      `${restored} of ${before} are there, and ${notPersisted} were not kept`,
    )
    if (restored < before) reached.lost++
  }

  const close = async (timeout: number): Promise<void> => {
    isClosing = true
    const closed = now.client.close({ timeout })
    const over = { is: false }
    void closed.then(() => {
      over.is = true
    })
    for (let passed = 0; !over.is && passed < LONG; passed += 1_000) await now.pass(1_000)
    must(over.is, 'it does not close')
    const { totals, abandoned } = await closed
    must(now.pending() === 0, 'it leaves a timer')
    for (const { id } of abandoned) must(ended.get(id) === 'Abandoned', `${id} was handed back and not told`)
    if (abandoned.length > 0) reached.handedBack++
    if (totals.waiting > 0) reached.leftAtClose++
    const { restored, again } = await begin()
    must(restored - again === totals.waiting, `${totals.waiting} were left, and ${restored} are there`)
  }

  const step = async (command: Command): Promise<void> => {
    switch (command.do) {
      case 'send':
        for (const user of command.users) send(user)
        return
      case 'pass':
        return now.pass(command.ms)
      case 'flush':
        void now.client.flush()
        return
      case 'ask':
        ask(command.timeout)
        return
      case 'disk':
        now.disk.isDown = command.isDown
        wasDown ||= command.isDown
        return
      case 'crash':
        return crash()
      case 'close':
        return close(command.timeout)
    }
  }

  try {
    for (const command of given.commands) {
      await step(command)
      sample()
    }
    now.disk.isDown = false
    now.heal()
    void now.client.flush()
    await now.pass(2_000)
    sample()
    ask(undefined)
    for (let passed = 0; now.client.stats().waiting > 0 && passed < LONG; passed += 1_000)
      await now.pass(1_000)
    await now.pass(0)
    sample()
    const { waiting: left, notPersisted } = now.client.stats()
    must(left === 0 && notPersisted === 0, `${left} never ended`)
    must(asking === 0, `${asking} were never told whether it is kept`)
    for (const id of promised) must(ended.has(id), `${id} was said to be kept, and never ended`)
    reached.worlds++
  } finally {
    await now.store.close()
    rmSync(root, { recursive: true, force: true })
  }
}
