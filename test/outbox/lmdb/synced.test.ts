import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { newFolder } from './grounds.ts'
import { unsynced } from './syncTrace.ts'

const CHILD = fileURLToPath(new URL('syncedProcess.js', import.meta.url))
const CALLS = 'trace=openat,write,pwrite64,fsync,fdatasync'

/** Whether calls can be traced: strace may be missing, and a sandbox may forbid it. */
const isTraced = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0
if (!isTraced) console.log('not shown: the sync before each acceptance, for strace does not work here')

describe('the store is synced before each acceptance', () => {
  const shown: typeof it | undefined = isTraced ? it : undefined
  shown?.('as the calls to the system show', () => {
    const folder = newFolder()
    const file = join(folder, 'calls')
    const child = [process.execPath, CHILD, join(folder, 'outbox'), '50']
    const { status, stderr } = spawnSync('strace', ['-f', '-y', '-e', CALLS, '-o', file, ...child])
    expect([status, String(stderr)]).toEqual([0, ''])
    expect(unsynced(readFileSync(file, 'utf8'))).toEqual({ accepted: 50, early: [] })
    rmSync(folder, { recursive: true })
  })

  const open = '1 openat(AT_FDCWD, "a/data.mdb", O_WRONLY|O_DSYNC|O_CLOEXEC) = 20</a/data.mdb>'
  const sync = '2 fdatasync(19</a/data.mdb>) = 0'
  const through = '2 pwrite64(20</a/data.mdb>, "..."..., 128, 40) = 128'
  const said = '1 write(1<pipe:[1]>, "accepted 1\\n", 11) = 11'

  it.each([
    ['neither', [open, said], 1],
    ['no sync', [open, through, said], 1],
    ['no write that goes through', [open, sync, said], 1],
    ['them in the wrong order', [open, through, sync, said], 1],
    ['a sync that had not ended', [open, '2 fdatasync(19</a/data.mdb> <unfinished ...>', through, said], 1],
    ['both, once for two', [open, sync, through, said, said], 1],
    ['both', [open, sync, through, said], 0],
    [
      'both, interrupted',
      [open, '2 fdatasync(19</a/data.mdb> <unfinished ...>', '2 <... fdatasync resumed>) = 0', through, said],
      0,
    ],
  ])('the reader of the calls sees %s', (_, lines, early) => {
    expect(unsynced(lines.join('\n')).early).toHaveLength(early)
  })
})
