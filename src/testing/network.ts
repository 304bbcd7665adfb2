import type { Cancel, Clock } from '../core/clock.ts'
import { effectOf, faultPlayer } from './faults.ts'
import type { Fault, FaultScript } from './faults.ts'

/** A request to a scripted network. Only the script looks into it. */
export interface NetworkRequest {
  /** Default: `http://receiver.test/`. */
  readonly url?: string
  /** Default: `POST`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
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
  readonly fault: Fault
}

/** A network in memory. */
export interface ScriptedNetwork {
  /**
   * Resolves when the answer is complete. Rejects with the error that Node and undici give such a request, with its `code`; and with the
   * reason of the signal when it aborts. An answer that never comes or never ends stays pending until the signal aborts.
   */
  readonly request: (request?: NetworkRequest) => Promise<NetworkAnswer>
  /** Every request, in the order of their start. */
  readonly calls: ReadonlyArray<NetworkCall>
  /** Requests that have started and not ended. */
  readonly running: () => number
}

/** What a scripted network is made of. */
export interface ScriptedNetworkOptions {
  readonly clock: Clock
  /** One fault for each request, or the fault that a function gives for it; `index` counts from 0. Default: every answer is 200 at once. */
  readonly script?: FaultScript | ((request: NetworkRequest, index: number) => Fault)
  /** Is told of each request when it starts and when it ends, in one line with the time of the clock. */
  readonly log?: (line: string) => void
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A network in memory for tests: it meets each request with the next fault of its script, at its time on the clock. For clients that do not
 * go through HTTP themselves: give them `request`.
 *
 * @example
 * import { scriptedNetwork, virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const network = scriptedNetwork({ clock, script: [{ do: 'status', code: 503, after: 20 }, { do: 'reset' }] })
 * const first = network.request({ url: 'http://receiver.test/hook', body: '{}' })
 * await clock.advance(20)
 * console.log((await first).status, await network.request().catch((error) => error.code)) // => 503 ECONNRESET
 */
export const scriptedNetwork = (options: ScriptedNetworkOptions): ScriptedNetwork => {
  const { clock, script = [], log = () => undefined } = options
  const faultFor = faultPlayer(clock, script)
  const calls: Array<Writable<NetworkCall>> = []

  const tell = (index: number, what: string): void =>
    log(`${String(clock.monotonic())} ms: request ${String(index)} ${what}`)

  const request = (asked: NetworkRequest = {}): Promise<NetworkAnswer> =>
    new Promise((resolve, reject) => {
      const { url = 'http://receiver.test/', method = 'POST', signal } = asked
      const index = calls.length
      const fault = faultFor(asked)
      const open = { endedAt: undefined, ended: undefined }
      const call: Writable<NetworkCall> = { request: asked, startedAt: clock.monotonic(), ...open, fault }
      calls.push(call)
      tell(index, `${method} ${url} meets ${JSON.stringify(fault)}`)
      let cancelTimer: Cancel = () => undefined

      const end = (ended: NonNullable<NetworkCall['ended']>): void => {
        call.ended = ended
        call.endedAt = clock.monotonic()
        signal?.removeEventListener('abort', cancel)
        tell(index, ended)
      }
      const fail = (error: Error): void => {
        end('failed')
        reject(error)
      }
      const cancel = (): void => {
        cancelTimer()
        end('cancelled')
        const reason: unknown = signal?.reason
        reject(reason instanceof Error ? reason : new Error(String(reason)))
      }

      if (signal?.aborted === true) {
        cancel()
        return
      }
      signal?.addEventListener('abort', cancel)
      const effect = effectOf(fault, url)
      if (effect.what === 'nothing') return
      const finish = (): void => {
        if (effect.what === 'error') {
          fail(effect.error)
          return
        }
        const { status, headers, body } = effect
        if (body instanceof Error) fail(body)
        else if (body !== null) {
          end('answered')
          resolve({ status, headers, body })
        }
      }
      if (effect.after > 0) cancelTimer = clock.schedule(effect.after, finish)
      else finish()
    })

  return { request, calls, running: () => calls.filter(({ ended }) => ended === undefined).length }
}
