/** A client whose disk takes nothing: a real folder, a real receiver, and a time that passes when it is told to. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it, onTestFinished } from 'vitest'
import type { Client } from '../../src/client/Client.ts'
import { openFolder } from '../../src/client/keeping/openFolder.ts'
import { openClient } from '../../src/client/openClient.ts'
import { settingsOf } from '../../src/client/settingsOf.ts'
import { ingestion } from '../../src/http/ingestion.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const disk = { isFull: false }

const noSpace = async <T>(isGrowing: boolean, write: () => Promise<T>): Promise<T> => {
  if (disk.isFull && isGrowing) throw new Error('no space is left')
  return write()
}

/** As `createClient` makes one, over a disk that may be full: then it takes what makes the store no larger. */
const open = (path: string, receiver: Receiver) => {
  const clock = virtualClock({ start: 1_800_000_000_000 })
  const defects: string[] = []
  const note = (message: string): void => {
    defects.push(message)
  }
  const checked = settingsOf('a key', {
    endpoint: receiver.url,
    outbox: { path },
    clock,
    random: () => 0.5,
    drainOnExit: false,
    flushAfter: Infinity,
    logger: { debug: note, info: note, warn: note, error: note },
  })
  if (!isRight(checked)) throw new Error('the settings are wrong')
  const { settings, requests } = checked.right
  const { endpoint, writeKey, ...how } = requests
  const client: Client = openClient(
    settings,
    { sinkOn: (on) => ingestion(endpoint, writeKey, { ...how, clock: on, holds: false }), closes: true },
    (given) => {
      const store = openFolder(given)
      if (store === undefined) return undefined
      const { drafts } = store
      return {
        ...store,
        drafts: {
          ...drafts,
          write: (change) => noSpace(true, () => drafts.write(change)),
          bury: (remains) =>
            noSpace(
              remains.some(({ letter }) => letter !== undefined),
              () => drafts.bury(remains),
            ),
        },
      }
    },
  )
  return { client, clock, defects }
}

const begin = async (code: () => number): Promise<{ readonly path: string; readonly receiver: Receiver }> => {
  disk.isFull = false
  const path = mkdtempSync(`${tmpdir()}/headrace-full-`)
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: code() }))
  onTestFinished(async () => {
    await receiver.close()
    rmSync(path, { recursive: true, force: true })
  })
  return { path, receiver }
}

const send = (client: Client, from: number, to: number): void => {
  for (let n = from; n < to; n++)
    expect(client.track({ userId: 'u1', event: 'Seen', messageId: `m${String(n)}` })._tag).toBe('Right')
}

const arrived = ({ received }: Receiver): ReadonlyArray<string> =>
  received.flatMap(({ body }) => {
    const { batch } = JSON.parse(body.toString()) as { batch: ReadonlyArray<{ messageId: string }> }
    return batch.map(({ messageId }) => messageId)
  })

const some = (from: number, to: number): ReadonlyArray<string> =>
  Array.from({ length: to - from }, (_, at) => `m${String(from + at)}`)

it('delivers in order while its disk is full, without time passing, and leaves nothing behind', async () => {
  const { path, receiver } = await begin(() => 200)
  const { client, defects } = open(path, receiver)
  send(client, 0, 13)
  expect(await client.persisted()).toBe(true)
  disk.isFull = true
  send(client, 13, 130)
  const persisted = client.persisted()
  expect(await client.flush()).toMatchObject({ accepted: 130, delivered: 130, waiting: 0 })
  expect(await persisted).toBe(true)
  expect(arrived(receiver)).toEqual(some(0, 130))
  expect(client.stats()).toMatchObject({ notPersisted: 0 })
  expect(defects.join()).toContain('defect in outbox')
  await client.close()

  disk.isFull = false
  const { client: next } = open(path, receiver)
  expect(next.stats()).toMatchObject({ waiting: 0 })
  await next.close()
  expect(arrived(receiver)).toHaveLength(130)
})

it('brings what waits for a retry to the disk when there is room again', async () => {
  let code = 503
  const { path, receiver } = await begin(() => code)
  disk.isFull = true
  const { client, clock } = open(path, receiver)
  send(client, 0, 50)
  void client.flush()
  await receiver.arrived(1)
  expect(client.stats()).toMatchObject({ waiting: 50, notPersisted: 50 })
  disk.isFull = false
  const persisted = client.persisted()
  clock.tick(1_000)
  expect(await persisted).toBe(true)
  expect(client.stats()).toMatchObject({ waiting: 50, notPersisted: 0 })
  const closing = client.close({ timeout: 0 })
  await clock.settle()
  clock.tick(20_000)
  expect(await closing).toMatchObject({ totals: { waiting: 50 }, abandoned: [] })

  code = 200
  const { client: next, clock: later } = open(path, receiver)
  expect(next.stats()).toMatchObject({ waiting: 50, notPersisted: 0 })
  const over = next.close()
  await later.settle()
  later.tick(20_000)
  expect(await over).toMatchObject({ totals: { delivered: 50, waiting: 0 } })
  expect(new Set(arrived(receiver))).toEqual(new Set(some(0, 50)))
})
