/** `headrace/sinks/ndjson`: a sink that writes lines. @module */
import { closeSync, createWriteStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { constVoid, isLeft, left, right, valueOr, type Either } from '../core/either.ts'
import type { Clock } from '../core/clock.ts'
import { codeOf, nameOf, refused, retryable, sinkClosed, type Failure } from '../core/failure.ts'
import { hasFunctions } from '../core/json.ts'
import { checkOptions, func, optional, strict, text } from '../core/options.ts'
import { bodyOf, isPayload } from '../event/payload.ts'
import { answer, makeSink, nothingToCancel } from './layer.ts'
import { clockOf, nowOf, type Sink } from './sink.ts'

/** Where lines are written. */
export interface LineOutput {
  /** Writes a line. `done` is called later, with an error or when the system has the line. Throws nothing. */
  readonly write: (line: string, done: (error?: Error | null) => void) => void
  /** Whether a write can still succeed, now or later. */
  readonly isOpen: () => boolean
  /** Writes the rest, then closes. */
  readonly end: (done: () => void) => void
  /** Closes at once. */
  readonly drop: () => void
}

/** False if a process died in the middle of the last line: appending to it would damage the next one too. */
const endsInNewline = (path: string): boolean =>
  // Opening the file for writing will report a fault.
  valueOr(true, () => {
    if (!statSync(path).isFile()) return true
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const last = new Uint8Array(1)
      return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last[0] === 0x0a
    } finally {
      closeSync(file)
    }
  })

/**
 * Appends to the file at `path`, made if it is missing, for this user alone: lines are events. Opened at the
 * first line, and again after a failure: a full disk may have room.
 */
export const lineFile = (path: string): LineOutput => {
  let stream: Writable | undefined
  let isClosed = false

  const open = (): Writable => {
    const isWhole = endsInNewline(path)
    const opened = createWriteStream(path, { flags: 'a', mode: 0o600 })
    // Each write gets its error in its callback; without a listener Node would end the process for it.
    opened.on('error', constVoid)
    if (!isWhole) opened.write('\n', constVoid)
    return opened
  }

  return {
    write: (line, done) => {
      const current = (stream ??= open())
      current.write(line + '\n', (error) => {
        if (error && stream === current) {
          stream = undefined
          current.destroy()
        }
        done(error)
      })
    },
    isOpen: () => !isClosed,
    end: (done) => {
      isClosed = true
      if (stream === undefined || stream.destroyed) done()
      else stream.once('close', done).end()
    },
    drop: () => {
      isClosed = true
      stream?.destroy()
    },
  }
}

/** Writes to a stream of the host, which is not ended here. */
const lineStream = (stream: Writable): LineOutput => {
  let isClosed = false
  // Each write gets its error in its callback; without a listener Node would end the process for it.
  stream.on('error', constVoid)
  return {
    write: (line, done) => void stream.write(line + '\n', done),
    isOpen: () => !isClosed && stream.writable,
    end: (done) => {
      isClosed = true
      const release = (): void => {
        // A failed stream tells its listeners after its writers.
        if (stream.writable) stream.off('error', constVoid)
        done()
      }
      // An empty write is done after those before it.
      if (stream.writable) stream.write('', release)
      else done()
    },
    drop: () => void (isClosed = true),
  }
}

/** Options of `ndjson`. */
export interface NdjsonOptions<A> {
  /** Default: the path, or `ndjson` for a stream. */
  readonly name?: string
  /**
   * An item as one line, without the line break. Default: the body of a payload or a batch, as `bodyOf` gives
   * it; else `JSON.stringify`.
   */
  readonly format?: (item: A) => string
}

const outputOptions = strict({ name: optional(text), format: optional(func()) })

const badFormat = (detail: string): Either<Failure, string> => left(refused('format', { detail }))

/** The line of an item. An error of `format` may quote the item, so only its kind is reported. */
const formatted = <A>(item: A, format: (item: A) => string): Either<Failure, string> => {
  try {
    const line: unknown = format(item)
    if (typeof line !== 'string') return badFormat('the item has no JSON form')
    return line.includes('\n') ? badFormat('a line must not contain a line break') : right(line)
  } catch (error) {
    return badFormat(`format threw ${nameOf(error)}`)
  }
}

/**
 * Writes one line for each item, to a stream of yours or appended to a file, which is made for this user
 * alone (mode 0600). The verdict comes when the system has the line, so a pipeline writes no faster than the
 * disk or the reader takes it.
 *
 * A failed write to a file may be tried again (reason `io`): the file is opened anew. A stream that has
 * failed or was ended stays so (`closed`, final). An item that is not one line is refused (`format`). `close`
 * ends a file, and waits for it; it does not end a stream of yours.
 *
 * @throws TypeError for a target that is neither; ConfigError if an option is wrong.
 *
 * @example
 * import { onlyAttempt } from 'headrace'
 * import { ndjson } from 'headrace/sinks/ndjson'
 *
 * const sink = ndjson<{ id: string }>(process.stdout)
 * sink.deliver({ id: 'e1' }, onlyAttempt).subscribe() // {"id":"e1"}
 */
export const ndjson = <A>(target: Writable | string, options: NdjsonOptions<A> = {}): Sink<A> => {
  const given = checkOptions('options of ndjson', outputOptions, options)
  const { name = typeof target === 'string' ? target : 'ndjson' } = given
  if (target === '' || !(typeof target === 'string' || hasFunctions(target, ['write', 'on'])))
    throw new TypeError('ndjson: expected the path of a file, or a Writable stream')
  const { format } = options
  const write = (item: A, clock: Clock): string =>
    isPayload(item) ? bodyOf(item, clock.now()) : JSON.stringify(item)
  const output = typeof target === 'string' ? lineFile(target) : lineStream(target)
  const written = right({ sink: name })
  const ended = left(refused('closed', { detail: 'the stream is closed' }))

  const failureOf = (error: unknown): Failure => {
    const detail = codeOf(error) || nameOf(error)
    return output.isOpen() ? retryable('io', { detail }) : refused('closed', { detail })
  }

  let closing: Promise<void> | undefined
  const close = (within: number, clock: Clock): Promise<void> =>
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

  return makeSink<A>(
    name,
    (item, attempt, observer) => {
      if (closing !== undefined) return answer(observer, left(sinkClosed(name, nowOf(attempt))))
      const formatOf = format ?? ((each: A) => write(each, clockOf(attempt)))
      const line = output.isOpen() ? formatted(item, formatOf) : ended
      if (isLeft(line)) return answer(observer, line)
      output.write(line.right, (error) => {
        // A stream of the host may fail with any value, and under Jest with an `Error` that is not ours.
        answer(observer, error ? left(failureOf(error)) : written)
      })
      return nothingToCancel
    },
    (within, clock) => (closing ??= close(within, clock)),
  )
}
