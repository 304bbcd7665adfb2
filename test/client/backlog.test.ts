/** Very many messages wait in a folder for a receiver that is down: memory is bounded, and in the end none is missing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import type { ClientStats } from '../../src/client/Client.ts'
import { live } from '../outbox/atSize/life.ts'
import type { Life } from '../outbox/atSize/life.ts'
import { tellingOf } from '../outbox/atSize/tellingOf.ts'
import { messageReceiver } from './stored/messageReceiver.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
const COUNT = NIGHTLY ? 300_000 : 5_000
const SIZE = 20
/** Batches that have ended and are not synced (HD48). */
const MOST_UNWRITTEN = 16

it(
  `${COUNT} messages wait for a receiver that is down; the process is killed, and the next one delivers them, one batch after the other`,
  async () => {
    const path = mkdtempSync(`${tmpdir()}/headrace-backlog-`)
    onTestFinished(() => {
      rmSync(path, { recursive: true, force: true })
    })
    let isUp = false
    const receiver = await messageReceiver(() => isUp)
    onTestFinished(receiver.close)
    const say = tellingOf()
    const open = async (what: string): Promise<Life> => {
      const life = live('../../client/stored/backlogProcess.js', [path, receiver.url])
      const opened = await life.ask<number>({ do: 'opened' })
      say(`${what}, opened in ${Math.round(opened.answer)} ms`, opened)
      return life
    }

    const down = await open('down')
    const persisted = await down.ask<{ isKept: boolean; full: number }>({ do: 'track', count: COUNT })
    say(`tracked and kept, ${persisted.answer.full} times full`, persisted)
    expect(persisted.answer.isKept).toBe(true)
    const before = await down.ask<ClientStats>({ do: 'stats' })
    expect(before.answer).toMatchObject({ accepted: COUNT, waiting: COUNT, notPersisted: 0 })
    await receiver.until(() => receiver.requests() > 1)
    await down.kill()

    isUp = true
    const up = await open('up')
    await receiver.until(() => receiver.taken.size >= COUNT / 2)
    say('half of them taken', await up.ask({ do: 'stats' }))
    await up.kill()

    const last = await open('up again')
    await receiver.until(() => receiver.taken.size >= COUNT)
    const closed = await last.ask<{ totals: ClientStats }>({ do: 'close' })
    say('all of them taken', closed)
    expect(closed.answer.totals).toMatchObject({ waiting: 0, rejected: 0, expired: 0, abandoned: 0 })

    const numbers = [...receiver.taken].map((id) => Number(id.slice(2)))
    const steps = numbers.filter((number, at) => number !== (numbers[at - 1] ?? -1) + 1).length
    console.log(`${receiver.requests()} requests, ${receiver.again()} again, ${steps} steps out of order`)
    expect(receiver.taken.size).toBe(COUNT)
    expect(receiver.again()).toBeLessThanOrEqual(SIZE * (1 + MOST_UNWRITTEN))
    // The batch that was in a retry when the first process was killed comes when it is due, and its neighbours pass by.
    expect(steps).toBeLessThanOrEqual(3)
  },
  NIGHTLY ? 1_800_000 : 60_000,
)
