import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { batches } from './batches.ts'
import type { Batches } from './batches.ts'
import { EVENTS, NO_HARM, SIZE, addsUp, isEmpty, killed, newSeed, scratch } from './killed.ts'
import { startLife } from './lives.ts'
import type { Said } from './lives.ts'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
const PLACES = ['first', 'second']
const BATCH = 20
const POSTS = 8
/** The relay of a destination has so many in its round at most (DE8), and so many that have ended and are not synced (HD48). */
const IN_ROUND = 1_000 + 16

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => {
      resolve(false)
    })
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true)
      })
    })
  })

/** Below those that systems give away by themselves: else a connection of somebody else could have it while the collector is dead. */
const freePort = async (): Promise<number> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    if (await isFree(port)) return port
  }
}

const summaryOf = (said: Said | undefined, place: string): Said => {
  // What the command writes; a test that finds it otherwise fails.
  const { destinations } = said as { readonly destinations: Readonly<Record<string, Said>> }
  return destinations[place] ?? {}
}

it(
  `collect that is killed ${SIZE.kills} times delivers each of ${SIZE.messages} messages that it answered with 200, to each of its destinations`,
  async () => {
    const seed = newSeed()
    const folder = scratch()
    const config = `${folder}/collector.json`
    const port = await freePort()
    const began = Date.now()
    let sender: Batches | undefined
    let ready = Promise.resolve()
    let isReady = (): void => undefined
    const { account, end, summary } = await killed({
      ...SIZE,
      seed,
      places: PLACES,
      begin: (life, { names, account, receiver, hear }) => {
        if (life === 0)
          writeFileSync(
            config,
            JSON.stringify({
              sources: [{ id: 'web', writeKey: { env: 'WEB_KEY' } }],
              destinations: PLACES.map((name) => ({
                name,
                sources: ['web'],
                outbox: { path: `${folder}/${name}` },
                webhooks: [{ url: `${receiver.url}${name}` }],
              })),
            }),
          )
        sender ??= batches({ names, account, size: BATCH, posts: POSTS })
        const { up } = sender
        ready = new Promise((resolve) => (isReady = resolve))
        return startLife(
          [MAIN, 'collect', String(port), '--config', config, '--output', 'json', '--grace', '1h'],
          (said) => {
            if (said['t'] === 'ready') {
              up(String(said['url']))
              isReady()
            } else hear(said)
          },
        )
      },
      ending: async ({ child }) => {
        // Before it is ready, a signal would end it as any process.
        await ready
        await sender?.acknowledged
        child.kill('SIGTERM')
      },
    })
    // For each destination what its relay had in its round, and what the sender repeats.
    const { extra } = account.figures()
    const most = SIZE.kills * PLACES.length * (IN_ROUND + POSTS * BATCH)
    console.log(
      `collect: seed ${seed}, ${SIZE.kills} kills, ${JSON.stringify(account.figures())}, extra at most ${most}, ${Date.now() - began} ms`,
    )
    expect(end.code).toBe(0)
    expect(account.harm()).toEqual(NO_HARM)
    expect(account.figures()).toMatchObject({
      acknowledged: SIZE.messages,
      delivered: SIZE.messages * PLACES.length,
    })
    expect(extra).toBeLessThanOrEqual(most)
    for (const place of PLACES) {
      const totals = summaryOf(summary(), place)
      expect(totals).toMatchObject({ waiting: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 })
      expect(addsUp(totals)).toBe(true)
      await isEmpty(`${folder}/${place}`, EVENTS)
    }
  },
  SIZE.limit + 20_000,
)
