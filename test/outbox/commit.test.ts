/** The group commit over an environment that fails when it is told to: a disk that is full in the middle of a commit. */
import { describe, expect, it, vi } from 'vitest'
import { groupCommit } from '../../src/outbox/lmdb/commit.ts'
import { COUNTERS_KEY, NO_COUNTERS, type Store } from '../../src/outbox/lmdb/store.ts'

/** `fails`: which transactions fail, and whether what they wrote is on the disk nevertheless. */
const opened = (fails: ReadonlyArray<'lost' | 'kept' | 'no' | 'hangs' | 'late' | 'unreadable'>) => {
  let onDisk: string | undefined
  let transactions = 0
  let answer = (): void => undefined
  const meta = {
    get: (key: string) => (key === COUNTERS_KEY ? onDisk : undefined),
    put: (_: string, text: string) => (onDisk = text),
  }
  const batch = async (change: () => void): Promise<void> => {
    const before = onDisk
    const how = fails[transactions++] ?? 'no'
    change()
    await Promise.resolve()
    if (how === 'hangs') await new Promise(() => undefined)
    if (how === 'late') return new Promise((resolve) => (answer = resolve))
    if (how === 'lost') onDisk = before
    if (how === 'unreadable') onDisk = ''
    // lmdb gives the cause in a promise of its own.
    const commitError = Promise.reject(new Error('ENOSPC'))
    commitError.catch(() => undefined)
    if (how !== 'no') throw Object.assign(new Error('Commit failed'), { commitError })
  }
  // Of a store only these are used.
  const store = { path: '/nowhere', env: { batch, resetReadTxn: () => undefined }, meta } as unknown as Store
  const commits = groupCommit(store, 5)
  const write = (count: number, grows: boolean): Promise<string> =>
    commits.write(count, grows, (counters) => ((counters.waiting += count), () => 'written'))
  return { commits, write, sizes: () => transactions, answer: () => answer() }
}

describe('the group commit', () => {
  it('puts some 1,024 items into a transaction', async () => {
    const { write, sizes } = opened([])
    await Promise.all(Array.from({ length: 40 }, () => write(256, false)))
    expect(sizes()).toBeGreaterThanOrEqual(10)
  })

  it('counts what is on the disk after a commit that failed there, or what it knew if it cannot read', async () => {
    const { commits, write } = opened(['kept', 'unreadable'])
    await expect(write(3, true)).rejects.toThrow('ENOSPC')
    await expect(write(4, true)).rejects.toThrow('ENOSPC')
    expect(commits.counters()).toEqual({ ...NO_COUNTERS, waiting: 3 })
  })

  it('answers the others of a list when what follows one of its writes throws', async () => {
    const { commits, write } = opened([])
    const fails = commits.write(1, false, () => () => 'a'.repeat(-1))
    const answers = await Promise.allSettled([fails, write(1, false)])
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })

  it('refuses all writes and the end once lmdb does not answer', async () => {
    const { commits, write } = opened(['no', 'hangs'])
    expect(await write(1, true)).toBe('written')
    const answers = await Promise.allSettled([write(2, true), write(3, false)])
    const later = await Promise.allSettled([write(4, true), commits.end()])
    const reason = { message: expect.stringContaining('/nowhere') as unknown }
    for (const each of [...answers, ...later]) expect(each).toMatchObject({ status: 'rejected', reason })
    expect(commits.counters().waiting).toBe(1)
  })

  it('goes on when lmdb answers after all', async () => {
    const { commits, write, answer } = opened(['late'])
    const known: unknown[] = []
    await expect(commits.write(2, true, () => () => known.push('a'))).rejects.toThrow('within 5 ms')
    answer()
    await vi.waitFor(async () => expect(await write(1, true)).toBe('written'), 20_000)
    expect([known, commits.counters().waiting]).toEqual([['a'], 1])
  })

  it('refuses what is new when the disk is full, and writes what ends items one by one', async () => {
    const { commits, write, sizes } = opened(['no', 'lost'])
    expect(await write(16, true)).toBe('written')
    const answers = await Promise.allSettled([write(1, true), write(2, false), write(4, false)])
    const message = 'the outbox in /nowhere could not write (is its disk full?): ENOSPC'
    expect(answers).toMatchObject([{ reason: { message } }, { value: 'written' }, { value: 'written' }])
    expect([commits.counters().waiting, await write(8, true), sizes()]).toEqual([22, 'written', 5])
  })

  it('rejects all that finds no room, and counts nothing of it', async () => {
    const { commits, write } = opened(Array(9).fill('lost'))
    for (const each of await Promise.allSettled([write(1, true), write(2, false), write(4, false)]))
      expect(each).toMatchObject({ reason: { message: expect.stringContaining('ENOSPC') as string } })
    expect(commits.counters().waiting).toBe(0)
    await commits.end()
    await expect(write(1, false)).rejects.toThrow('is closed')
  })
})
