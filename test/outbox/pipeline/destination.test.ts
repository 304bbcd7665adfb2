import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { EVENTS, NO_HARM, SIZE, addsUp, explained, isEmpty, killed, newSeed, scratch } from './killed.ts'
import { startLife } from './lives.ts'

const CHILD = fileURLToPath(new URL('destinationProcess.js', import.meta.url))
const CALLERS = 32
const IN_ROUND = 64
const MOST_UNWRITTEN = 16

it(
  `a destination that is killed ${SIZE.kills} times delivers each of ${SIZE.messages} messages that it accepted`,
  async () => {
    const seed = newSeed()
    const path = `${scratch()}/outbox`
    const began = Date.now()
    const { account, end, summary } = await killed({
      ...SIZE,
      seed,
      places: ['hook'],
      begin: (_, { account, receiver, names, hear }) => {
        const life = startLife([CHILD, path, `${receiver.url}hook`, String(CALLERS), String(IN_ROUND)], hear)
        // A host repeats what was not acknowledged.
        life.child.stdin.end(names.filter((name) => !account.isAcknowledged(name)).join('\n'))
        return life
      },
    })
    // In the round of a life that was killed: what is in flight, and what has ended and is not synced (HD48). And what the callers repeat.
    const most = SIZE.kills * (IN_ROUND + MOST_UNWRITTEN + CALLERS)
    const { extra } = account.figures()
    console.log(
      `destination: seed ${seed}, ${SIZE.kills} kills, ${JSON.stringify(account.figures())}, extra at most ${most}, ${Date.now() - began} ms`,
    )
    expect(end).toEqual({ code: 0, signal: null, stderr: '' })
    expect(account.harm()).toEqual(NO_HARM)
    expect(account.figures()).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages })
    expect(extra).toBeLessThanOrEqual(Math.min(most, explained(account.figures())))
    expect(summary()).toMatchObject({ waiting: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 })
    expect(addsUp(summary() ?? {})).toBe(true)
    await isEmpty(path, EVENTS)
  },
  SIZE.limit + 20_000,
)
