import { isRight } from 'fp-ts/lib/Either.js'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { lock } from '../../src/outbox/lmdb/lock.ts'
import { newFolder } from '../support/folder.ts'

describe('the lock of a folder', () => {
  const file = (path: string): string => join(path, 'headrace.lock')
  const startOf = (pid: number): string | undefined =>
    readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19]
  const write = (path: string, holder: object | string): void =>
    writeFileSync(file(path), typeof holder === 'string' ? holder : JSON.stringify(holder))
  const NOW = Date.now()
  const since = new Date(NOW).toISOString()

  it('is taken once, and again after its release; neither that nor a failed opening removes that of another', () => {
    const path = newFolder()
    const first = lock(path, NOW)
    const left: unknown = expect.stringContaining(`by this process, since ${since}: close it first`)
    expect(lock(path, NOW)).toEqual({ _tag: 'Left', left })
    if (isRight(first)) first.right()
    expect(existsSync(file(path))).toBe(false)
    const mine = lock(path, NOW)
    // Not after another process took it.
    write(path, { pid: 1, since })
    if (isRight(mine)) mine.right()
    vi.spyOn(process.getBuiltinModule('node:fs'), 'writeFileSync').mockImplementationOnce(() => {
      throw Object.assign(new Error('EMFILE'), { syscall: 'open' })
    })
    expect(() => lock(path, NOW)).toThrow('EMFILE')
    expect([isRight(mine), existsSync(file(path))]).toEqual([true, true])
  })

  it('names another process that holds it, and is taken over from one that ended', () => {
    const path = newFolder()
    const other = spawn('sleep', ['60'])
    onTestFinished(() => void other.kill())
    const pid = other.pid ?? 0
    write(path, { pid, started: startOf(pid), since })
    expect(lock(path, NOW)).toMatchObject({
      left: `by process ${String(pid)}, since ${since}: end that process, or use another folder (if it is no process of headrace, delete ${file(path)})`,
    })
    // The same number, and another process by now; then one that ended.
    for (const ended of [
      { pid, started: '1', since },
      { pid: spawnSync('true').pid, since },
    ]) {
      write(path, ended)
      expect([isRight(lock(path, NOW)), readdirSync(path)]).toEqual([true, ['headrace.lock']])
    }
  })

  it('without a process in it is being written, or was left by a power failure', () => {
    const path = newFolder()
    for (const text of ['', '{}', 'null', '\0\0\0']) {
      const left = `by a process that is starting: try again (if there is none, delete ${file(path)})`
      const answers = [0, -60, 60].map((away) => {
        write(path, text)
        utimesSync(file(path), NOW / 1_000 + away, NOW / 1_000 + away)
        return lock(path, NOW)
      })
      expect(answers).toMatchObject([{ _tag: 'Left', left }, { _tag: 'Right' }, { _tag: 'Right' }])
    }
  })
})
