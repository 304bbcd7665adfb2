import { cpSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { LmdbOutboxStats } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { folder } from './folder.ts'
import { live } from './life.ts'
import { tellingOf } from './tellingOf.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
const COUNT = NIGHTLY ? 1_000_000 : 5_000
/** Dead letters that are looked at. */
const PAGE = 100
/** So long nobody runs. */
const DOWN = 5 * 3_600_000

it(
  `${COUNT} entries that expired while nobody ran go to the dead letters, without an attempt`,
  async () => {
    const path = folder()
    const say = tellingOf()
    const open = (where: string, keepDead: number, ahead: number) =>
      live('expiredProcess.js', [where, String(keepDead), String(ahead)])
    const before = open(path, COUNT, 0)
    say('parked', await before.ask({ do: 'prepare', count: COUNT }))
    expect((await before.ask<LmdbOutboxStats>({ do: 'stats' })).answer).toMatchObject({
      waiting: COUNT,
      dead: 0,
    })
    await before.kill()
    const copy = `${path}/copy`
    cpSync(`${path}/data.mdb`, `${copy}/data.mdb`)

    for (const { where, kept } of [
      { where: path, kept: COUNT },
      { where: copy, kept: COUNT / 10 },
    ]) {
      const after = open(where, kept, DOWN)
      const told = await after.ask<{ opened: number }>({ do: 'opened' })
      say(`opened in ${Math.round(told.answer.opened)} ms`, told)
      const expired = await after.ask({ do: 'expire' })
      say(`expired, ${kept} are kept`, expired)
      expect(expired.answer).toEqual({ attempts: 0, ended: { Expired: COUNT } })
      const stats = await after.ask<LmdbOutboxStats>({ do: 'stats' })
      expect(stats.answer).toMatchObject({
        waiting: 0,
        bytes: 0,
        dead: kept,
        evictedDeadLetters: COUNT - kept,
      })
      const listed = await after.ask({ do: 'letters', limit: PAGE, skip: COUNT - kept })
      expect(listed.answer).toEqual({ count: PAGE, inOrder: true, says: ['Expired 1'] })
      await after.ask({ do: 'close' })
    }
  },
  NIGHTLY ? 3_600_000 : 60_000,
)
