/** The lmdb outbox by itself, in processes that are killed, traced, or run out of disk. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import { lmdbOutbox, type LmdbOutbox } from '../../src/outbox/lmdb/index.ts'
import { diskFolder as newFolder, textCodec } from '../support/folder.ts'
import { RUNS, sized } from '../support/runs.ts'

const CHILD = fileURLToPath(new URL('lmdbProcess.js', import.meta.url))
const ALL = { count: 1_000_000, retries: 1_000_000 }
const textOf = (key: string): string => `${key} ${'é'.repeat(key.length * 40)}`
const open = (path: string): LmdbOutbox<string> => lmdbOutbox({ path, codec: textCodec, keepDead: 1_000_000 })

it('a killed redrive leaves each dead letter dead or waiting, and a killed creation a store that opens', async () => {
  const path = newFolder()
  const texts = Array.from({ length: 2_000 }, (_, at) => textOf(`1-${String(at)}`))
  const before = open(path)
  await before.enqueue(texts)
  const entries = await before.lease(0, ALL)
  await before.ack(entries.map((entry) => ({ entry, outcome: rejected(entry.item, 1, refused('status')) })))
  await before.close()
  const left: number[] = []
  // Before the first transaction, between two of them, and before the last.
  for (const count of [0, 499, 500, 999]) {
    expect(spawnSync(process.execPath, [CHILD, 'redrive', path, String(count)]).signal).toBe('SIGKILL')
    const outbox = open(path)
    const waiting = (await outbox.lease(0, ALL)).map(({ item }) => item)
    const dead = (await outbox.dead.list({ limit: 2_000 })).map((each) =>
      each.reason === 'ended' ? each.entry.item : '',
    )
    expect([...waiting, ...dead].sort()).toEqual([...texts].sort())
    left.push(outbox.stats().dead)
    await outbox.close()
  }
  expect(left).toEqual([2_000, 2_000, 1_500, 1_000])
  const begun = newFolder()
  expect(spawnSync(process.execPath, [CHILD, 'create', begun]).signal).toBe('SIGKILL')
  await open(begun).close()
})

it.each([
  ['cd "$0"; rmdir "$0"; exec "$@" sync relative 1', 'the working directory does not exist'],
  ['ulimit -n 256; exec "$@" noFiles "$0" 0', 'this process has too many files open'],
  ['ulimit -n 256; exec "$@" noFiles "$0" 2', 'this process has too many files open'],
])('is not opened after %s, and says why', (script, why) => {
  const { stderr } = spawnSync('sh', ['-c', script, newFolder(), process.execPath, CHILD])
  expect(String(stderr)).toContain(`of the outbox cannot be used: ${why}`)
})

it('of many processes that find a stale lock at once, one opens the folder', async () => {
  for (let round = 0; round < sized({ short: 1, full: 3, long: 50 }); round++) {
    const path = newFolder()
    await open(path).close()
    writeFileSync(join(path, 'headrace.lock'), JSON.stringify({ pid: spawnSync('true').pid, since: 'then' }))
    const children = Array.from({ length: 4 }, () => spawn(process.execPath, [CHILD, 'hold', path]))
    const told = await Promise.all(
      children.map(async ({ stdout }) => {
        const [line] = (await once(stdout, 'data')) as [Buffer]
        return line.toString().trim()
      }),
    )
    for (const { stdin } of children) stdin.end()
    await Promise.all(children.map(async (child) => once(child, 'close')))
    expect(told.sort()).toEqual([...Array.from({ length: 3 }, () => 'inUse'), 'open'])
  }
})

const isAllowed = spawnSync('unshare', ['-Urpf', 'true']).status === 0
const container = isAllowed ? ['unshare', '-Urpf', '--kill-child', '--mount-proc'] : [] // Each is process 1.

it.each([[], container])('is not opened beside one of another container: %s', async (...via) => {
  const path = newFolder()
  const hold = [...via, process.execPath, CHILD, 'hold', path]
  const child = spawn('env', hold)
  await once(child.stdout, 'data')
  rmSync(join(path, 'headrace.lock'))
  expect(String(spawnSync('env', hold).stdout)).toBe('inUse\n')
  expect(() => open(path)).toThrow(`in ${path} is in use by a process that cannot be seen from here`)
  child.kill('SIGKILL')
  await once(child, 'close')
  await open(path).close()
})

interface Filled {
  readonly accepted: ReadonlyArray<string>
  readonly waiting: number
  readonly refusals: ReadonlyArray<string>
  readonly ended: ReadonlyArray<string>
  readonly unhandled: ReadonlyArray<string>
}

/** Fills it by a process, and checks that what was accepted and not ended is there. */
const survives = async (path: string, command: string, args: ReadonlyArray<string>): Promise<Filled> => {
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1e8 })
  expect(status, stderr).toBe(0)
  const filled = JSON.parse(stdout) as Filled
  expect(filled).toMatchObject({ waiting: filled.accepted.length, unhandled: [] })
  expect(filled.accepted.length).toBeGreaterThan(500)
  const outbox = open(path)
  const rest = filled.accepted.filter((key) => !filled.ended.includes(key)).map(textOf)
  expect((await outbox.lease(0, ALL)).map(({ item }) => item)).toEqual(rest)
  expect(outbox.stats()).toMatchObject({ waiting: rest.length, dead: 0 })
  await outbox.close()
  return filled
}

it('a full disk: it refuses new items where a write fails, and ends those that it has', async () => {
  const path = newFolder()
  // No file may grow beyond 4 MiB. The signal that says so is ignored, so the write fails.
  const script = `trap '' XFSZ; ulimit -f 8192; exec "$@"`
  const { refusals } = await survives(path, 'sh', ['-c', script, 'sh', process.execPath, CHILD, 'fill', path])
  expect(refusals).toEqual([expect.stringContaining(`${path} could not write (is its disk full?)`)])
})

if (RUNS >= 10_000)
  it('keeps 8 MiB free for what ends, and needs them for a new store', async ({ skip }) => {
    const folder = newFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status !== 0)
      skip('this user cannot mount a small disk')
    onTestFinished(() => void spawnSync('umount', [folder]))
    const path = join(folder, 'outbox')
    mkdirSync(path)
    const { refusals } = await survives(path, process.execPath, [CHILD, 'fill', path])
    expect(refusals).toEqual([
      `the disk of the outbox in ${path} is nearly full: new items are refused until there is room`,
    ])
    expect(() => open(join(folder, 'another'))).toThrow('no space is left for the outbox in')
    // What ends leaves room in the file, and none on the disk.
    const outbox = open(path)
    const entries = await outbox.lease(0, ALL)
    await outbox.ack(entries.map((entry) => ({ entry, outcome: delivered(entry.item, 1, { sink: 'a' }) })))
    expect(await outbox.enqueue([textOf('1-1')])).toMatchObject([{ _tag: 'Right' }])
    await outbox.close()
    spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'fill')}`, 'bs=4096'])
    expect(() => open(path)).toThrow('no space is left for the outbox in')
  })

const isTraced = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0

/** What `strace -f -y` wrote. Calls that another thread interrupted are joined where they ended. */
const callsIn = (trace: string): ReadonlyArray<string> => {
  const begun = new Map<string, string>()
  return trace.split('\n').flatMap((line) => {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (call.endsWith('<unfinished ...>')) {
      begun.set(thread, call.slice(0, -'<unfinished ...>'.length).trimEnd())
      return []
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(call)
    return [resumed === null ? call : `${begun.get(thread) ?? ''}${resumed[1] ?? ''}`]
  })
}

it.runIf(isTraced)('a sync of the pages and then of the meta page comes before each answer', () => {
  const folder = newFolder()
  const file = join(folder, 'calls')
  const traced = ['-f', '-y', '-e', 'trace=openat,write,pwrite64,fsync,fdatasync', '-o', file]
  const child = [process.execPath, CHILD, 'sync', join(folder, 'outbox'), '50']
  expect(spawnSync('strace', [...traced, ...child]).status).toBe(0)
  let accepted = 0
  let direct: string | undefined
  let state: 'written' | 'synced' | 'safe' = 'written'
  for (const call of callsIn(readFileSync(file, 'utf8'))) {
    // The meta page is written to a file that was opened to write through to the disk.
    direct = /^openat\(.*data\.mdb", [^)]*O_DSYNC[^)]*\)\s+= (\d+)/.exec(call)?.[1] ?? direct
    if (/^f(data)?sync\(\d+<[^>]*data\.mdb>\)\s+= 0/.test(call)) state = 'synced'
    else if (state === 'synced' && direct !== undefined && call.startsWith(`pwrite64(${direct}<`))
      state = 'safe'
    if (!/^write\(1<[^>]*>, "accepted \d+/.test(call)) continue
    accepted++
    expect(state).toBe('safe')
    state = 'written'
  }
  expect(accepted).toBe(50)
})
