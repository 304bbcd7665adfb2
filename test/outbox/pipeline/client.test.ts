import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { batchCodec } from '../../../src/client/keeping/batchCodec.ts'
import { NO_HARM, SIZE, addsUp, isEmpty, killed, newSeed, scratch } from './killed.ts'
import { startLife } from './lives.ts'

const CHILD = fileURLToPath(new URL('clientProcess.js', import.meta.url))
const BATCH = 20
/** With one request at a time: the batch in it, and those that have ended and are not synced (HD48). */
const DOUBTFUL = 1 + 16

it(
  `a client that is killed ${SIZE.kills} times delivers each of ${SIZE.messages} messages that it kept`,
  async () => {
    const seed = newSeed()
    const path = `${scratch()}/outbox`
    const began = Date.now()
    const { account, end, summary } = await killed({
      ...SIZE,
      seed,
      places: ['batch'],
      holds: false,
      begin: (number, { account, receiver, names, hear }) => {
        const life = startLife([CHILD, path, `${receiver.url}batch`], hear)
        const rest = names.filter((name) => !account.isAcknowledged(name))
        life.child.stdin.write(rest.map((name) => `${name}\n`).join(''))
        // Only the last one comes to its end.
        if (number === SIZE.kills) life.child.stdin.end()
        return life
      },
    })
    const { extra, repeated } = account.figures()
    const most = SIZE.kills * DOUBTFUL * BATCH + repeated
    console.log(
      `client: seed ${seed}, ${SIZE.kills} kills, ${JSON.stringify(account.figures())}, extra at most ${most}, ${Date.now() - began} ms`,
    )
    expect(end).toEqual({ code: 0, signal: null, stderr: '' })
    expect(account.harm()).toEqual(NO_HARM)
    expect(account.figures()).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages })
    expect(extra).toBeLessThanOrEqual(most)
    expect(summary()).toMatchObject({ waiting: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 })
    expect(addsUp(summary() ?? {})).toBe(true)
    await isEmpty(path, batchCodec)
  },
  SIZE.limit + 20_000,
)
