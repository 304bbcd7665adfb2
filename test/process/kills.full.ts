/** Pipelines with a folder, killed by SIGKILL: nothing that they acknowledged is missing, and what comes twice is bounded. */
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { storedEvents } from '../../src/destination/record.ts'
import { diskFolder, textCodec } from '../support/folder.ts'
import { freePort } from '../support/servers.js'
import { LIMIT, PIPELINE, SIZE, expectAllDelivered, expectEmpty } from './kills.ts'
import { killed, missing, startLife, type Life, type Said, type Stage } from './kills.ts'
import { callOf, nameOf } from './messages.js'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
/** Ended and not stored yet when a process is killed: at most this many acks. */
const UNSAVED = 16
const IN_FLIGHT = 1_000
const WINDOW = 64
const CLEAN_END = { code: 0, signal: null, stderr: '' }

/** Starts the host, and gives it what was not acknowledged. */
const beginning =
  (kind: string, path: string) =>
  (_: number, stage: Stage): Life => {
    const life = startLife([PIPELINE, kind, path, `${stage.url}hook`], stage.hear)
    life.child.stdin.end(missing(stage))
    return life
  }

it(`a destination, killed ${String(SIZE.kills)} times`, { timeout: LIMIT }, async () => {
  const path = `${diskFolder()}/outbox`
  const { figures, end, summary } = await killed({ places: ['hook'], begin: beginning('destination', path) })
  expect(end).toEqual(CLEAN_END)
  expect(figures).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages })
  // In flight, ended and not stored, and offered again by the callers.
  expect(figures.extra).toBeLessThanOrEqual(SIZE.kills * (64 + UNSAVED + 32))
  expect(figures.extra).toBeLessThanOrEqual(figures.doubtful + figures.repeated)
  expectAllDelivered(summary)
  await expectEmpty(path, storedEvents)
})

it(`a pipeline of operators, killed ${String(SIZE.kills)} times`, { timeout: LIMIT }, async () => {
  const path = `${diskFolder()}/outbox`
  const { figures, end } = await killed({ places: ['hook'], begin: beginning('operators', path) })
  expect(end).toEqual(CLEAN_END)
  expect(figures).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages })
  // A window each in flight, ended and not stored, and offered again.
  expect(figures.extra).toBeLessThanOrEqual(SIZE.kills * 3 * WINDOW)
  await expectEmpty(path, textCodec)
})

it('a destination that acknowledges what it does not store is found out', { timeout: LIMIT }, async () => {
  const begin = beginning('early', `${diskFolder()}/outbox`)
  await expect(killed({ places: ['hook'], messages: 300, begin })).rejects.toThrow('missing: 15')
})

it(`a client, killed ${String(SIZE.kills)} times`, { timeout: LIMIT }, async () => {
  const path = `${diskFolder()}/outbox`
  const { figures, end, summary } = await killed({
    places: ['batch'],
    holds: false,
    begin: (life, stage) => {
      const { child, over } = startLife([PIPELINE, 'client', path, `${stage.url}batch`], stage.hear)
      child.stdin.write(missing(stage))
      if (life === SIZE.kills) child.stdin.end()
      return { child, over }
    },
  })
  expect(end).toEqual(CLEAN_END)
  expect(figures).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages })
  // One batch in flight, and those that ended and were not stored.
  expect(figures.extra).toBeLessThanOrEqual(SIZE.kills * (1 + UNSAVED) * 20 + figures.repeated)
  expectAllDelivered(summary)
})

/** Posts all messages in batches, each again until it is answered with 200. */
const postAll = async (port: number, { names, account }: Stage): Promise<void> => {
  const batches: Array<ReadonlyArray<string>> = []
  for (let at = 0; at < names.length; at += 20) batches.push(names.slice(at, at + 20))
  const post = async (batch: ReadonlyArray<string>): Promise<boolean> => {
    for (const name of batch) account.offered(name)
    try {
      const response = await fetch(`http://127.0.0.1:${String(port)}/v1/batch`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('wk:')}` },
        body: JSON.stringify({ batch: batch.map(callOf) }),
      })
      const text = await response.text()
      if (response.status === 503) return false
      if (response.status !== 200 || text.includes('"ok":false')) throw new Error(text)
      return true
    } catch (error) {
      // `fetch` without an answer.
      if (error instanceof TypeError) return false
      throw error
    }
  }
  const work = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      while (!(await post(batch))) await sleep(100)
      for (const name of batch) account.acknowledged(name)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

it(`collect, killed ${String(SIZE.kills)} times`, { timeout: LIMIT }, async () => {
  const places = ['first', 'second']
  const folder = diskFolder()
  const config = `${folder}/collector.json`
  const port = await freePort()
  let posting: Promise<void> | undefined
  let ready = Promise.resolve()
  const { figures, end, summary } = await killed({
    places,
    begin: (life, stage) => {
      if (life === 0)
        writeFileSync(
          config,
          JSON.stringify({
            sources: [{ id: 'web', writeKey: { env: 'WEB_KEY' } }],
            destinations: places.map((name) => ({
              name,
              sources: ['web'],
              outbox: { path: `${folder}/${name}` },
              webhooks: [{ url: `${stage.url}${name}` }],
            })),
          }),
        )
      posting ??= postAll(port, stage)
      const flags = ['--config', config, '--output', 'json', '--grace', '1h']
      let isReady = (): void => undefined
      ready = new Promise((resolve) => (isReady = resolve))
      return startLife([MAIN, 'collect', String(port), ...flags], (said) => {
        if (said['t'] === 'ready') isReady()
        stage.hear(said)
      })
    },
    ending: async ({ child }) => {
      await posting
      // Before it listens to signals, one would end it at once.
      await ready
      child.kill('SIGTERM')
    },
  })
  expect(end.code).toBe(0)
  expect(figures).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages * places.length })
  expect(figures.extra).toBeLessThanOrEqual(SIZE.kills * places.length * (IN_FLIGHT + UNSAVED + 160))
  // What the command writes.
  const { destinations } = summary as { readonly destinations: Readonly<Record<string, Said>> }
  for (const place of places) {
    expectAllDelivered(destinations[place] ?? {})
    await expectEmpty(`${folder}/${place}`, storedEvents)
  }
})

/** A line without an id and a time of its own: one that was taken twice would have two of them. */
const nameless = (name: string): object => {
  const { messageId: _, timestamp: __, ...call } = callOf(name)
  return call
}

it.each([
  ['lines with an id', callOf, [], SIZE.messages],
  ['lines without an id', nameless, [], SIZE.messages],
  ['an outbox at its bound', nameless, ['--max-waiting', '50'], SIZE.messages / 2],
] as const)(
  `send --outbox, killed ${String(SIZE.kills)} times: %s`,
  { timeout: LIMIT },
  async (_, lineOf, flags, messages) => {
    const folder = diskFolder()
    const file = `${folder}/events.ndjson`
    const path = `${folder}/outbox`
    const names = Array.from({ length: messages }, (__, number) => nameOf(number))
    writeFileSync(file, names.map((name) => `${JSON.stringify(lineOf(name))}\n`).join(''))
    const { figures, end, summary, account } = await killed({
      messages,
      places: ['hook'],
      begin: (life, stage) => {
        // Each line is offered once, however often the command runs.
        if (life === 0) names.forEach(stage.account.offered)
        const more = ['--outbox', path, '--output', 'json', '--timeout', '1h', ...flags]
        return startLife([MAIN, 'send', file, '--to', `${stage.url}hook`, ...more], stage.hear)
      },
    })
    names.forEach(account.acknowledged)
    expect(account.harm().missing).toBe(0)
    expect(end).toMatchObject({ code: 0, signal: null })
    expect(figures.extra).toBeLessThanOrEqual(SIZE.kills * (IN_FLIGHT + UNSAVED))
    expect(figures.extra).toBeLessThanOrEqual(figures.doubtful + figures.repeated)
    expectAllDelivered(summary)
    await expectEmpty(path, storedEvents)
  },
)
