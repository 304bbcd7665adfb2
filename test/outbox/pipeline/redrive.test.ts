import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { webhookDestination } from '../../../src/destination/createDestination.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { loopbackReceiver } from '../../../src/testing/loopbackReceiver.ts'
import type { Received } from '../../../src/testing/loopbackReceiver.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { inTime, startLife } from './lives.ts'
import type { End, Life } from './lives.ts'
import { EVENTS, isEmpty, newSeed, scratch } from './killed.ts'
import { callOf, nameOf } from './messages.js'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
const CHILD = fileURLToPath(new URL('redriveProcess.js', import.meta.url))
/** Four transactions of a redrive. */
const LETTERS = 2_000
const LIMIT = 110_000

const inOrder = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...texts].sort((one, other) => (one < other ? -1 : 1))

const textOf = ({ body }: Received): string => body.toString()

/** The texts of all that waits and of all that is dead. */
const lyingIn = async (path: string) => {
  const outbox = lmdbOutbox({ path, codec: EVENTS })
  const waiting = await outbox.lease(0, { count: LETTERS + 1, retries: 0 })
  const dead = await outbox.dead.list({ limit: LETTERS + 1 })
  const stats = outbox.stats()
  await outbox.close()
  expect(stats).toMatchObject({ waiting: waiting.length, dead: dead.length, quarantined: 0 })
  const texts = [...waiting, ...dead.flatMap((each) => (each.reason === 'ended' ? [each.entry] : []))].map(
    ({ item }) => item.text ?? '',
  )
  return { texts: inOrder(texts), dead: dead.length }
}

const over = ({ child, over: end }: Life): Promise<End> => {
  child.stdin.end()
  return end
}

it(
  'a redrive that is killed leaves each letter dead or waiting, and what it put back is delivered once',
  { timeout: LIMIT + 20_000 },
  async () => {
    const path = `${scratch()}/outbox`
    let code = 410
    const receiver = await loopbackReceiver(() => ({ do: 'status', code }))
    onTestFinished(receiver.close)
    const seed = newSeed()
    const random = seededRandom(seed)

    const first = webhookDestination(
      { webhooks: [{ url: receiver.url }] },
      { outbox: { path }, logger: false },
    )
    await Promise.all(Array.from({ length: LETTERS }, (_, number) => first.send(callOf(nameOf(number)))))
    expect(await first.idle()).toMatchObject({ rejected: LETTERS })
    await first.close()
    const bodies = inOrder(receiver.received.map(textOf))
    const left: number[] = []

    const redrive = (): Life =>
      startLife([MAIN, 'dead', 'redrive', '--outbox', path, '--yes'], () => undefined)

    const play = async (): Promise<void> => {
      // Before the first transaction, between two of them, and before the last; then where chance will have it.
      for (const count of [0, 499, 500, 999]) {
        const end = await over(startLife([CHILD, path, String(count)], () => undefined))
        expect(end).toEqual({ code: null, signal: 'SIGKILL', stderr: '' })
        const { texts, dead } = await lyingIn(path)
        expect(texts).toEqual(bodies)
        left.push(dead)
      }
      for (let kill = 0; kill < 3; kill++) {
        const life = redrive()
        await Promise.race([new Promise((resolve) => setTimeout(resolve, random() * 500)), over(life)])
        life.child.kill('SIGKILL')
        await life.over
        expect((await lyingIn(path)).texts).toEqual(bodies)
      }
      expect((await over(redrive())).code).toBe(0)
      expect(await lyingIn(path)).toEqual({ texts: bodies, dead: 0 })

      code = 200
      const before = receiver.received.length
      const sent = await over(
        startLife([MAIN, 'send', '--to', receiver.url, '--outbox', path, '--timeout', '1h'], () => undefined),
      )
      expect(sent).toMatchObject({ code: 0, signal: null })
      expect(inOrder(receiver.received.slice(before).map(textOf))).toEqual(bodies)
      await isEmpty(path, EVENTS)
    }
    await inTime(LIMIT, play(), () => JSON.stringify({ seed, left }))
    expect(left).toEqual([2_000, 2_000, 1_500, 1_000])
  },
)
