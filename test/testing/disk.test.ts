import { expect, test } from 'vitest'
import { scriptedDisk, simulate, virtualClock } from '../../src/testing/index.ts'
import type { DiskMisbehaviour, ScriptedDisk } from '../../src/testing/index.ts'

const onDisk = async <T>(
  options: { readonly faults?: ReadonlyArray<DiskMisbehaviour>; readonly log?: (line: string) => void },
  task: (disk: ScriptedDisk) => Promise<T>,
): Promise<T> => {
  const clock = virtualClock()
  return clock.run(task(scriptedDisk({ clock, ...options })))
}

const text = async (disk: ScriptedDisk, path: string): Promise<string> => String(await disk.read(path))

test('keeps files', () =>
  onDisk({}, async (disk) => {
    await disk.append('b', 'hello ')
    await disk.append('b', 'world')
    await disk.append('bytes', new Uint8Array([7, 255]))
    await disk.rename('b', 'a')
    expect([await text(disk, 'a'), await disk.read('bytes')]).toEqual(['hello world', Buffer.from([7, 255])])
    await disk.remove('bytes')
    expect(await disk.list()).toEqual(['a'])
    await expect(disk.read('b')).rejects.toMatchObject({ code: 'ENOENT' })
  }))

test.each<readonly [number | undefined, string, ReadonlyArray<string>]>([
  [undefined, 'one,', ['journal']],
  [0, 'one,', ['journal', 'new']],
  [3, 'one,two', ['journal', 'new']],
  [99, 'one,two,', ['journal', 'new']],
])('a crash that keeps %s of the last write', (keep, journal, files) =>
  onDisk({}, async (disk) => {
    await disk.append('journal', 'one,')
    await disk.sync('journal')
    await disk.append('new', 'x')
    await disk.append('journal', 'two,')
    disk.crash(keep === undefined ? {} : { keep })
    expect([await text(disk, 'journal'), await disk.list()]).toEqual([journal, files])
  }),
)

test('what was written during a sync is not synced', () =>
  onDisk({}, async (disk) => {
    await disk.append('a', 'one,')
    const syncing = disk.sync('a')
    void disk.append('a', 'two,')
    await syncing
    disk.crash()
    expect(await text(disk, 'a')).toBe('one,')
  }))

test('an operation that a crash interrupts never settles', () =>
  onDisk({}, async (disk) => {
    let settled = false
    void disk.append('a', 'x').finally(() => (settled = true))
    disk.crash({ keep: 1 })
    expect([await text(disk, 'a'), settled]).toEqual(['x', false])
  }))

test.each<readonly [DiskMisbehaviour, string, string]>([
  [{ do: 'full', bytes: 6 }, 'ENOSPC', 'one,tw'],
  [{ do: 'fail', operation: 2 }, 'EIO', 'one,'],
])('its faults are data: %j', async (fault, code, file) => {
  const lines: string[] = []
  await onDisk({ faults: [fault], log: (line) => lines.push(line) }, async (disk) => {
    await disk.append('a', 'one,')
    await disk.sync('a')
    await expect(disk.append('a', 'two,')).rejects.toMatchObject({ code })
    expect(await text(disk, 'a')).toBe(file)
  })
  expect(lines[0]).toBe('0 ms: disk 0 write of 4 bytes to a')
  expect(lines[3]).toContain(`disk 2 fails: Error: ${code}`)
})

test.each([1, 2, 3, 4])('a rename to itself, two syncs that end at once lose nothing: %d', async (seed) => {
  const { value } = await simulate(seed, async ({ disk }) => {
    const write = async (data: string) => Promise.all([disk.append('a', data), disk.sync('a')])
    await Promise.all([write('one,'), write('two,')])
    await disk.rename('a', 'a')
    disk.crash()
    return text(disk, 'a')
  })
  expect(value).toBe('one,two,')
})
