import { expect, test } from 'vitest'
import { type DiskFault, type ScriptedDisk, scriptedDisk } from '../../src/testing/disk.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'

type Options = Partial<Parameters<typeof scriptedDisk>[0]>

/** Lets a task on a disk run to its end in virtual time. */
const onDisk = async <T>(
  options: Options,
  task: (disk: ScriptedDisk, clock: VirtualClock) => Promise<T>,
): Promise<T> => {
  const clock = virtualClock()
  const result = task(scriptedDisk({ clock, ...options }), clock)
  await Promise.all([result.catch(() => undefined), clock.advance(10_000)])
  return result
}

const text = async (disk: ScriptedDisk, path: string): Promise<string> => String(await disk.read(path))

test('keeps files', () =>
  onDisk({}, async (disk) => {
    await disk.append('b', 'hello ')
    await disk.append('b', 'world')
    await disk.append('bytes', new Uint8Array([7, 255]))
    await disk.rename('b', 'a')
    await disk.truncate('a', 10)
    expect(await text(disk, 'a')).toBe('hello worl')
    expect(await disk.read('bytes')).toEqual(Buffer.from([7, 255]))
    await disk.remove('bytes')
    expect(await disk.list()).toEqual(['a'])
    await expect(disk.read('b')).rejects.toMatchObject({ code: 'ENOENT' })
  }))

const life = async (disk: ScriptedDisk): Promise<void> => {
  await disk.append('journal', 'one,')
  await disk.sync('journal')
  await disk.append('new', 'x')
  await disk.append('journal', 'two,')
}

test.each<readonly [number | undefined, string, ReadonlyArray<string>]>([
  [undefined, 'one,', ['journal']],
  [0, 'one,', ['journal', 'new']],
  [3, 'one,two', ['journal', 'new']],
  [99, 'one,two,', ['journal', 'new']],
])('a crash that keeps %s of the last write', (keep, journal, files) =>
  onDisk({}, async (disk) => {
    await life(disk)
    disk.crash(keep === undefined ? {} : { keep })
    expect([await text(disk, 'journal'), await disk.list()]).toEqual([journal, files])
  }),
)

test('what was synced is never cut, and what was written during a sync is not synced', () =>
  onDisk({ latency: 5 }, async (disk) => {
    await disk.append('a', 'one,')
    const syncing = disk.sync('a')
    await disk.append('b', '')
    await syncing
    void disk.sync('a')
    disk.crash({ keep: 0 })
    expect(await text(disk, 'a')).toBe('one,')
    await disk.append('a', 'two,')
    const second = disk.sync('a')
    await disk.append('a', 'three')
    await second
    disk.crash()
    expect(await text(disk, 'a')).toBe('one,two,')
  }))

test('an operation that a crash interrupts never settles', () =>
  onDisk({ latency: 5 }, async (disk) => {
    let settled = false
    const settle = (): void => {
      settled = true
    }
    disk.append('a', 'x').then(settle, settle)
    disk.crash({ keep: 1 })
    expect([await text(disk, 'a'), settled]).toEqual(['x', false])
  }))

test.each<readonly [DiskFault, string, string]>([
  [{ do: 'full', bytes: 6 }, 'ENOSPC', 'one,tw'],
  [{ do: 'fail', operation: 2 }, 'EIO', 'one,'],
])('its faults are data: %j', async (fault, code, file) => {
  const lines: string[] = []
  await onDisk({ latency: 5, faults: [fault], log: (line) => lines.push(line) }, async (disk, clock) => {
    await disk.append('a', 'one,')
    await disk.sync('a')
    await expect(disk.append('a', 'two,')).rejects.toMatchObject({ code })
    expect([clock.monotonic(), await text(disk, 'a')]).toEqual([15, file])
  })
  expect(lines.slice(0, 2)).toEqual(['0 ms: disk 0 write of 4 bytes to a', '5 ms: disk 1 sync of a'])
  expect(lines[3]).toContain(`disk 2 fails: Error: ${code}`)
})
