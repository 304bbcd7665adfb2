/** The lmdb outbox at size: a receiver that is down while very many events wait, and four hours of retries with a crash in them. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it, onTestFinished } from 'vitest'
import { isPromiseLike } from '../../src/core/awaitable.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { retryable } from '../../src/core/failure.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import { standard } from '../../src/policy/retryPolicy.ts'
import { makeSink } from '../../src/sink/layer.ts'
import { withTimeout } from '../../src/sink/timeout.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { sized } from '../support/runs.ts'

const newFolder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'headrace-size-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const EVENTS = Number(process.env['EVENTS'] ?? sized({ short: 2_000, full: 5_000, long: 1_000_000 }))

interface Posted {
  readonly messageId: string
  readonly properties: { readonly n: number }
}

it(
  `${String(EVENTS)} events wait for a receiver that is down; two kills lose none`,
  { timeout: 10_800_000 },
  async () => {
    const path = newFolder()
    const tried = new Uint8Array(EVENTS)
    const taken = new Uint8Array(EVENTS)
    const counts = { tried: 0, taken: 0, again: 0 }
    let isHealthy = false
    let changed = (): void => undefined
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        // Only the destination posts here.
        const { messageId, properties } = JSON.parse(Buffer.concat(chunks).toString()) as Posted
        const { n } = properties
        if (messageId !== `m${String(n)}`) throw new Error(`${messageId} was changed`)
        if (tried[n] === 0) counts.tried++
        tried[n] = 1
        if (isHealthy && taken[n] === 0) counts.taken++
        else if (isHealthy) counts.again++
        if (isHealthy) taken[n] = 1
        response.writeHead(isHealthy ? 200 : 503).end()
        changed()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const until = (isSo: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        changed = () => {
          if (isSo()) resolve()
        }
        changed()
      })
    // A server that listens on an address has a port.
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`
    const maxDelay = sized({ short: 1_000, full: 1_000, long: 30_000 })
    const start = () => {
      const script = fileURLToPath(new URL('outageProcess.js', import.meta.url))
      const child = fork(script, [path, url, String(maxDelay)], { execArgv: [] })
      onTestFinished(() => {
        child.kill('SIGKILL')
      })
      return {
        ask: async (task: string, count?: number): Promise<unknown> => {
          const answered = once(child, 'message')
          child.send({ do: task, count })
          // What the process sends.
          const [{ answer, peak }] = (await answered) as [{ answer: unknown; peak: number }]
          console.log(`${task}: ${JSON.stringify(answer)}, peak ${String(Math.round(peak / 1_024))} MiB`)
          return answer
        },
        kill: async () => {
          child.kill('SIGKILL')
          await once(child, 'exit')
        },
      }
    }
    const down = start()
    await down.ask('opening')
    await down.ask('send', EVENTS)
    await until(() => counts.tried >= EVENTS / 2)
    expect(await down.ask('stats')).toMatchObject({ accepted: EVENTS, waiting: EVENTS })
    await down.kill()
    isHealthy = true
    const healed = start()
    await healed.ask('opening')
    await until(() => counts.taken >= EVENTS / 2)
    await healed.kill()
    const last = start()
    expect(await last.ask('idle')).toMatchObject({ expired: 0, rejected: 0, waiting: 0 })
    expect(await last.ask('stats')).toMatchObject({ waiting: 0, bytes: 0 })
    await last.ask('close')
    expect(counts.taken).toBe(EVENTS)
    // In flight at the kill, and ended but not stored.
    expect(counts.again).toBeLessThanOrEqual(1_016)
  },
)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WINDOW = 4 * HOUR
const START = Date.UTC(2026, 0, 1)
const ITEMS = sized({ short: 200, full: 300, long: 30_000 })
/** The disk answers in real time, so the virtual time stands still until it has answered all; after each of these steps. */
const STEP = sized({ short: MINUTE, full: MINUTE, long: 5_000 })
const CRASH_AT = 100 * MINUTE
const DOWN_FOR = 25 * MINUTE

it.each([
  ['is down', () => false],
  ['recovers after two hours', (at: number) => at >= 2 * HOUR],
  ['works for ten seconds in an hour', (at: number) => Math.floor(at / 10_000) % 360 === 222],
])(
  `four hours of ${String(ITEMS)} items on a disk, with a crash, and a receiver that %s`,
  { timeout: 7_200_000 },
  async (_, takes: (sinceStart: number) => boolean) => {
    const root = newFolder()
    const codec = { toText: String, fromText: Number, sizeOf: () => 1 }
    const first = new Map<number, number>()
    const stored = new Set<number>()
    const ended = new Map<number, string>()

    const open = (path: string, start: number) => {
      const clock = virtualClock({ start })
      const outbox = lmdbOutbox<number>({ path, codec, clock, keepDead: 1_000_000 })
      let asked = 0
      const counted = <T>(answer: Awaitable<T>): Awaitable<T> => {
        if (!isPromiseLike(answer)) return answer
        asked++
        return answer.then((value) => {
          asked--
          return value
        })
      }
      const watched: Outbox<number> = {
        ...outbox,
        enqueue: (items) => counted(outbox.enqueue(items)),
        ack: (list) => counted(outbox.ack(list)),
        nack: async (list) => {
          await counted(outbox.nack(list))
          for (const { entry } of list) stored.add(entry.item)
        },
      }
      const receiver = makeSink<number>(
        'receiver',
        (item, { until }, to) => {
          const at = clock.now()
          const began = first.get(item) ?? at
          first.set(item, began)
          if (ended.has(item) || until !== began + WINDOW || at >= until)
            throw new Error(`${String(item)} is attempted at ${String(at)}, until ${String(until)}`)
          const isTaken = takes(at - START)
          return clock.schedule(900, () => {
            to.next(isTaken ? right({ sink: 'receiver' }) : left(retryable('status', { status: 503 })))
            to.complete()
          })
        },
        () => () => Promise.resolve(),
      )
      const work = relay<number>({
        sink: withTimeout(5_000, { clock })(receiver),
        outbox: watched,
        retry: standard,
        clock,
        random: seededRandom(7),
        maxInFlight: 1_000,
        ended: ({ item, _tag }) => {
          if (ended.has(item)) throw new Error(`${String(item)} ends twice`)
          const left = (first.get(item) ?? 0) + WINDOW - clock.now()
          // It expires when no further attempt fits: within the longest delay before its deadline.
          if (_tag !== 'Delivered' && (left > 10 * MINUTE || left < -STEP - 5_000))
            throw new Error(`${String(item)} ends as ${_tag} ${String(left)} ms before its deadline`)
          ended.set(item, _tag)
        },
      })
      const pass = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += STEP) {
          clock.tick(STEP)
          do await clock.settle()
          while (asked > 0)
        }
      }
      return { clock, outbox, work, pass }
    }

    const before = open(join(root, '0'), START)
    for (let minute = 0; minute < 30; minute++) {
      for (let item = minute; item < ITEMS; item += 30) void before.work.offer(item)
      await before.pass(MINUTE)
    }
    await before.pass(CRASH_AT - 30 * MINUTE)
    expect(before.work.totals()).toMatchObject({ accepted: ITEMS, waiting: ITEMS - ended.size })
    mkdirSync(join(root, '1'))
    copyFileSync(join(root, '0', 'data.mdb'), join(root, '1', 'data.mdb'))
    await before.outbox.close()
    // An item in its first attempt, which was not put back yet, begins anew.
    for (const item of first.keys()) if (!stored.has(item)) first.delete(item)

    const after = open(join(root, '1'), START + CRASH_AT + DOWN_FOR)
    await after.pass(WINDOW + 30 * MINUTE - CRASH_AT - DOWN_FOR + 2 * MINUTE)
    const delivered = [...ended.values()].filter((tag) => tag === 'Delivered').length
    console.log(`${String(delivered)} delivered, ${String(ITEMS - delivered)} expired`)
    expect(ended.size).toBe(ITEMS)
    expect(after.outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: ITEMS - delivered })
    await after.outbox.close()
  },
)
