/**
 * A file to which lines are appended, opened at the first of them and opened anew after a failure: a disk that was full may
 * have room again.
 *
 * @module
 */
import { closeSync, createWriteStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'

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
