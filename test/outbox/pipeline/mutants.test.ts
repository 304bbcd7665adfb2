/** Each claim of the pipeline tests must bite: the same runs over parts with a defect that was planted. */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { payloadCodec } from '../../../src/destination/record.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { accountOf } from './account.ts'
import type { Harm } from './account.ts'
import { heardBy, killed, newSeed, scratch } from './killed.ts'
import type { KilledOptions, Stage } from './killed.ts'
import { inTime, liveUntil, startLife } from './lives.ts'
import type { Life } from './lives.ts'
import { callOf, nameOf } from './messages.js'
import { countingReceiver } from './receiver.ts'

const CHILD = fileURLToPath(new URL('destinationProcess.js', import.meta.url))
const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

const MESSAGES = 300
const LIMIT = 110_000

const harmOf = async (
  begin: KilledOptions['begin'],
  more: Partial<Pick<KilledOptions, 'seen' | 'kills'>> = {},
): Promise<Harm> => {
  const options = { places: ['hook'], seed: newSeed(), messages: MESSAGES, kills: 2, limit: LIMIT }
  const { account } = await killed({ ...options, ...more, begin })
  return account.harm()
}

type Sending = Pick<Stage, 'account' | 'receiver' | 'names' | 'hear'>

const destination = (path: string, { account, receiver, names, hear }: Sending, plant = 'none'): Life => {
  const life = startLife([CHILD, path, `${receiver.url}hook`, '16', '64', plant], hear)
  life.child.stdin.end(names.filter((name) => !account.isAcknowledged(name)).join('\n'))
  return life
}

/** A command whose mark in its input is gone at each restart, so that it reads all of it again. */
const forgetful = (lineOf: (name: string) => object): Promise<Harm> => {
  const folder = scratch()
  const file = `${folder}/events.ndjson`
  const path = `${folder}/outbox`
  const forget = async (): Promise<void> => {
    const outbox = lmdbOutbox({ path, codec: payloadCodec })
    await outbox.forget(file)
    await outbox.close()
  }
  return harmOf(async (life, { names, account, receiver, hear }) => {
    if (life > 0) await forget()
    else writeFileSync(file, names.map((name) => `${JSON.stringify(lineOf(name))}\n`).join(''))
    for (const name of names) account.offered(name)
    const to = `${receiver.url}hook`
    return startLife(
      [...[MAIN, 'send', file, '--to', to, '--outbox', path], ...['--output', 'json', '--timeout', '1h']],
      hear,
    )
  })
}

describe('a run finds', { timeout: LIMIT + 20_000 }, () => {
  it('a host that acknowledges before it has appended', async () => {
    const path = `${scratch()}/outbox`
    const harm = await harmOf((_, stage) => destination(path, stage, 'sendTooLate'))
    expect(harm.missing).toBeGreaterThan(0)
  })

  it('a folder that is forgotten at a restart', async () => {
    const folder = scratch()
    // One kill: without what was lost, another life could come to its end before its time.
    const harm = await harmOf((life, stage) => destination(`${folder}/${life}`, stage), { kills: 1 })
    // What the receiver did not answer waits there.
    expect(harm).toMatchObject({ resurrected: 0, renamed: 0, altered: 0 })
    expect(harm.missing).toBeGreaterThan(0)
  })

  it('a receiver that forgets what it took', async () => {
    const path = `${scratch()}/outbox`
    const harm = await harmOf((_, stage) => destination(path, stage), {
      seen: (account) => ({
        ...account,
        taken: (arrival) => {
          if (arrival.name !== nameOf(7)) account.taken(arrival)
        },
      }),
    })
    expect(harm.missing).toBe(1)
  })

  it('a sender that makes new ids after a restart', async () => {
    const { renamed } = await forgetful((name) => ({ ...callOf(name), messageId: undefined }))
    expect(renamed).toBeGreaterThan(0)
  })

  it('a sender that says something else under the same id after a restart', async () => {
    const { altered } = await forgetful((name) => ({ ...callOf(name), timestamp: undefined }))
    expect(altered).toBeGreaterThan(0)
  })

  it('a folder that is put back to what it was before', async () => {
    const path = `${scratch()}/outbox`
    const names = Array.from({ length: 40 }, (_, number) => nameOf(number))
    const account = accountOf(names, ['hook'])
    const receiver = await countingReceiver({
      account,
      random: seededRandom(newSeed()),
      stubborn: nameOf(0),
    })
    const stage = { names, account, receiver, hear: heardBy(account, []).hear }
    const play = async (): Promise<void> => {
      await liveUntil({ when: 'delivered', count: 20 }, destination(path, stage), receiver)
      cpSync(path, `${path}-copy`, { recursive: true })
      receiver.heal()
      for (let life = 1; life < 3; life++) {
        account.nextLife()
        await destination(path, stage).over
        rmSync(path, { recursive: true })
        cpSync(`${path}-copy`, path, { recursive: true })
      }
    }
    await inTime(LIMIT, play(), () => JSON.stringify(account.figures()))
    await receiver.close()
    // At least the one that the receiver had not answered when the copy was made.
    expect(account.harm().resurrected).toBeGreaterThan(0)
  })
})
