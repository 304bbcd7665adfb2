/** The lmdb outbox at size: a receiver that is down while very many events wait, and kills. */
import { expect, it } from 'vitest'
import { storedEvents } from '../../src/destination/record.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { diskFolder } from '../support/folder.ts'
import { until } from '../support/http.ts'
import { sized } from '../support/runs.ts'
import { NO_HARM, PIPELINE, accountOf, expectAllDelivered, expectEmpty } from './kills.ts'
import { hearing, missing, openReceiver, startLife, type Life, type Said } from './kills.ts'
import { nameOf } from './messages.js'

const EVENTS = Number(process.env['EVENTS'] ?? sized({ short: 2_000, full: 5_000, long: 1_000_000 }))

it(
  `${String(EVENTS)} events wait for a receiver that is down; two kills lose none`,
  { timeout: 10_800_000 },
  async () => {
    const path = diskFolder()
    const names = Array.from({ length: EVENTS }, (_, number) => nameOf(number))
    const account = accountOf(names, ['hook'])
    const tried = new Set<string>()
    let isDown = true
    const refuses = (name: string): boolean => isDown && tried.add(name).size > 0
    const receiver = await openReceiver(account, seededRandom(1), false, refuses)
    receiver.heal()
    const told: Said[] = []
    const begin = (): Life => {
      const hear = hearing(account, (said) => told.push(said))
      const life = startLife([PIPELINE, 'destination', path, `${receiver.url}hook`], hear)
      life.child.stdin.end(missing({ names, account }))
      return life
    }
    const kill = async ({ child, over }: Life): Promise<void> => {
      child.kill('SIGKILL')
      expect(await over).toMatchObject({ signal: 'SIGKILL', stderr: '' })
      await receiver.quiet()
      account.nextLife()
    }
    const down = begin()
    await until(() => account.figures().acknowledged === EVENTS && tried.size >= EVENTS / 2)
    expect(account.figures().delivered).toBe(0)
    await kill(down)
    isDown = false
    const healed = begin()
    await receiver.delivered(EVENTS / 2)
    await kill(healed)
    expect(await begin().over).toEqual({ code: 0, signal: null, stderr: '' })
    const figures = account.figures()
    console.log(JSON.stringify(figures))
    expect(account.harm()).toEqual(NO_HARM)
    expect(figures).toMatchObject({ acknowledged: EVENTS, delivered: EVENTS, repeated: 0 })
    // Of a life: events in flight, and those that ended and are not stored.
    expect(figures.extra).toBeLessThanOrEqual(64 + 16)
    expectAllDelivered(told.at(-1) ?? {})
    await expectEmpty(path, storedEvents)
  },
)
