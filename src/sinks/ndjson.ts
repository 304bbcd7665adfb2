import * as E from 'fp-ts/lib/Either.js'
import type { Writable } from 'node:stream'
import { systemClock } from '../clock/Clock.ts'
import type { Clock } from '../clock/Clock.ts'
import { refused, retryable } from '../outcome/Failure.ts'
import type { Failure, Refused } from '../outcome/Failure.ts'
import { fromRun, nothingToCancel } from '../sink/Run.ts'
import type { Sink } from '../sink/Sink.ts'
import { lineFile, lineStream } from './LineFile.ts'

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
