/** A client that is killed at random moments: what it said to be kept arrives. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../src/testing/random.ts'
import { startLife } from '../outbox/pipeline/lives.ts'
import type { Life, Said } from '../outbox/pipeline/lives.ts'
import { messageReceiver } from './stored/messageReceiver.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
const KILLS = NIGHTLY ? 30 : 4
/** Messages of a life. */
const MOST = NIGHTLY ? 5_000 : 1_500
const SIZE = 20
const MOST_UNWRITTEN = 16
const PROCESS = fileURLToPath(new URL('stored/trackingProcess.js', import.meta.url))

const numberIn = (id: string): number => Number(id.split('-')[1])

it(
  `${KILLS} kills in a tight loop of calls: all that kept() said true for arrives, in its order within a life, hardly anything twice`,
  async () => {
    const path = mkdtempSync(`${tmpdir()}/headrace-killed-`)
    onTestFinished(() => {
      rmSync(path, { recursive: true, force: true })
    })
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    const random = seededRandom(seed)
    let isSound = false
    const receiver = await messageReceiver(() => isSound || random() < 0.8)
    onTestFinished(receiver.close)
    const persisted: number[] = []
    let totals: unknown
    const hear = (life: number) => (said: Said) => {
      if (typeof said['upTo'] === 'number') persisted[life] = Math.max(persisted[life] ?? 0, said['upTo'])
      else totals = said['totals']
    }
    const start = (life: number | 'last'): Life =>
      startLife(
        [PROCESS, path, receiver.url, String(life), String(MOST)],
        hear(life === 'last' ? KILLS : life),
      )
    let disorder = 0

    for (let life = 0; life < KILLS; life++) {
      persisted[life] = 0
      const before = receiver.taken.size
      const one = start(life)
      // Some are killed when so much was kept, some when so much was taken or a little later, some while they start.
      const goal = 100 + Math.floor(random() * (MOST - 100))
      const patience = [Infinity, 1_500, Infinity, 500][life % 4] ?? 0
      const isThere = (): boolean =>
        (life % 2 === 0 ? (persisted[life] ?? 0) : receiver.taken.size - before) >= goal
      const late = performance.now() + patience * random()
      while (!isThere() && performance.now() < late && one.child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 1))
      one.child.kill('SIGKILL')
      const { signal, stderr } = await one.over
      expect([signal, stderr]).toEqual(['SIGKILL', ''])
      const own = [...receiver.taken]
        .slice(before)
        .filter((id) => id.startsWith(`${life}-`))
        .map(numberIn)
      disorder += own.filter((number, at) => number < (own[at - 1] ?? 0)).length
    }
    const waited = receiver.taken.size
    isSound = true
    const { code, stderr } = await start('last').over
    expect([code, stderr], `seed ${seed}`).toEqual([0, ''])

    const promised = persisted.flatMap((upTo, life) =>
      Array.from({ length: upTo }, (_, n) => `${life}-${n + 1}`),
    )
    const missing = promised.filter((id) => !receiver.taken.has(id))
    const { taken, again, requests } = receiver
    console.log(
      `${KILLS} kills, ${promised.length} kept, ${taken.size} arrived (${taken.size - waited} after the last kill), ${again()} again, ${requests()} requests`,
    )
    expect({ missing, disorder }, `seed ${seed}`).toEqual({ missing: [], disorder: 0 })
    expect(promised.length).toBeGreaterThanOrEqual((KILLS / 2) * 100)
    // Of each life the batch that was in its request, and those whose end was not on the disk (HD48).
    expect(again()).toBeLessThanOrEqual(KILLS * SIZE * (1 + MOST_UNWRITTEN))
    expect(totals).toMatchObject({ waiting: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 })
  },
  NIGHTLY ? 900_000 : 60_000,
)
