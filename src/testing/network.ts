import type { Cancel, Clock } from '../core/clock.ts'
import { isError } from '../core/failure.ts'
import { checkOptions, clockOption, func, optional, strict } from '../core/options.ts'
import { effectOf, faultPlayer, scriptOption, type Misbehaviour, type FaultScript } from './faults.ts'

/** A request to a scripted network. Only the script looks into it. */
export interface NetworkRequest {
  /** Default: `http://receiver.test/`. */
  readonly url?: string
  /** Default: `POST`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** True: `fetch` was given a body that is not recorded, such as a form or a stream. */
  readonly unread?: boolean
  /** Cancels the request: it rejects at once with the signal's reason, an `AbortError` by default. */
  readonly signal?: AbortSignal
}

/** An answer with its whole body. Interim answers are passed over. */
export interface NetworkAnswer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One request as it went. Times are those of the clock's `monotonic`. */
export interface NetworkCall {
  readonly request: NetworkRequest
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly ended: 'answered' | 'failed' | 'cancelled' | undefined
  readonly fault: Misbehaviour
}

/** A network in memory. */
export interface ScriptedNetwork {
  /**
   * Resolves when the answer is complete. Rejects with the error that Node and undici give such a request,
   * with its `code`; and with the reason of the signal when it aborts. An answer that never comes or never
   * ends stays pending until the signal aborts.
   */
  readonly request: (request?: NetworkRequest) => Promise<NetworkAnswer>
  /**
   * The same as a `fetch`, for code that takes one. It resolves when the body is complete, follows no
   * redirect, records text, bytes or `URLSearchParams`. A fault is a TypeError caused by that of `request`.
   */
  readonly fetch: typeof globalThis.fetch
  /** Every request, in the order of their start. */
  readonly calls: ReadonlyArray<NetworkCall>
  /** Requests that have started and not ended. */
  readonly running: () => number
}

/** The parts of a scripted network. */
export interface ScriptedNetworkOptions {
  readonly clock: Clock
  /** One fault for each request, or a function that gives it; `index` is from 0. Default: 200 at once. */
  readonly script?: FaultScript | ((request: NetworkRequest, index: number) => Misbehaviour)
  /** Receives each request when it starts and when it ends, in one line with the time of the clock. */
  readonly log?: (line: string) => void
}

const networkOptions = strict({
  clock: clockOption,
  script: optional(scriptOption<NonNullable<ScriptedNetworkOptions['script']>>()),
  log: optional(func<(line: string) => void>()),
})

const recorded = (body: unknown): Pick<NetworkRequest, 'body' | 'unread'> => {
  if (typeof body === 'string' || body instanceof Uint8Array) return { body }
  if (body instanceof URLSearchParams) return { body: String(body) }
  if (body instanceof ArrayBuffer) return { body: new Uint8Array(body) }
  return body === undefined || body === null ? {} : { unread: true }
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A network in memory for tests: it meets each request with the next fault of its script, at its time on the
 * clock. Give its `fetch` or its `request` to code that would send over HTTP.
 *
 * @example
 * import { scriptedNetwork, virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const network = scriptedNetwork({
 *   clock,
 *   script: [{ do: 'status', code: 503, after: 20 }, { do: 'reset' }],
 * })
 * const first = network.request({ url: 'http://receiver.test/hook', body: '{}' })
 * await clock.advance(20)
 * const second = await network.request().catch((error) => error.code)
 * console.log((await first).status, second) // => 503 ECONNRESET
 */
export const scriptedNetwork = (options: ScriptedNetworkOptions): ScriptedNetwork => {
  const given = checkOptions('options of scriptedNetwork', networkOptions, options)
  const { clock, script = [], log = () => undefined } = given
  const faultFor = faultPlayer(clock, script)
  const calls: Array<Writable<NetworkCall>> = []

  const request = (asked: NetworkRequest = {}): Promise<NetworkAnswer> =>
    new Promise((resolve, reject) => {
      const { url = 'http://receiver.test/', method = 'POST', body, signal } = asked
      const name = `request ${String(calls.length)}`
      const fault = faultFor(asked)
      const startedAt = clock.monotonic()
      const request = typeof body === 'object' ? { ...asked, body: body.slice() } : asked
      const call: Writable<NetworkCall> = { request, startedAt, endedAt: undefined, ended: undefined, fault }
      calls.push(call)
      log(`${String(startedAt)} ms: ${name} ${method} ${url} meets ${JSON.stringify(fault)}`)
      let cancelTimer: Cancel = () => undefined

      const end = (ended: NonNullable<NetworkCall['ended']>): void => {
        call.ended = ended
        call.endedAt = clock.monotonic()
        signal?.removeEventListener('abort', cancel)
        log(`${String(call.endedAt)} ms: ${name} ${ended}`)
      }
      const fail = (ended: 'failed' | 'cancelled', reason: unknown): void => {
        end(ended)
        reject(isError(reason) ? reason : new Error(String(reason)))
      }
      const cancel = (): void => {
        cancelTimer()
        fail('cancelled', signal?.reason)
      }

      const effect = effectOf(fault, url)
      const finish = (): void => {
        if (effect.what === 'error') fail('failed', effect.error)
        else if (effect.what === 'nothing' || effect.body === null) return
        else if (effect.body instanceof Error) fail('failed', effect.body)
        else {
          end('answered')
          resolve({ status: effect.status, headers: effect.headers, body: effect.body })
        }
      }
      const after = effect.what === 'nothing' ? 0 : effect.after
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted === true) cancel()
      else if (after > 0) cancelTimer = clock.schedule(after, finish)
      else finish()
    })

  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const given = input instanceof Request ? input : { url: String(input), method: 'GET', headers: {} }
    const asked = input instanceof Request ? input.signal : null
    const { method = given.method, headers = given.headers, body, signal = asked } = init
    try {
      const answer = await request({
        url: given.url,
        method,
        headers: Object.fromEntries(new Headers(headers)),
        ...recorded(body ?? (input instanceof Request ? input.body : undefined)),
        ...(signal ? { signal } : {}),
      })
      return new Response([204, 205, 304].includes(answer.status) ? null : answer.body, answer)
    } catch (error) {
      if (signal?.aborted === true) throw error
      throw new TypeError('fetch failed', { cause: error })
    }
  }

  const running = (): number => calls.filter(({ ended }) => ended === undefined).length
  return { request, fetch, calls, running }
}
