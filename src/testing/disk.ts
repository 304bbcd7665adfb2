import type { Clock } from '../core/clock.ts'
import { anyOf, checkOptions, clockOption, func, limit, list, oneOf } from '../core/options.ts'
import { optional, strict, wholeNumber, withDefault, type Option } from '../core/options.ts'

/** A fault of a scripted disk, as plain data. */
export type DiskMisbehaviour =
  /** `bytes` fit on the disk. A larger write writes as much as fits, and rejects with `ENOSPC`. */
  | { readonly do: 'full'; readonly bytes: number }
  /** The operation of this number, from 0, does nothing and rejects with `EIO`. */
  | { readonly do: 'fail'; readonly operation: number }

/**
 * Files in memory. Each operation acts at its call and resolves after the latency of the disk. Only `append`
 * creates a file; an operation on a missing one rejects with `ENOENT`. Names need no sync of their own.
 */
export interface ScriptedDisk {
  /** Writes at the end of a file. */
  readonly append: (path: string, data: string | Uint8Array) => Promise<void>
  /** Reads all written bytes, synced or not. */
  readonly read: (path: string) => Promise<Buffer>
  /** When it resolves, everything written to the file before the call survives a crash. */
  readonly sync: (path: string) => Promise<void>
  /** Replaces a file at `to`. */
  readonly rename: (from: string, to: string) => Promise<void>
  /** Deletes a file. */
  readonly remove: (path: string) => Promise<void>
  /** All paths, sorted. */
  readonly list: () => Promise<ReadonlyArray<string>>
  /**
   * The machine stops: running operations never settle, and the files are as the next process finds them.
   * Without `keep` everything that was not synced is gone. With it everything is kept but the end of the last
   * write, if that was not synced: `keep` bytes of it are there.
   */
  readonly crash: (options?: { readonly keep?: number }) => void
}

/** The parts of a scripted disk. */
export interface ScriptedDiskOptions {
  readonly clock: Clock
  /** Milliseconds of each operation. Default 0. */
  readonly latency?: number
  /** Default: none. */
  readonly faults?: ReadonlyArray<DiskMisbehaviour>
  /** Receives each operation when it starts, and each crash, in one line with the time of the clock. */
  readonly log?: (line: string) => void
}

export const diskFault: Option<DiskMisbehaviour> = anyOf<DiskMisbehaviour>(
  "must be { do: 'full', bytes } or { do: 'fail', operation }",
  strict({ do: oneOf('full'), bytes: limit('bytes') }),
  strict({ do: oneOf('fail'), operation: wholeNumber('', 0) }),
)
const diskOptions = strict({
  clock: clockOption,
  latency: withDefault(wholeNumber('ms', 0), 0),
  faults: withDefault(list('faults', 0, Infinity, diskFault), []),
  log: optional(func<(line: string) => void>()),
})

interface File {
  written: Buffer
  /** Undefined: a crash removes the file. */
  synced: Buffer | undefined
}

const diskError = (code: string, at: string): Error => Object.assign(new Error(`${code}: ${at}`), { code })

/**
 * A disk in memory for tests of stores: its faults are data, its time is that of the clock, and it can crash.
 *
 * @example
 * import { scriptedDisk, virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const disk = scriptedDisk({ clock })
 * await clock.run(disk.append('journal', 'one,').then(() => disk.sync('journal')))
 * await clock.run(disk.append('journal', 'two,'))
 * disk.crash()
 * console.log(String(await clock.run(disk.read('journal')))) // => one,
 */
export const scriptedDisk = (options: ScriptedDiskOptions): ScriptedDisk => {
  const given = checkOptions('options of scriptedDisk', diskOptions, options)
  const { clock, latency, faults, log = () => undefined } = given
  const files = new Map<string, File>()
  /** Undefined: it is synced. `start`: the bytes of the file before it. */
  let lastWrite: { readonly file: File; readonly start: number } | undefined
  let operations = 0
  let crashes = 0

  const capacity = Math.min(...faults.map((fault) => (fault.do === 'full' ? fault.bytes : Infinity)))
  const tell = (what: string): void => log(`${String(clock.monotonic())} ms: disk ${what}`)

  const existing = (path: string): File => {
    const file = files.get(path)
    if (file === undefined) throw diskError('ENOENT', path)
    return file
  }

  /** Acts at once, and settles after the latency; after a crash never. */
  const operate = async <T>(what: string, path: string, act: () => T): Promise<T> => {
    const number = operations++
    const crashesBefore = crashes
    tell(`${String(number)} ${what} ${path}`)
    try {
      if (faults.some((each) => each.do === 'fail' && each.operation === number)) throw diskError('EIO', path)
      return act()
    } catch (error) {
      tell(`${String(number)} fails: ${String(error)}`)
      throw error
    } finally {
      await new Promise<void>((resolve) => {
        clock.schedule(latency, () => {
          if (crashes === crashesBefore) resolve()
        })
      })
    }
  }

  return {
    append: (path, given) =>
      operate(`write of ${String(Buffer.byteLength(given))} bytes to`, path, () => {
        const file = files.get(path) ?? { written: Buffer.alloc(0), synced: undefined }
        const used = [...files.values()].reduce((sum, { written }) => sum + written.length, 0)
        const data = Buffer.from(given)
        const fitting = data.subarray(0, Math.max(0, capacity - used))
        lastWrite = { file, start: file.written.length }
        file.written = Buffer.concat([file.written, fitting])
        files.set(path, file)
        if (fitting.length < data.length) throw diskError('ENOSPC', path)
      }),
    read: (path) => operate('read of', path, () => Buffer.from(existing(path).written)),
    sync: async (path) => {
      const written = files.get(path)?.written
      const file = await operate('sync of', path, () => existing(path))
      // Of two that end together the later one may have seen less.
      if (written !== undefined && written.length > (file.synced?.length ?? -1)) file.synced = written
      if (lastWrite?.file.written === written) lastWrite = undefined
    },
    rename: (from, to) =>
      operate(`rename to ${to} of`, from, () => {
        files.set(to, existing(from))
        if (from !== to) files.delete(from)
      }),
    remove: (path) =>
      operate('remove of', path, () => {
        existing(path)
        files.delete(path)
      }),
    list: () => operate('list', '', () => [...files.keys()].sort()),
    crash: ({ keep } = {}) => {
      crashes++
      tell(keep === undefined ? 'crash' : `crash, after ${String(keep)} bytes of the last write`)
      if (keep !== undefined && lastWrite !== undefined) {
        const { file, start } = lastWrite
        file.written = file.written.subarray(0, start + keep)
      }
      lastWrite = undefined
      for (const [path, { written, synced }] of files) {
        const bytes = keep === undefined ? synced : written
        if (bytes === undefined) files.delete(path)
        else files.set(path, { written: bytes, synced: bytes })
      }
    },
  }
}
