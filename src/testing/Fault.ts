/**
 * What a receiver can do to a request, as plain data: one value for a test receiver, a scripted sink and a generator.
 *
 * @module
 */

/** One answer, or the lack of one. Times are milliseconds. */
export type Fault =
  /** An answer; 200 at once is a healthy receiver. */
  | {
      readonly do: 'status'
      readonly code: number
      readonly after?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Takes the request and never answers. */
  | { readonly do: 'silence' }
  /** A TCP reset, in place of an answer. */
  | { readonly do: 'reset'; readonly after?: number }
  /** Closes the connection in good order, without an answer. */
  | { readonly do: 'hangUp' }
  /** Listens no more, for so long (default 50 ms). What comes next in the script is for who connects afterwards. */
  | { readonly do: 'refuse'; readonly lasting?: number }
  /** Announces an answer (103) that never comes. */
  | { readonly do: 'early' }
  /** The status and the headers, and then nothing of the body. */
  | { readonly do: 'headersOnly'; readonly code: number }
  /** The body comes one byte at a time and does not end. */
  | { readonly do: 'slowBody'; readonly code: number; readonly bytesPerSecond: number }
  /** Promises 1,000 bytes of body, sends `at` of them, and resets. */
  | { readonly do: 'truncate'; readonly code: number; readonly at: number }
  /** So many bytes of body (default 1 GB), made as fast as they are read. */
  | { readonly do: 'hugeBody'; readonly code: number; readonly bytes?: number }
  /** Some kilobytes that become 50 MB if they are inflated. */
  | { readonly do: 'gzipBomb'; readonly code: number }
  /** One header of so many bytes (default 100,000). */
  | { readonly do: 'hugeHeader'; readonly bytes?: number }
  /** An answer that is not HTTP. */
  | { readonly do: 'garbage' }
  /** Points back to the receiver itself, or elsewhere. */
  | { readonly do: 'redirect'; readonly to: 'self' | 'other'; readonly code?: number }

/** One fault for each request, in the order of their arrival. When it is used up, the answer is 200 at once. */
export type FaultScript = ReadonlyArray<Fault>

/** What a healthy receiver does. */
export const healthy: Fault = { do: 'status', code: 200 }
