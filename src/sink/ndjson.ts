/**
 * A file to which lines are appended, opened at the first of them and opened anew after a failure: a disk that was full may
 * have room again.
 *
 * @module
 */

import * as E from 'fp-ts/lib/Either.js'
import { closeSync, createWriteStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { refused, retryable } from '../core/failure.ts'
import type { Failure, Refused } from '../core/failure.ts'
import { fromRun, nothingToCancel } from './layer.ts'
import type { Sink } from './sink.ts'

/** Where lines are written. */
export interface LineOutput {
  /** Writes a line; tells the error, or that it was handed to the system. Throws nothing, and is never done before it returns. */
  readonly write: (line: string, done: (error?: Error | null) => void) => void
  /** Whether a write can still succeed, now or later. */
  readonly isOpen: () => boolean
  /** Writes what is left, then lets go. */
  readonly end: (done: () => void) => void
  /** Lets go at once. */
  readonly drop: () => void
}

const ignore = (): void => undefined

/** Whether somebody died in the middle of the last line: appending to it would spoil one more. */
const endsInALine = (path: string): boolean => {
  try {
    if (!statSync(path).isFile()) return true
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const last = new Uint8Array(1)
      return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last[0] === 0x0a
    } finally {
      closeSync(file)
    }
  } catch {
    // What is wrong with the file, opening it for writing will say.
    return true
  }
}

/** The file at `path`. It is made if it is not there. */
export const lineFile = (path: string): LineOutput => {
  let stream: Writable | undefined
  let over = false

  const opened = (): Writable => {
    if (stream !== undefined) return stream
    const whole = endsInALine(path)
    stream = createWriteStream(path, { flags: 'a' })
    // Each write is told of its error; without a listener Node would end the process for it.
    stream.on('error', ignore)
    if (!whole) stream.write('\n', ignore)
    return stream
  }

  return {
    write: (line, done) => {
      const current = opened()
      current.write(line + '\n', (error) => {
        if (error instanceof Error && stream === current) {
          stream = undefined
          current.destroy()
        }
        done(error)
      })
    },
    isOpen: () => !over,
    end: (done) => {
      over = true
      if (stream === undefined || stream.destroyed) done()
      else stream.once('close', done).end()
    },
    drop: () => {
      over = true
      stream?.destroy()
    },
  }
}

/** A stream of the host, which stays the host's: it is not ended. */
export const lineStream = (stream: Writable): LineOutput => {
  let pending = 0
  let over = false
  let released = ignore

  const isDead = (): boolean => stream.destroyed || stream.errored instanceof Error || stream.writableEnded

  const release = (): void => {
    if (!over || pending > 0) return
    // A stream that has failed tells its listeners after its writers, and without a listener Node would end the process.
    if (!isDead()) stream.off('error', ignore)
    released()
  }

  stream.on('error', ignore)
  return {
    write: (line, done) => {
      pending++
      stream.write(line + '\n', (error) => {
        pending--
        done(error)
        release()
      })
    },
    isOpen: () => !over && !isDead(),
    end: (done) => {
      over = true
      released = done
      release()
    },
    drop: () => {
      over = true
    },
  }
}

/** What an NDJSON sink is called and what it writes. */
export interface NdjsonOptions<A> {
  /** Default: the path, or `ndjson` for a stream. */
  readonly name?: string
  /** An item as one line, without the line break. Default `JSON.stringify`; for payloads: `(payload) => payload.text`. */
  readonly format?: (item: A) => string
  readonly clock?: Clock
}

const unfit = (detail: string): E.Either<Refused, string> => E.left(refused('format', { detail }))

/** The line of an item. What `format` throws may quote the item, so only its kind is told. */
const lineOf = <A>(item: A, format: (item: A) => string): E.Either<Refused, string> => {
  try {
    const line: unknown = format(item)
    if (typeof line !== 'string') return unfit('the item has no JSON form')
    return line.includes('\n') ? unfit('a line must not contain a line break') : E.right(line)
  } catch (error) {
    return unfit(`format threw ${error instanceof Error ? error.name : typeof error}`)
  }
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : error.name

const streamIsClosed = refused('closed', { detail: 'the stream is closed' })

/**
 * Writes one line for each item, to a stream of yours or appended to a file. The verdict comes when the line was handed to the
 * system, so a pipeline writes no faster than the disk or the reader takes it.
 *
 * A failed write to a file may be tried again (reason `io`): the file is opened anew. A stream that has failed or was ended
 * stays so (`closed`, final). An item that is not one line is refused (`format`). `close` ends a file, and waits for it; it
 * leaves a stream open, for whoever made it ends it.
 *
 * @example
 * import { onlyAttempt } from 'headrace'
 * import { ndjson } from 'headrace/sinks/ndjson'
 *
 * const sink = ndjson<{ id: string }>(process.stdout)
 * sink.deliver({ id: 'e1' }, onlyAttempt).subscribe() // {"id":"e1"}
 */
export const ndjson = <A>(target: Writable | string, options: NdjsonOptions<A> = {}): Sink<A> => {
  const {
    name = typeof target === 'string' ? target : 'ndjson',
    format = (item: A) => JSON.stringify(item),
    clock = systemClock,
  } = options
  const output = typeof target === 'string' ? lineFile(target) : lineStream(target)
  const written = E.right({ sink: name })

  const failureOf = (error: Error): Failure =>
    (output.isOpen() ? retryable : refused)(output.isOpen() ? 'io' : 'closed', { detail: codeOf(error) })

  let closing: Promise<void> | undefined
  const close = (within: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.schedule(within, () => {
        output.drop()
        resolve()
      })
      output.end(() => {
        cancel()
        resolve()
      })
    })

  return fromRun<A>(
    name,
    (item, _attempt, receiver) => {
      const line = output.isOpen() ? lineOf(item, format) : E.left(streamIsClosed)
      if (E.isLeft(line)) {
        receiver.next(line)
        receiver.complete()
        return nothingToCancel
      }
      let cancelled = false
      const isCancelled = (): boolean => cancelled
      output.write(line.right, (error) => {
        if (isCancelled()) return
        receiver.next(error instanceof Error ? E.left(failureOf(error)) : written)
        if (!isCancelled()) receiver.complete()
      })
      return () => {
        cancelled = true
      }
    },
    (within) => () => (closing ??= close(within)),
  )
}
