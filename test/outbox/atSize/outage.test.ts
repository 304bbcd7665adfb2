import { expect, it, onTestFinished } from 'vitest'
import type { DestinationStats } from '../../../src/destination/destination.ts'
import { folder } from './folder.ts'
import { live } from './life.ts'
import { tellingOf } from './tellingOf.ts'
import { tickingReceiver } from './tickingReceiver.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
const COUNT = NIGHTLY ? 1_000_000 : 5_000
/** The longest pause before a retry, milliseconds. */
const CAP = NIGHTLY ? 30_000 : 1_000
/** Rounds that may be under way at a kill; what they have ended and not synced is among them. */
const IN_ROUND = 1_000

it(
  `${COUNT} events wait for a receiver that is down; the process is killed, and killed again while they are drained: none is missing`,
  async () => {
    const path = folder()
    const receiver = await tickingReceiver(COUNT)
    onTestFinished(receiver.close)
    const say = tellingOf()
    const open = async (what: string) => {
      const first = receiver.next()
      const life = live('destinationProcess.js', [path, receiver.url, String(CAP)])
      const told = await life.ask<{ opening: number; opened: number }>({ do: 'opened' })
      const { opening, opened } = told.answer
      say(`${what}, opened in ${Math.round(opened)} ms`, told)
      return { life, firstRequest: first.then((at) => at - opening), opened }
    }

    const down = await open('down')
    say('accepted', await down.life.ask({ do: 'send', from: 0, count: COUNT }))
    // Half of them wait for a retry then, the others for their first attempt.
    await receiver.until(() => receiver.tried() >= COUNT / 2)
    const before = await down.life.ask<DestinationStats>({ do: 'stats' })
    say(`${receiver.requests()} attempts at half of them`, before)
    expect(before.answer).toMatchObject({ accepted: COUNT, waiting: COUNT })
    expect(receiver.requests()).toBeGreaterThan(receiver.tried())
    await down.life.kill()

    receiver.heal()
    const healed = await open('healed')
    console.log(`first request ${await healed.firstRequest} ms after the opening began`)
    await receiver.until(() => receiver.taken() >= COUNT / 2)
    say('half of them delivered', await healed.life.ask({ do: 'stats' }))
    await healed.life.kill()

    const last = await open('again')
    const idle = await last.life.ask<DestinationStats>({ do: 'idle' })
    say('all of them delivered', idle)
    expect(idle.answer).toMatchObject({ expired: 0, rejected: 0, waiting: 0 })
    const stats = await last.life.ask<DestinationStats>({ do: 'stats' })
    expect(stats.answer).toMatchObject({ waiting: 0, bytes: 0 })
    say('closed', await last.life.ask({ do: 'close' }))

    console.log(`${receiver.taken()} taken, ${receiver.again()} of them again`)
    expect(receiver.taken()).toBe(COUNT)
    expect(receiver.again()).toBeLessThanOrEqual(IN_ROUND)
  },
  NIGHTLY ? 3_600_000 : 60_000,
)
