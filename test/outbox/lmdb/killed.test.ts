import * as fc from 'fast-check'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'
import { killedRecord } from './killedRecord.ts'

const CHILD = fileURLToPath(new URL('killedProcess.js', import.meta.url))
const CALLERS = 32

/** Runs a life until it has said so many lines, and kills it. Reads to the end what it said. */
const live = async (
  path: string,
  life: number,
  lines: number,
  read: (line: string) => void,
): Promise<void> => {
  const child = spawn(process.execPath, [CHILD, path, String(life), String(CALLERS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = 0
  const spoken = createInterface({ input: child.stdout })
  spoken.on('line', (line) => {
    read(line)
    if (++said === lines) child.kill('SIGKILL')
  })
  const [[code, signal]] = await Promise.all([once(child, 'exit'), once(spoken, 'close')])
  expect([code, signal]).toEqual([null, 'SIGKILL'])
}

it('loses nothing and brings nothing back when it is killed, ten times and a hundred at night', async () => {
  const path = newFolder()
  const record = killedRecord()
  const kills = fc.sample(fc.integer({ min: 1, max: 4_000 }), { numRuns: 10 })
  for (const [life, lines] of kills.entries()) {
    await live(path, life, lines, record.read)
    const outbox = lmdbOutbox<string>({ path, codec, keepDead: 1_000_000 })
    const before = record.verdict.again
    const waiting = await outbox.take(Infinity, 1_000_000, 1_000_000)
    record.compare(waiting, await outbox.dead.list({ limit: 1_000_000 }), outbox.stats())
    // Those whose end was under way when it was killed: as many as there are callers, and no more.
    expect(record.verdict.again - before).toBeLessThanOrEqual(CALLERS)
    await outbox.close()
  }
  const { acknowledged, again, ...harm } = record.verdict
  console.log(`${kills.length} kills, ${acknowledged} answers, ${again} would be delivered again`)
  expect(harm).toEqual({ lost: 0, corrupt: 0, resurrected: 0 })
  expect(acknowledged).toBeGreaterThan(kills.length * 100)
  rmSync(path, { recursive: true })
})
